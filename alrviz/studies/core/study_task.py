"""Tasks of a study: the smallest pieces that are computed, saved and lost as a whole. Pure data.

A task's key identifies everything its numbers depend on, including the version of alrviz and the memory a fit may take
(it decides between solvers): equal keys mean equal numbers, in any study and process.
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
# A value of a row that is itself a table, {column: list}: results have it, frames do not.
RELIABILITY = "reliability"
# Version of tasks' numbers: raise it if a task gives other numbers or columns under the same version of alrviz.
NUMBERS_VERSION = 6
PRIOR_RACER = -1  # the racer of the class shares (the model of order 0), which has no recipe


@dataclass(frozen=True)
class StudyTask:
    """One unit of work of a study.

    Attributes:
        kind: name of its function in compute_task.py.
        recipe: JSON; "" for the class shares.
        data_hash: the table.
        split: training and test rows.
        options: options of this kind of task, JSON.
        seed: seed of random numbers other than the split.
        max_memory: bytes its fits may take, the same for all tasks of a study.
        racer: index of the recipe in the study; numbers do not depend on it.
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
        """SHA-256 of everything the numbers depend on."""
        inputs = [
            self.kind,
            self.recipe,
            self.data_hash,
            self.split.to_dict(),
            self.options,
            self.seed,
            self.max_memory,
        ]
        return sha256(json.dumps([__version__, NUMBERS_VERSION, *inputs], sort_keys=True).encode()).hexdigest()


def plain(recipe: Recipe) -> Recipe:
    """Return a recipe without its own split and seed, which the study decides: equal fits then have equal keys."""
    return recipe.replace(holdout=0.0, seed=0)


def fold_tasks(
    data_hash: str, recipes: Sequence[Recipe], splits: Iterable[SplitSpec], seed: int, first: int = 0
) -> list[StudyTask]:
    """Return a task for each split and recipe, grouped by split; the first recipe is racer `first`.

    data_hash: of the table; seed: of random numbers in the fits.
    """
    recipe_texts = [plain(recipe).to_json() for recipe in recipes]
    return [
        StudyTask("fold", text, data_hash, split, seed=seed_of(seed, text, split.repeat, split.fold), racer=racer)
        for split in splits
        for racer, text in enumerate(recipe_texts, first)
    ]


@dataclass(frozen=True)
class Result:
    """Result of a task: tidy rows, packed predictions of the test rows (or other numbers), an outcome's code.

    is_temporary: whether it failed for a reason that may pass, such as a killed worker; such results are not saved.
    """

    rows: list[Row]
    predicted: bytes = b""
    outcome: str = "converged"
    is_temporary: bool = False

    @property
    def failed(self) -> bool:
        """Whether the task has failed and has no figures."""
        return self.outcome == FAILED


def failure(sentence: str, passing: bool = False) -> Result:
    """Return the result of a task that failed, with a sentence on the reason.

    is_temporary: whether the failure does not follow from recipe and table.
    """
    return Result([{"outcome": FAILED, "sentence": sentence}], b"", FAILED, passing)


def pack(predicted: NDArray[Any]) -> bytes:
    """Pack numbers (n,) into bytes, class indices into few; other numbers keep their type."""
    is_integer = predicted.dtype.kind in "iu"
    dtype = np.min_scalar_type(int(predicted.max(initial=0))) if is_integer else predicted.dtype
    return dtype.char.encode() + zlib.compress(predicted.astype(dtype).tobytes(), 1)


def unpack(packed: bytes) -> NDArray[Any]:
    """Return the numbers (n,) that `pack` packed."""
    return np.frombuffer(zlib.decompress(packed[1:]), np.dtype(packed[:1].decode()))
