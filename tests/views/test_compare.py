"""CompareView without a browser: it fills, counts only what is whole, names what failed, and saves what it shows."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core import workers
from alrviz.studies.core.study_task import failure
from alrviz.studies.protocols.compare import compare, pairs, ranks, table
from alrviz.studies.statistics.measures import loss_text
from alrviz.views.studies import compare as compare_view
from tests.views.studied import slowed, until

RECIPES = (Recipe("anje", order=1), Recipe("anje", order=2), Recipe("tan"))
SETS = ("monks-1", "balance-scale")


def study(recipes=RECIPES, sets=SETS, **options):
    tables = [alrviz.load_demo(name) for name in sets]
    return compare(tables, recipes, **{"repeats": 1, "folds": 2, "n_jobs": 1} | options)


@pytest.fixture(scope="module")
def done():
    return study().run()


def text(pane):
    return pane.object


def test_before_it_runs_it_says_what_run_will_do():
    view = alrviz.CompareView(study())
    assert "Press Run: 3 models on 2 data sets, 2 fits each, on the same folds" in text(view.sentence)
    assert "0 of 2" in text(view._means)


def test_it_fills_while_it_computes_and_counts_whole_data_sets_alone(monkeypatch):
    slowed(monkeypatch, 0.05)
    monkeypatch.setattr("alrviz.views.studies.study_view.REST_PER_DRAW_SECOND", 0)
    view = alrviz.CompareView(study())
    view.press_run()
    until(view, lambda: "1 of 2 data sets is complete" in text(view.sentence))
    assert "1/0/0" in text(view._pairs) or "0/0/1" in text(view._pairs)
    until(view, lambda: view.study.phase == "done")
    view.pump()
    assert "of 2 data sets" not in text(view.sentence)


def test_spreads_stand_below_the_means_where_a_line_has_no_room_for_both(done, monkeypatch):
    lines = done.summary()
    for cell, long in (
        ("<td>0.5 <small>± 0.1</small></td>", False),
        ("<td>0.00054321 <small>± 0.000049</small></td>", True),
    ):
        monkeypatch.setattr(compare_view, "_mean_cell", lambda *given, cell=cell: cell)
        assert ("means long" in compare_view.means_html(done, lines, "log_loss")) is long


def test_what_is_shown_is_what_the_functions_say(done):
    view = alrviz.CompareView(done)
    means = table(done, "log_loss")
    for value in means.to_numpy().ravel():
        assert loss_text(value) in text(view._means)
    best = means.loc["monks-1"].min()
    assert f"<b>{loss_text(best)}</b>" in text(view._means)
    first = ranks(done, "log_loss").sort_values("rank").iloc[0]
    assert f"{first['name']} has the best mean rank, {first['rank']:.2f}" in text(view.sentence)
    line = pairs(done, "log_loss").iloc[0]
    assert line.win_draw_loss in text(view._pairs)
    view.measure = "bias"
    assert "One round tells no bias²" in text(view.sentence)
    view.measure = "train_seconds"
    assert "training seconds" in text(view._means)
    assert view.picture.plot.figure.xaxis[0].axis_label.endswith("training seconds (log)")


def test_the_picture_has_the_pair_that_is_chosen_and_never_one_against_itself(done):
    view = alrviz.CompareView(done)
    figure = view.picture.plot.figure
    view._y_menu.value = 2
    means = table(done, "log_loss")
    np.testing.assert_allclose(view.picture.plot["points"].data["y"], means["tan"])
    view._x_menu.value = 2
    assert (view.across, view.up) == (2, 0)
    assert (view._x_menu.value, view._y_menu.value) == (2, 0)
    assert view.picture.plot.figure is figure, "fed, not made anew"
    view.dark = True
    assert view.picture.plot.figure is not figure


def test_what_failed_says_why_and_does_not_count(monkeypatch):
    original = workers.compute

    def compute(cell, *rest):
        lost = cell.split.fold == 0 and Recipe.from_json(cell.recipe).family == "tan"
        return failure("out of <memory>") if lost else original(cell, *rest)

    monkeypatch.setattr(workers, "compute", compute)
    view = alrviz.CompareView(study(sets=SETS[:1]).run())
    assert "title='out of &lt;memory&gt;'>1 failed" in text(view._means)
    assert "some fits have failed" in text(view.sentence)
    assert pairs(view.study)["wins"].tolist()[1:] == [0, 0], "means over other folds are not compared"
    assert view.bar.retry.visible


def test_a_single_recipe_has_means_and_no_picture():
    view = alrviz.CompareView(study(RECIPES[:1], SETS[:1]).run())
    assert not view._picture_part.visible
    assert "alone" in text(view.sentence)
    assert text(view._pairs) == ""
    view.watch(study(RECIPES[:2], SETS[:1]).run())
    assert view._picture_part.visible
    assert "Lowest log loss on monks-1: " in text(view.sentence)


def test_a_p_that_is_tiny_has_one_sign():
    tables = [replace(alrviz.load_demo("xor", rows=100, seed=k), name=f"xor {k}") for k in range(11)]
    view = alrviz.CompareView(compare(tables, RECIPES[:2], repeats=1, n_jobs=1).run())
    assert "higher on 0: more than chance (sign test, p &lt; 0.001)." in text(view.sentence)


def test_without_a_study_nothing_can_be_pressed_or_saved():
    view = alrviz.CompareView()
    assert "No study yet" in text(view.sentence)
    assert view.bar.run.disabled
    assert view.csv_of_summary() == view.csv_of_pairs() == view.csv_of_fits() == view.latex() == ""


def test_names_from_data_are_escaped_everywhere():
    named = replace(alrviz.load_demo("monks-1"), name="=a_<b>&1")
    view = alrviz.CompareView(compare(named, RECIPES[:2], repeats=1, n_jobs=1).run())
    assert "&lt;b&gt;" in text(view._means)
    assert "<b>&1" not in text(view._means)
    assert r"=a\_<b>\&1" in view.latex()
    back = pd.read_csv(io.StringIO(view.csv_of_summary()), comment="#")
    assert back.data.tolist() == ["'=a_<b>&1"] * 2


def test_the_table_below_has_every_measure(done):
    view = alrviz.CompareView(done)
    view._numbers.open = True
    assert text(view._numbers.table).count("<tr>") == 7
    assert f"<td>{loss_text(done.summary().brier[3])}</td>" in text(view._numbers.table)


def test_csv_and_latex_have_the_numbers(done):
    view = alrviz.CompareView(done)
    back = pd.read_csv(io.StringIO(view.csv_of_summary()), comment="#")
    np.testing.assert_array_equal(back.log_loss, done.summary().log_loss)
    assert len(pd.read_csv(io.StringIO(view.csv_of_fits()), comment="#")) == 12
    line = done.summary().iloc[0]
    latex = view.latex()
    assert f"{line.log_loss:.4f} ({line.log_loss_sd:.4f})" in latex
    assert latex.count(r"\begin{tabular}") == 2
    assert pairs(done).iloc[0].win_draw_loss in latex
