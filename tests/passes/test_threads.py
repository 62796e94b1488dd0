"""Sharing work over threads: everything is done once, errors come out, n_jobs means what scikit-learn means."""

import os
import threading
import weakref
from functools import partial

import pytest

from alrviz.errors import RecipeError
from alrviz.passes import threads
from alrviz.passes.threads import available_threads, resolve_jobs, run_parts


@pytest.mark.parametrize(("parts", "n_jobs"), [(0, 2), (1, 1), (1, 4), (7, 1), (7, 2), (100, 3), (3, 50)])
def test_every_part_is_done_once(parts, n_jobs):
    done = []
    run_parts(done.append, parts, n_jobs)
    assert sorted(done) == list(range(parts))


def test_other_threads_take_part():
    meet = threading.Barrier(2, timeout=30)
    run_parts(lambda part: meet.wait() and None, 2, 2)  # would time out if one thread did both


def test_late_threads_do_not_keep_finished_work():
    late, held = threading.Event(), threading.Event()
    for _ in range(available_threads()):
        threads._queue().put(late.wait)
    work = weakref.ref(watched := partial(lambda event, part: None, held))
    run_parts(watched, 2, 2)
    del watched
    assert work() is None
    late.set()


def test_the_first_error_is_raised_once_every_part_has_ended():
    running = []

    def work(part):
        running.append(part)
        try:
            if part == 1:
                raise KeyError("part 1")
        finally:
            running.remove(part)

    for n_jobs in (1, 2):
        with pytest.raises(KeyError, match="part 1"):
            run_parts(work, 8, n_jobs)
        assert not running


def test_an_error_in_another_thread_is_raised_in_the_caller_s():
    meet, caller = threading.Barrier(2, timeout=30), threading.current_thread()

    def work(part):
        meet.wait()
        if threading.current_thread() is not caller:
            raise KeyError("elsewhere")

    with pytest.raises(KeyError, match="elsewhere"):
        run_parts(work, 2, 2)


def test_concurrent_callers_do_not_deadlock():
    done = []
    callers = [threading.Thread(target=run_parts, args=(done.append, 50, 2)) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
    assert sorted(done) == sorted(list(range(50)) * 8)


def test_n_jobs_as_scikit_learn_counts_them():
    cores = available_threads()
    assert 1 <= cores <= (os.cpu_count() or 1)
    assert resolve_jobs(None) == resolve_jobs(-1) == cores
    assert resolve_jobs(1) == 1
    assert resolve_jobs(10**6) == cores
    assert resolve_jobs(-2) == max(1, cores - 1)
    assert resolve_jobs(-(10**6)) == 1


@pytest.mark.parametrize("bad", [0, True, 1.5, 2.0, "2", "all", float("nan")])
def test_other_n_jobs_are_refused(bad):
    with pytest.raises(RecipeError, match=r"n_jobs=.* does not fit; expected a whole number of threads"):
        resolve_jobs(bad)
