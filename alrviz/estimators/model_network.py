"""The network form of a model file: the cells of each column with its parents, and what replaces an unseen cell.

A level never seen under its parents' levels has log p `unseen_log_p` ("rest" in the file); under parents' levels never
seen together its `level_log_p` ("alone").
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import ModelFileError
from alrviz.estimators import networks
from alrviz.estimators.model_form import Form, SavedModel, read_numbers
from alrviz.estimators.model_tables import ModelTable, cell_pieces, cells_of, level_pieces, tuple_pieces
from alrviz.models.cell_space import TupleSpace
from alrviz.models.networks import NetworkModel
from alrviz.models.structures import Structure


def _saved_model(model: Any) -> SavedModel:
    network, rmse = model.model_, getattr(model, "rmse_", None)
    metadata = {
        "bias": model.intercept_.tolist(),
        "cards": network.cards.tolist(),
        "weights": model.weights_[-1].tolist() if isinstance(model, networks.ELRClassifier) else None,
        "rmse": None if rmse is None else rmse.tolist(),
        "summed": network.sums_missing,
    }
    encoder = model.encoder_
    members = [[*network.structure.parents[j], j] for j in network.structure.order]
    parents = [columns[:-1] for columns in members]
    tables = {
        "tuples.parquet": tuple_pieces(encoder.names_, members, {}),
        "cells.parquet": cell_pieces(
            network.space, members, network.seen_cells, encoder, {**model.cell_values(), "phi": network.phi}
        ),
        "parents.parquet": cell_pieces(
            network.parents, parents, network.parent_cells, encoder, {"rest": network.unseen_log_p}
        ),
        "levels.parquet": level_pieces(encoder, {"alone": network.level_log_p}),
    }
    return SavedModel(metadata, tables)


def _restore(model: Any, metadata: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    """Set the model from the fields of model.json and the tables of the file."""
    levels, n_classes = model.encoder_.levels_, len(model.classes_)
    tuples = tables["tuples.parquet"].lists("members", len(levels))
    children = [members[-1] for members in tuples]
    if len(set(children)) < len(children):
        raise ModelFileError("tuples.parquet lists a column twice")
    parents: list[tuple[int, ...]] = [()] * len(levels)
    for members in tuples:
        parents[members[-1]] = members[:-1]
    space, parent_space = (
        TupleSpace(levels, tuples),
        TupleSpace(levels, [members[:-1] or members for members in tuples]),
    )
    cell_table, parent_table, level_table = (tables[f"{name}.parquet"] for name in ("cells", "parents", "levels"))
    level_table.require_levels(levels)
    sums_missing = metadata.get("summed", False)
    if not isinstance(sums_missing, bool) or (sums_missing and not isinstance(model, networks.ELRClassifier)):
        raise ModelFileError(f"'summed' is {str(sums_missing)[:40]!r}; expected false, or true for an elr model")
    if sums_missing:
        _check_tree(tuples, len(levels))
    seen_cells = cells_of(cell_table, space)
    if sums_missing:
        _check_tables(tuples, space, seen_cells)
    network = NetworkModel(
        Structure(tuple(parents), tuple(children)), space, parent_space, seen_cells, cell_table.by_class("phi"),
        cells_of(parent_table, parent_space), parent_table.by_class("rest", gaps=True), level_table.by_class("alone"),
        read_numbers(metadata, "cards", len(levels), 1), read_numbers(metadata, "bias", n_classes), sums_missing,
    )  # fmt: skip
    model.set_model(network, model.encoder_.names_)
    model.counts_ = cell_table.counts()
    if isinstance(model, networks.ELRClassifier):
        model.weights_ = np.vstack([cell_table.by_class("w"), read_numbers(metadata, "weights", n_classes)])
    if isinstance(model, networks.KDBClassifier):
        model.rmse_ = None if metadata["rmse"] is None else np.array(metadata["rmse"], np.float64)


def _check_tree(tuples: Sequence[tuple[int, ...]], n_columns: int) -> None:
    """Raise unless the tuples are a tree of all columns, parents first."""
    placed: set[int] = set()
    for *parents, child in tuples:
        if len(parents) > 1 or not placed.issuperset(parents):
            raise ModelFileError(
                "missing values are summed out along a tree, but tuples.parquet has a column with two parents, or with "
                "one that comes later"
            )
        placed.add(child)
    if len(placed) < n_columns:
        raise ModelFileError(
            f"missing values are summed out along a tree of all {n_columns} columns, but tuples.parquet has "
            f"{len(placed)}"
        )


def _check_tables(tuples: Sequence[tuple[int, ...]], space: TupleSpace, seen_cells: NDArray[np.int64]) -> None:
    """Raise if a column's table under a parent level lacks levels: the sums over missing values need all of them.

    tuples: columns of each table; seen_cells: (S,) cells that the file has, numbered as in `space`.
    """
    tuple_of_cell = space.tuple_of(seen_cells)
    n_levels_of_cell = space.levels[[members[-1] for members in tuples]][tuple_of_cell]
    _, table_of_cell, table_sizes = np.unique(
        seen_cells - (seen_cells - space.first[tuple_of_cell]) % n_levels_of_cell,
        return_inverse=True,
        return_counts=True,
    )
    if (table_sizes[table_of_cell] < n_levels_of_cell).any():
        raise ModelFileError("missing values are summed over all levels, but a table in cells.parquet lacks some")


NETWORK: Form = Form(
    name="network",
    classes=(networks.TANClassifier, networks.KDBClassifier, networks.ELRClassifier),
    files=("tuples.parquet", "cells.parquet", "parents.parquet", "levels.parquet"),
    save=_saved_model,
    restore=_restore,
)
