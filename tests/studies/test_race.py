"""Races: one step of one racer at a time, in turn; one that fails leaves the others alone."""

import numpy as np
import pytest

from alrviz import load_demo, race
from alrviz.errors import RecipeError
from alrviz.fitting.families.cells import ALR
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from tests.fitting.tables import drain, same_steps

PATIENCE = 60
RECIPES = [
    Recipe("lr", max_iter=12, tol=0.0, alpha=0.3),
    Recipe("alr", start="anje", max_iter=30, tol=0.0, alpha=1.0),
    Recipe("anje"),
    Recipe("lr", scale="diagonal", max_iter=5, tol=0.0, alpha=0.3),
]


@pytest.fixture(scope="module")
def dataset():
    return load_demo("iris")


def until(race, phase):
    for _ in range(PATIENCE * 100):
        if race.phase == phase:
            return
        race.join(0.01)
    pytest.fail(f"still {race.phase}, wanted {phase}")


def test_racers_end_as_they_would_alone(dataset):
    together = race(dataset, RECIPES, n_jobs=1)
    assert together.phase == "waiting"
    assert not together.ended
    together.start()
    assert together.join(PATIENCE)
    assert together.phase == "ended"
    assert together.ended
    for run, recipe in zip(together.runs, RECIPES, strict=True):
        alone = drain(Run(dataset, recipe, n_jobs=1))
        assert same_steps(run.trace, alone.trace)
        assert run.outcome == alone.outcome
        assert np.array_equal(run.state.point.w, alone.state.point.w)


def test_every_racer_takes_one_step_a_round(dataset, monkeypatch):
    order, advance = [], Run.advance

    def noted(self):
        step = advance(self)
        if step is not None:
            order.append((step.index, self.recipe.label))
        return step

    monkeypatch.setattr(Run, "advance", noted)
    together = race(dataset, RECIPES, n_jobs=1)
    together.start()
    assert together.join(PATIENCE)
    assert order == sorted(order, key=lambda step: step[0])  # no racer is a step ahead of another's round
    assert order[:4] == [(0, "lr"), (0, "alr"), (0, "anje"), (0, "diagonal")]
    assert [label for index, label in order if index == 3] == ["lr", "alr", "diagonal"]
    assert [label for index, label in order if index == 25] == ["alr"]


def test_steps_pause_and_resume_move_all_racers_together(dataset):
    together = race(dataset, RECIPES, n_jobs=1)
    together.step(3)
    until(together, "paused")
    assert [len(run.trace) for run in together.runs] == [3, 3, 1, 3]
    together.step()
    until(together, "paused")
    assert [len(run.trace) for run in together.runs] == [4, 4, 1, 4]
    together.resume()
    assert together.join(PATIENCE)
    assert [len(run.trace) for run in together.runs] == [13, 31, 1, 6]


def test_a_racer_that_fails_leaves_the_others_alone(dataset, monkeypatch, caplog):
    def broken(*given, **more):
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(ALR, "make", broken)
    together = race(dataset, [Recipe("lr", order=7, max_iter=3, alpha=0.3), *RECIPES], n_jobs=1)
    together.start()
    assert together.join(PATIENCE)
    codes = [run.outcome.code for run in together.runs]
    assert codes == ["failed", "step limit", "failed", "converged", "step limit"]
    assert "order=7 needs at least 7 columns" in together.runs[0].outcome.sentence
    assert "a fault" in together.runs[2].outcome.sentence
    assert "a fault" in caplog.text  # ours is logged, the reader's is not
    assert "order=7" not in caplog.text
    assert sorted(set(together.frame().racer)) == [1, 3, 4]


def test_stop_ends_every_racer_and_adds_nothing(dataset):
    together = race(dataset, [recipe.replace(max_iter=10**6) for recipe in RECIPES if recipe.family != "anje"])
    together.start()
    while len(together.runs[-1].trace) < 3:
        together.join(0.01)
    together.stop()
    counts = [len(run.trace) for run in together.runs]
    assert together.phase == "ended"
    assert {run.outcome.code for run in together.runs} == {"stopped"}
    assert together.join(PATIENCE)
    assert [len(run.trace) for run in together.runs] == counts
    assert max(counts) - min(counts) <= 1


def test_one_racer_stopped_leaves_the_others_racing(dataset):
    together = race(dataset, RECIPES, n_jobs=1)
    together.runs[1].stop()
    together.start()
    assert together.join(PATIENCE)
    assert [run.outcome.code for run in together.runs] == ["step limit", "stopped", "converged", "step limit"]
    assert len(together.runs[1].trace) == 0


def test_stop_before_the_start(dataset):
    together = race(dataset, RECIPES)
    together.stop()
    together.start()
    assert together.join(PATIENCE)
    assert together.phase == "ended"
    assert len(together.frame()) == 0


def test_the_frame_names_every_step_s_racer(dataset):
    together = race(dataset, RECIPES, n_jobs=1)
    empty = together.frame()
    assert len(empty) == 0
    assert list(empty.columns)[:5] == ["racer", "label", "name", "index", "kind"]
    together.start()
    assert together.join(PATIENCE)
    frame = together.frame()
    assert list(frame.columns[:3]) == ["racer", "label", "name"]
    assert frame.index.is_unique
    assert frame.groupby("racer").size().tolist() == [13, 31, 1, 6]
    assert frame.groupby("racer").label.first().tolist() == ["lr", "alr", "anje", "diagonal"]
    for number, run in enumerate(together.runs):
        mine = frame[frame.racer == number]
        assert mine["index"].tolist() == list(range(len(run.trace)))
        assert (mine.name == run.recipe.name).all()
        assert mine.heldout_log_loss.tolist() == [step.extra["heldout_log_loss"] for step in run.trace]
    assert (
        frame.drop(columns=["racer", "label", "name"]).columns.tolist()
        == together.runs[0].trace.frame().columns.tolist()
    )


def test_activity_is_that_of_the_first_racer_without_a_step(dataset):
    together = race(dataset, RECIPES)
    assert together.activity == ""
    together.runs[0].advance()
    assert together.activity == ""
    together.runs[1].activity = "counting cells"
    assert together.activity == "counting cells"
    drain(together.runs[1]), drain(together.runs[2]), drain(together.runs[3])
    assert together.activity == "fitting"


def test_limits_reach_the_runs(dataset):
    together = race(dataset, RECIPES[:1], max_memory=1000)
    together.start()
    assert together.join(PATIENCE)
    assert "0 MiB may be used" in together.runs[0].outcome.sentence


def test_a_race_without_racers_is_refused(dataset):
    with pytest.raises(RecipeError, match="at least one recipe"):
        race(dataset, [])
    with pytest.raises(RecipeError, match="'lr' is no recipe"):
        race(dataset, ["lr"])
