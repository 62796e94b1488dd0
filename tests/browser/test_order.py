"""The page "Which order?" as a visitor has it: to the sentence, stopped at once, found again, and looked at."""

import random
import re
import statistics
import time
from collections.abc import Callable

import pytest

from tests.browser.steps import Explorer, say
from tests.browser.test_keyboard import check
from tests.browser.test_looks import Look

pytestmark = pytest.mark.browser
slow = pytest.mark.slow(reason="a visitor's minutes in a real browser")
SMALL = "?page=order&data=monks-1&of=lr_a0.1&folds=5"
LONG = "?page=order&data=tic-tac-toe&folds=10x10"
DONE = "(\\d+) of \\1 fits · done"


def priced(explorer: Explorer) -> None:
    explorer.wait_says("^Press Run")
    explorer.wait(explorer.run.is_enabled, "Run can be pressed")


def cells(explorer: Explorer) -> int:
    """How many fits the page says are finished."""
    said = explorer.js("() => probe.textOf('of [0-9,]+ fits')")
    return int(said.split(" of ")[0].split()[-1].replace(",", "")) if said else -1


def stopped_at_once(explorer: Explorer, what: str, moments: random.Random) -> None:
    """Press Stop five times, by button and by key, at moments drawn; tell the milliseconds; no later fit appears."""
    took, beats = [], []
    for moment in range(5):
        explorer.button("Run", "Resume").click()
        before = cells(explorer)
        explorer.wait(lambda before=before: cells(explorer) > before, "another fit")
        time.sleep(moments.uniform(0.0, 1.0))
        press = "s" if moment % 2 else "Stop"
        answer = explorer.js("(press) => probe.pressed(press, 'fits · stopped', 15000)", press)
        assert "error" not in answer, answer["error"]
        took.append(answer["ms"])
        beats.append(answer["beat"])
        stopped = cells(explorer)
        time.sleep(1.0)
        assert cells(explorer) == stopped
    middle, beat = statistics.median(took), statistics.median(beats)
    say(f"{what}: stopped after {sorted(map(round, took))} ms, median {middle:.0f} (an empty request {beat:.0f})")


def reached_and_named(explorer: Explorer, link: str) -> None:
    """Run what a link opens by the keyboard, and walk through all its controls."""
    explorer.open(link)
    priced(explorer)
    explorer.js("probe.focused()?.blur()")
    explorer.page.keyboard.press("Space")
    explorer.wait_says(DONE)
    check(explorer)


def run_to_its_sentence_and_numbers(explorer: Explorer) -> None:
    """Open the small study, run it, and see that its sentence tells its numbers."""
    explorer.open(SMALL)
    priced(explorer)
    explorer.run.click()
    explorer.wait_says(DONE)
    explorer.wait_says("^Pairs .*are best: test log loss")
    explorer.wait_says("^Auto chose .* in 5 of 5 folds.* n\\s=\\s3 is no better")
    frame = explorer.csv()
    assert sorted(frame.order.value_counts().items()) == [(0, 5), (1, 5), (2, 5), (3, 5)]
    means = frame.groupby("order").log_loss.mean()
    assert explorer.says(re.escape(f"columns alone {means[1]:.3f}"))


@slow
def test_stop_is_said_and_no_later_fit_appears(explorer: Explorer):
    explorer.open(LONG)
    priced(explorer)
    stopped_at_once(explorer, "a study", random.Random(5))


@slow
def test_a_reload_finds_the_study_and_what_was_stopped_goes_on(explorer: Explorer):
    explorer.open(LONG)
    priced(explorer)
    explorer.run.click()
    explorer.wait(lambda: cells(explorer) > 102, "fits", 90)  # the hundred of the class prior are soon done
    explorer.page.reload(wait_until="commit")
    explorer.ready()
    explorer.wait_says("fits · .* left$")
    there = cells(explorer)
    assert there > 102
    explorer.wait(lambda: cells(explorer) > there, "further fits", 90)
    explorer.stop.click()
    explorer.wait_says("fits · stopped")
    stopped = cells(explorer)
    explorer.page.reload(wait_until="commit")
    explorer.ready()
    explorer.wait_says("fits · stopped")
    assert cells(explorer) >= stopped
    explorer.button("Resume").click()
    explorer.wait(lambda: cells(explorer) > stopped, "further fits", 90)
    explorer.stop.click()


@slow
def test_every_control_is_reached_and_has_its_name(explorer: Explorer):
    reached_and_named(explorer, SMALL)


@slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_looks_right(new_explorer: Callable[..., Explorer], theme: str):
    explorer = new_explorer(color_scheme=theme)
    look = Look(explorer, theme)
    explorer.open(SMALL)
    priced(explorer)
    look("order-empty")
    explorer.run.click()
    explorer.wait_says("^After|" + DONE)
    look("order-computing")
    explorer.wait_says(DONE)
    look("order-full")
    explorer.choose("Cross-validation", "10 folds")
    explorer.wait_says("^Press Run")
    explorer.button("Python").click()
    explorer.page.get_by_role("dialog").filter(visible=True).wait_for()
    look("order-python")
    assert not look.wrong
