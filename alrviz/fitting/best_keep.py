"""keep="auto": how many tuples training rows set apart (D_CV) choose, before all are learned from.

    keep     1, .8, ... .05: the smallest share whose log loss is within one standard error of the lowest

Each model is learned from the training rows without D_CV; standard errors are those of the rows' differences. What was
chosen is learned from all training rows. Held-out rows have no part in it, so that they judge.
"""

from collections.abc import Callable

import numpy as np

from alrviz.errors import MemoryLimitError
from alrviz.fitting.families.alpha_folds import weights_at_end
from alrviz.fitting.families.family import BuiltFit
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.alpha_tuned import is_above, row_losses
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import StopToken

KEEPS = (1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05)
WORSE = 2  # shares in a row that are worse by more than a standard error: smaller ones are not tried
# What a recipe makes of the training rows without D_CV, which is held out.
Build = Callable[[Recipe], BuiltFit]


def best_keep(recipe: Recipe, build: Build, stop: StopToken) -> tuple[Recipe, str]:
    """Return the recipe with the share of tuples that D_CV chose, and a sentence.

    Args:
        recipe: with keep="auto".
        build: see `Build`.
        stop: ends it between two steps.

    Raises:
        MemoryLimitError: not even the smallest model fits.
    """
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
    rows = made.heldout
    assert rows is not None
    return row_losses(made.fit.objective, weights_at_end(made, stop), rows), rows.weights


def _mean(own: tuple[Floats, Floats]) -> float:
    return float(np.average(own[0], weights=own[1]))


def _rows(own: tuple[Floats, Floats]) -> int:
    return round(float(own[1].sum()))
