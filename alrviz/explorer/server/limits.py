"""The limits of a server: sizes of tables, runs at once, threads, memory.

Every limit is an attribute of `ServerLimits` and an environment variable `ALRVIZ_MAX_<NAME>` (0 or "none": no limit).
They apply to the explorer only; the library itself limits nothing but memory.
"""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from alrviz.data.limits import Limits
from alrviz.errors import AlrvizError
from alrviz.memory import total_memory

PREFIX = "ALRVIZ_MAX_"
_UNLIMITED = ("0", "none", "")
_CORES = os.cpu_count() or 1
MAX_CONCURRENT_TASKS = 2  # of each kind in the process; the others wait, and their pages show it
TABLES = threading.BoundedSemaphore(MAX_CONCURRENT_TASKS)  # tasks that make a table or change its kinds
PAGES = threading.BoundedSemaphore(MAX_CONCURRENT_TASKS)  # other tasks of pages: a long estimate must not delay a table


@dataclass(frozen=True)
class ServerLimits:
    """Limits of one server process; None is no limit.

    Attributes:
        bytes, rows, columns, levels, classes: of one uploaded table.
        seconds: time for reading a table.
        uploads: bytes of all uploaded tables in memory.
        tables: uploaded tables of one owner; the oldest is dropped.
        owner_runs, runs: active runs of one owner, and of all; further ones wait in the queue.
        kept: inactive runs of one owner in memory; the oldest is dropped.
        memory: bytes of all runs with their steps; by default half the memory of the machine or container.
        threads: threads of all active runs. Each uses all cores, so the default lets four runs share them.
        idle: seconds after which a run that nobody looks at is stopped.
        hours: the same in hours, for a run that is to continue when its owner closes the page.
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
    """Return the defaults, overridden by environment variables.

    Raises:
        AlrvizError: if a variable is neither a whole number nor "none".
    """
    limit_by_name: dict[str, int | None] = {}
    for limit in fields(ServerLimits):
        variable = PREFIX + limit.name.upper()
        value_text = environment.get(variable)
        if value_text is None:
            continue
        if value_text.strip().lower() in _UNLIMITED:
            limit_by_name[limit.name] = None
        elif value_text.strip().isdigit():
            limit_by_name[limit.name] = int(value_text)
        else:
            raise AlrvizError(f"{variable}={value_text!r} is not a limit; expected a whole number, or none")
    return ServerLimits(**limit_by_name)


def is_within(count: float, limit: int | None) -> bool:
    """Return whether `count` is at most `limit`; None is no limit."""
    return limit is None or count <= limit
