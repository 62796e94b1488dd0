"""What a task computes: one function a task, from a table to rows. The same numbers wherever it is called."""

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

from alrviz.errors import AlrvizError, MemoryLimitError, RecipeError, Stopped
from alrviz.estimators.make import make_estimator
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.fitting.recipe import Recipe
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.alpha_path_task import path
from alrviz.studies.core.effects_task import effects
from alrviz.studies.core.fold_cache import FoldCache, cached_fold, warm
from alrviz.studies.core.learning_curve_task import prequential
from alrviz.studies.core.study_task import RELIABILITY, Result, Row, StudyTask, failure, pack
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.statistics.align_probabilities import over_all_classes, share_log_p
from alrviz.studies.statistics.measures import measures, reliability

_log = logging.getLogger(__name__)

# What a table or a recipe can be to blame for; the task says it and the study goes on.
_EXPECTED = (AlrvizError, ValueError, MemoryLimitError, np.linalg.LinAlgError)


def compute(task: StudyTask, table: SentTable, stop: StopToken = NEVER) -> Result:
    """Return what comes of a task; an error becomes its outcome. Once `stop` is pulled it ends with the step it is at.

    What follows from recipe and table fails for good; no memory, a stop and an error of alrviz's own are passing.
    """
    try:
        with _ONE_THREAD.held():
            return COMPUTE[task.kind](task, table, stop)
    except Stopped as error:
        return failure(str(error), passing=True)
    except _EXPECTED as error:
        return failure(str(error) or type(error).__name__)
    except MemoryError as error:
        return failure(str(error) or "there was no memory left; it can be computed again", passing=True)
    except Exception as error:
        _log.exception("a task failed")
        return failure(f"an error in alrviz itself: {type(error).__name__}: {error}", passing=True)


class _OneThread:
    """One thread for BLAS and OpenMP while any task is computed in this process.

    BLAS has one limit for the process: the first in sets it and the last out restores it. Each on its own,
    overlapping, would restore what another had set, for good. OpenMP has a limit for each thread.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limits: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the limit."""
        with self._lock:
            if not self._inside:
                self._limits = threadpool_limits(1, user_api="blas")
            self._inside += 1
        try:
            with threadpool_limits(1, user_api="openmp"):
                yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._limits.restore_original_limits()


_ONE_THREAD = _OneThread()


def fold(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Fit a recipe on the training rows of a split and judge it on the others: one row.

    Columns: train_rows, test_rows, outcome, sentence, log_loss, error, rmse, brier, ece, balanced_error,
    average_precision_loss, train_log_loss, n_iter, evaluations, parameters, solver, memory, alpha_chosen,
    numeric_columns, lost_columns (those of them that no cut divides: all values are one level), lost_names (the first
    three), train_seconds, classify_seconds; alpha_1, ... where there is one for each order, order_chosen and
    keep_chosen where order="auto", discretize_chosen where discretize="auto"; and the bins of `measures.reliability`
    as lists, which are in results and not in frames. What a family has not is None or NaN.
    """
    made = predict_fold(task, table, stop)
    row = {
        "train_rows": len(made.fold.splits.train),
        "test_rows": len(made.fold.splits.test),
        **_losses(made.log_p, table, made.fold.splits.test),
        **_ended(made.estimator),
        **_cut(made.fold),
        "train_seconds": made.train_seconds,
        "classify_seconds": made.classify_seconds,
    }
    return Result([row], pack(made.predicted), str(row["outcome"]))


@dataclass(frozen=True, eq=False)
class PredictedFold:
    """A recipe fitted on the training rows of a split, and what it says of the others: log p (n, C), classes (n,)."""

    fold: FoldCache
    estimator: RecipeClassifier
    log_p: Floats
    predicted: NDArray[np.integer]
    train_seconds: float
    classify_seconds: float


def predict_fold(task: StudyTask, table: SentTable, stop: StopToken = NEVER) -> PredictedFold:
    """Fit the recipe of a task of kind "fold" and predict the rows that it holds out.

    Raises:
        RecipeError: a recipe without probabilities.
    """
    recipe = Recipe.from_json(task.recipe).replace(seed=task.seed)
    warm(recipe, len(table.classes))
    made = cached_fold(table, task.split, recipe)
    estimator = make_estimator(recipe, n_jobs=1, max_memory=task.max_memory or None)
    if not hasattr(estimator, "predict_log_proba"):
        valid = 'objective="nll" or "mse"'
        raise RecipeError(f"{recipe.name} has scores and no probabilities, which a study judges; expected {valid}")
    train_seconds = made.fit(estimator, recipe, stop)
    X = table.X.iloc[made.splits.test]
    start = time.perf_counter()
    log_p = estimator.predict_log_proba(X)
    classify_seconds = time.perf_counter() - start
    known = np.searchsorted(table.classes, estimator.classes_)
    whole = over_all_classes(log_p, known, len(table.classes), made.n_train)
    return PredictedFold(made, estimator, whole, known[log_p.argmax(axis=1)], train_seconds, classify_seconds)


def shares(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Judge the class prior of the training rows, the model of order 0: one row as `fold` has it."""
    splits = task.split.splits(table.y, table.splitting)
    train, test = splits.train, splits.test
    start = time.perf_counter()
    log_p = share_log_p(table.y[train], len(table.classes), len(test), table.weights_of(train))
    row = {
        "train_rows": len(train),
        "test_rows": len(test),
        **_losses(log_p, table, test),
        **_NOTHING,
        "parameters": len(table.classes),
        "train_seconds": time.perf_counter() - start,
        "classify_seconds": 0.0,
    }
    return Result([row], pack(log_p.argmax(axis=1)))


def _cut(made: FoldCache) -> Row:
    """How many numeric columns the training rows have, how many of them no cut divides, and the first of those."""
    encoder = made.prepared.encoder
    if encoder is None or encoder.discretize == "keep":
        return {}
    lost = encoder.lost_
    return {"numeric_columns": len(encoder.numeric_), "lost_columns": len(lost), "lost_names": ", ".join(lost[:3])}


def _losses(log_p: Floats, table: SentTable, rows: NDArray[np.intp]) -> Row:
    y, weights = table.y[rows], table.weights_of(rows)
    bins = reliability(log_p, y, weight=weights)[["rows", "confidence", "accuracy"]]
    return {**measures(log_p, y, weights).__dict__, RELIABILITY: bins.to_dict("list")}


_NOTHING: Row = {
    "outcome": "converged", "sentence": "counted", "n_iter": 0, "evaluations": 0, "train_log_loss": float("nan"),
    "parameters": None, "solver": "none", "memory": 0, "alpha_chosen": float("nan"),
}  # fmt: skip


def _ended(estimator: RecipeClassifier) -> Row:
    """What is to be told of a fit."""
    row = dict(_NOTHING)
    outcome, trace = getattr(estimator, "outcome_", None), getattr(estimator, "trace_", None)
    if outcome is not None:
        row |= {"outcome": outcome.code, "sentence": outcome.sentence, "n_iter": int(estimator.n_iter_)}
    if trace is not None and len(trace):
        row |= {"evaluations": int(trace[-1].evaluations), "train_log_loss": float(trace[-1].nll / trace.rows)}
    choice = getattr(estimator, "choice_", None)
    if choice is not None:
        row |= {"solver": choice.solver, "memory": int(choice.memory)}
    chosen = getattr(estimator, "alpha_", getattr(estimator, "alpha", None))
    row["alpha_chosen"] = float(chosen) if isinstance(chosen, float | int) else float("nan")
    if isinstance(chosen, tuple):  # one for each order
        row |= {f"alpha_{order}": float(alpha) for order, alpha in enumerate(chosen, 1)}
    if getattr(estimator, "discretize", None) == "auto":
        row["discretize_chosen"] = estimator.recipe_.discretize
    if getattr(estimator, "order", None) == "auto":
        fitted = estimator.recipe_.params
        row |= {f"{name}_chosen": fitted[name] for name in ("order", "keep") if name in fitted}
    row["parameters"] = _parameters(estimator)
    return row


def _parameters(estimator: RecipeClassifier) -> int | None:
    """Numbers that the model has: of each class, for each cell that occurs and its own; None where nobody counted."""
    phi = getattr(estimator, "phi_", None)
    return None if phi is None else int((len(phi) + 1) * phi.shape[1])


COMPUTE: Mapping[str, Callable[[StudyTask, SentTable, StopToken], Result]] = MappingProxyType(
    {"fold": fold, "shares": shares, "path": path, "prequential": prequential, "effects": effects}
)
