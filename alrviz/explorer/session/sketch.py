"""Points that a visitor draws: a small table of two numeric columns and a class, as a value that is never changed."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.dataset import Dataset
from alrviz.studies.maps.decision_map import MOST_POINTS

MAX_POINTS = MOST_POINTS  # points: of more a map draws only some, and a new one might not be among them
CLASSES = ("a", "b", "c")  # of a sketch that begins with nothing
NEW = "new"  # beside those of a table: a letter could be taken for one of them
_DIGITS = 4  # significant, of a coordinate: more than a pixel tells


@dataclass(frozen=True, eq=False)
class Sketch:
    """Points and their classes.

    Attributes:
        columns: names of the two columns. target: that of the class.
        x: (N, 2). y: (N,) the class of each point.
        classes: all that may be drawn, whether they have points or not.
        names: (N,) a number for each point that stays its own when others come and go: a hand may mean a point of an
            older picture.
        origin: name of the table whose rows were the first points, "" for none.
        private: whether rows of a file that only its owner has may be among them.
    """

    columns: tuple[str, str]
    target: str
    x: NDArray[np.float64]
    y: NDArray[np.object_]
    classes: tuple[str, ...]
    names: NDArray[np.int64]
    origin: str = ""
    private: bool = False

    @classmethod
    def blank(cls) -> "Sketch":
        """Return the emptiest sketch there is: two points of each of two classes, and room for a third."""
        points = np.array([[0.3, 0.5], [0.7, 0.5], [0.0, 0.0], [1.0, 1.0]])
        y = np.array(["a", "b", "a", "b"], dtype=object)
        return cls(("x1", "x2"), "class", points, y, CLASSES, np.arange(len(y)))

    @classmethod
    def of(cls, dataset: Dataset, columns: tuple[str, str], seed: int = 0, private: bool = False) -> "Sketch":
        """Return the rows of a table in two numeric columns, with three classes or more.

        Of more rows than MAX_POINTS some are drawn by a seed; rows without a number in one of them are left out.
        """
        frame = dataset.X[list(columns)]
        rows = np.flatnonzero(frame.notna().all(axis=1).to_numpy())
        if len(rows) > MAX_POINTS:
            drawn = np.random.default_rng(seed).permutation(rows)
            first = np.unique(dataset.y[drawn].astype(str), return_index=True)[1]  # a row of each class is kept
            rows = np.sort(np.concatenate([drawn[first], np.delete(drawn, first)])[:MAX_POINTS])
        y = dataset.y[rows]
        known = [str(label) for label in dataset.classes]
        names = (NEW, *(f"{NEW} {k}" for k in range(2, len(known) + 3)))
        more = [name for name in names if name not in known][: max(0, len(CLASSES) - len(known))]
        x, classes = frame.to_numpy()[rows], (*known, *more)
        return cls(columns, dataset.target, x, y, classes, np.arange(len(y)), dataset.name, private)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def drawn(self) -> tuple[str, ...]:
        """The classes that have points, in their order."""
        there = set(self.y)
        return tuple(name for name in self.classes if name in there)

    @property
    def full(self) -> bool:
        """Whether no point can be added."""
        return len(self) >= MAX_POINTS

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802 (scikit-learn's name)
        """The two columns; the index holds the points' names."""
        return pd.DataFrame(self.x, columns=list(self.columns), index=self.names)

    def add(self, x: float, y: float, label: str) -> "Sketch":
        """Return the points and one more; the same where there is no room, or no such class."""
        if self.full or label not in self.classes:
            return self
        place = np.array([[_short(x), _short(y)]])
        names = np.append(self.names, self.names.max(initial=-1) + 1)
        return replace(self, x=np.concatenate([self.x, place]), y=np.append(self.y, label), names=names)

    def move(self, name: int, x: float, y: float) -> "Sketch":
        """Return the points, one of them elsewhere; the same where it is not there (any more)."""
        which = self.names == name
        if not which.any():
            return self
        moved = self.x.copy()
        moved[which] = _short(x), _short(y)
        return replace(self, x=moved)

    def remove(self, name: int) -> "Sketch":
        """Return the points without one; the same where it is not there, or the last of the last two classes."""
        left = self.names != name
        if left.all() or len(set(self.y[left])) < 2:
            return self
        return replace(self, x=self.x[left], y=self.y[left], names=self.names[left])

    def csv(self) -> str:
        """Return the points as a table that can be read again, as `points.AS_WRITTEN` and `points.KINDS` say."""
        return self.X.assign(**{self.target: self.y}).to_csv(index=False, lineterminator="\n")


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
