"""What all classifiers share: encode, learn, keep the model; predictions from scores, and pickles.

Where a family iterates a fit is `Run.of(Encoder.fit(X, y).encode(X, y), recipe)` drained to its end, the same stream of
steps that is watched elsewhere. Of the run only the model, the counts and the trace are kept: no rows that the model
does not need, no threads, no snapshots.
"""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import __version__ as sklearn_version
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from alrviz import __version__
from alrviz.data.encode import Encoder, lost_text
from alrviz.data.encoded import Encoded
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import AlrvizError, LostColumnsWarning
from alrviz.estimators.checks import check_classes, check_max_memory, check_table, drop_weightless, seed_of, threads
from alrviz.fitting.families import ENCODING, family_params
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.run import Run
from alrviz.fitting.step import DIVERGED, FAILED, SEPARATED, STEP_LIMIT
from alrviz.models.linear import log_softmax
from alrviz.passes.rows import Floats
from alrviz.stop import NEVER, StopToken

# Of pickles: to be raised when the attributes change in a way that older code or older pickles cannot bear.
FORMAT = 1


def _has_probabilities(estimator: "RecipeClassifier") -> bool:
    if getattr(estimator, "objective", "nll") == "hinge":
        raise AttributeError('objective="hinge" gives scores and no probabilities; expected "nll" or "mse" for those')
    return True


# The parameters of a dataclass are its signature: what get_params, clone and grid searches read.
@dataclass(kw_only=True, eq=False, repr=False)
class RecipeClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers that a recipe describes; a subclass names its family, and keeps and scores its model."""

    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None
    max_memory: int | None = None

    _family: ClassVar[str]

    def to_recipe(self, **changes: Any) -> Recipe:
        """Return the recipe that `fit` runs: on all rows it is given, none held out; `changes` as in `Recipe.replace`.

        Raises:
            RecipeError: for a value that is not known, naming the nearest that is.
        """
        known = family_params(self._family)
        params = {name: getattr(self, name) for name in known if hasattr(self, name)}
        params |= {name: getattr(self, name) for name in ENCODING if hasattr(self, name)}
        recipe = Recipe(self._family, holdout=0.0, **params)
        recipe = recipe.replace(**changes)
        return recipe if "seed" in changes else recipe.replace(seed=seed_of(self, recipe))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the model.

        Parameters
        ----------
        X : DataFrame or array (N, a)
            Text, categoricals, booleans and numbers, side by side; missing values may occur, infinite ones not.
        y : array (N,)
            Class labels, two different ones at least.
        sample_weight : array (N,), optional
            How often each row counts, in everything: cuts, counts and log loss. 2 is the row twice, 0 no row.

        Raises
        ------
        RecipeError
            A ValueError: a parameter that is not known or does not go with the table.
        TableError
            A ValueError: a table that nothing can be learned from.
        MemoryLimitError
            A MemoryError, raised before anything is allocated.

        Warns
        -----
        LostColumnsWarning
            Numeric columns that no cut divides: the model cannot see them.
        """
        recipe = self.to_recipe()
        check_max_memory(self.max_memory)
        X = check_table(self, X, reset=True)
        X, y, weights = drop_weightless(X, check_classes(self, X, y), sample_weight)
        self._check(recipe)
        recipe = self._settled(recipe, X, y, weights)
        encoder = Encoder(
            discretize=recipe.cuts,
            n_bins=recipe.n_bins,
            missing=recipe.missing,
            categorical_features=self.categorical_features,
        ).fit(X, y, weights)
        self._learn(encoder.encode(X, y, weights), recipe)
        self._remember(encoder, recipe)
        if encoder.lost_:
            warnings.warn(f"{type(self).__name__}: {lost_text(encoder)}", LostColumnsWarning, stacklevel=2)
        self._tell()
        return self

    def fit_prepared(self, X: Any, prepared: Prepared, stop: StopToken = NEVER) -> Self:
        """Learn as `fit(X, y)` would, from rows that were encoded before, and whatever was made of them since.

        `prepared` holds the rows of `X` and its encoder, made as this estimator's parameters say: studies share it
        between recipes. Nothing is said of a fit that did not end well: `outcome_` tells. Raises `Stopped` once `stop`
        is pulled, where the fit has steps.
        """
        if prepared.encoder is None:
            raise AlrvizError("rows to be learned from need the encoder they were made with, and these have none")
        recipe = self.to_recipe()
        check_max_memory(self.max_memory)
        check_table(self, X, reset=True)
        self._check(recipe)
        encoded = prepared.encoded
        recipe = self._settled(recipe, X, encoded.classes[encoded.y], encoded.weights, stop, prepared.splitting)
        self._learn_prepared(prepared, recipe, stop)
        self._remember(prepared.encoder, recipe)
        return self

    def _remember(self, encoder: Encoder, recipe: Recipe) -> None:
        """Keep what was fitted beside the model: how rows become codes, and what was run."""
        self.encoder_ = encoder
        self.classes_ = encoder.classes_
        self._recipe = recipe

    def _check(self, recipe: Recipe) -> None:
        """Raise `RecipeError` if the table that was just given cannot be fitted so."""

    def _settled(
        self,
        recipe: Recipe,
        X: Any,
        y: NDArray[Any],
        weights: Floats,
        stop: StopToken = NEVER,
        splitting: Splitting = AT_RANDOM,
    ) -> Recipe:
        """Return the recipe that is fitted: with numbers for what was left to be chosen by these rows."""
        return recipe

    @abstractmethod
    def _learn(self, encoded: Encoded, recipe: Recipe) -> None:
        """Learn the model of these rows and keep it."""

    def _learn_prepared(self, prepared: Prepared, recipe: Recipe, stop: StopToken = NEVER) -> None:
        """Learn the model of rows whose covers and counts others may have asked for, and keep it."""
        self._learn(prepared.encoded, recipe)

    def _tell(self) -> None:
        """Warn of a fit that did not end well."""

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """Return the class scores (N, C)."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the highest score of each row (N,); of equal ones the first."""
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return p(class | row), (N, C), columns as in `classes_`."""
        return np.exp(self.predict_log_proba(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(class | row), (N, C), computed from the scores: it is finite where p rounds to 0."""
        return log_softmax(self._scores(X))

    def decision_function(self, X: Any) -> Floats:
        """Return the scores (N, C); of two classes the second's minus the first's, (N,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_format": FORMAT, "_versions": versions()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        found, written = state.pop("_format", None), state.pop("_versions", None)
        if found != FORMAT:
            raise AlrvizError(
                f"this {type(self).__name__} was pickled in format {found!r}, and this version of alrviz reads format "
                f"{FORMAT}: read it with the version that wrote it, or fit again"
            )
        super().__setstate__(state)
        here = versions()
        others = {name: version for name, version in (written or {}).items() if version != here.get(name)}
        if others:
            then = ", ".join(f"{name} {version}" for name, version in others.items())
            now = ", ".join(f"{name} {here.get(name)}" for name in others)
            warnings.warn(
                f"this {type(self).__name__} was pickled under {then}, and is read under {now}: compare a prediction, "
                "or hand models over with alrviz.save_model, which does not depend on versions",
                stacklevel=2,
            )


def versions() -> dict[str, str]:
    """Return the versions that a pickle depends on."""
    return {"alrviz": __version__, "numpy": np.__version__, "scikit-learn": sklearn_version}


@dataclass(kw_only=True, eq=False, repr=False)
class RunClassifier(RecipeClassifier):
    """Base of the classifiers whose fit is a run."""

    # What would help where a fit did not reach its end.
    _advice: ClassVar[dict[str, str]] = {
        STEP_LIMIT: "raise max_iter, or alpha, which makes the optimum easier to reach",
        SEPARATED: "set alpha above 0",
    }

    def _learn(self, encoded: Encoded, recipe: Recipe) -> None:
        self._learn_prepared(Prepared(encoded, None, n_jobs=threads(self.n_jobs)), recipe)

    def _learn_prepared(self, prepared: Prepared, recipe: Recipe, stop: StopToken = NEVER) -> None:
        run = Run.on(prepared, recipe, max_memory=self.max_memory)
        for _ in run.steps():
            stop.check()
        self._take(run)

    def _take(self, run: Run) -> None:
        """Keep what a run that has ended found."""
        outcome, state = run.outcome, run.state
        if run.model is None or state is None or outcome is None or outcome.code in (DIVERGED, FAILED):
            raise AlrvizError(f"the fit has no result: {outcome}")
        self.n_iter_ = state.index
        self.trace_ = run.trace
        self.outcome_ = outcome
        self.choice_ = run.price.choice if run.price else None
        self._keep(run)

    @abstractmethod
    def _keep(self, run: Run) -> None:
        """Take from a run what the model is."""

    def _tell(self) -> None:
        advice = self._advice.get(self.outcome_.code)
        if advice is not None:
            message = f"{type(self).__name__}: {self.outcome_.sentence}; {advice}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
