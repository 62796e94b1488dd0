"""The folds by which "auto" is chosen: training rows that judge fits of the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.errors import RecipeError
from alrviz.fitting.families.family import BuiltFit, FitRequest
from alrviz.fitting.folds import FOLDS, MANY, split_folds
from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.pricing.price import price_of, require_memory
from alrviz.fitting.solvers.alpha_tuned import AlphaFold, AlphaTrial, AlphaTuned, judged_on, row_losses
from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.fitting.solvers.tron import Tron
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.fitting.recipe import Recipe

AUTO = "auto"
# The alpha of all orders before any is known, and where rows are too few to hold some out.
BEFORE = 1.0


def with_number(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a fit whose alpha is still to be found."""
    return {**params, "alpha": BEFORE} if params.get("alpha") == AUTO else params


def tuned(made: BuiltFit, request: FitRequest) -> BuiltFit:
    """Return the fit with a solver that finds its alphas first, where they are to be found."""
    if request.params.get("alpha") != AUTO:
        return made
    solver = AlphaTuned(made.fit.solver, _n_alphas(request.recipe), lambda: _to_tune(request), BEFORE, request.stop)
    return replace(made, fit=replace(made.fit, solver=solver))


def best_on_folds(request: FitRequest, hear: Callable[[dict[str, float]], None]) -> AlphaTrial | None:
    """Return what became of a recipe on its folds, at its best alphas where they are to be found, losses row by row;
    None where there are too few rows to hold some out. `hear` hears of each trial.
    """
    if request.params.get("alpha") != AUTO:
        own = [_fold(made, weights_at_end(made, request.stop)) for made in _folds(request, False)]
        trial = judged_on(own, [row_losses(fold.objective, fold.w, fold.heldout) for fold in own]) if own else None
        if trial is not None:
            hear({"log_loss": trial.loss})
        return trial
    search = AlphaTuned(Tron(), _n_alphas(request.recipe), lambda: _to_tune(request, False), BEFORE, request.stop)
    trials = search.trials()
    while True:
        try:
            trial = next(trials)
        except StopIteration as end:
            best: AlphaTrial | None = end.value
            return best
        hear({**trial.named, "log_loss": trial.loss})


def weights_at_end(made: BuiltFit, stop: StopToken) -> Floats:
    """Return the weights at the end of a fit."""
    fit = made.fit
    judge = ConvergenceTest(fit.objective, fit.max_iter, fit.tol, fit.spent)
    state = fit.solver.init(fit.objective, fit.w0)
    while judge.verdict(state) is None:
        stop.check()
        state = fit.solver.look(fit.objective, fit.solver.advance(fit.objective, state))
    w: Floats = state.point.w
    return w


def _n_alphas(recipe: "Recipe") -> int:
    return recipe.params["order"] if recipe.definition.params["alpha"].each else 1


def _to_tune(request: FitRequest, merge: bool = True) -> Sequence[AlphaFold]:
    return [_fold(made, made.fit.w0) for made in _folds(request, merge)]


def _fold(made: BuiltFit, w: Floats) -> AlphaFold:
    assert isinstance(made.fit.objective, LinearObjective) and isinstance(made.heldout, Rows)
    return AlphaFold(made.fit.objective, made.heldout, w)


def _folds(request: FitRequest, merge: bool) -> Sequence[BuiltFit]:
    prepared, recipe = request.prepared, request.recipe
    encoded, found = prepared.encoded, list[BuiltFit]()
    try:
        splits = split_folds(encoded.y, FOLDS, recipe.seed, prepared.splitting)
    except RecipeError:  # fewer rows, groups or times than folds
        return []
    plain = recipe.replace(**with_number(recipe.params))
    for train, test in splits[: 1 if encoded.n_rows > MANY else FOLDS]:
        test = test[np.isin(encoded.y[test], encoded.y[train])]  # others say nothing about alpha
        if not len(test) or len(np.unique(encoded.y[train])) < 2:
            continue
        part = Prepared(encoded.take(train), encoded.take(test), prepared.encoder, prepared.n_jobs, merge)
        require_memory(price_of(part.encoded, plain, part.holdout, request.max_memory, request.stop, prepared=part))
        made = recipe.definition.make(
            replace(
                request, prepared=part, recipe=plain, params=with_number(request.params), tell=lambda what: None,
                hear=lambda level: None,
            )
        )  # fmt: skip
        found.append(made)
    return found
