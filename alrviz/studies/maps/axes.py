"""The two axes of a decision map: a numeric column as a scale, a categorical one as a row of levels.

Level k of a categorical axis is shown from k to k + 1, so that positions on both kinds of axis are plain numbers.

One scale: where both columns are in one unit (the same one in brackets, or names that differ only in a number or as x
and y do) and neither axis is more than FARTHEST times as long as the other, a circle is shown round.
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
MOST_LEVELS = 30  # on one axis; more could not be read, and the model would be asked for each
AIR = 0.06  # share of a scale's length beyond its first and last value
FARTHEST = 4  # times as long as the other may an axis be that shares its scale: a longer one would leave a line of it
LONGEST = 2.0  # times as long as the other is such an axis shown, at most: of a strip little would be seen
FEW = 10  # values of a scale on which a map would show columns of points
LOOKED_AT, MOST_ASKED = 3_000, 60  # rows and columns that are asked which columns tell most about the classes
CELLS = 6  # of a column, to be asked so
_LEVELS = 2
_UNIT = re.compile(r"[(\[]\s*([^()\[\]]+?)\s*[)\]]\s*$")  # "petal width (cm)"
_NUMBER = re.compile(r"\d+")
_COORDINATE = re.compile(r"(.*(?:[^a-z]|^))([xyz])")  # "x", "pos_y"


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a map.

    Attributes:
        name: the column, as the table calls it.
        low, high: where it begins and ends; 0 and the number of levels for a categorical one.
        levels: the levels as text, () for a numeric column.
        column: the column itself.
        examples: (levels,) a row that has each level: what the model is given for it.
        left_out: levels that are too many to be shown.
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
        """Whether it is a scale."""
        return not self.levels

    @property
    def length(self) -> float:
        """From one end to the other."""
        return self.high - self.low

    def widened(self, least: float) -> "Axis":
        """Return the axis at least so long, its middle where it was."""
        more = (least - self.length) / 2
        return replace(self, low=self.low - more, high=self.high + more) if more > 0 else self

    def centres(self, side: int) -> Floats:
        """The positions a map of `side` steps asks for; a categorical axis has one step a level."""
        count = side if self.numeric else len(self.levels)
        return self.low + (np.arange(count) + 0.5) * (self.high - self.low) / count

    def cells(self, positions: Floats) -> Any:
        """The column's values at these positions, in the column's own dtype where it is categorical."""
        if self.numeric:
            return positions
        codes = np.clip(positions.astype(np.intp), 0, len(self.levels) - 1)
        return self.column.iloc[self.examples[codes]].array

    def value(self, position: float) -> Any:
        """What a press at this position means: a number, or the level as the table has it."""
        return position if self.numeric else self.cells(np.array([position]))[0]

    def positions(self, column: pd.Series) -> Floats:
        """Where values stand, NaN where they are not on the axis; a level's stand in its middle."""
        if self.numeric:
            return pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        place = {level: k + 0.5 for k, level in enumerate(self.levels)}
        return texts(column).map(place).to_numpy(dtype=np.float64)


def is_numeric(column: pd.Series) -> bool:
    """Whether a column's axis is a scale: numbers are, booleans are levels."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def texts(column: pd.Series) -> pd.Series:
    """Return a column's levels as text."""
    return column.astype(object).where(column.notna(), MISSING).map(str)


def axis_of(frame: pd.DataFrame, name: Any, keep: Axis | None = None) -> Axis:
    """Return the axis of a column.

    keep: an earlier axis; if it is of the same scale and still fits, its ends stay, so that a map does not jump when a
    point moves.

    Raises:
        TableError: if there is no such column.
    """
    if name not in frame.columns:
        known = [str(column) for column in frame.columns]
        raise TableError(f"no column is called {name!r}{nearest(str(name), known)}; the columns are {', '.join(known)}")
    column = frame[name]
    return _scale(name, column, keep) if is_numeric(column) else _levels(name, column)


def first_axes(frame: pd.DataFrame, across: Any = None, up: Any = None, y: Any = None) -> tuple[Any, Any]:
    """Return the two columns that a map begins with: those wished for if they are there, then the most telling ones.

    Scales of many values come before those of few, and these before levels. Among them, where the classes `y` (N,) are
    given, that which tells most about them comes first, and beside it that which tells most together with it; without
    classes the order is the table's.

    Raises:
        TableError: if there are fewer than two columns, or no rows.
    """
    if frame.shape[1] < 2 or not len(frame):
        raise TableError(f"a map needs two columns and some rows, got {frame.shape[1]} and {len(frame):,}")
    wished = [name if name in frame.columns else None for name in (across, up if up != across else None)]
    names, places = list(frame.columns), np.linspace(0, len(frame) - 1, min(LOOKED_AT, len(frame))).astype(np.intp)
    rows = frame.iloc[places]
    kinds = {name: _kind(rows[name]) for name in names}
    free = sorted((name for name in names if name not in wished), key=kinds.__getitem__)
    found = [name for name in wished if name is not None]
    known = y is not None and len(y) == len(frame)
    classes = pd.factorize(np.asarray(y, dtype=object)[places].astype(str))[0] if known else None
    while len(found) < 2:
        asked = [name for name in free if kinds[name] == kinds[free[0]]][:MOST_ASKED]
        best = asked[0] if classes is None or len(names) == 2 else _most_telling(rows, asked, found, classes)
        free.remove(best)
        found.append(best)
    if wished == [None, None]:
        first, second = sorted(found, key=lambda name: (kinds[name] == _LEVELS, names.index(name)))
    else:
        first, second = found if wished[0] is not None else reversed(found)
    return first, second


def _most_telling(rows: pd.DataFrame, asked: Sequence[Any], found: Sequence[Any], classes: NDArray[np.intp]) -> Any:
    """Return which of the columns asked tells most about the classes, together with the first found one, if any."""
    beside = _cells(rows[found[0]]) if found else 0
    return max(asked, key=lambda name: _information(beside * CELLS + _cells(rows[name]), classes))


def _kind(column: pd.Series) -> int:
    """0 for a scale of many values, 1 for one of few, _LEVELS for levels."""
    return _LEVELS if not is_numeric(column) else int(column.nunique() <= FEW)


def _cells(column: pd.Series) -> NDArray[np.intp]:
    """A number below CELLS for each value: its fifth of a scale, or its level among the most frequent; one for none."""
    if not is_numeric(column):
        codes = pd.factorize(column)[0] + 1  # 0 where there is none
        rank = np.argsort(np.argsort(-np.bincount(codes), kind="stable"), kind="stable")
        return np.minimum(rank[codes], CELLS - 1)
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.isfinite(values)
    ends = np.quantile(values[known], np.arange(1, CELLS - 1) / (CELLS - 1)) if known.any() else np.zeros(1)
    return np.where(known, np.searchsorted(ends, values), CELLS - 1).astype(np.intp)


def _information(cells: NDArray[np.intp], classes: NDArray[np.intp]) -> float:
    """What the cells tell about the classes, in nats: their mutual information, less what chance makes of few rows."""
    counts = np.zeros((cells.max() + 1, classes.max() + 1))
    np.add.at(counts, (cells, classes), 1.0)
    share = counts / counts.sum()
    by_chance = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    there = share > 0
    told = (share[there] * np.log(share[there] / by_chance[there])).sum()
    chance = (share.any(axis=1).sum() - 1) * (share.any(axis=0).sum() - 1) / (2 * len(cells))
    return float(told - chance)


def axes_of(
    frame: pd.DataFrame,
    names: Sequence[Any],
    keep: Sequence[Axis | None] = (None, None),
    shape: float | None = None,
) -> tuple[Axis, Axis]:
    """Return the two axes of a map; of two that have one scale one is widened.

    keep: two earlier axes, as for `axis_of`. shape: width by height of the frame that they are to fill, at most LONGEST
    either way; without it the shorter is widened to 1 / LONGEST of the longer.

    Raises:
        TableError: if there is no such column.
    """
    across, up = (axis_of(frame, name, old) for name, old in zip(names, keep, strict=True))
    if not one_scale(across, up):
        return across, up
    if shape is None:
        least = max(across.length, up.length) / LONGEST
        return across.widened(least), up.widened(least)
    shape = min(max(shape, 1 / LONGEST), LONGEST)
    return across.widened(shape * up.length), up.widened(across.length / shape)


def one_scale(across: Axis, up: Axis) -> bool:
    """Whether both axes are to have as many pixels for a step of 1: see the module's text."""
    short, long = sorted((across.length, up.length))
    return across.numeric and up.numeric and long <= FARTHEST * short and _one_unit(str(across.name), str(up.name))


def _one_unit(one: str, other: str) -> bool:
    units = [_UNIT.search(name) for name in (one, other)]
    if any(units):
        return all(units) and len({unit[1].casefold() for unit in units if unit}) == 1
    if _NUMBER.sub("#", one) == _NUMBER.sub("#", other):
        return True
    found = [_COORDINATE.fullmatch(name.casefold()) for name in (one, other)]
    return all(found) and len({match[1] for match in found if match}) == 1


def _scale(name: Any, column: pd.Series, keep: Axis | None) -> Axis:
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if keep is not None and keep.numeric and keep.name == name and _fits(keep, low, high):
        return Axis(name, keep.low, keep.high, column=column)
    air = AIR * (high - low) or 0.5 * max(abs(low), 1.0)
    return Axis(name, low - air, high + air, column=column)


def _fits(axis: Axis, low: float, high: float) -> bool:
    """Whether these ends lie on the axis and fill at least a third of it."""
    return axis.low <= low and high <= axis.high and 3 * (high - low) >= axis.high - axis.low


def _levels(name: Any, column: pd.Series) -> Axis:
    words = texts(column)
    counts = words.value_counts(sort=True)
    kept = set(counts.index[:MOST_LEVELS])
    order = [str(level) for level in column.cat.categories] if isinstance(column.dtype, pd.CategoricalDtype) else []
    rank = {level: k for k, level in enumerate(order)}
    levels = sorted(kept, key=lambda level: (level == MISSING, rank.get(level, len(rank)), level))
    first = pd.Series(np.arange(len(words)), index=words.to_numpy()).groupby(level=0).first()
    examples = first.loc[levels].to_numpy(dtype=np.intp)
    return Axis(name, 0.0, float(len(levels)), tuple(levels), column, examples, len(counts) - len(levels))
