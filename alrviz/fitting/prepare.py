"""Rows that can be fitted, from a data set: split, encode, count; each done once for all who need it.

Cuts and levels are learned from the training rows alone. The latest few encodings are cached with their data set, so
that racers, orders and repeated runs share them.
"""

import copy
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
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
from alrviz.models.joint_values import merge_repeats
from alrviz.models.plan import Plan, plan_cover
from alrviz.models.set_cover import Cover, cover_rows
from alrviz.models.tables import Tables, count_tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.fitting.fit_settings import FitSettings

# Encodings and tables cached per data set: enough for a race over orders, or over discretisations.
MAX_CACHED = 4


@dataclass(frozen=True, eq=False)
class CoveredRows:
    """Training and held-out rows as keys of the cover of some tuples.

    Attributes:
        cover: blocks, and the cells that occur in training rows.
        rows, heldout: the rows that passes go over; heldout is None if there are none.
    """

    cover: Cover
    rows: Rows
    heldout: Rows | None

    def with_jobs(self, n_jobs: int) -> "CoveredRows":
        """Return the same rows for passes on n_jobs threads."""
        if self.rows.n_jobs == n_jobs:
            return self
        heldout = None if self.heldout is None else self.heldout.with_jobs(n_jobs)
        return replace(self, rows=self.rows.with_jobs(n_jobs), heldout=heldout)


class TrainingData:
    """Training and held-out rows of one encoding, with the covers and tables made from them.

    Args:
        encoder: fitted on the training rows; None if the caller encoded the rows.
        encoded, holdout: training rows, and held-out rows or None.
        n_jobs: threads; None for all.
        merge: whether duplicate rows are merged if more than a fifth are duplicates.
        splitting: the rule for folds of the training rows.
        rediscretize: returns all training rows in cuts learned from those with these indices; None if cuts do not
        depend
            on the class.
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
        self._cache = _Cache()

    def with_jobs(self, n_jobs: int | None) -> "TrainingData":
        """Return the same rows for n_jobs threads (None: all); the caches are shared."""
        jobs = resolve_jobs(n_jobs)
        if jobs == self.n_jobs:
            return self
        copied = copy.copy(self)  # the cache is shared
        copied.n_jobs = jobs
        return copied

    def validation(self, seed: int, stop: StopToken = NEVER) -> "TrainingData":
        """Return the training rows without the validation rows that choose tuples and settings (`split_validation`,
        D_CV).

        The validation rows, drawn by `seed`, are its held-out rows. Cuts did not see their classes, as in a fold.
        """

        def make() -> TrainingData:
            splits = split_validation(self.encoded.y, seed, self.splitting)
            rules = self.splitting.of_rows(splits.train)
            return TrainingData(*self.fold(splits, stop), self.encoder, self.n_jobs, self._merge, rules)

        return self._cache.get("validation", seed, make, stop).with_jobs(self.n_jobs)

    def fold(self, splits: Splits, stop: StopToken = NEVER) -> tuple[Encoded, Encoded]:
        """Return the training and the validation rows of a fold, with cuts that did not see the validation rows'
        classes.

        MDL's cuts, learned from all rows, would look better on validation rows than on any new row.
        """
        encoded, rediscretize = self.encoded, self._rediscretize
        if rediscretize is not None:
            encoded = self._cache.get(
                "cut", splits.train.tobytes(), lambda: rediscretize(self.encoded, splits.train, stop), stop
            )
        return encoded.take(splits.train), encoded.take(splits.validation)

    def class_weighted(self, class_weight: Any) -> "TrainingData":
        """Return the training rows with weights multiplied by their class's weight, as by `class_weighted`."""
        if class_weight is None:
            return self
        rows = Rows(self.encoded.y, self.encoded.weights, self.encoded.n_classes)
        weights = class_weighted(rows, class_weight, self.encoded.classes).weights
        return TrainingData(
            replace(self.encoded, weights=weights), self.holdout, self.encoder, self.n_jobs, self._merge,
            self.splitting, self._rediscretize,
        )  # fmt: skip

    @property
    def has_wide_codes(self) -> bool:
        """Whether codes have 32 bits: some column has more than 65,535 levels."""
        return any(rows is not None and rows.codes.dtype.itemsize > 2 for rows in (self.encoded, self.holdout))

    def merged_row_counts(self, stop: StopToken = NEVER) -> tuple[int, int]:
        """Return the number of training and of held-out rows after repeats are merged."""
        rows = [rows.n_rows for _, rows in self._rows(stop)]
        return rows[0], sum(rows[1:])

    def merged_rows(self, stop: StopToken = NEVER) -> Encoded:
        """Return the training rows as passes go over them, with repeats merged."""
        codes, rows = self._rows(stop)[0]
        return replace(self.encoded, codes=codes, y=rows.y, weights=rows.weights, numbers=None)

    def rows(self, stop: StopToken = NEVER) -> Rows:
        """Return classes and weights of the training rows after repeats are merged, without the keys of a cover."""
        return self._rows(stop)[0][1]

    def cells_seen(self, tuples: Tuples, count: Callable[[], int], stop: StopToken = NEVER) -> int:
        """Return how many cells of these tuples occur in the training rows: from the cache, or else by calling
        `count()`.
        """
        return self._cache.get("cells seen", tuples, count, stop)

    def plan(self, tuples: Tuples, stop: StopToken = NEVER) -> Plan:
        """Return the plan of a cover of tuples, cached."""
        return self._cache.get("plan", tuples, lambda: self._plan(tuples, stop), stop)

    def covered_rows(self, tuples: Tuples, stop: StopToken = NEVER) -> CoveredRows:
        """Return the training and held-out rows, each coded as keys of the blocks that cover these tuples (see
        `CoveredRows`); cached.
        """
        return self._cache.get("covered", tuples, lambda: self._cover(tuples, stop), stop).with_jobs(self.n_jobs)

    def tables(self, tuples: Tuples, smoothing: float, stop: StopToken = NEVER) -> Tables:
        """Return the counts of tuples, cached; smoothing: m of their logarithms."""
        return self._cache.get("tables", (tuples, smoothing), lambda: self._count(tuples, smoothing, stop), stop)

    def _plan(self, tuples: Tuples, stop: StopToken) -> Plan:
        codes, rows = self._rows(stop)[0]
        return plan_cover(codes, space_of(self.encoded.levels, tuples), rows.n_rows, stop, self.n_jobs)

    def _count(self, tuples: Tuples, smoothing: float, stop: StopToken) -> Tables:
        """Return the counts of tuples, with `smoothing` m: by their cover if there is one, else directly."""
        codes, rows = self._rows(stop)[0]
        if tuples in self._cache.kinds["covered"] or isinstance(tuples, SelectedCells):
            covered = self.covered_rows(tuples, stop)
            return count_tables(covered.rows, covered.cover, smoothing, stop)
        space, weighted_rows = space_of(self.encoded.levels, tuples), np.flatnonzero(rows.weights > 0)
        index = index_rows(space, codes, weighted_rows, self.n_jobs, stop)
        if self.encoded.chains is not None:
            index = CellIndex.from_cells(space, add_grid_cells(space, self.encoded.chains, index.seen_cells))
        return count_directly(index, codes, rows.y, rows.weights, rows.n_classes, smoothing, self.n_jobs, stop)

    def sums(self, tables: Tables, values: Floats, stop: StopToken = NEVER) -> Floats:
        """Return (S, C): the sums of values (N, W) of the merged training rows, by cell of `tables`."""
        codes, rows = self._rows(stop)[0]
        class_values = [
            (np.full(rows.n_rows, k, np.int32), np.ascontiguousarray(values[:, k])) for k in range(rows.n_classes)
        ]
        index = CellIndex.from_cells(tables.space, tables.seen_cells)
        return sum_by_cell(index, codes, class_values, rows.n_classes, self.n_jobs, stop)

    def _cover(self, tuples: Tuples, stop: StopToken) -> CoveredRows:
        """Return the rows with the keys of a cover of the tuples."""
        codes_and_rows = self._rows(stop)
        has_weight = codes_and_rows[0][1].weights > 0
        space = space_of(self.encoded.levels, tuples)
        codes, index, chains = [codes for codes, _ in codes_and_rows], None, self.encoded.chains
        if isinstance(tuples, SelectedCells) or chains is not None:
            all_pairs = np.arange(space.n_tuples), np.flatnonzero(has_weight)
            seen_cells = select_cells(
                tuples, space, index_cells(space, [all_pairs], codes[0], self.n_jobs, stop).seen_cells
            )
            index = CellIndex.from_cells(
                space, seen_cells if chains is None else add_grid_cells(space, chains, seen_cells)
            )
        cover, keys = cover_rows(self.plan(tuples, stop), space, codes, has_weight, self.n_jobs, stop, index)
        rows = [rows.with_keys(key) for (_, rows), key in zip(codes_and_rows, keys, strict=True)]
        return CoveredRows(cover, rows[0], rows[1] if len(rows) > 1 else None)

    def _rows(self, stop: StopToken) -> list[tuple[NDArray[np.unsignedinteger], Rows]]:
        """Return codes and rows of the training set and, if there is one, the held-out set, with repeats merged."""

        def merge(encoded: Encoded) -> tuple[NDArray[np.unsignedinteger], Rows]:
            codes: NDArray[np.unsignedinteger] = encoded.codes.astype(np.uint32 if self.has_wide_codes else np.uint16)
            y, weights = encoded.y, encoded.weights
            if self._merge:
                codes, y, weights = merge_repeats(codes, y, weights, encoded.levels, encoded.n_classes, stop)
            return codes, Rows(y, weights, encoded.n_classes, n_jobs=self.n_jobs)

        sets = [self.encoded] if self.holdout is None else [self.encoded, self.holdout]
        return self._cache.get("rows", None, lambda: [merge(encoded) for encoded in sets], stop)


class _Cache:
    """The latest MAX_CACHED results of each kind, by key; other threads wait while one is made."""

    def __init__(self) -> None:
        self.kinds: defaultdict[str, OrderedDict[Any, Any]] = defaultdict(OrderedDict)
        self._lock = threading.RLock()

    def get(self, kind: str, key: Any, make: Callable[[], Any], stop: StopToken) -> Any:
        """Return the stored result of this kind and key, or that of `make`; waiting ends when `stop` is called on the
        token.
        """
        while not self._lock.acquire(timeout=0.02):
            stop.check()
        try:
            stop.check()
            results = self.kinds[kind]
            if key not in results:
                results[key] = make()
                while len(results) > MAX_CACHED:
                    results.popitem(last=False)
            results.move_to_end(key)
            return results[key]
        finally:
            self._lock.release()


_caches: "WeakKeyDictionary[Dataset, _Cache]" = WeakKeyDictionary()
_caches_lock = threading.Lock()


def prepare(
    dataset: "Dataset", recipe: "FitSettings", n_jobs: int | None = None, stop: StopToken = NEVER
) -> TrainingData:
    """Return `dataset` split and encoded as `recipe` says; the rows do not depend on the number of threads.

    Raises:
        Stopped: once `stop` is called on the token.
        TableError: no model can be learned from the table.
    """
    key = (*recipe.encoding, recipe.holdout, recipe.seed)
    with _caches_lock:
        cache = _caches.setdefault(dataset, _Cache())
    return cache.get("encoded", key, lambda: _encode(dataset, recipe, n_jobs, stop), stop).with_jobs(n_jobs)


def _encode(dataset: "Dataset", recipe: "FitSettings", n_jobs: int | None, stop: StopToken) -> TrainingData:
    """Return a data set's training rows encoded as `recipe` says, and its test rows as held-out ones."""
    splits = split_table(dataset, recipe.holdout, recipe.seed)
    frame, labels, test = dataset.X, dataset.y, splits.test
    weights, test_weights = (
        None if dataset.weights is None else dataset.weights[rows] for rows in (splits.train, test)
    )
    stop.check()
    heldout = (frame.iloc[test], labels[test], test_weights) if len(test) else None
    return encode_rows(
        recipe, frame, labels, weights, rows=splits.train, heldout=heldout, n_jobs=n_jobs,
        splitting=dataset.splitting.of_rows(splits.train), stop=stop,
    )  # fmt: skip


def encode_rows(
    recipe: "FitSettings", X: Any, y: NDArray[Any], weights: NDArray[np.float64] | None = None, *,
    rows: NDArray[np.intp] | None = None, heldout: tuple[Any, ...] | None = None,
    categorical_features: Any = "from_dtype", n_jobs: int | None = None, splitting: Splitting = AT_RANDOM,
    stop: StopToken = NEVER,
) -> TrainingData:  # fmt: skip
    """Return training rows encoded as a recipe says; cuts and levels are learned from these rows alone.

    Args:
        recipe: the settings of the encoding.
        X, y: the table, and its classes (N,).
        weights: (N,) of the training rows; None for 1 each.
        rows: indices of the training rows in X and y; None for all.
        heldout: X, y and weights of rows to watch, or None.
        categorical_features: columns that are not cut, as in the estimators.
        n_jobs: threads; None for all.
        splitting: the rule for folds of the training rows.
        stop: ends it.
    """

    def training_part() -> tuple[Any, Any]:  # taken again when needed, so that no copy of the table is cached
        return (X, y) if rows is None else (X.iloc[rows], y[rows])

    def fit_encoder(table: Any, classes: Any, weights: Any, stop: StopToken) -> Encoder:
        return Encoder(
            discretize=recipe.cuts, n_bins=recipe.most_levels, missing=recipe.missing,
            categorical_features=categorical_features,
        ).fit(table, classes, weights, stop=stop)  # fmt: skip

    def rediscretize(all_rows: Encoded, train: NDArray[np.intp], stop: StopToken) -> Encoded:
        table, classes = training_part()
        fold_weights = np.zeros(all_rows.n_rows)
        fold_weights[train] = all_rows.weights[train]
        fold_encoder = fit_encoder(
            table, classes, fold_weights, stop
        )  # only its columns are used: it may not have seen every class
        return replace(
            all_rows,
            codes=fold_encoder.transform(table, stop=stop),
            levels=fold_encoder.levels_,
            chains=fold_encoder.chains_,
        )

    table, classes = training_part()
    encoder = fit_encoder(table, classes, weights, stop)
    holdout = None if heldout is None else encoder.encode(*heldout, stop=stop)
    encoded = encoder.encode(table, classes, weights, stop=stop)
    cuts_use_classes = recipe.cuts in MDL_WAYS and len(encoder.numeric_) > 0
    return TrainingData(
        encoded, holdout, encoder, n_jobs, splitting=splitting, rediscretize=rediscretize if cuts_use_classes else None
    )


def require_learnable(encoded: Encoded) -> None:
    """Raise `TableError` unless there is a column, and rows with positive weight of at least two classes."""
    classes = len(np.unique(encoded.y[encoded.weights > 0]))
    if classes < 2 or encoded.n_columns < 1:
        raise TableError(
            f"no model can be learned from {encoded.n_rows} rows x {encoded.n_columns} columns with {classes} "
            f"class{'' if classes == 1 else 'es'}; expected at least 1 column and rows of 2 classes"
        )


def class_weighted(rows: Rows, class_weight: Any, classes: Any) -> Rows:
    """Return `rows` with weights multiplied by their class's weight; "balanced" is N / (C N_y), None is 1.

    classes: the labels that `class_weight` may name, in the order of their codes.

    Raises:
        RecipeError: a class weight that names no class, or only weights of 0.
    """
    if class_weight is None:
        return rows
    if class_weight == "balanced":
        mass = np.bincount(rows.y, rows.weights, minlength=rows.n_classes)
        factor = mass.sum() / (rows.n_classes * np.maximum(mass, np.finfo(float).tiny))
    else:
        codes = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
        factor = np.ones(rows.n_classes)
        for label, weight in class_weight.items():
            if label not in codes:
                labels = ", ".join(map(repr, list(codes)[:8]))
                raise RecipeError(f"class_weight names {label!r}, which is no class; expected one of {labels}")
            factor[codes[label]] = weight
    weights = rows.weights * factor[rows.y]
    if not weights.any():
        raise RecipeError("class_weight is 0 for every class with rows; expected a weight above 0 for some")
    return rows.with_weights(weights)
