"""The page "Bias and variance" as a visitor has it: a grid to its numbers, the curve, stopped at once, looked at."""

import random
from collections.abc import Callable

import pytest

from tests.browser.steps import Explorer
from tests.browser.test_looks import Look
from tests.browser.test_order import DONE, priced, reached_and_named, stopped_at_once

pytestmark = pytest.mark.browser
slow = pytest.mark.slow(reason="a visitor's minutes in a real browser")
SMALL = "?page=bias&data=monks-1&of=anje_o1~lr_o2&folds=3x2&sizes=50-100"
LONG = "?page=bias&data=tic-tac-toe&folds=30x2&sizes=5-10-25-50-100"
CURVE = "?page=bias&data=monks-1&tab=learning-curve&of=anje_o1~anje~lr_o1_a0_vsgd&folds=3-100"


def test_a_grid_fills_to_its_numbers_and_the_curve_stands_beside_it(explorer: Explorer):
    explorer.open(SMALL)
    priced(explorer)
    explorer.run.click()
    explorer.wait_says(DONE)
    explorer.wait_says("^Lowest error: ")
    frame = explorer.csv()
    assert sorted(frame.train_share) == [0.5, 0.5, 1.0, 1.0]
    assert (frame.error - frame.bias - frame.variance).abs().max() < 1e-12
    assert explorer.says(f"{frame.error.min():.3f}$")
    explorer.button("Learning curve").click()
    priced(explorer)
    assert explorer.asked().get("tab") == ["learning-curve"]
    explorer.button("By model").click()
    explorer.wait(lambda: explorer.asked().get("of") == ["anje_o1~lr"], "the grid's link")


@slow
def test_stop_is_said_and_no_later_fit_appears(explorer: Explorer):
    explorer.open(LONG)
    priced(explorer)
    stopped_at_once(explorer, "a grid", random.Random(7))


@slow
@pytest.mark.parametrize("link", [SMALL, CURVE])
def test_every_control_is_reached_and_has_its_name(explorer: Explorer, link: str):
    reached_and_named(explorer, link)


@slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_looks_right(new_explorer: Callable[..., Explorer], theme: str):
    explorer = new_explorer(color_scheme=theme)
    look = Look(explorer, theme)
    explorer.open("?page=bias")
    priced(explorer)
    look("bias-empty")
    explorer.run.click()
    explorer.wait_says(" of [0-9]+ fits:$|" + DONE)
    look("bias-computing")
    explorer.wait_says(DONE)
    look("bias-full")
    explorer.choose("Cross-validation", "10 rounds of 2")
    priced(explorer)
    look("bias-more-rounds")
    explorer.button("Learning curve").click()
    explorer.wait_says("^Press Run: .* in [0-9]+ orders")  # the grid, which asks for Run too, is hidden by then
    priced(explorer)
    look("curve-empty")
    explorer.run.click()
    explorer.wait_says(DONE)
    look("curve-full")
    explorer.button("first 1,000").click()
    look("curve-first")
    assert not look.wrong
