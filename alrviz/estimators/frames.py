"""A model as data frames: what tuples add to scores, and the values of each cell. Pure functions."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.encode import Encoder
from alrviz.errors import MemoryLimitError
from alrviz.memory import free_memory
from alrviz.models.averages import AverageModel
from alrviz.models.cell_space import Space
from alrviz.models.networks import NetworkModel
from alrviz.passes.rows import Floats

INTERCEPT = "intercept"
_LEVEL_SEPARATOR = " & "


def name_separator(columns: Sequence[str]) -> str:
    """Return the separator of columns in names of tuples: one that no column name contains, so that names are unique.

    >>> name_separator(["odor", "habitat"]), name_separator(["R & D", "sales"])
    (' & ', ' && ')
    """
    separators = ("&" * n for n in count(1))
    return next(f" {separator} " for separator in separators if not any(separator in name for name in columns))


def tuple_names(members: Iterable[Iterable[int]], columns: Sequence[str]) -> list[str]:
    """Return the name of each tuple of column numbers, "odor & habitat"."""
    separator = name_separator(columns)
    return [separator.join(columns[j] for j in tuple_columns) for tuple_columns in members]


def require_contributions(rows: int, lines: int, classes: int, max_memory: int | None, copies: int = 2) -> None:
    """Raise `MemoryLimitError` if the contributions to each row's scores take more than `max_memory` bytes (None: half
    the free memory).

    lines: contributions per row and class, one for each tuple and for the intercept if there is one.
    copies: arrays of that size held at once.
    """
    needed_bytes = copies * 8 * rows * lines * classes
    max_bytes = free_memory() // 2 if max_memory is None else max_memory
    if needed_bytes > max_bytes:
        raise MemoryLimitError(
            f"{rows:,} rows have {rows * lines * classes:,} contributions, about {needed_bytes / 2**20:,.0f} MiB, and "
            f"{max_bytes / 2**20:,.0f} MiB may be used; explain at most {max(1, rows * max_bytes // needed_bytes):,} "
            "rows at once",
            needed_bytes,
            max_bytes,
        )


def network_frame(
    model: NetworkModel | AverageModel, codes: NDArray[np.unsignedinteger], encoder: Encoder, rows: Any,
    max_memory: int | None,
) -> pd.DataFrame:  # fmt: skip
    """Return what each column of a network, given its parents, adds to the scores of codes (a, N), after the
    intercepts.

    For an `AverageModel` they are the scores of each network. `rows` labels the rows; None numbers them. max_memory:
    bytes that the frame may take; None for half of the free memory.
    """
    space: Space = model.parents.space if isinstance(model, AverageModel) else model.space
    names = [] if isinstance(model, AverageModel) else [INTERCEPT]
    names += tuple_names(space.members, encoder.names_)
    require_contributions(codes.shape[1], len(names), model.n_classes, max_memory)
    if isinstance(model, AverageModel):
        scores = model.networks(codes)
    else:
        scores = np.empty((codes.shape[1], len(names), model.n_classes))
        scores[:, 0] = model.bias
        scores[:, 1:] = model.contributions(codes)
    index = pd.MultiIndex.from_product([_row_labels(rows, len(scores)), names], names=["row", "tuple"])
    return pd.DataFrame(scores.reshape(-1, model.n_classes), index, _class_index(encoder))


def effect_frame(intercept: Floats, effects: Floats, names: Sequence[str], encoder: Encoder, rows: Any) -> pd.DataFrame:
    """Return pure effects (N, T, C) of rows as lines, the strongest of each row first, after the intercept (C,).

    names: of the tuples; rows: labels of the rows, None to number them.
    """
    n_rows, n_tuples, n_classes = effects.shape
    lines = np.concatenate([np.broadcast_to(intercept, (n_rows, 1, n_classes)), effects], axis=1)
    index = pd.MultiIndex.from_product([_row_labels(rows, n_rows), [INTERCEPT, *names]], names=["row", "tuple"])
    strength = np.abs(lines).max(axis=2)
    strength[:, 0] = np.inf
    order = (np.argsort(-strength, axis=1, kind="stable") + (n_tuples + 1) * np.arange(n_rows)[:, None]).ravel()
    return pd.DataFrame(lines.reshape(-1, n_classes)[order], index[order], _class_index(encoder))


def _row_labels(rows: Any, n: int) -> Any:
    return range(n) if rows is None else rows


def cell_frame(
    space: Space, seen_cells: NDArray[np.int64], encoder: Encoder, quantities: dict[str, Floats]
) -> pd.DataFrame:
    """Return a line per seen cell, indexed by (columns, levels), of quantities (S, C) by name."""
    tuples, codes = space.tuple_of(seen_cells), space.codes_of(seen_cells)
    labels = [np.array(column.labels, dtype=object) for column in encoder.columns_]
    names = np.array(tuple_names(space.members, encoder.names_), dtype=object)
    members = space.members
    levels = [
        _LEVEL_SEPARATOR.join(labels[j][code] for j, code in zip(members[t], row, strict=False))
        for t, row in zip(tuples, codes, strict=True)
    ]
    index = pd.MultiIndex.from_arrays([names[tuples], levels], names=["columns", "levels"])
    columns = pd.MultiIndex.from_product([list(quantities), _class_index(encoder)], names=["quantity", "class"])
    return pd.DataFrame(np.concatenate(list(quantities.values()), axis=1), index, columns)


def _class_index(encoder: Encoder) -> pd.Index:
    return pd.Index(encoder.classes_, name="class")
