"""alpha="auto": its slopes, what it comes to beside a grid, how it is watched and kept, and tables that are hard."""

import threading
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.splits import FOLDS
from alrviz.errors import RecipeError
from alrviz.estimators.make import make_estimator
from alrviz.fitting.solvers import alpha_tuned, choose_alpha
from alrviz.stop import NEVER


def tuning(data, **recipe):
    """A run that has begun, and its folds."""
    run = alrviz.Run(data, alrviz.Recipe(alpha="auto", holdout=0.0, **recipe))
    run.advance()
    return run, run._fit.solver, list(run._fit.solver.make())


def slopes_at(folds, at):
    """Slopes of the validation loss at alphas with these logarithms."""
    choose_alpha.evaluate_alphas(folds, at)
    return choose_alpha.loss_slopes(folds)[0]


def planted(rows, seed=0, noise=0.15):
    """Six columns of three levels; two say something by themselves, two by whether they are equal."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 3, (rows, 6)).astype(str), columns=list("abcdef"))
    score = (X["a"] == "0") * 1 + (X["b"] == X["c"]) * 1
    y = np.where(rng.random(rows) < noise, rng.integers(0, 3, rows), score)
    return X, y.astype(str)


@pytest.mark.parametrize("recipe", [
    {"family": "hlr", "order": 2}, {"family": "halr", "order": 2}, {"family": "halr", "order": 2, "center": "anje"},
    {"family": "lr", "order": 2}, {"family": "hlr", "order": 2, "share": "tuple", "scale": "none"},
    {"family": "hlr", "order": 2, "objective": "mse"},
])  # fmt: skip
def test_slopes_are_those_of_differences(monkeypatch, recipe):
    monkeypatch.setattr(alpha_tuned, "SEARCH_TOL", 1e-14)
    monkeypatch.setattr(alpha_tuned, "MAX_STEPS", 500)
    monkeypatch.setattr(alpha_tuned, "SLOPE_SOLVE_TOL", 1e-8)
    X, y = planted(300)
    _, solver, folds = tuning(alrviz.Dataset.from_arrays(X, y), **recipe)
    at = np.log([5.0, 2.0][: solver.strategy.n_alphas])
    slope = slopes_at(folds, at)
    for k, own in enumerate(slope):
        ahead, behind = (
            choose_alpha.evaluate_alphas(folds, at + side * 1e-2 * np.eye(len(at))[k]).loss for side in (1, -1)
        )
        if recipe.get("objective") == "mse":  # Gauss-Newton's matrix stands for the Hessian
            assert own == pytest.approx((ahead - behind) / 2e-2, rel=0.5, abs=1e-4)
        else:
            assert own == pytest.approx((ahead - behind) / 2e-2, rel=1e-3, abs=1e-7)


def test_slopes_lead_down_where_alphas_are_small(monkeypatch):
    """Levels whose weights hardly any penalty holds: the system is ill-conditioned."""
    _, _, folds = tuning(alrviz.load_demo("balance-scale"), family="hlr", order=2, discretize="smooth")
    at = np.log([0.001, 1.0])
    own = slopes_at(folds, at)
    monkeypatch.setattr(alpha_tuned, "SLOPE_SOLVE_TOL", 1e-5)
    true = slopes_at(folds, at)
    assert own @ true > 0.95 * np.linalg.norm(own) * np.linalg.norm(true)


@pytest.mark.parametrize("family", ["lr", "alr", "hlr", "halr"])
def test_descent_is_close_to_the_best_of_a_grid(family):
    X, y = planted(600)
    data = alrviz.Dataset.from_arrays(X, y)
    run, _, folds = tuning(data, family=family, order=2)
    list(run.steps())
    chosen = run.recipe.params["alpha"]
    each = np.log(chosen if isinstance(chosen, tuple) else (chosen,))
    grid = np.log(10.0 ** np.arange(-2.0, 3.0))
    pairs = [np.array(pair) for pair in (np.stack(np.meshgrid(*[grid] * len(each)), -1).reshape(-1, len(each)))]
    best = min(choose_alpha.evaluate_alphas(folds, at).loss for at in pairs)
    assert choose_alpha.evaluate_alphas(folds, each).loss < 1.01 * best


def test_chosen_alphas_are_in_the_trace_and_the_recipe(tmp_path):
    X, y = planted(500)
    data = alrviz.Dataset.from_arrays(X, y)
    run = alrviz.Run(data, alrviz.Recipe("hlr", order=2, alpha="auto"))
    assert "automatic L2 penalty on phi" in run.name
    steps = list(run.steps())
    kinds = [step.kind for step in steps]
    tried = kinds.count("search")
    assert kinds == ["inner"] + ["search"] * tried + ["inner"] * (len(kinds) - 1 - tried)
    assert [step.index for step in steps if step.kind == "inner"] == list(range(len(kinds) - tried))
    assert steps[1].extra["alpha_1"] == steps[1].extra["alpha_2"] == pytest.approx(1e5)
    alpha = run.recipe.params["alpha"]
    assert alpha == (steps[-1].extra["alpha_1"], steps[-1].extra["alpha_2"])
    assert min(step.extra["search_log_loss"] for step in steps[1 : 1 + tried]) < steps[1].extra["search_log_loss"]
    assert any(note.startswith("alpha=") and f"in {tried} trials" in note for note in run.notes)
    assert f"L2 penalty {alpha[0]:g}, {alpha[1]:g} on phi" in run.name
    assert all(np.diff([step.passes for step in steps]) > 0)
    plain = alrviz.Run(data, run.recipe)
    assert list(plain.steps())[-1].objective == steps[-1].objective
    again = run.replay(steps[-1].index)
    np.testing.assert_array_equal(again.state.point.w, run.state.point.w)
    alrviz.save_model(alrviz.estimator_of(run), tmp_path / "m.zip")
    assert alrviz.load_model(tmp_path / "m.zip").alpha == alpha

    model = alrviz.HLRClassifier(alpha="auto").fit(X, y)
    assert len(model.alpha_) == 2
    assert list(model.alphas_) == ["alpha_1", "alpha_2", "log_loss", "folds"]
    same = alrviz.HLRClassifier(alpha=model.alpha_).fit(X, y)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


def test_search_ends_at_a_stop_and_uses_one_fold_of_many_rows(monkeypatch):
    X, y = planted(500)
    monkeypatch.setattr("alrviz.data.splits.SINGLE_FOLD_ROWS", 400)
    monkeypatch.setattr("alrviz.data.splits.INFORMATIVE_ROWS", 400)
    run, _, folds = tuning(alrviz.Dataset.from_arrays(X, y), family="hlr", order=2)
    assert len(folds) == 1 < FOLDS
    rare = alrviz.Dataset.from_arrays(X, np.arange(500) % 20 == 0)  # a third of it has 8 rows of a class to judge by
    assert len(tuning(rare, family="hlr", order=2)[-1]) == FOLDS
    run.advance()
    run.stop()
    assert (run.outcome.code, run.recipe.params["alpha"]) == ("stopped", "auto")


def test_the_last_trial_of_an_order_is_followed_closer_where_rows_are_many(monkeypatch):
    X, y = planted(500)
    data = alrviz.Dataset.from_arrays(X, y)
    monkeypatch.setattr("alrviz.fitting.families.alpha_folds.MAX_GRAM_ROWS", 0)  # passes over cells
    for name in ("SINGLE_FOLD_ROWS", "INFORMATIVE_ROWS"):
        monkeypatch.setattr(f"alrviz.data.splits.{name}", 400)  # one fold
    monkeypatch.setattr(alpha_tuned, "FINAL_TOL", 1e-14)
    monkeypatch.setattr(alpha_tuned, "MAX_STEPS", 500)
    _, solver, _ = tuning(data, family="hlr", order=2)
    *trials, last = replace(solver, strategy=replace(solver.strategy, close=True)).trials()
    (before,) = (trial for trial in trials if trial.loss == min(each.loss for each in trials))
    np.testing.assert_array_equal(last.log_values, before.log_values)
    run = alrviz.Run(data, alrviz.Recipe("hlr", order="auto", alpha="auto", holdout=0.0))
    run.advance()
    *earlier, closer = (line for line in run.trials if line["order"] == 2)
    assert [line["log_loss"] != closer["log_loss"] for line in earlier if line["alpha_2"] == closer["alpha_2"]] == [
        True
    ]
    monkeypatch.setattr(alpha_tuned, "SEARCH_TOL", 1e-14)
    exact = choose_alpha.evaluate_alphas(list(solver.make()), last.log_values).loss
    assert abs(last.loss - exact) < 0.01 * abs(before.loss - exact)


def test_coarse_search_uses_one_fold_then_all(monkeypatch):
    X, y = planted(500)
    data = alrviz.Dataset.from_arrays(X, y)
    whole = tuning(data, family="hlr", order=2)[1]
    monkeypatch.setattr("alrviz.data.splits.INFORMATIVE_ROWS", 400)
    _, solver, folds = tuning(data, family="hlr", order=2)
    rows = [len(trial.rows) for trial in solver.trials()]
    few = len(folds[0].weights)
    assert rows == [few] * rows.count(few) + [500] * rows.count(500)
    assert 0 < rows.count(500) < rows.count(few)
    assert {len(trial.rows) for trial in whole.trials()} == {500}
    # but not of rows that are nearly all of one class: the first fold has few of the other
    rare = alrviz.Dataset.from_arrays(X, np.arange(500) % 20 == 0)
    assert {len(trial.rows) for trial in tuning(rare, family="hlr", order=2)[1].trials()} == {500}
    # what does not come below the goal on the first fold is not looked at further
    last = [*solver.trials()][-1]
    goal = replace(last, rows=np.zeros(500))
    hopeless = replace(solver, strategy=replace(solver.strategy, goal=goal))
    assert {len(trial.rows) for trial in hopeless.trials()} == {few}
    # its fits are not finished, and its search ends after the first alphas that lose less
    hopeless = replace(hopeless, strategy=replace(hopeless.strategy, close=True))
    losses = [trial.loss for trial in hopeless.trials()]
    assert [*losses[2:]] == sorted(losses[2:], reverse=True)
    assert losses[-1] < min(losses[:-1])
    # and the center's model, where nothing can be told, is judged by all
    noise = alrviz.Dataset.from_arrays(X, np.random.default_rng(0).permutation(y))
    *_, center = tuning(noise, family="hlr", order=2, center="shares")[1].trials()
    assert (center.folds, len(center.rows), center.alpha) == (FOLDS, 500, pytest.approx((1e5, 1e5)))


@pytest.mark.parametrize("recipe", [{}, {"keep": 3}, {"discretize": "smooth"}, {"family": "halr"}])
def test_a_fold_starts_from_the_weights_of_another(monkeypatch, recipe):
    monkeypatch.setattr("alrviz.fitting.families.alpha_folds.MAX_GRAM_ROWS", 0)  # passes over cells
    data = alrviz.load_demo("balance-scale", 600)
    _, _, (first, second, _) = tuning(data, **{"family": "hlr", "order": 2, **recipe})
    alpha = np.array([1.0, 3.0])
    first.evaluate(alpha, NEVER)
    (w,) = first.final_weights.values()
    np.testing.assert_allclose(first.objective.weights_near(first.objective.model(w)), w, atol=1e-9)
    models = [first.objective.model(w), second.objective.model(second.objective.weights_near(first.objective.model(w)))]
    phi = [
        {
            (*model.space.members[t], *codes): row
            for t, codes, row in zip(
                model.space.tuple_of(model.seen_cells).tolist(), model.space.codes_of(model.seen_cells).tolist(),
                model.phi, strict=True,
            )
        }
        for model in models
    ]  # fmt: skip
    assert len(phi[0].keys() & phi[1].keys()) > 20
    if recipe.get("discretize") != "smooth":  # cells that the other lacks are 0, and lead to those beside them
        for cell, row in phi[1].items():
            np.testing.assert_allclose(row, phi[0].get(cell, np.zeros(3)), atol=1e-9)
    cold = second.evaluate(alpha, NEVER)[1]
    second.final_weights.clear()
    second.start_from(first, alpha)
    assert second.evaluate(alpha, NEVER)[1] < cold


def test_a_fold_starts_at_a_model_of_the_order_before():
    data = alrviz.Dataset.from_arrays(*planted(500))
    (low_order, *_), (high_order, *_) = (tuning(data, family="hlr", order=order)[2] for order in (1, 2))
    choose_alpha.evaluate_alphas([low_order], np.log([1.0]))
    model = low_order.model_near(np.array([1.0]))
    high_order.start_at(model)
    scores = low_order.objective.scores(low_order.nearest_weights(np.array([1.0])))
    assert np.ptp(scores[:, : model.n_classes]) > 1.0
    np.testing.assert_allclose(high_order.objective.scores(high_order.w), scores, atol=1e-9)


def test_search_begins_at_the_alphas_of_the_goal():
    data = alrviz.Dataset.from_arrays(*planted(500))
    _, solver, folds = tuning(data, family="hlr", order=2)
    goal = choose_alpha.evaluate_alphas(folds, np.log([20.0]))
    first, *_ = trials = [*choose_alpha.Descent(2, goal=goal).search(folds)]
    assert first.values == pytest.approx((20.0, 20.0 * 10**0.5))
    assert min(trial.loss for trial in trials) == pytest.approx(
        min(trial.loss for trial in solver.strategy.search(folds)), rel=0.01
    )
    # no slope leads on from the model of the center
    goal = choose_alpha.evaluate_alphas(folds, np.log([choose_alpha.MAX_ALPHA]))
    walk = [*choose_alpha.Descent(2, goal=goal).search(folds)][1:4]
    assert [trial.values[0] for trial in walk] == pytest.approx([1e3, 1e2, 1e1])


def test_unsupported_settings_raise():
    for recipe, words in [
        ({"objective": "hinge"}, "alpha='auto' .*objective='hinge'"),
        ({"bounds": (0, 1)}, r"alpha='auto' .*bounds=\(0, 1\)"),
    ]:
        with pytest.raises(alrviz.AlrvizError, match=words):
            alrviz.Recipe("alr", alpha="auto", **recipe)


def log_losses(p, y):
    return -np.log(np.clip(p[np.arange(len(y)), y], 1e-300, None))


@pytest.mark.parametrize(
    ("family", "name"),
    [
        *(("hlr", name) for name in ("led", "tic-tac-toe", "balance-scale", "monks-2", "noise", "few", "wide")),
        ("halr", "monks-2"),
        ("halr", "noise"),
    ],
)
def test_it_is_never_worse_than_the_class_shares_beyond_a_standard_error(name, family):
    rng = np.random.default_rng(0)
    if name in ("noise", "few", "wide"):  # nothing to be learned at all
        n, a = {"noise": (400, 5), "few": (40, 4), "wide": (80, 15)}[name]
        X, y = pd.DataFrame(rng.integers(0, 4, (2 * n, a)).astype(str)), rng.integers(0, 2, 2 * n)
    else:
        data = alrviz.load_demo(name)
        X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    order = rng.permutation(len(y))
    train, test = order[::2][:300], order[1::2]
    model = make_estimator(alrviz.Recipe(family, order=2, alpha="auto", center="shares")).fit(X.iloc[train], y[train])
    shares = np.bincount(y[train], minlength=y.max() + 1) / len(train)
    worse = log_losses(model.predict_proba(X.iloc[test]), y[test]) - log_losses(
        np.tile(shares, (len(test), 1)), y[test]
    )
    assert worse.mean() < worse.std() / np.sqrt(len(test)) + 1e-3


def hard_tables():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (300, 3)).astype(str), columns=list("abc"))
    y = rng.integers(0, 2, 300)
    yield "imbalance", pd.concat([X] * 10, ignore_index=True), (np.arange(3000) % 1000 == 0).astype(int), None
    yield "separable", X.assign(d=y.astype(str)), y, None
    yield "two rows a class", X[:4], np.array([0, 0, 1, 1]), None
    yield "a class of one row", X, np.where(np.arange(300) == 7, 2, y), None
    yield "one level", X.assign(a="x", b="x", c="x"), y, None
    yield "all missing", X.assign(a=np.nan), y, None
    yield "as many levels as rows", X.assign(a=np.arange(300).astype(str)), y, None
    yield "weights 0", X, y, np.where(np.arange(300) < 20, 1.0, 0.0)
    yield "large numbers", X.assign(a=rng.normal(0, 1e300, 300)), y, None


HARD_TABLES = {name: rest for name, *rest in hard_tables()}


# hlr and alr search several penalties and one; halr and lr do so by the same code.
@pytest.mark.parametrize(
    ("family", "name"),
    [*product(("hlr", "alr"), HARD_TABLES), ("halr", "a class of one row"), ("lr", "separable")],
)
@pytest.mark.filterwarnings("ignore")
def test_hard_tables_end_with_finite_probabilities(family, name):
    X, y, weights = HARD_TABLES[name]
    model = make_estimator(alrviz.Recipe(family, order=2, alpha="auto"))
    p = model.fit(X, y, sample_weight=weights).predict_proba(X)
    assert np.isfinite(p).all()
    assert np.isfinite(model.alpha_).all()


def test_unsearchable_settings_raise_before_any_fit():
    with pytest.raises(RecipeError, match=r"alpha='auto' .*solver='adagrad'"):
        alrviz.Recipe("lr", alpha="auto", solver="adagrad")
    with pytest.raises(RecipeError, match="share='all' has one weight"):
        alrviz.Recipe("hlr", alpha="auto", share="all")


def test_a_run_is_stopped_from_another_thread_in_the_middle_of_a_trial(monkeypatch):
    run = alrviz.Run(alrviz.load_demo("led", 300), alrviz.Recipe("hlr", order=2, alpha="auto"))
    tried, told = choose_alpha.evaluate_folds, []

    def stop():
        try:
            run.stop()
        except Exception as error:  # what a button would show
            told.append(error)

    def stopped(*args, **kwargs):
        if run.trace and not run.outcome:
            thread = threading.Thread(target=stop)
            thread.start()
            thread.join(10.0)
        return tried(*args, **kwargs)

    monkeypatch.setattr(choose_alpha, "evaluate_folds", stopped)
    list(run.steps())
    assert run.outcome.code == "stopped"
    assert not told
