"""What a model file says, made of a fitted classifier and made into one again, every value checked on the way back.

form "linear"    phi of the seen cells of all tuples of order n, what unseen cells add       lr, alr, anje
form "network"   phi of the seen cells of each column with its parents, and what stands      tan, kdb, elr
                 in for it below: the rest under seen parents, else the level by itself
"""

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from alrviz.data.columncode import ColumnCode
from alrviz.data.encode import Encoder
from alrviz.data.options import MISSING
from alrviz.errors import ModelFileError
from alrviz.estimators import conditional, generative, linear, networks
from alrviz.estimators.base import CellClassifier
from alrviz.estimators.make import of_class
from alrviz.estimators.model_tables import (
    ModelTable,
    Pieces,
    cell_pieces,
    cells_of,
    class_columns,
    network_pieces,
    tuple_pieces,
)
from alrviz.estimators.networks import NetworkReading
from alrviz.estimators.recipes import RecipeClassifier, RunClassifier, versions
from alrviz.estimators.score_script import FORMAT
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.step import Outcome
from alrviz.models.index import Unseen
from alrviz.models.linear import LinearModel
from alrviz.models.networks import NetworkModel
from alrviz.models.parameterisation import owners
from alrviz.models.space import CellSpace, TupleSpace, count_cells
from alrviz.models.structures import Structure
from alrviz.models.tables import Tables
from alrviz.passes.rows import Floats

_CLASSES: Mapping[str, type[RecipeClassifier]] = {
    cls.__name__: cls
    for cls in (
        linear.LRClassifier, linear.ALRClassifier, linear.WANBIACClassifier, generative.AnJEClassifier,
        generative.NaiveBayesClassifier, networks.TANClassifier, networks.KDBClassifier, conditional.ELRClassifier,
    )
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Parts:
    """What goes into a file: `about` as JSON holds it, `tables` by name, each a stream of pieces."""

    about: dict[str, Any]
    tables: dict[str, Pieces]


def parts_of(model: Any) -> Parts:
    """Return the parts of a fitted classifier; `ModelFileError` where it has no cells to write down."""
    if type(model).__name__ not in _CLASSES or not isinstance(model, (CellClassifier, NetworkReading)):
        raise ModelFileError(
            f"{type(model).__name__} is no sum over cells of levels, which is what the file holds (lr, alr, wanbia-c, "
            "anje, naive Bayes, tan, kdb and elr are); joblib.dump(model, path) keeps it as it is"
        )
    check_is_fitted(model)
    recipe, encoder = model._recipe, model.encoder_
    about = {
        "format": FORMAT,
        "versions": {**versions(), "pyarrow": pa.__version__, "python": platform.python_version()},
        "estimator": type(model).__name__,
        "recipe": recipe.to_json(),
        "encoder": encoder.to_dict(),
        "feature_names": hasattr(model, "feature_names_in_"),
        "missing_tokens": [token for token in MISSING if token],
        "probabilities": hasattr(model, "predict_proba"),
        "bias": model.intercept_.tolist(),
        "weights": None,
        "outcome": [model.outcome_.code, model.outcome_.sentence] if isinstance(model, RunClassifier) else None,
        "n_iter": getattr(model, "n_iter_", None),
    }
    if isinstance(model, CellClassifier):
        of, tables = model._model, model.tables_
        unseen = of.unseen
        about |= {
            "form": "linear",
            "unseen": unseen is not None,
            "known_only": unseen is not None and unseen.known_only,
            "class_counts": tables.class_counts.tolist(),
        }
        if model.weights_ is not None:
            about["weights"] = model.weights_[-1 if model._share == "cell-class" else slice(-of.n_classes, None)]
            about["weights"] = about["weights"].ravel().tolist()
        return Parts(about, _linear_tables(model, tables))
    about |= {"form": "network", "cards": model._network.cards.tolist()}
    if isinstance(model, conditional.ELRClassifier):
        about["weights"] = model.weights_[-1].tolist()
    rmse = getattr(model, "rmse_", None)
    about["rmse"] = None if rmse is None else rmse.tolist()
    return Parts(about, network_pieces(model._network, encoder, model._quantities()))


def _linear_tables(model: CellClassifier, tables: Tables) -> dict[str, Pieces]:
    encoder, space, unseen = model.encoder_, tables.space, model._model.unseen
    members = space.tuples.tolist()
    by_tuple = {"card": tables.cards, **class_columns("count", tables.tuple_counts)}
    if unseen is not None:
        by_tuple |= class_columns("unseen", unseen.phi)
    quantities = {"count": tables.counts, "log_theta": tables.log_theta}
    if model.weights_ is not None:
        owner = owners(tables, model._share)
        quantities["w"] = model.weights_[:-1] if owner is None else model.weights_[:, 0][owner[:-1]]
    quantities["phi"] = model.phi_
    names = [column.name for column in encoder.columns_]
    return {
        "tuples.parquet": tuple_pieces(names, members, by_tuple),
        "cells.parquet": cell_pieces(space, members, tables.seen, encoder, quantities),
    }


# ---- and back -------------------------------------------------------------------------------------------------------


def restore(about: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> RecipeClassifier:
    """Return the fitted classifier that the parts describe; `ModelFileError` for what no model has."""
    recipe, encoder = Recipe.from_json(about["recipe"]), _encoder(about["encoder"])
    cls = _CLASSES.get(about["estimator"]) if isinstance(about["estimator"], str) else None
    if cls is None or cls._family != recipe.family:
        raise ModelFileError(f"estimator {about['estimator']!r} does not fit a recipe of family {recipe.family!r}")
    linear_form = about["form"] == "linear"
    if linear_form != issubclass(cls, CellClassifier):
        raise ModelFileError(f"{cls.__name__} has no form {about['form']!r}")
    if (len(about["bias"]),) != encoder.classes_.shape:
        raise ModelFileError(f"{len(encoder.classes_)} classes, and 'bias' has {len(about['bias'])} numbers")
    model: Any = of_class(cls, recipe, categorical_features=encoder.categorical_features)
    model._remember(encoder, recipe)
    model.n_features_in_ = len(encoder.columns_)
    if about["feature_names"]:
        model.feature_names_in_ = np.array([column.name for column in encoder.columns_], dtype=object)
    if issubclass(cls, RunClassifier):
        model.n_iter_, model.choice_ = int(about["n_iter"]), None
        model.outcome_ = Outcome(*map(str, about["outcome"]))
    restored = _linear if linear_form else _network
    restored(model, about, tables)
    return model


def _linear(model: Any, about: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    by_tuple, by_cell = tables["tuples.parquet"], tables["cells.parquet"]
    recipe, levels = model._recipe, model.encoder_.levels_
    order = recipe.params["order"]
    if (
        order > len(levels)
        or len(by_tuple) != math.comb(len(levels), order)
        or len(by_cell) > count_cells(levels, order)
    ):
        raise ModelFileError(f"{len(by_tuple):,} tuples and {len(by_cell):,} cells are not those of order {order}")
    space = CellSpace(levels, order)
    if by_tuple.lists("members", len(levels)) != [tuple(own) for own in space.tuples.tolist()]:
        raise ModelFileError(f"tuples.parquet does not list the tuples of order {order}, in order")
    bias, class_counts = _numbers(about["bias"]), _numbers(about["class_counts"])
    found = Tables(
        space=space,
        seen=cells_of(by_cell, space),
        counts=by_cell.by_class("count"),
        class_counts=class_counts,
        tuple_counts=by_tuple.by_class("count"),
        cards=by_tuple.numbers("card"),
        smoothing=recipe.params["smoothing"],
    )
    if class_counts.shape != bias.shape or (found.cards < 1).any() or (found.counts < 0).any():
        raise ModelFileError("counts and cards do not belong to a model: below 0, or of another number of classes")
    unseen = Unseen(by_tuple.by_class("unseen"), bool(about["known_only"])) if about["unseen"] else None
    model.tables_, model.cells_ = found, space
    model._share = recipe.params.get("share", "cell-class")
    model._model = LinearModel(space, found.seen, by_cell.by_class("phi"), bias, unseen)
    model.phi_, model.intercept_ = model._model.phi, bias
    model.weights_ = _weights(model, about, by_cell) if model._has_weights else None


def _weights(model: Any, about: Mapping[str, Any], by_cell: ModelTable) -> Floats:
    """The free weights, of those that every cell has: shared ones once."""
    w = np.concatenate([by_cell.by_class("w"), _numbers(about["weights"])[None, :]])
    owner = owners(model.tables_, model._share)
    if owner is None:
        return w
    free = np.zeros((int(owner[-1, -1]) + 1, 1))
    free[owner.ravel(), 0] = w.ravel()
    return free


def _network(model: Any, about: Mapping[str, Any], tables: Mapping[str, ModelTable]) -> None:
    levels, bias = model.encoder_.levels_, _numbers(about["bias"])
    chosen = tables["tuples.parquet"].lists("members", len(levels))
    children = [own[-1] for own in chosen]
    if len(set(children)) < len(children):
        raise ModelFileError("tuples.parquet gives a column two sets of parents")
    parents: list[tuple[int, ...]] = [()] * len(levels)
    for own in chosen:
        parents[own[-1]] = own[:-1]
    space, above = TupleSpace(levels, chosen), TupleSpace(levels, [own[:-1] or own for own in chosen])
    by_cell, by_parents, by_level = (tables[f"{name}.parquet"] for name in ("cells", "parents", "levels"))
    if len(by_level) != int(levels.sum()):
        raise ModelFileError(f"levels.parquet has {len(by_level)} lines, and there are {int(levels.sum())} levels")
    cards = _numbers(about["cards"])
    if cards.shape != levels.shape:
        raise ModelFileError(f"{len(levels)} columns, and 'cards' has {len(cards)} numbers")
    found = NetworkModel(
        Structure(tuple(parents), tuple(children)), space, above, cells_of(by_cell, space), by_cell.by_class("phi"),
        cells_of(by_parents, above), by_parents.by_class("rest", gaps=True), by_level.by_class("alone"), cards, bias,
    )  # fmt: skip
    model._read(found, tuple(column.name for column in model.encoder_.columns_))
    if isinstance(model, conditional.ELRClassifier):
        model.weights_ = np.concatenate([by_cell.by_class("w"), _numbers(about["weights"])[None, :]])
        return
    model._model, model.counts_ = found, by_cell.by_class("count")
    if isinstance(model, networks.KDBClassifier):
        model.rmse_ = None if about["rmse"] is None else np.array(about["rmse"], np.float64)


def _numbers(values: Any) -> Floats:
    """A list of finite numbers."""
    good = isinstance(values, list) and all(type(v) in (int, float) and math.isfinite(v) for v in values)
    if not good:
        raise ModelFileError("a list of finite numbers was expected, and something else is there")
    return np.array(values, np.float64)


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
    column = ColumnCode.from_dict(state)
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
