"""A model of numbers that are not cut, read as one of levels: dlr, whose score is a sum over columns.

    score_k(x) = b_k + sum over columns d of  w_kd phi_kd(x_d)

Each number that the rows have is a level of its column, so nothing is rounded: what a column says of them is exact.
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

BINS = 8  # of a number, where pairs of columns are tested


def encoder_of_values(encoder: Encoder, numbers: Sequence[Floats]) -> Encoder:
    """Return an encoder for which each number of (n, N) numeric columns is a level; other columns are the encoder's."""
    pooled, columns = np.concatenate(numbers, axis=1), list(encoder.columns_)
    for own, j in zip(pooled, encoder.numeric_, strict=True):
        columns[j] = code_values(pd.Series(own), columns[j].name, "numeric", True)
    return Encoder(discretize=None).take(columns, encoder.classes_, [], encoder.named_)


def with_levels(rows: Encoded, encoder: Encoder) -> Encoded:
    """Return rows of numbers and codes with a level for each number."""
    codes = rows.codes.astype(code_dtype(encoder.levels_))
    for own, j in zip(_numbers(rows), rows.numeric, strict=True):
        codes[j] = encoder.columns_[j].transform(pd.Series(own))
    return Encoded(codes, rows.y, rows.weights, encoder.levels_, rows.classes, rows.names)


def binned(rows: Encoded) -> Encoded:
    """Return rows of numbers and codes with some intervals of about as many rows each for a number."""
    codes, levels = rows.codes.astype(np.uint32), rows.levels.copy()
    for own, j in zip(_numbers(rows), rows.numeric, strict=True):
        there = own[~np.isnan(own)]
        cuts = np.unique(np.quantile(there, np.arange(1, BINS) / BINS)) if len(there) else there
        codes[j] = np.where(np.isnan(own), len(cuts) + 1, np.searchsorted(cuts, own, side="left"))
        levels[j] = len(cuts) + 1 + np.isnan(own).any()
    return Encoded(codes, rows.y, rows.weights, levels, rows.classes, rows.names)


def as_linear(classifier: Any, encoder: Encoder) -> LinearModel:
    """Return a density model as a table of what each level of its columns adds; a level that is none has its own."""
    levels, a = encoder.levels_, len(encoder.columns_)
    most = int(levels.max()) + 1  # the last of a column is none of its levels
    numeric = encoder.numeric_
    numbers = np.full((len(numeric), most), np.nan)
    for own, j in zip(numbers, numeric, strict=True):
        values = np.array(encoder.columns_[j].values, float)
        own[: len(values)] = values
    others = np.setdiff1d(np.arange(a), numeric)
    codes = np.minimum(np.arange(most)[None, :], levels[others][:, None]).astype(np.uint32)
    density = classifier.model_
    parts, bias = density.contributions(numbers, codes), density.w[-1]
    if parts.shape[2] == 1:  # of two classes one number says what the second has more
        parts, bias = np.concatenate([np.zeros_like(parts), parts], axis=2), np.append(0.0, bias)
    phi = np.zeros((a, most, len(bias)))
    phi[classifier.columns_] = parts
    space = CellSpace(levels, 1)
    own = np.concatenate([phi[j, :n] for j, n in enumerate(levels.tolist())])
    return LinearModel(space, np.arange(len(own)), own, bias, Unseen(phi[np.arange(a), levels]))


def _numbers(rows: Encoded) -> Floats:
    return np.empty((0, rows.n_rows)) if rows.numbers is None else rows.numbers
