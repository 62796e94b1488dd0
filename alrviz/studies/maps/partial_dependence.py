"""Values of the columns that are not on a decision map's axes.

There are four ways: typical values (medians, most frequent levels); the values of one row; the average of predictions
over rows, wherever they lie on the map (partial dependence); or over the rows nearest to the place, weighted by
nearness, so that only realistic combinations count:

    map(u, v) = sum_i weight_i(u, v) model(u, v, others of row i) / sum_i weight_i(u, v)

with weight_i = exp(-d_i^2 / (2 * 0.5^2)), d_i the distance on the map in standard deviations (a level that differs
counts 1), over the N_NEAREST rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.errors import TableError, nearest
from alrviz.studies.maps.axes import Axis, Floats, is_numeric

OTHERS = {
    "typical": "at typical values", "row": "at one row's values", "mean": "averaged over rows",
    "near": "weighted by nearness",
}  # fmt: skip
MAX_AVERAGED = 64  # rows averaged over
POOL_ROWS = 1_000  # rows among which the nearest are searched
N_NEAREST = 16
WIDTH = 0.5  # standard deviations
_MISSING_DISTANCE = 3.0  # of a row without a value


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """The rows whose other columns are used.

    Attributes:
        how: a key of `OTHERS`.
        base: the rows.
        places: (2, rows) their positions on the map; None if they do not matter.
        units: (2,) unit of distance of each axis, 0 for levels.
    """

    how: str
    base: pd.DataFrame
    places: Floats | None = None
    units: tuple[float, float] = (0.0, 0.0)

    @property
    def per_place(self) -> int:
        """Number of rows that the model predicts for one place."""
        return min(N_NEAREST, len(self.base)) if self.how == "near" else len(self.base)

    def rows(self, u: Floats, v: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return for each place (u, v) the rows of `base` (places, M) and their weights (places, M), which sum to 1.

        u, v: (places,) positions on the two axes.
        """
        if self.places is None:
            rows = np.broadcast_to(np.arange(len(self.base)), (len(u), len(self.base)))
            return rows, np.full(rows.shape, 1.0 / len(self.base))
        squared_distances = np.zeros((len(u), len(self.base)))
        for positions, row_positions, unit in zip((u, v), self.places, self.units, strict=True):
            squared_distances += _distances(positions, row_positions, unit) ** 2
        rows = np.argpartition(squared_distances, self.per_place - 1, axis=1)[:, : self.per_place]
        nearest_squares = np.take_along_axis(squared_distances, rows, axis=1)
        weights = np.exp((nearest_squares.min(axis=1, keepdims=True) - nearest_squares) / (2 * WIDTH**2))
        return rows, weights / weights.sum(axis=1, keepdims=True)


def first_others(frame: pd.DataFrame, across: Any, up: Any) -> str:
    """Return how a page's map of two columns first treats the other columns of a table: "mean" or "typical".

    "mean" (averaged over rows) if most of them are categorical, else "typical" (each at its typical value): the most
    frequent levels of many columns may occur nowhere together, and such a map often shows a single class.
    """
    other_columns = [frame[name] for name in frame.columns if name not in (across, up)]
    n_categorical = sum(not is_numeric(column) for column in other_columns)
    return "mean" if 2 * n_categorical > len(other_columns) else "typical"


def others_of(
    frame: pd.DataFrame, across: Axis, up: Axis, how: str = "typical", row: int = 0, seed: int = 0
) -> PartialDependence:
    """Return the rows whose values the columns beside the two axes take on a map of `frame`.

    how: a key of `OTHERS`. row: position of the row for "row". seed: seed of the sample for "mean" and "near".

    Raises:
        TableError: if there is no such row or way.
    """
    if how not in OTHERS:
        raise TableError(f"others={how!r} is none of {', '.join(OTHERS)}{nearest(how, list(OTHERS))}")
    if how == "row":
        if not 0 <= row < len(frame):
            raise TableError(f"there is no row {row:,}; the rows are 0 to {len(frame) - 1:,}")
        return PartialDependence(how, frame.iloc[[row]])
    if how == "typical":
        return PartialDependence(how, typical_row(frame))
    n_rows = MAX_AVERAGED if how == "mean" else POOL_ROWS
    if len(frame) > n_rows:
        frame = frame.iloc[np.sort(np.random.default_rng(seed).choice(len(frame), n_rows, replace=False))]
    if how == "mean":
        return PartialDependence(how, frame)
    units = [_unit(axis, frame) for axis in (across, up)]
    row_positions = np.array([axis.positions(frame[axis.name]) for axis in (across, up)])
    return PartialDependence(how, frame, row_positions, (units[0], units[1]))


def typical_row(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row that is typical of a table: medians of numbers, most frequent levels (of equal ones the first)."""
    row = frame.iloc[[0]].copy()
    for name in frame.columns:
        column = frame[name]
        if is_numeric(column):
            row[name] = np.array([column.median()], dtype=np.float64)
        else:
            codes = pd.factorize(column, use_na_sentinel=False)[0]
            row[name] = column.iloc[[int(np.argmax(codes == np.bincount(codes).argmax()))]].array
    return row


def _unit(axis: Axis, base: pd.DataFrame) -> float:
    if not axis.numeric:
        return 0.0
    values = axis.positions(base[axis.name])
    values = values[np.isfinite(values)]
    return (float(values.std()) if len(values) else 0.0) or 1.0


def _distances(positions: Floats, row_positions: Floats, unit: float) -> Floats:
    """Return the distances (places, rows) along one axis between positions (places,) and row_positions (rows,).

    unit: the length that counts 1; 0 for levels, of which different ones are 1 apart.
    """
    if unit:
        return np.nan_to_num(np.abs(positions[:, None] - row_positions) / unit, nan=_MISSING_DISTANCE)
    return (np.floor(positions)[:, None] != np.floor(row_positions)).astype(np.float64)
