"""A lesson as a student has it: asked, locked, run, shown; back and on, by a reload, and on a wall."""

import re
from collections.abc import Callable

import pytest

from tests.browser.steps import Explorer
from tests.browser.test_axe import FOUND

pytestmark = pytest.mark.browser


def turn(explorer: Explorer, act: Callable[[], object], says: str) -> None:
    """Turn to another step of a page that is not loaded anew, and wait until that is there."""
    explorer.js("() => { window.alive = true; }")
    act()
    explorer.wait_says(says)
    explorer.wait(lambda: not explorer.says("^Opening"), "the page of the step")
    assert explorer.js("window.alive === true"), "the page was loaded anew"


def test_a_lesson_is_asked_locked_run_and_found_again_after_a_reload(explorer: Explorer):
    explorer.open("?page=lessons")
    with explorer.page.expect_navigation(wait_until="commit"):
        explorer.page.get_by_role("link", name=re.compile("XOR and parity")).click()
    explorer.ready().wait_says("^Step 1 of 3")
    lock = explorer.button("Lock my answer")
    lock.wait_for()
    assert lock.is_disabled(), "nobody has drawn yet"
    assert explorer.says("^Move a dot first")
    assert explorer.run.count() == 0  # Run is there when the question is answered
    assert "alrviz-folded" in explorer.page.get_by_role("navigation", include_hidden=True).evaluate_all(
        "found => found.map(nav => nav.className).join()"
    )
    # The keyboard's way to draw: numbers; a dot that is dragged changes its number.
    explorer.page.get_by_role("textbox", name="n = 1").fill("0.5")
    explorer.page.get_by_role("textbox", name="n = 1").press("Enter")  # to the next: sent is what all have
    lock.scroll_into_view_if_needed()  # it stands below the drawing
    explorer.still("alrvizFirst('circle').getBoundingClientRect().top")
    dot = explorer.page.locator("circle").nth(1).bounding_box()
    explorer.page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    explorer.page.mouse.down()
    explorer.page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + 60, steps=3)
    explorer.page.mouse.up()
    drawn = float(explorer.page.get_by_role("textbox", name="n = 2").input_value())
    assert 0 <= drawn < 0.25
    lock.click()
    explorer.wait_says("^Now press Run")
    assert lock.count() == 0
    tops = "() => ['.lesson', '.alrviz-area'].map((e) => alrvizFirst(e).getBoundingClientRect().top)"
    assert len(set(explorer.js(tops))) == 1, "a panel lower than its room stands as high as the page beside it"
    explorer.run.click()
    explorer.wait_says("^It was")
    said = explorer.js("() => probe.textOf('^You said')")
    explorer.page.reload()
    explorer.ready().wait_says("^Step 1 of 3")
    explorer.wait(lambda: explorer.js("() => probe.textOf('^You said')") == said, "the answer, locked")
    explorer.wait_says("^It was")  # the link finds its race
    turn(explorer, explorer.button("Next").click, "^Step 2 of 3")
    explorer.wait(lambda: explorer.asked().get("data") == ["parity"], "the table of the step, in the link")
    assert explorer.asked()["step"] == ["2"]
    assert explorer.run.count() == 0  # its question is open
    turn(explorer, explorer.page.go_back, "^Step 1 of 3")
    explorer.wait_says("^It was")  # the race of the step, found again
    turn(explorer, explorer.page.go_forward, "^Step 2 of 3")
    turn(explorer, explorer.button("Previous").click, "^Step 1 of 3")
    # On a wall: large, without what is set, and a clicker's keys.
    explorer.button("Present").click()
    explorer.wait(lambda: not explorer.button("Help").is_visible(), "the header is gone")
    sizes = explorer.js(
        "() => [document.documentElement, alrvizFirst('.text p')].map((e) => getComputedStyle(e).fontSize)"
    )
    assert sizes == ["22px", "22px"]
    explorer.js(pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT)
    rules = {"runOnly": ["region", "page-has-heading-one", "button-name"]}
    explorer.wait(lambda: explorer.js(FOUND, rules) == [], "no rule broken by what stands outside the page")
    assert explorer.js("document.documentElement.scrollHeight <= innerHeight"), "nothing moves the wall"
    turn(explorer, lambda: explorer.page.keyboard.press("PageDown"), "^Step 2 of 3")
    assert explorer.js("'present' in document.documentElement.dataset")  # still
    explorer.page.keyboard.press("Escape")
    explorer.wait(lambda: explorer.button("Help").is_visible(), "the header is there again")
