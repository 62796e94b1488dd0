"""The page "Compare" as visitors have it: to its sentence and numbers, in two browsers at once, kept after a kill."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

import pytest

from alrviz.studies.statistics.measures import loss_text
from tests.browser.steps import Explorer, say
from tests.browser.test_keyboard import check
from tests.browser.test_looks import Look
from tests.browser.test_order import DONE, priced, reached_and_named
from tests.conftest import Served

pytestmark = pytest.mark.browser
slow = pytest.mark.slow(reason="a visitor's minutes in a real browser")
SMALL = "?page=compare&sets=monks-1_xor&of=anje_o1~anje_o2~tan&folds=5"


def run(explorer: Explorer) -> None:
    priced(explorer)
    explorer.run.click()
    explorer.wait_says(DONE)


@slow
def test_two_browsers_compare_at_once_and_each_finds_its_own(new_explorer: Callable[..., Explorer]):
    mine, other = new_explorer(), new_explorer()
    mine.open(SMALL)
    other.open(SMALL.replace("_xor", ""))
    priced(mine)
    priced(other)
    mine.run.click()
    other.run.click()
    mine.wait_says("^30 of 30 fits · done")
    other.wait_says("^15 of 15 fits · done")
    mine.wait_says("^tan has the best mean rank, 1.00, but does not clearly beat anje")
    frame = mine.csv()
    assert frame.data.tolist() == ["monks-1"] * 3 + ["xor"] * 3
    assert frame.fits.tolist() == [5] * 6
    best = frame[frame.name == "tan"].log_loss.iloc[0]
    assert mine.says(re.escape(loss_text(best)))
    for explorer, line in ((mine, "comparison on monks-1, xor"), (other, "comparison on monks-1")):
        explorer.button("History").click()
        explorer.wait_says(f"^{line}$")
        listed = explorer.page.get_by_role("button", name=re.compile("^comparison on"))
        explorer.wait(lambda listed=listed: listed.count() == 1, "one run in the list")


@slow
def test_what_is_chosen_of_a_long_history_is_told_in_sight(new_explorer: Callable[..., Explorer]):
    for size in ((1280, 400), (390, 500)):
        explorer = new_explorer(viewport=dict(zip(("width", "height"), size, strict=True)))
        for data in ("iris", "wine", "monks-1", "monks-3"):
            explorer.open(f"?data={data}&racers=lr_o1_a1_i8~alr_o1_a1_i8")
            explorer.wait_says("^(running|ended)$")
            explorer.wait_says("^ended$")
        explorer.open("?page=compare&tab=history")
        explorer.wait_says("^race on iris$")
        explorer.page.get_by_role("button", name=re.compile("^race on iris")).click()
        explorer.wait_says("^Race on iris$")
        heading = explorer.page.get_by_role("heading", name="Race on iris")

        def seen() -> bool:
            box = heading.bounding_box()  # noqa: B023
            return box is not None and 0 <= box["y"] < size[1]  # noqa: B023

        explorer.wait(seen, "what is told of it in sight", 10)


@slow
def test_it_looks_right(new_explorer: Callable[..., Explorer]):
    for theme in ("light", "dark"):
        explorer = new_explorer(color_scheme=theme)
        look = Look(explorer, theme)
        explorer.open(SMALL)
        priced(explorer)
        look("compare-empty")
        explorer.run.click()
        explorer.wait_says(DONE)
        look("compare-full")
        explorer.button("History").click()
        explorer.wait_says("^comparison on monks-1, xor$")
        look("compare-history")
        assert not look.wrong


@slow
def test_every_control_is_reached_and_has_its_name(explorer: Explorer):
    reached_and_named(explorer, SMALL)
    explorer.button("History").click()
    explorer.wait_says("^comparison on monks-1, xor$")
    explorer.page.reload(wait_until="commit")  # Tab begins where one pressed last: at the top again
    explorer.ready()
    explorer.wait_says("^comparison on monks-1, xor$")
    check(explorer)


@pytest.mark.slow(reason="fifty visitors, three minutes")
def test_fifty_visitors_leave_the_memory_as_it_was(serve: Callable[..., Served], new_explorer: Callable[..., Explorer]):
    """Each opens a page of a study and goes, two at a time; what the process holds afterwards is within 10 %."""
    served = serve()

    def visit(times: int) -> None:
        for _ in range(times):
            visitors = [new_explorer(server=served) for _ in range(2)]
            for visitor in visitors:
                visitor.page.goto(urljoin(served.url, SMALL), wait_until="commit")
            for visitor in visitors:
                visitor.ready().wait_says("^Press Run")
                visitor.page.context.close()

    def used() -> float:
        time.sleep(25)  # unused sessions live 15 s; what they held is freed 5 s later
        status = Path(f"/proc/{served.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    visit(3)
    before = used()
    visit(25)
    after = used()
    say(f"50 visitors: {before:.0f} MB before, {after:.0f} MB after")
    assert after < 1.1 * before
