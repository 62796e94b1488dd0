"""LearningCurveView without a browser: it fills while a study computes, tells crossings, zooms, stops, redoes."""

import io

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.learning_curve import crossing_text
from alrviz.studies.core import workers
from alrviz.studies.core.study_task import failure
from alrviz.studies.statistics.crossing import crossings
from alrviz.views.studies.learning_curve import page_verdict
from tests.views.studied import slowed, until

RECIPES = [Recipe("anje", order=1), Recipe("anje", order=2)]


def study(**options):
    given = {"repeats": 2, "window": 200, "n_jobs": 1} | options
    return alrviz.learning_curve(alrviz.load_demo("monks-1"), given.pop("recipes", RECIPES), **given)


@pytest.fixture(scope="module")
def done():
    return study().run()


@pytest.fixture
def slow(monkeypatch):
    slowed(monkeypatch, 0.1)


def test_before_it_runs_it_says_what_run_will_do():
    view = alrviz.LearningCurveView(study())
    assert "Press Run: 2 models meet 432 rows one by one, in 2 shuffles" in view.sentence.object
    assert "mean over the last 200 rows" in view.caption.object
    assert [len(line.data["x"]) for line in view.picture.plot["lines"]] == [0, 0]


def test_it_fills_while_it_computes_and_tells_where_orders_cross(slow):
    view = alrviz.LearningCurveView(study())
    view.press_run()
    figure = view.picture.plot.figure
    until(view, lambda: any(len(line.data["x"]) for line in view.picture.plot["lines"]))
    until(view, lambda: view.study.phase == "done")
    view.redraw()
    assert view.picture.plot.figure is figure, "fed, not made anew"
    table = view.study.summary()
    first = table[table.racer == 0]
    np.testing.assert_array_equal(view.picture.plot["lines"][0].data["y"], first.error)
    (crossing,) = crossings(table, "error")
    assert crossing_text(crossing, 432) in view.sentence.object
    assert "So far" not in view.sentence.object


def test_what_failed_is_said_and_computed_again(monkeypatch):
    original = workers.compute

    def compute(cell, *rest):
        return failure("out of <memory>") if cell.racer == 1 else original(cell, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(workers, "compute", compute)
        view = alrviz.LearningCurveView(study().run())
    assert "anje failed: out of &lt;memory&gt;" in view.caption.object
    assert len(view.picture.plot["lines"][1].data["x"]) == 0
    view.press_retry()
    until(view, lambda: view.study.phase == "done" and view.study.progress.failed == 0)
    view.redraw()
    assert "failed" not in view.caption.object
    assert len(view.picture.plot["lines"][1].data["x"]) > 0


def test_measure_and_zoom_are_switched(done):
    view = alrviz.LearningCurveView(done)
    view._numbers.open = True
    table = view.study.summary()
    first = table[table.racer == 0]
    view.measure = "log_loss"
    np.testing.assert_array_equal(view.picture.plot["lines"][0].data["y"], first.log_loss)
    view.measure = "rmse"
    np.testing.assert_allclose(view.picture.plot["lines"][0].data["y"], np.sqrt(first.rmse2))
    assert f"<td>{np.sqrt(first.rmse2.iloc[-1]):.4f}</td>" in view._numbers.table.object
    view.span = "first"
    assert view._spans.value == "first"
    assert view.picture.plot.figure.x_range.start == 0


def test_theta_is_told_where_there_is_alr():
    recipes = [Recipe("alr", order=1, solver="sgd", alpha=0.0)]
    assert "(single-pass)" in alrviz.LearningCurveView(study(recipes=recipes)).caption.object
    assert "(two-pass)" in alrviz.LearningCurveView(study(recipes=recipes, theta="two-pass")).caption.object
    assert "theta" not in alrviz.LearningCurveView(study()).caption.object


@pytest.mark.parametrize(("theta", "marked"), [("single-pass", [False] * 3), ("two-pass", [False, True, True])])
def test_a_curve_that_has_counted_the_rows_that_judge_it_is_marked(theta, marked):
    recipes = [Recipe(name, order=n, solver="sgd", alpha=0.0) for name, n in (("lr", 1), ("alr", 1), ("alr", 2))]
    view = alrviz.LearningCurveView(study(recipes=recipes, theta=theta, repeats=1).run())
    lines = [part for part in view.picture.plot.figure.renderers if part.glyph.__class__.__name__ == "Line"]
    assert [bool(line.glyph.line_dash) for line in lines] == marked
    assert [line.name.endswith("*") for line in lines] == marked
    assert view.picture.plot.parts["note"].visible == any(marked)
    assert ("judge" in view.text()) == any(marked), "the sentence compares orders of alr"
    assert "judge" not in page_verdict(view.study, crossed=[]).detail, "nothing is compared"


def test_without_a_study_nothing_can_be_pressed():
    view = alrviz.LearningCurveView()
    assert "No study yet" in view.sentence.object
    assert not view.body.visible
    assert view.csv_of_summary() == view.csv_of_fits() == ""


def test_dark_draws_the_same_in_other_colours(done):
    view = alrviz.LearningCurveView(done)
    light = view.picture.plot
    view.dark = True
    assert view.picture.plot is not light
    np.testing.assert_array_equal(view.picture.plot["lines"][0].data["y"], light["lines"][0].data["y"])


def test_the_csv_has_the_means_or_every_point_and_what_made_them(done):
    view = alrviz.LearningCurveView(done)
    for text, frame in ((view.csv_of_summary(), view.study.summary()), (view.csv_of_fits(), view.study.frame())):
        assert any(line.startswith("# data: ") for line in text.splitlines())
        np.testing.assert_array_equal(pd.read_csv(io.StringIO(text), comment="#").error, frame.error)
