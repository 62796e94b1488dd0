"""Compute a task: one function for each kind of task, from a table to rows of figures.

The numbers are the same in whatever process or thread it runs.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from alrviz.errors import AlrvizError, RecipeError, Stopped
from alrviz.estimators.make import make_estimator
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.fitting.recipe import Recipe
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.alpha_path_task import path
from alrviz.studies.core.effects_task import effects
from alrviz.studies.core.fold_cache import PreparedFold, cached_fold, warm
from alrviz.studies.core.learning_curve_task import prequential
from alrviz.studies.core.study_task import RELIABILITY, Result, Row, StudyTask, failure, pack
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.statistics.align_probabilities import over_all_classes, share_log_p
from alrviz.studies.statistics.measures import measures, reliability

_log = logging.getLogger(__name__)

# Errors caused by a table or a recipe: they become the task's outcome, and the study goes on.
_EXPECTED_ERRORS = (AlrvizError, ValueError)


def compute(task: StudyTask, table: SentTable, stop: StopToken = NEVER) -> Result:
    """Compute a task; an error becomes its outcome. A stop ends it after the present step.

    Errors that follow from recipe and table are final; out of memory, a stop and errors in alrviz itself are passing:
    the task may be computed again.
    """
    try:
        with _ONE_THREAD.limit():
            return COMPUTE[task.kind](task, table, stop)
    except Stopped as error:
        return failure(str(error), passing=True)
    except _EXPECTED_ERRORS as error:
        return failure(str(error) or type(error).__name__)
    except MemoryError as error:
        return failure(str(error) or "out of memory; it can be computed again", passing=True)
    except Exception as error:
        _log.exception("a task failed")
        return failure(f"an error in alrviz itself: {type(error).__name__}: {error}", passing=True)


class _OneThread:
    """Limits BLAS and OpenMP to one thread while any task is computed in this process.

    BLAS has one limit for the whole process: the first task to enter sets it and the last to leave restores it. If each
    task restored what it had found, overlapping tasks would leave a limit of 1 behind. OpenMP has a limit per thread.
    """

    def __init__(self) -> None:
        self._lock, self._n_tasks = threading.Lock(), 0
        self._limits: Any = None

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Limit the threads within the block."""
        with self._lock:
            if not self._n_tasks:
                self._limits = threadpool_limits(1, user_api="blas")
            self._n_tasks += 1
        try:
            with threadpool_limits(1, user_api="openmp"):
                yield
        finally:
            with self._lock:
                self._n_tasks -= 1
                if not self._n_tasks:
                    self._limits.restore_original_limits()


_ONE_THREAD = _OneThread()


def fold(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Fit a recipe to the training rows of a split and evaluate it on the test rows: one row.

    Columns: train_rows, test_rows, outcome, sentence, log_loss, error, rmse, brier, ece, balanced_error,
    average_precision_loss, train_log_loss, n_iter, evaluations, parameters, solver, memory, alpha_chosen,
    numeric_columns, lost_columns (those of them without a cut, whose values are all one level), lost_names (the first
    three), train_seconds, classify_seconds; alpha_1, ... if each order has an alpha, order_chosen and keep_chosen if
    order="auto", discretize_chosen if discretize="auto"; and the bins of `measures.reliability` as lists, which results
    have and frames do not. Figures that a family lacks are None or NaN.
    """
    predicted_fold = predict_fold(task, table, stop)
    row = {
        "train_rows": len(predicted_fold.fold.splits.train),
        "test_rows": len(predicted_fold.fold.splits.test),
        **_losses(predicted_fold.log_p, table, predicted_fold.fold.splits.test),
        **_fit_columns(predicted_fold.estimator),
        **_cut_columns(predicted_fold.fold),
        "train_seconds": predicted_fold.train_seconds,
        "classify_seconds": predicted_fold.classify_seconds,
    }
    return Result([row], pack(predicted_fold.predicted), str(row["outcome"]))


@dataclass(frozen=True, eq=False)
class PredictedFold:
    """Recipe fitted to training rows of a split, and log p (n, C) and `predicted` indices (n,) of test rows."""

    fold: PreparedFold
    estimator: RecipeClassifier
    log_p: Floats
    predicted: NDArray[np.integer]
    train_seconds: float
    classify_seconds: float


def predict_fold(task: StudyTask, table: SentTable, stop: StopToken = NEVER) -> PredictedFold:
    """Fit the recipe of a task of kind "fold" and predict its test rows.

    Raises:
        RecipeError: if the recipe gives no probabilities.
    """
    recipe = Recipe.from_json(task.recipe).replace(seed=task.seed)
    warm(recipe, len(table.classes))
    prepared = cached_fold(table, task.split, recipe)
    estimator = make_estimator(recipe, n_jobs=1, max_memory=task.max_memory or None)
    if not hasattr(estimator, "predict_log_proba"):
        valid = 'objective="nll" or "mse"'
        raise RecipeError(f"{recipe.name} has scores but no probabilities, which a study needs; expected {valid}")
    train_seconds = prepared.fit(estimator, recipe, stop)
    X = table.X.iloc[prepared.splits.test]
    start_time = time.perf_counter()
    log_p = estimator.predict_log_proba(X)
    classify_seconds = time.perf_counter() - start_time
    class_indices = np.searchsorted(table.classes, estimator.classes_)
    predicted = class_indices[log_p.argmax(axis=1)]
    log_p = over_all_classes(log_p, class_indices, len(table.classes), prepared.n_train)
    return PredictedFold(prepared, estimator, log_p, predicted, train_seconds, classify_seconds)


def shares(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Evaluate the class shares of the training rows, the model of order 0: one row with the columns of `fold`."""
    splits = task.split.splits(table.y, table.splitting)
    train, test = splits.train, splits.test
    start_time = time.perf_counter()
    log_p = share_log_p(table.y[train], len(table.classes), len(test), table.weights_of(train))
    row = {
        "train_rows": len(train),
        "test_rows": len(test),
        **_losses(log_p, table, test),
        **_COUNTED_FIT,
        "parameters": len(table.classes),
        "train_seconds": time.perf_counter() - start_time,
        "classify_seconds": 0.0,
    }
    return Result([row], pack(log_p.argmax(axis=1)))


def _cut_columns(prepared: PreparedFold) -> Row:
    """Return the number of numeric columns of the training rows, and which of them have no cut."""
    encoder = prepared.prepared.encoder
    if encoder is None or encoder.discretize == "keep":
        return {}
    names = encoder.lost_
    return {"numeric_columns": len(encoder.numeric_), "lost_columns": len(names), "lost_names": ", ".join(names[:3])}


def _losses(log_p: Floats, table: SentTable, rows: NDArray[np.intp]) -> Row:
    y, weights = table.y[rows], table.weights_of(rows)
    bins = reliability(log_p, y, weight=weights)[["rows", "confidence", "accuracy"]]
    return {**measures(log_p, y, weights).__dict__, RELIABILITY: bins.to_dict("list")}


_COUNTED_FIT: Row = {
    "outcome": "converged", "sentence": "counted", "n_iter": 0, "evaluations": 0, "train_log_loss": float("nan"),
    "parameters": None, "solver": "none", "memory": 0, "alpha_chosen": float("nan"),
}  # fmt: skip


def _fit_columns(estimator: RecipeClassifier) -> Row:
    """Return how a fit went: outcome, iterations, solver and the settings it chose."""
    row = dict(_COUNTED_FIT)
    outcome, trace = getattr(estimator, "outcome_", None), getattr(estimator, "trace_", None)
    if outcome is not None:
        row |= {"outcome": outcome.code, "sentence": outcome.sentence, "n_iter": int(estimator.n_iter_)}
    if trace is not None and len(trace):
        row |= {"evaluations": int(trace[-1].evaluations), "train_log_loss": float(trace[-1].nll / trace.rows)}
    choice = getattr(estimator, "choice_", None)
    if choice is not None:
        row |= {"solver": choice.solver, "memory": int(choice.memory)}
    alpha = getattr(estimator, "alpha_", getattr(estimator, "alpha", None))
    row["alpha_chosen"] = float(alpha) if isinstance(alpha, float | int) else float("nan")
    if isinstance(alpha, tuple):  # one for each order
        row |= {f"alpha_{order}": float(value) for order, value in enumerate(alpha, 1)}
    if getattr(estimator, "discretize", None) == "auto":
        row["discretize_chosen"] = estimator.recipe_.discretize
    if getattr(estimator, "order", None) == "auto":
        params = estimator.recipe_.params
        row |= {f"{name}_chosen": params[name] for name in ("order", "keep") if name in params}
    phi = getattr(estimator, "phi_", None)
    if phi is not None:  # one value per class for each cell and for the intercept
        row["parameters"] = int((len(phi) + 1) * phi.shape[1])
    return row


COMPUTE: Mapping[str, Callable[[StudyTask, SentTable, StopToken], Result]] = MappingProxyType(
    {"fold": fold, "shares": shares, "path": path, "prequential": prequential, "effects": effects}
)
