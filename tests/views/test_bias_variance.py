"""BiasVarianceView without a browser: it fills while a study computes, says the identity, stops, goes on, redoes."""

import io
import threading
import time

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core import workers
from alrviz.studies.core.study_task import failure
from alrviz.views.core.style import FADED_OPACITY
from alrviz.views.studies import study_view
from alrviz.views.studies.bias_variance import CellProgress, cell_progress, grid_html, page_verdict
from tests.views.studied import slowed, until

RECIPES = [Recipe("anje", order=1), Recipe("anje", order=2)]


def study(**options):
    given = {"rounds": 3, "n_jobs": 1} | options
    return alrviz.bias_variance(alrviz.load_demo("monks-1"), given.pop("recipes", RECIPES), **given)


@pytest.fixture(scope="module")
def done():
    return study().run()


@pytest.fixture
def slow(monkeypatch):
    slowed(monkeypatch, 0.05)


def test_before_it_runs_it_says_what_run_will_do_and_shows_an_empty_grid():
    view = alrviz.BiasVarianceView(study())
    assert "Press Run: 2 models, 6 fits each on half of 432 rows" in view.sentence.object
    assert view._grid.object.count("0 of 6 fits") == 2


def test_it_fills_while_it_computes_and_tells_the_identity(slow, monkeypatch):
    monkeypatch.setattr(study_view, "REST_PER_DRAW_SECOND", 0)
    view = alrviz.BiasVarianceView(study(rounds=6))
    view.press_run()
    figure = view.pictures["bias"].plot.figure
    until(view, lambda: "of 12 fits" in view._grid.object and " = <b>" in view._grid.object)
    until(view, lambda: view.study.phase == "done" and "Lowest error" in view.sentence.object)
    view.redraw()
    assert view.pictures["bias"].plot.figure is figure, "fed, not made anew"
    table = view.study.summary()
    np.testing.assert_array_equal(view.pictures["error"].plot["lines"][0].data["y"], table.error)
    assert "of 12 fits" not in view._grid.object
    best = table.loc[table.error.idxmin()]
    assert f"Lowest error: {best['name']}, {best.error:.3f} = bias² {best.bias:.3f} + " in view.sentence.object
    parts = f"bias² {best.bias_unbiased:.3f} + variance {best.variance_unbiased:.3f}."
    assert page_verdict(view.study, table, "unbiased").headline.endswith(f"{best.error:.3f} = {parts}")


def test_a_picture_that_takes_long_rests_and_then_shows_what_came_meanwhile(monkeypatch):
    original, gate, begun = workers.compute, threading.Event(), []

    def compute(*args):
        begun.append(args)
        if len(begun) > 9:
            gate.wait(60)
        return original(*args)

    monkeypatch.setattr(workers, "compute", compute)
    monkeypatch.setattr(study_view, "REST_PER_DRAW_SECOND", 1e6)
    view = alrviz.BiasVarianceView(study())
    view.press_run()
    until(view, lambda: view.study.progress.n_done == 9)
    for _ in range(10):
        view.pump()
    assert " = <b>" not in view._grid.object
    view.outdated = True
    assert {part.styles["opacity"] for part in (view.sentence, view.body, view._grid)} == {FADED_OPACITY}, (
        "that does not rest"
    )
    view.outdated = False
    view._rest_until = 0.0
    until(view, lambda: view._grid.object.count(" = <b>") == 2)  # nothing new has come: it had been put off
    assert view.study.phase == "running"
    gate.set()
    until(view, lambda: view.study.phase == "done")
    view.pump()
    assert "of 6 fits" not in view._grid.object


def test_after_stop_nothing_comes_and_go_on_keeps_what_is_finished(slow):
    view = alrviz.BiasVarianceView(study())
    view.press_run()
    until(view, lambda: view.study.progress.n_done >= 3)
    view.press_stop()
    done, grid = view.study.progress.n_done, view._grid.object
    assert view.bar.run.label == "Resume"
    time.sleep(0.3)
    view.pump()
    assert view.study.progress.n_done == done
    assert view._grid.object == grid
    view.press_run()
    until(view, lambda: view.study.phase == "done")


def test_what_failed_is_said_in_its_cell_and_computed_again(monkeypatch):
    original = workers.compute

    def compute(cell, *rest):
        return failure("out of <memory>") if cell.racer == 1 else original(cell, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(workers, "compute", compute)
        view = alrviz.BiasVarianceView(study().run())
    assert "out of &lt;memory&gt;" in view._grid.object
    assert "6 failed</abbr>" in view._grid.object
    assert len(view.pictures["bias"].plot["lines"][0].data["x"]) == 1
    view.press_retry()
    until(view, lambda: view.study.phase == "done" and view.study.progress.failed == 0)
    view.redraw()
    assert "failed" not in view._grid.object
    assert len(view.pictures["bias"].plot["lines"][0].data["x"]) == 2


def test_the_definition_is_switched_and_each_adds_up(done):
    view = alrviz.BiasVarianceView(done)
    view._numbers.open = True
    table = view.study.summary()
    for kind, column in (("unbiased", "bias_unbiased"), ("Domingos", "bias_domingos"), ("plug-in", "bias")):
        view.definition = kind
        np.testing.assert_array_equal(view.pictures["bias"].plot["lines"][0].data["y"], table[column])
        assert f"<td>{table[column].iloc[0]:.5f}</td>" in view._numbers.table.object
    assert view._kinds.value == "plug-in"


def test_settings_of_one_value_are_no_axis():
    view = alrviz.BiasVarianceView(study())
    assert not view._axes.visible
    shares = study(train_shares=(0.2, 1.0), recipes=RECIPES[:1])
    view.watch(shares)
    assert view.axis == "train_share"
    assert list(view.pictures["bias"].plot.figure.xaxis[0].major_label_overrides.values()) == ["20 %", "100 %"]
    view.watch(study(train_shares=(0.2, 1.0)))
    assert view._axes.visible
    assert list(view._axes.options.values()) == ["order", "train_share"]
    view.axis = "order"
    assert view.pictures["bias"].plot.figure.xaxis[0].axis_label == "order n, all training rows"


def test_a_long_legend_makes_the_pictures_higher():
    recipes = [Recipe("lr", order=n, alpha=alpha) for n in (1, 2) for alpha in (0.001, 0.01, 0.1, 1.0)]
    view = alrviz.BiasVarianceView(study(recipes=recipes, train_shares=(0.5, 1.0)))
    view.axis = "alpha"
    assert view._picture_box.height == 330
    view.axis = "train_share"
    assert view._picture_box.height > 400


def test_without_a_study_nothing_can_be_pressed():
    view = alrviz.BiasVarianceView()
    assert "No study yet" in view.sentence.object
    assert not view.body.visible
    assert (view.bar.run.disabled, view.bar.stop.disabled) == (True, True)
    assert view.csv_of_summary() == view.csv_of_fits() == ""


def test_dark_draws_the_same_in_other_colours(done):
    view = alrviz.BiasVarianceView(done)
    light = view.pictures["bias"].plot
    view.dark = True
    assert view.pictures["bias"].plot is not light
    np.testing.assert_array_equal(view.pictures["bias"].plot["lines"][0].data["y"], light["lines"][0].data["y"])


def test_the_csv_has_the_grid_or_every_fit_and_what_made_them(done):
    view = alrviz.BiasVarianceView(done)
    for text, frame in ((view.csv_of_summary(), view.study.summary()), (view.csv_of_fits(), view.study.frame())):
        assert any(line.startswith("# data: ") for line in text.splitlines())
        np.testing.assert_array_equal(pd.read_csv(io.StringIO(text), comment="#").error, frame.error)


def test_a_grid_escapes_names_and_draws_what_variance_takes_away():
    about = {"racer": 0, "label": "lr", "name": "<b>lr</b>", "train_share": 1.0, "rounds": 3}
    table = pd.DataFrame([about | {"bias_domingos": 0.4, "net_variance_domingos": -0.1, "error": 0.3, "error_se": 0.1}])
    text = grid_html(table, {(0, 1.0): CellProgress(6, 6)}, "Domingos", [("#000", "●")])
    assert "&lt;b&gt;lr" in text
    assert "0.400 &minus; 0.100 = <b>0.300</b> ± 0.100" in text
    assert "left:75.0%; width:25.0%" in text


def test_cells_are_counted_by_recipe_and_training_size():
    done = study(rounds=2, train_shares=(0.5, 1.0)).run()
    assert cell_progress(done) == dict.fromkeys([(0, 0.5), (1, 0.5), (0, 1.0), (1, 1.0)], CellProgress(4, 4))
