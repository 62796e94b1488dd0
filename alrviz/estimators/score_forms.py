"""The formulas by which an exported model turns levels and numbers into scores: a class per form, in numpy alone.

Part of score.py in every model file. A class takes model.json (`metadata`), the tables and the columns; `scores` takes
the codes (a, N) of the rows and a function that returns column j's numbers (N,), NaN where a value is missing.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa


class Cells:
    """Base of the forms whose scores are sums over cells. A cell is one level of each column of a tuple, the last
    fastest.
    """

    def __init__(self, metadata: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        self.metadata, self.columns, self.bias = metadata, columns, np.array(metadata["bias"])
        self.levels = [column.levels for column in columns]
        self.first = np.cumsum([0, *self.levels])
        self.members = tables["tuples.parquet"].column("members").to_pylist()

    def split(self, table: "pa.Table", name: str, tuples: int) -> list[tuple["np.ndarray", "np.ndarray"]]:
        """Return for each of `tuples` tuples its cells in a model's table, ascending, and their values (cells, C).

        name: the columns name_0, name_1, ... hold the values of each class.
        """
        cells, values = table.column("cell").to_numpy(), self.matrix(table, name)
        tuple_bounds = np.searchsorted(table.column("tuple").to_numpy(), np.arange(tuples + 1))
        return [(cells[a:b], values[a:b]) for a, b in pairwise(tuple_bounds.tolist())]

    def matrix(self, table: "pa.Table", name: str) -> "np.ndarray":
        """Return a table's columns name_0, name_1, ... as a matrix with a column per class."""
        return _matrix(table, name, len(self.bias))

    def cell(self, codes: "np.ndarray", members: Sequence[int]) -> tuple["np.ndarray", "np.ndarray"]:
        """Return the cell (N,) that each row of codes (a, N) lies in, and whether it has a level of every column (N,).

        members: the columns of the tuple.
        """
        cell, has_levels = np.zeros(codes.shape[1], np.int64), np.ones(codes.shape[1], bool)
        for j in members:
            cell = cell * self.levels[j] + codes[j]
            has_levels &= codes[j] < self.levels[j]
        return cell, has_levels

    def level(self, by_level: "np.ndarray", codes: "np.ndarray", j: int) -> tuple["np.ndarray", "np.ndarray"]:
        """Return whether each row of codes (a, N) has a level of column j, (N, 1), and that level's values (N, C).

        by_level: the values of all levels of all columns.
        """
        has_level = codes[j] < self.levels[j]
        return has_level[:, None], by_level[self.first[j] + np.where(has_level, codes[j], 0)]


class Linear(Cells):
    """score_k(x) = b_k + sum over tuples t of phi[cell_t(x), k]; an unseen cell adds 0 or its tuple's `unseen`."""

    def __init__(self, metadata: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        super().__init__(metadata, tables, columns)
        self.cells = self.split(tables["cells.parquet"], "phi", len(self.members))
        self.unseen = self.matrix(tables["tuples.parquet"], "unseen") if metadata["unseen"] else None

    def scores(self, codes: "np.ndarray", numbers: Any) -> "np.ndarray":
        """Return the class scores (N, C)."""
        z = np.tile(self.bias, (codes.shape[1], 1))
        for t, members in enumerate(self.members):
            cell, has_levels = self.cell(codes, members)
            is_seen, value = _look_up(self.cells[t], cell, has_levels)
            if self.unseen is not None:
                unseen_scores = (has_levels | (not self.metadata["known_only"]))[:, None] * self.unseen[t]
                value = np.where(is_seen[:, None], value, unseen_scores)
            z += value
        return z


class Network(Cells):
    """score_k(x) = b_k + sum over columns j of phi[x_j under its parents' levels, k]; a tuple's last column is j.

    A level never seen under its parents' levels adds `unseen_log_p` of the parents' levels; if those were never seen
    together, or not in class k, it adds `level_log_p` of the level itself. A missing column adds 0. With "summed",
    missing columns are summed out along the tree of parents, from the leaves to the root.
    """

    MAX_SUMMED_VALUES = 10**6  # rows x levels x classes summed together: 8 MB per array

    def __init__(self, metadata: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        super().__init__(metadata, tables, columns)
        self.cells = self.split(tables["cells.parquet"], "phi", len(self.members))
        self.unseen_log_p = self.split(tables["parents.parquet"], "rest", len(self.members))
        self.level_log_p = self.matrix(tables["levels.parquet"], "alone")

    def scores(self, codes: "np.ndarray", numbers: Any) -> "np.ndarray":
        """Return the class scores (N, C)."""
        z = np.tile(self.bias, (codes.shape[1], 1))
        for t, (*parents, child) in enumerate(self.members):
            is_seen, value = _look_up(self.cells[t], *self.cell(codes, [*parents, child]))
            parent_cell, has_parents = self.cell(codes, parents)
            parents_seen, unseen_log_p = _look_up(self.unseen_log_p[t], parent_cell, has_parents & bool(parents))
            has_level, level_log_p = self.level(self.level_log_p, codes, child)
            unseen_value = np.where(parents_seen[:, None] & ~np.isnan(unseen_log_p), unseen_log_p, level_log_p)
            if parents and self.metadata.get("summed"):
                has_level = has_level & has_parents[:, None]
            z += np.where(is_seen[:, None], value, np.where(has_level, unseen_value, 0.0))
        if self.metadata.get("summed"):
            incomplete = np.flatnonzero((codes >= np.array(self.levels)[:, None]).any(axis=0))
            batch_rows = 1 + self.MAX_SUMMED_VALUES // (1 + self.first[-1] * len(self.bias))
            for rows in (incomplete[i : i + batch_rows] for i in range(0, len(incomplete), batch_rows)):
                z[rows] += self._sum_missing(codes[:, rows].astype(np.int64))
        return z

    def _sum_missing(self, codes: "np.ndarray") -> "np.ndarray":
        """Return what missing columns add to the scores, (N, C).

        A missing column changes the scores only if it has evidence: a column below it in the tree that has a level.
        """
        n, classes = codes.shape[1], len(self.bias)
        missing = codes >= np.array(self.levels)[:, None]
        log_sums = [np.zeros((n, n_levels, classes)) for n_levels in self.levels]
        evidence, z = ~missing, np.zeros((n, classes))
        for t in reversed(range(len(self.members))):
            *parents, j = self.members[t]
            parent_missing = missing[parents[0]] if parents else np.zeros(n, bool)
            has_evidence, tables = evidence[j] & (missing[j] | parent_missing), self._tables(t)
            if parents:
                adds_level, adds_sum = has_evidence & ~missing[j], has_evidence & missing[j] & parent_missing
                parent_sums = log_sums[parents[0]]
                parent_sums[adds_level] += tables[:, codes[j, adds_level]].transpose(1, 0, 2)
                parent_sums[adds_sum] += np.stack([_log_sum(table + log_sums[j][adds_sum]) for table in tables], axis=1)
                evidence[parents[0]] |= adds_level | adds_sum
            is_root = has_evidence & missing[j] & ~parent_missing
            z[is_root] += _log_sum(tables[codes[parents[0], is_root] if parents else 0] + log_sums[j][is_root])
        return z

    def _tables(self, t: int) -> "np.ndarray":
        """Return log p of a column's levels, (N_parent, N, C), by level of its parent; (1, N, C) without one."""
        *parents, j = self.members[t]
        n_parent, n_levels = self.levels[parents[0]] if parents else 1, self.levels[j]
        is_seen, value = _look_up(self.cells[t], np.arange(n_parent * n_levels), np.ones(n_parent * n_levels, bool))
        level_log_p = np.tile(self.level_log_p[slice(*self.first[j : j + 2])], (n_parent, 1))
        return np.where(is_seen[:, None], value, level_log_p).reshape(n_parent, n_levels, -1)


class Average(Cells):
    """score_k(x) = log of the mean over tuples t whose cell was seen of  p(x_t, k) prod_j p(x_j | x_t, k)

        p(x_t, k)       = (N(x_t, k) + m / (C card(t))) / (N + m)
        p(x_j | x_t, k) = (N(x_t, x_j, k) + m / card(j)) / (N(x_t, k) + m),  p(x_j | k) where class k has no row in x_t

    Where no cell was seen it is the mean over tuples of n - 1 columns; for n = 0 it is naive Bayes.
    """

    def __init__(self, metadata: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        super().__init__(metadata, tables, columns)
        self.n, self.m, self.cards = metadata["n"], metadata["smoothing"], np.array(metadata["cards"])
        wider, parents = map(tuple, self.members), self._tuples(self.n) if self.n else []
        self.counts = dict(zip(wider, self.split(tables["cells.parquet"], "count", len(self.members)), strict=True))
        self.counts |= zip(parents, self.split(tables["parents.parquet"], "count", len(parents)), strict=True)
        for order in range(self.n - 1, 0, -1):
            self.counts |= {members: self._sum_out_column(members) for members in self._tuples(order)}
        self.level_log_p, self.total = self.matrix(tables["levels.parquet"], "alone"), sum(metadata["class_counts"])

    def scores(self, codes: "np.ndarray", numbers: Any) -> "np.ndarray":
        """Return the class scores (N, C)."""
        z = self._naive(codes)
        for order in range(1, self.n + 1):
            mean, is_seen = self._mean(codes, order)
            z = np.where(is_seen, mean, z)
        return z

    def _tuples(self, order: int) -> list[tuple[int, ...]]:
        return list(combinations(range(len(self.columns)), order))

    def _sum_out_column(self, members: tuple[int, ...]) -> tuple["np.ndarray", "np.ndarray"]:
        """Return the cells of a tuple and their counts, summed from those of a tuple with one column more."""
        column = next(j for j in range(len(self.columns)) if j not in members)
        larger = sorted((*members, column))
        cells, counts = self.counts[tuple(larger)]
        stride = int(np.prod([self.levels[j] for j in larger[larger.index(column) + 1 :]]))
        smaller_cells = cells // (stride * self.levels[column]) * stride + cells % stride
        tuple_cells, places = np.unique(smaller_cells, return_inverse=True)
        sums = np.zeros((len(tuple_cells), len(self.bias)))
        np.add.at(sums, places, counts)
        return tuple_cells, sums

    def _mean(self, codes: "np.ndarray", order: int) -> tuple["np.ndarray", "np.ndarray"]:
        """Return the scores (N, C) by tuples of `order` columns, and whether a row has a seen cell of one, (N, 1)."""
        z, n_seen = np.full((codes.shape[1], len(self.bias)), -np.inf), np.zeros((codes.shape[1], 1))
        for parents in self._tuples(order):
            is_seen, count = _look_up(self.counts[parents], *self.cell(codes, parents))
            prior_count = self.m / len(self.bias) / self.cards[list(parents)].prod()
            value = np.log(count + prior_count) - np.log(self.total + self.m)
            for j in set(range(len(self.columns))) - set(parents):
                members = tuple(sorted((*parents, j)))
                _, joint = _look_up(self.counts[members], *self.cell(codes, members))
                has_level, level_log_p = self.level(self.level_log_p, codes, j)
                log_p = np.log((joint + self.m / self.cards[j]) / (count + self.m))
                value += np.where(has_level, np.where(count > 0, log_p, level_log_p), 0.0)
            z = np.logaddexp(z, np.where(is_seen[:, None], value, -np.inf))
            n_seen += is_seen[:, None]
        return z - np.log(np.maximum(n_seen, 1)), n_seen > 0

    def _naive(self, codes: "np.ndarray") -> "np.ndarray":
        return self.bias + sum(np.where(*self.level(self.level_log_p, codes, j), 0.0) for j in range(len(self.columns)))


class Density:
    """score_k(x) = b_k + sum over columns d of w_dk phi_dk(x_d); of two classes only the second's, with bias w_0

    S_k(x) = sum over votes i of class k of weight_i exp(-(x - x_i)^2 / (2 h^2)), from a grid unless the sum is small
    S_k(l) = N_lk + m N_k / N              of a level, or of the rows without a number; N_lk = 0 for an unseen level
    phi    = log(S_1 / S_0) - (D - 1)/D log(N_1 / N_0)         more classes: log(S_k / sum S) - (D - 1)/D log(N_k / N)
    """

    MAX_ABS_PHI, MAX_ABS_NUMBER = 30.0, 1e140
    MAX_EXPONENT = 40.0  # a vote exp(-40) times the nearest one's does not change a float64 sum
    MAX_SUMMED_VALUES = 2**20  # rows x votes of an exact sum: 8 MB per array; all rows x a million votes would take GBs

    def __init__(self, metadata: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        self.columns, self.bias = columns, np.array(metadata["bias"])
        self.m, self.min_grid_sum = metadata["smoothing"], metadata["thin"]
        features, self.totals = tables["features.parquet"], np.array(metadata["class_counts"])
        classes, self.feature_columns = len(self.bias), features.column("column").to_numpy()
        self.h, self.origin, self.per_unit = (
            features.column(name).to_numpy() for name in ("log_h", "origin", "per_unit")
        )
        self.h = np.exp(self.h)
        self.w = _matrix(features, "w", classes if classes > 2 else 1)
        self.missing = _matrix(features, "missing", classes)
        self.counts = _matrix(tables["levels.parquet"], "count", classes)
        self.first = np.cumsum([0, *(column.levels for column in columns)])
        votes, nodes = tables["votes.parquet"], tables["nodes.parquet"]
        feature, class_of_vote = votes.column("feature").to_numpy(), votes.column("class").to_numpy()
        value, weight = votes.column("value").to_numpy(), votes.column("weight").to_numpy()
        node, sums, grid = nodes.column("node").to_numpy(), _matrix(nodes, "sum", classes), nodes.column("feature")
        self.votes, self.nodes = [], []
        for d in range(len(self.feature_columns)):
            a, b = np.searchsorted(feature, (d, d + 1))
            class_bounds = a + np.searchsorted(class_of_vote[a:b], np.arange(classes + 1))
            self.votes.append(
                [self._with_max_exponent(value[i:j], weight[i:j]) for i, j in pairwise(class_bounds.tolist())]
            )
            a, b = np.searchsorted(grid.to_numpy(), (d, d + 1))
            self.nodes.append((node[a:b], sums[a:b]))

    def scores(self, codes: "np.ndarray", numbers: Any) -> "np.ndarray":
        """Return the class scores (N, C)."""
        prior_share, z = 1 - 1 / len(self.feature_columns), np.zeros((codes.shape[1], self.w.shape[1]))
        prior = _ratio(np.log(self.totals / self.totals.sum())[None, :])
        for d, j in enumerate(self.feature_columns.tolist()):
            if self.columns[j].numeric:
                x = numbers(j)
                log_s = np.tile(self._log_smoothed(self.missing[d]), (len(x), 1))
                log_s[~np.isnan(x)] = self._log_sums(d, x[~np.isnan(x)])
            else:
                has_level = codes[j] < self.columns[j].levels
                count = np.where(has_level[:, None], self.counts[self.first[j] + np.where(has_level, codes[j], 0)], 0.0)
                log_s = self._log_smoothed(count)
            no_votes = np.isneginf(log_s).all(axis=1, keepdims=True)
            phi = np.where(
                no_votes, (1 - prior_share) * prior, _ratio(np.where(no_votes, 0.0, log_s)) - prior_share * prior
            )
            z += self.w[d] * np.clip(phi, -self.MAX_ABS_PHI, self.MAX_ABS_PHI)
        return self.bias + (z if len(self.bias) > 2 else z * [0.0, 1.0])

    def _log_smoothed(self, counts: "np.ndarray") -> "np.ndarray":
        with np.errstate(divide="ignore"):
            return np.log(counts + self.m * self.totals / self.totals.sum())

    def _log_sums(self, d: int, x: "np.ndarray") -> "np.ndarray":
        """Return log S_k (N, C) of numbers x (N,) of feature d."""
        if (np.abs(x) > self.MAX_ABS_NUMBER).any():
            name = self.columns[self.feature_columns[d]].name
            raise ValueError(f"column {name!r} has a number beyond +-{self.MAX_ABS_NUMBER:g}; expected one closer to 0")
        sums = self._on_grid(d, x)
        with np.errstate(divide="ignore"):
            log_sums = np.log(np.where(sums >= self.min_grid_sum, sums, 0.0))
        order = np.argsort(x)
        for k, votes in enumerate(self.votes[d]):
            remaining_rows = order[np.isneginf(log_sums[order, k])]
            log_sums[remaining_rows, k] = self._exact_log_sum(x[remaining_rows], *votes, self.h[d])
        return log_sums

    def _with_max_exponent(self, value: "np.ndarray", weight: "np.ndarray") -> tuple["np.ndarray", "np.ndarray", float]:
        """Return the votes of one class, values and weights (P,), and the exponent beyond which all of them are
        negligible.
        """
        return value, weight, self.MAX_EXPONENT + (np.log(weight.sum() / weight.min()) if len(weight) else 0.0)

    def _on_grid(self, d: int, x: "np.ndarray") -> "np.ndarray":
        """Return S_k interpolated by cubic weights of the four nodes around x; 0 where one of them is missing."""
        node, sums = self.nodes[d]
        if len(node) < 4:
            return np.zeros((len(x), len(self.bias)))
        position = (x - self.origin[d]) * self.per_unit[d]
        j = np.floor(np.clip(position, node[0] - 9, node[-1] + 9)).astype(np.int64)
        n = np.clip(np.searchsorted(node, j - 1), 0, len(node) - 4)
        t = position - j
        a, b, c = t + 1, t - 1, t - 2
        weights = (-t * b * c / 6, a * b * c / 2, -a * t * c / 2, a * t * b / 6)
        has_nodes = (node[n] == j - 1) & (node[n + 3] == j + 2)
        return np.where(has_nodes[:, None], sum(w[:, None] * sums[n + i] for i, w in enumerate(weights)), 0.0)

    def _exact_log_sum(
        self, x: "np.ndarray", value: "np.ndarray", weight: "np.ndarray", max_exponent: float, h: float
    ) -> "np.ndarray":
        """Return log S (N,) of one class at sorted x (N,), from all votes that are near enough to one of them to count.

        value, weight: (P,) of the votes, sorted by value; max_exponent: beyond which a vote does not count; h:
        bandwidth.
        """
        if not len(value) or not len(x):
            return np.full(len(x), -np.inf)
        next_positions, precision = np.searchsorted(value, x), 0.5 / (h * h)
        next_values, previous_values = (
            value[np.minimum(next_positions, len(value) - 1)],
            value[np.maximum(next_positions - 1, 0)],
        )
        distance = np.minimum(np.abs(x - next_values), np.abs(x - previous_values))
        nearest = distance * distance
        radius = np.sqrt(nearest + max_exponent / precision)
        a, b = np.searchsorted(value, (x - radius).min()), np.searchsorted(value, (x + radius).max(), side="right")
        if len(x) > 1 and len(x) * (b - a) > self.MAX_SUMMED_VALUES:
            middle = len(x) // 2
            halves = (x[:middle], x[middle:])
            return np.concatenate([self._exact_log_sum(half, value, weight, max_exponent, h) for half in halves])
        differences = x[:, None] - value[a:b]
        votes = np.exp(np.minimum(0.0, (nearest[:, None] - differences * differences) * precision)) @ weight[a:b]
        with np.errstate(over="ignore"):
            exponent = nearest * precision
            return np.where(exponent > 1e300, -np.inf, np.log(votes) - exponent)


def _look_up(cells: Any, cell: "np.ndarray", has_levels: "np.ndarray") -> tuple["np.ndarray", "np.ndarray"]:
    """Return whether each row's cell was seen, and its values, 0 where it was not."""
    numbers, values = cells
    if not len(numbers):
        return np.zeros(len(cell), bool), np.zeros((len(cell), values.shape[1]))
    positions = np.minimum(np.searchsorted(numbers, cell), len(numbers) - 1)
    is_seen = has_levels & (numbers[positions] == cell)
    return is_seen, np.where(is_seen[:, None], values[positions], 0.0)


def _log_sum(values: "np.ndarray") -> "np.ndarray":
    """Return the log of the sum of exponentials over the levels: (N, levels, C) to (N, C)."""
    max_values = values.max(axis=1)
    return max_values + np.log(np.exp(values - max_values[:, None]).sum(axis=1))


def _matrix(table: "pa.Table", name: str, n_values: int) -> "np.ndarray":
    return np.column_stack([table.column(f"{name}_{k}").to_numpy() for k in range(n_values)])


def _ratio(log_s: "np.ndarray") -> "np.ndarray":
    """Return log(S_1 / S_0) of two classes, (N, 1); of more log(S_k / sum S), (N, C)."""
    if log_s.shape[1] == 2:
        return log_s[:, 1:] - log_s[:, :1]
    max_log_s = log_s.max(axis=1, keepdims=True)
    return log_s - (max_log_s + np.log(np.exp(log_s - max_log_s).sum(axis=1, keepdims=True)))


FORMS: Mapping[str, Any] = {"linear": Linear, "network": Network, "average": Average, "density": Density}
