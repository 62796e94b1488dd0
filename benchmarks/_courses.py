"""Courses: F over seconds of one fit, ours and those of peers on explicit crosses, and when each came close enough.

    F(phi) = sum over rows of -log p(y|x) + alpha ||phi||^2,  intercepts b included

Peers get the one-hot of all tuples as a sparse matrix with a constant column in place of the intercept, and start at
zero like ours. scikit-learn minimises F / N with C = 1 / (2 alpha); with two classes it has one vector beta where we
have two, and C = 1 / alpha makes the same F at phi = (-beta / 2, beta / 2). The clock starts before the one-hot is
built there and before cells are planned and counted here; compiling is apart.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from alrviz.models.cell_space import CellSpace
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import Stopped


@dataclass
class Course:
    """F after so many seconds; it ends, by `Stopped`, where F is low enough or time is over."""

    enough: float = -np.inf
    limit: float = np.inf
    seconds: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    begin: float = field(default_factory=time.perf_counter)

    def add(self, objective: float, uncounted_seconds: float = 0.0) -> None:
        """Record a value of F now; `uncounted_seconds` are left out of its time."""
        self.seconds.append(time.perf_counter() - self.begin - uncounted_seconds)
        self.objective.append(objective)
        if objective <= self.enough or self.seconds[-1] > self.limit:
            raise Stopped

    @property
    def lowest(self) -> float:
        """The lowest F."""
        return min(self.objective, default=np.inf)

    def reached(self, target: float) -> float:
        """Seconds until F was at most `target`; infinite if it never was."""
        return next((t for t, f in zip(self.seconds, self.objective, strict=True) if f <= target), np.inf)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start the clock, and be quiet about fits that are cut short."""
        self.begin = time.perf_counter()
        with warnings.catch_warnings(), suppress(Stopped):
            warnings.simplefilter("ignore")  # it did not converge: it was not to
            yield


def one_hot(encoded: Encoded, order: int) -> Any:
    """Return the sparse one-hot (N, cells + 1) of all tuples, the last column constant."""
    from scipy.sparse import csr_matrix

    space = CellSpace(encoded.levels, order)
    n = encoded.n_rows
    column = np.empty((n, space.n_tuples + 1), np.int32)
    for t, columns in enumerate(space.tuples):
        column[:, t] = space.first[t] + space.strides[t] @ encoded.codes[columns].astype(np.int64)
    column[:, -1] = space.n_cells
    ends = np.arange(0, column.size + 1, column.shape[1], dtype=np.int64)
    return csr_matrix((np.ones(column.size), column.ravel(), ends), shape=(n, space.n_cells + 1))


def sklearn_model(encoded: Encoded, alpha: float, solver: str, iterations: int) -> Any:
    """Return scikit-learn's model of the same F, with no tolerance to stop at."""
    from sklearn.linear_model import LogisticRegression

    C = (1.0 if encoded.n_classes == 2 else 0.5) / alpha
    return LogisticRegression(C=C, solver=solver, fit_intercept=False, max_iter=iterations, tol=0.0)


@contextmanager
def listening(heard: Callable[[float], None]) -> Iterator[None]:
    """Tell `heard` every value of F / N that scikit-learn's linear models evaluate."""
    from sklearn.linear_model._linear_loss import LinearModelLoss

    loss, loss_gradient = LinearModelLoss.loss, LinearModelLoss.loss_gradient

    def loss_heard(self: Any, *arguments: Any, **keywords: Any) -> Any:
        value = loss(self, *arguments, **keywords)
        heard(float(value))
        return value

    def loss_gradient_heard(self: Any, *arguments: Any, **keywords: Any) -> Any:
        value, gradient = loss_gradient(self, *arguments, **keywords)
        heard(float(value))
        return value, gradient

    LinearModelLoss.loss, LinearModelLoss.loss_gradient = loss_heard, loss_gradient_heard
    try:
        yield
    finally:
        LinearModelLoss.loss, LinearModelLoss.loss_gradient = loss, loss_gradient


def sklearn_course(encoded: Encoded, order: int, alpha: float, solver: str, course: Course) -> Course:
    """Fit with scikit-learn; values of trial points count, too, to its favour."""
    sklearn_model(encoded, alpha, solver, 1)  # it is imported before the clock starts
    with course.running(), listening(lambda value: course.add(value * encoded.n_rows)):
        model = sklearn_model(encoded, alpha, solver, 100_000)
        model.fit(one_hot(encoded, order), encoded.y)
    return course


def scipy_course(encoded: Encoded, order: int, alpha: float, course: Course, iterations: int = 100_000) -> Course:
    """Fit with numpy, scipy's sparse products and scipy's L-BFGS-B: what one writes without a library for it."""
    from scipy.optimize import minimize

    def objective(flat: Floats) -> tuple[float, Floats]:
        phi = flat.reshape(n_cells, classes)
        z = X @ phi
        z -= z.max(axis=1, keepdims=True)
        p = np.exp(z)
        total = p.sum(axis=1, keepdims=True)
        nll = float((np.log(total[:, 0]) - z[rows, encoded.y]).sum())
        p /= total
        p[rows, encoded.y] -= 1.0
        value = nll + alpha * float(flat @ flat)
        course.add(value)
        return value, (X.T @ p + 2.0 * alpha * phi).ravel()

    with course.running():
        X = one_hot(encoded, order)
        n_cells, classes, rows = X.shape[1], encoded.n_classes, np.arange(encoded.n_rows)
        settings = {"maxiter": iterations, "maxfun": 1_000_000, "maxcor": 10, "ftol": 0.0, "gtol": 0.0}
        minimize(objective, np.zeros(n_cells * classes), method="L-BFGS-B", jac=True, options=settings)
    return course


def recipe_of(order: int, alpha: float, **params: Any) -> Recipe:
    """Return the recipe of F from zero, with no tolerance to stop at."""
    base: dict[str, Any] = {"family": "lr", "tol": 0.0, "max_iter": 1_000_000, "start": "zero", "center": 0}
    base |= {"order": order, "alpha": alpha, "penalty": "phi"} | params
    return Recipe(base.pop("family"), **base)


def our_course(encoded: Encoded, recipe: Recipe, course: Course) -> Course:
    """Fit with alrviz."""
    warm(wide=False)
    with course.running():
        run = Run.on_encoded(encoded, recipe)
        for step in run.steps():
            if step.kind == "inner":
                course.add(step.objective, run.compile_seconds)
    return course
