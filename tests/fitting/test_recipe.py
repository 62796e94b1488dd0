"""Recipes: complete, equal by content, refused with the nearest valid choice, safe to read from a URL."""

import contextlib
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from alrviz.errors import RecipeError
from alrviz.fitting.families import FAMILIES, check_param, choices, family_of
from alrviz.fitting.recipe import Recipe, paper_mode


def values_of(param):
    if param.choices:
        return st.sampled_from(list(param.choices))
    low, high = max(param.low, -1e12), min(param.high, 1e12)
    if param.integer:
        return st.integers(int(low), int(high))
    return st.floats(low, high, exclude_min=param.open_low, allow_subnormal=False)


labels = st.one_of(st.integers(-5, 5), st.text(max_size=5))
weights = st.dictionaries(labels, st.floats(0, 1e6), max_size=4)


@st.composite
def recipes(draw, family=None):
    family = family or draw(st.sampled_from(sorted(FAMILIES)))
    params = FAMILIES[family].params
    chosen = draw(st.lists(st.sampled_from(sorted(params)), unique=True))
    values = {name: draw(values_of(params[name])) for name in chosen}
    if "class_weight" in values and draw(st.booleans()):
        values["class_weight"] = draw(weights)
    encoding = {
        "discretize": draw(st.sampled_from(["mdl", "quantile", "uniform", None])),
        "n_bins": draw(st.integers(2, 100)),
        "holdout": draw(st.floats(0, 0.95)),
        "seed": draw(st.integers(0, 2**32 - 1)),
    }
    try:
        return Recipe(family, **encoding, **values)
    except RecipeError:  # values that exclude each other, which have a test of their own
        reject()


@given(recipes())
def test_json_and_pickle_give_the_same_recipe_back(recipe):
    for again in (Recipe.from_json(recipe.to_json()), pickle.loads(pickle.dumps(recipe)), recipe.replace()):
        assert again == recipe
        assert hash(again) == hash(recipe)
        assert again.to_json() == recipe.to_json()
        assert again.key("abc") == recipe.key("abc")
        assert dict(again.params) == dict(recipe.params)
    content = json.loads(recipe.to_json())
    assert content["format"] == 2
    assert set(content["params"]) == set(FAMILIES[recipe.family].params)
    assert recipe.to_json() == json.dumps(content, sort_keys=True, separators=(",", ":"))


@given(recipes("lr"), st.sampled_from(["alr", "anje"]))
def test_recipe_keeps_shared_settings_in_another_family(recipe, family):
    other = recipe.replace(family=family)
    assert other.family == family
    for name, param in FAMILIES[family].params.items():
        kept = recipe.params.get(name, param.default)
        assert other.params[name] == (param.default if name == "scale" else kept)
    assert (other.discretize, other.n_bins, other.holdout, other.seed) == (
        recipe.discretize, recipe.n_bins, recipe.holdout, recipe.seed,
    )  # fmt: skip


def test_replacing_the_family_resets_invalid_settings():
    alr = Recipe("alr", start="one", center=1, alpha=2)
    lr = alr.replace(family="lr")
    assert (lr.params["start"], lr.params["center"], lr.params["alpha"]) == ("zero", 0, 2)
    with pytest.raises(RecipeError, match="start='one'"):
        alr.replace(family="lr", start="one")
    assert alr.replace(order=3, seed=5).params["order"] == 3
    assert alr.replace(seed=5).seed == 5
    with pytest.raises(RecipeError, match=r"no parameter 'ordr'.*did you mean 'order'"):
        alr.replace(ordr=3)


def test_defaults_are_filled_in_so_that_equal_fits_have_equal_keys():
    assert Recipe("lr", alpha=0.3) == Recipe("lr", order=2, penalty="phi", start="zero", center=0, alpha=0.3)
    assert Recipe("lr", order=2.0, alpha=1, center=0.0) == Recipe("lr", alpha=np.float32(1), order=np.int64(2))
    assert Recipe("lr", alpha=0.3) != Recipe("alr", alpha=1.0)
    assert Recipe("lr", seed=1, alpha=0.3) != Recipe("lr", alpha=0.3)
    assert Recipe("lr", alpha=0.3) != "lr"
    assert Recipe("lr", alpha=0.3).key("a") != Recipe("lr", alpha=0.3).key("b")
    assert len(Recipe("lr", alpha=0.3).key("a")) == 64
    names = {np.str_("w"): "penalty", np.str_("anje"): "start"}
    assert all(Recipe("lr", **{name: value}).params[name] == str(value) for value, name in names.items())


def test_a_key_does_not_change_between_versions():
    """Keys name stored runs: when this one changes, so must the format number."""
    recipe = Recipe(
        "alr", order=2, alpha=0.5, penalty="phi", center="anje", start="anje", scale="theta", solver="lbfgs",
        smoothing=1.0, missing="level", unseen="neutral", class_weight=None, max_iter=200, tol=1e-6, memory=10,
        share="cell-class", objective="nll", bounds=None,
    )  # fmt: skip
    assert recipe.key("0" * 64) == "e6f7b111093598067dc827cbdcf0bdc6ffad35670f22522034c0b693100477f1"


def test_class_weights_of_any_labels_survive():
    weights = {np.int64(1): 2, "b": np.float64(0.5), 0: 1, np.str_("c"): 3, True: 4}
    recipe = Recipe("lr", class_weight=weights, alpha=0.3)
    again = Recipe.from_json(recipe.to_json())
    assert again == recipe
    assert dict(again.params["class_weight"]) == {1: 4.0, "b": 0.5, 0: 1.0, "c": 3.0}
    assert Recipe("lr", class_weight={0: 1, 1: 2}, alpha=0.3) == Recipe("lr", class_weight={1: 2, 0: 1}, alpha=0.3)
    assert Recipe("lr", class_weight={0: 1}, alpha=0.3) != Recipe("lr", class_weight={"0": 1}, alpha=0.3)


def test_labels_and_names():
    assert [Recipe(f).label for f in ("lr", "alr", "anje")] == ["lr", "alr", "anje"]
    assert Recipe("lr", scale="diagonal", alpha=0.3).label == "diagonal"
    assert Recipe("alr", scale="theta-gamma", alpha=1.0).label == "alrj"
    assert Recipe("lr", scale="diagonal-adaptive", penalty="w", alpha=0).label == "adaptive"
    assert Recipe("anje", order=1).label == "nb"
    assert Recipe("anje", order=3).name == "anje n=3"
    assert Recipe("alr", order=3, alpha=0, start="one", solver="gd").name == "alr n=3 from one, gradient descent"
    assert Recipe("lr", alpha=0.5).name == "lr n=2 from zero, L2 penalty 0.5 on phi, TRON"
    assert Recipe("alr", alpha=0, objective="mse", solver="tron").name == "alr n=2 from zero, mse, TRON"
    assert Recipe("alr", alpha=0, bounds=(0, 1)).name == "alr n=2 from zero, w between 0 and 1, L-BFGS-B"
    assert Recipe("alr", alpha=0, share="tuple").name == "alr n=2 from zero, share tuple, L-BFGS"
    assert (Recipe("lr", alpha=0.3).solver, Recipe("lr", solver="gd", alpha=0.3).solver, Recipe("anje").solver) == (
        "tron",
        "gd",
        "none",
    )
    assert Recipe("lr", alpha=0).solver == Recipe("lr", scale="diagonal-adaptive", alpha=0.3).solver == "lbfgs"


@pytest.mark.parametrize("family", ["lr", "alr"])
def test_paper_mode_has_the_settings_of_the_papers(family):
    recipe = Recipe(family, order=3, alpha=2, start="anje", share="tuple", discretize="quantile", seed=4) if (
        family == "alr"
    ) else Recipe(
        family, order=3, alpha=2, scale="diagonal", objective="mse", class_weight="balanced", holdout=0.5
    )  # fmt: skip
    paper = paper_mode(recipe)
    expected = {
        "start": "zero", "alpha": 0, "unseen": "m-estimate", "solver": "lbfgsb", "memory": 5, "max_iter": 10_000,
        "objective": "nll", "tol": 1e7 * np.finfo(float).eps, "share": "cell-class", "class_weight": None,
    }  # fmt: skip
    for name, value in recipe.params.items():
        assert paper.params[name] == expected.get(name, value), name
    assert (paper.seed, paper.discretize, paper.holdout) == (recipe.seed, recipe.discretize, recipe.holdout)
    assert paper.is_paper_fit
    assert paper_mode(paper) == paper
    assert Recipe.from_json(paper.to_json()).is_paper_fit
    for name, value in {"alpha": 1, "memory": 6, "solver": "lbfgs", "unseen": "neutral", "tol": 1e-9,
                        "bounds": (0, 1), "class_weight": "balanced"}.items():  # fmt: skip
        assert not paper.replace(**{name: value}).is_paper_fit
    assert not paper_mode(Recipe("alr", alpha=1.0)).replace(share="cell").is_paper_fit
    assert paper_mode(Recipe("alr", bounds=(0, 1), alpha=1.0)) == paper_mode(Recipe("alr", alpha=1.0))


def test_paper_mode_where_nothing_is_fitted_and_where_it_cannot_be():
    assert not Recipe("anje").is_paper_fit
    assert paper_mode(Recipe("anje")) == Recipe("anje", unseen="m-estimate")
    with pytest.raises(RecipeError, match=r"solver='lbfgsb' .*scale='diagonal-adaptive'"):
        paper_mode(Recipe("lr", scale="diagonal-adaptive", alpha=0.3))


def test_a_recipe_cannot_be_changed():
    recipe = Recipe("lr", class_weight={"a": 1}, alpha=0.3)
    with pytest.raises(AttributeError):
        recipe.seed = 3
    for mapping in (recipe.params, recipe.params["class_weight"]):
        with pytest.raises(TypeError):
            mapping["order"] = 3


BAD = [
    (
        {"family": "allr"},
        "family 'allr' is not known; expected one of 'lr', 'alr', .*'anje', .* did you mean 'alr'?",
    ),
    ({"family": "nb"}, r"family 'nb' is not known; .* did you mean Recipe\(\"anje\", order=1\)\?$"),
    ({"family": "HierarchicalALR"}, r"did you mean Recipe\(\"halr\"\)\?$"),
    ({"family": "HierarchicalSelectiveALR"}, r"did you mean Recipe\(\"hsalr\"\)\?$"),
    ({"family": "Naive_Bayes"}, r"did you mean Recipe\(\"anje\", order=1\)\?$"),
    ({"family": "naive-bayes"}, r"did you mean Recipe\(\"anje\", order=1\)\?$"),
    ({"family": "WANBIA-C"}, r"did you mean Recipe\(\"alr\", order=1\)\?$"),
    ({"family": "alrj"}, r"did you mean Recipe\(\"alr\", scale=\"theta-gamma\"\)\?$"),
    ({"alhpa": 1}, "lr has no parameter 'alhpa'; it has alpha, bounds, center.* did you mean 'alpha'?"),
    ({"order": 0}, "order=0 is out of range; expected a whole number from 1 to 12, or 'auto'; the nearest is 1"),
    ({"order": 13}, "order=13 is out of range; .* the nearest is 12"),
    ({"order": 1.5}, "order=1.5 does not fit; expected a whole number from 1 to 12"),
    ({"order": "2"}, "order='2' is not a number; expected a whole number from 1 to 12"),
    ({"order": True}, "order=True is not a number"),
    ({"order": None}, "order=None is not a number"),
    ({"order": [2]}, r"order=\[2\] is not a number"),
    (
        {"alpha": -1},
        "alpha=-1 is out of range; expected a number from 0 to 1000000000000, or 'cv' or 'auto'; the nearest is 0",
    ),
    ({"alpha": float("nan")}, "alpha=nan does not fit"),
    ({"alpha": float("inf")}, "alpha=inf does not fit"),
    ({"alpha": 10**400}, "alpha=1000.* does not fit"),
    ({"alpha": np.ones(2)}, "alpha=array.* is not a number"),
    ({"penalty": "psi"}, "penalty='psi' is not known; expected one of 'phi', 'w'; did you mean 'phi'?"),
    ({"penalty": None}, "penalty=None is not known"),
    ({"center": 1}, "center=1 is not known; expected one of 0, 'anje'"),
    ({"center": True}, "center=True is not known"),
    ({"center": False}, "center=False is not known"),
    ({"center": "0"}, "center='0' is not known"),
    ({"center": np.ones(2)}, "center=array.* is not known"),
    ({"start": "one"}, "start='one' is not known; expected one of 'zero', 'anje', 'random'"),
    ({"start": "rand"}, "start='rand' is not known; .* did you mean 'random'?"),
    ({"scale": "diag"}, "scale='diag' is not known; expected one of 'none', 'diagonal'.*; did you mean 'diagonal'?"),
    ({"family": "alr", "scale": "gamma"}, "scale='gamma' .* expected one of 'theta', 'theta-gamma'"),
    (
        {"scale": "diagonal-adaptive", "penalty": "w"},
        "penalty='w' with alpha=0.3 .* expected penalty='phi', alpha=0 or scale='diagonal'",
    ),
    (
        {"scale": "diagonal-adaptive", "solver": "cg"},
        "solver='cg' cannot follow .* expected one of 'auto', 'lbfgs', 'gd', or scale='diagonal'",
    ),
    (
        {"scale": "diagonal-adaptive", "bounds": (0, 1)},
        "solver='lbfgsb' cannot follow .* 'gd' without bounds, or scale='diagonal'",
    ),
    ({"share": "tuples"}, "share='tuples' is not known; expected one of 'cell-class', .* did you mean 'tuple'?"),
    (
        {"share": "cell", "scale": "diagonal"},
        "share='cell' .* scale='diagonal', .* expected share='cell-class', or scale='none'",
    ),
    (
        {"share": "all", "start": "anje"},
        "start='anje' needs .* share='all' has fewer; expected share='cell-class', start='zero', or family 'alr'",
    ),
    (
        {"bounds": [0, 1], "start": "anje"},
        r"start='anje' .* violate bounds=\(0, 1\); expected start='zero', bounds=None, or family 'alr'",
    ),
    (
        {"share": "tuple", "center": "anje"},
        "center='anje' needs .* share='tuple' has fewer; expected share='cell-class', center=0, or family 'alr'",
    ),
    ({"solver": "newton"}, "solver='newton' is not known; expected one of 'auto', 'lbfgs', 'cg', 'gd'"),
    ({"max_iter": -1}, "max_iter=-1 is out of range"),
    ({"tol": 2}, "tol=2 is out of range; expected a number from 0 to 1; the nearest is 1"),
    ({"memory": 0}, "memory=0 is out of range"),
    ({"smoothing": -0.1}, "smoothing=-0.1 is out of range"),
    ({"missing": "drop"}, "missing='drop' is not known; expected one of 'level', 'skip'"),
    ({"unseen": "m"}, "unseen='m' is not known; expected one of 'neutral', 'm-estimate'"),
    ({"class_weight": "balance"}, "class_weight='balance' is not known; .* did you mean 'balanced'?"),
    ({"class_weight": {"a": -1}}, r"class_weight\['a'\]=-1 is out of range"),
    ({"class_weight": {"a": "x"}}, r"class_weight\['a'\]='x' is not a number"),
    ({"class_weight": {(1, 2): 1}}, r"class_weight names \(1, 2\); expected .* labels"),
    ({"discretize": "mld"}, "discretize='mld' is not known; .* did you mean 'mdl'?"),
    ({"n_bins": 1}, "n_bins=1 is out of range; expected a whole number from 2 to 65535; the nearest is 2"),
    ({"holdout": 1}, "holdout=1 is out of range; expected a number from 0 to 0.95; the nearest is 0.95"),
    ({"seed": -1}, "seed=-1 is out of range"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=lambda value: str(value)[:40])
def test_invalid_value_error_names_the_expected_value(changes, message):
    with pytest.raises(RecipeError, match=message):
        Recipe(**{"family": "lr", "alpha": 0.3, **changes})


def test_lookups_by_name():
    assert choices("alr", "center") == (0, 1, "anje", "shares")
    assert choices("lr", "alpha") == ()
    assert check_param("alr", "order", 3.0) == 3
    assert isinstance(check_param("alr", "order", 3.0), int)
    assert set(family_of("anje").params) == {"order", "smoothing", "missing", "unseen", "class_weight"}
    with pytest.raises(RecipeError, match="family 'nb' is not known"):
        choices("nb", "order")


GOOD = json.loads(Recipe("lr", alpha=0.3).to_json())


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "[]", "3", "null", '"lr"', "{}", "[" * 100_000,
        json.dumps({**GOOD, "format": 1}),
        json.dumps({**GOOD, "format": 3}),
        json.dumps({**GOOD, "format": "2"}),
        json.dumps({**GOOD, "format": [1]}),
        json.dumps({**GOOD, "more": 2}),
        json.dumps({**GOOD, "family": "nb"}),
        json.dumps({**GOOD, "family": ["lr"]}),
        json.dumps({**GOOD, "family": None}),
        json.dumps({**GOOD, "params": "order"}),
        json.dumps({**GOOD, "params": [[1]]}),
        json.dumps({**GOOD, "params": {"order": {}}}),
        json.dumps({**GOOD, "params": {"family": "alr"}}),
        json.dumps({**GOOD, "params": {"seed": 3}}),
        json.dumps({**GOOD, "params": {"class_weight": [1, 2]}}),
        json.dumps({**GOOD, "params": {"class_weight": [["a", None]]}}),
        json.dumps({**GOOD, "params": {"class_weight": [[["a"], 1]]}}),
        json.dumps({**GOOD, "seed": 1e999}),
        json.dumps({**GOOD, "seed": {}}),
    ],
    ids=lambda text: text[:30] + text[-40:],
)  # fmt: skip
def test_json_that_is_no_recipe_raises(text):
    """Recipes come out of URLs: whatever stands there ends in a RecipeError."""
    with pytest.raises(RecipeError):
        Recipe.from_json(text)


def test_left_out_params_take_their_defaults_when_read():
    assert Recipe.from_json('{"format": 2, "family": "lr", "params": {}}') == Recipe("lr")


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
anything = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


@given(
    anything, st.sampled_from(["format", "family", "params", "seed", "holdout", "order", "class_weight", "center", "x"])
)
def test_no_value_in_a_link_can_raise_anything_else(value, where):
    content = json.loads(Recipe("lr", alpha=0.3).to_json())
    (content if where in content else content["params"])[where] = value
    with contextlib.suppress(RecipeError):
        Recipe.from_json(json.dumps(content))
