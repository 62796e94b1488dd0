"""A form of a model file: what one kind of model writes, and how it is read back; model_*.py hold one each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from alrviz.errors import ModelFileError
from alrviz.estimators.model_tables import MOST, ModelTable, Pieces
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.passes.rows import Floats


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a fitted model says: `about` as JSON holds it, "bias" (C,) among it; `tables` by name, streams of pieces."""

    about: dict[str, Any]
    tables: dict[str, Pieces]


@dataclass(frozen=True, eq=False)
class Form:
    """One kind of model in a file.

    name: as the file says it. classes: whose models are written so. files: the tables that are read back. save: what a
    fitted classifier says. restore: gives a classifier, whose encoder and recipe are there, what was fitted besides,
    from `about` and the tables; it raises `ModelFileError` for what no model has. script_only: tables that the script
    reads and Python computes again.
    """

    name: str
    classes: tuple[type[RecipeClassifier], ...]
    files: tuple[str, ...]
    save: Callable[[Any], SavedModel]
    restore: Callable[[Any, Mapping[str, Any], Mapping[str, ModelTable]], None]
    script_only: tuple[str, ...] = ()


def finite(values: Any) -> Floats:
    """Return a list of finite numbers as an array."""
    good = isinstance(values, list) and all(type(v) in (int, float) and abs(v) <= MOST for v in values)
    if not good:
        raise ModelFileError(f"a list of finite numbers up to {MOST:g} was expected, and something else is there")
    return np.array(values, np.float64)
