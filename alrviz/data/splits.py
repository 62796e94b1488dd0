"""Split rows into training, validation and test rows; the only module that draws rows at random.

    train        weights, cuts and levels are learned from these rows
    validation   held out of the training rows, to choose penalties, orders and tuples
    test         used by no fit and no choice, to evaluate models

| function | parts | drawn |
|---|---|---|
| `split_table`, `split_holdout` | train, test | a share, stratified by class |
| `split_folds` | train, test of each fold | shuffled, stratified by class |
| `validation_folds` | train, validation of each fold | the same, of training rows |
| `split_validation` | train, validation | by a hash of the row's number |
| `hash_test_rows` | test | by a hash of the row's number: independent of how a table is divided into files |
| `spread_folds` | the fold of each row | shuffled, each class spread as evenly as possible |

All respect a `Splitting`: groups stay together, and time goes from training to test rows. Row numbers are ascending
unless a docstring says otherwise.
"""

import threading
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encode import class_codes
from alrviz.data.seeds import seed_of
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import RecipeError

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

Rows = NDArray[np.intp]
# The names of the parts on pages and in reports.
ROW_WORDS = {"train": "training rows", "validation": "validation rows", "test": "test rows"}
# Folds of alpha="cv", alpha="auto" and order="auto"; with more rows than SINGLE_FOLD_ROWS only the first is used, if it
# is as informative as INFORMATIVE_ROWS rows of classes of equal size (see `one_fold_suffices`).
FOLDS, SINGLE_FOLD_ROWS, INFORMATIVE_ROWS = 3, 20_000, 3000
MAX_STRATIFIED_GROUPS = 5000  # StratifiedGroupKFold takes a millisecond for each group
CHUNK = 2**18  # rows of a chunk of a table that is read in batches
SHUFFLE_SEED = 2**41  # added to a recipe's seed, so that the order of rows is independent of which are test rows
MIN_VALIDATION_ROWS, MAX_VALIDATION_ROWS = 5_000, 100_000  # of `split_validation`; never more than 30 % for the minimum
MAX_KEPT_SPLITS = 4  # for each data set


def _no_rows() -> Rows:
    return np.empty(0, np.intp)


@dataclass(frozen=True, eq=False)
class Splits:
    """Row numbers of the training (n,), validation (m,) and test rows (k,) of a table; a part may be empty."""

    train: Rows
    validation: Rows = field(default_factory=_no_rows)
    test: Rows = field(default_factory=_no_rows)

    @property
    def judging_part(self) -> str:
        """The part that evaluates a model of these training rows: "test", or "train" without test rows."""
        return "test" if len(self.test) else "train"


# -- a holdout ---------------------------------------------------------------------------------------------------------


_of_tables: "WeakKeyDictionary[Dataset, dict[tuple[float, int], Splits]]" = WeakKeyDictionary()
_lock = threading.Lock()


def split_table(dataset: "Dataset", holdout: float, seed: int) -> Splits:
    """Return the training and test rows of all runs, races and reports of a data set with this holdout and seed.

    Cached per data set, holdout and seed: the latest `MAX_KEPT_SPLITS` of each data set.
    """
    with _lock:
        cached = _of_tables.setdefault(dataset, {})
        splits = cached.pop((holdout, seed), None) or split_holdout(dataset.y, holdout, seed, dataset.splitting)
        while len(cached) >= MAX_KEPT_SPLITS:
            del cached[next(iter(cached))]
        cached[holdout, seed] = splits
        return splits


def split_holdout(y: NDArray[Any], holdout: float, seed: int, splitting: Splitting = AT_RANDOM) -> Splits:
    """Return training and test rows of a table, stratified by class y (N,).

    Every class keeps a training row. A group is either training or test rows. With times, the last rows are test rows,
    and rows of equal time stay together.
    """
    rows = np.arange(len(y))
    if splitting.times is not None:
        times = np.sort(splitting.times)
        n_test = round(holdout * len(y))
        is_late = splitting.times >= times[len(y) - n_test] if n_test else np.zeros(len(y), bool)
        return Splits(rows[~is_late], test=rows[is_late]) if not is_late.all() else Splits(rows)
    if splitting.units is not None:
        _, first_rows, units = np.unique(splitting.units, return_index=True, return_inverse=True)
        is_test = np.isin(units, split_holdout(y[first_rows], holdout, seed).test)
        code = class_codes(y, len(y))[1]
        is_lost = is_test & ~np.isin(code, code[~is_test])
        is_test &= ~np.isin(units, units[is_lost])  # every class keeps a training row
        return Splits(rows[~is_test], test=rows[is_test])
    classes, code = class_codes(y, len(y))  # codes compare faster than labels that are objects
    n_rows_by_class = np.bincount(code, minlength=len(classes))
    is_single = n_rows_by_class[code] == 1
    candidates = rows[~is_single]
    n_test = round(holdout * len(y))
    if n_test == 0 or len(candidates) < 2:
        return Splits(rows)
    from sklearn.model_selection import train_test_split

    n_repeated_classes = int((n_rows_by_class > 1).sum())
    n_test = min(n_test, len(candidates) - n_repeated_classes)
    if n_test < n_repeated_classes:  # too few to stratify: keep one row of each class, draw from the rest
        kept_rows = candidates[np.unique(code[candidates], return_index=True)[1]]
        candidates = np.setdiff1d(candidates, kept_rows)
        test = np.random.default_rng(seed).choice(candidates, n_test, replace=False) if n_test else candidates[:0]
    else:
        train, test = train_test_split(candidates, test_size=n_test, random_state=seed, stratify=code[candidates])
        is_lost = ~np.isin(code[test], code[train])  # classes in test rows alone: one row of each is given back
        test = np.delete(test, np.flatnonzero(is_lost)[np.unique(code[test][is_lost], return_index=True)[1]])
    return Splits(np.setdiff1d(rows, test), test=np.sort(test))


# -- folds -------------------------------------------------------------------------------------------------------------


def split_folds(y: NDArray[Any], folds: int, seed: int, splitting: Splitting = AT_RANDOM) -> list[Splits]:
    """Return training and test rows of each fold of shuffled rows, stratified by class y (N,).

    Classes with fewer rows than folds are stratified as one class. With times, the rows are divided into folds + 1
    parts; each part but the first has the test rows of a model of all earlier parts.

    Raises:
        RecipeError: too few rows, groups or times for so many folds.
    """
    if splitting.times is not None:
        return _time_folds(splitting.times, folds)
    if splitting.units is None:
        return _stratified_folds(y, folds, seed)
    _, units = np.unique(splitting.units, return_inverse=True)
    n_units = int(units.max()) + 1
    _check_units(n_units, folds)
    if n_units <= MAX_STRATIFIED_GROUPS:
        from sklearn.model_selection import StratifiedGroupKFold

        strata = _strata(y, folds)
        folds_of_rows = StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(strata, strata, units)
        return [Splits(train, test=test) for train, test in folds_of_rows]
    # Among so many groups sizes average out: stratifying groups by the class of their first row is enough.
    first_rows = np.unique(units, return_index=True)[1]
    test_masks = [np.isin(units, fold.test) for fold in _stratified_folds(y[first_rows], folds, seed)]
    return [Splits(np.flatnonzero(~is_test), test=np.flatnonzero(is_test)) for is_test in test_masks]


def validation_folds(
    y: NDArray[np.integer], class_rows: NDArray[Any], seed: int, splitting: Splitting = AT_RANDOM
) -> list[Splits]:
    """Return the folds of training rows that choose penalties and orders, each with training and validation rows.

    Validation rows of a class without training rows in the fold are left out, as they cannot compare models; so are
    folds without validation rows, or without two classes to learn.

    Args:
        y: class of each training row, (N,) from 0.
        class_rows: (C,) number of rows of each class, which decides how many folds are used (`n_validation_folds`).
        seed: of the shuffle.
        splitting: constraints of the folds.

    Raises:
        RecipeError: see `split_folds`.
    """
    result = []
    for fold in split_folds(y, FOLDS, seed, splitting)[: n_validation_folds(class_rows)]:
        validation = fold.test[np.isin(y[fold.test], y[fold.train])]
        if len(validation) and len(np.unique(y[fold.train])) > 1:
            result.append(Splits(fold.train, validation))
    return result


def n_validation_folds(class_rows: NDArray[Any]) -> int:
    """Return how many folds choose penalties and orders for classes of so many rows (C,).

    It is 1 for many rows, unless nearly all are of one class. Gain of three folds over one in log loss on new rows, for
    three tables of 40,000 rows with 40 of the second class: .00047 +- .00007 (order 2 instead of 4), .00007 +- .00003
    and .00001.
    """
    return 1 if class_rows.sum() > SINGLE_FOLD_ROWS and one_fold_suffices(class_rows) else FOLDS


def one_fold_suffices(class_rows: NDArray[Any]) -> bool:
    """Return whether one fold is enough to guide a search, for classes of so many rows (C,).

    It is if the rows are as informative as more than `INFORMATIVE_ROWS` rows of classes of equal size. The Fisher
    information of a row about log odds is p (1 - p), so 16,000 rows with 16 of a second class are worth 64.

    Measured on 15 such tables with something to learn: one fold kept the class frequencies on 6 of them, three folds on
    1; log loss on new rows was .00040 and .00056 below that of the class frequencies.
    """
    n_rows = class_rows.sum()
    shares = class_rows / n_rows
    return bool(n_rows * (1.0 - shares @ shares) > INFORMATIVE_ROWS * (1.0 - 1.0 / len(class_rows)))


def check_folds(folds: int, splitting: Splitting = AT_RANDOM) -> None:
    """Raise `RecipeError` if there are too few groups or times for so many folds."""
    if splitting.times is not None:
        _time_folds(splitting.times, folds)
    elif splitting.units is not None:
        _check_units(len(np.unique(splitting.units)), folds)


def spread_folds(y: NDArray[np.integer], folds: int, seed: int, splitting: Splitting = AT_RANDOM) -> NDArray[np.int64]:
    """Return a random fold for each row (N,), every class spread over the folds as evenly as possible.

    Unlike in `split_folds`, rows of a class with fewer rows than folds are in different folds. Groups stay together and
    count as rows of the class of their first row; times are ignored.
    """
    if splitting.units is not None:
        _, first_rows, units = np.unique(splitting.units, return_index=True, return_inverse=True)
        return spread_folds(y[first_rows], folds, seed)[units]
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold_of_row = np.empty(len(y), np.int64)
    fold_of_row[order] = np.arange(len(y)) % folds
    return fold_of_row


def _check_units(n_units: int, folds: int) -> None:
    if n_units < folds:
        raise RecipeError(f"{n_units} groups cannot be shared out over {folds} folds; expected at most {n_units} folds")


def _time_folds(times: NDArray[Any], folds: int) -> list[Splits]:
    """Return folds in which rows of earlier times are training rows, and those of the next part test rows."""
    order = np.argsort(times, kind="stable")
    part_size = len(times) // (folds + 1)
    target_edges = [len(times) - (folds - k) * part_size for k in range(folds)]
    # Rows of equal time stay together: a part begins with the first row of its time.
    edges = [int(np.searchsorted(times[order], times[order[edge]])) for edge in target_edges] if part_size else [0]
    edges.append(len(times))
    if edges[0] == 0 or (np.diff(edges) == 0).any():
        raise RecipeError(f"{len(np.unique(times))} different times are too few, or too unevenly filled, for {folds} "
                          "folds in time; expected fewer folds, or a column of more times")  # fmt: skip
    return [
        Splits(np.sort(order[:train_end]), test=np.sort(order[train_end:test_end]))
        for train_end, test_end in pairwise(edges)
    ]


def _stratified_folds(y: NDArray[Any], folds: int, seed: int) -> list[Splits]:
    """Return shuffled folds, stratified by class y (N,)."""
    from sklearn.model_selection import StratifiedKFold

    if len(y) < folds:
        raise RecipeError(f"{len(y)} rows cannot be shared out over {folds} folds; expected at most {len(y)} folds")
    strata = _strata(y, folds)
    folds_of_rows = StratifiedKFold(folds, shuffle=True, random_state=seed).split(strata, strata)
    return [Splits(train, test=test) for train, test in folds_of_rows]


def _strata(y: NDArray[Any], folds: int) -> NDArray[Any]:
    """Return the class (N,) to stratify each row by; classes with fewer rows than folds are merged."""
    classes, code = class_codes(y, len(y))
    n_rows_by_class = np.bincount(code, minlength=len(classes))
    is_rare = n_rows_by_class < folds
    strata = np.where(is_rare[code], -1, code)
    if 0 < n_rows_by_class[is_rare].sum() < folds:
        strata = np.where(is_rare[code], n_rows_by_class.argmax(), code)
    return strata


# -- of a study --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitSpec:
    """The definition of one split of a study, from which every process draws the same rows.

    Attributes:
        repeat: number of the shuffle, from 0; `seed` alone decides the rows.
        fold, folds: fold `fold` of `folds`; folds = 0 is a holdout, 1 has no test rows.
        seed: of the shuffle, or of the holdout.
        holdout: share of the test rows if folds = 0.
        share: of the training rows that are used, drawn at random.
    """

    repeat: int
    fold: int
    folds: int
    seed: int
    holdout: float = 0.0
    share: float = 1.0

    def splits(self, y: NDArray[Any], splitting: Splitting = AT_RANDOM) -> Splits:
        """Return training and test rows of a table, stratified by class y (N,).

        As the rows depend on y, draw them with the table's own classes before changing any label.
        """
        if self.folds == 1:
            parts = Splits(np.arange(len(y)))
        elif self.folds == 0:
            parts = split_holdout(y, self.holdout, self.seed, splitting)
        else:
            parts = split_folds(y, self.folds, self.seed, splitting)[self.fold]
        if self.share == 1.0:
            return parts
        random, train = np.random.default_rng(seed_of(self.seed, "share", self.fold)), parts.train
        return replace(parts, train=np.sort(random.permutation(train)[: max(2, round(self.share * len(train)))]))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for a key of the checkpoint."""
        return asdict(self)


def holdout_spec(holdout: float, seed: int, repeat: int = 0) -> SplitSpec:
    """Return the split of a run with this holdout and seed; each repeat has its own seed."""
    return SplitSpec(repeat, 0, 0, seed_of(seed, "split", repeat) if repeat else seed, holdout)


def whole_table(repeat: int = 0) -> SplitSpec:
    """Return the split without test rows."""
    return SplitSpec(repeat, 0, 1, 0)


def repeated_folds(repeats: int, folds: int, seed: int, share: float = 1.0) -> list[SplitSpec]:
    """Return the splits of `repeats` shuffles into `folds` folds each.

    Raises `RecipeError` for fewer than one repeat or two folds, or a share outside (0, 1].
    """
    if repeats < 1 or folds < 2 or not 0.0 < share <= 1.0:
        raise RecipeError(
            f"{repeats} x {folds}-fold on a share of {share:g} is no cross-validation; expected at least 1 repeat, 2 "
            "folds, and a share of the training rows above 0 and up to 1"
        )
    return [
        SplitSpec(repeat, fold, folds, seed_of(seed, "split", repeat), share=share)
        for repeat in range(repeats)
        for fold in range(folds)
    ]


# -- by a hash of the row's number -------------------------------------------------------------------------------------


def split_validation(y: NDArray[np.integer], seed: int, splitting: Splitting = AT_RANDOM) -> Splits:
    """Return training and validation rows of training rows with classes y (N,); the latter choose tuples and settings.

    Validation rows (D_CV) are in the order of a hash, so that the first m of them are a random sample. A table read in
    batches has the same ones; groups and times are split by `split_holdout`.
    """
    if splitting.units is None and splitting.times is None:
        validation, _ = validation_rows(y, seed)
    else:
        validation = split_holdout(y, n_validation_rows(len(y)) / len(y), seed, splitting).test
        validation = validation[np.argsort(row_hash(0, len(y), seed)[validation])]
    return Splits(np.setdiff1d(np.arange(len(y)), validation), validation)


def n_validation_rows(n_rows: int) -> int:
    """Return the number of validation rows among n_rows training rows: 5 %, within the limits above."""
    return round(min(max(0.05 * n_rows, min(0.3 * n_rows, MIN_VALIDATION_ROWS)), MAX_VALIDATION_ROWS))


def validation_rows(y: NDArray[np.integer], seed: int) -> tuple[Rows, Rows]:
    """Return the validation rows (m,), the first ones of the first chunk, and the rows that were moved out of them.

    If all rows of a class would be validation rows, one of them is moved to the end, so that the class can be learned.
    `y` is the class of each row (N,), below 0 for rows that are no training rows.
    """
    chunks = [slice(begin, begin + CHUNK) for begin in range(0, len(y), CHUNK)]  # no temporary as long as the table
    class_rows = np.sum([np.bincount(y[chunk] + 1, minlength=int(y.max()) + 2)[1:] for chunk in chunks], axis=0)
    n_rows, first_chunk = int(class_rows.sum()), []
    for chunk in chunks:
        hashes = row_hash(chunk.start, len(y[chunk]), seed + SHUFFLE_SEED)
        rows = np.flatnonzero((chunk_of(hashes, -(-n_rows // CHUNK)) == 0) & (y[chunk] >= 0))
        first_chunk.append(np.array([rows + chunk.start, hashes[rows].view(np.int64)]))
    candidates, hash_bits = np.concatenate(first_chunk, axis=1)
    candidates = candidates[np.argsort(hash_bits.view(np.uint64), kind="stable")].astype(np.intp)
    moved_so_far = candidates[:0]
    while True:
        validation = candidates[: n_validation_rows(n_rows)]
        is_exhausted = np.bincount(y[validation], minlength=len(class_rows)) == class_rows
        is_exhausted[y[moved_so_far]] = False  # these have a row at the end; a second one would not help
        _, first_positions = np.unique(np.where(is_exhausted[y[validation]], y[validation], -1), return_index=True)
        moved_rows = validation[first_positions][is_exhausted[y[validation[first_positions]]]]
        if not len(moved_rows):
            return validation, moved_so_far
        candidates, moved_so_far = candidates[~np.isin(candidates, moved_rows)], np.append(moved_so_far, moved_rows)


def hash_test_rows(y: NDArray[np.integer], n_classes: int, holdout: float, seed: int) -> NDArray[np.bool_]:
    """Return a mask (N,) of the test rows; y below 0 means no class. A class of test rows alone keeps its first row."""
    is_test = np.zeros(len(y), bool)
    for first_row in range(0, len(y), CHUNK):
        n_rows = min(CHUNK, len(y) - first_row)
        is_test[first_row : first_row + n_rows] = row_hash(first_row, n_rows, seed) < np.uint64(holdout * (2**64 - 1))
    for k in range(n_classes):
        is_of_class = y == k
        if not (is_of_class & ~is_test).any():
            is_test[int(is_of_class.argmax())] = False
    return is_test


def row_hash(first: int, n_rows: int, seed: int) -> NDArray[np.uint64]:
    """Return a hash (n_rows,) of the row numbers from `first` on, uniform over 64 bits."""
    with np.errstate(over="ignore"):
        x = np.arange(first, first + n_rows, dtype=np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        return x ^ (x >> np.uint64(31))


def chunk_of(hashes: NDArray[np.uint64], n_chunks: int) -> NDArray[np.uint64]:
    """Return the chunk (n,) of rows with these hashes (n,)."""
    return (hashes >> np.uint64(32)) % np.uint64(max(1, n_chunks))
