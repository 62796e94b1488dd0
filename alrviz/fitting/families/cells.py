"""The linear families, whose scores are sums over the cells of all tuples of n columns: lr, alr and anje.

score_k = b_k + sum over tuples t of phi[cell of x in t, k],    phi = scale * w

lr     w fitted; scale 1, or from the Hessian's diagonal
alr    w fitted; scale log theta, the weights of the generative model                            [ALR]
anje   nothing fitted: phi = gamma log theta, the generative model of order n; at n = 1 naive Bayes
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.data.splits import n_validation_rows
from alrviz.errors import RecipeError
from alrviz.fitting.cost.estimate import Estimate, estimate_cells, estimate_counting, estimate_stream, require_memory
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families import observers
from alrviz.fitting.families.alpha_folds import AUTO, with_alpha_search, with_folds, with_number
from alrviz.fitting.families.build_fit import assemble, assemble_stream, check_stream
from alrviz.fitting.families.family import GREY, Family, FitProblem, FitRequest, StreamRequest, rows_key
from alrviz.fitting.families.param import Param, in_digits
from alrviz.fitting.families.selection_rows import (
    InMemory,
    OverPasses,
    first_training_rows,
    sample_trial,
    step_trial,
    test_part,
    validation_part,
)
from alrviz.fitting.families.shared_params import COUNTED_CLASS_WEIGHT, LINEAR, center_name
from alrviz.fitting.fit_settings import FitSettings, Params
from alrviz.fitting.solvers.solver_support import (
    IN_BATCHES,
    NEEDS,
    SOLVER_NAMES,
    STOCHASTIC,
    check_solver,
    chosen_solver,
    has_penalty,
)
from alrviz.fitting.warm import warm_fit, warm_stream
from alrviz.models.cell_space import AllOrders, Tuples, check_order
from alrviz.models.streamed import StreamedCounts, count_stream
from alrviz.models.tuple_selection import SelectionRows
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.fitting.prepare import TrainingData

# Solvers that can follow a metric which changes at every step.
_METRIC_SOLVERS = ("lbfgs", "gd")
TABLES: Mapping[str, Param] = {name: LINEAR[name] for name in ("order", "smoothing", "missing", "unseen")}
# The fits of [ALR] and [WANBIA-C]. SciPy's L-BFGS-B ends when F falls by less than tol = factr * eps of itself, with
# factr 1e7, or at pgtol = 1e-33, which never happens ([WANBIA-C] prints 1e-32).
_PAPER: Params = {
    "start": "zero",
    "alpha": 0.0,
    "unseen": "m-estimate",
    "solver": "lbfgsb",
    "objective": "nll",
    "bounds": None,
    "class_weight": None,
    "share": "cell-class",
    "memory": 5,
    "tol": 1e7 * 2.0**-52,
    "max_iter": 10_000,
}


class CellFamily(Family):
    """Base of the linear families.

    A subclass that overrides `make` cannot be fitted to tables read in batches unless it has a `make_stream` too, and
    does not learn row by row unless it sets `learns_rows`: both would ignore its change.
    """

    has_steps = streams = sums_cells = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.estimator = f"alrviz.estimators.cells.{cls.__name__}Classifier"  # made there if it is not written out
        overrides = vars(cls)
        if "params" in overrides and (absent := [name for name in TABLES if name not in cls.params]):
            raise TypeError(f"{cls.__name__}.params has no {', '.join(absent)}, which every family of cells needs; "
                            "expected that it ends with **TABLES")  # fmt: skip
        # Learning row by row counts all tuples of one order: it would ignore other `tuples` and whatever `make`
        # changes. `make_stream` does not call `make` either.
        if {"tuples", "all_tuples", "make"} & overrides.keys():
            cls.learns_rows = overrides.get("learns_rows", "")
            cls.fits_by_gram = overrides.get("fits_by_gram", False)
        if "make" in overrides and not {"make_stream", "streams"} & overrides.keys():
            cls.streams = False

    def chooses_tuples(self, params: Params) -> bool:
        """Return whether models with these parameters have only some of `all_tuples`."""
        return type(self).tuples is not CellFamily.tuples

    def counted_tuples(self, params: Params, n_columns: int) -> Sequence[int | AllOrders]:
        """Return the tuples that a fit counts; none if the order is "auto" or above `n_columns` (then a fit raises)."""
        order = params["order"]
        return (self.all_tuples(params),) if order != "auto" and order <= n_columns else ()

    def all_tuples(self, params: Params) -> int | AllOrders:
        """Return the tuples of a model with these parameters, or those that it selects from."""
        return int(params["order"])

    def estimate(self, recipe: FitSettings, shape: TableShape, max_memory: int | None = None) -> Estimate:
        """Return the estimate of fitting `recipe` from its cells, counted or sampled, including the folds that choose
        alpha.

        max_memory: bytes that may be used; None for half of the free memory.
        """
        return with_folds(estimate_cells(recipe, shape, max_memory), recipe, shape)

    def warm(self, recipe: FitSettings, n_classes: int, wide: bool = False) -> float:
        """Compile the passes of a fit of `recipe` to n_classes classes; return the seconds it took.

        wide: whether keys have 32 bits; else they have 16.
        """
        return warm_fit(recipe, n_classes, wide)

    def warm_for(self, recipe: FitSettings, prepared: "TrainingData", stop: StopToken = NEVER) -> float:
        """Compile the passes of a fit of `recipe` to prepared rows; return the seconds it took.

        Keys have 32 bits if a block of the plan has over 65,536 joint values.
        """
        wide = prepared.plan(self.all_tuples(recipe.params), stop).max_joint > 2**16
        return self.warm(recipe, prepared.encoded.n_classes, wide)

    def make(self, request: FitRequest) -> FitProblem:
        """Cover the rows, count, assemble."""
        prepared, params, report, stop = request.prepared, request.params, request.report, request.stop
        smoothing, classes = params["smoothing"], prepared.encoded.classes
        report("counting cells")
        tuples = self.tuples(InMemory(request), params, prepared.encoded.n_columns)
        covered = prepared.covered_rows(tuples, stop)
        report("compiling")
        compiled = warm_fit(request.recipe, prepared.encoded.n_classes, covered.rows.has_wide_keys)
        report("counting cells")
        tables = prepared.tables(tuples, smoothing, stop)
        # before the objective: both hold a table of all cells in memory
        baseline = observers.baseline_losses(covered, tables, params.get("class_weight"), classes, stop)
        fit = assemble(
            covered.rows, covered.cover, tables, with_number(params), classes, stop, seed=request.recipe.seed,
            chains=prepared.encoded.chains,
        )  # fmt: skip
        return with_alpha_search(FitProblem(fit, covered.heldout, baseline, tables, compiled), request)

    def check_stream(self, params: Params, n_columns: int) -> None:
        """Raise `RecipeError` for an order above the number of columns, or settings that fits over chunks do not
        support.
        """
        if params["order"] != "auto":
            check_order(n_columns, params["order"])
        check_stream(params)

    def make_stream(self, request: StreamRequest) -> tuple[FitProblem, Estimate]:
        """Count in a pass, then assemble."""
        coded, params, stop = request.coded, request.recipe.params, request.stop
        cache, n_classes = coded.cache, len(coded.classes)
        n_validation = n_validation_rows(cache.n_rows("train"))  # held out while settings are chosen
        request.report("compiling")
        needs_curvature = params.get("solver") in ("auto", "tron", "lbfgs") or params.get("selection") == "gain"
        compiled = warm_stream(n_classes, coded.encoder.levels_, needs_curvature)
        request.report("counting cells")

        @lru_cache(maxsize=1)  # selecting tuples counts the chosen ones, which the fit needs again
        def count(tuples: Tuples, choosing: bool = False) -> StreamedCounts:
            n_rows, sample = cache.n_rows("train"), partial(first_training_rows, coded)
            require_memory(estimate_counting(tuples, n_rows, n_classes, coded.levels, request.max_bytes, sample, stop))
            chunks = request.chunks(n_validation if choosing or request.chooses_settings else 0)
            request.chunks_read.append(chunks)
            return count_stream(
                coded.levels,
                tuples,
                chunks,
                n_classes,
                params["smoothing"],
                request.max_bytes // 8,
                request.n_jobs,
                stop,
            )

        heldout_rows = validation_part(cache, n_classes) if request.chooses_settings else test_part(cache, n_classes)
        first_chunk = first_training_rows(coded, n_validation if request.chooses_settings else 0)
        trial, sample = step_trial(first_chunk), sample_trial(first_chunk)
        streamed = count(self.tuples(OverPasses(count, trial, sample, request), params, len(coded.levels)))
        estimate = estimate_stream(streamed, request.max_bytes, params.get("solver", "none"), sample.training.n_rows)
        require_memory(estimate)
        passes_spent = float(request.passes_before + sum(chunks.passes for chunks in request.chunks_read))
        request.report("comparing with AnJE")
        baseline = observers.stream_losses(streamed, heldout_rows, stop)
        if params.get("solver") == "auto":
            request.report("choosing a solver on a sample")
        fit = assemble_stream(
            streamed,
            trial,
            sample,
            params,
            stop,
            seed=request.recipe.seed,
            passes_before=passes_spent,
            start=request.start,
        )
        if fit.choice is not None:
            estimate = replace(estimate, choice=fit.choice)
        return FitProblem(fit, heldout_rows, baseline, streamed.tables, compiled), estimate

    def tuples(self, rows: SelectionRows, params: Params, n_columns: int) -> Tuples:
        """Return the tuples of the model, of the n_columns columns of `rows`.

        A family that selects tuples overrides this, and scores them on the rows.
        """
        return self.all_tuples(params)

    def objective_key(self, recipe: FitSettings) -> Hashable:
        """Return a key that is equal for recipes with the same objective.

        Without a penalty families of one order share NLL, whatever their metric, unless weights are shared or bounded:
        then the scale decides which phi can be reached. A penalty on phi depends on its center; a penalty on w also on
        the scale between w and phi (for lr without a scale w is phi).
        """
        params = recipe.params
        common_key: tuple[Hashable, ...] = (*self._cells_key(params), *rows_key(recipe), params.get("objective"))
        scale = (recipe.family, params.get("scale"), params.get("smoothing"))
        if params.get("share", "cell-class") != "cell-class" or params.get("bounds") is not None:
            common_key = (*common_key, params.get("share"), params.get("bounds"), *scale)
        if not params.get("alpha"):
            return (*common_key, 0.0)
        one_is_anje = params["order"] == 1 or params.get("scale") == "theta-gamma"
        center = "anje" if params["center"] == 1 and one_is_anje else params["center"]
        center_text = (center, None if center == 0 else params.get("smoothing"))
        smooth = recipe.cuts in SMOOTH_WAYS  # the penalty is on steps of w
        phi_is_w = params.get("scale") in (None, "none") and not smooth
        penalty_key = (
            ("phi",) if phi_is_w or (params["penalty"] == "phi" and not smooth) else (params["penalty"], *scale)
        )
        # each recipe chooses its own alpha
        alpha_key = recipe.to_json() if params["alpha"] == AUTO else params["alpha"]
        return (*common_key, alpha_key, *center_text, *penalty_key)

    def _cells_key(self, params: Params) -> tuple[Hashable, ...]:
        """Return a key that is equal for parameters under which a model has the same cells."""
        all_tuples = self.all_tuples(params)
        if not self.chooses_tuples(params):
            return (all_tuples,)
        return (all_tuples, self.name, *(params[name] for name in self.params if name not in ALR.params))


class WeightedFamily(CellFamily):
    """Base of the families whose weights are fitted: lr, alr and those derived from them, such as hlr and halr."""

    paper = _PAPER
    smooths = True
    _label_by_scale: ClassVar[Mapping[str, str]]

    def check_together(self, params: Params) -> None:
        """Raise `RecipeError` if these parameters exclude each other; the message names values that do not."""
        if params["alpha"] == AUTO and (params["objective"] == "hinge" or params["bounds"] is not None):
            setting_text = "objective='hinge'" if params["objective"] == "hinge" else f"bounds={params['bounds']!r}"
            raise RecipeError(
                f"alpha='auto' descends on validation log loss, which {setting_text} does not support; expected a "
                "number for alpha, such as alpha=1, or objective='nll' without bounds"
            )
        if params["alpha"] == AUTO and params["scale"] == "diagonal" and params["penalty"] == "phi":
            raise RecipeError(
                "scale='diagonal' with penalty='phi' uses units that depend on alpha, which alpha='auto' does not know "
                "yet; expected a number for alpha, such as alpha=1, scale='none', or penalty='w'"
            )
        if params["alpha"] == AUTO and params["solver"] in STOCHASTIC:
            raise RecipeError(
                f"alpha='auto' compares minima of F, which solver={params['solver']!r} does not reach; expected "
                "solver='auto', or a number for alpha, such as alpha=1"
            )
        if params["solver"] != "auto":
            check_solver(params["solver"], params["objective"], params["bounds"] is not None, batches=True)
        if params["scale"] == "diagonal-adaptive":
            _check_adaptive(params)
        if params["share"] != "cell-class" and params["scale"] in ("diagonal", "diagonal-adaptive"):
            raise RecipeError(
                f"share={params['share']!r} cannot have scale={params['scale']!r}, which is defined for one weight per "
                "cell and class; expected share='cell-class', or scale='none'"
            )

    def check_smooth(self, params: Params) -> None:
        """Raise `RecipeError` if `share`, `scale` or `solver` cannot be used with smooth levels.

        With smooth levels a parameter is the step from one level to the next, so it changes the weights of many cells.
        """
        for name, supported in _SMOOTH_SETTINGS.items():
            if self.smooths and params[name] not in supported:
                raise RecipeError(
                    f"{name}={params[name]!r} does not support smooth levels; expected {name}={supported[0]!r}, or "
                    "discretize='quantile'"
                )

    def label(self, params: Params) -> str:
        """Return the label of the scale if it has one."""
        return self._label_by_scale.get(params["scale"], self.name)

    def title(self, params: Params) -> str:
        """Return order, start, loss, penalty, sharing, bounds and solver in one line."""
        p = params
        penalty_texts = {"cv": "L2 penalty by inner folds", AUTO: "automatic L2 penalty"}
        penalty_text = penalty_texts.get(p["alpha"]) or f"L2 penalty {in_digits(p['alpha'])}"
        alpha_text = "" if p["alpha"] == 0 else f", {penalty_text} on {p['penalty']}{center_text(p)}"
        sharing_text = "" if p["share"] == "cell-class" else f", share {p['share']}"
        loss_text = "" if p["objective"] == "nll" else f", {p['objective']}"
        bounds = "" if p["bounds"] is None else ", w between {} and {}".format(*p["bounds"])
        solver = SOLVER_NAMES[self.solver(p)]
        return (
            f"{self.label(p)} n={p['order']} from {p['start']}{loss_text}{alpha_text}{sharing_text}{bounds}, {solver}"
        )

    def training_method(self, params: Params) -> str:
        """Return how the model is fitted, in words: "logistic regression", or that another loss is minimised."""
        loss_text = (
            "logistic regression" if params["objective"] == "nll" else f"minimising the {params['objective']} loss"
        )
        return f"{loss_text}, regularised" if self.is_regularised(params) else f"{loss_text}, without regularisation"

    def is_regularised(self, params: Params) -> bool:
        """Return whether any order has a penalty; alpha = inf leaves an order out."""
        alpha = params["alpha"]
        return any(number not in (0, math.inf) for number in (alpha if isinstance(alpha, tuple) else (alpha,)))

    def solver(self, params: Params) -> str:
        """Return the solver that will run; see choice.py."""
        return chosen_solver(params)

    def is_random(self, params: Params) -> bool:
        """Return whether the start or the order of rows is random."""
        return params["start"] == "random" or self.solver(params) in (*STOCHASTIC, *IN_BATCHES)


class LR(WeightedFamily):
    """LR^n: logistic regression with a weight for each class and each cell, a combination of values of n columns."""

    name = words = "lr"
    menu_note = "order n alone"
    learns_rows = "ones"
    fits_by_gram = True
    rival = "alr"
    # docs/defaults.md measures the defaults of the penalty, here and in ALR, and the fixed alphas.
    params: ClassVar[Mapping[str, Param]] = {
        **LINEAR,
        "scale": LINEAR["scale"].among("none", "diagonal", "diagonal-adaptive"),
        "center": LINEAR["center"].among(0, "anje", "shares"),
        "start": LINEAR["start"].among("zero", "anje", "random"),
    }
    _label_by_scale: ClassVar[Mapping[str, str]] = {"diagonal": "diagonal", "diagonal-adaptive": "adaptive"}
    colours: ClassVar[Mapping[str, str]] = {"lr": "#D55E00", "diagonal": "#E69F00", "adaptive": "#CC79A7"}
    aliases: ClassVar[Mapping[str, str]] = {
        "diagonal": 'Recipe("lr", scale="diagonal", alpha=1)',
        "adaptive": 'Recipe("lr", scale="diagonal-adaptive")',
    }

    def check_together(self, params: Params) -> None:
        """Raise `RecipeError` where AnJE, as start or center, is no lr model within bounds or with shared weights."""
        super().check_together(params)
        for name in ("start", "center"):
            if params["share"] != "cell-class" and params[name] == "anje":
                raise RecipeError(
                    f"{name}='anje' needs a weight per cell and class in lr, but share={params['share']!r} has fewer; "
                    f"expected share='cell-class', {name}={'zero' if name == 'start' else 0!r}, or family 'alr'"
                )
        if params["bounds"] is not None and params["start"] == "anje":
            raise RecipeError(
                f"start='anje' has logarithms as weights in lr, which violate bounds={params['bounds']!r}; expected "
                "start='zero', bounds=None, or family 'alr'"
            )


class ALR(WeightedFamily):
    """ALR^n: weights that multiply log theta, which preconditions the search."""

    name = words = "alr"
    menu_note = "lr, preconditioned"
    learns_rows = "log theta"
    params: ClassVar[Mapping[str, Param]] = {
        **LINEAR,
        "scale": LINEAR["scale"].among("theta", "theta-gamma"),
        "alpha": replace(LINEAR["alpha"], link_default=1.0),
        "penalty": replace(LINEAR["penalty"], default="w"),
    }
    _label_by_scale: ClassVar[Mapping[str, str]] = {"theta-gamma": "alrj"}
    colours: ClassVar[Mapping[str, str]] = {"alr": "#0072B2", "alrj": "#56B4E9", "wanbiac": "#0072B2"}
    aliases: ClassVar[Mapping[str, str]] = {
        "wanbiac": 'Recipe("alr", order=1)',
        "alrj": 'Recipe("alr", scale="theta-gamma")',
    }


class AnJE(CellFamily):
    """AnJE: the generative model of order n; naive Bayes at n = 1."""

    name = "anje"
    learns_rows = "counts"
    words = "AnJE"
    menu_note = "counts, no fit"
    streams = True
    params: ClassVar[Mapping[str, Param]] = {**TABLES, "class_weight": COUNTED_CLASS_WEIGHT}
    paper: ClassVar[Params] = {"unseen": "m-estimate"}
    colours: ClassVar[Mapping[str, str]] = {"anje": GREY, "nb": GREY}
    aliases: ClassVar[Mapping[str, str]] = dict.fromkeys(("nb", "naivebayes"), 'Recipe("anje", order=1)')

    def label(self, params: Params) -> str:
        """Return "nb" at order 1: naive Bayes has its own label."""
        return "nb" if params["order"] == 1 else self.name

    def training_method(self, params: Params) -> str:
        """Say that nothing is fitted."""
        return "counting (nothing is fitted)"

    def make(self, request: FitRequest) -> FitProblem:
        """Count the rows, with weights multiplied by those of their classes."""
        prepared = request.prepared.class_weighted(request.params["class_weight"])
        return super().make(replace(request, prepared=prepared, params={**request.params, "class_weight": None}))

    def title(self, params: Params) -> str:
        """Return label and order."""
        return f"{self.label(params)} n={params['order']}"


# Settings that support smooth levels.
_SMOOTH_SETTINGS: Mapping[str, tuple[object, ...]] = {
    "share": ("cell-class",), "scale": ("none", "theta", "theta-gamma"),
    "solver": ("auto", *(solver for solver in NEEDS if solver not in (*STOCHASTIC, *IN_BATCHES))),
}  # fmt: skip


def center_text(params: Params) -> str:
    """Return the center of the penalty of `params` in words, "" for 0."""
    return "" if params["center"] == 0 else f" toward {center_name(params['center'])}"


def _check_adaptive(params: Params) -> None:
    """Raise `RecipeError` for parameters that scale="diagonal-adaptive" cannot have."""
    if params["penalty"] == "w" and has_penalty(params):
        raise RecipeError(
            f"penalty='w' with alpha={params['alpha']} would change its meaning at every step with scale="
            "'diagonal-adaptive', whose weights change their units; expected penalty='phi', alpha=0 or scale='diagonal'"
        )
    solver = chosen_solver(params)
    if solver not in _METRIC_SOLVERS:
        solvers = ", ".join(map(repr, ("auto", *_METRIC_SOLVERS)))
        bounds_words = " without bounds" if params["bounds"] is not None else ""
        raise RecipeError(
            f"solver={solver!r} cannot follow scale='diagonal-adaptive', which changes at every step; expected one of "
            f"{solvers}{bounds_words}, or scale='diagonal'"
        )
