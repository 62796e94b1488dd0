"""A path that follows a hand: one fit at any alpha, started at the nearest that was fitted before.

It is the fit that `alpha_path` makes on its first split: at the same alpha the same optimum, whatever it started from.
"""

from math import comb
from typing import TYPE_CHECKING

from alrviz.data.splits import holdout_spec
from alrviz.fitting.recipe import Recipe
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
        self._recipe: Recipe | None = None
        self._rows: FoldCache | None = None
        self._encoding: tuple[object, ...] = ()

    def fit(self, recipe: Recipe, alpha: float, stop: StopToken = NEVER) -> Row:
        """Return the row of one alpha, as `alpha_path` has it.

        Raises:
            AlrvizError: where there is no such fit.
            Stopped: if the token was pulled meanwhile.
        """
        recipe = plain(recipe).replace(alpha=1.0)
        if self._along is None or self._recipe != recipe:
            warm(recipe, len(self._table.classes))
            stop.check()
            encoding = (recipe.cuts, recipe.most_levels, recipe.missing)
            if self._rows is None or self._encoding != encoding:
                self._rows, self._encoding = FoldCache(self._table, self._split, recipe), encoding
            self._along = AlphaPathFit(self._rows, self._table, recipe, self._max_memory)
            self._recipe = recipe
        return self._along.fit(alpha, stop).row
