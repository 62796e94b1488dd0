"""Stratified folds of shuffled rows, also where classes have fewer rows than there are folds.

Such classes are shared out together, as one: no fold can have them all.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encode import class_codes
from alrviz.errors import RecipeError

Rows = NDArray[np.intp]


def stratified_folds(y: NDArray[Any], folds: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Return (rows to learn from, rows to be judged on) of each fold of rows with classes y (N,), ascending.

    Raises:
        RecipeError: if there are more folds than rows.
    """
    from sklearn.model_selection import StratifiedKFold

    if len(y) < folds:
        raise RecipeError(f"{len(y)} rows cannot be shared out over {folds} folds; expected at most {len(y)} folds")
    classes, code = class_codes(y, len(y))
    size = np.bincount(code, minlength=len(classes))
    rare = size < folds
    strata = np.where(rare[code], -1, code)
    if 0 < size[rare].sum() < folds:
        strata = np.where(rare[code], size.argmax(), code)
    return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(strata, strata))
