"""How free weights become phi: the only difference between the linear families.

    phi = scale * w[weight_index],  one row per seen cell, then one row for the intercepts b

    lr        scale 1                                alr       scale log theta, for b log pi
    alrj      scale gamma log theta, for b log pi    adaptive  scale 1: its metric belongs to the solver's steps
    diagonal  scale 1 / sqrt(N_cell pi_k (1 - pi_k)), for b 1 / sqrt(N pi_k (1 - pi_k));
              with the penalty on phi, 2 alpha is added under the root

A tuple whose alpha is infinite has scale 0: it adds nothing to any score.

Smooth columns are cut so finely that independent weights of levels would be noise. Their weights are steps from level
to level:

    phi = scale * P v,   (P v)[level] = sum of the steps v up to it,   P the product of such sums over a tuple's columns
    dF/dv = P' dF/d(P v): sums over the levels from a step on

The penalty on v is that of free weights. So it falls on differences of neighbours (in pairs on differences of
differences), and levels between which the rows show no difference become equal. See `LevelSteps`.

    share           one free weight for each                          free weights
    "cell-class"    cell and class; no index to look up      (S + 1, C), the last row the intercepts
    "cell"          cell [WANBIA-C, related work: its (3)]            (S + C, 1), the last C the intercepts
    "tuple"         tuple that has a seen cell (2)                    (tuples + C, 1)
    "all"           all cells together (1)                            (1 + C, 1)

There is one intercept per class for every `share`, as in the paper's formula, where pi_y^w_y is a separate factor.

A center or a start names a model, that is a phi; in w it is phi / scale:
    0 or "zero"  phi = 0       1 or "one"  w = 1 (alr, alrj)       "anje"  phi = gamma log theta, b = log pi
    "shares"  phi = 0, b = log pi: every row has the class shares
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import RecipeError
from alrviz.kernels import vectors as kernels
from alrviz.models.cell_space import TupleSpace
from alrviz.models.tables import Tables
from alrviz.passes import vectors
from alrviz.passes.rows import Floats

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

_MODEL_OF = {0: "zero", 1: "one", "zero": "zero", "one": "one", "anje": "anje", "shares": "shares"}
# Lower bound of the curvature of "adaptive", as a share of its value at the class shares: where rows are fitted well,
# p (1 - p) vanishes and would allow steps of any length.
MIN_CURVATURE_SHARE = 1e-3
# Variances of steps along smooth levels that are tried, and their lower bound, in units of 2 / (levels - 1).
_WALK_VARIANCES, MIN_STEP_VARIANCE = 4.0 ** np.arange(-4, 7), 0.01
# Variances of trends of single columns that are tried, and their lower bound.
_TREND_VARIANCES, MIN_TREND_VARIANCE = np.array([0.0, 0.5, 2.0, 8.0, 32.0, 128.0]), 1.0


@dataclass(frozen=True, eq=False)
class LevelSteps:
    """P: how steps along smooth levels become weights of cells.

    The ordered levels of a smooth column form a chain; missing is a level outside of it. A cell's weight is the sum of
    its own step and those of the cells before it along each smooth column of its tuple. Cells without rows are
    included, and get their weights from the steps around them:

        one column      w[i] = sum over i' <= i of size v[i']
        two, smooth     w[i, j] = sum over i' <= i and j' <= j of size v[i', j']

    `size` scales the steps along each column of a tuple. In single columns it is estimated from how much the log odds
    of neighbours differ in the counts (`chain_variances`), so that one alpha serves both flat and steep columns.
    (Validation log loss of single columns: adult .273, with one size for all .275 to .285 by alpha; vowel .32, .39.)
    In tuples of several columns nothing is known beforehand, and it is sqrt(2 / (levels - 1)): with steps of variance 1
    the ends of a chain then differ like two weights of variance 1, for any number of cuts.

    In a single column a trend, which is a sum of equal steps, costs less than steps up and down:

        w[i] = v[0] + sum over 0 < i' <= i of size (v[i'] + mean_share mean(v)),   mean(v) over the n steps i' > 0

    `mean_share` is chosen so that, with steps of variance 1, the difference between the first and the last level has
    the variance n size^2 + trend variance (`chain_variances`). (Test log loss of single columns, alpha="auto", three
    splits: wdbc .114, without trends .135; vehicle .434, .454; vowel .269, .287; pima .473, .475; ionosphere .201,
    .202; but glass .819, .780.)

    In a tuple of several columns that stands beside all of its subtuples, the first level of a chain has size 0,
    because the subtuples already have what it would add to all levels. (Pairs beside single columns, vowel: .28; .33
    with a penalty on each cell, and .33 to .37 with first levels.)

    Attributes:
        previous_cells: (n, S) the seen cell before each cell along column a of its tuple, -1 for none.
        size: (S + 1, 1), 1 for the intercepts.
        chains: (q, 2) the first step of each single column, and the one after its last, as rows of v.
        mean_shares: (q,) how many times the mean of its steps is added to each step of a chain.
    """

    previous_cells: NDArray[np.int32]
    size: Floats
    chains: NDArray[np.int64]
    mean_shares: Floats

    def sums(self, v: NDArray[np.floating]) -> Floats:
        """Return P v, both (S + 1, C)."""
        w: Floats = self.size * v
        kernels.add_means(self.chains, self.mean_shares, w)
        kernels.prefix_sums(self.previous_cells, w)
        return w

    def adjoint(self, slopes: Floats) -> Floats:
        """Replace slopes of P v (S + 1, C) by those of v."""
        kernels.suffix_sums(self.previous_cells, slopes)
        kernels.add_means(self.chains, self.mean_shares, slopes)
        slopes *= self.size
        return slopes

    def diagonal(self, curvature: Floats) -> Floats:
        """Return the diagonal of P' diag(curvature) P, both (S + 1, C); `curvature` is overwritten."""
        diagonals = []
        for (begin, end), share in zip(self.chains, self.mean_shares, strict=True):
            rows = curvature[begin:end]
            trend_slopes = share * np.arange(1, len(rows) + 1)[:, None] / len(rows)  # dw[level] / dv by the trend
            curvature_sums = ((1.0 + 2.0 * trend_slopes) * rows)[::-1].cumsum(axis=0)[::-1]
            diagonals.append(curvature_sums + (trend_slopes**2 * rows).sum(axis=0))
        kernels.suffix_sums(self.previous_cells, curvature)
        for (begin, end), diagonal in zip(self.chains, diagonals, strict=True):
            curvature[begin:end] = diagonal
        curvature *= self.size**2
        return curvature

    def steps_to(self, w: Floats) -> Floats:
        """Overwrite cell weights w (S + 1, C) with the steps between neighbouring levels that give them, and return it.

        Each is a difference to the previous cell without its share of the mean, divided by `size`; 0 where `size` is 0.
        Inverse of `sums`.
        """
        kernels.differences(self.previous_cells, w)
        kernels.add_means(self.chains, -self.mean_shares / (1.0 + self.mean_shares), w)
        return np.divide(w, self.size, out=w, where=self.size != 0.0)


def chain_variances(tables: Tables, ordered_levels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return (a,) the variance of a step between neighbouring levels, and (a,) the variance of a trend: the part of the
    difference between the first and the last level that equal steps make.

    Both are in log odds, without the noise of counts. They belong to the likeliest of a few random walks with a drift,
    and have lower bounds; they are 0 for a column that has no tuple of its own. Counts are nearly normal around the
    walk's log odds (see `walk_losses`). ordered_levels (a,): number of smooth levels of each column.
    """
    space, step_variances, trend_variances = tables.space, np.zeros(len(ordered_levels)), np.zeros(len(ordered_levels))
    single_columns = np.flatnonzero(space.sizes == 1)
    for t, column in zip(single_columns, space.tuples[single_columns, 0], strict=True):
        levels = int(ordered_levels[column])
        if levels > 1:
            begin, end = np.searchsorted(tables.seen_cells, (space.first[t], space.first[t] + levels))
            variances = _likeliest_walk(tables.counts[begin:end], tables.class_counts, levels)
            step_variances[column], trend_variances[column] = variances
    return step_variances, trend_variances


def _likeliest_walk(counts: NDArray[Any], class_counts: NDArray[Any], levels: int) -> tuple[float, float]:
    """Return the variances of a step and of the trend of the likeliest random walk over levels with counts (L, C);
    class_counts (C,) of all rows.
    """
    step_unit = 2.0 / (levels - 1)
    if len(counts) < 3:
        return MIN_STEP_VARIANCE * step_unit, MIN_TREND_VARIANCE
    classes = len(class_counts)
    counts = counts + (class_counts + 1.0) / (class_counts.sum() + classes)
    other_counts = counts.sum(axis=1, keepdims=True) - counts
    odds, noise_variances = np.log(counts / other_counts), 1.0 / counts + 1.0 / other_counts
    step_variances = np.repeat(step_unit * _WALK_VARIANCES, len(_TREND_VARIANCES))
    trend_variances = np.tile(_TREND_VARIANCES, len(_WALK_VARIANCES))
    losses = np.empty(len(step_variances))
    kernels.walk_losses(odds, noise_variances, step_variances, trend_variances, losses)
    best = losses.argmin()
    class_factor = (classes - 1) / classes  # from log odds of a class against the others to centred weights
    return (
        max(MIN_STEP_VARIANCE * step_unit, float(step_variances[best]) * class_factor),
        max(MIN_TREND_VARIANCE, float(trend_variances[best]) * class_factor),
    )


def squared_step_sizes(encoded: "Encoded") -> tuple[Floats, Floats, Floats]:
    """Return (a,) the squared sizes of steps between smooth levels of encoded rows, in tuples of one column and of
    several, and (a,) the variance of a trend's step in tuples of one column.

    They are those of `LevelSteps` if these rows have all cells; 0 for other columns.
    """
    single_sizes, joint_sizes, trend_sizes = np.zeros((3, encoded.n_columns))
    class_counts = np.bincount(encoded.y, encoded.weights, encoded.n_classes)
    for j in np.flatnonzero(encoded.smooth_levels):
        levels, joint_sizes[j] = int(encoded.smooth_levels[j]), 2.0 / (encoded.smooth_levels[j] - 1)
        is_ordered = encoded.codes[j] < levels
        cell_and_class = encoded.codes[j][is_ordered].astype(np.int64) * encoded.n_classes + encoded.y[is_ordered]
        counts = np.bincount(cell_and_class, encoded.weights[is_ordered], levels * encoded.n_classes).reshape(
            levels, -1
        )
        single_sizes[j], trend = _likeliest_walk(counts, class_counts, levels)
        trend_sizes[j] = trend / (levels - 1) ** 2
    return single_sizes, joint_sizes, trend_sizes


def level_steps(tables: Tables, ordered_levels: NDArray[np.int64], has_parts: bool) -> LevelSteps | None:
    """Return the steps between seen cells of smooth columns, with ordered_levels (a,); None without any.

    has_parts: whether every tuple stands beside all of its subtuples.
    """
    space, seen_cells, tuple_of_cell = tables.space, tables.seen_cells, tables.tuple_of_seen
    strides, codes = space.strides[tuple_of_cell], space.codes_of(seen_cells)
    n_smooth_levels = np.where(strides > 0, ordered_levels[space.tuples[tuple_of_cell]], 0)
    is_smooth = (codes < n_smooth_levels) & (n_smooth_levels > 1)
    if not is_smooth.any():
        return None
    cell_below = np.full(codes.shape[::-1], -1, np.int32)
    for cells_before, level, stride, is_ordered in zip(cell_below, codes.T, strides.T, is_smooth.T, strict=True):
        cells = np.flatnonzero(is_ordered)
        line_of_cell = seen_cells[cells] - level[cells] * stride[cells]
        order = np.lexsort((cells, line_of_cell))
        is_next = np.diff(line_of_cell[order]) == 0
        cells_before[cells[order[1:][is_next]]] = cells[order[:-1][is_next]]
    tuple_sizes = (strides > 0).sum(axis=1, keepdims=True)
    joint_variance = 2.0 / np.maximum(1, n_smooth_levels - 1)
    single_variance, trend_variance = chain_variances(tables, ordered_levels)
    variance = np.where(tuple_sizes == 1, single_variance[space.tuples[tuple_of_cell]], joint_variance)
    step_size = np.sqrt(np.where(is_smooth & (codes > 0), variance, 1.0).prod(axis=1))
    if has_parts:
        step_size[(is_smooth & (codes == 0) & (tuple_sizes > 1)).any(axis=1)] = 0.0
    single_tuples = np.flatnonzero(space.sizes == 1)
    columns, first_cells = space.tuples[single_tuples, 0], space.first[single_tuples]
    begin, end = np.searchsorted(seen_cells, (first_cells, first_cells + ordered_levels[columns]))
    has_steps = end - begin > 1  # columns of very many levels have only the cells that rows have
    columns, chains = columns[has_steps], np.stack([begin + 1, end], axis=1)[has_steps]
    n_steps = chains[:, 1] - chains[:, 0]
    mean_shares = np.sqrt(1.0 + trend_variance[columns] / (single_variance[columns] * n_steps)) - 1.0
    return LevelSteps(cell_below, np.append(step_size, 1.0)[:, None], chains, mean_shares)


@dataclass(frozen=True, eq=False)
class Parameterisation:
    """phi = scale * w[weight_index], or scale * P w.

    Attributes:
        kind: "lr", "alr", "alrj", "diagonal" or "adaptive", which defines the scale.
        scale: (S + 1, C); the last row belongs to the intercepts.
        tables: the counts.
        weight_index: (S + 1, C) numbers of free weights; None where each place has its own.
        steps: P, for smooth levels.
    """

    kind: str
    scale: Floats
    tables: Tables
    weight_index: NDArray[np.intp] | None = None
    steps: LevelSteps | None = None

    def alpha_of_weights(self, alpha: "Alpha") -> float | Floats:
        """Return the alpha of each free weight, in a shape that broadcasts over w; 0 for infinite.

        It is the alpha of its tuple's size; intercepts have the smallest.
        """
        if not isinstance(alpha, tuple):
            return alpha
        alphas = np.append(alpha, min(alpha))[self.orders_of_weights()]
        alphas[np.isinf(alphas)] = 0.0
        return alphas

    def orders_of_weights(self) -> NDArray[np.intp]:
        """Return the order of each free weight, from 0 on, -1 for intercepts, in a shape that broadcasts over w."""
        rows = orders_of_rows(self.tables)
        if self.weight_index is None:
            return rows
        orders = np.empty(self.shape, np.intp)
        orders[self.weight_index, 0] = rows
        return orders

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the free weights w."""
        return (
            (self.scale.shape[0], self.scale.shape[1])
            if self.weight_index is None
            else (int(self.weight_index[-1, -1]) + 1, 1)
        )

    @cached_property
    def scale_norms(self) -> Floats:
        """||scale|| over the places that a free weight moves, shaped as w, up to sign: dF/dw divided by it is
        dF/dphi.
        """
        if self.weight_index is None and self.steps is None:
            return self.scale
        return np.sqrt(self.diagonal(np.ones_like(self.scale)))

    def diagonal(self, curvature: Floats) -> Floats:
        """Return a Hessian's diagonal by w, given `curvature` (S + 1, C), its diagonal by phi, which is overwritten.

        Exact if the Hessian by phi is diagonal within each tuple.
        """
        curvature *= self.scale
        if self.steps is None:
            return self.adjoint(curvature)
        curvature *= self.scale
        return self.steps.diagonal(curvature)

    @cached_property
    def penalty_weights(self) -> Floats:
        """Weights of w in a penalty on phi: the sum of scale^2 over the places that a free weight moves; for steps the
        mean.
        """
        if self.steps is None:
            return self.scale_norms**2
        sums, number = self.scale**2, np.ones_like(self.scale)
        for array in (sums, number):
            kernels.suffix_sums(self.steps.previous_cells, array)
        return sums / number

    @cached_property
    def min_curvature(self) -> Floats:
        """(S + 1, C) lower bound of the curvature of "adaptive"."""
        return MIN_CURVATURE_SHARE * curvature_at_shares(self.tables)

    def phi(self, w: NDArray[np.floating]) -> Floats:
        """Return what each seen cell adds to the scores of the classes, phi (S + 1, C), the intercepts last.

        w: the free weights, shaped by `share` as in the module's table; a change of w gives the change of phi.
        """
        return self.scale * self._weights_of_places(w)

    def spread(self, w: Floats, rows: Floats, n_jobs: int = 1) -> Floats:
        """Write phi of the cells to `rows` (S, W), or its change, and return that of the intercepts (C,)."""
        place_weights = self._weights_of_places(w)
        vectors.scale_rows(self.scale, place_weights, rows, n_jobs)
        intercept_change: Floats = self.scale[-1] * place_weights[-1]
        return intercept_change

    def slopes(self, rows: Floats, last: Floats, buffer: Floats, n_jobs: int = 1) -> Floats:
        """Return dF/dw of dF/dphi, `rows` (S, W) of the cells and `last` (C,) of the intercepts.

        `buffer` (S + 1, C) is overwritten; without shared weights it is the result.
        """
        vectors.scale_rows_adjoint(self.scale, rows, buffer, n_jobs)
        buffer[-1] = self.scale[-1] * last
        return self._sum_by_weight(buffer)

    def adjoint(self, dphi: Floats) -> Floats:
        """Return dF/dw of dF/dphi (S + 1, C), which is overwritten."""
        dphi *= self.scale
        return self._sum_by_weight(dphi)

    def weights_at(self, phi: Floats) -> Floats:
        """Return the w with this phi (S + 1, C), a row per seen cell and last the intercepts: phi / scale, 0 where the
        scale is 0.

        For smooth columns they are the steps between levels that give these values. For shared weights it is the w
        whose phi is nearest in least squares.
        """
        if self.steps is not None:
            return self.steps.steps_to(np.divide(phi, self.scale, out=np.zeros_like(phi), where=self.scale != 0))
        norms = self.scale_norms
        projections = self.adjoint(phi.copy())
        return np.divide(projections, norms**2, out=np.zeros_like(projections), where=norms != 0)

    def weights_of(self, model: object) -> Floats:
        """Return w of the model named by a center (0, 1, "anje", "shares") or a start ("zero", "one", "anje").

        Raises:
            RecipeError: the model cannot be expressed by steps of several orders.
        """
        name = _MODEL_OF[model]
        intercept_rows: Any = -1 if self.weight_index is None else (slice(-self.tables.n_classes, None), 0)
        if name in ("zero", "shares"):
            w = np.zeros(self.shape)
            if name == "shares":
                log_pi, scale = self.tables.log_pi, self.scale[-1]
                w[intercept_rows] = np.divide(log_pi, scale, out=np.zeros_like(log_pi), where=scale != 0.0)
            return w
        if self.steps is not None:
            if not self.steps.size.all():
                raise RecipeError(
                    f"{model!r} as a start or a center has weights that smooth levels of several orders leave to the "
                    "order below; expected start='zero' and center=0, or discretize='quantile'"
                )
            return self.steps.steps_to(replace(self, steps=None).weights_of(model))
        if name == "one" or (name == "anje" and self.kind == "alrj"):
            return np.ones(self.shape)
        if self.kind == "alr":  # gamma log theta / log theta, exact also where log theta is 0
            w = np.full(self.shape, self.tables.space.gamma)
            w[intercept_rows] = 1.0
            return w
        w = anje_phi(self.tables)
        if self.kind == "diagonal":
            np.divide(w, self.scale, out=w, where=self.scale != 0.0)
        return w

    def unseen_phi(self, model: object) -> Floats:
        """Return (T, C) phi of a cell that no training row has, in the named model (0 if that model is 0)."""
        name = _MODEL_OF[model]
        log_theta = self.tables.log_theta_unseen
        if name in ("zero", "shares"):
            return np.zeros_like(log_theta)
        return log_theta if name == "one" and self.kind == "alr" else self.tables.space.gamma * log_theta

    def _weights_of_places(self, w: Any) -> Any:
        """Return the weight of each place of phi, in the dtype of w."""
        if self.steps is not None:
            return self.steps.sums(w)
        return w if self.weight_index is None else w[:, 0][self.weight_index]

    def _sum_by_weight(self, slopes: Floats) -> Floats:
        """Return slopes of free weights from those of each place, which are overwritten: the transpose."""
        if self.steps is not None:
            return self.steps.adjoint(slopes)
        if self.weight_index is None:
            return slopes
        sums: Floats = np.bincount(self.weight_index.ravel(), slopes.ravel(), self.shape[0]).astype(float, copy=False)
        return sums[:, None]


def anje_phi(tables: Tables) -> Floats:
    """Return phi of AnJE, (S + 1, C): gamma log theta, and log pi in the last row."""
    phi = tables.logs.copy()
    phi[:-1] *= tables.space.gamma
    return phi


def curvature_at_shares(tables: Tables) -> Floats:
    """Return the Hessian's diagonal (S + 1, C) where every row has p = pi: N_cell pi_k (1 - pi_k)."""
    pi = np.exp(tables.log_pi)
    return np.outer(np.append(tables.counts.sum(axis=1), tables.class_counts.sum()), pi * (1.0 - pi))


# One alpha for all tuples, or one for those of each number of columns; infinite leaves them out.
Alpha = float | tuple[float, ...]


def orders_of_rows(tables: Tables) -> NDArray[np.intp]:
    """Return the order (S + 1, 1) of each seen cell, 0 for one column; -1 for the intercepts."""
    return np.append(tables.space.sizes[tables.tuple_of_seen] - 1, -1)[:, None]


def parameterise(
    kind: str, tables: Tables, alpha: Alpha = 0.0, share: str = "cell-class", *, on_phi: bool = True,
    ordered_levels: NDArray[np.int64] | None = None,
) -> Parameterisation:  # fmt: skip
    """Return the parameterisation of a kind.

    Args:
        kind: see the module.
        tables: the counts.
        alpha: strength of the penalty.
        share: which places share a free weight.
        on_phi: whether the penalty is on phi instead of w.
        ordered_levels: (a,) number of smooth levels of each column.
    """
    alphas = np.append(alpha, min(alpha))[orders_of_rows(tables)] if isinstance(alpha, tuple) else alpha
    if kind in ("lr", "adaptive"):
        scale = np.ones((len(tables.seen_cells) + 1, tables.n_classes))
    elif kind in ("alr", "alrj"):
        scale = tables.logs if kind == "alr" else anje_phi(tables)
    else:
        scale = 1.0 / np.sqrt(curvature_at_shares(tables) + (2.0 * alphas if on_phi else 0.0))
    if isinstance(alpha, tuple):
        scale = scale * np.isfinite(alphas)  # a new array: that of alr belongs to the tables
    steps = None
    if ordered_levels is not None and ordered_levels.any():
        has_parts = isinstance(tables.space, TupleSpace) and tables.space.has_parts and bool(np.isfinite(alpha).all())
        steps = level_steps(tables, ordered_levels, has_parts)
    return Parameterisation(kind, scale, tables, free_weight_numbers(tables, share), steps)


def weights_by_cell(tables: Tables, share: str, w: Floats) -> Floats:
    """Return the weight of each cell and class, (S, C), from the free weights w, whose last are the intercepts.

    share: which weights are equal; see `free_weight_numbers`.
    """
    number = free_weight_numbers(tables, share)
    return w[:-1] if number is None else w[:, 0][number[:-1]]


def free_weight_numbers(tables: Tables, share: str) -> NDArray[np.intp] | None:
    """Return the number of the free weight that moves each place of phi, (S + 1, C).

    share: "cell-class", where each place has its own (None is returned), or "cell", "tuple" or "all", within which all
    places of a class share one.
    """
    if share == "cell-class":
        return None
    if share == "cell":
        weight_of_cell = np.arange(len(tables.seen_cells))
    elif share == "tuple":
        weight_of_cell = np.unique(tables.tuple_of_seen, return_inverse=True)[1]
    else:
        weight_of_cell = np.zeros(len(tables.seen_cells), np.intp)
    n_cell_weights = int(weight_of_cell.max(initial=-1)) + 1
    weight_numbers = np.empty((len(weight_of_cell) + 1, tables.n_classes), np.intp)
    weight_numbers[:-1] = weight_of_cell[:, None]
    weight_numbers[-1] = n_cell_weights + np.arange(tables.n_classes)
    return weight_numbers
