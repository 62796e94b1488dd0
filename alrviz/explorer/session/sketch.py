"""Points that a visitor draws: a small immutable table of two numeric columns and a class."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.dataset import Dataset
from alrviz.studies.maps.decision_map import MAX_POINTS as MAP_POINTS

MAX_POINTS = MAP_POINTS  # a map samples larger tables, and would not show every new point
CLASSES = ("a", "b", "c")  # of a blank sketch
NEW_CLASS_NAME = "new"  # added to a table's classes; a single letter could be one of them already
_SIGNIFICANT_DIGITS = 4  # of a coordinate; a pixel resolves fewer


@dataclass(frozen=True, eq=False)
class Sketch:
    """Points and their classes.

    Attributes:
        columns: names of the two columns.
        target: name of the class column.
        x: (N, 2) coordinates.
        y: (N,) class of each point.
        classes: all classes that may be drawn, with or without points.
        point_ids: (N,) number of each point. It never changes, because a drag may refer to a point of an older picture.
        origin: name of the table whose rows were the first points; "" for none.
        private: whether the points may include rows of a visitor's own file.
    """

    columns: tuple[str, str]
    target: str
    x: NDArray[np.float64]
    y: NDArray[np.object_]
    classes: tuple[str, ...]
    point_ids: NDArray[np.int64]
    origin: str = ""
    private: bool = False

    @classmethod
    def blank(cls) -> "Sketch":
        """Return the smallest sketch that can be fitted: two points of each of two classes; a third class is empty."""
        points = np.array([[0.3, 0.5], [0.7, 0.5], [0.0, 0.0], [1.0, 1.0]])
        y = np.array(["a", "b", "a", "b"], dtype=object)
        return cls(("x1", "x2"), "class", points, y, CLASSES, np.arange(len(y)))

    @classmethod
    def from_dataset(cls, dataset: Dataset, columns: tuple[str, str], seed: int = 0, private: bool = False) -> "Sketch":
        """Return the rows of a table as points in two numeric columns, with empty classes up to three.

        Rows with a missing value in one of the columns are left out, and more rows than MAX_POINTS are sampled by the
        seed.
        """
        frame = dataset.X[list(columns)]
        rows = np.flatnonzero(frame.notna().all(axis=1).to_numpy())
        if len(rows) > MAX_POINTS:
            permutation = np.random.default_rng(seed).permutation(rows)
            first_of_class = np.unique(dataset.y[permutation].astype(str), return_index=True)[
                1
            ]  # keep a row of each class
            rows = np.sort(
                np.concatenate([permutation[first_of_class], np.delete(permutation, first_of_class)])[:MAX_POINTS]
            )
        y = dataset.y[rows]
        class_names = [str(label) for label in dataset.classes]
        n_extra = max(0, len(CLASSES) - len(class_names))
        new_names = (NEW_CLASS_NAME, *(f"{NEW_CLASS_NAME} {k}" for k in range(2, len(class_names) + 3)))
        extra_names = [name for name in new_names if name not in class_names][:n_extra]
        coordinates, classes = frame.to_numpy()[rows], (*class_names, *extra_names)
        return cls(columns, dataset.target, coordinates, y, classes, np.arange(len(y)), dataset.name, private)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def classes_with_points(self) -> tuple[str, ...]:
        """The classes that have points, in the order of `classes`."""
        classes_present = set(self.y)
        return tuple(name for name in self.classes if name in classes_present)

    @property
    def full(self) -> bool:
        """Whether the sketch has MAX_POINTS points."""
        return len(self) >= MAX_POINTS

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802 (scikit-learn's name)
        """The two columns, indexed by the points' ids."""
        return pd.DataFrame(self.x, columns=list(self.columns), index=self.point_ids)

    def add(self, x: float, y: float, label: str) -> "Sketch":
        """Return the sketch with one more point; unchanged if it already has MAX_POINTS points, or if `label` is none
        of its classes.
        """
        if self.full or label not in self.classes:
            return self
        coordinates = np.array([[_round(x), _round(y)]])
        point_ids = np.append(self.point_ids, self.point_ids.max(initial=-1) + 1)
        return replace(self, x=np.concatenate([self.x, coordinates]), y=np.append(self.y, label), point_ids=point_ids)

    def move(self, point_id: int, x: float, y: float) -> "Sketch":
        """Return the sketch with one point moved; unchanged if that point is gone."""
        is_moved = self.point_ids == point_id
        if not is_moved.any():
            return self
        x_moved = self.x.copy()
        x_moved[is_moved] = _round(x), _round(y)
        return replace(self, x=x_moved)

    def remove(self, point_id: int) -> "Sketch":
        """Return the sketch without one point; unchanged if it is gone, or if only one class would remain."""
        remaining = self.point_ids != point_id
        if remaining.all() or len(set(self.y[remaining])) < 2:
            return self
        return replace(self, x=self.x[remaining], y=self.y[remaining], point_ids=self.point_ids[remaining])

    def csv(self) -> str:
        """Return the points as CSV, to be read with `points.READ_OPTIONS` and `points.POINTS_KINDS`."""
        return self.X.assign(**{self.target: self.y}).to_csv(index=False, lineterminator="\n")


def _round(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")
