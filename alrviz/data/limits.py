"""What a table may be at most, checked before memory is filled.

A server reads tables of strangers, so it passes `Limits`; in a user's own Python only memory and a number of columns
that no model has are limited. Sizes are of the decompressed content, and every check runs while reading, not after it:
a small file that unpacks to 300 GB is refused at the first byte too many.
"""

from dataclasses import dataclass, replace

from alrviz.errors import EMPTY_TABLE, MemoryLimitError, Sentence, TableError

# What reading takes at least, measured on numbers, words and ids: per byte of content, per cell, per column.
OF_A_BYTE, OF_A_CELL, OF_A_COLUMN = 3, 16, 16_000


@dataclass(frozen=True)
class Limits:
    """The most a table may have; None is no limit.

    `bytes` counts the decompressed file (for Parquet and DataFrames the columns in memory), `rows` data rows, `columns`
    all columns with the class, `levels` the levels of one used categorical column, `classes` those of the target,
    `memory` the bytes that reading may take (`within_memory` sets it).
    """

    bytes: int | None = None
    rows: int | None = None
    columns: int | None = None
    levels: int | None = None
    classes: int | None = None
    memory: int | None = None

    def within_memory(self, max_memory: int | None = None) -> "Limits":
        """Return the same limits with these bytes of memory, half of what is free where neither says how many."""
        from alrviz.memory import free_memory  # here, as score.py has none

        if max_memory is None and self.memory is not None:
            return self
        return replace(self, memory=free_memory() // 2 if max_memory is None else int(max_memory))


NO_LIMITS = Limits()
OWN_LIMITS = Limits(columns=50_000)  # where nobody says any: one to two milliseconds and 16 kB a column before any fit


def size_text(size: int) -> str:
    """Return `size` in bytes as people write it: "300 MB"."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if value >= 10 or unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.0f} TB"


def check_bytes(size: int, limits: Limits, *, unpacked: bool = False) -> None:
    """Raise `TableError` if `size` bytes are too many; `unpacked` says that the size is a lower bound so far."""
    if limits.bytes is not None and size > limits.bytes:
        what = "unpacks to more than" if unpacked else f"holds {size_text(size)}, more than"
        raise TableError(f"the table {what} the {size_text(limits.bytes)} allowed here; take fewer rows or columns")
    _check_memory(OF_A_BYTE * size, limits)


def check_cells(rows: int, columns: int, limits: Limits) -> None:
    """Raise `MemoryLimitError` if so many cells take more memory than reading may."""
    _check_memory(OF_A_CELL * rows * columns + OF_A_COLUMN * columns, limits)


def _check_memory(needed: int, limits: Limits) -> None:
    if limits.memory is not None and needed > limits.memory:
        text = (
            f"reading the table takes {size_text(needed)} at least, and {size_text(limits.memory)} may be used; take "
            "fewer rows or columns"
        )
        raise MemoryLimitError(Sentence(f"{text}, or pass max_memory to allow more", text), needed, limits.memory)


def check_rows(rows: int, limits: Limits) -> None:
    """Raise `TableError` if the table has too many rows; `rows` may be what was read so far."""
    if limits.rows is not None and rows > limits.rows:
        raise TableError(f"the table has more than the {limits.rows:,} rows allowed here; take a sample of its rows")


def require_rows(rows: int) -> None:
    """Raise `TableError` if the table has names alone."""
    if not rows:
        raise TableError("the table has names but no rows; at least one row of values was expected", code=EMPTY_TABLE)


def check_columns(columns: int, limits: Limits) -> None:
    """Raise `TableError` if the table has too many columns."""
    if limits.columns is not None and columns > limits.columns:
        raise TableError(
            f"the table has {columns:,} columns, at most {limits.columns:,} are allowed here; leave some out"
        )
    check_cells(1, columns, limits)


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
