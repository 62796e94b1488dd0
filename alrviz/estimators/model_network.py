"""The network form of a model file: each column with its parents, and what stands in for a cell that was never seen.

What a level adds that was never seen under its parents is the rest under them, else what it adds by itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import ModelFileError
from alrviz.estimators import conditional, networks
from alrviz.estimators.model_form import Form, SavedModel, finite
from alrviz.estimators.model_tables import ModelTable, Pieces, cell_pieces, cells_of, level_pieces, tuple_pieces
from alrviz.models.cell_space import TupleSpace
from alrviz.models.networks import NetworkModel
from alrviz.models.structures import Structure


def _saved(model: Any) -> SavedModel:
    rmse = getattr(model, "rmse_", None)
    about = {
        "bias": model.intercept_.tolist(),
        "cards": model.model_.cards.tolist(),
        "weights": model.weights_[-1].tolist() if isinstance(model, conditional.ELRClassifier) else None,
        "rmse": None if rmse is None else rmse.tolist(),
        "summed": model.model_.summed,
    }
    return SavedModel(about, _tables(model))


def _tables(model: Any) -> dict[str, Pieces]:
    of, encoder = model.model_, model.encoder_
    names = [column.name for column in encoder.columns_]
    members = [[*of.structure.parents[j], j] for j in of.structure.order]
    above = [own[:-1] for own in members]
    return {
        "tuples.parquet": tuple_pieces(names, members, {}),
        "cells.parquet": cell_pieces(of.space, members, of.seen, encoder, {**model.cell_values(), "phi": of.phi}),
        "parents.parquet": cell_pieces(of.parents, above, of.parent_cells, encoder, {"rest": of.unseen_log_p}),
        "levels.parquet": level_pieces(encoder, {"alone": of.level_log_p}),
    }


def _restore(model: Any, about: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    levels, bias = model.encoder_.levels_, finite(about["bias"])
    chosen = tables["tuples.parquet"].lists("members", len(levels))
    children = [own[-1] for own in chosen]
    if len(set(children)) < len(children):
        raise ModelFileError("tuples.parquet gives a column two sets of parents")
    parents: list[tuple[int, ...]] = [()] * len(levels)
    for own in chosen:
        parents[own[-1]] = own[:-1]
    space, above = TupleSpace(levels, chosen), TupleSpace(levels, [own[:-1] or own for own in chosen])
    by_cell, by_parents, by_level = (tables[f"{name}.parquet"] for name in ("cells", "parents", "levels"))
    if len(by_level) != int(levels.sum()):
        raise ModelFileError(f"levels.parquet has {len(by_level)} lines, and there are {int(levels.sum())} levels")
    summed = about.get("summed", False)
    if not isinstance(summed, bool) or (summed and not isinstance(model, conditional.ELRClassifier)):
        raise ModelFileError(f"'summed' is {str(summed)[:40]!r}; expected true or false, and true of elr alone")
    if summed:
        _check_tree(chosen, len(levels))
    seen = cells_of(by_cell, space)
    if summed:
        _check_tables(chosen, space, seen)
    cards = finite(about["cards"])
    if cards.shape != levels.shape:
        raise ModelFileError(f"{len(levels)} columns, and 'cards' has {len(cards)} numbers")
    found = NetworkModel(
        Structure(tuple(parents), tuple(children)), space, above, seen, by_cell.by_class("phi"),
        cells_of(by_parents, above), by_parents.by_class("rest", gaps=True), by_level.by_class("alone"), cards, bias,
        summed,
    )  # fmt: skip
    model.set_model(found, tuple(column.name for column in model.encoder_.columns_))
    if isinstance(model, conditional.ELRClassifier):
        model.weights_ = np.concatenate([by_cell.by_class("w"), finite(about["weights"])[None, :]])
        return
    model.model_, model.counts_ = found, by_cell.by_class("count")
    if isinstance(model, networks.KDBClassifier):
        model.rmse_ = None if about["rmse"] is None else np.array(about["rmse"], np.float64)


def _check_tree(chosen: Sequence[tuple[int, ...]], n_columns: int) -> None:
    """Refuse tuples that are no trees of all columns, parents first."""
    before: set[int] = set()
    for *parents, child in chosen:
        if len(parents) > 1 or not before.issuperset(parents):
            raise ModelFileError(
                "missing values are summed out along a tree, and tuples.parquet gives a column two parents, or one "
                "that comes after it"
            )
        before.add(child)
    if len(before) < n_columns:
        raise ModelFileError(
            f"missing values are summed out along a tree of all {n_columns} columns, and tuples.parquet is of "
            f"{len(before)}"
        )


def _check_tables(chosen: Sequence[tuple[int, ...]], space: TupleSpace, seen: NDArray[np.int64]) -> None:
    """Refuse a table of a column, under a level of its parent, that lacks some of its levels: sums go over all."""
    t = space.tuple_of(seen)
    levels = space.levels[[own[-1] for own in chosen]][t]
    _, table, size = np.unique(seen - (seen - space.first[t]) % levels, return_inverse=True, return_counts=True)
    if (size[table] < levels).any():
        raise ModelFileError("missing values are summed over all levels, and a table in cells.parquet lacks some")


NETWORK: Form = Form(
    name="network",
    classes=(networks.TANClassifier, networks.KDBClassifier, conditional.ELRClassifier),
    files=("tuples.parquet", "cells.parquet", "parents.parquet", "levels.parquet"),
    save=_saved,
    restore=_restore,
)
