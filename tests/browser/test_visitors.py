"""What is yours is yours: visitors see nothing of each other, a secret link shows and cannot touch, a reload finds."""

import re
import time
from collections.abc import Callable

import pytest

from tests.browser.steps import Explorer
from tests.browser.test_stop import numbers
from tests.hostile.cases import rows

pytestmark = pytest.mark.browser
slow = pytest.mark.slow(reason="a visitor's minutes in a real browser")


def raced_on_own_table(explorer: Explorer) -> None:
    """A visitor drops a table and races on it."""
    explorer.open("?data=iris&page=data")
    explorer.wait_says("^150 rows")
    explorer.dropped("salaries.csv", rows(400, head="grade,team,paid").encode())
    explorer.wait_says("^400 rows")
    explorer.button("Race on it").click()
    explorer.run.wait_for()
    explorer.race()
    explorer.wait_says("^ended$")


def test_two_visitors_see_nothing_of_each_other(new_explorer: Callable[..., Explorer]):
    mine, other = new_explorer(), new_explorer()
    raced_on_own_table(mine)
    link = mine.query()
    assert "run=" in link
    assert "file=" in link
    other.open(link)  # a stranger who got the address
    other.wait_says("table of its maker")
    assert other.racers() == {}
    assert not other.says("team|^400 rows")
    other.page.get_by_role("combobox", name=re.compile("^Data")).click()
    assert not other.says("salaries .yours")
    other.page.keyboard.press("Escape")
    mine.page.reload()
    mine.ready()
    mine.wait_says("^ended$")
    mine.wait(lambda: mine.fewest() >= 3, "the race")
    mine.wait_says("^400 rows")


@slow
def test_a_secret_link_shows_a_race_and_cannot_touch_it(new_explorer: Callable[..., Explorer]):
    mine, other = new_explorer(), new_explorer()
    raced_on_own_table(mine)
    mine.button("Share").click()
    link = mine.page.get_by_role("textbox", name="Read-only link").input_value()
    mine.page.keyboard.press("Escape")
    assert "watch=" in link
    assert mine.query().split("run=")[1][:32] not in link  # the secret is not the run's own name
    other.open(link)
    other.wait(lambda: other.racers().keys() == mine.racers().keys(), "the other's curves")
    assert other.last_steps() == mine.last_steps()
    other.wait_says("read-only")
    for control in (other.run, other.step, other.stop):
        assert control.is_disabled()
    other.page.keyboard.press("s")
    other.page.keyboard.press("Space")
    time.sleep(1.0)
    assert mine.says("^ended$")
    assert other.last_steps() == mine.last_steps()
    other.go("Data")
    time.sleep(1.0)
    assert not other.says("grade|team")  # curves are shared, rows are not


@slow
def test_a_reload_finds_a_race_that_runs(explorer: Explorer):
    explorer.open("?data=waveform&q=solvers")
    explorer.race()
    before = explorer.last_steps()
    for _ in range(2):
        explorer.page.reload()
        explorer.ready()
        explorer.wait(lambda: explorer.last_steps().keys() == before.keys(), "the race found again")
        explorer.wait(lambda: min(explorer.last_steps().values()) >= min(before.values()), "its points")
        explorer.wait_says("^(running|paused|ended)$")


@slow
def test_a_table_dropped_twice_is_found_by_its_link(explorer: Explorer):
    explorer.open("?data=iris&page=data")
    explorer.picked("n.csv", numbers(300, 3))
    explorer.wait_says("^300 rows")
    explorer.page.reload()
    explorer.ready()
    explorer.wait_says("^300 rows")
