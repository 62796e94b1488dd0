"""`ColumnEncoder` encodes one column, in one of two forms:

    cuts     numeric, cut into intervals; value <= cut goes left: code = number of cuts below the value
    values   one code per value seen in training (categorical, ordinal, or numeric with `discretize=None`)

If missing is a level, it is the last one. The number of levels, `len(labels)`, is also the code for "no level". A
column without any value has one level: "missing", or with `missing="skip"` one that no row has.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.columns import Level, as_float, as_levels, as_numbers, distinct_levels, holds_text, sorted_levels
from alrviz.data.options import MISSING as MISSING_TEXTS
from alrviz.data.parse_values import LevelCodes
from alrviz.errors import ReadingWarning
from alrviz.warn_once import warn_once

MISSING = "missing"
NO_VALUE_LABEL = "(no value seen)"
# Types of values whose code is the same in columns of any dtype: numbers, and all types of levels.
_NUMBER_TYPES = {int, float, np.float64, np.float32, *(np.dtype(code).type for code in "bhilqBHILQ")}
_SINGLE_VALUE_TYPES = {*_NUMBER_TYPES, str, np.str_, bool, np.bool_}
_MAX_WHOLE = 1e15  # whole numbers below are written without an exponent or a rounded digit


@dataclass(frozen=True, eq=False)
class ColumnEncoder:
    """The levels of one column: its name, kind, a label for each code, and their cuts or values.

    `smooth`: whether the weights of neighbouring levels are pulled together.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    cuts: np.ndarray | None = None
    missing_code: int | None = None
    values: tuple[Level, ...] | None = None
    smooth: bool = False

    @property
    def n_levels(self) -> int:
        """Number of levels seen in training; as a code it means "no level"."""
        return len(self.labels)

    @property
    def code_of_missing(self) -> int:
        """The code of a missing value: `missing_code`, or "no level"."""
        return self.n_levels if self.missing_code is None else self.missing_code

    def transform(self, column: pd.Series) -> np.ndarray:
        """Return the codes of the column's rows (N,)."""
        if self.kind == "numeric":
            numbers = as_numbers(column, self.name)
            if holds_text(column):
                warn_once(
                    f"column {self.name!r} holds text, but held numbers in training: its texts are read as numbers; "
                    "expected numbers (astype(float))",
                    ReadingWarning,
                    stacklevel=3,
                )
            if self.cuts is None:
                return self._match_numbers(numbers)
            codes = np.searchsorted(self.cuts, numbers, side="left")
            codes[np.isnan(numbers)] = self.code_of_missing
            return codes
        if isinstance(values := column.array, pd.Categorical):
            return self._codes_of(values.categories)[values.codes]  # -1 of a missing row selects the last entry
        level_indices, levels = as_levels(column, self.name)
        return np.array([*map(self._levels.code, levels), self.code_of_missing], dtype=np.intp)[level_indices]

    def code(self, value: Any) -> int | None:
        """Return the code that `transform` gives one value; None if that depends on the dtype of its column."""
        if self.cuts is None:
            if self.kind == "numeric" or type(value) not in _SINGLE_VALUE_TYPES:
                return None
            return self._levels.code(value)
        number = as_float(value) if type(value) in _NUMBER_TYPES else math.inf
        if math.isnan(number):
            return self.code_of_missing
        return None if math.isinf(number) else bisect_left(self._cuts, number)

    def _codes_of(self, categories: pd.Index) -> np.ndarray:
        """Return the code of each category, then that of missing; cached, as a table is often encoded repeatedly."""
        cached_categories, codes = self.__dict__.get("_last", (None, np.empty(0, np.intp)))
        if cached_categories is not categories:
            codes = np.array([*map(self._levels.code, categories), self.code_of_missing], dtype=np.intp)
            self.__dict__["_last"] = categories, codes
        return codes

    def knows(self, categories: pd.Index) -> bool:
        """Return whether all categories of a column are levels."""
        return bool((self._codes_of(categories)[:-1] < self.n_levels).all())

    def _match_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Return the code of the level that each number (N,) equals."""
        level_numbers = np.array([*(self.values or ()), np.inf], dtype=np.float64)
        codes = np.searchsorted(level_numbers[:-1], numbers)
        codes[level_numbers[codes] != numbers] = self.n_levels
        codes[np.isnan(numbers)] = self.code_of_missing
        return codes

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without the cached look-up tables, which are rebuilt when needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _cuts(self) -> list[float]:
        return [] if self.cuts is None else self.cuts.tolist()

    @cached_property
    def _levels(self) -> LevelCodes:
        return LevelCodes(self.values or (), self.code_of_missing, self.n_levels, MISSING_TEXTS)

    def is_missing(self, value: Any) -> bool:
        """Return whether a value of a column of levels is missing."""
        return self._levels.is_missing(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as JSON values."""
        cuts = None if self.cuts is None else self.cuts.tolist()
        values = None if self.values is None else list(self.values)
        return {**self.__getstate__(), "labels": list(self.labels), "cuts": cuts, "values": values}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "ColumnEncoder":
        """Rebuild the encoder from `to_dict`'s state."""
        cuts = None if state["cuts"] is None else np.array(state["cuts"], dtype=np.float64)
        values = None if state["values"] is None else tuple(state["values"])
        return cls(**{**state, "labels": tuple(state["labels"]), "cuts": cuts, "values": values})


def code_values(column: pd.Series, name: str, kind: str, keep_missing: bool) -> ColumnEncoder:
    """Return an encoder with a level for each distinct value of a training column, sorted unless it is ordinal."""
    if kind == "numeric":
        numbers = as_numbers(column, name)
        distinct = np.unique(numbers[~np.isnan(numbers)]) + 0.0  # makes -0.0 0.0, which is the same level
        values: Sequence[Level] = distinct.tolist()
        labels = [str(int(x)) if x % 1 == 0 and abs(x) < _MAX_WHOLE else repr(x) for x in distinct.tolist()]
        return _make_encoder(name, kind, labels, values, None, bool(np.isnan(numbers).any()) and keep_missing)
    level_indices, levels = as_levels(column, name)
    occurs = np.zeros(len(levels) + 1, dtype=bool)  # index -1 of a missing row is the last entry
    occurs[level_indices] = True
    present = [value for value, is_present in zip(levels, occurs, strict=False) if is_present]
    values = distinct_levels(present) if kind == "ordinal" else sorted_levels(present)
    has_missing = bool(occurs[-1]) or "" in present
    return _make_encoder(name, kind, [str(value) for value in values], values, None, has_missing and keep_missing)


def code_intervals(numbers: np.ndarray, name: str, keep_missing: bool, cuts: np.ndarray | None) -> ColumnEncoder:
    """Return an encoder with the intervals between `cuts` of a column's numbers (N,), NaN if missing.

    `cuts` are None if all numbers are missing.
    """
    present = ~np.isnan(numbers)
    keep_missing = keep_missing and not present.all()
    if cuts is None:
        return _make_encoder(name, "numeric", [], (), None, keep_missing)
    labels = interval_labels(cuts, bool((numbers[present] == np.floor(numbers[present])).all()))
    return _make_encoder(name, "numeric", labels, None, cuts, keep_missing)


def _make_encoder(
    name: str, kind: str, labels: list[str], values: Sequence[Level] | None, cuts: np.ndarray | None, missing: bool
) -> ColumnEncoder:
    """Return an encoder of these levels, and of a level for missing values if `missing`; `values` and `cuts` as
    there.
    """
    missing_code = len(labels) if missing else None
    labels = [*labels, MISSING] if missing else labels or [NO_VALUE_LABEL]
    return ColumnEncoder(name, kind, tuple(labels), cuts, missing_code, None if values is None else tuple(values))


def interval_labels(cuts: np.ndarray, whole: bool = False) -> list[str]:
    """Return a label for each of the k + 1 intervals between `cuts` (k,), with as few digits as keep the cuts distinct.

    `whole`: whether all numbers are whole; the labels are then the whole numbers in an interval, if each has some.

    >>> interval_labels(np.array([3.5, 7]))
    ['<= 3.5', '(3.5, 7]', '> 7']
    >>> interval_labels(np.array([3.5, 4.5, 7]), whole=True)
    ['<= 3', '4', '5 to 7', '> 7']
    """
    if not len(cuts):
        return ["any number"]
    whole_ends = np.floor(cuts)
    if whole and (np.diff(whole_ends) > 0).all() and np.abs(whole_ends).max() < _MAX_WHOLE:
        upper_ends = [int(end) for end in whole_ends]
        inner_labels = [str(high) if high == low + 1 else f"{low + 1} to {high}" for low, high in pairwise(upper_ends)]
        return [f"<= {upper_ends[0]}", *inner_labels, f"> {upper_ends[-1]}"]
    for digits in range(6, 18):
        texts = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(texts)) == len(texts):
            break
    inner_labels = [f"({low}, {high}]" for low, high in pairwise(texts)]
    return [f"<= {texts[0]}", *inner_labels, f"> {texts[-1]}"]
