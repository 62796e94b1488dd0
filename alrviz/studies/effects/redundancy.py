"""Columns that say the same, or much of the same: what they share is split between their effects.

known(j | i) = (I - c) / H(j), Theil's uncertainty coefficient: the part of what is not known of column j that column i
takes away. I is the mutual information of the two, by the shares of their levels among the rows, H entropy, and
c = (levels of i - 1) (levels of j - 1) / 2N what chance adds to I (Miller and Madow); 1 where each level of i goes with
one of j. A row of weight 2 counts as two.
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

MOST = 60  # columns that are compared with each other
ROWS_A_LEVEL = (
    3  # rows that a level has on average, at least: of fewer each goes with one level of any column, by chance
)


def dependence(
    codes: NDArray[np.unsignedinteger], columns: Sequence[int], weights: NDArray[np.float64] | None = None
) -> pd.DataFrame:
    """Return a line for each two of some columns of codes (a, N): column, other, and `known`, the part of what is not
    known of the column that the other takes away. weights: of the rows (N,), None for equal ones.

    Columns of one level, and those of less than three rows a level, are left out; of the latter those alone are told
    whose codes are the same, which is no chance.
    """
    if weights is not None:
        codes, weights = codes[:, weights > 0], weights[weights > 0]
    own = {j: np.unique(codes[j], return_inverse=True)[1].ravel() for j in columns}
    sizes = {j: int(code.max(initial=-1)) + 1 for j, code in own.items()}
    n, lines = float(codes.shape[1] if weights is None else weights.sum()), []
    share = (np.ones(codes.shape[1]) if weights is None else weights) / n
    several = [j for j in columns if sizes[j] > 1]
    entropy = {j: float(entr(np.bincount(own[j], share)).sum()) for j in several}
    for j, i in combinations(several, 2):
        if np.array_equal(own[j], own[i]):
            lines += [(j, i, 1.0), (i, j, 1.0)]
        elif max(sizes[j], sizes[i]) <= n / ROWS_A_LEVEL:  # both directions follow from the rows of each pair of levels
            pairs, which = np.unique(own[j].astype(np.int64) * sizes[i] + own[i], return_inverse=True)
            joint = float(entr(np.bincount(which.ravel(), share)).sum())
            for one, other in ((j, i), (i, j)):
                shared = entropy[one] + entropy[other] - joint - (sizes[one] - 1) * (sizes[other] - 1) / (2 * n)
                known = 1.0 if len(pairs) == sizes[other] else max(0.0, shared / entropy[one])
                lines.append((one, other, known))
    return pd.DataFrame(lines, columns=["column", "other", "known"])


def groups_of(links: pd.DataFrame, many: int) -> list[list[int]]:
    """Return the columns that links of `dependence` connect, of columns 0 to `many` - 1; each of the others alone."""
    graph = coo_array((np.ones(len(links)), (links.column, links.other)), (many, many))
    _, group = connected_components(graph, directed=False)
    return [np.flatnonzero(group == k).tolist() for k in dict.fromkeys(group.tolist())]


def ranking(effects: Interactions) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rank columns and tuples by what leaving them out costs; columns that say the same count as one.

    Returns a line per tuple, the most costly first: "order", "share", "loss", "loss_error" as `Interactions.importance`
    has them, and "tuples" (T_k names) that are one here; and `dependence` of the columns, the most important 60.
    """
    table = effects.importance().sort_values("loss", ascending=False, kind="stable")
    singles = [effects.columns.index(str(name)) for name in table.index[table.order == 1]]
    known = dependence(effects.encoded.codes, singles[:MOST], effects.encoded.weights)
    sure = known[known.known == 1.0]
    both = sure.merge(sure, left_on=["column", "other"], right_on=["other", "column"])
    same = groups_of(both.rename(columns={"column_x": "column", "other_x": "other"}), len(effects.columns))
    group = {j: k for k, own in enumerate(same) for j in own}
    members: dict[frozenset[int], list[str]] = {}
    for name, own in zip(effects.names, effects.pure.space.members, strict=True):
        members.setdefault(frozenset(group[int(j)] for j in own), []).append(name)
    if len(members) == len(table):
        return table[["order", "share", "loss", "loss_error"]].assign(
            tuples=[[str(name)] for name in table.index]
        ), known
    lines, named = [], []
    for key, names in members.items():
        first = table.loc[names[0]]
        loss = (first.loss, first.loss_error) if len(names) == 1 else effects.cost_without(*names)
        lines.append((len(key), float(table.share[names].sum()), *loss, names))
        words = [" + ".join(effects.columns[j] for j in same[k]) for k in sorted(key)]
        separator = name_separator(effects.columns)
        named.append(separator.join(f"({one})" if "+" in one and len(key) > 1 else one for one in words))
    found = pd.DataFrame(lines, pd.Index(named, name="columns"), ["order", "share", "loss", "loss_error", "tuples"])
    return found.sort_values("loss", ascending=False, kind="stable"), known
