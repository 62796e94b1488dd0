"""Evaluation where models are judged: nothing before it is unfolded, the same numbers as `evaluate`, a file's rows."""

import base64
import json
import threading

import pytest

import alrviz
from alrviz.explorer.pages.boundaries.page import BoundariesPage
from alrviz.explorer.pages.compare.page import ComparePage
from alrviz.explorer.pages.order.page import OrderPage
from alrviz.explorer.recipes.recipe_url import write_recipes
from alrviz.explorer.widgets import evaluation_part
from alrviz.fitting.recipe import Recipe
from tests.explorer.pages import opened, run_study, until, until_study
from tests.explorer.test_convergence import ended, open_page
from tests.explorer.test_convergence import until as until_race
from tests.explorer.test_upload import send

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture(scope="module")
def race():
    recipes = (Recipe("lr", order=1, max_iter=20, alpha=0.3), Recipe("anje", order=1))
    page = open_page(f"?data=three-classes&rows=200&racers={write_recipes(recipes)}")
    page.race_view.press_run()
    until_race(page, lambda: page.race_view.race is not None and ended(page) and page.model.part.visible)
    yield page
    page.close()


def evaluated(page, part):
    until(page, lambda: part.view.evaluation is not None)
    return part.view.evaluation


def test_before_there_is_a_model_there_is_no_evaluation_and_before_it_is_unfolded_no_view():
    page = open_page()
    page.pump()
    assert not page.model.evaluation.part.visible
    assert page.model.evaluation.folded is None


def test_a_racers_held_out_rows_judge_it(race):
    part = race.model.evaluation
    assert (part.part.visible, part.view) == (True, None)
    part.folded.open = True
    found = evaluated(race, part)
    runs = race.race_view.race.runs
    for run, name in zip(runs, part.choice.options, strict=True):
        part.choice.value = name
        until(race, lambda run=run: part.view.evaluation is not None and part.view._recipes == (run.recipe,))
        expected = alrviz.evaluate(run)
        assert part.view.evaluation.summary().log_loss == expected.summary().log_loss
    assert "test rows of three-classes" in part.view.sentence.object
    assert found is not part.view.evaluation


def test_a_file_that_has_the_class_is_evaluated(race):
    part, data = race.model.evaluation, race.session.table.dataset
    part.folded.open = True
    send(race.model.strip, data.frame.to_csv(index=False).encode(), name="new.csv")
    until(race, lambda: part.view.evaluation is not None and part.view.evaluation.rows_text == "rows of new.csv")
    assert len(part.view.evaluation.y) == data.n_rows
    run = race.race_view.race.runs[race.model.racer.value]
    assert part.view.evaluation.error == pytest.approx(alrviz.evaluate(alrviz.estimator_of(run), data).error)
    assert len(part.choice.options) == 3
    assert list(race.model.predicted.make_bytes().decode().split("\n")[0].split(","))[:2] == ["row", "prediction"]
    found = part.view.evaluation
    send(race.model.strip, data.X.to_csv(index=False).encode(), name="other.csv")
    until(race, lambda: race.model.predicted.visible)
    assert part.view.evaluation is found, "rows without a class say nothing of the model"


def test_the_verdicts_order_is_judged_on_rows_left_out():
    page = opened(OrderPage, "?page=order&data=monks-1&of=lr_a0.1&folds=5&refs=none")
    until_study(page, lambda: page.runner.costs is not None)
    assert not page.layout.evaluation.part.visible
    run_study(page)
    part = page.layout.evaluation
    part.folded.open = True
    assert part.choice.value == page.recommendation().best
    assert "5 fits, about" in part.view.sentence.object
    assert part.start.visible, "fits are begun by a press"
    part.start.clicks += 1
    found = evaluated(page, part)
    assert found.rows_text == "left-out rows of monks-1 (5 folds)"
    assert len(found.y) == 432
    page.close()


def test_every_recipe_of_a_comparison_can_be_judged():
    page = opened(ComparePage, "?page=compare&sets=monks-1_iris&of=anje_n1~lr_n1_a0.1&folds=5x2")
    tab = page.tab
    until(page, lambda: tab.runner.costs is not None)
    run_study(page)
    until(page, lambda: tab.layout.evaluation.folded is not None)  # built a moment after the study's end
    tab.layout.evaluation.folded.open = True
    assert len(tab.layout.evaluation.choice.options) == 4
    tab.layout.evaluation.choice.value = next(
        name for name in tab.layout.evaluation.choice.options if name.endswith("iris")
    )
    tab.layout.evaluation.start.clicks += 1
    assert evaluated(page, tab.layout.evaluation).rows_text == "left-out rows of iris (2 folds)"
    page.close()


@pytest.mark.parametrize("peer", ["klr-rbf", "ande", "truth", "svm-rbf"])
def test_a_peer_beside_a_map_is_judged_too(peer):
    page = opened(BoundariesPage, f"?page=boundaries&tab=any&data=three-classes&rows=200&peer={peer}")
    tab = page.tab
    part = tab.model_part.evaluation
    until(page, lambda: part.part.visible)
    part.folded.open = True
    if peer == "svm-rbf":
        until(page, lambda: "has scores but no probabilities" in part.view.sentence.object)
        assert "expected a classifier with predict_proba" in part.view.sentence.object
    else:
        found = evaluated(page, part)
        assert found.error == pytest.approx(tab.peer.reference.error)
        assert found.summary().log_loss == pytest.approx(tab.peer.reference.log_loss)
    page.close()


def test_it_shows_its_activity_and_what_cannot_be_evaluated_says_why(race):
    part, shown = evaluation_part.EvaluationPart(race.session, race.tasks), threading.Event()

    def fails(stop, report):
        report("predicting 3 of 7")
        assert shown.wait(60)
        raise alrviz.TableError("no such <rows>")

    part.offer("key", {"a": evaluation_part.EvaluableModel(fails)})
    part.folded.open = True
    until(race, lambda: "predicting 3 of 7" in part.view.sentence.object)
    shown.set()
    until(race, lambda: "The model cannot be evaluated: no such &lt;rows&gt;" in part.view.sentence.object)
    part.offer("other", {})
    assert not part.part.visible


def test_a_report_is_made_when_it_is_asked_for_and_saved_when_it_is_there(race):
    part = race.model.evaluation
    part.folded.open = True
    part.choice.value = next(iter(part.choice.options))
    evaluated(race, part)
    assert part.report.visible
    part.report.press()
    assert part.report.disabled, "it is being made"
    until(race, lambda: json.loads(part.report.job).get("kind") == "file")
    assert not part.report.disabled
    page = base64.b64decode(json.loads(part.report.job)["data"]).decode()
    assert "<h1>Predicting class on three-classes</h1>" in page
    assert "test rows, which it had never seen" in page
