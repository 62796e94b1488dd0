"""OrderStudyView without a browser: it fills while a study computes, says the verdict, stops, goes on, redoes."""

import io

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core import workers
from alrviz.studies.core.study_task import failure
from alrviz.studies.protocols.choose_order import choose_order
from tests.views.studied import slowed, until

RECIPE = Recipe("lr", alpha=0.1)


def study(**options):
    given = {"orders": (0, 1, 2), "repeats": 1, "folds": 4, "n_jobs": 1} | options
    return choose_order(alrviz.load_demo("monks-1"), RECIPE, **given)


@pytest.fixture
def slow(monkeypatch):
    slowed(monkeypatch, 0.05)


def test_before_it_runs_it_says_what_run_will_do():
    view = alrviz.OrderStudyView(study())
    assert "Press Run: columns and pairs on the same 4 folds" in view.sentence.object
    assert "0 of 12 fits" in view.bar.progress.object
    assert (view.bar.run.disabled, view.bar.stop.disabled) == (False, True)


def test_it_fills_while_it_computes_and_ends_with_the_verdict(slow):
    view = alrviz.OrderStudyView(study())
    view.press_run()
    assert (view.bar.run.disabled, view.bar.stop.disabled) == (True, False)
    figure = view.pictures["losses"].plot.figure
    until(view, lambda: "after 2 of 4 folds" in view.sentence.object)
    assert len(view.pictures["losses"].plot["means"].data["x"]) == 3
    until(view, lambda: "12 of 12 fits · done" in view.bar.progress.object)
    assert view.pictures["losses"].plot.figure is figure, "fed, not made anew"
    verdict = view.study.verdict()
    assert verdict.headline in view.text()
    assert verdict.detail in view.text()
    np.testing.assert_array_equal(view.pictures["losses"].plot["means"].data["y"], view.study.summary().log_loss)
    assert view.pictures["losses"].plot["chosen"].data["x"].tolist() == [verdict.order] == [2]
    assert len(view.pictures["reliability"].plot["lines"][1].data["x"]) == 15
    assert view.bar.run.disabled


def test_what_failed_is_drawn_as_that_and_computed_again(monkeypatch):
    original = workers.compute

    def compute(cell, *rest):
        lost = cell.recipe and Recipe.from_json(cell.recipe).params["order"] == 2
        return failure("out of <memory>") if lost else original(cell, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(workers, "compute", compute)
        view = alrviz.OrderStudyView(study().run())
    assert "4 failed" in view.bar.progress.object
    assert "n&nbsp;=&nbsp;2 could not be fitted: out of &lt;memory&gt;" in view.sentence.object
    assert view.pictures["losses"].plot["absent"].data["x"] == [2.0]
    assert view.bar.retry.visible
    view.press_retry()
    until(view, lambda: view.study.phase == "done" and view.study.progress.failed == 0)
    view.pump()
    assert not view.bar.retry.visible
    assert view.pictures["losses"].plot["absent"].data["x"] == []


def test_an_outdated_study_is_faded_and_run_asks_for_another():
    first, second = study().run(), study(folds=3)
    view = alrviz.OrderStudyView(first, rerun=lambda: second)
    assert view.bar.run.disabled
    view.outdated = True
    assert view.body.styles["opacity"] != "1"
    assert "outdated: settings have changed" in view.bar.progress.object
    assert not view.bar.run.disabled
    view.press_run()
    assert view.study is second
    assert view.body.styles["opacity"] == "1"
    until(view, lambda: second.phase == "done")


def test_without_a_study_nothing_can_be_pressed():
    view = alrviz.OrderStudyView()
    assert "No study yet" in view.sentence.object
    assert (view.bar.run.disabled, view.bar.stop.disabled) == (True, True)
    view.press_run()
    view.press_stop()
    view.press_retry()
    assert view.csv_of_fits() == ""


def test_dark_draws_the_same_in_other_colours():
    view = alrviz.OrderStudyView(study().run())
    light = view.pictures["losses"].plot
    view.dark = True
    assert view.pictures["losses"].plot is not light
    np.testing.assert_array_equal(view.pictures["losses"].plot["means"].data["y"], light["means"].data["y"])


def test_the_csv_has_every_fit_and_what_made_them():
    view = alrviz.OrderStudyView(study().run())
    view._numbers.open = True
    assert "<td>2</td>" in view._numbers.table.object
    text = view.csv_of_fits()
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert f'# data: {{"monks-1": "{view.study.dataset.hash}"}}' in head
    assert any("recipe 0" in line for line in head)
    frame = pd.read_csv(io.StringIO(text), comment="#")
    np.testing.assert_array_equal(frame.log_loss, view.study.frame().log_loss)
    assert "reliability" not in frame


def test_an_error_that_ends_it_is_said(monkeypatch):
    def broken(*args):
        raise OSError("no space <left>")

    view = alrviz.OrderStudyView(study())
    monkeypatch.setattr(type(view.study), "_load_saved", broken)
    view.press_run()
    until(view, lambda: view.study.phase == "failed")
    view.pump()
    assert "ended by an error: no space &lt;left&gt;" in view.bar.progress.object
    assert view.bar.run.label == "Resume"
