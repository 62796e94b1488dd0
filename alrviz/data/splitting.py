"""How the rows of a table may be split into those to learn from and those to be judged on.

Rows that repeat, or are of one person, on both sides of a split make a model look better than it is; rows of the past
judged by a model of the future do too. A data set carries what was said of it (`Dataset.split_by`), and every split of
it, a study's folds as a race's held-out rows, keeps to it:

    units   rows of equal number are never on both sides
    when    rows are judged by a model of earlier ones alone
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.kinds import as_levels, sort_levels
from alrviz.errors import TableError, nearest

NO_SPLIT = {"repeats": "separate", "groups": None, "time": None}
REPEATS = ("separate", "once", "together")
# Rows repeat by nature where the values of the columns could be combined in fewer ways than this many times the rows.
_NATURE = 10
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd: no key is lost, and the order of columns counts
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Splitting:
    """What splits of a table keep to.

    Attributes:
        units: (N,) a number for each row; rows of equal number stay together. None: each row by itself.
        when: (N,) the place of each row in time, equal for equal times. None: rows have no order.
        words: what was said, for a reader; "" where nothing was.
        call: the call of a data set's that says it, as Python; "" where nothing was said, or arrays were given.
        said: the arguments of each call of `Dataset.split_by`, in order.
    """

    units: Codes | None = None
    when: Codes | None = None
    words: str = ""
    call: str = ""
    said: tuple[Mapping[str, Any], ...] = ()

    def of_rows(self, rows: NDArray[Any]) -> "Splitting":
        """Return the same of some rows, their numbers (n,) or a mask (N,)."""
        if self.units is None and self.when is None:
            return self
        units, when = (None if part is None else part[rows] for part in (self.units, self.when))
        return replace(self, units=units, when=when)


AT_RANDOM = Splitting()


class SplittableTable(Protocol):
    """What splits need of a data set, whose module builds on this one."""

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
        """Of each row (N,) whether an earlier one is equal to it."""

    @property
    def splitting(self) -> Splitting:
        """What splits keep to."""

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
        """Of content, target and kinds."""

    @property
    def n_rows(self) -> int:
        """Rows that have a class."""


AnyTable = TypeVar("AnyTable", bound=SplittableTable)


def row_keys(X: pd.DataFrame) -> Codes:
    """Return a number for each row (N,), equal for rows that are equal in all columns; missing equals missing."""
    keys = np.zeros(len(X), np.int64)
    for name in X.columns:
        codes, values = pd.factorize(X[name], use_na_sentinel=False)
        keys = pd.factorize(keys * (len(values) + 1) + codes)[0].astype(np.int64)
    return keys


def repeated_rows(X: pd.DataFrame, y: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each row (N,) whether an earlier one is equal to it, class included.

    Rows are told apart by a hash of 64 bits: every table that is read is asked, and two million rows take a second.
    """
    keys = pd.util.hash_array(np.asarray(y))
    for name in X.columns:
        column = X[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            values = column.cat.codes.to_numpy().astype(np.int64)
        elif column.dtype.kind == "f":
            numbers = column.to_numpy()
            values = np.where(np.isnan(numbers), np.nan, numbers) + 0.0  # one NaN, and -0 is 0
        else:
            values = column.to_numpy()
        keys = keys * _MIX ^ pd.util.hash_array(values)
    return pd.Series(keys).duplicated().to_numpy()


def repeat_by_nature(X: pd.DataFrame) -> bool:
    """Whether the columns have so few values that rows must be expected to repeat."""
    ways = 1.0
    for name in X.columns:
        ways *= max(1, X[name].nunique(dropna=False))
        if ways > _NATURE * len(X):
            return False
    return True


def split_by(dataset: AnyTable, repeats: str, groups: Any, time: Any) -> AnyTable:
    """Return `dataset` with what splits of it keep to; see `Dataset.split_by`.

    Raises:
        TableError: a way that is not known, splits that were said before, or rows without a group or time.
    """
    if repeats not in REPEATS:
        raise TableError(f"repeats={repeats!r}: expected one of {', '.join(REPEATS)}{nearest(repeats, REPEATS)}")
    if sum([repeats == "together", groups is not None, time is not None]) > 1:
        raise TableError("rows are kept together by their values, by a group, or ordered by time; expected one of them")
    before = dataset.splitting
    by_kind = {"group": groups, "time": time}
    if before.words and any(isinstance(name, str) and dataset.kinds.get(name) == k for k, name in by_kind.items()):
        groups = time = None  # the column's kind has said so
    sides = before.units is not None or before.when is not None
    if sides and (repeats == "together" or groups is not None or time is not None):
        raise TableError(
            f"of this table it was said already that {before.words}; for other splits, call split_by of the table that "
            "this one was made of"
        )
    words, notes = list[str](), list(dataset.notes)
    said: list[tuple[str, str, NDArray[np.signedinteger] | None]] = []
    if time is not None:
        when, name = _codes(dataset, time, "time")
        if (when < 0).any():
            raise TableError(
                f"{name} is missing in {int((when < 0).sum()):,} rows; splits by time need it in every row"
            )
        splitting = Splitting(None, when)
        words.append(f"in the order of {name}: rows are judged by a model of earlier ones")
        said.append(("time", name, when))
    elif groups is not None:
        units, name = _codes(dataset, groups, "group")
        if len(np.unique(units)) < 2:
            raise TableError(f"{name} has one value alone; groups are kept together, so two are needed at least")
        alone = units < 0  # a row without a group is a group of its own
        units[alone] = units.max() + 1 + np.arange(alone.sum())
        splitting = Splitting(units)
        words.append(f"rows of one {name} are kept together")
        said.append(("groups", name, units))
    elif repeats == "together":
        splitting = Splitting(row_keys(dataset.X))
        words.append("duplicate rows are kept together")
        said.append(("repeats", "together", None))
    else:
        splitting = before
    frame, labels = dataset.frame, dataset.labels
    if repeats == "once":
        again = dataset.repeated
        if again.any():
            kept = ~again
            frame, labels = frame[kept].reset_index(drop=True), labels[kept].reset_index(drop=True)
            splitting = splitting.of_rows(kept)
            notes.append(f"{int(again.sum()):,} duplicates of earlier rows are dropped")
            said.append(("repeats", "once", None))
        words.insert(0, "duplicate rows are dropped")
    given = {"repeats": repeats if repeats != REPEATS[0] else None, "groups": groups, "time": time}
    asked = {name: value for name, value in given.items() if value is not None}
    plain = all(isinstance(value, str) for value in asked.values())
    call = f"split_by({', '.join(f'{name}={value!r}' for name, value in asked.items())})" if asked and plain else ""
    if not words:
        return dataset
    if before.said:
        call = f"{before.call}.{call}" if before.call and call else ""
    if before.words:
        words = list(dict.fromkeys([*before.words.split("; "), *words]))
    splitting = replace(splitting, words="; ".join(words), call=call, said=(*before.said, asked))
    found = replace(dataset, frame=frame, labels=labels, notes=tuple(notes), splitting=splitting)
    if not said:
        return found
    digest = sha256(dataset.hash.encode())
    for kind, name, codes in said:
        digest.update(f"|{kind}={name}".encode())
        digest.update(b"" if codes is None else codes.tobytes())
    return replace(found, hash=digest.hexdigest())


def split_by_role(dataset: AnyTable) -> AnyTable:
    """Return `dataset` split as its column of kind "group" or "time" says; as it is without one."""
    roles = {kind: name for name, kind in dataset.kinds.items() if kind in ("group", "time")}
    if not roles:
        return dataset
    split = split_by(dataset, REPEATS[0], roles.get("group"), roles.get("time"))
    return replace(split, splitting=replace(split.splitting, said=(), call=""))  # the kind says it already


def split_again(dataset: AnyTable, splitting: Splitting) -> AnyTable:
    """Return `dataset` with what was said of the splits of another said of it: of the same table with another target or
    other kinds, by which other rows may repeat.

    Raises `TableError` where that cannot be said of it: of an array that has other rows, of a group that is the target.
    """
    for arguments in splitting.said:
        dataset = split_by(dataset, **{**NO_SPLIT, **arguments})
    return dataset


def _codes(dataset: SplittableTable, given: Any, what: str) -> tuple[Codes, str]:
    """Return the values of a column or array as numbers in their order, -1 where missing, and what they are called."""
    if isinstance(given, str):
        if given not in dataset.frame.columns:
            names = list(dataset.frame.columns)
            raise TableError(f"no column is called {given!r}{nearest(given, names)}; splits need a {what} column")
        if given == dataset.target:
            raise TableError(f"{given!r} is the target and cannot be the {what} column; choose another")
        series, name = dataset.frame[given], repr(given)
    else:
        series, name = pd.Series(np.asarray(given)), f"the given {what}"
        if series.shape != (dataset.n_rows,):
            raise TableError(f"the {what} has {len(series):,} values for {dataset.n_rows:,} rows; expected one per row")
    if what == "time":
        series = _in_time(dataset, series, name)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object if what == "group" else str).where(series.notna())
    try:
        codes, _ = pd.factorize(series, sort=True)
    except TypeError as error:
        raise TableError(f"{name} holds values that have no order: {error}") from error
    return codes.astype(np.int64), name


def _in_time(dataset: SplittableTable, series: pd.Series, name: str) -> pd.Series:
    """The values of a column as they follow each other in time: text has an order where the table says so alone."""
    text = isinstance(series.dtype, pd.CategoricalDtype | pd.StringDtype) or (
        series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) in ("string", "mixed", "categorical")
    )
    if not text:
        return series
    kind = dataset.kinds.get(str(series.name))
    if kind == "ordinal" or (kind == "time" and sort_levels(list(series.cat.categories)) is not None):
        return as_levels(series, ordered=True).cat.codes.astype(np.float64).replace(-1, np.nan)
    sortable = [str(column) for column in dataset.frame if dataset.frame[column].dtype.kind in "ifM"]
    sortable.sort(key=lambda column: dataset.frame[column].dtype.kind != "M")  # dates first
    others = [column for column in sortable if column != dataset.target]
    such = f", such as {' or '.join(map(repr, others[:3]))}" if others else ""
    raise TableError(
        f"{name} holds text, of which nobody knows the order in time; a column of dates or numbers was expected{such}"
    )
