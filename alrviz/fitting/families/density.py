"""DLR: density-based logistic regression, one weight per column on the log ratio of the classes' densities.   [DLR]

A pass computes E and its slopes by w and log h at other bandwidths: the grids of every numeric column, phi and dphi of
every row, scores. With fixed bandwidths it is F and its slope by w. Grids are short at first and grow as bandwidths
shrink; the estimate is of the first pass.
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
from alrviz.fitting.density.objective import VALIDATION_MODES, DensityObjective, DensityRows
from alrviz.fitting.families import observers
from alrviz.fitting.families.build_fit import Fit
from alrviz.fitting.families.cells import center_text
from alrviz.fitting.families.family import Family, FitProblem, FitRequest, rows_key
from alrviz.fitting.families.param import Param
from alrviz.fitting.families.shared_params import ALPHA, CENTER, CLASS_WEIGHT, MAX_ITER, SMOOTHING, START, TOL
from alrviz.fitting.fit_settings import FitSettings, Params
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

# Sets of features in memory at once: of the point and the trial, and new ones on another grid.
_FEATURE_SETS = 3
# Arrays of scores in memory at once: of both points, a direction, residuals.
_SCORE_ARRAYS = 5
# Bytes per training row and numeric column, without the number itself: sorted in two ways, weights, places.
_SORTED_BYTES = 36
# Nanoseconds on one thread of the reference machine (passes/cost_model.py), fitted to passes over 300 to 150,000 rows,
# 2 to 8 columns and 2 to 6 classes. Per numeric column and per class of it (between synthetic and real columns, whose
# grids are shorter); per row and class of a numeric and of a categorical column; per row. Then for a pass of the
# weights alone: fixed, per value of phi, per row, per row and class.
_COLUMN_NS, _COLUMN_CLASS_NS = 225_000.0, 50_000.0
_NUMERIC_NS, _CATEGORICAL_NS, _ROW_NS = 48.0, 58.0, 1.0
_PASS_NS, _PHI_NS, _SCORED_ROW_NS, _SCORE_NS = 58_000.0, 1.6, 5.3, 7.6
# Grids of validation rows, per column; in "validation" the slope follows w by a linear system: per row and pair of phi.
_VALIDATION_GRID_NS, _SOLVED_ROW_NS, _PHI_PAIR_NS = 145_000.0, 74.0, 27.0
_CHOICE_REASON = "newton: one weight per column makes small systems"
_BANDWIDTH_REASON = "; BFGS for the bandwidths around it"


class DLR(Family):
    """DLR: features are log ratios of the classes' densities; bandwidths are fitted together with the weights."""

    name = words = "dlr"
    menu_note = "densities of numbers"
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
            has_effect=lambda recipe: recipe.params["bandwidth"] in VALIDATION_MODES,
            help='Share of the rows on which "validation" and "paper" choose h; they are left out of the sums and the '
            "weights.",
        ),
        "alpha": replace(
            ALPHA, default=1.0, link_default=10.0, keywords={},
            help="Weight of the penalty alpha ||w - center||^2; 0 for none. Silverman's bandwidths need about 1, "
            '"loo" about 10.',
        ),
        "center": CENTER.among(0, 1),
        "start": START.among("zero", "one"),
        "max_iter": MAX_ITER,
        "tol": replace(
            TOL, help="The fit ends when no step of the bandwidths is expected to lower the loss by more than this "
            "share of itself, with optimal weights.",
        ),
        "smoothing": replace(
            SMOOTHING, help="m: a level's share of class k is (N_level,k + m N_k / N) / (N_level + m)."
        ),
        "class_weight": CLASS_WEIGHT,
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"dlr": "#009E73"}
    # h is Silverman's or from Algorithm 1.
    paper: ClassVar[Params] = {
        "alpha": 0.0, "start": "zero", "class_weight": None, "bandwidth": ("paper", "silverman"),
    }  # fmt: skip
    has_steps = takes_numbers = True
    counts_cells = shows_weights = False

    def title(self, params: Params) -> str:
        """Return bandwidths, start and penalty in one line."""
        p = params
        alpha = "" if p["alpha"] == 0 else f", L2 penalty {p['alpha']:g}{center_text(p)}"
        return f"{self.name} {p['bandwidth']} from {p['start']}{alpha}"

    def training_method(self, params: Params) -> str:
        """Name the loss and its features."""
        fit = "regularised" if self.is_regularised(params) else "without regularisation"
        return f"logistic regression on the log ratios of the classes' densities, {fit}"

    def is_regularised(self, params: Params) -> bool:
        """Return whether the weights have a penalty."""
        return bool(params["alpha"])

    def solver(self, params: Params) -> str:
        """Return "newton", the only solver of the weights."""
        return "newton"

    def is_random(self, params: Params) -> bool:
        """Return whether rows are drawn to validate the bandwidths."""
        return params["bandwidth"] in VALIDATION_MODES

    def objective_key(self, recipe: FitSettings) -> Hashable:
        """Return a key, equal for recipes that minimise the same objective on the same rows; no other family has it."""
        names = ("bandwidth", "validation_fraction", "alpha", "center", "smoothing")
        return (self.name, *(recipe.params[name] for name in names), *rows_key(recipe))

    def estimate(self, recipe: FitSettings, shape: TableShape, max_memory: int | None = None) -> Estimate:
        """Estimate a fit of `recipe` from the shape of the table: every column counts as a feature.

        max_memory: bytes that may be used; None for half of the free memory.
        """
        encoded, n_heldout = shape.encoded, shape.n_heldout
        n_columns, n_numeric, n_rows = encoded.n_columns, len(encoded.numeric), encoded.n_rows
        n_values = 1 if encoded.n_classes == 2 else encoded.n_classes
        fits_bandwidths = recipe.params["bandwidth"] != "silverman" and n_numeric > 0
        parameters = (n_columns + 1) * n_values + n_numeric
        feature_bytes = 8 * n_rows * n_values * (n_columns + (n_numeric if fits_bandwidths else 0))
        score_bytes = 8 * class_widths(encoded.n_classes)[1] * max(n_rows, n_heldout) * _SCORE_ARRAYS
        heldout_bytes = 8 * n_heldout * n_values * n_columns
        table_bytes = (n_rows + n_heldout) * (16 * n_numeric + 12 + 2 * n_columns) + _SORTED_BYTES * n_rows * n_numeric
        needed_bytes = (
            (_FEATURE_SETS if fits_bandwidths else 1) * feature_bytes + score_bytes + heldout_bytes + table_bytes
        )
        choice = SolverChoice("newton", 0, _CHOICE_REASON + (_BANDWIDTH_REASON if fits_bandwidths else ""), 4)
        cost = Cost(parameters, needed_bytes, reference_seconds(encoded, recipe), 1)
        return estimate_by_formula(cost, choice, "features", shape, max_memory)

    def warm(self, recipe: FitSettings, n_classes: int, wide: bool = False) -> float:
        """Compile the kernels of densities for n_classes classes; return the seconds it took. `wide` has no effect."""
        return warm_density(n_classes)

    def make(self, request: FitRequest) -> FitProblem:
        """Sort the columns; held-out rows are scored by the densities of training rows."""
        prepared, recipe = request.prepared, request.recipe
        encoded, jobs = prepared.encoded, prepared.n_jobs
        request.report("compiling")
        compiled = self.warm(recipe, encoded.n_classes)
        request.report("sorting")
        fit = assemble_density(encoded, request.params, jobs, recipe.seed, request.stop, prepared.splitting)
        heldout = None if prepared.holdout is None else non_voting_rows(prepared.holdout, jobs)
        assert isinstance(fit.objective, DensityObjective)
        counts = fit.objective.features.class_counts
        log_pi = np.log(counts / counts.sum())
        baseline = {"class_shares": observers.prior_loss(log_pi, fit.objective.rows)}
        if heldout is not None:
            baseline["heldout_class_shares"] = observers.prior_loss(log_pi, heldout)
        return FitProblem(fit, heldout, baseline, None, compiled)


def reference_seconds(encoded: "Encoded", recipe: FitSettings) -> float:
    """Return the estimated seconds of one pass of a recipe over encoded rows on one thread of the reference machine.

    `calibrate` turns them into this machine's.
    """
    mode, n, classes = recipe.params["bandwidth"], encoded.n_rows, encoded.n_classes
    columns, numeric = encoded.n_columns, len(encoded.numeric)
    n_values = 1 if classes == 2 else classes
    if mode == "silverman" or not numeric:
        return 1e-9 * (_PASS_NS + n * (columns * n_values * _PHI_NS + _SCORED_ROW_NS + classes * _SCORE_NS))
    grids = numeric * (_COLUMN_NS + classes * _COLUMN_CLASS_NS)
    rows = n * (classes * (numeric * _NUMERIC_NS + (columns - numeric) * _CATEGORICAL_NS) + _ROW_NS)
    if mode != "loo":
        grids += numeric * _VALIDATION_GRID_NS
    if mode == "validation":
        rows += n * (_SOLVED_ROW_NS + columns * n_values**2 * _PHI_PAIR_NS)
    return 1e-9 * (grids + rows)


def assemble_density(
    encoded: "Encoded", params: Params, n_jobs: int | None, seed: int = 0, stop: StopToken = NEVER,
    splitting: Splitting = AT_RANDOM,
) -> Fit:  # fmt: skip
    """Return the fit of "dlr" with `params` (a complete recipe's) to encoded rows.

    `seed` draws the rows that validate the bandwidths, following `splitting`.

    Raises:
        RecipeError: no row is left to validate on, or a class weight names no class.
        TableError: no column has a feature.
    """
    mode = params["bandwidth"]
    validation = None
    if mode in VALIDATION_MODES and len(encoded.numeric):
        fraction = params["validation_fraction"]
        splits = split_holdout(encoded.y, fraction, seed, splitting)
        if not len(splits.test):
            raise RecipeError(
                f"validation_fraction={fraction:g} of {encoded.n_rows} rows leaves no row to validate the bandwidths "
                "on; expected a larger share or more rows, or bandwidth='loo'"
            )
        validation = non_voting_rows(encoded.take(splits.test), n_jobs, params["class_weight"])
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


def non_voting_rows(encoded: "Encoded", n_jobs: int | None, class_weight: Any = None) -> DensityRows:
    """Return encoded rows without votes, to compute losses on, with class weights multiplied in."""
    rows = Rows(encoded.y, encoded.weights, encoded.n_classes, n_jobs=n_jobs)
    return DensityRows(class_weighted(rows, class_weight, encoded.classes), *parts_of(encoded))


def feature_columns(encoded: "Encoded", features: DensityVotes) -> np.ndarray:
    """Return the column number in the encoded table of each feature (D,)."""
    return np.concatenate([encoded.numeric[features.numeric], categorical_columns(encoded)[features.categorical]])
