"""The questions of the Convergence page: each chooses its racers from an order, an alpha and a seed.

Pure data: a question gives recipes and says which controls have an effect on it.
"""

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
# Room for both racers of the first screen to converge (lr needs 673 iterations there); separable tables end by
# themselves.
STEPS = 1000
ALPHAS = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
FIRST_ALPHA = 0.1  # alpha where a question needs a penalty and none was chosen

_COLUMNS = 9  # of a table for which no order is too high
MAX_PASSES = 10  # over a table larger than memory: [sALR]'s promise
_BY_ITSELF: Mapping[str, Any] = {"alpha": "auto", "solver": "auto"}
Racers = tuple[tuple[str, dict[str, Any]], ...]


def over_passes(recipes: Sequence[Recipe]) -> tuple[Recipe, ...]:
    """Return the racers as they are fitted to a table that is read in batches: in few passes, by a solver for these."""
    return tuple(_over_passes(recipe) for recipe in recipes)


def _over_passes(recipe: Recipe) -> Recipe:
    if not recipe.definition.streams or "max_iter" not in recipe.params:
        return recipe
    few = recipe.replace(max_iter=min(recipe.params["max_iter"], MAX_PASSES))
    if few.cuts in SMOOTH_WAYS:  # nor penalties by folds: these are of tables in memory
        few = few.replace(discretize="mdl" if few.discretize == "mdl-smooth" else "quantile")
    if few.params["alpha"] == "auto":
        few = few.replace(alpha=few.definition.params["alpha"].default)
    try:
        few.definition.check_stream(few.params, _COLUMNS)
    except RecipeError:
        few = few.replace(solver="auto")
    return few


def over_passes_words(recipes: Sequence[Recipe]) -> str:
    """What racers lose that are fitted to a table read in batches, "" where they stay as they are.

    >>> over_passes_words([Recipe("lr"), Recipe("hlr", alpha="auto", discretize="smooth")]).partition(":")[0]
    'Over all rows hlr has alpha 0.3 and 10 quantiles'
    """
    said = []
    for recipe, own in zip(recipes, over_passes(recipes), strict=True):
        alpha = [f"alpha {in_digits(own.params['alpha'])}"] if recipe.params.get("alpha") == "auto" else []
        changed = [*alpha, *([cuts_text(own)] if recipe.cuts != own.cuts else [])]
        said += [f"{recipe.label} has {' and '.join(changed)}"] if changed and own != recipe else []
    why = "what chooses alpha by itself, and smooth levels, take the rows of a table in memory again and again"
    return f"Over all rows {', '.join(said)}: {why}. Over the sample it has what was set." if said else ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    words: how the menu asks it. why: one line on what it shows. racers: of an order, families and parameters.
    pulls: whether it needs alpha above 0. orders: whether the order control has an effect.
    """

    words: str
    why: str
    racers: Callable[[int], Racers]
    pulls: bool = False
    orders: bool = True


def _starts(order: int) -> Racers:
    one: Racers = () if order == 1 else (("alr", {"start": "one"}),)  # at n = 1 it is AnJE
    return (
        ("lr", {"start": "zero"}),
        ("lr", {"start": "anje"}),
        ("alr", {"start": "zero"}),
        *one,
        ("alr", {"start": "anje"}),
    )


def _centers(order: int) -> Racers:
    one: Racers = () if order == 1 else (("alr", {"center": 1}),)
    return (
        ("alr", {"center": 0}),
        *one,
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
        orders=False,
    ),
    "start": Question(
        "Where to start?",
        "From nothing (0), from every weight at 1, or from the generative model AnJE.",
        _starts,
    ),
    "preconditioners": Question(
        "Which preconditioner?",
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
        orders=False,
    ),
    "all-orders": Question(
        "One order or all?",
        "lr has the cells of n columns alone; hlr and halr have those of 1 to n columns, and a penalty for each order. "
        "Every racer finds its penalties by itself, by folds of the training rows: the measure 'penalty of each order' "
        "shows them move.",
        lambda order: tuple(
            (family, {**_BY_ITSELF, "penalty": FAMILIES[family].params["penalty"].default})
            for family in ("lr", "hlr", "halr")
        ),
    ),
    "automatic": Question(
        "What does AutoClassifier take?",
        "AutoClassifier (alrviz.fit) tries orders 1, 2, ... of hlr on folds of the training rows, with a penalty for "
        "each order and smooth levels of numbers, and takes what loses least; beside it lr of one order. The measure "
        "'penalty of each order' shows its trials.",
        lambda order: (
            ("lr", {"order": 1, **_BY_ITSELF}),
            ("lr", {"order": 2, **_BY_ITSELF}),
            ("hlr", {**AUTOMATIC.params, "discretize": AUTOMATIC.discretize}),
        ),
        orders=False,
    ),
    "pull": Question(
        "Shrink toward 0, 1 or AnJE?",
        "What the penalty shrinks toward decides what a strong alpha leaves: nothing, or a generative model.",
        _centers,
        pulls=True,
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
        orders=False,
    ),
}
FIRST = "alr-or-lr"
OWN = "own"  # racers the reader has put together


def recipes_of(
    question: str,
    *,
    order: int = 2,
    alpha: float = 0.0,
    seed: int = 0,
    columns: int = 12,
    cuts: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Recipe, ...]:
    """The racers of a question; orders above the number of columns are left out. cuts: discretize and n_bins."""
    asked = QUESTIONS.get(question) or QUESTIONS[FIRST]
    order = min(order, columns)
    alpha = alpha or (FIRST_ALPHA if asked.pulls else 0.0)
    common: dict[str, Any] = {"alpha": alpha, "penalty": "phi", "max_iter": STEPS, "start": "zero", "solver": "lbfgs"}
    found = []
    for family, params in asked.racers(order):
        shared = {name: value for name, value in (common | {"order": order}).items() if name in FAMILIES[family].params}
        recipe = Recipe(family, seed=seed, **{**shared, **params})
        found.append(recipe if "discretize" in params else cut_by(recipe, cuts))
    orders = {recipe: recipe.params.get("order", 1) for recipe in found}
    return tuple(of for of, order in orders.items() if order == "auto" or order <= columns)[:MAX_RACERS]


def cut_by(recipe: Recipe, cuts: Mapping[str, Any]) -> Recipe:
    """Return the recipe with these cuts, discretize and n_bins; with quantiles where it takes no smooth levels."""
    try:
        return recipe.replace(**cuts)
    except RecipeError:
        return recipe.replace(discretize="quantile", n_bins=20)


@dataclass(frozen=True, slots=True)
class Example:
    """A chip beside the picture: a question, a set and settings whose outcome is known."""

    words: str
    hint: str
    data: str
    order: int
    question: str = FIRST


EXAMPLES = (
    Example("ALR wins", "LED, pairs of columns: ALR needs a third of LR's iterations", "led", 2),
    Example("tie", "LED, single columns: there is little to gain", "led", 1),
    Example("no finite optimum", "Tic-tac-toe is completely separable: the weights grow without end", "tic-tac-toe", 2),
    Example(
        "all orders",
        "Balance scale: single columns beside pairs, each with its own penalty, lower test log loss to a tenth",
        "balance-scale",
        2,
        "all-orders",
    ),
)
