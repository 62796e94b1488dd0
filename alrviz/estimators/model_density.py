"""The density form of a model file: the numbers that vote, column by column, counts of levels, bandwidths, weights.

Every column's numbers are sorted within their class, so that rows cannot be put together again; but a vote keeps its
row's weight, by which rows of different weights can. Grids are written for the script (nodes.parquet); read back, they
are made of the votes as in a fit.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from alrviz.errors import ModelFileError
from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.model_form import Form, SavedModel, finite
from alrviz.estimators.model_tables import ModelTable, Pieces, class_columns, level_pieces
from alrviz.models.density_model import DensityModel
from alrviz.models.density_votes import MAX_ABS_NUMBER, MAX_LOG_SHIFT, DensityVotes, VoteGrid
from alrviz.passes.density import MIN_GRID_SUM
from alrviz.passes.rows import Floats
from alrviz.passes.sources import Sources


def _saved(model: Any) -> SavedModel:
    of, votes = model.model_, model.model_.features
    grids = votes.nodes(of.log_h)
    about = {
        "bias": [*[0.0] * (votes.n_classes - votes.n_values), *model.intercept_.tolist()],
        "smoothing": votes.smoothing,
        "class_counts": votes.class_counts.tolist(),
        "thin": votes.thin,
    }
    tables = {
        "features.parquet": _features(model, grids),
        "votes.parquet": _votes(votes.columns),
        "levels.parquet": level_pieces(model.encoder_, {"count": _level_counts(model)}),
        "nodes.parquet": _nodes(grids, votes.n_classes),
    }
    return SavedModel(about, tables)


def _features(model: Any, grids: list[VoteGrid]) -> Pieces:
    of, votes = model.model_, model.model_.features
    more = votes.n_features - len(grids)
    names = [model.encoder_.columns_[j].name for j in model.columns_]
    missing = np.array([column.missing for column in votes.columns] + [np.zeros(votes.n_classes)] * more)
    yield pa.table(
        {
            "column": model.columns_.astype(np.int32),
            "name": pa.array(names, pa.string()),
            "log_h": np.append(of.log_h, np.zeros(more)),
            "origin": np.array([grid.origin for grid in grids] + [0.0] * more),
            "per_unit": np.array([grid.per_unit for grid in grids] + [0.0] * more),
            **class_columns("w", of.w[:-1]),
            **class_columns("missing", missing),
        }
    )


def _votes(columns: tuple[Sources, ...]) -> Pieces:
    yield _votes_of(0, np.zeros(1, np.int64), np.empty(0), np.empty(0))  # a table without numbers has this alone
    for d, column in enumerate(columns):
        values, weights, first, _ = column.arrays
        yield _votes_of(d, first, values, weights)


def _votes_of(feature: int, first: Any, values: Floats, weights: Floats) -> pa.Table:
    classes = np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
    features = np.full(len(values), feature, np.int32)
    return pa.table({"feature": features, "class": classes, "value": values, "weight": weights})


def _nodes(grids: list[VoteGrid], n_classes: int) -> Pieces:
    for d, grid in enumerate([VoteGrid(np.empty(0, np.int64), np.empty((n_classes, 0)), 0.0, 0.0), *grids], start=-1):
        own = {"feature": np.full(len(grid.numbers), d, np.int32), "node": grid.numbers}
        yield pa.table({**own, **class_columns("sum", grid.sums.T)})


def _level_counts(model: Any) -> Floats:
    """(sum of levels, C), 0 for columns without a feature of levels."""
    votes, levels = model.model_.features, model.encoder_.levels_
    first, out = np.cumsum(levels) - levels, np.zeros((int(levels.sum()), votes.n_classes))
    for j, counts in zip(model.columns_[len(votes.numeric) :], votes.counts, strict=True):
        out[first[j] : first[j] + levels[j]] = counts[:-1]
    return out


# ---- and back -------------------------------------------------------------------------------------------------------


def _restore(model: Any, about: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    encoder, features = model.encoder_, tables["features.parquet"]
    bias, class_counts, thin = finite(about["bias"]), finite(about["class_counts"]), finite([about["thin"]])[0]
    if class_counts.shape != bias.shape or not (class_counts > 0).all() or not 0 < thin <= MIN_GRID_SUM:
        raise ModelFileError("class counts must be above 0, one a class, and 'thin' as in a fit")
    chosen, numeric = features.whole("column"), encoder.numeric_
    others = np.setdiff1d(np.arange(len(encoder.columns_)), numeric)
    is_numeric = np.isin(chosen, numeric)
    n_numeric = int(is_numeric.sum())
    known = is_numeric | np.isin(chosen, others)
    if not known.all() or len(np.unique(chosen)) < len(chosen) or not is_numeric[:n_numeric].all():
        raise ModelFileError("features.parquet must name columns of the table, each once, those of numbers first")
    votes = DensityVotes(
        _sources(tables["votes.parquet"], features.by_class("missing")[:n_numeric], len(bias)),
        _counts(tables["levels.parquet"], encoder.levels_, chosen[n_numeric:]),
        np.searchsorted(numeric, chosen[:n_numeric]), np.searchsorted(others, chosen[n_numeric:]),
        class_counts, float(model.smoothing), float(thin), model.n_jobs,
    )  # fmt: skip
    log_h = features.numbers("log_h")[:n_numeric]
    if (np.abs(log_h - np.log(votes.silverman)) > MAX_LOG_SHIFT + 1e-9).any():
        raise ModelFileError("features.parquet has a bandwidth beyond a thousand times Silverman's, or below")
    k = votes.n_values
    w = np.concatenate([features.by_class("w", n_values=k), bias[None, -k:]])
    model.set_model(DensityModel(votes, w, log_h), chosen)


def _sources(table: ModelTable, missing: Floats, n_classes: int) -> list[Sources]:
    """The sources of each numeric feature, of their votes and the counts (D_num, C) of rows without a number."""
    feature, cls = table.whole("feature"), table.whole("class")
    value, weight = table.numbers("value"), table.numbers("weight")
    order = np.lexsort((value, cls, feature))
    if (np.diff(order) != 1).any() or (cls >= n_classes).any() or (feature >= len(missing)).any():
        raise ModelFileError("votes.parquet must list the votes by feature, class and value, of those there are")
    if (np.abs(value) > MAX_ABS_NUMBER).any() or (weight <= 0).any() or (missing < 0).any():
        raise ModelFileError("votes.parquet has a number or a weight that no fit takes")
    ends, found = np.searchsorted(feature, np.arange(len(missing) + 1)), []
    for d, (begin, end) in enumerate(pairwise(ends.tolist())):
        own, gaps = slice(begin, end), np.full(n_classes, np.nan)  # the rows without a number: one a class will do
        x, w = np.append(value[own], gaps), np.append(weight[own], missing[d])
        found.append(Sources(x, np.append(cls[own], np.arange(n_classes)), w, n_classes))
        if not found[-1].varies:
            raise ModelFileError(f"votes.parquet: the numbers of feature {d} do not vary")
    return found


def _counts(table: ModelTable, levels: Any, columns: Any) -> list[Floats]:
    counts = table.by_class("count")
    if len(counts) != int(levels.sum()) or (counts < 0).any():
        raise ModelFileError(f"levels.parquet must count {int(levels.sum())} levels, none below 0")
    first, none = np.cumsum(levels) - levels, np.zeros((1, counts.shape[1]))
    return [np.concatenate([counts[first[j] : first[j] + levels[j]], none]) for j in columns]


DENSITY: Form = Form(
    name="density",
    classes=(DLRClassifier,),
    files=("features.parquet", "votes.parquet", "levels.parquet"),
    save=_saved,
    restore=_restore,
    script_only=("nodes.parquet",),
)
