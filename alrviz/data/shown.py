"""A column as a data set shows it, and the sentences about columns that a reader should know of."""

from collections.abc import Sequence
from dataclasses import dataclass

from alrviz.data.kinds import IS_ID
from alrviz.data.numbers import listed


@dataclass(frozen=True)
class Column:
    """One column as shown: kind, whether it was guessed and why, distinct values and rows without one."""

    name: str
    kind: str
    guessed: bool
    why: str
    levels: int
    missing: int


def column_notes(columns: Sequence[Column]) -> list[str]:
    """Return what was guessed or left out, a sentence a group of columns."""
    guessed = [column for column in columns if column.guessed]
    names, dated = {column.name for column in columns}, [c.name for c in guessed if c.why.startswith("dates;")]
    groups = (
        ("guessed to be ids and ignored", [c.name for c in guessed if c.why.startswith("an id?")]),
        ("of different numbers of as many digits, as ids are", [c.name for c in guessed if c.why.endswith(IS_ID)]),
        ("without a value and ignored", [c.name for c in guessed if c.why == "it has no values"]),
        ("ignored for too many levels", [c.name for c in guessed if c.why.endswith("allowed here")]),
        ("of dates and split into year, month, weekday", [name for name in dated if f"{name} hour" not in names]),
        ("of dates and split into year, month, weekday, hour", [name for name in dated if f"{name} hour" in names]),
        ("with one value only", [c.name for c in columns if _is_constant(c)]),
    )
    return [
        f"{len(found)} {'column is' if len(found) == 1 else 'columns are'} {what}: {listed(found)}"
        for what, found in groups
        if found
    ]


def _is_constant(column: Column) -> bool:
    return column.levels == 1 and not column.missing and column.kind not in ("ignore", "target")
