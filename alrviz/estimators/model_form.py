"""The forms of a model file: how one kind of model is written and read back. Each model_*.py defines one."""

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from alrviz.errors import ModelFileError
from alrviz.estimators.model_tables import MAX_ABS_VALUE, ModelTable, Pieces
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.passes.rows import Floats


@dataclass(frozen=True, eq=False)
class SavedModel:
    """The contents of a model file.

    Attributes:
        metadata: model.json, with the intercepts "bias" (C,).
        tables: by file name, each an iterator of pieces.
    """

    metadata: dict[str, Any]
    tables: dict[str, Pieces]


@dataclass(frozen=True, eq=False)
class Form:
    """How one kind of model is kept in a file.

    Attributes:
        name: the "form" of model.json.
        classes: the classifiers that are written in this form.
        files: the tables that are read back.
        save: returns the contents of a fitted classifier's file.
        restore: sets the fitted attributes of a classifier that has its encoder and recipe, from metadata and tables;
            raises `ModelFileError` for values that no model has.
        script_only: tables for the script; Python computes them again.
    """

    name: str
    classes: tuple[type[RecipeClassifier], ...]
    files: tuple[str, ...]
    save: Callable[[Any], SavedModel]
    restore: Callable[[Any, Mapping[str, Any], Mapping[str, ModelTable]], None]
    script_only: tuple[str, ...] = ()


def read_numbers(metadata: Mapping[str, Any], name: str, size: int, low: float = -MAX_ABS_VALUE) -> Floats:
    """Return the field `name` of model.json (metadata) as an array: `size` numbers of at least `low`.

    Raises:
        ModelFileError: the field is something else.
    """
    values = metadata[name]
    if not isinstance(values, list) or len(values) != size or not all(_is_number(value, low) for value in values):
        raise ModelFileError(
            f"{name!r} is {reprlib.repr(values)}; expected {size} finite numbers from {low:g} to {MAX_ABS_VALUE:g}"
        )
    return np.array(values, np.float64)


def _is_number(value: Any, low: float) -> bool:
    return type(value) in (int, float) and low <= value <= MAX_ABS_VALUE
