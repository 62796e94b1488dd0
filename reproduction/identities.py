"""Claims 1 to 3 and 18, measured: what is the same model under other names, starts and coordinates."""

from typing import Any

import numpy as np

from alrviz.data.dataset import Dataset
from alrviz.estimators.make import make_estimator
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from reproduction.kept import Row
from reproduction.limits import limit_row

ALPHA = 1e-3

_METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "lr": ("lr", {}),
    "lr from anje": ("lr", {"start": "anje"}),
    "alr": ("alr", {}),
    "alr from one": ("alr", {"start": "one"}),
    "alr from anje": ("alr", {"start": "anje"}),
    "alrj": ("alr", {"scale": "theta-gamma"}),
    "diagonal": ("lr", {"scale": "diagonal"}),
}


def one_optimum(dataset: Dataset, order: int, alpha: float = ALPHA) -> list[Row]:
    """Return how far each family's lowest F is above the least of all, relative: `alpha` on phi, by tron."""
    lowest = {}
    for name, (family, params) in _METRICS.items():
        recipe = Recipe(
            family, order=order, alpha=alpha, penalty="phi", holdout=0.0, solver="tron", max_iter=5000, tol=0.0,
            memory=30, **params,
        )  # fmt: skip
        run = Run(dataset, recipe, n_jobs=1)
        for step in run.steps():
            if step.grad_norm <= 1e-9 * run.trace.rows:
                break
        lowest[name] = float(min(run.trace.frame()["objective"]))
    best = min(lowest.values())
    return [
        limit_row(
            f"{dataset.name}, n={order}" + ("" if alpha else ", alpha 0"),
            name,
            "(F - F*) / F*",
            value / best - 1.0,
            1e-8,
        )
        for name, value in lowest.items()
    ]


def same_tables(dataset: Dataset) -> list[Row]:
    """Return how far A0DE, KDB with k = 0 and ELR before its first step are from naive Bayes, in log p."""
    recipes = {
        "a0de": Recipe("ande", n=0),
        "kdb k=0": Recipe("kdb", k=0, selective=False),
        "elr, no step": Recipe("elr", cross_tuning=False, max_iter=0),
    }
    nb = _log_p(Recipe("anje", order=1), dataset)
    return [
        limit_row(
            dataset.name, f"{name} vs nb", "largest difference of log p", max_gap(_log_p(recipe, dataset), nb), 1e-12
        )
        for name, recipe in recipes.items()
    ]


def no_step(dataset: Dataset, order: int) -> list[Row]:
    """Return how far alr and lr started at AnJE, before a step, are from AnJE, in log p."""
    anje = _log_p(Recipe("anje", order=order), dataset)
    rows = []
    for family in ("alr", "lr"):
        log_p = _log_p(Recipe(family, order=order, alpha=1.0, start="anje", max_iter=0), dataset)
        words = f"{family}{order} from anje, no step, vs anje{order}"
        rows.append(limit_row(dataset.name, words, "largest difference of log p", max_gap(log_p, anje), 1e-12))
    return rows


def polynomial(dataset: Dataset) -> list[Row]:
    """Return how much of the crosses of two columns a polynomial kernel of degree 2 on the one-hot leaves unexplained.

    Its Gram matrix is (1 + x . x')^2; the columns of lr of order 2, 1 and 0 must lie in its range.
    """
    from sklearn.preprocessing import OneHotEncoder

    X = OneHotEncoder(sparse_output=False).fit_transform(dataset.X.iloc[:300].astype(str))
    gram = (1.0 + X @ X.T) ** 2
    values, vectors = np.linalg.eigh(gram)
    basis = vectors[:, values > 1e-9 * values.max()]
    first, second = np.triu_indices(X.shape[1], 1)
    rows = []
    for words, columns in (("order 2", X[:, first] * X[:, second]), ("order 1", X), ("order 0", np.ones((len(X), 1)))):
        rest = columns - basis @ (basis.T @ columns)
        rows.append(limit_row(dataset.name, words, "part of the columns out of reach", float(np.abs(rest).max()), 1e-8))
    return rows


def _log_p(recipe: Recipe, dataset: Dataset) -> np.ndarray:
    model = make_estimator(recipe, n_jobs=1)
    return model.fit(dataset.X, dataset.y).predict_log_proba(dataset.X)


def max_gap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference."""
    return float(np.abs(a - b).max())
