"""Compute the picture of a column on the Data page: rows by level and class, and the cuts of a number."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.columns import ColumnPicture
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

MAX_BARS = 16
BINS = 40
CUTS = {
    "mdl": "MDL", "quantile": "quantiles", "uniform": "equal widths", "smooth": "smooth levels",
    "mdl-smooth": "MDL (smooth levels where it finds no cut)",
    "auto": "smooth levels (or MDL, as a fit says)", None: "every value",
}  # fmt: skip


def count_levels(codes: np.ndarray, y: np.ndarray, levels: int, n_classes: int) -> np.ndarray:
    """Return the rows (levels, C) per level and class."""
    cells = codes.astype(np.int64) * n_classes + y
    return np.bincount(cells, minlength=levels * n_classes).reshape(levels, n_classes)


def picture_of(
    dataset: "Dataset", name: str, discretize: str | None, n_bins: int, seed: int = 0, stop: StopToken = NEVER
) -> ColumnPicture:
    """Return the picture of a column; `discretize` and `n_bins` (as in `Encoder`) apply to numeric columns.

    All rows are drawn. The cuts are computed, as in a race, on the training rows of this seed.
    """
    kind = next(column.kind for column in dataset.columns if column.name == name)
    y = dataset.labels.cat.codes.to_numpy()
    if kind == "target":
        return _target_picture(dataset, name, y)
    if kind == "numeric":
        return _number_picture(dataset, name, y, discretize, n_bins, seed, stop)
    stop.check()
    series = dataset.X[name] if name in dataset.X else dataset.frame[name]
    return _level_picture(series, name, kind, y, dataset.n_classes)


def _target_picture(dataset: "Dataset", name: str, y: np.ndarray) -> ColumnPicture:
    """Return the picture of the class. y: class indices (N,)."""
    labels = tuple(str(label) for label in dataset.labels.cat.categories)
    counts = np.diag(np.bincount(y, minlength=len(labels)))
    return _picture_of_levels(f"{name}: the class", counts, labels, name)


def _number_picture(
    dataset: "Dataset", name: str, y: np.ndarray, discretize: str | None, n_bins: int, seed: int, stop: StopToken
) -> ColumnPicture:
    """Return the histogram of a numeric column with its cuts. y: class indices (N,)."""
    from alrviz.data.encode import Encoder  # imports numba, which would delay the first page
    from alrviz.data.splits import split_table

    column_values = dataset.X[name].to_numpy(dtype=np.float64)
    is_present = ~np.isnan(column_values)
    splits = split_table(dataset, Recipe("lr").holdout, seed)
    training_rows = splits.train
    recipe = Recipe("lr", order=1, discretize=discretize, n_bins=n_bins)
    encoder = Encoder(discretize=recipe.cuts, n_bins=recipe.most_levels)
    weights = None if dataset.weights is None else dataset.weights[training_rows]
    code = encoder.fit(dataset.X[[name]].iloc[training_rows], dataset.y[training_rows], weights, stop=stop).columns_[0]
    cuts = code.cuts if code.cuts is not None else np.empty(0)
    present_values = column_values[is_present]
    minimum, maximum = (float(present_values.min()), float(present_values.max())) if len(present_values) else (0.0, 1.0)
    edges = np.linspace(minimum, maximum if maximum > minimum else minimum + 1.0, BINS + 1)
    bar_by_row = np.clip(np.searchsorted(edges, present_values, side="right") - 1, 0, BINS - 1)
    counts = count_levels(bar_by_row, y[is_present], BINS, dataset.n_classes)
    labels = tuple(f"{a:.6g} to {b:.6g}" for a, b in pairwise(edges))
    n_levels = len(cuts) + 1 if code.cuts is not None else code.n_levels
    method = (
        f"{CUTS[discretize]} of order 1" if discretize in (*SMOOTH_WAYS, "auto") else CUTS[discretize]
    )  # of higher orders fewer
    n_missing = int((~is_present).sum())
    missing_text = f", {n_missing:,} rows without a value" if n_missing else ""
    levels_text = f"{method}: {n_levels} levels" if n_levels > 1 else f"{method}: no cut pays for itself, one level"
    rows_text = f", cut on the {len(training_rows):,} training rows" if len(splits.test) else ""
    return ColumnPicture(f"{name}: {levels_text}{rows_text}{missing_text}", counts, edges, labels, False, cuts, name)


def _level_picture(series: "pd.Series", name: str, kind: str, y: np.ndarray, n_classes: int) -> ColumnPicture:
    """Return the picture of a column with levels, its missing values as one. y: class indices (N,)."""
    row_texts = series.astype("string").fillna("missing") if series.isna().any() else series.astype("string")
    row_codes, levels = pd.factorize(row_texts, sort=True)
    if isinstance(series.dtype, pd.CategoricalDtype) and kind == "ordinal":
        rank_by_level = {str(value): k for k, value in enumerate(series.cat.categories)}
        sorted_codes = sorted(range(len(levels)), key=lambda k: rank_by_level.get(str(levels[k]), len(rank_by_level)))
        rank_by_code = np.empty(len(levels), dtype=np.int64)
        rank_by_code[sorted_codes] = np.arange(len(levels))
        row_codes, levels = rank_by_code[row_codes], levels[sorted_codes]
    counts = count_levels(row_codes, y, len(levels), n_classes)
    labels = tuple(str(value) for value in levels)
    role = "not used" if kind == "ignore" else kind
    return _picture_of_levels(f"{name}: {role}, {len(labels):,} levels", counts, labels, name, kind == "ordinal")


def _picture_of_levels(
    title: str, counts: np.ndarray, labels: tuple[str, ...], name: str, is_ordered: bool = False
) -> ColumnPicture:
    """Return the picture of a column with a bar per level. counts: rows (levels, C). name: of the column."""
    if not is_ordered or len(labels) > MAX_BARS:
        order = np.argsort(-counts.sum(axis=1), kind="stable")
        counts, labels = counts[order], tuple(labels[k] for k in order)
    if len(labels) > MAX_BARS:  # without a bar for the rest, which would dwarf all others
        title += f", the {MAX_BARS} most frequent shown"
        counts, labels = counts[:MAX_BARS], labels[:MAX_BARS]
    edges = np.arange(len(labels) + 1, dtype=float)
    return ColumnPicture(title, counts, edges, labels, True, np.empty(0), name)
