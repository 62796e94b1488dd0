"""What a model file says, made of a fitted classifier and made into one again, every value checked on the way back.

A form says what one kind of model writes (model_form.py); here is what all of them have: the recipe, the encoder, what
became of the fit.

form "linear"    phi of the seen cells of all tuples of order n, what unseen cells add       lr, alr, anje
form "network"   phi of the seen cells of each column with its parents, and what stands      tan, kdb, elr
                 in for it below: the rest under seen parents, else the level by itself
form "average"   counts of the seen cells of n and of n + 1 columns, each level by itself    ande
form "density"   the numbers that vote, counts of levels, bandwidths and weights             dlr
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
from alrviz.estimators.make import of_class
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
    """Return the parts of a fitted classifier; `ModelFileError` where no form writes its kind down.

    `dataset`, what it was fitted on, says how columns were read, where the model does not know.
    """
    cls, form = _FORM_OF.get(type(model).__name__, (None, LINEAR))
    if isinstance(model, Run):
        raise ModelFileError("a run is no model; expected estimator_of(run), the fitted classifier of its latest step")
    if cls is not type(model):
        raise ModelFileError(
            f"{type(model).__name__} has no form in a model file, which holds this package's own classifiers "
            f"({', '.join(_FORM_OF)}); joblib.dump(model, path) keeps it as it is"
        )
    check_is_fitted(model)
    saved = form.save(model)
    about = {
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
    about["spec"] = None if spec is None else spec.to_dict()
    return SavedModel({**about, **saved.about}, saved.tables)


def restore(about: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> RecipeClassifier:
    """Return the fitted classifier that the parts describe; `ModelFileError` for what no model has."""
    recipe, encoder = Recipe.from_json(about["recipe"]), _encoder(about["encoder"])
    cls, form = _FORM_OF.get(str(about["estimator"]), (None, LINEAR))
    if cls is None or cls._family != recipe.family:
        raise ModelFileError(f"estimator {about['estimator']!r} does not fit a recipe of family {recipe.family!r}")
    if about["form"] != form.name:
        raise ModelFileError(f"{cls.__name__} has no form {about['form']!r}")
    if (len(about["bias"]),) != encoder.classes_.shape:
        raise ModelFileError(f"{len(encoder.classes_)} classes, and 'bias' has {len(about['bias'])} numbers")
    model: Any = of_class(cls, recipe, categorical_features=encoder.categorical_features)
    model.set_encoder(encoder, recipe)
    model.n_features_in_ = len(encoder.columns_)
    if about["feature_names"]:
        model.feature_names_in_ = np.array([column.name for column in encoder.columns_], dtype=object)
    if issubclass(cls, RunClassifier):
        model.n_iter_, model.choice_ = int(about["n_iter"]), None
        model.outcome_ = Outcome(*map(str, about["outcome"]))
    if about.get("chosen") is not None:
        model.chosen_, model.alpha_ = str(about["chosen"]), recipe.params.get("alpha")
    form.restore(model, about, tables)
    if about.get("spec") is not None:
        model.spec_ = _spec(about["spec"], encoder)
    return model


def _spec(state: Any, encoder: Encoder) -> ParseSpec:
    """The spec of the model's columns, checked: a file may say anything."""
    try:
        spec = ParseSpec.from_dict(state)
        ReadOptions(**{name: getattr(spec.layout, name) for name in LAYOUT_OPTIONS})
    except TableError as error:
        raise ModelFileError(f"how the model's table was read cannot be used: {error}") from error
    if [column.name for column in spec.columns] != [column.name for column in encoder.columns_]:
        raise ModelFileError("the spec is of other columns than the model's")
    if any(column.kind not in ("numeric", "categorical") for column in spec.columns):
        raise ModelFileError("the spec has a kind of column that no model has")
    return spec


def _encoder(state: Any) -> Encoder:
    """An encoder whose parts belong together."""
    kind, labels = str(np.dtype(state["classes"]["dtype"]).kind), state["classes"]["labels"]
    plain: dict[str, Any] = {"O": str, "U": str, "i": int, "u": int, "f": (int, float), "b": bool}
    if kind not in plain or not isinstance(labels, list) or not all(isinstance(v, plain[kind]) for v in labels):
        raise ModelFileError("the classes are neither texts, nor numbers, nor booleans")
    if kind == "U":  # the text says how wide; a file may say any width
        state = {**state, "classes": {"labels": labels, "dtype": f"<U{max(1, *map(len, labels))}"}}
    for column in state["columns"]:
        _check_column(column)
    encoder = Encoder.from_dict(state)
    names = [column.name for column in encoder.columns_]
    if not names or len(set(names)) < len(names) or len(set(labels)) < len(labels) or len(labels) < 2:
        raise ModelFileError("columns and classes must differ, and there must be one column and two classes at least")
    return encoder


def _check_column(state: Any) -> None:
    column = ColumnEncoder.from_dict(state)
    cuts, values, labels = column.cuts, column.values, column.labels
    texts = isinstance(column.name, str) and all(isinstance(label, str) for label in labels)
    sizes = {len(part) + k for part, k in ((cuts, 1), (values, 0)) if part is not None}
    own = len(labels) - (column.missing_code is not None)
    if not texts or column.kind not in ("numeric", "categorical", "ordinal") or len(sizes) != 1:
        raise ModelFileError(f"column {column.name!r} has neither cuts nor values, or both, or an unknown kind")
    if not (own in sizes or (sizes == {0} and own == 1)) or column.missing_code not in (None, own):
        raise ModelFileError(f"column {column.name!r} has {len(labels)} levels, which are not those of its values")
    if cuts is not None and (cuts.ndim != 1 or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any()):
        raise ModelFileError(f"column {column.name!r}: cuts must be finite and ascending")
    plain = (int, float) if column.kind == "numeric" else (bool, int, float, str)
    if not all(type(value) in plain for value in values or ()):
        raise ModelFileError(f"column {column.name!r}: a level must be a text, a number or a boolean")
