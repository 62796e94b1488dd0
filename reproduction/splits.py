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
from reproduction.methods import EVERY, Grid
from reproduction.sets import BenchmarkSet
from reproduction.settings import Settings

TEST_SHARE, CHOICE_SHARE = 0.3, 0.2
SPECIFICITY = 0.95


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
    method = EVERY[name]
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
            if method.by_class:
                scores = (predicted == model.classes_[-1]).astype(float)
        except (AlrvizError, ValueError, np.linalg.LinAlgError) as error:
            return {"failed": f"{type(error).__name__}: {error}"}
    truth = y[test]
    found, counts = np.unique(y, return_counts=True)
    positive = found[counts.argmin()]
    ranked = scores if scores.ndim == 1 else scores[:, -1]
    two = len(found) == 2 and len(set(truth)) == 2
    matched = at_specificity(truth == positive, ranked if positive == model.classes_[-1] else -ranked) if two else {}
    return matched | {
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


def at_specificity(positive: np.ndarray, scores: np.ndarray, specificity: float = SPECIFICITY) -> Row:
    """Return the figures (N,) of what is said to be positive above the lowest threshold with so much specificity.

    PPV is 0 where no row is said to be positive.

    >>> positive, scores = np.array([1, 0, 1, 0, 0, 0, 0, 0]) == 1, np.array([9.0, 8, 7, 3, 2, 1, 0, 0])
    >>> [round(figure, 3) for figure in at_specificity(positive, scores, 0.75).values()]
    [1.0, 0.833, 0.667, 1.0, 87.5]
    """
    others = np.sort(scores[~positive])
    said = scores > others[int(np.ceil(specificity * len(others) - 1e-9)) - 1]
    hit, denied, called = int((said & positive).sum()), int((~said & ~positive).sum()), int(said.sum())
    return {
        "sensitivity": hit / int(positive.sum()),
        "specificity": denied / len(others),
        "ppv": hit / max(called, 1),
        "npv": denied / (len(said) - called),
        "right": 100.0 * float(np.mean(said == positive)),
    }


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
