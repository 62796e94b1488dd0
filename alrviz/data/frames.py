"""Read tables with types: pandas DataFrames, Parquet, Arrow and statistics programs' files.

Types are respected: text stays text, even if it looks like numbers, a category keeps its levels and their order, a
boolean has two levels. Only missing values and dates are detected in text.
"""

import io
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from alrviz.data.columns import NESTED, as_float, float_loss
from alrviz.data.dates import zone_notes
from alrviz.data.limits import require_rows
from alrviz.data.numbers import are_whole
from alrviz.data.parse_values import clean_names, number_text
from alrviz.data.source import STAT_STARTS
from alrviz.data.text import Buffer, RawTable, ReadRequest, TextColumn, text_index
from alrviz.data.values import Values
from alrviz.errors import AlrvizError, TableError, plural, short

NULLABLE_INTEGERS = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}  # pandas would make them floats
BATCH_ROWS = 16384  # of a Parquet file, between two checks of the stop token


def read_frame(frame: pd.DataFrame, request: ReadRequest) -> RawTable:
    """Return the columns of a DataFrame, without its index.

    Raises `TableError` for values that cannot be read, no rows, or a table that exceeds the limits.
    """
    n_bytes = int(frame.memory_usage(index=False, deep=False).sum())
    request.limits.check(len(frame), frame.shape[1], n_bytes)
    names, notes = clean_names([_name(label) for label in frame.columns])
    columns: list[Values | TextColumn] = []
    for position, name in enumerate(names):
        request.stop.check()
        try:
            columns.append(from_series(name, frame.iloc[:, position].reset_index(drop=True), notes))
        except AlrvizError:
            raise
        except Exception as error:  # objects of foreign classes: their __str__ or __eq__ may raise anything
            cause = f"{type(error).__name__}: {short(error_text(error))}"
            raise TableError(
                f"column {name!r} holds values that cannot be read ({cause}); numbers, text, dates or categories were "
                "expected"
            ) from error
    return RawTable(columns, request.options, notes)


def _name(label: object) -> str:
    try:
        return " ".join(map(_text, label)) if isinstance(label, tuple) else _text(label)
    except Exception as error:
        raise TableError(f"a column's name has no text ({type(error).__name__}: {error_text(error)})") from error


def error_text(error: Exception) -> str:
    """Return an error's text; "" if it has none."""
    try:
        return str(error)
    except Exception:  # of a foreign class whose __str__ raises
        return ""


def from_series(name: str, series: pd.Series, notes: list[str]) -> Values | TextColumn:
    """Return one column by its dtype; notes on changed values are added to `notes`.

    Booleans become categories, lengths of time seconds, other objects their text.
    Raises `TableError` for complex numbers.
    """
    series = series.rename(name)
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _from_categorical(name, series, notes)
    if pd.api.types.is_bool_dtype(dtype):
        codes = series.astype("boolean").astype("Int8")
        return Values(name, _categorical(name, series, ["False", "True"], codes), "categorical")
    if pd.api.types.is_complex_dtype(dtype):
        raise TableError(f"column {name!r} holds complex numbers; numbers, text, dates or categories were expected")
    if pd.api.types.is_numeric_dtype(dtype):
        return _from_numbers(name, series)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return Values(name, _naive_dates(series, notes))
    if pd.api.types.is_timedelta64_dtype(dtype):
        return Values(name, _numbers(name, series.dt.total_seconds()), hint="a length of time, in seconds")
    return _from_objects(name, series, notes)


def _naive_dates(series: pd.Series, notes: list[str]) -> pd.Series:
    """Return dates as their local time; notes name the time zone, and count dates that no calendar has."""
    if series.dtype == object:  # each date may have a zone of its own
        zones = [str(date.tzinfo) for date in series.dropna() if getattr(date, "tzinfo", None)]
        local = [date.replace(tzinfo=None) if getattr(date, "tzinfo", None) else date for date in series]
        dates = pd.to_datetime(pd.Series(local, dtype=object, name=series.name), errors="coerce")
    else:
        zones = [str(zone)] if (zone := getattr(series.dt, "tz", None)) else []
        dates = series.dt.tz_localize(None)
    dates = dates.astype("datetime64[us]")
    notes += zone_notes(str(series.name), zones)
    n_lost = int((dates.isna() & series.notna()).sum())
    if n_lost:
        notes.append(f"{plural(n_lost, 'date')} in {series.name!r} no calendar has: made missing")
    return dates


def _from_numbers(name: str, series: pd.Series) -> Values | TextColumn:
    """Return numbers as float64 or int64, or as text if that would make different numbers equal."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu" and series.dtype.itemsize < 8:
        return Values(name, series.astype(np.int64))  # exact, and a numpy integer has no missing values
    if not float_loss(series):
        return Values(name, _numbers(name, series))
    gaps = series.isna().to_numpy()
    texts = [None if gap else str(value) for value, gap in zip(series.astype(object), gaps, strict=True)]
    return TextColumn.from_values(name, texts, ~gaps)


def _from_objects(name: str, series: pd.Series, notes: list[str]) -> Values | TextColumn:
    """Return a column of Python objects as numbers, dates or booleans if all are, else as texts."""
    has_text_dtype = isinstance(series.dtype, pd.StringDtype | pd.ArrowDtype)
    if not has_text_dtype:
        values = series.to_numpy(dtype=object)
        is_missing = np.array([isinstance(value, Decimal) and value.is_nan() for value in values], dtype=bool)
        if is_missing.any():  # a signalling Decimal NaN raises at every comparison
            series = pd.Series(np.where(is_missing, None, values), dtype=object, name=name)
    kind = "string" if has_text_dtype else pd.api.types.infer_dtype(series, skipna=True)
    if kind in ("decimal", "floating", "integer", "mixed-integer-float"):
        if float_loss(series):
            return _from_numbers(name, series)
        return Values(name, _numbers(name, series.map(as_float, na_action="ignore").astype(float)))
    if kind in ("date", "datetime", "datetime64"):
        return Values(name, _naive_dates(series, notes))
    if kind == "boolean":
        return from_series(name, series.astype("boolean"), notes)
    if kind == "string":
        try:
            texts = pa.array(series, type=pa.string(), from_pandas=True)
            return TextColumn.from_arrow(name, texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts)
        except (pa.ArrowException, UnicodeError):  # a lone surrogate, which UTF-8 cannot encode: converted below
            pass
    is_missing = series.isna().to_numpy()
    values = series.to_numpy(dtype=object)
    texts = [None if is_gap else _text(value) for value, is_gap in zip(values, is_missing, strict=True)]
    n_nested = sum(isinstance(value, NESTED) for value in values)
    if n_nested:
        notes.append(
            f"{n_nested:,} cells of {name!r} hold several values, such as a list: the text of all is the level"
        )
    _note_merged(name, [value for value, is_gap in zip(values, is_missing, strict=True) if not is_gap], texts, notes)
    return TextColumn.from_values(name, texts, np.array(list(map(_is_number, values)), dtype=bool) & ~is_missing)


def _is_number(value: object) -> bool:
    """Return whether a value has a type of numbers and is finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating | Decimal):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer outside the range of floats
        return False


def _note_merged(name: str, values: Sequence[object], texts: Sequence[str | None], notes: list[str]) -> None:
    """Add notes on different values that become one level as text, and on lone surrogates."""
    try:
        n_merged = len(set(values)) - len({text for text in texts if text is not None})
    except TypeError:  # values without a hash, such as lists, are compared by their texts
        n_merged = 0
    if n_merged > 0:
        notes.append(
            f"values in {name!r} that differ in type alone, such as 1 and '1', are one level ({n_merged:,} times)"
        )
    n_surrogates = sum(isinstance(value, str) and value != _text(value) for value in values)
    if n_surrogates:
        values_text = plural(n_surrogates, "value")
        notes.append(f"{values_text} in {name!r} held half a character (a lone surrogate), shown by its number")


def _text(value: object) -> str:
    """Return an object's text as a level: that of a number is its shortest, bytes are decoded."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return number_text(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()  # numpy's text of a long array omits its middle
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _numbers(name: str, series: pd.Series) -> pd.Series:
    """Return a column as int64 if all numbers are whole, else as float64; `TableError` for infinities."""
    numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
    infinite_rows = np.flatnonzero(np.isinf(numbers))
    if len(infinite_rows):
        raise TableError(
            f"column {name!r} is {short(float(numbers[infinite_rows[0]]))} in data row {infinite_rows[0] + 1:,}; "
            "infinities are not allowed: correct the value, or make it missing"
        )
    is_integer = not np.isnan(numbers).any() and are_whole(numbers)
    return pd.Series(numbers.astype(np.int64) if is_integer else numbers, name=name)


def _from_categorical(name: str, series: pd.Series, notes: list[str]) -> Values:
    categories = series.cat.categories
    numeric = pd.api.types.is_numeric_dtype(categories.dtype) and not pd.api.types.is_bool_dtype(categories.dtype)
    labels = [number_text(value) if numeric else _text(value) for value in categories]
    kind = "ordinal" if series.cat.ordered else "categorical"
    _note_merged(name, list(categories), labels, notes)
    return Values(name, _categorical(name, series, labels, series.cat.codes), kind, numbered=numeric)


def _categorical(name: str, series: pd.Series, labels: list[str], codes: pd.Series) -> pd.Series:
    """Return a categorical of labels (L,) and codes (N,) into them; labels of equal text become one level."""
    level_indices, distinct_labels = np.arange(len(labels)), pd.Index(labels, dtype=object)
    if distinct_labels.has_duplicates:  # 1 and "1" are one level once they are text
        level_indices, distinct_labels = pd.factorize(distinct_labels)
    lookup = np.append(level_indices, -1)
    codes_of_rows = np.where(series.isna().to_numpy(), -1, codes.to_numpy(dtype=np.float64, na_value=-1)).astype(
        np.int64
    )
    categorical = pd.Categorical.from_codes(lookup[codes_of_rows], categories=text_index(list(distinct_labels)))
    return pd.Series(categorical.remove_unused_categories(), name=name)


def read_parquet(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the columns of a Parquet file, checked against the limits by its own figures and again while reading.

    Raises `TableError` for a file that is damaged, or exceeds the limits.
    """
    try:
        schema = pq.read_schema(pa.BufferReader(data))
        request.limits.check(columns=len(schema))
        # Text comes as dictionaries: a level of a megabyte that fills a million rows is then kept once.
        file = pq.ParquetFile(
            pa.BufferReader(data), read_dictionary=[field.name for field in schema if is_text(field.type)]
        )
        request.limits.check(file.metadata.num_rows, len(schema))
        return read_batches(schema, file.iter_batches(batch_size=BATCH_ROWS), request)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise TableError(f"the Parquet file is damaged or not one ({error})") from error


def read_arrow(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the columns of an Arrow file (Feather of version 2 is one); `TableError` as in `read_parquet`."""
    try:
        file = pa.ipc.open_file(pa.BufferReader(data))
        return read_batches(file.schema, (file.get_batch(i) for i in range(file.num_record_batches)), request)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise TableError(f"the Arrow file is damaged or not one ({error})") from error


def read_batches(schema: pa.Schema, batches: Iterable[pa.RecordBatch], request: ReadRequest) -> RawTable:
    """Return the columns of Arrow's record batches, checked against the limits as they come.

    Raises `TableError` for values that cannot be read, no rows, or a table that exceeds the limits.
    """
    request.limits.check(columns=len(schema))
    names, notes = clean_names(list(schema.names))
    checked_batches, n_bytes, n_rows = [], 0, 0
    for batch in batches:
        request.stop.check()
        n_bytes, n_rows = n_bytes + batch.nbytes, n_rows + batch.num_rows
        request.limits.check(n_rows, len(schema), n_bytes, unpacked=True)
        checked_batches.append(batch)
    require_rows(n_rows)
    table = pa.Table.from_batches(checked_batches).unify_dictionaries()
    columns = []
    for column_index, name in enumerate(names):
        request.stop.check()
        columns.append(column_of_arrow(name, table.column(column_index), schema.field(column_index).type, notes))
    return RawTable(columns, request.options, notes)


def read_stat_file(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the columns of a file of SPSS (.sav, .zsav, .por), Stata (.dta) or SAS (.sas7bdat, .xpt).

    Value labels become levels, in the order of the codes, if every value of a column has one. If only some have, as in
    an age with 99 = "refused", the column stays numeric and a note names the labels.

    Raises:
        TableError: pyreadstat is not installed, the file is damaged, or exceeds the limits.
    """
    format_name, reader = next(names for start_pattern, names in STAT_STARTS.items() if start_pattern.match(data))
    try:
        import pyreadstat
    except ImportError as error:
        raise TableError(
            f"this is {format_name}, which is read by pyreadstat: pip install 'alrviz[stat]', or save it as CSV"
        ) from error
    read_file = getattr(pyreadstat, reader)
    try:
        _, metadata = read_file(io.BytesIO(data), metadataonly=True)
        request.limits.check(metadata.number_rows or 0, metadata.number_columns)  # no rows in a SAS transport file
        request.stop.check()
        frame, metadata = read_file(io.BytesIO(data), dates_as_pandas_datetime=True)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OverflowError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(
            f"this is {format_name} that is damaged or cut short ({error}); save it again, or as CSV"
        ) from error
    request.stop.check()
    notes = list[str]()
    for name, labels in metadata.variable_value_labels.items():
        is_ordinal = metadata.variable_measure.get(name) == "ordinal"
        frame[name] = _labelled(frame[name], labels, is_ordinal, notes)
    raw = read_frame(frame, request)
    return RawTable(raw.columns, raw.options, [*notes, *raw.notes])


def _labelled(values: pd.Series, labels: dict[Any, str], is_ordinal: bool, notes: list[str]) -> pd.Series:
    """Return a column with its values' labels as levels; unchanged if a value has none (noted if others have one)."""
    present = set(values.dropna())
    if not present <= set(labels):
        if unused := [f"{code:g} = {short(labels[code])}" for code in labels if code in present and code == code]:
            notes.append(
                f"labels of some values in {values.name!r} were not used, as others have none: {', '.join(unused[:5])}"
            )
        return values
    codes = [code for code in labels if code in present]
    names = [str(labels[code]).strip() for code in codes]
    names = [name if names.count(name) == 1 else f"{name} ({code})" for name, code in zip(names, codes, strict=True)]
    levels = pd.CategoricalDtype(names, ordered=is_ordinal)
    return values.map(dict(zip(codes, names, strict=True)), na_action="ignore").astype(levels)


def is_text(kind: pa.DataType) -> bool:
    """Return whether Arrow's type is one of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def column_of_arrow(name: str, column: pa.ChunkedArray, declared: pa.DataType, notes: list[str]) -> Values | TextColumn:
    """Return a column of Arrow's as a reader of tables has it; `declared` is its type in the file.

    Changes of its values are added to `notes`.
    """
    if pa.types.is_decimal(declared):
        numbers = column.cast(pa.float64())
        if 2 * pc.count_distinct(numbers).as_py() < pc.count_distinct(column).as_py():
            return TextColumn.from_arrow(name, column.cast(pa.string()).combine_chunks(), column.is_valid().to_numpy())
        column = numbers
    if is_text(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(declared):
        joined = column.combine_chunks()
        joined = joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
        joined.dictionary.validate(full=True)  # text that is not UTF-8 would surface anywhere later
        codes = joined.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        return TextColumn.from_codes(name, codes, joined.dictionary.cast(pa.string()))
    return from_series(name, column.to_pandas(types_mapper=NULLABLE_INTEGERS.get), notes)
