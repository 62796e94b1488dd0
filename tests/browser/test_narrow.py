"""Windows of a phone to a laptop: one scroller, nothing wider than the window, Run in sight; a rail behind a button.

With ALRVIZ_SHOTS=FOLDER every page is kept as a picture, to be looked at.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.steps import Explorer

pytestmark = [pytest.mark.browser, pytest.mark.slow(reason="every page at four sizes in a real browser")]
FOLDER = os.environ.get("ALRVIZ_SHOTS", "")
# Pages and what each says once it can be used; whether it has a button Run.
PAGES = {
    "convergence": ("?data=led&rows=300", "per iteration", True),
    "dlr": ("?page=boundaries", "test rows right", True),
    "any": ("?page=boundaries&tab=any&data=balance-scale", "Points: outline", True),
    "path": ("?page=path", "Press Run", True),
    "order": ("?page=order&data=monks-1", "Press Run", True),
    "bias": ("?page=bias&data=monks-1", "Press Run", True),
    "curve": ("?page=bias&tab=learning-curve&data=monks-1", "Press Run", True),
    "compare": ("?page=compare", "Press Run", True),
    "history": ("?page=compare&tab=history", "kept|Runs", False),
    "selection": ("?page=selection", "Press Run", True),
    "lessons": ("?page=lessons", "you predict a result", False),
    "lesson": ("?lesson=parity", "Move the dots", False),
    "interactions": ("?page=interactions", "matters if", True),
    "data": ("?page=data&data=led&rows=300", "^300 rows", False),
}
SIZES = {"phone": (390, 844), "tablet": (768, 1024), "zoomed": (640, 360), "laptop": (1280, 720)}


@pytest.mark.parametrize("size", SIZES)
def test_every_page_fits_its_window(new_explorer: Callable[..., Explorer], size: str):
    width, height = SIZES[size]
    explorer, wrong = new_explorer(viewport={"width": width, "height": height}), []
    for page, (query, says, runs) in PAGES.items():
        explorer.open(query).wait_says(says)
        explorer.page.wait_for_timeout(600)  # what fades in has faded in
        if FOLDER:
            Path(FOLDER).mkdir(parents=True, exist_ok=True)
            explorer.page.screenshot(path=Path(FOLDER) / f"{size}-{page}.png")
        # Wide tables may be pushed sideways in a place of their own.
        wide = [one for one in explorer.js("probe.sideways()") if not one.startswith("div.scroll")]
        wrong += [f"{page}: {one}" for one in (*wide, *explorer.js("probe.nested()"), *explorer.js("probe.cramped()"))]
        if not runs:
            continue
        box = explorer.run.filter(visible=True).first.bounding_box()
        if box["x"] < 0 or box["x"] + box["width"] > width or box["y"] < 0 or box["y"] + box["height"] > height:
            wrong.append(f"{page}: Run is not seen without scrolling: {box}")
    assert not wrong, "\n".join(wrong)


def test_a_low_projector_shows_the_picture_and_no_words_over_others(new_explorer: Callable[..., Explorer]):
    explorer = new_explorer(viewport={"width": 1024, "height": 576})
    tops = """(what) => Array.from(probe.all()).filter((e) => e.matches(what) && e.clientHeight)
        .map((e) => e.getBoundingClientRect()).map((box) => [box.top, box.bottom, box.left])"""
    explorer.open("?data=led&rows=300").race()
    explorer.wait_says("^ended$")
    (figure,) = explorer.js(tops, ".bk-Figure")
    (bar,) = explorer.js(tops, ".alrviz-run")
    assert bar[0] - figure[0] > 220, "what of the picture is above the bar of buttons"
    explorer.open("?page=order&data=monks-1").wait_says("Press Run")
    explorer.wait(
        lambda: len(explorer.js(tops, ".bk-Figure")) == 4 and explorer.says("^parameters$"), "prices, pictures"
    )
    explorer.still("scrollY")
    figures = explorer.js(tops, ".bk-Figure")
    (table,) = [box for box in explorer.js(tops, "table") if box[0] > 0]
    (above,) = [figure for figure in figures if figure[2] > table[2] - 20]
    assert above[1] <= table[0] + 1, (above, table)
    losses, *costs = sorted(figure for figure in figures if figure is not above)
    assert all(losses[1] <= cost[0] + 2 for cost in costs), figures


LOW = {(1280, 577): 176, (1024, 600): 0, (640, 360): 0, (1280, 720): 176}  # windows, and how wide the rail is in each


def test_run_and_the_whole_picture_are_seen_in_low_windows_beside_the_rail(new_explorer: Callable[..., Explorer]):
    explorer = new_explorer()
    boxes = """(what) => Array.from(probe.all()).filter((e) => e.matches(what) && e.clientHeight)
        .map((e) => e.getBoundingClientRect()).map((box) => [box.left, box.top, box.right, box.bottom])"""
    explorer.open("?q=solvers&data=led&rows=300").race()
    explorer.wait_says("^ended$")
    for (width, height), rail in LOW.items():
        explorer.page.set_viewport_size({"width": width, "height": height})
        explorer.still("explorerPage.button('Run')?.getBoundingClientRect().y")
        explorer.page.wait_for_timeout(600)
        (figure,) = explorer.js(boxes, ".bk-Figure")
        run = explorer.run.filter(visible=True).first.bounding_box()
        assert run["x"] >= rail, (width, height, run)
        assert run["y"] + run["height"] <= height, (width, height, run)
        assert figure[3] <= run["y"] + 6, (width, height, figure, run)
        assert figure[3] - figure[1] > 150, (width, height, figure)
    assert "\n" in explorer.js("explorerPage.figure().left[0].axis_label"), "a title longer than its axis has two lines"


def test_pictures_grow_with_the_window(explorer: Explorer):
    heights = "Array.from(probe.all()).filter((e) => e.matches('.bk-Figure')).map((e) => e.clientHeight)"
    highest = f"Math.max(0, ...{heights}) || null"  # none while no picture is there
    grown = {}
    for page, (query, says, _) in PAGES.items():
        if page in ("history", "lessons"):  # a table, a list of cards
            continue
        explorer.page.set_viewport_size({"width": 1280, "height": 720})
        explorer.open(query).wait_says(says)
        small = explorer.still(highest)
        explorer.page.set_viewport_size({"width": 1920, "height": 1080})
        explorer.wait(lambda: explorer.js(highest) != small, f"another height than {small} on {page}", 20)  # noqa: B023
        grown[page] = explorer.still(highest) / small
    assert min(grown.values()) > 1.3, grown


def test_a_phone_turns_pages_by_the_menu_and_moves_the_slider(new_explorer: Callable[..., Explorer]):
    explorer = new_explorer(viewport={"width": 390, "height": 844}, has_touch=True).open("?data=led&rows=300")
    explorer.race()
    explorer.wait_says("^ended$")
    assert explorer.slider.first.bounding_box() is not None
    assert explorer.page.locator(".MuiSlider-root").first.bounding_box()["width"] > 150
    rail = explorer.page.get_by_role("button", name="Data", exact=True)
    menu = explorer.page.get_by_role("button", name="Pages", exact=True)
    assert not rail.is_visible()
    menu.click()
    rail.wait_for()
    explorer.page.keyboard.press("Escape")
    rail.wait_for(state="hidden")
    assert menu.get_attribute("aria-expanded") == "false"
    menu.click()
    rail.click()
    rail.wait_for(state="hidden")
    explorer.wait_says("^300 rows")


def test_a_wide_window_may_fold_its_rail(explorer: Explorer):
    explorer.open("?page=data&data=led&rows=300")
    rail = explorer.page.get_by_role("button", name="Compare", exact=True)
    menu = explorer.page.get_by_role("button", name="Pages", exact=True)
    menu.click()
    rail.wait_for(state="hidden")
    menu.click()
    rail.wait_for()


def test_the_tab_says_which_page_of_which_table_and_the_rail_which_is_here(explorer: Explorer):
    explorer.open("?data=led&rows=300")
    explorer.wait(lambda: explorer.page.title() == "Convergence - led - alrviz", "the title of Convergence")
    marked = explorer.page.locator("[aria-current=page]")

    def here() -> list[str]:
        return [text.splitlines()[-1] for text in marked.all_inner_texts()]  # above it the icon's name

    explorer.wait(lambda: here() == ["Convergence"], "the rail to mark Convergence")
    explorer.go("Data")
    explorer.wait(lambda: explorer.page.title() == "Data - led - alrviz", "the title of Data")
    explorer.wait(lambda: here() == ["Data"], "the rail to mark Data")


def test_motion_is_reduced_for_those_who_ask(new_explorer: Callable[..., Explorer]):
    explorer = new_explorer(reduced_motion="reduce").open("?page=data&data=led&rows=300")
    moved = """() => Array.from(probe.all(), (e) => getComputedStyle(e))
        .filter((s) => s.transitionDuration !== "0s" || s.animationName !== "none").length"""
    explorer.wait_says("^300 rows")
    assert explorer.js(moved) == 0
