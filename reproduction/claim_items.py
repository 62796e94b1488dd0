"""Items that races, curves, limits and pulls toward a center decide: data, as `pair_items` has those of sets."""

from functools import partial

import pandas as pd

from reproduction import derived, toy
from reproduction.compare import COLUMNS
from reproduction.decided import Claim, Shows, by_draws, curved_item, limited, paired, pulled_item, raced_item
from reproduction.elr_trace import extremes
from reproduction.item import Item
from reproduction.limits import limit_points
from reproduction.pairs import Pair
from reproduction.racers import pull_name
from reproduction.trials import TRIALS, trial_lines, trials_seen

ALR, WANBIA, DLR, ELR = "[ALR] figure", "[WANBIA-C] figure", "[DLR] figure", "[ELR] figure"


def _goal(a: str, b: str) -> Pair:
    return Pair("to_goal", a, b)


_STEEPER = "alr follows the steeper path and is at its end sooner"
RACES = (
    raced_item("alr-f18", f"{ALR} 18: convergence of alr and lr, n = 2", _STEEPER, "races-2", (_goal("alr2", "lr2"),)),
    raced_item("alr-f19", f"{ALR} 19: convergence of alr and lr, n = 3", _STEEPER, "races-3", (_goal("alr3", "lr3"),)),
    raced_item(
        "alr-f20",
        f"{ALR} 20: convergence of alr and lr for n = 1, 2, 3 on localization",
        "alr's gain grows with n",
        "races-localization",
        tuple(_goal(f"alr{n} over lr{n}", f"alr{n - 1} over lr{n - 1}") for n in (2, 3)),
    ),
    raced_item(
        "alr-f25", f"{ALR} 25: the same by conjugate gradients, n = 2", _STEEPER, "races-cg2", (_goal("alr2", "lr2"),)
    ),
    raced_item(
        "alr-f26", f"{ALR} 26: the same by conjugate gradients, n = 3", _STEEPER, "races-cg3", (_goal("alr3", "lr3"),)
    ),
    *(
        raced_item(
            f"alr-f{29 + n}",
            f"{ALR} {29 + n}: convergence of alr, alrj and alr from AnJE, n = {n}",
            "from AnJE is quickest; alrj is slower than alr",
            f"races-{n}",
            (_goal(f"alr{n} from anje", f"alr{n}"), _goal(f"alr{n}", f"alrj{n}")),
        )
        for n in (2, 3)
    ),
    raced_item(
        "wanbia-f2",
        f"{WANBIA} 2: convergence of WANBIA-C and lr",
        "WANBIA-C rises more steeply",
        "races-1",
        (_goal("alr1", "lr1"),),
    ),
)
_FIRST = "lr of order 1 is best on few rows, order 3 on many: the curves cross"
CURVES = (
    curved_item(
        "alr-f1",
        f"{ALR} 1: KDB with k = 5 and naive Bayes on poker-hand, error against training rows",
        "naive Bayes is better on few rows, KDB on many",
        "kdb",
        (Pair("first", "nb", "kdb5"), Pair("last", "kdb5", "nb")),
    ),
    curved_item(
        "alr-f2",
        f"{ALR} 2: learning curves of lr, n = 1, 2, 3, by SGD",
        _FIRST,
        "crossing",
        tuple(
            pair
            for low, high in ((1, 2), (2, 3))
            for pair in (Pair("early", f"lr{low}", f"lr{high}"), Pair("last", f"lr{high}", f"lr{low}"))
        ),
    ),
    curved_item(
        "wanbia-f5",
        f"{WANBIA} 5: learning curves of WANBIA-C and lr, by SGD",
        "WANBIA-C begins and ends lower",
        "online",
        (Pair("early", "alr1", "lr1"), Pair("last", "alr1", "lr1")),
    ),
)


_PULL_TO_ONE, _PULL_TO_ONE_100 = "alr1 to 1, {}", pull_name("alr1 to 1", 100)
PULLS = (
    pulled_item(
        "wanbia-f6",
        f"{WANBIA} 6: the best alpha of lr, WANBIA-C toward zero and toward one",
        "toward zero nearly the same RMSE as lr's; toward one more varied",
        (
            Pair("rmse", "alr1 to 0, best", "lr1 to 0, best", "like"),
            Pair("rmse", _PULL_TO_ONE.format("best"), "lr1 to 0, best", unjudged=True),
            Pair(derived.DISTANCE, "alr1 to 0, best", _PULL_TO_ONE.format("best")),
        ),
    ),
    pulled_item(
        "wanbia-f7",
        f"{WANBIA} 7: RMSE along alpha on satellite",
        "toward one the best alpha, 100, is better than naive Bayes and than no penalty",
        (
            *(Pair("rmse", _PULL_TO_ONE_100, rival) for rival in ("anje1 paper", "alr1 paper")),
            Pair("rmse", _PULL_TO_ONE_100, _PULL_TO_ONE.format("best"), "like"),
        ),
        ("satellite",),
    ),
    pulled_item(
        "wanbia-f8",
        f"{WANBIA} 8: RMSE along alpha on pendigits, dermatology, optdigits",
        "regularisation improves some sets much, others hardly",
        tuple(Pair("rmse", f"{kind}, best", free) for kind, free in derived.UNPENALISED.items()),
        ("pendigits", "dermatology", "optdigits"),
    ),
)


def _errors(figures: pd.DataFrame) -> pd.DataFrame:
    if not len(figures) or "seen" not in figures:
        return pd.DataFrame()
    points = figures.dropna(subset=["seen"])
    names = {"x_name": "iterations + 1", "y_name": "0-1 loss"}
    return pd.DataFrame(
        names | {"panel": points["set"], "method": points["method"], "x": points["seen"] + 1, "y": points["error"]}
    )


ELR_ITEM = paired(
    Claim(
        "elr-f1",
        f"{ELR} 1: ELR's error on training rows and on others against iterations",
        "the error on training rows goes on falling where that on others rises again",
        "elr",
        (
            Pair("error", "training, end", "training, start"),
            Pair("error", "held out, tuned", "held out, end"),
            Pair("error", "held out, lowest", "held out, end", unjudged=True),  # a minimum: it cannot be above
        ),
    ),
    extremes,
    ("curves", _errors),
)


# -- claims -----------------------------------------------------------------------------------------------------------

_TOP = "Claim {}: {}"
CLAIMS: tuple[Item, ...] = (
    limited(
        "c1",
        _TOP.format(1, "one F whatever the family and the start"),
        "the same F to 1e-8, alpha 1e-3 on phi; without a penalty too where every distinct row has every class",
        "optimum",
    ),
    limited("c2", _TOP.format(2, "A1JE = naive Bayes = KDB0 = A0DE"), "the same to 1e-12", "tables"),
    limited("c3", _TOP.format(3, "alr started at AnJE is AnJE before its first step"), "the same to 1e-12", "no-step"),
    limited(
        "c5",
        _TOP.format(5, "alr's gain grows with n on skewed columns"),
        "iterations over lr's fall with n",
        "races-zipf",
        derived.zipf_lines,
    ),
    curved_item(
        "c7",
        _TOP.format(7, "learning curves cross"),
        "low orders lead on few rows, order 3 on many (class planted at order 3)",
        "planted",
        tuple(
            pair
            for family in ("lr", "alr", "anje")
            for pair in (
                Pair("early", f"{family}1", f"{family}3"),
                Pair("last", f"{family}3", f"{family}1"),
                Pair("last", f"{family}3", f"{family}2"),
            )
        ),
    ),
    limited(
        "c8", _TOP.format(8, "lr2 beats lr3 on poker-hand at half a million rows"), "lr2 has the lower loss", "poker"
    ),
    pulled_item(
        "c10",
        _TOP.format(10, "shrinkage toward one runs from alr to naive Bayes; RMSE may dip between"),
        "the same RMSE at both ends, and the best alpha between them below both",
        (
            Pair("rmse", _PULL_TO_ONE.format("strongest"), "anje1 paper", "like"),
            Pair("rmse", _PULL_TO_ONE.format("weakest"), "alr1 paper", "like"),
            # The best of seven alphas on the test folds, one of which is nearly either end: it cannot be above.
            Pair("rmse", _PULL_TO_ONE.format("best"), "anje1 paper", unjudged=True),
            Pair("rmse", _PULL_TO_ONE.format("best"), "alr1 paper", unjudged=True),
        ),
    ),
    curved_item(
        "c11",
        _TOP.format(11, "one-pass SGD: alr below lr"),
        "alr's curve begins and ends lower",
        "one-pass",
        tuple(
            Pair(measure, f"alr{n}{theta}", f"lr{n}")
            for n in (1, 2)
            for theta in ("", " single-pass")
            for measure in ("early", "last", "mean")
        ),
    ),
    limited(
        "c14",
        _TOP.format(14, "DLR with w = 1 is naive Bayes with kernel densities; it beats lr on non-monotone columns"),
        "the same; more rows right than lr",
        "density",
    ),
    by_draws(
        limited(
            "c15",
            _TOP.format(15, "bandwidths settle in about three outer steps"),
            "about three (at most four counts), on most draws of the three classes",
            "settles",
        )
    ),
    limited(
        "c17",
        _TOP.format(17, "DLR's time grows linearly in rows"),
        "seconds ~ rows (p up to 1.2 counts)",
        "dlr-growth",
        partial(derived.growth_lines, "c17"),
    ),
    limited(
        "c18",
        _TOP.format(18, "a polynomial kernel of degree 2 on the one-hot spans lr2 and its lower orders"),
        "nothing of them is out of reach",
        "polynomial",
    ),
    Item(
        TRIALS,
        _TOP.format(21, "why lines differ: each reason, put to a run that could refute it"),
        "trials",
        "ours: what is told of lines that differ must show in a run that is made for it",
        trial_lines,
        trials_seen,
        "limits",
        lambda figures: limit_points(trial_lines(figures)),
    ),
)


def _maps(*methods: str) -> Shows:
    def selected(figures: pd.DataFrame) -> pd.DataFrame:
        return figures[figures["method"].isin(methods) & (figures[["map", "points"]].notna().any(axis=1))]

    return "maps", lambda figures: selected(figures) if {"map", "points"} <= set(figures) else figures.iloc[:0]


def _h_curves(figures: pd.DataFrame) -> pd.DataFrame:
    if "h" not in figures:
        return pd.DataFrame()
    points = figures[figures["h"].notna()]
    names = {"x_name": "outer steps", "y_name": "bandwidth h"}
    return pd.DataFrame(
        names | {"panel": points["set"], "method": points["method"], "x": points["seen"], "y": points["h"]}
    )


def _no_lines(figures: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(columns=list(COLUMNS))


TOY = (
    Item(
        "dlr-f2",
        f"{DLR} 2: the toy",
        "toy",
        "two classes, each of two long clouds that cross the other's",
        _no_lines,
        lambda table: "the same four Gaussians, drawn anew",
        *_maps("points"),
    ),
    *(
        limited(
            f"dlr-f{number}",
            f"{DLR} {number}: p of {method} over the toy's plane",
            f"accuracy {toy.ACCURACY[method]} %",
            "toy",
            partial(toy.accuracy_lines, f"dlr-f{number}", method),
            _maps(method, "points"),
        )
        for number, method in ((3, "lr"), (4, "dlr"))
    ),
    limited(
        "dlr-f5",
        f"{DLR} 5: Algorithm 1 on three classes",
        "h is near its best after three iterations",
        "toy",
        partial(toy.settled_lines, "dlr-f5"),
        ("curves", _h_curves),
    ),
)
