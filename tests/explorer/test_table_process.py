"""Files read in processes of their own: what hangs, swells or crashes ends there, and others are served meanwhile."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from alrviz.data.dataset import dataset_of
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.read import read_columns
from alrviz.errors import Stopped, TableError
from alrviz.explorer.server import table_process
from alrviz.explorer.server.table_process import LONG_PLACES, QUICK_PLACES, Readers
from alrviz.explorer.session import session as sessions
from alrviz.explorer.session.session import Session
from alrviz.stop import StopToken
from tests.conftest import wait_until

TABLE = b"a,b,class\n" + b"".join(b"%d.5,v%d,%s\n" % (i, i % 3, b"yes" if i % 2 else b"no") for i in range(40))
# What the process does instead of reading, by the table's name.
STRANGE = """
import os, time
from dataclasses import replace
import alrviz.data.read as reader
sound = reader.read_columns
def read_columns(data, *, name, **others):
    if name == "slow":
        time.sleep(1000)
    if name == "large":
        held = [b"x" * 10_000_000 for _ in range(1000) if not time.sleep(0.01)]
    if name == "crash":
        os.abort()
    if name == "bug":
        1 / 0
    table = sound(data, name=name, **others)
    odd = {"odd": (int, ("x", "y", "z")), "unsent": None}  # raises where it is received; or where it is sent
    return replace(table, values=(table.values[0], Odd(odd[name]), *table.values[1:])) if name in odd else table
class Odd:
    def __init__(self, made):
        self.made = made
    def __reduce__(self):
        if self.made is None:
            raise MemoryError
        return self.made
reader.read_columns = read_columns
"""


def until(condition, seconds=60) -> bool:
    """Wait for a condition; returns whether it came."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return bool(condition())


@pytest.fixture(scope="module")
def readers():
    """Readers of one place of each kind; their spare process serves one test after another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_process, "_COMMAND", STRANGE + table_process._COMMAND)
        patch.setattr(table_process, "QUICK_PLACES", 1)
        patch.setattr(table_process, "LONG_PLACES", 1)
        readers = Readers()
        yield readers
        readers.close()


def read(readers: Readers, name: str = "t", stop: StopToken | None = None, **others):
    return readers.read(TABLE, name, None, NO_LIMITS, stop or StopToken(), **others)


def test_the_table_is_the_one_that_is_read_here(readers):
    token = StopToken()
    table = read(readers, stop=token)
    here = read_columns(TABLE, name="t")
    assert dataset_of(table).hash == dataset_of(here).hash
    assert (table.name, table.notes, table.options) == (here.name, here.notes, here.options)
    assert token.share is not None


def test_errors_are_the_readers_own(readers):
    with pytest.raises(TableError, match="more than the 30 rows allowed"):
        readers.read(TABLE, "t", None, Limits(rows=30), StopToken())
    with pytest.raises(TableError, match="only one column"):
        readers.read(b"a\n1\n", "t", None, NO_LIMITS, StopToken())


def test_a_process_is_used_again_and_one_stays(readers):
    read(readers)
    first = readers._warm[0]
    with pytest.raises(TableError, match=r"something unexpected .*ZeroDivisionError"):
        read(readers, "bug")
    read(readers)
    assert readers._warm == [first]


def test_a_token_that_is_pulled_kills_the_process(readers):
    token = StopToken()
    readers.warm()
    (process,) = readers._warm
    threading.Timer(0.3, token.stop).start()
    with pytest.raises(Stopped):
        read(readers, "slow", token)
    assert not process.alive
    assert read(readers).n_rows == 40


def test_time_is_limited(readers):
    with pytest.raises(TableError, match="longer than the 1 s allowed"):
        read(readers, "slow", seconds=1)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say what a process holds")
def test_memory_is_limited(readers, monkeypatch):
    monkeypatch.setattr(table_process, "free_memory", lambda: 200_000_000)
    with pytest.raises(TableError, match="more than the 100 MB of memory allowed"):
        read(readers, "large")


def test_what_a_table_is_estimated_to_take_is_limited(readers, monkeypatch):
    monkeypatch.setattr(table_process, "free_memory", lambda: 2000)
    with pytest.raises(TableError, match=r"more than the 1\.0 kB of memory allowed"):
        read(readers)


def test_a_file_that_ends_its_process_is_told(readers):
    with pytest.raises(TableError, match="crashed the process"):
        read(readers, "crash")
    assert read(readers).n_rows == 40


def test_an_answer_that_cannot_be_taken_is_told_and_leaves_nothing_for_the_next_file(readers):
    with pytest.raises(TableError, match=r"something unexpected .*TypeError"):
        read(readers, "odd")
    assert readers.read(b"other,class\n1,x\n2,y\n", "u", None, NO_LIMITS, StopToken()).names == ("other", "class")


def test_what_goes_wrong_in_the_middle_of_a_table_is_told_at_once(readers):
    with pytest.raises(TableError, match="not enough memory"):
        read(readers, "unsent", seconds=40)
    assert read(readers).n_rows == 40


def test_however_many_are_slow_others_are_served(readers):
    slow, ended, waits = StopToken(), [], []

    def wait(owner):
        try:
            read(readers, "slow", slow, owner=owner, on_wait=waits.append)
        except Stopped:
            ended.append(owner)

    threads = [threading.Thread(target=wait, args=(f"o{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    assert until(lambda: True in waits)
    assert read(readers, owner="visitor").n_rows == 40
    slow.stop()
    for thread in threads:
        thread.join(20)
    assert len(ended) == len(threads)
    assert read(readers).n_rows == 40


def test_however_many_big_files_are_read_a_small_one_finds_a_place_and_a_process(readers, monkeypatch):
    monkeypatch.setattr(table_process, "LONG_READING_BYTES", 2 * len(TABLE))
    token = StopToken()

    def take(owner):
        with pytest.raises(Stopped):
            readers.read(TABLE + TABLE, "slow", None, NO_LIMITS, token, owner=owner)

    readers.warm()
    (warm,) = readers._warm
    threads = [threading.Thread(target=take, args=(f"o{i}",)) for i in range(2)]
    try:
        for thread in threads:
            thread.start()
        assert until(lambda: readers._long.has_waiting)
        waits = []
        assert read(readers, owner="small", on_wait=waits.append).n_rows == 40
        assert not any(waits)
        assert readers._warm == [warm]
    finally:
        token.stop()
        for thread in threads:
            thread.join(30)


class StandIn:
    """Instead of a process: "slow" is read until it is killed, every other file at once."""

    memory, is_reusable = 0, True
    slow_readers, most_slow_at_once = [], 0

    def __init__(self):
        self.start_time, self._killed = None, threading.Event()

    @property
    def alive(self):
        return not self._killed.is_set()

    def exchange(self, request, data, stop):
        self.start_time = time.monotonic()
        if request.name != "slow":
            return request
        StandIn.slow_readers.append(self)
        StandIn.most_slow_at_once = max(StandIn.most_slow_at_once, sum(reader.alive for reader in self.slow_readers))
        self._killed.wait()
        return None

    def kill(self):
        self._killed.set()


def test_all_places_are_used_and_long_readings_leave_the_quick_ones(monkeypatch):
    monkeypatch.setattr(table_process, "_Reader", StandIn)
    monkeypatch.setattr(table_process, "QUICK_PLACES", QUICK_PLACES)  # not the fixture's
    monkeypatch.setattr(table_process, "LONG_PLACES", LONG_PLACES)
    monkeypatch.setattr(table_process, "LONG_READING_SECONDS", 0.2)
    readers, token = Readers(), StopToken()

    def take(owner):
        with pytest.raises(Stopped):
            read(readers, "slow", token, owner=owner)

    threads = [threading.Thread(target=take, args=(f"o{i}",)) for i in range(QUICK_PLACES + LONG_PLACES + 2)]
    deadline = threading.Timer(30, token.stop)  # a visitor who is never served fails the test
    try:
        for thread in [deadline, *threads]:
            thread.start()
        for _ in range(3):
            assert read(readers, stop=token, owner="visitor").name == "t"
        assert until(lambda: readers._long.has_waiting), "a long reading left its quick place to others"
        assert until(lambda: StandIn.most_slow_at_once >= QUICK_PLACES + LONG_PLACES, 20)
    finally:
        deadline.cancel()
        token.stop()
        for thread in threads:
            thread.join(20)
        readers.close()
    assert StandIn.most_slow_at_once == QUICK_PLACES + LONG_PLACES


def test_who_has_many_readings_waits_for_who_has_none(readers):
    line, free, order = table_process._FairQueue(1), StopToken(), []
    line.take("many", free, lambda waits: None)
    line._under_way["many"] += 1  # another, elsewhere on the line

    def take(owner):
        line.take(owner, free, lambda waits: None)
        order.append(owner)
        line.give_back(owner)

    threads = [threading.Thread(target=take, args=("many",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert until(lambda: len(line._tickets) == 3)
    threads.append(threading.Thread(target=take, args=("one",)))
    threads[-1].start()
    assert until(lambda: len(line._tickets) == 4)
    line.give_back("many")
    for thread in threads:
        thread.join(20)
    assert order == ["one", "many", "many", "many"]


@pytest.mark.skipif(os.name == "nt", reason="kills as only POSIX can")
def test_a_process_ends_with_its_server_in_the_middle_of_a_reading(tmp_path):
    script = f"""
import threading, time
from alrviz.explorer.server import table_process
table_process._COMMAND = {STRANGE!r} + table_process._COMMAND
readers = table_process.Readers()
readers.warm()
print(readers._warm[0]._process.pid, flush=True)
readers.read(b"a,class\\n1,x\\n2,y\\n", "slow", None, table_process.Limits(), table_process.StopToken())
"""
    server = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    pid = int(server.stdout.readline())
    time.sleep(0.5)
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()

    def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z"

    assert until(gone, 30)


@pytest.fixture
def session(readers, monkeypatch):
    monkeypatch.setattr("alrviz.explorer.session.apply_kinds.READERS", readers)
    return Session()


def test_cancel_ends_the_process(session, readers):
    session.table.load_bytes("slow.csv", TABLE)
    loading = session.table.loading
    loading.wait(0.5)
    session.table.give_up()
    wait_until(lambda: loading.join(0), 20, "the end of its thread")
    assert session.message == "Reading slow.csv was cancelled."
    assert session.table.loading is None


def test_a_visitor_who_left_gives_the_place_back(session, monkeypatch):
    session.table.load_bytes("slow.csv", TABLE)
    loading = session.table.loading
    assert session.pump(is_watched=True)
    monkeypatch.setattr(sessions, "UNWATCHED_SECONDS", 0.0)
    session.pump(is_watched=False)
    assert session.table.loading is None
    wait_until(lambda: loading.join(0), 20, "the end of its thread")
