"""The contents of a model file, from a fitted classifier and back; every value that is read is checked.

model_form.py says what a form is. All forms share what is here: the recipe, the encoder, and how the fit ended.

form "linear"    phi of the seen cells of the model's tuples, and of their unseen cells      lr, alr, anje ...
form "network"   phi of the seen cells of each column with its parents; for unseen cells     tan, kdb, elr
                 log p of an unseen level under seen parents, else of the level alone
form "average"   counts of the seen cells of n and of n + 1 columns, log p of each level     ande
form "density"   the votes (numbers of training rows), counts of levels, bandwidths, weights dlr
"""

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from alrviz.data.column_encoder import ColumnEncoder
from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder
from alrviz.data.options import MISSING, ReadOptions
from alrviz.data.parse_spec import LAYOUT_OPTIONS, ParseSpec
from alrviz.errors import ModelFileError, TableError
from alrviz.estimators.make import unfitted_estimator
from alrviz.estimators.model_average import AVERAGE
from alrviz.estimators.model_density import DENSITY
from alrviz.estimators.model_form import Form, SavedModel
from alrviz.estimators.model_linear import LINEAR
from alrviz.estimators.model_network import NETWORK
from alrviz.estimators.model_tables import ModelTable
from alrviz.estimators.recipes import RecipeClassifier, RunClassifier, spec_of, versions
from alrviz.estimators.score_script import FORMAT
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import Outcome

FORMS: Mapping[str, Form] = {form.name: form for form in (LINEAR, NETWORK, AVERAGE, DENSITY)}
_FORM_OF: Mapping[str, tuple[type[RecipeClassifier], Form]] = {
    cls.__name__: (cls, form) for form in FORMS.values() for cls in form.classes
}


def parts_of(model: Any, dataset: Dataset | None = None) -> SavedModel:
    """Return the contents of a fitted classifier's file.

    dataset: the data set it was fitted on, which tells how columns were read, where the model does not know.

    Raises:
        ModelFileError: no form holds this kind of classifier.
    """
    cls, form = _FORM_OF.get(type(model).__name__, (None, LINEAR))
    if isinstance(model, Run):
        raise ModelFileError("a run cannot be saved; expected estimator_of(run), the classifier of its latest step")
    if cls is not type(model):
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved in a model file; expected one of alrviz's classifiers "
            f"({', '.join(_FORM_OF)}); or joblib.dump(model, path)"
        )
    check_is_fitted(model)
    contents = form.save(model)
    metadata = {
        "format": FORMAT,
        "versions": {**versions(), "pyarrow": pa.__version__, "python": platform.python_version()},
        "estimator": cls.__name__,
        "form": form.name,
        "recipe": model.recipe_.to_json(),
        "encoder": model.encoder_.to_dict(),
        "feature_names": hasattr(model, "feature_names_in_"),
        "missing_tokens": [token for token in MISSING if token],
        "probabilities": hasattr(model, "predict_proba"),
        "outcome": [model.outcome_.code, model.outcome_.sentence] if isinstance(model, RunClassifier) else None,
        "n_iter": getattr(model, "n_iter_", None),
        "chosen": getattr(model, "chosen_", None),
    }
    spec = spec_of(dataset, model.encoder_) if dataset is not None else getattr(model, "spec_", None)
    metadata["spec"] = None if spec is None else spec.to_dict()
    return SavedModel({**metadata, **contents.metadata}, contents.tables)


def restore(metadata: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> RecipeClassifier:
    """Return the fitted classifier that model.json (metadata) and the tables of a file describe.

    Raises:
        ModelFileError: a value that no model has.
    """
    recipe, encoder = Recipe.from_json(metadata["recipe"]), _encoder(metadata["encoder"])
    cls, form = _FORM_OF.get(str(metadata["estimator"]), (None, LINEAR))
    if cls is None or cls._family != recipe.family:
        raise ModelFileError(f"estimator {metadata['estimator']!r} does not fit a recipe of family {recipe.family!r}")
    if metadata["form"] != form.name:
        raise ModelFileError(f"{cls.__name__} cannot have form {metadata['form']!r}")
    if (len(metadata["bias"]),) != encoder.classes_.shape:
        raise ModelFileError(
            f"there are {len(encoder.classes_)} classes, but 'bias' has {len(metadata['bias'])} numbers"
        )
    model: Any = unfitted_estimator(cls, recipe, categorical_features=encoder.categorical_features)
    model.set_encoder(encoder, recipe)
    model.n_features_in_ = len(encoder.columns_)
    if metadata["feature_names"]:
        model.feature_names_in_ = np.array(encoder.names_, dtype=object)
    if issubclass(cls, RunClassifier):
        model.n_iter_, model.choice_ = int(metadata["n_iter"]), None
        model.outcome_ = Outcome(*map(str, metadata["outcome"]))
    if metadata.get("chosen") is not None:
        model.chosen_, model.alpha_ = str(metadata["chosen"]), recipe.params.get("alpha")
    form.restore(model, metadata, tables)
    if metadata.get("spec") is not None:
        model.spec_ = _spec(metadata["spec"], encoder)
    return model


def _spec(state: Any, encoder: Encoder) -> ParseSpec:
    """Return the spec of the model's columns from its JSON state, after checking it against the encoder."""
    try:
        spec = ParseSpec.from_dict(state)
        ReadOptions(**{name: getattr(spec.layout, name) for name in LAYOUT_OPTIONS})
    except TableError as error:
        raise ModelFileError(f"the spec of the model's table is invalid: {error}") from error
    if [column.name for column in spec.columns] != encoder.names_:
        raise ModelFileError("the spec names other columns than the model")
    if any(column.kind not in ("numeric", "categorical") for column in spec.columns):
        raise ModelFileError("the spec has a kind of column other than numeric and categorical")
    return spec


def _encoder(state: Any) -> Encoder:
    """Return the encoder from its JSON state, after checking that its parts fit together."""
    kind, labels = str(np.dtype(state["classes"]["dtype"]).kind), state["classes"]["labels"]
    types: dict[str, Any] = {"O": str, "U": str, "i": int, "u": int, "f": (int, float), "b": bool}
    if kind not in types or not isinstance(labels, list) or not all(isinstance(v, types[kind]) for v in labels):
        raise ModelFileError("the classes must be all texts, all numbers or all booleans")
    if kind == "U":  # the dtype's width comes from the labels: the file could claim any
        state = {**state, "classes": {"labels": labels, "dtype": f"<U{max(1, *map(len, labels))}"}}
    for column in state["columns"]:
        _check_column(column)
    encoder = Encoder.from_dict(state)
    names = encoder.names_
    if not names or len(set(names)) < len(names) or len(set(labels)) < len(labels) or len(labels) < 2:
        raise ModelFileError("expected at least one column and two classes, with no name twice")
    return encoder


def _check_column(state: Any) -> None:
    """Raise `ModelFileError` for a column's encoder whose levels, cuts or types are invalid."""
    column = ColumnEncoder.from_dict(state)
    cuts, values, labels = column.cuts, column.values, column.labels
    are_texts = isinstance(column.name, str) and all(isinstance(label, str) for label in labels)
    valid_level_counts = {len(part) + k for part, k in ((cuts, 1), (values, 0)) if part is not None}
    n_values = len(labels) - (column.missing_code is not None)
    if not are_texts or column.kind not in ("numeric", "categorical", "ordinal") or len(valid_level_counts) != 1:
        raise ModelFileError(f"column {column.name!r} has neither cuts nor values, or both, or an unknown kind")
    if not (
        n_values in valid_level_counts or (valid_level_counts == {0} and n_values == 1)
    ) or column.missing_code not in (None, n_values):
        raise ModelFileError(f"column {column.name!r} has {len(labels)} levels, which are not those of its values")
    if cuts is not None and (cuts.ndim != 1 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any()):
        raise ModelFileError(f"column {column.name!r}: cuts must be finite and ascending")
    value_types = (int, float) if column.kind == "numeric" else (bool, int, float, str)
    if not all(type(value) in value_types for value in values or ()):
        raise ModelFileError(f"column {column.name!r}: a level must be a text, a number or a boolean")
