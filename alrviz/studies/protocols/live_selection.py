"""A search for tuples that follows a hand: scores are counted once, and however many are kept follows from them.

It is the search that a fit of salr or hsalr does on the same training rows. Beside its scores it tells each tuple's
predicted gain over the model of all tuples of one column less, which sees what tells only together.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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

MOST = 10_000  # tuples of a level up to which all are scored, and another share kept follows at once
CHANCE = 0.05  # of tables without anything to tell, in which a tuple is said to tell
AT_ONCE = 0.03  # seconds: what comes sooner comes whole
PARTS = 8  # in which the tuples of a level are scored, so that some are seen before all are
LEAST = 32  # tuples of such a part
# Rows x tuples x classes up to which gains, which take a fit, come without being asked for.
QUICK = 200_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Search:
    """What a search has found by now.

    Attributes:
        columns: names of the columns.
        order: n.
        score: what the scores are.
        levels: those that are complete.
        coming: the level whose tuples are being scored, nan those that are not yet; None between levels.
        mi: (T,) mutual information of all tuples of n columns; None where these are too many, or not counted yet.
        gains: (T,) their predicted gains; None as well.
        tells: (T,) whether a tuple tells more than its parts, whatever chance does to so many: chi square, Bonferroni.
        done: whether nothing more comes.
    """

    columns: tuple[str, ...]
    order: int
    score: str
    levels: tuple[Level, ...] = ()
    coming: Level | None = None
    mi: Floats | None = None
    gains: Floats | None = None
    tells: "NDArray[np.bool_] | None" = None
    done: bool = False

    def total(self, size: int) -> int:
        """Return how many tuples of so many columns there are."""
        return comb(len(self.columns), size)

    def all_tuples(self) -> "NDArray[np.int32]":
        """Return (T, n): all tuples of n columns, in the order of a dictionary."""
        return ascending_tuples(len(self.columns), self.order)

    def numbers(self, tuples: "NDArray[np.int32]") -> NDArray[np.intp]:
        """Return the numbers of tuples (K, n) among all."""
        a = len(self.columns)
        weights = a ** np.arange(self.order - 1, -1, -1, dtype=np.int64)
        return np.searchsorted(self.all_tuples() @ weights, tuples @ weights)

    def name(self, columns: "NDArray[np.int32] | tuple[int, ...]") -> str:
        """Return what a tuple is called."""
        return " + ".join(self.columns[int(k)] for k in columns)


class LiveSelection:
    """The scores of a table's tuples, for recipes of one split, cuts and seed; it serves one thread at a time.

    Args:
        dataset: the table.
    """

    def __init__(self, dataset: "Dataset"):
        self._dataset = dataset
        self._counted: _Remembered | None = None
        self._admitted: Recipe | None = None

    def search(self, recipe: Recipe, stop: StopToken = NEVER) -> Iterator[Search]:
        """Yield what a search finds, as it finds it; a recipe that differs in its share alone is searched at once.

        Raises:
            AlrvizError: where nothing can be learned, or memory does not do.
            Stopped: if the token was pulled meanwhile.
        """
        prepared = prepare(self._dataset, recipe, stop=stop)
        params = recipe.params
        # Of few tuples all are scored, whatever is kept: a hand that drags waits for no estimate.
        counted_all = comb(prepared.encoded.n_columns, int(params["order"])) <= MOST
        asked = recipe.replace(keep=1.0) if counted_all else recipe
        if asked != self._admitted:
            require_memory(estimate(asked, TableShape(prepared.encoded, prepared.holdout, stop=stop)))
            self._admitted = asked
        request = FitRequest(prepared, recipe, params, lambda words: None, stop)
        if self._counted is None:
            self._counted = _Remembered(request)
        counted = self._counted.for_request(request)
        encoded, order, score = prepared.encoded, int(params["order"]), str(params["selection"])
        grow = str(params.get("grow", ""))
        found = Search(tuple(map(str, encoded.names)), order, score)
        going = levels(counted, encoded.n_columns, order, score, params["keep"], grow)
        begun = time.monotonic()

        def late() -> bool:
            return time.monotonic() - begun > AT_ONCE

        for size in range(1 if grow else order, order + 1):
            for scores in counted.fill(size, score):
                coming = Level(ascending_tuples(encoded.n_columns, size), scores, np.empty(0, np.intp))
                if late():
                    yield replace(found, coming=coming)
            found = replace(found, levels=(*found.levels, next(going)))
            if late():
                yield found
        if found.total(order) <= MOST:
            for _ in counted.fill(order, "mi"):
                stop.check()
            found = replace(found, mi=counted.known[order, "mi"])
            if encoded.n_rows * found.total(order) * encoded.n_classes <= QUICK:
                if late():
                    yield found
                gains, tells = counted.gains(order)
                found = replace(found, gains=gains, tells=tells)
        yield replace(found, done=True)


class _Remembered(InMemory):
    """Counts rows in memory, and remembers scores."""

    def __init__(self, request: FitRequest):
        super().__init__(request)
        self.known: dict[tuple[int, str], Floats] = {}  # of all tuples of a size, by score
        self._number: dict[int, dict[tuple[int, ...], int]] = {}
        self._gains: dict[int, tuple[Floats, NDArray[np.bool_]]] = {}

    def for_request(self, request: FitRequest) -> "_Remembered":
        """Serve another fit on the same rows."""
        self._request = request
        return self

    def fill(self, size: int, score: str) -> Iterator[Floats]:
        """Score all tuples of a size, unless they are too many or known; yield the scores as they come, then once all.

        A gain is beside what was kept, and is not known before.
        """
        a = self._request.prepared.encoded.n_columns
        if score not in SCORES or comb(a, size) > MOST or (size, score) in self.known:
            return
        tuples = ascending_tuples(a, size)
        scores = np.full(len(tuples), np.nan)
        step = max(LEAST, -(-len(tuples) // PARTS))
        for at in range(0, len(tuples), step):
            part = tuple(map(tuple, tuples[at : at + step].tolist()))
            scores[at : at + step] = SCORES[score](self.tables(size if len(part) == len(tuples) else part))
            yield scores.copy()
        self.known[size, score] = scores

    def scored(self, looked: Tuples, below: Tuples, score: str) -> tuple[NDArray[np.int32], Floats]:
        """Return the scores, from memory where all of the size are known."""
        if isinstance(looked, AllOrders | SelectedCells):
            return super().scored(looked, below, score)
        size = looked if isinstance(looked, int) else len(looked[0])
        if (size, score) not in self.known:
            return super().scored(looked, below, score)
        scores, a = self.known[size, score], self._request.prepared.encoded.n_columns
        tuples = ascending_tuples(a, size)
        if isinstance(looked, int):
            return tuples, scores
        if size not in self._number:
            self._number[size] = {columns: k for k, columns in enumerate(map(tuple, tuples.tolist()))}
        at = [self._number[size][columns] for columns in looked]
        return tuples[at], scores[at]

    def gains(self, order: int) -> "tuple[Floats, NDArray[np.bool_]]":
        """Return the gain of all tuples of an order beside a model of all of one column less, and which are sure."""
        if order not in self._gains:
            from scipy.stats import chi2

            tables, excess = self.tables(order), self.excess(order, order - 1)
            found, df = excess_test(tables, excess)
            # Of a column of one level nothing is free, and what rounding leaves over is no finding.
            sure = (df > 0) & (chi2.sf(found, np.maximum(df, 1e-9)) < CHANCE / len(found))
            gains = predicted_gain(tables, excess)
            self._gains[order] = gains, sure & (gains > 0)
        return self._gains[order]
