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
    """What a child returned, or None and why it did not; `late`: its time was over."""

    value: Any = None
    refused: str = ""
    late: bool = False


def in_child(work: Callable[..., Any], *arguments: Any, limit: float = 3600.0) -> Answer:
    """Call `work(*arguments)` in a fresh process; work that takes longer than `limit` seconds is ended with it.

    An `AlrvizError` comes back as `refused`, any other end without an answer too; other errors are raised here.
    """
    context = get_context("spawn")  # a fork would inherit this process's memory, and its peak
    ours, theirs = context.Pipe()
    child = context.Process(target=_answer, args=(theirs, work, arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        if not ours.poll(_TO_BEGIN):
            return Answer(refused=f"its process had not begun within {_TO_BEGIN:.0f} s", late=True)
        ours.recv()  # it has begun: to start a process is no part of the work
        if not ours.poll(limit):
            return Answer(refused=f"not within {limit:.0f} s", late=True)
        answer = ours.recv()
    except EOFError:
        child.join()
        late = child.exitcode == -signal.SIGPROF  # `processor_limit`
        return Answer(refused=f"the process ended without an answer, code {child.exitcode}", late=late)
    finally:
        child.terminate()
        child.join()
        ours.close()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _answer(connection: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    answer: Answer | Exception
    connection.send("begun")
    try:
        answer = Answer(work(*arguments))
    except (AlrvizError, MemoryError) as error:
        answer = Answer(refused=str(error) or type(error).__name__)
    except Exception as error:
        answer = RuntimeError(f"{type(error).__name__} in a child: {error}")
    connection.send(answer)


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """End this process, which `in_child` tells as late, when the block has taken so many processor seconds.

    A signal's own action, not Python's: it ends compiled code too. What others do on the machine does not count.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


class Peak:
    """How much this process's resident memory has grown at its most since this object was made."""

    def __init__(self) -> None:
        gc.collect()
        with suppress(OSError):
            _CLEAR.write_text("5", encoding="ascii")  # forget peaks before this one
        self._before = _highest()

    @property
    def growth(self) -> int:
        """Bytes; 0 where the system does not tell."""
        return _highest() - self._before


def _highest() -> int:
    try:
        for line in _STATUS.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return _highest_elsewhere()


def _highest_elsewhere() -> int:
    """The peak since the process began: what other systems tell."""
    try:
        from psutil import Process
    except ImportError:
        return 0
    memory = Process(os.getpid()).memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))
