"""ELR: Bayesian networks whose tables are fitted to predict the class, rather than counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import AlrvizError
from alrviz.estimators.checks import threads
from alrviz.estimators.docstrings import documented
from alrviz.estimators.networks import NetworkMixin
from alrviz.estimators.recipes import RunClassifier
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import STEP_LIMIT
from alrviz.models.networks import NetworkModel
from alrviz.passes.rows import Floats


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ELRClassifier(NetworkMixin, RunClassifier):
    """ELR, extended logistic regression: a Bayesian network whose tables maximise the likelihood of the class.

        log p(k|x) = b_k + sum over columns j of  phi[x_j, x_parents(j), k]  - log of the sum over classes
        phi        = w - log of the sum over the child's levels of exp(w)                                     [ELR] (2)

    So tables stay distributions. w starts at the counted tables and follows conjugate gradients. The number of
    iterations is chosen on folds of the training rows, because the likelihood has local optima, and its best tables are
    often not those that predict best. On the structure of naive Bayes the optimum is that of logistic regression.
    Missing values are summed out along the structure, or are a level.

    {parameters}

    Examples
    --------
    >>> from alrviz import ELRClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> model = ELRClassifier(structure="tan", random_state=0).fit(data.X, data.y)
    >>> model.structure_["top_middle"], round(model.score(data.X, data.y), 2)
    (('bottom_left',), 1.0)
    """

    structure: Any = "nb"
    cross_tuning: bool = True
    sum_missing: bool | str = "auto"
    smoothing: float = 1.0
    discretize: str | None = "mdl"
    n_bins: int = 10
    class_weight: Any = None
    max_iter: int = 200
    tol: float = 1e-6
    random_state: Any = None

    _family: ClassVar[str] = "elr"
    _attributes: ClassVar[Mapping[str, str]] = {
        "phi_ : ndarray (S, C)": "log p(level | parents' levels, class), of all levels under seen parents.",
        "intercept_ : ndarray (C,)": "b, the log of the class node's table up to a constant.",
        "weights_ : ndarray (S + 1, C)": "The free parameters w, those of the intercepts last.",
    }
    _advice: ClassVar[dict[str, str]] = {STEP_LIMIT: "raise max_iter"}

    def _keep(self, run: Run) -> None:
        model, state = run.model, run.state
        if not isinstance(model, NetworkModel) or state is None or run.encoded is None:
            raise AlrvizError(f"the fit has no result: {run.outcome}")
        self.set_model(model, run.encoded.names)
        self.weights_ = state.point.w

    def cell_values(self) -> dict[str, Floats]:
        """Return the weights of the cells."""
        return {"w": self.weights_[:-1]}

    def score_codes(self, codes: NDArray[np.unsignedinteger], table: Any) -> Floats:
        """Return the class scores (N, C) of a checked table and its codes (a, N)."""
        return self.model_.scores(codes, threads(self.n_jobs))
