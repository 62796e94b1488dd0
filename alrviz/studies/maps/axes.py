"""The two axes of a decision map: a numeric column as a scale, a categorical one as a row of levels.

Level k of a categorical axis is shown from k to k + 1, so that positions on both kinds of axis are plain numbers.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.errors import TableError, nearest
from alrviz.passes.aligned_buffers import Floats

MISSING = "missing"
MOST_LEVELS = 30  # on one axis; more could not be read, and the model would be asked for each
AIR = 0.06  # share of a scale's length beyond its first and last value


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
