"""LR^n, ALR^n and WANBIA-C: one objective, different units for its weights."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.estimators.alpha import choose_alpha
from alrviz.estimators.base import CellClassifier
from alrviz.estimators.checks import threads
from alrviz.estimators.text import documented
from alrviz.fitting.recipe import Recipe
from alrviz.passes.rows import Floats
from alrviz.stop import NEVER, StopToken


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(CellClassifier):
    """Base of the classifiers whose weights are fitted: minimise the loss of all rows + alpha ||. - center||^2."""

    alpha: float | str = 0.3
    penalty: str = "phi"
    center: int | str = 0
    start: str = "zero"
    share: str = "cell-class"
    objective: str = "nll"
    solver: str = "auto"
    bounds: tuple[int, int] | None = None
    class_weight: Any = None
    max_iter: int = 200
    tol: float = 1e-6
    memory: int = 10
    random_state: Any = None

    def _settled(
        self,
        recipe: Recipe,
        X: Any,
        y: NDArray[Any],
        weights: Floats,
        stop: StopToken = NEVER,
        splitting: Splitting = AT_RANDOM,
    ) -> Recipe:
        if recipe.params["alpha"] != "cv":
            return recipe
        where = {"n_jobs": threads(self.n_jobs), "max_memory": self.max_memory}
        self.alpha_, self.alphas_ = choose_alpha(
            recipe,
            X,
            y,
            weights,
            categorical_features=self.categorical_features,
            splitting=splitting,
            stop=stop,
            **where,
        )
        return recipe.replace(alpha=self.alpha_)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LRClassifier(LinearClassifier):
    """LR^n, logistic regression over all cells of n columns.

        log p(k|x) = b_k + sum over tuples t of  w[x_t, k]  - log of the sum over classes         [ALR] (18)

    A tuple is a set of n columns, x_t the cell (a level of each) that the row lies in. n = 1 is logistic regression on
    the one-hot table; there are no terms of lower order. `scale="diagonal"` measures the weights in units of the
    Hessian's diagonal, phi = w s: the same models, another path to the best one.

    {parameters}

    Examples
    --------
    >>> from alrviz import LRClassifier
    >>> X, y = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]], [0, 1, 1, 0]  # exclusive or
    >>> LRClassifier(order=1, alpha=0.1, center=0).fit(X, y).predict_proba(X)[:, 1].round(2)
    array([0.5, 0.5, 0.5, 0.5])
    >>> LRClassifier(order=2, alpha=0.1, center=0).fit(X, y).predict_proba(X)[:, 1].round(2)
    array([0.16, 0.84, 0.84, 0.16])
    """

    scale: str = "none"

    _family: ClassVar[str] = "lr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ALRClassifier(LinearClassifier):
    """ALR^n, LR^n whose weights multiply what counting knows already.

        log p(k|x) = w_k log pi_k + sum over tuples t of  w[x_t, k] log theta(x_t | k)
                     - log of the sum over classes                                               [ALR] (14)

    The models are those of LR^n; in these units the optimum is often reached in fewer steps. w = gamma is AnJE, the
    generative model: `start="anje"` begins there, `center="anje"` shrinks toward it.

    {parameters}

    Examples
    --------
    >>> from alrviz import ALRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = ALRClassifier(order=2, alpha=1, penalty="w", center=0).fit(data.X, data.y)
    >>> model.cells_.n_parameters(10), round(model.score(data.X, data.y), 2)
    (850, 0.75)
    """

    scale: str = "theta"
    alpha: float | str = 1.0
    penalty: str = "w"

    _family: ClassVar[str] = "alr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class WANBIACClassifier(LinearClassifier):
    """WANBIA-C, naive Bayes with a weight for every level and class: ALR^n at n = 1.

        log p(k|x) = w_k log pi_k + sum over columns i of  w[x_i, k] log theta(x_i | k)
                     - log of the sum over classes                                         [WANBIA-C] (1), (3)

    {parameters}

    Examples
    --------
    >>> from alrviz import WANBIACClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = WANBIACClassifier(alpha=1, penalty="w", center=0).fit(data.X, data.y)
    >>> model.cells_.n_parameters(10), round(model.score(data.X, data.y), 2)
    (150, 0.74)
    """

    order: int = field(default=1, init=False)
    alpha: float | str = 1.0
    penalty: str = "w"

    _family: ClassVar[str] = "alr"
