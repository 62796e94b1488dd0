"""From a data set to rows that can be fitted: split, encode, count; each done once for all who ask.

The cuts and levels are learned on the training rows alone. What was prepared is kept with its data set (the latest few
encodings), so that racers, orders and repeated runs share it.
"""

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encode import Encoder
from alrviz.data.encoded import MDL_WAYS, Encoded
from alrviz.data.splits import Splits, split_table, split_validation
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import RecipeError, TableError
from alrviz.models.cell_space import SelectedCells, Tuples, add_grid_cells, select_cells, space_of
from alrviz.models.direct_counts import count_directly, index_rows, sum_by_cell
from alrviz.models.index import CellIndex, index_cells
from alrviz.models.plan import Plan, plan_cover
from alrviz.models.repeats import merge_repeats
from alrviz.models.set_cover import Cover, cover_rows
from alrviz.models.tables import Tables, count_tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.fitting.fit_settings import FitSettings

# Encodings and tables kept per data set: as many as a race over orders, or one of another discretisation, goes back to.
KEPT = 4


@dataclass(frozen=True, eq=False)
class CoveredRows:
    """Training and held-out rows in the terms of the cover of one order.

    Attributes:
        cover: blocks, and the cells that training rows have.
        rows, heldout: what passes run over; held-out rows None without any.
    """

    cover: Cover
    rows: Rows
    heldout: Rows | None

    def on(self, n_jobs: int) -> "CoveredRows":
        """Return the same rows for passes on so many threads."""
        if self.rows.n_jobs == n_jobs:
            return self
        heldout = None if self.heldout is None else self.heldout.with_jobs(n_jobs)
        return replace(self, rows=self.rows.with_jobs(n_jobs), heldout=heldout)


class TrainingData:
    """Training and held-out rows of one encoding, and the covers and tables made of them.

    Args:
        encoder: fitted on the training rows; None if the caller encoded.
        encoded, holdout: training rows, and held-out rows or None.
        n_jobs: threads; None for all.
        merge: whether duplicate rows are merged if more than a fifth are duplicates.
        splitting: the rule for folds of the training rows.
        rediscretize: returns all training rows in cuts learned from those with these indices alone; None if cuts do not
            depend on the class.
    """

    def __init__(
        self,
        encoded: Encoded,
        holdout: Encoded | None,
        encoder: Encoder | None = None,
        n_jobs: int | None = None,
        merge: bool = True,
        splitting: Splitting = AT_RANDOM,
        rediscretize: Callable[[Encoded, NDArray[np.intp], StopToken], Encoded] | None = None,
    ):
        self.encoder = encoder
        self.encoded = encoded
        self.holdout = holdout
        self.n_jobs = resolve_jobs(n_jobs)
        self.splitting = splitting
        self._merge = merge
        self._rediscretize = rediscretize
        self._cut: OrderedDict[bytes, Encoded] = OrderedDict()
        self._merged: list[tuple[NDArray[np.unsignedinteger], Rows]] = []
        self._covered: OrderedDict[Tuples, CoveredRows] = OrderedDict()
        self._plans: OrderedDict[Tuples, Plan] = OrderedDict()
        self._tables: OrderedDict[tuple[Tuples, float], Tables] = OrderedDict()
        self._seen: OrderedDict[Tuples, int] = OrderedDict()
        self._validation: dict[int, TrainingData] = {}
        self._lock = threading.RLock()

    def on(self, n_jobs: int | None) -> "TrainingData":
        """Return the same rows, and all that is made of them, for work on so many threads; None for all."""
        jobs = resolve_jobs(n_jobs)
        if jobs == self.n_jobs:
            return self
        other = copy.copy(self)  # what is kept, and its lock, are of both
        other.n_jobs = jobs
        return other

    def validation(self, seed: int, stop: StopToken = NEVER) -> "TrainingData":
        """Return the training rows without the validation rows that choose tuples and settings (`split_validation`,
        D_CV), which are its held-out ones. Cuts are those of a fold: they saw no class of validation rows.
        """
        with _turn(self._lock, stop):
            if seed not in self._validation:
                splits = split_validation(self.encoded.y, seed, self.splitting)
                rules = self.splitting.of_rows(splits.train)
                apart = self.fold(splits, stop)
                self._validation[seed] = TrainingData(*apart, self.encoder, self.n_jobs, self._merge, rules)
            return self._validation[seed].on(self.n_jobs)

    def fold(self, splits: Splits, stop: StopToken = NEVER) -> tuple[Encoded, Encoded]:
        """Return the training and the validation rows of a fold, in cuts that the validation rows' classes had no part
        in: MDL's, learned from all of them, would look better than they are on any other row.
        """
        encoded, rediscretize = self.encoded, self._rediscretize
        if rediscretize is not None:
            with _turn(self._lock, stop):
                encoded = _remember(
                    self._cut, splits.train.tobytes(), lambda: rediscretize(self.encoded, splits.train, stop)
                )
        return encoded.take(splits.train), encoded.take(splits.validation)

    @property
    def wide(self) -> bool:
        """Whether codes are of 32 bits: some column has more than 65,535 levels."""
        return any(of is not None and of.codes.dtype.itemsize > 2 for of in (self.encoded, self.holdout))

    def kept(self, stop: StopToken = NEVER) -> tuple[int, int]:
        """Return how many training and held-out rows there are once repeats are merged."""
        with _turn(self._lock, stop):
            rows = [rows.n_rows for _, rows in self._rows(stop)]
            return rows[0], sum(rows[1:])

    def learned(self, stop: StopToken = NEVER) -> Encoded:
        """Return the training rows as passes go over them: once their repeats are merged."""
        with _turn(self._lock, stop):
            codes, rows = self._rows(stop)[0]
        return replace(self.encoded, codes=codes, y=rows.y, weights=rows.weights, numbers=None)

    def rows(self, stop: StopToken = NEVER) -> Rows:
        """Return classes and weights of the training rows as passes go over them, without the keys of a cover."""
        with _turn(self._lock, stop):
            return self._rows(stop)[0][1]

    def seen(self, tuples: Tuples, count: Callable[[], int], stop: StopToken = NEVER) -> int:
        """Return how many cells of tuples the training rows have, as `count` says where it was not asked before."""
        with _turn(self._lock, stop):
            return _remember(self._seen, tuples, count)

    def plan(self, tuples: Tuples, stop: StopToken = NEVER) -> Plan:
        """Return the plan of a cover of tuples, from memory if it was asked for before."""
        with _turn(self._lock, stop):
            return _remember(self._plans, tuples, lambda: self._plan(tuples, stop))

    def covered(self, tuples: Tuples, stop: StopToken = NEVER) -> CoveredRows:
        """Return the rows covered for tuples, from memory if they were asked for before."""
        with _turn(self._lock, stop):
            return _remember(self._covered, tuples, lambda: self._cover(tuples, stop)).on(self.n_jobs)

    def tables(self, tuples: Tuples, smoothing: float, stop: StopToken = NEVER) -> Tables:
        """Return the counts of tuples, from memory if they were asked for before."""
        with _turn(self._lock, stop):
            return _remember(self._tables, (tuples, smoothing), lambda: self._count(tuples, smoothing, stop))

    def _plan(self, tuples: Tuples, stop: StopToken) -> Plan:
        codes, rows = self._rows(stop)[0]
        return plan_cover(codes, space_of(self.encoded.levels, tuples), rows.n_rows, stop, self.n_jobs)

    def _count(self, tuples: Tuples, smoothing: float, stop: StopToken) -> Tables:
        codes, rows = self._rows(stop)[0]
        if tuples in self._covered or isinstance(tuples, SelectedCells):
            covered = self.covered(tuples, stop)
            return count_tables(covered.rows, covered.cover, smoothing, stop)
        space, live = space_of(self.encoded.levels, tuples), np.flatnonzero(rows.weights > 0)
        index = index_rows(space, codes, live, self.n_jobs, stop)
        if self.encoded.chains is not None:
            index = CellIndex.of_seen(space, add_grid_cells(space, self.encoded.chains, index.seen))
        return count_directly(index, codes, rows.y, rows.weights, rows.n_classes, smoothing, self.n_jobs, stop)

    def sums(self, tables: Tables, values: Floats, stop: StopToken = NEVER) -> Floats:
        """Return (S, C): values (N, W) of the training rows, as passes go over them, by cell of `tables`."""
        with _turn(self._lock, stop):
            codes, rows = self._rows(stop)[0]
        of_class = [
            (np.full(rows.n_rows, k, np.int32), np.ascontiguousarray(values[:, k])) for k in range(rows.n_classes)
        ]
        index = CellIndex.of_seen(tables.space, tables.seen)
        return sum_by_cell(index, codes, of_class, rows.n_classes, self.n_jobs, stop)

    def _cover(self, tuples: Tuples, stop: StopToken) -> CoveredRows:
        parts = self._rows(stop)
        live = parts[0][1].weights > 0
        space = space_of(self.encoded.levels, tuples)
        codes, index, chains = [codes for codes, _ in parts], None, self.encoded.chains
        if isinstance(tuples, SelectedCells) or chains is not None:
            every = np.arange(space.n_tuples), np.flatnonzero(live)
            seen = select_cells(tuples, space, index_cells(space, [every], codes[0], self.n_jobs, stop).seen)
            index = CellIndex.of_seen(space, seen if chains is None else add_grid_cells(space, chains, seen))
        cover, keys = cover_rows(self.plan(tuples, stop), space, codes, live, self.n_jobs, stop, index)
        rows = [rows.with_keys(key) for (_, rows), key in zip(parts, keys, strict=True)]
        return CoveredRows(cover, rows[0], rows[1] if len(rows) > 1 else None)

    def _rows(self, stop: StopToken) -> list[tuple[NDArray[np.unsignedinteger], Rows]]:
        """Codes and rows of the training set and, if there is one, the held-out set, repeats merged."""
        if not self._merged:
            sets = [self.encoded] if self.holdout is None else [self.encoded, self.holdout]
            found: list[tuple[NDArray[np.unsignedinteger], Rows]] = []
            for part in sets:
                codes: NDArray[np.unsignedinteger] = part.codes.astype(np.uint32 if self.wide else np.uint16)
                y, weights = part.y, part.weights
                if self._merge:
                    codes, y, weights = merge_repeats(codes, y, weights, part.levels, part.n_classes, stop)
                found.append((codes, Rows(y, weights, part.n_classes, n_jobs=self.n_jobs)))
            self._merged.extend(found)
        return self._merged


class _Shelf:
    """What is kept with one data set."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.items: OrderedDict[Any, TrainingData] = OrderedDict()


_shelves: "WeakKeyDictionary[Dataset, _Shelf]" = WeakKeyDictionary()
_shelves_lock = threading.Lock()


def prepare(
    dataset: "Dataset", recipe: "FitSettings", n_jobs: int | None = None, stop: StopToken = NEVER
) -> TrainingData:
    """Split and encode `dataset` as `recipe` says; on how many threads makes no other rows.

    Raises:
        Stopped: if the token was pulled meanwhile.
        TableError: if no model can be learned from the table.
    """
    key = (*recipe.encoding, recipe.holdout, recipe.seed)
    with _shelves_lock:
        shelf = _shelves.setdefault(dataset, _Shelf())
    with _turn(shelf.lock, stop):
        return _remember(shelf.items, key, lambda: _encode(dataset, recipe, n_jobs, stop)).on(n_jobs)


def _encode(dataset: "Dataset", recipe: "FitSettings", n_jobs: int | None, stop: StopToken) -> TrainingData:
    splits = split_table(dataset, recipe.holdout, recipe.seed)
    frame, labels, test = dataset.X, dataset.y, splits.test
    weights, held_weights = (
        None if dataset.weights is None else dataset.weights[rows] for rows in (splits.train, test)
    )
    stop.check()
    held = (frame.iloc[test], labels[test], held_weights) if len(test) else None
    return encode_rows(
        recipe, frame, labels, weights, rows=splits.train, held=held, n_jobs=n_jobs,
        splitting=dataset.splitting.of_rows(splits.train), stop=stop,
    )  # fmt: skip


def encode_rows(
    recipe: "FitSettings", X: Any, y: NDArray[Any], weights: NDArray[np.float64] | None = None, *,
    rows: NDArray[np.intp] | None = None, held: tuple[Any, ...] | None = None,
    categorical_features: Any = "from_dtype", n_jobs: int | None = None, splitting: Splitting = AT_RANDOM,
    stop: StopToken = NEVER,
) -> TrainingData:  # fmt: skip
    """Return training rows X, y, weights (N,) encoded as a recipe says, and `held`, the same of rows to watch; cuts and
    levels are learned of the training rows alone. rows: which of X and y those are; None for all. weights: of these.
    """

    def part() -> tuple[Any, Any]:  # taken when it is needed: what is prepared is kept, a copy of the table is not
        return (X, y) if rows is None else (X.iloc[rows], y[rows])

    def fitted(table: Any, classes: Any, weights: Any, stop: StopToken) -> Encoder:
        return Encoder(
            discretize=recipe.cuts, n_bins=recipe.most_levels, missing=recipe.missing,
            categorical_features=categorical_features,
        ).fit(table, classes, weights, stop=stop)  # fmt: skip

    def rediscretize(whole: Encoded, train: NDArray[np.intp], stop: StopToken) -> Encoded:
        table, classes = part()
        only = np.zeros(whole.n_rows)
        only[train] = whole.weights[train]
        own = fitted(table, classes, only, stop)  # its columns alone: a class that it did not see keeps its place
        return replace(whole, codes=own.transform(table, stop=stop), levels=own.levels_, chains=own.chains_)

    table, classes = part()
    encoder = fitted(table, classes, weights, stop)
    holdout = None if held is None else encoder.encode(*held, stop=stop)
    encoded = encoder.encode(table, classes, weights, stop=stop)
    looks = recipe.cuts in MDL_WAYS and len(encoder.numeric_) > 0
    return TrainingData(
        encoded, holdout, encoder, n_jobs, splitting=splitting, rediscretize=rediscretize if looks else None
    )


def require_learnable(encoded: Encoded) -> None:
    """Raise `TableError` unless there are columns, rows of some weight and two classes among them."""
    classes = len(np.unique(encoded.y[encoded.weights > 0]))
    if classes < 2 or encoded.n_columns < 1:
        raise TableError(
            f"nothing can be learned from {encoded.n_rows} rows x {encoded.n_columns} columns with {classes} "
            f"class{'' if classes == 1 else 'es'}; expected at least 1 column and rows of 2 classes"
        )


def _remember(shelf: "OrderedDict[Any, Any]", key: Any, make: Callable[[], Any]) -> Any:
    if key not in shelf:
        shelf[key] = make()
        while len(shelf) > KEPT:
            shelf.popitem(last=False)
    shelf.move_to_end(key)
    return shelf[key]


@contextmanager
def _turn(lock: Any, stop: StopToken) -> Iterator[None]:
    """Wait for `lock`, but not past a stop."""
    while not lock.acquire(timeout=0.02):
        stop.check()
    try:
        stop.check()
        yield
    finally:
        lock.release()


def class_weighted(rows: Rows, class_weight: Any, classes: Any) -> Rows:
    """Return `rows`, their weights multiplied by their class's weight; "balanced" is N / (C N_y), None is 1.
    `RecipeError` of a class that is not there.
    """
    if class_weight is None:
        return rows
    if class_weight == "balanced":
        mass = np.bincount(rows.y, rows.weights, minlength=rows.n_classes)
        factor = mass.sum() / (rows.n_classes * np.maximum(mass, np.finfo(float).tiny))
    else:
        known = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
        factor = np.ones(rows.n_classes)
        for label, weight in class_weight.items():
            if label not in known:
                listed = ", ".join(map(repr, list(known)[:8]))
                raise RecipeError(f"class_weight names {label!r}, which is no class; expected some of {listed}")
            factor[known[label]] = weight
    weights = rows.weights * factor[rows.y]
    if not weights.any():
        raise RecipeError("class_weight is 0 for every class: nothing is left; expected a weight above 0 for some")
    return rows.with_weights(weights)
