"""Races in the run store: kept while they run, whole when they have ended, found again after a kill."""

import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.errors import Sentence, StoreError, for_page
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.store import Store
from alrviz.studies.race.race_store import KIND, RaceKeeper, read_race

RECIPES = (Recipe("lr", order=1, alpha=1.0, max_iter=12), Recipe("alr", order=1, alpha=1.0, max_iter=12))


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    yield store
    store.close()


def race(recipes=RECIPES):
    return alrviz.race(alrviz.load_demo("monks-1"), recipes, n_jobs=1)


def keep(made, store, owner="me", tick=0.2):
    return RaceKeeper(made, lambda: store, owner, "?racers=lr", tick=tick)


def test_a_race_comes_back_from_the_store_with_every_step(store):
    made = race()
    keeper = keep(made, store)
    made.start()
    assert made.join(60)
    assert keeper.join(30)
    (kept,) = store.runs("me")
    assert (kept.id, kept.kind, kept.state, kept.link) == (keeper.id, KIND, "done", "?racers=lr")
    assert kept.sentence == ", ".join(f"{run.recipe.family}: {run.outcome.code}" for run in made.runs)
    again = read_race(store, kept)
    pd.testing.assert_frame_equal(again.frame(), made.frame(), check_exact=True)
    assert [run.trace.baseline for run in again.runs] == [run.trace.baseline for run in made.runs]
    assert [run.trace.rows for run in again.runs] == [run.trace.rows for run in made.runs]
    assert [(run.outcome.code, run.outcome.sentence) for run in again.runs] == [
        (run.outcome.code, run.outcome.sentence) for run in made.runs
    ]
    assert again.ended
    assert again.dataset.hash == made.dataset.hash
    assert store.sizes("me")[kept.id] > 0


def test_steps_are_there_while_it_runs_and_no_sign_of_life_means_interrupted(store, monkeypatch):
    made = race()
    keeper = keep(made, store)
    made.step(4)
    end = time.monotonic() + 60
    while not keeper.id or len(read_race(store, store.runs("me")[0]).runs[0].trace) < 4:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert store.runs("me")[0].state == "running"
    monkeypatch.setattr("alrviz.fitting.store.store.STALE_SECONDS", -1.0)
    kept = store.runs("me")[0]
    assert kept.state == "interrupted"
    found = read_race(store, kept)
    assert [run.outcome.sentence for run in found.runs] == ["the process that ran it ended"] * 2
    np.testing.assert_array_equal(found.runs[0].trace.frame().objective, made.runs[0].trace.frame().objective[:4])
    monkeypatch.undo()
    made.stop()
    assert keeper.join(30)
    assert store.runs("me")[0].state == "stopped"


ERRORS = [StoreError(Sentence("'/home/x' is full", "the disk is full")), TypeError("not what was expected")]


@pytest.mark.parametrize("error", ERRORS)
def test_unsaved_race_reports_why_and_counts_no_saved_steps(store, monkeypatch, error):
    def broken(*_):
        raise error

    made = race()
    monkeypatch.setattr(store, "save_traces", broken)
    keeper = keep(made, store)
    made.start()
    assert made.join(60)
    assert keeper.join(30)
    assert for_page(error) in keeper.problem
    assert "/home" not in keeper.problem
    assert not keeper.stored
    monkeypatch.undo()
    keeper._save()
    assert [len(run.trace) for run in read_race(store, store.runs("me")[0]).runs] == [len(r.trace) for r in made.runs]


def test_a_race_that_was_never_begun_is_not_kept(store):
    made = race()
    keeper = keep(made, store)
    made.stop()
    assert keeper.join(30)
    assert store.runs("me") == []


def test_the_same_race_again_takes_the_place_of_the_first(store):
    for _ in range(2):
        made = race()
        keeper = keep(made, store)
        made.start()
        assert keeper.join(60)
    other = race(RECIPES[:1])
    keep(other, store).join(0)
    other.start()
    end = time.monotonic() + 60
    while len(store.runs("me")) < 2 or store.runs("me")[0].state == "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    assert len([kept for kept in store.runs("me") if kept.id == keeper.id]) == 1
    assert len(store.runs("me")) == 2


def test_a_race_that_is_deleted_while_it_runs_stays_deleted(store):
    made = race()
    keeper = keep(made, store)
    made.step(3)
    end = time.monotonic() + 60
    while not keeper.id:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert store.delete("me", keeper.id)
    made.start()
    assert keeper.join(60)
    assert store.runs("me") == []
    assert store.database.read("SELECT * FROM parts") == []


def test_a_store_that_refuses_costs_the_race_nothing(store):
    made = race()
    keeper = keep(made, store)
    store.close()
    made.start()
    assert made.join(60)
    assert keeper.join(30)
    assert "not kept" in keeper.problem
    assert all(len(run.trace) > 2 for run in made.runs)


def test_kill_9_leaves_the_steps_until_then(tmp_path):
    code = textwrap.dedent(f"""
        import time
        import alrviz
        from alrviz.fitting.store import Store
        from alrviz.studies.race.race_store import RaceKeeper
        recipe = alrviz.Recipe("lr", order=1, alpha=1.0, solver="gd", max_iter=100000, tol=1e-300)
        made = alrviz.race(alrviz.load_demo("led", 300), [recipe], n_jobs=1)
        keeper = RaceKeeper(made, lambda: Store({str(tmp_path)!r}), "me", tick=0.2)
        made.start()
        while not keeper.id:
            time.sleep(0.02)
        print("kept", flush=True)
        time.sleep(600)
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"kept\n"
    store = Store(tmp_path)
    end = time.monotonic() + 60
    while not any(len(steps) > 1 for _, steps in store.traces(store.runs("me")[0].id)):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.kill()
    process.wait()
    process.stdout.close()
    steps = store.traces(store.runs("me")[0].id)[0][1]
    assert [step.index for step in steps] == list(range(len(steps)))
    store.close()
