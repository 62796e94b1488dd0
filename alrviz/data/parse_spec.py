"""`ParseSpec`: all decisions of reading a table, to be applied to later rows, saved as JSON, and edited.

    ParseSpec
      layout     position of the table in a file: delimiter, encoding, rows of names, lines before and behind
      columns    a ColumnSpec for every column of the source, and for every feature derived from a date:
                 type of its texts (number, date, time, levels), missing texts, marks, unit, spellings; its kind

`read_table` creates it (`Dataset.spec`); `read_table(spec=...)`, `predict_table`, tables read in batches, SQL and the
script of a model file apply it. Part of score.py in every model file: it needs only the standard library, numpy and
pyarrow.
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

from alrviz.data.options import CERTAIN, DECIMALS, DOUBTFUL, THOUSANDS, ReadOptions
from alrviz.data.parse_values import (
    DATE_FORMS,
    DATE_PARTS,
    DAY_FORMS,
    ISO,
    MINGUO,
    NO_DATE,
    PIVOT,
    TIME_FORMS,
    as_floats,
    ascii_numbers,
    bare_numbers,
    date_part,
    dates_of,
    distinct_names,
    folded,
    has_usual_capitals,
    hours_of,
    level_text,
    number_pattern,
    number_text,
    numbers_among,
    plain_floats,
    spelling_lookup,
    without_annotations,
    without_limits,
)
from alrviz.errors import TableError, listed, nearest

NO_SPEC = (  # note if a model without a spec predicts a file
    "the model does not say how its table was read, so texts are levels as they stand; "
    "alrviz.save_model(model, path, dataset=...) keeps it"
)
SPEC_FORMAT = 3  # increased when a field of a spec changes its meaning
# Types of values, each with the words for a readable text; a column of levels refuses a text only if it is numeric.
VALUE_TYPES = {"number": "a number", "date": "a date", "time": "a time", "levels": "a number"}
AMOUNT_TYPES = {
    **dict.fromkeys(("hours and minutes", "years to days"), "a length of time"),
    "feet and inches": "a height",
    **dict.fromkeys(("first of two", "second of two"), "two numbers such as 120/80"),
}
FEATURE_KINDS = ("categorical", "numeric", "ordinal")

ParsedValues = tuple["np.ndarray", "np.ndarray"]  # the values of rows (N,), and which cannot be read


@dataclass(frozen=True)
class ColumnSpec:
    """The rules by which the cells of a column are parsed, or a feature is derived from a date.

    Attributes:
        name: of the column or feature.
        source: the column of the source from which it is read.
        type: of its values, one of `VALUE_TYPES`.
        kind: its use: one of `FEATURE_KINDS`, "target", "ignore" ...
        part: of a date, one of `DATE_PARTS`; "" for the column of dates itself.
        missing: texts that are missing; those that are numbers also as numbers.
        decimal, thousands: marks of numbers; decimal "" if the source had typed numbers and no text.
        unit: of numbers, "" for marks without a unit; None without either.
        form: of dates or times; "" if the source had typed dates.
        day_first: whether the day comes first in ambiguous dates; None if the form has a fixed order.
        spellings: the level of a text, by the text or by its form in lower case with single spaces.
        limits: whether numbers may be limits (<5), which are read as the number.
        annotations: whether flags, footnotes and remarks beside numbers are removed, see `without_annotations`.
        pivot: two-digit years below it are of this century.
        order: the levels of an ordinal column, if they have no natural order.
        fill_down: whether an empty cell has the value above it.
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
    annotations: bool = False
    pivot: int = PIVOT
    order: tuple[str, ...] = ()
    fill_down: bool = False

    @property
    def value_description(self) -> str:
        """Description of a readable text, such as "a date, day first"."""
        order = "" if self.day_first is None else f", {'day' if self.day_first else 'month'} first"
        return AMOUNT_TYPES.get(self.form, VALUE_TYPES[self.type]) + order + (f" in {self.unit!r}" if self.unit else "")

    @property
    def hint(self) -> str:
        """Advice for unreadable texts, as the end of a sentence; "" without any."""
        if self.type != "date" or self.day_first is not None:
            return ""
        return (
            "; that table does not tell which comes first in 5/6/2020, day or month: dayfirst, or --day-first, says it"
        )

    def parse_texts(self, texts: "pa.Array") -> ParsedValues:
        """Return the values (L,) of distinct, trimmed texts, and the mask (L,) of unreadable ones.

        Values are float64 for numbers, NaN if missing or unreadable; datetime64 for a column of dates; else texts, None
        if missing.
        """
        if not len(texts):
            return self.gap[:0], np.zeros(0, dtype=bool)
        if self.type == "levels" and self.kind != "numeric":
            levels = [*self.rename_levels(texts).to_pylist(), None]
            return np.array(levels, dtype=object)[:-1], np.zeros(len(texts), dtype=bool)
        is_gap = self._is_gap(texts)
        if self.type == "date":
            dates = np.full(len(texts), NO_DATE)
            dates[~is_gap] = self._dates(texts.filter(pa.array(~is_gap)))
            is_unread, values = np.isnat(dates), self.take_dates(dates)
        else:
            numbers = self._numbers(pc.if_else(pa.array(is_gap), None, texts))
            is_unread, values = np.isnan(numbers), self._as_kind(self._without_tokens(numbers))
        return (np.where(is_gap, self.gap, values) if is_gap.any() else values), is_unread & ~is_gap

    def rename_levels(self, texts: "pa.Array") -> "pa.Array":
        """Return the level (L,) of each of some distinct texts, null if it is missing.

        A text is looked up unchanged, and, unless it has a capital within a word, in lower case with single spaces.
        """
        is_gap = self._is_gap(texts)
        if self.spellings:
            pairs = zip(texts.to_pylist(), folded(texts).to_pylist(), strict=True)
            find = self.spellings.get
            levels = [find(text) or (has_usual_capitals(text) and find(key)) or text for text, key in pairs]
            renamed = pa.array(levels, type=pa.string())
            texts = texts if renamed.equals(texts) else renamed
        return pc.if_else(pa.array(is_gap), None, texts) if is_gap.any() else texts

    def _is_gap(self, texts: "pa.Array") -> "np.ndarray":
        """Return the mask (L,) of texts that are missing."""
        gaps: np.ndarray = pc.is_in(texts, value_set=pa.array(self.missing, pa.string())).to_numpy(zero_copy_only=False)
        return gaps

    def take_numbers(self, numbers: "np.ndarray") -> ParsedValues:
        """Return the values of cells that are numbers (N,), NaN if missing, and the mask of unreadable ones."""
        if self.type in ("number", "time") or (self.type == "levels" and self.kind == "numeric"):
            return self._as_kind(self._without_tokens(numbers)), np.zeros(len(numbers), dtype=bool)
        distinct, inverse = np.unique(numbers, return_inverse=True)
        texts = pa.array(["" if np.isnan(number) else number_text(number) for number in distinct], type=pa.string())
        values, bad = self.parse_texts(texts)
        return values[inverse], (bad & ~np.isnan(distinct))[inverse]

    def take_dates(self, dates: "np.ndarray") -> "np.ndarray":
        """Return the feature's part of dates (N,), NaT if missing; for the column of dates the dates themselves."""
        if not self.part:
            return dates
        numbers = date_part(dates, self.part)
        labels = DATE_PARTS[self.part]
        if not labels:
            return self._as_kind(numbers)
        lookup = np.array([*labels, None], dtype=object)
        return lookup[np.where(np.isnan(numbers), len(labels), numbers).astype(np.int64)]

    @property
    def gap(self) -> "np.ndarray":
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
        """Return texts (L,) as numbers, NaN if null or no number."""
        marks = self.decimal or ".", self.thousands
        if self.type != "time" and marks == (".", "") and (plain := plain_floats(texts)) is not None:
            return np.where(np.isinf(plain), np.nan, plain)
        texts = ascii_numbers(pc.fill_null(texts, ""))
        if self.type == "time":
            return hours_of(texts, self.form)
        if self.limits:
            texts = without_limits(texts)
        if self.annotations:
            texts, _ = without_annotations(texts)
        if self.unit is not None:
            quantities = bare_numbers(texts)
            fits_unit = (unit in ("", self.unit) for unit in quantities.units)
            plain_texts = [n if fits else None for n, fits in zip(quantities.numbers, fits_unit, strict=True)]
            texts = pc.fill_null(pa.array(plain_texts, pa.string()), "")
        fits = pc.match_substring_regex(texts, number_pattern(*marks)).to_numpy(zero_copy_only=False)
        numbers = np.full(len(texts), np.nan)
        numbers[fits] = as_floats(texts.filter(pa.array(fits)), *marks)
        numbers[np.isinf(numbers)] = np.nan
        return numbers

    def _dates(self, texts: "pa.Array") -> "np.ndarray":
        """Return texts as dates in the spec's form, else in any unambiguous form; NaT for other texts."""
        dates = np.full(len(texts), NO_DATE)
        clear = [form for form, text in DAY_FORMS.items() if self.day_first is not None or "first" not in text]
        clear.remove(MINGUO)  # 114/05/01 may be a mistake in a column of other dates
        for form in dict.fromkeys((self.form or ISO, ISO, *clear)):
            is_unread = np.isnat(dates)
            if not is_unread.any():
                break
            dates[is_unread] = dates_of(texts.filter(pa.array(is_unread)), form, bool(self.day_first), self.pivot)
        return dates

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes that differ from their defaults as JSON values."""
        state = _non_defaults(self)
        if self.missing == usual_missing(self.type):
            del state["missing"]
        elif self.missing == ("",):
            state["missing"] = [""]
        return state

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "ColumnSpec":
        """Rebuild the specification from `to_dict`'s state."""
        _check_keys(state, cls, f"column {state.get('name')!r}")
        result = cls(**{"missing": usual_missing(state.get("type", "levels")), **_with_tuples(state)})
        result._check()
        return result

    def _check(self) -> None:
        """Raise `TableError` for an invalid value of an attribute."""
        forms = {"date": DATE_FORMS, "time": TIME_FORMS}.get(self.type, {})
        texts = [self.name, self.source, self.kind, *self.missing, *self.order]
        texts += [*self.spellings, *self.spellings.values()]
        flags = {"limits": self.limits, "annotations": self.annotations, "fill_down": self.fill_down}
        for name, value, is_valid in (
            ("type", self.type, self.type in VALUE_TYPES),
            ("part", self.part, self.part in (("", *DATE_PARTS) if self.type == "date" else ("",))),
            ("form", self.form, self.form in forms or (self.form == "" and self.type != "time")),
            ("decimal", self.decimal, self.decimal in ("", *DECIMALS)),
            ("thousands", self.thousands, self.thousands in THOUSANDS and self.thousands != (self.decimal or None)),
            ("unit", self.unit, isinstance(self.unit, str | None)),
            ("day_first", self.day_first, self.day_first in (True, False, None)),
            *((flag, value, value in (True, False)) for flag, value in flags.items()),
            ("pivot", self.pivot, self.pivot in range(101)),
            ("a text", "another value", all(isinstance(text, str) for text in texts)),
        ):
            if not is_valid:
                choices = {"type": [*VALUE_TYPES], "part": [*DATE_PARTS], "form": [*forms]}.get(name, [])
                choices_text = f"; one of {', '.join(choices)} was expected" if choices else ""
                raise TableError(
                    f"column {self.name!r}: {name} cannot be {value!r}{choices_text}{nearest(value, choices)}"
                )

    def for_columns(self, names: Collection[str]) -> "ColumnSpec":
        """Return the spec for a table of these columns, which may have a derived feature instead of its date."""
        if self.part and self.name in names:
            type_ = "number" if self.kind == "numeric" else "levels"
            return replace(self, source=self.name, part="", type=type_, form="")
        source, _, part = self.name.rpartition(" ")
        if not self.part and self.source not in names and source in names and part in DATE_PARTS:
            return replace(self, source=source, type="date", part=part, form="")
        return self

    def with_options(self, options: ReadOptions) -> "ColumnSpec":
        """Return the spec with the missing texts, marks, order of dates and `fill_down` given for these rows in place
        of its own; spellings are added to its own.

        If a given mark of numbers equals the spec's other mark, that one is changed. `merge_case=False` drops the
        spec's spellings; True raises `TableError`, as the spellings are those of the spec's table.
        """
        by_type: dict[str, dict[str, Any]] = {
            "date": {"day_first": options.dayfirst, "pivot": options.pivot},
            "number": {"decimal": options.decimal, "thousands": options.thousands, "annotations": options.numbers},
        }
        changes: dict[str, Any] = {}
        if options.merge_case:
            raise TableError(
                "merge_case=True does not go with a spec, whose spellings are those of its table; None (use the "
                "spec's) or False (keep all spellings apart) was expected"
            )
        if options.merge_case is False:  # restored bands, such as 6-25 for Jun-25, are kept
            pairs = self.spellings.items()
            changes["spellings"] = {k: v for k, v in pairs if " ".join(v.lower().split()) != k.lower()}
        if options.spellings is not None and self.type == "levels":
            changes["spellings"] = {**changes.get("spellings", self.spellings), **spelling_lookup(options.spellings)}
        if options.fill_down is not None:
            changes["fill_down"] = options.fill_down
        if options.missing is not None:
            changes["missing"] = options.missing
        changes |= {name: value for name, value in by_type.get(self.type, {}).items() if value is not None}
        decimal, thousands = changes.get("decimal", self.decimal), changes.get("thousands", self.thousands)
        if thousands and thousands == decimal:
            changes |= {"thousands": ""} if options.thousands is None else {"decimal": "." if thousands == "," else ","}
        return replace(self, **changes)


def usual_missing(type_: str) -> tuple[str, ...]:
    """Return the texts that are usually missing in a column of this type."""
    return CERTAIN if type_ == "levels" else (*CERTAIN, *DOUBTFUL)  # the first is the empty text


@cache
def in_usual_order(missing: tuple[str, ...]) -> tuple[str, ...]:
    """Return distinct missing texts in one order, so that specs with the same texts are equal."""
    rank_by_text = {text: rank for rank, text in enumerate(usual_missing("number"))}
    return tuple(sorted(set(missing), key=lambda text: (rank_by_text.get(text, len(rank_by_text)), text)))


def _non_defaults(spec: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, as JSON values."""
    state = {}
    for attribute in fields(spec):
        value = getattr(spec, attribute.name)
        factory = attribute.default_factory
        if value != (attribute.default if factory is NO_DEFAULT else factory()):
            value = list(value) if isinstance(value, tuple) else value
            state[attribute.name] = dict(value) if isinstance(value, Mapping) else value
    return state


def _with_tuples(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state with the lists of JSON as tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in state.items()}


def _check_keys(state: Any, cls: type, subject: str) -> None:
    """Raise `TableError` for a state of `cls` that is no mapping, lacks a field or has an unknown one."""
    if not isinstance(state, Mapping):
        raise TableError(f"{subject} of a spec is {state!r}; a mapping was expected")
    names = [attribute.name for attribute in fields(cls)]
    required = [e.name for e in fields(cls) if e.default is NO_DEFAULT and e.default_factory is NO_DEFAULT]
    for key in state:
        if key not in names:
            raise TableError(f"{subject} of a spec has no {key!r}{nearest(key, names)}; it may have {', '.join(names)}")
    if missing_name := next((name for name in required if name not in state), None):
        raise TableError(f"{subject} of a spec lacks {missing_name!r}")


@dataclass(frozen=True)
class Layout:
    """The position of a table in its source; None if it does not apply to the source, or is to be detected.

    Attributes:
        names: of the source's columns, in order.
        head: the unchanged cells of its first row of names, () without one.
        delimiter, encoding, header, skip_rows, skip_footer, comment, sheet, long_form: as in `ReadOptions`.
        fixed: the options that the user set; all others are detected again in a file of another layout.
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
    long_form: tuple[str, ...] | None = None
    fixed: tuple[str, ...] = ()

    @classmethod
    def from_options(cls, names: Sequence[str], head: Sequence[str], in_force: Any, options: Any) -> "Layout":
        """Return a layout with the values of `in_force`, which read a table; `fixed` names those of `options`."""
        value_by_option = {name: getattr(in_force, name) for name in LAYOUT_OPTIONS}
        fixed_options = tuple(name for name in LAYOUT_OPTIONS if getattr(options, name) is not None)
        return cls(tuple(names), tuple(head), **value_by_option, fixed=fixed_options)

    @property
    def n_names(self) -> int:
        """Number of rows of names."""
        return 1 if self.header is None else int(self.header)

    @property
    def is_unnamed(self) -> bool:
        """Whether the table had no names, so that columns are numbered and found by position."""
        return not self.head and self.names == tuple(f"column {k + 1}" for k in range(len(self.names)))

    @property
    def is_text(self) -> bool:
        """Whether the source was text."""
        return self.encoding is not None

    def joined_options(self, options: ReadOptions) -> ReadOptions:
        """Return `options`, and for those that are None the ones that the user set for the earlier table."""
        fixed = {name: getattr(self, name) for name in self.fixed}
        return ReadOptions(**fixed).with_change(options.explicit_options)


LAYOUT_OPTIONS = ("delimiter", "encoding", "header", "skip_rows", "skip_footer", "comment", "sheet", "long_form")


@dataclass(frozen=True)
class ParseSpec:
    """All decisions of reading a table.

    Attributes:
        layout: the position of the table in its source.
        columns: all columns of the source and all features derived from dates; of a model only its features, in order.
        quartiles: whether the numeric target was cut into quartiles.
    """

    layout: Layout
    columns: tuple[ColumnSpec, ...]
    quartiles: bool = False

    @classmethod
    def of_model(cls, columns: Sequence[Mapping[str, Any]], signs: Sequence[str]) -> "ParseSpec":
        """Return the spec of a model that was fitted to a table in memory.

        Texts are unchanged levels, numbers are numbers; the first line of a file has the names.

        Args:
            columns: states of the model's columns, from `ColumnEncoder.to_dict`.
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
        """The specs of the features."""
        return tuple(column for column in self.columns if column.kind in FEATURE_KINDS)

    @property
    def target(self) -> str | None:
        """The name of the target, or None."""
        return next((column.name for column in self.columns if column.kind == "target"), None)

    @property
    def sources(self) -> list[str]:
        """The distinct columns of a source that are read."""
        return list(dict.fromkeys(column.source for column in self.columns))

    def for_columns(self, names: Collection[str], options: ReadOptions) -> list[ColumnSpec]:
        """Return the specs for a table of these columns and `options` (see `ColumnSpec.with_options`).

        The feature "born year" is read from a column of that name, or else from the date "born".

        Raises `TableError` for a missing column; it names the nearest one.
        """
        columns = [column.for_columns(names) for column in self.columns]
        if missing_names := list(dict.fromkeys(column.source for column in columns if column.source not in names)):
            features = [column.name for column in columns if column.source == missing_names[0] and column.part]
            are = "is" if len(features) == 1 else "are"
            derived = f", of which {listed(features)} {are} made" if features else ""
            near = nearest(missing_names[0], [name for name in names if name not in self.sources])
            columns_text = near or f"; its columns are {listed(list(names))}"
            raise TableError(
                f"no column {missing_names[0]!r} in the table{derived}{columns_text} ({len(missing_names)} not found)"
            )
        return [column.with_options(options.for_column(column.source)) for column in columns]

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON values."""
        state: dict[str, Any] = {"format": SPEC_FORMAT, "layout": _non_defaults(self.layout)}
        if self.quartiles:
            state["quartiles"] = True
        return {**state, "columns": [column.to_dict() for column in self.columns]}

    def to_json(self) -> str:
        """Return the spec as JSON text, to be saved, edited and passed to `read_table(spec=...)`."""
        state = self.to_dict()
        json_by_key = {key: json.dumps(value, ensure_ascii=False) for key, value in state.items()}
        json_by_key["columns"] = (
            "[\n  " + ",\n  ".join(json.dumps(c, ensure_ascii=False) for c in state["columns"]) + "\n ]"
        )
        return "{\n" + ",\n".join(f' "{key}": {text}' for key, text in json_by_key.items()) + "\n}\n"

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "ParseSpec":
        """Rebuild the spec from `to_dict`'s state.

        Raises `TableError` for another format, an unknown field, or an invalid value.
        """
        if not isinstance(state, Mapping) or state.get("format") != SPEC_FORMAT:
            number = state.get("format") if isinstance(state, Mapping) else state
            raise TableError(
                f"the spec has format {number!r}, and this version reads format {SPEC_FORMAT}; read the table and save "
                "the model again"
            )
        _check_keys({key: value for key, value in state.items() if key != "format"}, cls, "the whole")
        layout, columns = state["layout"], state["columns"]
        _check_keys(layout, Layout, "the layout")
        specs = tuple(map(ColumnSpec.from_dict, columns))
        result = cls(Layout(**_with_tuples(layout)), specs, bool(state.get("quartiles", False)))
        if not all(isinstance(text, str) for text in (*result.layout.names, *result.layout.head)):
            raise TableError("the names in the layout of a spec are no texts")
        if wrong := [name for name in result.layout.fixed if name not in LAYOUT_OPTIONS]:
            raise TableError(f"{wrong[0]!r} is no option of a layout{nearest(wrong[0], LAYOUT_OPTIONS)}")
        return result
