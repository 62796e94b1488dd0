"""Work in a process of its own: its peak memory is its own, and it can be ended when its time is over."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from alrviz.errors import AlrvizError

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

_TO_BEGIN = 600.0  # seconds: a busy machine imports for minutes


@dataclass(frozen=True)
class Answer:
    """What a child returned, or None and the `reason` why it did not; `late`: its time was over."""

    value: Any = None
    reason: str = ""
    late: bool = False


def in_child(work: Callable[..., Any], *arguments: Any, limit: float = 3600.0) -> Answer:
    """Call `work(*arguments)` in a fresh process; work that takes longer than `limit` seconds is ended with it.

    An `AlrvizError` comes back as `reason`, any other end without an answer too; other errors are raised here.
    """
    context = get_context("spawn")  # a fork would inherit this process's memory, and its peak
    parent_end, child_end = context.Pipe()
    child = context.Process(target=_answer, args=(child_end, work, arguments), daemon=True)
    child.start()
    child_end.close()
    try:
        if not parent_end.poll(_TO_BEGIN):
            return Answer(reason=f"its process had not begun within {_TO_BEGIN:.0f} s", late=True)
        parent_end.recv()  # it has begun: to start a process is no part of the work
        if not parent_end.poll(limit):
            return Answer(reason=f"not within {limit:.0f} s", late=True)
        answer = parent_end.recv()
    except EOFError:
        child.join()
        late = child.exitcode == -signal.SIGPROF  # `processor_limit`
        return Answer(reason=f"the process ended without an answer, code {child.exitcode}", late=late)
    finally:
        child.terminate()
        child.join()
        parent_end.close()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _answer(connection: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    answer: Answer | Exception
    connection.send("begun")
    try:
        answer = Answer(work(*arguments))
    except (AlrvizError, MemoryError) as error:
        answer = Answer(reason=str(error) or type(error).__name__)
    except Exception as error:
        answer = RuntimeError(f"{type(error).__name__} in a child: {error}")
    connection.send(answer)


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """End this process after `seconds` of processor time within the block; `in_child` then reports it as late.

    A signal's own action, not Python's: it ends compiled code too. What others do on the machine does not count.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


class Peak:
    """Largest growth of this process's resident memory since the object was created."""

    def __init__(self) -> None:
        gc.collect()
        with suppress(OSError):
            _CLEAR.write_text("5", encoding="ascii")  # forget peaks before this one
        self._start_bytes = _highest()

    @property
    def growth(self) -> int:
        """Bytes; 0 where the system reports no peak."""
        return _highest() - self._start_bytes


def _highest() -> int:
    try:
        for line in _STATUS.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return _highest_elsewhere()


def _highest_elsewhere() -> int:
    """Peak since the process began, for systems without /proc."""
    try:
        from psutil import Process
    except ImportError:
        return 0
    memory = Process(os.getpid()).memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))
