"""Free parameters of a Bayesian network: conditional tables that stay distributions whatever the weights are.

    phi_{v|f,k} = w_{v|f,k} - log sum over levels u of the child of exp(w_{u|f,k})                       [ELR] (2)
    dF/dw_{v|f,k} = g_{v|f,k} - exp(phi_{v|f,k}) * sum_u g_{u|f,k},   g = dF/dphi                 ([ELR] Proposition 1)

f are parents' levels that some training row has, k is the class. Every level of the child has a weight under each f,
also if no row has it: a *group* is the card(child) adjacent cells of one f. The class node is b, whose constant does
not matter. Weights start at log p of the counted network, where phi = w.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from alrviz.models.marginals import Tree
from alrviz.models.networks import NetworkCounts, NetworkModel
from alrviz.passes.aligned_buffers import Floats


@dataclass(frozen=True, eq=False)
class ConditionalTables:
    """Groups of cells and the start of their weights.

    Attributes:
        network: the counted network.
        cells: (S,) int64 the cells of all groups, ascending, numbered as in the network's space.
        groups: (G,) where each group begins.
        start: (S, C) log p of the counted network.
    """

    network: NetworkModel
    cells: NDArray[np.int64]
    groups: NDArray[np.int64]
    start: Floats

    @classmethod
    def from_counts(cls, counts: NetworkCounts, sums_missing: bool = False) -> "ConditionalTables":
        """Return the groups of the parents' cells that were seen.

        With `sums_missing`, as in `NetworkModel`, level_log_p is made a distribution even if some level was never seen,
        so that a missing leaf sums to 1.
        """
        network, space = counts.model(), counts.space
        card = space.levels[counts.structure.children]
        tuple_of_cell = space.tuple_of(counts.seen_cells)
        first_cells = np.unique(
            counts.seen_cells - (counts.seen_cells - space.first[tuple_of_cell]) % card[tuple_of_cell]
        )
        child = counts.structure.children[space.tuple_of(first_cells)]
        n_levels_of_group = space.levels[child]
        groups = np.cumsum(n_levels_of_group) - n_levels_of_group
        level = np.arange(n_levels_of_group.sum()) - np.repeat(groups, n_levels_of_group)
        cells = np.repeat(first_cells, n_levels_of_group) + level
        start = cls._start_weights(counts, network, cells, np.repeat(child, n_levels_of_group), level)
        if sums_missing:
            network = replace(network, level_log_p=_log_shares(network.level_log_p, space.levels), sums_missing=True)
        return cls(network, cells, groups, start)

    @staticmethod
    def _start_weights(
        counts: NetworkCounts,
        network: NetworkModel,
        cells: NDArray[np.int64],
        child: NDArray[np.int64],
        level: NDArray[np.int64],
    ) -> Floats:
        """Return log p (S, C) of `cells` (S,): its own if it was seen, else that of an unseen level under its parents,
        or alone.

        child, level: (S,) the child column of each cell, and its level there.
        """
        levels = counts.space.levels
        log_p = network.level_log_p[(np.cumsum(levels) - levels)[child] + level]
        tuple_of_cell = counts.space.tuple_of(cells)
        parent_cells = (
            counts.parents.first[tuple_of_cell] + (cells - counts.space.first[tuple_of_cell]) // levels[child]
        )
        positions = np.searchsorted(network.parent_cells, parent_cells).clip(max=max(0, len(network.parent_cells) - 1))
        has_parents = np.array([len(columns) > 1 for columns in counts.space.given_tuples], bool)[tuple_of_cell]
        if len(network.parent_cells):
            is_known = has_parents & (network.parent_cells[positions] == parent_cells)
            unseen_log_p = np.where(is_known[:, None], network.unseen_log_p[positions], np.nan)
            log_p = np.where(np.isnan(unseen_log_p), log_p, unseen_log_p)
        seen_positions = np.searchsorted(cells, counts.seen_cells)
        log_p[seen_positions] = network.phi
        return log_p

    @property
    def tree(self) -> Tree:
        """The (at most one) parent of each column and the places of its tables in phi, to sum over missing columns."""
        return Tree.from_structure(self.network.structure, self.network.space, self.cells)

    def phi(self, w: Floats) -> Floats:
        """Return phi (S, C) = w - log sum exp(w), the sum over the child's levels in a group, of weights w (S, C)."""
        return _log_shares(w, np.diff(np.append(self.groups, len(w))))

    def adjoint(self, gradient: Floats, phi: Floats) -> Floats:
        """Return dF/dw (S, C) for `gradient` (S, C), which is dF/dphi, at `phi` (S, C)."""
        n_levels_of_group = np.diff(np.append(self.groups, len(phi)))
        return gradient - np.exp(phi) * np.repeat(
            np.add.reduceat(gradient, self.groups, axis=0), n_levels_of_group, axis=0
        )

    def model(self, phi: Floats, bias: Floats) -> NetworkModel:
        """Return the network with log probabilities phi (S, C) in its tables and intercepts `bias` (C,); the rest as
        counted.
        """
        return replace(self.network, seen_cells=self.cells, phi=phi, bias=bias)


def _log_shares(w: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Return w (S, C) less log of the sum of exp(w) in its group; groups are consecutive, of sizes (G,)."""
    groups = np.cumsum(sizes) - sizes
    shifted = w - np.repeat(np.maximum.reduceat(w, groups, axis=0), sizes, axis=0)
    sums = np.add.reduceat(np.exp(shifted), groups, axis=0)
    return shifted - np.repeat(np.log(sums), sizes, axis=0)
