"""The Boundaries page as a visitor has it: the film, a hand on points and bandwidths, axes of words, looks, keys."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.steps import Explorer, say
from tests.browser.test_keyboard import check
from tests.browser.test_looks import Look
from tests.conftest import Served

pytestmark = pytest.mark.browser
slow = pytest.mark.slow(reason="a visitor's minutes in a real browser")
FILM = "?page=boundaries&data=four-gaussians"


def fitted(explorer: Explorer) -> None:
    """Wait until the film of the fit has been played to its end, and all pictures of the last step are drawn."""
    explorer.wait_says("^ended$")
    explorer.wait(lambda: len(explorer.js("probe.maps()")) >= 2, "two maps")
    explorer.still("[probe.maps().map((map) => map.ground), probe.curves()]")


def words(explorer: Explorer) -> str:
    return explorer.js("() => probe.textOf('per training row|per point')")


def test_a_film_plays_what_the_server_gives_stays_its_own_and_a_hand_takes_over(explorer: Explorer):
    explorer.open(FILM)
    fitted(explorer)
    plays_with_all_pictures(explorer)
    is_not_given_back(explorer)
    explorer.slider.first.press("End")
    fitted(explorer)
    follows_a_dragged_bandwidth(explorer)


def plays_with_all_pictures(explorer: Explorer) -> None:
    last = explorer.slider_value()
    end = explorer.js("probe.maps()[0].ground"), explorer.js("probe.curves()"), words(explorer)
    explorer.js("probe.focused()?.blur()")

    def back() -> bool:
        explorer.page.keyboard.press("ArrowLeft")
        return explorer.slider_value() == 0

    explorer.wait(back, "the first step")
    explorer.wait(lambda: explorer.js("probe.cursors()").count(0) >= 2, "the lines in the pictures of bandwidths")
    explorer.wait(lambda: explorer.js("probe.maps()[0].ground") != end[0], "another map")
    explorer.wait(lambda: explorer.js("probe.curves()") != end[1], "other curves")
    assert words(explorer) != end[2]
    explorer.page.keyboard.press("Space")
    explorer.wait(lambda: explorer.slider_value() == last and explorer.says("^ended$"), "the end of the film")
    explorer.wait(lambda: words(explorer) == end[2], "the words of the last step")
    explorer.wait(lambda: explorer.js("probe.maps()[0].ground") == end[0], "the map of the last step")


def follows_a_dragged_bandwidth(explorer: Explorer) -> None:
    before, curves, ground = words(explorer), explorer.js("probe.curves()"), explorer.js("probe.maps()[0].ground")
    slider = explorer.page.get_by_role("slider", name="x1:").first
    slider.focus()
    for _ in range(5):
        explorer.page.keyboard.press("ArrowRight")
    explorer.wait_says("^Bandwidths by hand")
    explorer.wait(lambda: explorer.js("probe.curves()") != curves, "other curves")
    explorer.wait(lambda: explorer.js("probe.maps()[0].ground") != ground, "another map")
    assert words(explorer) != before
    explorer.button("Back to the fit").click()
    explorer.wait(lambda: words(explorer) == before, "the words of the fit")
    explorer.wait(lambda: explorer.js("probe.curves()") == curves, "the curves of the fit")


def is_not_given_back(explorer: Explorer) -> None:
    """A film stood still at a step it had shown, and "Bandwidths by hand" were said though no hand was there."""
    last = explorer.slider_value()
    for widget, values in (
        ("Iteration", [3, 4, 5, 6, 2]),
        ("x1:", [50, 51, 52, 40]),
        ("Data", ["led", "iris", "wine", "four-gaussians"]),
    ):
        told = explorer.js("([widget, values]) => probe.give(widget, values)", [widget, values])
        assert told == {"had": values, "value": values[-1]}, widget
    # The server still has what it had: a hand goes on from what is on the screen.
    assert explorer.says("^ended$")
    assert not explorer.says("^Bandwidths by hand")
    explorer.slider.first.focus()
    explorer.page.keyboard.press("ArrowRight")
    explorer.wait_says(f"^iteration 3 of {last}$")


@slow
def test_a_drawn_point_changes_the_map_at_once(explorer: Explorer):
    explorer.open("?page=boundaries&data=four-gaussians&rows=1000")
    fitted(explorer)
    explorer.button("Draw").click()
    explorer.wait_says("1,000 points")
    explorer.wait_says("per point")
    took = []
    for k in range(9):
        time.sleep(1.5)  # the bandwidths have settled
        at = explorer.js("(k) => probe.placeOn(0, 0.3 + 0.05 * k, 0.5)", k)
        ground = explorer.js("probe.maps()[0].ground")
        explorer.js("(ground) => probe.awaitMap(0, ground)", ground)
        explorer.page.mouse.click(at["x"], at["y"])
        took.append(explorer.wait(lambda: explorer.js("probe.tookMap()"), "another map"))
        explorer.wait_says(f"{1001 + k:,} points")
    say(f"a drawn point: the map changed after {sorted(map(round, took))} ms, median {statistics.median(took):.0f}")
    assert statistics.median(took) < 300


def test_points_are_moved_removed_and_kept(explorer: Explorer):
    explorer.open("?page=boundaries&data=two-moons&rows=60")
    fitted(explorer)
    explorer.button("Draw").click()
    explorer.wait_says("60 points")
    explorer.wait_says("per point")
    explorer.page.get_by_role("button", name="Remove", exact=True).click()
    explorer.wait_says("Press a point of the left map to remove it")
    point = explorer.still("probe.pointOn(0, 5)")
    explorer.page.mouse.click(point["x"], point["y"])
    explorer.wait_says("59 points")
    explorer.page.get_by_role("button", name="Move", exact=True).click()
    explorer.wait_says("Drag a point")
    explorer.wait(lambda: explorer.js("probe.draggable(0)"), "points that can be dragged")
    ground = explorer.still("probe.maps()[0].ground")
    point = explorer.still("probe.pointOn(0, 5)")
    explorer.page.mouse.move(point["x"], point["y"])
    explorer.page.mouse.down()
    explorer.page.mouse.move(point["x"] + 60, point["y"] + 30, steps=6)
    explorer.page.mouse.up()
    explorer.wait(lambda: explorer.js("probe.maps()[0].ground") != ground, "another map")
    explorer.button("Save as data set").click()
    explorer.wait_says("^59 rows")
    explorer.wait(lambda: explorer.asked().get("points"), "the points in the address")


@pytest.mark.slow(reason="a quarter of a minute of drawing; points that are moved have a test of their own")
def test_what_is_drawn_on_stays_where_it_is(explorer: Explorer):
    """No button slides under the pointer, no tooltip covers the map, and a drag that misses a point moves nothing."""
    explorer.open("?page=boundaries&data=four-gaussians&rows=200")
    fitted(explorer)
    explorer.button("Draw").click()
    explorer.wait_says("200 points")
    explorer.wait_says("per point")
    before = explorer.button("Discard").bounding_box()
    explorer.button("Clear").click()
    explorer.wait_says("4 points")
    assert explorer.button("Discard").bounding_box() == before
    explorer.button("Undo").click()
    explorer.wait_says("200 points")
    explorer.wait(lambda: explorer.js("probe.maps().length === 2"), "both maps")
    at = explorer.still("probe.maps().length === 2 ? probe.placeOn(0, 0.5, 0.5) : null")
    explorer.page.mouse.move(at["x"], at["y"])
    explorer.page.mouse.move(at["x"] + 3, at["y"] + 3)
    explorer.page.wait_for_timeout(300)  # a tooltip would be there by then
    assert explorer.page.locator(".bk-Tooltip:visible").count() == 0
    explorer.page.get_by_role("button", name="Move", exact=True).click()
    explorer.wait(lambda: explorer.js("probe.draggable(0)"), "points that can be dragged")
    seen = explorer.js("probe.ranges(0)")
    corner = explorer.still("probe.maps().length === 2 ? probe.placeOn(0, 0.02, 0.02) : null")
    explorer.page.mouse.move(corner["x"], corner["y"])
    explorer.page.mouse.down()
    explorer.page.mouse.move(corner["x"] + 60, corner["y"] - 40, steps=5)
    explorer.page.mouse.up()
    assert explorer.js("probe.ranges(0)") == seen


@slow
def test_quick_and_long_presses_count_like_any(explorer: Explorer):
    explorer.open("?page=boundaries&data=two-moons&rows=60")
    fitted(explorer)
    explorer.button("Draw").click()
    explorer.wait_says("Press on the left map to add a point")
    explorer.wait_says("per point")
    explorer.still("probe.maps().length === 2 ? probe.placeOn(0, 0.5, 0.5) : null")
    for k in range(6):  # faster than a double tap, while the model follows and the map is drawn anew
        at = explorer.js("(k) => probe.placeOn(0, 0.3 + 0.05 * k, 0.5)", k)
        explorer.page.mouse.click(at["x"], at["y"])
    explorer.wait_says("66 points")
    explorer.page.mouse.click(at["x"], at["y"] + 40, delay=500)  # a busy page takes any press for one so long
    explorer.wait_says("67 points")


ALONE = """import alrviz

data = alrviz.load_demo("iris")
model = alrviz.LRClassifier(order=1, alpha=1.0).fit(data.X, data.y)
alrviz.DecisionMapView(model, data.X, data.y).servable()
"""


def test_a_view_served_alone_is_drawn_however_late_its_widgets_come(
    new_page: Callable[..., Any], serve: Callable[..., Served], tmp_path
):
    """The map is there long before the browser can build the menus beside it."""
    (tmp_path / "alone.py").write_text(ALONE)
    explorer = Explorer(new_page(), serve(tmp_path / "alone.py").url)

    def late(route: Any) -> None:
        time.sleep(2)
        route.continue_()

    explorer.page.route("**/panel-material-ui.bundle.js*", late)
    explorer.page.goto(explorer.url, wait_until="commit")
    explorer.page.locator(".bk-Figure").wait_for()
    explorer.wait(lambda: explorer.js("probe.maps()[0]?.ground"), "a map")
    columns = ["sepal width (cm)", "petal width (cm)"]
    assert explorer.js("([widget, values]) => probe.give(widget, values)", ["x", columns])["had"] == columns


def test_axes_of_words_are_drawn_as_words(explorer: Explorer):
    explorer.open("?page=boundaries&tab=any&data=mixed-types&rows=400&model=alr_o1&axes=2-3")
    explorer.wait_says("per training row")
    explorer.wait(lambda: explorer.js("probe.maps().length > 0 && probe.maps()[0].levels.length === 2"), "two axes")
    across, up = explorer.js("probe.maps()[0].levels")
    assert across == ["east", "islands", "north", "south", "west"]
    assert up == ["I", "II", "III", "IV"]
    explorer.choose("y", "temperature")
    explorer.wait(lambda: explorer.js("probe.maps()[0].levels.length") == 1, "an axis of numbers")


@pytest.mark.slow(reason="links are tested for each page without a browser")
def test_the_link_of_a_map_opens_it(new_explorer: Callable[..., Explorer]):
    explorer = new_explorer().open("?page=boundaries&tab=any&data=mixed-types&rows=300&peer=svm-rbf&others=near")
    explorer.wait_says("of test rows right")
    explorer.choose("x", "region")
    explorer.wait(lambda: explorer.asked().get("axes") is not None, "the axes in the link")
    again = new_explorer().open(explorer.query())
    again.wait_says("weighted by nearness")
    again.wait(lambda: len(again.js("probe.maps()[0]?.levels ?? []")) == 1, "the same axes")


@pytest.mark.slow(reason="the film looks at the same pictures")
def test_all_pictures_of_dlr_are_seen_at_once(explorer: Explorer):
    """Two maps, two density ratios, bandwidths and losses, and the film's slider, in a window of 1280x720."""
    explorer.open("?page=boundaries")
    fitted(explorer)
    figures = explorer.page.locator(".bk-Figure")
    explorer.wait(lambda: figures.count() == 6, "six pictures")
    boxes = [figure.bounding_box() for figure in figures.all()]
    assert all(box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 720 for box in boxes), boxes
    assert min(box["height"] for box in boxes if box is not None) > 100
    areas = [box["width"] * box["height"] for box in boxes if box is not None]
    maps = [explorer.js("(k) => probe.mapBox(k)", k) for k in (0, 1)]
    assert sorted(areas)[-2:] == pytest.approx(sorted(maps), rel=0.01)
    assert min(maps) > 1.9 * max(sorted(areas)[:-2]), "the maps are what a lecture looks at"
    example = explorer.button("DLR wins").bounding_box()
    assert example is not None
    assert example["y"] + example["height"] < boxes[0]["y"], "examples stand where they do on other pages: at the top"
    wide = explorer.slider.first.locator("xpath=ancestor::*[contains(@class, 'MuiSlider-root')]").bounding_box()
    assert wide is not None
    assert wide["width"] > 250
    for name in ("Iteration", "x1:", "x2:"):
        slider = explorer.page.get_by_role("slider", name=name).first.bounding_box()
        assert slider is not None, name
        assert slider["y"] + slider["height"] <= 720, name


def round_(explorer: Explorer, maps: int = 2) -> bool:
    """Whether a circle is round on each map, to half a pixel of a hundred."""
    scales = [explorer.js("(k) => probe.scales(k)", k) for k in range(maps)]
    return all(across == pytest.approx(up, rel=0.005) for across, up in scales)


@slow
def test_a_circle_is_round_where_both_columns_are_in_one_unit(explorer: Explorer):
    explorer.open("?page=boundaries&data=two-moons&rows=60")
    fitted(explorer)
    for width, height in ((1280, 720), (768, 1024), (390, 844), (1920, 1080), (1280, 1500)):
        explorer.page.set_viewport_size({"width": width, "height": height})
        explorer.wait(lambda: round_(explorer), f"round circles at {width}x{height}")
        box = explorer.still("probe.maps().length === 2 ? probe.scales(0) : null")
        assert box[0] * 3 > 120, "a map of two moons, which are 3 wide, is no stamp"
    explorer.page.set_viewport_size({"width": 1280, "height": 720})
    explorer.button("Draw").click()
    explorer.wait_says("per point")
    explorer.button("Clear").click()
    explorer.wait_says("4 points")
    two = (
        "probe.maps().length === 2 && probe.ranges(0)[1] < 1.5 && probe.ranges(1)[1] < 1.5"  # where moons have no room
    )
    explorer.wait(lambda: explorer.js(two) and round_(explorer), "round circles on what is drawn")
    at = explorer.still("probe.placeOn(0, 0.98, 0.02)")  # the frame's last corner
    explorer.page.mouse.click(at["x"], at["y"])
    explorer.wait_says("5 points")
    explorer.open("?page=boundaries&data=age-curve&rows=60")
    fitted(explorer)
    assert not round_(explorer), "years of age have no scale in common with a pressure"


@slow
def test_no_hint_moves_the_map(explorer: Explorer):
    """A hint that wrapped moved the map by a line, under the pointer that was about to press."""
    explorer.open("?page=boundaries&data=four-gaussians&rows=200")
    fitted(explorer)
    explorer.button("Draw").click()
    explorer.wait_says("per point")
    explorer.wait(lambda: explorer.js("probe.maps().length === 2"), "both maps")
    explorer.page.set_viewport_size({"width": 1024, "height": 720})
    at = explorer.still("probe.placeOn(0, 0.5, 0.5)")
    for press, hint in (("Remove", "Press a point"), ("Move", "Drag a point"), ("Add", "Press on the left map")):
        explorer.page.get_by_role("button", name=press, exact=True).click()
        explorer.wait_says(hint)
        assert explorer.still("probe.placeOn(0, 0.5, 0.5)") == at, press
    assert explorer.says("four-gaussians")
    top = explorer.page.locator(".bk-Figure").first.bounding_box()["y"]
    explorer.button("Clear").click()
    explorer.wait_says("^Few points")
    assert explorer.page.locator(".bk-Figure").first.bounding_box()["y"] == top


@slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_boundaries_looks_right(new_explorer: Callable[..., Explorer], theme: str):
    explorer = new_explorer(color_scheme=theme)
    look = Look(explorer, theme)
    explorer.open(FILM)
    fitted(explorer)
    look("boundaries-two")
    explorer.page.mouse.wheel(0, 700)
    look("boundaries-curves")
    explorer.page.mouse.wheel(0, -700)
    explorer.button("Draw").click()
    explorer.wait_says("per point")
    look("boundaries-draw")
    explorer.open("?page=boundaries&data=three-classes&peer=svm-rbf")
    fitted(explorer)
    look("boundaries-three")
    explorer.open("?page=boundaries&tab=any&data=mixed-types&model=alr_o1&axes=2-0")
    explorer.wait_says("per training row")
    look("boundaries-any")
    assert not look.wrong, "\n".join(look.wrong)


@slow
@pytest.mark.parametrize("tab", ["", "&tab=any"])
def test_every_control_of_boundaries_is_reached_and_named(explorer: Explorer, tab: str):
    explorer.open(f"?page=boundaries&data=two-moons&rows=200{tab}")
    explorer.wait_says("per training row")
    explorer.wait_says("^ended$")
    check(explorer)
