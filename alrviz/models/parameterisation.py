"""How free weights become phi: the only thing in which the linear families differ.

    phi = scale * w[owner],  one row per seen cell, then one row for the intercepts b

    lr        scale 1                                alr       scale log theta, for b log pi
    alrj      scale gamma log theta, for b log pi    adaptive  scale 1: its metric belongs to the solver's steps
    diagonal  scale 1 / sqrt(N_cell pi_k (1 - pi_k)), for b 1 / sqrt(N pi_k (1 - pi_k));
              with the penalty on phi, 2 alpha is added under the root

A tuple whose alpha is infinite has scale 0: it adds nothing to any score.

Where levels are smooth (cut so finely that a weight each would be noise) weights are steps from level to level:

    phi = scale * P v,   (P v)[level] = sum of the steps v up to it,   P the product of such sums over a tuple's columns
    dF/dv = P' dF/d(P v): sums over the levels from a step on

so that the penalty, which stays that of free weights, falls on differences of neighbours (in pairs on differences of
differences), and levels between which the rows show none become one. See `Steps`.

    share           one free weight for each                          free weights
    "cell-class"    cell and class; there is no owner to look up      (S + 1, C), the last row the intercepts
    "cell"          cell [WANBIA-C, related work: its (3)]            (S + C, 1), the last C the intercepts
    "tuple"         tuple that has a seen cell (2)                    (tuples + C, 1)
    "all"           all cells together (1)                            (1 + C, 1)

The intercepts are one per class whatever is shared: pi_y^w_y stands apart in the paper's formula too.

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
# The least share of its value at the class shares that the curvature of "adaptive" falls to: where rows are fitted
# well p (1 - p) vanishes, and a step of any length would be allowed.
LEAST_CURVATURE = 1e-3
# Of steps along smooth levels: variances tried, in shares of 2 / (levels - 1); the least, in the same.
_WALKS, LEAST_STEP = 4.0 ** np.arange(-4, 7), 0.01


@dataclass(frozen=True, eq=False)
class Steps:
    """P: how steps along smooth levels become weights of cells.

    Levels of a smooth column form a chain; missing is a level outside of it. A cell's weight is its own step and those
    of the cells before it along each smooth column of its tuple; cells that no row has are among them, and get what the
    steps around them give:

        one column      w[i] = sum over i' <= i of size v[i']
        two, smooth     w[i, j] = sum over i' <= i and j' <= j of size v[i', j']

    `size` is what the steps are scaled by, along each column of a tuple. Of a single column it is how much the log odds
    of neighbours differ, as counts tell (`step_variances`): one alpha serves columns whose levels hardly differ and
    columns whose levels leap. (Held-out log loss of single columns, adult: .273, with one size for all .275 to .285 by
    alpha; vowel .32, .39.) Of several columns nothing is known before: it is sqrt(2 / (levels - 1)), so that where
    steps have variance 1 the ends of a chain differ as two weights of variance 1 do, whatever the number of cuts.

    In a tuple of several columns beside all of its parts the first level of a chain has size 0, for what it would add
    to all levels alike is what the parts are there to say. (Pairs beside single columns, vowel: .28 so, .33 with a
    penalty on each cell, and with first levels .33 to .37.)

    Attributes:
        before: (n, S) the seen cell before each along column a of its tuple, -1 for none.
        size: (S + 1, 1), 1 for the intercepts.
    """

    before: NDArray[np.int32]
    size: Floats

    def sums(self, v: NDArray[np.floating]) -> Floats:
        """Return P v, both (S + 1, C)."""
        w: Floats = self.size * v
        kernels.prefix_sums(self.before, w)
        return w

    def adjoint(self, slopes: Floats) -> Floats:
        """Make slopes of P v (S + 1, C) those of v."""
        kernels.suffix_sums(self.before, slopes)
        slopes *= self.size
        return slopes

    def steps_to(self, w: Floats) -> Floats:
        """Make w (S + 1, C) the v whose P v it is, 0 where the size is 0."""
        kernels.differences(self.before, w)
        return np.divide(w, self.size, out=w, where=self.size != 0.0)


def step_variances(tables: Tables, chains: NDArray[np.int64]) -> Floats:
    """Return (a,) how much the log odds of neighbouring levels of a smooth column differ beyond the noise of counts: of
    a few random walks the variance of the one under which the counts of its levels are most likely; 0 where a column
    has no tuple of its own.

    Counts are nearly normal around the walk's odds (see `walk_losses`).
    """
    space, found = tables.space, np.zeros(len(chains))
    alone = np.flatnonzero((space.strides > 0).sum(axis=1) == 1)
    for t, column in zip(alone, space.tuples[alone, 0], strict=True):
        begin, end = np.searchsorted(tables.seen, (space.first[t], space.first[t] + chains[column]))
        found[column] = _walk(tables.counts[begin:end], tables.class_counts, chains[column])
    return found


def _walk(counts: NDArray[Any], class_counts: NDArray[Any], levels: int) -> float:
    """The variance of a step of the likeliest walk over levels of so many rows (L, C)."""
    if len(counts) < 3:
        return 0.0
    classes = len(class_counts)
    counts = counts + (class_counts + 1.0) / (class_counts.sum() + classes)
    rest = counts.sum(axis=1, keepdims=True) - counts
    odds, noise = np.log(counts / rest), 1.0 / counts + 1.0 / rest
    variances, losses = 2.0 / (levels - 1) * _WALKS, np.empty(len(_WALKS))
    kernels.walk_losses(odds, noise, variances, losses)
    return float(variances[losses.argmin()] * (classes - 1) / classes)


def chain_steps(encoded: "Encoded") -> tuple[Floats, Floats]:
    """Return (a,) the squares of the sizes of steps between levels of smooth columns, in tuples of one column and of
    several, as `Steps` has them where these rows have all cells; 0 of other columns.
    """
    single, several = np.zeros(encoded.n_columns), np.zeros(encoded.n_columns)
    class_counts = np.bincount(encoded.y, encoded.weights, encoded.n_classes)
    for j in np.flatnonzero(encoded.smooth_levels):
        levels, several[j] = int(encoded.smooth_levels[j]), 2.0 / (encoded.smooth_levels[j] - 1)
        inside = encoded.codes[j] < levels
        place = encoded.codes[j][inside].astype(np.int64) * encoded.n_classes + encoded.y[inside]
        counts = np.bincount(place, encoded.weights[inside], levels * encoded.n_classes).reshape(levels, -1)
        single[j] = max(LEAST_STEP * several[j], _walk(counts, class_counts, levels))
    return single, several


def steps_along(tables: Tables, chains: NDArray[np.int64], parts: bool) -> Steps | None:
    """Return the steps between seen cells of columns whose first levels, so many (a,), are smooth; None without any.
    `parts`: whether every tuple stands beside all of its parts.
    """
    space, seen, t = tables.space, tables.seen, tables.tuple_of_seen
    strides, codes = space.strides[t], space.codes_of(seen)
    length = np.where(strides > 0, chains[space.tuples[t]], 0)
    smooth = (codes < length) & (length > 1)
    if not smooth.any():
        return None
    before = np.full(codes.shape[::-1], -1, np.int32)
    for own, level, stride, inside in zip(before, codes.T, strides.T, smooth.T, strict=True):
        cells = np.flatnonzero(inside)
        line = seen[cells] - level[cells] * stride[cells]
        order = np.lexsort((cells, line))
        follows = np.diff(line[order]) == 0
        own[cells[order[1:][follows]]] = cells[order[:-1][follows]]
    sizes = (strides > 0).sum(axis=1, keepdims=True)
    spread = 2.0 / np.maximum(1, length - 1)
    along = np.where(
        sizes == 1, np.maximum(LEAST_STEP * spread, step_variances(tables, chains)[space.tuples[t]]), spread
    )
    size = np.sqrt(np.where(smooth & (codes > 0), along, 1.0).prod(axis=1))
    if parts:
        size[(smooth & (codes == 0) & (sizes > 1)).any(axis=1)] = 0.0
    return Steps(before, np.append(size, 1.0)[:, None])


@dataclass(frozen=True, eq=False)
class Parameterisation:
    """phi = scale * w[owner], or scale * P w.

    Attributes:
        kind: "lr", "alr", "alrj", "diagonal" or "adaptive": what the scale was made of.
        scale: (S + 1, C); the last row belongs to the intercepts.
        tables: the counts behind it.
        owner: (S + 1, C) numbers of free weights; None where each has its own.
        steps: P, where levels are smooth.
    """

    kind: str
    scale: Floats
    tables: Tables
    owner: NDArray[np.intp] | None = None
    steps: Steps | None = None

    def alpha_of_weights(self, alpha: "Alpha") -> float | Floats:
        """Return the alpha of each free weight, in a shape that spreads over w; 0 for infinite.

        It is that of the size of its tuple; of the intercepts the smallest.
        """
        if not isinstance(alpha, tuple):
            return alpha
        each = np.append(alpha, min(alpha))[self.orders_of_weights()]
        each[np.isinf(each)] = 0.0
        return each

    def orders_of_weights(self) -> NDArray[np.intp]:
        """Return which order each free weight is of, from 0 on, -1 of intercepts, in a shape that spreads over w."""
        rows = orders_of_rows(self.tables)
        if self.owner is None:
            return rows
        found = np.empty(self.shape, np.intp)
        found[self.owner, 0] = rows
        return found

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the free weights w."""
        return (self.scale.shape[0], self.scale.shape[1]) if self.owner is None else (int(self.owner[-1, -1]) + 1, 1)

    @cached_property
    def norms(self) -> Floats:
        """||scale|| over the places that a free weight moves, shaped as w, up to sign: dF/dw over it is dF/dphi."""
        if self.owner is None and self.steps is None:
            return self.scale
        return np.sqrt(self.diagonal(np.ones_like(self.scale)))

    def diagonal(self, curvature: Floats) -> Floats:
        """Return the diagonal by w of a Hessian whose diagonal by phi (S + 1, C), which is used up, is all it has
        within a tuple.
        """
        curvature *= self.scale
        diagonal = self.adjoint(curvature)
        if self.steps is not None:
            diagonal *= self.steps.size
        return diagonal

    @cached_property
    def squares(self) -> Floats:
        """What a penalty on phi weighs w by: the sum of scale^2 over the places that it moves; of steps, which are
        differences of phi, their mean.
        """
        if self.steps is None:
            return self.norms**2
        sums, number = self.scale**2, np.ones_like(self.scale)
        for of in (sums, number):
            kernels.suffix_sums(self.steps.before, of)
        return sums / number

    @cached_property
    def least_curvature(self) -> Floats:
        """(S + 1, C) that the curvature of "adaptive" never falls below."""
        return LEAST_CURVATURE * curvature_at_shares(self.tables)

    def phi(self, w: NDArray[np.floating]) -> Floats:
        """Return phi (S + 1, C) of the free weights, or the change of phi that a change of them makes."""
        return self.scale * self._each(w)

    def spread(self, w: Floats, rows: Floats, n_jobs: int = 1) -> Floats:
        """Write phi of the cells to `rows` (S, W), or the change of it, and return that of the intercepts (C,)."""
        each = self._each(w)
        vectors.scale_rows(self.scale, each, rows, n_jobs)
        last: Floats = self.scale[-1] * each[-1]
        return last

    def slopes(self, rows: Floats, last: Floats, out: Floats, n_jobs: int = 1) -> Floats:
        """Return dF/dw of dF/dphi, `rows` (S, W) of the cells and `last` (C,) of the intercepts.

        `out` (S + 1, C) is room for it; it is used up where weights are shared.
        """
        vectors.scale_rows_adjoint(self.scale, rows, out, n_jobs)
        out[-1] = self.scale[-1] * last
        return self._summed(out)

    def adjoint(self, dphi: Floats) -> Floats:
        """Return dF/dw of dF/dphi (S + 1, C), which is used up."""
        dphi *= self.scale
        return self._summed(dphi)

    def weights_at(self, phi: Floats) -> Floats:
        """Return the w whose phi (S + 1, C) this is: phi / scale, 0 where the scale is 0; of shared weights the
        nearest, in the least squares of phi.
        """
        if self.steps is not None:
            return self.steps.steps_to(np.divide(phi, self.scale, out=np.zeros_like(phi), where=self.scale != 0))
        norms = self.norms
        pulled = self.adjoint(phi.copy())
        return np.divide(pulled, norms**2, out=np.zeros_like(pulled), where=norms != 0)

    def weights_of(self, model: object) -> Floats:
        """Return w of the model that a center (0, 1, "anje", "shares") or a start ("zero", "one", "anje") names.

        Raises:
            RecipeError: steps of several orders do not reach it.
        """
        name = _MODEL_OF[model]
        last: Any = -1 if self.owner is None else (slice(-self.tables.n_classes, None), 0)
        if name in ("zero", "shares"):
            w = np.zeros(self.shape)
            if name == "shares":
                log_pi, scale = self.tables.log_pi, self.scale[-1]
                w[last] = np.divide(log_pi, scale, out=np.zeros_like(log_pi), where=scale != 0.0)
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
            w[last] = 1.0
            return w
        w = anje_phi(self.tables)
        if self.kind == "diagonal":
            np.divide(w, self.scale, out=w, where=self.scale != 0.0)
        return w

    def unseen_phi(self, model: object) -> Floats:
        """Return (T, C): phi of a cell that no training row has, in the named model (0 where that model is 0)."""
        name = _MODEL_OF[model]
        log_theta = self.tables.log_theta_unseen
        if name in ("zero", "shares"):
            return np.zeros_like(log_theta)
        return log_theta if name == "one" and self.kind == "alr" else self.tables.space.gamma * log_theta

    def _each(self, w: Any) -> Any:
        """The weight of each place, in the dtype of w."""
        if self.steps is not None:
            return self.steps.sums(w)
        return w if self.owner is None else w[:, 0][self.owner]

    def _summed(self, slopes: Floats) -> Floats:
        """Slopes by the weight of each place, which are used up, as those of free weights: the transpose."""
        if self.steps is not None:
            return self.steps.adjoint(slopes)
        return slopes if self.owner is None else self._by_owner(slopes)

    def _by_owner(self, values: Floats) -> Floats:
        assert self.owner is not None
        sums: Floats = np.bincount(self.owner.ravel(), values.ravel(), self.shape[0]).astype(float, copy=False)
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


# One for all tuples, or one for those of one column, of two, ...; infinite leaves them out.
Alpha = float | tuple[float, ...]


def orders_of_rows(tables: Tables) -> NDArray[np.intp]:
    """Return the order (S + 1, 1) of each seen cell, that of one column being 0; of the intercepts -1."""
    sizes = (tables.space.strides > 0).sum(axis=1)
    return np.append(sizes[tables.tuple_of_seen] - 1, -1)[:, None]


def parameterise(
    kind: str, tables: Tables, alpha: Alpha = 0.0, share: str = "cell-class", *, on_phi: bool = True,
    chains: NDArray[np.int64] | None = None,
) -> Parameterisation:  # fmt: skip
    """Return the parameterisation of a kind; `on_phi` is whether alpha is of a penalty on phi, else of one on w;
    `chains` (a,) how many levels of each column are smooth.
    """
    each = np.append(alpha, min(alpha))[orders_of_rows(tables)] if isinstance(alpha, tuple) else alpha
    if kind in ("lr", "adaptive"):
        scale = np.ones((len(tables.seen) + 1, tables.n_classes))
    elif kind in ("alr", "alrj"):
        scale = tables.logs if kind == "alr" else anje_phi(tables)
    else:
        scale = 1.0 / np.sqrt(curvature_at_shares(tables) + (2.0 * each if on_phi else 0.0))
    if isinstance(alpha, tuple):
        scale = scale * np.isfinite(each)  # a new one: that of alr is the tables' own
    steps = None
    if chains is not None and chains.any():
        parts = isinstance(tables.space, TupleSpace) and tables.space.has_parts and bool(np.isfinite(alpha).all())
        steps = steps_along(tables, chains, parts)
    return Parameterisation(kind, scale, tables, owners(tables, share), steps)


def weights_by_cell(tables: Tables, share: str, w: Floats) -> Floats:
    """Return the weight of each cell and class, (S, C), of free weights as a point has them, the intercepts last."""
    owner = owners(tables, share)
    return w[:-1] if owner is None else w[:, 0][owner[:-1]]


def owners(tables: Tables, share: str) -> NDArray[np.intp] | None:
    """Return which free weight moves each place of phi, (S + 1, C); None where each place has its own."""
    if share == "cell-class":
        return None
    if share == "cell":
        of_cell = np.arange(len(tables.seen))
    elif share == "tuple":
        of_cell = np.unique(tables.tuple_of_seen, return_inverse=True)[1]
    else:
        of_cell = np.zeros(len(tables.seen), np.intp)
    n_owners = int(of_cell.max(initial=-1)) + 1
    owner = np.empty((len(of_cell) + 1, tables.n_classes), np.intp)
    owner[:-1] = of_cell[:, None]
    owner[-1] = n_owners + np.arange(tables.n_classes)
    return owner
