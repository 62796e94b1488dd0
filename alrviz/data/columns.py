"""Columns of any kind of table in memory: their names, kinds by dtype, numbers and levels.

A table is a DataFrame (any dtype: nullable, arrow-backed, categorical), a numpy matrix (numbers, text or objects), a
sparse matrix of numbers or a list of rows. Kinds by dtype: booleans, text and mixed columns are categorical, ordered
categoricals ordinal, numbers numeric; an object column that holds only numbers is numeric. Dates are neither level nor
number: they are refused.

Levels are compared by their texts in a file (`parse_values.level_text`): 1, 1.0 and "1" are one level, blanks at the
ends of a text are ignored, and an empty text is a missing value.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from alrviz.data.parse_values import level_text
from alrviz.data.sparse import SparseColumns
from alrviz.errors import RecipeError, TableError, nearest

Level = bool | int | float | str
_NUMBERS = {"integer", "floating", "mixed-integer-float", "decimal"}
NESTED = (list, tuple, set, frozenset, dict, np.ndarray)
_DATES = {"datetime", "datetime64", "date", "timedelta", "timedelta64", "time", "period"}


def table_columns(X: Any) -> tuple[tuple[str, ...], Sequence[pd.Series], bool]:
    """Return the names of X's columns, the columns, and whether X has names ("x0", "x1" ... are made up otherwise).

    Raises `TableError` if X is no table of rows and columns, or two columns have one name.
    """
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        names = tuple(str(name) for name in X.columns)
        duplicates = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if duplicates:
            raise TableError(
                f"column names must differ, but {duplicates[0]!r} occurs {names.count(duplicates[0])} times"
            )
        return names, [column for _, column in X.items()], True
    columns: Sequence[pd.Series]
    if hasattr(X, "tocsc"):
        columns = SparseColumns(X)
    elif isinstance(X, (list, tuple)):
        columns = [column for _, column in pd.DataFrame(X).infer_objects().items()]
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise TableError(f"a table has rows and columns (2-D), got {X.ndim}-D {type(X).__name__}")
        columns = [pd.Series(X[:, j]) for j in range(X.shape[1])]
    return tuple(f"x{j}" for j in range(len(columns))), columns, False


def kind_by_dtype(column: pd.Series, name: str) -> str:
    """Return the kind of a column by its dtype.

    "ordinal" for ordered categories, "numeric" for numbers, also in an object column; else "categorical": booleans,
    texts and, with a warning that has `name`, numbers of more digits than a float keeps apart. Raises `TableError` for
    dates, durations and complex numbers.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordinal" if dtype.ordered else "categorical"
    if types.is_bool_dtype(dtype):
        return "categorical"
    if types.is_complex_dtype(dtype):
        raise TableError(f"column {name!r} holds complex numbers; split them into two columns")
    if types.is_numeric_dtype(dtype):
        return _kind_of_numbers(column, name)
    content = types.infer_dtype(column, skipna=True) if types.is_object_dtype(dtype) else ""
    if (
        content in _DATES
        or types.is_datetime64_any_dtype(dtype)
        or types.is_timedelta64_dtype(dtype)
        or isinstance(dtype, pd.PeriodDtype)
    ):
        raise TableError(
            f"column {name!r} holds dates; split it into year, month and weekday, as read_table does, or leave it out"
        )
    return _kind_of_numbers(column, name) if content in _NUMBERS else "categorical"


def _kind_of_numbers(column: pd.Series, name: str) -> str:
    """Return "numeric", or "categorical" with a warning if float64 cannot distinguish the column's numbers."""
    if not float_loss(column):
        return "numeric"
    warnings.warn(
        f"column {name!r} holds numbers of more digits than a float can distinguish; each becomes a level. "
        "categorical_features says which columns are categorical",
        stacklevel=2,
    )
    return "categorical"


def float_loss(column: pd.Series) -> str:
    """Return a clause on what a column's numbers would lose as float64; "" if nothing that matters.

    Every whole number must stay exact: from 2**53 on they are ids more often than amounts. Decimal fractions, which
    floats nearly always round, must mostly stay distinct.
    """
    dtype = column.dtype
    values: list[Any]
    if types.is_integer_dtype(dtype):
        present = column.dropna()
        if not len(present) or (int(present.max()) < 2**53 and int(present.min()) > -(2**53)):
            return ""
        values = [int(value) for value in pd.unique(present)]
    elif types.is_object_dtype(dtype) or isinstance(dtype, pd.ArrowDtype):
        decimals = {value for value in column if isinstance(value, Decimal) and not value.is_nan()}
        values = [*{value for value in column if isinstance(value, int | np.integer)}, *decimals]
    elif dtype == np.longdouble and np.dtype(np.longdouble).itemsize > 8:
        numbers = column.dropna().to_numpy()
        return _loss(len(np.unique(numbers)), len(np.unique(numbers.astype(np.float64))))
    else:
        return ""
    floats = {value: as_float(value) for value in values}
    inexact = [
        value
        for value, number in floats.items()
        if not isinstance(value, Decimal) and not (math.isfinite(number) and int(value) == int(number))
    ]
    if inexact:
        return f"{len(inexact):,} of them are whole numbers of more digits than a float keeps"
    return _loss(len(floats), len(set(floats.values())))


def _loss(n_values: int, n_floats: int) -> str:
    return f"{n_values:,} different numbers would be {n_floats:,}" if 2 * n_floats < n_values else ""


def as_float(value: Any) -> float:
    """Return the float nearest to a number; infinity if it is outside the range of floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def choose_kinds(columns: Sequence[pd.Series], names: Sequence[str], categorical_features: Any) -> list[str]:
    """Return each column's kind; `categorical_features`: "from_dtype", "all", None (none), names, mask or indices."""
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        if isinstance(columns, SparseColumns):
            return ["numeric"] * len(columns)
        return [kind_by_dtype(column, name) for column, name in zip(columns, names, strict=True)]
    categorical = _chosen_indices(names, categorical_features)
    kinds = []
    for j, column in enumerate(columns):
        is_ordinal = isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered
        kinds.append(("ordinal" if is_ordinal else "categorical") if j in categorical else "numeric")
    return kinds


def _chosen_indices(names: Sequence[str], features: Any) -> set[int]:
    """Return the indices of the columns that `categorical_features` selects; `RecipeError` if it is invalid."""
    if features is None:
        return set()
    if isinstance(features, str):
        if features == "all":
            return set(range(len(names)))
        raise RecipeError(
            f"categorical_features={features!r}: expected 'from_dtype', 'all', None, or a list of names, booleans or "
            f"indices{nearest(features, ['from_dtype', 'all'])}"
        )
    entries = np.asarray(features)
    if entries.size == 0:
        return set()
    if entries.ndim == 1 and entries.dtype == bool:
        if len(entries) != len(names):
            raise RecipeError(f"categorical_features is a mask of {len(entries)}, but there are {len(names)} columns")
        return set(np.flatnonzero(entries).tolist())
    if entries.ndim == 1 and entries.dtype.kind in "iu":
        if entries.min() < 0 or entries.max() >= len(names):
            raise RecipeError(f"categorical_features has an index outside 0..{len(names) - 1}: {entries.tolist()}")
        return set(entries.tolist())
    if entries.ndim == 1 and entries.dtype.kind in "OUT":
        index_by_name = {name: j for j, name in enumerate(names)}
        for entry in entries:
            if str(entry) not in index_by_name:
                raise RecipeError(f"categorical_features: no column {str(entry)!r}{nearest(entry, names)}")
        return {index_by_name[str(entry)] for entry in entries}
    raise RecipeError(f"categorical_features must be names, booleans or indices, got {entries.ndim}-D {entries.dtype}")


def as_numbers(column: pd.Series, name: str) -> np.ndarray:
    """Return the column as float64 (N,), NaN where missing; `TableError` for text that is no number, and infinities."""
    try:
        if types.is_object_dtype(column.dtype) or isinstance(column.dtype, (pd.CategoricalDtype, pd.StringDtype)):
            column = pd.to_numeric(column.astype(object))
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError, OverflowError) as error:
        raise TableError(f"column {name!r} is used as numeric but holds something else ({error})") from error
    infinite = np.isinf(numbers)
    if infinite.any():
        raise TableError(
            f"column {name!r} holds an infinite number (row {int(infinite.argmax())}); make it missing or finite"
        )
    return np.ascontiguousarray(numbers)


def holds_text(column: pd.Series) -> bool:
    """Return whether a value of the column is text."""
    if types.is_object_dtype(column.dtype):
        content = types.infer_dtype(column, skipna=True)
        return content == "string" or (content.startswith("mixed") and any(isinstance(value, str) for value in column))
    return isinstance(column.dtype, pd.StringDtype)


def as_levels(column: pd.Series, name: str) -> tuple[np.ndarray, list[Level]]:
    """Return each row's index (N,) into the list of distinct values, -1 where missing, and that list.

    Raises:
        TableError: a cell contains several values: a list, a tuple, a set, a dict or an array.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy().astype(np.intp), [as_level(value) for value in column.cat.categories]
    if types.is_object_dtype(column.dtype) and types.infer_dtype(column, skipna=True).startswith("mixed"):
        if (nested := next((value for value in column if isinstance(value, NESTED)), None)) is not None:
            raise TableError(
                f"column {name!r} holds a {type(nested).__name__} in a cell, {str(nested)[:60]!r}; expected one text, "
                "number or boolean in each: make a column of each part, or text of the whole"
            )
        # pandas.factorize merges True and 1, which are two levels in a file.
        value_by_text: dict[Any, Any] = {}
        for value in column:
            if isinstance(value_by_text.setdefault(level_text(value), value), str):
                value_by_text[level_text(value)] = value
        codes, texts = pd.factorize(column.map(level_text, na_action="ignore"))
        return codes, [as_level(value_by_text[text]) for text in texts]
    codes, values = pd.factorize(column)
    return codes, [as_level(value) for value in np.asarray(values, dtype=object).tolist()]


def as_level(value: Any) -> Level:
    """Return the value as bool, int, float or text; whole floats become ints, so that 1.0 reads as 1."""
    if type(value) is str:  # the common case: checking it first halves the time of a column of many levels
        return value.strip()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if isinstance(value, (bool, int)) else str(value).strip()


def distinct_levels(levels: Iterable[Level]) -> list[Level]:
    """Return the levels in their order, without those whose text occurred before, and without the empty text."""
    level_by_text: dict[str, Level] = {}
    for level in levels:
        level_by_text.setdefault(level_text(level), level)
    level_by_text.pop("", None)
    return list(level_by_text.values())


def sorted_levels(levels: Iterable[Level]) -> list[Level]:
    """Return the distinct levels sorted, numbers before texts."""
    distinct = distinct_levels(levels)
    numbers: list[Level] = [level for level in distinct if not isinstance(level, str)]
    numbers.sort(key=lambda level: (level, level_text(level)))  # True and 1 are equal, and two levels
    return numbers + sorted(level for level in distinct if isinstance(level, str))
