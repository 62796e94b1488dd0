"""Training rows prepared for the fits of one split: cut, encoded and counted once for all recipes that can share them.

Each recipe's seconds include the shared work, as if it had been fitted alone; none include compiling.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from alrviz.data.encoded import MDL_WAYS, SMOOTH_WAYS
from alrviz.data.splits import SplitSpec
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.fitting.cost.estimate import estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.prepare import encode_rows
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.warm import warm_covers, warm_cuts
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.table_transfer import SentTable

# Prepared folds that a worker keeps: tasks come split by split, and the recipes of a split differ at most in their
# cuts.
MAX_CACHED = 2
_local = threading.local()


class PreparedFold:
    """The training rows of one split, encoded.

    Attributes:
        splits: training and test rows.
        X: columns of the training rows.
        n_train: number of training rows, counted by weight.
        prepared: the encoded rows, for one thread, with what was computed from them.
        seconds: seconds that encoding took.
    """

    def __init__(self, table: SentTable, split: SplitSpec, recipe: Recipe):
        self.splits = split.splits(table.y, table.splitting)
        train = self.splits.train
        start_time = time.perf_counter()
        self.X, labels = table.X.iloc[train], table.labels[train]
        row_splitting = table.splitting.of_rows(train)
        weights = table.weights_of(train)
        self.n_train = float(len(train) if weights is None else weights.sum())
        self.prepared = encode_rows(recipe, self.X, labels, weights, n_jobs=1, splitting=row_splitting)
        self.seconds = time.perf_counter() - start_time
        self._covering: dict[Hashable, float] = {}

    def fit(self, estimator: RecipeClassifier, recipe: Recipe, stop: StopToken = NEVER) -> float:
        """Fit the estimator; return the seconds, with shared work as if it had been fitted alone."""
        covering_seconds = self._cover(estimator, recipe)
        start_time = time.perf_counter()
        estimator.fit_prepared(self.X, self.prepared, stop)
        return time.perf_counter() - start_time + covering_seconds + self.seconds

    def _cover(self, estimator: RecipeClassifier, recipe: Recipe) -> float:
        """Count the cells of a recipe's tuples once per fold, and encode the rows as keys of the cover's blocks.

        Return the seconds that this took, also if it was done for an earlier recipe; 0 if the recipe counts no cells or
        memory is too small. estimator: whose memory limit applies.
        """
        encoded, total_seconds = self.prepared.encoded, 0.0
        counted_tuples = recipe.definition.counted_tuples(recipe.params, encoded.n_columns)
        if counted_tuples:
            cost = estimate(recipe, TableShape(encoded, prepared=self.prepared), estimator.max_memory)
            if cost.refusal:  # the fit itself reports it
                return total_seconds
        for tuples in counted_tuples:
            smoothing = recipe.params["smoothing"]
            for step in (("cover", tuples), ("tables", tuples, smoothing)):
                if step not in self._covering:
                    start_time = time.perf_counter()
                    self.prepared.covered_rows(tuples) if step[0] == "cover" else self.prepared.tables(
                        tuples, smoothing
                    )
                    self._covering[step] = time.perf_counter() - start_time
                total_seconds += self._covering[step]
        return total_seconds


def cached_fold(table: SentTable, split: SplitSpec, recipe: Recipe) -> PreparedFold:
    """Return the training rows of a split as encoded for a recipe; the last few are cached per thread."""
    cache: OrderedDict[Any, PreparedFold] = _local.__dict__.setdefault("cache", OrderedDict())
    key = (table.hash, split, recipe.cuts, recipe.most_levels, recipe.missing)
    if key not in cache:
        while len(cache) >= MAX_CACHED:
            cache.popitem(last=False)
        cache[key] = PreparedFold(table, split, recipe)
    cache.move_to_end(key)
    return cache[key]


def warm(recipe: Recipe, n_classes: int) -> None:
    """Compile what cutting columns and fits of a recipe to n_classes classes call, so that no fit's seconds include it.

    Kernels for 32-bit codes and keys, which few tables need, are not compiled in advance.
    """
    if recipe.cuts in (*MDL_WAYS, *SMOOTH_WAYS):
        warm_cuts()
    if recipe.definition.counts_cells:
        warm_covers(False)
    recipe.definition.warm(recipe, n_classes)
