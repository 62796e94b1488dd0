"""order="auto" and keep="auto": settings that training rows set apart (D_CV) choose, before all are learned from.

    order    1, 2, ... as long as AnJE of the next order has a lower log loss, by more than one standard error
    keep     1, .8, ... .05: the smallest share whose log loss is within one standard error of the lowest

Each model is learned from the training rows without D_CV; standard errors are those of the rows' differences. What was
chosen is learned from all training rows. Held-out rows have no part in it, so that they judge.
"""

from collections.abc import Callable

import numpy as np

from alrviz.errors import MemoryLimitError
from alrviz.fitting.families.family import BuiltFit
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.alpha_tuned import is_above, row_losses
from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import StopToken

KEEPS = (1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05)
WORSE = 2  # shares in a row that are worse by more than a standard error: smaller ones are not tried
HIGHEST = 12
AUTO = "auto"
# What a recipe makes of the training rows without D_CV, which is held out.
Build = Callable[[Recipe], BuiltFit]


def unsettled(recipe: Recipe) -> list[str]:
    """Return the settings that are still to be chosen."""
    return [name for name in ("order", "keep") if recipe.params.get(name) == AUTO]


def settle(recipe: Recipe, n_columns: int, build: Build, stop: StopToken) -> tuple[Recipe, list[str]]:
    """Return the recipe with what D_CV chose, and a sentence for each setting.

    Args:
        recipe: with "auto" for its order, its keep or both.
        n_columns: a.
        build: see `Build`.
        stop: ends it between two steps.

    Raises:
        MemoryLimitError: not even the smallest model fits.
    """
    said: list[str] = []
    if recipe.params.get("order") == AUTO:
        recipe, sentence = _order(recipe, n_columns, build, stop)
        said.append(sentence)
    if recipe.params.get("keep") == AUTO:
        recipe, sentence = _keep(recipe, build, stop)
        said.append(sentence)
    return recipe, said


def _order(recipe: Recipe, n_columns: int, build: Build, stop: StopToken) -> tuple[Recipe, str]:
    tried: list[tuple[Floats, Floats]] = []
    plural = "" if n_columns == 1 else "s"
    why = f"the table has {n_columns} column{plural}" if n_columns <= HIGHEST else f"{HIGHEST} is the highest order"
    smoothing = recipe.params["smoothing"] or 1.0  # AnJE takes logarithms of counts, which others may not
    for order in range(1, min(n_columns, HIGHEST) + 1):
        try:
            own = _losses(build(recipe.replace(family="anje", order=order, smoothing=smoothing)), stop)
        except MemoryLimitError:
            if not tried:
                raise
            why = f"order {order} needs more memory than may be used"
            break
        if tried and not is_above(tried[-1], own):
            why = f"at {order}, {_mean(own):.4f}, it is not lower by one standard error"
            break
        tried.append(own)
    listed = ", ".join(f"{_mean(own):.4f} at {order}" for order, own in enumerate(tried, 1))
    smoothed = "" if recipe.params["smoothing"] else ", smoothed by 1,"
    return recipe.replace(order=len(tried)), (
        f"order={len(tried)} was chosen by AnJE's log loss{smoothed} on {_rows(tried[0]):,} training rows set apart: "
        f"{listed}; "
        f"{why}"
    )


def _keep(recipe: Recipe, build: Build, stop: StopToken) -> tuple[Recipe, str]:
    tried: dict[float, tuple[Floats, Floats]] = {}
    best = worse = 0.0
    for share in KEEPS:
        try:
            own = _losses(build(recipe.replace(keep=share)), stop)
        except MemoryLimitError:
            if share == KEEPS[-1] and not tried:
                raise
            continue
        tried[share] = own
        best = min(tried, key=lambda share: _mean(tried[share]))
        worse = worse + 1 if is_above(own, tried[best]) else 0
        if worse == WORSE:
            break
    kept = min(share for share, own in tried.items() if not is_above(own, tried[best]))
    lowest = f"within one standard error of the lowest, {_mean(tried[best]):.4f} at {best:g}"
    return recipe.replace(keep=kept), (
        f"keep={kept:g} was chosen by log loss on {_rows(tried[best]):,} training rows set apart: "
        f"{_mean(tried[kept]):.4f}, {'the lowest' if kept == best else lowest}"
    )


def _losses(made: BuiltFit, stop: StopToken) -> tuple[Floats, Floats]:
    """-log p of each row of D_CV (n,) at the end of a fit, and their weights (n,)."""
    fit, rows = made.fit, made.heldout
    assert rows is not None
    judge = ConvergenceTest(fit.objective, fit.max_iter, fit.tol, fit.spent)
    state = fit.solver.init(fit.objective, fit.w0)
    while judge.verdict(state) is None:
        stop.check()
        state = fit.solver.look(fit.objective, fit.solver.advance(fit.objective, state))
    return row_losses(fit.objective, state.point.w, rows), rows.weights


def _mean(own: tuple[Floats, Floats]) -> float:
    return float(np.average(own[0], weights=own[1]))


def _rows(own: tuple[Floats, Floats]) -> int:
    return round(float(own[1].sum()))
