"""Everything without a mouse: each control is reached by Tab, shows its focus, has a name; and the keys of the help."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from tests.browser.steps import LONG, Explorer

pytestmark = pytest.mark.browser
slow = pytest.mark.slow(reason="a visitor's minutes in a real browser")
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
MOST = 150  # presses of Tab; a page has a third of that
NAMED = {
    "button",
    "combobox",
    "slider",
    "textbox",
    "checkbox",
    "switch",
    "spinbutton",
    "link",
    "radio",
    "tab",
    "option",
}


def picture(explorer: Explorer, box: dict[str, float]) -> np.ndarray:
    clip = {
        "x": max(box["x"] - 6, 0),
        "y": max(box["y"] - 6, 0),
        "width": box["width"] + 12,
        "height": box["height"] + 12,
    }
    shot = explorer.page.screenshot(clip=clip, animations="disabled", caret="hide")
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), dtype=int)


def walk(explorer: Explorer) -> tuple[set[int], list[str]]:
    """Press Tab around the page: the controls reached, and those that do not look different with the focus."""
    explorer.js("document.activeElement?.blur()")
    explorer.page.mouse.move(1, 1)
    reached: dict[int, str] = {}
    dull = []
    for _ in range(MOST):
        explorer.page.keyboard.press("Tab")
        at = explorer.js("probe.at()")
        if at is None:
            break
        if at["number"] in reached:
            break
        reached[at["number"]] = at["what"]
        box = at["box"]
        if box["width"] < 2 or box["y"] > 719 or box["y"] + box["height"] < 1:
            dull.append(f"{at['what']} (not on the screen)")
            continue
        explorer.js(PAINTED)
        with_focus = picture(explorer, box)
        explorer.js("probe.focused().blur()")
        explorer.js(PAINTED)
        without = picture(explorer, box)
        explorer.js("(number) => probe.refocus(number)", at["number"])
        if with_focus.shape == without.shape and (abs(with_focus - without).max(axis=2) > 40).sum() < 30:
            dull.append(at["what"])
    return set(reached), dull


def check(explorer: Explorer) -> None:
    reached, dull = walk(explorer)
    missed = [control["what"] for control in explorer.js("probe.reachable()") if control["number"] not in reached]
    assert not missed, "not reached by Tab:\n" + "\n".join(missed)
    assert not dull, "no visible focus:\n" + "\n".join(dull)
    assert not nameless(explorer)


def nameless(explorer: Explorer) -> list[str]:
    """Controls that a screen reader finds without a name, with another's, or without the words on them."""
    session = explorer.page.context.new_cdp_session(explorer.page)
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    found, names = [], set()
    for node in tree:
        role, name = (node.get(key, {}).get("value", "") for key in ("role", "name"))
        if node.get("ignored") or role not in NAMED:
            continue
        if not name.strip():
            found.append(f"{role} without a name: {node.get('properties', [])[:3]}")
        elif (role, name) in names:
            found.append(f"two of {role} {name!r}")
        names.add((role, name))
    return found + explorer.js("probe.misnamed()")


def test_the_keyboard_may_skip_the_header_and_the_rail_whose_buttons_are_read_as_their_titles(explorer: Explorer):
    explorer.open("?data=led&rows=300")
    assert explorer.page.get_by_role("button", name="Convergence", exact=True).text_content() == "Convergence"
    explorer.page.keyboard.press("Tab")
    assert explorer.js("probe.focused().textContent") == "Skip to the page"
    explorer.page.keyboard.press("Enter")
    explorer.page.keyboard.press("Tab")
    assert "ALR or LR?" in explorer.js("probe.at().what"), "the first control of the page"


def test_every_control_of_convergence_is_reached_and_named(explorer: Explorer):
    explorer.open("?data=led&rows=300")
    explorer.race()
    explorer.wait_says("^ended$")
    check(explorer)


@slow
def test_every_control_of_data_is_reached_and_named(explorer: Explorer):
    explorer.open("?data=iris&page=data")
    explorer.wait_says("^150 rows")
    explorer.wait(lambda: not explorer.says("being estimated"), "prices")
    check(explorer)


@slow
@pytest.mark.parametrize("opener", ["alr", "Help", "Python", "Share"])
def test_a_dialog_is_named_takes_the_focus_and_closes_with_escape(explorer: Explorer, opener: str):
    explorer.open("?data=led&rows=300")
    explorer.race()
    explorer.wait_says("^ended$")
    explorer.page.get_by_role("button", name=re.compile(f"^{opener}\\b")).click()
    explorer.wait(
        lambda: explorer.js("probe.focused()?.closest('[role=dialog], [role=presentation]') !== null"), "focus"
    )
    # Names that the library leaves out come a moment after what they name.
    explorer.wait(lambda: not nameless(explorer), "a name for every control", 10)
    explorer.page.keyboard.press("Escape")
    explorer.page.locator(".MuiBackdrop-root").filter(visible=True).wait_for(state="hidden")


@slow
def test_the_keys(explorer: Explorer):
    press = explorer.page.keyboard.press
    explorer.open(f"?data=waveform&{LONG}")
    explorer.race()
    explorer.js("probe.focused()?.blur()")
    press("Space")
    explorer.wait_says("^paused$")
    at = explorer.slider_value()
    press("ArrowLeft")
    explorer.wait(lambda: explorer.slider_value() == at - 1, "one step back")
    press("ArrowRight")
    explorer.wait(lambda: explorer.slider_value() == at, "one step")
    press("ArrowRight")
    explorer.wait(lambda: explorer.slider_value() == at + 1, "one step that was not computed before")
    press("Space")
    explorer.wait_says("^running$")
    press("s")
    explorer.wait_says("^stopped$")
    press("?")
    explorer.wait_says("^one step back$")
    press("Escape")
    explorer.wait(lambda: not explorer.says("^one step back$"), "the help closed")
