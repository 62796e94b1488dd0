"""The run store: what is saved is there after a reload, whatever happened; and what it says when it cannot."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from alrviz import home as home_module
from alrviz.errors import StoreError
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.step import Step
from alrviz.fitting.store import Database, Store
from alrviz.fitting.store import store as store_module
from alrviz.fitting.store.store import pack_steps, unpack_steps

RECIPE = Recipe("lr", order=1, alpha=0.3).to_json()
STEPS = [
    Step(k, "inner" if k else "search", k, 1.5 * k, 0.1 * k, 1 / 3 + k, 2 / 3, 0.0, np.float64(0.1), 0.5, extra)
    for k, extra in enumerate([{}, {"lead": 0.1 + 0.2}, {"lead": 1.0}, {"x": 2.0}])
]


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    yield store
    store.close()


def begin(store, owner="me", kind="path", spec="{}", data_hash="d"):
    return store.begin(owner, kind, spec, data_hash, name="a name", data_name="led", version="0")


def save(store, run, place, key=None, rows=({"loss": 0.1},), predicted=b"", outcome="converged"):
    store.save_task(run, place, key or f"cell {place}", RECIPE, outcome, list(rows), predicted)


def members(store, run):
    return store.database.read("SELECT place, key FROM parts WHERE run = ? ORDER BY place", (run,))


def test_runs_are_found_after_a_reload_by_their_owner_alone(tmp_path, store):
    first, second = begin(store), begin(store, kind="compare")
    begin(store, owner="another")
    store.end(first, "converged", "its slopes are small")
    again = Store(tmp_path)
    assert [run.id for run in again.runs("me")] == [first, second]
    assert [run.state for run in again.runs("me")] == ["converged", "running"]
    assert [run.id for run in again.runs("me", kind="compare")] == [second]
    kept = again.runs("me")[0]
    assert (kept.kind, kept.spec, kept.data_hash, kept.data_name) == ("path", "{}", "d", "led")
    assert kept.sentence == "its slopes are small"
    assert again.runs("nobody") == []
    again.close()


def test_run_without_heartbeat_is_interrupted(store, monkeypatch):
    run = begin(store)
    monkeypatch.setattr(store_module, "STALE_SECONDS", -1.0)
    assert store.runs("me")[0].state == "interrupted"
    monkeypatch.setattr(store_module, "STALE_SECONDS", 30.0)
    store.beat(run)
    assert store.runs("me")[0].state == "running"


def test_taking_a_task_is_not_a_heartbeat(store, monkeypatch):
    """Whoever looks at a study takes its cells: what was left stays so, and keeps its place in the history."""
    older, later = begin(store), begin(store)
    save(store, older, 0, "k")
    store.end(older, "done")
    store.beat(later)
    before = store.runs("me")
    monkeypatch.setattr(store_module.time, "time", lambda: before[0].changed + 1e4)
    assert store.take_task(older, 0, "k") is not None
    assert store.take_task(later, 0, "k") is not None
    after = store.runs("me")
    assert [(run.id, run.changed) for run in after] == [(run.id, run.changed) for run in before]
    assert [run.state for run in after] == ["interrupted", "done"]
    save(store, later, 1)
    assert store.runs("me")[0].state == "running", "a cell that finishes is one"


def test_the_latest_of_equal_runs_is_found(store):
    one = begin(store, spec='{"folds":2}')
    two = begin(store, spec='{"folds":2}')
    store.beat(two)
    assert store.find("me", "path", '{"folds":2}', "d").id == two
    store.beat(one)
    assert store.find("me", "path", '{"folds":2}', "d").id == one
    assert store.find("me", "path", '{"folds":2}', "other data") is None
    assert store.find("another", "path", '{"folds":2}', "d") is None


def test_duplicate_run_id_raises(store):
    one = begin(store)
    with pytest.raises(StoreError):
        store.begin("another", "path", "{}", "d", id=one)
    assert [run.state for run in store.runs("me")] == ["running"]


def test_cells_are_kept_by_owner_and_key_and_shared_by_an_owners_studies(tmp_path, store):
    mine, other, later = begin(store), begin(store, owner="another"), begin(store)
    save(store, mine, 1, "k", [{"loss": 0.1, "nan": float("nan")}], b"\x01\x02")
    save(store, mine, 0, "first")
    assert store.take_task(other, 0, "k") is None
    again = Store(tmp_path)
    outcome, rows, predicted = again.take_task(later, 5, "k")
    assert (outcome, rows[0]["loss"], predicted) == ("converged", 0.1, b"\x01\x02")
    assert rows[0]["nan"] != rows[0]["nan"]
    assert members(again, mine) == [(0, "first"), (1, "k")]
    assert members(again, later) == [(5, "k")]
    again.close()


def test_deleting_a_run_leaves_cells_that_another_study_has(store):
    one, two = begin(store), begin(store)
    for run in (one, two):
        save(store, run, 0, "shared")
    save(store, one, 1, "own")
    assert not store.delete("another", one), "nobody deletes what is not theirs"
    assert store.delete("me", one)
    assert store.take_task(two, 0, "shared") is not None
    assert store.take_task(two, 1, "own") is None
    save(store, one, 2)  # of a worker that was still at it
    assert members(store, one) == []


def test_forgotten_cells_are_to_be_computed_again(store):
    run = begin(store)
    save(store, run, 0, "a", outcome="failed")
    save(store, run, 1, "b")
    store.forget_tasks("me", ["a"])
    assert store.take_task(run, 0, "a") is None
    assert members(store, run) == [(1, "b")]


def test_beyond_the_limit_the_oldest_that_have_ended_go(tmp_path):
    store = Store(tmp_path, limit=400_000)
    runs = []
    for k in range(12):
        runs.append(begin(store))
        save(store, runs[-1], 0, f"cell {k}", predicted=bytes(60_000))
        if k != 1:
            store.end(runs[-1], "converged")
    left = [run.id for run in store.runs("me")]
    assert store.database.size <= 400_000
    assert runs[-1] in left
    assert runs[0] not in left
    assert runs[1] in left, "what is under way stays"
    assert left == sorted(left, key=runs.index, reverse=True)
    assert members(store, runs[-1]) == [(0, "cell 11")]
    store.limit = 200_000
    assert store.prune() > 0
    store.close()
    assert (tmp_path / "runs.sqlite").stat().st_size <= 240_000, "the disk has its room back"


def test_pruning_deletes_runs_of_the_owner_who_keeps_most(tmp_path):
    store = Store(tmp_path, limit=400_000)
    saved_class = store.begin("teacher", "class", "{}", "h1")
    store.end(saved_class, "ended")
    for k in range(12):
        run = begin(store)
        save(store, run, 0, f"cell {k}", predicted=bytes(60_000))
        store.end(run, "converged")
    assert [run.id for run in store.runs("teacher")] == [saved_class]
    assert store.database.size <= 400_000
    assert (store.count_pruned("teacher"), store.count_pruned("me")) == (0, 12 - len(store.runs("me")))
    store.close()


def test_file_of_older_format_is_renamed_with_a_warning(tmp_path, caplog):
    old = sqlite3.connect(tmp_path / "runs.sqlite")
    old.executescript("CREATE TABLE runs (id); PRAGMA application_id = 1634497142; PRAGMA user_version = 4;")
    old.close()
    for _ in range(2):
        store = Store(tmp_path)
        assert "runs-format-4.sqlite" in caplog.text
        assert store.runs("me") == []
        store.close()
    assert (tmp_path / "runs-format-4.sqlite").exists()


def test_a_file_of_a_later_format_is_left_alone(tmp_path):
    Store(tmp_path).close()
    later = sqlite3.connect(tmp_path / "runs.sqlite")
    later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(StoreError, match="later version of alrviz: its format is 99"):
        Store(tmp_path)


@pytest.mark.parametrize("kind", ["path", "race"])
def test_reader_does_not_see_concurrent_writes(store, tmp_path, monkeypatch, kind):
    run, other = begin(store, kind=kind), Store(tmp_path)

    def add(place):
        if kind == "path":
            save(other, run, place)
        else:
            other.save_traces(run, [(place, {}, 0, STEPS)])

    def execute_and_add(question, *values):
        result = executed.append(question) or execute(question, *values)
        if len(executed) == 1:
            rows = result.fetchall()
            add(1)
            return SimpleNamespace(fetchall=lambda: rows)
        return result

    @contextmanager
    def transaction(writes):
        nonlocal execute
        with begin_transaction(writes) as execute:
            yield execute_and_add

    executed, execute, begin_transaction = [], None, store.database.transaction
    read = store.tasks if kind == "path" else store.traces
    add(0)
    with monkeypatch.context() as patch:
        patch.setattr(store.database, "transaction", transaction)
        assert len(read(run)) == 1
    assert len(read(run)) == 2
    other.close()


def test_steps_come_back_bit_for_bit_and_in_order(store):
    run = begin(store, kind="race")
    store.save_traces(run, [(0, {"rows": 9.0}, 0, STEPS[:2]), (1, {"rows": 9.0}, 0, [])])
    store.save_traces(run, [(0, {"rows": 9.0, "outcome": ["converged", "so"]}, 2, STEPS[2:]), (1, {}, 0, STEPS[:1])])
    assert store.traces(run) == [({"rows": 9.0, "outcome": ["converged", "so"]}, STEPS), ({}, STEPS[:1])]
    assert store.traces(run)[0][0]["outcome"] == ["converged", "so"]
    packed = sum(len(pack_steps(steps)) for steps in (STEPS[:2], STEPS[2:], STEPS[:1]))
    assert packed < store.sizes("me")[run] < packed + 200
    assert store.delete("me", run)
    assert store.traces(run) == []
    assert store.database.read("SELECT run FROM parts") == []
    store.save_traces(run, [(0, {}, 0, STEPS)])  # of a thread that was still at it
    assert store.traces(run) == []


def test_numbers_that_are_not_finite_come_back():
    (step,) = unpack_steps(pack_steps([replace(STEPS[0], objective=float("inf"), extra={"x": float("nan")})]))
    assert step.objective == float("inf")
    assert step.extra["x"] != step.extra["x"]


def test_a_study_has_the_size_of_its_cells_and_the_link_of_its_last_sitting(store):
    run = store.begin("me", "path", "{}", "d", link="?page=path")
    save(store, run, 0, "k", predicted=bytes(1000))
    assert 1000 < store.sizes("me")[run] < 1100 + 1.2 * len(RECIPE)
    store.resume(run, "?page=path&seed=1")
    assert store.runs("me")[0].link == "?page=path&seed=1"
    store.resume(run)
    assert store.runs("me")[0].link == "?page=path&seed=1", "who knows no link leaves the one that is there"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file.*cannot be written.*set ALRVIZ_HOME"):
        Store(tmp_path / "file" / "below")


def test_a_file_that_is_no_store_is_left_alone(tmp_path):
    (tmp_path / "runs.sqlite").write_bytes(b"nothing of ours " * 100)
    with pytest.raises(StoreError, match="is not a run store, or is damaged"):
        Store(tmp_path)
    assert (tmp_path / "runs.sqlite").read_bytes().startswith(b"nothing of ours")


def test_a_database_of_another_program_is_left_alone(tmp_path):
    other = sqlite3.connect(tmp_path / "runs.sqlite")
    other.execute("CREATE TABLE theirs (a)")
    other.close()
    with pytest.raises(StoreError, match="a database of another program"):
        Store(tmp_path)


def test_locked_file_raises_and_does_not_block_readers(tmp_path):
    store = Store(tmp_path)
    other = sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.database.read("PRAGMA busy_timeout = 20")
    with pytest.raises(StoreError, match="locked by another process"):
        begin(store)
    assert "locked" in store.database.problem
    assert str(tmp_path) not in store.database.problem, "it is for a server's visitors"
    assert store.runs("me") == [], "a reader need not wait"
    Database(tmp_path / "runs.sqlite", lock_timeout_ms=20).close()  # nor who opens the store
    other.execute("ROLLBACK")
    begin(store)
    assert store.database.problem == ""
    store.close()
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked by another process"):
        Database(tmp_path / "runs.sqlite", lock_timeout_ms=20)
    other.close()


def test_full_disk_is_reported_and_saved_results_stay(store):
    run = begin(store)
    save(store, run, 0)
    (pages,) = store.database.read("PRAGMA page_count")[0]
    store.database.read(f"PRAGMA max_page_count = {pages + 4}")
    with pytest.raises(StoreError, match="could not grow: the disk is full; free some space"):
        save(store, run, 1, predicted=bytes(100_000))
    store.database.read(f"PRAGMA max_page_count = {pages + 1000}")
    save(store, run, 2, predicted=bytes(100_000))
    assert members(store, run) == [(0, "cell 0"), (2, "cell 2")]


def test_threads_share_a_store(store):
    run = begin(store)
    threads = [threading.Thread(target=lambda k=k: [save(store, run, 10 * k + j) for j in range(10)]) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [place for place, _ in members(store, run)] == list(range(40))


def test_two_processes_that_start_at_once_make_one_file(tmp_path):
    code = f"from alrviz.fitting.store import Store\nStore({str(tmp_path)!r}).begin('me', 'race', '{{}}', 'd')"
    started = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate()[1] for process in started] == [b"", b"", b""]
    assert len(Store(tmp_path).runs("me")) == 3


def test_home_is_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / "mine"))
    store = Store()
    assert store.database.path == tmp_path / "mine" / "runs.sqlite"
    store.close()
    monkeypatch.delenv("ALRVIZ_HOME")
    assert home_module.home().name == "alrviz"
