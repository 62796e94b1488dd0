"""Fits by what rows share are the fits to cells: the same minimum and slopes; where that is not so, not asked."""

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz import Recipe
from alrviz.fitting.families import alpha_folds
from alrviz.fitting.families.family import FitRequest
from alrviz.fitting.prepare import encode_rows
from alrviz.fitting.solvers import alpha_tuned, row_space
from alrviz.stop import NEVER


def request(recipe: Recipe, n: int = 60, weights: bool = True) -> FitRequest:
    """Numbers with gaps, a category and three classes."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"u": rng.normal(size=n), "v": rng.integers(0, 9, n) / 2.0, "c": rng.choice(list("abc"), n)})
    X.loc[rng.random(n) < 0.1, "u"] = np.nan
    y = np.where(X["c"] == "a", "one", np.where(X["u"].fillna(0) * X["v"] > rng.normal(size=n), "two", "three"))
    rows = encode_rows(recipe, X, y, rng.integers(1, 4, n).astype(float) if weights else None, n_jobs=1)
    return FitRequest(rows, recipe, recipe.params, lambda what: None, NEVER)


@pytest.fixture(autouse=True)
def everywhere(monkeypatch):
    monkeypatch.setattr(alpha_folds, "PAIRS_PER_CELL", np.inf)
    for name, value in {"SEARCH_TOL": 1e-9, "MAX_STEPS": 500, "SLOPE_SOLVE_TOL": 1e-6, "GRAM_TOL": 1e-12}.items():
        monkeypatch.setattr(alpha_tuned, name, value)
    monkeypatch.setattr(row_space, "SLOPE_SOLVE_TOL", 1e-5)
    monkeypatch.setattr(alpha_folds, "HANDOVER_TOL", 1e-9)


@pytest.mark.parametrize("discretize", ["smooth", "quantile"])
@pytest.mark.parametrize(
    ("family", "order", "center"), [("hlr", 1, "shares"), ("hlr", 2, "shares"), ("hlr", 3, 0), ("lr", 2, "shares")]
)
def test_they_have_the_losses_and_slopes_of_fits_to_cells(family, order, center, discretize):
    recipe = Recipe(family, order=order, alpha="auto", center=center, discretize=discretize, missing="level")
    of = request(recipe)
    assert alpha_folds.uses_gram_matrix(recipe, of.prepared.encoded)
    alpha = np.array([0.3, 2.0, 0.7][: order if family == "hlr" else 1])
    by_cells = [alpha_folds._alpha_fold(made, made.fit.w0) for made in alpha_folds._folds(of, False)]
    by_rows = list(alpha_folds._alpha_folds(of))
    assert [type(fold) for fold in by_rows] == [alpha_tuned.RowFold] * 3
    for cells, rows in zip(by_cells, by_rows, strict=True):
        np.testing.assert_allclose(rows.evaluate(alpha, NEVER)[0], cells.evaluate(alpha, NEVER)[0], atol=2e-5)
        expected = cells.slopes()[0]
        np.testing.assert_allclose(rows.slopes()[0], expected, atol=2e-2 * np.abs(expected).max())
        np.testing.assert_array_equal(rows.weights, cells.weights)


def test_fits_recover_from_much_larger_alphas():
    of = request(Recipe("hlr", order=2, alpha="auto", center="shares", discretize="smooth", missing="level"))
    again, fresh = next(alpha_folds._alpha_folds(of)), next(alpha_folds._alpha_folds(of))
    again.evaluate(np.array([1e5, 1e5]), NEVER)
    losses, passes = again.evaluate(np.array([1e-3, 1e-3]), NEVER)
    expected, fresh_passes = fresh.evaluate(np.array([1e-3, 1e-3]), NEVER)
    np.testing.assert_allclose(losses, expected, atol=0.05)
    assert passes < 2.0 * fresh_passes


def test_a_fit_begins_at_the_minimum_that_they_have_found():
    recipe = Recipe("hlr", order=2, alpha=(0.3, 2.0), center="shares", discretize="smooth")
    of = request(recipe, weights=False)
    objective = recipe.definition.make(of).fit.objective
    w = alpha_folds.first_weights(objective, of, (0.3, 2.0))
    assert objective.criterion(objective.value_grad(w)) < 1e-5
    assert objective.criterion(objective.value_grad(objective.center)) > 1e-2


def test_gram_folds_choose_the_alphas_of_cell_folds(monkeypatch):
    data = alrviz.load_demo("tic-tac-toe", 150)
    found = []
    for cheaper in (np.inf, 0.0):
        monkeypatch.setattr(alpha_folds, "PAIRS_PER_CELL", cheaper)
        found.append(alrviz.HLRClassifier(order=2, alpha="auto", center="shares").fit(data.X, data.y))
    np.testing.assert_allclose(*(np.log(model.alpha_) for model in found), atol=0.05)
    np.testing.assert_allclose(*(model.predict_proba(data.X) for model in found), atol=0.01)


@pytest.mark.parametrize(
    "params",
    [{"family": "halr"}, {"center": "anje"}, {"unseen": "m-estimate"}, {"keep": 5}, {"class_weight": "balanced"},
     {"share": "tuple"}, {"scale": "diagonal-adaptive"}],
)  # fmt: skip
def test_other_fits_go_over_cells(params):
    recipe = Recipe(**{"family": "hlr", "order": 2, "alpha": 1.0, **params})
    assert not alpha_folds.uses_gram_matrix(recipe, request(recipe).prepared.encoded)
    tall = Recipe("hlr", order=2, alpha=1.0, discretize=None)  # a chain with gaps is no chain of all its levels
    assert alpha_folds.uses_gram_matrix(tall, request(tall).prepared.encoded)


@pytest.mark.parametrize("order", [2, "auto"])
def test_a_replay_begins_there_too(order):
    data = alrviz.load_demo("tic-tac-toe", 300)
    run = alrviz.Run(data, Recipe("hlr", order=order, alpha="auto", center="shares"))
    for _ in run.steps():
        pass
    np.testing.assert_array_equal(run.replay(run.trace[-1].index).model.phi, run.model.phi)
