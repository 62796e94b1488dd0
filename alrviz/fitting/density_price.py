"""What a fit of DLR takes: free numbers and bytes, from the shape of the table alone."""

from typing import TYPE_CHECKING, NamedTuple

from alrviz.fitting.choice import Choice
from alrviz.fitting.recipe import Recipe
from alrviz.passes.room import lanes_of

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

# Sets of features alive at once: those of the point and of the trial, and the fresh ones on another grid.
_SETS = 3
# Arrays of scores alive at once: of both points, a direction, residuals.
_SCORES = 5
_WHY = "newton: a weight a column makes small systems"
_MOVES = "; BFGS for the bandwidths around it"


class ShapePrice(NamedTuple):
    """Free numbers (weights, bandwidths), bytes at the peak, and what solves it."""

    parameters: int
    bytes: int
    choice: Choice


def density_price(encoded: "Encoded", recipe: Recipe, n_heldout: int) -> ShapePrice:
    """Return what `recipe`, of the family dlr, takes on an encoded table: every column counts as a feature."""
    columns, numeric, n = encoded.n_columns, len(encoded.numeric), encoded.n_rows
    values = 1 if encoded.n_classes == 2 else encoded.n_classes
    moves = recipe.params["bandwidth"] != "silverman" and numeric > 0
    parameters = (columns + 1) * values + numeric
    features = 8 * n * values * (columns + (numeric if moves else 0))
    scores = 8 * lanes_of(encoded.n_classes)[1] * max(n, n_heldout) * _SCORES
    watched = 8 * n_heldout * values * columns
    table = (n + n_heldout) * (16 * numeric + 12 + 2 * columns)
    size = (_SETS if moves else 1) * features + scores + watched + table
    return ShapePrice(parameters, size, Choice("newton", 0, _WHY + (_MOVES if moves else ""), 4))
