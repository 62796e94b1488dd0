"""A classifier among scikit-learn's tools: searches, pipelines, workers, pickles, tables of every make."""

import pickle
import threading
import warnings

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import alrviz.estimators.recipes as recipes
from alrviz.data.demos import load_demo
from alrviz.errors import AlrvizError, LostColumnsWarning
from alrviz.estimators import (
    ALRClassifier,
    AnJEClassifier,
    LRClassifier,
    MDLDiscretizer,
    NaiveBayesClassifier,
    WANBIACClassifier,
)
from tests.estimators.tables import drawn, mixed

MODELS = [
    LRClassifier(alpha=0.1),
    LRClassifier(alpha=0.1, scale="diagonal", unseen="m-estimate"),
    ALRClassifier(alpha=0.1, penalty="w"),
    WANBIACClassifier(alpha=0.1, penalty="w"),
    AnJEClassifier(),
    NaiveBayesClassifier(),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=str)


@each_model
def test_scores_and_probabilities_agree(model):
    X, y = mixed()
    model = clone(model).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == list(X.columns)
    score = model.decision_function(X)
    assert score.shape == (len(y),)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(score), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(score > 0, "yes", "no"))
    X, y = drawn()
    scores = model.fit(X, y).decision_function(X)
    assert scores.shape == (len(y), 3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.score(X, y) == np.mean(model.predict(X) == y) > 0.45


def test_log_probabilities_do_not_underflow():
    X = pd.DataFrame(np.tile([["a"], ["b"]], (500, 60)))
    y = np.tile(["u", "v"], 500)
    model = NaiveBayesClassifier(smoothing=1e-6).fit(X, y)
    assert model.predict_log_proba(X[:1])[0, 1] < -1000
    assert model.predict_proba(X[:1])[0, 1] == 0


@each_model
def test_a_pickle_is_small_and_predicts_the_same(model):
    size = []
    for rows in (300, 6000):
        X, y = drawn(rows)
        model = clone(model).fit(X, y)
        model.predict(X)
        model.explain(X[:5])
        model.to_frame()
        blob = pickle.dumps(model)
        bound = 8 * (1 + 3 * 3) * len(model.phi_) + 250 * len(model.trace_) + 6000  # seen; counts, phi, w per class
        assert len(blob) < bound
        size.append(len(blob) - 250 * len(model.trace_))
    assert abs(size[1] - size[0]) < 5000, "it grows with cells and steps, not with rows"
    again = pickle.loads(blob)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    pd.testing.assert_frame_equal(again.to_frame(), model.to_frame())
    pd.testing.assert_frame_equal(again.trace_.frame(), model.trace_.frame())
    assert str(again.outcome_) == str(model.outcome_)
    assert again.phi_ is again.model_.phi, "one array, not two"


def test_joblib_keeps_it(tmp_path):
    X, y = mixed()
    model = LRClassifier(alpha=0.3).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("fitted", [False, True])
def test_a_pickle_of_another_format_is_refused(monkeypatch, fitted):
    model = AnJEClassifier()
    if fitted:
        model.fit(*drawn(60))
    monkeypatch.setattr(recipes, "FORMAT", 99)
    blob = pickle.dumps(model)
    monkeypatch.undo()
    with pytest.raises(AlrvizError, match=r"pickled in format 99, .* reads format 1"):
        pickle.loads(blob)


@each_model
def test_classifier_drops_the_run(model):
    before = threading.active_count()
    X, y = drawn(500)
    model = clone(model).fit(X, y)
    assert threading.active_count() <= before + joblib.cpu_count(), "the pool of the passes, and no thread of a run"
    assert not [name for name, value in vars(model).items() if isinstance(value, np.ndarray) and 500 in value.shape]


def test_a_second_fit_forgets_the_first():
    model = LRClassifier(order=1, alpha=0.3).fit(*mixed())
    X, y = drawn()
    model.set_params(order=2).fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    assert (model.n_features_in_, len(model.classes_)) == (4, 3)


def test_several_threads_may_ask_one_model():
    X, y = drawn(2000)
    model = pickle.loads(pickle.dumps(LRClassifier(alpha=0.3).fit(X, y)))
    expected = LRClassifier(alpha=0.3).fit(X, y).predict_proba(X)
    for found in joblib.Parallel(4, backend="threading")(joblib.delayed(model.predict_proba)(X) for _ in range(12)):
        np.testing.assert_array_equal(found, expected)


def test_search_pipeline_and_workers():
    X, y = mixed(200)
    numbers = ["number", "count"]
    scaled = make_column_transformer(
        (StandardScaler(), numbers), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    pipeline = make_pipeline(scaled, LRClassifier(alpha=0.3))
    grid = {"lrclassifier__order": [1, 2], "lrclassifier__alpha": [0.1, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_score_ > -0.6
    assert search.best_estimator_[-1].feature_names_in_.tolist() == [*numbers, "text", "size", "flag"]
    alone = LRClassifier(**{name.split("__")[1]: value for name, value in search.best_params_.items()})
    here = cross_val_score(alone, X, y, cv=4, scoring="neg_log_loss")
    np.testing.assert_array_equal(here, cross_val_score(alone, X, y, cv=4, scoring="neg_log_loss", n_jobs=2))


def test_weights_reach_it_through_a_pipeline():
    X, y = mixed()
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    numbers = X[["count", "flag"]].astype(float)
    pipeline = make_pipeline(MDLDiscretizer(), LRClassifier(order=1, alpha=1.0))
    pipeline.fit(numbers, y, lrclassifier__sample_weight=weights)
    assert pipeline[-1].tables_.class_counts.sum() == weights.sum()


def test_weights_are_routed():
    X, y = mixed()
    weights = np.where(y == "yes", 2.0, 0.01)
    with config_context(enable_metadata_routing=True):
        model = NaiveBayesClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        found = cross_validate(model, X, y, params={"sample_weight": weights}, cv=3, return_estimator=True)
    for fold in found["estimator"]:
        assert fold.tables_.class_counts[1] > 10 * fold.tables_.class_counts[0]


def test_a_notebook_shows_the_parameters():
    assert "max_iter" in LRClassifier(alpha=0.125)._repr_html_()
    assert str(LRClassifier(alpha=0.125)) == "LRClassifier(alpha=0.125)"


def test_the_tables_it_takes():
    X, y = mixed()
    model = AnJEClassifier().fit(X, y)
    expected = model.predict_proba(X)
    arrow = pa.Table.from_pandas(X)  # what has to_pandas: polars too
    np.testing.assert_array_equal(AnJEClassifier().fit(arrow, y).predict_proba(arrow), expected)
    np.testing.assert_array_equal(model.predict_proba(X.astype(object)), expected)
    rows = X.astype(object).to_numpy().tolist()
    listed = AnJEClassifier().fit(rows, y.tolist())
    assert [c.kind for c in listed.encoder_.columns_] == [
        "numeric",
        "numeric",
        "categorical",
        "categorical",
        "categorical",
    ]
    np.testing.assert_allclose(listed.predict_proba(rows), expected, rtol=1e-12)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X.to_numpy(dtype=object))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match=r"2 features.*5"):
        listed.predict([[1.0, 2.0]])


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False, True]),
        np.array([3, -1, 7], dtype=np.int8),
        np.array([0.0, 1.0, 2.0]),
        np.array(["b", "a", "ä"]),
        pd.Series(["x", "y", "z"], dtype="str"),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series(pd.Categorical(["x", "y", "z"], ["z", "y", "x", "never"])),
        pd.Series(["x", "y", "z"], dtype=pd.ArrowDtype(pa.string())),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_of_every_dtype(labels):
    X, y = drawn(120)
    index = np.array([int(label[1]) for label in y])
    given = labels[index] if isinstance(labels, np.ndarray) else labels.iloc[index]
    model = NaiveBayesClassifier().fit(X, given)
    assert model.classes_.tolist() == sorted(set(labels.tolist()))
    found = model.predict(X)
    assert set(found.tolist()) <= set(labels.tolist())
    assert found.dtype == model.classes_.dtype
    assert model.score(X, given) > 0.4


def test_tags_declare_accepted_input():
    tags = get_tags(LRClassifier(alpha=0.3))
    assert tags.estimator_type == "classifier"
    inputs = tags.input_tags
    assert (inputs.allow_nan, inputs.categorical, inputs.string, inputs.sparse) == (True, True, True, True)


@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer", "led", "tic-tac-toe"])
@pytest.mark.parametrize("model", [LRClassifier(order=1, alpha=0.3), AnJEClassifier(), NaiveBayesClassifier()], ids=str)
def test_defaults_do_not_warn(model, name):
    data = load_demo(name)
    assert model.fit(data.X, data.y).outcome_.code == "converged"  # and a warning is an error


@pytest.mark.xfail(
    (ALRClassifier(alpha=1.0).penalty, LRClassifier(alpha=0.3).alpha) == ("phi", 0.01),
    reason="so light a penalty on phi takes more than 200 steps: LED at n = 2, most sets in units of log theta",
    strict=False,
)
@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer", "led", "tic-tac-toe"])
@pytest.mark.parametrize(
    "model", [LRClassifier(alpha=0.3), ALRClassifier(alpha=1.0), WANBIACClassifier(alpha=1.0)], ids=str
)
def test_default_fits_do_not_warn(model, name):
    test_defaults_do_not_warn(model, name)


def test_columns_without_cuts_warn_with_advice():
    a, b = np.random.default_rng(0).normal(size=(2, 800))
    X, y = pd.DataFrame({"left": a, "right": b, "same": 1.0}), a * b > 0
    told = r"no cut in 2 of 3 numeric columns: 'left', 'right'.*discretize=\"quantile\""
    with pytest.warns(LostColumnsWarning, match=told):
        blind = LRClassifier(order=2, alpha=0.3).fit(X, y)
    assert blind.score(X, y) < 0.6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LRClassifier(order=2, discretize="quantile", alpha=0.3).fit(X, y).score(X, y) > 0.85


def test_lost_columns_are_warned_of_once_not_once_a_fold():
    a, b = np.random.default_rng(0).normal(size=(2, 800))
    X, y = pd.DataFrame({"first": a, "second": b}), a * b > 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cross_val_score(LRClassifier(order=2, alpha=0.3), X, y, cv=4)
    assert len([one for one in caught if issubclass(one.category, LostColumnsWarning)]) == 1
