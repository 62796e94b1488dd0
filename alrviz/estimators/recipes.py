"""Bases of all classifiers: encode the table, learn a model, predict from its scores; progress, warnings and pickles.

Where a family has steps, a fit is `Run.on_prepared(encode_rows(recipe, X, y, weights), recipe)` taken to its end: the
same stream of steps that pages show. Only the model, the counts and the trace are kept: no rows that the model does not
need, no threads, no snapshots.
"""

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import __version__ as sklearn_version
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder, lost_text
from alrviz.data.parse_spec import ParseSpec
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.data.stream.table import Stream
from alrviz.errors import (
    AlrvizError,
    DoubtfulTableWarning,
    LostColumnsWarning,
    ModelFileError,
    RecipeError,
    TableError,
    UnseenLevelWarning,
    nearest,
)
from alrviz.estimators.checks import (
    check_classes,
    check_max_memory,
    check_table,
    check_time_limit,
    drop_weightless,
    seed_of,
    table_doubts,
    threads,
)
from alrviz.estimators.fit_progress import FitProgress
from alrviz.fitting.cost.estimate import estimate, require_memory
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families import ENCODING, family_of, require_streams
from alrviz.fitting.prepare import TrainingData, encode_rows, require_learnable
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import DIVERGED, FAILED, SEPARATED, STEP_LIMIT, STOPPED, Outcome, Step
from alrviz.models.linear import log_softmax
from alrviz.passes.rows import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.warn_once import warn_once

# The format of pickles; raise it when attributes change so that older code or older pickles fail.
FORMAT = 1
_MAX_NAMED_COLUMNS = 3  # in a warning of unseen values


def _has_probabilities(estimator: "RecipeClassifier") -> bool:
    if getattr(estimator, "objective", "nll") == "hinge":
        raise AttributeError('objective="hinge" gives scores and no probabilities; expected "nll" or "mse" for those')
    return True


# get_params, clone and grid searches read the parameters from the dataclass's signature.
@dataclass(kw_only=True, eq=False, repr=False)
class RecipeClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers that a recipe describes; a subclass names its family, and stores and scores its model."""

    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None
    max_memory: int | None = None

    model_: Any = field(init=False)
    _family: ClassVar[str]
    _attributes: ClassVar[
        Mapping[str, str]
    ] = {  # for docstrings: "name : type" and text; a subclass adds its own attributes
        "classes_ : ndarray (C,)": "The class labels, sorted.",
        "n_features_in_ : int": "a, the number of columns.",
        "feature_names_in_ : ndarray (a,)": "Their names, where X had names that are text.",
        "encoder_ : Encoder": "Levels and cuts of each column.",
        "recipe_ : Recipe": "The recipe of the fit, with the settings that it has chosen.",
        "model_ : object": "The fitted model, without names of columns and classes: it scores rows of codes.",
    }
    _warns = True  # whether predictions warn of unseen values; models of studies do not

    def to_recipe(self, **changes: Any) -> Recipe:
        """Return the recipe that `fit` runs, on all rows without held-out ones; `changes` as in `Recipe.replace`.

        Raises:
            RecipeError: an invalid value; the message names the nearest valid one.
        """
        names = family_of(self._family).params
        params = {name: getattr(self, name) for name in names if hasattr(self, name)}
        params |= {name: getattr(self, name) for name in ENCODING if hasattr(self, name)}
        recipe = Recipe(self._family, holdout=0.0, **params)
        recipe = recipe.replace(**changes)
        return recipe if "seed" in changes else recipe.replace(seed=seed_of(self, recipe))

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, on_step: Callable[[Step], object] | None = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix (N, a), or a table of `open_table`
            Text, categoricals, booleans and numbers, side by side; missing values may occur, infinite ones not. In a
            sparse matrix what is not stored is 0; a column of two values, or one that has no cut, has two levels. It
            takes a byte for each row and column. A table
            read in batches is learned from in passes over all its rows, of which `max_iter` is a budget.
        y : array (N,)
            Class labels, two different ones at least. None for a table read in batches, which has its class.
        sample_weight : array (N,), optional
            How often each row counts in cuts, counts and log loss: 2 is the row twice, 0 no row. Their sum counts as
            the number of rows: weights that sum to 1 say that almost nothing can be learned. Where folds choose an
            order, penalties (alpha="auto") or levels, a row of weight 2 is in one fold, and a row that is there
            twice may be in two, so that another setting may be chosen; scikit-learn's
            `check_sample_weight_equivalence` fails there.
        on_step : callable, optional
            Called with each `Step` of the fit, where the family has steps; the fit ends there if it returns True.
            scikit-learn's callbacks (`set_callbacks`) see the same steps.

        Raises
        ------
        RecipeError
            A ValueError: an invalid parameter, or one that does not fit the table.
        TableError
            A ValueError: a table that cannot be learned from.
        MemoryLimitError
            A MemoryError, raised before anything is allocated.

        Warns
        -----
        LostColumnsWarning
            Numeric columns without a cut: the model cannot use them. Warned once for the same columns.
        DoubtfulTableWarning
            Numbers stored as text, texts that differ in most rows, weights with a mean near 0, `n_bins` without
            effect; a table of one column, to which order=2, the default, is fitted as order 1. Warned once for the
            same columns.
        """
        self._drop_choices()
        # the public method is not decorated: a decorated one loses its type
        learn = self._fit_stream if isinstance(X, Stream) else self._fit
        learn(X, y, sample_weight, on_step)
        self._warn_outcome()
        return self

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any, on_step: Callable[[Step], object] | None) -> None:
        """Encode the rows X (N, a) with classes y and weights (N,), learn, and warn about what is doubtful.

        on_step: called with each step, as in `fit`.
        """
        context = self._init_callback_context(max_subtasks=self._max_steps)
        recipe = self.to_recipe()
        check_max_memory(self.max_memory)
        check_time_limit(getattr(self, "time_limit", None))
        X = check_table(self, X, reset=True)
        X, y, weights = drop_weightless(X, check_classes(self, X, y), sample_weight)
        recipe = self._lower_order_for_one_column(recipe)
        self._check(recipe)
        recipe = self._resolve_choices(recipe, X, y, weights)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        with FitProgress(self, context, on_step) as progress:
            encoder, recipe = self._learn(self._encoding(X, y, weights), recipe, progress=progress)
        self.set_encoder(encoder, recipe)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=lambda: vars(self))
        if encoder.lost_:
            warn_once(f"{type(self).__name__}: {lost_text(encoder)}", LostColumnsWarning, stacklevel=4)
        for doubt in table_doubts(self, X, encoder, weights):
            warn_once(f"{type(self).__name__}: {doubt}", DoubtfulTableWarning, stacklevel=4)

    @with_callbacks
    def _fit_stream(self, stream: Stream, y: Any, sample_weight: Any, on_step: Callable[[Step], object] | None) -> None:
        """Learn in passes over the rows of a table read in batches.

        y and sample_weight must be None, as the table has them; on_step: called with each step, as in `fit`.
        """
        context = self._init_callback_context(max_subtasks=self._max_steps)
        require_streams(self._family)
        forbidden_arguments = {"y": (y, "its class column"), "sample_weight": (sample_weight, "rows of equal weight")}
        for name, (value, replacement) in forbidden_arguments.items():
            if value is not None:
                raise TableError(f"{name} is not for a table read in batches, which has {replacement}; expected None")
        if self.categorical_features != "from_dtype":
            raise RecipeError(
                "categorical_features is not for a table read in batches; expected 'from_dtype', and "
                "open_table(..., kinds={'column': 'categorical'})"
            )
        check_max_memory(self.max_memory)
        check_time_limit(getattr(self, "time_limit", None))
        # The codes are cached by their seed; a random one for each fit would read the files again.
        recipe = self.to_recipe(**({"seed": 0} if getattr(self, "random_state", None) is None else {}))
        context.call_on_fit_task_begin(estimator=self, X=stream, y=None)
        with FitProgress(self, context, on_step) as progress:
            self._learn_stream(stream, recipe, progress)
        context.call_on_fit_task_end(estimator=self, X=stream, y=None, reconstruction_attributes=lambda: vars(self))

    def _learn_stream(self, stream: Stream, recipe: Recipe, progress: FitProgress) -> None:
        """Fit the model to a table read in batches; for families that stream."""
        raise NotImplementedError

    def fit_prepared(self, X: Any, prepared: TrainingData, stop: StopToken = NEVER) -> Self:
        """Fit as `fit(X, y)` would, from rows that are encoded already, and share what is cached with them.

        `prepared` holds the rows of `X` and their encoder, made with this estimator's parameters: studies share it
        between recipes. A fit that ended badly gives no warning: see `outcome_`. Raises `Stopped` once `stop` is called
        on the token, if the fit has steps.
        """
        if prepared.encoder is None:
            raise AlrvizError("the encoded rows have no encoder; expected rows as encode_rows returns them")
        self._drop_choices()
        self._warns = False
        recipe = self.to_recipe()
        check_max_memory(self.max_memory)
        check_time_limit(getattr(self, "time_limit", None))
        check_table(self, X, reset=True)
        self._check(recipe)
        encoded = prepared.encoded
        y = encoded.classes[encoded.y]
        resolved = self._resolve_choices(recipe, X, y, encoded.weights, stop, prepared.splitting)
        encode_again = self._encoding(X, y, encoded.weights, prepared.splitting)

        def encode(changed_recipe: Recipe) -> TrainingData:  # a chosen order may have other cuts
            return prepared if changed_recipe.encoding == recipe.encoding else encode_again(changed_recipe)

        self.set_encoder(*self._learn(encode, resolved, stop))
        return self

    def _drop_choices(self) -> None:
        """Drop settings that an earlier fit has chosen; this fit may not choose them."""
        for name in ("alpha_", "alphas_", "chosen_", "_warns"):
            self.__dict__.pop(name, None)

    def _encoding(
        self, X: Any, y: NDArray[Any], weights: Floats, splitting: Splitting = AT_RANDOM
    ) -> Callable[[Recipe], TrainingData]:
        """Return the function that encodes the rows X, y, weights (N,) of a checked table as a recipe says.

        splitting: rule by which rows are split for holdouts and folds (at random, by groups, by time).
        """
        return partial(
            encode_rows, X=X, y=y, weights=weights, categorical_features=self.categorical_features,
            n_jobs=threads(self.n_jobs), splitting=splitting,
        )  # fmt: skip

    def set_encoder(self, encoder: Encoder, recipe: Recipe) -> None:
        """Store how rows become codes, and the recipe of the fit."""
        self.__dict__.pop("spec_", None)  # it belonged to an earlier table
        self.encoder_ = encoder
        self.classes_ = encoder.classes_
        self.recipe_ = recipe

    @property
    def _max_steps(self) -> int | None:
        """The maximum number of steps of a fit: 0 for a family without steps, None if it is not known in advance."""
        return 0

    def _lower_order_for_one_column(self, recipe: Recipe) -> Recipe:
        """Return the recipe that fits the number of columns, with a warning if that is another one."""
        return recipe

    def _check(self, recipe: Recipe) -> None:
        """Raise `RecipeError` if the recipe does not fit the table."""

    def _resolve_choices(
        self,
        recipe: Recipe,
        X: Any,
        y: NDArray[Any],
        weights: Floats,
        stop: StopToken = NEVER,
        splitting: Splitting = AT_RANDOM,
    ) -> Recipe:
        """Return the recipe to fit, with numbers in place of settings that the rows X, y, weights (N,) choose."""
        return recipe

    def _learn(
        self, encode: Callable[[Recipe], TrainingData], recipe: Recipe, stop: StopToken = NEVER,
        progress: FitProgress | None = None,
    ) -> tuple[Encoder, Recipe]:  # fmt: skip
        """Fit the model to the rows, encoded as a recipe says, and store it; in this base class in one step.

        Returns:
            The encoder, and the recipe with the settings that the fit has chosen.
        """
        prepared = encode(recipe)
        require_learnable(prepared.encoded)
        require_memory(estimate(recipe, TableShape(prepared.encoded, stop=stop), self.max_memory))
        self._learn_rows(prepared, recipe, stop)
        assert prepared.encoder is not None
        return prepared.encoder, recipe

    def _learn_rows(self, prepared: TrainingData, recipe: Recipe, stop: StopToken) -> None:
        """Fit the model to the encoded rows in one step, and store it; for families without steps."""
        raise NotImplementedError

    def _warn_outcome(self) -> None:
        """Hook that does nothing; estimators with a solver override it, to warn if the fit ended badly."""

    def _scores(self, X: Any) -> Floats:
        """Return the class scores (N, C) of rows X."""
        if "encoder_" not in vars(self):
            check_is_fitted(self)  # only if needed: it takes as long as predicting a row
        table = check_table(self, X, reset=False)
        codes = self.encoder_.transform(table)
        if self._warns:
            _warn_unseen(self, codes)
        return self.score_codes(codes, table)

    def score_codes(self, codes: NDArray[np.unsignedinteger], table: Any) -> Floats:
        """Return the class scores (N, C) of a checked table, whose codes (a, N) are given."""
        scores: Floats = self.model_.scores(codes, threads(self.n_jobs))
        return scores

    def _check_and_encode(self, X: Any) -> tuple[NDArray[np.unsignedinteger], Any]:
        """Return the codes (a, N) of new rows, and their table after it was checked and read as in training."""
        check_is_fitted(self)
        table = check_table(self, X, reset=False)
        return self.encoder_.transform(table), table

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score of each row (N,); of equal ones the first."""
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
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_format": FORMAT, "_versions": versions()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        pickle_format, pickled_versions = state.pop("_format", None), state.pop("_versions", None)
        if pickle_format != FORMAT:
            raise AlrvizError(
                f"this {type(self).__name__} was pickled in format {pickle_format!r}, but this version of alrviz reads "
                f"format {FORMAT}: read it with the version that wrote it, or fit again"
            )
        super().__setstate__(state)
        _warn_versions(self, pickled_versions or {})


def _warn_unseen(estimator: RecipeClassifier, codes: NDArray[np.unsignedinteger]) -> None:
    """Warn of values, in codes (a, N) of new rows, that are no level of the model, and how often they occur."""
    encoder = estimator.encoder_
    is_unseen = codes == encoder.levels_[:, None]
    n_rows = int(is_unseen.any(axis=0).sum())
    if not n_rows:
        return
    counts = is_unseen.sum(axis=1)
    worst = np.argsort(-counts, kind="stable")[:_MAX_NAMED_COLUMNS]
    columns = ", ".join(f"{encoder.columns_[j].name!r} ({counts[j]:,})" for j in worst if counts[j])
    n_other_columns = int((counts > 0).sum()) - _MAX_NAMED_COLUMNS
    others_text = f" and {n_other_columns:,} more columns" if n_other_columns > 0 else ""
    unseen_text = f" (unseen={estimator.unseen!r})" if hasattr(estimator, "unseen") else ""
    warnings.warn(
        f"{n_rows:,} of {codes.shape[1]:,} rows have values that no training row has, in {columns}{others_text}; the "
        f"other values predict these rows{unseen_text}",
        UnseenLevelWarning,
        stacklevel=4,
    )


def _warn_versions(estimator: RecipeClassifier, pickled_versions: Mapping[str, str]) -> None:
    """Warn if an estimator was pickled under other versions of packages than are installed."""
    changed = [name for name, version in pickled_versions.items() if version != versions().get(name)]
    if changed:
        pickled_text = ", ".join(f"{name} {pickled_versions[name]}" for name in changed)
        current_text = ", ".join(f"{name} {versions().get(name)}" for name in changed)
        warnings.warn(
            f"this {type(estimator).__name__} was pickled under {pickled_text}, and is read under {current_text}: "
            "compare a prediction, or use alrviz.save_model, whose files do not depend on versions",
            stacklevel=3,
        )


def versions() -> dict[str, str]:
    """Return the version of each package that a pickle depends on, by name."""
    return {"alrviz": __version__, "numpy": np.__version__, "scikit-learn": sklearn_version}


@dataclass(kw_only=True, eq=False, repr=False)
class RunClassifier(RecipeClassifier):
    """Base of the classifiers whose fit is a run."""

    verbose: bool | None = False

    _attributes: ClassVar[Mapping[str, str]] = {
        "n_iter_ : int": "Steps taken.",
        "trace_ : Trace": "One `Step` per iteration; `trace_.frame()` is a DataFrame.",
        "outcome_ : Outcome": "Why the fit ended: a code and a sentence.",
        "choice_ : Choice": "The solver that ran, and why: `choice_.solver`, `choice_.reason`.",
    }
    # What to do after a fit that ended in this way.
    _advice: ClassVar[dict[str, str]] = {
        STEP_LIMIT: "raise max_iter, or alpha, which makes the optimum easier to reach",
        SEPARATED: "set alpha above 0",
    }

    def _learn(
        self, encode: Callable[[Recipe], TrainingData], recipe: Recipe, stop: StopToken = NEVER,
        progress: FitProgress | None = None,
    ) -> tuple[Encoder, Recipe]:  # fmt: skip
        """Fit a run, store its result, and return the encoder and the recipe after all choices."""
        on_trial = progress.trial if progress is not None else None
        run = Run.on_prepared(
            encode(recipe), recipe, max_memory=self.max_memory, encode=encode, on_trial=on_trial,
            time_limit=getattr(self, "time_limit", None),
        )  # fmt: skip
        self._drain(run, progress, stop)
        self._take(run)
        return run.encoder, run.recipe

    def _learn_stream(self, stream: Stream, recipe: Recipe, progress: FitProgress) -> None:
        run = Run(
            stream, recipe, n_jobs=threads(self.n_jobs), max_memory=self.max_memory, on_trial=progress.trial,
            time_limit=getattr(self, "time_limit", None),
        )  # fmt: skip
        self._drain(run, progress)
        self.take_run(run)

    def _drain(self, run: Run, progress: FitProgress | None, stop: StopToken = NEVER) -> None:
        """Take all steps of a run, or those until it is asked to end."""
        for step in run.steps():
            stop.check()
            if progress is not None and progress.step(run, step):
                run.stop()

    def take_run(self, run: Run) -> None:
        """Take over the model of a run on a data set, as if `fit` had been given its training rows.

        Raises:
            AlrvizError: the run has no model yet, has diverged or failed.
        """
        encoder = run.encoder
        if encoder is None:
            raise AlrvizError("the run has no model yet; it has one after its first step")
        self.n_features_in_ = len(encoder.columns_)
        self.feature_names_in_ = np.array(encoder.names_, dtype=object)
        self._take(run)
        self.set_encoder(encoder, run.recipe)
        if run.dataset is not None:
            self.spec_ = spec_of(run.dataset, encoder)

    def fitted_attributes(self, run: Run) -> dict[str, Any]:
        """Return the attributes of this estimator as if the run had ended at its latest step."""
        copied = copy.copy(self)
        copied.set_encoder(run.encoder, run.recipe)
        copied._store_model(run)
        return {name: value for name, value in vars(copied).items() if name not in vars(self)}

    def _take(self, run: Run) -> None:
        """Store the latest model of a run, how it ended, and its trace."""
        outcome, state = run.outcome or Outcome(STOPPED, "the run had not ended"), run.state
        if run.model is None or state is None or outcome.code in (DIVERGED, FAILED):
            raise AlrvizError(f"the fit has no result: {outcome}")
        self.n_iter_ = state.index
        self.trace_ = run.trace
        self.outcome_ = outcome
        self.choice_ = run.estimate.choice if run.estimate else None
        self._store_model(run)

    @property
    def _max_steps(self) -> int | None:
        return None

    @abstractmethod
    def _store_model(self, run: Run) -> None:
        """Store the model of a run as fitted attributes."""

    def _warn_outcome(self) -> None:
        """Warn if the fit ended for a reason on which there is advice."""
        advice = self._advice.get(self.outcome_.code)
        if advice is not None:
            message = f"{type(self).__name__}: {self.outcome_.sentence}; {advice}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)


def spec_of(dataset: Dataset | Stream, encoder: Encoder) -> ParseSpec:
    """Return how each of the encoder's columns was read, in the encoder's order.

    Raises:
        ModelFileError: the data set lacks one of the encoder's columns.
    """
    columns_by_name = {column.name: column for column in dataset.spec.features}
    names = encoder.names_
    if not encoder.named_ and len(names) == len(columns_by_name):  # the model was fitted to an array
        columns_by_name = dict(zip(names, columns_by_name.values(), strict=True))
    absent_names = [name for name in names if name not in columns_by_name]
    if absent_names:
        raise ModelFileError(
            f"the model has a column {absent_names[0]!r}, but {dataset!r} does "
            f"not{nearest(absent_names[0], columns_by_name)}; "
            "expected the data set that it was fitted on"
        )
    kinds = ["numeric" if column.kind == "numeric" else "categorical" for column in encoder.columns_]
    columns = (replace(columns_by_name[name], name=name, kind=kind) for name, kind in zip(names, kinds, strict=True))
    return replace(dataset.spec, columns=tuple(columns))
