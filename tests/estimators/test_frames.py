"""explain and to_frame: the parts add up, and every number is where its name says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import alrviz
from alrviz.errors import MemoryLimitError
from alrviz.estimators import (
    ALRClassifier,
    AnDEClassifier,
    AnJEClassifier,
    AutoClassifier,
    DLRClassifier,
    ELRClassifier,
    HierarchicalSelectiveALRClassifier,
    HLRClassifier,
    KDBClassifier,
    LRClassifier,
    NaiveBayesClassifier,
    SelectiveALRClassifier,
    TANClassifier,
    WANBIACClassifier,
)
from alrviz.models.linear import log_softmax
from tests.estimators.tables import drawn, mixed

MODELS = {
    "lr": LRClassifier(order=2, alpha=0.1),
    "alr-3": ALRClassifier(order=3, alpha=0.1, penalty="w"),
    "alr-skip": ALRClassifier(order=2, alpha=0.1, missing="skip", unseen="m-estimate"),
    "salr": SelectiveALRClassifier(order=2, keep=0.5, alpha=1.0),
    "salr-cells": SelectiveALRClassifier(order=2, keep=0.5, unit="cell", alpha=1.0),
    "hlr": HLRClassifier(order=2, alpha=0.1),
    "hlr-smooth": HLRClassifier(order=2, alpha=0.1, discretize="smooth"),
    "hsalr": HierarchicalSelectiveALRClassifier(order=2, keep=0.5, alpha=1.0),
    "anje": AnJEClassifier(order=2),
    "nb": NaiveBayesClassifier(),
    "wanbia-c": WANBIACClassifier(alpha=1.0),
    "auto": AutoClassifier(order=2, alpha=0.1),
    "dlr": DLRClassifier(alpha=1.0),
    "tan": TANClassifier(),
    "kdb": KDBClassifier(k=2, selective=False),
    "elr": ELRClassifier(cross_tuning=False, max_iter=3),
}
# Effects under the counts of cells are those under the rows, but where some rows have no cell of the model.
APART = [name for name in MODELS if name not in ("alr-skip", "salr-cells", "tan", "kdb", "elr")]


@pytest.fixture(scope="module", params=[2, 3])
def table(request):
    X, y = mixed()
    return X, y if request.param == 2 else np.where(X["count"] < 20, "few", y)


@pytest.mark.filterwarnings("ignore:.*max_iter=3 steps")
@pytest.mark.parametrize("name", list(MODELS))
def test_contributions_and_the_intercept_add_up_to_the_scores(name, table):
    X, y = table
    X = X.set_axis([f"row {i}" for i in range(len(X))])
    model = clone(MODELS[name]).fit(X[:80], y[:80])
    parts = model.explain(X)  # of levels and cells that training never saw, too
    assert parts.index.names == ["row", "tuple"]
    assert parts.columns.name == "class"
    assert parts.columns.tolist() == model.classes_.tolist()
    assert (parts.loc["row 0"].index[0], parts.index.get_level_values("tuple").tolist().count("intercept")) == (
        "intercept",
        len(X),
    )
    sums = parts.groupby("row", sort=False).sum()
    assert sums.index.tolist() == X.index.tolist()
    np.testing.assert_allclose(log_softmax(sums.to_numpy()), model.predict_log_proba(X), rtol=0, atol=1e-10)
    if len(model.classes_) == 2:
        np.testing.assert_allclose(sums["yes"] - sums["no"], model.decision_function(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", APART)
def test_a_row_is_explained_by_its_pure_effects(name, table):
    X, y = table
    model = clone(MODELS[name]).fit(X, y)
    parts = model.explain(X)
    means = parts.groupby("tuple").mean().drop("intercept")
    np.testing.assert_allclose(means, 0.0, atol=1e-9)
    size = parts.drop("intercept", level="tuple").abs().max(axis=1)
    assert (size.groupby("row").diff().dropna() <= 1e-12).all()
    effects = alrviz.interactions(model, alrviz.Dataset.from_arrays(X, y))
    for k in (0, 7, 17):  # 17: without a number
        row = effects.row(X.iloc[[k]])
        odds = (parts[row.label] - parts[row.other_label]).loc[k]
        assert odds["intercept"] == pytest.approx(row.intercept, abs=1e-9)
        np.testing.assert_allclose(odds[row.frame.index], row.frame["log_odds"], rtol=0, atol=1e-9)
        assert len(odds) == 1 + len(row.frame)


def test_rows_may_share_a_name_and_arrays_have_numbers():
    X, y = drawn(60)
    model = NaiveBayesClassifier().fit(X.set_axis([7] * 60), y)
    parts = model.explain(X[:3].set_axis([7, 7, 8]))
    assert parts.index.get_level_values("row").tolist() == [7] * 10 + [8] * 5
    model.fit(X.to_numpy(), y)
    parts = model.explain(X[:2].to_numpy())
    assert parts.index.get_level_values("row").tolist() == [0] * 5 + [1] * 5
    assert sorted(parts.loc[1].index) == ["intercept", "x0", "x1", "x2", "x3"]


def test_too_many_rows_to_explain_are_refused():
    X, y = drawn(100)
    model = NaiveBayesClassifier(max_memory=10**7).fit(X, y)
    model.max_memory = 2400
    assert len(model.explain(X[:5])) == 25
    with pytest.raises(MemoryLimitError, match=r"100 rows have 1,500 contributions.*explain at most 5 rows at once"):
        model.explain(X)


def test_a_line_a_cell():
    X, y = drawn(150)
    model = LRClassifier(order=2, alpha=0.1).fit(X, y)
    frame = model.to_frame()
    assert frame.shape == (len(model.phi_), 4 * 3)
    assert frame.index.names == ["columns", "levels"]
    assert frame.columns.names == ["quantity", "class"]
    for (columns, levels), line in frame.sample(8, random_state=0).iterrows():
        (a, b), (u, v) = columns.split(" & "), levels.split(" & ")
        inside = (X[a] == u) & (X[b] == v)
        counts = [int((inside & (y == label)).sum()) for label in model.classes_]
        assert line["count"].tolist() == counts
        n_y = np.unique(y, return_counts=True)[1]
        np.testing.assert_allclose(line["log_theta"], np.log((np.array(counts) + 1 / 9) / (n_y + 1)), rtol=1e-12)
    np.testing.assert_array_equal(frame["phi"], model.phi_)
    np.testing.assert_array_equal(frame["w"], model.weights_[:-1])
    assert frame.index.is_unique
    assert frame["count"].groupby("columns").sum().sum(axis=1).eq(150).all()


def test_the_weights_are_phis_in_other_units():
    X, y = drawn(150)
    alr = ALRClassifier(alpha=0.1, penalty="w").fit(X, y)
    np.testing.assert_allclose(alr.phi_, alr.weights_[:-1] * alr.log_theta_, rtol=1e-15)
    np.testing.assert_allclose(alr.intercept_, alr.weights_[-1] * alr.tables_.log_pi, rtol=1e-15)
    anje = AnJEClassifier().fit(X, y)
    assert anje.weights_ is None
    assert anje.to_frame().columns.levels[0].tolist() == ["count", "log_theta", "phi"]
    np.testing.assert_allclose(anje.phi_, anje.log_theta_ / 3, rtol=1e-15)


def test_hostile_names_stay_text():
    X = pd.DataFrame({"=1+1": ["<script>", "b"] * 20, "a & b": ["x", "\x00"] * 20})
    frame = AnJEClassifier().fit(X, [0, 1] * 20).to_frame()
    assert frame.index[0] == ("=1+1 && a & b", "<script> & x")


def test_unfitted_classifier_has_no_attributes():
    X, _ = drawn(10)
    for ask in ("predict", "predict_proba", "decision_function", "explain"):
        with pytest.raises(NotFittedError):
            getattr(LRClassifier(alpha=0.3), ask)(X)
    with pytest.raises(NotFittedError):
        LRClassifier(alpha=0.3).to_frame()
    assert not hasattr(LRClassifier(alpha=0.3), "log_theta_")


@pytest.mark.parametrize("n", [1, 2])
def test_the_networks_of_a_mean_make_its_scores(n):
    X, y = drawn(120)
    model = AnDEClassifier(n=n).fit(X[:100], y[:100])
    lines = model.explain(X)
    with np.errstate(divide="ignore"):
        scores = np.log(np.exp(lines).where(np.isfinite(lines)).groupby("row", sort=False).mean())
    expected = pd.DataFrame(log_softmax(scores.to_numpy()), columns=model.classes_)
    np.testing.assert_allclose(expected, model.predict_log_proba(X), rtol=0, atol=1e-10)
    assert len(lines) == len(X) * {1: 4, 2: 6}[n]


def test_the_mean_of_one_network_is_explained_as_that_network():
    X, y = drawn(60)
    model, bayes = AnDEClassifier(n=0).fit(X, y), NaiveBayesClassifier().fit(X, y)
    sums = model.explain(X).groupby("row").sum()
    np.testing.assert_allclose(log_softmax(sums.to_numpy()), bayes.predict_log_proba(X), rtol=0, atol=1e-12)


def test_density_frame_agrees_with_explain():
    X, y = mixed()
    X = X[["number", "text", "flag"]]
    model = DLRClassifier(alpha=10.0).fit(X, y)
    frame = model.to_frame()
    assert frame.columns.tolist() == [("phi", "yes"), ("contribution", "yes")]
    assert frame.loc["text"].index.tolist() == ["a", "b", "missing"]
    added = model.explain(X)
    added = added["yes"] - added["no"]  # less their means over the rows
    b, a = ((X["text"] == level).argmax() for level in ("b", "a"))
    steps = frame["contribution", "yes"]
    assert steps["text", "b"] - steps["text", "a"] == pytest.approx(added[b, "text"] - added[a, "text"])
    numbers = steps["number"]
    ends = (X["number"].idxmax(), X["number"].idxmin())
    assert numbers.index[0] == X["number"].min()
    rise = added[ends[0], "number"] - added[ends[1], "number"]
    assert numbers.iloc[-1] - numbers.iloc[0] == pytest.approx(rise, abs=1e-3)
