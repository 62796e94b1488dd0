"""What is fitted on every set: the papers' fits in paper mode and, beside them, fits with a fixed penalty.

A racer is named by what it is ("alr2 paper" is alr of order 2 as the paper ran it; "alr2" has alpha 1, "lr2" 0.3, which
are not the default of the classes, alpha="auto"). A *group* is what one study
fits, so that the tables of the papers do not wait for the appendix.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from alrviz.fitting.recipe import Recipe, paper_mode

ORDERS = (1, 2, 3)


def _paper(family: str, order: int, **params: Any) -> Recipe:
    return paper_mode(Recipe(family, order=order)).replace(**params)


def _order_variants(name: str, family: str, **params: Any) -> dict[str, Recipe]:
    """The orders 2 and 3 of a variant in paper mode: name "{}" takes the order."""
    return {name.format(order): _paper(family, order, **params) for order in (2, 3)}


# [WANBIA-C] VI: the strengths of the pull, and what is pulled toward what.
STRENGTHS = tuple(10.0**power for power in range(-6, 7, 2))
PULLED_KINDS = {"lr1 to 0": ("lr", 0), "alr1 to 0": ("alr", 0), "alr1 to 1": ("alr", 1)}


def pull_name(name: str, strength: float) -> str:
    """Return the name of a racer of `PULLED_KINDS` at a strength."""
    return f"{name} alpha {strength:g}"


def _pull_recipe(family: str, center: int, strength: float | str) -> Recipe:
    start = "one" if center else "zero"
    return _paper(family, 1, alpha=strength, penalty="w", center=center, start=start)


def chosen_pull(name: str) -> str:
    """Return the name of a racer of `PULLED_KINDS` with its strength chosen by cross-validation on training rows."""
    return f"{name}, alpha chosen"


def _tables_fitted(structure: str, cross_tuning: bool) -> Recipe:
    return Recipe("elr", structure=structure, cross_tuning=cross_tuning)


# [WANBIA-C] IV.B: lr in units of its Hessian's diagonal. SciPy's L-BFGS-B cannot change the units as it goes: lr with
# the adaptive diagonal is set beside fits by the package's own L-BFGS.
_DIAGONALS = {
    name.format(order): _paper(family, order, **params)
    for order in (1, 2)
    for name, family, params in (
        ("lr{} paper diagonal", "lr", {"scale": "diagonal"}),
        ("lr{} paper lbfgs diagonal", "lr", {"scale": "diagonal-adaptive", "solver": "lbfgs"}),
        ("lr{} paper lbfgs", "lr", {"solver": "lbfgs"}),
        ("alr{} paper lbfgs", "alr", {"solver": "lbfgs"}),
    )
}


# [sALR] 5: the shares of tuples that it keeps; it learns in five passes of AdaGrad.
SHARES, GROWN_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 0.9), (0.6, 0.8, 0.9)


def selection_name(family: str, order: int, score: str, share: float) -> str:
    """Return the name of a racer that keeps a share of the tuples of the highest scores."""
    return f"{family}{order} {score} {share:g}"


def _selection_racers(order: int) -> dict[str, Recipe]:
    """[sALR]'s racers of an order: all tuples, shares of them by each score, and grown from below."""
    racers = {
        f"alr{order} adagrad": _paper("alr", order, solver="adagrad", max_iter=5),
        f"skdb{order - 1}": Recipe("kdb", k=order - 1, selective=True),
    }
    selections = [("salr", "mi", SHARES), ("hsalr", "mi", GROWN_SHARES), ("salr", "cv", SHARES)]
    for family, score, shares in (*selections, ("salr", "mi-mm", (0.6,)), ("salr", "gain", (0.6,))):
        for share in shares:
            racers[selection_name(family, order, score, share)] = _paper(family, order, selection=score, keep=share)
    for share in GROWN_SHARES if order > 2 else ():
        racers[selection_name("hsalr", order, "strong", share)] = _paper("hsalr", order, keep=share, grow="strong")
    cells = _paper("hsalr", order, keep=0.9, unseen="neutral").replace(unit="cell")
    return racers | {f"hsalr{order} cells 0.9": cells}


_CHOSEN_TUPLES = {order: _selection_racers(order) for order in (2, 3, 4)}

RACERS: Mapping[str, Recipe] = MappingProxyType(
    {
        **{f"{family}{order} paper": _paper(family, order) for order in ORDERS for family in ("lr", "alr", "anje")},
        **{f"a{n}de": Recipe("ande", n=n) for n in (1, 2)},
        "rf": Recipe("rf"),
        **{
            f"{family}{order}": Recipe(family, order=order, alpha=alpha)
            for order in ORDERS
            for family, alpha in (("lr", 0.3), ("alr", 1.0))
        },
        # A missing value of a row is left out of its sum, as [WANBIA-C] does, where the others make it a level.
        **{f"{family}1 paper skip": _paper(family, 1, missing="skip") for family in ("alr", "anje")},
        **_order_variants("alrj{} paper", "alr", scale="theta-gamma"),
        **_order_variants("alr{} paper from anje", "alr", start="anje"),
        "lr1 paper from nb": _paper("lr", 1, start="anje"),
        **_DIAGONALS,
        **_order_variants("lr{} paper cg", "lr", solver="cg"),
        **_order_variants("alr{} paper cg", "alr", solver="cg"),
        **{
            f"{family}{order} cv": Recipe(family, order=order, alpha="cv")
            for order in (2, 3)
            for family in ("lr", "alr")
        },
        **{
            pull_name(name, strength): _pull_recipe(family, center, strength)
            for name, (family, center) in PULLED_KINDS.items()
            for strength in STRENGTHS
        },
        **{chosen_pull(name): _pull_recipe(family, center, "cv") for name, (family, center) in PULLED_KINDS.items()},
        "nb": Recipe("anje", order=1),
        "tan": Recipe("tan", smoothing=1),
        **{f"elr {structure}": _tables_fitted(structure, True) for structure in ("nb", "tan")},
        **{f"elr {structure} to the end": _tables_fitted(structure, False) for structure in ("nb", "tan")},
        **_CHOSEN_TUPLES[2],
        **_CHOSEN_TUPLES[3],
        **_CHOSEN_TUPLES[4],
        "anje4 paper": _paper("anje", 4),
        "alr1 adagrad": _paper("alr", 1, solver="adagrad", max_iter=5),
    }
)
_VARIANTS = ("alrj", "from anje", "from nb", "lbfgs", "diagonal", "cg")
_CV_RACERS = tuple(name for name in RACERS if name.endswith("cv"))
VALIDATED = (
    *(f"{family}{order}{mode}" for order in (2, 3) for family in ("lr", "alr") for mode in (" paper", "")),
    *("lr2 paper lbfgs", "alr2 paper lbfgs", *_CV_RACERS),
)
VALIDATED_2 = tuple(name for name in VALIDATED if "2" in name)
_OTHER_FITS = tuple(name for name in RACERS if any(word in name for word in _VARIANTS))
# [WANBIA-C]'s figures 3 and 4, and the same at order 2.
PRECONDITIONERS = (
    *(f"{family}{order} paper" for order in (1, 2) for family in ("lr", "alr")),
    *("lr1 paper from nb", *_DIAGONALS),
)
FIRST_ORDER = ("lr1 paper", "alr1 paper", "anje1 paper")
_OTHER_WORDS = ("alpha", "elr", "nb", "tan", "skip")
# By order: what [sALR] sets beside one another; with the lowest, what has no tuples to choose.
TUPLES_CHOSEN: Mapping[int, tuple[str, ...]] = {
    order: (*(("nb", "alr1 adagrad", "rf") if order == 2 else ()), f"anje{order} paper", *names)
    for order, names in _CHOSEN_TUPLES.items()
}
_LATER = {*_CV_RACERS, "anje4 paper", "alr1 adagrad", *(name for names in _CHOSEN_TUPLES.values() for name in names)}
MAIN = tuple(
    name
    for name in RACERS
    if name not in _OTHER_FITS and name not in _LATER and not any(word in name.split() for word in _OTHER_WORDS)
)
# Beside the fits that they are compared with.
VARIANTS = (
    *("lr1 paper", "alr1 paper", "alr2 paper", "alr3 paper"),
    *(name for name in _OTHER_FITS if name not in PRECONDITIONERS),
)
PULLS = (*(pull_name(name, strength) for name in PULLED_KINDS for strength in STRENGTHS), *FIRST_ORDER)
TABLES_FITTED = ("nb", "tan", *(name for name in RACERS if name.startswith("elr")))
NESTED = (*FIRST_ORDER, *map(chosen_pull, PULLED_KINDS))
WITH_GAPS = tuple(f"{family} paper{way}" for family in ("alr1", "anje1") for way in ("", " skip"))
# Of MAIN: what the papers fitted, without order 3 and with it alone; fits with a fixed penalty.
PAPERS = tuple(name for name in MAIN if name.endswith("paper") or name in ("a1de", "a2de", "rf"))
THIRD_ORDER = ("anje3 paper", "a2de", "lr3 paper", "alr3 paper")
# The racer of one order less.
LOWER = dict(zip(THIRD_ORDER, ("anje2 paper", "a1de", "lr2 paper", "alr2 paper"), strict=True))
LOW_ORDERS = tuple(name for name in PAPERS if name not in THIRD_ORDER)
PENALISED = tuple(name for name in MAIN if name not in PAPERS)
