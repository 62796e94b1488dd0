"""The linear form of a model file: phi of the seen cells of all tuples of order n, and what unseen cells add."""

from collections.abc import Mapping
from functools import partial
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import ModelFileError
from alrviz.estimators import auto, linear
from alrviz.estimators.base import share_of
from alrviz.estimators.make import class_of
from alrviz.estimators.model_form import Form, SavedModel, finite
from alrviz.estimators.model_tables import ModelTable, Pieces, cell_pieces, cells_of, class_columns, tuple_pieces
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.families.cells import CellFamily
from alrviz.models.cell_space import AllOrders, AnySpace, count_cells, space_of, tuple_columns, tuple_sizes
from alrviz.models.index import Unseen
from alrviz.models.linear import LinearModel
from alrviz.models.parameterisation import owners
from alrviz.models.tables import Tables
from alrviz.passes.rows import Floats


def _saved(model: Any) -> SavedModel:
    of, tables, unseen = model.model_, model.tables_, model.model_.unseen
    about = {
        "bias": model.intercept_.tolist(),
        "unseen": unseen is not None,
        "known_only": unseen is not None and unseen.known_only,
        "class_counts": tables.class_counts.tolist(),
        "weights": None,
    }
    if model.weights_ is not None:
        own = model.weights_[-1 if share_of(model.recipe_) == "cell-class" else slice(-of.n_classes, None)]
        about["weights"] = own.ravel().tolist()
    return SavedModel(about, _tables(model, tables))


def _tables(model: Any, tables: Tables) -> dict[str, Pieces]:
    encoder, space, unseen = model.encoder_, tables.space, model.model_.unseen
    members = space.members
    by_tuple = {"card": tables.cards, **class_columns("count", tables.tuple_counts)}
    if unseen is not None:
        by_tuple |= class_columns("unseen", unseen.phi)
    quantities = {"count": tables.counts, "log_theta": tables.log_theta}
    if (w := model.cell_weights_) is not None:
        quantities["w"] = w
    quantities["phi"] = model.phi_
    names = [column.name for column in encoder.columns_]
    return {
        "tuples.parquet": tuple_pieces(names, members, by_tuple),
        "cells.parquet": cell_pieces(space, members, tables.seen, encoder, quantities),
    }


def _restore(model: Any, about: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    by_tuple, by_cell = tables["tuples.parquet"], tables["cells.parquet"]
    recipe, levels = model.recipe_, model.encoder_.levels_
    order, some = recipe.params["order"], recipe.definition.chooses_tuples(recipe.params)
    if order > len(levels):
        raise ModelFileError(f"{len(levels)} columns have no tuples of order {order}")
    whole = recipe.definition.counted(recipe.params, len(levels))[-1]
    sizes = tuple_sizes(whole, len(levels))
    most, cells = (sum(f(size) for size in sizes) for f in (partial(comb, len(levels)), partial(count_cells, levels)))
    if len(by_tuple) > most or len(by_cell) > cells:
        raise ModelFileError(f"{len(by_tuple):,} tuples and {len(by_cell):,} cells are not those of order {order}")
    members = by_tuple.lists("members", len(levels))
    space = _some_of(levels, sizes, members) if some else _all_of(levels, whole, members)
    if space is None:
        raise ModelFileError(f"tuples.parquet does not list the tuples of order {order}, in order")
    bias, class_counts = finite(about["bias"]), finite(about["class_counts"])
    found = Tables(
        space=space,
        seen=cells_of(by_cell, space),
        counts=by_cell.by_class("count"),
        class_counts=class_counts,
        tuple_counts=by_tuple.by_class("count"),
        cards=by_tuple.numbers("card"),
        smoothing=recipe.params["smoothing"],
    )
    if class_counts.shape != bias.shape or (found.cards < 1).any() or (found.counts < 0).any():
        raise ModelFileError("counts and cards do not belong to a model: below 0, or of another number of classes")
    unseen = Unseen(by_tuple.by_class("unseen"), bool(about["known_only"])) if about["unseen"] else None
    model.tables_, model.cells_ = found, space
    model.model_ = LinearModel(space, found.seen, by_cell.by_class("phi"), bias, unseen)
    model.phi_, model.intercept_ = model.model_.phi, bias
    model.weights_ = None if recipe.solver == "none" else _weights(model, about, by_cell)


def _some_of(levels: NDArray[np.int64], sizes: range, members: list[tuple[int, ...]]) -> AnySpace | None:
    """The space of some tuples of these sizes; None where they are not listed in order."""
    ascending = members == sorted(set(members), key=lambda own: (len(own), own))
    if not {*map(len, members)} <= {*sizes} or not ascending or any(own != tuple(sorted({*own})) for own in members):
        return None
    return space_of(levels, tuple(members))


def _all_of(
    levels: NDArray[np.int64], whole: int | AllOrders, members: list[tuple[int, ...]]
) -> AnySpace | None:  # fmt: skip
    """The space of all tuples, which the listed ones are; None where they are not."""
    older = [AllOrders(whole.order, skip_missing=True)] if isinstance(whole, AllOrders) else []  # of one level, too
    for tuples in (whole, *older):
        n_columns = len(tuple_columns(levels, tuples))
        if len(members) == sum(comb(n_columns, size) for size in tuple_sizes(tuples, n_columns)):
            space = space_of(levels, tuples)
            if members == list(map(tuple, space.members)):
                return space
    return None


def _weights(model: Any, about: Mapping[str, Any], by_cell: ModelTable) -> Floats:
    """The free weights, of those that every cell has: shared ones once."""
    w = np.concatenate([by_cell.by_class("w"), finite(about["weights"])[None, :]])
    owner = owners(model.tables_, share_of(model.recipe_))
    if owner is None:
        return w
    free = np.zeros((int(owner[-1, -1]) + 1, 1))
    free[owner.ravel(), 0] = w.ravel()
    return free


_OF_CELLS = [class_of(family) for family in FAMILIES.values() if isinstance(family, CellFamily)]
LINEAR: Form = Form(
    name="linear",
    classes=(*_OF_CELLS, auto.AutoClassifier, linear.WANBIACClassifier, linear.NaiveBayesClassifier),
    files=("tuples.parquet", "cells.parquet"),
    save=_saved,
    restore=_restore,
)
