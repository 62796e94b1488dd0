"""The two axes of a decision map: a scale for a numeric column, a row of levels for a categorical one.

Level k of a categorical axis reaches from k to k + 1, so that positions on both kinds of axis are plain numbers.

Both axes share one scale, so that circles look round, if their columns have the same unit (equal units in brackets, or
names that differ only in a number, or as x and y do) and neither range is more than MAX_RANGE_RATIO times the other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.errors import TableError, nearest
from alrviz.passes.aligned_buffers import Floats

MISSING = "missing"
MAX_LEVELS = 30  # on one axis: more are unreadable, and the model is evaluated for each
MARGIN_SHARE = 0.06  # share of a scale's length beyond its first and last value
MAX_RANGE_RATIO = 4  # of two axes with one scale: beyond it the shorter one would be a line
MAX_ASPECT_RATIO = 2.0  # of a map with one scale: a narrower strip shows little
MAX_FEW_VALUES = 10  # with at most so many values a map would show columns of points
MAX_SAMPLED_ROWS, MAX_CANDIDATES = 3_000, 60  # rows and columns used to find the most informative columns
N_INTERVALS = 6  # intervals of a column for that
_LEVELS = 2
_UNIT = re.compile(r"[(\[]\s*([^()\[\]]+?)\s*[)\]]\s*$")  # "petal width (cm)"
_NUMBER = re.compile(r"\d+")
_COORDINATE = re.compile(r"(.*(?:[^a-z]|^))([xyz])")  # "x", "pos_y"


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a map.

    Attributes:
        name: name of the column in the table.
        low, high: its ends; 0 and the number of levels for a categorical axis.
        levels: the levels as text, () for a numeric column.
        column: the column.
        examples: (levels,) a row with each level, whose value is given to the model.
        left_out: number of levels that are not shown.
    """

    name: Any
    low: float
    high: float
    levels: tuple[str, ...] = ()
    column: pd.Series = field(default_factory=pd.Series, repr=False)
    examples: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp), repr=False)
    left_out: int = 0

    @property
    def numeric(self) -> bool:
        """Whether the axis is a scale."""
        return not self.levels

    @property
    def length(self) -> float:
        """high - low, in the column's unit, or as a number of levels."""
        return self.high - self.low

    def widened(self, min_length: float) -> "Axis":
        """Return the axis with the same middle and at least min_length, in its unit."""
        margin = (min_length - self.length) / 2
        return replace(self, low=self.low - margin, high=self.high + margin) if margin > 0 else self

    def centres(self, side: int) -> Floats:
        """Return the positions of a map of `side` steps; a categorical axis has a step for each level."""
        n_steps = side if self.numeric else len(self.levels)
        return self.low + (np.arange(n_steps) + 0.5) * (self.high - self.low) / n_steps

    def cells(self, positions: Floats) -> Any:
        """Return the column's values at positions, in its own dtype if it is categorical."""
        if self.numeric:
            return positions
        codes = np.clip(positions.astype(np.intp), 0, len(self.levels) - 1)
        return self.column.iloc[self.examples[codes]].array

    def value(self, position: float) -> Any:
        """Return the value at a position: a number, or the table's level."""
        return position if self.numeric else self.cells(np.array([position]))[0]

    def positions(self, column: pd.Series) -> Floats:
        """Return the positions of a column's values (N,), NaN for those not on the axis; a level's is its middle."""
        if self.numeric:
            return pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        position_by_level = {level: k + 0.5 for k, level in enumerate(self.levels)}
        return texts(column).map(position_by_level).to_numpy(dtype=np.float64)


def is_numeric(column: pd.Series) -> bool:
    """Return whether a column's axis is a scale: numbers, but not booleans."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def texts(column: pd.Series) -> pd.Series:
    """Return a column's levels as text."""
    return column.astype(object).where(column.notna(), MISSING).map(str)


def axis_of(frame: pd.DataFrame, name: Any, keep: Axis | None = None) -> Axis:
    """Return the axis of the column `name` of a table.

    keep: an earlier axis, whose ends are kept if it has the same column and still fits, so that a map does not jump
    when a point moves.

    Raises:
        TableError: if there is no such column.
    """
    if name not in frame.columns:
        column_names = [str(column) for column in frame.columns]
        raise TableError(
            f"no column is called {name!r}{nearest(str(name), column_names)}; the columns are {', '.join(column_names)}"
        )
    column = frame[name]
    return _numeric_axis(name, column, keep) if is_numeric(column) else _categorical_axis(name, column)


def first_axes(frame: pd.DataFrame, across: Any = None, up: Any = None, y: Any = None) -> tuple[Any, Any]:
    """Return the two columns of a table for a new map: `across` and `up` if they exist, then the most informative ones.

    Scales with many values come before those with few, and these before levels. Within a kind, if classes `y` (N,) are
    given, the most informative column about them comes first, and second the one most informative together with it;
    without classes the table's order counts.

    Raises:
        TableError: with fewer than two columns, or without rows.
    """
    if frame.shape[1] < 2 or not len(frame):
        raise TableError(f"a map needs two columns and some rows, got {frame.shape[1]} and {len(frame):,}")
    names = list(frame.columns)
    preferred_names = [name if name in names else None for name in (across, up if up != across else None)]
    sampled_rows = np.linspace(0, len(frame) - 1, min(MAX_SAMPLED_ROWS, len(frame))).astype(np.intp)
    rows = frame.iloc[sampled_rows]
    kind_by_name = {name: _kind(rows[name]) for name in names}
    has_classes = y is not None and len(y) == len(frame) and len(names) > 2
    classes = pd.factorize(np.asarray(y, dtype=object)[sampled_rows].astype(str))[0] if has_classes else None
    chosen_names = [name for name in preferred_names if name is not None]
    while len(chosen_names) < 2:
        free_names = [name for name in names if name not in chosen_names]
        first_kind = min(kind_by_name[name] for name in free_names)
        candidates = [name for name in free_names if kind_by_name[name] == first_kind][:MAX_CANDIDATES]
        chosen_names.append(_most_informative(rows, candidates, chosen_names, classes))
    if preferred_names == [None, None]:
        chosen_names.sort(key=lambda name: (kind_by_name[name] == _LEVELS, names.index(name)))
    elif preferred_names[0] is None:
        chosen_names.reverse()
    return chosen_names[0], chosen_names[1]


def _most_informative(
    rows: pd.DataFrame, candidates: Sequence[Any], chosen_names: Sequence[Any], classes: NDArray[np.intp] | None
) -> Any:
    """Return the candidate that is most informative about the classes (N,) of rows; without classes the first one.

    chosen_names: a column that is chosen already, together with which it counts; or none.
    """
    if classes is None:
        return candidates[0]
    fixed = _interval_codes(rows[chosen_names[0]]) if chosen_names else 0
    return max(candidates, key=lambda name: _information(fixed * N_INTERVALS + _interval_codes(rows[name]), classes))


def _kind(column: pd.Series) -> int:
    """Return the kind of a column: 0 for a scale with many values, 1 for one with few, _LEVELS for levels."""
    return _LEVELS if not is_numeric(column) else int(column.nunique() <= MAX_FEW_VALUES)


def _interval_codes(column: pd.Series) -> NDArray[np.intp]:
    """Return a number below N_INTERVALS for each value of a column: its part of a scale, or its level's rank."""
    if not is_numeric(column):
        codes = pd.factorize(column)[0] + 1  # 0 for missing
        rank_by_code = np.argsort(np.argsort(-np.bincount(codes), kind="stable"), kind="stable")
        return np.minimum(rank_by_code[codes], N_INTERVALS - 1)
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    is_finite = np.isfinite(values)
    quantiles = np.arange(1, N_INTERVALS - 1) / (N_INTERVALS - 1)
    interval_ends = np.quantile(values[is_finite], quantiles) if is_finite.any() else np.zeros(1)
    return np.where(is_finite, np.searchsorted(interval_ends, values), N_INTERVALS - 1).astype(np.intp)


def _information(cells: NDArray[np.intp], classes: NDArray[np.intp]) -> float:
    """Return the mutual information, in nats, of the rows' cells (N,) and classes (N,), minus the Miller-Madow bias
    correction.
    """
    joint_counts = np.zeros((cells.max() + 1, classes.max() + 1))
    np.add.at(joint_counts, (cells, classes), 1.0)
    joint_share = joint_counts / joint_counts.sum()
    independent_share = joint_share.sum(axis=1, keepdims=True) * joint_share.sum(axis=0, keepdims=True)
    is_positive = joint_share > 0
    information = (joint_share[is_positive] * np.log(joint_share[is_positive] / independent_share[is_positive])).sum()
    bias = (joint_share.any(axis=1).sum() - 1) * (joint_share.any(axis=0).sum() - 1) / (2 * len(cells))
    return float(information - bias)


def axes_of(
    frame: pd.DataFrame, names: Sequence[Any], keep: Sequence[Axis | None] = (None, None), shape: float | None = None
) -> tuple[Axis, Axis]:
    """Return the axes of two columns of a table, by their names; if they share one scale, one is widened.

    keep: two earlier axes, see `axis_of`. shape: width / height of the map's frame, limited to MAX_ASPECT_RATIO either
    way; None: the shorter axis is widened to 1 / MAX_ASPECT_RATIO of the longer.

    Raises:
        TableError: if there is no such column.
    """
    across, up = (axis_of(frame, name, kept_axis) for name, kept_axis in zip(names, keep, strict=True))
    if not one_scale(across, up):
        return across, up
    if shape is None:
        min_length = max(across.length, up.length) / MAX_ASPECT_RATIO
        return across.widened(min_length), up.widened(min_length)
    shape = min(max(shape, 1 / MAX_ASPECT_RATIO), MAX_ASPECT_RATIO)
    return across.widened(shape * up.length), up.widened(across.length / shape)


def one_scale(across: Axis, up: Axis) -> bool:
    """Return whether a step of 1 has the same length on both axes (see the module's docstring)."""
    short, long = sorted((across.length, up.length))
    return (
        across.numeric and up.numeric and long <= MAX_RANGE_RATIO * short and _one_unit(str(across.name), str(up.name))
    )


def _one_unit(first_name: str, second_name: str) -> bool:
    units = [_UNIT.search(name) for name in (first_name, second_name)]
    if any(units):
        return all(units) and len({unit[1].casefold() for unit in units if unit}) == 1
    if _NUMBER.sub("#", first_name) == _NUMBER.sub("#", second_name):
        return True
    coordinates = [_COORDINATE.fullmatch(name.casefold()) for name in (first_name, second_name)]
    return all(coordinates) and len({match[1] for match in coordinates if match}) == 1


def _numeric_axis(name: Any, column: pd.Series, keep: Axis | None) -> Axis:
    """Return the axis of a numeric column called `name`: with the ends of `keep` where its values still fill them."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = values[np.isfinite(values)]
    lowest, highest = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    is_same = keep is not None and keep.numeric and keep.name == name
    if (
        keep and is_same and keep.low <= lowest and highest <= keep.high and 3 * (highest - lowest) >= keep.length
    ):  # a third is full
        return Axis(name, keep.low, keep.high, column=column)
    margin = MARGIN_SHARE * (highest - lowest) or 0.5 * max(abs(lowest), 1.0)
    return Axis(name, lowest - margin, highest + margin, column=column)


def _categorical_axis(name: Any, column: pd.Series) -> Axis:
    """Return the axis of a categorical column called `name`: its most frequent levels, in their own order or the
    alphabet's.
    """
    level_by_row = texts(column)
    rows_by_level = level_by_row.value_counts(sort=True)
    frequent = set(rows_by_level.index[:MAX_LEVELS])
    order = [str(level) for level in column.cat.categories] if isinstance(column.dtype, pd.CategoricalDtype) else []
    rank_by_level = {level: k for k, level in enumerate(order)}
    levels = sorted(frequent, key=lambda level: (level == MISSING, rank_by_level.get(level, len(rank_by_level)), level))
    first_row_by_level = pd.Series(np.arange(len(level_by_row)), index=level_by_row.to_numpy()).groupby(level=0).first()
    examples = first_row_by_level.loc[levels].to_numpy(dtype=np.intp)
    return Axis(name, 0.0, float(len(levels)), tuple(levels), column, examples, len(rows_by_level) - len(levels))
