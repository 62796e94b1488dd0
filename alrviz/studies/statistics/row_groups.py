"""Groups of rows by a column or an array: the quartiles of numbers, the most frequent levels of anything else."""

from itertools import count

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from alrviz.data.column_encoder import interval_labels
from alrviz.data.parse_values import number_text
from alrviz.errors import TableError, nearest

MAX_LEVELS = 12  # rarer levels form one group
N_QUARTILES = 4
OTHER = "(others)"


def group_rows(X: pd.DataFrame, by: str | ArrayLike) -> pd.Series:
    """Return the group of each row of X (N,) as a categorical of texts, the groups in their order.

    by: the name of a column of X, or an array (N,). Missing values form a group.

    Raises:
        TableError: if there is no such column, or the array has another length.
    """
    if isinstance(by, str):
        if by not in X.columns:
            raise TableError(f"no column is called {by!r}{nearest(by, map(str, X.columns))}; expected a column, or an "
                             "array with a group for each row")  # fmt: skip
        values = X[by].reset_index(drop=True)
    else:
        values = pd.Series(np.asarray(by))
        if values.shape != (len(X),):
            raise TableError(f"there are {len(values):,} groups for {len(X):,} rows; expected one for each")
    is_continuous = pd.api.types.is_numeric_dtype(values) and values.nunique() > MAX_LEVELS
    group_texts, labels = _group_by_quartiles(values) if is_continuous else _group_by_level(values)
    if group_texts.isna().any():
        # A level may be called "(missing)" too: add brackets until the name is free.
        missing_name = next(name for name in (f"{'(' * n}missing{')' * n}" for n in count(1)) if name not in labels)
        group_texts, labels = group_texts.fillna(missing_name), [*labels, missing_name]
    return pd.Series(pd.Categorical(group_texts, categories=list(dict.fromkeys(labels))))


def _group_by_quartiles(values: pd.Series) -> tuple[pd.Series, list[str]]:
    """Return the interval of each of the numbers `values` (N,) as text, and all intervals in their order."""
    numbers = values.to_numpy(float, na_value=np.nan)
    # Cut at values that occur, so that infinite ones need no arithmetic.
    sorted_numbers = np.sort(numbers[~np.isnan(numbers)])
    cuts = np.unique(sorted_numbers[[len(sorted_numbers) * k // N_QUARTILES - 1 for k in range(1, N_QUARTILES)]])
    labels = interval_labels(cuts, bool((sorted_numbers == np.floor(sorted_numbers)).all()))
    interval_texts = pd.Series(np.array(labels, dtype=object)[np.searchsorted(cuts, numbers)]).where(~np.isnan(numbers))
    return interval_texts, labels


def _group_by_level(values: pd.Series) -> tuple[pd.Series, list[str]]:
    """Return the level of each row as text, of levels `values` (N,), and all levels.

    Numbers and ordered levels are in their order, others by frequency. Beyond MAX_LEVELS the rarest become one group.
    """
    is_ordered = isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered
    rows_by_level = values.value_counts(sort=not is_ordered or values.nunique() > MAX_LEVELS)
    is_numeric = pd.api.types.is_numeric_dtype(values)
    text_of = number_text if is_numeric and not pd.api.types.is_bool_dtype(values) else str
    rows_by_level = rows_by_level.sort_index() if is_numeric else rows_by_level
    level_texts = values.astype(object).where(values.notna(), None).map(text_of, na_action="ignore")
    labels = list(dict.fromkeys(text_of(level) for level in rows_by_level.index[rows_by_level > 0]))
    if len(labels) > MAX_LEVELS:
        level_texts = level_texts.where(level_texts.isin(labels[:MAX_LEVELS]) | level_texts.isna(), OTHER)
        labels = [*labels[:MAX_LEVELS], OTHER]
    return level_texts, labels
