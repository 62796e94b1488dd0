"""New rows, read as a table was read before: what was decided then (`Dataset.reading`) is applied, nothing is guessed.

A file's layout is tried as it was; names say whether it fits. Where it does not (no title lines this time, commas
instead of semicolons), it is found as for any file, and said. What the reading cannot take, a date in another order, a
unit never seen, a word among numbers, is missing, and counted by column.
"""

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.interpret import KnownNames, RawTable, Values, text_of
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.numbers import detect_convention, listed, short
from alrviz.data.options import ReadOptions
from alrviz.data.other_sources import are_files, is_taken, named_rows
from alrviz.data.read import LAID_OUT, raw_of_bytes, read_raw
from alrviz.data.reading import ColumnReading, Made, Reading, Tally
from alrviz.data.source import Buffer, load_bytes, sniff_format
from alrviz.data.text import TextColumn
from alrviz.errors import AlrvizError, TableError, nearest
from alrviz.stop import NEVER, StopToken

_UTF8 = ("utf-8", "utf-8-sig", "ascii")
# In notes that are about these rows.
_TOLD = ("left out", "not UTF-8", "formula", "never closed", "fewer cells", "empty cells", "more cells")


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows that were read.

    Attributes:
        X: the features, as `Dataset.X` has them.
        given: all columns as the source has them.
        unread: by row, what could not be read and is missing: "age=abc (not a number)".
        notes: sentences: what was not as in the table before, what could not be read, by column.
    """

    X: pd.DataFrame
    given: pd.DataFrame
    unread: dict[int, list[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_again(
    source: Any,
    reading: Reading,
    *,
    options: ReadOptions | None = None,
    limits: Limits = NO_LIMITS,
    stop: StopToken = NEVER,
) -> NewRows:
    """Return new rows of whatever `read_table` takes, or of one row as a dict, read as `reading` says.

    `options` are said of this source alone, over what `reading` says.

    Raises:
        TableError: a column that is not there, by its name in the source; one of which no value can be read; no rows.
    """
    said = options or ReadOptions()
    source = named_rows(source, [*dict.fromkeys(column.source for column in reading.columns)])
    paths = are_files(source) and len(source) > 1
    tallies: dict[str, Tally] = {}
    parts = [_read(part, reading, said, limits, stop, tallies) for part in (source if paths else [source])]
    check_tallies(tallies)
    return _joined(parts) if paths else parts[0]


def _read(
    source: Any, reading: Reading, said: ReadOptions, limits: Limits, stop: StopToken, tallies: dict[str, Tally]
) -> NewRows:
    """The rows of one source; what of its columns can be read and what cannot is added to `tallies`."""
    notes: list[str] = []
    raw = _raw(source, reading, said, limits, stop, notes)
    features = features_of(raw, reading, said, notes)
    own: dict[str, Tally] = {}
    read = apply_features(raw.columns, reading, features, own, stop)
    notes += [tally.note(name) for name, tally in own.items() if tally.bad]
    add_tallies(tallies, own)
    return replace(read, notes=tuple(notes))


def features_of(raw: RawTable, reading: Reading, said: ReadOptions, notes: list[str]) -> list[ColumnReading]:
    """Return how the columns of new rows are read; what differs from the table before is added to `notes`.

    Raises:
        TableError: a column that is not there.
    """
    columns = {column.name: column for column in raw.columns}
    features = reading.at_hand(columns, said.dayfirst)
    _check_names(reading, features, columns)
    return _with_marks(features, columns, raw.options, said, notes)


def apply_features(
    given: Sequence[TextColumn | Values],
    reading: Reading,
    features: Sequence[ColumnReading],
    tallies: dict[str, Tally],
    stop: StopToken = NEVER,
) -> NewRows:
    """Return the rows of some columns; what of these can be read and what cannot is added to `tallies`, by column."""
    columns = {column.name: column for column in given}
    found: dict[str, pd.Series] = {}
    unread: dict[int, list[str]] = {}
    own: dict[str, Tally] = {}
    for name, feature in zip((each.name for each in reading.columns), features, strict=True):
        stop.check()
        values, bad = made = values_of(columns[feature.source], feature)
        found[name] = pd.Series(values, dtype=np.float64 if feature.kind == "numeric" else object)
        if feature.source not in own:  # a date is made into several features
            such = _tell(columns[feature.source], feature, bad, unread) if bad.any() else ""
            own[feature.source] = Tally.of(feature, such, made)
    add_tallies(tallies, own)
    rows = pd.DataFrame({name: _as_given(column) for name, column in columns.items()})
    return NewRows(pd.DataFrame(found, index=rows.index), rows, unread)


def add_tallies(to: dict[str, Tally], more: Mapping[str, Tally]) -> None:
    """Add what was counted of further rows."""
    for name, tally in more.items():
        to[name] = to[name].plus(tally) if name in to else tally


def check_tallies(tallies: Mapping[str, Tally]) -> None:
    """Raise `TableError` for a column of which nothing can be read."""
    refusals = (tally.refusal(name) for name, tally in tallies.items())
    if refused := next(filter(None, refusals), ""):
        raise TableError(refused)


def _joined(parts: Sequence[NewRows]) -> NewRows:
    unread, rows = dict[int, list[str]](), 0
    for part in parts:
        unread |= {row + rows: words for row, words in part.unread.items()}
        rows += len(part.X)
    X, given = (pd.concat(frames, ignore_index=True) for frames in zip(*((p.X, p.given) for p in parts), strict=True))
    return NewRows(X, given, unread, tuple(note for part in parts for note in part.notes))


# ---- the layout ------------------------------------------------------------------------------------------------------


def raw_again(data: bytes, reading: Reading, said: ReadOptions, notes: list[str]) -> RawTable:
    """Return the columns of a file's text, laid out as the table was, or else as it is found to be."""
    return _raw(data, reading, said, NO_LIMITS, NEVER, notes)


def _raw(
    source: Any, reading: Reading, said: ReadOptions, limits: Limits, stop: StopToken, notes: list[str]
) -> RawTable:
    """The columns of the source, laid out as the table was, or else as it is found to be."""
    if is_taken(source):
        return read_raw(source, _over(ReadOptions.of(reading.said), said), limits, stop, notes)
    data = load_bytes(source, limits, stop, notes)
    if sniff_format(data) not in LAID_OUT:
        return raw_of_bytes(data, _over(ReadOptions.of(reading.said), said), limits, stop)
    known = KnownNames(reading.head, reading.names, int(reading.layout.get("header", 1)))
    problem: AlrvizError | None = None
    best: RawTable | None = None
    for as_before, options in _layouts(reading, said, _encoding(data, reading)):
        try:
            raw = raw_of_bytes(data, options, limits, stop, known)
        except TableError as error:
            problem = problem or error
            continue
        names = {column.name for column in raw.columns}
        by_place = reading.unnamed and not options.header
        if set(reading.sources) <= names and (not by_place or len(names) == len(reading.names)):
            if not as_before and "encoding" in reading.layout:  # a table in memory has no layout
                notes.append(_laid_out(reading, raw))
            notes += [note for note in raw.notes if any(word in note for word in _TOLD)]
            return raw
        best = best or raw
    if best is None:
        raise problem or TableError("the table cannot be read")
    if reading.unnamed and len(best.columns) != len(reading.names):
        raise TableError(
            f"the rows have {len(best.columns)} columns, and the table that the model learned from, without names, has "
            f"{len(reading.names)}; a file like it was expected"
        )
    return best


def _encoding(data: Buffer, reading: Reading) -> str | None:
    """The table's encoding, None where it is to be found: UTF-8 is strict enough to be known by itself."""
    said, found = reading.said.get("encoding"), reading.layout.get("encoding", "utf-8")
    if said is not None or found in _UTF8:
        return said
    try:
        codecs.utf_8_decode(data, "strict", True)
        return None
    except UnicodeError:
        return None if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else str(found)


def _layouts(reading: Reading, said: ReadOptions, encoding: str | None) -> list[tuple[bool, ReadOptions]]:
    """What is tried, one after the other, and whether it is as the table was."""
    layout, before = reading.layout, reading.said
    own = ReadOptions(
        delimiter=layout.get("delimiter"),
        encoding=encoding,
        header=layout.get("header") or not reading.unnamed,
        comment=layout.get("comment"),
        sheet=layout.get("sheet"),
        skip_rows=layout.get("skip_rows"),
        # lines behind the table are looked for where there were some: a file of one row may have none
        skip_footer=before.get("skip_footer", None if layout.get("skip_footer", 1) else 0),
    )
    anew = ReadOptions(header=True)
    tried = [(True, own), (True, replace(own, skip_rows=0)), (True, replace(own, skip_rows=None))]
    tried += [(False, replace(own, sheet=None)), (False, anew)]
    if reading.unnamed:  # names that are numbers are in no file: lines before the rows are looked for again
        named = ReadOptions(delimiter=own.delimiter, header=True, sheet=own.sheet)
        skip = before.get("skip_rows", None if layout.get("skip_rows") else 0)
        tried = [(True, named), (True, replace(own, skip_rows=skip)), (False, ReadOptions(header=False))]
    over = [(as_before, _over(options, said)) for as_before, options in tried]
    return [pair for k, pair in enumerate(over) if pair[1] not in [other for _, other in over[:k]]]


def _over(options: ReadOptions, said: ReadOptions) -> ReadOptions:
    """Options with what was said of these rows alone in their place."""
    return ReadOptions.of(options.given | said.given)


def _laid_out(reading: Reading, raw: RawTable) -> str:
    now, then = raw.options.given, reading.layout
    names = ("delimiter", "header", "comment", "sheet", "skip_rows")
    other = [
        f"{n.replace('_', ' ')} {now[n]!r}, not {then[n]!r}"
        for n in names
        if n in now and now[n] != then.get(n, now[n])
    ]
    return "the rows are laid out in another way than the table that the model learned from" + (
        f" ({'; '.join(other)})" if other else ""
    )


# ---- columns ---------------------------------------------------------------------------------------------------------


def _check_names(reading: Reading, features: Sequence[ColumnReading], columns: Mapping[str, Any]) -> None:
    lost = list(dict.fromkeys(feature.source for feature in features if feature.source not in columns))
    if not lost:
        return
    made = [feature.name for feature in features if feature.source == lost[0] and feature.part]
    of = f", of which {listed(made)} {'is' if len(made) == 1 else 'are'} made" if made else ""
    others = [name for name in columns if name not in reading.sources]
    raise TableError(f"no column {lost[0]!r} in the table{of}{nearest(lost[0], others)} ({len(lost)} not found)")


def _with_marks(
    features: Sequence[ColumnReading],
    columns: Mapping[str, TextColumn | Values],
    layout: ReadOptions,
    said: ReadOptions,
    notes: list[str],
) -> list[ColumnReading]:
    """The features, with marks of numbers where the table had none, as its numbers were no text, or they are said."""
    over: dict[str, Any] = {
        name: value for name, value in (("decimal", said.decimal), ("thousands", said.thousands)) if value is not None
    }
    if said.missing is not None:
        over["missing"] = ("", *said.missing)
    result = [
        _apart(replace(each, **{k: v for k, v in over.items() if k == "missing" or each.how == "number"}), said)
        for each in features
    ]
    bare = [f for f in result if f.how == "number" and not f.decimal and isinstance(columns[f.source], TextColumn)]
    if not bare:
        return result
    texts = [columns[f.source].without(f.missing) for f in bare]  # type: ignore[union-attr]
    decimal, thousands = detect_convention(texts, replace(layout, decimal=said.decimal, thousands=said.thousands))
    if (decimal, thousands) != (".", ""):
        marks = f"a decimal {decimal!r}" + (f" and {thousands!r} between thousands" if thousands else "")
        notes.append(f"numbers in {listed([f.name for f in bare])} were read with {marks}")
    return [replace(f, decimal=decimal, thousands=thousands) if f in bare else f for f in result]


def _apart(feature: ColumnReading, said: ReadOptions) -> ColumnReading:
    """A feature whose two marks are not the same: of what is said of one, the table's other is not left in force."""
    if not feature.thousands or feature.thousands != feature.decimal:
        return feature
    if said.thousands is None:
        return replace(feature, thousands="")
    return replace(feature, decimal="." if feature.thousands == "," else ",")


def values_of(column: TextColumn | Values, feature: ColumnReading) -> Made:
    """The feature of each row (N,), and which rows hold something that cannot be read."""
    if isinstance(column, Values):
        kind = column.series.dtype.kind if isinstance(column.series.dtype, np.dtype) else "O"
        if kind in "if":
            return feature.of_numbers(column.series.to_numpy(dtype=np.float64))
        if kind == "M" and feature.how == "date":
            dates = column.series.to_numpy(dtype="datetime64[us]")
            return feature.of_dates(dates), np.zeros(len(dates), dtype=bool)
        column = as_text(column)
    return feature.of_cells(column.levels, column.codes, column.typed)


def as_text(column: TextColumn | Values) -> TextColumn:
    """Return a column as text, whatever its source says it is."""
    if isinstance(column, TextColumn):
        return column
    if isinstance(column.series.dtype, pd.CategoricalDtype):
        text = text_of(column.series)
        return replace(text, typed=text.codes >= 0) if column.numbered else text
    texts = [None if gap else str(v) for v, gap in zip(column.series, column.series.isna(), strict=True)]
    return TextColumn.from_values(column.name, texts)


def _as_given(column: TextColumn | Values) -> pd.Series:
    """A column as its source has it."""
    if isinstance(column, Values):
        return column.series
    return pd.Series(np.array([*column.levels.to_pylist(), None], dtype=object)[column.codes], dtype=object)


def _tell(column: TextColumn | Values, feature: ColumnReading, bad: np.ndarray, unread: dict[int, list[str]]) -> str:
    """Put what cannot be read to its rows; return some of it."""
    text = as_text(column)
    rows, levels = np.flatnonzero(bad), text.levels.to_pylist()
    for row in rows.tolist():
        unread.setdefault(row, []).append(f"{feature.source}={levels[text.codes[row]]} (not {feature.what})")
    return ", ".join(list(dict.fromkeys(short(levels[code]) for code in text.codes[rows[:1000]].tolist()))[:3])
