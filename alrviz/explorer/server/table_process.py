"""Read uploaded files in separate processes, so that a file that hangs, crashes or takes too much memory harms nobody.

    server: Readers.read ---- request, file ---->  process: `serve` (imports only alrviz.data; one is kept warm)
                         <--- progress, then the table column by column, or an error

The process is killed when the reading is cancelled, takes too long, or takes too much memory.

There are few places for readings, in two queues:

    quick places   every reading starts here, except large files
    long places    files of LONG_READING_BYTES, and readings that last longer than LONG_READING_SECONDS

A reading that becomes long moves to a long place. If none is free and others wait for its quick place, it is stopped
and starts again when a long place is free. So a small file always finds a place and a warm process soon. Within a queue
requests are served by fewest running readings per visitor, then first come, first served.

A process is started as an interpreter with a command, not forked and without the caller's main module, so that it works
on every system and however the server was started. It ends when its server ends.
"""

import atexit
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

from alrviz.data.limits import Limits, size_text
from alrviz.errors import AlrvizError, MemoryLimitError, TableError
from alrviz.exit_with_parent import exit_with_parent
from alrviz.job import Job
from alrviz.memory import free_memory, used_memory
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.options import ReadOptions
    from alrviz.data.table import Table

POLL_SECONDS = 0.05  # between two checks of a reading's token, time and memory
LONG_READING_SECONDS = 1.0  # after which a reading is long; starting its process does not count
LONG_READING_BYTES = 4_000_000  # a file of this size is a long reading from the start
QUICK_PLACES, LONG_PLACES = 2, 2
NICENESS, LONG_READING_NICENESS = 5, 10  # the server's event loop comes first, then small files
BASE_MEMORY_BYTES = 300_000_000  # of the interpreter and its libraries, before any file
_LENGTH_HEADER = struct.Struct(">Q")
_PARENT_PID_VARIABLE = "ALRVIZ_SERVER_PID"
_COMMAND = "from alrviz.explorer.server.table_process import serve; serve()"


@dataclass(frozen=True)
class ReadRequest:
    """A request to read a file of `size` bytes as a table with a name; options None detects how to read it."""

    name: str
    size: int
    options: "ReadOptions | None"
    limits: Limits


# ---- the process ---------------------------------------------------------------------------------------------------


class _ReportingToken(StopToken):
    """The reading's token within the process, which sends progress to the server; to stop it, the process is killed."""

    __slots__ = ("_last_share", "_pipe")

    def __init__(self, pipe: IO[bytes]):
        super().__init__()
        self._pipe, self._last_share = pipe, 0.0

    def report(self, share: float) -> None:
        """Send the share of the file that is read (0 to 1), if it grew by more than 1 %."""
        if share - self._last_share > 0.01:
            self._last_share = share
            _send(self._pipe, ("share", share))


def serve() -> None:
    """Read one file after another, until the server closes the pipe."""
    from alrviz.data.read import read_columns

    source, pipe = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library may print to standard output, which must not mix with answers
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    exit_with_parent(int(os.environ[_PARENT_PID_VARIABLE]))  # during a reading; between readings the pipe ends
    while (request := _receive(source)) is not None:
        data = source.read(request.size)
        if request.size >= LONG_READING_BYTES and hasattr(os, "nice"):
            os.nice(LONG_READING_NICENESS - NICENESS)  # not reset: this process ends after the file
        _send(pipe, ("share", 0.0))
        try:
            table = read_columns(
                data, options=request.options, limits=request.limits, name=request.name, stop=_ReportingToken(pipe)
            )
            _send(pipe, ("table", replace(table, values=()), len(table.values)))
            for column in table.values:
                _send(pipe, ("column", column))
            del table
        except AlrvizError as error:
            _send(pipe, ("error", error))
        except MemoryError:
            _send(pipe, ("memory",))
        except Exception as error:  # a bug of the reader: report it, and go on
            _send(pipe, ("bug", f"{type(error).__name__}: {error}"))
        del data


def _send(pipe: IO[bytes], message: object) -> None:
    """Write a pickled message and its length."""
    content = pickle.dumps(message, protocol=5)
    pipe.write(_LENGTH_HEADER.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def _receive(source: IO[bytes]) -> Any:
    """Return the next message; None at the end of the pipe."""
    header = source.read(_LENGTH_HEADER.size)
    if len(header) < _LENGTH_HEADER.size:
        return None
    content = source.read(_LENGTH_HEADER.unpack(header)[0])
    return pickle.loads(content)


# ---- the server ----------------------------------------------------------------------------------------------------


class _Reader:
    """One process; after `kill`, `exchange` returns None."""

    start_time: float | None = None  # of the current file
    is_reusable = True  # False while its pipe may hold the rest of an answer, which the next reading would get

    def __init__(self) -> None:
        module_path = os.pathsep.join(folder for folder in sys.path if folder)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in a terminal is for the server, which ends this
            env=os.environ | {"PYTHONPATH": module_path, "PYTHONSAFEPATH": "1", _PARENT_PID_VARIABLE: str(os.getpid())},
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def memory(self) -> int:
        """Resident memory in bytes; 0 on systems without /proc, where only the limits on a table's size apply."""
        return used_memory(self._process.pid)

    def exchange(self, request: ReadRequest, data: bytes, stop: StopToken) -> Any:
        """Send a request and a file; return the table, an error as (kind, ...), or None if the process has ended."""
        self.start_time, self.is_reusable = None, False
        assert self._process.stdin is not None
        try:
            _send(self._process.stdin, request)
            self._process.stdin.write(data)
            self._process.stdin.flush()
            answer = self._receive_answer(stop)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):  # killed, in the middle of a message
            return None
        except MemoryError:
            return ("memory",)
        except Exception as error:  # an answer that cannot be unpickled: a bug of the reader
            return ("bug", f"{type(error).__name__}: {error}")
        self.is_reusable = answer is not None
        return answer

    def _receive_answer(self, stop: StopToken) -> Any:
        """Return the final answer of the process; an error may come after some columns."""
        assert self._process.stdout is not None
        table, columns, n_columns = None, list[Any](), 0
        while (message := _receive(self._process.stdout)) is not None:
            if message[0] == "share":
                self.start_time = self.start_time or time.monotonic()
                stop.report(message[1])
            elif message[0] == "table":
                _, table, n_columns = message
            elif message[0] == "column":
                columns.append(message[1])
            else:
                return message
            if table is not None and len(columns) == n_columns:
                return replace(table, values=tuple(columns))
        return None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


class _FairQueue:
    """A number of places, given by fewest running readings per owner, then first come, first served."""

    def __init__(self, places: int):
        self._free = places
        self._tickets: list[tuple[int, str]] = []
        self._under_way: Counter[str] = Counter()
        self._count = 0
        self._condition = threading.Condition()

    @property
    def has_waiting(self) -> bool:
        return bool(self._tickets)

    def take(self, owner: str, stop: StopToken, on_wait: Callable[[bool], None]) -> None:
        """Wait for a place.

        owner: the visitor's id; visitors take turns. on_wait: called with True if there is none yet, with False then.

        Raises:
            Stopped: if `stop` is called on the token meanwhile; no place is taken.
        """
        with self._condition:
            self._count += 1
            ticket = (self._count, owner)
            self._tickets.append(ticket)
            try:
                while self._free == 0 or ticket != self._next():
                    on_wait(True)
                    self._condition.wait(POLL_SECONDS)
                    stop.check()
                self._free -= 1
                self._under_way[owner] += 1
            finally:
                self._tickets.remove(ticket)
                self._condition.notify_all()
        on_wait(False)

    def take_free(self, owner: str) -> bool:
        """Take a place for a visitor (`owner`: the id) if one is free and nobody waits; return whether it was taken."""
        with self._condition:
            if self._free == 0 or self._tickets:
                return False
            self._free -= 1
            self._under_way[owner] += 1
            return True

    def give_back(self, owner: str) -> None:
        """Give back an owner's place (`owner`: the visitor's id)."""
        with self._condition:
            self._free += 1
            self._under_way[owner] -= 1
            if not self._under_way[owner]:
                del self._under_way[owner]
            self._condition.notify_all()

    def _next(self) -> tuple[int, str]:
        return min(self._tickets, key=lambda ticket: (self._under_way[ticket[1]], ticket[0]))

    @contextmanager
    def place(self, owner: str, stop: StopToken, on_wait: Callable[[bool], None]) -> "Iterator[_Place]":
        """Wait for a place as `take` does, and give it back at the end."""
        self.take(owner, stop, on_wait)
        place = _Place(self, owner)
        try:
            yield place
        finally:
            place.queue.give_back(owner)


@dataclass
class _Place:
    """The place of one reading in a queue. owner: the visitor's id."""

    queue: _FairQueue
    owner: str

    def move_to(self, queue: _FairQueue) -> bool:
        """Move to another queue if it has a free place and nobody waits there; return whether it moved."""
        is_moved = queue.take_free(self.owner)
        if is_moved:
            self.queue.give_back(self.owner)
            self.queue = queue
        return is_moved


class Readers:
    """The processes that read files, and their places."""

    def __init__(self) -> None:
        self._quick, self._long = _FairQueue(QUICK_PLACES), _FairQueue(LONG_PLACES)
        self._warm: list[_Reader] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    def warm(self) -> None:
        """Start a spare process, so that the next file does not wait for imports; returns at once."""
        with self._lock, suppress(OSError):
            self._warm = [reader for reader in self._warm if reader.alive]
            if not self._warm:
                self._warm.append(_Reader())

    def close(self) -> None:
        """End the spare processes."""
        with self._lock:
            spare_readers, self._warm = self._warm, []
        for reader in spare_readers:
            reader.kill()

    def read(
        self,
        data: bytes,
        name: str,
        options: "ReadOptions | None",
        limits: Limits,
        stop: StopToken,
        seconds: float | None = None,
        owner: str = "",
        on_wait: Callable[[bool], None] = lambda is_waiting: None,
    ) -> "Table":
        """Return the table of a file.

        Args:
            data: the file's bytes.
            name: name of the table.
            options: how to read the file; None to detect it.
            limits: limits on the table's size.
            stop: cancels the reading, and gets its progress.
            seconds: time limit; None for no limit.
            owner: the visitor, for fair queues.
            on_wait: called with True while the reading waits for a place, with False when it has one.

        Raises:
            TableError: if the file is not a table, takes too long or too much memory, or crashes the process.
            Stopped: if `stop` is called on the token.
        """
        memory_bytes = free_memory() // (QUICK_PLACES + LONG_PLACES)
        request = ReadRequest(name, len(data), options, limits.within_memory(memory_bytes))
        is_large = len(data) >= LONG_READING_BYTES
        queue, answer = self._long if is_large else self._quick, _MUST_MOVE
        while answer is _MUST_MOVE:
            with queue.place(owner, stop, on_wait) as place, self._reader(is_large) as reader:
                answer = self._wait_for_answer(reader, request, data, stop, place, memory_bytes, seconds)
            queue = self._long
        return _table_of(answer)

    @contextmanager
    def _reader(self, is_large: bool) -> Iterator[_Reader]:
        """Yield a process, if possible the spare one, and keep it as the next spare. Large files get a new process."""
        with self._lock:
            reader = self._warm.pop() if self._warm and not is_large else None
        if reader is None or not reader.alive:
            reader = _Reader()
        try:
            yield reader
        finally:
            with self._lock:
                keep = not is_large and not self._warm and reader.is_reusable and reader.alive
                keep = keep and reader.memory < 2 * BASE_MEMORY_BYTES
                if keep:
                    self._warm.append(reader)
            if not keep:
                reader.kill()
                self.warm()

    def _wait_for_answer(
        self,
        reader: _Reader,
        request: ReadRequest,
        data: bytes,
        stop: StopToken,
        place: _Place,
        memory: int,
        seconds: float | None,
    ) -> Any:
        """Return the process's answer, or `_MUST_MOVE` if a long reading must leave its quick place.

        memory, seconds: limits of the process, in bytes and seconds (None: no limit); beyond one the process is killed,
        and a `TableError` raised.
        """
        answers: list[Any] = []
        reading_job = Job(lambda _: answers.append(reader.exchange(request, data, stop)), "alrviz-reading")
        start_time = time.monotonic()
        reading_job.start()
        try:
            while not reading_job.join(POLL_SECONDS):
                stop.check()
                elapsed = time.monotonic() - start_time
                if seconds is not None and elapsed > seconds:
                    raise TableError(
                        f"reading the file took longer than the {seconds:.0f} s allowed; take fewer rows or columns"
                    )
                if reader.memory > memory + BASE_MEMORY_BYTES:
                    raise _too_much(memory)
                is_long = reader.start_time is not None and time.monotonic() - reader.start_time > LONG_READING_SECONDS
                is_slow_in_quick = is_long and place.queue is self._quick and not place.move_to(self._long)
                if is_slow_in_quick and self._quick.has_waiting:
                    reader.kill()
                    return _MUST_MOVE
        except BaseException:
            reader.kill()
            raise
        return answers[0] if answers else None


_MUST_MOVE = object()


def _too_much(memory: int) -> TableError:
    """Return the error about a reading. memory: bytes allowed."""
    return TableError(
        f"reading the file takes more than the {size_text(memory)} of memory allowed here; take fewer rows or columns"
    )


def _table_of(answer: Any) -> "Table":
    """Return the table of an answer, or raise its error."""
    if answer is None:
        raise TableError(
            "the file crashed the process that read it; it is damaged, or takes more memory than there is. Save it "
            "again, for example as CSV"
        )
    if not isinstance(answer, tuple):
        return answer
    if answer[0] == "error":
        if isinstance(answer[1], MemoryLimitError):  # its own text tells how to allow more, which a visitor cannot
            raise _too_much(answer[1].allowed)
        raise answer[1]
    if answer[0] == "memory":
        raise TableError("there was not enough memory to read the file; take fewer rows or columns")
    raise TableError(f"something unexpected went wrong while the file was read ({answer[1]})")


READERS = Readers()
