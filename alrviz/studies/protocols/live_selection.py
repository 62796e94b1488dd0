"""A search for tuples that follows a slider: scores are computed once, then any number of tuples can be kept.

It is the search of a fit of salr or hsalr on the same training rows. Beside the scores it predicts each tuple's gain
over the model of all tuples of one column less, which finds columns that are informative only together.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alrviz.estimators.frames import name_separator
from alrviz.fitting.cost.estimate import estimate, require_memory
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families.family import FitRequest
from alrviz.fitting.families.selection_rows import InMemory
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe
from alrviz.models.cell_space import AllOrders, SelectedCells, Tuples, ascending_tuples
from alrviz.models.tuple_selection import SCORES, Level, excess_test, levels, predicted_gain
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

MAX_SCORED = 10_000  # tuples of a level; up to this all are scored, so that another share needs no new search
CHANCE_LEVEL = 0.05  # share of tables without any interaction in which a tuple seems to gain by chance
MIN_SECONDS_SHOWN = 0.03  # no partial results before: they would only flicker
N_PARTS = 8  # a level is scored in parts, so that the first scores are shown early
MIN_PART = 32  # tuples of a part
# Maximum rows x tuples x classes for which predicted gains, which take a fit, are computed unasked.
MAX_GAINS_WORK = 200_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Search:
    """The state of a search so far.

    Attributes:
        columns: names of the columns.
        order: n, the largest number of columns of a tuple.
        score: the recipe's `selection`, such as "mi".
        levels: the levels that are complete: of 1 to n columns if the recipe grows tuples, otherwise of n only.
        current_level: the level whose tuples are being scored, nan where no score is known yet; None between levels.
        mi: (T,) mutual information of all tuples of n columns; None if they are too many, or not counted yet.
        gains: (T,) their predicted gains; None likewise.
        is_significant: (T,) whether a tuple gains more than by chance: chi square test with Bonferroni's correction.
        is_complete: whether the search is finished.
    """

    columns: tuple[str, ...]
    order: int
    score: str
    levels: tuple[Level, ...] = ()
    current_level: Level | None = None
    mi: Floats | None = None
    gains: Floats | None = None
    is_significant: "NDArray[np.bool_] | None" = None
    is_complete: bool = False

    def total(self, size: int) -> int:
        """Return the number of tuples of `size` columns."""
        return comb(len(self.columns), size)

    def all_tuples(self) -> "NDArray[np.int32]":
        """Return all tuples of n columns in lexicographic order: (T, n)."""
        return ascending_tuples(len(self.columns), self.order)

    def numbers(self, tuples: "NDArray[np.int32]") -> NDArray[np.intp]:
        """Return the positions of tuples (K, n) in `all_tuples`: (K,)."""
        n_columns = len(self.columns)
        place_values = n_columns ** np.arange(self.order - 1, -1, -1, dtype=np.int64)
        return np.searchsorted(self.all_tuples() @ place_values, tuples @ place_values)

    def name(self, columns: "NDArray[np.int32] | tuple[int, ...]") -> str:
        """Return the name of a tuple."""
        return self._separator.join(self.columns[int(k)] for k in columns)

    @cached_property
    def _separator(self) -> str:
        return name_separator(self.columns)


class LiveSelection:
    """Scores of a table's tuples, for recipes of one split, cuts and seed; serves one thread at a time.

    Args:
        dataset: the table.
    """

    def __init__(self, dataset: "Dataset"):
        self._dataset = dataset
        self._scores: _ScoreCache | None = None
        self._admitted: Recipe | None = None

    def search(self, recipe: Recipe, stop: StopToken = NEVER) -> Iterator[Search]:
        """Yield the search each time it has found more; a recipe that differs only in `keep` reuses all scores.

        Raises:
            AlrvizError: if the rows cannot be learned from, or memory is too small.
            Stopped: if `stop` is called on the token during the search.
        """
        prepared = prepare(self._dataset, recipe, stop=stop)
        params = recipe.params
        # Few tuples are all scored whatever is kept, so that the memory is estimated once for all positions of the
        # slider.
        scores_all = comb(prepared.encoded.n_columns, int(params["order"])) <= MAX_SCORED
        recipe_to_admit = recipe.replace(keep=1.0) if scores_all else recipe
        if recipe_to_admit != self._admitted:
            require_memory(estimate(recipe_to_admit, TableShape(prepared.encoded, prepared.holdout, stop=stop)))
            self._admitted = recipe_to_admit
        request = FitRequest(prepared, recipe, params, lambda words: None, stop)
        if self._scores is None:
            self._scores = _ScoreCache(request)
        cache = self._scores.for_request(request)
        encoded, order, score = prepared.encoded, int(params["order"]), str(params["selection"])
        grow = str(params.get("grow", ""))
        search = Search(tuple(map(str, encoded.names)), order, score)
        complete_levels = levels(cache, encoded.n_columns, order, score, params["keep"], grow)
        start_time = time.monotonic()

        def is_slow() -> bool:
            return time.monotonic() - start_time > MIN_SECONDS_SHOWN

        for size in range(1 if grow else order, order + 1):
            for scores in cache.fill(size, score):
                next_level = Level(ascending_tuples(encoded.n_columns, size), scores, np.empty(0, np.intp))
                if is_slow():
                    yield replace(search, current_level=next_level)
            search = replace(search, levels=(*search.levels, next(complete_levels)))
            if is_slow():
                yield search
        if search.total(order) <= MAX_SCORED:
            for _ in cache.fill(order, "mi"):
                stop.check()
            search = replace(search, mi=cache.complete[order, "mi"])
            if encoded.n_rows * search.total(order) * encoded.n_classes <= MAX_GAINS_WORK:
                if is_slow():
                    yield search
                gains, tells = cache.gains(order)
                search = replace(search, gains=gains, is_significant=tells)
        yield replace(search, is_complete=True)


class _ScoreCache(InMemory):
    """Counts rows in memory, and keeps the scores."""

    def __init__(self, request: FitRequest):
        super().__init__(request)
        self.complete: dict[tuple[int, str], Floats] = {}  # scores of all tuples, by size and kind
        self._number: dict[int, dict[tuple[int, ...], int]] = {}
        self._gains: dict[int, tuple[Floats, NDArray[np.bool_]]] = {}

    def for_request(self, request: FitRequest) -> "_ScoreCache":
        """Use these counts and scores for another fit on the same rows, and return this object."""
        self._request = request
        return self

    def fill(self, size: int, score: str) -> Iterator[Floats]:
        """Score all tuples of a size, unless they are too many or known; yield the scores after each part.

        Only scores of `SCORES` can be computed in advance; a gain depends on the tuples kept before.
        """
        n_columns = self._request.prepared.encoded.n_columns
        if score not in SCORES or comb(n_columns, size) > MAX_SCORED or (size, score) in self.complete:
            return
        tuples = ascending_tuples(n_columns, size)
        scores = np.full(len(tuples), np.nan)
        part_size = max(MIN_PART, -(-len(tuples) // N_PARTS))
        for part_start in range(0, len(tuples), part_size):
            part_tuples = tuple(map(tuple, tuples[part_start : part_start + part_size].tolist()))
            scores[part_start : part_start + part_size] = SCORES[score](
                self.tables(size if len(part_tuples) == len(tuples) else part_tuples)
            )
            yield scores.copy()
        self.complete[size, score] = scores

    def scored(self, candidates: Tuples, base_tuples: Tuples, score: str) -> tuple[NDArray[np.int32], Floats]:
        """Return the candidates and their scores, as in `SelectionRows`; cached if all tuples of the size are."""
        if isinstance(candidates, AllOrders | SelectedCells):
            return super().scored(candidates, base_tuples, score)
        size = candidates if isinstance(candidates, int) else len(candidates[0])
        if (size, score) not in self.complete:
            return super().scored(candidates, base_tuples, score)
        scores, n_columns = self.complete[size, score], self._request.prepared.encoded.n_columns
        tuples = ascending_tuples(n_columns, size)
        if isinstance(candidates, int):
            return tuples, scores
        if size not in self._number:
            self._number[size] = {columns: k for k, columns in enumerate(map(tuple, tuples.tolist()))}
        tuple_indices = [self._number[size][columns] for columns in candidates]
        return tuples[tuple_indices], scores[tuple_indices]

    def gains(self, order: int) -> "tuple[Floats, NDArray[np.bool_]]":
        """Return the gain of each tuple of `order` columns over the model of all of one column less, and whether it is
        significant.
        """
        if order not in self._gains:
            from scipy.stats import chi2

            tables, excess = self.tables(order), self.excess(order, order - 1)
            statistic, df = excess_test(tables, excess)
            # Tuples with a constant column have no degree of freedom, and rounding error is no gain.
            is_significant = (df > 0) & (chi2.sf(statistic, np.maximum(df, 1e-9)) < CHANCE_LEVEL / len(statistic))
            gains = predicted_gain(tables, excess)
            self._gains[order] = gains, is_significant & (gains > 0)
        return self._gains[order]
