"""Settings that several families share, and those of the encoding, which every recipe has.

A family lists its own settings first, so that widgets show them first. If a shared one means something else in a
family,
the family replaces the part that differs: `replace(SMOOTHING, help=...)`.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from alrviz.errors import RecipeError
from alrviz.fitting.families.param import Param
from alrviz.fitting.solvers.solver_support import NEEDS, SOLVER_NAMES

if TYPE_CHECKING:
    from alrviz.fitting.fit_settings import FitSettings


def _is_penalised(recipe: "FitSettings") -> bool:
    return recipe.params.get("alpha", 0) not in (0, None)


def _is_cut(recipe: "FitSettings") -> bool:
    return recipe.cuts != "keep"  # a family may take numbers as they are


def _class_weights(weights: Mapping[Any, Any]) -> Mapping[Any, float]:
    number = Param(1.0, low=0.0, high=1e12)
    return MappingProxyType({_label(k): number.check(f"class_weight[{k!r}]", w) for k, w in weights.items()})


def _label(label: Any) -> Any:
    """Return a class label as JSON has it."""
    plain = label.item() if hasattr(label, "item") else label
    if not isinstance(plain, str | int | float):
        raise RecipeError(f"class_weight names {label!r}; expected class labels, which are text, numbers or bools")
    return str(plain) if isinstance(plain, str) else plain


ORDER = Param(
    2, low=1, high=12, integer=True, keywords={"auto": "auto"}, label="Order n", term="order", key="o", highest=5,
    help="n: how many columns each tuple has. At most the number of columns.",
    meanings={
        "auto": "raised as long as the next order, at its own penalties, has a lower log loss on folds of the training "
        "rows (of more than 20,000 a third, where not nearly all are of one class), by more than one standard error",
    },
)  # fmt: skip
SCALE = Param(
    "none",
    {
        "none": "none", "diagonal": "diagonal", "diagonal-adaptive": "diagonal, at every step",
        "theta": "log theta (alr)", "theta-gamma": "gamma log theta (alrj)",
    },
    label="Scale", key="k", help="Units of the weights.",
    meanings={
        "none": "phi = w",
        "diagonal": "phi = w / sqrt(N_cell pi_k (1 - pi_k)), by the Hessian's diagonal",
        "diagonal-adaptive": "phi = w / sqrt(sum of p_k (1 - p_k) over the cell's rows), updated at every step "
        "(`weights_` are then phi)",
        "theta": "phi = w log theta",
        "theta-gamma": "phi = w gamma log theta, where w = 1 is AnJE",
    },
)  # fmt: skip
OBJECTIVE = Param(
    "nll", {"nll": "NLL (log loss)", "mse": "mean squared error", "hinge": "squared hinge"}, label="Objective", key="j",
    help="The loss of a row.",
    meanings={
        "nll": "-log p(y|x)",
        "mse": "the mean over classes of (p_k - 1[k = y])^2, which is not convex",
        "hinge": "the sum over other classes of max(0, 1 + s_k - s_y)^2 of the scores, which has no `predict_proba`",
    },
)  # fmt: skip
ALPHA = Param(
    "auto", link_default=0.3, low=0.0, high=1e12, keywords={"cv": "by inner folds", "auto": "automatic"},
    label="alpha: strength of the penalty", term="alpha", key="a", step=0.01, highest=1e9,
    help="Strength of the penalty alpha ||. - center||^2; 0 for none: then often no finite optimum exists "
    "(separation).",
    meanings={
        "cv": "chosen by validation log loss of three folds of the training rows (of one where they are over 20,000); "
        "`alpha_` says which, `alphas_` what was tried",
        "auto": "found as part of the fit, by descent on the validation log loss of three folds of the encoded "
        "training rows (of one where they are over 20,000), one alpha for each order where there are several",
    },
)  # fmt: skip
PENALTY = Param(
    "phi", {"phi": "phi", "w": "w"}, label="Penalty acts on", key="p", has_effect=_is_penalised,
    help="What the penalty is on.",
    meanings={"phi": "phi, comparable between families", "w": "the weights w"},
)  # fmt: skip
CENTER = Param(
    0, {0: "zero", 1: "one", "anje": "AnJE", "shares": "class shares"},
    label="Shrink toward", term="center", key="c",
    has_effect=_is_penalised, help="The point that the penalty shrinks toward, which a large alpha gives.",
    meanings={
        0: "every class has the same score", 1: "all w = 1", "anje": "the generative model of the same order",
        "shares": "every row has the class shares",
    },
)  # fmt: skip
START = Param(
    "zero", {"zero": "zero", "one": "one", "anje": "AnJE", "random": "random"},
    label="Start at", term="start", key="s",
    help="The model that the first step starts from.",
    meanings={
        "zero": "every class has the same score", "one": "all w = 1", "anje": "the generative model of the same order",
        "random": "weights drawn with standard deviation 0.1 (`random_state`)",
    },
)  # fmt: skip
SOLVER = Param(
    "auto", {"auto": "auto", **{name: SOLVER_NAMES[name] for name in NEEDS}}, label="Solver", key="v",
    help="L-BFGS, CG, gradient descent and TRON minimise along each line exactly. Where `max_memory` is too small for "
    '3 corrections of "tron", "lbfgs" takes its place, then "cg", or "gd" with scale="diagonal-adaptive".',
    meanings={
        "auto": '"lbfgsb" with bounds, "tron" with a penalty, else "lbfgs" (always with scale="diagonal-adaptive")',
        "lbfgs": "limited-memory BFGS",
        "cg": "conjugate gradients",
        "gd": "gradient descent",
        "tron": "trust region Newton",
        "lbfgsb": "SciPy's L-BFGS-B, the only one that keeps bounds",
        "sgd": "stochastic gradient descent, a row at a time; the step length is searched first",
        "adagrad": "the same with a step length for each weight",
        "averaged": "AdaGrad's weights averaged, for tables read in batches alone",
    },
)  # fmt: skip
MAX_ITER = Param(
    200, low=0, high=10_000_000, integer=True, label="Max iterations", key="i", step=100, highest=100_000,
    help="Steps after which the fit ends with a `ConvergenceWarning`; 0 leaves the start as it is.",
)  # fmt: skip
TOL = Param(
    1e-6, low=0.0, high=1.0, label="Tolerance (tol)", term="tolerance", key="t", step=1e-6,
    help="The fit ends when the objective falls by less than this share of itself over 5 steps and its slopes are "
    "below sqrt(tol) per row.",
)  # fmt: skip
MEMORY = Param(
    10, low=1, high=1000, integer=True, label="L-BFGS memory", key="y", highest=100,
    has_effect=lambda recipe: recipe.solver in ("lbfgs", "lbfgsb", "tron"),
    help="Number of corrections that L-BFGS stores, and TRON for its start and inner loops.",
)  # fmt: skip
SHARE = Param(
    "cell-class",
    {"cell-class": "each cell and class", "cell": "each cell", "tuple": "each tuple", "all": "all cells together"},
    label="Weight sharing", key="f",
    help="Which cells and classes share one weight. Every class has its own intercept in any case. Where phi = w (lr) "
    "a weight that classes share moves no probability: sharing is meant for weights that multiply log theta.",
    meanings={
        "cell-class": "one weight per cell and class",
        "cell": "one per cell, the same for every class",
        "tuple": "one per tuple",
        "all": "one for all cells",
    },
)  # fmt: skip
BOUNDS = Param(
    None, {None: "none", (0, 1): "0 to 1"}, label="Bounds on weights", key="e",
    help='Range of every weight, intercepts included; only the solver "lbfgsb" keeps it.',
)  # fmt: skip
SMOOTHING = Param(
    1.0, low=0.0, high=1e6, label="Smoothing m of theta", term="theta", key="m", step=0.1, highest=1e3,
    help="m of the m-estimates: log theta = log((N_cell,y + m / card) / (N_y + m)). 0 only where no logarithm of 0 "
    "follows.",
)  # fmt: skip
MISSING = Param(
    "level", {"level": "a level of their own", "skip": "ignored"}, label="Missing values", key="x",
    help="How missing values are treated.",
    meanings={"level": "as one more level, if training rows have it", "skip": "as no level"},
)  # fmt: skip
UNSEEN = Param(
    "neutral", {"neutral": "contribute 0", "m-estimate": "as the m-estimate has them"},
    label="Unseen cells", term="cell", key="u",
    help="What a cell without training rows adds to the scores.",
    meanings={"neutral": "nothing", "m-estimate": "what the m-estimate of an empty cell gives"},
)  # fmt: skip
CLASS_WEIGHT = Param(
    None, {None: "none", "balanced": "balanced"}, parse=_class_weights, label="Class weights", key="w",
    help='Factors of the rows of each class in the objective, by class label (1 for a label left out); "balanced": '
    "N / (C N_y). Counts, densities and log theta are left alone.",
)  # fmt: skip
COUNTED_CLASS_WEIGHT = replace(
    CLASS_WEIGHT,
    help="Factors of the weights of the rows of each class in all counts and in the class prior, by class label (1 for "
    'a label left out); "balanced": N / (C N_y).',
)

# The parameters of a linear family.
LINEAR: Mapping[str, Param] = {
    "scale": SCALE, "order": ORDER, "objective": OBJECTIVE, "alpha": ALPHA, "penalty": PENALTY, "center": CENTER,
    "start": START, "solver": SOLVER, "memory": MEMORY, "max_iter": MAX_ITER, "tol": TOL, "share": SHARE,
    "bounds": BOUNDS, "smoothing": SMOOTHING, "missing": MISSING, "unseen": UNSEEN, "class_weight": CLASS_WEIGHT,
}  # fmt: skip


def center_name(center: int | str) -> str:
    """Return a short name of the penalty's center: "0", "1" or "AnJE"."""
    return str(center) if isinstance(center, int) else CENTER.text(center)


ENCODING: Mapping[str, Param] = {
    "discretize": Param(
        "mdl",
        {
            "mdl": "MDL", "quantile": "quantiles", "uniform": "equal widths", "smooth": "smooth levels",
            "mdl-smooth": "MDL, else smooth", "auto": "smooth or MDL", None: "every value",
        },
        label="Discretise numeric columns by", term="MDL", key="d", has_effect=_is_cut,
        help="How `fit` cuts numeric columns into levels.",
        meanings={
            "smooth": "many levels, and in LR, ALR, HLR and HALR a penalty on differences of neighbours' weights, also "
            "along ordinal columns",
            "mdl-smooth": "MDL's cuts, and such levels of columns in which it finds none",
            "auto": '"smooth", or "mdl-smooth" where that loses less on validation rows',
            None: "every distinct value is a level",
        },
    ),
    "n_bins": Param(
        10, low=2, high=65_535, integer=True, label="Number of levels", key="b", highest=1000,
        has_effect=lambda recipe: _is_cut(recipe) and recipe.discretize in ("quantile", "uniform"),
        help='Levels of "quantile" and "uniform".',
    ),
    "holdout": Param(0.3, low=0.0, high=0.95, label="Test fraction", term="test rows", key="h", step=0.05),
    "seed": Param(0, low=0, high=2**32 - 1, integer=True),  # a link has one for all its recipes
}  # fmt: skip
