"""What each order would cost: offered at the price a race asks, in words for people."""

import numpy as np
import pandas as pd
import pytest

from alrviz.data.demos import load_demo
from alrviz.data.read import read_table
from alrviz.explorer.widgets import order_prices
from alrviz.explorer.widgets.price_line import priced
from alrviz.fitting.prepare import prepare
from alrviz.fitting.pricing.price import price_of
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken


def test_the_price_table_says_what_is_not_known_yet():
    html = order_prices.offers_html((), waiting=True)
    assert html.count("being priced") == 5
    offer = order_prices.OrderPrice(3, 0, None, "the table has only <2> used columns")
    assert "refused</span>: the table has only &lt;2&gt; used columns" in order_prices.offers_html(
        (offer,), waiting=False
    )


def test_prices_are_of_the_training_rows():
    dataset = load_demo("led", rows=300)
    told = []
    found = order_prices.offers(dataset, 0, told.append)
    assert told == list(found)
    assert [offer.tuples for offer in found] == [7, 21, 35, 35, 21]
    assert found[1].price.parameters == 10 + 10 * 21 * 4


def test_an_order_is_offered_at_the_price_a_race_asks():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 3, (40, 4)).astype(str)
    frame = pd.DataFrame(few[rng.integers(0, 40, 4000)], columns=list("abcd")).assign(kind=rng.choice(["x", "y"], 4000))
    dataset = read_table(frame, target="kind")
    offered = order_prices.offers(dataset, 0, lambda _: None)[1].price
    ((_, asked),) = priced(dataset, (Recipe("alr", order=2),), StopToken())
    assert offered.bytes == asked.bytes
    apart = prepare(dataset, Recipe("alr", order=2))
    assert offered.bytes < price_of(apart.encoded, Recipe("alr", order=2), apart.holdout).bytes  # repeats as if not


@pytest.mark.parametrize(("family", "covers"), [("lr", 1), ("dlr", 0)])
def test_a_price_waits_for_no_kernels_that_the_fit_never_calls(family, covers, monkeypatch):
    asked = []
    monkeypatch.setattr("alrviz.fitting.warm.warm_covers", lambda wide: asked.append(wide) or 0.0)
    ((_, price),) = priced(load_demo("two-moons"), (Recipe(family),), StopToken())
    assert not price.refused
    assert len(asked) == covers
