"""The linear families, whose scores are sums over the cells of all tuples of n columns: lr, alr and anje.

score_k = b_k + sum over tuples t of phi[cell of x in t, k],    phi = scale * w

lr     w found by steps; scale 1, or by the Hessian's diagonal
alr    w found by steps; scale log theta, the generative model's own weights                    [ALR]
anje   nothing is found: phi = gamma log theta, the generative model of order n; at n = 1 naive Bayes
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
from alrviz.fitting.families.alpha_folds import AUTO, tuned, with_folds, with_number
from alrviz.fitting.families.build_fit import assemble, assemble_stream, check_stream
from alrviz.fitting.families.counted import (
    InMemory,
    OverPasses,
    first_rows,
    sample_trial,
    step_trial,
    test_part,
    validation_part,
)
from alrviz.fitting.families.family import GREY, Family, FitProblem, FitRequest, StreamRequest, rows_key
from alrviz.fitting.families.param import Param, in_digits
from alrviz.fitting.families.shared_params import (
    ALPHA,
    BOUNDS,
    CENTER,
    CLASS_WEIGHT,
    MAX_ITER,
    MEMORY,
    MISSING,
    OBJECTIVE,
    ORDER,
    PENALTY,
    SCALE,
    SHARE,
    SMOOTHING,
    SOLVER,
    START,
    TOL,
    UNSEEN,
    center_name,
)
from alrviz.fitting.solvers.solver_support import (
    IN_BATCHES,
    NEEDS,
    SOLVER_NAMES,
    STOCHASTIC,
    check_solver,
    chosen_solver,
    pulled,
)
from alrviz.fitting.warm import warm_fit, warm_stream
from alrviz.models.cell_space import AllOrders, Tuples, check_order
from alrviz.models.streamed import StreamedCounts, count_stream
from alrviz.models.tuple_selection import SelectionRows
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.fitting.fit_settings import FitSettings
    from alrviz.fitting.prepare import TrainingData

# Solvers that follow a metric which changes from step to step.
_TAKE_METRIC = ("lbfgs", "gd")
TABLES: Mapping[str, Param] = {"order": ORDER, "smoothing": SMOOTHING, "missing": MISSING, "unseen": UNSEEN}
# What [ALR] and [WANBIA-C] ran. SciPy's L-BFGS-B ends where F falls by less than tol = factr * eps of itself, and factr
# is 1e7; or at pgtol = 1e-33, which is never ([WANBIA-C] prints 1e-32).
_PAPER: Mapping[str, Any] = {
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
    """What the linear families share.

    A deriving class that overrides `make` is not fitted to tables that are read in batches unless it has a
    `make_stream` too, and does not learn row by row unless it says `learns_rows`: both would leave its change out.
    """

    has_steps = True
    streams = True

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.estimator = f"alrviz.estimators.cells.{cls.__name__}Classifier"  # made there unless it is written out
        own = vars(cls).keys()
        # Learning row by row counts all tuples of one order, as they are: not those of a family with tuples of its own,
        # nor what its `make` changes. `make_stream` does not call `make` either.
        if {"tuples", "all_tuples", "make"} & own and "learns_rows" not in own:
            cls.learns_rows = ""
        if "make" in own and not {"make_stream", "streams"} & own:
            cls.streams = False

    def chooses_tuples(self, params: Mapping[str, Any]) -> bool:
        """Return whether its models have some of `all_tuples` alone."""
        return type(self).tuples is not CellFamily.tuples

    def counted(self, params: Mapping[str, Any], n_columns: int) -> Sequence[int | AllOrders]:
        """All tuples of the order, where there are so many columns: the fit itself says that there are not."""
        order = params["order"]
        return (self.all_tuples(params),) if order != "auto" and order <= n_columns else ()

    def all_tuples(self, params: Mapping[str, Any]) -> int | AllOrders:
        """Return the tuples whose cells are the model's, or that it is chosen from."""
        return int(params["order"])

    def estimate(self, recipe: "FitSettings", shape: TableShape, max_memory: int | None = None) -> Estimate:
        """By cells, counted or estimated; with those of the folds that find alpha."""
        return with_folds(estimate_cells(recipe, shape, max_memory), recipe, shape)

    def warm(self, recipe: "FitSettings", n_classes: int, wide: bool = False) -> float:
        """The passes of the fit, of keys of 32 bits or not."""
        return warm_fit(recipe, n_classes, wide)

    def warm_for(self, recipe: "FitSettings", prepared: "TrainingData", stop: StopToken = NEVER) -> float:
        """The passes; keys are of 32 bits where a block of the plan has so many joint values."""
        wide = prepared.plan(self.all_tuples(recipe.params), stop).largest > 2**16
        return self.warm(recipe, prepared.encoded.n_classes, wide)

    def make(self, request: FitRequest) -> FitProblem:
        """Cover the rows, count, assemble; AnJE like the others, at its own weights and with no steps to take."""
        prepared, params, tell, stop = request.prepared, request.params, request.tell, request.stop
        smoothing, classes = params["smoothing"], prepared.encoded.classes
        tell("counting cells")
        tuples = self.tuples(InMemory(request), params, prepared.encoded.n_columns)
        covered = prepared.covered(tuples, stop)
        tell("compiling")
        compiled = warm_fit(request.recipe, prepared.encoded.n_classes, covered.rows.has_wide_keys)
        tell("counting cells")
        tables = prepared.tables(tuples, smoothing, stop)
        # before the objective: both hold a table of all cells
        baseline = observers.baseline_losses(covered, tables, params.get("class_weight"), classes, stop)
        fit = assemble(
            covered.rows, covered.cover, tables, with_number(params), classes, stop, seed=request.recipe.seed,
            chains=prepared.encoded.chains,
        )  # fmt: skip
        return tuned(FitProblem(fit, covered.heldout, baseline, tables, compiled), request)

    def check_stream(self, params: Mapping[str, Any], n_columns: int) -> None:
        """The order, and what fits over chunks have: a `RecipeError` else."""
        if params["order"] != "auto":
            check_order(n_columns, params["order"])
        check_stream(params)

    def make_stream(self, request: StreamRequest) -> tuple[FitProblem, Estimate]:
        """Count in a pass, assemble; AnJE like the others, at its own weights and with no steps to take."""
        coded, params, stop = request.coded, request.recipe.params, request.stop
        cache, n_classes = coded.cache, len(coded.classes)
        n_validation = n_validation_rows(cache.n_rows("train"))  # rows that are not learned from while they choose
        request.tell("compiling")
        bends = params.get("solver") in ("auto", "tron", "lbfgs") or params.get("selection") == "gain"
        compiled = warm_stream(n_classes, coded.encoder.levels_, bends)
        request.tell("counting cells")

        @lru_cache(maxsize=1)  # what selecting has just counted it asks for again
        def count(tuples: Tuples, choosing: bool = False) -> StreamedCounts:
            n_rows, sample = cache.n_rows("train"), partial(first_rows, coded)
            require_memory(estimate_counting(tuples, n_rows, n_classes, coded.levels, request.allowed, sample, stop))
            own = request.chunks(n_validation if choosing or request.choosing else 0)
            request.used.append(own)
            return count_stream(
                coded.levels, tuples, own, n_classes, params["smoothing"], request.allowed // 8, request.n_jobs, stop
            )

        rows = validation_part(cache, n_classes) if request.choosing else test_part(cache, n_classes)
        first = first_rows(coded, n_validation if request.choosing else 0)
        trial, sample = step_trial(first), sample_trial(first)
        streamed = count(self.tuples(OverPasses(count, trial, sample, request), params, len(coded.levels)))
        estimate = estimate_stream(streamed, request.allowed, params.get("solver", "none"), sample.learned.n_rows)
        require_memory(estimate)
        spent = float(request.spent + sum(own.passes for own in request.used))
        request.tell("comparing with AnJE")
        baseline = observers.stream_losses(streamed, rows, stop)
        if params.get("solver") == "auto":
            request.tell("choosing a solver on a sample")
        fit = assemble_stream(
            streamed, trial, sample, params, stop, seed=request.recipe.seed, spent=spent, start=request.start
        )
        if fit.choice is not None:
            estimate = replace(estimate, choice=fit.choice)
        return FitProblem(fit, rows, baseline, streamed.tables, compiled), estimate

    def tuples(self, counted: SelectionRows, params: Mapping[str, Any], n_columns: int) -> Tuples:
        """Return the tuples whose cells are the model's, which the rows may tell."""
        return self.all_tuples(params)

    def objective_key(self, recipe: "FitSettings") -> Hashable:
        """Without a penalty families of one order share NLL, whatever their metric, unless weights are shared or
        bounded: then the scale says which phi can be reached. A penalty on phi depends on the model it pulls toward; a
        penalty on w also on the scale between w and phi (for lr without a scale w is phi).
        """
        of = recipe.params
        common: tuple[Hashable, ...] = (*self._cells_key(of), *rows_key(recipe), of.get("objective"))
        scale = (recipe.family, of.get("scale"), of.get("smoothing"))
        if of.get("share", "cell-class") != "cell-class" or of.get("bounds") is not None:
            common = (*common, of.get("share"), of.get("bounds"), *scale)
        if not of.get("alpha"):
            return (*common, 0.0)
        one_is_anje = of["order"] == 1 or of.get("scale") == "theta-gamma"
        center = "anje" if of["center"] == 1 and one_is_anje else of["center"]
        toward = (center, None if center == 0 else of.get("smoothing"))
        smooth = recipe.cuts in SMOOTH_WAYS  # the penalty is on steps of w
        plain = of.get("scale") in (None, "none") and not smooth
        on = ("phi",) if plain or (of["penalty"] == "phi" and not smooth) else (of["penalty"], *scale)
        own = recipe.to_json() if of["alpha"] == AUTO else of["alpha"]  # each chooses its own
        return (*common, own, *toward, *on)

    def _cells_key(self, params: Mapping[str, Any]) -> tuple[Hashable, ...]:
        """Equal for the cells of the same tuples."""
        every = self.all_tuples(params)
        if not self.chooses_tuples(params):
            return (every,)
        return (every, self.name, *(params[name] for name in self.params if name not in ALR.params))


class Fitted(CellFamily):
    """What lr and alr share: weights that are found."""

    paper = _PAPER
    smooths = True
    _labels: ClassVar[Mapping[str, str]]

    def check_together(self, params: Mapping[str, Any]) -> None:
        """Raise `RecipeError`, naming what does go together, if no model has these parameters at once."""
        if params["alpha"] == AUTO and (params["objective"] == "hinge" or params["bounds"] is not None):
            given = "objective='hinge'" if params["objective"] == "hinge" else f"bounds={params['bounds']!r}"
            raise RecipeError(
                f"alpha='auto' descends on validation log loss, which {given} does not go with; expected a number for "
                "alpha, or objective='nll' without bounds"
            )
        if params["alpha"] == AUTO and params["scale"] == "diagonal" and params["penalty"] == "phi":
            raise RecipeError(
                "scale='diagonal' measures the weights in units that alpha is part of, and alpha='auto' is not known "
                "before; expected a number for alpha, scale='none', or penalty='w'"
            )
        if params["alpha"] == AUTO and params["solver"] in STOCHASTIC:
            raise RecipeError(
                f"alpha='auto' is judged at the minimum of F, to which solver={params['solver']!r} does not come; "
                "expected solver='auto', or a number for alpha"
            )
        if params["solver"] != "auto":
            check_solver(params["solver"], params["objective"], params["bounds"] is not None, batches=True)
        if params["scale"] == "diagonal-adaptive":
            _check_adaptive(params)
        if params["share"] != "cell-class" and params["scale"] in ("diagonal", "diagonal-adaptive"):
            raise RecipeError(
                f"share={params['share']!r} with scale={params['scale']!r} is no model: that scale is made for one "
                "weight per cell and class; expected share='cell-class', or scale='none'"
            )

    def check_smooth(self, params: Mapping[str, Any]) -> None:
        """A step moves the weights of many cells: a `RecipeError` where cells are taken one by one."""
        for name, able in _SMOOTH.items():
            if self.smooths and params[name] not in able:
                raise RecipeError(
                    f"{name}={params[name]!r} is not there for smooth levels; expected {name}={able[0]!r}, or "
                    "discretize='quantile'"
                )

    def label(self, params: Mapping[str, Any]) -> str:
        """The scale's own label where it has one."""
        return self._labels.get(params["scale"], self.name)

    def title(self, params: Mapping[str, Any]) -> str:
        """Order, start, loss, penalty, sharing, bounds and solver."""
        p = params
        strength = {"cv": "by CV", AUTO: "chosen by itself"}.get(p["alpha"]) or in_digits(p["alpha"])
        alpha = "" if p["alpha"] == 0 else f", L2 penalty {strength} on {p['penalty']}{toward(p)}"
        shared = "" if p["share"] == "cell-class" else f", share {p['share']}"
        loss = "" if p["objective"] == "nll" else f", {p['objective']}"
        bounds = "" if p["bounds"] is None else ", w between {} and {}".format(*p["bounds"])
        solver = SOLVER_NAMES[self.solver(p)]
        return f"{self.label(p)} n={p['order']} from {p['start']}{loss}{alpha}{shared}{bounds}, {solver}"

    def learned_by(self, params: Mapping[str, Any]) -> str:
        """By the loss that is minimised."""
        loss = "logistic regression" if params["objective"] == "nll" else f"minimising the {params['objective']} loss"
        return f"{loss}, regularised" if self.is_regularised(params) else f"{loss}, without regularisation"

    def is_regularised(self, params: Mapping[str, Any]) -> bool:
        """Of any order; alpha = inf leaves an order out."""
        alpha = params["alpha"]
        return any(number not in (0, math.inf) for number in (alpha if isinstance(alpha, tuple) else (alpha,)))

    def solver(self, params: Mapping[str, Any]) -> str:
        """As choice.py tells."""
        return chosen_solver(params)

    def draws(self, params: Mapping[str, Any]) -> bool:
        """A random start, and the order of rows."""
        return params["start"] == "random" or self.solver(params) in (*STOCHASTIC, *IN_BATCHES)


class LR(Fitted):
    """LR^n: logistic regression on cells."""

    name = words = "lr"
    learns_rows = "ones"
    rival = "alr"
    # The defaults of the penalty, here and in ALR, are those that docs/defaults.md measures.
    params: ClassVar[Mapping[str, Param]] = {
        "scale": SCALE.among("none", "diagonal", "diagonal-adaptive"),
        "order": ORDER,
        "objective": OBJECTIVE,
        "alpha": ALPHA,
        "penalty": PENALTY,
        "center": CENTER.among(0, "anje", "shares"),
        "start": START.among("zero", "anje", "random"),
        "solver": SOLVER,
        "memory": MEMORY,
        "max_iter": MAX_ITER,
        "tol": TOL,
        "share": SHARE,
        "bounds": BOUNDS,
        "smoothing": SMOOTHING,
        "missing": MISSING,
        "unseen": UNSEEN,
        "class_weight": CLASS_WEIGHT,
    }
    _labels: ClassVar[Mapping[str, str]] = {"diagonal": "diagonal", "diagonal-adaptive": "adaptive"}
    colours: ClassVar[Mapping[str, str]] = {"lr": "#D55E00", "diagonal": "#E69F00", "adaptive": "#CC79A7"}
    aliases: ClassVar[Mapping[str, str]] = {
        "diagonal": 'Recipe("lr", scale="diagonal")',
        "adaptive": 'Recipe("lr", scale="diagonal-adaptive")',
    }

    def check_together(self, params: Mapping[str, Any]) -> None:
        """AnJE as a start or a center is no lr between bounds or of shared weights: a `RecipeError`."""
        super().check_together(params)
        for name in ("start", "center"):
            if params["share"] != "cell-class" and params[name] == "anje":
                raise RecipeError(
                    f"{name}='anje' needs a weight per cell and class in lr, and share={params['share']!r} has fewer; "
                    f"expected share='cell-class', {name}={'zero' if name == 'start' else 0!r}, or family 'alr'"
                )
        if params["bounds"] is not None and params["start"] == "anje":
            raise RecipeError(
                f"start='anje' has logarithms for weights in lr, which are below bounds={params['bounds']!r}; expected "
                "start='zero', bounds=None, or family 'alr'"
            )


class ALR(Fitted):
    """ALR^n: weights of log theta, which preconditions the search."""

    name = words = "alr"
    learns_rows = "log theta"
    params: ClassVar[Mapping[str, Param]] = {
        **LR.params,
        "scale": SCALE.among("theta", "theta-gamma"),
        "alpha": replace(ALPHA, default=1.0),
        "penalty": replace(PENALTY, default="w"),
        "center": CENTER,
        "start": START,
    }
    _labels: ClassVar[Mapping[str, str]] = {"theta-gamma": "alrj"}
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
    params = TABLES
    paper: ClassVar[Mapping[str, Any]] = {"unseen": "m-estimate"}
    colours: ClassVar[Mapping[str, str]] = {"anje": GREY, "nb": GREY}
    aliases: ClassVar[Mapping[str, str]] = dict.fromkeys(("nb", "naivebayes"), 'Recipe("anje", order=1)')

    def label(self, params: Mapping[str, Any]) -> str:
        """Naive Bayes has a name of its own."""
        return "nb" if params["order"] == 1 else self.name

    def learned_by(self, params: Mapping[str, Any]) -> str:
        """Nothing is fitted."""
        return "counting (nothing is fitted)"

    def title(self, params: Mapping[str, Any]) -> str:
        """The order."""
        return f"{self.label(params)} n={params['order']}"


# What goes with smooth levels.
_SMOOTH: Mapping[str, tuple[object, ...]] = {
    "share": ("cell-class",), "scale": ("none", "theta", "theta-gamma"),
    "solver": ("auto", *(solver for solver in NEEDS if solver not in (*STOCHASTIC, *IN_BATCHES))),
}  # fmt: skip


def toward(params: Mapping[str, Any]) -> str:
    """Return words for what a penalty shrinks toward, "" for 0."""
    return "" if params["center"] == 0 else f" toward {center_name(params['center'])}"


def _check_adaptive(params: Mapping[str, Any]) -> None:
    if params["penalty"] == "w" and pulled(params):
        raise RecipeError(
            f"penalty='w' with alpha={params['alpha']} changes its meaning at every step of scale="
            "'diagonal-adaptive', whose weights change their units; expected penalty='phi', alpha=0 or scale='diagonal'"
        )
    solver = chosen_solver(params)
    if solver not in _TAKE_METRIC:
        listed = ", ".join(map(repr, ("auto", *_TAKE_METRIC)))
        free = " without bounds" if params["bounds"] is not None else ""
        raise RecipeError(
            f"solver={solver!r} cannot follow scale='diagonal-adaptive', which changes at every step; expected one of "
            f"{listed}{free}, or scale='diagonal'"
        )
