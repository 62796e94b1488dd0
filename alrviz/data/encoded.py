"""`Encoded`: a table in the form that kernels use.

    codes    (a, N)  unsigned   codes[j, i] is the level of column j in row i; levels[j] itself means "no level"
    y        (N,)    int32      class of row i, an index into classes
    weights  (N,)    float64    how often row i counts
    levels   (a,)    int64      number of levels of column j seen in the training rows
    classes  (C,)               class labels, sorted
    numbers  (n, N)  float64    numeric columns that are not cut, NaN where missing; None if all are cut
    numeric  (n,)    int64      indices of those columns; their codes only say whether the number is missing
    chains   (a,)    int64      number of smooth levels of column j, from the first one on; None without any

Columns are contiguous, so that a pass over a tuple reads its columns alone. "No level" is a value that was not seen in
training, or a missing one that is not a level; a combination that contains it has no cell and adds nothing to a score.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from alrviz.errors import TableError

# Values of `discretize` with smooth levels, and those with MDL cuts.
SMOOTH_WAYS, MDL_WAYS = ("smooth", "mdl-smooth"), ("mdl", "mdl-smooth")


def code_dtype(levels: np.ndarray) -> np.dtype:
    """Return the smallest unsigned dtype for codes up to "no level", the number of levels (a,) of a column."""
    return np.min_scalar_type(int(levels.max(initial=0)))


@dataclass(frozen=True, eq=False)
class Encoded:
    """Codes, classes and weights of some rows; see the module for shapes. `TableError` if shapes do not match."""

    codes: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    levels: np.ndarray
    classes: np.ndarray
    names: tuple[str, ...]
    numbers: np.ndarray | None = None
    numeric: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    chains: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.dtype.kind != "u":
            raise TableError(f"codes must be a 2-D unsigned array, got {self.codes.ndim}-D {self.codes.dtype}")
        columns, rows = self.codes.shape
        if self.levels.shape != (columns,) or len(self.names) != columns:
            raise TableError(f"{columns} columns of codes, but {len(self.levels)} levels and {len(self.names)} names")
        if self.y.shape != (rows,) or self.weights.shape != (rows,):
            raise TableError(f"{rows} rows of codes, but y is {self.y.shape} and weights {self.weights.shape}")
        if self.numbers is not None and self.numbers.shape != (len(self.numeric), rows):
            raise TableError(f"{len(self.numeric)} numeric columns of {rows} rows, but numbers {self.numbers.shape}")
        dtypes = {"codes": None, "y": np.int32, "weights": float, "levels": np.int64, "numeric": np.int64}
        if self.numbers is not None:
            dtypes["numbers"] = float
        for name, dtype in dtypes.items():  # another layout or dtype would compile all kernels again
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=dtype))

    @property
    def n_rows(self) -> int:
        """Number of rows N, not weighted."""
        return self.codes.shape[1]

    @property
    def n_columns(self) -> int:
        """Number of columns a."""
        return self.codes.shape[0]

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return len(self.classes)

    @property
    def smooth_levels(self) -> np.ndarray:
        """Number of smooth levels of each column (a,), 0 if it is below 2, as one level has no neighbour."""
        return np.zeros(self.n_columns, np.int64) if self.chains is None else np.where(self.chains > 1, self.chains, 0)

    @property
    def class_rows(self) -> np.ndarray:
        """Number of rows of each class (C,), not weighted."""
        return np.bincount(self.y, minlength=self.n_classes)

    @cached_property
    def total(self) -> float:
        """Sum of the row weights, which formulas call N."""
        return float(self.weights.sum())

    def of_columns(self, columns: np.ndarray) -> "Encoded":
        """Return all rows of some columns, given by indices (m,), without `numbers`."""
        return replace(
            self,
            codes=self.codes[columns],
            levels=self.levels[columns],
            names=tuple(self.names[j] for j in columns),
            numbers=None,
            numeric=np.empty(0, np.int64),
            chains=None if self.chains is None else self.chains[columns],
        )

    def with_merged_levels(self, n_levels: int) -> "Encoded":
        """Return these rows with at most `n_levels` levels in place of a column's smooth levels, of about equally many
        rows each; levels that are not smooth stay.
        """
        codes, levels = self.codes.copy(), self.levels.copy()
        for j in np.flatnonzero(self.smooth_levels > n_levels):
            n_smooth, n_other = int(self.smooth_levels[j]), int(self.levels[j] - self.smooth_levels[j])
            counts = np.bincount(self.codes[j], self.weights, int(self.levels[j]) + 1)[:n_smooth]
            middles = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1e-300)
            merged = np.minimum((middles * n_levels).astype(int), n_levels - 1)
            codes[j] = np.concatenate([merged, n_levels + np.arange(n_other + 1)])[self.codes[j]]
            levels[j] = n_levels + n_other
        return replace(self, codes=codes, levels=levels, chains=None)

    def take(self, rows: np.ndarray) -> "Encoded":
        """Return some rows, given by indices (n,) in any order or a mask (N,), with the same levels and classes."""
        numbers = None if self.numbers is None else self.numbers[:, rows]
        return replace(self, codes=self.codes[:, rows], y=self.y[rows], weights=self.weights[rows], numbers=numbers)
