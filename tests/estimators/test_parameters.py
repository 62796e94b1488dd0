"""Constructor parameters: one registry of defaults and values, one text for each, recipes there and back."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from alrviz import warn_once
from alrviz.errors import DoubtfulTableWarning, MemoryLimitError, RecipeError, TableError
from alrviz.estimators import (
    ALRClassifier,
    AnJEClassifier,
    HALRClassifier,
    HLRClassifier,
    LRClassifier,
    NaiveBayesClassifier,
    WANBIACClassifier,
    make_estimator,
)
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from tests.estimators.tables import drawn, mixed

CLASSES = [LRClassifier, ALRClassifier, AnJEClassifier, WANBIACClassifier, NaiveBayesClassifier]
FAMILY = dict(zip(CLASSES, ["lr", "alr", "anje", "alr", "anje"], strict=True))
ENCODING = {"discretize", "n_bins", "categorical_features", "n_jobs", "max_memory"}


@pytest.mark.parametrize("cls", CLASSES)
def test_a_recipe_there_and_back(cls):
    recipe = cls(smoothing=0.5, unseen="m-estimate", discretize="quantile", n_bins=4).to_recipe()
    assert (recipe.family, recipe.holdout) == (FAMILY[cls], 0.0)
    again = make_estimator(recipe)
    assert again.to_recipe() == recipe
    assert make_estimator(recipe.replace(holdout=0.3, seed=5)).get_params() == again.get_params()
    assert clone(again).get_params() == again.get_params()


def test_the_aliases_are_their_families_at_order_1():
    assert WANBIACClassifier(alpha=0.5).to_recipe() == ALRClassifier(order=1, alpha=0.5).to_recipe()
    assert NaiveBayesClassifier().to_recipe() == AnJEClassifier(order=1).to_recipe()
    assert "order" not in WANBIACClassifier().get_params()
    X, y = drawn()
    one, other = NaiveBayesClassifier().fit(X, y), AnJEClassifier(order=1).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_make_estimator_fits_the_same_model_as_a_run():
    from alrviz.data.demos import load_demo

    dataset = load_demo("led", 300)
    recipe = Recipe("alr", order=2, alpha=0.1, penalty="w", max_iter=15, holdout=0.0)
    run = Run(dataset, recipe)
    for _ in run.steps():
        pass
    with pytest.warns(match="max_iter=15.*max_iter"):
        model = make_estimator(recipe).fit(dataset.X, dataset.y)
    np.testing.assert_array_equal(model.weights_, run.state.point.w)
    assert [step.objective for step in model.trace_] == [step.objective for step in run.trace]


def test_class_weights_of_a_recipe_are_cloned_and_pickled():
    recipe = Recipe("lr", class_weight={"k0": 2.0}, holdout=0.0)
    model = make_estimator(recipe)
    assert clone(model).to_recipe() == recipe
    assert pickle.loads(pickle.dumps(model)).to_recipe() == recipe


def test_make_estimator_takes_recipes():
    with pytest.raises(RecipeError, match=r"expected a Recipe, got str; Recipe\.from_json"):
        make_estimator("alr")


WRONG = [
    ({"order": 0}, "order=0 is out of range; expected a whole number from 1 to 12, or 'auto'; the nearest is 1"),
    ({"order": 1.5}, "order=1.5 does not fit; expected a whole number"),
    ({"alpha": -1}, "alpha=-1 is out of range"),
    ({"alpha": "best"}, "alpha='best' is not a number"),
    ({"penalty": "psi"}, "penalty='psi' is not known; expected one of 'phi', 'w'; did you mean 'phi'?"),
    ({"center": 1}, "center=1 is not known; expected one of 0, 'anje'"),
    ({"start": "one"}, "start='one' is not known; expected one of 'zero', 'anje'"),
    ({"scale": "diag"}, "did you mean 'diagonal'?"),
    ({"solver": "lbfgss"}, "did you mean 'lbfgs'?"),
    ({"objective": "mae"}, "objective='mae' is not known; expected one of 'nll', 'mse', 'hinge'; did you mean 'mse'?"),
    ({"bounds": (0, 1), "solver": "tron", "alpha": 1.0}, "expected one of 'auto', 'lbfgsb'"),
    ({"discretize": "mld"}, "did you mean 'mdl'?"),
    ({"missing": "drop"}, "missing='drop' is not known"),
    (
        {"class_weight": {"nobody": 2}},
        "class_weight names 'nobody', which is no class; expected one of 'k0', 'k1', 'k2'",
    ),
    ({"class_weight": {"k0": -2}}, "out of range"),
    ({"class_weight": "balance"}, "did you mean 'balanced'?"),
    ({"categorical_features": ["c9"]}, "no column 'c9'"),
    ({"n_jobs": 0}, "n_jobs=0 does not fit"),
    ({"max_memory": 0}, "max_memory=0 does not fit; expected a number of bytes above 0, or None"),
    ({"max_memory": True}, "max_memory=True does not fit"),
    ({"order": 5}, r"order=5 needs at least 5 columns, and X has 4 feature\(s\); the highest order here is 4"),
]


@pytest.mark.parametrize(("wrong", "complaint"), WRONG)
def test_invalid_value_raises_at_fit(wrong, complaint):
    model = LRClassifier(**wrong)
    with pytest.raises(RecipeError, match=complaint.replace("?", r"\?")):
        model.fit(*drawn())


def test_numbers_of_numpy_are_numbers():
    X, y = drawn(60)
    assert LRClassifier(order=np.int64(2), alpha=np.float32(0.5), center=np.int64(0), max_iter=np.int32(100)).fit(X, y)


@pytest.mark.parametrize("cls", [LRClassifier, AnJEClassifier])
def test_one_column_is_fitted_at_order_one_with_a_warning(cls, monkeypatch):
    monkeypatch.setattr(warn_once, "_WARNED", set())
    X, y = drawn(60, columns=1)
    with pytest.warns(DoubtfulTableWarning, match="order=1"):
        model = cls().fit(X, y)
    assert model.recipe_.params["order"] == 1
    np.testing.assert_array_equal(model.predict_proba(X), cls(order=1).fit(X, y).predict_proba(X))
    with pytest.raises(RecipeError, match="order=3"):
        cls(order=3).fit(X, y)


def test_penalty_is_found_by_default():
    X, y = drawn(90)
    for cls in (LRClassifier, ALRClassifier, HLRClassifier, HALRClassifier, WANBIACClassifier):
        model = cls().fit(X, y)
        assert model.get_params()["alpha"] == "auto"
        assert np.all(np.array(model.alpha_) > 0)
    assert len(HLRClassifier().fit(X, y).alpha_) == 2


@pytest.mark.parametrize(
    "settings",
    [{"objective": "hinge"}, {"bounds": (0, 1)}, {"scale": "diagonal"}, {"solver": "adagrad"}],
    ids=lambda settings: next(iter(settings)),
)
def test_setting_for_which_no_penalty_is_found_asks_for_a_number(settings):
    with pytest.raises(RecipeError, match="number for alpha, such as alpha=1"):
        LRClassifier(**settings).fit(*drawn(60))
    LRClassifier(alpha=1, **settings).to_recipe()


X4, Y4 = drawn(60)
NO_TABLE = [
    ((X4, np.full(60, "k")), TableError, "y has only one class, 'k'; a classifier needs at least two"),
    ((X4, Y4, np.where(Y4 == "k0", 2.0, 0.0)), TableError, "y has only one class, 'k0'"),
    ((X4, Y4, np.zeros(60)), TableError, "sample_weight is zero for every row"),
    ((X4, Y4, -np.ones(60)), TableError, "finite and not negative"),
    ((X4, Y4[:50]), ValueError, r"inconsistent numbers of samples: \[60, 50\]"),
    ((X4[:0], Y4[:0]), TableError, "expected a table with rows and columns, got 0 rows and 4 columns"),
    ((X4[[]], Y4), TableError, "expected a table with rows and columns, got 60 rows and 0 columns"),
    ((X4, None), TableError, "requires y to be passed, but the target y is None"),
    ((mixed()[0].replace({"number": {np.nan: np.inf}}), mixed()[1]), TableError, r"'number' holds an infinite number"),
    ((np.array([[1.0, np.inf], [2.0, 3.0]]), [0, 1]), TableError, "'x1' holds an infinite number"),
    ((np.array([1.0, 2.0]), [0, 1]), ValueError, "Expected 2D array, got 1D array instead"),
]


@pytest.mark.parametrize(("arguments", "error", "complaint"), NO_TABLE)
def test_unlearnable_table_raises(arguments, error, complaint):
    with pytest.raises(error, match=complaint):
        AnJEClassifier(order=1).fit(*arguments)


def test_memory_is_refused_with_the_numbers():
    X, y = drawn(50, columns=12, levels=8)
    with pytest.raises(MemoryLimitError, match=r"order 5 needs about [\d,]+ MiB here and 10 MiB may be used") as caught:
        LRClassifier(order=5, max_memory=10 * 2**20).fit(X, y)
    assert caught.value.needed > caught.value.allowed == 10 * 2**20
    wide, y = drawn(50, columns=60, levels=6)
    with pytest.raises(MemoryLimitError, match=r"order 8 needs about [\d,]+ MiB here and [\d,]+ MiB may be used"):
        LRClassifier(order=8).fit(wide, y)
    with pytest.raises(MemoryLimitError, match=r"order 12 has [\d,]+ cells here; at most [\d,]+ can be"):
        LRClassifier(order=12).fit(wide, y)


def test_random_state_becomes_the_seed_of_the_recipe():
    model = ALRClassifier(start="random", random_state=7)
    assert model.to_recipe().seed == 7
    assert ALRClassifier(random_state=np.int64(7)).to_recipe().seed == 7
    assert model.to_recipe(seed=3).seed == 3
    assert make_estimator(model.to_recipe()).get_params() == model.get_params()
    assert clone(model).random_state == 7
    state = np.random.RandomState(0)
    first = ALRClassifier(start="random", random_state=state)
    drawn_seeds = {first.to_recipe().seed, first.to_recipe().seed, ALRClassifier(start="random").to_recipe().seed}
    assert len(drawn_seeds) == 3
    assert ALRClassifier().to_recipe().seed == 0  # nothing is drawn: the same recipe each time
    X, y = drawn()
    phis = [LRClassifier(start="random", random_state=s, max_iter=0).fit(X, y).phi_ for s in (1, 1, 2)]
    assert np.array_equal(phis[0], phis[1])
    assert not np.array_equal(phis[0], phis[2])


@pytest.mark.parametrize("random_state", [-1, 2**32, "7", 1.5])
def test_invalid_random_state_raises(random_state):
    with pytest.raises(ValueError, match=r"random_state=.* is out of range|cannot be used to seed"):
        ALRClassifier(start="random", random_state=random_state).to_recipe()


@pytest.mark.parametrize("share", ["cell", "tuple", "all"])
def test_shared_weights_are_shown_at_every_cell(share):
    X, y = drawn(150)
    model = ALRClassifier(order=2, share=share, alpha=0.5).fit(X, y)
    owners = {"cell": len(model.phi_), "tuple": 6, "all": 1}[share]
    assert model.weights_.shape == (owners + 3, 1)
    frame = model.to_frame()
    np.testing.assert_allclose(frame["phi"], frame["w"] * frame["log_theta"], rtol=1e-12)
    assert frame["w"].nunique(axis=1).eq(1).all()
    assert frame["w"].groupby("columns").nunique().max().max() == (9 if share == "cell" else 1)
    model.share = "cell-class"  # of the next fit, not of this one
    assert model.to_frame().equals(frame)
    np.testing.assert_allclose(model.intercept_, model.weights_[-3:, 0] * model.tables_.log_pi, rtol=1e-12)
