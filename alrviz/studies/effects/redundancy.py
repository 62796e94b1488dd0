"""Redundant columns: columns with the same or nearly the same content share the effect between them.

known(j | i) = (I - c) / H(j), Theil's uncertainty coefficient: the part of the uncertainty about column j that column i
removes. I is the mutual information of their levels, H the entropy, and c = (levels of i - 1) (levels of j - 1) / 2N
the bias of I (Miller and Madow); the coefficient is 1 if each level of i occurs with one level of j only. A row of
weight 2 counts as two rows.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import entr

from alrviz.estimators.frames import name_separator
from alrviz.studies.effects.interactions import Interactions

MAX_COLUMNS = 60  # columns compared with each other
MIN_ROWS_PER_LEVEL = 3  # on average; with fewer, each level occurs with one level of any column by chance


def dependence(
    codes: NDArray[np.unsignedinteger], columns: Sequence[int], weights: NDArray[np.float64] | None = None
) -> pd.DataFrame:
    """Return a row for each ordered pair of columns of codes (a, N): "column", "other" and "known".

    known is Theil's coefficient of the column given the other. weights: (N,) row weights, None for equal ones.

    Constant columns are left out. So are columns with fewer than MIN_ROWS_PER_LEVEL rows per level, unless their codes
    are identical, which is no chance.
    """
    if weights is not None:
        codes, weights = codes[:, weights > 0], weights[weights > 0]
    codes_by_column = {column: np.unique(codes[column], return_inverse=True)[1].ravel() for column in columns}
    sizes = {column: int(code.max(initial=-1)) + 1 for column, code in codes_by_column.items()}
    total_rows, dependence_rows = float(codes.shape[1] if weights is None else weights.sum()), []
    row_shares = (np.ones(codes.shape[1]) if weights is None else weights) / total_rows
    varying_columns = [column for column in columns if sizes[column] > 1]
    entropy_by_column = {
        column: float(entr(np.bincount(codes_by_column[column], row_shares)).sum()) for column in varying_columns
    }
    for second, first in combinations(varying_columns, 2):
        if np.array_equal(codes_by_column[second], codes_by_column[first]):
            dependence_rows += [(second, first, 1.0), (first, second, 1.0)]
        elif max(sizes[second], sizes[first]) <= total_rows / MIN_ROWS_PER_LEVEL:
            pairs, pair_by_row = np.unique(
                codes_by_column[second].astype(np.int64) * sizes[first] + codes_by_column[first], return_inverse=True
            )
            joint_entropy = float(entr(np.bincount(pair_by_row.ravel(), row_shares)).sum())
            for column, other_column in ((second, first), (first, second)):
                bias = (sizes[column] - 1) * (sizes[other_column] - 1) / (2 * total_rows)
                information = entropy_by_column[column] + entropy_by_column[other_column] - joint_entropy - bias
                is_determined = len(pairs) == sizes[other_column]
                known_share = 1.0 if is_determined else max(0.0, information / entropy_by_column[column])
                dependence_rows.append((column, other_column, known_share))
    return pd.DataFrame(dependence_rows, columns=["column", "other", "known"])


def groups_of(links: pd.DataFrame, n_columns: int) -> list[list[int]]:
    """Return the groups of columns that links of `dependence` connect; a column without links is a group alone."""
    graph = coo_array((np.ones(len(links)), (links.column, links.other)), (n_columns, n_columns))
    _, group_by_column = connected_components(graph, directed=False)
    return [np.flatnonzero(group_by_column == k).tolist() for k in dict.fromkeys(group_by_column.tolist())]


def ranking(effects: Interactions) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rank columns and tuples by the loss without them; columns that determine each other count as one.

    Returns a row per tuple, the most costly first: "order", "share", "loss", "loss_error" as in
    `Interactions.importance`, and "tuples" (the names of the tuples merged here); and `dependence` of the columns, the
    60 most important.
    """
    importance_table = effects.importance().sort_values("loss", ascending=False, kind="stable")
    single_columns = [effects.columns.index(str(name)) for name in importance_table.index[importance_table.order == 1]]
    dependences = dependence(effects.encoded.codes, single_columns[:MAX_COLUMNS], effects.encoded.weights)
    certain = dependences[dependences.known == 1.0]
    mutual = certain.merge(certain, left_on=["column", "other"], right_on=["other", "column"])
    column_groups = groups_of(mutual.rename(columns={"column_x": "column", "other_x": "other"}), len(effects.columns))
    group_by_column = {j: group_number for group_number, columns in enumerate(column_groups) for j in columns}
    names_by_groups: dict[frozenset[int], list[str]] = {}
    for name, columns in zip(effects.names, effects.pure.space.members, strict=True):
        names_by_groups.setdefault(frozenset(group_by_column[int(j)] for j in columns), []).append(name)
    if len(names_by_groups) == len(importance_table):
        return importance_table[["order", "share", "loss", "loss_error"]].assign(
            tuples=[[str(name)] for name in importance_table.index]
        ), dependences
    rows, labels = [], []
    for key, names in names_by_groups.items():
        first_row = importance_table.loc[names[0]]
        loss = (first_row.loss, first_row.loss_error) if len(names) == 1 else effects.cost_without(*names)
        rows.append((len(key), float(importance_table.share[names].sum()), *loss, names))
        texts = [" + ".join(effects.columns[j] for j in column_groups[group_number]) for group_number in sorted(key)]
        labels.append(name_separator(effects.columns).join(f"({p})" if "+" in p and len(key) > 1 else p for p in texts))
    merged = pd.DataFrame(rows, pd.Index(labels, name="columns"), ["order", "share", "loss", "loss_error", "tuples"])
    return merged.sort_values("loss", ascending=False, kind="stable"), dependences
