"""Which rows of a table are learned from and which judge: the one module that draws rows.

    train        rows that weights, cuts and levels are learned from
    validation   rows held out of the training rows, by which penalties, orders and tuples are chosen
    test         rows that neither a fit nor a choice has seen, by which models are judged

| function | parts | drawn |
|---|---|---|
| `split_table`, `split_holdout` | train, test | a share, stratified by class |
| `split_folds` | train, test of each fold | shuffled, stratified by class |
| `validation_folds` | train, validation of each fold | the same, of training rows |
| `split_validation` | train, validation | by a hash of the row's number |
| `hash_test_rows` | test | by a hash of the row's number: the same however a table is cut into files |
| `spread_folds` | the fold of each row | shuffled, each class dealt out as evenly as possible |

Groups stay together and time is respected where a `Splitting` says so. Row numbers are ascending unless said otherwise.
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
# What pages and reports call the rows of each part.
ROW_WORDS = {"train": "training rows", "validation": "validation rows", "test": "test rows"}
# Folds of alpha="cv", alpha="auto" and order="auto". Beyond SINGLE_FOLD_ROWS rows one of them is enough where it tells
# more than INFORMATIVE_ROWS rows of classes of equal size (see `one_fold_suffices`).
FOLDS, SINGLE_FOLD_ROWS, INFORMATIVE_ROWS = 3, 20_000, 3000
MAX_STRATIFIED_GROUPS = 5000  # scikit-learn balances groups by size and class, at a millisecond for each
CHUNK = 2**18  # rows of a chunk of a table that is read in batches
SHUFFLE_SEED = 2**41  # added to a recipe's seed: the order of rows is drawn apart from which are test rows
# Validation rows of `split_validation`: at least, where these are not over 30 %, and at most.
MIN_VALIDATION_ROWS, MAX_VALIDATION_ROWS = 5_000, 100_000
MAX_KEPT_SPLITS = 4  # for each data set


def _no_rows() -> Rows:
    return np.empty(0, np.intp)


@dataclass(frozen=True, eq=False)
class Splits:
    """Row numbers of a table, by part; a part without rows is empty.

    Attributes:
        train: (n,) learned from.
        validation: (m,) held out of training to choose settings by.
        test: (k,) judged on.
    """

    train: Rows
    validation: Rows = field(default_factory=_no_rows)
    test: Rows = field(default_factory=_no_rows)

    @property
    def judging_part(self) -> str:
        """The part that a model of these training rows is judged on: "test", or "train" without test rows."""
        return "test" if len(self.test) else "train"


# -- a holdout ---------------------------------------------------------------------------------------------------------


_of_tables: "WeakKeyDictionary[Dataset, dict[tuple[float, int], Splits]]" = WeakKeyDictionary()
_lock = threading.Lock()


def split_table(dataset: "Dataset", holdout: float, seed: int) -> Splits:
    """Return training and test rows of a data set: those of every run, race and report with this holdout and seed.

    They are drawn once for each data set, holdout and seed; the latest few are kept with the data set.
    """
    with _lock:
        drawn = _of_tables.setdefault(dataset, {})
        splits = drawn.pop((holdout, seed), None) or split_holdout(dataset.y, holdout, seed, dataset.splitting)
        while len(drawn) >= MAX_KEPT_SPLITS:
            del drawn[next(iter(drawn))]
        drawn[holdout, seed] = splits
        return splits


def split_holdout(y: NDArray[Any], holdout: float, seed: int, splitting: Splitting = AT_RANDOM) -> Splits:
    """Return training and test rows of a table, stratified by class y (N,).

    A class of one row is never held out, and every class keeps a row for training. Groups are held out whole; in time
    the last rows are held out, those of equal time together.
    """
    rows = np.arange(len(y))
    if splitting.when is not None:
        when = np.sort(splitting.when)
        n_test = round(holdout * len(y))
        late = splitting.when >= when[len(y) - n_test] if n_test else np.zeros(len(y), bool)
        return Splits(rows[~late], test=rows[late]) if not late.all() else Splits(rows)
    if splitting.units is not None:
        _, first, units = np.unique(splitting.units, return_index=True, return_inverse=True)
        held = np.isin(units, split_holdout(y[first], holdout, seed).test)
        code = class_codes(y, len(y))[1]
        lost = held & ~np.isin(code, code[~held])
        held &= ~np.isin(units, units[lost])  # the groups of a class that would be held out whole come back
        return Splits(rows[~held], test=rows[held])
    classes, code = class_codes(y, len(y))  # labels may be objects, which are slow to compare
    size = np.bincount(code, minlength=len(classes))
    single = size[code] == 1
    rest = rows[~single]
    n_test = round(holdout * len(y))
    if n_test == 0 or len(rest) < 2:
        return Splits(rows)
    from sklearn.model_selection import train_test_split

    several = int((size > 1).sum())
    n_test = min(n_test, len(rest) - several)
    if n_test < several:  # too few to give every class its share: one row of each class stays, the rest is drawn freely
        keep = rest[np.unique(code[rest], return_index=True)[1]]
        rest = np.setdiff1d(rest, keep)
        test = np.random.default_rng(seed).choice(rest, n_test, replace=False) if n_test else rest[:0]
    else:
        train, test = train_test_split(rest, test_size=n_test, random_state=seed, stratify=code[rest])
        lost = ~np.isin(code[test], code[train])  # a large share can hold a small class out whole: one row comes back
        test = np.delete(test, np.flatnonzero(lost)[np.unique(code[test][lost], return_index=True)[1]])
    return Splits(np.setdiff1d(rows, test), test=np.sort(test))


# -- folds -------------------------------------------------------------------------------------------------------------


def split_folds(y: NDArray[Any], folds: int, seed: int, splitting: Splitting = AT_RANDOM) -> list[Splits]:
    """Return training and test rows of each fold of shuffled rows, stratified by class y (N,).

    Classes with fewer rows than there are folds are stratified together, as one. In time the rows fall into folds + 1
    parts, and each part but the first is judged by a model of all before it.

    Raises:
        RecipeError: if there are fewer rows, groups or times than that takes.
    """
    if splitting.when is not None:
        return _folds_in_time(splitting.when, folds)
    if splitting.units is None:
        return _stratified_folds(y, folds, seed)
    _, units = np.unique(splitting.units, return_inverse=True)
    n_units = int(units.max()) + 1
    _check_units(n_units, folds)
    if n_units <= MAX_STRATIFIED_GROUPS:
        from sklearn.model_selection import StratifiedGroupKFold

        strata = _strata(y, folds)
        drawn = StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(strata, strata, units)
        return [Splits(train, test=test) for train, test in drawn]
    # So many are alike in size that the classes of their first rows are enough to share them out by.
    first = np.unique(units, return_index=True)[1]
    inside = [np.isin(units, fold.test) for fold in _stratified_folds(y[first], folds, seed)]
    return [Splits(np.flatnonzero(~held), test=np.flatnonzero(held)) for held in inside]


def validation_folds(
    y: NDArray[np.integer], class_rows: NDArray[Any], seed: int, splitting: Splitting = AT_RANDOM
) -> list[Splits]:
    """Return training and validation rows of the folds that choose penalties and orders, of training rows.

    A validation row of a class that the fold's training rows lack tells nothing and is left out; so is a fold without
    two classes to learn, or without validation rows.

    Args:
        y: class of each training row, (N,) from 0.
        class_rows: (C,) how many rows each class has: of many rows the first fold is enough (`n_validation_folds`).
        seed: of the shuffle.
        splitting: what the folds keep to.

    Raises:
        RecipeError: as `split_folds`.
    """
    found = []
    for fold in split_folds(y, FOLDS, seed, splitting)[: n_validation_folds(class_rows)]:
        validation = fold.test[np.isin(y[fold.test], y[fold.train])]
        if len(validation) and len(np.unique(y[fold.train])) > 1:
            found.append(Splits(fold.train, validation))
    return found


def n_validation_folds(class_rows: NDArray[Any]) -> int:
    """Return how many folds choose penalties and orders, where classes have so many rows (C,): of many rows one, where
    these are not nearly all of one class.

    (Of three tables of 40,000 rows with 40 of a second class, for one a fold chose order 4, and three order 2,
    .00047 +- .00007 below it on new rows; on the others three were .00007 +- .00003 and .00001 below one.)
    """
    return 1 if class_rows.sum() > SINGLE_FOLD_ROWS and one_fold_suffices(class_rows) else FOLDS


def one_fold_suffices(class_rows: NDArray[Any]) -> bool:
    """Return whether one fold finds the way of a search, where classes have so many rows (C,): whether they tell as
    much as more than INFORMATIVE_ROWS rows of classes of equal size. Of log odds a row tells p (1 - p), Fisher's
    information, so that of 16,000 rows with 16 of a second class there are 64.

    (Of 15 such tables with something to learn, chosen by one fold 6 stayed with the class shares, by three 1: .00040
    and .00056 below these on new rows.)
    """
    rows = class_rows.sum()
    shares = class_rows / rows
    return bool(rows * (1.0 - shares @ shares) > INFORMATIVE_ROWS * (1.0 - 1.0 / len(class_rows)))


def check_folds(folds: int, splitting: Splitting = AT_RANDOM) -> None:
    """Raise `RecipeError` where groups or times are too few for so many folds, before any is made."""
    if splitting.when is not None:
        _folds_in_time(splitting.when, folds)
    elif splitting.units is not None:
        _check_units(len(np.unique(splitting.units)), folds)


def spread_folds(y: NDArray[np.integer], folds: int, seed: int, splitting: Splitting = AT_RANDOM) -> NDArray[np.int64]:
    """Return the fold of each row (N,): at random, every class spread over the folds as evenly as it goes.

    Unlike in `split_folds`, rows of a class too small for every fold never meet in one. Groups stay together, by the
    class of their first row; times have no say.
    """
    if splitting.units is not None:
        _, first, units = np.unique(splitting.units, return_index=True, return_inverse=True)
        return spread_folds(y[first], folds, seed)[units]
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), np.int64)
    fold[order] = np.arange(len(y)) % folds
    return fold


def _check_units(n_units: int, folds: int) -> None:
    if n_units < folds:
        raise RecipeError(f"{n_units} groups cannot be shared out over {folds} folds; expected at most {n_units} folds")


def _folds_in_time(when: NDArray[Any], folds: int) -> list[Splits]:
    order = np.argsort(when, kind="stable")
    size = len(when) // (folds + 1)
    wanted = [len(when) - (folds - k) * size for k in range(folds)]
    # Equal times are not cut apart: a part begins with the first row of its time.
    edges = [int(np.searchsorted(when[order], when[order[edge]])) for edge in wanted] if size else [0]
    edges.append(len(when))
    if edges[0] == 0 or (np.diff(edges) == 0).any():
        raise RecipeError(f"{len(np.unique(when))} different times are too few, or too unevenly filled, for {folds} "
                          "folds in time; expected fewer folds, or a column of more times")  # fmt: skip
    return [Splits(np.sort(order[:low]), test=np.sort(order[low:high])) for low, high in pairwise(edges)]


def _stratified_folds(y: NDArray[Any], folds: int, seed: int) -> list[Splits]:
    from sklearn.model_selection import StratifiedKFold

    if len(y) < folds:
        raise RecipeError(f"{len(y)} rows cannot be shared out over {folds} folds; expected at most {len(y)} folds")
    strata = _strata(y, folds)
    drawn = StratifiedKFold(folds, shuffle=True, random_state=seed).split(strata, strata)
    return [Splits(train, test=test) for train, test in drawn]


def _strata(y: NDArray[Any], folds: int) -> NDArray[Any]:
    """Return classes to stratify by: those too small for every fold are one."""
    classes, code = class_codes(y, len(y))
    size = np.bincount(code, minlength=len(classes))
    rare = size < folds
    strata = np.where(rare[code], -1, code)
    if 0 < size[rare].sum() < folds:
        strata = np.where(rare[code], size.argmax(), code)
    return strata


# -- of a study --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitSpec:
    """How one split of a study is drawn: pure data, which gives the same rows wherever it is computed.

    Attributes:
        repeat, fold, folds: fold `fold` of `folds` in shuffle `repeat`; folds = 0 is a holdout, 1 has no test rows.
        seed: of the shuffle, or of the holdout.
        holdout: share of the rows that are test rows where folds = 0.
        share: of the training rows that are learned from, drawn at random.
    """

    repeat: int
    fold: int
    folds: int
    seed: int
    holdout: float = 0.0
    share: float = 1.0

    def splits(self, y: NDArray[Any], splitting: Splitting = AT_RANDOM) -> Splits:
        """Return training and test rows of a table with classes y (N,).

        They are stratified by y: who changes labels draws the rows before, with the table's own.
        """
        if self.folds == 1:
            drawn = Splits(np.arange(len(y)))
        elif self.folds == 0:
            drawn = split_holdout(y, self.holdout, self.seed, splitting)
        else:
            drawn = split_folds(y, self.folds, self.seed, splitting)[self.fold]
        if self.share == 1.0:
            return drawn
        random, train = np.random.default_rng(seed_of(self.seed, "share", self.fold)), drawn.train
        return replace(drawn, train=np.sort(random.permutation(train)[: max(2, round(self.share * len(train)))]))

    def to_dict(self) -> dict[str, Any]:
        """Return its fields, for a key."""
        return asdict(self)


def holdout_spec(holdout: float, seed: int, repeat: int = 0) -> SplitSpec:
    """Return the split of a run with this holdout and seed; other repeats are drawn by other seeds."""
    return SplitSpec(repeat, 0, 0, seed_of(seed, "split", repeat) if repeat else seed, holdout)


def whole_table(repeat: int = 0) -> SplitSpec:
    """Return the split that learns from all rows."""
    return SplitSpec(repeat, 0, 1, 0)


def repeated_folds(repeats: int, folds: int, seed: int, share: float = 1.0) -> list[SplitSpec]:
    """Return the splits of `repeats` shuffles into `folds` folds each.

    Raises:
        RecipeError: fewer than one repeat or two folds, or a share that is none.
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
    """Return training and validation rows of training rows with classes y (N,): the validation rows choose tuples and
    settings (D_CV). These stand in the order of a hash, so that the first of them are a random sample.

    They are the rows that a table read in batches sets apart; groups and times are split by `split_holdout`.
    """
    if splitting.units is None and splitting.when is None:
        validation, _ = validation_rows(y, seed)
    else:
        validation = split_holdout(y, n_validation_rows(len(y)) / len(y), seed, splitting).test
        validation = validation[np.argsort(row_hash(0, len(y), seed)[validation])]
    return Splits(np.setdiff1d(np.arange(len(y)), validation), validation)


def n_validation_rows(n_rows: int) -> int:
    """Return how many of so many training rows choose tuples and settings: 5 %, more of few, and 100,000 at most."""
    return round(min(max(0.05 * n_rows, min(0.3 * n_rows, MIN_VALIDATION_ROWS)), MAX_VALIDATION_ROWS))


def validation_rows(y: NDArray[np.integer], seed: int) -> tuple[Rows, Rows]:
    """Return the numbers of the validation rows (m,), the first ones of the first chunk; and of rows that would be
    among them but are put last: one of each class of which no row would be left to learn from.

    `y` are the classes of all rows (N,), below 0 of those that are no training rows.
    """
    parts = [slice(begin, begin + CHUNK) for begin in range(0, len(y), CHUNK)]  # no temporary as long as the table
    class_rows = np.sum([np.bincount(y[part] + 1, minlength=int(y.max()) + 2)[1:] for part in parts], axis=0)
    n_rows, first_chunk = int(class_rows.sum()), []
    for part in parts:
        hashes = row_hash(part.start, len(y[part]), seed + SHUFFLE_SEED)
        rows = np.flatnonzero((chunk_of(hashes, -(-n_rows // CHUNK)) == 0) & (y[part] >= 0))
        first_chunk.append(np.array([rows + part.start, hashes[rows].view(np.int64)]))
    first, hashed = np.concatenate(first_chunk, axis=1)
    first = first[np.argsort(hashed.view(np.uint64), kind="stable")].astype(np.intp)
    last = first[:0]
    while True:
        chosen = first[: n_validation_rows(n_rows)]
        whole = np.bincount(y[chosen], minlength=len(class_rows)) == class_rows
        whole[y[last]] = False  # these have a row at the end; with hardly a row for each class some go without
        _, place = np.unique(np.where(whole[y[chosen]], y[chosen], -1), return_index=True)
        moved = chosen[place][whole[y[chosen[place]]]]
        if not len(moved):
            return chosen, last
        first, last = first[~np.isin(first, moved)], np.append(last, moved)


def hash_test_rows(y: NDArray[np.integer], n_classes: int, holdout: float, seed: int) -> NDArray[np.bool_]:
    """Return which rows (N,) are test rows, of classes y below 0 for none; the first row of a class always trains."""
    test = np.zeros(len(y), bool)
    for begin in range(0, len(y), CHUNK):
        n = min(CHUNK, len(y) - begin)
        test[begin : begin + n] = row_hash(begin, n, seed) < np.uint64(holdout * (2**64 - 1))
    for k in range(n_classes):
        of_class = y == k
        if not (of_class & ~test).any():
            test[int(of_class.argmax())] = False
    return test


def row_hash(first: int, n_rows: int, seed: int) -> NDArray[np.uint64]:
    """Return a hash (n_rows,), even over 64 bits, of the row numbers from `first` on."""
    with np.errstate(over="ignore"):
        x = np.arange(first, first + n_rows, dtype=np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
        return x ^ (x >> np.uint64(31))


def chunk_of(hashes: NDArray[np.uint64], n_chunks: int) -> NDArray[np.uint64]:
    """Return the chunk (n,) that rows of these hashes (n,) are dealt to."""
    return (hashes >> np.uint64(32)) % np.uint64(max(1, n_chunks))
