"""The questions of the Convergence page: each chooses its racers from an order, an alpha and a seed. Pure data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from alrviz.data.encode import cuts_text
from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.errors import RecipeError
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.families.param import in_digits
from alrviz.fitting.recipe import AUTOMATIC, Recipe

MAX_RACERS = 6
# Both racers of the first screen converge before (lr needs 673 iterations); fits of separable tables stop earlier.
MAX_ITERATIONS = 1000
# Values of alpha, the strength of the L2 penalty, that menus offer.
MENU_PENALTIES = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
FIRST_ALPHA = 0.1  # default alpha of questions that need a penalty

_TYPICAL_COLUMNS = 9  # of a table that no order is too high for
MAX_PASSES = 10  # over a table larger than memory, as in [sALR]
_AUTOMATIC: Mapping[str, Any] = {"alpha": "auto", "solver": "auto"}
Racers = tuple[tuple[str, dict[str, Any]], ...]


def for_streaming(recipes: Sequence[Recipe]) -> tuple[Recipe, ...]:
    """Return the racers adapted to a table read in batches: at most `MAX_PASSES` passes, and a solver for streams."""
    return tuple(_for_streaming(recipe) for recipe in recipes)


def _for_streaming(recipe: Recipe) -> Recipe:
    """Return the recipe adapted to a table read in batches."""
    if not recipe.definition.streams or "max_iter" not in recipe.params:
        return recipe
    adapted = recipe.replace(max_iter=min(recipe.params["max_iter"], MAX_PASSES))
    if adapted.cuts in SMOOTH_WAYS:  # smooth levels, like alphas by inner folds, need the rows in memory
        adapted = adapted.replace(discretize="mdl" if adapted.discretize == "mdl-smooth" else "quantile")
    if adapted.params["alpha"] == "auto":  # trials take many passes
        adapted = adapted.replace(alpha=adapted.definition.params["alpha"].default_in_links)
    try:
        adapted.definition.check_stream(adapted.params, _TYPICAL_COLUMNS)
    except RecipeError:
        adapted = adapted.replace(solver="auto")
    return adapted


def streaming_note(recipes: Sequence[Recipe]) -> str:
    """Return a note on the settings that `for_streaming` changes, "" if it changes none.

    >>> streaming_note([Recipe("lr", alpha=1), Recipe("hlr", alpha="auto", discretize="smooth")]).partition(":")[0]
    'With all rows hlr has alpha 0.3 and 10 quantiles'
    """
    texts = []
    for recipe, streamed in zip(recipes, for_streaming(recipes), strict=True):
        alpha = [f"alpha {in_digits(streamed.params['alpha'])}"] if recipe.params.get("alpha") == "auto" else []
        changes = [*alpha, *([cuts_text(streamed)] if recipe.cuts != streamed.cuts else [])]
        texts += [f"{recipe.label} has {' and '.join(changes)}"] if changes and streamed != recipe else []
    reason = "choosing alpha and smooth levels take many passes, which need the rows in memory"
    return f"With all rows {', '.join(texts)}: {reason}. The sample is fitted as you set it." if texts else ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        label: of the menu.
        description: one line on what the question shows.
        racers: returns families and parameters for an order.
        needs_penalty: whether alpha must be above 0.
        has_order: whether the order control has an effect.
    """

    label: str
    description: str
    racers: Callable[[int], Racers]
    needs_penalty: bool = False
    has_order: bool = True


def _starts(order: int) -> Racers:
    from_one: Racers = () if order == 1 else (("alr", {"start": "one"}),)  # at n = 1 it is AnJE
    return (
        ("lr", {"start": "zero"}),
        ("lr", {"start": "anje"}),
        ("alr", {"start": "zero"}),
        *from_one,
        ("alr", {"start": "anje"}),
    )


def _centers(order: int) -> Racers:
    to_one: Racers = () if order == 1 else (("alr", {"center": 1}),)
    return (
        ("alr", {"center": 0}),
        *to_one,
        ("alr", {"center": "anje"}),
        ("lr", {"center": 0}),
        ("lr", {"center": "anje"}),
    )


QUESTIONS: Mapping[str, Question] = {
    "alr-or-lr": Question(
        "ALR or LR?",
        "The same models and the same best fit; only the path differs. Does log theta as a scale get there sooner?",
        lambda order: (("lr", {}), ("alr", {})),
    ),
    "counted": Question(
        "Naive Bayes or logistic regression?",
        "The same sums of one number per column and class: counted once, or fitted. Fitting lowers the loss of the "
        "training rows; whether test rows gain, and from how many rows on, is the question.",
        lambda order: (("anje", {"order": 1}), ("lr", {"order": 1})),
        has_order=False,
    ),
    "start": Question(
        "Where to start?",
        "From all weights at 0, from all at 1, or from the generative model AnJE.",
        _starts,
    ),
    "preconditioners": Question(
        "Which scaling?",
        "Plain LR, LR scaled by the Hessian's diagonal (once, or at every step), and ALR and ALRJ, whose log theta and "
        "gamma log theta are such scales too.",
        lambda order: (
            ("lr", {}),
            ("lr", {"scale": "diagonal"}),
            ("lr", {"scale": "diagonal-adaptive"}),
            ("alr", {}),
            ("alr", {"scale": "theta-gamma"}),
        ),
    ),
    "solvers": Question(
        "Which solver?",
        "L-BFGS and conjugate gradients approximate curvature from past gradients, trust region Newton uses the "
        "Hessian, gradient descent neither; sgd and adagrad step row by row. For a fair comparison choose passes or "
        "seconds as x-axis.",
        lambda order: tuple(("alr", {"solver": s}) for s in ("lbfgs", "cg", "tron", "gd", "sgd", "adagrad")),
    ),
    "orders": Question(
        "Orders 1, 2, 3?",
        "Higher orders are other models: training loss always falls, test loss need not.",
        lambda order: tuple(("alr", {"order": n}) for n in (1, 2, 3)),
        has_order=False,
    ),
    "all-orders": Question(
        "One order or all?",
        "lr has the cells of n columns alone; hlr and halr have those of 1 to n columns, and a penalty for each order. "
        "Every model chooses its penalties by inner folds of the training rows: the measure 'penalty of each order' "
        "shows them change.",
        lambda order: tuple(
            (family, {**_AUTOMATIC, "penalty": FAMILIES[family].params["penalty"].default})
            for family in ("lr", "hlr", "halr")
        ),
    ),
    "automatic": Question(
        "What does AutoClassifier choose?",
        "AutoClassifier (alrviz.fit) tries orders 1, 2, ... of hlr on folds of the training rows, with a penalty for "
        "each order and smooth levels of numbers, and chooses the lowest log loss; lr of one order for comparison. The "
        "measure 'penalty of each order' shows what it tried.",
        lambda order: (
            ("lr", {"order": 1, **_AUTOMATIC}),
            ("lr", {"order": 2, **_AUTOMATIC}),
            ("hlr", {**AUTOMATIC.params, "discretize": AUTOMATIC.discretize}),
        ),
        has_order=False,
    ),
    "pull": Question(
        "Shrink toward 0, 1 or AnJE?",
        "The center decides what remains under a strong penalty: zero, or a generative model.",
        _centers,
        needs_penalty=True,
    ),
    "tables": Question(
        "When to stop fitting ELR?",
        "ELR trains the tables of naive Bayes, and of a tree, discriminatively. The log loss of training rows falls at "
        "every step; that of test rows (dashed) rises again, early on small tables. Cross-validation can choose "
        "the iteration to stop at.",
        lambda order: tuple(
            ("elr", {"structure": structure, "cross_tuning": tuned})
            for tuned in (False, True)
            for structure in ("nb", "tan")
        ),
        has_order=False,
    ),
}
FIRST_QUESTION = "alr-or-lr"
CUSTOM = "own"  # racers the reader has put together


def recipes_of(
    question: str,
    *,
    order: int = 2,
    alpha: float = 0.0,
    seed: int = 0,
    columns: int = 12,
    cuts: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Recipe, ...]:
    """Return the racers of a question, without orders above the number of columns. cuts: discretize and n_bins."""
    definition = QUESTIONS.get(question) or QUESTIONS[FIRST_QUESTION]
    order = min(order, columns)
    alpha = alpha or (FIRST_ALPHA if definition.needs_penalty else 0.0)
    common_params = {
        "alpha": alpha,
        "penalty": "phi",
        "max_iter": MAX_ITERATIONS,
        "start": "zero",
        "solver": "lbfgs",
        "order": order,
    }
    recipes = []
    for family, params in definition.racers(order):
        defaults = {name: value for name, value in common_params.items() if name in FAMILIES[family].params}
        recipe = Recipe(family, seed=seed, **{**defaults, **params})
        recipes.append(recipe if "discretize" in params else apply_cuts(recipe, cuts))
    orders = {recipe: recipe.params.get("order", 1) for recipe in recipes}
    return tuple(recipe for recipe, order in orders.items() if order == "auto" or order <= columns)[:MAX_RACERS]


def apply_cuts(recipe: Recipe, cuts: Mapping[str, Any]) -> Recipe:
    """Return the recipe with these cuts (discretize and n_bins), or with quantiles if it cannot use smooth levels."""
    try:
        return recipe.replace(**cuts)
    except RecipeError:
        return recipe.replace(discretize="quantile", n_bins=20)


@dataclass(frozen=True, slots=True)
class Example:
    """An example to try: a question, a data set and settings with a known outcome.

    Attributes:
        label, hint: of the chip.
        data: name of the demo set.
    """

    label: str
    hint: str
    data: str
    order: int
    question: str = FIRST_QUESTION


EXAMPLES = (
    Example("ALR is faster", "LED, pairs of columns: ALR needs a third of LR's iterations", "led", 2),
    Example("equally fast", "LED, single columns: there is little to gain", "led", 1),
    Example("perfect fit", "Tic-tac-toe is completely separable: the weights grow without end", "tic-tac-toe", 2),
    Example(
        "all orders",
        "Balance scale: single columns beside pairs, each with its own penalty, lower test log loss to a tenth",
        "balance-scale",
        2,
        "all-orders",
    ),
)
