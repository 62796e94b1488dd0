"""ELR: Bayesian networks whose conditional tables are fitted to minimise the log loss of the class.          [ELR]

The structure is naive Bayes', TAN's or given by name; cross-tuning on folds chooses the number of steps.
Missing values are a level, or summed out along the structure, in which each column then has at most one parent.
"""

from collections.abc import Hashable, Mapping
from math import inf, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from alrviz.data.splits import spread_folds
from alrviz.errors import RecipeError
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families import observers
from alrviz.fitting.families.build_fit import Fit
from alrviz.fitting.families.family import FitProblem, FitRequest, rows_key
from alrviz.fitting.families.networks import SMOOTHED, TAN, LearnedNetwork, Networks
from alrviz.fitting.families.param import Param
from alrviz.fitting.families.shared_params import CLASS_WEIGHT, MAX_ITER, TOL
from alrviz.fitting.fit_settings import FitSettings, Params
from alrviz.fitting.objectives.conditional import ConditionalRows, conditional_objective
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.solvers.cg_brent import BrentGradients
from alrviz.fitting.solvers.choice import SolverChoice
from alrviz.fitting.solvers.cross_tuned import FOLDS, CrossTuned, Fold
from alrviz.fitting.warm import warm_networks
from alrviz.models.conditional import ConditionalTables
from alrviz.models.direct_counts import LOOKUPS_PER_CALL
from alrviz.models.networks import count_network
from alrviz.models.structures import Structure, naive_structure, structure_of_parents
from alrviz.passes.aligned_buffers import class_widths
from alrviz.passes.cost_model import PassSize
from alrviz.passes.warm import warm_passes
from alrviz.stop import NEVER, Deadline, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

# Vectors as long as phi: weights, gradients and directions of two points, snapshots.
_VECTORS = 16
# Work per cell of logarithms of sums, relative to a cell whose phi is its weight.
_WORK_PER_CELL = 10
# Seconds per class and pair of levels over which a missing value is summed.
_SECONDS_PER_PAIR = 10e-9
# Fixed seconds of a pass.
_SECONDS_PER_PASS = 60e-6


def _plain_structure(structure: Mapping[Any, Any]) -> Mapping[str, tuple[str, ...]]:
    """Return a structure in its plain form: the parents, by name, of each column that has any."""
    result = {}
    for child, value in structure.items():
        parents = (value,) if isinstance(value, str) else value
        names = parents if isinstance(parents, list | tuple) else (None,)
        if not all(isinstance(name, str) for name in (child, *names)):
            raise RecipeError(
                f"structure gives {child!r} the parents {value!r}; expected a column's name, and its parent's name or "
                "a list of several"
            )
        if len(parents):
            result[str(child)] = tuple(map(str, parents))
    return MappingProxyType(dict(sorted(result.items())))


class ELR(Networks):
    """ELR: extended logistic regression of a network's tables."""

    name = words = "elr"
    menu_note = "tables, fitted"
    estimator = "alrviz.estimators.networks.ELRClassifier"
    params: ClassVar[Mapping[str, Param]] = {
        "structure": Param(
            "nb", {"nb": "naive Bayes", "tan": "TAN: a tree"}, parse=_plain_structure, label="Structure", key="z",
            help="Which columns a column depends on besides the class: none, one other column (the tree that TAN "
            "finds), or those given by name, {child: parent} or {child: [parents]}.",
        ),
        "cross_tuning": Param(
            True, {True: "early stopping by cross-validation", False: "until convergence"},
            label="Number of iterations", key="g",
            help="Whether the number of iterations is the median of the best numbers on five validation folds; "
            "False: until convergence.",
        ),
        "sum_missing": Param(
            "auto", {"auto": "by structure", True: "summed out", False: "a level of their own"},
            label="Missing values in ELR", key="M",
            help="Whether a missing value, or one that training never saw, is summed out: p(k, x) is then the sum over "
            "all its levels. Every column may have one parent at most. Else a missing value is a level of its own "
            "where training rows have it.",
            meanings={"auto": 'it is summed out with the structure "nb", where it drops out'},
        ),
        "max_iter": MAX_ITER,
        "tol": TOL,
        "smoothing": SMOOTHED,
        "class_weight": CLASS_WEIGHT,
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"elr": "#8A6D00"}
    has_steps = True
    choice = SolverChoice("cg", 0, "cg: Polak and Ribiere's, with Brent's search along each direction", 4)

    def title(self, params: Params) -> str:
        """Return structure, number of steps and treatment of missing values in one line."""
        structure_text = params["structure"] if isinstance(params["structure"], str) else "given parents"
        missing = {"auto": "", True: ", missing summed out", False: ", missing a level"}[params["sum_missing"]]
        return f"elr {structure_text}" + ("" if params["cross_tuning"] else " to the end") + missing

    def solver(self, params: Params) -> str:
        """Return "cg": scores are not linear in the weights, so no solver of the linear families applies."""
        return self.choice.solver

    def missing(self, params: Params) -> str:
        """Return "skip" if missing values are summed out: they are then no level."""
        return "skip" if self.sums(params) else "level"

    def sums(self, params: Params) -> bool:
        """Return whether missing values are summed out; "auto": if no column is another's parent."""
        sum_missing = params["sum_missing"]
        return params["structure"] == "nb" if sum_missing == "auto" else bool(sum_missing)

    def check_together(self, params: Params) -> None:
        """Raise `RecipeError` if missing values are to be summed out and a column has several parents."""
        structure = params["structure"]
        if not isinstance(structure, str) and self.sums(params):
            for child, parents in structure.items():
                if len(set(parents)) > 1:
                    raise RecipeError(
                        f"sum_missing=True sums along a tree, and structure gives {child!r} {len(set(parents))} "
                        f"parents; expected one, such as {{{child!r}: {parents[0]!r}}}, or sum_missing=False, where a "
                        "missing value is a level"
                    )

    def is_random(self, params: Params) -> bool:
        """Return whether the folds of cross-tuning are drawn."""
        return bool(params["cross_tuning"])

    def objective_key(self, recipe: FitSettings) -> Hashable:
        """Return a key that differs by cross-tuning too: without it the fit does not end early, but at the lowest F."""
        params = recipe.params
        structure = params["structure"] if isinstance(params["structure"], str) else tuple(params["structure"].items())
        return (self.name, structure, params["cross_tuning"], params["smoothing"], self.sums(params), *rows_key(recipe))

    def n_parents(self, params: Params) -> int:
        """Return 1 for a tree; given parents are not searched."""
        return int(params["structure"] == "tan")

    def structure(self, prepared: TrainingData, params: Params, stop: StopToken = NEVER) -> Structure:
        """Return the structure: naive Bayes', TAN's, or the given one.

        Raises:
            RecipeError: a given structure that names unknown columns, or has a cycle.
        """
        structure, encoded = params["structure"], prepared.encoded
        if structure == "nb":
            return naive_structure(encoded.n_columns)
        result = (
            structure_of_parents(structure, encoded.names)
            if structure != "tan"
            else TAN().structure(prepared, params, stop)
        )
        if not self.sums(params):
            return result
        # a parent without any level in training rows has no table to fit
        has_levels = set(np.flatnonzero((encoded.codes < encoded.levels[:, None]).any(axis=1)).tolist())
        return Structure(
            tuple(tuple(i for i in parents if i in has_levels) for parents in result.parents), result.order
        )

    def count(self, structure: Structure, rows: tuple[Any, ...], params: Params) -> LearnedNetwork:
        """Return the network of `structure` whose tables are the start; `rows` are `count_network`'s arguments after
        it.
        """
        counts = count_network(structure, *rows)
        if not (self.sums(params) and any(structure.parents)):
            return LearnedNetwork(counts, counts.model())
        tables = ConditionalTables.from_counts(counts, sums_missing=True)
        return LearnedNetwork(counts, tables.model(tables.phi(tables.start), tables.network.bias))

    def warm(self, recipe: FitSettings, n_classes: int, wide: bool = False) -> float:
        """Compile networks and passes for n_classes classes; return the seconds it took. wide: for codes of 32 bits
        too.
        """
        return warm_networks(wide) + warm_passes(n_classes)

    def make(self, request: FitRequest) -> FitProblem:
        """Count the network and lay its rows out for the passes."""
        prepared, recipe, params, stop = request.prepared, request.recipe, request.params, request.stop
        request.report("compiling")
        compiled = self.warm_for(recipe, prepared, stop)
        request.report("counting cells")
        tables = prepared.tables(1, params["smoothing"], stop)
        classes = prepared.encoded.classes
        covered = prepared.covered_rows(1, stop)
        baseline = observers.baseline_losses(covered, tables, params["class_weight"], classes, stop)
        fit, heldout = self.assemble(prepared, recipe, params, stop, request.search_seconds)
        return FitProblem(fit, heldout, baseline, None, compiled, (observers.observe_first_rise(),))

    def assemble(
        self,
        prepared: TrainingData,
        recipe: FitSettings,
        params: Params,
        stop: StopToken = NEVER,
        search_seconds: float = inf,
    ) -> tuple[Fit, ConditionalRows | None]:
        """Return the fit of `recipe` with its complete `params` to prepared rows, and the held-out rows.

        The folds use the structure of all training rows too. search_seconds: limit of cross-tuning.

        Raises:
            RecipeError: a structure with unknown columns or a cycle, or a class weight for an unknown class.
        """
        structure, encoded = self.structure(prepared, params, stop), prepared.encoded
        sums_missing = self.sums(params) and any(structure.parents)
        objective, heldout = conditional_objective(prepared, structure, params, stop, sums_missing=sums_missing)
        fold = spread_folds(encoded.y, FOLDS, recipe.seed, prepared.splitting)

        def make(number: int) -> Fold:
            is_validation = fold == number
            data = TrainingData(
                encoded.take(~is_validation), encoded.take(is_validation), None, prepared.n_jobs, merge=False
            )
            fold_objective, rows = conditional_objective(
                data, structure, params, stop, sums_missing=sums_missing, weigh_heldout=True
            )
            assert rows is not None
            return Fold(fold_objective, rows, fold_objective.rows.n_rows / encoded.n_rows)

        max_iter = params["max_iter"]
        solver: BrentGradients | CrossTuned = BrentGradients()
        if params["cross_tuning"]:
            solver = CrossTuned(BrentGradients(), int(fold.max()) + 1, make, max_iter, Deadline(stop, search_seconds))
        return Fit(objective, solver, objective.start, max_iter, params["tol"]), heldout

    def cost(self, shape: TableShape, params: Params, tables: Estimate) -> Cost:
        """Return the cost of a fit: counts, weights, and the keys and scores of all rows.

        tables: the estimate of counting the tables that the structure is found from.
        """
        encoded, n_heldout = shape.encoded, shape.n_heldout
        n_rows, n_classes, cells_by_column = encoded.n_rows, encoded.n_classes, self.possible_cells(encoded, params)
        n_seen = sum(
            min(n_cells, n_rows * int(n_levels))
            for n_cells, n_levels in zip(cells_by_column, encoded.levels, strict=True)
        )
        vector_bytes = 8 * n_classes * (n_seen + 1) * _VECTORS + 40 * n_seen
        kept_bytes, needed_bytes = _fit_bytes(encoded, n_rows, n_heldout, 1 + (params["structure"] == "tan"))
        if params["cross_tuning"]:  # the fit and one fold are in memory together
            _, fold_bytes = _fit_bytes(encoded, n_rows - n_rows // FOLDS, n_rows // FOLDS, 1)
            needed_bytes = max(needed_bytes, kept_bytes + fold_bytes + vector_bytes)
        needed_bytes += 8 * n_classes * tables.cells_seen + vector_bytes
        work = PassSize(n_rows, n_classes, _WORK_PER_CELL * n_seen, encoded.n_columns, n_seen, n_seen)
        parameters = n_classes * (1 + sum(cells_by_column))
        seconds = _SECONDS_PER_PASS + work.reference_seconds()
        if self.sums(params) and params["structure"] != "nb":
            n_missing, n_pairs = _count_missing(encoded)
            seconds += _SECONDS_PER_PAIR * n_classes * n_pairs
            needed_bytes += (
                n_missing * (2 * encoded.n_columns + 24 + 16 * n_classes) * (n_rows + n_heldout) // max(1, n_rows)
            )
        return Cost(parameters, max(tables.cost.bytes, needed_bytes), seconds, 1)

    def possible_cells(self, encoded: "Encoded", params: Params) -> list[int]:
        """Return the number of cells of each column together with its given parents, from the levels of encoded
        rows.
        """
        structure = params["structure"]
        if isinstance(structure, str):
            return super().possible_cells(encoded, params)
        levels = encoded.levels.tolist()
        n_levels_by_name = dict(zip(encoded.names, levels, strict=True))
        parents = [[n_levels_by_name.get(parent, 1) for parent in structure.get(name, ())] for name in encoded.names]
        return [n_levels * prod(parent_levels) for n_levels, parent_levels in zip(levels, parents, strict=True)]


def _count_missing(encoded: "Encoded") -> tuple[int, float]:
    """Return the number of missing values of encoded rows, and of pairs of levels to sum over for them.

    A pair is a level of the missing column and one of a neighbour.
    """
    by_column = (encoded.codes >= encoded.levels[:, None]).sum(axis=1)
    return int(by_column.sum()), float((by_column * encoded.levels).sum() * encoded.levels.mean())


def _fit_bytes(encoded: "Encoded", n: int, n_heldout: int, covers: int) -> tuple[int, int]:
    """Return the bytes of the rows and a point's scores, and at the peak: while keys are made, or in a pass.

    encoded: rows of the table; n, n_heldout: training and held-out rows of the fit; covers: keys held besides, 0 or 1.
    """
    a, n_rows, classes = encoded.n_columns, n + n_heldout, encoded.n_classes
    row_bytes, scores = n_rows * (a * encoded.codes.dtype.itemsize + 12), 8 * class_widths(classes)[1] * n
    layout_bytes = 2 * a * n + 8 * min(LOOKUPS_PER_CALL, n * a) + 8 * classes * n
    keys = 2 * a * n_rows * (1 + covers)
    return row_bytes + keys + scores, row_bytes + keys + max(2 * a * n_rows + layout_bytes, 3 * scores)
