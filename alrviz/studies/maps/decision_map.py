"""Map of a fitted classifier's predictions over the plane of two columns, coarse first and then finer.

    values[v, u] = model(u, v, other columns), averaged as `others` says

The model is any object with `classes_` and `predict_proba`, or only `decision_function`, whose scores are then shown.
`decision_map` is a generator: each `Surface` covers the whole map, the first one at few places, so that something is
seen after a few milliseconds. The model predicts in chunks; the stop token is checked between them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.errors import TableError
from alrviz.stop import NEVER, StopToken
from alrviz.studies.density.density_frames import DensityFrame
from alrviz.studies.maps.axes import Axis, Floats, axes_of, axis_of, first_axes, one_scale
from alrviz.studies.maps.partial_dependence import PartialDependence, others_of

SIDE_PLACES = (20, 60, 140)  # places along a scale; a picture 575 pixels wide resolves no more
FILM_SIDE_PLACES = 64  # of the maps of a dlr fit's film; those of 120 steps then take half a megabyte
MAX_PREDICTIONS = 160_000  # rows that the model predicts for a surface, averaging included
CHUNK_ROWS = 8_192  # rows predicted between two checks of the stop token
MAX_POINTS = 1_500  # more would cover each other and the map
_SPREAD = 0.8  # share of a level's cell over which its points are spread


@dataclass(frozen=True, eq=False)
class Points:
    """Rows shown on the map, a sample of many.

    Attributes:
        x, y: (P,) positions; within a level's cell they are spread.
        rows: (P,) their positions in the table.
        truth, predicted: (P,) codes into the surface's classes, -1 for other classes.
        total: number of rows in the table. absent: number of those without a position on these axes.
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
        """Whether the rows are a sample of those with a position."""
        return len(self.rows) < self.total - self.absent


@dataclass(frozen=True, eq=False)
class Surface:
    """A map.

    Attributes:
        across, up: the axes.
        classes: the classes as text; columns of `values`.
        values: (rows up, columns across, C) probabilities or scores; (.., 1) for a score of two classes.
        probability: whether they are probabilities.
        points: rows of the table, None if no classes were given.
        is_last: whether this is the last surface.
    """

    across: Axis
    up: Axis
    classes: tuple[str, ...]
    values: NDArray[np.float32]
    probability: bool
    points: Points | None
    is_last: bool

    @property
    def single(self) -> bool:
        """Whether the values are one score of two classes, with the boundary at 0."""
        return self.values.shape[2] == 1

    @property
    def one_scale(self) -> bool:
        """Whether both axes share one scale, so that circles look round (see `axes.one_scale`)."""
        return one_scale(self.across, self.up)

    @property
    def winner(self) -> NDArray[np.intp]:
        """(rows up, columns across) the class with the highest value, -1 where the model gives NaN."""
        best_class = (self.values[..., 0] > 0).astype(np.intp) if self.single else self.values.argmax(axis=2)
        return np.where(np.isnan(self.values).any(axis=2), -1, best_class)

    def absent(self) -> list[tuple[str, float]]:
        """Return the classes that win nowhere on the map, each with its highest value."""
        n_places_won = np.bincount(self.winner.ravel() + 1, minlength=len(self.classes) + 1)[1:]
        values = np.concatenate([-self.values, self.values], axis=2) if self.single else self.values
        highest_values = np.nanmax(values.reshape(-1, len(self.classes)), axis=0, initial=-np.inf)
        return [(name, float(highest_values[k])) for k, name in enumerate(self.classes) if not n_places_won[k]]

    def frame(self) -> pd.DataFrame:
        """Return a row for each place: its two values (levels as text), and the value of every class."""
        n_rows, n_columns, n_values = self.values.shape
        names = self.classes[-1:] if n_values == 1 else self.classes
        labels = [
            np.array(axis.levels, dtype=object) if axis.levels else axis.centres(side)
            for axis, side in ((self.across, n_columns), (self.up, n_rows))
        ]
        table = {str(self.across.name): np.tile(labels[0], n_rows), str(self.up.name): np.repeat(labels[1], n_columns)}
        quantity = "p" if self.probability else "score"
        values = self.values.reshape(-1, n_values)
        return pd.DataFrame(table | {f"{quantity}({name})": values[:, k] for k, name in enumerate(names)})


class ClassifierAdapter:
    """A classifier as a function from tables to probabilities or scores (n, C); (n, 1) for a score of two classes.

    Classifiers of this package, of scikit-learn and Pipelines are treated alike. Two classes have one score, the second
    class's, with the boundary at 0. Classes are identified by their text, in an order that several maps may share.

    Args:
        model: a fitted classifier with `classes_` and `predict_proba` or `decision_function`.
        matrix: whether it takes matrices instead of frames.
        classes: order of the classes; None for the model's own.

    Raises:
        TableError: if the model has neither method, or classes that are not in `classes`.
    """

    def __init__(self, model: Any, *, matrix: bool = False, classes: Sequence[Any] | None = None):
        self.model, self._matrix = model, matrix
        model_classes = [str(label) for label in getattr(model, "classes_", [])]
        self.probability = hasattr(model, "predict_proba")
        if not model_classes or not (self.probability or hasattr(model, "decision_function")):
            raise TableError(
                f"{type(model).__name__} cannot be mapped; expected a fitted classifier with classes_ and "
                "predict_proba or decision_function"
            )
        self.classes = tuple(model_classes) if classes is None else tuple(str(label) for label in classes)
        unknown_labels = [label for label in model_classes if label not in self.classes]
        if unknown_labels:
            raise TableError(f"the model knows the classes {unknown_labels}, which are not among {list(self.classes)}")
        self._place = np.array([self.classes.index(label) for label in model_classes])

    def __call__(self, table: pd.DataFrame) -> Floats:
        """Return the model's values for the rows of a table: probabilities or scores (n, C), (n, 1) for one score."""
        predict = self.model.predict_proba if self.probability else self.model.decision_function
        values = np.asarray(predict(self._as_input(table)), dtype=np.float64)
        if values.ndim == 1 and len(self._place) == 2:
            if len(self.classes) == 2:
                return (values if self._place[1] == 1 else -values)[:, None]
            values = np.stack([-values, values], axis=1)
        if values.shape != (len(table), len(self._place)):
            raise TableError(
                f"{type(self.model).__name__} gives values of shape {values.shape} for {len(table):,} rows and "
                f"{len(self._place)} classes; expected one value per row and class (decision_function_shape='ovr')"
            )
        result = np.full((len(table), len(self.classes)), 0.0 if self.probability else -np.inf)
        result[:, self._place] = values
        return result

    def predict(self, table: pd.DataFrame) -> NDArray[np.intp]:
        """Return the model's own predictions for the rows of a table, as codes (n,) into `classes`."""
        return self.codes(self.model.predict(self._as_input(table))) if len(table) else np.empty(0, np.intp)

    def _as_input(self, table: pd.DataFrame) -> Any:
        return table.to_numpy() if self._matrix else table

    def codes(self, labels: Any) -> NDArray[np.intp]:
        """Return the codes of labels in `classes`, -1 for other labels."""
        return pd.Index(self.classes).get_indexer([str(label) for label in np.asarray(labels, dtype=object)])


def frame_of(X: Any) -> pd.DataFrame:
    """Return a table X, a frame or a matrix (N, a), as a frame; columns of a matrix are named by their positions."""
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
        model: a fitted classifier with `classes_` and `predict_proba` or `decision_function`.
        X: (N, a) DataFrame or matrix with the columns that the model takes; its rows determine the ranges of the axes.
        y: (N,) the true classes; None for no points.
        across, up: two columns or axes; if either is missing both are chosen by `first_axes`.
        others: values of the other columns, a key of `OTHERS`. row: the row for "row".
        classes: order of the classes; None for the model's. seed: seed of samples of rows.
        sides: number of places along a scale for each surface; None for SIDE_PLACES.
        stop: checked between chunks.

    Raises:
        TableError: if there are no such columns or rows, or the model has neither method.
        Stopped: if `stop` is called on the token.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "a", "a", "b"]
    >>> maps = list(decision_map(LogisticRegression().fit(X, y), X, y))
    >>> [surface.values.shape for surface in maps]
    [(20, 20, 2), (60, 60, 2), (140, 140, 2)]
    """
    frame = frame_of(X)
    if across is None or up is None:
        across, up = first_axes(frame, y=y)
    adapter = ClassifierAdapter(model, matrix=not isinstance(X, pd.DataFrame), classes=classes)
    if isinstance(across, Axis) or isinstance(up, Axis):
        across, up = (axis if isinstance(axis, Axis) else axis_of(frame, axis) for axis in (across, up))
    else:
        across, up = axes_of(frame, (across, up))
    other_columns = others_of(frame, across, up, how=others, row=row, seed=seed)
    points = None if y is None else points_of(adapter, frame, y, across, up, seed=seed)
    sides = _surface_sides((across, up), other_columns.per_place, SIDE_PLACES if sides is None else sides)
    for side in sides:
        values = _map_values(adapter, across, up, other_columns, side, stop)
        yield Surface(across, up, adapter.classes, values, adapter.probability, points, is_last=side == sides[-1])


def _surface_sides(axes: Sequence[Axis], per_place: int, sides: Sequence[int]) -> list[int]:
    """Return the places along a scale of each surface, coarse to fine, within MAX_PREDICTIONS.

    per_place: predictions for each place; sides: the places wanted.
    """
    n_scales = sum(axis.numeric for axis in axes)
    if not n_scales:
        return [1]
    n_level_pairs = int(np.prod([len(axis.levels) for axis in axes if not axis.numeric]))
    max_side = max(8, int((MAX_PREDICTIONS / (per_place * n_level_pairs)) ** (1 / n_scales)))
    return sorted({min(side, max_side) for side in sides})


def _map_values(
    adapter: ClassifierAdapter, across: Axis, up: Axis, other_columns: PartialDependence, side: int, stop: StopToken
) -> NDArray[np.float32]:
    """Return the model's values (rows up, columns across, C) at `side` places along a scale, predicted in chunks."""
    across_centres, up_centres = across.centres(side), up.centres(side)
    across_positions, up_positions = (grid.ravel() for grid in np.meshgrid(across_centres, up_centres))
    chunk_values = []
    places_per_chunk = max(1, CHUNK_ROWS // other_columns.per_place)
    for chunk_start in range(0, len(across_positions), places_per_chunk):
        stop.check()
        chunk = slice(chunk_start, chunk_start + places_per_chunk)
        rows_used, weights = other_columns.rows(across_positions[chunk], up_positions[chunk])
        model_rows = other_columns.base.iloc[rows_used.ravel()].reset_index(drop=True)
        model_rows[across.name] = across.cells(np.repeat(across_positions[chunk], rows_used.shape[1]))
        model_rows[up.name] = up.cells(np.repeat(up_positions[chunk], rows_used.shape[1]))
        predictions = adapter(model_rows)
        chunk_values.append((predictions.reshape(*rows_used.shape, -1) * weights[..., None]).sum(axis=1))
    return np.concatenate(chunk_values).reshape(len(up_centres), len(across_centres), -1).astype(np.float32)


def points_of(adapter: ClassifierAdapter, frame: pd.DataFrame, y: Any, across: Axis, up: Axis, seed: int = 0) -> Points:
    """Return the rows of a table with a position on these axes, at most MAX_POINTS of them, and their predicted
    classes.

    y: (N,) true classes; seed: of the sample.
    """
    labels = np.asarray(y, dtype=object)
    if len(labels) != len(frame):
        raise TableError(f"{len(labels):,} classes were given for {len(frame):,} rows; expected one per row")
    across_positions, up_positions = across.positions(frame[across.name]), up.positions(frame[up.name])
    placed = np.flatnonzero(np.isfinite(across_positions) & np.isfinite(up_positions))
    rng = np.random.default_rng(seed)
    sampled_rows = placed if len(placed) <= MAX_POINTS else np.sort(rng.choice(placed, MAX_POINTS, replace=False))
    level_offsets = rng.uniform(-0.5, 0.5, (2, len(sampled_rows))) * _SPREAD
    return Points(
        x=across_positions[sampled_rows] if across.numeric else across_positions[sampled_rows] + level_offsets[0],
        y=up_positions[sampled_rows] if up.numeric else up_positions[sampled_rows] + level_offsets[1],
        rows=sampled_rows,
        truth=adapter.codes(labels[sampled_rows]),
        predicted=adapter.predict(frame.iloc[sampled_rows]),
        total=len(frame),
        absent=len(frame) - len(placed),
    )


def film_axes(scene: DensityFrame, dataset: Any) -> tuple[Axis, Axis] | None:
    """Return axes for the two columns of a data set that move the scores of the last scene most, in the table's order.

    None if fewer than two columns have a feature.
    """
    frame = frame_of(dataset.X)
    names = [str(name) for name in frame.columns]
    top_ratios = sorted(scene.columns, key=lambda ratio: (ratio.x is None, -ratio.importance))[:2]
    if len(top_ratios) < 2:
        return None
    return axes_of(frame, [frame.columns[j] for j in sorted(names.index(ratio.column) for ratio in top_ratios)])


def film_map(model: Any, dataset: Any, axes: tuple[Axis, Axis], *, points: bool) -> Surface:
    """Return the map of one step's model on two axes of a data set; points: whether to show the table's rows."""
    y = dataset.y if points else None
    (surface,) = decision_map(model, dataset.X, y, across=axes[0], up=axes[1], sides=(FILM_SIDE_PLACES,))
    return surface
