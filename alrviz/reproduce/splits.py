"""The protocol of [DLR]: random 70/30 splits, every method on each, a row of figures a split and method.

Columns are standardised by the training rows. A method with settings chooses them by accuracy on 20 % of the training
rows, drawn by class, after learning from the other 80 %; then it is fitted on all training rows with what was chosen.
The paper is silent on that last fit, and on whether its times hold the choice: ours are told apart.

    train_ms      the last fit (of dlr-h and dlr by "validation" their own choice of bandwidths is part of it)
    choose_ms     the choice of settings before it
    classify_ms   scores of the test rows
"""

import json
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ParameterGrid, ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from alrviz.errors import AlrvizError
from alrviz.reproduce.kept import Progress, Row, Step, kept_rows
from alrviz.reproduce.methods import METHODS, Grid
from alrviz.reproduce.sets import BenchmarkSet
from alrviz.reproduce.settings import Settings

TEST_SHARE, CHOICE_SHARE = 0.3, 0.2


def split_rows(sets: Sequence[BenchmarkSet], methods: Sequence[str], settings: Settings, splits: int) -> Progress:
    """Yield (what was done, its rows) a split of a set, in order, as they finish; each is kept.

    The first k splits are the same whatever `splits` is. A set that is missing yields one row whose "missing" says
    where to get it. Each of `settings.jobs` processes computes with one thread.
    """
    for one in sets:
        if one.missing(settings.folder):
            advice = one.advice(settings.folder)
            yield f"{one.name}: no data", [{"set": one.name, "paper_set": one.paper, "missing": advice}]
            continue
        dataset = one.read(settings.folder)
        drawn = ShuffleSplit(splits, test_size=TEST_SHARE, random_state=0).split(dataset.X)
        about = {"set": one.name, "paper_set": one.paper, "rows": dataset.n_rows}
        steps = [
            Step(
                f"{one.name}: split {k + 1} of {splits}", ["split", k, list(methods)], measured,
                (dataset.X, dataset.y, methods, train, test, k), dataset.hash,
            )
            for k, (train, test) in enumerate(drawn)
        ]  # fmt: skip
        for said, rows in kept_rows(f"splits of {one.name}", steps, settings):
            yield said, [about | row for row in rows]


def measured(
    X: pd.DataFrame, y: np.ndarray, methods: Sequence[str], train: np.ndarray, test: np.ndarray, split: int
) -> list[Row]:
    """Return the figures of every method on one split."""
    with threadpool_limits(1):
        return [{"method": name, "split": split, **_figures(name, X, y, train, test, split)} for name in methods]


def _figures(name: str, X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray, split: int) -> Row:
    method = METHODS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            start = time.perf_counter()
            model = method.build()
            settings = choose(model, method.grid, X.iloc[train], y[train], split) if method.grid else {}
            chosen = time.perf_counter()
            model.set_params(**settings).fit(X.iloc[train], y[train])
            trained = time.perf_counter()
            scores = scores_of(model, X.iloc[test])
            classified = time.perf_counter()
            predicted = model.predict(X.iloc[test])
        except (AlrvizError, ValueError, np.linalg.LinAlgError) as error:
            return {"failed": f"{type(error).__name__}: {error}"}
    truth = y[test]
    return {
        "accuracy": 100.0 * float(np.mean(predicted == truth)),
        "auc": auc(truth, scores, model.classes_),
        "train_ms": 1e3 * (trained - chosen),
        "choose_ms": 1e3 * (chosen - start),
        "classify_ms": 1e3 * (classified - trained),
        "settings": json.dumps(settings, sort_keys=True),
        "step_limit": any(issubclass(warning.category, ConvergenceWarning) for warning in caught),
    }


def scores_of(model: Any, X: pd.DataFrame) -> np.ndarray:
    """Return what ranks the rows: the decision function, or the probabilities where there is none."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)


def auc(truth: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> float:
    """Return the area under the ROC curve of the second of two classes; NaN where a class does not occur."""
    positive = truth == classes[1]
    if positive.all() or not positive.any():
        return float("nan")
    return float(roc_auc_score(positive, scores if scores.ndim == 1 else scores[:, 1]))


def choose(model: Pipeline, grid: Grid, X: pd.DataFrame, y: np.ndarray, seed: int) -> Mapping[str, Any]:
    """Return the settings of `grid` with the best accuracy on a fifth of the rows; the first of equal ones.

    Steps before the last are fitted once for all settings of the last.
    """
    learn, held = next(StratifiedShuffleSplit(1, test_size=CHOICE_SHARE, random_state=seed).split(X, y))
    last = model.steps[-1][0]
    late = {name: values for name, values in grid.items() if name.startswith(f"{last}__")}
    early = {name: values for name, values in grid.items() if name not in late}
    best, chosen = -1.0, {}
    for outer in ParameterGrid(early):
        front = clone(model).set_params(**outer)[:-1]
        z, z_held = front.fit_transform(X.iloc[learn], y[learn]), front.transform(X.iloc[held])
        for inner in ParameterGrid(late):
            accuracy = clone(model).set_params(**inner)[-1].fit(z, y[learn]).score(z_held, y[held])
            if accuracy > best:
                best, chosen = accuracy, {**outer, **inner}
    return chosen
