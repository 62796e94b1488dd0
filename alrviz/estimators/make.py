"""Estimators from recipes: an unfitted one from a recipe, a fitted one from a run."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder
from alrviz.errors import RecipeError
from alrviz.estimators.base import CellClassifier
from alrviz.estimators.recipes import RecipeClassifier, RunClassifier, spec_of
from alrviz.fitting.families import ENCODING
from alrviz.fitting.families.family import Family
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import Outcome
from alrviz.models.linear import LinearModel
from alrviz.models.tables import Tables


def make_estimator(
    recipe: Recipe,
    *,
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
    max_memory: int | None = None,
) -> RecipeClassifier:
    """Return the unfitted estimator whose `fit` runs `recipe`.

    The estimator learns from all rows given to `fit`: the recipe's split is not used. Its seed becomes
    `random_state` if the fit itself draws random numbers.

    Raises:
        RecipeError: if `recipe` is not a `Recipe`.

    >>> from alrviz import Recipe
    >>> make_estimator(Recipe("alr", order=3, alpha=0.1))
    ALRClassifier(alpha=0.1, order=3)
    """
    if not isinstance(recipe, Recipe):
        raise RecipeError(f"expected a Recipe, got {type(recipe).__name__}; Recipe.from_json reads one from text")
    return unfitted_estimator(
        classifier_class(recipe.definition),
        recipe,
        categorical_features=categorical_features,
        n_jobs=n_jobs,
        max_memory=max_memory,
    )


def classifier_class(family: Family) -> type[RecipeClassifier]:
    """Return the classifier of a family, imported or made when it is first used."""
    module, _, name = family.estimator.rpartition(".")
    cls: type[RecipeClassifier] = getattr(import_module(module), name)
    return cls


def unfitted_estimator(cls: type[RecipeClassifier], recipe: Recipe, **other_params: Any) -> RecipeClassifier:
    """Return an unfitted classifier with the parameters of a recipe and `other_params`."""
    names = cls._get_param_names()
    params = {name: value for name, value in recipe.params.items() if name in names}
    if recipe.is_random:
        params["random_state"] = recipe.seed
    for name, value in params.items():
        if isinstance(value, Mapping):
            params[name] = dict(value)  # the recipe's mapping cannot be copied, and `clone` copies parameters
    params |= {name: recipe.value(name) for name in ENCODING if name in names}
    return cls(**params, **other_params)


def estimator_of(run: Run) -> RunClassifier:
    """Return the fitted classifier of a run's latest step; it predicts, and `save_model` writes it.

    It has learned from the run's training rows alone;
    `make_estimator(recipe).fit(X, y)` learns from all rows.

    Raises:
        AlrvizError: the run has no step yet, has diverged or failed, or has encoded rows without a table.

    >>> import alrviz
    >>> run = alrviz.Run(alrviz.load_demo("led"), alrviz.Recipe("alr", order=1, alpha=1))
    >>> steps = list(run.steps())
    >>> estimator_of(run)
    ALRClassifier(alpha=1.0, order=1)
    """
    model = make_estimator(run.recipe)
    assert isinstance(model, RunClassifier)
    model.take_run(run)
    return model


def table_classifier(
    recipe: Recipe,
    encoder: Encoder,
    dataset: Dataset,
    tables: Tables,
    table: LinearModel,
    outcome: Outcome,
    n_iter: int,
) -> CellClassifier:
    """Return the fitted classifier of a score table whose weights are not known: `weights_` is None.

    Args:
        recipe: of the fit.
        encoder: levels of the columns.
        dataset: the rows' data set, which tells how the columns of new rows are read.
        tables: counts of the table's cells.
        table: the fitted table.
        outcome, n_iter: why the fit ended, and after how many steps.
    """
    model = make_estimator(recipe)
    assert isinstance(model, CellClassifier)
    model.set_encoder(encoder, recipe)
    model.n_features_in_, model.feature_names_in_ = len(encoder.columns_), np.array(encoder.names_, dtype=object)
    model.spec_ = spec_of(dataset, encoder)
    model.tables_, model.cells_, model.model_, model.weights_ = tables, tables.space, table, None
    model.phi_, model.intercept_ = table.phi, table.bias
    model.outcome_, model.n_iter_, model.choice_ = outcome, n_iter, None
    return model
