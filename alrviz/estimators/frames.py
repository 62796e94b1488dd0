"""A model as frames to read: what tuples add to scores, and what is known of each cell. Pure functions."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.encode import Encoder
from alrviz.errors import MemoryLimitError
from alrviz.memory import free_memory
from alrviz.models.averages import AverageModel
from alrviz.models.cell_space import Space
from alrviz.models.linear import LinearModel
from alrviz.models.networks import NetworkModel
from alrviz.passes.rows import Floats

CLASS_WEIGHTS = "class weights"
_JOIN = " & "


def contribution_frame(
    model: LinearModel | NetworkModel | AverageModel,
    codes: NDArray[np.unsignedinteger],
    encoder: Encoder,
    rows: Any,
    max_memory: int | None,
    means: Floats | None = None,
) -> pd.DataFrame:
    """Return contributions to the scores, a line per (row, tuple), a column per class; rows None: numbered.

    `means` (T, C) of what tuples add are taken away from their lines and added to the intercepts; the lines of a row
    are then in order, strongest first.
    Of an `AverageModel` the lines are its networks' own scores, and there are no intercepts.

    Raises:
        MemoryLimitError: if they would take more than `max_memory` (None: half of what is free).
    """
    space: Space = model.parents.space if isinstance(model, AverageModel) else model.space
    tuples = _tuple_names(space, encoder)
    if not isinstance(model, AverageModel):
        tuples = [CLASS_WEIGHTS, *tuples]
    n, parts, classes = codes.shape[1], len(tuples), model.n_classes
    needed = (2 if means is None else 4) * 8 * n * parts * classes  # in order takes a copy and what it goes by
    allowed = free_memory() // 2 if max_memory is None else max_memory
    if needed > allowed:
        raise MemoryLimitError(
            f"{n:,} rows have {n * parts * classes:,} contributions, about {needed / 2**20:,.0f} MiB, and "
            f"{allowed / 2**20:,.0f} MiB may be used; explain at most {max(1, n * allowed // needed):,} rows at once",
            needed,
            allowed,
        )
    if isinstance(model, AverageModel):
        values = model.networks(codes)
    else:
        values = np.empty((n, parts, classes))
        values[:, 0] = model.bias
        values[:, 1:] = model.contributions(codes)
    index = pd.MultiIndex.from_product([range(n) if rows is None else rows, tuples], names=["row", "tuple"])
    if means is not None:
        values[:, 0] += means.sum(axis=0)
        values[:, 1:] -= means
        moves = np.abs(values - values.mean(axis=2, keepdims=True)).max(axis=2)
        moves[:, 0] = np.inf  # the intercepts stay first
        order = np.argsort(-moves, axis=1, kind="stable") + parts * np.arange(n)[:, None]
        values, index = values.reshape(-1, classes)[order.ravel()], index[order.ravel()]
    return pd.DataFrame(values.reshape(-1, classes), index, _class_index(encoder))


def cell_frame(space: Space, seen: NDArray[np.int64], encoder: Encoder, quantities: dict[str, Floats]) -> pd.DataFrame:
    """Return a line per seen cell, indexed by (columns, levels), of quantities (S, C) by name and class."""
    of, codes = space.tuple_of(seen), space.codes_of(seen)
    labels = [np.array(column.labels, dtype=object) for column in encoder.columns_]
    where = np.array(_tuple_names(space, encoder), dtype=object)
    columns_of = [_distinct(columns) for columns in space.tuples]
    levels = [
        _JOIN.join(labels[j][code] for j, code in zip(columns_of[t], row, strict=False))
        for t, row in zip(of, codes, strict=True)
    ]
    index = pd.MultiIndex.from_arrays([where[of], levels], names=["columns", "levels"])
    columns = pd.MultiIndex.from_product([list(quantities), _class_index(encoder)], names=["quantity", "class"])
    return pd.DataFrame(np.concatenate(list(quantities.values()), axis=1), index, columns)


def tuple_means(space: Space, seen: NDArray[np.int64], counts: Floats, phi: Floats, total: float) -> Floats:
    """Return (T, C) the mean over `total` training rows of what each tuple adds to the scores."""
    found = np.zeros((space.n_tuples, phi.shape[1]))
    np.add.at(found, space.tuple_of(seen), counts.sum(axis=1)[:, None] * phi / total)
    return found


def tuple_variances(space: Space, seen: NDArray[np.int64], counts: Floats, phi: Floats, total: float) -> Floats:
    """Return (T,) the variance over `total` training rows of what each tuple adds to the scores, summed over classes.

    What a cell (S, C) adds to every class alike moves no probability and is taken away first.
    """
    of, rows = space.tuple_of(seen), counts.sum(axis=1)
    moves = phi - phi.mean(axis=1, keepdims=True)
    first, second = np.zeros((space.n_tuples, phi.shape[1])), np.zeros((space.n_tuples, phi.shape[1]))
    np.add.at(first, of, rows[:, None] * moves / total)
    np.add.at(second, of, rows[:, None] * moves**2 / total)
    variances: Floats = np.maximum(second - first**2, 0.0).sum(axis=1)
    return variances


def shares_of_columns(space: Space, variances: Floats) -> Floats:
    """Return (a,) numbers that sum to 1: each tuple's variance, shared by its columns alike."""
    found = np.zeros(len(space.levels))
    for columns, variance in zip(space.tuples, variances, strict=True):
        own = _distinct(columns)
        found[own] += variance / len(own)
    return normalised(found)


def normalised(variances: Floats) -> Floats:
    """Return numbers that sum to 1; all 0 where nothing varies."""
    total = variances.sum()
    return variances / total if total > 0 else variances


def _tuple_names(space: Space, encoder: Encoder) -> list[str]:
    names = [column.name for column in encoder.columns_]
    return [_JOIN.join(names[j] for j in _distinct(columns)) for columns in space.tuples]


def _distinct(columns: NDArray[np.int32]) -> list[int]:
    """A tuple's columns: one of fewer than the largest repeats its last."""
    return list(dict.fromkeys(columns.tolist()))


def _class_index(encoder: Encoder) -> pd.Index:
    return pd.Index(encoder.classes_, name="class")
