"""What a network takes, and what scikit-learn's forest and SVM take: before anything is counted.

Whose parents are not known yet (tan, kdb) is priced as if each column had those of most levels: an upper bound.
"""

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.fitting.choice import Choice
from alrviz.fitting.density_price import ShapePrice
from alrviz.fitting.recipe import Recipe
from alrviz.models.space import count_parameters

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

# Vectors as long as phi: counts, phi, start, and of a fit weights, gradients and directions of two points, snapshots.
_COUNTED, _FITTED = 4, 16
# Arrays of scores alive at once in a fit: of the point and of a trial, residuals, held-out rows; and those of a fold.
_SCORES = 6
# What scikit-learn keeps of a kernel's rows.
_KERNEL = 200 * 2**20


def network_price(encoded: "Encoded", recipe: Recipe, n_heldout: int, tables: int) -> ShapePrice:
    """Return what `recipe` takes beside `tables`, the bytes of the counts that its structure is made of."""
    n, classes, fits = encoded.n_rows, encoded.n_classes, recipe.family == "elr"
    if recipe.family == "ande":
        parameters = count_parameters(encoded.levels, recipe.params["n"] + 1, classes)
        return ShapePrice(parameters, tables, _choice(False))
    cells = possible_cells(encoded, recipe)
    seen = sum(min(own, n * (int(top) if fits else 1)) for own, top in zip(cells, encoded.levels, strict=True))
    vectors = 8 * classes * (seen + 1) * (_FITTED if fits else _COUNTED)
    index = seen * 40 + encoded.n_columns * n * (2 + 2 * fits)
    scores = 8 * classes * (n + n_heldout) * _SCORES if fits else 0
    return ShapePrice(classes * (1 + sum(cells)), tables + vectors + index + scores, _choice(fits))


def table_price(encoded: "Encoded", recipe: Recipe) -> ShapePrice:
    """Return what scikit-learn's forest or SVM takes: the table as numbers, and trees or a cache of the kernel."""
    n, numeric = encoded.n_rows, len(encoded.numeric)
    if recipe.family == "rf":
        trees = recipe.params["n_estimators"] * n * (64 + 8 * encoded.n_classes)
        return ShapePrice(0, 12 * n * encoded.n_columns + trees, _choice(False))
    width = numeric + int(np.delete(encoded.levels, encoded.numeric).sum())
    return ShapePrice(0, 24 * n * width + _KERNEL, _choice(False))


def possible_cells(encoded: "Encoded", recipe: Recipe) -> list[int]:
    """Return the number of possible cells of each column with its parents, at most."""
    levels, p = encoded.levels.tolist(), recipe.params
    given: Any = p.get("structure")
    if isinstance(given, Mapping):
        number = dict(zip(encoded.names, levels, strict=True))
        above = [[number.get(parent, 1) for parent in given.get(name, ())] for name in encoded.names]
        return [top * prod(own) for top, own in zip(levels, above, strict=True)]
    k = p["k"] if recipe.family == "kdb" else int(given != "nb")
    most = np.sort(encoded.levels)[::-1].tolist()
    found = []
    for top in levels:
        others = most.copy()
        others.remove(top)
        found.append(top * prod(others[:k]))
    return found


def _choice(fits: bool) -> Choice:
    if not fits:
        return Choice("none", 0, "nothing is fitted: counting is all", 0)
    return Choice("cg", 0, "cg: Polak and Ribiere's, with Brent's search along each direction", 4)
