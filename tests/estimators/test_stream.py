"""Classifiers that learn from a table read in batches: what they are afterwards, and what does not go with it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import alrviz
from alrviz import cli
from alrviz.errors import AlrvizError
from tests.data.stream.test_stream import messy, written

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("stream")
    written(path, messy(600), "parquet")
    return path


@pytest.fixture(scope="module")
def stream(folder):
    return alrviz.open_table(folder / "table.parquet", "class", cache=folder / "codes")


def test_it_is_the_model_of_the_command_and_predicts_files_as_that_does(stream, folder, capsys):
    model = alrviz.SelectiveALRClassifier(order=2, keep=0.6, max_iter=2).fit(stream)
    files = [str(folder / "table.parquet"), "--target", "class", "--cache", str(folder / "codes"), "--holdout", "0"]
    said = ["--family", "salr", "--order", "2", "--keep", ".6", "--passes", "2", "-o", str(folder / "m.zip")]
    assert cli.main(["fit", *files, *said]) == 0
    np.testing.assert_array_equal(model.phi_, alrviz.load_model(folder / "m.zip").phi_)
    new = messy(50).drop(columns="class")
    assert alrviz.predict_table(model, new).equals(alrviz.predict_table(folder / "m.zip", new))
    alrviz.save_model(model, folder / "own.zip")
    assert alrviz.predict_table(folder / "own.zip", new).equals(alrviz.predict_table(model, new))


def test_without_a_random_state_the_rows_are_coded_once(stream, folder):
    first = [alrviz.ALRClassifier(order=1, solver="adagrad", max_iter=2, alpha=1.0).fit(stream).phi_ for _ in range(2)]
    np.testing.assert_array_equal(*first)
    other = alrviz.ALRClassifier(order=1, solver="adagrad", max_iter=2, random_state=7, alpha=1.0).fit(stream)
    assert (other.phi_ != first[0]).any()


def test_it_is_watched_ended_cloned_and_pickled_like_any_other(stream):
    seen = []
    model = alrviz.ALRClassifier(order=1, max_iter=9, alpha=1.0)
    model.fit(stream, on_step=lambda step: seen.append(step.index) or step.index == 1)
    assert (seen, model.n_iter_, model.outcome_.code) == ([0, 1], 1, "stopped")
    X, y = stream.sample.X, stream.sample.y
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "classes_")
    np.testing.assert_array_equal(clone(model).fit(X, y).phi_, model.fit(X, y).phi_)
    assert not hasattr(model, "spec_")


def test_choices_use_the_rows_of_the_stream(stream):
    model = alrviz.ALRClassifier(order="auto", max_iter=1, alpha=1.0).fit(stream)
    run = alrviz.Run(stream, model.to_recipe(holdout=0.0))
    next(run.steps())
    assert model.cells_.order == run.recipe.params["order"]


def test_incompatible_parameters_raise(stream):
    X, y = stream.sample.X, stream.sample.y
    model = alrviz.ALRClassifier(order=1, max_iter=1, alpha=1.0)
    with pytest.raises(ValueError, match=r"^y .* read in batches, which has its class"):
        model.fit(stream, y)
    with pytest.raises(ValueError, match=r"^sample_weight .* read in batches, which has "):
        model.fit(stream, None, np.ones(len(y)))
    with pytest.raises(ValueError, match=r"^categorical_features is not for .* open_table\(\.\.\., kinds="):
        alrviz.ALRClassifier(categorical_features=["x"], alpha=1.0).fit(stream)
    for refused in ({"class_weight": "balanced"}, {"share": "cell"}, {"solver": "sgd"}):
        with pytest.raises(ValueError, match="a table read in batches"):
            clone(model).set_params(**refused).fit(stream)
    with pytest.raises(ValueError, match="expected a number"):
        alrviz.ALRClassifier(alpha="cv").fit(stream)
    with pytest.raises(AlrvizError, match="may be used"):
        alrviz.ALRClassifier(max_memory=1000, alpha=1.0).fit(stream)
    model.fit(X, y)
    for asked in (model.predict, model.predict_proba, model.explain):
        with pytest.raises(ValueError, match="is read in batches; expected rows in memory"):
            asked(stream)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X)
