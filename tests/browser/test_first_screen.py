"""The first screen: a recorded race is there at first paint, a live one takes its place, and its numbers are true."""

import re
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from tests.browser.steps import Explorer, say
from tests.conftest import ROOT

pytestmark = pytest.mark.browser

# Looks at every frame, and keeps what was seen: the picture with its points, and the words that say where it is from.
FIRST_PAINT = """
(() => {
  const seen = window.firstPaint = {};
  const ms = () => Math.round(performance.now());
  const look = () => {
    try {
      const racers = probe.racers();
      if (!seen.picture && Object.keys(racers).length && probe.drawn()) {
        seen.picture = ms();
        seen.racers = Object.fromEntries(Object.entries(racers).map(([name, line]) => [name, line.steps.length]));
        seen.live = probe.says("^(running|preparing|paused|ended|stopped)$");
        seen.note = probe.note();
      }
    } catch (error) { /* the page is not there yet */ }
    if (!seen.picture) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""


@pytest.mark.slow(reason="the same race, its sentence and its trace are tested without a browser")
def test_alphas_that_are_found_are_seen_to_move_and_named(explorer: Explorer):
    explorer.open("?data=balance-scale&q=all-orders&measure=alpha")
    found = "Alpha chosen by validation folds, one for each order: lr .*; hlr .*; halr "
    explorer.wait_says(f"h(a)?lr [.0-9]+ \\(lowest\\).* {found}")  # at its end; while it runs nobody is the lowest
    assert {"lr", "hlr order 1", "hlr order 2", "halr order 1", "halr order 2"} == set(explorer.racers())
    frame = explorer.csv()
    tried = frame[(frame.kind == "search") & (frame.label == "hlr")]
    assert len(tried) > 5
    assert tried.alpha_1.iloc[-1] != tried.alpha_2.iloc[-1]


# Looks at every frame from now on: a new race, which has few points, and when its slowest racer had three.
# A poll from outside can miss a fast race altogether: it sees the old curves, and then the new ones at their end.
NEW_RACE = """
(() => {
  const seen = window.newRace = {};
  const begun = performance.now();
  const look = () => {
    const reached = Math.min(...Object.values(probe.racers()).map((line) => line.steps.at(-1) ?? -1));
    if (reached < 299) seen.begun = true;
    if (seen.begun && reached >= 2) seen.three = performance.now() - begun;
    if (!seen.three) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""


def test_a_recorded_race_is_there_at_first_paint_and_a_live_one_takes_its_place(explorer: Explorer):
    explorer.page.add_init_script(FIRST_PAINT)
    explorer.open()
    first = explorer.wait(lambda: explorer.js("firstPaint.picture ? firstPaint : null"), "the recorded race")
    say(f"the recorded curve after {first['picture']} ms")
    assert first["note"] == "recorded earlier"
    assert set(first["racers"]) == {"lr", "alr"}
    assert min(first["racers"].values()) > 10
    assert not first["live"]
    explorer.wait(lambda: not explorer.says("recorded"), "a live race in place of the recorded one")
    explorer.wait(lambda: explorer.fewest() >= 3, "points of the live race")
    explorer.wait_says("^(running|ended|paused)$")
    # The components' script was read once, as the browser reads scripts.
    every = explorer.js("performance.getEntriesByType('resource').map((one) => [one.name, one.initiatorType])")
    assert [how for name, how in every if "panel-material-ui.bundle.js" in name] == ["other"]  # not "fetch", as text


def test_points_come_after_run_and_equal_the_trace(explorer: Explorer):
    explorer.open("?data=led&rows=3001")
    ended(explorer)
    explorer.choose("Measure", "loss per row")
    explorer.wait_says("per iteration")  # priced: encoded and counted, as a reader finds it
    beat = np.median([explorer.js("probe.beat()") for _ in range(9)])
    explorer.js(NEW_RACE)
    explorer.run.click()
    took = explorer.wait(lambda: explorer.js("newRace.three"), "three points a racer of a new race")
    reached = max(explorer.last_steps().values())
    say(f"three points a racer {took:.0f} ms after the click; an empty answer takes {beat:.0f} ms")
    explorer.wait(lambda: explorer.says("^ended$") or max(explorer.last_steps().values()) > reached, "further points")
    if not explorer.says("^ended$"):
        explorer.stop.click()
        explorer.wait_says("^stopped$")
    check_against_csv(explorer)


def ended(explorer: Explorer) -> None:
    """Wait for a race on this table, and for its end."""
    explorer.race()
    explorer.wait_says("^(stopped|ended)$")


def check_against_csv(explorer: Explorer) -> None:
    """The picture's last point of every racer is the last of its trace, exactly."""
    frame = explorer.csv()
    drawn = explorer.racers()
    names = list(dict.fromkeys(frame["racer"]))
    assert len(names) == len(drawn)
    for number, line in zip(names, drawn.values(), strict=True):
        trace = frame[frame["racer"] == number]
        assert line.steps[-1] == trace["index"].iloc[-1]
        assert line.values[-1] == pytest.approx(trace["nll"].iloc[-1] / 2101, rel=1e-9)
        assert line.heldout[-1] == pytest.approx(trace["heldout_log_loss"].iloc[-1], rel=1e-12)


@pytest.mark.slow(reason="a race, and the same race in a process of its own")
def test_the_copied_script_gives_the_pages_numbers(explorer: Explorer, tmp_path):
    explorer.open("?data=tic-tac-toe&q=pull")
    explorer.race()
    explorer.wait_says("^ended$")
    explorer.button("Python", "Copy as Python").click()
    script = explorer.page.get_by_role("textbox", name="Script").input_value()
    explorer.page.keyboard.press("Escape")
    out = subprocess.run(
        [sys.executable, "-c", script + "race.frame().to_csv('frame.csv', index=False)\n"],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    import pandas as pd

    mine, theirs = explorer.csv(), pd.read_csv(tmp_path / "frame.csv")
    timed = [name for name in mine.columns if "seconds" in name]
    pd.testing.assert_frame_equal(mine.drop(columns=timed), theirs.drop(columns=timed), rtol=1e-12)
    assert "NLL" in out.stdout


def test_a_changed_control_races_by_itself(explorer: Explorer):
    explorer.open("?data=led&rows=500")
    ended(explorer)
    before = explorer.racers()
    explorer.choose("alpha", "1")
    explorer.wait(lambda: explorer.racers() != before and explorer.says("^ended"), "another race, of itself")


def test_run_stays_where_it_is_when_the_price_of_other_settings_comes(explorer: Explorer):
    explorer.open("?data=wine&q=start")  # five racers, whose names leave little room for their price
    explorer.race()
    explorer.wait(lambda: explorer.says("^ended"), "the end of the race")
    explorer.wait_says("fit the training rows perfectly")  # the last sentence, a line longer, comes after the word
    explorer.page.wait_for_timeout(1000)  # on a busy machine the last layout comes late
    height = "explorerPage.button('Run')?.getBoundingClientRect().y"  # Stop stands there until the end
    before = explorer.still(height)
    explorer.js("() => { alrvizFirst('p.sentence').textContent = 'A word.'; }")  # as while a race begins
    assert explorer.still(height) == before
    explorer.order(1)
    explorer.wait_says(r"108 parameters")
    assert explorer.still(height) == before


@pytest.mark.slow(reason="a visitor's minutes in a real browser")
def test_what_has_no_effect_is_hidden(explorer: Explorer):
    explorer.open("?data=led&rows=500")
    ended(explorer)
    center = explorer.page.get_by_role("combobox", name=re.compile("^Shrink toward"))
    explorer.button("alr").first.click()
    explorer.page.get_by_role("combobox", name="Family").wait_for()
    assert not center.is_visible()
    explorer.page.keyboard.press("Escape")
    explorer.page.get_by_role("combobox", name="Family").wait_for(state="hidden")
    explorer.choose("alpha", "1")
    explorer.button("alr").first.click()
    center.wait_for()


def test_in_the_dark_no_control_is_seen_before_it_is_dark(new_explorer: Callable[..., Explorer]):
    """At a first visit the server does not know that the browser is dark, and draws light."""
    explorer = new_explorer(color_scheme="dark", reduced_motion="no-preference")
    explorer.page.goto(explorer.url, wait_until="commit")
    explorer.wait(lambda: explorer.js("'drawn' in document.documentElement.dataset"), "the page in place of Opening")
    inks = explorer.js("""() => Array.from(probe.all())
        .filter((e) => e.matches("button") && /^(draw|ALR is faster)/.test(e.innerText))
        .map((e) => getComputedStyle(e).color.match(/[0-9]+/g).map(Number))""")
    assert inks
    assert all(min(ink[:3]) > 150 for ink in inks), inks
