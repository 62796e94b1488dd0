"""A fit that is watched from outside: functions, scikit-learn's callbacks, a line of progress, logs, warnings."""

import logging
import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from tqdm import tqdm

import alrviz
from alrviz.data.encoded import Encoded
from alrviz.errors import AlrvizError, UnseenLevelWarning
from alrviz.estimators import (
    ALRClassifier,
    AnDEClassifier,
    AutoClassifier,
    DLRClassifier,
    ELRClassifier,
    HLRClassifier,
    KDBClassifier,
    LRClassifier,
    NaiveBayesClassifier,
    TANClassifier,
)
from alrviz.models.effects import purify
from tests.estimators.tables import drawn


class Watcher:
    """A callback of scikit-learn that keeps what it is told, and stops after some steps."""

    def __init__(self, most=10_000):
        self.tasks, self.begun, self.ended, self.most, self.predicted = 0, 0, 0, most, None

    def setup(self, estimator, context):
        self.begun += 1

    def teardown(self, estimator, context):
        self.ended += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "step":
            self.tasks += 1
            self.predicted = fitted_estimator.predict_proba(drawn(5)[0])
            return self.tasks >= self.most
        return False


def test_a_function_sees_every_step_and_ends_the_fit():
    X, y = drawn()
    seen = []
    whole = ALRClassifier(alpha=1.0).fit(X, y, on_step=seen.append)
    assert [step.index for step in seen] == [step.index for step in whole.trace_.since(0)]
    model = ALRClassifier(alpha=1.0).fit(X, y, on_step=lambda step: step.index == 2)
    with pytest.warns(ConvergenceWarning):
        short = ALRClassifier(max_iter=2, alpha=1.0).fit(X, y)
    assert (model.outcome_.code, model.n_iter_) == ("stopped", 2)
    np.testing.assert_array_equal(model.predict_proba(X), short.predict_proba(X))


def test_a_function_of_a_run_sees_its_steps():
    seen = []
    run = alrviz.Run(
        alrviz.load_demo("led", 300), alrviz.Recipe("lr", alpha=0.3), on_step=lambda step: seen.append(step.index)
    )
    run.start()
    run.join()
    assert seen == [step.index for step in run.trace.since(0)]
    assert run.outcome.code == "converged"


def test_callbacks_of_scikit_learn_see_every_step_with_a_model_that_predicts():
    X, y = drawn()
    watcher = Watcher()
    model = LRClassifier(order=1, alpha=0.3).set_callbacks(watcher).fit(X, y)
    assert (watcher.begun, watcher.ended, watcher.tasks) == (1, 1, model.n_iter_ + 1)
    np.testing.assert_array_equal(watcher.predicted, model.predict_proba(drawn(5)[0]))
    stopping = Watcher(most=3)
    assert LRClassifier(order=1, alpha=0.3).set_callbacks(stopping).fit(X, y).n_iter_ == 2
    counted = Watcher()
    KDBClassifier(selective=False).set_callbacks(counted).fit(X, y)
    assert (counted.begun, counted.ended, counted.tasks) == (1, 1, 0)


def test_a_watched_model_is_copied_searched_and_pickled_as_ever():
    X, y = drawn()
    model = LRClassifier(order=1, verbose=False, alpha=0.3).fit(X, y, on_step=lambda step: None)
    assert pickle.loads(pickle.dumps(model)).n_iter_ == model.n_iter_
    GridSearchCV(clone(model), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)


def test_verbose_prints_steps_in_one_line_and_is_off_by_default(capsys):
    X, y = drawn()
    quiet = LRClassifier(order=1, alpha=0.3).fit(X, y)
    assert capsys.readouterr() == ("", "")
    LRClassifier(order=1, verbose=True, alpha=0.3).fit(X, y)
    told = capsys.readouterr()
    assert told.out == ""
    last = told.err.rstrip().split("\r")[-1]
    assert f"LRClassifier: {quiet.n_iter_} steps" in last
    assert "log loss" in last


def test_trials_are_shown_only_in_a_terminal(capsys, monkeypatch):
    X, y = drawn()
    monkeypatch.setattr("alrviz.estimators.fit_progress.PROGRESS_DELAY_SECONDS", 0.0)
    monkeypatch.setattr("alrviz.estimators.fit_progress.tqdm", partial(tqdm, mininterval=0.0))
    AutoClassifier().fit(X, y)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    AutoClassifier().fit(X, y)
    told = capsys.readouterr().err.split("\r")
    assert any("trying order 1, alpha 1e+05: validation log loss" in line for line in told)
    assert not told[-1].strip()  # and it is gone
    monkeypatch.setattr("multiprocessing.parent_process", object)  # a worker beside others, at the same terminal
    AutoClassifier().fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_the_log_has_begin_and_end_and_each_step(caplog):
    X, y = drawn()
    with caplog.at_level(logging.INFO, "alrviz.fitting.runs.run"):
        model = LRClassifier(order=1, alpha=0.3).fit(X, y)
    begin, end = (record.getMessage() for record in caplog.records)
    assert "200 rows, 39 parameters" in begin
    assert f"converged: {model.outcome_.sentence}, after step {model.n_iter_}" in end
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "alrviz.fitting.runs.run"):
        LRClassifier(order=1, alpha=0.3).fit(X, y)
    assert len(caplog.records) == 2 + model.n_iter_ + 1


def test_the_estimator_of_a_run_is_the_one_that_fit_makes_of_its_rows(tmp_path):
    dataset = alrviz.load_demo("led", 300)
    run = alrviz.Run(dataset, alrviz.Recipe("alr", order=2, holdout=0, alpha=1.0))
    with pytest.raises(AlrvizError, match="no model yet"):
        alrviz.estimator_of(run)
    steps = run.steps()
    next(steps), next(steps)
    model = alrviz.estimator_of(run)  # of the latest step so far
    assert (model.n_iter_, model.outcome_.code) == (1, "stopped")
    for _ in steps:
        pass
    model = alrviz.estimator_of(run)
    fitted = alrviz.make_estimator(run.recipe).fit(dataset.X, dataset.y)
    np.testing.assert_array_equal(model.predict_proba(dataset.X), fitted.predict_proba(dataset.X))
    alrviz.save_model(model, tmp_path / "model.zip")
    with pytest.raises(alrviz.ModelFileError, match="estimator_of"):
        alrviz.save_model(run, tmp_path / "run.zip")


@pytest.mark.parametrize(
    "model", [LRClassifier(order=1, alpha=0.3), DLRClassifier(alpha=10.0), KDBClassifier(selective=False)], ids=str
)
def test_values_that_training_never_saw_are_counted_in_a_warning(model):
    X, y = drawn()
    model.fit(X, y)
    new = X[:10].copy()
    new.loc[:3, "c1"] = "new"
    new.loc[2:6, "c2"] = "also new"
    with pytest.warns(UnseenLevelWarning, match=r"7 of 10 rows .* 'c2' \(5\), 'c1' \(4\)"):
        model.predict(new)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnseenLevelWarning)
        model.predict_proba(X)
        alrviz.predict_table(model, new)  # which has a column for them


@pytest.mark.parametrize(
    "model",
    [
        LRClassifier(order=1, alpha=1.0),
        LRClassifier(order=2, alpha=1.0),
        HLRClassifier(alpha=1.0),
        DLRClassifier(alpha=10.0),
    ],
    ids=str,
)
def test_importances_are_shares_of_the_variance_of_explained_effects(model):
    X, y = drawn(columns=3)
    X["noise"] = np.random.default_rng(3).choice(["a", "b"], len(X))
    X["same"] = "always"
    model.fit(X, y)
    effects = model.explain(X).drop("intercept", level="tuple")
    variances = effects.groupby("tuple").var(ddof=0).sum(axis=1)
    expected = pd.Series(0.0, X.columns)
    for name, variance in variances.items():
        columns = name.split(" & ")
        expected[columns] += variance / len(columns)
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-6, atol=1e-12)
    selected = SelectFromModel(model, prefit=True, threshold="mean").get_support()
    assert not selected[3:].any()


def test_importances_of_a_column_do_not_leak_into_its_pairs():
    """Without main effects of its own, LR of pairs spreads the column over the seven pairs that contain it."""
    X = np.random.default_rng(0).integers(2, size=(1000, 8)).astype(str)
    importances = LRClassifier(order=2, alpha=1.0).fit(X, X[:, 0]).feature_importances_
    assert importances[0] > 0.95


@pytest.mark.parametrize(
    "model", [KDBClassifier(k=2, selective=False), TANClassifier(), ELRClassifier(structure="tan")], ids=str
)
def test_importances_of_networks_are_those_of_the_same_score_table(model):
    X, y = drawn(columns=4)
    model.fit(X, y)
    codes = model.encoder_.transform(X)
    table, order = model.model_.as_linear()
    np.testing.assert_allclose(table.scores(codes), model.decision_function(X), rtol=1e-9)
    assert all(columns == sorted(columns) for columns in table.space.members)
    total = len(X) * np.ones(4)
    np.testing.assert_allclose(np.bincount(table.space.tuple_of(table.seen_cells), model.counts_[order].sum(1)), total)
    rows = Encoded(
        codes, np.searchsorted(model.classes_, y).astype(np.int32), np.ones(len(X)), model.encoder_.levels_,
        model.classes_, tuple(X.columns),
    )  # fmt: skip
    np.testing.assert_allclose(model.feature_importances_, purify(table, rows).column_shares(), rtol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_importances_of_averages_are_those_of_the_mean_of_logarithms(n):
    X, y = drawn(columns=4)
    model = AnDEClassifier(n=n).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    if n:
        codes = model.encoder_.transform(X)
        mean = model.model_.networks(codes).mean(axis=1)
        np.testing.assert_allclose(model.model_.mean_of_logs().scores(codes), mean, rtol=1e-9)
        assert (mean <= model.decision_function(X) + 1e-9).all()


def test_predict_accepts_an_array_in_place_of_the_frame():
    X, y = drawn()
    X = pd.concat([X, pd.Series(np.arange(len(X)) % 7 / 2.0, name="number")], axis=1)
    model = NaiveBayesClassifier().fit(X, y)
    with pytest.warns(UserWarning, match="valid feature names"):
        array = model.predict_proba(X.to_numpy())
    np.testing.assert_array_equal(array, model.predict_proba(X))
