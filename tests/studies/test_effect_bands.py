import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.errors import RecipeError
from alrviz.fitting.store import Store
from alrviz.studies.core.effects_task import selects_tuples
from alrviz.studies.core.study_task import unpack

RECIPE = alrviz.Recipe("lr", order=2, alpha=0.5)


@pytest.fixture(scope="module")
def data():
    return alrviz.load_demo("led", 400)


@pytest.fixture(scope="module")
def study(data):
    return alrviz.effect_bands(data, RECIPE, refits=6, n_jobs=1).run()


def test_its_model_is_the_run_of_the_same_recipe(data, study):
    run = alrviz.Run(data, RECIPE.replace(holdout=0.3, seed=0))
    for _ in run.steps():
        pass
    own = alrviz.interactions(run)
    assert np.allclose(study.interactions.pure.f, own.pure.f, atol=1e-6)
    for found in (study.interactions, own):
        w = found.quantity(found.number_of(found.columns[:2]), "w", 0, 1)
        assert np.allclose(
            w, alrviz.estimator_of(run).to_frame()["w"]["0"].loc[" & ".join(found.columns[:2])], atol=1e-6
        )
    assert study.interactions.has_heldout
    assert study.interactions.heldout.n_rows == own.heldout.n_rows


@pytest.mark.parametrize(
    "recipe",
    [
        RECIPE,
        alrviz.Recipe("hlr", order=2, alpha=(0.5, 2.0), discretize="smooth"),
        alrviz.Recipe("alr", order=2, alpha=0.5, missing="skip"),
        alrviz.Recipe("anje", order=2),
        alrviz.Recipe("salr", order=2, alpha=0.5, keep=0.4),
        alrviz.Recipe("hsalr", order=2, alpha=0.5, keep=0.6, selection="gain"),
        alrviz.Recipe("hlr", order=2, alpha=1.0, keep=0.3),
    ],
    ids=lambda recipe: recipe.label,
)
def test_every_family_has_bands(recipe):
    mixed = alrviz.load_demo("mixed-types", 300)
    found = alrviz.effect_bands(mixed, recipe, refits=4, n_jobs=1).run()
    assert (found.frame()["outcome"] != "failed").all()
    f, importance = found.refits()
    assert f.shape == (4, *found.interactions.pure.f.shape)
    shares = importance[:, :, 0].sum(axis=1)
    assert np.allclose(shares, 1.0, atol=1e-4) or selects_tuples(recipe), "a refit may select other tuples"
    table = found.importance()
    assert (table["nats_low"] <= table["nats_high"]).all()
    first, second = found.interactions.classes[:2]
    own = found.effects(*table.index[:1], label=first, other_label=second)
    assert ((own["low"] <= own["median"]) & (own["median"] <= own["high"])).all()
    assert own["same_sign"].between(0, 1).all()


def test_refits_that_choose_other_tuples_say_nothing_of_the_models(data):
    recipe = alrviz.Recipe("salr", order=2, alpha=0.5, keep=3)
    found = alrviz.effect_bands(data, recipe, refits=8, n_jobs=1).run()
    run = alrviz.Run(data, recipe.replace(holdout=0.3, seed=0))
    for _ in run.steps():
        pass
    own = alrviz.interactions(run)
    assert found.interactions.names == own.names
    assert np.allclose(found.interactions.pure.f, own.pure.f, atol=1e-6)
    pairs = found.interactions.pure.sizes == 2
    nats = found.refits()[1][:, pairs, 2]
    assert (nats == 0).any(), "a pair that a refit left out"
    assert (nats > 0).any(axis=1).all()
    whole = alrviz.effect_bands(data, recipe.replace(keep=1.0), refits=2, n_jobs=1).run()
    assert np.allclose(whole.refits()[1][:, :, 0].sum(axis=1), 1.0, atol=1e-4), "of all tuples none is left out"


def test_the_numbers_depend_on_no_worker_and_on_the_seed_alone(data, study):
    again = alrviz.effect_bands(data, RECIPE, refits=6, n_jobs=2).run()
    for one, two in zip(study.refits(), again.refits(), strict=True):
        assert (one == two).all()
    other = alrviz.effect_bands(data, RECIPE, refits=6, seed=1, n_jobs=1).run()
    assert not np.allclose(other.refits()[1][0], study.refits()[1][0])


def test_saved_refits_are_not_computed_again(data, study, tmp_path):
    store = Store(tmp_path / "runs.sqlite")
    first = alrviz.effect_bands(data, RECIPE, refits=6, n_jobs=1, keep=store)
    for _, _row in zip(range(3), first.rows(), strict=False):
        pass
    second = alrviz.effect_bands(data, RECIPE, refits=6, n_jobs=1, keep=store)
    assert second.recall() >= 3
    assert second.interactions is not None, "computed from what was kept"
    second.run()
    for one, two in zip(study.refits(), second.refits(), strict=True):
        assert (one == two).all()


def test_recipes_with_open_choices_raise_for_bands(data):
    for recipe, words in (
        (alrviz.Recipe("salr", order=2, unit="cell", alpha=1.0), "cells"),
        (alrviz.Recipe("dlr", alpha=10.0), "cells"),
        (alrviz.Recipe("salr", order=2, alpha=1.0, keep="auto"), "keep='auto'"),
        (alrviz.Recipe("lr", order="auto", alpha=1.0), "order='auto'"),
        (alrviz.Recipe("hlr", order=2, alpha=1.0, discretize="auto"), "expected 'smooth' or 'mdl-smooth'"),
        (alrviz.Recipe("alr", order=2, unseen="m-estimate", alpha=1.0), "unseen='m-estimate'"),
    ):
        with pytest.raises(RecipeError, match=words):
            alrviz.effect_bands(data, recipe)
    with pytest.raises(RecipeError, match="refits=-1"):
        alrviz.effect_bands(data, RECIPE, refits=-1)


def test_refits_are_unpacked_once_each_and_kept_in_single_precision(data, monkeypatch):
    from alrviz.studies.protocols import effect_bands as module

    unpacked = []
    monkeypatch.setattr(module, "unpack", lambda packed: unpacked.append(packed) or unpack(packed))
    found = alrviz.effect_bands(data, RECIPE, refits=3, n_jobs=1).run()
    first, second = found.interactions.classes[:2]
    for name in found.importance().index[:5]:
        assert found.effects(name, label=first, other_label=second)["low"].notna().all()
    assert len(unpacked) == 4
    assert {drawn.dtype.name for drawn in found._refits_by_draw.values()} == {"float32"}
    assert not any(result.predicted for _, result in found.results())


def test_a_model_without_refits_has_no_bands(data):
    found = alrviz.effect_bands(data, RECIPE, refits=0, n_jobs=1)
    assert found.interactions is None
    assert found.summary().empty
    found.run()
    assert found.importance()["nats_low"].isna().all()
    assert found.interactions.verdict().headline


def test_bands_leave_a_twentieth_of_further_draws_on_either_side(data, study):
    """Of few draws the usual quantiles are too near to the middle: these are expectations of what lies beyond."""
    f, importance = study.refits()
    found = study.interactions
    name = study.importance().index[0]
    first, second = found.classes[:2]
    own = study.effects(name, label=first, other_label=second)
    odds = f[:, found.pure.cells_of(found.number_of(name))]
    odds = odds[:, :, 0] - odds[:, :, 1]
    assert np.allclose(own["low"], odds.min(axis=0))  # of six draws a seventh lies below all in 1 of 7
    nats = importance[:, found.number_of(name), 2]
    line = study.importance().loc[name]
    assert line.nats_high - line.nats == pytest.approx(nats.max() - np.median(nats))


def test_bands_are_shifted_to_the_model():
    """Of letter at order 2 all refits find fewer nats than the model, which knows its rows by heart; here of some."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 6, (300, 3)), columns=list("abc")).astype(str)
    frame["class"] = np.where(frame.a + frame.b > "25", "x", np.where(rng.random(300) < 0.5, "y", "z"))
    data = alrviz.read_table(frame, target="class")
    study = alrviz.effect_bands(data, alrviz.Recipe("lr", order=2, alpha=0.1), refits=6, n_jobs=1).run()
    table, found = study.importance(), study.interactions
    nats = found.importance().nats.reindex(found.names).to_numpy()
    assert (study.refits()[1][:, :, 2] < nats).all(axis=0).any()
    for name in ("nats", "share"):
        assert ((table[f"{name}_low"] <= table[name]) & (table[name] <= table[f"{name}_high"])).all()
    assert (table.nats_low >= 0).all()
