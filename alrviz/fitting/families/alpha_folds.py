"""The folds by which alpha="auto" is chosen: training rows that judge fits of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from alrviz.errors import RecipeError
from alrviz.fitting.families.family import BuiltFit, FitRequest
from alrviz.fitting.folds import FOLDS, MANY, split_folds
from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.pricing.price import price_of, require_memory
from alrviz.fitting.solvers.alpha_tuned import AlphaFold, AlphaSearch, AlphaTuned
from alrviz.fitting.solvers.tron import Tron
from alrviz.passes.rows import Rows

AUTO = "auto"
# The alpha of all orders before any is known, and where rows are too few to hold some out.
BEFORE = 1.0


def with_number(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a fit whose alpha is still to be found."""
    return {**params, "alpha": BEFORE} if params.get("alpha") == AUTO else params


def tuned(made: BuiltFit, request: FitRequest, n_alphas: int) -> BuiltFit:
    """Return the fit with a solver that finds its alphas first, where they are to be found; one for all, or several."""
    if request.params.get("alpha") != AUTO:
        return made

    solver = AlphaTuned(made.fit.solver, n_alphas, lambda: _folds(request), BEFORE, request.stop)
    return replace(made, fit=replace(made.fit, solver=solver))


def trials(request: FitRequest, n_alphas: int) -> AlphaSearch:
    """Yield the alphas that are tried for a fit, and return the best; losses row by row, none merged."""
    return AlphaTuned(Tron(), n_alphas, lambda: _folds(request, False), BEFORE, request.stop).trials()


def _folds(request: FitRequest, merge: bool = True) -> Sequence[AlphaFold]:
    prepared, recipe = request.prepared, request.recipe
    encoded, found = prepared.encoded, list[AlphaFold]()
    try:
        splits = split_folds(encoded.y, FOLDS, recipe.seed, prepared.splitting)
    except RecipeError:  # fewer rows, groups or times than folds
        return []
    plain = recipe.replace(alpha=BEFORE)
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
        assert isinstance(made.fit.objective, LinearObjective) and isinstance(made.heldout, Rows)
        found.append(AlphaFold(made.fit.objective, made.heldout, made.fit.w0))
    return found
