"""What is kept of a study, and what a store that fails costs: nothing that was computed."""

import contextlib
import logging
import sqlite3

import pytest

from alrviz.errors import Sentence, StoreError
from alrviz.fitting.store import Store
from alrviz.studies.core import study_task, workers
from alrviz.studies.core.study_task import failure
from tests.studies.sweeps import RECIPES, small


def refused(*_):
    raise StoreError("no space left")


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("passing", [True, False])
def test_temporary_failure_is_not_saved(passing, store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(workers, "compute", lambda *_: failure("killed", passing))
        assert small(keep=store).run().progress.failed == 12
    again = small(rounds=3, keep=store).run()
    assert again.progress.failed == (0 if passing else 12)


def test_a_store_that_refuses_a_cell_ends_keeping_and_not_computing(store, monkeypatch, caplog):
    study = small(keep=store)
    monkeypatch.setattr(store, "save_task", refused)
    with caplog.at_level(logging.WARNING):
        study.run()
    assert (study.phase, study.progress.n_done) == ("done", 12)
    assert "not kept" in study.problem
    assert "no space left" in caplog.text
    assert len(caplog.records) == 1, "said once"
    monkeypatch.undo()
    study.start()
    study.join(60)
    assert study.problem == "", "the next beginning tries again"


@pytest.mark.parametrize("reason", ["full", "locked"])
def test_a_study_goes_on_beside_a_store_that_takes_nothing(store, tmp_path, reason):
    """The store was fine when it was opened; a visitor is not told where it lies."""
    other = sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)
    if reason == "full":
        (pages,) = store.database.read("PRAGMA page_count")[0]
        store.database.read(f"PRAGMA max_page_count = {pages}")
        fill(store)
    else:
        store.database.read("PRAGMA busy_timeout = 20")
        other.execute("BEGIN IMMEDIATE")
    study = small(keep=store).run()
    other.close()
    assert (study.phase, study.error, study.progress.n_done) == ("done", None, 12)
    assert reason in study.problem
    assert str(tmp_path) not in study.problem


def fill(store):
    """Use up the free room of the file's last page."""
    with contextlib.suppress(StoreError):
        for k in range(10_000):
            store.begin("other", "race", "{}", f"{k}")


def test_a_study_goes_on_without_a_store_that_cannot_be_opened(tmp_path):
    error = StoreError(Sentence("'/secret/runs.sqlite' is damaged", "the run store is damaged"))
    study = small(RECIPES[:1], keep=error).run()
    assert (study.phase, study.id) == ("done", None)
    assert "the run store is damaged" in study.problem
    assert "secret" not in study.problem


@pytest.mark.parametrize("method", ["beat", "end"])
def test_failed_heartbeat_is_logged(method, store, monkeypatch, caplog):
    study = small(RECIPES[:1], keep=store)
    monkeypatch.setattr(store, method, refused)
    with caplog.at_level(logging.WARNING):
        study.run()
    assert (study.phase, study.error) == ("done", None)
    assert "no space left" in caplog.text


def test_a_key_knows_the_memory_of_a_fit_and_the_format_of_its_numbers(monkeypatch):
    def keys(**where):
        return [task.key for task in small(**where).tasks]

    assert keys() == keys()
    assert not set(keys(max_memory=10**8)) & set(keys(max_memory=10**9))
    before = keys()
    monkeypatch.setattr(study_task, "NUMBERS_VERSION", -1)
    assert not set(before) & set(keys())


def test_memory_of_a_fit_does_not_depend_on_free_memory(monkeypatch):
    from alrviz import memory

    before = small().max_memory
    monkeypatch.setattr(memory, "free_memory", lambda: 2**20)
    assert small().max_memory == before == small().tasks[0].max_memory
