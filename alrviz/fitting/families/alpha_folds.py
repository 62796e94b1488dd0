"""The folds by which "auto" is chosen: training rows that judge fits of the others."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import comb, floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.data.splits import n_validation_folds, one_fold_suffices, validation_folds
from alrviz.errors import RecipeError
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate, estimate, require_memory
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families.family import FitProblem, FitRequest
from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.objectives.protocol import ObjectiveProtocol
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.solvers.alpha_tuned import AlphaFold, AlphaTuned, RowFold
from alrviz.fitting.solvers.choose_alpha import Candidate, Descent, Fold, choose_alpha, judged_on, row_losses
from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.fitting.solvers.row_space import SharedRows, shared
from alrviz.models.cell_space import MAX_GRID_CELLS, count_cells, has_full_grid, space_of, tuple_columns, tuple_sizes
from alrviz.models.parameterisation import Alpha
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.fitting.fit_settings import FitSettings

AUTO = "auto"
# The alpha of all orders before any is found, and if the rows are too few to hold some out.
INITIAL_ALPHA = 1.0
# Maximum rows of fits by the Gram matrix, which each fold keeps in memory, quadratic in the rows; and how many of its
# entries take the time of a cell.
MAX_GRAM_ROWS, PAIRS_PER_CELL = 3000, 50.0
# By which share of F a step would lower it where passes go on.
NEARLY = 1e-5


def with_number(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a fit whose alpha is still to be found."""
    return {**params, "alpha": INITIAL_ALPHA} if params.get("alpha") == AUTO else params


def with_folds(fit: Estimate, recipe: "FitSettings", shape: TableShape) -> Estimate:
    """Return the estimate of a fit together with its folds, which are in memory beside it while alphas are searched."""
    encoded = shape.encoded
    if recipe.params.get("alpha") != AUTO or fit.refused:
        return fit
    folds = n_validation_folds(encoded.class_rows)
    each = fit.cost.bytes
    if by_rows(recipe, encoded):  # a third of the rows beside the others, and the others beside themselves
        each = 4 * encoded.n_rows**2 * (_n_alphas(recipe) + 1)
    cost, refused = fit.cost.alongside(Cost(bytes=folds * each)), ""
    if cost.bytes > fit.allowed:
        refused = (
            f"alpha='auto' has {folds} fold{'s' * (folds > 1)} in memory beside the fit: about "
            f"{cost.bytes / 2**20:,.0f} MiB here, and {fit.allowed / 2**20:,.0f} MiB may be used. Choose a number for "
            "alpha, a lower order, fewer levels or columns, or a higher max_memory"
        )
    return replace(fit, cost=cost, refused=refused)


def tuned(made: FitProblem, request: FitRequest) -> FitProblem:
    """Return the fit with a solver that finds its alphas first, where they are to be found."""
    if request.params.get("alpha") != AUTO:
        return made
    solver = AlphaTuned(
        made.fit.solver, lambda: _to_tune(request), _descent(request), INITIAL_ALPHA, request.stop,
        partial(first_weights, made.fit.objective, request),
    )  # fmt: skip
    return replace(made, fit=replace(made.fit, solver=solver))


def best_on_folds(
    request: FitRequest, hear: Callable[[dict[str, float]], None], goal: Candidate | None = None
) -> Candidate | None:
    """Return what became of a recipe on its folds, at its best alphas where they are to be found, losses row by row;
    None where there are too few rows to hold some out. `hear` hears of each trial; where the first fold is not below
    the `goal`, the others may be left.
    """

    def told(candidate: Candidate) -> None:
        hear({**candidate.named, "log_loss": candidate.loss, "folds": candidate.folds})

    if request.params.get("alpha") != AUTO:
        folds = [_fold(made, weights_at_end(made, request.stop)) for made in _folds(request, False)]
        if not folds:
            return None
        given = judged_on(folds, [row_losses(fold.objective, fold.w, fold.heldout) for fold in folds])
        told(given)
        return given
    close = n_validation_folds(request.prepared.encoded.class_rows) == 1
    return choose_alpha(
        _to_tune(request, False), replace(_descent(request), goal=goal, close=close), request.stop, told
    )


def weights_at_end(made: FitProblem, stop: StopToken) -> Floats:
    """Return the weights (M,) at the end of a fit."""
    fit = made.fit
    judge = ConvergenceTest(fit.objective, fit.max_iter, fit.tol, fit.spent)
    state = fit.solver.init(fit.objective, fit.w0)
    while judge.verdict(state) is None:
        stop.check()
        state = fit.solver.look(fit.objective, fit.solver.advance(fit.objective, state))
    w: Floats = state.point.w
    return w


def _descent(request: FitRequest) -> Descent:
    """Of rows that count a million times alphas are as much larger, by whole decades, so that rows of small weights are
    searched as repeated ones are. And one fold of few rows judges too little to find the way.
    """
    encoded = request.prepared.encoded
    unit = 10.0 ** floor(log10(max(1.0, float(encoded.weights.mean()))))
    return Descent(_n_alphas(request.recipe), unit, one_fold_suffices(encoded.class_rows))


def _n_alphas(recipe: "FitSettings") -> int:
    return recipe.params["order"] if recipe.definition.params["alpha"].each else 1


def _to_tune(request: FitRequest, merge: bool = True) -> Iterator[Fold]:
    if not by_rows(request.recipe, request.prepared.encoded):
        yield from (_fold(made, made.fit.w0) for made in _folds(request, merge))
        return
    order, whole, jobs = request.params["order"], _n_alphas(request.recipe) > 1, request.prepared.n_jobs
    for learned, judging in _splits(request):
        request.stop.check()
        learned, judging = (_telling_columns(rows, request.recipe) for rows in (learned, judging))
        fit = _shared_rows(learned, request, whole)
        yield RowFold(fit, shared(judging, learned, order, whole, jobs), judging.y, judging.weights)


def first_weights(objective: ObjectiveProtocol, request: FitRequest, alpha: Alpha) -> Floats | None:
    """Return the weights (M,) of the minimum at these alphas, by what rows share; None where it is found otherwise."""
    prepared, stop = request.prepared, request.stop
    if not isinstance(objective, LinearObjective) or not by_rows(request.recipe, prepared.encoded):
        return None
    learned = _telling_columns(prepared.learned(stop), request.recipe)
    fit = _shared_rows(learned, request, _n_alphas(request.recipe) > 1)
    fit.fit(alpha if isinstance(alpha, tuple) else (alpha,), NEARLY)
    residual = objective.rows.scores()
    residual[:, : objective.n_classes] = fit.residual.T
    w: Floats = objective.center - objective.slopes(residual) / objective.ridge
    return w


def _shared_rows(encoded: Encoded, request: FitRequest, whole: bool) -> SharedRows:
    offset, params = np.zeros(encoded.n_classes), request.params
    if params["center"] == "shares":
        own = np.bincount(encoded.y, encoded.weights, encoded.n_classes) + params["smoothing"] / encoded.n_classes
        offset = np.log(own / own.sum())
    by_order = shared(encoded, encoded, params["order"], whole, request.prepared.n_jobs)
    return SharedRows(by_order, encoded.y, encoded.weights, offset, request.prepared.n_jobs, request.stop)


def _telling_columns(encoded: Encoded, recipe: "FitSettings") -> Encoded:
    """The columns that a recipe's tuples are made of."""
    tuples = recipe.definition.counted(recipe.params, encoded.n_columns)[-1]
    return encoded.of_columns(tuple_columns(encoded.levels, tuples))


def by_rows(recipe: "FitSettings", encoded: Encoded) -> bool:
    """Return whether fits by what rows share are fits of this recipe, and take less than passes over its cells."""
    params, order, n, a = recipe.params, recipe.params["order"], encoded.n_rows, encoded.n_columns
    plain = all(params.get(name, only[0]) in only for name, only in _PLAIN.items())
    if recipe.family not in ("lr", "hlr") or not plain or order > a or n > MAX_GRAM_ROWS:
        return False
    tuples = recipe.definition.counted(params, a)[-1]
    levels = encoded.levels[tuple_columns(encoded.levels, tuples)]
    a = len(levels)
    cells = sum(
        min(count_cells(levels, size), comb(a, size) * max(n, MAX_GRID_CELLS)) for size in tuple_sizes(tuples, a)
    )
    if n * n > PAIRS_PER_CELL * cells:
        return False
    space = space_of(encoded.levels, tuples)
    smooth = (encoded.smooth_levels[space.tuples] > 0).any(axis=1)
    return not smooth.any() or bool(has_full_grid(space, encoded.chains)[smooth].all())


# What a fit by what rows share is a fit of; the first is what a family without the parameter has.
_PLAIN: Mapping[str, tuple[Any, ...]] = {
    "scale": ("none",), "share": ("cell-class",), "objective": ("nll",), "bounds": (None,), "unseen": ("neutral",),
    "keep": (1.0,), "class_weight": (None,), "center": (0, "shares"),
}  # fmt: skip


def _fold(made: FitProblem, w: Floats) -> AlphaFold:
    assert isinstance(made.fit.objective, LinearObjective) and isinstance(made.heldout, Rows)
    return AlphaFold(made.fit.objective, made.heldout, w)


def _splits(request: FitRequest) -> Iterator[tuple[Encoded, Encoded]]:
    """The rows of each fold to learn from and to judge by, those that can."""
    encoded = request.prepared.encoded
    try:
        folds = validation_folds(encoded.y, encoded.class_rows, request.recipe.seed, request.prepared.splitting)
    except RecipeError:  # fewer rows, groups or times than folds
        return
    for fold in folds:
        yield request.prepared.fold(fold, request.stop)


def _folds(request: FitRequest, merge: bool) -> Iterator[FitProblem]:
    prepared, recipe = request.prepared, request.recipe
    plain = recipe.replace(**with_number(recipe.params))
    for learned, judging in _splits(request):
        part = TrainingData(learned, judging, prepared.encoder, prepared.n_jobs, merge)
        require_memory(estimate(plain, TableShape.of(part, request.stop), request.max_memory))
        yield recipe.definition.make(
            replace(
                request, prepared=part, recipe=plain, params=with_number(request.params), tell=lambda what: None,
                hear=lambda level: None,
            )
        )  # fmt: skip
