"""The average form of a model file: ande's counts of the cells of n and of n + 1 columns, and its naive Bayes.

Training rows have a level in every column, so that a tuple's count of a class is the class's, and its card the product
of its columns'. Naive Bayes, for rows that share no cell with training, is each level by itself. n = 0 is no more.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from alrviz.errors import ModelFileError
from alrviz.estimators.model_form import Form, SavedModel, finite
from alrviz.estimators.model_tables import ModelTable, cell_pieces, cells_of, level_pieces, tuple_pieces
from alrviz.estimators.networks import AnDEClassifier
from alrviz.models.averages import AverageModel
from alrviz.models.cell_space import CellSpace, TupleSpace, count_cells
from alrviz.models.networks import NetworkModel
from alrviz.models.structures import naive
from alrviz.models.tables import Tables
from alrviz.passes.rows import Floats


def _saved(model: Any) -> SavedModel:
    of, wider, encoder = model.model_, model.tables_, model.encoder_
    alone = of if model.n == 0 else of.naive
    narrow = wider if model.n == 0 else of.parents
    few = slice(0) if model.n == 0 else slice(None)  # the cells of no column are none
    names = [column.name for column in encoder.columns_]
    members, parents = wider.space.tuples.tolist(), narrow.space.tuples.tolist()
    about = {
        "bias": alone.bias.tolist(),
        "n": model.n,
        "smoothing": wider.smoothing,
        "cards": alone.cards.tolist(),
        "class_counts": wider.class_counts.tolist(),
    }
    tables = {
        "tuples.parquet": tuple_pieces(names, members, {}),
        "cells.parquet": cell_pieces(wider.space, members, wider.seen, encoder, {"count": wider.counts}),
        "parents.parquet": cell_pieces(
            narrow.space, parents, narrow.seen[few], encoder, {"count": narrow.counts[few]}
        ),
        "levels.parquet": level_pieces(encoder, {"alone": alone.level_log_p}),
    }  # fmt: skip
    return SavedModel(about, tables)


def _restore(model: Any, about: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    levels, n = model.encoder_.levels_, model.n
    cards, class_counts, bias = (finite(about[name]) for name in ("cards", "class_counts", "bias"))
    by_level = tables["levels.parquet"]
    if len(by_level) != int(levels.sum()):
        raise ModelFileError(f"levels.parquet has {len(by_level)} lines, and there are {int(levels.sum())} levels")
    if cards.shape != levels.shape or (cards < 1).any() or class_counts.shape != bias.shape or (class_counts < 0).any():
        raise ModelFileError("cards and counts do not belong to a model: below 0, or not one a column and a class")
    if len(tables["tuples.parquet"]) != math.comb(len(levels), n + 1):
        raise ModelFileError(f"tuples.parquet does not list the tuples of n + 1 = {n + 1} of {len(levels)} columns")
    alone = _naive(levels, by_level.by_class("alone"), cards, bias)

    def counted(file: str, order: int) -> Tables:
        table = tables[file]
        if len(table) > count_cells(levels, order):
            raise ModelFileError(f"{file} has {len(table):,} cells, more than {order} of the columns have")
        space, counts = CellSpace(levels, order), table.by_class("count")
        if (counts < 0).any():
            raise ModelFileError(f"{file} has counts below 0")
        totals = np.tile(class_counts, (space.n_tuples, 1))
        own = cards[space.tuples].prod(axis=1)
        return Tables(space, cells_of(table, space), counts, class_counts, totals, own, float(model.smoothing))

    wider = counted("cells.parquet", n + 1)
    model.tables_, model.cells_ = wider, wider.space
    model.model_ = AverageModel(counted("parents.parquet", n), wider, alone) if n else alone


def _naive(levels: np.ndarray, alone: Floats, cards: Floats, bias: Floats) -> NetworkModel:
    """Naive Bayes, of which every level is a cell that was seen."""
    structure = naive(len(levels))
    space = TupleSpace(levels, [(j,) for j in structure.order])
    nothing = np.empty(0, np.int64), np.empty((0, len(bias)))
    return NetworkModel(structure, space, space, np.arange(len(alone)), alone, *nothing, alone, cards, bias)


AVERAGE: Form = Form(
    name="average",
    classes=(AnDEClassifier,),
    files=("tuples.parquet", "cells.parquet", "parents.parquet", "levels.parquet"),
    save=_saved,
    restore=_restore,
)
