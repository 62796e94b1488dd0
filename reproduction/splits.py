"""The protocol of [DLR]: random 70/30 splits, every method on each, a row of figures a split and method.

Columns are standardised by the training rows. A method with settings chooses them by accuracy on 20 % of the training
rows, drawn by class, after learning from the other 80 %; then it is fitted on all training rows with what was chosen.
The paper is silent on that last fit, and on whether its times hold the choice: ours are told apart.

    train_ms      the last fit (of dlr-h and dlr by "validation" their own choice of bandwidths is part of it)
    choose_ms     the choice of settings before it
    classify_ms   scores of the test rows

Of two classes, "positive" is the rarer one of the set. Its sensitivity, PPV, NPV and the share that is right
(`right`) are those at the lowest threshold with a specificity of at least SPECIFICITY on the test rows, the same for
every method, as in the paper's table 7.
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
from reproduction.kept import Progress, Row, Step, kept_rows
from reproduction.methods import ALL_METHODS, Grid
from reproduction.sets import BenchmarkSet
from reproduction.settings import Settings

TEST_SHARE, CHOICE_SHARE = 0.3, 0.2
SPECIFICITY = 0.95


def split_rows(sets: Sequence[BenchmarkSet], methods: Sequence[str], settings: Settings, splits: int) -> Progress:
    """Yield (what was done, its rows) a split of a set, in order, as they finish; each is kept.

    The first k splits are the same whatever `splits` is. A set that is missing yields one row whose "missing" says
    where to get it. Each of `settings.jobs` processes computes with one thread.
    """
    for entry in sets:
        if entry.missing(settings.folder):
            advice = entry.advice(settings.folder)
            yield f"{entry.name}: no data", [{"set": entry.name, "paper_set": entry.paper, "missing": advice}]
            continue
        dataset = entry.read(settings.folder)
        draws = ShuffleSplit(splits, test_size=TEST_SHARE, random_state=0).split(dataset.X)
        labels = {"set": entry.name, "paper_set": entry.paper, "rows": dataset.n_rows}
        steps = [
            Step(
                f"{entry.name}: split {k + 1} of {splits}", ["split", k, list(methods)], measure_split,
                (dataset.X, dataset.y, methods, train, test, k), dataset.hash,
            )
            for k, (train, test) in enumerate(draws)
        ]  # fmt: skip
        for label, rows in kept_rows(f"splits of {entry.name}", steps, settings):
            yield label, [labels | row for row in rows]


def measure_split(
    X: pd.DataFrame, y: np.ndarray, methods: Sequence[str], train: np.ndarray, test: np.ndarray, split: int
) -> list[Row]:
    """Return the figures of every method on one split."""
    with threadpool_limits(1):
        return [{"method": name, "split": split, **_figures(name, X, y, train, test, split)} for name in methods]


def _figures(name: str, X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray, split: int) -> Row:
    method = ALL_METHODS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            start = time.perf_counter()
            model = method.build()
            settings = choose(model, method.grid, X.iloc[train], y[train], split) if method.grid else {}
            choice_end = time.perf_counter()
            model.set_params(**settings).fit(X.iloc[train], y[train])
            trained = time.perf_counter()
            scores = scores_of(model, X.iloc[test])
            classified = time.perf_counter()
            predicted = model.predict(X.iloc[test])
            if method.by_class:
                scores = (predicted == model.classes_[-1]).astype(float)
        except (AlrvizError, ValueError, np.linalg.LinAlgError) as error:
            return {"failed": f"{type(error).__name__}: {error}"}
    truth = y[test]
    labels, counts = np.unique(y, return_counts=True)
    positive = labels[counts.argmin()]
    ranked = scores if scores.ndim == 1 else scores[:, -1]
    two = len(labels) == 2 and len(set(truth)) == 2
    matched = at_specificity(truth == positive, ranked if positive == model.classes_[-1] else -ranked) if two else {}
    return matched | {
        "accuracy": 100.0 * float(np.mean(predicted == truth)),
        "auc": auc(truth, scores, model.classes_),
        "train_ms": 1e3 * (trained - choice_end),
        "choose_ms": 1e3 * (choice_end - start),
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


def at_specificity(positive: np.ndarray, scores: np.ndarray, specificity: float = SPECIFICITY) -> Row:
    """Return sensitivity, PPV, NPV and accuracy of rows (N,) at the lowest threshold with this specificity or more.

    PPV is 0 where no row is said to be positive.

    >>> positive, scores = np.array([1, 0, 1, 0, 0, 0, 0, 0]) == 1, np.array([9.0, 8, 7, 3, 2, 1, 0, 0])
    >>> [round(figure, 3) for figure in at_specificity(positive, scores, 0.75).values()]
    [1.0, 0.833, 0.667, 1.0, 87.5]
    """
    negative_scores = np.sort(scores[~positive])
    calls = scores > negative_scores[int(np.ceil(specificity * len(negative_scores) - 1e-9)) - 1]
    hit, denied, called = int((calls & positive).sum()), int((~calls & ~positive).sum()), int(calls.sum())
    return {
        "sensitivity": hit / int(positive.sum()),
        "specificity": denied / len(negative_scores),
        "ppv": hit / max(called, 1),
        "npv": denied / (len(calls) - called),
        "right": 100.0 * float(np.mean(calls == positive)),
    }


def choose(model: Pipeline, grid: Grid, X: pd.DataFrame, y: np.ndarray, seed: int) -> Mapping[str, Any]:
    """Return the settings of `grid` with the best accuracy on a fifth of the rows; the first of equal ones.

    Steps before the last are fitted once for all settings of the last.
    """
    learn, choice_rows = next(StratifiedShuffleSplit(1, test_size=CHOICE_SHARE, random_state=seed).split(X, y))
    last = model.steps[-1][0]
    late = {name: values for name, values in grid.items() if name.startswith(f"{last}__")}
    early = {name: values for name, values in grid.items() if name not in late}
    best, best_settings = -1.0, {}
    for outer in ParameterGrid(early):
        front = clone(model).set_params(**outer)[:-1]
        z, z_held = front.fit_transform(X.iloc[learn], y[learn]), front.transform(X.iloc[choice_rows])
        for inner in ParameterGrid(late):
            accuracy = clone(model).set_params(**inner)[-1].fit(z, y[learn]).score(z_held, y[choice_rows])
            if accuracy > best:
                best, best_settings = accuracy, {**outer, **inner}
    return best_settings
