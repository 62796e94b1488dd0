"""Bayesian network classifiers with counted tables: tan, kdb and ande; elr (conditional.py) fits its tables.

    tan    the best tree by I(i; j | Y)          kdb    k parents by I(i; Y) and I(i; j | Y)
    ande   no network: every tuple of n columns in turn is the parent                                       [AnDE]

A fit is structure and counts. While parents are not known, the estimate takes those with the most levels: an upper
bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from alrviz.errors import RecipeError
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate, estimate_by_formula, estimate_cells, without_seconds
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families.family import Family
from alrviz.fitting.families.param import Param
from alrviz.fitting.families.shared_params import COUNTED_CLASS_WEIGHT, SMOOTHING
from alrviz.fitting.fit_settings import FitSettings, Params
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.solvers.choice import SolverChoice
from alrviz.fitting.warm import warm_networks
from alrviz.models.averages import AverageModel
from alrviz.models.direct_counts import LOOKUPS_PER_CALL
from alrviz.models.networks import NetworkCounts, NetworkModel, count_network, select_network
from alrviz.models.structures import (
    Structure,
    class_information,
    conditional_information,
    kdb_structure,
    naive_structure,
    tan_structure,
)
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

# A level that no row has with its parents must not be impossible.
SMOOTHED = replace(
    SMOOTHING, open_low=True,
    help="m of the m-estimates: p(level | parents, class) = "
    "(N_level,parents,class + m / card) / (N_parents,class + m).",
)  # fmt: skip
# Vectors as long as phi: counts, phi, start, logarithms.
_VECTORS = 4


@dataclass(frozen=True, eq=False)
class LearnedNetwork:
    """A counted network.

    Attributes:
        counts: of the network; for ande of naive Bayes.
        model: scores rows.
        tables: for ande, those of the highest order; else None.
        rmse: for selective kdb, (k + 1, a + 1) leave-one-out RMSE by parents and columns; else None.
    """

    counts: NetworkCounts
    model: NetworkModel | AverageModel
    tables: Tables | None = None
    rmse: Floats | None = None


class Networks(Family):
    """Base of the Bayesian networks: tan, kdb and ande, whose tables are counted, and elr, which starts from counted
    tables and fits them.
    """

    choice: ClassVar[SolverChoice] = SolverChoice("none", 0, "nothing is fitted: the tables are counted", 0)

    def highest_order(self, params: Params, n_columns: int) -> int:
        """Return the highest order of the tables that the structure, or ande, needs of n_columns columns: 2 if pairs
        are counted.
        """
        return 2 if self.n_parents(params) and n_columns > 1 else 1

    def n_parents(self, params: Params) -> int:
        """Return the maximum number of parents of a column, if the structure is searched."""
        return 1

    def structure(self, prepared: TrainingData, params: Params, stop: StopToken = NEVER) -> Structure:
        """Return the parents of each column, found on the training rows."""
        return naive_structure(prepared.encoded.n_columns)

    def learn(self, prepared: TrainingData, recipe: FitSettings, stop: StopToken = NEVER) -> LearnedNetwork:
        """Return the network of the rows; for elr the start of its fit.

        Raises:
            MemoryLimitError: a column has more possible cells with its parents than can be numbered.
        """
        encoded = prepared.encoded
        single = prepared.tables(1, recipe.params["smoothing"], stop)
        structure = self.structure(prepared, recipe.params, stop)
        rows = (single, encoded.codes, encoded.y, encoded.weights, prepared.n_jobs, stop)
        return self.count(structure, rows, recipe.params)

    def count(self, structure: Structure, rows: tuple[Any, ...], params: Params) -> LearnedNetwork:
        """Return the network of a structure; `rows` are the arguments of `count_network` after the structure."""
        counts = count_network(structure, *rows)
        return LearnedNetwork(counts, counts.model())

    def counted_tuples(self, params: Params, n_columns: int) -> range:
        """Return the orders of the tuples of n_columns columns that are counted: 1 up to the highest order."""
        return range(1, self.highest_order(params, n_columns) + 1)

    def warm(self, recipe: FitSettings, n_classes: int, wide: bool = False) -> float:
        """Compile counting and scoring of networks; return the seconds it took. wide: for codes of 32 bits too."""
        return warm_networks(wide)

    def estimate(self, recipe: FitSettings, shape: TableShape, max_memory: int | None = None) -> Estimate:
        """Estimate a fit of `recipe` to a table of this shape: the counting of tables, then the network.

        max_memory: bytes that may be used; None for half of the free memory.
        """
        params = recipe.params
        counting = recipe.replace(family="anje", order=self.highest_order(params, shape.encoded.n_columns))
        tables = estimate_cells(counting, replace(shape, prepared=None, covers=False), max_memory)
        if tables.refusal:
            return without_seconds(tables)
        return estimate_by_formula(self.cost(shape, params, tables), self.choice, "tables", shape, max_memory)

    def cost(self, shape: TableShape, params: Params, tables: Estimate) -> Cost:
        """Return the cost of a fit; `tables`: the estimate of counting the tables that the structure is found from."""
        encoded = shape.encoded
        n_rows, n_classes, cells_by_column = encoded.n_rows, encoded.n_classes, self.possible_cells(encoded, params)
        n_seen = sum(min(n_cells, n_rows) for n_cells in cells_by_column)
        vector_bytes = 8 * n_classes * (n_seen + 1) * _VECTORS + 40 * n_seen
        count_bytes = 8 * n_classes * tables.cells_seen
        needed_bytes = (
            count_bytes
            + vector_bytes
            + 8 * min(LOOKUPS_PER_CALL, n_rows * encoded.n_columns)
            + 2 * encoded.n_columns * n_rows
        )
        seconds = self.seconds(params, n_rows, encoded.n_columns, n_classes)
        return Cost(n_classes * (1 + sum(cells_by_column)), max(tables.cost.bytes, needed_bytes), seconds)

    def possible_cells(self, encoded: "Encoded", params: Params) -> list[int]:
        """Return for each column of encoded rows the maximum number of cells that it has together with its parents."""
        descending = np.sort(encoded.levels)[::-1].tolist()
        result = []
        for n_levels in encoded.levels.tolist():
            other_levels = descending.copy()
            other_levels.remove(n_levels)
            result.append(n_levels * prod(other_levels[: self.n_parents(params)]))
        return result


class TAN(Networks):
    """TAN: naive Bayes in which each column depends on one other."""

    name = "tan"
    words = "TAN"
    menu_note = "tree of columns"
    estimator = "alrviz.estimators.networks.TANClassifier"
    # With m = 1 it is worse than the class shares on german (docs/defaults.md).
    params: ClassVar[Mapping[str, Param]] = {
        "smoothing": replace(SMOOTHED, default=2.0, link_default=1.0), "class_weight": COUNTED_CLASS_WEIGHT,
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"tan": "#7744DD"}

    def structure(self, prepared: TrainingData, params: Params, stop: StopToken = NEVER) -> Structure:
        """Return the tree with the largest conditional mutual information."""
        if prepared.encoded.n_columns == 1:
            return naive_structure(1)
        return tan_structure(conditional_information(prepared.tables(2, params["smoothing"], stop)))


class KDB(Networks):
    """KDB: naive Bayes in which each column depends on up to k that know more of the class."""

    name = "kdb"
    words = "KDB"
    menu_note = "k-dependence"
    estimator = "alrviz.estimators.networks.KDBClassifier"
    params: ClassVar[Mapping[str, Param]] = {
        "k": Param(
            1, low=0, high=8, integer=True, label="Parents of a column, k", key="K",
            help="How many other columns a column depends on at most. 0 is naive Bayes.",
        ),
        "selective": Param(
            True, {False: "all of them", True: "the best of them (selective)"}, link_default=False, label="Columns",
            key="S",
            help="Whether columns and the number of parents are chosen by leave-one-out RMSE of the training rows.",
        ),
        "smoothing": SMOOTHED, "class_weight": COUNTED_CLASS_WEIGHT,
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"kdb": "#BB3344"}

    def title(self, params: Params) -> str:
        """Return k, and whether columns and parents are selected, in one line."""
        return f"kdb k={params['k']}" + (" selective" if params["selective"] else "")

    def n_parents(self, params: Params) -> int:
        """Return k."""
        return int(params["k"])

    def structure(self, prepared: TrainingData, params: Params, stop: StopToken = NEVER) -> Structure:
        """Return KDB's structure, found on the training rows.

        Columns are ordered by mutual information with the class; each has the k earlier ones of most conditional
        information.
        """
        a = prepared.encoded.n_columns
        if a == 1:
            return naive_structure(1)
        information = class_information(prepared.tables(1, params["smoothing"], stop))
        if not params["k"]:
            return Structure(naive_structure(a).parents, tuple((-information).argsort(kind="stable").tolist()))
        return kdb_structure(
            information, conditional_information(prepared.tables(2, params["smoothing"], stop)), params["k"]
        )

    def count(self, structure: Structure, rows: tuple[Any, ...], params: Params) -> LearnedNetwork:
        """Return the network of `structure`, or of the best number of its parents and columns if `selective`.

        rows: the arguments of `count_network` after the structure.
        """
        if not params["selective"]:
            return super().count(structure, rows, params)
        counts, rmse = select_network(structure, *rows)
        return LearnedNetwork(counts, counts.model(), rmse=rmse)


class AnDE(Networks):
    """AnDE: the mean of networks, in each of which all columns depend on the same n columns."""

    name = "ande"
    words = "AnDE"
    menu_note = "mean of networks"
    estimator = "alrviz.estimators.networks.AnDEClassifier"
    params: ClassVar[Mapping[str, Param]] = {
        "n": Param(
            1, {0: "0", 1: "1", 2: "2"}, label="Columns every other depends on, n", key="n",
            help="How many columns are the parents of all others. 0 is naive Bayes.",
        ),
        "smoothing": SMOOTHED, "class_weight": COUNTED_CLASS_WEIGHT,
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"ande": "#77BB55"}
    shows_weights = False

    def title(self, params: Params) -> str:
        """Return "a0de" to "a2de"."""
        return f"a{params['n']}de"

    def highest_order(self, params: Params, n_columns: int) -> int:
        """Return n + 1.

        Raises:
            RecipeError: n leaves no column to be a child.
        """
        if params["n"] + 1 > n_columns > 0:
            raise RecipeError(
                f"n={params['n']} needs at least {params['n'] + 1} columns, but there "
                f"{'is' if n_columns == 1 else 'are'} {n_columns} feature(s); the highest n here is {n_columns - 1}"
            )
        return int(params["n"]) + 1

    def learn(self, prepared: TrainingData, recipe: FitSettings, stop: StopToken = NEVER) -> LearnedNetwork:
        """Return the counts of n and of n + 1 columns, and naive Bayes."""
        smoothing = recipe.params["smoothing"]
        order = self.highest_order(recipe.params, prepared.encoded.n_columns)
        naive_bayes = super().learn(prepared, recipe, stop)
        if order == 1:
            return LearnedNetwork(naive_bayes.counts, naive_bayes.model, prepared.tables(1, smoothing, stop))
        parents, wider = (prepared.tables(n, smoothing, stop) for n in (order - 1, order))
        return LearnedNetwork(naive_bayes.counts, AverageModel(parents, wider, naive_bayes.counts.model()), wider)

    def cost(self, shape: TableShape, params: Params, tables: Estimate) -> Cost:
        """Return the cost of a fit, which only counts the tables that `tables` estimates."""
        encoded = shape.encoded
        seconds = self.seconds(params, encoded.n_rows, encoded.n_columns, encoded.n_classes)
        return Cost(tables.cost.parameters, tables.cost.bytes, seconds)


def learn(prepared: TrainingData, recipe: FitSettings, stop: StopToken = NEVER) -> LearnedNetwork:
    """Return the network of a recipe of tan, kdb or elr (its start), or ande's mean of networks."""
    family = recipe.definition
    assert isinstance(family, Networks)
    if not family.has_steps:  # elr's class weights are factors in its objective, and its start is counted without them
        prepared = prepared.class_weighted(recipe.params["class_weight"])
    return family.learn(prepared, recipe, stop)
