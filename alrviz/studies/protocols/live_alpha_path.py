"""A path that follows a hand: one fit at any alpha, started at the nearest that was fitted before.

It is the fit that `alpha_path` makes on its first split: at the same alpha the same optimum, whatever it started from.
"""

from collections import OrderedDict
from math import comb, log
from typing import TYPE_CHECKING

from alrviz.data.splits import holdout_spec
from alrviz.fitting.recipe import Recipe
from alrviz.models.linear import LinearModel
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.alpha_path_task import AlphaPathFit
from alrviz.studies.core.fold_cache import FoldCache, warm
from alrviz.studies.core.study_task import Row, plain
from alrviz.studies.core.table_transfer import SentTable

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

# Training rows x tuples x classes up to which a fit follows a hand: LED at n = 2 (0.4 million) takes 7 to 84 ms,
# waveform (2.2 million) 20 to 400.
QUICK = 3_000_000
KEPT, ROOM = 6, 100_000_000  # models to start from, and their bytes


def is_quick(dataset: "Dataset", recipe: Recipe, holdout: float) -> bool:
    """Whether a fit takes so short that it may follow a slider as it moves."""
    order, columns = recipe.params["order"], dataset.X.shape[1]
    return bool(dataset.n_rows * (1 - holdout) * comb(columns, order) * dataset.n_classes <= QUICK)


class LiveAlphaPath:
    """The rows of a path's first split, and the latest models on them; it serves one thread at a time.

    Args:
        dataset: the table.
        holdout, seed: of the split.
        max_memory: bytes a fit may take; None for half of what is free.
    """

    def __init__(self, dataset: "Dataset", holdout: float = 0.3, seed: int = 0, max_memory: int | None = None):
        self._table = SentTable.of(dataset)
        self._split = holdout_spec(holdout, seed)
        self._max_memory = max_memory
        self._along: AlphaPathFit | None = None
        self._made_of: Recipe | None = None
        self._encoding: tuple[object, ...] = ()
        self._models: OrderedDict[float, LinearModel] = OrderedDict()

    def fit(self, recipe: Recipe, alpha: float, stop: StopToken = NEVER) -> Row:
        """Return the row of one alpha, as `alpha_path` has it.

        Raises:
            AlrvizError: where there is no such fit.
            Stopped: if the token was pulled meanwhile.
        """
        along = self._rows(plain(recipe), stop)
        nearest = min(self._models, key=lambda other: abs(log(other / alpha)), default=None)
        start = None if nearest is None else self._models[nearest]
        point = along.fit(plain(recipe).replace(alpha=alpha), start, self._max_memory, stop)
        self._models.pop(alpha, None)
        self._models[alpha] = point.model
        while len(self._models) > max(1, min(KEPT, ROOM // max(point.model.phi.nbytes, 1))):
            self._models.popitem(last=False)
        return point.row

    def _rows(self, recipe: Recipe, stop: StopToken) -> AlphaPathFit:
        """The rows as a recipe has them encoded; models of another recipe are let go."""
        encoding = (recipe.cuts, recipe.most_levels, recipe.missing)
        of = recipe.replace(alpha=1.0)
        if self._made_of != of:
            self._models.clear()
            self._made_of = of
            warm(recipe, len(self._table.classes))
            stop.check()
        if self._along is None or self._encoding != encoding:
            self._along = AlphaPathFit(FoldCache(self._table, self._split, recipe), self._table)
            self._encoding = encoding
        return self._along
