"""Rows made ready for the fits of one split: cut and encoded, covered and counted once for all recipes that can share.

What was shared is in every recipe's seconds: each counts what it would have taken alone. Compiling is in none.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Any

from alrviz.data.encoded import MDL_WAYS, SMOOTH_WAYS
from alrviz.data.splits import SplitSpec
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.fitting.cost.estimate import estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.prepare import encode_rows
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.warm import warm_covers, warm_cuts
from alrviz.models.cell_space import Tuples
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.table_transfer import SentTable

# Encodings a worker keeps: tasks come split by split, and the recipes of one differ by their cuts at most.
KEPT = 2
_mine = threading.local()


class FoldCache:
    """The training rows of one split and encoding.

    Attributes:
        splits: training and test rows.
        X: columns of the training rows.
        n_train: how many training rows there are, by their weights.
        prepared: encoded rows, on one thread, and what was made of them.
        seconds: what encoding took.
    """

    def __init__(self, table: SentTable, split: SplitSpec, recipe: Recipe):
        self.splits = split.splits(table.y, table.splitting)
        train = self.splits.train
        start = time.perf_counter()
        self.X, labels = table.X.iloc[train], table.labels[train]
        rules = table.splitting.of_rows(train)
        weights = table.weights_of(train)
        self.n_train = float(len(train) if weights is None else weights.sum())
        self.prepared = encode_rows(recipe, self.X, labels, weights, n_jobs=1, splitting=rules)
        self.seconds = time.perf_counter() - start
        self._covering: dict[Hashable, float] = {}

    def fit(self, estimator: RecipeClassifier, recipe: Recipe, stop: StopToken = NEVER) -> float:
        """Fit; return the seconds that it would have taken alone."""
        covering = self._covered(estimator, recipe)
        start = time.perf_counter()
        estimator.fit_prepared(self.X, self.prepared, stop)
        return time.perf_counter() - start + covering + self.seconds

    def _covered(self, estimator: RecipeClassifier, recipe: Recipe) -> float:
        """Cover and count the rows for a recipe that will ask for it; return what that took when it was done."""
        total = 0.0
        for tuples in self._counted(estimator, recipe):
            smoothing = recipe.params["smoothing"]
            for what in (("cover", tuples), ("tables", tuples, smoothing)):
                if what not in self._covering:
                    start = time.perf_counter()
                    self.prepared.covered(tuples) if what[0] == "cover" else self.prepared.tables(tuples, smoothing)
                    self._covering[what] = time.perf_counter() - start
                total += self._covering[what]
        return total

    def _counted(self, estimator: RecipeClassifier, recipe: Recipe) -> Sequence[Tuples]:
        """The tuples whose cells a fit counts; none where it will say itself that it cannot."""
        encoded = self.prepared.encoded
        counted = recipe.definition.counted_tuples(recipe.params, encoded.n_columns)
        if not counted:
            return counted
        known = estimate(recipe, TableShape(encoded, prepared=self.prepared), estimator.max_memory)
        return () if known.refused else counted


def cached_fold(table: SentTable, split: SplitSpec, recipe: Recipe) -> FoldCache:
    """Return the training rows of a split as a recipe has them encoded; the last few are kept."""
    shelf: OrderedDict[Any, FoldCache] = _mine.__dict__.setdefault("shelf", OrderedDict())
    key = (table.hash, split, recipe.cuts, recipe.most_levels, recipe.missing)
    if key not in shelf:
        while len(shelf) >= KEPT:
            shelf.popitem(last=False)
        shelf[key] = FoldCache(table, split, recipe)
    shelf.move_to_end(key)
    return shelf[key]


def warm(recipe: Recipe, n_classes: int) -> None:
    """Have ready what cutting columns and fits of a recipe call, so that no one's seconds hold compiling.

    Left out are codes and keys of 32 bits, which few tables need.
    """
    if recipe.cuts in (*MDL_WAYS, *SMOOTH_WAYS):
        warm_cuts()
    if recipe.definition.counts_cells:
        warm_covers()
    recipe.definition.warm(recipe, n_classes)
