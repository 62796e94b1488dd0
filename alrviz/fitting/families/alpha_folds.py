"""The folds that choose alpha="auto": fits to a part of the training rows, compared on the rest."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import comb, floor, log10
from typing import Any

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.data.splits import n_validation_folds, one_fold_suffices, validation_folds
from alrviz.errors import RecipeError
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate, estimate, require_memory
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families.family import FitProblem, FitRequest
from alrviz.fitting.fit_settings import FitSettings, Params
from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.objectives.ridge import FitObjective
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.solvers.alpha_tuned import AlphaFold, AlphaTuned, RowFold
from alrviz.fitting.solvers.choose_alpha import Candidate, Descent, SlopedFold, candidate_of, choose_alpha, row_losses
from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.fitting.solvers.row_space import GramFit, gram_matrices
from alrviz.models.cell_space import MAX_GRID_CELLS, count_cells, has_full_grid, space_of, tuple_columns, tuple_sizes
from alrviz.models.linear import LinearModel
from alrviz.models.parameterisation import Alpha
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.stop import Deadline, StopToken

AUTO = "auto"
# The alpha of all orders before any is chosen, and if there are too few rows to hold some out.
INITIAL_ALPHA = 1.0
# A Gram matrix, one per fold in memory, is quadratic in the rows; a pass over cells takes as long per cell as one over
# so many of its entries.
MAX_GRAM_ROWS, PAIRS_PER_CELL = 3000, 50.0
# The relative decrease of F per step at which passes over cells take over from the Gram matrix.
HANDOVER_TOL = 1e-5


def with_number(params: Params) -> Params:
    """Return a fit's parameters with a number in place of alpha="auto"."""
    return {**params, "alpha": INITIAL_ALPHA} if params.get("alpha") == AUTO else params


def with_folds(fit: Estimate, recipe: FitSettings, shape: TableShape) -> Estimate:
    """Return the estimate of a fit of `recipe` together with its folds, which are in memory beside it during the
    search.
    """
    encoded = shape.encoded
    if recipe.params.get("alpha") != AUTO or fit.refusal:
        return fit
    folds = n_validation_folds(encoded.class_rows)
    fold_bytes = fit.cost.bytes
    if uses_gram_matrix(recipe, encoded):  # validation with training rows, and training rows with themselves
        fold_bytes = 4 * encoded.n_rows**2 * (_n_alphas(recipe) + 1)
    cost, refusal_text = fit.cost.alongside(Cost(bytes=folds * fold_bytes)), ""
    if cost.bytes > fit.max_bytes:
        refusal_text = (
            f"alpha='auto' has {folds} fold{'s' * (folds > 1)} in memory beside the fit: about "
            f"{cost.bytes / 2**20:,.0f} MiB here, and {fit.max_bytes / 2**20:,.0f} MiB may be used. Choose a number "
            "for alpha, a lower order, fewer levels or columns, or a higher max_memory"
        )
    return replace(fit, cost=cost, refusal=refusal_text)


def with_alpha_search(problem: FitProblem, request: FitRequest) -> FitProblem:
    """Return the fit with a solver that first finds the alphas, if alpha="auto"."""
    if request.params.get("alpha") != AUTO:
        return problem
    limited = replace(request, stop=Deadline(request.stop, request.search_seconds))
    solver = AlphaTuned(
        problem.fit.solver, lambda: _alpha_folds(limited), _descent(request), INITIAL_ALPHA, limited.stop,
        partial(first_weights, problem.fit.objective, request),
    )  # fmt: skip
    return replace(problem, fit=replace(problem.fit, solver=solver))


def best_on_folds(
    request: FitRequest,
    on_trial: Callable[[dict[str, float]], None],
    goal: Candidate | None = None,
    start_models: Sequence[LinearModel] = (),
) -> tuple[Candidate | None, list[LinearModel]]:
    """Evaluate a recipe on its folds, at its best alphas with alpha="auto"; return the candidate with its losses by
    row, and a model of each fold if alphas were chosen by passes over cells.

    The candidate is None if there are too few rows to hold some out. `on_trial` is called with each trial. Folds that
    cannot decide whether it is below the `goal` are left out. `start_models`: at which the first fits of folds start.
    """

    def report_candidate(candidate: Candidate) -> None:
        on_trial({**candidate.alphas_by_name, "log_loss": candidate.loss, "folds": candidate.folds})

    if request.params.get("alpha") != AUTO:
        folds = [_alpha_fold(problem, final_weights(problem, request.stop)) for problem in _folds(request, False)]
        if not folds:
            return None, []
        candidate = candidate_of(folds, [row_losses(fold.objective, fold.w, fold.heldout) for fold in folds])
        report_candidate(candidate)
        return candidate, []
    close = n_validation_folds(request.prepared.encoded.class_rows) == 1
    cell_folds: list[AlphaFold] = []

    def alpha_folds() -> Iterator[SlopedFold]:
        start = iter(start_models)
        for fold in _alpha_folds(request, False):
            if isinstance(fold, AlphaFold):
                cell_folds.append(fold)
                if (model := next(start, None)) is not None:
                    fold.start_at(model)
            yield fold

    strategy = replace(_descent(request), goal=goal, close=close)
    best_candidate = choose_alpha(alpha_folds(), strategy, request.stop, report_candidate)
    if best_candidate is None:
        return None, []
    return best_candidate, [fold.model_near(np.exp(best_candidate.log_values)) for fold in cell_folds]


def final_weights(problem: FitProblem, stop: StopToken) -> Floats:
    """Return the weights (M,) at the end of a fit."""
    fit = problem.fit
    test = ConvergenceTest(fit.objective, fit.max_iter, fit.tol, fit.passes_before)
    state = fit.solver.init(fit.objective, fit.w0)
    while test.verdict(state) is None:
        stop.check()
        state = fit.solver.with_report_point(fit.objective, fit.solver.advance(fit.objective, state))
    w: Floats = state.point.w
    return w


def _descent(request: FitRequest) -> Descent:
    """Return the search for alphas.

    If rows have a mean weight of a million, alphas are as much larger, by whole decades, so that they are searched as
    for repeated rows. A single fold of few rows is too noisy to follow its slope.
    """
    encoded = request.prepared.encoded
    unit = 10.0 ** floor(log10(max(1.0, float(encoded.weights.mean()))))
    return Descent(_n_alphas(request.recipe), unit, one_fold_suffices(encoded.class_rows))


def _n_alphas(recipe: FitSettings) -> int:
    return recipe.params["order"] if recipe.definition.params["alpha"].per_order else 1


def _alpha_folds(request: FitRequest, merge: bool = True) -> Iterator[SlopedFold]:
    """Yield folds on which alphas are tried: by Gram matrices where these are faster; merge: whether equal rows are
    merged.
    """
    if not uses_gram_matrix(request.recipe, request.prepared.encoded):
        yield from (_alpha_fold(problem, problem.fit.w0) for problem in _folds(request, merge))
        return
    order, all_orders, jobs = request.params["order"], _n_alphas(request.recipe) > 1, request.prepared.n_jobs
    for training, validation in _splits(request):
        request.stop.check()
        training, validation = (_informative_columns(rows, request.recipe) for rows in (training, validation))
        fit = _shared_rows(training, request, all_orders)
        yield RowFold(
            fit, gram_matrices(validation, training, order, all_orders, jobs), validation.y, validation.weights
        )


def first_weights(objective: FitObjective, request: FitRequest, alpha: Alpha) -> Floats | None:
    """Return the weights (M,) of the minimum at these alphas from the Gram matrix; None if it does not apply."""
    prepared, stop = request.prepared, request.stop
    if not isinstance(objective, LinearObjective) or not uses_gram_matrix(request.recipe, prepared.encoded):
        return None
    training = _informative_columns(prepared.merged_rows(stop), request.recipe)
    fit = _shared_rows(training, request, _n_alphas(request.recipe) > 1)
    fit.fit(alpha if isinstance(alpha, tuple) else (alpha,), HANDOVER_TOL)
    residual = objective.rows.scores()
    residual[:, : objective.n_classes] = fit.residual.T
    w: Floats = objective.center - objective.slopes(residual) / objective.ridge
    return w


def _shared_rows(encoded: Encoded, request: FitRequest, all_orders: bool) -> GramFit:
    """Return the fit by Gram matrices of training rows; all_orders: of each order up to the highest."""
    offset, params = np.zeros(encoded.n_classes), request.params
    if params["center"] == "shares":
        class_sums = (
            np.bincount(encoded.y, encoded.weights, encoded.n_classes) + params["smoothing"] / encoded.n_classes
        )
        offset = np.log(class_sums / class_sums.sum())
    by_order = gram_matrices(encoded, encoded, params["order"], all_orders, request.prepared.n_jobs)
    return GramFit(by_order, encoded.y, encoded.weights, offset, request.prepared.n_jobs, request.stop)


def _informative_columns(encoded: Encoded, recipe: FitSettings) -> Encoded:
    """Return the encoded columns that tuples of the recipe can contain."""
    tuples = recipe.definition.counted_tuples(recipe.params, encoded.n_columns)[-1]
    return encoded.of_columns(tuple_columns(encoded.levels, tuples))


def uses_gram_matrix(recipe: FitSettings, encoded: Encoded) -> bool:
    """Return whether a recipe can be fitted by Gram matrices, in less time than by passes over its cells."""
    params, order, n_rows, n_columns = recipe.params, recipe.params["order"], encoded.n_rows, encoded.n_columns
    is_supported = all(
        params.get(name, allowed_values[0]) in allowed_values for name, allowed_values in _GRAM_SETTINGS.items()
    )
    if not (recipe.definition.fits_by_gram and is_supported) or order > n_columns or n_rows > MAX_GRAM_ROWS:
        return False
    tuples = recipe.definition.counted_tuples(params, n_columns)[-1]
    levels_in_tuples = encoded.levels[tuple_columns(encoded.levels, tuples)]
    n_tuple_columns = len(levels_in_tuples)
    n_cells = sum(
        min(count_cells(levels_in_tuples, size), comb(n_tuple_columns, size) * max(n_rows, MAX_GRID_CELLS))
        for size in tuple_sizes(tuples, n_tuple_columns)
    )
    if n_rows * n_rows > PAIRS_PER_CELL * n_cells:
        return False
    space = space_of(encoded.levels, tuples)
    has_smooth_column = (encoded.smooth_levels[space.tuples] > 0).any(axis=1)
    return not has_smooth_column.any() or bool(has_full_grid(space, encoded.chains)[has_smooth_column].all())


# The settings that Gram matrices support; the first is that of a family without the parameter.
_GRAM_SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "scale": ("none",), "share": ("cell-class",), "objective": ("nll",), "bounds": (None,), "unseen": ("neutral",),
    "keep": (1.0,), "class_weight": (None,), "center": (0, "shares"),
}  # fmt: skip


def _alpha_fold(problem: FitProblem, w: Floats) -> AlphaFold:
    assert isinstance(problem.fit.objective, LinearObjective) and isinstance(problem.heldout, Rows)
    return AlphaFold(problem.fit.objective, problem.heldout, w)


def _splits(request: FitRequest) -> Iterator[tuple[Encoded, Encoded]]:
    """Yield the training and validation rows of each fold; none if the rows cannot be divided."""
    encoded = request.prepared.encoded
    try:
        folds = validation_folds(encoded.y, encoded.class_rows, request.recipe.seed, request.prepared.splitting)
    except RecipeError:  # fewer rows, groups or times than folds
        return
    for fold in folds:
        yield request.prepared.fold(fold, request.stop)


def _folds(request: FitRequest, merge: bool) -> Iterator[FitProblem]:
    """Yield the fit of each fold, at a fixed alpha; merge: whether equal rows are merged."""
    prepared, recipe = request.prepared, request.recipe
    fixed_alpha_recipe = recipe.replace(**with_number(recipe.params))
    for training, validation in _splits(request):
        fold_data = TrainingData(training, validation, prepared.encoder, prepared.n_jobs, merge)
        require_memory(
            estimate(fixed_alpha_recipe, TableShape.from_prepared(fold_data, request.stop), request.max_memory)
        )
        yield recipe.definition.make(
            replace(
                request, prepared=fold_data, recipe=fixed_alpha_recipe, params=with_number(request.params),
                report=lambda status: None, on_level=lambda level: None,
            )
        )  # fmt: skip
