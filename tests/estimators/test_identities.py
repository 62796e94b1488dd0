"""What the classifiers must be equal to: other libraries' models, each other, and hand calculations."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OneHotEncoder

from alrviz.data.demos import load_demo
from alrviz.estimators import (
    ALRClassifier,
    AnJEClassifier,
    LRClassifier,
    NaiveBayesClassifier,
    WANBIACClassifier,
)
from alrviz.models.linear import LinearModel
from tests.estimators.tables import drawn, mixed

TIGHT = {"tol": 1e-15, "max_iter": 5000}


def sets():
    led, tic = load_demo("led", 1000), load_demo("tic-tac-toe")
    return [pytest.param(led, id="led"), pytest.param(tic, id="tic-tac-toe")]


@pytest.mark.parametrize("smoothing", [1.0, 0.1])
def test_naive_bayes_is_categorical_nb(smoothing):
    """Columns of equal cards, so that m / card is one number; the class shares are smoothed otherwise, so given."""
    X, y = drawn(150, levels=3)
    ours = NaiveBayesClassifier(smoothing=smoothing).fit(X, y)
    codes = ours.encoder_.transform(X).T
    shares = (np.unique(y, return_counts=True)[1] + smoothing / 3) / (150 + smoothing)
    theirs = CategoricalNB(alpha=smoothing / 3, class_prior=shares).fit(codes, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(codes), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(codes))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", ["none", "diagonal"])
def test_lr_of_order_1_is_logistic_regression_on_the_one_hot(classes, scale):
    X, y = drawn(200, classes=classes)
    alpha = 0.3
    ours = LRClassifier(order=1, alpha=alpha, penalty="phi", center=0, scale=scale, **TIGHT).fit(X, y)
    one_hot = np.column_stack([OneHotEncoder(sparse_output=False).fit_transform(X), np.ones(len(X))])
    c = 1 / (2 * alpha) if classes > 2 else 1 / alpha  # of two classes scikit-learn has one vector, and here are two
    theirs = LogisticRegression(C=c, fit_intercept=False, solver="newton-cholesky", tol=1e-14).fit(one_hot, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(one_hot), rtol=0, atol=1e-8)
    if classes > 2:
        np.testing.assert_allclose(ours.phi_.T, theirs.coef_[:, :-1], rtol=0, atol=1e-7)
        np.testing.assert_allclose(ours.intercept_, theirs.coef_[:, -1], rtol=0, atol=1e-7)


@pytest.mark.parametrize("dataset", sets())
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("penalty", ["phi", "w"])
def test_a_large_alpha_gives_the_centers_model(dataset, order, penalty):
    X, y = dataset.X, dataset.y
    anje = AnJEClassifier(order=order).fit(X, y)
    ones = LinearModel(anje.cells_, anje.tables_.seen_cells, anje.log_theta_, anje.intercept_)
    expected = {
        0: np.full((len(y), len(anje.classes_)), 1 / len(anje.classes_)),
        "anje": anje.predict_proba(X),
        1: softmax(ones.scores(anje.encoder_.transform(X)), axis=1),
    }
    # phi = w log theta: on w alone the same alpha holds phi less firmly
    alpha = (1e6 if penalty == "phi" else 1e7) * len(y)
    settings = {"order": order, "alpha": alpha, "penalty": penalty, "max_iter": 20_000}
    models = [
        LRClassifier(center=0, **settings),
        LRClassifier(center="anje", **settings),
        LRClassifier(center="anje", scale="diagonal", **settings),
        ALRClassifier(center=0, **settings),
        ALRClassifier(center="anje", **settings),
        ALRClassifier(center=1, **settings),
    ]
    for model in models:
        p = model.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(p, expected[model.center], rtol=0, atol=1e-6, err_msg=str(model))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_step_from_anje_is_anje(order):
    X, y = mixed()
    anje = AnJEClassifier(order=order).fit(X, y)
    for model in (
        LRClassifier(order=order, start="anje", max_iter=0, alpha=0.3),
        LRClassifier(order=order, start="anje", max_iter=0, scale="diagonal", alpha=0.3),
        ALRClassifier(order=order, start="anje", max_iter=0, alpha=1.0),
    ):
        model.fit(X, y)
        np.testing.assert_allclose(model.predict_log_proba(X), anje.predict_log_proba(X), rtol=0, atol=1e-12)
        assert (model.n_iter_, model.outcome_.code) == (0, "converged")


def test_one_is_anje_at_order_1():
    X, y = mixed()
    one = WANBIACClassifier(start="one", max_iter=0, alpha=1.0).fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), NaiveBayesClassifier().fit(X, y).predict_proba(X), atol=1e-14)


@pytest.mark.parametrize("order", [1, 2])
def test_with_one_penalty_on_phi_every_family_has_one_optimum(order):
    X, y = drawn(150)
    settings = {"order": order, "alpha": 0.5, "penalty": "phi", "center": "anje", **TIGHT}
    lr = LRClassifier(**settings).fit(X, y).predict_proba(X)
    for model in (
        LRClassifier(scale="diagonal", **settings),
        LRClassifier(start="anje", **settings),
        ALRClassifier(**settings),
        ALRClassifier(start="anje", **settings),
        ALRClassifier(start="one", **settings),
    ):
        np.testing.assert_allclose(model.fit(X, y).predict_proba(X), lr, atol=1e-6, err_msg=str(model))


@pytest.mark.parametrize("missing", ["level", "skip"])
@pytest.mark.parametrize(
    "model", [LRClassifier(alpha=0.3), ALRClassifier(penalty="w", alpha=1.0), AnJEClassifier()], ids=str
)
def test_integer_weights_are_repeated_rows(model, missing):
    X, y = mixed()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    fit = {"missing": missing, **({"alpha": 0.1, **TIGHT} if hasattr(model, "alpha") else {})}
    model.set_params(**fit)
    weighted = model.fit(X, y, weights)
    proba, cuts = weighted.predict_proba(X), [c.cuts for c in weighted.encoder_.columns_]
    theta, counts, phi = weighted.log_theta_, weighted.tables_.counts, weighted.phi_
    repeated = model.fit(X.loc[X.index.repeat(weights)], np.repeat(y, weights))
    for ours, theirs in zip(cuts, [c.cuts for c in repeated.encoder_.columns_], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(counts, repeated.tables_.counts)
    np.testing.assert_array_equal(theta, repeated.log_theta_)
    np.testing.assert_allclose(proba, repeated.predict_proba(X), rtol=0, atol=1e-7)
    np.testing.assert_allclose(phi, repeated.phi_, rtol=0, atol=1e-5)


def test_class_weights_are_sample_weights_that_theta_does_not_see():
    X, y = drawn(150)
    y = np.array([{"k0": 7, "k1": 8, "k2": 9}[label] for label in y])
    settings = {"alpha": 0.1, "center": 0, "penalty": "w", **TIGHT}
    by_class = LRClassifier(class_weight={7: 3, 9: 0.5}, **settings).fit(X, y)
    by_row = LRClassifier(**settings).fit(X, y, np.select([y == 7, y == 9], [3.0, 0.5], 1.0))
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=0, atol=1e-8)
    plain = ALRClassifier(max_iter=0, alpha=1.0).fit(X, y)
    np.testing.assert_array_equal(
        ALRClassifier(max_iter=0, class_weight="balanced", alpha=1.0).fit(X, y).log_theta_, plain.log_theta_
    )
    shares = LRClassifier(class_weight="balanced", **settings).fit(X, y)
    mass = shares.predict_proba(X) * (len(y) / 3 / np.bincount(y)[y])[:, None]
    np.testing.assert_allclose(mass.sum(axis=0), len(y) / 3, rtol=1e-3)  # b is hardly penalised: its slope is 0


def test_unseen_cells():
    X, y = drawn(150)
    strange = X[:1].replace({column: {X[column].iloc[0]: "never seen"} for column in ("c0", "c1", "c2", "c3")})
    half = X[:1].replace({"c0": {X["c0"].iloc[0]: "never seen"}})
    for model in (LRClassifier(alpha=0.3), ALRClassifier(penalty="w", alpha=1.0), AnJEClassifier()):
        model.fit(X, y)
        np.testing.assert_allclose(
            model.predict_proba(strange)[0], softmax(model.intercept_), rtol=1e-12, err_msg="neutral: 0 for every class"
        )
        pairs = [(a, b) for a in ("c1", "c2", "c3") for b in ("c1", "c2", "c3") if a < b]
        known = [(" & ".join(pair), " & ".join(half[list(pair)].iloc[0])) for pair in pairs]
        scores = model.intercept_ + model.to_frame()["phi"].loc[known].sum().to_numpy()
        np.testing.assert_allclose(model.predict_proba(half)[0], softmax(scores), rtol=1e-12)
    nb = NaiveBayesClassifier(unseen="m-estimate").fit(X, y)
    n_y = np.unique(y, return_counts=True)[1]
    scores = np.log((n_y + 1 / 3) / 151) + 4 * np.log((1 / 3) / (n_y + 1))
    np.testing.assert_allclose(nb.predict_proba(strange)[0], softmax(scores), rtol=1e-12)
    zero = LRClassifier(unseen="m-estimate", center=0, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(zero.predict_proba(strange)[0], softmax(zero.intercept_), rtol=1e-12)


def test_skipped_missing_values_add_nothing():
    X, y = mixed()
    model = NaiveBayesClassifier(missing="skip").fit(X, y)
    parts = model.explain(X[X["text"].isna() & X["number"].notna()][:1])
    cells = model.to_frame().loc["text"]
    shares = cells["count"].sum(axis=1) / cells["count"].sum(axis=1).sum()
    mean = cells["phi"].sub(cells["phi"].mean(axis=1), axis=0).mul(shares, axis=0).sum()
    np.testing.assert_allclose(parts.xs("text", level="tuple").iloc[0], -mean, atol=1e-12)  # 0, less the mean
    present = X["text"].notna() & (y == "yes")
    frame = model.to_frame().loc["text"]
    assert frame["count", "yes"].sum() == present.sum()
    share = ((X["text"] == "a") & (y == "yes")).sum() + 0.5
    np.testing.assert_allclose(frame.loc["a", ("log_theta", "yes")], np.log(share / (present.sum() + 1)), rtol=1e-12)
    levelled = NaiveBayesClassifier().fit(X, y).to_frame().loc["text"]
    assert "missing" in levelled.index
    assert "missing" not in frame.index


def test_separation_warns():
    X, y = load_demo("tic-tac-toe").X, load_demo("tic-tac-toe").y
    with pytest.warns(match="no finite optimum exists.*; set alpha above 0"):
        model = LRClassifier(order=3, alpha=0).fit(X, y)
    assert model.outcome_.code == "separated"
    assert model.score(X, y) == 1.0
    small = LRClassifier(order=3, alpha=1e-6, penalty="phi").fit(
        X, y
    )  # a penalty has its optimum, however near to 0 NLL
    assert small.outcome_.code == "converged"


@pytest.mark.parametrize("order", [1, 2])
def test_threads_change_no_bit(order):
    X, y = drawn(60_000, columns=7)
    for model in (
        LRClassifier(order=order, max_iter=3, n_jobs=1, alpha=0.3),
        ALRClassifier(order=order, max_iter=3, n_jobs=1, alpha=1.0),
    ):
        with pytest.warns(match="max_iter=3"):
            one = model.fit(X, y)
        first, weights = one.predict_log_proba(X), one.weights_
        with pytest.warns(match="max_iter=3"):
            two = model.set_params(n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(weights, two.weights_)
        np.testing.assert_array_equal(first, two.predict_log_proba(X))
