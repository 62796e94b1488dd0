"""Constraints on the splits of a table into training and test rows.

A model looks better than it is if duplicate rows, or rows of the same person, are on both sides of a split, or if it is
tested on rows earlier than its training rows. `Dataset.split_by` stores constraints in the data set, and all splits of
it, folds of studies and test rows of races, respect them:

    units   rows with the same number are on the same side
    times   test rows are later than training rows
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.kinds import as_levels
from alrviz.data.level_order import sort_levels
from alrviz.errors import TableError, nearest

NO_SPLIT = {"repeats": "separate", "groups": None, "time": None}
REPEATS = ("separate", "once", "together")
# Duplicates are expected if the columns' values have fewer combinations than so many times the number of rows.
_EXPECTED_REPEAT_FACTOR = 10
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, hence invertible; makes the order of columns matter
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Splitting:
    """Constraints on the splits of a table.

    Attributes:
        units: (N,) the group of each row; rows of one group stay together. None: every row is a group.
        times: (N,) the rank of each row in time, equal for equal times. None: rows have no order.
        words: the constraints as a clause; "" if there are none.
        call: the Python call of `split_by` that sets them; "" if there are none, or an argument was an array.
        calls: the arguments of each call of `Dataset.split_by`, in order.
    """

    units: Codes | None = None
    times: Codes | None = None
    words: str = ""
    call: str = ""
    calls: tuple[Mapping[str, Any], ...] = ()

    def of_rows(self, rows: NDArray[Any]) -> "Splitting":
        """Return the constraints of some rows, given by number (n,) or mask (N,)."""
        if self.units is None and self.times is None:
            return self
        units, times = (None if labels is None else labels[rows] for labels in (self.units, self.times))
        return replace(self, units=units, times=times)


AT_RANDOM = Splitting()


class SplittableTable(Protocol):
    """The attributes of a `Dataset` that splits use; a protocol, as `dataset` imports this module."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def frame(self) -> pd.DataFrame:
        """All columns."""

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802 (scikit-learn's name)
        """The features."""

    @property
    def labels(self) -> pd.Series:
        """The class of each row."""

    @property
    def repeated(self) -> np.ndarray:
        """Mask (N,) of the rows that equal an earlier one."""

    @property
    def splitting(self) -> Splitting:
        """Constraints on splits."""

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every column but the target."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions made while reading."""

    @property
    def target(self) -> str:
        """The column that is the class."""

    @property
    def hash(self) -> str:
        """SHA-256 of content, target and kinds."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""


AnyTable = TypeVar("AnyTable", bound=SplittableTable)


def row_keys(X: pd.DataFrame) -> Codes:
    """Return a number for each row (N,), the same for equal rows; missing values are equal."""
    keys = np.zeros(len(X), np.int64)
    for name in X.columns:
        codes, values = pd.factorize(X[name], use_na_sentinel=False)
        keys = pd.factorize(keys * (len(values) + 1) + codes)[0].astype(np.int64)
    return keys


def repeated_rows(X: pd.DataFrame, y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask (N,) of the rows that equal an earlier one in all columns and in class.

    It compares hashes of 64 bits, because it runs for every table that is read: two million rows take a second.
    """
    keys = pd.util.hash_array(np.asarray(y))
    for name in X.columns:
        column = X[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            values = column.cat.codes.to_numpy().astype(np.int64)
        elif column.dtype.kind == "f":
            numbers = column.to_numpy()
            values = np.where(np.isnan(numbers), np.nan, numbers) + 0.0  # all NaNs alike, and -0.0 as 0.0
        else:
            values = column.to_numpy()
        keys = keys * _HASH_MULTIPLIER ^ pd.util.hash_array(values)
    return pd.Series(keys).duplicated().to_numpy()


def repeat_by_nature(X: pd.DataFrame) -> bool:
    """Return whether the columns have so few values that duplicate rows are expected by chance."""
    n_combinations = 1.0
    for name in X.columns:
        n_combinations *= max(1, X[name].nunique(dropna=False))
        if n_combinations > _EXPECTED_REPEAT_FACTOR * len(X):
            return False
    return True


def split_by(dataset: AnyTable, repeats: str, groups: Any, time: Any) -> AnyTable:
    """Return `dataset` with constraints on its splits; see `Dataset.split_by`.

    Raises:
        TableError: an unknown value of `repeats`, a second constraint of groups or times, or rows without a time.
    """
    if repeats not in REPEATS:
        raise TableError(f"repeats={repeats!r}: expected one of {', '.join(REPEATS)}{nearest(repeats, REPEATS)}")
    if sum([repeats == "together", groups is not None, time is not None]) > 1:
        raise TableError("rows are kept together by their values, by a group, or ordered by time; expected one of them")
    previous = dataset.splitting
    by_kind = {"group": groups, "time": time}
    if previous.words and any(isinstance(name, str) and dataset.kinds.get(name) == k for k, name in by_kind.items()):
        groups = time = None  # the column's kind has set this constraint already
    is_constrained = previous.units is not None or previous.times is not None
    if is_constrained and (repeats == "together" or groups is not None or time is not None):
        raise TableError(
            f"the splits of this table have a constraint already: {previous.words}; for another one, call split_by on "
            "the table that this one was made from"
        )
    rule_texts, notes = list[str](), list(dataset.notes)
    rules: list[tuple[str, str, NDArray[np.signedinteger] | None]] = []
    if time is not None:
        times, name = _codes(dataset, time, "time")
        if (times < 0).any():
            raise TableError(
                f"{name} is missing in {int((times < 0).sum()):,} rows; splits by time need it in every row"
            )
        splitting = Splitting(None, times)
        rule_texts.append(f"in the order of {name}: rows are judged by a model of earlier ones")
        rules.append(("time", name, times))
    elif groups is not None:
        units, name = _codes(dataset, groups, "group")
        if len(np.unique(units)) < 2:
            raise TableError(f"{name} has one value alone; groups are kept together, so two are needed at least")
        without_group = units < 0  # each is a group of one row
        units[without_group] = units.max() + 1 + np.arange(without_group.sum())
        splitting = Splitting(units)
        rule_texts.append(f"rows of one {name} are kept together")
        rules.append(("groups", name, units))
    elif repeats == "together":
        splitting = Splitting(row_keys(dataset.X))
        rule_texts.append("duplicate rows are kept together")
        rules.append(("repeats", "together", None))
    else:
        splitting = previous
    frame, labels = dataset.frame, dataset.labels
    if repeats == "once":
        is_repeat = dataset.repeated
        if is_repeat.any():
            is_kept = ~is_repeat
            frame, labels = frame[is_kept].reset_index(drop=True), labels[is_kept].reset_index(drop=True)
            splitting = splitting.of_rows(is_kept)
            notes.append(f"{int(is_repeat.sum()):,} duplicates of earlier rows are dropped")
            rules.append(("repeats", "once", None))
        rule_texts.insert(0, "duplicate rows are dropped")
    arguments = {"repeats": repeats if repeats != REPEATS[0] else None, "groups": groups, "time": time}
    call_arguments = {name: value for name, value in arguments.items() if value is not None}
    are_texts = all(isinstance(value, str) for value in call_arguments.values())
    call_text = ", ".join(f"{name}={value!r}" for name, value in call_arguments.items())
    call = f"split_by({call_text})" if call_arguments and are_texts else ""
    if not rule_texts:
        return dataset
    if previous.calls:
        call = f"{previous.call}.{call}" if previous.call and call else ""
    if previous.words:
        rule_texts = list(dict.fromkeys([*previous.words.split("; "), *rule_texts]))
    splitting = replace(splitting, words="; ".join(rule_texts), call=call, calls=(*previous.calls, call_arguments))
    result = replace(dataset, frame=frame, labels=labels, notes=tuple(notes), splitting=splitting)
    if not rules:
        return result
    digest = sha256(dataset.hash.encode())
    for kind, name, codes in rules:
        digest.update(f"|{kind}={name}".encode())
        digest.update(b"" if codes is None else codes.tobytes())
    return replace(result, hash=digest.hexdigest())


def split_by_role(dataset: AnyTable) -> AnyTable:
    """Return `dataset` with the constraint of its column of kind "group" or "time"; unchanged without one."""
    roles = {kind: name for name, kind in dataset.kinds.items() if kind in ("group", "time")}
    if not roles:
        return dataset
    split = split_by(dataset, REPEATS[0], roles.get("group"), roles.get("time"))
    return replace(split, splitting=replace(split.splitting, calls=(), call=""))  # the kind repeats it, no call needed


def split_again(dataset: AnyTable, splitting: Splitting) -> AnyTable:
    """Repeat the calls of `split_by` on `dataset`: the same table with another target or other kinds.

    Raises `TableError` if a call fails, as its array has another number of rows or its column is now the target.
    """
    for arguments in splitting.calls:
        dataset = split_by(dataset, **{**NO_SPLIT, **arguments})
    return dataset


def _codes(dataset: SplittableTable, column: Any, role: str) -> tuple[Codes, str]:
    """Return the ranks (N,) of the values of a column or array, -1 where missing, and its name for a sentence."""
    if isinstance(column, str):
        if column not in dataset.frame.columns:
            names = list(dataset.frame.columns)
            raise TableError(f"no column is called {column!r}{nearest(column, names)}; splits need a {role} column")
        if column == dataset.target:
            raise TableError(f"{column!r} is the target and cannot be the {role} column; choose another")
        series, name = dataset.frame[column], repr(column)
    else:
        series, name = pd.Series(np.asarray(column)), f"the given {role}"
        if series.shape != (dataset.n_rows,):
            raise TableError(f"the {role} has {len(series):,} values for {dataset.n_rows:,} rows; expected one per row")
    if role == "time":
        series = _times_of(dataset, series, name)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object if role == "group" else str).where(series.notna())
    try:
        codes, _ = pd.factorize(series, sort=True)
    except TypeError as error:
        raise TableError(f"{name} holds values that have no order: {error}") from error
    return codes.astype(np.int64), name


def _times_of(dataset: SplittableTable, series: pd.Series, name: str) -> pd.Series:
    """Return a column whose values sort by time; `TableError` for text, unless it is ordinal or has a natural order."""
    is_text = isinstance(series.dtype, pd.CategoricalDtype | pd.StringDtype) or (
        series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) in ("string", "mixed", "categorical")
    )
    if not is_text:
        return series
    kind = dataset.kinds.get(str(series.name))
    if kind == "ordinal" or (kind == "time" and sort_levels(list(series.cat.categories)) is not None):
        return as_levels(series, is_ordinal=True).cat.codes.astype(np.float64).replace(-1, np.nan)
    sortable = [str(column) for column in dataset.frame if dataset.frame[column].dtype.kind in "ifM"]
    sortable.sort(key=lambda column: dataset.frame[column].dtype.kind != "M")  # dates first
    alternatives = [column for column in sortable if column != dataset.target]
    advice = f", such as {' or '.join(map(repr, alternatives[:3]))}" if alternatives else ""
    raise TableError(
        f"{name} holds text, whose order in time is unknown; a column of dates or numbers was expected{advice}"
    )
