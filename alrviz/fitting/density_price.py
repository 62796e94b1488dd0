"""What a fit of DLR takes: free numbers, bytes and seconds, from the shape of the table alone.

A pass is E and its slopes by w and log h at other bandwidths: the grids of every numeric column, phi and dphi of every
row, scores. Where bandwidths stand still it is F and its slope by w. Grids are short at first and grow as bandwidths
shrink: it is the pass that a fit begins with.
"""

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
# Bytes of a training row in a numeric column, beside the number itself: its values sorted in two ways, weights, places.
_SORTED = 36
# ns on one thread of the reference machine (passes/speed.py), fitted to passes over 300 to 150,000 rows, 2 to 8 columns
# and 2 to 6 classes: the grids of a numeric column, and of a class of it (made columns are longer than real ones:
# between the two); a row of a class of a numeric and of a categorical column; a row. Then a pass of the weights alone,
# a value of phi in it, a row and a class of it.
_GRIDS, _GRID = 225_000.0, 50_000.0
_VOTE, _LEVEL, _ROW = 48.0, 58.0, 1.0
_CALL, _PHI, _SCORED, _SCORE = 58_000.0, 1.6, 5.3, 7.6
# Validation rows have grids of their own; in "validation" the slope follows w by a linear system: a row, a pair of phi.
_BESIDE_GRIDS, _SOLVED, _PAIR = 145_000.0, 74.0, 27.0
_WHY = "newton: a weight a column makes small systems"
_MOVES = "; BFGS for the bandwidths around it"


class ShapePrice(NamedTuple):
    """Free numbers (weights, bandwidths), bytes at the peak, what solves it, and seconds of a pass.

    The seconds are those on one thread of the reference machine; None where they are not known.
    """

    parameters: int
    bytes: int
    choice: Choice
    seconds: float | None = None


def density_price(encoded: "Encoded", recipe: Recipe, n_heldout: int) -> ShapePrice:
    """Return what `recipe`, of the family dlr, takes on an encoded table: every column counts as a feature."""
    columns, numeric, n = encoded.n_columns, len(encoded.numeric), encoded.n_rows
    values = 1 if encoded.n_classes == 2 else encoded.n_classes
    moves = recipe.params["bandwidth"] != "silverman" and numeric > 0
    parameters = (columns + 1) * values + numeric
    features = 8 * n * values * (columns + (numeric if moves else 0))
    scores = 8 * lanes_of(encoded.n_classes)[1] * max(n, n_heldout) * _SCORES
    watched = 8 * n_heldout * values * columns
    table = (n + n_heldout) * (16 * numeric + 12 + 2 * columns) + _SORTED * n * numeric
    size = (_SETS if moves else 1) * features + scores + watched + table
    choice = Choice("newton", 0, _WHY + (_MOVES if moves else ""), 4)
    return ShapePrice(parameters, size, choice, reference_seconds(encoded, recipe))


def reference_seconds(encoded: "Encoded", recipe: Recipe) -> float:
    """Return the seconds of a pass on one thread of the reference machine."""
    mode, n, classes = recipe.params["bandwidth"], encoded.n_rows, encoded.n_classes
    columns, numeric = encoded.n_columns, len(encoded.numeric)
    values = 1 if classes == 2 else classes
    if mode == "silverman" or not numeric:
        return 1e-9 * (_CALL + n * (columns * values * _PHI + _SCORED + classes * _SCORE))
    grids = numeric * (_GRIDS + classes * _GRID)
    rows = n * (classes * (numeric * _VOTE + (columns - numeric) * _LEVEL) + _ROW)
    if mode != "loo":
        grids += numeric * _BESIDE_GRIDS
    if mode == "validation":
        rows += n * (_SOLVED + columns * values**2 * _PAIR)
    return 1e-9 * (grids + rows)
