"""Sparse matrices as tables of numbers, encoded column by column without a dense copy of the matrix.

An entry that is not stored is the number 0. A column of two values is cut between them, any other one as the encoder
says; if that gives no cut it is cut beside 0, so that every column tells present from absent. The codes are dense: one
byte for each row and column.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array


class SparseColumns(Sequence[pd.Series]):
    """The columns of a sparse matrix (N, a); each is made dense when it is asked for."""

    def __init__(self, matrix: Any) -> None:
        self.matrix: csc_array = matrix.tocsc().astype(np.float64)  # a copy, so that the caller's is left as it is
        self.matrix.sum_duplicates()

    def __len__(self) -> int:
        return int(self.matrix.shape[1])

    @overload
    def __getitem__(self, j: int) -> pd.Series: ...
    @overload
    def __getitem__(self, j: slice) -> list[pd.Series]: ...
    def __getitem__(self, j: int | slice) -> pd.Series | list[pd.Series]:
        if isinstance(j, slice):
            return [self[column] for column in range(*j.indices(len(self)))]
        rows, values = self.entries(j)
        numbers = np.zeros(self.n_rows)
        numbers[rows] = values
        return pd.Series(numbers)

    def __iter__(self) -> Iterator[pd.Series]:
        return (self[j] for j in range(len(self)))

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self.matrix.shape[0])

    def take(self, rows: NDArray[np.bool_]) -> "SparseColumns":
        """Return the columns of some rows, a mask (N,)."""
        return SparseColumns(self.matrix[rows])

    def entries(self, j: int) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
        """Return the rows and the values, (n,) each, of the n entries that column j stores."""
        stored = slice(*self.matrix.indptr[j : j + 2])
        return self.matrix.indices[stored], self.matrix.data[stored]

    def distinct_values(self, j: int) -> NDArray[np.float64]:
        """Return the sorted distinct values (m,) of column j, with 0 if a row stores none; NaN, if any, comes last."""
        rows, values = self.entries(j)
        return np.unique(np.append(values, np.zeros(int(len(rows) < self.n_rows))))
