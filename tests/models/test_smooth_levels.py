"""Smooth levels: steps against prefix sums by hand, the penalty's two ends, derivatives, tables of every kind."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import alrviz
from alrviz.data.encode import Encoder
from alrviz.errors import RecipeError
from alrviz.fitting.families import FAMILIES
from alrviz.kernels.vectors import walk_losses
from alrviz.models import parameterisation
from alrviz.models.cell_space import AllOrders, space_of
from alrviz.models.linear import log_softmax
from alrviz.models.parameterisation import chain_variances, level_steps, parameterise
from alrviz.models.tables import Tables
from alrviz.passes.vectors import dot
from tests.estimators.model_files import file_of
from tests.fitting.tables import counted, drain, prepared_objective, run_of, table

TIGHT = {"tol": 1e-15, "max_iter": 5000}
SETTINGS = [
    ("lr", {"order": 1}),
    ("lr", {"order": 2}),
    ("hlr", {"order": 2, "alpha": (0.1, 2.0)}),
    ("hlr", {"order": 3, "alpha": 0.5}),
    ("alr", {"order": 1, "penalty": "phi"}),
    ("alr", {"order": 2, "scale": "theta-gamma"}),
    ("halr", {"order": 2, "penalty": "w"}),
]


def chained(rows=150, seed=0, **more):
    """Rows of smooth columns of 6 and 4 levels, the second with one outside of its chain, and of a third column."""
    encoded = table(rows, (6, 5, 3), 3, seed=seed, weights="fractions", **more)
    return replace(encoded, chains=np.array([6, 4, 0]))


def numbers(rows=300, seed=0, n_classes=2):
    """A table of numbers, some missing, an ordinal and a categorical column, and a class that depends on them."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, rows))
    size = rng.integers(0, 4, rows)
    score = 2 * np.sin(2 * a) + np.where(a * b > 0, 1.0, -1.0) + 0.5 * size
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(rows) < 0.1, np.nan, b)})
    frame["size"] = pd.Categorical.from_codes(size, ["s", "m", "l", "xl"], ordered=True)
    frame["colour"] = rng.choice(["red", "blue"], rows)
    y = np.digitize(score + rng.logistic(size=rows), np.linspace(-1, 2, n_classes + 1)[1:-1])
    return frame, np.array([f"class {k}" for k in range(n_classes)])[y]


def test_steps_equal_prefix_sums(monkeypatch):
    variances = 2.0 / np.maximum(1, np.array([3, 2, 0]) - 1), np.array([6.0, 30.0, 0.0])
    monkeypatch.setattr(parameterisation, "chain_variances", lambda tables, chains: variances)
    space = space_of(np.array([3, 3, 2]), AllOrders(2))
    seen = np.arange(space.n_cells)
    ones = np.ones((len(seen), 2))
    tables = Tables(space, seen, ones, np.ones(2), np.ones((space.n_tuples, 2)), space.cards.astype(float), 1.0)
    steps = level_steps(
        tables, np.array([3, 2, 0]), has_parts=False
    )  # the last level of the second is outside its chain
    v = np.random.default_rng(0).normal(size=(len(seen) + 1, 2))
    w, lengths = steps.sums(v), {0: 3, 1: 2}
    cells = {
        (t, *codes): int(space.first[t] + np.dot(codes, space.strides[t][: len(codes)]))
        for t, own in enumerate(space.members)
        for codes in product(*(range(space.levels[j]) for j in own))
    }
    u = v.copy()  # steps with their share of the mean: of two columns' levels 1 and 2, and 1
    for t, chain, share in ((0, [1, 2], np.sqrt(1 + 6.0 / 2.0) - 1), (1, [1], np.sqrt(1 + 30.0 / 2.0) - 1)):
        rows = [cells[t, level] for level in chain]
        u[rows] += share * v[rows].mean(axis=0)
    for (t, *codes), cell in cells.items():
        own = [
            range(code + 1) if code < lengths.get(j, 0) else [code]
            for j, code in zip(space.members[t], codes, strict=True)
        ]
        expected = np.zeros(2)
        for before in product(*own):
            size = [lengths[j] - 1 for j, code in zip(space.members[t], before, strict=True)
                    if j in lengths and 0 < code < lengths[j]]  # fmt: skip
            expected += u[cells[t, *before]] * np.sqrt(np.prod([2.0 / steps_ for steps_ in size]))
        np.testing.assert_allclose(w[cell], expected, rtol=1e-13)
    np.testing.assert_array_equal(w[-1], v[-1])
    np.testing.assert_allclose(steps.steps_to(w.copy()), v, rtol=1e-12)


def test_trends_of_a_column_with_too_many_levels_for_a_cell_each(monkeypatch):
    """Its chain has the cells that rows have, and no cell of the next tuple."""
    monkeypatch.setattr("alrviz.models.cell_space.MAX_GRID_CELLS", 2)
    encoded = chained(200)
    encoded = encoded.take(np.flatnonzero((encoded.codes[0] != 2) & (encoded.codes[1] != 1)))
    objective, w0 = prepared_objective(encoded, "hlr", order=2, alpha=0.3)
    steps, tables = objective.parameterisation.steps, objective.parameterisation.tables
    assert (np.diff(tables.tuple_of_seen[steps.chains - [[0, 1]]]) == 0).all()
    rng = np.random.default_rng(0)
    v, slopes = rng.normal(size=(2, *w0.shape))
    assert dot(steps.sums(v), slopes) == pytest.approx(dot(v, steps.adjoint(slopes.copy())), rel=1e-10)
    np.testing.assert_allclose(
        steps.steps_to(steps.sums(v))[steps.size[:, 0] != 0], v[steps.size[:, 0] != 0], rtol=1e-9
    )


@pytest.mark.parametrize(("family", "params"), SETTINGS)
def test_gradient_and_products_are_those_of_differences(family, params):
    objective, w0 = prepared_objective(chained(gaps=0.1), family, missing="skip", **{"alpha": 0.3, **params})
    assert objective.parameterisation.steps is not None
    rng = np.random.default_rng(1)
    w, d, other = w0 + rng.normal(size=w0.shape), *rng.normal(size=(2, *w0.shape))
    point, h = objective.value_grad(w), 1e-5
    up, down = objective.value_grad(w + h * d), objective.value_grad(w - h * d)
    assert dot(point.gradient, d) == pytest.approx((up.objective - down.objective) / (2 * h), rel=1e-7)
    product_ = objective.hvp(point, d)
    differences = (up.gradient - down.gradient) / (2 * h)
    assert np.abs(product_ - differences).max() < 1e-7 * np.abs(differences).max()
    assert dot(product_, other) == pytest.approx(dot(objective.hvp(point, other), d), rel=1e-10)
    diagonal, unit = objective.hessian_diagonal(point), np.zeros_like(w)
    for k in [(0, 0), (3, 1), (len(w) // 2, 1), (-2, 0), (-1, 2)]:
        unit[k] = 1.0
        assert diagonal[k] == pytest.approx(objective.hvp(point, unit)[k], rel=1e-9, abs=1e-9)
        unit[k] = 0.0


@pytest.mark.parametrize(("family", "order"), [("lr", 1), ("halr", 2)])  # without a penalty hlr is lr
def test_without_a_penalty_they_are_plain_levels(family, order):
    """The same lowest F, and the same probabilities: steps reach every phi, also between cells that never occur."""
    encoded = chained(1000, signal=0.5)
    fits = [
        drain(run_of(own, family, order=order, alpha=0.0, solver="lbfgs", **TIGHT))
        for own in (encoded, replace(encoded, chains=None))
    ]
    smooth, plain = (run.state.point.objective for run in fits)
    assert smooth == pytest.approx(plain, rel=1e-6)
    np.testing.assert_allclose(*(np.exp(log_softmax(run.model.scores(encoded.codes))) for run in fits), atol=1e-3)


def test_with_an_infinite_penalty_a_chain_is_one_level():
    encoded = chained(400)
    merged = encoded.codes.copy()
    merged[0], merged[1] = 0, np.where(encoded.codes[1] < 4, 0, 1)
    one = replace(encoded, codes=merged, levels=np.array([1, 2, 3]), chains=None)
    objective, _ = prepared_objective(encoded, "lr", order=1, alpha=0.0)
    steps = objective.parameterisation.steps
    moves = steps.size[:-1, 0] != 1.0
    objective._q = np.where(np.append(moves, False)[:, None], 1e9, 1e-9) * np.ones(objective.center.shape)
    unit = 1 / np.sqrt(
        np.maximum(objective._q, 1.0)
    )  # of w, so that curvatures are of one size: 45 evaluations, not 4,000

    def of(flat):
        point = objective.value_grad(flat.reshape(unit.shape) * unit)
        return point.objective, (point.gradient * unit).ravel()

    start = (objective.center / unit).ravel()
    found = minimize(of, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-7})
    plain = drain(run_of(one, "lr", order=1, alpha=1e-9, **TIGHT))
    assert found.fun == pytest.approx(plain.state.point.objective, rel=1e-6)


def test_ends_of_a_chain_differ_as_two_weights_do_whatever_the_cuts():
    for levels in (2, 5, 30):
        codes = np.stack([np.arange(900) % levels, np.arange(900) // levels % 3]).astype(np.uint8)
        tables = counted(replace(table(900, (levels, 3)), codes=codes), 2)
        steps = level_steps(tables, np.array([levels, 0]), has_parts=False)
        assert (steps.size[:-1].reshape(levels, 3)[1:] ** 2).sum() == pytest.approx(3 * 2.0)


def test_a_walk_is_as_likely_as_the_normal_law_of_all_its_places_says():
    rng, levels = np.random.default_rng(0), 7
    variances, trends = np.array([0.01, 0.3, 2.0, 0.3]), np.array([0.0, 0.0, 5.0, 40.0])
    odds, noise, losses = rng.normal(size=(levels, 2)), rng.uniform(0.1, 1.0, (levels, 2)), np.empty(4)
    walk_losses(odds, noise, variances, trends, losses)
    steps = np.arange(1, levels)
    for variance, trend, loss in zip(variances, trends, losses, strict=True):
        expected = 0.0
        for c in range(2):  # given the first
            cov = noise[0, c] + variance * np.minimum.outer(steps, steps) + np.diag(noise[1:, c])
            cov += trend / 36 * np.multiply.outer(steps, steps)
            expected -= 2 * multivariate_normal.logpdf(odds[1:, c] - odds[0, c], cov=cov)
        assert loss == pytest.approx(expected - 2 * len(steps) * np.log(2 * np.pi), rel=1e-10)


def test_a_columns_steps_are_as_large_as_its_levels_differ_beyond_noise():
    """Walks of known variance are found again; noise alone has the least there is."""
    rng, levels, found = np.random.default_rng(0), 60, []
    for variance in (0.0, 0.03, 0.5):
        odds = np.cumsum(rng.normal(0.0, np.sqrt(variance), levels))
        code = rng.integers(0, levels, 40_000)
        y = rng.random(len(code)) < 1 / (1 + np.exp(odds.mean() - odds[code]))
        encoded = table(len(code), (levels,), 2)
        tables = counted(replace(encoded, codes=code[None].astype(np.uint8), y=y.astype(np.int32)), 1)
        found.append(2 * chain_variances(tables, np.array([levels]))[0][0])  # of two classes' log odds, not of one's
    assert found[0] < 0.001
    assert 0.01 < found[1] < 0.1
    assert 0.15 < found[2] < 1.5


def test_a_straight_line_is_a_trend_and_not_many_steps():
    """The estimated variance of a line's trend, and that of noise, which is the least that is tried."""
    rng, levels, variances = np.random.default_rng(0), 24, []
    for height in (0.0, 6.0):
        code = rng.integers(0, levels, 40_000)
        y = rng.random(len(code)) < 1 / (1 + np.exp(height * (0.5 - code / (levels - 1))))
        encoded = table(len(code), (levels,), 2)
        tables = counted(replace(encoded, codes=code[None].astype(np.uint8), y=y.astype(np.int32)), 1)
        variances.append(np.concatenate(chain_variances(tables, np.array([levels]))))
    (noise_step, noise_trend), (line_step, line_trend) = variances
    assert noise_trend == parameterisation.MIN_TREND_VARIANCE
    assert 5.0 < line_trend < 100.0
    assert line_step < 1e-2
    assert noise_step < 1e-2


def test_slopes_of_numbers_cost_little():
    """A straight line in ten numbers: shrunk far less than the same weights would be without trends."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 10))
    y = (X @ np.linspace(-1, 1, 10) + rng.logistic(size=600)) > 0
    losses = []
    for trends in (parameterisation.MIN_TREND_VARIANCE, 0.0):
        with pytest.MonkeyPatch.context() as patch:
            if not trends:
                patch.setattr(parameterisation, "_TREND_VARIANCES", np.zeros(1))
                patch.setattr(parameterisation, "MIN_TREND_VARIANCE", 0.0)
            model = alrviz.LRClassifier(order=1, discretize="smooth", alpha="auto").fit(X[:300], y[:300])
        losses.append(-np.mean(model.predict_log_proba(X[300:])[np.arange(300), y[300:].astype(int)]))
    assert losses[0] < 0.97 * losses[1]


def test_lower_orders_hold_what_a_first_level_would_add_unless_they_are_left_out():
    encoded = chained(600)
    sizes = [
        prepared_objective(encoded, "hlr", order=2, alpha=alpha)[0].parameterisation.steps.size
        for alpha in ((0.3, 0.3), (np.inf, 0.3))
    ]
    assert (sizes[0] == 0).any()
    assert (sizes[1] > 0).all()


def test_smooth_levels_approximate_a_sine_better_than_plain_levels():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 4000)
    p = 1 / (1 + np.exp(-3 * np.sin(4 * np.pi * x)))
    y = (rng.random(4000) < p).astype(int)
    X = pd.DataFrame({"x": x})
    losses = {}
    for how in ("mdl", "quantile", "smooth"):
        model = alrviz.LRClassifier(order=1, discretize=how, alpha=0.1).fit(X[:2000], y[:2000])
        losses[how] = np.mean((model.predict_proba(X[2000:])[:, 1] - p[2000:]) ** 2)
    assert losses["smooth"] < 0.5 * min(losses["mdl"], losses["quantile"])


def test_a_sign_of_a_product_is_learned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] * X[:, 1] > 0
    model = alrviz.HLRClassifier(order=2, discretize="smooth", alpha=0.03).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.95


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["LRClassifier", "HLRClassifier", "HALRClassifier"])
@pytest.mark.parametrize(("discretize", "chains"), [("smooth", [24, 24, 4, 0]), ("mdl-smooth", [0, 24, 0, 0])])
def test_a_saved_model_is_the_same(discretize, chains, name, n_classes):
    X, y = numbers(n_classes=n_classes)
    model = getattr(alrviz, name)(discretize=discretize).fit(X, y)
    assert model.encoder_.chains_.tolist() == chains  # missing of b is not one of its chain
    again = alrviz.load_model(file_of(model))
    np.testing.assert_array_equal(again.encoder_.chains_, chains)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.weights_, model.weights_)


def test_columns_that_mdl_cuts_have_its_levels_and_the_others_smooth_ones():
    """As a table of both sorts of columns has them, and by the model's own where all columns are of one sort."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(400, 4)), columns=["step", "u", "v", "none"])
    X["size"] = pd.Categorical.from_codes(rng.integers(0, 4, 400), ["s", "m", "l", "xl"], ordered=True)
    X.loc[::9, ["step", "u"]], X["none"] = np.nan, np.nan
    y = np.where((X["step"] > 0.5) ^ (X["u"] * X["v"] > 1.5), "p", "q")
    mdl, smooth, mixed = (Encoder(discretize=cuts, n_bins=24).fit(X, y) for cuts in ("mdl", "smooth", "mdl-smooth"))
    assert mdl.lost_ == ("u", "v")
    assert mixed.lost_ == ()
    assert [column.smooth for column in mixed.columns_] == [False, True, True, False, False]
    for own, cut, chain, said in zip(mixed.columns_, mdl.columns_, smooth.columns_, mixed.chains_, strict=True):
        expected = chain if own.smooth else cut
        assert own.to_dict() == expected.to_dict() | {"smooth": own.smooth}
        assert said == (expected.n_levels - (expected.missing_code is not None) if own.smooth else 0)
    for columns, alone in ((["step", "size"], "mdl"), (["u", "v"], "smooth")):
        models = [
            alrviz.HLRClassifier(order=2, discretize=of, alpha=0.3).fit(X[columns], y) for of in ("mdl-smooth", alone)
        ]
        np.testing.assert_allclose(*(of.predict_proba(X[columns]) for of in models), rtol=1e-9)
    tan = [alrviz.TANClassifier(discretize=of).fit(X, y).predict_proba(X) for of in ("mdl-smooth", "mdl")]
    np.testing.assert_array_equal(*tan)


def test_a_weight_of_two_is_the_row_twice():
    X, y = numbers(200)
    weights = np.random.default_rng(5).integers(0, 3, 200)
    twice = np.repeat(np.arange(200), weights)
    for family in (alrviz.LRClassifier, alrviz.HLRClassifier):
        model = family(order=2, alpha=0.3, discretize="smooth", **TIGHT)
        a = model.fit(X, y, weights).predict_proba(X)
        b = model.fit(X.iloc[twice], y[twice]).predict_proba(X)
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize(
    "column",
    [
        np.zeros(60),
        np.full(60, np.nan),
        np.where(np.arange(60) % 7 == 0, 1e300, np.arange(60.0)),
        np.where(np.arange(60) % 7 == 0, -1e300, 1e-300),
        np.arange(60.0) % 2,
        np.arange(60.0),
        np.append(np.full(59, np.nan), 1.0),
    ],
    ids=["constant", "missing", "huge", "far apart", "two values", "a row a level", "one value"],
)
@pytest.mark.parametrize("missing", ["level", "skip"])
@pytest.mark.parametrize("order", [1, 2])
def test_odd_columns_end_in_finite_probabilities(column, missing, order):
    y = np.arange(60) // 3 % 2
    X = pd.DataFrame({"odd": column, "even": np.arange(60.0) ** 2})
    model = alrviz.HLRClassifier(order=order, discretize="smooth", missing=missing, alpha=0.3).fit(X, y)
    p = model.predict_proba(X)
    assert np.isfinite(p).all()
    assert -np.log(p[np.arange(60), y]).mean() <= np.log(2) + 1e-9


def test_incompatible_settings_raise():
    for params in ({"share": "tuple"}, {"scale": "diagonal"}, {"solver": "sgd", "alpha": 0.0}):
        with pytest.raises(RecipeError, match="smooth levels"):
            alrviz.Recipe("lr", discretize="smooth", **{"alpha": 1.0, **params})
    X, y = numbers(100)
    with pytest.raises(RecipeError, match="smooth levels of several orders"):
        alrviz.HALRClassifier(discretize="smooth", start="anje", alpha=1.0).fit(X, y)
    alrviz.ALRClassifier(discretize="smooth", start="anje", center="anje", alpha=1.0).fit(X, y)


def test_anje_as_a_start_is_the_same_model():
    encoded = chained(300)
    tables = counted(encoded, 2)
    for family in ("lr", "alr", "alrj"):
        smooth, plain = (parameterise(family, tables, ordered_levels=own) for own in (encoded.chains, None))
        np.testing.assert_allclose(
            smooth.phi(smooth.weights_of("anje")), plain.phi(plain.weights_of("anje")), atol=1e-9
        )


@pytest.mark.parametrize("family", [name for name, of in FAMILIES.items() if of.has_steps and name != "dlr"])
def test_families_without_steps_along_levels_take_them_as_they_are(family):
    data = alrviz.load_demo("mixed-types", 200)
    run = drain(alrviz.Run(data, alrviz.Recipe(family, discretize="smooth")))
    assert run.outcome.code != "failed"


def test_cells_that_no_row_has_are_priced_and_get_what_their_neighbours_have():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 400)
    X = pd.DataFrame({"a": x, "b": x + rng.normal(0, 0.1, 400)})  # far from the diagonal there is no row
    y = np.where(X["a"] + X["b"] + rng.normal(0, 0.3, 400) > 0, "up", "down")
    run = drain(
        alrviz.Run(alrviz.read_table(X.assign(y=y), target="y"), alrviz.Recipe("hlr", discretize="smooth", alpha=0.3))
    )
    seen, counts = run.tables.seen_cells, run.tables.counts.sum(axis=1)
    assert run.estimate.cells_seen == len(seen) == 2 * 24 + 24 * 24
    assert (counts[48:] == 0).sum() > 200
    assert np.abs(run.model.phi[48:][counts[48:] == 0]).max() > 0.01
