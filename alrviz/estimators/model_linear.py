"""The linear form of a model file: phi of the seen cells of the model's tuples, and what unseen cells add."""

from collections.abc import Mapping
from functools import partial
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.errors import ModelFileError
from alrviz.estimators import auto, linear
from alrviz.estimators.base import share_of
from alrviz.estimators.make import classifier_class
from alrviz.estimators.model_form import Form, SavedModel, read_numbers
from alrviz.estimators.model_tables import ModelTable, cell_pieces, cells_of, class_columns, tuple_pieces
from alrviz.fitting.families import FAMILIES
from alrviz.models.cell_space import AllOrders, AnySpace, count_cells, space_of, tuple_columns, tuple_sizes
from alrviz.models.index import Unseen
from alrviz.models.linear import LinearModel
from alrviz.models.parameterisation import free_weight_numbers
from alrviz.models.tables import Tables
from alrviz.passes.rows import Floats


def _saved_model(model: Any) -> SavedModel:
    linear_model, tables, unseen_weights = model.model_, model.tables_, model.model_.unseen
    metadata = {
        "bias": model.intercept_.tolist(),
        "unseen": unseen_weights is not None,
        "known_only": unseen_weights is not None and unseen_weights.known_only,
        "class_counts": tables.class_counts.tolist(),
        "weights": None,
    }
    if getattr(model, "edits_", None) is not None:
        metadata["edits"] = model.edits_.to_dict("list")
    if model.weights_ is not None:
        bias_weights = model.weights_[
            -1 if share_of(model.recipe_) == "cell-class" else slice(-linear_model.n_classes, None)
        ]
        metadata["weights"] = bias_weights.ravel().tolist()
    encoder, space = model.encoder_, tables.space
    tuple_values = {"card": tables.cards, **class_columns("count", tables.tuple_counts)}
    if unseen_weights is not None:
        tuple_values |= class_columns("unseen", unseen_weights.phi)
    quantities = {"count": tables.counts, "log_theta": tables.log_theta}
    if (w := model.cell_weights_) is not None:
        quantities["w"] = w
    quantities["phi"] = model.phi_
    pieces = {
        "tuples.parquet": tuple_pieces(encoder.names_, space.members, tuple_values),
        "cells.parquet": cell_pieces(space, space.members, tables.seen_cells, encoder, quantities),
    }
    return SavedModel(metadata, pieces)


def _restore(model: Any, metadata: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    """Set the model from the fields of model.json and the tables of the file."""
    tuple_table, cell_table = tables["tuples.parquet"], tables["cells.parquet"]
    recipe, levels = model.recipe_, model.encoder_.levels_
    order, chooses = recipe.params["order"], recipe.definition.chooses_tuples(recipe.params)
    if order > len(levels):
        raise ModelFileError(f"order {order} needs at least {order} columns; the file has {len(levels)}")
    tuples = recipe.definition.counted_tuples(recipe.params, len(levels))[-1]
    sizes = tuple_sizes(tuples, len(levels))
    max_tuples, max_cells = (
        sum(f(size) for size in sizes) for f in (partial(comb, len(levels)), partial(count_cells, levels))
    )
    if len(tuple_table) > max_tuples or len(cell_table) > max_cells:
        raise ModelFileError(
            f"{len(tuple_table):,} tuples and {len(cell_table):,} cells are not those of order {order}"
        )
    members = tuple_table.lists("members", len(levels))
    space = _listed_space(levels, sizes, members) if chooses else _full_space(levels, tuples, members)
    if space is None:
        raise ModelFileError(f"tuples.parquet does not list the tuples of order {order}, in order")
    bias = read_numbers(metadata, "bias", len(model.classes_))
    counts = Tables(
        space=space,
        seen_cells=cells_of(cell_table, space),
        counts=cell_table.counts(),
        class_counts=read_numbers(metadata, "class_counts", len(bias), 0),
        tuple_counts=tuple_table.by_class("count"),
        cards=tuple_table.numbers("card"),
        smoothing=recipe.params["smoothing"],
    )
    if (counts.cards < 1).any():
        raise ModelFileError("tuples.parquet: 'card' has numbers below 1")
    unseen_weights = (
        Unseen(tuple_table.by_class("unseen"), bool(metadata["known_only"])) if metadata["unseen"] else None
    )
    model.tables_, model.cells_ = counts, space
    model.model_ = LinearModel(space, counts.seen_cells, cell_table.by_class("phi"), bias, unseen_weights)
    model.phi_, model.intercept_ = model.model_.phi, bias
    model.weights_ = None if metadata["weights"] is None else _weights(model, metadata, cell_table)
    if "edits" in metadata:
        model.edits_ = _edits(metadata["edits"], model.classes_.tolist())


def _edits(columns: Any, classes: list[Any]) -> pd.DataFrame:
    """Return the log of edits from model.json, after checking the type of every value."""
    if not isinstance(columns, Mapping) or list(columns) != list(EDIT_COLUMNS):
        raise ModelFileError(f"'edits' must have the columns {', '.join(EDIT_COLUMNS)}")
    for name, expected_type in EDIT_COLUMNS.items():
        values = columns[name]
        is_right = isinstance(values, list) and len(values) == len(columns["step"])
        if not is_right or not all(type(v) is expected_type if expected_type else v in classes for v in values):
            raise ModelFileError(f"'edits' has values in {name!r} that no edit has")
    return pd.DataFrame(dict(columns), columns=list(EDIT_COLUMNS))


def _listed_space(levels: NDArray[np.int64], sizes: range, members: list[tuple[int, ...]]) -> AnySpace | None:
    """Return the space of the tuples in `members`, of columns with `levels` (a,).

    None unless they are distinct, ordered by size and then by columns, ascending in each, and of the allowed `sizes`.
    """
    ascending = members == sorted(set(members), key=lambda columns: (len(columns), columns))
    if (
        not {*map(len, members)} <= {*sizes}
        or not ascending
        or any(columns != tuple(sorted({*columns})) for columns in members)
    ):
        return None
    return space_of(levels, tuple(members))


def _full_space(
    levels: NDArray[np.int64], tuples: int | AllOrders, members: list[tuple[int, ...]]
) -> AnySpace | None:  # fmt: skip
    """Return the space of all tuples of columns with `levels` (a,); None if these are not the listed `members`."""
    alternatives = (
        [AllOrders(tuples.order, skip_missing=True)] if isinstance(tuples, AllOrders) else []
    )  # a space that includes columns of one level
    for candidate in (tuples, *alternatives):
        n_columns = len(tuple_columns(levels, candidate))
        if len(members) == sum(comb(n_columns, size) for size in tuple_sizes(candidate, n_columns)):
            space = space_of(levels, candidate)
            if members == list(map(tuple, space.members)):
                return space
    return None


def _weights(model: Any, metadata: Mapping[str, Any], cell_table: ModelTable) -> Floats:
    """Return a model's free weights, each once, from the table of its cells, in which shared ones are repeated.

    metadata: model.json, with the weights of the intercepts.
    """
    w = np.vstack([cell_table.by_class("w"), read_numbers(metadata, "weights", len(model.classes_))])
    weight_numbers = free_weight_numbers(model.tables_, share_of(model.recipe_))
    if weight_numbers is None:
        return w
    free_weights = np.zeros((int(weight_numbers[-1, -1]) + 1, 1))
    free_weights[weight_numbers.ravel(), 0] = w.ravel()
    return free_weights


# The columns of the log of edits, and the types of their values; a class is one of the model's.
EDIT_COLUMNS: Mapping[str, type | None] = {
    "step": int, "action": str, "columns": str, "levels": str, "class": None, "old": float, "new": float
}  # fmt: skip
_CELL_CLASSIFIERS = [classifier_class(family) for family in FAMILIES.values() if family.sums_cells]
LINEAR: Form = Form(
    name="linear",
    classes=(*_CELL_CLASSIFIERS, auto.AutoClassifier, linear.WANBIACClassifier, linear.NaiveBayesClassifier),
    files=("tuples.parquet", "cells.parquet"),
    save=_saved_model,
    restore=_restore,
)
