"""Files of strangers are read in processes of their own: what hangs, swells or crashes there ends there.

    server: Readers.read ---- request, file ---->  process: `serve` (imports alrviz.data alone; one is kept warm)
                         <--- shares of progress, then the table column by column, or an error

A reading ends when its token is pulled (Cancel, a page that closes), after the seconds it may last, and beyond the
memory it may take: the process is killed, whatever it is at. Places are few, so nobody holds one for long while others
wait: a reading that is not done after `SHORT` seconds moves to one of the places for long ones, and where none is free
it gives way and begins anew when one is. A file of `BIG` bytes takes one of those from the start, with a process of its
own that others come before: however many wait, a small one finds a place and a warm process. Who has fewer readings
under way comes first.

A process is started as an interpreter with a command, not forked and without the caller's main module: it runs on every
system and from every way of serving. It ends with its server, however that ends.
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
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from alrviz.data.limits import Limits, size_text
from alrviz.errors import AlrvizError, MemoryLimitError, Stopped, TableError
from alrviz.exit_with_parent import exit_with_parent
from alrviz.job import Job
from alrviz.memory import free_memory
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.options import ReadOptions
    from alrviz.data.table import Table

LOOK = 0.05  # seconds between two looks at the token, the clock and the memory of a reading
SHORT = 1.0  # seconds of work, its process started, after which a reading counts as long
BIG = 4_000_000  # bytes of a file whose reading is long whatever it holds
QUICK_PLACES, LONG_PLACES = 2, 2
NICE, NICER = 5, 10  # the server's own loop comes first, then small files
SPARE = 300_000_000  # bytes that a process has anyway: the interpreter and its libraries
_HEAD = struct.Struct(">Q")
_PARENT = "ALRVIZ_SERVER_PID"
_COMMAND = "from alrviz.explorer.server.table_process import serve; serve()"


@dataclass(frozen=True)
class ReadRequest:
    """What is to be read: a name for the table, the file's size, how to read it, what it may be at most."""

    name: str
    size: int
    options: "ReadOptions | None"
    limits: Limits


# ---- the process ---------------------------------------------------------------------------------------------------


class _ReportingToken(StopToken):
    """The token in the process: nobody pulls it, as the process is killed; progress is sent to the server."""

    __slots__ = ("_out", "_sent")

    def __init__(self, out: IO[bytes]):
        super().__init__()
        self._out, self._sent = out, 0.0

    def report(self, share: float) -> None:
        if share - self._sent > 0.01:
            self._sent = share
            _send(self._out, ("share", share))


def serve() -> None:
    """Read one file after another, until the server is gone."""
    from alrviz.data.read import read_columns

    source, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    if hasattr(os, "nice"):
        os.nice(NICE)
    exit_with_parent(int(os.environ[_PARENT]))  # in the middle of a reading; between two the end of its pipe says so
    while (request := _receive(source)) is not None:
        data = source.read(request.size)
        if request.size >= BIG and hasattr(os, "nice"):
            os.nice(NICER - NICE)  # for good: this process ends with its file
        _send(out, ("share", 0.0))
        try:
            table = read_columns(
                data, options=request.options, limits=request.limits, name=request.name, stop=_ReportingToken(out)
            )
            _send(out, ("table", replace(table, values=()), len(table.values)))
            for column in table.values:
                _send(out, ("column", column))
            del table
        except AlrvizError as error:
            _send(out, ("error", error))
        except MemoryError:
            _send(out, ("memory",))
        except Exception as error:  # it would be a bug of the reader; the visitor is told, and the process goes on
            _send(out, ("bug", f"{type(error).__name__}: {error}"))
        del data


def _send(out: IO[bytes], message: object) -> None:
    content = pickle.dumps(message, protocol=5)
    out.write(_HEAD.pack(len(content)))
    out.write(content)
    out.flush()


def _receive(source: IO[bytes]) -> Any:
    """Return the next message, None at the end."""
    head = source.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    content = source.read(_HEAD.unpack(head)[0])
    return pickle.loads(content)


# ---- the server ----------------------------------------------------------------------------------------------------


class _Reader:
    """One process; after `kill` whoever waits for it gets None."""

    begun: float | None = None  # when it began with the file that it has
    sound = True  # whether nothing of an answer is left in its pipe: whoever has it next would take it for an own one

    def __init__(self) -> None:
        path = os.pathsep.join(place for place in sys.path if place)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in a terminal is for the server, which ends this
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", _PARENT: str(os.getpid())},
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def memory(self) -> int:
        """Bytes it holds, where the system says so; 0 elsewhere, where the limits on a table's size bind alone."""
        try:
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError, AttributeError):
            return 0

    def exchange(self, request: ReadRequest, data: bytes, stop: StopToken) -> Any:
        """Return the answer to a request: a table, what went wrong, or None where the process ended over it."""
        self.begun, self.sound = None, False
        assert self._process.stdin is not None
        try:
            _send(self._process.stdin, request)
            self._process.stdin.write(data)
            self._process.stdin.flush()
            answer = self._answer(stop)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):  # killed, in the middle of a message
            return None
        except MemoryError:
            return ("memory",)
        except Exception as error:  # an answer that cannot be taken here: a bug too
            return ("bug", f"{type(error).__name__}: {error}")
        self.sound = answer is not None
        return answer

    def _answer(self, stop: StopToken) -> Any:
        """Return what the process says in the end; something may go wrong in the middle of a table too."""
        assert self._process.stdout is not None
        table, columns, count = None, list[Any](), 0
        while (message := _receive(self._process.stdout)) is not None:
            if message[0] == "share":
                self.begun = self.begun or time.monotonic()
                stop.report(message[1])
            elif message[0] == "table":
                _, table, count = message
            elif message[0] == "column":
                columns.append(message[1])
            else:
                return message
            if table is not None and len(columns) == count:
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
    """Places that are waited for; who has fewer readings under way comes first, then who came first."""

    def __init__(self, places: int):
        self._free = places
        self._waiting: list[tuple[int, str]] = []
        self._under_way: Counter[str] = Counter()
        self._count = 0
        self._changed = threading.Condition()

    @property
    def awaited(self) -> bool:
        return bool(self._waiting)

    def take(self, owner: str, stop: StopToken, tell: Callable[[bool], None]) -> None:
        """Wait for a place; raises `Stopped`."""
        with self._changed:
            self._count += 1
            mine = (self._count, owner)
            self._waiting.append(mine)
            try:
                while self._free == 0 or mine != self._next():
                    tell(True)
                    self._changed.wait(LOOK)
                    stop.check()
                self._free -= 1
                self._under_way[owner] += 1
            finally:
                self._waiting.remove(mine)
                self._changed.notify_all()
        tell(False)

    def take_free(self, owner: str) -> bool:
        """Take a place if one is free and nobody waits for it."""
        with self._changed:
            if self._free == 0 or self._waiting:
                return False
            self._free -= 1
            self._under_way[owner] += 1
            return True

    def give_back(self, owner: str) -> None:
        with self._changed:
            self._free += 1
            self._under_way[owner] -= 1
            if not self._under_way[owner]:
                del self._under_way[owner]
            self._changed.notify_all()

    def _next(self) -> tuple[int, str]:
        return min(self._waiting, key=lambda one: (self._under_way[one[1]], one[0]))


class Readers:
    """The processes that read files, and the places for them."""

    def __init__(self) -> None:
        self._quick, self._long = _FairQueue(QUICK_PLACES), _FairQueue(LONG_PLACES)
        self._warm: list[_Reader] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    def warm(self) -> None:
        """Have a process ready, so that the next file does not wait for its libraries; returns at once."""
        with self._lock, suppress(OSError):
            self._warm = [reader for reader in self._warm if reader.alive]
            if not self._warm:
                self._warm.append(_Reader())

    def close(self) -> None:
        """End the processes that wait."""
        with self._lock:
            idle, self._warm = self._warm, []
        for reader in idle:
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
        tell: Callable[[bool], None] = lambda waits: None,
    ) -> "Table":
        """Return a file's table; it may take so many `seconds`, and `tell` hears whether it waits for a place.

        Raises:
            TableError: no table, or it took too long, too much memory, or ended its process.
            Stopped: the token was pulled.
        """
        memory = free_memory() // (QUICK_PLACES + LONG_PLACES)
        request = ReadRequest(name, len(data), options, limits.within_memory(memory))
        big = len(data) >= BIG
        with _Place(self._quick, self._long, owner, stop, tell, big) as place:
            while True:
                with self._reader(big) as reader:
                    answer = self._await(reader, request, data, stop, place, memory, seconds)
                if answer is not _GAVE_WAY:
                    break
                place.move_on()
        return _table_of(answer)

    @contextmanager
    def _reader(self, big: bool) -> Iterator[_Reader]:
        """A process, warm if there is one; kept for the next where it is still sound and small. Big files have none."""
        with self._lock:
            reader = self._warm.pop() if self._warm and not big else None
        if reader is None or not reader.alive:
            reader = _Reader()
        try:
            yield reader
        finally:
            with self._lock:
                keep = not big and not self._warm and reader.sound and reader.alive and reader.memory < 2 * SPARE
                if keep:
                    self._warm.append(reader)
            if not keep:
                reader.kill()
                self.warm()

    def _await(
        self,
        reader: _Reader,
        request: ReadRequest,
        data: bytes,
        stop: StopToken,
        place: "_Place",
        memory: int,
        seconds: float | None,
    ) -> Any:
        """Return the process's answer; kill it where that takes too long or too much."""
        answers: list[Any] = []
        reading = Job(lambda _: answers.append(reader.exchange(request, data, stop)), "alrviz-reading")
        begun = time.monotonic()
        reading.start()
        try:
            while not reading.join(LOOK):
                stop.check()
                lasted = time.monotonic() - begun
                if seconds is not None and lasted > seconds:
                    raise TableError(
                        f"reading it took longer than the {seconds:.0f} s allowed here; take fewer rows or columns"
                    )
                if reader.memory > memory + SPARE:
                    raise _too_much(memory)
                long = reader.begun is not None and time.monotonic() - reader.begun > SHORT
                if long and place.gives_way():
                    reader.kill()
                    return _GAVE_WAY
        except BaseException:
            reader.kill()
            raise
        return answers[0] if answers else None


_GAVE_WAY = object()


class _Place:
    """A place held by one reading: a quick one, later one for long readings."""

    def __init__(
        self, quick: _FairQueue, long: _FairQueue, owner: str, stop: StopToken, tell: Callable[[bool], None], big: bool
    ):
        self._line, self._quick, self._long = long if big else quick, quick, long
        self._owner, self._stop, self._tell = owner, stop, tell
        self._held = False

    def __enter__(self) -> "_Place":
        self._take(self._line)
        return self

    def __exit__(self, *_: object) -> None:
        if self._held:
            self._line.give_back(self._owner)

    def _take(self, line: _FairQueue) -> None:
        line.take(self._owner, self._stop, self._tell)
        self._line, self._held = line, True

    def gives_way(self) -> bool:
        """Move to a place for long readings if one is free; returns whether it must stop for one instead."""
        if self._line is self._long:
            return False
        if self._long.take_free(self._owner):
            self._quick.give_back(self._owner)
            self._line = self._long
            return False
        return self._quick.awaited

    def move_on(self) -> None:
        """Give the place to who waits, and wait for one for long readings."""
        self._quick.give_back(self._owner)
        self._held = False
        self._take(self._long)


def _too_much(memory: int) -> TableError:
    return TableError(
        f"reading it takes more than the {size_text(memory)} of memory it may; take fewer rows or columns"
    )


def _table_of(answer: Any) -> "Table":
    """Return the table of an answer, or raise what the process says."""
    if answer is None:
        raise TableError(
            "the file ended the process that read it, which was alone in it; it is damaged, or takes more memory than "
            "there is. Save it again, as CSV for example"
        )
    if not isinstance(answer, tuple):
        return answer
    if answer[0] == "error":
        if isinstance(answer[1], Stopped):  # nobody stops a reading in its process
            raise TableError("the reading ended by itself; drop the file again")
        if isinstance(answer[1], MemoryLimitError):  # a visitor cannot allow more
            raise _too_much(answer[1].allowed)
        raise answer[1]
    if answer[0] == "memory":
        raise TableError("there was not enough memory to read it; take fewer rows or columns")
    raise TableError(f"something unexpected went wrong in reading it ({answer[1]})")


READERS = Readers()
