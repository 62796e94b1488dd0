"""Workers: who computes, how tables reach them, what a process that is gone costs."""

import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict, deque

import pytest
from joblib.externals.loky.process_executor import BrokenProcessPool

from alrviz.errors import RecipeError
from alrviz.stop import StopToken
from alrviz.studies.core import table_transfer, workers
from alrviz.studies.core.table_transfer import TableMissing, TableTransfer
from tests.conftest import ROOT
from tests.studies.sweeps import RECIPES, small


@pytest.fixture
def empty(monkeypatch):
    monkeypatch.setattr(table_transfer, "_cache", type(table_transfer._cache)())


def test_a_worker_asks_for_a_table_once(empty):
    sent = TableTransfer.from_dataset(small().dataset)
    with pytest.raises(TableMissing):
        sent.without_content.unpack()
    assert len(sent.unpack().X) == 200
    assert sent.without_content.unpack() is sent.unpack()


def test_threads_of_a_worker_may_open_more_tables_than_it_keeps(empty, monkeypatch):
    sent = [TableTransfer(str(k), TableTransfer.from_dataset(small(rows=50).dataset).content) for k in range(8)]
    failed = []

    def opens(k):
        try:
            for j in range(50):
                sent[(j + k) % 8].unpack()
        except Exception as error:
            failed.append(error)

    class Slow(OrderedDict):
        def move_to_end(self, key, last=True):
            time.sleep(1e-4)  # others get their turn
            super().move_to_end(key, last)

    monkeypatch.setattr(table_transfer, "_cache", Slow())
    monkeypatch.setattr(table_transfer.pickle, "loads", lambda content: object())
    threads = [threading.Thread(target=opens, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_dead_idle_process_is_not_reused(tmp_path, monkeypatch):
    class Dead:
        def submit(self, *_):
            raise BrokenProcessPool("killed")

    monkeypatch.setattr(workers, "_idle", deque([Dead(), Dead()]))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    study, written = small(n_jobs=2), []
    for _ in study.rows():
        written += os.listdir(tmp_path)
    assert study.progress.failed == 0
    assert [name for name in written if name.startswith("alrviz")] == []


def test_a_process_that_cannot_start_is_tried_once(monkeypatch):
    attempts = []

    class Broken:
        def __init__(self, **_):
            assert not attempts, "another attempt"
            attempts.append(self)

        def submit(self, *_):
            raise BrokenProcessPool("no memory")

    monkeypatch.setattr(workers, "_idle", deque())
    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", Broken)
    study = small(RECIPES[:1], rounds=1)
    slot = workers._Process({key: TableTransfer.from_dataset(dataset) for key, dataset in study.datasets.items()})
    assert slot.compute(study.tasks[0]).failed
    assert len(attempts) == 1


def test_a_cell_under_way_here_is_given_the_token(monkeypatch):
    given, stop = [], StopToken()
    monkeypatch.setattr(workers, "compute", lambda task, table, token: given.append(token))
    study = small(RECIPES[:1], rounds=1)
    list(workers.compute_tasks(list(enumerate(study.tasks)), study.datasets, n_jobs=1, stop=stop))
    assert given == [stop] * 2


def test_this_process_computes_until_another_has_done_a_task(monkeypatch):
    here, there, shown = object(), object(), threading.Event()
    monkeypatch.setattr(workers, "_idle", deque())
    monkeypatch.setattr(workers, "compute", lambda task, table, token: here)
    monkeypatch.setattr(workers._Process, "compute", lambda self, task: shown.wait(60) and there)
    study, found = small(RECIPES[:1], rounds=10), []
    for _, result in workers.compute_tasks(list(enumerate(study.tasks)), study.datasets, n_jobs=2, stop=StopToken()):
        found.append(result)
        shown.set()
    assert found[0] is here
    assert len(found) == len(study.tasks)


def test_shipments_without_their_content_are_small():
    sent = TableTransfer.from_dataset(small().dataset)
    assert len(pickle.dumps(sent.without_content)) < 500 < len(pickle.dumps(sent))


@pytest.mark.parametrize("wrong", [{"n_jobs": 0}, {"n_jobs": True}, {"max_memory": -5}, {"max_memory": 0}])
def test_invalid_n_jobs_or_max_memory_raises(wrong):
    (name,) = wrong
    with pytest.raises(RecipeError, match=name):
        small(**wrong)


_PARENT_OF_TWO = """
import os, time
from alrviz.studies.core import workers

def nap(task, table_transfer):
    os.write(1, f"{os.getpid()}\\n".encode())  # whole: what two processes print can mix
    time.sleep(600)

def main():
    workers.compute_shipped = nap
    slots = [workers._Process({}) for _ in range(2)]
    for slot in slots:
        slot._submit(None, None)
    time.sleep(600)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process by a signal")
def test_workers_end_with_the_process_they_compute_for_however_that_ends(tmp_path):
    (tmp_path / "parent_of_two.py").write_text(_PARENT_OF_TWO)
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    command = [sys.executable, "-c", "import parent_of_two; parent_of_two.main()"]
    parent = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    try:
        found = {int(parent.stdout.readline()) for _ in range(2)}
    finally:
        parent.kill()
        parent.wait()
    assert len(found | {parent.pid}) == 3
    # It ends when nobody is left who could write to it; without a word from their parent they waited for two minutes.
    rest = threading.Thread(target=parent.stdout.read, daemon=True)
    rest.start()
    rest.join(30)
    assert not rest.is_alive(), "the workers are still there"
    parent.stdout.close()
