"""Peers of the density model: scikit-learn classifiers to compare it with.

Each is a pipeline: "columns" turns a table into numbers (numeric columns: gaps filled with the mean, then standardised;
others: one column per level, a gap being a level), "kernel" maps them where the model is a kernel method, "model" is
linear in its columns, or an SVM. With f in the kernel's space, y = -1 or 1, and b free:

    kernel LR             sum_i log(1 + exp(-y_i (f(x_i) + b))) + ||f||^2 / (2 C)
    least-squares SVM     sum_i (y_i - f(x_i) - b)^2            + alpha ||f||^2
    SVM                   sum_i max(0, 1 - y_i (f(x_i) + b))    + ||f||^2 / (2 C)

The pipeline on dlr's kernel has no "columns": density features come from the table itself.
More classes: kernel LR by softmax, least squares one class against the others, SVMs one against one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.svm import SVC

from alrviz.errors import RecipeError, nearest
from alrviz.estimators.density_map import DensityMap
from alrviz.estimators.kernel_map import KernelMap
from alrviz.estimators.make import make_estimator
from alrviz.fitting.recipe import Recipe

Grid = Mapping[str, Sequence[Any]]

# The values that validation chooses from, a factor of 4 (gamma) or 10 (C, alpha) apart, the smoothest first.
_GAMMAS = (0.005, 0.02, 0.08, 0.32)
_CS = (0.1, 1.0, 10.0, 100.0)
_ALPHAS = (10.0, 1.0, 0.1, 0.01)
_DEGREES = (2, 3)
# Kernel methods are exact on tables of up to a thousand rows; more would take time that grows with the cube.
_LANDMARKS = 1000
# Newton's steps are solved by Cholesky in (columns x classes)^2 memory: enough for a kernel of rank 1000.
_NEWTON: dict[str, Any] = {"solver": "newton-cholesky", "max_iter": 200}


@dataclass(frozen=True)
class Peer:
    """A classifier to compare ours with.

    Attributes:
        name: its key.
        label: its name in pictures and menus.
        note: one sentence about it.
        build: returns it unfitted.
        grid: settings to choose from on validation rows, by the pipeline's parameter names.

    Those without `predict_proba` have a `decision_function`: a score, no probability.
    """

    name: str
    label: str
    note: str
    build: Callable[[], Any] = field(repr=False)
    grid: Grid = field(repr=False)


def known_peers() -> Mapping[str, Peer]:
    """Return all classifiers to compare ours with, by name, in the order of menus: rivals, then peers."""
    return {**RIVALS, **PEERS}


def make_peer(name: str) -> Any:
    """Return an unfitted peer or rival with its default settings; `set_params(model__C=10)` changes a peer's.

    It takes tables with numeric, categorical and missing values, or arrays of numbers; two classes or more.

    Raises:
        RecipeError: no peer has that name.

    >>> make_peer("svm-rbf").set_params(model__C=10).steps[-1]
    ('model', SVC(C=10))
    """
    peers = known_peers()
    if name not in peers:
        raise RecipeError(f"no peer is called {name!r}; expected one of {', '.join(peers)}{nearest(name, peers)}")
    return peers[name].build()


def numbers_of(*, splines: bool = False) -> ColumnTransformer:
    """Return the transformer of a table into numbers; `splines` turns each numeric column into a cubic spline's."""
    steps = [SimpleImputer(keep_empty_features=True), StandardScaler()]
    if splines:
        steps.append(SplineTransformer(n_knots=6, extrapolation="linear"))
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numeric", make_pipeline(*steps), _numeric), ("levels", levels, _non_numeric)])


def _numeric(X: Any) -> list[Any]:
    if hasattr(X, "iloc"):
        return make_column_selector(dtype_include="number")(X)
    return list(range(np.shape(X)[1]))


def _non_numeric(X: Any) -> list[Any]:
    return make_column_selector(dtype_exclude="number")(X) if hasattr(X, "iloc") else []


def _pipeline(model: Any, kernel: Any = None, *, splines: bool = False) -> Pipeline:
    middle = [] if kernel is None else [("kernel", kernel)]
    return Pipeline([("columns", numbers_of(splines=splines)), *middle, ("model", model)])


def _kernel_map(kernel: str) -> KernelMap:
    return KernelMap(kernel, landmarks=_LANDMARKS, random_state=0)


_PEERS = (
    Peer(
        "lr",
        "logistic regression",
        "Linear in the standardised columns: its boundary is a straight line.",
        lambda: _pipeline(LogisticRegression(max_iter=1000)),
        {"model__C": _CS},
    ),
    Peer(
        "klr-poly",
        "kernel LR (polynomial)",
        "Logistic regression on all products of up to three columns.",
        lambda: _pipeline(LogisticRegression(**_NEWTON), _kernel_map("polynomial")),
        {"kernel__degree": _DEGREES, "model__C": _CS},
    ),
    Peer(
        "klr-rbf",
        "kernel LR (RBF)",
        "Logistic regression on how near a row lies to each training row.",
        lambda: _pipeline(LogisticRegression(**_NEWTON), _kernel_map("rbf")),
        {"kernel__gamma": _GAMMAS, "model__C": _CS},
    ),
    Peer(
        "svm-poly",
        "SVM (polynomial)",
        "Widest margin in all products of up to three columns.",
        lambda: _pipeline(SVC(kernel="poly", coef0=1.0)),
        {"model__degree": _DEGREES, "model__C": _CS},
    ),
    Peer(
        "svm-rbf",
        "SVM (RBF)",
        "Widest margin by nearness to some of the training rows.",
        lambda: _pipeline(SVC(kernel="rbf")),
        {"model__gamma": _GAMMAS, "model__C": _CS},
    ),
    Peer(
        "svm-sigmoid",
        "SVM (sigmoid)",
        "Widest margin with tanh(gamma x . x'), which is no inner product for every gamma.",
        lambda: _pipeline(SVC(kernel="sigmoid")),
        {"model__gamma": _GAMMAS, "model__C": _CS},
    ),
    Peer(
        "lssvm-poly",
        "least-squares SVM (polynomial)",
        "Least squares to -1 and 1 on all products of up to three columns.",
        lambda: _pipeline(RidgeClassifier(), _kernel_map("polynomial")),
        {"kernel__degree": _DEGREES, "model__alpha": _ALPHAS},
    ),
    Peer(
        "lssvm-rbf",
        "least-squares SVM (RBF)",
        "Least squares to -1 and 1 by nearness to all training rows.",
        lambda: _pipeline(RidgeClassifier(), _kernel_map("rbf")),
        {"kernel__gamma": _GAMMAS, "model__alpha": _ALPHAS},
    ),
    Peer(
        "svm-dlr",
        "SVM on dlr's kernel",
        "Widest margin in the density features of dlr, bandwidths by Silverman's rule.",
        lambda: Pipeline([("kernel", DensityMap()), ("model", SVC(kernel="linear"))]),
        {"model__C": _CS},
    ),
    Peer(
        "splines",
        "additive LR on splines",
        "Logistic regression on a cubic spline of each column: a sum of curves, as dlr is.",
        lambda: _pipeline(LogisticRegression(max_iter=1000), splines=True),
        {"model__C": _CS},
    ),
)
PEERS: Mapping[str, Peer] = MappingProxyType({peer.name: peer for peer in _PEERS})


def _rival(name: str, label: str, note: str, recipe: Recipe) -> Peer:
    return Peer(name, label, note, lambda: make_estimator(recipe), {})


# Families without steps, which no race can show.
RIVALS: Mapping[str, Peer] = MappingProxyType(
    {
        rival.name: rival
        for rival in (
            _rival("tan", "TAN", "Naive Bayes in which each column depends on one other.", Recipe("tan")),
            _rival(
                "kdb",
                "KDB",
                "Naive Bayes in which each column depends on one that knows more.",
                Recipe("kdb", selective=False),
            ),
            _rival("ande", "A1DE", "The mean of networks in each of which all depend on one column.", Recipe("ande")),
            _rival("rf", "random forest", "The mean of a hundred trees, each on rows drawn again.", Recipe("rf")),
            _rival(
                "hgb", "boosting", "A hundred small trees, each fitted to the errors of those before.", Recipe("hgb")
            ),
        )
    }
)
