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
from alrviz.fitting.solvers.cross_tuned import FOLDS
from alrviz.models.networks import LOOKUPS
from alrviz.passes.room import lanes_of
from alrviz.passes.speed import Work

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded
    from alrviz.fitting.price import Price

# Vectors as long as phi: counts, phi, start, and of a fit weights, gradients and directions of two points, snapshots.
_COUNTED, _FITTED = 4, 16
# A cell with its logarithms of sums, against one whose phi is its weight.
_CELLS = 10
# Seconds of what a pass calls, beside all sums.
_CALLS = 60e-6
# What scikit-learn keeps of a kernel's rows.
_KERNEL = 200 * 2**20


def network_price(encoded: "Encoded", recipe: Recipe, n_heldout: int, tables: "Price") -> ShapePrice:
    """Return what `recipe` takes; `tables` is the price of counting what its structure is made of."""
    n, classes, a, fits = encoded.n_rows, encoded.n_classes, encoded.n_columns, recipe.family == "elr"
    if recipe.family == "ande":
        return ShapePrice(tables.parameters, tables.bytes, _choice(False))
    cells = possible_cells(encoded, recipe)
    seen = sum(min(own, n * (int(top) if fits else 1)) for own, top in zip(cells, encoded.levels, strict=True))
    vectors = 8 * classes * (seen + 1) * (_FITTED if fits else _COUNTED) + 40 * seen
    counts = 8 * classes * tables.cells_seen
    located = 8 * min(LOOKUPS, n * a)
    parameters = classes * (1 + sum(cells))
    if not fits:
        return ShapePrice(parameters, max(tables.bytes, counts + vectors + located + 2 * a * n), _choice(False))
    covers = 1 + (recipe.params["structure"] == "tan")
    kept, size = _fit_bytes(encoded, n, n_heldout, covers)
    if recipe.params["cross_tuning"]:  # a fold's fit beside it
        _, fold = _fit_bytes(encoded, n - n // FOLDS, n // FOLDS, 1)
        size = max(size, kept + fold + vectors)
    size += counts + vectors
    work = Work(n, classes, _CELLS * seen, a, seen, seen)
    return ShapePrice(parameters, max(tables.bytes, size), _choice(True), _CALLS + work.reference_seconds())


def _fit_bytes(encoded: "Encoded", n: int, n_heldout: int, covers: int) -> tuple[int, int]:
    """Bytes that rows and the scores of a point keep; and at the peak, while keys are made or in a pass."""
    a, both, classes = encoded.n_columns, n + n_heldout, encoded.n_classes
    given, scores = both * (a * encoded.codes.dtype.itemsize + 12), 8 * lanes_of(classes)[1] * n
    laying = 2 * a * n + 8 * min(LOOKUPS, n * a) + 8 * classes * n
    keys = 2 * a * both * (1 + covers)
    return given + keys + scores, given + keys + max(2 * a * both + laying, 3 * scores)


def table_price(encoded: "Encoded", recipe: Recipe) -> ShapePrice:
    """Return what scikit-learn's forest, boosting or SVM takes: the table as numbers, and its trees or kernel."""
    n, numeric = encoded.n_rows, len(encoded.numeric)
    if recipe.family == "rf":
        trees = recipe.params["n_estimators"] * n * (64 + 8 * encoded.n_classes)
        return ShapePrice(0, 12 * n * encoded.n_columns + trees, _choice(False))
    if recipe.family == "hgb":  # the table as numbers and as bytes, gradients of every class, a few score vectors
        return ShapePrice(0, n * (9 * encoded.n_columns + 40 * encoded.n_classes), _choice(False))
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
