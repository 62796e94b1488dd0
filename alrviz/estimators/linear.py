"""The base of classifiers with fitted weights, and two classifiers of order 1 with names of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pandas as pd
from numpy.typing import NDArray

from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.estimators.base import CellClassifier
from alrviz.estimators.checks import threads
from alrviz.estimators.docstrings import documented
from alrviz.fitting.alpha_path import cross_validate_alpha
from alrviz.fitting.families.param import in_digits
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.passes.rows import Floats
from alrviz.stop import NEVER, StopToken


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(CellClassifier):
    """Base of the classifiers whose weights are fitted: minimise the loss of all rows + alpha ||. - center||^2."""

    alpha: float | str | tuple[float, ...] = "auto"
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
    time_limit: float | None = None

    _attributes: ClassVar[Mapping[str, str]] = {
        "alpha_ : float or tuple": (
            'The penalty chosen by alpha="cv" or "auto"; by "auto" one for each order where the family allows it.'
        ),
        "alphas_ : DataFrame": (
            "What was tried: alphas, or orders and alphas, the validation log loss, and the number of folds it is "
            "over; only losses over as many folds can be compared."
        ),
        "chosen_ : str": 'Order and penalties in words: what "auto" or "cv" chose and why, or that they were given.',
    }

    def _resolve_choices(
        self,
        recipe: Recipe,
        X: Any,
        y: NDArray[Any],
        weights: Floats,
        stop: StopToken = NEVER,
        splitting: Splitting = AT_RANDOM,
    ) -> Recipe:
        """Return the recipe with the alpha that cross-validation on rows X, y, weights (N,) chooses, for alpha="cv"."""
        if recipe.params["alpha"] != "cv":
            return recipe
        self.alpha_, self.alphas_ = cross_validate_alpha(
            recipe,
            X,
            y,
            weights,
            categorical_features=self.categorical_features,
            splitting=splitting,
            n_jobs=threads(self.n_jobs),
            max_memory=self.max_memory,
            time_limit=self.time_limit,
            stop=stop,
        )
        self.chosen_ = f"alpha={in_digits(self.alpha_)} was chosen by validation log loss, of {len(self.alphas_)} tried"
        if self.time_limit is not None:
            self.chosen_ += f" within time_limit={self.time_limit:g}"
        return recipe.replace(alpha=self.alpha_)

    def _store_model(self, run: Run) -> None:
        super()._store_model(run)
        if self.alpha == "auto" and run.recipe.params["alpha"] != "auto":
            self.alpha_ = run.recipe.params["alpha"]
        if run.trials:
            self.alphas_ = pd.DataFrame(run.trials)
        elif self.alpha == "auto":
            trial_values = [step.extra for step in run.trace.since(0) if step.kind == "search"]
            self.alphas_ = pd.DataFrame(trial_values).rename(columns=lambda name: name.removeprefix("search_"))
        params = run.recipe.params
        if run.choices:
            self.chosen_ = "; ".join(run.choices)
        elif "chosen_" not in vars(self):
            self.chosen_ = f"order={params['order']} and alpha={in_digits(params['alpha'])}, as given"


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
    alpha: float | str | tuple[float, ...] = "auto"
    penalty: str = "w"

    _family: ClassVar[str] = "alr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class NaiveBayesClassifier(CellClassifier):
    """Naive Bayes on levels, numeric columns cut by MDL: AnJE at n = 1.

        log p(k|x) = log pi_k + sum over columns i of  log theta(x_i | k)  - log of the sum over classes

    {parameters}

    Examples
    --------
    >>> from alrviz import NaiveBayesClassifier
    >>> model = NaiveBayesClassifier().fit([["sun"], ["sun"], ["rain"]], ["out", "out", "in"])
    >>> model.predict_proba([["sun"]]).round(4)  # in 1.5/4 * 0.5/2, out 2.5/4 * 2.5/3, divided by their sum
    array([[0.1525, 0.8475]])
    """

    order: int = field(default=1, init=False)
    class_weight: Any = None

    _family: ClassVar[str] = "anje"
