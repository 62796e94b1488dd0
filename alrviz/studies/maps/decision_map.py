"""What a fitted classifier says of every place on a plane of two columns, coarse first and then finer.

    values[v, u] = model(u, v, other columns), averaged as `others` says

The model is any object with `classes_` and `predict_proba`, or only `decision_function`: scores are kept as scores.
`decision_map` is a generator: each `Surface` it yields covers the whole map, the first one with few places, so that
something is seen after a few milliseconds. The model is asked in chunks, the stop token between them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.errors import TableError
from alrviz.stop import NEVER, StopToken
from alrviz.studies.maps.axes import Axis, Floats, axes_of, axis_of, first_axes, one_scale
from alrviz.studies.maps.classifier_adapter import ClassifierAdapter
from alrviz.studies.maps.partial_dependence import PartialDependence, others_of

SIDES = (20, 60, 140)  # places along a scale; a picture 575 pixels wide shows no more
MOST_ASKED = 160_000  # rows a surface asks the model about, averaging included
CHUNK = 8_192  # rows between two looks at the stop token
MOST_POINTS = 1_500  # beyond it points cover each other and the map
_SQUEEZE = 0.8  # of a level's cell is used by its points


@dataclass(frozen=True, eq=False)
class Points:
    """Rows on the map, thinned when many.

    Attributes:
        x, y: (P,) where they stand; within a level's cell they are spread.
        rows: (P,) their positions in the table.
        truth, predicted: (P,) codes into the surface's classes, -1 for none.
        total: rows of the table. absent: those among them that have no place on these axes.
    """

    x: Floats
    y: Floats
    rows: NDArray[np.intp]
    truth: NDArray[np.intp]
    predicted: NDArray[np.intp]
    total: int
    absent: int

    @property
    def thinned(self) -> bool:
        """Whether only some of the rows that have a place are here."""
        return len(self.rows) < self.total - self.absent


@dataclass(frozen=True, eq=False)
class Surface:
    """A map.

    Attributes:
        across, up: its axes.
        classes: the classes as text; columns of `values`.
        values: (rows up, columns across, C) probabilities, or scores; (.., 1) for the score of the second of two.
        probability: whether they are probabilities.
        points: rows of the table on the map, None where none were given.
        fine: whether no finer one follows.
    """

    across: Axis
    up: Axis
    classes: tuple[str, ...]
    values: NDArray[np.float32]
    probability: bool
    points: Points | None
    fine: bool

    @property
    def single(self) -> bool:
        """Whether it is one score of two classes, with the boundary at 0."""
        return self.values.shape[2] == 1

    @property
    def one_scale(self) -> bool:
        """Whether a circle is to be shown round: both columns are in one unit, as `map_axes` says."""
        return one_scale(self.across, self.up)

    @property
    def winner(self) -> NDArray[np.intp]:
        """(rows up, columns across) the class with the highest value, -1 where the model says nothing."""
        found = (self.values[..., 0] > 0).astype(np.intp) if self.single else self.values.argmax(axis=2)
        return np.where(np.isnan(self.values).any(axis=2), -1, found)

    def absent(self) -> list[tuple[str, float]]:
        """Classes that win nowhere on the map, each with the highest value it has (its own score or probability)."""
        won = np.bincount(self.winner.ravel() + 1, minlength=len(self.classes) + 1)[1:]
        values = np.concatenate([-self.values, self.values], axis=2) if self.single else self.values
        highest = np.nanmax(values.reshape(-1, len(self.classes)), axis=0, initial=-np.inf)
        return [(name, float(highest[k])) for k, name in enumerate(self.classes) if not won[k]]

    def frame(self) -> pd.DataFrame:
        """Return one line a place: its two values (levels as text), and the value of every class."""
        rows, columns, kinds = self.values.shape
        names = self.classes[-1:] if kinds == 1 else self.classes
        places = [
            np.array(axis.levels, dtype=object) if axis.levels else axis.centres(side)
            for axis, side in ((self.across, columns), (self.up, rows))
        ]
        table = {str(self.across.name): np.tile(places[0], rows), str(self.up.name): np.repeat(places[1], columns)}
        what = "p" if self.probability else "score"
        values = self.values.reshape(-1, kinds)
        return pd.DataFrame(table | {f"{what}({name})": values[:, k] for k, name in enumerate(names)})


def frame_of(X: Any) -> pd.DataFrame:
    """Return a table as a frame; the columns of a matrix are called by their positions, as text."""
    if isinstance(X, pd.DataFrame):
        return X
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise TableError(f"expected a table with rows and columns, got an array of shape {matrix.shape}")
    return pd.DataFrame(matrix, columns=[str(j) for j in range(matrix.shape[1])]).infer_objects()


def decision_map(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    across: Axis | Any = None,
    up: Axis | Any = None,
    others: str = "typical",
    row: int = 0,
    classes: Sequence[Any] | None = None,
    seed: int = 0,
    sides: Sequence[int] | None = None,
    stop: StopToken = NEVER,
) -> Iterator[Surface]:
    """Yield maps of a fitted classifier, coarse first.

    Args:
        model: has `classes_` and `predict_proba` or `decision_function`.
        X: (N, a) DataFrame or matrix, the columns the model takes; its rows span the axes.
        y: (N,) the true classes, None for no points.
        across, up: two columns (or axes made of them); without both of them `first_axes`.
        others: what stands in the other columns, a key of `OTHERS`. row: the row for "row".
        classes: the order of classes; None for the model's. seed: draws rows where not all are used.
        sides: places along a scale of each map, None for SIDES.
        stop: asked between chunks.

    Raises:
        TableError: for columns or rows that are not there, or a model that cannot be asked.
        Stopped: when stopped.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "a", "a", "b"]
    >>> maps = list(decision_map(LogisticRegression().fit(X, y), X, y))
    >>> [surface.values.shape for surface in maps]
    [(20, 20, 2), (60, 60, 2), (140, 140, 2)]
    """
    frame = frame_of(X)
    if across is None or up is None:
        across, up = first_axes(frame, y=y)
    ask = ClassifierAdapter(model, matrix=not isinstance(X, pd.DataFrame), classes=classes)
    if isinstance(across, Axis) or isinstance(up, Axis):
        across, up = (axis if isinstance(axis, Axis) else axis_of(frame, axis) for axis in (across, up))
    else:
        across, up = axes_of(frame, (across, up))
    held = others_of(frame, across, up, how=others, row=row, seed=seed)
    points = None if y is None else points_of(ask, frame, y, across, up, seed=seed)
    sides = _sides((across, up), held.per_place, SIDES if sides is None else sides)
    for side in sides:
        values = _values(ask, across, up, held, side, stop)
        yield Surface(across, up, ask.classes, values, ask.probability, points, fine=side == sides[-1])


def _sides(axes: Sequence[Axis], per_place: int, wished: Sequence[int]) -> list[int]:
    """How finely scales are cut, from coarse to fine."""
    scales = sum(axis.numeric for axis in axes)
    if not scales:
        return [1]
    levels = int(np.prod([len(axis.levels) for axis in axes if not axis.numeric]))
    most = max(8, int((MOST_ASKED / (per_place * levels)) ** (1 / scales)))
    return sorted({min(side, most) for side in wished})


def _values(
    ask: ClassifierAdapter, across: Axis, up: Axis, held: PartialDependence, side: int, stop: StopToken
) -> NDArray[np.float32]:
    columns, rows = across.centres(side), up.centres(side)
    u, v = (places.ravel() for places in np.meshgrid(columns, rows))
    parts = []
    step = max(1, CHUNK // held.per_place)
    for begin in range(0, len(u), step):
        stop.check()
        at = slice(begin, begin + step)
        used, weights = held.rows(u[at], v[at])
        table = held.base.iloc[used.ravel()].reset_index(drop=True)
        table[across.name] = across.cells(np.repeat(u[at], used.shape[1]))
        table[up.name] = up.cells(np.repeat(v[at], used.shape[1]))
        asked = ask(table)
        parts.append((asked.reshape(*used.shape, -1) * weights[..., None]).sum(axis=1))
    return np.concatenate(parts).reshape(len(rows), len(columns), -1).astype(np.float32)


def points_of(ask: ClassifierAdapter, frame: pd.DataFrame, y: Any, across: Axis, up: Axis, seed: int = 0) -> Points:
    """Return the rows that have a place on these axes, at most MOST_POINTS of them, and what the model predicts."""
    labels = np.asarray(y, dtype=object)
    if len(labels) != len(frame):
        raise TableError(f"{len(labels):,} classes were given for {len(frame):,} rows; expected one per row")
    x, z = across.positions(frame[across.name]), up.positions(frame[up.name])
    there = np.flatnonzero(np.isfinite(x) & np.isfinite(z))
    draw = np.random.default_rng(seed)
    kept = there if len(there) <= MOST_POINTS else np.sort(draw.choice(there, MOST_POINTS, replace=False))
    spread = draw.uniform(-0.5, 0.5, (2, len(kept))) * _SQUEEZE
    return Points(
        x=x[kept] if across.numeric else x[kept] + spread[0],
        y=z[kept] if up.numeric else z[kept] + spread[1],
        rows=kept,
        truth=ask.codes(labels[kept]),
        predicted=ask.predict(frame.iloc[kept]),
        total=len(frame),
        absent=len(frame) - len(there),
    )
