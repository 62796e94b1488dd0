"""What holds of every family of the registry, without a list of names: its line there puts a new one under test."""

import pickle

import joblib
import numpy as np
import pytest

from alrviz import Dataset, Recipe, load_demo, load_model, open_table, save_model
from alrviz.errors import AlrvizError
from alrviz.estimators.make import estimator_of, make_estimator
from alrviz.fitting.cost.estimate import estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.families.cells import CellFamily
from alrviz.fitting.prepare import prepare
from alrviz.fitting.runs.run import Run
from alrviz.studies.protocols.learning_curve import learning_curve

CELLS = sorted(name for name, family in FAMILIES.items() if isinstance(family, CellFamily))
SAVED = sorted(name for name, family in FAMILIES.items() if family.counts_cells or family.has_steps)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Convergence.*"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def short(name, **more):
    own = FAMILIES[name].params
    return Recipe(
        name, **{key: value for key, value in {"max_iter": 5, "order": 2, "alpha": 1.0, **more}.items() if key in own}
    )


@pytest.fixture(scope="module")
def data():
    return load_demo("led", 300)


@pytest.mark.parametrize("name", SAVED)
def test_saved_model_predicts_the_same(name, data, tmp_path):
    model = make_estimator(short(name)).fit(data.X, data.y)
    p = model.predict_proba(data.X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    save_model(model, tmp_path / "model.zip", dataset=data)
    np.testing.assert_allclose(load_model(tmp_path / "model.zip").predict_proba(data.X), p, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_pickles_and_joblib_files_predict_the_same(name, data, tmp_path):
    model = make_estimator(short(name)).fit(data.X, data.y)
    joblib.dump(model, tmp_path / "model.joblib", compress=3)
    for copied in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(copied.predict_proba(data.X), model.predict_proba(data.X))
        if hasattr(model, "feature_importances_"):
            np.testing.assert_array_equal(copied.feature_importances_, model.feature_importances_)


@pytest.fixture(scope="module")
def stream(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    data.frame.to_csv(folder / "led.csv", index=False)
    return open_table(folder / "led.csv", data.target, cache=folder / "codes")


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_a_table_read_in_batches_is_fitted_as_by_a_run_or_refused(name, data, stream):
    model = make_estimator(short(name, max_iter=2))
    if not FAMILIES[name].streams:
        with pytest.raises(AlrvizError, match=rf"^{name} cannot be fitted to a table read in batches; expected"):
            model.fit(stream)
        return
    model.fit(stream)
    run = Run(stream, model.to_recipe())
    assert [step.index for step in run.steps()] == list(range(model.n_iter_ + 1))
    p = model.predict_proba(stream.sample.X)
    np.testing.assert_array_equal(p, estimator_of(run).predict_proba(stream.sample.X))
    assert (model.predict(stream.sample.X) == model.classes_[p.argmax(axis=1)]).all()
    assert model.score(stream.sample.X, stream.sample.y.astype(str)) > 0.5


@pytest.mark.parametrize("name", CELLS)
def test_estimate_is_an_upper_bound_of_the_fit(name, data):
    run = Run(data, short(name))
    assert [*run.steps()]
    if FAMILIES[name].chooses_tuples(run.recipe.params):
        assert run.estimate.cost.parameters >= run.model.phi.size
        shape = TableShape(prepare(data, run.recipe).encoded)
        assert estimate(short(name, keep="auto"), shape).cost.bytes >= run.estimate.cost.bytes
    else:
        assert run.estimate.cost.parameters == run.model.phi.size + run.model.bias.size


@pytest.mark.parametrize("name", ["salr", "hsalr"])
def test_parts_that_are_in_the_model_are_estimated(name, data):
    run = Run(data, short(name, selection="gain", keep=1.0))
    assert [*run.steps()]
    assert run.estimate.cost.parameters >= run.model.phi.size


@pytest.mark.parametrize("name", CELLS)
def test_a_family_of_other_tuples_than_lr_s_minimises_another_function_and_has_no_learning_curve(name, data):
    family, recipe = FAMILIES[name], short(name, alpha=0.0)
    like_lr = not family.chooses_tuples(recipe.params) and family.all_tuples({**recipe.params, "order": 2}) == 2
    same = family.objective_key(recipe) == FAMILIES["lr"].objective_key(short("lr", alpha=0.0))
    assert same == (like_lr and "objective" in family.params)
    assert like_lr or not family.learns_rows
    if not family.learns_rows:
        with pytest.raises(AlrvizError):
            learning_curve(data, [recipe])


def test_tuples_that_are_never_counted_are_not_estimated():
    """Of 60 columns there are 5.5 million tuples of five; hsalr that keeps five a level counts some 300 at most."""
    rows = np.random.default_rng(0).integers(0, 4, (300, 60)).astype(str)
    data = Dataset.from_arrays(rows, np.where(rows[:, 0] == rows[:, 1], "a", "b"))
    few, many = (short("hsalr", order=5, keep=keep) for keep in (5, 0.3))
    shape = TableShape(prepare(data, few).encoded)
    for selection in ("mi", "gain"):
        assert estimate(few.replace(selection=selection), shape, 2**28).refusal == ""
    assert "keep fewer" in estimate(many, shape, 2**28).refusal
    pairs = {family: estimate(short(family, keep=1.0), shape).cost.bytes for family in ("salr", "hsalr")}
    assert pairs["hsalr"] == pairs["salr"]
    Run(data, few, max_memory=2**28).advance()
