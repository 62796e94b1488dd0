"""keep="auto": validation rows (D_CV) choose the share of tuples to keep, before the fit to all training rows.

    keep     1, .8, ... .05: the smallest share whose log loss is within one standard error of the lowest

Each candidate is fitted to the training rows without the validation rows; standard errors are of the rows' differences.
Test rows have no part in it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting.families.alpha_folds import final_weights
from alrviz.fitting.families.family import FitProblem
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.choose_alpha import GridSearch, choose_alpha, row_losses
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import StopToken

SHARES = GridSearch((1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05), patience=2, one_standard_error=True)
# Returns the fit of a recipe to the training rows without the validation rows, which are its held-out rows.
Build = Callable[[Recipe], FitProblem]


def choose_n_tuples(recipe: Recipe, build: Build, stop: StopToken) -> tuple[Recipe, str]:
    """Return the recipe with the share of tuples that the validation rows chose, and a sentence.

    Args:
        recipe: a recipe with keep="auto".
        build: see `Build`.
        stop: ends the search between two steps.

    Raises:
        MemoryLimitError: not even the smallest model fits.
        RecipeError: no fit ended well.
    """
    fold, losses = ShareFold(recipe, build), dict[float, float]()
    best = choose_alpha([fold], SHARES, stop, lambda candidate: losses.update({candidate.values[0]: candidate.loss}))
    if best is None:
        raise fold.memory_error or RecipeError(
            'keep="auto" found no share of the tuples whose fit ends well; give a number'
        )
    (keep,), lowest = best.values, min(losses, key=lambda share: losses[share])
    comparison = f"within one standard error of the lowest, {losses[lowest]:.4f} at {lowest:g}"
    return recipe.replace(keep=keep), (
        f"keep={keep:g} was chosen by log loss on {round(float(best.weights.sum())):,} validation rows: "
        f"{best.loss:.4f}, {'the lowest' if keep == lowest else comparison}"
    )


@dataclass
class ShareFold:
    """Fits of a recipe that keep a share of the tuples; `memory_error` is set if the last did not fit into memory."""

    recipe: Recipe
    build: Build
    weights: Floats = field(default_factory=lambda: np.ones(1))
    memory_error: MemoryLimitError | None = None

    def evaluate(
        self, value: Floats, sloped: bool, stop: StopToken, close: bool = False
    ) -> tuple[Floats, Floats, float]:
        """Return the validation losses by row; a model that needs too much memory counts as failed; see `Fold`."""
        try:
            losses, self.weights = self._losses(self.recipe.replace(keep=float(value[0])), stop)
        except MemoryLimitError as error:
            self.memory_error, self.weights = error, np.ones(1)
            losses = np.array([np.inf])
        return losses, np.zeros(1), 0.0

    def _losses(self, recipe: Recipe, stop: StopToken) -> tuple[Floats, Floats]:
        problem = self.build(recipe)
        rows = problem.heldout
        assert rows is not None
        return row_losses(problem.fit.objective, final_weights(problem, stop), rows), rows.weights
