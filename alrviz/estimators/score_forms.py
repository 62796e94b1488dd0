"""How an exported model's scores come of levels and numbers: a class for each form, in numpy alone.

This is part of score.py in every model file. A class is made of model.json, the tables and the columns; its scores take
the codes (a, N) of the rows and a function that gives column j's numbers (N,), NaN where there is none.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa


class Cells:
    """What the forms made of cells have in common. A cell is a level of each column of a tuple, the last fastest."""

    def __init__(self, about: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        self.about, self.columns, self.bias = about, columns, np.array(about["bias"])
        self.levels = [column.levels for column in columns]
        self.first = np.cumsum([0, *self.levels])
        self.members = tables["tuples.parquet"].column("members").to_pylist()

    def split(self, table: "pa.Table", name: str, tuples: int) -> list[tuple["np.ndarray", "np.ndarray"]]:
        """The cells of each tuple, ascending, and their values by class."""
        cells, values = table.column("cell").to_numpy(), self.matrix(table, name)
        ends = np.searchsorted(table.column("tuple").to_numpy(), np.arange(tuples + 1))
        return [(cells[a:b], values[a:b]) for a, b in pairwise(ends.tolist())]

    def matrix(self, table: "pa.Table", name: str) -> "np.ndarray":
        """What a table holds of every class."""
        return _matrix(table, name, len(self.bias))

    def cell(self, codes: "np.ndarray", members: Sequence[int]) -> tuple["np.ndarray", "np.ndarray"]:
        """The cell of each row, and whether it has a level of every column."""
        local, known = np.zeros(codes.shape[1], np.int64), np.ones(codes.shape[1], bool)
        for j in members:
            local = local * self.levels[j] + codes[j]
            known &= codes[j] < self.levels[j]
        return local, known

    def level(self, by_level: "np.ndarray", codes: "np.ndarray", j: int) -> tuple["np.ndarray", "np.ndarray"]:
        """Whether each row has a level of column j, (N, 1), and what is known of it, (N, C)."""
        there = codes[j] < self.levels[j]
        return there[:, None], by_level[self.first[j] + np.where(there, codes[j], 0)]


class Linear(Cells):
    """score_k(x) = b_k + sum over tuples t of phi[cell_t(x), k]; an unseen cell adds nothing, or its tuple's unseen."""

    def __init__(self, about: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        super().__init__(about, tables, columns)
        self.cells = self.split(tables["cells.parquet"], "phi", len(self.members))
        self.unseen = self.matrix(tables["tuples.parquet"], "unseen") if about["unseen"] else None

    def scores(self, codes: "np.ndarray", numbers: Any) -> "np.ndarray":
        """Return the class scores (N, C)."""
        z = np.tile(self.bias, (codes.shape[1], 1))
        for t, members in enumerate(self.members):
            local, known = self.cell(codes, members)
            found, value = _look_up(self.cells[t], local, known)
            if self.unseen is not None:
                added = (known | (not self.about["known_only"]))[:, None] * self.unseen[t]
                value = np.where(found[:, None], value, added)
            z += value
        return z


class Network(Cells):
    """score_k(x) = b_k + sum over columns j of phi[x_j under its parents' levels, k]; a tuple's last column is j.

    A level that was never seen under its parents adds their rest, and where these were not seen what it adds alone.
    Where missing columns are summed out, they are so along the tree of parents, from the ends to the root.
    """

    AT_ONCE = 10**6  # rows x levels x classes that are summed together: 8 MB an array

    def __init__(self, about: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        super().__init__(about, tables, columns)
        self.cells = self.split(tables["cells.parquet"], "phi", len(self.members))
        self.rest = self.split(tables["parents.parquet"], "rest", len(self.members))
        self.alone = self.matrix(tables["levels.parquet"], "alone")

    def scores(self, codes: "np.ndarray", numbers: Any) -> "np.ndarray":
        """Return the class scores (N, C)."""
        z = np.tile(self.bias, (codes.shape[1], 1))
        for t, (*parents, child) in enumerate(self.members):
            found, value = _look_up(self.cells[t], *self.cell(codes, [*parents, child]))
            local, known = self.cell(codes, parents)
            above, rest = _look_up(self.rest[t], local, known & bool(parents))
            there, alone = self.level(self.alone, codes, child)
            below = np.where(above[:, None] & ~np.isnan(rest), rest, alone)
            if parents and self.about.get("summed"):
                there = there & known[:, None]
            z += np.where(found[:, None], value, np.where(there, below, 0.0))
        if self.about.get("summed"):
            gaps = np.flatnonzero((codes >= np.array(self.levels)[:, None]).any(axis=0))
            step = 1 + self.AT_ONCE // (1 + self.first[-1] * len(self.bias))
            for rows in (gaps[i : i + step] for i in range(0, len(gaps), step)):
                z[rows] += self._summed(codes[:, rows].astype(np.int64))
        return z

    def _summed(self, codes: "np.ndarray") -> "np.ndarray":
        """What missing columns add to the scores (N, C) that have evidence: a column below with a level."""
        n, classes = codes.shape[1], len(self.bias)
        missing = codes >= np.array(self.levels)[:, None]
        below = [np.zeros((n, top, classes)) for top in self.levels]
        evidence, z = ~missing, np.zeros((n, classes))
        for t in reversed(range(len(self.members))):
            *parents, j = self.members[t]
            at_end = missing[parents[0]] if parents else np.zeros(n, bool)
            has, tables = evidence[j] & (missing[j] | at_end), self._tables(t)
            if parents:
                level, sums = has & ~missing[j], has & missing[j] & at_end
                above = below[parents[0]]
                above[level] += tables[:, codes[j, level]].transpose(1, 0, 2)
                above[sums] += np.stack([_log_sum(table + below[j][sums]) for table in tables], axis=1)
                evidence[parents[0]] |= level | sums
            rows = has & missing[j] & ~at_end
            z[rows] += _log_sum(tables[codes[parents[0], rows] if parents else 0] + below[j][rows])
        return z

    def _tables(self, t: int) -> "np.ndarray":
        """log p of a column's level (N_parent, N, C), of every level of its parent; of one without, (1, N, C)."""
        *parents, j = self.members[t]
        above, own, alone = self.levels[parents[0]] if parents else 1, self.levels[j], slice(*self.first[j : j + 2])
        found, value = _look_up(self.cells[t], np.arange(above * own), np.ones(above * own, bool))
        return np.where(found[:, None], value, np.tile(self.alone[alone], (above, 1))).reshape(above, own, -1)


class Average(Cells):
    """score_k(x) = log of the mean over tuples t of n columns whose cell was seen of  p(x_t, k) prod_j p(x_j | x_t, k)

        p(x_t, k)       = (N(x_t, k) + m / (C card(t))) / (N + m)
        p(x_j | x_t, k) = (N(x_t, x_j, k) + m / card(j)) / (N(x_t, k) + m),  j alone where class k has none of x_t

    Where no cell was seen, and with n = 0, it is naive Bayes: of every x_j alone.
    """

    def __init__(self, about: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        super().__init__(about, tables, columns)
        n, self.m, self.cards = about["n"], about["smoothing"], np.array(about["cards"])
        self.number = {tuple(own): t for t, own in enumerate(self.members)}
        self.parents = list(combinations(range(len(columns)), n)) if n else []
        self.counts = self.split(tables["parents.parquet"], "count", len(self.parents))
        self.cells = self.split(tables["cells.parquet"], "count", len(self.members))
        self.alone, self.total = self.matrix(tables["levels.parquet"], "alone"), sum(about["class_counts"])

    def scores(self, codes: "np.ndarray", numbers: Any) -> "np.ndarray":
        """Return the class scores (N, C)."""
        z, seen = np.full((codes.shape[1], len(self.bias)), -np.inf), np.zeros((codes.shape[1], 1))
        for own, cells in zip(self.parents, self.counts, strict=True):
            found, count = _look_up(cells, *self.cell(codes, own))
            share = self.m / len(self.bias) / self.cards[list(own)].prod()
            value = np.log(count + share) - np.log(self.total + self.m)
            for j in set(range(len(self.columns))) - set(own):
                both = tuple(sorted((*own, j)))
                _, joint = _look_up(self.cells[self.number[both]], *self.cell(codes, both))
                there, alone = self.level(self.alone, codes, j)
                given = np.log((joint + self.m / self.cards[j]) / (count + self.m))
                value += np.where(there, np.where(count > 0, given, alone), 0.0)
            z = np.logaddexp(z, np.where(found[:, None], value, -np.inf))
            seen += found[:, None]
        return np.where(seen > 0, z - np.log(np.maximum(seen, 1)), self._naive(codes))

    def _naive(self, codes: "np.ndarray") -> "np.ndarray":
        return self.bias + sum(np.where(*self.level(self.alone, codes, j), 0.0) for j in range(len(self.columns)))


class Density:
    """score_k(x) = b_k + sum over columns d of w_dk phi_dk(x_d), of two classes the second's alone, with bias w_0

    S_k(x) = sum over votes i of class k of weight_i exp(-(x - x_i)^2 / (2 h^2)), looked up on a grid unless it is thin
    S_k(l) = N_lk + m N_k / N              of a level, or of the rows that have no number; a level not seen has N_lk = 0
    phi    = log(S_1 / S_0) - (D - 1)/D log(N_1 / N_0)         more classes: log(S_k / sum S) - (D - 1)/D log(N_k / N)
    """

    LIMIT, MAX_ABS_NUMBER = 30.0, 1e140  # of |phi|; of numbers
    REACH = 40.0  # votes exp(-40) below the nearest one's are nothing beside it
    AT_ONCE = 2**20  # rows x votes of an exact sum: 8 MB an array; rows in both tails of a million votes would take GBs

    def __init__(self, about: Mapping[str, Any], tables: Mapping[str, "pa.Table"], columns: Sequence[Any]):
        self.columns, self.bias, self.m, self.thin = columns, np.array(about["bias"]), about["smoothing"], about["thin"]
        features, self.totals = tables["features.parquet"], np.array(about["class_counts"])
        classes, self.of = len(self.bias), features.column("column").to_numpy()
        self.h, self.origin, self.per_unit = (
            features.column(name).to_numpy() for name in ("log_h", "origin", "per_unit")
        )
        self.h = np.exp(self.h)
        self.w = _matrix(features, "w", classes if classes > 2 else 1)
        self.missing = _matrix(features, "missing", classes)
        self.counts = _matrix(tables["levels.parquet"], "count", classes)
        self.first = np.cumsum([0, *(column.levels for column in columns)])
        votes, nodes = tables["votes.parquet"], tables["nodes.parquet"]
        feature, cls = votes.column("feature").to_numpy(), votes.column("class").to_numpy()
        value, weight = votes.column("value").to_numpy(), votes.column("weight").to_numpy()
        node, sums, grid = nodes.column("node").to_numpy(), _matrix(nodes, "sum", classes), nodes.column("feature")
        self.votes, self.nodes = [], []
        for d in range(len(self.of)):
            a, b = np.searchsorted(feature, (d, d + 1))
            ends = a + np.searchsorted(cls[a:b], np.arange(classes + 1))
            self.votes.append([self._near(value[i:j], weight[i:j]) for i, j in pairwise(ends.tolist())])
            a, b = np.searchsorted(grid.to_numpy(), (d, d + 1))
            self.nodes.append((node[a:b], sums[a:b]))

    def scores(self, codes: "np.ndarray", numbers: Any) -> "np.ndarray":
        """Return the class scores (N, C)."""
        share, z = 1 - 1 / len(self.of), np.zeros((codes.shape[1], self.w.shape[1]))
        prior = _ratio(np.log(self.totals / self.totals.sum())[None, :])
        for d, j in enumerate(self.of.tolist()):
            if self.columns[j].numeric:
                x = numbers(j)
                log_s = np.tile(self._smoothed(self.missing[d]), (len(x), 1))
                log_s[~np.isnan(x)] = self._log_sums(d, x[~np.isnan(x)])
            else:
                there = codes[j] < self.columns[j].levels
                count = np.where(there[:, None], self.counts[self.first[j] + np.where(there, codes[j], 0)], 0.0)
                log_s = self._smoothed(count)
            nobody = np.isneginf(log_s).all(axis=1, keepdims=True)
            phi = np.where(nobody, (1 - share) * prior, _ratio(np.where(nobody, 0.0, log_s)) - share * prior)
            z += self.w[d] * np.clip(phi, -self.LIMIT, self.LIMIT)
        return self.bias + (z if len(self.bias) > 2 else z * [0.0, 1.0])

    def _smoothed(self, counts: "np.ndarray") -> "np.ndarray":
        with np.errstate(divide="ignore"):
            return np.log(counts + self.m * self.totals / self.totals.sum())

    def _log_sums(self, d: int, x: "np.ndarray") -> "np.ndarray":
        """log S_k of numbers (N,), (N, C)."""
        if (np.abs(x) > self.MAX_ABS_NUMBER).any():
            raise ValueError(
                f"column {self.columns[self.of[d]].name!r} takes numbers within {self.MAX_ABS_NUMBER:g} of 0"
            )
        sums = self._on_grid(d, x)
        with np.errstate(divide="ignore"):
            out = np.log(np.where(sums >= self.thin, sums, 0.0))
        order = np.argsort(x)
        for k, votes in enumerate(self.votes[d]):
            todo = order[np.isneginf(out[order, k])]
            out[todo, k] = self._exactly(x[todo], *votes, self.h[d])
        return out

    def _near(self, value: "np.ndarray", weight: "np.ndarray") -> tuple["np.ndarray", "np.ndarray", float]:
        """Votes of one class, and beyond which exponent they are nothing however many they are."""
        return value, weight, self.REACH + (np.log(weight.sum() / weight.min()) if len(weight) else 0.0)

    def _on_grid(self, d: int, x: "np.ndarray") -> "np.ndarray":
        """S_k by cubic weights of the four nodes around x, 0 where one of them is not there."""
        node, sums = self.nodes[d]
        if len(node) < 4:
            return np.zeros((len(x), len(self.bias)))
        at = (x - self.origin[d]) * self.per_unit[d]
        j = np.floor(np.clip(at, node[0] - 9, node[-1] + 9)).astype(np.int64)
        n = np.clip(np.searchsorted(node, j - 1), 0, len(node) - 4)
        t = at - j
        a, b, c = t + 1, t - 1, t - 2
        weights = (-t * b * c / 6, a * b * c / 2, -a * t * c / 2, a * t * b / 6)
        found = (node[n] == j - 1) & (node[n + 3] == j + 2)
        return np.where(found[:, None], sum(w[:, None] * sums[n + i] for i, w in enumerate(weights)), 0.0)

    def _exactly(
        self, x: "np.ndarray", value: "np.ndarray", weight: "np.ndarray", reach: float, h: float
    ) -> "np.ndarray":
        """log S of one class at sorted x, of all votes that lie near enough to one of them."""
        if not len(value) or not len(x):
            return np.full(len(x), -np.inf)
        at, half = np.searchsorted(value, x), 0.5 / (h * h)
        gap = np.minimum(np.abs(x - value[np.minimum(at, len(value) - 1)]), np.abs(x - value[np.maximum(at - 1, 0)]))
        nearest = gap * gap
        far = np.sqrt(nearest + reach / half)
        a, b = np.searchsorted(value, (x - far).min()), np.searchsorted(value, (x + far).max(), side="right")
        if len(x) > 1 and len(x) * (b - a) > self.AT_ONCE:
            middle = len(x) // 2
            return np.concatenate([self._exactly(own, value, weight, reach, h) for own in (x[:middle], x[middle:])])
        apart = x[:, None] - value[a:b]
        votes = np.exp(np.minimum(0.0, (nearest[:, None] - apart * apart) * half)) @ weight[a:b]
        with np.errstate(over="ignore"):
            beyond = nearest * half
            return np.where(beyond > 1e300, -np.inf, np.log(votes) - beyond)


def _look_up(cells: Any, local: "np.ndarray", known: "np.ndarray") -> tuple["np.ndarray", "np.ndarray"]:
    """Whether each row's cell was seen, and its values, 0 where it was not."""
    numbers, values = cells
    if not len(numbers):
        return np.zeros(len(local), bool), np.zeros((len(local), values.shape[1]))
    place = np.minimum(np.searchsorted(numbers, local), len(numbers) - 1)
    found = known & (numbers[place] == local)
    return found, np.where(found[:, None], values[place], 0.0)


def _log_sum(values: "np.ndarray") -> "np.ndarray":
    """log of the sum of exponentials (N, C) over levels (N, levels, C)."""
    top = values.max(axis=1)
    return top + np.log(np.exp(values - top[:, None]).sum(axis=1))


def _matrix(table: "pa.Table", name: str, n_values: int) -> "np.ndarray":
    return np.column_stack([table.column(f"{name}_{k}").to_numpy() for k in range(n_values)])


def _ratio(log_s: "np.ndarray") -> "np.ndarray":
    """log(S_1 / S_0) of two classes, (N, 1), of more log(S_k / sum S), (N, C)."""
    if log_s.shape[1] == 2:
        return log_s[:, 1:] - log_s[:, :1]
    top = log_s.max(axis=1, keepdims=True)
    return log_s - (top + np.log(np.exp(log_s - top).sum(axis=1, keepdims=True)))


FORMS: Mapping[str, Any] = {"linear": Linear, "network": Network, "average": Average, "density": Density}
