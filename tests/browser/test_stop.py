"""Stop means stop: at random moments of reading, cutting (MDL), compiling and fitting, and no later point appears.

The milliseconds are those of the page: from the press until the word is on the screen. They are printed (`pytest -s`),
with those of an empty request beside them.
"""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass

import numpy as np
import pytest

from tests.browser.steps import LONG, Explorer, say
from tests.conftest import Served

pytestmark = pytest.mark.browser
slow = pytest.mark.slow(reason="a visitor's minutes in a real browser")
MOMENTS = 5  # of each state that is measured
LIMIT = 15_000  # ms; a Stop that takes longer is broken whatever the machine


def numbers(rows: int, columns: int, seed: int = 0) -> bytes:
    """A table of measured numbers that MDL finds many cuts in."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, rows)
    x = rng.normal(size=(rows, columns)) + y[:, None] * rng.uniform(0.2, 1.5, columns)
    head = ",".join([*(f"x{k}" for k in range(columns)), "class"])
    lines = (",".join([*(f"{value:.5f}" for value in row), f"c{label}"]) for row, label in zip(x, y, strict=True))
    return "\n".join([head, *lines, ""]).encode()


@dataclass
class Stop:
    """One press of Stop: in which state, the milliseconds until the word, and those of an empty request beside it."""

    state: str
    ms: float
    beat: float


def told(what: str, stops: list[Stop]) -> None:
    """Print the figures and their medians."""
    middle, beat = statistics.median(stop.ms for stop in stops), statistics.median(stop.beat for stop in stops)
    say(
        f"{what}: stopped after (an empty request beside it), in ms",
        *(f"  {stop.ms:5.0f} ({stop.beat:.0f})  {stop.state}" for stop in stops),
        f"  median {middle:.0f} ({beat:.0f})",
    )


def points(lines: Mapping[str, Sized]) -> dict[str, int]:
    """How many points each line has; an empty picture has none."""
    return {name: len(line) for name, line in lines.items() if len(line)}


def press_stop(explorer: Explorer, press: str) -> Stop:
    """Press Stop (or its key), wait for the word, and see that no point appears in the next second."""
    state = f"{explorer.fewest()} points, {explorer.page.get_by_role('status').all_inner_texts()}"
    answer = explorer.js("([press, limit]) => probe.pressed(press, '^stopped(;|$)', limit)", [press, LIMIT])
    assert "error" not in answer, f"{answer['error']}\n{explorer.text()}"
    at_once = points(explorer.lines(answer["racers"]))
    time.sleep(1.0)
    assert points(explorer.racers()) == at_once, "points after the word"
    assert explorer.says("^stopped(;|$)")
    return Stop(state, answer["ms"], answer["beat"])


@pytest.mark.slow(reason="the race below is stopped too; this one measures how soon")
def test_stop_while_fitting(explorer: Explorer):
    moments = random.Random(1)
    explorer.open(f"?data=digits&{LONG}")
    explorer.wait_says("per iteration|Refused")
    stops = []
    for moment in range(MOMENTS):
        explorer.race()
        time.sleep(moments.uniform(0.0, 1.0))
        stops.append(press_stop(explorer, "s" if moment % 2 else "Stop"))
    told("fitting", stops)


@slow
def test_stop_while_numbers_are_cut(explorer: Explorer):
    moments = random.Random(2)
    explorer.open(f"?data=iris&page=data&{LONG}")  # what is not stopped while it is cut is stopped in its race
    lines = numbers(150_000 + MOMENTS, 12).splitlines(keepends=True)  # cut and counted for some seconds
    stops = []
    for moment in range(MOMENTS):
        rows = 150_000 + moment  # told apart from the table before, which is still there while the next is read
        explorer.picked("numbers.csv", b"".join(lines[: rows + 1]))
        explorer.wait_says(f"{rows:,} rows")
        explorer.button(
            "Open in Convergence"
        ).click()  # the race begins as soon as the columns are cut and it is priced
        explorer.wait(lambda: explorer.button("Stop").is_enabled(), "Stop can be pressed")
        time.sleep(moments.uniform(0.0, 0.4))
        stops.append(press_stop(explorer, "s" if moment % 2 else "Stop"))
        explorer.go("Data")
    told("cutting (MDL)", stops)


@slow
def test_stop_while_compiling(new_explorer: Callable[..., Explorer], serve: Callable[..., Served], tmp_path):
    server = serve(NUMBA_CACHE_DIR=str(tmp_path))
    moments = random.Random(3)
    stops = []
    for moment, data in enumerate(("tic-tac-toe", "iris", "skewed", "led", "poker-hand")):  # class widths of their own
        explorer = new_explorer(server).open(f"?data={data}")
        explorer.run.click()
        explorer.wait(lambda e=explorer: e.button("Stop").is_enabled(), "Stop can be pressed")
        time.sleep(moments.uniform(0.0, 0.2))
        stops.append(press_stop(explorer, "s" if moment % 2 else "Stop"))
        explorer.page.context.close()
    told("compiling", stops)


@slow
def test_cancel_while_reading(explorer: Explorer, tmp_path):
    path = tmp_path / "big.csv"
    path.write_bytes(numbers(150_000, 20))
    moments = random.Random(4)
    explorer.open("?data=iris&page=data")
    explorer.wait_says("^150 rows")
    stops = []
    for _ in range(MOMENTS):
        explorer.picked("big.csv", path=path)
        explorer.button("Cancel").wait_for()
        time.sleep(moments.uniform(0.0, 0.7))
        answer = explorer.js("(limit) => probe.pressed('Cancel', 'was cancelled', limit)", LIMIT)
        assert "error" not in answer, f"{answer['error']}\n{explorer.text()}"
        stops.append(Stop("reading", answer["ms"], answer["beat"]))
        time.sleep(1.0)
        assert not explorer.says("150,000 rows")
    told(f"reading {path.stat().st_size / 1e6:.0f} MB", stops)
    time.sleep(2.0)
    assert not explorer.says("150,000 rows")


def test_a_race_ends_where_its_points_were_when_stop_was_pressed(explorer: Explorer):
    """Its fit is over long before: what was computed beyond is offered, not shown."""
    moments = random.Random(5)
    explorer.open("?data=led")
    explorer.race()
    explorer.wait_says("^ended$")
    stops: list[int] = []
    for _ in range(3):
        explorer.run.click()
        explorer.wait(lambda: explorer.says("^running$") and explorer.fewest() >= 1, "a race that is shown")
        time.sleep(moments.uniform(0.0, 3.0))
        at = explorer.js(
            """() => {
                const last = () => Math.max(...Object.values(probe.racers()).map((line) => line.steps.at(-1) ?? -1));
                const at = last();
                probe.button("Stop").click();
                return at;
            }"""
        )
        explorer.wait_says("^stopped$")
        explorer.wait(lambda at=at: max(explorer.last_steps().values()) == at, f"the points end at {at}")
        time.sleep(0.5)
        assert max(explorer.last_steps().values()) == at
        explorer.wait(lambda at=at: explorer.slider_value() == at, "the slider's end")
        explorer.wait_says(f"^Stopped by you after .*{at}")
        stops.append(at)
    say(f"stopped at {stops}")
    rest = explorer.button("Show all")
    computed = int(rest.inner_text().split()[-1])
    rest.click()
    explorer.wait(lambda: max(explorer.last_steps().values()) == computed, "what was computed beyond")
    assert computed > stops[-1]
