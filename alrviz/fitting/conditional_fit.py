"""From prepared rows and a recipe of ELR to what a driver runs: structure, objective, folds, solver, start."""

from collections.abc import Mapping
from typing import Any

from alrviz.fitting.assemble import Fit
from alrviz.fitting.conditional import ConditionalRows, conditional
from alrviz.fitting.networks import structure_of
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.brent import BrentGradients
from alrviz.fitting.solvers.cross_tuned import FOLDS, CrossTuned, Fold, fold_of_rows
from alrviz.stop import NEVER, StopToken


def assemble_conditional(
    prepared: Prepared, recipe: Recipe, params: Mapping[str, Any], stop: StopToken = NEVER
) -> tuple[Fit, ConditionalRows | None]:
    """Return the fit that "elr" with `params` (complete, as a recipe holds them) makes of prepared rows; held-out rows.

    The structure is that of all training rows, in the folds too.

    Raises:
        RecipeError: a structure that names no columns or has a circle, or a class weight that names no class.
    """
    structure, encoded = structure_of(prepared, recipe, stop), prepared.encoded
    objective, heldout = conditional(prepared, structure, params, stop)
    fold = fold_of_rows(encoded.y, recipe.seed)

    def make(number: int) -> Fold:
        held = fold == number
        part = Prepared(encoded.take(~held), encoded.take(held), None, prepared.n_jobs, merge=False)
        of, rows = conditional(part, structure, params, stop, weigh_heldout=True)
        assert rows is not None
        return Fold(of, rows, of.rows.n_rows / encoded.n_rows)

    max_iter = params["max_iter"]
    solver: BrentGradients | CrossTuned = BrentGradients()
    if params["cross_tuning"]:
        solver = CrossTuned(BrentGradients(), min(FOLDS, encoded.n_rows), make, max_iter)
    return Fit(objective, solver, objective.start, max_iter, params["tol"]), heldout
