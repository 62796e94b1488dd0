"""What benchmarks share: medians of repeats, the line that says where they ran, plain tables, and benchmark data.

Absolute times belong to one machine: every benchmark prints the environment first, and where it can it measures what it
is compared with in the same run, the two taking turns.
"""

import csv
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from alrviz.errors import AlrvizError
from alrviz.passes.threads import available_threads

LIBRARIES = ("alrviz", "numpy", "numba", "scipy", "scikit-learn", "vowpalwabbit", "pandas", "panel", "bokeh")
# A tidy row of a benchmark's figures, by name: plain numbers (seconds, bytes) and words, as `--csv` saves them.
Row = dict[str, Any]


@dataclass(frozen=True)
class Timing:
    """Seconds of some repeats of the same work."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one, which a single disturbance does not move."""
        return median(self.seconds)

    def __str__(self) -> str:
        """Median and range: "0.0123 s (0.0120 .. 0.0131)"."""
        return f"{seconds(self.median)} ({seconds(min(self.seconds))} .. {seconds(max(self.seconds))})"


def timed(work: Callable[[], Any], repeats: int = 5, warm: int = 1) -> Timing:
    """Time `work` `repeats` times, after `warm` calls that do not count (kernels compile in them)."""
    return taking_turns([work], repeats, warm)[0]


def taking_turns(works: Sequence[Callable[[], Any]], repeats: int = 5, warm: int = 1) -> list[Timing]:
    """Time several works one after another, round by round, so that a busy minute hits all of them alike."""
    for work in works:
        for _ in range(warm):
            work()
    seconds_by_work: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, work_seconds in zip(works, seconds_by_work, strict=True):
            start = time.perf_counter()
            work()
            work_seconds.append(time.perf_counter() - start)
    return [Timing(tuple(work_seconds)) for work_seconds in seconds_by_work]


def seconds(value: float) -> str:
    """Three digits that count: "0.0123 s", "1.23 s", "123 s"."""
    decimals = 4 if value < 0.1 else 3 if value < 1 else 2 if value < 10 else 1
    return f"{value:.{decimals}f} s"


@cache
def environment() -> str:
    """One line: versions, processor, cores, threads of a pass, system, and what the machine is busy with already."""
    versions = ", ".join(f"{name} {library_version}" for name in LIBRARIES if (library_version := _version(name)))
    machine = f"{_processor()}, {_cores()}, {available_threads()} threads for a pass"
    return f"{versions}; Python {platform.python_version()}; {machine}; {platform.platform(terse=True)}; {_load()}"


def _load() -> str:
    try:
        return f"load before the start {os.getloadavg()[0]:.1f}"
    except (AttributeError, OSError):  # not offered by every system
        return "load unknown"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _cores() -> str:
    logical = os.cpu_count() or 1
    try:
        from psutil import cpu_count
    except ImportError:
        return f"{logical} cores"
    physical = cpu_count(logical=False)
    return f"{logical} cores" if physical in (None, logical) else f"{logical} threads on {physical} cores"


def show(rows: Iterable[Sequence[object]], header: Sequence[str]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    texts = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for index, row in enumerate(texts):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells).rstrip())
        if index == 0:
            print("  ".join("-" * width for width in widths))


def mib(size: float) -> str:
    """Bytes as "12.3 MiB"."""
    return f"{size / 2**20:,.1f} MiB"


def save(rows: Sequence[Row], path: Path) -> None:
    """Write tidy rows as CSV: a comment that says where they were measured, then a column for every name there is."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(f"# {environment()}\n")
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def reached(value: float, limit: float, unit: str = "s") -> str:
    """Set a figure beside what it is to reach: "0.0812 s, to reach 0.1 s: yes"."""
    value_text = seconds(value) if unit == "s" else f"{value:.3g} {unit}"
    return f"{value_text}, to reach {limit:g} {unit}: {'yes' if value <= limit else 'NO'}"


def data_file(folder: Path | None, name: str) -> Path | None:
    """Return the file of a benchmark set in the folder given with --data, None without a folder."""
    if folder is None:
        return None
    for ending in (".csv.gz", ".csv", ".parquet"):
        if (path := folder / f"{name}{ending}").is_file():
            return path
    raise AlrvizError(f"there is no {name}.csv.gz, .csv or .parquet in {str(folder)!r}")
