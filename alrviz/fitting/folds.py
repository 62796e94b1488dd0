"""Stratified folds of shuffled rows, also where classes have fewer rows than there are folds.

Such classes are shared out together, as one: no fold can have them all.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encode import class_codes
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import RecipeError

Rows = NDArray[np.intp]
# Of alpha="cv", alpha="auto" and order="auto": folds, and the rows beyond which one of them is enough where these tell
# more than so many rows of classes of equal size (see `one_tells`).
FOLDS, MANY, COARSE = 3, 20_000, 3000
_GROUPS = 5000  # up to which scikit-learn shares them out evenly by size and class: it takes a millisecond for each


def split_folds(y: NDArray[Any], folds: int, seed: int, splitting: Splitting = AT_RANDOM) -> list[tuple[Rows, Rows]]:
    """Return the rows to learn from (n,) and to be judged on (m,) of each fold, ascending, as `splitting` has it.

    By time the rows fall into folds + 1 parts, and each but the first is judged by a model of all before it.

    Raises:
        RecipeError: if there are fewer rows, groups or times than that takes.
    """
    if splitting.when is not None:
        return _folds_in_time(splitting.when, folds)
    if splitting.units is None:
        return stratified_folds(y, folds, seed)
    _, units = np.unique(splitting.units, return_inverse=True)
    n_units = int(units.max()) + 1
    _check_units(n_units, folds)
    if n_units <= _GROUPS:
        from sklearn.model_selection import StratifiedGroupKFold

        strata = _strata(y, folds)
        return list(StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(strata, strata, units))
    # So many are alike in size that the classes of their first rows are enough to share them out by.
    first = np.unique(units, return_index=True)[1]
    found = []
    for _, held in stratified_folds(y[first], folds, seed):
        inside = np.isin(units, held)
        found.append((np.flatnonzero(~inside), np.flatnonzero(inside)))
    return found


def judging_folds(counts: NDArray[Any]) -> int:
    """Return how many folds choose penalties and orders, where classes have so many rows (C,): of many rows one, where
    these are not nearly all of one class.

    (Of three tables of 40,000 rows with 40 of a second class, for one a fold chose order 4, and three order 2,
    .00047 +- .00007 below it on new rows; on the others three were .00007 +- .00003 and .00001 below one.)
    """
    return 1 if counts.sum() > MANY and one_tells(counts) else FOLDS


def one_tells(counts: NDArray[Any]) -> bool:
    """Return whether one fold finds the way of a search, where classes have so many rows (C,): whether they tell as
    much as more than COARSE rows of classes of equal size. Of log odds a row tells p (1 - p), Fisher's information, so
    that of 16,000 rows with 16 of a second class there are 64.

    (Of 15 such tables with something to learn, chosen by one fold 6 stayed with the class shares, by three 1: .00040
    and .00056 below these on new rows.)
    """
    rows = counts.sum()
    shares = counts / rows
    return bool(rows * (1.0 - shares @ shares) > COARSE * (1.0 - 1.0 / len(counts)))


def check_folds(folds: int, splitting: Splitting = AT_RANDOM) -> None:
    """Raise `RecipeError` where groups or times are too few for so many folds, before any is made."""
    if splitting.when is not None:
        _folds_in_time(splitting.when, folds)
    elif splitting.units is not None:
        _check_units(len(np.unique(splitting.units)), folds)


def _check_units(n_units: int, folds: int) -> None:
    if n_units < folds:
        raise RecipeError(f"{n_units} groups cannot be shared out over {folds} folds; expected at most {n_units} folds")


def _folds_in_time(when: NDArray[Any], folds: int) -> list[tuple[Rows, Rows]]:
    order = np.argsort(when, kind="stable")
    size = len(when) // (folds + 1)
    wanted = [len(when) - (folds - k) * size for k in range(folds)]
    # Equal times are not cut apart: a part begins with the first row of its time.
    edges = [int(np.searchsorted(when[order], when[order[edge]])) for edge in wanted] if size else [0]
    edges.append(len(when))
    if edges[0] == 0 or (np.diff(edges) == 0).any():
        raise RecipeError(f"{len(np.unique(when))} different times are too few, or too unevenly filled, for {folds} "
                          "folds in time; expected fewer folds, or a column of more times")  # fmt: skip
    return [(np.sort(order[:low]), np.sort(order[low:high])) for low, high in pairwise(edges)]


def stratified_folds(y: NDArray[Any], folds: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Return the rows to learn from (n,) and to be judged on (m,) of each fold of rows with classes y (N,), ascending.

    Raises:
        RecipeError: if there are more folds than rows.
    """
    from sklearn.model_selection import StratifiedKFold

    if len(y) < folds:
        raise RecipeError(f"{len(y)} rows cannot be shared out over {folds} folds; expected at most {len(y)} folds")
    strata = _strata(y, folds)
    return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(strata, strata))


def _strata(y: NDArray[Any], folds: int) -> NDArray[Any]:
    """Return classes to stratify by: those too small for every fold are one."""
    classes, code = class_codes(y, len(y))
    size = np.bincount(code, minlength=len(classes))
    rare = size < folds
    strata = np.where(rare[code], -1, code)
    if 0 < size[rare].sum() < folds:
        strata = np.where(rare[code], size.argmax(), code)
    return strata
