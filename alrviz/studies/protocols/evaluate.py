"""How good is a model? It is asked about rows whose class is known; the answer is an `Evaluation`.

Rows that a model has learned from flatter it: give it rows it has not seen, or let `out_of_fold` predict every row of a
table by a model that was fitted without it.
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
from alrviz.models.linear import log_softmax
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.compute_task import predict_fold
from alrviz.studies.core.study import Study
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.statistics.align_probabilities import over_all_classes
from alrviz.studies.statistics.evaluation import Evaluation

MOST = 500_000  # rows of a table read in batches: more are sorted for each class in seconds
UNSEEN = "(not seen in training)"


def evaluate(model: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None, what: str = "rows") -> Evaluation:
    """Return how good a fitted classifier is on rows whose class is known.

    Args:
        model: a classifier with `predict_proba`, of this package or of scikit-learn; the path of a model of
            `save_model`; or a `Run`, which is judged on its test rows: of a table read in batches on
            500,000 of them at most, whose columns are the levels that they were coded as.
        X: rows as the model takes them (N, columns), or a `Dataset`; or a file, which is read as the model's table was.
            None for a run.
        y: the class of each row (N,); the name of the column of X that has it; None for that of a data set.
        sample_weight: (N,), how often each row counts; the name of the column of a file that says it; None for the
            weights of a data set.
        what: which rows these are, for sentences: "test rows".

    Raises:
        TableError: no classes, or not as many as rows; no row has a class; a column that is not there.
        AlrvizError: a model without probabilities, or that is not fitted.

    Rows without a class are left out, and a class that the model has not learned is judged as one of probability
    1 / (C (N + 1)); `notes` says of both how many.

    >>> import alrviz
    >>> data = alrviz.load_demo("tic-tac-toe")
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    >>> round(alrviz.evaluate(model, data).summary()["auc"], 3)
    0.769
    """
    if isinstance(model, (str, os.PathLike)):
        model = load_model(model)
    if hasattr(model, "trace") and X is None:
        if isinstance(model.dataset, Stream):
            return _of_batches(model)
        if not isinstance(model.dataset, Dataset):
            raise RecipeError("the run is of encoded rows, no table; expected rows to evaluate on, as X and y")
        splits = split_table(model.dataset, model.recipe.holdout, model.recipe.seed)
        return evaluate_split(estimator_of(model), model.dataset, splits)
    if X is None:
        raise TableError("there are no rows to evaluate on; expected X and y, or a data set")
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if not hasattr(model, "predict_proba"):
        raise AlrvizError(_without_probabilities(model))
    if isinstance(X, Dataset):
        sample_weight = X.weights if sample_weight is None else sample_weight
        if isinstance(y, str) and y in X.X.columns:
            raise TableError(f"{y!r} is a column that the model sees; expected that of the class, {X.target!r}")
        X, y = (X.X, X.y) if y is None else (X.X.join(X.frame[[y]]), y) if isinstance(y, str) else (X.X, y)
    if isinstance(y, str):
        return of_predictions(*predict_with_notes(model, X, keep="all"), y, sample_weight, what)
    if y is None:
        raise TableError("the rows have no class to compare with; expected y, or the name of its column")
    with np.errstate(divide="ignore"):  # the logarithm of a forest's 0
        log_p = model.predict_log_proba(X) if hasattr(model, "predict_log_proba") else np.log(model.predict_proba(X))
    rows = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
    return evaluation_of(log_p, model.classes_, y, rows, sample_weight, what)


def _without_probabilities(model: Any) -> str:
    name = "the model" if model is None else type(model).__name__
    hinge = model is None or getattr(model, "objective", "") == "hinge"
    valid = 'objective="nll" or "mse"' if hinge else "a classifier with predict_proba"
    return f"{name} has scores and no probabilities, which an evaluation judges; expected {valid}"


def _of_batches(run: Any) -> Evaluation:
    """Return how good a run on a table read in batches is on its test rows; without test rows, on those
    it learned from. Both are kept as codes, in an order drawn at random.
    """
    model, coded = estimator_of(run), run.coded
    if not hasattr(model, "predict_proba"):
        raise AlrvizError(_without_probabilities(model))
    part = "test" if coded.cache.n_rows("test") else "train"
    what = ROW_WORDS[part]
    some = coded.some_rows(part, MOST)
    codes, y = some.codes, some.y.astype(np.intp)
    columns = {}
    for own, its in zip(coded.encoder.columns_, codes, strict=True):
        places, names = pd.factorize(np.array([*own.labels, UNSEEN], dtype=object))  # a level may be called like a gap
        columns[str(own.name)] = pd.Categorical.from_codes(places[its], names, ordered=own.kind != "categorical")
    rows, every = pd.DataFrame(columns), coded.cache.n_rows(part)
    notes = (f"{len(y):,} of {every:,} {what} are judged, drawn at random",) if len(y) < every else ()
    log_p = log_softmax(model.model_.scores(codes))
    return Evaluation(tuple(map(str, coded.classes)), log_p, y, rows, None, f"{what} of {run.dataset.name}", notes)


def of_predictions(
    found: pd.DataFrame, notes: Sequence[str], target: str, sample_weight: Any = None, what: str = "rows"
) -> Evaluation:
    """Return the evaluation of what `predict_table` gives where the column with the class was kept.

    Raises:
        TableError: it was not, or the model has no probabilities.
    """
    target = f"{target} (given)" if target in ("row", "prediction", "unseen") else target
    predicted = list(found.columns).index("prediction")
    given = list(found.columns[predicted + 1 : -1])
    if not given or not given[0].startswith("p("):
        raise TableError(_without_probabilities(None))
    if target not in found.columns[1:predicted]:
        raise TableError(f"the rows have no column {target!r}; their class was expected in it, to compare with")
    rows = found[found.columns[1:predicted]].drop(columns=target).set_axis(found["row"])
    if isinstance(sample_weight, str):
        if sample_weight not in rows:
            raise TableError(f"no column is called {sample_weight!r}{nearest(sample_weight, rows)}; expected the one "
                             "that says how often each row counts")  # fmt: skip
        sample_weight = pd.to_numeric(rows.pop(sample_weight), errors="coerce")
    with np.errstate(divide="ignore"):
        log_p = np.log(found[given].to_numpy())
    classes = [name[2:-1] for name in given]
    return evaluation_of(log_p, classes, found[target], rows, sample_weight, what, tuple(notes))


def evaluation_of(
    log_p: NDArray[np.float64],
    classes: Sequence[Any] | NDArray[Any],
    y: Any,
    X: pd.DataFrame,
    sample_weight: Any = None,
    what: str = "rows",
    notes: tuple[str, ...] = (),
) -> Evaluation:
    """Return the evaluation of log probabilities (N, C) of classes (C,) beside labels y (N,), matched by their text.

    Raises:
        TableError: not as many labels as rows, or weights that are none.
    """
    codes, there, strange = class_codes(y, classes)
    if len(codes) != len(log_p):
        raise TableError(f"X has {len(log_p):,} rows and y {len(codes):,}; a class for each row was expected")
    if np.isnan(log_p).any():
        raise TableError(f"the model's probabilities of {int(np.isnan(log_p).any(axis=1).sum()):,} rows are no numbers")
    names = [str(label) for label in classes]
    weight = None if sample_weight is None else _check_weights(sample_weight, len(codes))
    if lost := int((~there).sum()):
        notes += (f"{plural(lost, 'row has no class and is', 'rows have no class and are')} left out",)
    if strange:
        count = int((there & (codes < 0)).sum())
        shown = ", ".join(map(repr, strange[:3])) + (" ..." if len(strange) > 3 else "")
        rows = plural(count, "row is", "rows are")
        notes += (f"{rows} of a class that the model has not learned: {shown}",)
        codes = np.where(codes < 0, len(names) + class_codes(y, strange)[0], codes)
    n = len(names) + len(strange)
    whole = over_all_classes(np.asarray(log_p, dtype=float), np.arange(len(names)), n, len(codes))
    kept = there if weight is None else there & (weight > 0)
    return Evaluation(
        (*names, *strange), whole[kept], codes[kept].astype(np.intp), X.iloc[np.flatnonzero(kept)],
        None if weight is None else weight[kept], what, notes,
    )  # fmt: skip


def _check_weights(sample_weight: Any, rows: int) -> NDArray[np.float64]:
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != (rows,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise TableError(f"sample_weight does not fit; expected {rows:,} finite numbers, none below 0")
    return weight


def evaluate_split(model: Any, dataset: Dataset, splits: Splits) -> Evaluation:
    """Return how good a classifier is on the test rows of a data set; without test rows, on the training rows."""
    part = splits.judging_part
    rows = splits.test if part == "test" else splits.train
    weights = None if dataset.weights is None else dataset.weights[rows]
    what = f"{ROW_WORDS[part]} of {dataset.name}"
    return evaluate(model, dataset.X.iloc[rows], dataset.y[rows], sample_weight=weights, what=what)


def out_of_fold(
    study: Study,
    racer: int,
    data_hash: str | None = None,
    *,
    stop: StopToken = NEVER,
    tell: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Return how good a recipe of a study is: its models of the folds of the first shuffle, each on the rows left out.

    They are fitted anew, since a study keeps no probabilities, to the same models.

    Args:
        study: of folds: of `choose_order`, `compare` or `bias_variance`.
        racer: the place of the recipe among the study's.
        data_hash: which table; None for the only one.
        stop: ends it from another thread. tell: called with what it is at.

    Raises:
        RecipeError: the study has no folds of such a recipe.
    """
    dataset = study.dataset if data_hash is None else study.datasets[data_hash]
    first = [
        task for task in study.tasks
        if (task.kind, task.racer, task.data_hash, task.split.repeat) == ("fold", racer, dataset.hash, 0)
    ]  # fmt: skip
    if not first:
        raise RecipeError(f"the study has no folds of recipe {racer}; expected one from 0 to {len(study.recipes) - 1}")
    table, parts = SentTable.of(dataset), []
    for k, task in enumerate(first):
        stop.check()
        tell(f"fold {k + 1} of {len(first)}")
        parts.append(predict_fold(task, table, stop))
    rows = np.concatenate([part.fold.splits.test for part in parts])
    order = np.argsort(rows, kind="stable")
    rows, log_p = rows[order], np.concatenate([part.log_p for part in parts])[order]
    what = f"left-out rows of {dataset.name} ({len(first)} folds)"
    return Evaluation(
        tuple(map(str, table.classes)), log_p, table.y[rows].astype(np.intp), dataset.X.iloc[rows],
        table.weights_of(rows), what,
    )  # fmt: skip
