"""A model of uncut numbers as a model of levels: dlr, whose score is a sum over columns.

    score_k(x) = b_k + sum over columns d of  w_kd phi_kd(x_d)

Each number in the rows becomes a level of its column, so that nothing is rounded and effects are exact.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.column_encoder import code_values
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded, code_dtype
from alrviz.models.cell_space import CellSpace
from alrviz.models.index import Unseen
from alrviz.models.linear import LinearModel
from alrviz.passes.aligned_buffers import Floats

BINS = 8  # intervals of a number in tests of pairs of columns


def encoder_of_values(encoder: Encoder, numbers: Sequence[Floats]) -> Encoder:
    """Return an encoder with a level for each of the numbers (n, N) of numeric columns; other columns are unchanged."""
    pooled_numbers, columns = np.concatenate(numbers, axis=1), list(encoder.columns_)
    for column_numbers, column_index in zip(pooled_numbers, encoder.numeric_, strict=True):
        columns[column_index] = code_values(pd.Series(column_numbers), columns[column_index].name, "numeric", True)
    return Encoder(discretize=None).take(columns, encoder.classes_, [], encoder.named_)


def with_levels(rows: Encoded, encoder: Encoder) -> Encoded:
    """Return rows of numbers and codes as codes, with a level for each number."""
    codes = rows.codes.astype(code_dtype(encoder.levels_))
    for column_numbers, column_index in zip(_numbers(rows), rows.numeric, strict=True):
        codes[column_index] = encoder.columns_[column_index].transform(pd.Series(column_numbers))
    return Encoded(codes, rows.y, rows.weights, encoder.levels_, rows.classes, rows.names)


def binned(rows: Encoded) -> Encoded:
    """Return rows of numbers and codes as codes, with BINS intervals of about equal numbers of rows for each number."""
    codes, levels = rows.codes.astype(np.uint32), rows.levels.copy()
    for column_numbers, j in zip(_numbers(rows), rows.numeric, strict=True):
        present_values = column_numbers[~np.isnan(column_numbers)]
        cuts = (
            np.unique(np.quantile(present_values, np.arange(1, BINS) / BINS)) if len(present_values) else present_values
        )
        codes[j] = np.where(np.isnan(column_numbers), len(cuts) + 1, np.searchsorted(cuts, column_numbers, side="left"))
        levels[j] = len(cuts) + 1 + np.isnan(column_numbers).any()
    return Encoded(codes, rows.y, rows.weights, levels, rows.classes, rows.names)


def as_linear(classifier: Any, encoder: Encoder) -> LinearModel:
    """Return a dlr classifier's model as a table of the score of each level of its columns, and of values without a
    level.
    """
    levels, n_columns = encoder.levels_, len(encoder.columns_)
    max_n_levels = int(levels.max()) + 1  # a column's levels and, last, "no level"
    numeric = encoder.numeric_
    numbers = np.full((len(numeric), max_n_levels), np.nan)
    for number_row, column_index in zip(numbers, numeric, strict=True):
        level_values = np.array(encoder.columns_[column_index].values, float)
        number_row[: len(level_values)] = level_values
    categorical = np.setdiff1d(np.arange(n_columns), numeric)
    codes = np.minimum(np.arange(max_n_levels)[None, :], levels[categorical][:, None]).astype(np.uint32)
    density = classifier.model_
    score_parts, bias = density.contributions(numbers, codes), density.w[-1]
    if score_parts.shape[2] == 1:  # two classes: one score, the second class's minus the first's
        score_parts, bias = np.concatenate([np.zeros_like(score_parts), score_parts], axis=2), np.append(0.0, bias)
    phi = np.zeros((n_columns, max_n_levels, len(bias)))
    phi[classifier.columns_] = score_parts
    space = CellSpace(levels, 1)
    seen_phi = np.concatenate([phi[column_index, :n_levels] for column_index, n_levels in enumerate(levels.tolist())])
    return LinearModel(space, np.arange(len(seen_phi)), seen_phi, bias, Unseen(phi[np.arange(n_columns), levels]))


def _numbers(rows: Encoded) -> Floats:
    return np.empty((0, rows.n_rows)) if rows.numbers is None else rows.numbers
