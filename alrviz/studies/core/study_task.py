"""A task: the smallest piece of a study that is computed, saved and lost as a whole. Pure data.

Its key says all that its numbers depend on, alrviz's version and the memory a fit may take included (it decides
between solvers); equal keys are equal numbers, in whatever study or process.
"""

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz import __version__
from alrviz.data.seeds import seed_of
from alrviz.data.splits import SplitSpec
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.step import FAILED

Row = dict[str, Any]
# What a row holds that is a table of its own, {column: list}: results have it, frames do not.
RELIABILITY = "reliability"
# Of what tasks hold: to be raised when the same task gives other numbers or columns without another version of alrviz.
NUMBERS = 6
PRIOR = -1  # the racer that is no recipe: the class prior, the model of order 0


@dataclass(frozen=True)
class StudyTask:
    """What to compute.

    Attributes:
        kind: which function of compute_task.py.
        recipe: JSON; "" for the class prior, which has none.
        data_hash: of the table.
        split: rows to learn from and to be judged on.
        options: of the task, JSON.
        seed: of what is drawn beside the split.
        max_memory: bytes its fits may take, which a study sets for all of its tasks.
        racer: its place among the study's recipes, for the reader: no number depends on it.
    """

    kind: str
    recipe: str
    data_hash: str
    split: SplitSpec
    options: str = "{}"
    seed: int = 0
    max_memory: int = 0
    racer: int = field(default=0, compare=False)

    @property
    def key(self) -> str:
        """The SHA-256 of all that the numbers depend on."""
        asked = [self.kind, self.recipe, self.data_hash, self.split.to_dict(), self.options, self.seed, self.max_memory]
        return sha256(json.dumps([__version__, NUMBERS, *asked], sort_keys=True).encode()).hexdigest()

    @property
    def group(self) -> tuple[Any, ...]:
        """What is the same for tasks that share encoded rows: they are best computed by one worker."""
        return (self.data_hash, self.split)


def plain(recipe: Recipe) -> Recipe:
    """Return a recipe without the split and seed of its own, which a study gives: equal fits have equal keys."""
    return recipe.replace(holdout=0.0, seed=0)


def fold_tasks(
    data_hash: str,
    recipes: Sequence[Recipe],
    splits: Iterable[SplitSpec],
    seed: int,
    first: int = 0,
) -> list[StudyTask]:
    """Return a task for each split and recipe, those of one split side by side; the first recipe is racer `first`."""
    texts = [plain(recipe).to_json() for recipe in recipes]
    return [
        StudyTask("fold", text, data_hash, split, seed=seed_of(seed, text, split.repeat, split.fold), racer=racer)
        for split in splits
        for racer, text in enumerate(texts, first)
    ]


@dataclass(frozen=True)
class Result:
    """What came of a task: tidy rows, packed predictions of the rows it was judged on (or other
    numbers), an outcome's code.

    passing: whether it failed for a reason of the moment, such as a worker that was killed: not to be kept.
    """

    rows: list[Row]
    predicted: bytes = b""
    outcome: str = "converged"
    passing: bool = False

    @property
    def failed(self) -> bool:
        """Whether it is to be computed again before it says anything."""
        return self.outcome == FAILED


def failure(sentence: str, passing: bool = False) -> Result:
    """Return the result of a task that has none; `passing`: it does not follow from recipe and table."""
    return Result([{"outcome": FAILED, "sentence": sentence}], b"", FAILED, passing)


def pack(predicted: NDArray[Any]) -> bytes:
    """Return class indices (n,) in few bytes; other numbers as they are."""
    whole = predicted.dtype.kind in "iu"
    width = np.min_scalar_type(int(predicted.max(initial=0))) if whole else predicted.dtype
    return width.char.encode() + zlib.compress(predicted.astype(width).tobytes(), 1)


def unpack(packed: bytes) -> NDArray[Any]:
    """Return the class indices, or numbers, (n,) that `pack` was given."""
    return np.frombuffer(zlib.decompress(packed[1:]), np.dtype(packed[:1].decode()))
