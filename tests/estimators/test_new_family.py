"""A family is a class and its line in the registry: all that knows its parameters follows from their `Param`s."""

import inspect
import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone

import alrviz
from alrviz.data.demos import load_demo
from alrviz.errors import RecipeError
from alrviz.estimators import cells
from alrviz.estimators.make import classifier_class, make_estimator
from alrviz.explorer.recipes.recipe_fields import Choosable
from alrviz.explorer.recipes.recipe_url import read_recipes, write_recipes
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.fitting.families import ENCODING, FAMILIES
from alrviz.fitting.families.cells import TABLES, CellFamily
from alrviz.fitting.families.family import FitProblem, FitRequest
from alrviz.fitting.families.param import Param
from alrviz.fitting.recipe import Recipe
from tests.estimators.tables import mixed


class Tempered(CellFamily):
    """AnJE, its cells taken to a power."""

    name = words = "tempered"
    colours: ClassVar[Mapping[str, str]] = {"tempered": "#444444"}
    params: ClassVar[Mapping[str, Param]] = {
        "power": Param(
            0.5, low=0.0, high=1.0, label="Power of theta", key="W", step=0.05, highest=0.9,
            has_effect=lambda recipe: recipe.params["order"] != 3,
            help="What log theta is multiplied by.", meanings={"off": "not said"},
        ),
        "base": Param(
            "e", {"e": "natural", "2": "binary"}, label="Logarithm", key="E", help="Of theta.", meanings={"2": "bits"}
        ),
        **TABLES,
    }  # fmt: skip

    def make(self, request: FitRequest) -> FitProblem:
        """AnJE's, with smaller weights."""
        made = super().make(request)
        w = made.fit.w0.copy()
        w[:-1] *= request.params["power"]
        return replace(made, fit=replace(made.fit, w0=w))


@pytest.fixture(autouse=True)
def tempered(monkeypatch):
    """The one line."""
    monkeypatch.setitem(FAMILIES, "tempered", Tempered())
    yield
    vars(cells)["__getattr__"].cache_clear()


def test_its_estimator_is_one_of_scikit_learns():
    data = load_demo("tic-tac-toe")
    model = make_estimator(Recipe("tempered", order=1, power=0.25)).fit(data.X, data.y)
    assert repr(model) == "TemperedClassifier(order=1, power=0.25)"
    assert {"power", "base", "order", "discretize", "n_jobs"} <= set(inspect.signature(type(model)).parameters)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(data.X), model.predict_proba(data.X))
    plain = clone(model).set_params(power=1.0).fit(data.X, data.y)
    np.testing.assert_allclose(model.phi_, 0.25 * plain.phi_)
    np.testing.assert_array_equal(plain.intercept_, model.intercept_)
    assert model.weights_ is None
    with pytest.raises(RecipeError, match="power=2 is out of range"):
        clone(model).set_params(power=2).fit(data.X, data.y)


def test_its_docstring_describes_parameters_of_its_own_and_shared_ones():
    text = classifier_class(FAMILIES["tempered"]).__doc__
    assert text.startswith("AnJE, its cells taken to a power.\n")
    assert "\npower : float from 0 to 1, default 0.5\n    What log theta is multiplied by.\n" in text
    assert '\nbase : "e" or "2", default "e"\n' in text
    assert '"2": bits.' in text
    assert '\norder : int from 1 to 12 or "auto", default 2\n' in text
    assert "\nphi_ : " in text
    assert "alpha" not in text


def test_overridden_make_without_make_stream_raises(tmp_path):
    data, recipe = load_demo("led", 300), Recipe("tempered", order=1)
    data.frame.to_csv(tmp_path / "led.csv", index=False)
    table = alrviz.open_table(tmp_path / "led.csv", data.target, cache=tmp_path / "codes")
    with pytest.raises(RecipeError, match="batches"):
        make_estimator(recipe).fit(table)
    with pytest.raises(RecipeError, match="row by row"):
        alrviz.learning_curve(data, recipe)


def test_a_link_carries_them():
    recipe = Recipe("tempered", power=0.25, base="2", order=3)
    assert write_recipes((recipe,)) == "tempered_W0.25_E2_o3"
    assert read_recipes("tempered_W0.25_E2_o3") == (recipe,)
    (clamped,) = read_recipes("tempered_W7_Ex")
    assert (clamped.params["power"], clamped.params["base"]) == (0.9, "e")


def test_a_widget_sets_them():
    heard = []
    settings = RecipeSettings(
        lambda _, recipe: heard.append(recipe), lambda _: None, lambda _: None, Choosable(("lr", "tempered"))
    )
    settings.show(0, Recipe("tempered"), "tempered", is_only=True)
    power, base = settings._fields["power"], settings._fields["base"]
    assert (power.label, power.value, power.step, power.end, power.visible) == ("Power of theta", 0.5, 0.05, 0.9, True)
    assert base.options == {"natural": "e", "binary": "2"}
    power.value, base.value = 0.75, "2"
    assert [(recipe.params["power"], recipe.params["base"]) for recipe in heard] == [(0.75, "e"), (0.5, "2")]
    settings.show(0, Recipe("tempered", order=3), "tempered", is_only=True)
    assert not power.visible
    settings.show(0, Recipe("lr", alpha=0.3), "lr", is_only=True)
    assert not base.visible


def test_a_widget_is_of_the_family_shown_where_another_has_a_parameter_of_that_name(monkeypatch):
    class Cooled(Tempered):
        """Another power."""

        name = words = "cooled"
        params: ClassVar[Mapping[str, Param]] = {
            **Tempered.params,
            "power": Param(5.0, low=2.0, high=9.0, label="Power of all", key="W", help="Its."),
        }

    monkeypatch.setitem(FAMILIES, "cooled", Cooled())
    settings = RecipeSettings(lambda *_: None, lambda _: None, lambda _: None, Choosable(("lr", "tempered", "cooled")))
    power = settings._fields["power"]
    for family, looks in (("cooled", ("Power of all", 2, 9, 5)), ("tempered", ("Power of theta", 0, 0.9, 0.5))):
        settings.show(0, Recipe(family), family, is_only=True)
        assert (power.label, power.start, power.end, power.value) == looks


def test_every_setting_of_every_family_has_a_label_a_help_text_and_a_key_of_its_own():
    for family in FAMILIES.values():
        settings = {**family.params, **ENCODING}
        keys = [param.key for name, param in settings.items() if name != "seed"]
        assert {len(key) for key in keys} == {1}, family.name
        assert len(set(keys)) == len(keys), family.name
        assert all(param.label and param.help for param in family.params.values()), family.name


def test_alpha_is_described_as_each_family_takes_it():
    assert '\nalpha : float from 0, "cv" or "auto", default "auto"\n' in alrviz.LRClassifier.__doc__
    assert (
        '\nalpha : float from 0, "cv", "auto" or a tuple of numbers, default "auto"\n' in alrviz.HLRClassifier.__doc__
    )
    for model in (alrviz.DLRClassifier, alrviz.WANBIACClassifier, alrviz.LRClassifier):
        text = " ".join(model.__doc__.split())
        assert ('"auto": found as part of the fit' in text) == ('alpha : float from 0, "cv" or "auto"' in text)


ALIASES = {  # and the parameters that are fixed in them
    alrviz.WANBIACClassifier: {"order", "scale"},
    alrviz.NaiveBayesClassifier: {"order"},
}


@pytest.mark.parametrize("cls", [*map(classifier_class, FAMILIES.values()), *ALIASES])
def test_a_classifier_has_its_familys_parameters_and_defaults_and_describes_them(cls):
    family, signature = FAMILIES[cls._family], inspect.signature(cls).parameters
    assert {parameter.kind for parameter in signature.values()} == {inspect.Parameter.KEYWORD_ONLY}
    own = {"categorical_features", "n_jobs", "max_memory"}
    own |= {"discretize", "n_bins"} if not family.takes_numbers else set()
    own |= {"random_state"} if "start" in family.params or Recipe(family.name).is_random else set()
    own |= {"verbose"} if family.has_steps else set()
    searches = "cross_tuning" in family.params or ("alpha" in family.params and family.params["alpha"].keywords)
    own |= {"time_limit"} if searches else set()
    assert set(signature) == set(family.params) - ALIASES.get(cls, set()) | own
    for name, param in {**family.params, **ENCODING}.items():
        if name in signature:
            default = signature[name].default
            assert (default, type(default)) == (param.default, type(param.default)), name
    X, y = mixed(60)
    model = cls().set_params(**({"max_iter": 0} if "max_iter" in signature else {})).fit(X, y)
    for name in (*signature, *(name for name in vars(model) if name.endswith("_"))):
        assert f"\n{name} : " in cls.__doc__, name
    assert "{parameters}" not in cls.__doc__


def test_a_family_of_cells_without_the_parameters_of_all_is_refused_when_it_is_defined():
    with pytest.raises(TypeError, match=r"missing, unseen.*TABLES"):
        type("Incomplete", (CellFamily,), {"params": {name: TABLES[name] for name in ("order", "smoothing")}})
