"""The limits of a server: sizes of tables, runs at once, threads, memory.

Every limit is an attribute of `ServerLimits` and an environment variable `ALRVIZ_MAX_<NAME>` (0 or "none": no limit).
They bind in the explorer only; the library itself limits nothing but memory.
"""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from alrviz.data.limits import Limits
from alrviz.errors import AlrvizError
from alrviz.memory import total_memory

PREFIX = "ALRVIZ_MAX_"
_NONE = ("0", "none", "")
_CORES = os.cpu_count() or 1
AT_ONCE = 2  # tasks of each kind that compute at a time in the process; the others wait and say so
TABLES = threading.BoundedSemaphore(AT_ONCE)  # making one, changing its kinds
PAGES = threading.BoundedSemaphore(AT_ONCE)  # what pages work out of tables: a long estimate keeps nobody from one


@dataclass(frozen=True)
class ServerLimits:
    """Limits of one server process; None is no limit.

    Attributes:
        bytes, rows, columns, levels, classes: of one uploaded table.
        seconds: that reading a table may take.
        uploads: bytes of uploaded tables the process holds at once.
        tables: uploaded tables held for one owner; the oldest is dropped.
        owner_runs, runs: races under way at once, of one owner and in all; further ones queue.
        kept: ended races found again by one owner; the oldest is dropped.
        memory: bytes of all races and their steps; the default is half of what the machine, or the container, has.
        threads: threads of all races under way; each has all the machine's, so the default lets four share them.
        idle: seconds after which a run nobody looks at is stopped.
        hours: hours after which that happens to a run that was to continue when its owner closed the page.
    """

    bytes: int | None = 200_000_000
    rows: int | None = 5_000_000
    columns: int | None = 5_000
    levels: int | None = 100_000
    classes: int | None = 1_000
    seconds: int | None = 120
    uploads: int | None = 1_000_000_000
    tables: int | None = 2
    owner_runs: int | None = 2
    runs: int | None = max(4, 2 * _CORES)
    kept: int | None = 12
    memory: int | None = field(default_factory=lambda: total_memory() // 2)
    threads: int | None = 4 * _CORES
    idle: int | None = 60
    hours: int | None = 12

    def table(self) -> Limits:
        """Return the limits of one table in the form `read_table` takes."""
        return Limits(bytes=self.bytes, rows=self.rows, columns=self.columns, levels=self.levels, classes=self.classes)


def limits_from(environment: Mapping[str, str] = os.environ) -> ServerLimits:
    """Return the defaults, changed by what `environment` sets; a value that is no whole number is an error."""
    changed: dict[str, int | None] = {}
    for one in fields(ServerLimits):
        text = environment.get(PREFIX + one.name.upper())
        if text is None:
            continue
        if text.strip().lower() in _NONE:
            changed[one.name] = None
        elif text.strip().isdigit():
            changed[one.name] = int(text)
        else:
            raise AlrvizError(f"{PREFIX}{one.name.upper()}={text!r} is not a limit; expected a whole number, or none")
    return ServerLimits(**changed)


def below(count: float, limit: int | None) -> bool:
    """Whether `count` keeps within `limit`."""
    return limit is None or count <= limit
