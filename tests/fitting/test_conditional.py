"""ELR: slopes against differences, its optimum on naive Bayes, its search, cross-tuning, and what a run says of it."""

import threading
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.demos import load_demo
from alrviz.data.splits import spread_folds
from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting.cost.estimate import estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families.conditional import ELR
from alrviz.fitting.families.networks import learn
from alrviz.fitting.objectives.conditional import conditional_objective
from alrviz.fitting.prepare import TrainingData, prepare
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.cg_brent import BrentGradients, lowest_step
from alrviz.fitting.solvers.cross_tuned import FOLDS, PATIENCE_ITERATIONS
from alrviz.models.linear import log_softmax
from alrviz.models.structures import Structure, naive_structure
from alrviz.passes.vectors import dot
from tests.fitting.tables import table

STRUCTURES = {
    "naive": naive_structure(4),
    "tree": Structure(((), (0,), (0,), (2,)), (0, 1, 2, 3)),
    "two parents": Structure(((2,), (0, 2), (), (1, 0)), (2, 0, 1, 3)),
}
PARAMS = dict(Recipe("elr", cross_tuning=False).params)


def objective_of(structure, class_weight=None, **settings):
    encoded, held = table(60, (3, 4, 2, 5), seed=3, **settings), table(40, (3, 4, 2, 5), seed=8, **settings)
    prepared = TrainingData(encoded, held, n_jobs=1)
    return prepared, *conditional_objective(prepared, structure, {**PARAMS, "class_weight": class_weight})


def run_of(dataset, **params):
    run = Run(dataset, Recipe("elr", **params), n_jobs=1)
    steps = list(run.steps())
    return run, [step for step in steps if step.kind != "search"]


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("settings", [{}, {"weights": "fractions", "gaps": 0.2, "class_weight": "balanced"}], ids=str)
def test_slopes_against_differences(structure, settings):
    _, objective, _ = objective_of(structure, **settings)
    rng = np.random.default_rng(0)
    w = objective.start + rng.normal(size=objective.start.shape)
    point = objective.value_grad(w)
    assert point.objective == pytest.approx(objective.value(w), rel=1e-13)
    for _ in range(12):
        step = rng.normal(size=w.shape) * (rng.random(w.shape) < 0.2)
        t = 1e-5
        difference = (objective.value(w + t * step) - objective.value(w - t * step)) / (2 * t)
        assert dot(point.gradient, step) == pytest.approx(difference, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_scores_are_the_networks_on_training_and_on_other_rows(structure, gaps):
    prepared, objective, held = objective_of(structure, gaps=gaps)
    w = objective.start + np.random.default_rng(1).normal(size=objective.start.shape)
    model = objective.model(w)
    for rows, encoded in ((None, prepared.encoded), (held, prepared.holdout)):
        found = objective.scores(w, rows)[:, :3]
        np.testing.assert_allclose(found, model.scores(encoded.codes), rtol=1e-11, atol=1e-11)
    p = np.exp(log_softmax(model.scores(prepared.encoded.codes)))
    y = prepared.encoded.y
    assert objective.value(w) == pytest.approx(-np.log(p[np.arange(len(y)), y]).sum(), rel=1e-12)


SHORT = pytest.mark.filterwarnings("ignore:ELRClassifier. max_iter")
FOREST = Structure(((1,), (), (1,), (0,)), (1, 0, 2, 3))


def summed_objective(gaps, structure=FOREST, summed=True):
    encoded, held = table(60, (3, 4, 2, 5), seed=3, gaps=gaps), table(40, (3, 4, 2, 5), seed=8, gaps=gaps)
    params = {**PARAMS, "class_weight": "balanced"}
    return (
        encoded,
        held,
        *conditional_objective(TrainingData(encoded, held, n_jobs=1), structure, params, sums_missing=summed),
    )


@pytest.mark.parametrize("gaps", [0.1, 0.5])
def test_slopes_where_missing_columns_are_summed_out(gaps):
    encoded, held, objective, rows = summed_objective(gaps)
    rng = np.random.default_rng(0)
    w = objective.start + rng.normal(size=objective.start.shape)
    model, point = objective.model(w), objective.value_grad(w)
    np.testing.assert_allclose(objective.scores(w)[:, :3], model.scores(encoded.codes), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(objective.scores(w, rows)[:, :3], model.scores(held.codes), rtol=1e-12, atol=1e-12)
    assert len(objective.rows.gaps) > 10
    for _ in range(12):
        step = rng.normal(size=w.shape) * (rng.random(w.shape) < 0.2)
        difference = (objective.value(w + 1e-5 * step) - objective.value(w - 1e-5 * step)) / 2e-5
        assert dot(point.gradient, step) == pytest.approx(difference, rel=1e-6, abs=1e-6)


def test_start_tables_count_rows_with_levels_in_their_columns():
    encoded, _, objective, _ = summed_objective(0.3)
    model, k = objective.model(objective.start), 1
    both = (encoded.codes[0] < 3) & (encoded.codes[1] == 2) & (encoded.y == k)
    n, t = np.bincount(encoded.codes[0, both], minlength=3), model.structure.order.index(0)
    found = model.phi[np.flatnonzero(model.seen_cells == model.space.first[t] + 2 * 3)[0] :][:3, k]
    np.testing.assert_allclose(np.exp(found), (n + 1 / 3) / (n.sum() + 1), rtol=1e-12)


def test_without_gaps_summing_changes_no_bit():
    points = []
    for summed in (True, False):
        _, _, objective, rows = summed_objective(0.0, summed=summed)
        w = objective.start + np.random.default_rng(0).normal(size=objective.start.shape)
        points.append((objective.value_grad(w), objective.scores(w, rows)))
    (one, held), (other, held_too) = points
    assert one.objective == other.objective
    np.testing.assert_array_equal(one.gradient, other.gradient)
    np.testing.assert_array_equal(held, held_too)


def with_gaps():
    dataset = load_demo("tic-tac-toe")
    X = dataset.X.astype(object).mask(np.random.default_rng(0).random(dataset.X.shape) < 0.15)
    return alrviz.ELRClassifier, X, dataset.y


def test_a_tree_with_gaps_is_fitted_tuned_and_predicts():
    elr, X, y = with_gaps()
    settings = {"structure": "tan", "max_iter": 15, "random_state": 0}
    summed = elr(sum_missing=True, **settings).fit(X, y)
    assert summed.trace_[-1].nll < summed.trace_[0].nll
    assert {step.extra.get("fold") for step in summed.trace_} >= {0.0, 4.0}
    assert (summed.encoder_.levels_ == 3).all()
    assert (elr(**settings).fit(X, y).encoder_.levels_ == 4).all()
    again = elr(sum_missing=True, n_jobs=2, **settings).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), summed.predict_proba(X))
    lines = summed.explain(X[:20]).groupby("row").sum()
    shares = np.exp(lines.to_numpy() - np.logaddexp.reduce(lines.to_numpy(), axis=1)[:, None])
    np.testing.assert_allclose(shares, summed.predict_proba(X[:20]), rtol=1e-10)


@SHORT
def test_on_naive_bayes_summing_is_leaving_out():
    elr, X, y = with_gaps()
    fits = [elr(sum_missing=said, cross_tuning=False, max_iter=4).fit(X, y) for said in ("auto", True)]
    np.testing.assert_array_equal(fits[0].weights_, fits[1].weights_)
    tree = elr(structure={}, sum_missing=True, cross_tuning=False, max_iter=4).fit(X, y)
    np.testing.assert_array_equal(tree.weights_, fits[0].weights_)


@SHORT
def test_a_column_without_values_is_nobodys_parent():
    elr, X, y = with_gaps()
    X[X.columns[0]] = pd.Categorical([None] * len(X), categories=["x"])
    model = elr(structure="tan", sum_missing=True, cross_tuning=False, max_iter=2).fit(X, y)
    assert (X.columns[0],) not in model.structure_.values()
    without = elr(structure=model.structure_, sum_missing=True, cross_tuning=False, max_iter=2).fit(X, y)
    np.testing.assert_allclose(without.predict_proba(X), model.predict_proba(X), rtol=1e-11)


def test_several_parents_are_refused():
    two = {"b": ["a", "c"]}
    with pytest.raises(
        RecipeError, match=r"gives 'b' 2 parents; expected one, such as \{'b': 'a'\}, or sum_missing=False"
    ):
        Recipe("elr", structure=two, sum_missing=True)
    assert Recipe("elr", structure=two).missing == Recipe("elr", structure=two, sum_missing=False).missing == "level"
    assert Recipe("elr", structure={"b": ["a", "a"]}, sum_missing=True).missing == "skip"


@pytest.mark.parametrize("structure", ["nb", "tan"])
def test_it_starts_at_the_counted_network(structure):
    dataset = load_demo("tic-tac-toe")
    recipe = Recipe("elr", structure=structure, cross_tuning=False, max_iter=0)
    run = Run(dataset, recipe, n_jobs=1)
    (step,) = run.steps()
    counted = learn(prepare(dataset, recipe, 1), recipe).model
    np.testing.assert_allclose(run.model.scores(run.holdout.codes), counted.scores(run.holdout.codes), atol=1e-12)
    if structure == "nb":  # naive Bayes, which every curve is compared with
        assert step.nll / run.trace.rows == pytest.approx(run.trace.baseline["anje"], rel=1e-12)
        assert step.extra["heldout_log_loss"] == pytest.approx(run.trace.baseline["heldout_anje"], rel=1e-12)


def test_on_naive_bayes_its_optimum_is_that_of_logistic_regression():
    dataset = load_demo("led", 600, 1)
    settings = {"holdout": 0.0, "tol": 0.0, "max_iter": 400}
    lr = Run(dataset, Recipe("lr", order=1, alpha=0, solver="lbfgs", **settings), n_jobs=1)
    end = list(lr.steps())[-1]
    elr, steps = run_of(dataset, cross_tuning=False, **settings)
    assert steps[-1].nll == pytest.approx(end.nll, rel=1e-9)
    codes = elr.encoded.codes
    np.testing.assert_allclose(
        log_softmax(elr.model.scores(codes)), log_softmax(lr.model.scores(codes)), rtol=0, atol=1e-4
    )


class Minus(BrentGradients):
    """The directions as [ELR] prints them."""

    def direction(self, gradient, memory):
        before = memory.gradient
        beta = (dot(gradient, gradient) - dot(gradient, before)) / dot(before, before)
        return -gradient - beta * memory.direction


def test_the_printed_sign_loses_what_conjugate_directions_gain():
    """F above its lowest after 20 iterations on LED: .0007 with plus, .4 with minus, as much as steepest descent's."""
    recipe = Recipe("elr", cross_tuning=False, holdout=0.0)
    fit, _ = ELR().assemble(prepare(load_demo("led", 1000), recipe, 1), recipe, recipe.params)
    above = {}
    for solver in (BrentGradients(), Minus()):
        state = solver.init(fit.objective, fit.w0)
        for _ in range(20):
            state = solver.advance(fit.objective, state)
        above[type(solver)] = state.point.objective - 779.11479
    assert 0 < above[BrentGradients] < 0.01 < 0.1 < above[Minus]


@pytest.mark.parametrize(
    ("value", "guess", "place"),
    [
        (lambda t: (t - 3.0) ** 2, 1.0, 3.0),
        (lambda t: (t - 3.0) ** 2, 1e-4, 3.0),
        (lambda t: (t - 3.0) ** 2, 1e5, 3.0),
        (lambda t: (t - 0.2) ** 4 + 1.0, 1.0, 0.2),
        (lambda t: np.inf if t > 2 else -np.sin(t), 4.0, np.pi / 2),
    ],
)
def test_a_line_is_searched_to_its_lowest_place(value, guess, place):
    t, trials = lowest_step(value, value(0.0), guess)
    assert t == pytest.approx(place, rel=0.05)
    assert 0 < trials < 35


def test_a_line_that_falls_for_ever_or_never_ends_too():
    assert lowest_step(lambda t: t, 0.0, 1.0) == (0.0, 12)
    t, trials = lowest_step(lambda t: np.exp(-t), 1.0, 1.0)
    assert t > 1e3
    assert trials < 20


def test_cross_tuning_takes_the_median_of_the_best_steps_of_folds():
    dataset = load_demo("tic-tac-toe")
    run, steps = run_of(dataset, structure="tan", max_iter=40)
    frame = run.trace.frame()
    folds = frame[frame["kind"] == "search"]
    best = [part["fold_heldout_log_loss"].to_numpy().argmin() for _, part in folds.groupby("fold")]
    m = int(np.median(best))
    assert len(best) == 5
    assert (steps[-1].index, run.outcome.code) == (m, "converged")
    assert run.outcome.sentence == f"cross-tuning chose {m} iterations"
    assert {step.extra["tuned_stop"] for step in steps[1:]} == {m}
    for (_, part), at in zip(folds.groupby("fold"), best, strict=True):
        assert part["fold_iteration"].tolist() == list(range(len(part)))
        assert len(part) == min(40, at + PATIENCE_ITERATIONS) + 1
    untuned, whole = run_of(dataset, structure="tan", max_iter=40, cross_tuning=False)
    assert [step.nll for step in whole[: m + 1]] == [step.nll for step in steps], "the same steps, bit for bit"
    assert len(whole) == 41
    assert (np.diff(frame["evaluations"]) >= 0).all()
    assert untuned.trace[-1].passes < run.trace[-1].passes


def test_first_rise_of_training_error_is_reported():
    _, steps = run_of(load_demo("tic-tac-toe"), cross_tuning=False, max_iter=30)
    errors = [step.extra["train_error"] for step in steps]
    rise = int(np.argmax(np.diff(errors) > 0))
    assert errors[rise + 1] > errors[rise]
    assert [step.extra.get("naive_stop") for step in steps] == [None] * (rise + 1) + [rise] * (len(steps) - rise - 1)


def test_counted_tables_stay_if_no_iteration_helps():
    rng = np.random.default_rng(0)
    encoded = table(40, (4,) * 6, 2, seed=0)
    encoded.y[:] = rng.integers(0, 2, 40)
    run = Run.on_encoded(encoded, Recipe("elr", seed=1), n_jobs=1)
    steps = [step for step in run.steps() if step.kind != "search"]
    assert run.outcome.sentence == "cross-tuning chose 0 iterations: the counted tables"
    assert steps[0].nll == steps[-1].nll


def test_folds_spread_every_class():
    y = np.repeat([0, 1, 2], [50, 23, 2])
    fold = spread_folds(y, FOLDS, 3)
    for k, size in ((0, 10), (1, 5), (2, 1)):
        assert np.bincount(fold[y == k], minlength=5).max() <= size
    assert np.bincount(fold).tolist() == [15] * 5
    assert (fold == spread_folds(y, FOLDS, 3)).all()
    assert (fold != spread_folds(y, FOLDS, 4)).any()


@pytest.mark.parametrize("summed", ["auto", True])
def test_a_replay_is_bit_for_bit_and_so_are_two_threads(summed):
    run, steps = run_of(load_demo("mixed-types"), structure="tan", sum_missing=summed, max_iter=12)
    again = Run(run.dataset, run.recipe, n_jobs=2)
    list(again.steps())
    assert [step.objective for step in again.trace] == [step.objective for step in run.trace]
    replayed = run.replay(steps[-1].index)
    np.testing.assert_array_equal(replayed.state.point.w, run.state.point.w)
    kept, model = run.model_at(1)
    assert kept == 1
    assert model.scores(run.encoded.codes).shape == (run.encoded.n_rows, 2)


def test_fit_starts_from_a_given_model():
    dataset = load_demo("tic-tac-toe")
    first, _ = run_of(dataset, cross_tuning=False, max_iter=5, holdout=0.0)
    on = Run(dataset, Recipe("elr", cross_tuning=False, max_iter=0, holdout=0.0), n_jobs=1, start=first.model)
    (step,) = on.steps()
    assert step.nll == pytest.approx(first.trace[-1].nll, rel=1e-12)
    with pytest.raises(RecipeError, match="expected an elr model fitted to the same rows"):
        list(Run(dataset, Recipe("elr", structure="tan"), n_jobs=1, start=first.model).steps())


def test_a_stop_ends_it_within_tuning():
    dataset = load_demo("led", 3000)
    run = Run(dataset, Recipe("elr", structure="tan", tol=0.0, max_iter=5000), n_jobs=1)
    run.start()
    while len(run.trace) < 3:
        time.sleep(0.01)
    assert run.trace[-1].kind == "search"
    run.stop()
    length = len(run.trace)
    run.join()
    assert (run.outcome.code, len(run.trace)) == ("stopped", length)
    assert threading.active_count() < 20


def test_it_races_beside_other_families():
    found = alrviz.race(
        load_demo("tic-tac-toe", 200), [Recipe("lr", order=1, alpha=0.3), Recipe("elr", max_iter=5)], n_jobs=1
    )
    while not found.ended:
        found.step()
        found.join(0.05)
    frame = found.frame()
    assert set(frame["label"]) == {"lr", "elr"}
    elr = frame[(frame["label"] == "elr") & (frame["kind"] != "search")]
    assert elr[["train_error", "heldout_error", "heldout_log_loss"]].notna().all(axis=None)


@pytest.mark.parametrize(
    ("structure", "cells"), [("nb", 14), ({"x0": "x1", "x3": ["x0", "x2"]}, 3 * 4 + 4 + 2 + 5 * 3 * 2)]
)
def test_the_estimate_counts_possible_cells(structure, cells):
    encoded = table(50, (3, 4, 2, 5))
    known = estimate(Recipe("elr", structure=structure), TableShape(encoded))
    assert known.cost.parameters == 3 * (1 + cells)
    assert (known.choice.solver, known.refusal) == ("cg", "")
    small = estimate(Recipe("elr", structure=structure), TableShape(encoded), 1000)
    assert "1 MiB" not in small.refusal
    assert "MiB may be used" in small.refusal
    with pytest.raises(MemoryLimitError, match="MiB may be used"):
        list(Run.on_encoded(encoded, Recipe("elr", structure=structure), max_memory=1000).steps())


@pytest.mark.parametrize(("structure", "tuned"), [("nb", False), ("tan", False), ("tan", True)])
def test_estimate_is_close_to_the_memory_used(structure, tuned):
    dataset = load_demo("led", 20_000)
    recipe = Recipe("elr", structure=structure, cross_tuning=tuned, max_iter=2)
    prepared = prepare(dataset, recipe, 1)
    encoded, holdout = prepared.encoded, prepared.holdout
    list(Run.on_encoded(encoded, recipe, holdout, n_jobs=1).steps())  # compiled
    tracemalloc.start()
    list(Run.on_encoded(encoded, recipe, holdout, n_jobs=1).steps())
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    taken += sum(part.codes.nbytes + part.y.nbytes + part.weights.nbytes for part in (encoded, holdout))
    cost = estimate(recipe, TableShape(encoded, holdout)).cost
    assert 0.85 * taken < cost.bytes < 1.25 * taken
    assert (cost.seconds > 0, cost.passes) == (True, 1)
