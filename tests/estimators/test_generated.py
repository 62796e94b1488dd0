"""A family of cells has its classifier from what it says of itself, and type checkers are told of it."""

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
from alrviz.estimators.generated import classifier_of
from alrviz.estimators.make import of_class
from alrviz.estimators.stubs import stubs
from alrviz.fitting import families
from alrviz.fitting.families.cells import TABLES, CellFamily
from alrviz.fitting.families.family import BuiltFit, FitRequest
from alrviz.fitting.families.param import Param
from alrviz.fitting.recipe import Recipe


class Tempered(CellFamily):
    """AnJE whose cells count less."""

    name = words = "tempered"
    about = """AnJE, its cells taken to a power.

    {parameters}
    """
    colours: ClassVar[Mapping[str, str]] = {"tempered": "#444444"}
    params: ClassVar[Mapping[str, Param]] = {
        **TABLES,
        "power": Param(0.5, low=0.0, high=1.0, about="What log theta is multiplied by; 1 is AnJE."),
    }

    def make(self, request: FitRequest) -> BuiltFit:
        """AnJE's, with smaller weights."""
        made = super().make(request)
        w = made.fit.w0.copy()
        w[:-1] *= request.params["power"]
        return replace(made, fit=replace(made.fit, w0=w))


@pytest.fixture
def tempered(monkeypatch):
    family = Tempered()
    monkeypatch.setattr(families, "FAMILIES", {**families.FAMILIES, "tempered": family})
    cls = classifier_of(family, __name__)
    monkeypatch.setitem(globals(), cls.__name__, cls)
    return cls


def test_a_familys_classifier_is_one_of_scikit_learns(tempered):
    data = load_demo("tic-tac-toe")
    model = tempered(order=1, power=0.25).fit(data.X, data.y)
    assert (tempered.__name__, repr(model)) == ("TemperedClassifier", "TemperedClassifier(order=1, power=0.25)")
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(data.X), model.predict_proba(data.X))
    plain = tempered(order=1, power=1.0).fit(data.X, data.y)
    np.testing.assert_allclose(model.phi_, 0.25 * plain.phi_)
    np.testing.assert_array_equal(plain.intercept_, model.intercept_)
    assert model.weights_ is None
    assert of_class(tempered, Recipe("tempered", order=3, power=0.5)).get_params()["order"] == 3
    assert not Recipe("tempered").paper  # nobody's
    with pytest.raises(RecipeError, match="power=2 is out of range"):
        tempered(power=2).fit(data.X, data.y)


def test_its_text_tells_parameters_of_its_own_and_shared_ones(tempered):
    text = tempered.__doc__
    assert text.startswith("AnJE, its cells taken to a power.\n")
    assert "power : float from 0 to 1, default 0.5\n    What log theta is multiplied by; 1 is AnJE." in text
    assert 'order : int from 1, or "auto", default 2\n' in text
    assert "alpha : " not in text


def test_alpha_is_offered_as_each_family_takes_it():
    assert 'alpha : float from 0, or "cv", default 1.0\n' in alrviz.SelectiveALRClassifier.__doc__
    assert 'alpha : float from 0, "auto", or "cv", default 0.3\n' in alrviz.LRClassifier.__doc__
    assert 'alpha : float from 0, "auto", or "cv", or a tuple of numbers' in alrviz.HLRClassifier.__doc__
    for model in (alrviz.SelectiveALRClassifier, alrviz.WANBIACClassifier, alrviz.LRClassifier):
        assert ("descent on the held-out" in model.__doc__) == ('"auto", or "cv"' in model.__doc__)


def test_type_checkers_are_told_what_there_is():
    renew = "run python -m alrviz.estimators.stubs"
    for path, text in stubs().items():
        assert path.read_text(encoding="utf-8") == text, renew
