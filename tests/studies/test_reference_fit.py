"""A classifier beside a run: the same training rows, judged on the same test rows; the truth where it is known."""

import numpy as np
import pytest

import alrviz
from alrviz.data.demos import demo_truth
from alrviz.data.splits import split_holdout
from alrviz.studies.maps.run_classifier import model_at
from alrviz.studies.race import reference_fit
from alrviz.studies.race.reference_fit import Truth, fit_reference


@pytest.fixture(scope="module")
def gaussians():
    return alrviz.load_demo("four-gaussians", rows=400)


def test_peer_learns_training_rows_and_is_evaluated_on_the_others(gaussians):
    found = fit_reference("svm-rbf", gaussians, holdout=0.3, seed=1)
    splits = split_holdout(gaussians.y, 0.3, 1)
    train, held = splits.train, splits.test
    own = found.model.predict(gaussians.X.iloc[held])
    assert found.rows == len(train)
    assert found.error == (own != gaussians.y[held]).mean()
    assert found.error < 0.3
    assert np.isnan(found.log_loss)  # an SVM has no probabilities


def test_many_rows_are_thinned(gaussians, monkeypatch):
    monkeypatch.setattr(reference_fit, "MAX_ROWS", 50)
    assert fit_reference("lr", gaussians, holdout=0.3, seed=1).rows == 50


def test_thinning_keeps_a_rare_class(gaussians, monkeypatch):
    monkeypatch.setattr(reference_fit, "MAX_ROWS", 30)
    frame = gaussians.X.assign(**{"class": gaussians.y})
    frame.loc[frame.index[:4], "class"] = "rare"
    dataset = alrviz.read_table(frame, target="class")
    for seed in range(5):
        found = fit_reference("lr", dataset, holdout=0.3, seed=seed)
        assert list(found.model.classes_) == ["A", "B", "rare"]
        assert 30 <= found.rows <= 33
        assert np.isfinite(found.log_loss)


def test_a_class_the_model_does_not_know_has_no_probability(gaussians):
    known = np.flatnonzero(gaussians.y == "A")[:3]
    model = Truth(np.array(["B", "C"]), lambda X: np.tile([0.25, 0.75], (len(X), 1)))
    error, log_loss = reference_fit._losses(model, gaussians.X.iloc[known], gaussians.y[known])
    assert error == 1.0
    assert log_loss == pytest.approx(52 * np.log(2))


def test_truth_is_not_fitted_and_has_the_loss_of_its_probabilities(gaussians):
    truth = demo_truth("four-gaussians")
    found = fit_reference("truth", gaussians, holdout=0.5, seed=2, truth=truth)
    held = split_holdout(gaussians.y, 0.5, 2).test
    p = truth(gaussians.X.iloc[held])
    y = (gaussians.y[held] == "B").astype(int)
    assert found.rows == 0
    assert found.error == pytest.approx((p.argmax(axis=1) != y).mean())
    assert found.log_loss == pytest.approx(-np.log(p[np.arange(len(y)), y]).mean())
    assert list(found.model.classes_) == ["A", "B"]


def test_without_held_out_rows_nothing_is_judged(gaussians):
    found = fit_reference("lr", gaussians, holdout=0.0, seed=0)
    assert found.rows == 400
    assert np.isnan([found.error, found.log_loss]).all()


@pytest.mark.parametrize("name", ["tan", "kdb", "ande", "rf"])
def test_a_rival_is_put_beside_a_run_too(name):
    dataset = alrviz.load_demo("mixed-types", rows=300)
    found = fit_reference(name, dataset, holdout=0.3, seed=0)
    assert found.rows == 210
    assert found.error < 0.35
    assert np.isfinite(found.log_loss) or name == "rf"  # trees may be sure, and wrong


@pytest.mark.parametrize("family", ["lr", "alr", "dlr", "anje", "elr"])
def test_the_model_of_a_run_scores_rows_of_the_table(family):
    dataset = alrviz.load_demo("mixed-types", rows=300)
    params = {} if family in ("anje", "dlr", "elr") else {"order": 1, "alpha": 1.0}
    run = alrviz.Run(dataset, alrviz.Recipe(family, **params))
    steps = list(run.steps())
    model = model_at(run)
    held = split_holdout(dataset.y, run.recipe.holdout, run.recipe.seed).test
    p = model.predict_proba(dataset.X.iloc[held])
    y = np.searchsorted(model.classes_, dataset.y[held])
    assert -np.log(p[np.arange(len(y)), y]).mean() == pytest.approx(steps[-1].extra["heldout_log_loss"], rel=1e-9)
    assert (model.predict(dataset.X.iloc[held]) == model.classes_[p.argmax(axis=1)]).all()
    if family != "anje":
        first = model_at(run, 0)
        assert first.step == 0
        q = first.predict_proba(dataset.X.iloc[held])
        early = -np.log(q[np.arange(len(y)), y]).mean()
        assert early == pytest.approx(steps[0].extra["heldout_log_loss"], rel=1e-5)  # weights in single precision


def test_of_a_squared_hinge_there_are_scores():
    dataset = alrviz.load_demo("four-gaussians", rows=200)
    run = alrviz.Run(dataset, alrviz.Recipe("lr", order=1, objective="hinge", alpha=1.0))
    list(run.steps())
    model = model_at(run)
    assert not hasattr(model, "predict_proba")
    score = model.decision_function(dataset.X)
    assert score.shape == (200,)
    assert ((score > 0) == (model.predict(dataset.X) == "B")).all()


def test_before_the_first_step_there_is_no_model():
    assert model_at(alrviz.Run(alrviz.load_demo("iris"), alrviz.Recipe("lr", alpha=0.3))) is None
