"""Evaluate a classifier on rows whose class is known.

Use rows that the model has not learned from, which would flatter it: give it new rows, or let `out_of_fold` predict
every row of a table by a model that was fitted without it.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from alrviz.data.dataset import Dataset
from alrviz.data.splits import ROW_WORDS, Splits, split_table
from alrviz.data.stream.table import Stream
from alrviz.data.target import class_codes
from alrviz.errors import AlrvizError, RecipeError, TableError, nearest, plural
from alrviz.estimators.make import estimator_of
from alrviz.estimators.model_file import load_model
from alrviz.estimators.predict_table import predict_with_notes
from alrviz.fitting.runs.run import Run
from alrviz.models.linear import log_softmax
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.compute_task import predict_fold
from alrviz.studies.core.study import Study
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.statistics.align_probabilities import over_all_classes
from alrviz.studies.statistics.evaluation import Evaluation

MAX_STREAM_ROWS = 500_000  # of a table read in batches; AUC sorts them for each class, which takes seconds
UNSEEN = "(not seen in training)"


def evaluate(
    model: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None, rows_text: str = "rows"
) -> Evaluation:
    """Evaluate a fitted classifier on rows whose class is known.

    Args:
        model: a classifier with `predict_proba`, of this package or of scikit-learn; the path of a model written by
            `save_model`; or a `Run`, evaluated on its test rows (of a table read in batches on at most 500,000 of them,
            whose columns are the levels they were encoded as).
        X: rows as the model takes them (N, columns), or a `Dataset`; or a file, parsed like the model's own table. None
            for a run.
        y: the class of each row (N,); or the name of its column in X; None for the classes of a data set.
        sample_weight: (N,) row weights; or the name of their column in a file; None for the weights of a data set.
        rows_text: description of the rows for sentences: "test rows".

    Raises:
        TableError: if classes are missing or of another number than the rows, no row has a class, or a column is
            absent.
        AlrvizError: if the model has no probabilities or is not fitted.

    Rows without a class are left out. A class that the model has not learned has probability 1 / (C (N + 1)). `notes`
    says how many rows either concerns.

    >>> import alrviz
    >>> data = alrviz.load_demo("tic-tac-toe")
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    >>> round(alrviz.evaluate(model, data).summary()["auc"], 3)
    0.769
    """
    if isinstance(model, (str, os.PathLike)):
        model = load_model(model)
    if X is None:
        if isinstance(model, Run):
            return _evaluate_run(model)
        raise TableError("there are no rows to evaluate on; expected X and y, or a data set")
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if not hasattr(model, "predict_proba"):
        raise AlrvizError(_without_probabilities(model))
    if isinstance(X, Dataset):
        sample_weight = X.weights if sample_weight is None else sample_weight
        X, y = _rows_and_class(X, y)
    if isinstance(y, str):
        return evaluate_predictions(*predict_with_notes(model, X, keep="all"), y, sample_weight, rows_text)
    if y is None:
        raise TableError("the rows have no class to compare with; expected y, or the name of its column")
    with np.errstate(divide="ignore"):  # a random forest may give probability 0
        log_p = model.predict_log_proba(X) if hasattr(model, "predict_log_proba") else np.log(model.predict_proba(X))
    rows = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
    return evaluation_of(log_p, model.classes_, y, rows, sample_weight, rows_text)


def _rows_and_class(dataset: Dataset, y: Any) -> tuple[pd.DataFrame, Any]:
    """Return the rows of a data set and their class; `y` names another column than its own, or holds the classes."""
    if y is None:
        return dataset.X, dataset.y
    if not isinstance(y, str):
        return dataset.X, y
    if y in dataset.X.columns:
        raise TableError(f"{y!r} is a column that the model uses; expected the column of the class, {dataset.target!r}")
    return dataset.X.join(dataset.frame[[y]]), y


def _without_probabilities(model: Any) -> str:
    name = "the model" if model is None else type(model).__name__
    may_be_hinge = model is None or getattr(model, "objective", "") == "hinge"
    valid = 'objective="nll" or "mse"' if may_be_hinge else "a classifier with predict_proba"
    return f"{name} has scores but no probabilities; expected {valid}"


def _evaluate_run(run: Run) -> Evaluation:
    """Evaluate a run on its test rows or, without any, on its training rows."""
    if isinstance(run.dataset, Stream):
        return _evaluate_stream(run, run.dataset.name)
    if run.dataset is None:
        raise RecipeError("the run is on encoded rows, not on a table; expected rows to evaluate on, as X and y")
    splits = split_table(run.dataset, run.recipe.holdout, run.recipe.seed)
    return evaluate_split(estimator_of(run), run.dataset, splits)


def _evaluate_stream(run: Run, table_name: str) -> Evaluation:
    """Evaluate a run on a table read in batches, whose rows are cached as codes in random order: the first rows are a
    random sample.
    """
    model, coded = estimator_of(run), run.coded
    assert coded is not None
    if not hasattr(model, "predict_proba"):
        raise AlrvizError(_without_probabilities(model))
    judging_part = "test" if coded.cache.n_rows("test") else "train"
    row_words = ROW_WORDS[judging_part]
    sample = coded.first_rows(judging_part, MAX_STREAM_ROWS)
    codes, y = sample.codes, sample.y.astype(np.intp)
    columns = {}
    for column, column_codes in zip(coded.encoder.columns_, codes, strict=True):
        # A level may have the same name as the extra one for unseen levels; categories must be distinct.
        category_codes, names = pd.factorize(np.array([*column.labels, UNSEEN], dtype=object))
        is_ordered = column.kind != "categorical"
        columns[str(column.name)] = pd.Categorical.from_codes(category_codes[column_codes], names, ordered=is_ordered)
    rows, n_rows = pd.DataFrame(columns), coded.cache.n_rows(judging_part)
    notes = (f"evaluated on {len(y):,} of {n_rows:,} {row_words}, drawn at random",) if len(y) < n_rows else ()
    log_p = log_softmax(model.model_.scores(codes))
    return Evaluation(tuple(map(str, coded.classes)), log_p, y, rows, None, f"{row_words} of {table_name}", notes)


def evaluate_predictions(
    table: pd.DataFrame, notes: Sequence[str], target: str, sample_weight: Any = None, rows_text: str = "rows"
) -> Evaluation:
    """Evaluate the table that `predict_table` returns if the column of the class is kept in it.

    notes: sentences on how the rows were read. target: the class column. sample_weight: (N,) row weights, or the name
    of their column. rows_text: the rows in words, for texts.

    Raises:
        TableError: if it is not kept, or the model has no probabilities.
    """
    target = f"{target} (given)" if target in ("row", "prediction", "unseen") else target
    prediction_index = list(table.columns).index("prediction")
    probability_columns = list(table.columns[prediction_index + 1 : -1])
    if not probability_columns or not probability_columns[0].startswith("p("):
        raise TableError(_without_probabilities(None))
    if target not in table.columns[1:prediction_index]:
        raise TableError(f"the rows have no column {target!r}; expected it to hold the class to compare with")
    rows = table[table.columns[1:prediction_index]].drop(columns=target).set_axis(table["row"])
    if isinstance(sample_weight, str):
        if sample_weight not in rows:
            raise TableError(f"no column is called {sample_weight!r}{nearest(sample_weight, rows)}; expected the "
                             "column of the row weights")  # fmt: skip
        sample_weight = pd.to_numeric(rows.pop(sample_weight), errors="coerce")
    with np.errstate(divide="ignore"):
        log_p = np.log(table[probability_columns].to_numpy())
        classes = [name[2:-1] for name in probability_columns]
        return evaluation_of(log_p, classes, table[target], rows, sample_weight, rows_text, tuple(notes))


def evaluation_of(
    log_p: NDArray[np.float64],
    classes: Sequence[Any] | NDArray[Any],
    y: Any,
    X: pd.DataFrame,
    sample_weight: Any = None,
    rows_text: str = "rows",
    notes: tuple[str, ...] = (),
) -> Evaluation:
    """Return the evaluation of log probabilities (N, C) of classes (C,) for labels y (N,), matched as text.

    Rows without a class and rows of a class that the model has not learned are left out, with a note. X: the rows'
    columns, for groups. sample_weight: (N,), None if each row counts once. rows_text: the rows in words, for texts.

    Raises:
        TableError: if the numbers of labels and rows differ, or weights are invalid.
    """
    codes, has_class, unlearned = class_codes(y, classes)
    if len(codes) != len(log_p):
        raise TableError(f"X has {len(log_p):,} rows and y {len(codes):,}; expected a class for each row")
    if np.isnan(log_p).any():
        raise TableError(f"the model's probabilities of {int(np.isnan(log_p).any(axis=1).sum()):,} rows are NaN")
    names = [str(label) for label in classes]
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight is not None and (weight.shape != codes.shape or not np.isfinite(weight).all() or (weight < 0).any()):
        raise TableError(f"sample_weight does not fit; expected {len(codes):,} finite numbers >= 0")
    if n_left_out := int((~has_class).sum()):
        notes += (f"{plural(n_left_out, 'row has no class and is', 'rows have no class and are')} left out",)
    if unlearned:
        n_unlearned_rows = int((has_class & (codes < 0)).sum())
        shown_text = ", ".join(map(repr, unlearned[:3])) + (" ..." if len(unlearned) > 3 else "")
        unlearned_text = plural(n_unlearned_rows, "row is", "rows are")
        notes += (f"{unlearned_text} of a class that the model has not learned: {shown_text}",)
        codes = np.where(codes < 0, len(names) + class_codes(y, unlearned)[0], codes)
    n_classes = len(names) + len(unlearned)
    log_p = over_all_classes(np.asarray(log_p, dtype=float), np.arange(len(names)), n_classes, len(codes))
    is_used = has_class if weight is None else has_class & (weight > 0)
    return Evaluation(
        (*names, *unlearned), log_p[is_used], codes[is_used].astype(np.intp), X.iloc[np.flatnonzero(is_used)],
        None if weight is None else weight[is_used], rows_text, notes,
    )  # fmt: skip


def evaluate_split(model: Any, dataset: Dataset, splits: Splits) -> Evaluation:
    """Evaluate a fitted classifier on the test rows of a data set; without test rows, on the training rows."""
    judging_part = splits.judging_part
    rows = splits.test if judging_part == "test" else splits.train
    weights = None if dataset.weights is None else dataset.weights[rows]
    rows_text = f"{ROW_WORDS[judging_part]} of {dataset.name}"
    return evaluate(model, dataset.X.iloc[rows], dataset.y[rows], sample_weight=weights, rows_text=rows_text)


def out_of_fold(
    study: Study,
    racer: int,
    data_hash: str | None = None,
    *,
    stop: StopToken = NEVER,
    tell: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Evaluate a recipe of a study: predict each fold of the first shuffle by the model of the other folds.

    The models are fitted again (identically), as a study stores no probabilities.

    Args:
        study: a study of folds: `choose_order`, `compare` or `bias_variance`.
        racer: index of the recipe in the study.
        data_hash: hash of the data set to evaluate on; None if the study has only one.
        stop: stops the fits from another thread. tell: called with a sentence on the progress.

    Raises:
        RecipeError: if the study has no folds of this recipe.
    """
    dataset = study.dataset if data_hash is None else study.datasets[data_hash]
    first_shuffle_tasks = [
        task for task in study.tasks
        if (task.kind, task.racer, task.data_hash, task.split.repeat) == ("fold", racer, dataset.hash, 0)
    ]  # fmt: skip
    if not first_shuffle_tasks:
        raise RecipeError(f"the study has no folds of recipe {racer}; expected one from 0 to {len(study.recipes) - 1}")
    sent_table, predicted_folds = SentTable.from_dataset(dataset), []
    for k, task in enumerate(first_shuffle_tasks):
        stop.check()
        tell(f"fold {k + 1} of {len(first_shuffle_tasks)}")
        predicted_folds.append(predict_fold(task, sent_table, stop))
    rows = np.concatenate([predicted_fold.fold.splits.test for predicted_fold in predicted_folds])
    order = np.argsort(rows, kind="stable")
    rows, log_p = rows[order], np.concatenate([predicted_fold.log_p for predicted_fold in predicted_folds])[order]
    rows_text = f"left-out rows of {dataset.name} ({len(first_shuffle_tasks)} folds)"
    return Evaluation(
        tuple(map(str, sent_table.classes)), log_p, sent_table.y[rows].astype(np.intp), dataset.X.iloc[rows],
        sent_table.weights_of(rows), rows_text,
    )  # fmt: skip
