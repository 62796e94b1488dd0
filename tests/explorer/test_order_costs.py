"""What each order would cost: the same as a race of it, in words for people."""

import numpy as np
import pandas as pd
import pytest

from alrviz.data.demos import load_demo
from alrviz.data.read import read_table
from alrviz.explorer.widgets import order_costs
from alrviz.explorer.widgets.race_cost import prepare_racers
from alrviz.fitting.cost.estimate import estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate


def test_the_table_of_costs_says_what_is_not_known_yet():
    html = order_costs.costs_html((), 7, is_estimating=True)
    assert html.count("being estimated") == 5
    refused = RecipeEstimate("n = 3", Recipe("alr", order=3, alpha=1.0), refusal="only <2> used columns")
    assert "refused</span>: only &lt;2&gt; used columns" in order_costs.costs_html((refused,), 2, is_estimating=False)


def test_estimates_are_of_the_training_rows():
    dataset = load_demo("led", rows=300)
    found = list(order_costs.estimate_orders(dataset, 0))
    frame = order_costs.costs_frame(found, 7)
    assert frame.tuples.tolist() == [7, 21, 35, 35, 21]
    assert frame.parameters[1] == found[1].cost.parameters == 10 + 10 * 21 * 4
    assert (frame.seconds_to_fit > frame.seconds_per_pass).all()


def test_an_order_costs_what_its_race_costs():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 3, (40, 4)).astype(str)
    frame = pd.DataFrame(few[rng.integers(0, 40, 4000)], columns=list("abcd")).assign(kind=rng.choice(["x", "y"], 4000))
    dataset = read_table(frame, target="kind")
    offered = list(order_costs.estimate_orders(dataset, 0))[1].cost
    (racer,) = prepare_racers(dataset, (Recipe("alr", order=2, alpha=1.0),), StopToken())
    assert offered.bytes == racer.cost.bytes
    apart = prepare(dataset, Recipe("alr", order=2, alpha=1.0))
    whole = estimate(
        Recipe("alr", order=2, alpha=1.0), TableShape(apart.encoded, apart.holdout)
    ).cost  # repeats as if not
    assert offered.bytes < whole.bytes


@pytest.mark.parametrize(("family", "covers"), [("lr", 1), ("dlr", 0)])
def test_an_estimate_waits_for_no_kernels_that_the_fit_never_calls(family, covers, monkeypatch):
    asked = []
    monkeypatch.setattr("alrviz.explorer.widgets.race_cost.warm_covers", lambda wide: asked.append(wide) or 0.0)
    (racer,) = prepare_racers(load_demo("two-moons"), (Recipe(family),), StopToken())
    assert not racer.refusal
    assert len(asked) == covers
