"""What is yours is yours: visitors see nothing of each other, a secret link shows and cannot touch, a reload finds."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.steps import Explorer, say
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
    explorer.button("Open in Convergence").click()
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
    other.wait_says("author's own data")
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


def test_a_secret_link_shows_a_race_on_a_phone_never_runs_ahead_and_cannot_touch_it(
    explorer: Explorer, new_page: Callable[..., Any]
):
    explorer.open("?data=monks-1")
    explorer.race()
    explorer.wait_says("^ended$")
    explorer.button("Share").click()
    link = explorer.page.get_by_role("textbox", name="Read-only link").input_value()
    explorer.page.keyboard.press("Escape")
    assert explorer.query().split("run=")[1][:32] not in link  # the secret is not the run's own name
    phone = new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    phone.route("**/steps", lambda route: route.fulfill(status=404))
    phone.goto(link)
    phone.get_by_text("leads to no race now").wait_for()
    phone.unroute("**/steps")  # there is one again: it is found by itself
    at, told, sentence = (phone.locator(f"#{name}") for name in ("at", "told", "sentence"))
    told.get_by_text("The race is over.").wait_for()
    phone.problems[:] = [problem for problem in phone.problems if "404" not in problem]
    said = explorer.page.locator(".sentence")

    def follows() -> None:
        explorer.wait_says("^ended$")
        explorer.wait(lambda: told.inner_text() == "The race is over.", "the end on the phone")
        explorer.wait(lambda: sentence.inner_text() == said.inner_text(), "the same sentence, test rows scored")

    follows()
    last = int(at.inner_text().split()[-1])
    assert last >= max(explorer.last_steps().values())
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert phone.evaluate("document.documentElement.dataset.theme") == "dark"
    assert phone.context.cookies() == []
    phone.keyboard.press("s")
    phone.get_by_role("slider").fill("1")
    assert at.inner_text() == f"iteration 1 of {last}"
    assert sentence.inner_text() != said.inner_text(), "what was said then"
    seen, film = [], phone.evaluate("data.film")  # asked before: the phone may be quicker than this test
    explorer.choose("Data", "led")  # another race takes its place by itself, and the phone follows
    explorer.wait(lambda: phone.evaluate("data.film") != film, "the next race on the phone")

    def over() -> bool:
        theirs, words = phone.evaluate("[last < 0 ? -1 : data.steps[last], last < 0 ? '' : data.verdicts.at(-1)[1]]")
        mine, ended = max(explorer.last_steps().values()), explorer.says("^ended$")
        seen.append((theirs, mine))
        assert theirs <= mine, "the phone knows points that the screen does not show"
        assert ended or "faster" not in words, f"the phone knows the verdict: {words}"
        return ended and theirs == mine

    explorer.wait(over, "the end, on the screen and then on the phone")
    assert len({theirs for theirs, _ in seen}) > 2, "the phone follows: it shows points between the first and the last"
    say("points on the phone and on the screen", str(seen))
    follows()
    shown = at.inner_text()
    explorer.button("Share").click()
    explorer.button("Revoke link").click()
    explorer.wait(lambda: "leads to no race now" in phone.locator("#link").inner_text(), "the end of the link")
    assert at.inner_text() == shown, "what was seen stays"
    assert not phone.problems


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
