"""PathView without a browser: it fills, says what the path says, and a fit follows the slider of alpha."""

import io
import threading

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.errors import RecipeError
from alrviz.fitting.recipe import Recipe
from alrviz.studies.protocols import alpha_path as path_module
from alrviz.studies.protocols.alpha_path import alpha_path
from alrviz.studies.protocols.alpha_path_verdict import path_verdict
from alrviz.views.studies import path_follower
from alrviz.views.studies.path import AlphaSlider, nearest
from tests.views.studied import slowed, until

RECIPES = [Recipe("alr", order=1, center="anje", alpha=1.0), Recipe("lr", order=1, alpha=0.3)]
ALPHAS = (1000.0, 10.0, 0.1)


def study(recipes=RECIPES, **options):
    return alpha_path(alrviz.load_demo("led", 400), recipes, **{"alphas": ALPHAS, "n_jobs": 1} | options)


@pytest.fixture(scope="module")
def done():
    return study().run()


def settle(view):
    until(view, lambda: not view.follower.busy)


def test_before_it_runs_it_says_what_run_will_do_and_fits_where_the_slider_is():
    view = alrviz.PathView(study())
    assert "Press Run: fits from a strong" in view.sentence.object
    assert "0 of 5 curves" in view.bar.progress.object
    settle(view)
    assert view.losses.plot["live"].data["x"] == [10.0]
    assert "fitted in" in view.fit_text.object
    assert not view.fit_here.visible


def test_it_fills_and_ends_with_the_sentence(monkeypatch):
    slowed(monkeypatch, 0.1)
    view = alrviz.PathView(study())
    view.press_run()
    until(view, lambda: "No curve is complete yet" in view.sentence.object)
    figure = view.losses.plot.figure
    until(view, lambda: "After 1 of 2 curves." in view.sentence.object)
    until(view, lambda: "· done" in view.bar.progress.object)
    assert view.losses.plot.figure is figure, "fed, not made anew"
    assert path_verdict(view.study).headline in view.sentence.object
    lines = view.study.summary().query("racer == 1").sort_values("alpha", ascending=False)
    np.testing.assert_array_equal(view.losses.plot["heldout"][1].data["y"], lines.log_loss)
    assert (
        len(view.losses.plot["levels"].data["y"]) + sum("↑" in word for word in view.losses.plot["words"].data["words"])
        == 3
    )
    assert [one.racer for one in view.readings] == [0, 1]
    view.measure = "rmse"
    np.testing.assert_array_equal(view.losses.plot["heldout"][1].data["y"], lines.rmse)
    assert "Test RMSE" in view.sentence.object


def test_after_stop_nothing_comes_and_go_on_keeps_what_is_finished(monkeypatch):
    slowed(monkeypatch, 0.1)
    view = alrviz.PathView(study())
    view.press_run()
    until(view, lambda: view.study.progress.n_done >= 1)
    view.press_stop()
    known = view.study.progress.n_done
    view.pump()
    assert (view.study.progress.n_done, view.bar.run.label) == (known, "Resume")
    assert not view.follower.busy
    view.press_run()
    until(view, lambda: view.study.phase == "done")


def test_the_fit_follows_the_slider_and_fits_looked_at_are_remembered(done):
    view = alrviz.PathView(done)
    assert "of the path" in view.fit_text.object
    view.slider.panel.value = 31.6
    settle(view)
    assert (view.alpha, view.slider.panel.label) == (31.6, "alpha = 31.6")
    row = view.row()
    high, low = (done.frame().query("racer == 0 and alpha == @a").train_log_loss.iloc[0] for a in (1000.0, 0.1))
    assert low < row["train_log_loss"] < high
    assert view.losses.plot["live"].data["heldout"] == [row["log_loss"]]
    assert view.weights.plot["live"].data["high"] == [row["away_95"]]
    view.path = 1
    settle(view)
    assert view.row()["log_loss"] != row["log_loss"]
    view.path, view.alpha = 0, 31.6
    assert view.row() is row


def test_the_latest_wish_wins_and_the_fit_under_way_is_not_lost(done, monkeypatch):
    go, seen = threading.Event(), []
    original = path_module.LiveAlphaPath.fit

    def fit(self, recipe, alpha, stop):
        seen.append(alpha)
        go.wait(30)
        return original(self, recipe, alpha, stop)

    monkeypatch.setattr(path_follower.LiveAlphaPath, "fit", fit)
    view = alrviz.PathView(done)
    for alpha in (3.16, 1.0, 0.316):
        view.slider.panel.value = alpha
    assert "fitting" in view.fit_text.object
    go.set()
    settle(view)
    assert seen == [3.16, 0.316]
    assert view.losses.plot["live"].data["x"] == [0.316]
    assert sorted(view.losses.plot["trail"].data["x"]) == [0.316, 3.16]


def test_what_is_given_up_does_not_come(done, monkeypatch):
    go, ended, told = threading.Event(), threading.Event(), []

    def fit(self, recipe, alpha, stop):
        go.wait(30)
        told.append(stop.stopped)
        ended.set()
        return {"alpha": alpha}

    monkeypatch.setattr(path_follower.LiveAlphaPath, "fit", fit)
    view = alrviz.PathView(done)
    view.slider.panel.value = 3.16
    view.press_stop()
    go.set()
    assert ended.wait(30)
    settle(view)
    assert told == [True], "and it is told to end"
    assert view.row() is None
    assert view.losses.plot["live"].data["x"] == []


def test_large_tables_are_fitted_when_a_button_is_pressed(done, monkeypatch):
    monkeypatch.setattr(path_module, "MAX_LIVE_WORK", 0)
    view = alrviz.PathView(done)
    view.slider.panel.value = 3.16
    assert not view.follower.busy
    assert "press Fit here" in view.fit_text.object
    assert view.fit_here.visible
    view._press_fit()
    assert (view.fit_here.label, view.fit_here.description[:7]) == ("Give up", "Give up")
    settle(view)
    assert view.fit_here.label == "Fit here"
    assert "fitted in" in view.fit_text.object


def test_an_error_of_the_fit_is_said(done, monkeypatch):
    def fit(self, recipe, alpha, stop):
        raise RecipeError("no <such> fit")

    monkeypatch.setattr(path_follower.LiveAlphaPath, "fit", fit)
    view = alrviz.PathView(done)
    view.slider.panel.value = 3.16
    settle(view)
    assert "no &lt;such&gt; fit" in view.fit_text.object


def test_a_path_that_failed_is_said_and_computed_again(monkeypatch):
    from alrviz.studies.core import workers
    from alrviz.studies.core.study_task import failure

    original = workers.compute

    def compute(cell, *rest):
        return failure("out of <memory>") if cell.kind == "path" else original(cell, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(workers, "compute", compute)
        view = alrviz.PathView(study(RECIPES[:1]).run())
    assert "Failed: out of &lt;memory&gt;" in view.sentence.object
    assert view.readings == []
    view.press_retry()
    until(view, lambda: view.study.phase == "done" and view.study.progress.failed == 0)
    view.pump()
    assert len(view.readings) == 1


def test_without_a_study_nothing_can_be_pressed():
    view = alrviz.PathView()
    assert "No study yet" in view.sentence.object
    view._press_fit()
    view.alpha = 3.0
    view.press_stop()
    assert (view.bar.run.disabled, view.body.visible, view.csv_of_fits()) == (True, False, "")


def test_another_study_lets_fits_go_and_dark_draws_the_same(done):
    view = alrviz.PathView(done)
    view.slider.panel.value = 3.16
    settle(view)
    light = view.losses.plot
    view.dark = True
    assert view.losses.plot is not light
    np.testing.assert_array_equal(view.losses.plot["heldout"][0].data["y"], light["heldout"][0].data["y"])
    view.watch(study(RECIPES[:1]))
    assert view.follower.rows(0) == []
    assert view._paths.visible is False


def test_the_csv_has_every_fit_and_the_table_says_what_stopped_early(done):
    view = alrviz.PathView(done)
    view._numbers.open = True
    assert "naive Bayes" in view._numbers.table.object
    assert "lr, no penalty" in view._numbers.table.object
    frame = pd.read_csv(io.StringIO(view.csv_of_fits()), comment="#")
    np.testing.assert_array_equal(frame.log_loss, done.frame().log_loss)


def test_the_slider_has_the_paths_alphas_and_tells_only_what_the_reader_moved():
    moved = []
    slider = AlphaSlider(moved.append)
    slider.offer([100.0, 1.0], 12.0)
    assert list(slider.panel.options.values()) == [100.0, 31.6, 10.0, 3.16, 1.0]
    assert (slider.panel.value, moved) == (10.0, [])
    slider.panel.value = 3.16
    assert moved == [3.16]
    assert nearest([1.0, 10.0], 3.0) == 1.0
