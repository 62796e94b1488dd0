"""What a task computes: one thread for all of a process, stops, failures that last and failures that pass."""

import threading

import pytest

from alrviz.errors import MemoryLimitError, Stopped
from alrviz.fitting.alpha_path import AlphaPath
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core import compute_task
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.protocols.alpha_path import alpha_path
from alrviz.studies.protocols.learning_curve import learning_curve
from tests.studies.sweeps import small


def raising(error):
    def task(*_):
        raise error

    return task


class Limits:
    """Threads of a BLAS, which a process has one number for, and of OpenMP, which each thread has."""

    blas, mine = 2, threading.local()

    def __init__(self, threads, user_api):
        self.place = Limits if user_api == "blas" else Limits.mine
        self.before = getattr(self.place, "blas", 2)
        self.place.blas = threads

    def restore_original_limits(self):
        self.place.blas = self.before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.restore_original_limits()


def test_one_thread_while_any_task_is_computed_and_as_before_afterwards(monkeypatch):
    """The first to begin ends before the second: it may not give back what the second still needs, nor keep it."""
    begun, goes_on, seen = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()], []

    def held(task, table, stop):
        begun[task].set()
        goes_on[task].wait(30)
        seen.append((Limits.blas, Limits.mine.blas))

    class Numbered(int):
        kind = "held"

    monkeypatch.setattr(compute_task, "threadpool_limits", Limits)
    monkeypatch.setattr(compute_task, "COMPUTE", {"held": held})
    workers = [threading.Thread(target=compute_task.compute, args=(Numbered(k), None)) for k in (0, 1)]
    for k, worker in enumerate(workers):
        worker.start()
        assert begun[k].wait(30)
    for k, worker in enumerate(workers):
        goes_on[k].set()
        worker.join(30)
    assert seen == [(1, 1), (1, 1)]
    assert Limits.blas == 2


@pytest.mark.parametrize(
    ("error", "passing"),
    [
        (ValueError("a table"), False),
        (MemoryLimitError("too large", 2, 1), False),
        (MemoryError(), True),
        (KeyError(1), True),
    ],
)
def test_failures_of_recipe_and_table_are_final_others_temporary(error, passing, monkeypatch):
    monkeypatch.setattr(compute_task, "COMPUTE", {"fold": raising(error)})
    found = compute_task.compute(small().tasks[0], None)
    assert (found.failed, found.is_temporary) == (True, passing)


ONE = [Recipe("lr", order=1, alpha=1.0)]


@pytest.mark.parametrize(
    "made",
    [
        lambda: small(ONE),
        lambda: small([Recipe("lr", order=1, alpha="cv")]),
        lambda: alpha_path(small().dataset, ONE, references=False, n_jobs=1),
        lambda: learning_curve(small().dataset, [Recipe("anje", order=1)], n_jobs=1),
    ],
)
def test_a_stop_ends_the_cell_under_way(made):
    study, stop = made(), StopToken()
    stop.stop()
    task, table = study.tasks[0], SentTable.from_dataset(study.dataset)
    with pytest.raises(Stopped):
        compute_task.COMPUTE[task.kind](task, table, stop)
    found = compute_task.compute(task, table, stop)
    assert (found.failed, found.is_temporary) == (True, True)


def test_the_seconds_of_a_path_are_its_solvers(monkeypatch):
    runs, fit = [], AlphaPath.fit

    def watched(*args):
        runs.append(fit(*args))
        return runs[-1]

    monkeypatch.setattr(AlphaPath, "fit", watched)
    frame = alpha_path(small().dataset, ONE, alphas=[10.0, 1.0], references=False, n_jobs=1).run().frame()
    assert frame.train_seconds.tolist() == [run.trace[-1].seconds for run in runs]
