"""The tables of a model file: arrow tables of tuples, cells and levels, read back as checked arrays.

    tuples.parquet    line t: tuple t's columns, members (column numbers, the child last); linear models also card,
                      count_k (rows of class k that have a cell in it) and, if unseen cells add something, unseen_k
    cells.parquet     one line per seen cell, ascending: tuple, cell (its number in the tuple, last column fastest),
                      columns, levels, then those of count_k, log_theta_k, w_k, phi_k that the model has
    parents.parquet   tuple, cell (of the parents only), columns, levels; networks rest_k, ande count_k
    levels.parquet    column, level, name; networks and ande alone_k (log p(level given class k)), dlr count_k
    features.parquet  dlr, one line per feature: column, name, log_h, w_k, missing_k, origin and per_unit of its grid
                      (0: no grid)
    votes.parquet     dlr, by feature, class and value: feature, class, value, weight
    nodes.parquet     dlr, for the script: feature, node, sum_k

They are written in pieces, so that the texts of a million cells are never in memory together.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from alrviz.data.encode import Encoder
from alrviz.errors import ModelFileError
from alrviz.models.cell_space import Space
from alrviz.passes.rows import Floats

# No fit yields larger numbers; sums of larger ones could overflow.
MAX_ABS_VALUE = 1e100
PIECE_LINES = 65_536
NAME_SEPARATOR = " & "

Pieces = Iterator[pa.Table]


def class_columns(name: str, values: Floats) -> dict[str, Floats]:
    """Return a column for each class of values (L, C)."""
    return {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}


def tuple_pieces(names: Sequence[str], members: Sequence[Sequence[int]], quantities: Mapping[str, Floats]) -> Pieces:
    """Yield the tuples, with quantities (T,) by name."""
    for begin in range(0, max(1, len(members)), PIECE_LINES):
        batch = members[begin : begin + PIECE_LINES]
        texts = pa.array([NAME_SEPARATOR.join(names[j] for j in columns) for columns in batch], pa.string())
        lists = pa.array(batch, pa.list_(pa.int32()))
        values = {name: column[begin : begin + PIECE_LINES] for name, column in quantities.items()}
        yield pa.table({"columns": texts, "members": lists, **values})


def cell_pieces(
    space: Space,
    members: Sequence[Sequence[int]],
    seen_cells: NDArray[np.int64],
    encoder: Encoder,
    quantities: Mapping[str, Floats],
) -> Pieces:
    """Yield the seen cells of a space, with quantities (S, C) by name; `members` lists each tuple's columns."""
    labels = [column.labels for column in encoder.columns_]
    texts = [NAME_SEPARATOR.join(encoder.columns_[j].name for j in tuple_columns) for tuple_columns in members]
    for begin in range(0, max(1, len(seen_cells)), PIECE_LINES):
        cells = seen_cells[begin : begin + PIECE_LINES]
        tuples, codes = space.tuple_of(cells), space.codes_of(cells)
        levels = [
            NAME_SEPARATOR.join(labels[j][code] for j, code in zip(members[t], row, strict=False))
            for t, row in zip(tuples.tolist(), codes.tolist(), strict=True)
        ]
        columns: dict[str, Any] = {"tuple": tuples.astype(np.int32), "cell": cells - space.first[tuples]}
        columns["columns"] = pa.array([texts[t] for t in tuples.tolist()], pa.string())
        columns["levels"] = pa.array(levels, pa.string())
        for name, values in quantities.items():
            columns |= class_columns(name, values[begin : begin + PIECE_LINES])
        yield pa.table(columns)


def level_pieces(encoder: Encoder, quantities: Mapping[str, Floats]) -> Pieces:
    """Yield the levels of all columns, with quantities (sum of levels, C) by name."""
    n_levels = encoder.levels_
    column = np.repeat(np.arange(len(n_levels)), n_levels)
    level = np.arange(len(column)) - np.repeat(np.cumsum(n_levels) - n_levels, n_levels)
    names = [label for encoded in encoder.columns_ for label in encoded.labels]
    columns: dict[str, Any] = {"column": column.astype(np.int32), "level": level.astype(np.int32)}
    columns["name"] = pa.array(names, pa.string())
    for quantity, values in quantities.items():
        columns |= class_columns(quantity, values)
    yield pa.table(columns)


class ModelTable:
    """A table of a model file; every column is checked when it is asked for."""

    def __init__(self, file: str, table: pa.Table, n_classes: int):
        self.file, self._table, self._classes = file, table, n_classes

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def non_negative(self, name: str) -> NDArray[np.int64]:
        """Return a column of whole numbers, none below 0."""
        values = self._column(name, np.int64)
        if (values < 0).any():
            raise ModelFileError(f"{self.file}: {name!r} has numbers below 0")
        return values

    def by_class(self, name: str, gaps: bool = False, n_values: int | None = None) -> Floats:
        """Return name_0, name_1, ... as (L, C), or (L, n_values): finite numbers, or NaN where `gaps` allows it."""
        matrix = np.empty((len(self), self._classes if n_values is None else n_values))
        for k in range(matrix.shape[1]):
            matrix[:, k] = self._column(f"{name}_{k}", np.float64)
        if (np.abs(matrix) > MAX_ABS_VALUE).any() or (not gaps and np.isnan(matrix).any()):
            raise ModelFileError(f"{self.file}: {name!r} has values that are not finite or beyond +-{MAX_ABS_VALUE:g}")
        return matrix

    def counts(self) -> Floats:
        """Return count_0, count_1, ... as (L, C): finite numbers, none below 0."""
        counts = self.by_class("count")
        if (counts < 0).any():
            raise ModelFileError(f"{self.file}: 'count' has numbers below 0")
        return counts

    def require_levels(self, levels: NDArray[np.int64]) -> None:
        """Raise `ModelFileError` unless there is a line for each level of columns with `levels` (a,)."""
        if len(self) != int(levels.sum()):
            raise ModelFileError(f"{self.file} has {len(self)} lines, but there are {int(levels.sum())} levels")

    def numbers(self, name: str) -> Floats:
        """Return a column of finite numbers."""
        values: Floats = self._column(name, np.float64)
        if not np.isfinite(values).all():
            raise ModelFileError(f"{self.file}: {name!r} has values that are not finite")
        return values

    def lists(self, name: str, n_columns: int) -> list[tuple[int, ...]]:
        """Return a column of lists of column numbers; no list is empty or has a number twice."""
        column = self._only_column(name)
        if not pa.types.is_list(column.type) or not pa.types.is_integer(column.type.value_type):
            raise ModelFileError(f"{self.file}: {name!r} holds {column.type}; expected lists of whole numbers")
        longest = pc.max(pc.list_value_length(column)).as_py() or 0
        if longest > n_columns:  # before Python makes a list of each and an error names them
            raise ModelFileError(f"{self.file}: a list of {longest:,} is no tuple of {n_columns} columns")
        tuples = [tuple(members or ()) for members in column.to_pylist()]
        for members in tuples:
            if (
                not members
                or len(set(members)) < len(members)
                or not all(j is not None and 0 <= j < n_columns for j in members)
            ):
                raise ModelFileError(f"{self.file}: {members} is no tuple of {n_columns} columns")
        return tuples

    def _only_column(self, name: str) -> Any:
        if self._table.column_names.count(name) != 1:
            raise ModelFileError(f"{self.file} has no column {name!r}")
        return self._table.column(name)

    def _column(self, name: str, dtype: Any) -> Any:
        """Return a column as an array of `dtype`; `ModelFileError` for another type or missing values."""
        column = self._only_column(name)
        is_right_type = pa.types.is_integer if dtype is np.int64 else pa.types.is_floating
        if not is_right_type(column.type) or column.null_count:
            raise ModelFileError(
                f"{self.file}: {name!r} holds {column.type} or missing values; expected {np.dtype(dtype)}"
            )
        return column.to_numpy().astype(dtype)


def cells_of(table: ModelTable, space: Space) -> NDArray[np.int64]:
    """Return the cells (S,) of a table, numbered as in the space.

    Raises:
        ModelFileError: a cell that the space does not have, or cells not in ascending order.
    """
    tuples, cell = table.non_negative("tuple"), table.non_negative("cell")
    if len(tuples) and int(tuples.max()) >= space.n_tuples:
        raise ModelFileError(
            f"{table.file}: there are {space.n_tuples} tuples, but a cell is of tuple {int(tuples.max())}"
        )
    if (cell >= space.cards[tuples]).any():
        raise ModelFileError(f"{table.file}: a cell lies beyond its tuple's levels")
    cells: NDArray[np.int64] = space.first[tuples] + cell
    if (np.diff(cells) <= 0).any():
        raise ModelFileError(f"{table.file}: cells are not in ascending order")
    return cells
