"""A path that follows a slider: fits at any alpha, each started at the nearest alpha fitted before.

The fits are those of `alpha_path` on its first split: the optimum at an alpha does not depend on the start.
"""

from math import comb
from typing import TYPE_CHECKING

from alrviz.data.splits import holdout_spec
from alrviz.fitting.recipe import Recipe
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.alpha_path_task import AlphaPathFit
from alrviz.studies.core.fold_cache import PreparedFold, warm
from alrviz.studies.core.study_task import Row, plain
from alrviz.studies.core.table_transfer import SentTable

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

# Maximum training rows x tuples x classes of a fit that follows a slider: LED at n = 2 (0.4 million) takes 7 to 84 ms,
# waveform (2.2 million) 20 to 400 ms.
MAX_LIVE_WORK = 3_000_000


def is_quick(dataset: "Dataset", recipe: Recipe, holdout: float) -> bool:
    """Return whether a fit is short enough to follow a slider as it moves."""
    order, columns = recipe.params["order"], dataset.X.shape[1]
    return bool(dataset.n_rows * (1 - holdout) * comb(columns, order) * dataset.n_classes <= MAX_LIVE_WORK)


class LiveAlphaPath:
    """Fits along alpha on a path's first split; serves one thread at a time.

    Args:
        dataset: the table.
        holdout, seed: the split.
        max_memory: bytes a fit may take; None: half of the free memory.
    """

    def __init__(self, dataset: "Dataset", holdout: float = 0.3, seed: int = 0, max_memory: int | None = None):
        self._table = SentTable.of(dataset)
        self._split = holdout_spec(holdout, seed)
        self._max_memory = max_memory
        self._path_fit: AlphaPathFit | None = None
        self._recipe: Recipe | None = None
        self._rows: PreparedFold | None = None
        self._encoding: tuple[object, ...] = ()

    def fit(self, recipe: Recipe, alpha: float, stop: StopToken = NEVER) -> Row:
        """Return the row of one alpha, as in `alpha_path`.

        Raises:
            AlrvizError: if the fit fails.
            Stopped: if `stop` is called on the token during the fit.
        """
        recipe = plain(recipe).replace(alpha=1.0)
        if self._path_fit is None or self._recipe != recipe:
            warm(recipe, len(self._table.classes))
            stop.check()
            encoding = (recipe.cuts, recipe.most_levels, recipe.missing)
            if self._rows is None or self._encoding != encoding:
                self._rows, self._encoding = PreparedFold(self._table, self._split, recipe), encoding
            self._path_fit = AlphaPathFit(self._rows, self._table, recipe, self._max_memory)
            self._recipe = recipe
        return self._path_fit.fit(alpha, stop).row
