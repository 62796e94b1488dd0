"""Which rows a fit learns from and which it is judged on: pure data, the same rows wherever they are asked for.

A fold is one of a stratified cross-validation whose rows were shuffled; a holdout is the explorer's stratified split.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import RecipeError
from alrviz.fitting.folds import Rows, split_folds
from alrviz.fitting.prepare import split as holdout_split
from alrviz.studies.core.seeds import seed_of


@dataclass(frozen=True)
class Split:
    """One split.

    Attributes:
        repeat, fold, folds: fold `fold` of `folds` in shuffle `repeat`; folds = 0 is a holdout, 1 holds out nothing.
        seed: of the shuffle, or of the holdout.
        holdout: share of the rows held out where folds = 0.
        share: of the training rows that are learned from, drawn at random.
    """

    repeat: int
    fold: int
    folds: int
    seed: int
    holdout: float = 0.0
    share: float = 1.0

    def rows(self, y: NDArray[Any], splitting: Splitting = AT_RANDOM) -> tuple[Rows, Rows]:
        """Return ascending row numbers to learn from and to be judged on, of rows with classes y (N,)."""
        if self.folds == 1:
            train, test = np.arange(len(y)), np.arange(0)
        elif self.folds == 0:
            train, test = holdout_split(y, self.holdout, self.seed, splitting)
        else:
            train, test = split_folds(y, self.folds, self.seed, splitting)[self.fold]
        if self.share < 1.0:
            random = np.random.default_rng(seed_of(self.seed, "share", self.fold))
            train = np.sort(random.permutation(train)[: max(2, round(self.share * len(train)))])
        return train, test

    def to_dict(self) -> dict[str, Any]:
        """Return its fields, for a key."""
        return asdict(self)


def repeated_folds(repeats: int, folds: int, seed: int, share: float = 1.0) -> list[Split]:
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
        Split(repeat, fold, folds, seed_of(seed, "split", repeat), share=share)
        for repeat in range(repeats)
        for fold in range(folds)
    ]
