"""What all classifiers share: encode, learn, keep the model; predictions from scores, and pickles.

Where a family iterates a fit is `Run.of(Encoder.fit(X, y).encode(X, y), recipe)` drained to its end, the same stream of
steps that is watched elsewhere. Of the run only the model, the counts and the trace are kept: no rows that the model
does not need, no threads, no snapshots.
"""

import copy
import multiprocessing
import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import __version__ as sklearn_version
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

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
    drop_weightless,
    seed_of,
    table_doubts,
    threads,
)
from alrviz.fitting.families import ENCODING, family_of, require_streams
from alrviz.fitting.prepare import TrainingData, encode_rows
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import DIVERGED, FAILED, SEPARATED, STEP_LIMIT, STOPPED, Outcome, Step
from alrviz.models.linear import log_softmax
from alrviz.passes.rows import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.warn_once import warn_once

# Of pickles: to be raised when the attributes change in a way that older code or older pickles cannot bear.
FORMAT = 1
SOON = 5.0  # seconds of a fit of which nothing is said at a terminal
_COLUMNS_TOLD = 3  # columns that a warning of unseen values names


def _has_probabilities(estimator: "RecipeClassifier") -> bool:
    if getattr(estimator, "objective", "nll") == "hinge":
        raise AttributeError('objective="hinge" gives scores and no probabilities; expected "nll" or "mse" for those')
    return True


# The parameters of a dataclass are its signature: what get_params, clone and grid searches read.
@dataclass(kw_only=True, eq=False, repr=False)
class RecipeClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers that a recipe describes; a subclass names its family, and keeps and scores its model."""

    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None
    max_memory: int | None = None

    _family: ClassVar[str]
    _attributes: ClassVar[Mapping[str, str]] = {  # for docstrings, each class its own: name and type, text
        "classes_ : ndarray (C,)": "The class labels, sorted.",
        "n_features_in_ : int": "a, the number of columns.",
        "feature_names_in_ : ndarray (a,)": "Their names, where X had names that are text.",
        "encoder_ : Encoder": "Levels and cuts of each column.",
        "recipe_ : Recipe": "What was fitted, with the settings that the fit has chosen.",
        "model_ : object": "What was fitted, without names of columns and classes: it scores rows of codes.",
    }
    _warns = True  # whether predictions warn of values that training never saw; models of studies do not

    def to_recipe(self, **changes: Any) -> Recipe:
        """Return the recipe that `fit` runs: on all rows it is given, none held out; `changes` as in `Recipe.replace`.

        Raises:
            RecipeError: for a value that is not known, naming the nearest that is.
        """
        known = family_of(self._family).params
        params = {name: getattr(self, name) for name in known if hasattr(self, name)}
        params |= {name: getattr(self, name) for name in ENCODING if hasattr(self, name)}
        recipe = Recipe(self._family, holdout=0.0, **params)
        recipe = recipe.replace(**changes)
        return recipe if "seed" in changes else recipe.replace(seed=seed_of(self, recipe))

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, on_step: Callable[[Step], object] | None = None
    ) -> Self:
        """Learn the model.

        Parameters
        ----------
        X : DataFrame or array (N, a), or a table of `open_table`
            Text, categoricals, booleans and numbers, side by side; missing values may occur, infinite ones not. A table
            read in batches is learned from in passes over all its rows, of which `max_iter` is a budget.
        y : array (N,)
            Class labels, two different ones at least. None for a table read in batches, which has its class.
        sample_weight : array (N,), optional
            How often each row counts in cuts, counts and log loss: 2 is the row twice, 0 no row. Their sum is how many
            rows there are: weights that sum to 1 say that nothing can be told from so few. Where rows judge each other
            (order, penalties or levels that are chosen, `AutoClassifier`), a row of weight 2 is on one side, and a row
            that is there twice may be on both, so that another setting may be chosen; scikit-learn's
            `check_sample_weight_equivalence` fails there.
        on_step : callable, optional
            Called with each `Step` of the fit, where the family has steps; the fit ends there if it returns True.
            scikit-learn's callbacks (`set_callbacks`) see the same steps.

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
            Numeric columns that no cut divides: the model cannot see them. Said once of the same columns.
        DoubtfulTableWarning
            Numbers that are text, texts that differ in most rows, weights with a mean near 0, `n_bins` without effect.
            Said once of the same columns.
        """
        self._forget()
        learn = self._fit_stream if isinstance(X, Stream) else self._fit  # apart: a decorated method has no type
        learn(X, y, sample_weight, on_step)
        self._tell()
        return self

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any, on_step: Callable[[Step], object] | None) -> None:
        context = self._init_callback_context(max_subtasks=self._most_steps)
        recipe = self.to_recipe()
        check_max_memory(self.max_memory)
        X = check_table(self, X, reset=True)
        X, y, weights = drop_weightless(X, check_classes(self, X, y), sample_weight)
        self._check(recipe)
        recipe = self._settled(recipe, X, y, weights)
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
        """Learn in passes over the rows of a table read in batches."""
        context = self._init_callback_context(max_subtasks=self._most_steps)
        require_streams(self._family)
        beside = {"y": (y, "its class"), "sample_weight": (sample_weight, "rows that count alike")}
        for name, (given, what) in beside.items():
            if given is not None:
                raise TableError(f"{name} is not given beside a table read in batches, which has {what}; expected None")
        if self.categorical_features != "from_dtype":
            raise RecipeError(
                "categorical_features is not for a table read in batches; expected 'from_dtype', and "
                "open_table(..., kinds={'column': 'categorical'})"
            )
        check_max_memory(self.max_memory)
        # Codes are kept by their seed: one drawn for each fit would have the files read anew.
        recipe = self.to_recipe(**({"seed": 0} if getattr(self, "random_state", None) is None else {}))
        context.call_on_fit_task_begin(estimator=self, X=stream, y=None)
        with FitProgress(self, context, on_step) as progress:
            self._learn_stream(stream, recipe, progress)
        context.call_on_fit_task_end(estimator=self, X=stream, y=None, reconstruction_attributes=lambda: vars(self))

    def _learn_stream(self, stream: Stream, recipe: Recipe, progress: "FitProgress") -> None:
        """Learn the model, of a family that streams."""
        raise NotImplementedError

    def fit_prepared(self, X: Any, prepared: TrainingData, stop: StopToken = NEVER) -> Self:
        """Learn as `fit(X, y)` would, from rows that were encoded before, and whatever was made of them since.

        `prepared` holds the rows of `X` and its encoder, made as this estimator's parameters say: studies share it
        between recipes. Nothing is said of a fit that did not end well: `outcome_` tells. Raises `Stopped` once `stop`
        is pulled, where the fit has steps.
        """
        if prepared.encoder is None:
            raise AlrvizError("rows to be learned from need the encoder they were made with, and these have none")
        self._forget()
        self._warns = False
        asked = self.to_recipe()
        check_max_memory(self.max_memory)
        check_table(self, X, reset=True)
        self._check(asked)
        encoded = prepared.encoded
        y = encoded.classes[encoded.y]
        recipe = self._settled(asked, X, y, encoded.weights, stop, prepared.splitting)
        again = self._encoding(X, y, encoded.weights, prepared.splitting)

        def encode(of: Recipe) -> TrainingData:  # the order that is chosen may have other cuts
            return prepared if of.encoding == asked.encoding else again(of)

        self.set_encoder(*self._learn(encode, recipe, stop))
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit has said of settings that this one may not choose."""
        for name in ("alpha_", "alphas_", "chosen_", "_warns"):
            self.__dict__.pop(name, None)

    def _encoding(
        self, X: Any, y: NDArray[Any], weights: Floats, splitting: Splitting = AT_RANDOM
    ) -> Callable[[Recipe], TrainingData]:
        """What encodes the rows of a checked table as a recipe says."""
        return partial(
            encode_rows, X=X, y=y, weights=weights, categorical_features=self.categorical_features,
            n_jobs=threads(self.n_jobs), splitting=splitting,
        )  # fmt: skip

    def set_encoder(self, encoder: Encoder, recipe: Recipe) -> None:
        """Keep what was fitted beside the model: how rows become codes, and what was run."""
        self.__dict__.pop("spec_", None)  # of an earlier table
        self.encoder_ = encoder
        self.classes_ = encoder.classes_
        self.recipe_ = recipe

    @property
    def _most_steps(self) -> int | None:
        """How many steps a fit has at most: 0 without any, None where that is not known beforehand."""
        return 0

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
    def _learn(
        self, encode: Callable[[Recipe], TrainingData], recipe: Recipe, stop: StopToken = NEVER,
        progress: "FitProgress | None" = None,
    ) -> tuple[Encoder, Recipe]:  # fmt: skip
        """Learn the model of rows that are encoded as a recipe says, and keep it; return the encoder, and the recipe
        with the settings that were chosen meanwhile.
        """

    def _tell(self) -> None:
        """Warn of a fit that did not end well."""

    def _scores(self, X: Any) -> Floats:
        """Return the class scores (N, C)."""
        if "encoder_" not in vars(self):
            check_is_fitted(self)  # it takes as long as a row
        table = check_table(self, X, reset=False)
        codes = self.encoder_.transform(table)
        if self._warns:
            self._warn_unseen(codes)
        return self.score_codes(codes, table)

    @abstractmethod
    def score_codes(self, codes: NDArray[np.unsignedinteger], table: Any) -> Floats:
        """Return the class scores (N, C) of a checked table, whose codes (a, N) are given."""

    def _warn_unseen(self, codes: NDArray[np.unsignedinteger]) -> None:
        """Warn of values that are no level of the model, with their counts."""
        strange = codes == self.encoder_.levels_[:, None]
        rows = int(strange.any(axis=0).sum())
        if rows:
            counts = strange.sum(axis=1)
            worst = np.argsort(-counts, kind="stable")[:_COLUMNS_TOLD]
            told = ", ".join(f"{self.encoder_.columns_[j].name!r} ({counts[j]:,})" for j in worst if counts[j])
            more = int((counts > 0).sum()) - _COLUMNS_TOLD
            unseen = f" (unseen={self.unseen!r})" if hasattr(self, "unseen") else ""
            warnings.warn(
                f"{rows:,} of {codes.shape[1]:,} rows have values that no training row has, in {told}"
                + (f" and {more:,} more columns" if more > 0 else "")
                + f"; they are predicted by their other values{unseen}",
                UnseenLevelWarning,
                stacklevel=4,
            )

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


class FitProgress:
    """Who watches a fit: a line on stderr (`verbose`), a function (`on_step`), scikit-learn's callbacks.

    verbose=None has the line where somebody sits before it, while a fit takes more than SOON seconds.
    """

    def __init__(self, estimator: RecipeClassifier, context: CallbackContext, on_step: Callable[[Step], object] | None):
        self._estimator, self._context, self._on_step = estimator, context, on_step
        told = getattr(estimator, "verbose", False)
        shown = told or (told is None and _is_seen())
        delay = 0.0 if told else SOON
        line = partial(tqdm, desc=type(estimator).__name__, unit=" steps", leave=bool(told), delay=delay, miniters=0)
        self._line = line() if shown else None

    def trial(self, trial: Mapping[str, float]) -> None:
        """Tell what was tried for an order and alphas, as `Run.tried` has it."""
        if self._line is not None:
            self._line.set_postfix_str(_tried(trial), refresh=False)
            self._line.update(0)

    def step(self, run: Run, step: Step) -> bool:
        """Tell of a step; returns whether somebody asks the fit to end."""
        if self._line is not None:
            of = {**step.extra, "log_loss": step.extra["search_log_loss"]} if step.kind == "search" else {}
            words = _tried(of) if of else f"log loss {step.nll / run.trace.rows:.4g} per row"
            self._line.set_postfix_str(words, refresh=False)
            self._line.update(step.index - self._line.n)
        ends = self._on_step is not None and self._on_step(step) is True
        if getattr(self._estimator, "_skl_callbacks", ()):  # without any, a task a step would only be kept
            task = self._context.subcontext(task_name="step").call_on_fit_task_begin(estimator=self._estimator)
            ends |= task.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=lambda: self._estimator._fitted_attributes(run)
            )
        return ends

    def __enter__(self) -> "FitProgress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()


def _is_seen() -> bool:
    """Whether a line on stderr is for somebody's eyes: in no file, and not of one worker beside others."""
    alone = multiprocessing.parent_process() is None
    return alone and ("ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)()))


def _tried(trial: Mapping[str, float]) -> str:
    alphas = ", ".join(f"{value:.3g}" for name, value in trial.items() if name.startswith("alpha_"))
    order = f"order {trial['order']:.0f}" if "order" in trial else ""
    words = ", ".join(filter(None, [order, f"alpha {alphas}" if alphas else ""]))
    return f"trying {words}: validation log loss {trial['log_loss']:.4g}"


def versions() -> dict[str, str]:
    """Return the versions that a pickle depends on."""
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
    # What would help where a fit did not reach its end.
    _advice: ClassVar[dict[str, str]] = {
        STEP_LIMIT: "raise max_iter, or alpha, which makes the optimum easier to reach",
        SEPARATED: "set alpha above 0",
    }

    def _learn(
        self, encode: Callable[[Recipe], TrainingData], recipe: Recipe, stop: StopToken = NEVER,
        progress: "FitProgress | None" = None,
    ) -> tuple[Encoder, Recipe]:  # fmt: skip
        hear = progress.trial if progress is not None else None
        run = Run.on(encode(recipe), recipe, max_memory=self.max_memory, encode=encode, on_trial=hear)
        self._drain(run, progress, stop)
        self._take(run)
        return run.encoder, run.recipe

    def _learn_stream(self, stream: Stream, recipe: Recipe, progress: "FitProgress") -> None:
        run = Run(stream, recipe, n_jobs=threads(self.n_jobs), max_memory=self.max_memory, on_trial=progress.trial)
        self._drain(run, progress)
        self.take_run(run)

    def _drain(self, run: Run, progress: "FitProgress | None", stop: StopToken = NEVER) -> None:
        """Take all steps of a run, or those until somebody asks it to end."""
        for step in run.steps():
            stop.check()
            if progress is not None and progress.step(run, step):
                run.stop()

    def take_run(self, run: Run) -> None:
        """Become what a run on a data set has found, as if `fit` had been given its training rows.

        Raises:
            AlrvizError: the run has no model yet, or went astray.
        """
        encoder = run.encoder
        if encoder is None:
            raise AlrvizError("the run has no model yet; it has one after its first step")
        self.n_features_in_ = len(encoder.columns_)
        self.feature_names_in_ = np.array([column.name for column in encoder.columns_], dtype=object)
        self._take(run)
        self.set_encoder(encoder, run.recipe)
        if run.dataset is not None:
            self.spec_ = spec_of(run.dataset, encoder)

    def _fitted_attributes(self, run: Run) -> dict[str, Any]:
        """Return the attributes of this estimator as if the run had ended at its latest step."""
        other = copy.copy(self)
        other.set_encoder(run.encoder, run.recipe)
        other._keep(run)
        return {name: value for name, value in vars(other).items() if name not in vars(self)}

    def _take(self, run: Run) -> None:
        """Keep what a run has found so far, or at its end."""
        outcome, state = run.outcome or Outcome(STOPPED, "the run had not ended"), run.state
        if run.model is None or state is None or outcome.code in (DIVERGED, FAILED):
            raise AlrvizError(f"the fit has no result: {outcome}")
        self.n_iter_ = state.index
        self.trace_ = run.trace
        self.outcome_ = outcome
        self.choice_ = run.estimate.choice if run.estimate else None
        self._keep(run)

    @property
    def _most_steps(self) -> int | None:
        return None

    @abstractmethod
    def _keep(self, run: Run) -> None:
        """Take from a run what the model is."""

    def _tell(self) -> None:
        advice = self._advice.get(self.outcome_.code)
        if advice is not None:
            message = f"{type(self).__name__}: {self.outcome_.sentence}; {advice}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)


def spec_of(dataset: Dataset | Stream, encoder: Encoder) -> ParseSpec:
    """Return how the encoder's columns were read when the data set was, in their order.

    Raises:
        ModelFileError: the data set has not the encoder's columns.
    """
    by_name = {column.name: column for column in dataset.spec.features}
    wanted = [column.name for column in encoder.columns_]
    if not encoder.named_ and len(wanted) == len(by_name):  # it was fitted on an array
        by_name = dict(zip(wanted, by_name.values(), strict=True))
    lost = [name for name in wanted if name not in by_name]
    if lost:
        raise ModelFileError(
            f"the model has a column {lost[0]!r}, and {dataset!r} uses none of that name{nearest(lost[0], by_name)}; "
            "the data set that it was fitted on was expected"
        )
    kinds = ["numeric" if column.kind == "numeric" else "categorical" for column in encoder.columns_]
    columns = (replace(by_name[name], name=name, kind=kind) for name, kind in zip(wanted, kinds, strict=True))
    return replace(dataset.spec, columns=tuple(columns))
