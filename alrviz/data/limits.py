"""Limits of the size of a table, checked before memory is filled.

A server reads tables of strangers, and passes `Limits`; in a user's own Python only the memory and an extreme number of
columns are limited. Sizes are of the decompressed content, and every check runs while reading: a small file that
decompresses to 300 GB is refused at the first byte beyond the limit.
"""

from dataclasses import dataclass, replace

from alrviz.errors import EMPTY_TABLE, MemoryLimitError, Sentence, TableError

# Bytes of memory that reading takes at least, measured on numbers, words and ids.
MEMORY_PER_BYTE, MEMORY_PER_CELL, MEMORY_PER_COLUMN = 3, 16, 16_000


@dataclass(frozen=True)
class Limits:
    """The maximum size of a table; None is no limit.

    Attributes:
        bytes: of the decompressed file (for Parquet and DataFrames of the columns in memory).
        rows: of data.
        columns: with the class.
        levels: of one categorical feature.
        classes: of the target.
        memory: bytes that reading may take (set by `within_memory`).
    """

    bytes: int | None = None
    rows: int | None = None
    columns: int | None = None
    levels: int | None = None
    classes: int | None = None
    memory: int | None = None

    def within_memory(self, max_memory: int | None = None) -> "Limits":
        """Return the limits with `max_memory` bytes; None keeps `memory`, or takes half of the free memory."""
        from alrviz.memory import free_memory  # not at the top: score.py lacks that module

        if max_memory is None and self.memory is not None:
            return self
        return replace(self, memory=free_memory() // 2 if max_memory is None else int(max_memory))

    def check(self, rows: int = 0, columns: int = 0, n_bytes: int = 0, *, unpacked: bool = False) -> None:
        """Raise `TableError` for too many rows, columns or bytes, or `MemoryLimitError` if they need too much memory.

        Numbers may be those so far; `unpacked`: whether more bytes may follow.
        """
        if self.bytes is not None and n_bytes > self.bytes:
            subject = "unpacks to more than" if unpacked else f"holds {size_text(n_bytes)}, more than"
            raise TableError(
                f"the table {subject} the {size_text(self.bytes)} allowed here; take fewer rows or columns"
            )
        if self.rows is not None and rows > self.rows:
            raise TableError(f"the table has more than the {self.rows:,} rows allowed here; take a sample of its rows")
        if self.columns is not None and columns > self.columns:
            raise TableError(
                f"the table has {columns:,} columns, at most {self.columns:,} are allowed here; leave some out"
            )
        n_needed = max(MEMORY_PER_BYTE * n_bytes, (MEMORY_PER_CELL * max(rows, 1) + MEMORY_PER_COLUMN) * columns)
        if self.memory is not None and n_needed > self.memory:
            text = (
                f"reading the table takes {size_text(n_needed)} at least, and {size_text(self.memory)} may be used; "
                "take fewer rows or columns"
            )
            raise MemoryLimitError(Sentence(f"{text}, or pass max_memory to allow more", text), n_needed, self.memory)


NO_LIMITS = Limits()
OWN_LIMITS = Limits(columns=50_000)  # the default: a column takes 1 to 2 ms and 16 kB before any fit


def size_text(size: int) -> str:
    """Return a size in bytes with a suitable unit, as "300 MB"."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if value >= 10 or unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.0f} TB"


def require_rows(rows: int) -> None:
    """Raise `TableError` if the table has no rows of values."""
    if not rows:
        raise TableError("the table has names but no rows; at least one row of values was expected", code=EMPTY_TABLE)


def check_levels(name: str, levels: int, limits: Limits) -> None:
    """Raise `TableError` if a column used as categorical has too many levels."""
    if limits.levels is not None and levels > limits.levels:
        raise TableError(
            f"column {name!r} has {levels:,} levels, at most {limits.levels:,} are allowed here; make its kind 'ignore'"
        )


def check_classes(name: str, classes: int, limits: Limits) -> None:
    """Raise `TableError` if the target has too many classes."""
    if limits.classes is not None and classes > limits.classes:
        raise TableError(
            f"column {name!r} has {classes:,} classes, at most {limits.classes:,} are allowed here; "
            "choose another target"
        )
