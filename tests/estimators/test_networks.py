"""TAN, KDB, AnDE and ELR: identities, oracles, what they take and tell; parameters of all that recipes describe."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.naive_bayes import CategoricalNB

import alrviz
from alrviz.data.encode import Encoder
from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.estimators import (
    AnDEClassifier,
    AnJEClassifier,
    ELRClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    make_estimator,
)
from alrviz.estimators.sklearn_models import ForestClassifier, SVMClassifier
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.models.structures import conditional_information
from tests.estimators.tables import drawn, mixed
from tests.oracles.networks import best_tree, naive_average, naive_network

SELECTIVE = KDBClassifier(k=2, selective=True)
COUNTED = [TANClassifier(), KDBClassifier(k=2, selective=False), SELECTIVE, AnDEClassifier(), AnDEClassifier(n=2)]
NETWORKS = [
    TANClassifier(),
    KDBClassifier(k=2, selective=False),
    ELRClassifier(structure="tan", cross_tuning=False, max_iter=3),
]
CLASSES = [TANClassifier, KDBClassifier, AnDEClassifier, ELRClassifier, ForestClassifier, SVMClassifier]
each_class = pytest.mark.parametrize("cls", CLASSES)
short = pytest.mark.filterwarnings("ignore:ELRClassifier. max_iter=3")


def encoded_of(model, X, y):
    """The codes, levels, classes and weights of a fitted model's rows, as the oracles take them."""
    encoded = model.encoder_.encode(X, y)
    rows = encoded.codes.tolist(), encoded.levels.tolist(), encoded.y.tolist(), encoded.weights.tolist()
    return (*rows, encoded.n_classes, getattr(model, "smoothing", 1.0))


@pytest.mark.parametrize("table", [drawn, mixed])
def test_naive_bayes_is_a0de_kdb0_and_elr_before_its_first_step(table):
    X, y = table()
    expected = NaiveBayesClassifier().fit(X, y).predict_log_proba(X)
    same = [AnJEClassifier(order=1), AnDEClassifier(n=0), KDBClassifier(k=0, selective=False)]
    if table is drawn:  # elr sums missing values out
        same.append(ELRClassifier(cross_tuning=False, max_iter=0))
    for model in same:
        np.testing.assert_allclose(model.fit(X, y).predict_log_proba(X), expected, rtol=0, atol=1e-12)


def test_naive_bayes_is_categorical_nb():
    X, y = drawn(150, levels=3)
    ours = KDBClassifier(k=0, selective=False).fit(X, y)
    codes = ours.encoder_.transform(X).T
    shares = (np.unique(y, return_counts=True)[1] + 1 / 3) / 151
    theirs = CategoricalNB(alpha=1 / 3, class_prior=shares).fit(codes, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(codes), rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", [TANClassifier(), KDBClassifier(k=2, selective=False)], ids=str)
def test_network_scores_by_the_formula(model):
    X, y = mixed(60)
    model.fit(X[:50], y[:50])
    names = model.feature_names_in_.tolist()
    parents = [tuple(names.index(p) for p in model.structure_[name]) for name in names]
    rows = encoded_of(model, X[:50], y[:50])
    expected = [naive_network(*rows, parents, row) for row in model.encoder_.transform(X).T.tolist()]
    np.testing.assert_allclose(model.predict_proba(X), softmax(expected, axis=1), rtol=1e-11)


@pytest.mark.parametrize("n", [1, 2])
def test_mean_over_super_parents_scores_by_the_formula(n):
    X, y = mixed(60)
    model = AnDEClassifier(n=n).fit(X[:50], y[:50])
    rows = encoded_of(model, X[:50], y[:50])
    found = [naive_average(*rows, n, row) for row in model.encoder_.transform(X).T.tolist()]
    np.testing.assert_allclose(model.predict_proba(X), softmax(found, axis=1), rtol=1e-11)


def test_tan_takes_the_best_tree():
    X, y = drawn(120, columns=5, levels=4, seed=3)
    model = TANClassifier().fit(X, y)
    information = conditional_information(TrainingData(model.encoder_.encode(X, y), None).tables(2, 1.0))
    number = {name: j for j, name in enumerate(X.columns)}
    weight = sum(information[number[child], number[p]] for child, own in model.structure_.items() for p in own)
    assert weight == pytest.approx(best_tree(information), rel=1e-12)
    assert [len(own) for own in model.structure_.values()] == [0, 1, 1, 1, 1]


def by_hand():
    """Noise, a copy of the class with two rows of eight wrong, one with one of them wrong; and the class."""
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    near = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    far = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    noise = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    return pd.DataFrame({"noise": noise, "far": far, "near": near}).astype(str), y


def test_kdb_orders_columns_and_takes_parents_as_by_hand():
    """I(near; Y) > I(far; Y) > I(noise; Y) = 0. Given class 0, near = (0,0,0,1), far = (0,0,1,1), noise = (0,1,0,1):
    near and far agree in 3 rows of 4, as do near and noise; far says nothing of noise. Class 1 tells nothing.
    """
    X, y = by_hand()
    model = KDBClassifier(k=1, selective=False).fit(X, y)
    assert list(model.structure_.items()) == [("near", ()), ("far", ("near",)), ("noise", ("near",))]
    two = KDBClassifier(k=2, selective=False).fit(X, y).structure_
    assert two == {"near": (), "far": ("near",), "noise": ("near", "far")}


def test_selective_kdb_leaves_noise_out():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    columns = {
        "good": np.where(rng.random(400) < 0.1, 1 - y, y),
        **{f"n{j}": rng.integers(0, 4, 400) for j in range(3)},
    }
    X = pd.DataFrame(columns).astype(str)
    model = KDBClassifier(k=2, selective=True).fit(X, y)
    assert model.structure_ == {"good": ()}
    assert model.rmse_.shape == (3, 5)
    assert model.rmse_.min() == model.rmse_[0, 1]
    assert KDBClassifier(k=2, selective=False).fit(X, y).rmse_ is None
    assert len(KDBClassifier(k=2, selective=False).fit(X, y).structure_) == 4


@short
@pytest.mark.parametrize("model", NETWORKS, ids=str)
def test_explanations_sum_to_the_scores(model):
    X, y = mixed()
    model.fit(X, y)
    parts = model.explain(X[:7])
    sums = parts.groupby("row", sort=False).sum().to_numpy()
    np.testing.assert_allclose(sums[:, 1] - sums[:, 0], model.decision_function(X[:7]), rtol=0, atol=1e-12)
    tuples = parts.index.get_level_values("tuple")[1:6].tolist()
    assert tuples == [" & ".join([*own, child]) for child, own in model.structure_.items()]


@pytest.mark.parametrize("model", [TANClassifier(), KDBClassifier(k=2, selective=False), AnDEClassifier()], ids=str)
def test_a_frame_counts_every_row_in_every_tuple(model):
    X, y = mixed()
    frame = model.fit(X, y).to_frame()
    counts = frame["count"].groupby("columns").sum()
    assert (counts == np.unique(y, return_counts=True)[1]).all(axis=None)
    if model._family != "ande":
        root = next(child for child, own in model.structure_.items() if not own)
        np.testing.assert_allclose(np.exp(frame["phi"].loc[root]).sum(), 1.0, rtol=1e-12)


@short
def test_tables_that_were_fitted_are_distributions():
    X, y = mixed()
    model = ELRClassifier(structure="tan", cross_tuning=False, max_iter=3).fit(X, y)
    frame = model.to_frame()
    assert model.weights_.shape == (len(frame) + 1, 2)
    child, own = list(model.structure_.items())[-1]
    phi = frame["phi"].loc[" & ".join([*own, child])]
    above = phi.index.str.rsplit(" & ", n=1).str[0]
    np.testing.assert_allclose(np.exp(phi).groupby(above).sum(), 1.0, rtol=1e-12)


def test_missing_values_are_levels_and_elr_on_naive_bayes_sums_them_out():
    X, y = mixed()
    assert "missing" in TANClassifier().fit(X, y).encoder_.columns_[2].labels
    model = ELRClassifier(random_state=0).fit(X, y)
    assert "missing" not in model.encoder_.columns_[2].labels
    parts = model.explain(X[X["text"].isna()][:3])
    assert (parts.xs("text", level="tuple") == 0.0).all(axis=None)
    assert "missing" in ELRClassifier(structure="tan", random_state=0).fit(X, y).encoder_.columns_[2].labels


def test_elr_of_given_parents():
    X, y = mixed()
    model = ELRClassifier(structure={"size": ["text", "flag"], "text": "flag"}, random_state=0).fit(X, y)
    assert model.structure_["size"] == ("text", "flag")
    assert list(model.structure_)[-1] == "size"
    with pytest.raises(RecipeError, match=r"structure names 'txt', which is no column; .*did you mean 'text'"):
        ELRClassifier(structure={"size": "txt"}).fit(X, y)
    with pytest.raises(RecipeError, match="circle among text, size"):
        ELRClassifier(structure={"size": "text", "text": "size"}).fit(X, y)
    with pytest.raises(RecipeError, match=r"structure gives 'size' the parents 3; expected a column's name"):
        ELRClassifier(structure={"size": 3}).fit(X, y)


def test_elr_warning_gives_advice():
    X, y = drawn()
    with pytest.warns(match="max_iter=2 steps were taken and F was still falling; raise max_iter$"):
        model = ELRClassifier(cross_tuning=False, max_iter=2).fit(X, y)
    assert model.n_iter_ == 2
    assert ELRClassifier(random_state=0).fit(X, y).outcome_.sentence.startswith("cross-tuning chose")


@pytest.mark.parametrize("model", COUNTED, ids=str)
def test_integer_weights_are_repeated_rows(model):
    X, y = mixed()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = clone(model).fit(X, y, weights)
    repeated = clone(model).fit(X.loc[X.index.repeat(weights)], np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=0, atol=1e-12)


@short
@pytest.mark.parametrize("model", [*COUNTED, NETWORKS[-1]], ids=str)
def test_a_pickle_is_small_and_predicts_the_same(model):
    size = []
    for rows in (300, 6000):
        X, y = drawn(rows)
        model = clone(model).fit(X, y)
        expected = model.predict_log_proba(X)
        size.append(len(pickle.dumps(model)))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_log_proba(X), expected)
    assert size[1] < 1.4 * size[0] < 60_000, "it grows with cells, not with rows"
    pd.testing.assert_frame_equal(again.to_frame(), model.to_frame())


@short
@pytest.mark.parametrize("model", [*COUNTED, NETWORKS[-1]], ids=str)
def test_threads_change_no_bit(model):
    X, y = drawn(30_000, columns=6)
    one = clone(model).set_params(n_jobs=1).fit(X, y).predict_log_proba(X)
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(X, y).predict_log_proba(X), one)


def test_rows_encoded_before_are_counted_once_for_all_that_share_them():
    X, y = drawn()
    encoder = Encoder().fit(X, y)
    prepared = TrainingData(encoder.encode(X, y), None, encoder)
    pairs = prepared.tables(2, 1.0)
    assert AnDEClassifier().fit_prepared(X, prepared).tables_ is pairs
    for model in (TANClassifier(), KDBClassifier(selective=False), AnDEClassifier(n=2)):
        shared, alone = clone(model).fit_prepared(X, prepared), model.fit(X, y)
        assert np.array_equal(shared.predict_proba(X), alone.predict_proba(X))
    assert prepared.tables(2, 1.0) is pairs


def test_more_super_parents_than_columns_are_refused():
    X, y = drawn(60, columns=2)
    assert AnDEClassifier(n=1).fit(X, y).score(X, y) > 0.3
    with pytest.raises(RecipeError, match=r"n=2 needs at least 3 columns, .* highest n here is 1"):
        AnDEClassifier(n=2).fit(X, y)


def test_one_column_is_naive_bayes():
    X, y = drawn(60)
    expected = NaiveBayesClassifier().fit(X[["c0"]], y).predict_log_proba(X[["c0"]])
    for model in (TANClassifier(smoothing=1), KDBClassifier(k=2, selective=False), KDBClassifier(k=1, selective=False)):
        np.testing.assert_allclose(model.fit(X[["c0"]], y).predict_log_proba(X[["c0"]]), expected, atol=1e-12)


def test_memory_is_refused_before_anything_is_counted():
    X, y = drawn(200, columns=30, levels=20)
    for model in (TANClassifier(max_memory=1e5), AnDEClassifier(n=2, max_memory=1e5), ELRClassifier(max_memory=1e4)):
        with pytest.raises(MemoryLimitError, match="MiB may be used"):
            model.fit(X, y)


def test_smoothing_0_would_make_levels_impossible():
    with pytest.raises(RecipeError, match=r"smoothing=0 is out of range; expected a number above 0"):
        TANClassifier(smoothing=0).fit(*drawn(60))


RECIPES = [
    Recipe("tan", smoothing=0.5),
    Recipe("kdb", k=3, selective=True),
    Recipe("ande", n=2, discretize="quantile", n_bins=4),
    Recipe("elr", structure="tan", max_iter=7, seed=3),
    Recipe("elr", structure={"b": ["a"]}, cross_tuning=False),
    Recipe("rf", n_estimators=7, seed=2),
    Recipe("svm", C=3, kernel="poly", seed=1),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_there_and_back(recipe):
    model = make_estimator(recipe)
    uncut = {"discretize": recipe.discretize, "n_bins": recipe.n_bins} if recipe.cuts == "keep" else {}
    assert model.to_recipe(**uncut) == recipe.replace(holdout=0.0)
    assert clone(model).get_params() == model.get_params()
    assert Recipe.from_json(recipe.to_json()) == recipe


def test_family_without_steps_raises_for_a_run():
    dataset = alrviz.load_demo("tic-tac-toe", 100)
    for family in ("tan", "kdb", "ande", "rf", "svm"):
        with pytest.raises(
            RecipeError, match=rf"{family} is fitted without steps, .* make_estimator\(recipe\)\.fit\(X, y\)"
        ):
            alrviz.Run(dataset, Recipe(family))


@pytest.mark.parametrize(
    "make",
    [
        alrviz.TANClassifier, alrviz.KDBClassifier, alrviz.AnDEClassifier, alrviz.AnJEClassifier,
        alrviz.NaiveBayesClassifier,
    ],
)  # fmt: skip
def test_class_weights_are_factors_of_row_weights(make):
    data = alrviz.load_demo("tic-tac-toe")
    row_weights = np.where(data.y == "positive", 3.0, 1.0)
    weighted = make(class_weight={"positive": 3}).fit(data.X, data.y).predict_proba(data.X)
    np.testing.assert_allclose(weighted, make().fit(data.X, data.y, row_weights).predict_proba(data.X))
    assert abs(weighted - make().fit(data.X, data.y).predict_proba(data.X)).max() > 0.1
    balanced = make(class_weight="balanced").fit(data.X, data.y)
    n_rows = np.unique_counts(data.y)
    factors = dict(zip(n_rows.values, len(data.y) / 2 / n_rows.counts, strict=True))
    row_weights = np.array([factors[label] for label in data.y])
    np.testing.assert_allclose(
        balanced.predict_proba(data.X), make().fit(data.X, data.y, row_weights).predict_proba(data.X)
    )
    with pytest.raises(alrviz.RecipeError, match="class_weight"):
        make(class_weight={"neither": 2}).fit(data.X, data.y)


def test_time_limit_ends_cross_tuning_and_is_named():
    data = alrviz.load_demo("tic-tac-toe")
    limited = ELRClassifier(random_state=0, time_limit=1e-9).fit(data.X, data.y)
    assert "4 folds were not tried" in str(limited.outcome_)
    ample = ELRClassifier(random_state=0, time_limit=1e6).fit(data.X, data.y)
    unlimited = ELRClassifier(random_state=0).fit(data.X, data.y)
    assert "not tried" not in str(ample.outcome_)
    np.testing.assert_array_equal(ample.predict_proba(data.X), unlimited.predict_proba(data.X))
