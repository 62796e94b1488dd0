"""A table as read, before any meaning: all rows, columns with types, notes.

source -> columns of text or values -> numbers, dates, levels
raw.py                                 interpret.py, or apply_spec.py by a spec
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from alrviz.data.apply_spec import read_by_spec
from alrviz.data.doubts import Doubt, DoubtCode, doubts_among
from alrviz.data.interpret import interpret
from alrviz.data.kinds import date_parts, pair_parts
from alrviz.data.limits import NO_LIMITS, OWN_LIMITS, Limits, require_rows
from alrviz.data.missing import missing_doubts
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import ParseSpec
from alrviz.data.raw import read_raw
from alrviz.data.source import default_name
from alrviz.data.target import TargetChoice, TargetReason, target_choices
from alrviz.data.text import RawTable, ReadRequest
from alrviz.data.values import Values
from alrviz.errors import EMPTY_TABLE, ONE_COLUMN, TableError, listed, nearest, short
from alrviz.stop import NEVER, StopToken

MAX_ALTERNATIVES = 3  # other possible targets that a sentence names


@dataclass(frozen=True, eq=False)
class Table:
    """A table as read: parsed columns of all rows; no target and no kinds yet.

    Attributes:
        options: the options in force, detected ones included; `given_options` are those that the user set.
        sheets: the names of its workbook's sheets.
        head: the unchanged cells of its first row of names.
        stated_kinds: the kinds that its file states beside the names.
    """

    name: str
    values: tuple[Values, ...]
    options: ReadOptions
    limits: Limits = NO_LIMITS  # that apply to levels and classes too
    notes: tuple[str, ...] = ()  # decisions and changes made while reading, as sentences
    sheets: tuple[str, ...] = ()
    given_options: ReadOptions = field(default_factory=ReadOptions)
    head: tuple[str, ...] = ()
    stated_kinds: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_raw(
        cls, name: str, parsed: RawTable, limits: Limits, given_options: ReadOptions, allow_one_column: bool = False
    ) -> "Table":
        """Return a table of a raw table's columns of `Values`; a date or blood pressure is followed by its parts.

        Raises `TableError` for no rows, or fewer than two columns (one with `allow_one_column`).
        """
        values, options = parsed.columns, parsed.options
        if len(values) < 2 - allow_one_column:
            raise TableError(
                f"the table has only one column, {short(values[0].name)}; a class and at least one more were expected"
                + (f" (the delimiter read is {options.delimiter!r})" if options.delimiter else "")
                if values
                else "the table has no columns; a class and at least one more were expected",
                code=ONE_COLUMN if values else EMPTY_TABLE,
            )
        require_rows(len(values[0].series))
        names, all_values = {column.name for column in values}, list[Values]()
        for column in values:
            parts = date_parts(column) if column.dtype_kind == "M" else pair_parts(column)
            all_values += [column, *(part for part in parts if part.name not in names)]
        table = cls(
            name, tuple(all_values), options, limits, (), parsed.sheets, given_options, parsed.head, parsed.kinds
        )
        series = [column.series for column in table.values if not column.is_derived]
        doubts = [missing_doubts(code, series, options) for code in (DoubtCode.SENTINEL, DoubtCode.NO_ANSWER)]
        return replace(table, notes=(*parsed.notes, *chain(*doubts)))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.values)

    @property
    def n_rows(self) -> int:
        """Number of rows, with or without a class."""
        return len(self.values[0].series)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubtful decisions of the reader, each with the options for the alternative."""
        return doubts_among(self.notes)

    @cached_property
    def target_choices(self) -> list[TargetChoice]:
        """The columns that may be the class, the likeliest first, each with the reason."""
        return target_choices(self.values)

    @property
    def default_target(self) -> TargetChoice:
        """The column that the file states to be the class, else the likeliest one."""
        stated = next((name for name, kind in self.stated_kinds.items() if kind == "target"), None)
        return self.target_choices[0] if stated is None else TargetChoice(stated, TargetReason.STATED)

    def other_targets(self, name: str) -> str:
        """Return the names of further columns that may be the class, for a sentence; "" if there are none."""
        names = [choice.name for choice in self.target_choices if choice.name != name][:MAX_ALTERNATIVES]
        return " or ".join(map(short, names))

    def select_rows(self, keep: np.ndarray) -> "Table":
        """Return the rows of a mask (N,), without levels that no longer occur."""
        return replace(self, values=tuple(column.select_rows(keep) for column in self.values))

    def position(self, name: str) -> int:
        """Return the position of a column, from 0; `TableError` for a name that no column has."""
        if name not in self.names:
            raise TableError(
                f"no column is called {name!r}{nearest(name, self.names)}; the columns are {listed(self.names)}"
            )
        return self.names.index(name)


def read_columns(
    path_or_frame: Any,
    *,
    spec: ParseSpec | None = None,
    options: ReadOptions | None = None,
    limits: Limits | None = None,
    name: str | None = None,
    max_memory: int | None = None,
    allow_one_column: bool = False,
    stop: StopToken = NEVER,
    expected_names: Collection[str] = (),
) -> Table:
    """Read a table without choosing a target: the first half of `read_table`, for callers that ask the user for it.

    `expected_names` are known column names, which help to recognise a row of names.
    """
    limits = (limits or OWN_LIMITS).within_memory(max_memory)
    request = ReadRequest(options or ReadOptions(), limits, stop, expected_names)
    if spec is None:
        parsed, given_options = interpret(read_raw(path_or_frame, request), stop), request.options
    else:
        parsed, given_options = read_by_spec(path_or_frame, spec, request), spec.layout.joined_options(request.options)
    return Table.from_raw(name or default_name(path_or_frame), parsed, limits, given_options, allow_one_column)
