"""Studies: the same numbers whoever computes them, in whatever order, sitting and company; and what stops them."""

import gc
import os
import re
import signal
import threading
import time
from collections import deque
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import ProcessPoolExecutor

import alrviz
from alrviz.data.demos import load_demo
from alrviz.data.splits import SplitSpec
from alrviz.errors import AlrvizError, RecipeError
from alrviz.fitting.recipe import Recipe
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import StopToken
from alrviz.studies.core import compute_task, workers
from alrviz.studies.core import study as study_module
from alrviz.studies.core.progress import progress_of
from alrviz.studies.core.study import Study
from alrviz.studies.core.study_task import Result, StudyTask, failure
from alrviz.studies.protocols.alpha_path import alpha_path
from alrviz.studies.protocols.bias_variance import bias_variance
from alrviz.studies.protocols.choose_order import choose_order
from tests.studies.sweeps import RECIPES, numbers, small

ROOT = Path(__file__).parents[2]


def test_any_number_of_workers_gives_the_same_frame_bit_for_bit():
    alone = small().run()
    assert alone.phase == "done"
    assert len(numbers(alone)) == 12
    pd.testing.assert_frame_equal(numbers(small(n_jobs=2).run()), numbers(alone), check_exact=True)


def test_another_racer_changes_no_others_numbers():
    few, more = small(RECIPES[1:]).run(), small().run()
    kept = numbers(more)[lambda frame: frame.racer > 0].drop(columns=["racer", "name"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(numbers(few).drop(columns=["racer", "name"]), kept, check_exact=True)


def test_recipes_are_judged_on_the_same_rows_and_cut_inside_the_fold():
    study = small()
    by_split = {}
    for task in study.tasks:
        by_split.setdefault(task.split, []).append(task.racer)
    assert list(by_split.values()) == [[0, 1, 2]] * 4
    y = study.dataset.y
    for repeat in range(2):
        tested = np.concatenate([split.splits(y).test for split in by_split if split.repeat == repeat])
        assert sorted(tested) == list(range(len(y))), "every row is judged once a round"
    splits = next(iter(by_split)).splits(y)
    assert not set(splits.train) & set(splits.test)


def test_rows_come_as_they_finish_and_the_first_before_the_last_is_computed(calls):
    rows = small().rows()
    next(rows)
    assert len(calls) < 12
    rows.close()


def test_a_fit_of_a_study_is_the_estimators():
    from alrviz.estimators.make import make_estimator
    from alrviz.studies.statistics.measures import measures

    study = small().run()
    task, result = study.results()[1]
    splits = task.split.splits(study.dataset.y)
    train, test = splits.train, splits.test
    X, y = study.dataset.X, study.dataset.y
    model = make_estimator(Recipe.from_json(task.recipe)).fit(X.iloc[train], y[train])
    found = measures(model.predict_log_proba(X.iloc[test]), np.searchsorted(model.classes_, y[test]))
    assert result.rows[0]["log_loss"] == pytest.approx(found.log_loss, abs=1e-12)
    assert result.rows[0]["n_iter"] == model.n_iter_
    assert result.rows[0]["solver"] == "tron"
    assert result.rows[0]["memory"] == 10


def test_failed_fit_gives_its_reason_and_the_others_go_on():
    study = small([Recipe("lr", order=1, alpha=1.0), Recipe("lr", order=12, alpha=1.0)]).run()
    frame = study.frame()
    assert (study.phase, study.progress.failed) == ("done", 4)
    assert frame[frame.racer == 1].outcome.tolist() == ["failed"] * 4
    assert "order=12 needs at least 12 columns" in frame[frame.racer == 1].sentence.iloc[0]
    assert np.isfinite(frame[frame.racer == 0].log_loss).all()


def test_a_class_that_training_never_saw_has_a_finite_loss():
    frame = load_demo("tic-tac-toe", 60).frame.copy()
    target = frame.columns[-1]
    frame[target] = frame[target].astype(str)
    frame.loc[0, target] = "once"
    from alrviz.data.read import read_table

    study = bias_variance(read_table(frame, target=target), RECIPES[:2], rounds=2, n_jobs=1).run()
    assert study.progress.failed == 0
    assert np.isfinite(study.frame().log_loss).all()
    assert np.isfinite(study.summary().error).all()


def test_splits_are_shared_out_and_the_costliest_cells_are_not_left_for_the_end():
    tasks = list(enumerate(small(rounds=1).tasks))  # two splits of three recipes
    board = workers._TaskQueue(tasks)
    for (_, task), seconds in zip(tasks[:3], (1.0, 9.0, 2.0), strict=True):
        board.note(1, task, seconds)
    taken = [board.take(slot)[0] for slot in (1, 2, 1, 2, 2, 2)]
    assert taken == [0, 4, 1, 5, 3, 2], "2 has the last split, then helps 1 out"
    assert board.take(1) is None


# -- stopping, killing, going on --------------------------------------------------------------------------------------


def slow(monkeypatch, seconds):
    original = compute_task.compute

    def compute(*args):
        time.sleep(seconds)
        return original(*args)

    monkeypatch.setattr(workers, "compute", compute)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_after_a_stop_no_row_comes_and_start_goes_on(n_jobs, monkeypatch):
    if n_jobs == 1:
        slow(monkeypatch, 0.1)
    study = small(rounds=20, n_jobs=n_jobs)
    study.start()
    while not study.progress.n_done:
        time.sleep(0.01)
    study.stop()
    assert study.phase == "stopped"
    done = study.progress.n_done
    assert study.join(10)
    assert study.progress.n_done == done < len(study.tasks)
    study.accept(len(study.tasks) - 1, failure("late"), study._job.token)  # of a thread that the stop overtook
    assert study.progress.n_done == done
    cursor, rows = study.since(0)
    assert (cursor, len(rows)) == (done, done)
    study.start()
    assert study.phase == "running"
    while study.progress.n_done == done:
        time.sleep(0.01)
    study.stop()


def test_a_worker_that_is_killed_costs_one_cell_which_can_be_computed_again(monkeypatch):
    monkeypatch.setattr(workers, "_idle", deque())  # processes of its own
    before = worker_pids()
    study = small(rounds=4, n_jobs=2)
    study.start()
    while not study.progress.n_done:
        time.sleep(0.005)
    os.kill(min(worker_pids() - before), signal.SIGKILL)
    assert study.join(120)
    assert (study.phase, study.progress.failed) == ("done", 1)
    (lost,) = study.frame().query("outcome == 'failed'").sentence
    assert "its worker was killed" in lost
    assert study.redo() == 1
    assert study.join(120)
    assert study.progress.failed == 0
    pd.testing.assert_frame_equal(numbers(study), numbers(small(rounds=4).run()), check_exact=True)


def worker_pids():
    """Processes that compute for this one."""
    pools = [pool for pool in gc.get_objects() if type(pool) is ProcessPoolExecutor]
    return {pid for pool in pools for pid in pool._processes or {}}


def test_a_cell_that_no_worker_takes_is_not_waited_for(monkeypatch):
    def broken(*args):
        raise OSError("no more processes")

    monkeypatch.setattr(workers._Process, "_submit", broken)
    study = small(n_jobs=2).run()
    assert study.progress.failed == 12
    assert "could not be handed to a worker: OSError: no more processes" in study.frame().sentence[0]


def test_an_error_of_the_study_itself_reaches_the_reader(monkeypatch):
    def broken(*args):
        raise OSError("no space left")

    study = small()
    monkeypatch.setattr(Study, "_load_saved", broken)
    with pytest.raises(OSError, match="no space left"):
        study.run()
    assert study.phase == "failed"


# -- what it says -----------------------------------------------------------------------------------------------------


def test_progress_includes_the_time_left(monkeypatch):
    slow(monkeypatch, 0.05)
    study = small()
    assert (study.phase, study.progress.n_done, study.progress.seconds_left) == ("waiting", 0, None)
    for _ in study.rows():
        left = study.progress
        assert left.n_done == 12 or left.seconds_left > 0
    assert (study.progress.n_done, study.progress.seconds_left) == (12, 0.0)


def timed(racers, took, expected, at=None):
    """Progress of a study of tasks of these racers, of which the first took so many seconds, one after the other."""
    tasks = [StudyTask("fold", "", "", SplitSpec(0, k, 9, 0), racer=racer) for k, racer in enumerate(racers)]
    results = {k: Result([{"train_seconds": seconds}]) for k, seconds in enumerate(took)}
    finished = dict(enumerate(at or np.cumsum(took)))
    return progress_of(tasks, results, finished, expected)


def test_time_left_follows_from_what_was_measured_against_its_estimate():
    expected = {("", 0): 1.0, ("", 1): 2.0, ("", 2): 20.0}
    assert timed([-1, 0, 1, 2], [0.001], expected).seconds_left is None  # the class prior tells nothing
    left = timed([-1, 0, 1, 2] * 2, [0.001, 5.0, 10.0], expected).seconds_left  # 16 s for 4 s, one of them assumed
    assert left == pytest.approx(80 + 5 + 10 + 80, rel=1e-3)
    left = timed([0, 1, 2], [0.01], expected).seconds_left  # the first fit alone does not make the others short
    assert left > 10
    left = timed(
        [-1, 0, 1, 2] * 2, [0.001, 5.0, 10.0, 30.0], expected
    ).seconds_left  # what was measured needs no estimate
    assert left == pytest.approx(5 + 10 + 30, rel=1e-3)
    left = timed([0, 1, 2], [5.0, 10.0], {}).seconds_left  # nobody said what it takes
    assert left == pytest.approx(7.5)
    two = timed([0, 0, 0, 0], [4.0, 4.0], {}, at=[7.0, 7.2]).seconds_left  # two processes, which started in three
    assert two == pytest.approx(4.2)


def test_study_reports_its_estimate_and_progress(capsys, monkeypatch):
    data = load_demo("led", 300)
    study = choose_order(data, Recipe("lr", alpha=0.1), orders=(0, 1, 2), repeats=1, folds=4, n_jobs=1)
    known = study.estimate()
    assert [(one.n_fits, one.recipe.params["order"]) for one in known.fits] == [(4, 1), (4, 2)]
    assert known.cost.seconds == pytest.approx(4 * sum(one.cost.seconds for one in known.fits))
    assert known.cost.bytes == max(one.cost.bytes for one in known.fits)
    assert known.fits[1].cost.seconds > known.fits[0].cost.seconds > 0
    assert study.phase == "waiting"
    monkeypatch.setattr(study_module, "_PRINT_INTERVAL_S", 0.0)
    study.run(verbose=True)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == str(known).splitlines()[0]
    assert told[0].startswith("8 fits, at least ")
    assert re.fullmatch(r"  4 of .*: about \S+ s each", told[1])
    assert any(re.fullmatch(r"\d+ of 12 fits, about .* left", line) for line in told[3:])
    assert not study.estimate().fits
    with pytest.raises(AlrvizError, match="unknown beforehand"):
        alpha_path(data, Recipe("lr", order=1, alpha=0.3)).estimate()


def test_two_readers_see_the_same_rows(monkeypatch):
    slow(monkeypatch, 0.02)
    study, seen, both = small(), ([], []), threading.Barrier(2)

    def read(mine):
        rows = study.rows()
        mine.append(next(rows))
        both.wait(30)  # both are in the middle
        assert study.phase == "running"
        mine.extend(rows)

    readers = [threading.Thread(target=read, args=(mine,)) for mine in seen]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(60)
    assert len(seen[0]) == 12
    assert seen[0] == seen[1] == study.since(0)[1]


def test_a_stopped_sitting_changes_nothing_of_the_next(monkeypatch):
    """Its thread is at a task while the study is stopped and started again, then ends with an error."""
    at_it, goes_on, sittings = threading.Event(), threading.Event(), []
    original = study_module.compute_tasks

    def computed(*args, **options):
        sittings.append(options["stop"])
        if len(sittings) == 1:
            at_it.set()
            assert goes_on.wait(30)
            raise OSError("too late")
        yield from original(*args, **options)

    monkeypatch.setattr(study_module, "compute_tasks", computed)
    study = small()
    study.start()
    first = study._job
    assert at_it.wait(30)
    study.stop()
    study.start()
    assert study.join(60)
    goes_on.set()
    first.join(30)
    assert (study.phase, study.error) == ("done", None)
    assert sorted(study._seconds) == list(range(12))
    study.accept(0, failure("late"), sittings[0], 1e9)
    assert max(study._seconds.values()) < 1e9


def test_progress_may_be_asked_while_cells_come():
    """Seconds and results are written under the lock that progress holds."""
    study = small().run()
    study._changed.acquire()
    late = threading.Thread(target=study.accept, args=(0, failure("late"), StopToken(), 5.0))
    late.start()
    late.join(0.2)
    assert late.is_alive()
    assert study._seconds[0] != 5.0
    study._changed.release()
    late.join(30)
    assert study._seconds[0] == 5.0


def test_redo_raises_while_the_study_runs(monkeypatch):
    monkeypatch.setattr(workers, "compute", lambda *_: failure("lost"))
    study = small()
    rows = study.rows()
    next(rows)
    monkeypatch.setattr(type(study), "_phase", "running")
    with pytest.raises(AlrvizError, match="is running"):
        study.redo()
    assert study.progress.failed >= 1
    monkeypatch.undo()
    rows.close()


def test_frame_survives_failures_forgotten_while_it_is_made(monkeypatch):
    monkeypatch.setattr(workers, "compute", lambda *_: failure("lost"))
    study, original = small().run(), pd.DataFrame
    monkeypatch.setattr(pd, "DataFrame", lambda rows: (study._forget_failed(), original(rows))[1])
    assert len(study.frame()) == 12


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"recipes": []}, "at least one recipe"),
        ({"recipes": ["lr"]}, "is no recipe"),
        ({"rounds": 0}, "at least 1 repeat"),
    ],
)
def test_invalid_study_settings_raise(change, complaint):
    with pytest.raises(RecipeError, match=complaint):
        small(**change)


def test_more_folds_than_rows_are_refused_in_the_cells():
    study = bias_variance(load_demo("tic-tac-toe", 4), RECIPES[:1], folds=5, n_jobs=1).run()
    assert "4 rows cannot be shared out over 5 folds" in study.frame().sentence.iloc[0]


def test_results_know_whether_they_failed():
    assert failure("why").failed
    assert not Result([], b"").failed


# -- a cluster --------------------------------------------------------------------------------------------------------


@pytest.mark.dask
def test_a_cluster_of_two_workers_gives_the_same_frame_by_one_client(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")
    clients = []

    class Watched(distributed.Client):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            clients.append(self)

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        monkeypatch.setattr(distributed, "Client", Watched)
        study = small(n_jobs=None, scheduler=cluster.scheduler_address).run()
        assert study.join(30)
        assert [client.status for client in clients] == ["closed"]
    assert study.progress.failed == 0
    pd.testing.assert_frame_equal(numbers(study), numbers(small().run()), check_exact=True)


@pytest.mark.parametrize("make", [alpha_path, alrviz.learning_curve])
def test_a_study_whose_price_is_not_known_runs_verbosely_all_the_same(make, capsys):
    data = alrviz.load_demo("led", 120)
    recipe = Recipe("anje", order=1) if make is alrviz.learning_curve else Recipe("lr", order=1, alpha=0.3)
    assert not make(data, recipe, n_jobs=1).run(verbose=True).progress.failed
    assert "unknown beforehand" in capsys.readouterr().out


def test_an_estimate_keeps_to_the_studys_memory_and_workers_and_no_time_is_left_at_the_end():
    data = alrviz.load_demo("led", 300)
    tight = alrviz.compare([data], [Recipe("lr", order=2, alpha=0.3)], max_memory=200_000, n_jobs=1).estimate()
    assert all(one.refusal for one in tight.fits)
    assert alrviz.compare([data], [Recipe("lr", order=1, alpha=0.3)], n_jobs=-1).estimate().n_jobs == min(
        resolve_jobs(-1), 50
    )
    done = alrviz.choose_order(data, orders=(0, 1), repeats=1, n_jobs=1).run().progress
    assert "left" not in str(done)
