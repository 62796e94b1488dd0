"""What a study is said to take, beside what it took."""

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.fitting import choose_order
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe
from alrviz.stop import NEVER
from alrviz.studies.core import cost
from alrviz.studies.core.cost import choosing_cost, estimate_recipes, fit_cost

# Processor seconds of one fit of lr on one thread of the reference machine: table, order, alpha by inner folds or not,
# rows, tuples, cells seen, milliseconds of a pass.
MEASURED = [
    ("german", 1, True, 800, 20, 73, 0.02, 0.36),
    ("german", 2, True, 800, 190, 2379, 0.09, 0.47),
    ("german", 3, True, 800, 1140, 41057, 0.78, 1.58),
    ("credit-screening", 3, True, 552, 455, 35456, 0.44, 1.21),
    ("magic", 1, True, 15216, 10, 69, 0.13, 0.48),
    ("magic", 3, True, 15216, 120, 18429, 0.59, 1.43),
    ("adult", 1, True, 39073, 14, 168, 0.66, 0.52),
    ("adult", 2, True, 39073, 91, 8206, 1.03, 1.05),
    ("adult", 3, True, 39073, 364, 121687, 3.29, 4.44),
    ("german", 2, False, 500, 190, 2244, 0.07, 0.09),
    ("credit-screening", 2, False, 345, 105, 3252, 0.05, 0.07),
    ("magic", 2, False, 9510, 45, 1067, 0.09, 0.14),
    ("magic", 3, False, 9510, 120, 9994, 0.27, 0.49),
    ("adult", 1, False, 24421, 14, 148, 0.44, 0.16),
    ("adult", 2, False, 24421, 91, 6783, 0.73, 0.63),
]


@pytest.mark.parametrize(("name", "order", "nested", "rows", "tuples", "cells", "ms", "took"), MEASURED)
def test_a_fit_takes_about_as_long_as_is_said(name, order, nested, rows, tuples, cells, ms, took, monkeypatch):
    recipe = Recipe("lr", order=order, alpha="cv" if nested else 0.3)
    monkeypatch.setattr(cost, "calibrate", lambda one_pass, n_classes, n_jobs: one_pass)
    iteration = cost._iteration_cost(Estimate(Cost(0, 0, ms / 1000, 1), cells, 2**40), 2, 1)
    said = fit_cost(iteration, recipe, np.array([rows // 2, rows - rows // 2]), tuples).seconds
    assert took / 1.6 < said < 1.6 * took, f"{name}: {said:.2f} s said, {took} s taken"


def test_choosing_alpha_is_in_what_a_fit_is_said_to_take():
    """Passes of its trials, beside those that a pass of a second has it take."""
    data, recipe = alrviz.load_demo("tic-tac-toe"), Recipe("halr", order=2, alpha="auto", holdout=0.0)
    run = alrviz.Run(data, recipe)
    taken = max(step.passes for step in run.steps() if step.kind == "search")
    counts = np.unique(data.y, return_counts=True)[1]
    said = choosing_cost(Cost(seconds=1.0, passes=1), recipe, counts, 36)
    assert taken / 2.5 < said.passes < 2.5 * taken, f"{said.passes:.0f} passes said, {taken:.0f} taken"
    assert said.seconds == pytest.approx(said.passes, rel=0.01)
    fixed = recipe.replace(alpha=1.0)
    assert choosing_cost(Cost(seconds=1.0, passes=1), fixed, counts, 36) == Cost()


def test_choosing_an_order_takes_the_orders_that_are_tried(monkeypatch):
    """Those up to the likely one and the next, unless that is too much work, or has too few columns."""
    monkeypatch.setattr(cost, "choosing_cost", lambda _, recipe, *of: Cost(seconds=10.0 ** recipe.params["order"]))
    recipe = Recipe("hlr", order=2, alpha="auto", discretize="auto")
    prepared = prepare(alrviz.load_demo("tic-tac-toe"), recipe)
    assert cost.choosing_order_cost(prepared, recipe, None, NEVER).seconds == 1110.0
    table = pd.DataFrame({"a": list("xy") * 50, "b": list("xxyy") * 25, "c": "x"})
    few = prepare(alrviz.Dataset.from_arrays(table, np.arange(100) % 3 > 0), recipe)
    assert cost.choosing_order_cost(few, recipe, None, NEVER).seconds == 110.0
    monkeypatch.setattr(choose_order, "MAX_PASS_SECONDS", 1e-9)
    monkeypatch.setattr(choose_order, "MIN_PASS_SECONDS", 0.0)
    monkeypatch.setattr(choose_order, "GRAM_BUDGET_FACTOR", 1)
    assert cost.choosing_order_cost(prepared, recipe, None, NEVER).seconds == 10.0


def test_boosting_of_several_classes_grows_a_tree_for_each():
    recipe = Recipe("hgb")
    two, five = (recipe.definition.seconds(recipe.params, 1000, 10, classes) for classes in (2, 5))
    assert five == pytest.approx(5 * two)


def test_what_only_the_bound_refuses_is_estimated_with_its_plan(monkeypatch):
    """Of many columns every tuple is estimated as a block; a fit plans them, and these tell nearly all the same."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{k}": ["v"] * 2000 if k > 3 else rng.choice(["a", "b"], 2000) for k in range(250)})
    dataset = alrviz.read_table(frame.assign(**{"class": rng.choice(["x", "y"], 2000)}), target="class")
    assert dataset.X.shape[1] == 250
    asked = [Recipe("lr", order=2, alpha=0.3)]

    def estimated(allowed):
        monkeypatch.setattr("alrviz.studies.core.workers.fair_memory", lambda: allowed)
        return estimate_recipes(dataset, asked, 0.2, NEVER)[0]

    bound = estimated(2**40)
    planned = estimated(bound.cost.bytes * 2 // 3)
    assert not planned.refusal
    assert planned.cost.bytes < bound.cost.bytes
    # the tuples of four columns are counted row by row, and not all 31,125 for ten seconds
    assert planned.cost.seconds < 100 * planned.one_pass.seconds + 3
    assert estimated(10_000_000).refusal
    monkeypatch.setattr("alrviz.studies.core.workers.fair_memory", lambda: 10_000_000)
    study = alrviz.choose_order(dataset, Recipe("lr", alpha=0.1), orders=(2,), repeats=1, folds=5, n_jobs=1)
    assert study.estimate().cost.seconds == 0.0  # it would fail at once
    assert "MiB may be used" in str(study.estimate())
