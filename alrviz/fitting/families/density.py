"""DLR: density-based logistic regression, a weight a column on the log ratio of the classes' densities.    [DLR]

A pass is E and its slopes by w and log h at other bandwidths: the grids of every numeric column, phi and dphi of every
row, scores. Where bandwidths stand still it is F and its slope by w. Grids are short at first and grow as bandwidths
shrink: it is the pass that a fit begins with, and by which it is estimated.
"""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from alrviz.data.splits import split_holdout
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import RecipeError
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate, estimate_by_formula
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.density.hierarchical import Hierarchical
from alrviz.fitting.density.objective import VALIDATES, DensityObjective, DensityRows
from alrviz.fitting.families import observers
from alrviz.fitting.families.build_fit import Fit
from alrviz.fitting.families.cells import toward
from alrviz.fitting.families.family import Family, FitProblem, FitRequest, rows_key
from alrviz.fitting.families.param import Param
from alrviz.fitting.families.shared_params import ALPHA, CENTER, CLASS_WEIGHT, MAX_ITER, SMOOTHING, START, TOL
from alrviz.fitting.prepare import class_weighted
from alrviz.fitting.solvers.choice import SolverChoice
from alrviz.fitting.warm import warm_density
from alrviz.models.density import DensityFeatures
from alrviz.models.density_model import categorical_columns, parts_of
from alrviz.models.density_votes import DensityVotes
from alrviz.passes.aligned_buffers import class_widths
from alrviz.passes.rows import Rows
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded
    from alrviz.fitting.fit_settings import FitSettings

# Sets of features alive at once: those of the point and of the trial, and the fresh ones on another grid.
_SETS = 3
# Arrays of scores alive at once: of both points, a direction, residuals.
_SCORES = 5
# Bytes of a training row in a numeric column, beside the number itself: its values sorted in two ways, weights, places.
_SORTED = 36
# ns on one thread of the reference machine (passes/cost_model.py), fitted to passes over 300 to 150,000 rows, 2 to 8
# columns and 2 to 6 classes: the grids of a numeric column, and of a class of it (made columns are longer than real:
# between the two); a row of a class of a numeric and of a categorical column; a row. Then a pass of the weights alone,
# a value of phi in it, a row and a class of it.
_GRIDS, _GRID = 225_000.0, 50_000.0
_VOTE, _LEVEL, _ROW = 48.0, 58.0, 1.0
_CALL, _PHI, _SCORED, _SCORE = 58_000.0, 1.6, 5.3, 7.6
# Validation rows have grids of their own; in "validation" the slope follows w by a linear system: a row, a pair of phi.
_BESIDE_GRIDS, _SOLVED, _PAIR = 145_000.0, 74.0, 27.0
_WHY = "newton: a weight a column makes small systems"
_MOVES = "; BFGS for the bandwidths around it"


class DLR(Family):
    """DLR: features are log ratios of the classes' densities, bandwidths are found with the weights."""

    name = words = "dlr"
    estimator = "alrviz.estimators.density.DLRClassifier"
    params: ClassVar[Mapping[str, Param]] = {
        "bandwidth": Param(
            "silverman",
            {
                "loo": "leave-one-out", "silverman": "Silverman (fixed)", "validation": "validation set",
                "paper": "Algorithm 1 of [DLR]",
            },
            label="Bandwidths", term="bandwidth", key="q", help="How h is found.",
            meanings={
                "loo": "together with w, by the log loss of the training rows, each left out of its own sums",
                "silverman": "h = 1.06 sigma N^(-1/5), fixed, every row in its own sums",
                "validation": "by the log loss of a part of the rows held out for it, w following h",
                "paper": "[DLR] Algorithm 1, by the same rows, w held fixed as h moves and h as w does, which lowers "
                "no one loss",
            },
        ),
        "validation_fraction": Param(
            0.2, low=0.0, high=0.95, open_low=True, label="Validation fraction for bandwidths", key="r", step=0.05,
            has_effect=lambda recipe: recipe.params["bandwidth"] in VALIDATES,
            help='Share of the rows on which "validation" and "paper" judge h; they have no part in the sums and the '
            "weights.",
        ),
        "alpha": replace(
            ALPHA, default=10.0, keywords={}, help="Weight of the penalty alpha ||w - center||^2; 0 for none."
        ),
        "center": CENTER.among(0, 1),
        "start": START.among("zero", "one"),
        "max_iter": MAX_ITER,
        "tol": replace(
            TOL, help="The fit ends when no step of the bandwidths is expected to lower the loss by more than this "
            "share of itself, the weights being at their optimum.",
        ),
        "smoothing": replace(
            SMOOTHING, help="m: a level's share of class k is (N_level,k + m N_k / N) / (N_level + m)."
        ),
        "class_weight": CLASS_WEIGHT,
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"dlr": "#009E73"}
    # h is Silverman's or Algorithm 1's.
    paper: ClassVar[Mapping[str, Any]] = {
        "alpha": 0.0, "start": "zero", "class_weight": None, "bandwidth": ("paper", "silverman"),
    }  # fmt: skip
    has_steps = takes_numbers = True
    counts_cells = shows_weights = False

    def title(self, params: Mapping[str, Any]) -> str:
        """Bandwidths, start and penalty."""
        p = params
        alpha = "" if p["alpha"] == 0 else f", L2 penalty {p['alpha']:g}{toward(p)}"
        return f"{self.name} {p['bandwidth']} from {p['start']}{alpha}"

    def learned_by(self, params: Mapping[str, Any]) -> str:
        """Densities first, then their weights."""
        fit = "regularised" if self.is_regularised(params) else "without regularisation"
        return f"logistic regression on the log ratios of the classes' densities, {fit}"

    def is_regularised(self, params: Mapping[str, Any]) -> bool:
        """Of the densities' weights."""
        return bool(params["alpha"])

    def solver(self, params: Mapping[str, Any]) -> str:
        """The weights have one solver."""
        return "newton"

    def draws(self, params: Mapping[str, Any]) -> bool:
        """The rows on which bandwidths are validated."""
        return params["bandwidth"] in VALIDATES

    def objective_key(self, recipe: "FitSettings") -> Hashable:
        """Its features are its own."""
        kept = ("bandwidth", "validation_fraction", "alpha", "center", "smoothing")
        return (self.name, *(recipe.params[name] for name in kept), *rows_key(recipe))

    def estimate(self, recipe: "FitSettings", shape: TableShape, max_memory: int | None = None) -> Estimate:
        """By the shape of the table: every column counts as a feature."""
        encoded, n_heldout = shape.encoded, shape.n_heldout
        columns, numeric, n = encoded.n_columns, len(encoded.numeric), encoded.n_rows
        values = 1 if encoded.n_classes == 2 else encoded.n_classes
        moves = recipe.params["bandwidth"] != "silverman" and numeric > 0
        parameters = (columns + 1) * values + numeric
        features = 8 * n * values * (columns + (numeric if moves else 0))
        scores = 8 * class_widths(encoded.n_classes)[1] * max(n, n_heldout) * _SCORES
        watched = 8 * n_heldout * values * columns
        table = (n + n_heldout) * (16 * numeric + 12 + 2 * columns) + _SORTED * n * numeric
        size = (_SETS if moves else 1) * features + scores + watched + table
        choice = SolverChoice("newton", 0, _WHY + (_MOVES if moves else ""), 4)
        cost = Cost(parameters, size, reference_seconds(encoded, recipe), 1)
        return estimate_by_formula(cost, choice, "features", shape, max_memory)

    def warm(self, recipe: "FitSettings", n_classes: int, wide: bool = False) -> float:
        """What densities call."""
        return warm_density(n_classes)

    def make(self, request: FitRequest) -> FitProblem:
        """Sort the columns; held-out rows have densities of the training rows."""
        prepared, recipe = request.prepared, request.recipe
        encoded, jobs = prepared.encoded, prepared.n_jobs
        request.tell("compiling")
        compiled = self.warm(recipe, encoded.n_classes)
        request.tell("sorting")
        fit = assemble_density(encoded, request.params, jobs, recipe.seed, request.stop, prepared.splitting)
        heldout = None if prepared.holdout is None else rows_beside(prepared.holdout, jobs)
        assert isinstance(fit.objective, DensityObjective)
        counts = fit.objective.features.class_counts
        log_pi = np.log(counts / counts.sum())
        baseline = {"class_shares": observers.shares_loss(log_pi, fit.objective.rows)}
        if heldout is not None:
            baseline["heldout_class_shares"] = observers.shares_loss(log_pi, heldout)
        return FitProblem(fit, heldout, baseline, None, compiled)


def reference_seconds(encoded: "Encoded", recipe: "FitSettings") -> float:
    """Return the seconds of a pass on one thread of the reference machine."""
    mode, n, classes = recipe.params["bandwidth"], encoded.n_rows, encoded.n_classes
    columns, numeric = encoded.n_columns, len(encoded.numeric)
    values = 1 if classes == 2 else classes
    if mode == "silverman" or not numeric:
        return 1e-9 * (_CALL + n * (columns * values * _PHI + _SCORED + classes * _SCORE))
    grids = numeric * (_GRIDS + classes * _GRID)
    rows = n * (classes * (numeric * _VOTE + (columns - numeric) * _LEVEL) + _ROW)
    if mode != "loo":
        grids += numeric * _BESIDE_GRIDS
    if mode == "validation":
        rows += n * (_SOLVED + columns * values**2 * _PAIR)
    return 1e-9 * (grids + rows)


def assemble_density(
    encoded: "Encoded", params: Mapping[str, Any], n_jobs: int | None, seed: int = 0, stop: StopToken = NEVER,
    splitting: Splitting = AT_RANDOM,
) -> Fit:  # fmt: skip
    """Return the fit that "dlr" with `params` (complete, as a recipe holds them) makes of encoded rows.

    `seed` is that of the split in which the bandwidths are validated, which keeps to `splitting`.

    Raises:
        RecipeError: if no row is left to validate on, or a class weight names no class.
        TableError: if no column has a feature.
    """
    mode = params["bandwidth"]
    validation = None
    if mode in VALIDATES and len(encoded.numeric):
        fraction = params["validation_fraction"]
        splits = split_holdout(encoded.y, fraction, seed, splitting)
        if not len(splits.test):
            raise RecipeError(
                f"validation_fraction={fraction:g} of {encoded.n_rows} rows leaves none to validate the bandwidths on; "
                "expected a larger share or more rows, or bandwidth='loo'"
            )
        validation = rows_beside(encoded.take(splits.test), n_jobs, params["class_weight"])
        encoded = encoded.take(splits.train)
    numbers, codes = parts_of(encoded)
    levels = encoded.levels[categorical_columns(encoded)]
    y, weights, n_classes = encoded.y, encoded.weights, encoded.n_classes
    features = DensityFeatures(numbers, codes, levels, y, weights, n_classes, params["smoothing"], n_jobs, stop)
    objective = DensityObjective(
        features,
        class_weighted(Rows(y, weights, n_classes, n_jobs=n_jobs), params["class_weight"], encoded.classes),
        mode,
        alpha=params["alpha"],
        center=params["center"],
        columns=tuple(encoded.numeric[features.numeric].tolist()),
        validation=validation if len(features.numeric) else None,
        stop=stop,
    )
    w0 = objective.start(1.0 if params["start"] == "one" else 0.0)
    return Fit(objective, Hierarchical(params["tol"]), w0, params["max_iter"], params["tol"])


def rows_beside(encoded: "Encoded", n_jobs: int | None, class_weight: Any = None) -> DensityRows:
    """Return rows that do not vote, for a loss of their own."""
    rows = Rows(encoded.y, encoded.weights, encoded.n_classes, n_jobs=n_jobs)
    return DensityRows(class_weighted(rows, class_weight, encoded.classes), *parts_of(encoded))


def feature_columns(encoded: "Encoded", features: DensityVotes) -> np.ndarray:
    """Return the column of the table that each feature (D,) is of."""
    return np.concatenate([encoded.numeric[features.numeric], categorical_columns(encoded)[features.categorical]])
