"""The average form of a model file: ande's counts of the cells of n and of n + 1 columns, and its naive Bayes model.

Training rows have a level in every column, so each tuple's class counts are those of the table, and its card is the
product of its columns' cards. Counts of fewer columns, for rows that share no cell with training, are sums of these;
n = 0 is naive Bayes alone.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from alrviz.errors import ModelFileError
from alrviz.estimators.model_form import Form, SavedModel, read_numbers
from alrviz.estimators.model_tables import ModelTable, cell_pieces, cells_of, level_pieces, tuple_pieces
from alrviz.estimators.networks import AnDEClassifier
from alrviz.models.averages import AverageModel
from alrviz.models.cell_space import CellSpace, TupleSpace, count_cells
from alrviz.models.networks import NetworkModel
from alrviz.models.structures import naive_structure
from alrviz.models.tables import Tables
from alrviz.passes.rows import Floats


def _saved_model(model: Any) -> SavedModel:
    average, wider, encoder = model.model_, model.tables_, model.encoder_
    naive_model = average if model.n == 0 else average.naive_bayes
    narrow = wider if model.n == 0 else average.parents
    cells = slice(0) if model.n == 0 else slice(None)  # of no columns there are no cells
    members, parents = wider.space.tuples.tolist(), narrow.space.tuples.tolist()
    metadata = {
        "bias": naive_model.bias.tolist(),
        "n": model.n,
        "smoothing": wider.smoothing,
        "cards": naive_model.cards.tolist(),
        "class_counts": wider.class_counts.tolist(),
    }
    tables = {
        "tuples.parquet": tuple_pieces(encoder.names_, members, {}),
        "cells.parquet": cell_pieces(wider.space, members, wider.seen_cells, encoder, {"count": wider.counts}),
        "parents.parquet": cell_pieces(
            narrow.space, parents, narrow.seen_cells[cells], encoder, {"count": narrow.counts[cells]}
        ),
        "levels.parquet": level_pieces(encoder, {"alone": naive_model.level_log_p}),
    }  # fmt: skip
    return SavedModel(metadata, tables)


def _restore(model: Any, metadata: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    """Set the model from the fields of model.json and the tables of the file."""
    levels, n, n_classes = model.encoder_.levels_, model.n, len(model.classes_)
    cards = read_numbers(metadata, "cards", len(levels), 1)
    class_counts = read_numbers(metadata, "class_counts", n_classes, 0)
    bias = read_numbers(metadata, "bias", n_classes)
    tables["levels.parquet"].require_levels(levels)
    if len(tables["tuples.parquet"]) != math.comb(len(levels), n + 1):
        raise ModelFileError(f"tuples.parquet does not list the tuples of n + 1 = {n + 1} of {len(levels)} columns")
    naive_model = _naive(levels, tables["levels.parquet"].by_class("alone"), cards, bias)

    def read_counts(file: str, order: int) -> Tables:
        table = tables[file]
        if len(table) > count_cells(levels, order):
            raise ModelFileError(f"{file} has {len(table):,} cells, more than {order} of the columns have")
        space, counts = CellSpace(levels, order), table.counts()
        totals = np.tile(class_counts, (space.n_tuples, 1))
        tuple_cards = cards[space.tuples].prod(axis=1)
        return Tables(space, cells_of(table, space), counts, class_counts, totals, tuple_cards, float(model.smoothing))

    wider = read_counts("cells.parquet", n + 1)
    model.tables_, model.cells_ = wider, wider.space
    model.model_ = AverageModel(read_counts("parents.parquet", n), wider, naive_model) if n else naive_model


def _naive(levels: np.ndarray, level_log_p: Floats, cards: Floats, bias: Floats) -> NetworkModel:
    """Return naive Bayes, in which every level counts as seen.

    levels (a,) of the columns; level_log_p (sum of levels, C) log p(level | class); cards (a,); bias (C,) log pi.
    """
    structure = naive_structure(len(levels))
    space = TupleSpace(levels, [(j,) for j in structure.order])
    no_parents = np.empty(0, np.int64), np.empty((0, len(bias)))
    return NetworkModel(
        structure, space, space, np.arange(len(level_log_p)), level_log_p, *no_parents, level_log_p, cards, bias
    )


AVERAGE: Form = Form(
    name="average",
    classes=(AnDEClassifier,),
    files=("tuples.parquet", "cells.parquet", "parents.parquet", "levels.parquet"),
    save=_saved_model,
    restore=_restore,
)
