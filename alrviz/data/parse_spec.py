"""How a table was read, as a value: applied to the rows that come later, kept as JSON, printed, edited and passed back.

    ParseSpec
      layout     where in a file the table is: delimiter, encoding, rows of names, lines before and behind
      columns    a ColumnSpec for every column of the source, and for every feature made of a date:
                 what its texts are (number, date, time, levels), what is missing, marks, unit, spellings; its kind

`read_table` makes it (`Dataset.spec`), `read_table(spec=...)`, `predict_table`, tables read in batches, SQL and the
script beside a model apply it. This is part of score.py in every model file: it needs the standard library, numpy and
pyarrow, and nothing else.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.options import CERTAIN, DECIMALS, DOUBTFUL, THOUSANDS
from alrviz.data.parse_values import (
    DATE_FORMS,
    DATE_PARTS,
    ISO,
    NO_DATE,
    PIVOT,
    TIME_FORMS,
    WHOLE,
    as_floats,
    bare_numbers,
    date_part,
    dates_of,
    distinct_names,
    folded,
    hours_of,
    is_plain,
    level_text,
    number_pattern,
    number_text,
    numbers_among,
    without_limits,
)
from alrviz.errors import TableError, nearest

NO_SPEC = (  # of a model without one, where it is given a file
    "the model does not say how its table was read, so texts are levels as they stand; "
    "alrviz.save_model(model, path, dataset=...) keeps it"
)
SPEC_FORMAT = 3  # raised when what is in a spec comes to mean something else
VALUE_TYPES = {"number": "a number", "date": "a date", "time": "a time", "levels": "a number"}  # what a text has to be
AMOUNT_TYPES = {
    **dict.fromkeys(("hours and minutes", "years to days"), "a length of time"),
    "feet and inches": "a height",
    **dict.fromkeys(("first of two", "second of two"), "two numbers such as 120/80"),
}
FEATURE_KINDS = ("categorical", "numeric", "ordinal")

ParsedValues = tuple["np.ndarray", "np.ndarray"]  # the values of rows (N,), and which hold something unreadable


@dataclass(frozen=True)
class ColumnSpec:
    """How the values of a column are made of its cells, or a feature of a column of dates.

    Attributes:
        name: of the column or feature.
        source: the column of the source that it is made of.
        type: of its values, one of `VALUE_TYPES`.
        kind: what it is used as: one of `FEATURE_KINDS`, "target", "ignore" ...
        part: of a date, one of `DATE_PARTS`; "" for the column of dates itself.
        missing: texts that are missing, numbers among them as numbers too.
        decimal, thousands: marks of numbers; decimal "" where the source had numbers of its own type and no text.
        unit: what may stand beside a number; None where nothing does.
        form: of dates or times; "" where the source had dates of its own type.
        day_first: whether the day comes first in dates that leave it open; None where the form has its own order.
        spellings: the level that stands for a text's spellings, by the folded text.
        limits: whether numbers may be limits (<5), which are read as the number.
        pivot: years of two digits below it are of this century.
        order: levels of an ordered category, where they have no natural order.
    """

    name: str
    source: str
    type: str = "levels"
    kind: str = "categorical"
    part: str = ""
    missing: tuple[str, ...] = ("",)
    decimal: str = ""
    thousands: str = ""
    unit: str | None = None
    form: str = ""
    day_first: bool | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)
    limits: bool = False
    pivot: int = PIVOT
    order: tuple[str, ...] = ()

    @property
    def needs_order(self) -> bool:
        """Whether the table's own dates leave it open which of day and month comes first."""
        return self.type == "date" and "first" in DATE_FORMS.get(self.form, "")

    @property
    def expected(self) -> str:
        """What a text has to be, in words."""
        order = "" if self.day_first is None else f", {'day' if self.day_first else 'month'} first"
        return AMOUNT_TYPES.get(self.form, VALUE_TYPES[self.type]) + order + (f" in {self.unit!r}" if self.unit else "")

    @property
    def hint(self) -> str:
        """What may be said, where a text is not that."""
        if self.type != "date" or self.day_first is not None:
            return ""
        return (
            "; that table does not tell which comes first in 5/6/2020, day or month: dayfirst, or --day-first, says it"
        )

    def parse_texts(self, texts: "pa.Array") -> ParsedValues:
        """Return the values (N,) of distinct texts, and which of these are there and cannot be read: they are missing.

        Values are float64 of numbers, NaN where missing; datetime64 of a column of dates; else texts, None where
        missing.
        """
        if not len(texts):
            return self._gap[:0], np.zeros(0, dtype=bool)
        texts = pc.utf8_trim_whitespace(texts)
        gone = pc.is_in(texts, value_set=pa.array(self.missing, type=pa.string())).to_numpy(zero_copy_only=False)
        if self.type == "levels" and self.kind != "numeric":
            levels = self._levels(texts)
            levels[gone] = None
            return levels, np.zeros(len(texts), dtype=bool)
        values = self._dates(texts) if self.type == "date" else self._numbers(texts)
        absent = np.isnat(values) if self.type == "date" else np.isnan(values)
        made = self.take_dates(values) if self.type == "date" else self._as_kind(self._without_tokens(values))
        return np.where(gone, self._gap, made), absent & ~gone

    def parse_cells(self, texts: "pa.Array", codes: "np.ndarray", typed: "np.ndarray | None" = None) -> ParsedValues:
        """Return the values of rows and which cannot be read: `codes` (N,) into distinct texts, -1 where missing.

        Rows of `typed` (N,) bool were numbers in the source, and their texts Python's: marks are none of theirs.
        """
        distinct, wrong = self.parse_texts(texts)
        values, bad = np.concatenate([distinct, self._gap])[codes], np.append(wrong, False)[codes]
        if typed is not None and self.type == "number":
            rows = np.flatnonzero(typed & (codes >= 0))
            places, back = np.unique(codes[rows], return_inverse=True)
            values[rows], bad[rows] = self.take_numbers(as_floats(texts.take(pa.array(places)), ".", "")[back])
        return values, bad

    def take_numbers(self, numbers: "np.ndarray") -> ParsedValues:
        """Return the same of numbers (N,), NaN where missing."""
        if self.type in ("number", "time") or (self.type == "levels" and self.kind == "numeric"):
            return self._as_kind(self._without_tokens(numbers)), np.zeros(len(numbers), dtype=bool)
        distinct, inverse = np.unique(numbers, return_inverse=True)
        texts = pa.array(["" if np.isnan(number) else number_text(number) for number in distinct], type=pa.string())
        values, bad = self.parse_texts(texts)
        return values[inverse], (bad & ~np.isnan(distinct))[inverse]

    def take_dates(self, dates: "np.ndarray") -> "np.ndarray":
        """Return the part that the feature is of dates (N,), NaT where missing; the dates if it is none."""
        if not self.part:
            return dates
        numbers = date_part(dates, self.part)
        labels = DATE_PARTS[self.part]
        if not labels:
            return self._as_kind(numbers)
        lookup = np.array([*labels, None], dtype=object)
        return lookup[np.where(np.isnan(numbers), len(labels), numbers).astype(np.int64)]

    @property
    def _gap(self) -> "np.ndarray":
        """A missing value, as an array (1,)."""
        if self.type == "date" and not self.part:
            return np.array([NO_DATE])
        return np.array([np.nan]) if self.kind == "numeric" else np.array([None], dtype=object)

    def _as_kind(self, numbers: "np.ndarray") -> "np.ndarray":
        if self.kind == "numeric":
            return numbers
        return np.array([None if np.isnan(number) else number_text(number) for number in numbers], dtype=object)

    def _without_tokens(self, numbers: "np.ndarray") -> "np.ndarray":
        tokens = numbers_among(self.missing)
        return np.where(np.isin(numbers, tokens), np.nan, numbers) if tokens else numbers

    def _numbers(self, texts: "pa.Array") -> "np.ndarray":
        """Texts as numbers, NaN where they are none."""
        if self.type == "time":
            return hours_of(texts, self.form)
        if self.limits:
            texts = without_limits(texts)
        if self.unit is not None:
            bare = bare_numbers(texts)
            known = (unit in ("", self.unit) for unit in bare.units)
            plain = pa.array([n if fits else None for n, fits in zip(bare.numbers, known, strict=True)], pa.string())
            texts = pc.fill_null(plain, "")
        marks = self.decimal or ".", self.thousands
        fits = pc.match_substring_regex(texts, number_pattern(*marks)).to_numpy(zero_copy_only=False)
        numbers = np.full(len(texts), np.nan)
        numbers[fits] = as_floats(texts.filter(pa.array(fits)), *marks)
        numbers[np.isinf(numbers)] = np.nan
        return numbers

    def _dates(self, texts: "pa.Array") -> "np.ndarray":
        """Texts as dates, NaT where they are none: in the table's form, else in any whose order is known."""
        found = np.full(len(texts), NO_DATE)
        known = [form for form, text in WHOLE.items() if self.day_first is not None or "first" not in text]
        for form in dict.fromkeys((self.form or ISO, ISO, *known)):
            left = np.isnat(found)
            if not left.any():
                break
            found[left] = dates_of(texts.filter(pa.array(left)), form, bool(self.day_first), self.pivot)
        return found

    def _levels(self, texts: "pa.Array") -> "np.ndarray":
        levels: list[Any] = texts.to_pylist()
        if self.spellings:
            keys = folded(texts).to_pylist()
            levels = [
                self.spellings.get(key, text) if is_plain(text) else text
                for key, text in zip(keys, levels, strict=True)
            ]
        return np.array([*levels, None], dtype=object)[:-1]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: the attributes that are not their defaults, nor the usual missing texts."""
        state = _changed(self)
        if self.missing == usual_missing(self.type):
            del state["missing"]
        elif self.missing == ("",):
            state["missing"] = [""]
        return state

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "ColumnSpec":
        """Rebuild what `to_dict` gave."""
        _check_keys(state, cls, f"column {state.get('name')!r}")
        lists: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in state.items()
        }
        result = cls(**{"missing": usual_missing(state.get("type", "levels")), **lists})
        result._check()
        return result

    def _check(self) -> None:
        """Raise `TableError` for a value that no column has."""
        forms = {"date": DATE_FORMS, "time": TIME_FORMS}.get(self.type, {})
        texts = [self.name, self.source, self.kind, *self.missing, *self.order]
        texts += [*self.spellings, *self.spellings.values()]
        for name, value, is_valid in (
            ("type", self.type, self.type in VALUE_TYPES),
            ("part", self.part, self.part in (("", *DATE_PARTS) if self.type == "date" else ("",))),
            ("form", self.form, self.form in forms or (self.form == "" and self.type != "time")),
            ("decimal", self.decimal, self.decimal in ("", *DECIMALS)),
            ("thousands", self.thousands, self.thousands in THOUSANDS and self.thousands != (self.decimal or None)),
            ("unit", self.unit, isinstance(self.unit, str | None)),
            ("day_first", self.day_first, self.day_first in (True, False, None)),
            ("limits", self.limits, self.limits in (True, False)),
            ("pivot", self.pivot, self.pivot in range(101)),
            ("a text", "another value", all(isinstance(text, str) for text in texts)),
        ):
            if not is_valid:
                choices = {"type": [*VALUE_TYPES], "part": [*DATE_PARTS], "form": [*forms]}.get(name, [])
                expected = f"; one of {', '.join(choices)} was expected" if choices else ""
                raise TableError(f"column {self.name!r}: {name} cannot be {value!r}{expected}{nearest(value, choices)}")

    def for_columns(self, names: Collection[str]) -> "ColumnSpec":
        """Return how the feature is made of a table of these columns, which may have it itself instead of its date."""
        if self.part and self.name in names:
            type_ = "number" if self.kind == "numeric" else "levels"
            return replace(self, source=self.name, part="", type=type_, form="")
        source, _, part = self.name.rpartition(" ")
        if not self.part and self.source not in names and source in names and part in DATE_PARTS:
            return replace(self, source=source, type="date", part=part, form="")
        return self


def usual_missing(type_: str) -> tuple[str, ...]:
    """Return the texts that are usually missing in a column of this type."""
    return CERTAIN if type_ == "levels" else (*CERTAIN, *DOUBTFUL)  # the first is the empty one


@cache
def in_usual_order(missing: tuple[str, ...]) -> tuple[str, ...]:
    """Return texts that are missing, each once, so that two specs with the same ones are equal."""
    places = {text: place for place, text in enumerate(usual_missing("number"))}
    return tuple(sorted(set(missing), key=lambda text: (places.get(text, len(places)), text)))


def _changed(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields that are not their defaults, as JSON holds them."""
    state = {}
    for each in fields(value):
        own = getattr(value, each.name)
        default = each.default if each.default_factory is NO_DEFAULT else each.default_factory()
        if own != default:
            state[each.name] = list(own) if isinstance(own, tuple) else dict(own) if isinstance(own, Mapping) else own
    return state


def _with_tuples(state: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in state.items()}


def _check_keys(state: Any, cls: type, what: str) -> None:
    """Raise `TableError` where a state is no mapping, lacks a field or has one that the class has not."""
    if not isinstance(state, Mapping):
        raise TableError(f"{what} of a spec is {state!r}; a mapping was expected")
    names = [each.name for each in fields(cls)]
    needed = [e.name for e in fields(cls) if e.default is NO_DEFAULT and e.default_factory is NO_DEFAULT]
    for key in state:
        if key not in names:
            raise TableError(f"{what} of a spec has no {key!r}{nearest(key, names)}; it may have {', '.join(names)}")
    if lost := [name for name in needed if name not in state]:
        raise TableError(f"{what} of a spec lacks {lost[0]!r}")


@dataclass
class ParseErrorCounts:
    """Of a column of which something cannot be read, over all rows: how much that is, and how much could be read."""

    expected: str  # what a text has to be
    example: str  # of those that are not
    hint: str  # of what may be said
    bad: int = 0
    read: int = 0

    @classmethod
    def of(cls, column: ColumnSpec, example: str, parsed: ParsedValues) -> "ParseErrorCounts":
        """Count a column's values of rows."""
        values, bad = parsed
        present = values == values if values.dtype != object else values != None  # noqa: E711 (of each value)
        return cls(column.expected, example, column.hint, int(bad.sum()), int(present.sum()))

    def plus(self, other: "ParseErrorCounts") -> "ParseErrorCounts":
        """Return the count of both's rows."""
        first = self if self.bad else other
        return replace(first, bad=self.bad + other.bad, read=self.read + other.read)

    def note(self, name: str) -> str:
        """Return a sentence on what of the column called `name` cannot be read."""
        values = "1 value" if self.bad == 1 else f"{self.bad:,} values"
        return f"{values} of {name!r} cannot be read as {self.expected}, such as {self.example}: missing"

    def refusal(self, name: str) -> str:
        """Return why the column called `name` cannot be read, empty where some of it can, or one value is to blame."""
        if self.bad < 2 or self.read:
            return ""
        advice = self.hint or "; options (decimal, thousands, missing) say how these rows are to be read"
        return (
            f"column {name!r} cannot be read: none of its {self.bad:,} values, such as {self.example}, is "
            f"{self.expected}, as in the table that the model learned from{advice}"
        )


Counts = dict[str, ParseErrorCounts]  # by column of the source


def add_counts(to: Counts, more: Mapping[str, ParseErrorCounts]) -> None:
    """Add what was counted of further rows."""
    for name, count in more.items():
        to[name] = to[name].plus(count) if name in to else count


def check_counts(counts: Mapping[str, ParseErrorCounts]) -> None:
    """Raise `TableError` for a column of which nothing can be read."""
    refusals = (count.refusal(name) for name, count in counts.items())
    if refusal := next(filter(None, refusals), ""):
        raise TableError(refusal)


@dataclass(frozen=True)
class Layout:
    """Where in its source a table is; None where the source has no such thing, or it is to be detected.

    Attributes:
        names: of the source's columns, in order.
        head: the cells of its first row of names as they stand, () without one.
        delimiter, encoding, header, skip_rows, skip_footer, comment, sheet: as `ReadOptions` has them.
        fixed: which of them somebody said: others are looked for again in a file that is laid out in another way.
    """

    names: tuple[str, ...]
    head: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | int | None = None
    skip_rows: int | None = None
    skip_footer: int | None = None
    comment: str | None = None
    sheet: str | int | None = None
    fixed: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Sequence[str], head: Sequence[str], in_force: Any, given: Any) -> "Layout":
        """Return a layout by the options that were in force, and those that were given."""
        options = {name: getattr(in_force, name) for name in LAYOUT_OPTIONS}
        fixed = tuple(name for name in LAYOUT_OPTIONS if getattr(given, name) is not None)
        return cls(tuple(names), tuple(head), **options, fixed=fixed)

    @property
    def n_names(self) -> int:
        """How many rows hold the names."""
        return 1 if self.header is None else int(self.header)

    @property
    def is_unnamed(self) -> bool:
        """Whether the table had no names, and its columns were numbered: rows are then told by their places."""
        return not self.head and self.names == tuple(f"column {k + 1}" for k in range(len(self.names)))

    @property
    def is_text(self) -> bool:
        """Whether the source was a text."""
        return self.encoding is not None

    @property
    def given(self) -> dict[str, Any]:
        """What somebody said, by name."""
        return {name: getattr(self, name) for name in self.fixed}


LAYOUT_OPTIONS = ("delimiter", "encoding", "header", "skip_rows", "skip_footer", "comment", "sheet")


@dataclass(frozen=True)
class ParseSpec:
    """How a table was read.

    Attributes:
        layout: where in its source it is.
        columns: every column of the source and every feature made of a date; of a model its features alone, in order.
        quartiles: whether the numeric target was cut into quartiles.
    """

    layout: Layout
    columns: tuple[ColumnSpec, ...]
    quartiles: bool = False

    @classmethod
    def of_model(cls, columns: Sequence[Mapping[str, Any]], signs: Sequence[str]) -> "ParseSpec":
        """Return how rows are read for a model that was fitted to a table in memory: as that table's values were taken.

        Texts are levels as they stand, numbers are numbers; names are expected in the first line of a file.

        Args:
            columns: the model's columns, as `ColumnEncoder.to_dict` gives them.
            signs: texts that stand for a missing value, except those that are levels of their column.
        """
        names = [column["name"] for column in columns]
        sources = tuple(distinct_names(names)[0])
        specs = []
        for name, source, column in zip(names, sources, columns, strict=True):
            numeric = column["kind"] == "numeric"
            levels = set() if numeric else {level_text(value) for value in column["values"] or ()}
            missing = ("", *(sign for sign in signs if sign and sign not in levels))
            type_, kind = ("number", "numeric") if numeric else ("levels", "categorical")
            specs.append(ColumnSpec(name, source, type_, kind, missing=missing))
        layout = Layout(sources, sources, delimiter=",", header=1, skip_rows=0, skip_footer=0, comment="")
        return cls(layout, tuple(specs))

    @property
    def features(self) -> tuple[ColumnSpec, ...]:
        """The columns to predict from."""
        return tuple(column for column in self.columns if column.kind in FEATURE_KINDS)

    @property
    def target(self) -> str | None:
        """The column that is the class; None where none is."""
        return next((column.name for column in self.columns if column.kind == "target"), None)

    @property
    def sources(self) -> list[str]:
        """The columns that rows need, each once."""
        return list(dict.fromkeys(column.source for column in self.columns))

    def for_columns(self, names: Collection[str], day_first: bool | None = None) -> list[ColumnSpec]:
        """Return how columns are made of a table of these: what is made of a date may itself be there, and where a
        feature such as "born year" is not, a date "born" is what `read_table` would make it of.

        `day_first`: whether the day comes before the month in dates, where that is said of this table.
        """
        columns = [each.for_columns(names) for each in self.columns]
        if day_first is None:
            return columns
        return [replace(each, day_first=day_first) if each.type == "date" else each for each in columns]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        state: dict[str, Any] = {"format": SPEC_FORMAT, "layout": _changed(self.layout)}
        if self.quartiles:
            state["quartiles"] = True
        return {**state, "columns": [column.to_dict() for column in self.columns]}

    def to_json(self) -> str:
        """Return the spec as JSON, to be kept, edited and passed to `read_table(spec=...)`."""
        state = self.to_dict()
        parts = {key: json.dumps(value, ensure_ascii=False) for key, value in state.items()}
        parts["columns"] = "[\n  " + ",\n  ".join(json.dumps(c, ensure_ascii=False) for c in state["columns"]) + "\n ]"
        return "{\n" + ",\n".join(f' "{key}": {text}' for key, text in parts.items()) + "\n}\n"

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "ParseSpec":
        """Rebuild what `to_dict` gave.

        Raises `TableError` for another format, and for what no spec has.
        """
        if not isinstance(state, Mapping) or state.get("format") != SPEC_FORMAT:
            found = state.get("format") if isinstance(state, Mapping) else state
            raise TableError(
                f"the spec has format {found!r}, and this version reads format {SPEC_FORMAT}; read the table and save "
                "the model anew"
            )
        _check_keys({key: value for key, value in state.items() if key != "format"}, cls, "the whole")
        layout, columns = state["layout"], state["columns"]
        _check_keys(layout, Layout, "the layout")
        lists: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in layout.items()
        }
        result = cls(Layout(**lists), tuple(map(ColumnSpec.from_dict, columns)), bool(state.get("quartiles", False)))
        if not all(isinstance(text, str) for text in (*result.layout.names, *result.layout.head)):
            raise TableError("the names in the layout of a spec are no texts")
        if wrong := [name for name in result.layout.fixed if name not in LAYOUT_OPTIONS]:
            raise TableError(f"{wrong[0]!r} is no option of a layout{nearest(wrong[0], LAYOUT_OPTIONS)}")
        return result
