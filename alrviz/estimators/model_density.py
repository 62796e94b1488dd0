"""The density form of a model file: the votes of each numeric column, counts of levels, bandwidths, weights.

Each column's votes (training numbers) are sorted within their class, so that rows cannot be put together again, except
by their weights, where these differ. Grids are written for the script (nodes.parquet); Python computes them again.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from alrviz.errors import ModelFileError
from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.model_form import Form, SavedModel, read_numbers
from alrviz.estimators.model_tables import ModelTable, Pieces, class_columns, level_pieces
from alrviz.models.density_model import DensityModel
from alrviz.models.density_votes import MAX_LOG_SHIFT, DensityVotes, VoteGrid
from alrviz.passes.density import MIN_GRID_SUM
from alrviz.passes.rows import Floats
from alrviz.passes.sources import MAX_ABS_NUMBER, Sources


def _saved_model(model: Any) -> SavedModel:
    density_model, votes = model.model_, model.model_.features
    grids = votes.nodes(density_model.log_h)
    metadata = {
        "bias": [*[0.0] * (votes.n_classes - votes.n_values), *model.intercept_.tolist()],
        "smoothing": votes.smoothing,
        "class_counts": votes.class_counts.tolist(),
        "thin": votes.thin,
    }
    tables = {
        "features.parquet": _feature_pieces(model, grids),
        "votes.parquet": _vote_pieces(votes.columns),
        "levels.parquet": level_pieces(model.encoder_, {"count": _level_counts(model)}),
        "nodes.parquet": _node_pieces(grids, votes.n_classes),
    }
    return SavedModel(metadata, tables)


def _feature_pieces(model: Any, grids: list[VoteGrid]) -> Pieces:
    """Yield a line for each feature: bandwidth, grid, weights, and the votes of missing values."""
    density_model, votes = model.model_, model.model_.features
    n_level_features = votes.n_features - len(grids)
    names = [model.encoder_.columns_[j].name for j in model.columns_]
    missing = np.array([column.missing for column in votes.columns] + [np.zeros(votes.n_classes)] * n_level_features)
    yield pa.table(
        {
            "column": model.columns_.astype(np.int32),
            "name": pa.array(names, pa.string()),
            "log_h": np.append(density_model.log_h, np.zeros(n_level_features)),
            "origin": np.array([grid.origin for grid in grids] + [0.0] * n_level_features),
            "per_unit": np.array([grid.per_unit for grid in grids] + [0.0] * n_level_features),
            **class_columns("w", density_model.w[:-1]),
            **class_columns("missing", missing),
        }
    )


def _vote_pieces(columns: tuple[Sources, ...]) -> Pieces:
    """Yield the votes of each numeric feature."""
    yield _votes_of(
        0, np.zeros(1, np.int64), np.empty(0), np.empty(0)
    )  # the only line of a table without numeric columns
    for d, column in enumerate(columns):
        values, weights, class_starts, _ = column.arrays
        yield _votes_of(d, class_starts, values, weights)


def _votes_of(feature: int, class_starts: Any, values: Floats, weights: Floats) -> pa.Table:
    """Return the votes of a feature as a table: values and weights (P,), those of class k from class_starts[k] on."""
    classes = np.repeat(np.arange(len(class_starts) - 1, dtype=np.int32), np.diff(class_starts))
    features = np.full(len(values), feature, np.int32)
    return pa.table({"feature": features, "class": classes, "value": values, "weight": weights})


def _node_pieces(grids: list[VoteGrid], n_classes: int) -> Pieces:
    for d, grid in enumerate([VoteGrid(np.empty(0, np.int64), np.empty((n_classes, 0)), 0.0, 0.0), *grids], start=-1):
        columns = {"feature": np.full(len(grid.numbers), d, np.int32), "node": grid.numbers}
        yield pa.table({**columns, **class_columns("sum", grid.sums.T)})


def _level_counts(model: Any) -> Floats:
    """Return counts (sum of levels, C), 0 for numeric columns and columns without a feature."""
    features, levels = model.model_.features, model.encoder_.levels_
    level_starts, result = np.cumsum(levels) - levels, np.zeros((int(levels.sum()), features.n_classes))
    for j, counts in zip(model.columns_[len(features.numeric) :], features.counts, strict=True):
        result[level_starts[j] : level_starts[j] + levels[j]] = counts[:-1]
    return result


# ---- reading back -------------------------------------------------------------------------------------------------


def _restore(model: Any, metadata: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    encoder, features = model.encoder_, tables["features.parquet"]
    bias, class_counts = (read_numbers(metadata, name, len(encoder.classes_)) for name in ("bias", "class_counts"))
    thin = metadata["thin"]
    if not (class_counts > 0).all() or not isinstance(thin, float) or not 0 < thin <= MIN_GRID_SUM:
        raise ModelFileError(f"class counts must be above 0, and 'thin' above 0 and at most {MIN_GRID_SUM:g}")
    feature_columns, numeric = features.non_negative("column"), encoder.numeric_
    level_columns = np.setdiff1d(np.arange(len(encoder.columns_)), numeric)
    is_numeric = np.isin(feature_columns, numeric)
    n_numeric = int(is_numeric.sum())
    is_known = is_numeric | np.isin(feature_columns, level_columns)
    if not is_known.all() or len(np.unique(feature_columns)) < len(feature_columns) or not is_numeric[:n_numeric].all():
        raise ModelFileError("features.parquet must name columns of the table, each at most once, numeric ones first")
    votes = DensityVotes(
        _sources(tables["votes.parquet"], features.by_class("missing")[:n_numeric], len(bias)),
        _counts(tables["levels.parquet"], encoder.levels_, feature_columns[n_numeric:]),
        np.searchsorted(numeric, feature_columns[:n_numeric]),
        np.searchsorted(level_columns, feature_columns[n_numeric:]),
        class_counts, float(model.smoothing), thin, model.n_jobs,
    )  # fmt: skip
    log_h = features.numbers("log_h")[:n_numeric]
    if (np.abs(log_h - np.log(votes.silverman)) > MAX_LOG_SHIFT + 1e-9).any():
        raise ModelFileError(
            "features.parquet has a bandwidth more than a thousand times Silverman's, or less than a thousandth"
        )
    k = votes.n_values
    w = np.concatenate([features.by_class("w", n_values=k), bias[None, -k:]])
    model.set_model(DensityModel(votes, w, log_h), feature_columns)


def _sources(table: ModelTable, missing: Floats, n_classes: int) -> list[Sources]:
    """Return the votes of each numeric feature; `missing` (D_num, C) counts its rows without a number."""
    feature_of_vote, class_of_vote = table.non_negative("feature"), table.non_negative("class")
    value, weight = table.numbers("value"), table.numbers("weight")
    order = np.lexsort((value, class_of_vote, feature_of_vote))
    if (np.diff(order) != 1).any() or (class_of_vote >= n_classes).any() or (feature_of_vote >= len(missing)).any():
        raise ModelFileError(
            "votes.parquet must be sorted by feature, class and value, of existing features and classes"
        )
    if (np.abs(value) > MAX_ABS_NUMBER).any() or (weight <= 0).any() or (missing < 0).any():
        raise ModelFileError("votes.parquet has a number or weight outside the range of a fit")
    feature_bounds, result = np.searchsorted(feature_of_vote, np.arange(len(missing) + 1)), []
    for d, (begin, end) in enumerate(pairwise(feature_bounds.tolist())):
        # one NaN per class stands for all rows without a number
        rows, missing_x = slice(begin, end), np.full(n_classes, np.nan)
        x, w = np.append(value[rows], missing_x), np.append(weight[rows], missing[d])
        result.append(Sources(x, np.append(class_of_vote[rows], np.arange(n_classes)), w, n_classes))
        if not result[-1].varies:
            raise ModelFileError(f"votes.parquet: the numbers of feature {d} do not vary")
    return result


def _counts(table: ModelTable, levels: Any, columns: Any) -> list[Floats]:
    """Return the counts (levels + 1, C) of each of `columns`, the last row 0."""
    table.require_levels(levels)
    counts = table.counts()
    level_starts, missing_row = np.cumsum(levels) - levels, np.zeros((1, counts.shape[1]))
    return [np.concatenate([counts[level_starts[j] : level_starts[j] + levels[j]], missing_row]) for j in columns]


DENSITY: Form = Form(
    name="density",
    classes=(DLRClassifier,),
    files=("features.parquet", "votes.parquet", "levels.parquet"),
    save=_saved_model,
    restore=_restore,
    script_only=("nodes.parquet",),
)
