"""ELR: a Bayesian network whose conditional tables are found by steps that lower the log loss of the class.

The structure is naive Bayes', TAN's or given by name; how many steps, by cross-tuning on folds.           [ELR]
Missing values are a level, or summed out along the structure, in which a column then has at most one parent.
"""

from collections.abc import Hashable, Mapping
from math import prod
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
from alrviz.fitting.objectives.conditional import ConditionalRows, conditional
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.solvers.cg_brent import BrentGradients
from alrviz.fitting.solvers.choice import SolverChoice
from alrviz.fitting.solvers.cross_tuned import FOLDS, CrossTuned, Fold
from alrviz.fitting.warm import warm_networks
from alrviz.models.conditional import ConditionalTables
from alrviz.models.direct_counts import LOOKUPS_PER_CALL
from alrviz.models.networks import count_network
from alrviz.models.structures import Structure, naive, structure_of_parents
from alrviz.passes.aligned_buffers import class_widths
from alrviz.passes.cost_model import PassSize
from alrviz.passes.warm import warm_passes
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded
    from alrviz.fitting.fit_settings import FitSettings

# Vectors as long as phi: weights, gradients and directions of two points, snapshots.
_VECTORS = 16
# A cell with its logarithms of sums, against one whose phi is its weight.
_CELLS = 10
# Seconds of a pair of levels, and a class, over which a row's missing value is summed.
_PAIR = 10e-9
# Seconds of what a pass calls, beside all sums.
_CALLS = 60e-6


def _parents(structure: Mapping[Any, Any]) -> Mapping[str, tuple[str, ...]]:
    """A structure in its plain form: the parents of each column that has any, by name."""
    plain = {}
    for child, above in structure.items():
        parents = (above,) if isinstance(above, str) else above
        listed = parents if isinstance(parents, list | tuple) else (None,)
        if not all(isinstance(name, str) for name in (child, *listed)):
            raise RecipeError(
                f"structure gives {child!r} the parents {above!r}; expected a column's name, and its parent's name or "
                "a list of several"
            )
        if len(parents):
            plain[str(child)] = tuple(map(str, parents))
    return MappingProxyType(dict(sorted(plain.items())))


class ELR(Networks):
    """ELR: extended logistic regression of a network's tables."""

    name = words = "elr"
    estimator = "alrviz.estimators.conditional.ELRClassifier"
    params: ClassVar[Mapping[str, Param]] = {
        "structure": Param(
            "nb", {"nb": "naive Bayes", "tan": "TAN: a tree"}, parse=_parents, label="Structure", key="z",
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

    def title(self, params: Mapping[str, Any]) -> str:
        """The structure, and whether the number of steps is tuned."""
        structure = params["structure"] if isinstance(params["structure"], str) else "given parents"
        gaps = {"auto": "", True: ", missing summed out", False: ", missing a level"}[params["sum_missing"]]
        return f"elr {structure}" + ("" if params["cross_tuning"] else " to the end") + gaps

    def solver(self, params: Mapping[str, Any]) -> str:
        """Scores are no sums of the weights: no solver of the linear families."""
        return self.choice.solver

    def missing(self, params: Mapping[str, Any]) -> str:
        """No level where it is summed out."""
        return "skip" if self.sums(params) else "level"

    def sums(self, params: Mapping[str, Any]) -> bool:
        """Return whether missing values are summed out: unless it is said, where no column is another's parent."""
        said = params["sum_missing"]
        return params["structure"] == "nb" if said == "auto" else bool(said)

    def check_together(self, params: Mapping[str, Any]) -> None:
        """Raise `RecipeError` where missing values are to be summed out, and a column is given several parents."""
        structure = params["structure"]
        if not isinstance(structure, str) and self.sums(params):
            for child, parents in structure.items():
                if len(set(parents)) > 1:
                    raise RecipeError(
                        f"sum_missing=True sums along a tree, and structure gives {child!r} {len(set(parents))} "
                        f"parents; expected one, such as {{{child!r}: {parents[0]!r}}}, or sum_missing=False, where a "
                        "missing value is a level"
                    )

    def draws(self, params: Mapping[str, Any]) -> bool:
        """The folds of cross-tuning."""
        return bool(params["cross_tuning"])

    def objective_key(self, recipe: "FitSettings") -> Hashable:
        """Tuned or not: one is to find the lowest F, the other is not."""
        of = recipe.params
        structure = of["structure"] if isinstance(of["structure"], str) else tuple(of["structure"].items())
        return (self.name, structure, of["cross_tuning"], of["smoothing"], self.sums(of), *rows_key(recipe))

    def n_parents(self, params: Mapping[str, Any]) -> int:
        """1 of a tree; those that are given are not looked for."""
        return int(params["structure"] == "tan")

    def structure(self, prepared: TrainingData, params: Mapping[str, Any], stop: StopToken = NEVER) -> Structure:
        """Naive Bayes', TAN's, or the one that is given.

        Raises:
            RecipeError: a given structure that names no columns of the table, or has a circle.
        """
        wanted, encoded = params["structure"], prepared.encoded
        if wanted == "nb":
            return naive(encoded.n_columns)
        found = (
            structure_of_parents(wanted, encoded.names) if wanted != "tan" else TAN().structure(prepared, params, stop)
        )
        if not self.sums(params):
            return found
        # under a parent that no training row has there would be no table to fit
        known = set(np.flatnonzero((encoded.codes < encoded.levels[:, None]).any(axis=1)).tolist())
        return Structure(tuple(tuple(i for i in own if i in known) for own in found.parents), found.order)

    def count(self, structure: Structure, rows: tuple[Any, ...], params: Mapping[str, Any]) -> LearnedNetwork:
        """The network that steps begin with."""
        counts = count_network(structure, *rows)
        if not (self.sums(params) and any(structure.parents)):
            return LearnedNetwork(counts, counts.model())
        tables = ConditionalTables.of(counts, summed=True)
        return LearnedNetwork(counts, tables.model(tables.phi(tables.start), tables.network.bias))

    def warm(self, recipe: "FitSettings", n_classes: int, wide: bool = False) -> float:
        """Networks, and passes."""
        return warm_networks(wide) + warm_passes(n_classes)

    def make(self, request: FitRequest) -> FitProblem:
        """Count the network, and lay its rows out for the passes."""
        prepared, recipe, params, stop = request.prepared, request.recipe, request.params, request.stop
        request.tell("compiling")
        compiled = self.warm_for(recipe, prepared, stop)
        request.tell("counting cells")
        tables = prepared.tables(1, params["smoothing"], stop)
        classes = prepared.encoded.classes
        of = prepared.covered(1, stop)
        baseline = observers.baseline_losses(of, tables, params["class_weight"], classes, stop)
        fit, heldout = self.assemble(prepared, recipe, params, stop)
        return FitProblem(fit, heldout, baseline, None, compiled, (observers.first_rise(),))

    def assemble(
        self, prepared: TrainingData, recipe: "FitSettings", params: Mapping[str, Any], stop: StopToken = NEVER
    ) -> tuple[Fit, ConditionalRows | None]:
        """Return what a driver runs, and the held-out rows.

        The structure is that of all training rows, in the folds too.

        Raises:
            RecipeError: a structure that names no columns or has a circle, or a class weight that names no class.
        """
        structure, encoded = self.structure(prepared, params, stop), prepared.encoded
        summed = self.sums(params) and any(structure.parents)
        objective, heldout = conditional(prepared, structure, params, stop, summed=summed)
        fold = spread_folds(encoded.y, FOLDS, recipe.seed, prepared.splitting)

        def make(number: int) -> Fold:
            held = fold == number
            part = TrainingData(encoded.take(~held), encoded.take(held), None, prepared.n_jobs, merge=False)
            of, rows = conditional(part, structure, params, stop, summed=summed, weigh_heldout=True)
            assert rows is not None
            return Fold(of, rows, of.rows.n_rows / encoded.n_rows)

        max_iter = params["max_iter"]
        solver: BrentGradients | CrossTuned = BrentGradients()
        if params["cross_tuning"]:
            solver = CrossTuned(BrentGradients(), int(fold.max()) + 1, make, max_iter)
        return Fit(objective, solver, objective.start, max_iter, params["tol"]), heldout

    def cost(self, shape: TableShape, params: Mapping[str, Any], tables: Estimate) -> Cost:
        """Counts, weights, and the keys and scores of all rows."""
        encoded, n_heldout = shape.encoded, shape.n_heldout
        n, classes, cells = encoded.n_rows, encoded.n_classes, self.possible_cells(encoded, params)
        seen = sum(min(own, n * int(top)) for own, top in zip(cells, encoded.levels, strict=True))
        vectors = 8 * classes * (seen + 1) * _VECTORS + 40 * seen
        kept, size = _fit_bytes(encoded, n, n_heldout, 1 + (params["structure"] == "tan"))
        if params["cross_tuning"]:  # a fold's fit beside it
            _, fold = _fit_bytes(encoded, n - n // FOLDS, n // FOLDS, 1)
            size = max(size, kept + fold + vectors)
        size += 8 * classes * tables.cells_seen + vectors
        work = PassSize(n, classes, _CELLS * seen, encoded.n_columns, seen, seen)
        parameters = classes * (1 + sum(cells))
        seconds = _CALLS + work.reference_seconds()
        if self.sums(params) and params["structure"] != "nb":
            gaps, pairs = _gaps(encoded)
            seconds += _PAIR * classes * pairs
            size += gaps * (2 * encoded.n_columns + 24 + 16 * classes) * (n + n_heldout) // max(1, n)
        return Cost(parameters, max(tables.cost.bytes, size), seconds, 1)

    def possible_cells(self, encoded: "Encoded", params: Mapping[str, Any]) -> list[int]:
        """Of given parents, theirs."""
        above = params["structure"]
        if isinstance(above, str):
            return super().possible_cells(encoded, params)
        levels = encoded.levels.tolist()
        number = dict(zip(encoded.names, levels, strict=True))
        parents = [[number.get(parent, 1) for parent in above.get(name, ())] for name in encoded.names]
        return [top * prod(own) for top, own in zip(levels, parents, strict=True)]


def _gaps(encoded: "Encoded") -> tuple[int, float]:
    """Missing values, and over how many pairs of levels they are summed: a column's with those of its neighbours."""
    by_column = (encoded.codes >= encoded.levels[:, None]).sum(axis=1)
    return int(by_column.sum()), float((by_column * encoded.levels).sum() * encoded.levels.mean())


def _fit_bytes(encoded: "Encoded", n: int, n_heldout: int, covers: int) -> tuple[int, int]:
    """Bytes that rows and the scores of a point keep; and at the peak, while keys are made or in a pass."""
    a, both, classes = encoded.n_columns, n + n_heldout, encoded.n_classes
    given, scores = both * (a * encoded.codes.dtype.itemsize + 12), 8 * class_widths(classes)[1] * n
    laying = 2 * a * n + 8 * min(LOOKUPS_PER_CALL, n * a) + 8 * classes * n
    keys = 2 * a * both * (1 + covers)
    return given + keys + scores, given + keys + max(2 * a * both + laying, 3 * scores)
