"""The tables of a model file: what is known of tuples and cells as arrow tables, and back as checked arrays.

    tuples.parquet    tuple t in line t: columns, members (their numbers, the child last); of linear models card,
                      count_k (the rows of class k that have a cell in it) and, where there is one, unseen_k
    cells.parquet     a seen cell a line, ascending: tuple, cell (its number within the tuple, the last column fastest),
                      columns, levels, then count_k, log_theta_k, w_k, phi_k of each class k as far as there are any
    parents.parquet   tuple, cell (of the parents alone), columns, levels; of networks rest_k, of ande count_k
    levels.parquet    column, level, name; of networks and ande alone_k, of dlr count_k
    features.parquet  of dlr, a feature a line: column, name, log_h, w_k, missing_k, origin and per_unit of its
                      grid (0: it has none)
    votes.parquet     of dlr, by feature, class and value: feature, class, value, weight
    nodes.parquet     of dlr, for the script: feature, node, sum_k

Lines are written a piece at a time: the words of a million cells are never in memory together.
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

# No fit gives a number beyond it, and sums of more would be infinite, or none at all.
MOST = 1e100
# Lines of a piece.
PIECE = 65_536
JOIN = " & "

Pieces = Iterator[pa.Table]


def class_columns(name: str, values: Floats) -> dict[str, Floats]:
    """Return a column for each class of values (L, C)."""
    return {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}


def tuple_pieces(names: Sequence[str], members: Sequence[Sequence[int]], quantities: Mapping[str, Floats]) -> Pieces:
    """Yield the tuples, with quantities (T,) by name."""
    for begin in range(0, max(1, len(members)), PIECE):
        some = members[begin : begin + PIECE]
        texts = pa.array([JOIN.join(names[j] for j in own) for own in some], pa.string())
        lists = pa.array(some, pa.list_(pa.int32()))
        rest = {name: values[begin : begin + PIECE] for name, values in quantities.items()}
        yield pa.table({"columns": texts, "members": lists, **rest})


def cell_pieces(
    space: Space,
    members: Sequence[Sequence[int]],
    seen: NDArray[np.int64],
    encoder: Encoder,
    quantities: Mapping[str, Floats],
) -> Pieces:
    """Yield the seen cells of a space, with quantities (S, C) by name; `members` are each tuple's columns."""
    labels = [column.labels for column in encoder.columns_]
    texts = [JOIN.join(encoder.columns_[j].name for j in own) for own in members]
    for begin in range(0, max(1, len(seen)), PIECE):
        some = seen[begin : begin + PIECE]
        of, codes = space.tuple_of(some), space.codes_of(some)
        levels = [
            JOIN.join(labels[j][code] for j, code in zip(members[t], row, strict=False))
            for t, row in zip(of.tolist(), codes.tolist(), strict=True)
        ]
        columns: dict[str, Any] = {"tuple": of.astype(np.int32), "cell": some - space.first[of]}
        columns["columns"] = pa.array([texts[t] for t in of.tolist()], pa.string())
        columns["levels"] = pa.array(levels, pa.string())
        for name, values in quantities.items():
            columns |= class_columns(name, values[begin : begin + PIECE])
        yield pa.table(columns)


def level_pieces(encoder: Encoder, quantities: Mapping[str, Floats]) -> Pieces:
    """Yield the levels of all columns, with quantities (sum of levels, C) by name."""
    sizes = encoder.levels_
    column = np.repeat(np.arange(len(sizes)), sizes)
    level = np.arange(len(column)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    names = [label for own in encoder.columns_ for label in own.labels]
    columns: dict[str, Any] = {"column": column.astype(np.int32), "level": level.astype(np.int32)}
    columns["name"] = pa.array(names, pa.string())
    for quantity, values in quantities.items():
        columns |= class_columns(quantity, values)
    yield pa.table(columns)


class ModelTable:
    """A table that was read, its columns asked for by name and checked on the way."""

    def __init__(self, file: str, table: pa.Table, n_classes: int):
        self.file, self._table, self._classes = file, table, n_classes

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def whole(self, name: str) -> NDArray[np.int64]:
        """Return a column of whole numbers, not negative."""
        values = self._column(name, np.int64)
        if (values < 0).any():
            raise ModelFileError(f"{self.file}: {name!r} has numbers below 0")
        return values

    def by_class(self, name: str, gaps: bool = False, n_values: int | None = None) -> Floats:
        """Return what there is of each class, (L, C), finite, or NaN where `gaps` are allowed; or `n_values` of it."""
        out = np.empty((len(self), self._classes if n_values is None else n_values))
        for k in range(out.shape[1]):
            out[:, k] = self._column(f"{name}_{k}", np.float64)
        if (np.abs(out) > MOST).any() or (not gaps and np.isnan(out).any()):
            raise ModelFileError(f"{self.file}: {name!r} has values that are no finite numbers up to {MOST:g}")
        return out

    def numbers(self, name: str) -> Floats:
        """Return a column of finite numbers."""
        values: Floats = self._column(name, np.float64)
        if not np.isfinite(values).all():
            raise ModelFileError(f"{self.file}: {name!r} has values that are no finite numbers")
        return values

    def lists(self, name: str, n_columns: int) -> list[tuple[int, ...]]:
        """Return a column of lists of numbers of columns, each at most once."""
        column = self._found(name)
        if not pa.types.is_list(column.type) or not pa.types.is_integer(column.type.value_type):
            raise ModelFileError(f"{self.file}: {name!r} holds {column.type}; lists of whole numbers were expected")
        longest = pc.max(pc.list_value_length(column)).as_py() or 0
        if longest > n_columns:  # before it is a million of Python's numbers, and words of an error
            raise ModelFileError(f"{self.file}: a list of {longest:,} is no tuple of {n_columns} columns")
        found = [tuple(own or ()) for own in column.to_pylist()]
        for own in found:
            if not own or len(set(own)) < len(own) or not all(j is not None and 0 <= j < n_columns for j in own):
                raise ModelFileError(f"{self.file}: {own} is no tuple of {n_columns} columns")
        return found

    def _found(self, name: str) -> Any:
        if self._table.column_names.count(name) != 1:
            raise ModelFileError(f"{self.file} has no column {name!r}")
        return self._table.column(name)

    def _column(self, name: str, dtype: Any) -> Any:
        column = self._found(name)
        right = pa.types.is_integer if dtype is np.int64 else pa.types.is_floating
        if not right(column.type) or column.null_count:
            raise ModelFileError(f"{self.file}: {name!r} holds {column.type} or gaps; {np.dtype(dtype)} was expected")
        return column.to_numpy().astype(dtype)


def cells_of(table: ModelTable, space: Space) -> NDArray[np.int64]:
    """Return the cells (S,) of a table as the space numbers them; refuses what is no cell, and another order."""
    of, cell = table.whole("tuple"), table.whole("cell")
    if len(of) and int(of.max()) >= space.n_tuples:
        raise ModelFileError(f"{table.file}: there are {space.n_tuples} tuples, and a cell of tuple {int(of.max())}")
    if (cell >= space.cards[of]).any():
        raise ModelFileError(f"{table.file}: a cell lies beyond its tuple's levels")
    cells: NDArray[np.int64] = space.first[of] + cell
    if (np.diff(cells) <= 0).any():
        raise ModelFileError(f"{table.file}: cells are not in ascending order")
    return cells
