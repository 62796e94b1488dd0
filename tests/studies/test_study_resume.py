"""Studies that are kept: what was computed is not computed again, whoever killed the process meanwhile."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alrviz.fitting.store import Store
from alrviz.studies.core import workers
from alrviz.studies.core.study_task import failure
from tests.studies.sweeps import RECIPES, numbers, small, small_effects

ROOT = Path(__file__).parents[2]


def test_saved_tasks_are_not_computed_again(tmp_path, calls):
    first = small(keep=tmp_path).run()
    assert len(calls) == 12
    again = small(keep=tmp_path).run()
    assert len(calls) == 12
    assert again.id == first.id
    pd.testing.assert_frame_equal(again.frame(), first.frame(), check_exact=True)  # seconds too
    more = small(rounds=3, keep=tmp_path).run()
    assert len(calls) == 12 + 6, "a study of more rounds takes what it shares"
    assert more.id != first.id
    small(keep=tmp_path, owner="another").run()
    assert len(calls) == 18 + 12, "what is yours is yours"
    store = Store(tmp_path)
    assert [run.state for run in store.runs("local")] == ["done", "done"]
    store.close()


def test_kept_means_in_the_folder_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / "home"))
    study = small(RECIPES[:1], keep=True).run()
    store = Store(tmp_path / "home")
    assert [(run.id, run.state) for run in store.runs("local")] == [(study.id, "done")]
    assert small(RECIPES[:1], keep=True).recall() == 4, "taken, and nothing computed"
    store.close()


def test_failed_fit_stays_failed_until_it_is_requested_again(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(workers, "compute", lambda task, *rest: failure("lost"))
        assert small(keep=tmp_path).run().progress.failed == 12
    study = small(keep=tmp_path).run()
    assert study.progress.failed == 12
    assert study.redo() == 12
    assert study.join(60)
    assert study.progress.failed == 0


def test_the_frame_follows_a_last_cell_that_is_computed_again(monkeypatch):
    study, original = small(), workers.compute
    last = study.tasks[-1].key
    with monkeypatch.context() as patch:
        patch.setattr(workers, "compute", lambda c, *rest: failure("lost") if c.key == last else original(c, *rest))
        study.run()
    assert study.frame().outcome.tolist().count("failed") == 1
    whose = study.frame()
    whose["outcome"] = "another's"
    assert study.redo() == 1
    assert study.join(60)
    assert set(study.frame().outcome) == {"converged"}


KILLED = """
import sys, time
from tests.studies.sweeps import small, small_effects
from alrviz.studies.core import compute_task
from alrviz.studies.core import workers
original = compute_task.compute
def compute(task, *rest):
    time.sleep(1000 if '"draw": 8' in task.options else 0.05)  # the refits are not over before the sweep has begun
    return original(task, *rest)
workers.compute = compute
refits = small_effects(keep=sys.argv[1]).rows()
next(refits)  # its thread goes on beside the sweep
small(rounds=5, keep=sys.argv[1]).run()
"""


@pytest.mark.parametrize("after", [1, pytest.param(7, marks=pytest.mark.slow(reason="as after the first fit"))])
def test_a_process_killed_in_the_middle_loses_nothing_and_nothing_is_computed_twice(tmp_path, calls, after):
    """Of a sweep, and of a study of effects that computed at the same time."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, stderr=subprocess.PIPE)
    store = Store(tmp_path)
    sweep, effects = small(rounds=5, keep=tmp_path), small_effects(keep=tmp_path)
    deadline = time.monotonic() + 120
    while min(len(kept(store, study)) for study in (sweep, effects)) < after:
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.2)  # each look reads the store
    process.kill()
    process.communicate()
    for study in (sweep, effects):
        saved, every_key = kept(store, study), {task.key for task in study.tasks}
        assert after <= len(saved) < len(every_key)
        calls.clear()
        study.run()
        assert not set(calls) & saved, "finished, and computed again"
        assert len(calls) == len(set(calls)) == len(every_key) - len(saved)
        assert every_key == kept(store, study), "nothing is lost"
    assert len(store.runs("local")) == 2
    store.close()
    pd.testing.assert_frame_equal(numbers(sweep), numbers(small(rounds=5).run()), check_exact=True)
    for resumed, whole in zip(effects.refits(), small_effects().run().refits(), strict=True):
        np.testing.assert_array_equal(resumed, whole)


def kept(store, study):
    """The keys of the study's tasks that the store has."""
    return {key for (key,) in store.database.read("SELECT key FROM parts")} & {task.key for task in study.tasks}
