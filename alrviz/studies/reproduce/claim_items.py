"""Items that curves, limits and pulls toward a center decide: data, as `pair_items` has those that sets decide."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from alrviz.studies.reproduce import derived, toy
from alrviz.studies.reproduce.compare import COLUMNS, verdict
from alrviz.studies.reproduce.elr_trace import extremes
from alrviz.studies.reproduce.item import Frames, Item
from alrviz.studies.reproduce.limits import limit_lines, limit_points, limit_seen
from alrviz.studies.reproduce.pair_items import Claim
from alrviz.studies.reproduce.pairs import Found, Pair, likely, pair_lines, points, seen
from alrviz.studies.reproduce.races import to_goals
from alrviz.studies.reproduce.reasons import reason_of

ALR, WANBIA, DLR, ELR = "[ALR] figure", "[WANBIA-C] figure", "[DLR] figure", "[ELR] figure"
Shows = tuple[str, Frames]  # kind of picture, from rows to what it shows


def _same(figures: pd.DataFrame) -> pd.DataFrame:
    return figures


def paired(claim: Claim, derive: Frames = _same, shows: Shows | None = None) -> Item:
    """Return the item of a claim that pairs decide; `derive` makes what is compared of the study's rows."""

    def why(pair: Pair, what: Found) -> str:
        return reason_of(claim.name, pair) or likely(pair, what)

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        return pair_lines(claim.name, claim.pairs, derive(figures), why)

    def scatter(figures: pd.DataFrame) -> pd.DataFrame:
        return points(claim.pairs, derive(figures))

    kind, shown = shows or ("scatter", scatter)
    return Item(claim.name, claim.title, claim.study, claim.said, table, seen, kind, shown)


def limited(
    name: str, title: str, said: str, study: str, lines: Frames | None = None, shows: Shows = ("limits", limit_points)
) -> Item:
    """Return the item of a claim that limits decide; `lines` makes the table where rows are not limits themselves."""

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        if lines is not None:
            return lines(figures)
        return limit_lines(name, figures if "limit" in figures else figures.iloc[:0], reason_of(name))

    kind, shown = shows
    return Item(
        name,
        title,
        study,
        said,
        table,
        limit_seen,
        kind,
        lambda figures: shown(table(figures)) if kind == "limits" else shown(figures),
    )


_CURVES: Shows = ("curves", derived.curve_points)
_RACES: Shows = ("curves", derived.race_points)
_PULLS: Shows = ("curves", derived.pull_points)


def _raced(name: str, title: str, said: str, study: str, pairs: tuple[Pair, ...]) -> Item:
    return paired(Claim(name, title, said, study, pairs), to_goals, _RACES)


def _goal(a: str, b: str) -> Pair:
    return Pair("to_goal", a, b)


def _curved(name: str, title: str, said: str, study: str, pairs: tuple[Pair, ...]) -> Item:
    return paired(Claim(name, title, said, study, pairs), derived.along_curves, _CURVES)


_STEEPER = "alr follows the steeper path and is at its end sooner"
RACES = (
    _raced("alr-f18", f"{ALR} 18: convergence of alr and lr, n = 2", _STEEPER, "races-2", (_goal("alr2", "lr2"),)),
    _raced("alr-f19", f"{ALR} 19: convergence of alr and lr, n = 3", _STEEPER, "races-3", (_goal("alr3", "lr3"),)),
    _raced(
        "alr-f20",
        f"{ALR} 20: convergence of alr and lr for n = 1, 2, 3 on localization",
        "alr's gain grows with n",
        "races-localization",
        tuple(_goal(f"alr{n}", f"lr{n}") for n in (1, 2, 3)),
    ),
    _raced(
        "alr-f25", f"{ALR} 25: the same by conjugate gradients, n = 2", _STEEPER, "races-cg2", (_goal("alr2", "lr2"),)
    ),
    _raced(
        "alr-f26", f"{ALR} 26: the same by conjugate gradients, n = 3", _STEEPER, "races-cg3", (_goal("alr3", "lr3"),)
    ),
    *(
        _raced(
            f"alr-f{29 + n}",
            f"{ALR} {29 + n}: convergence of alr, alrj and alr from AnJE, n = {n}",
            "from AnJE is quickest; alrj is slower than alr",
            f"races-{n}",
            (_goal(f"alr{n} from anje", f"alr{n}"), _goal(f"alr{n}", f"alrj{n}")),
        )
        for n in (2, 3)
    ),
    _raced(
        "wanbia-f2",
        f"{WANBIA} 2: convergence of WANBIA-C and lr",
        "WANBIA-C rises more steeply",
        "races-1",
        (_goal("alr1", "lr1"),),
    ),
)
_FIRST = "lr of order 1 is best on few rows, order 3 on many: the curves cross"
CURVES = (
    _curved(
        "alr-f1",
        f"{ALR} 1: KDB with k = 5 and naive Bayes on poker-hand, error against training rows",
        "naive Bayes is better on few rows, KDB on many",
        "kdb",
        (Pair("early", "nb", "kdb5"), Pair("last", "kdb5", "nb")),
    ),
    _curved(
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
    _curved(
        "wanbia-f5",
        f"{WANBIA} 5: learning curves of WANBIA-C and lr, by SGD",
        "WANBIA-C begins and ends lower",
        "online",
        (Pair("early", "alr1", "lr1"), Pair("last", "alr1", "lr1")),
    ),
)


def both(item: Item) -> Item:
    """Return an item of pairs whose study has rows with limits too: their lines stand below the pairs'."""

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        limits = figures[figures["limit"].notna()] if "limit" in figures else figures.iloc[:0]
        return pd.concat([item.table(figures), limit_lines(item.name, limits)], ignore_index=True)

    return replace(item, table=table)


def _pulled(name: str, title: str, said: str, pairs: tuple[Pair, ...], shown: tuple[str, ...] | None = None) -> Item:
    def derive(figures: pd.DataFrame) -> pd.DataFrame:
        own = figures if shown is None or not len(figures) else figures[figures["set"].isin(shown)]
        return derived.along_pulls(own)

    def curves(figures: pd.DataFrame) -> pd.DataFrame:
        own = figures if shown is None or not len(figures) else figures[figures["set"].isin(shown)]
        return derived.pull_points(own)

    shows: Shows | None = None if shown is None else ("curves", curves)
    return paired(Claim(name, title, said, "pulls", pairs), derive, shows)


_ONE = "alr1 to 1, {}"
PULLS = (
    _pulled(
        "wanbia-f6",
        f"{WANBIA} 6: the best alpha of lr, WANBIA-C toward zero and toward one",
        "toward zero nearly the same RMSE as lr's; toward one more varied",
        (
            Pair("rmse", "alr1 to 0, best", "lr1 to 0, best", "like"),
            Pair("rmse", _ONE.format("best"), "lr1 to 0, best", "like"),
        ),
    ),
    _pulled(
        "wanbia-f7",
        f"{WANBIA} 7: RMSE along alpha on satellite",
        "toward one the best alpha, 100, is better than naive Bayes and than no penalty",
        tuple(Pair("rmse", _ONE.format("best"), other) for other in ("anje1 paper", "alr1 paper")),
        ("satellite",),
    ),
    _pulled(
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
    own = figures.dropna(subset=["seen"])
    return pd.DataFrame({"panel": own["set"], "method": own["method"], "x": own["seen"] + 1, "y": own["error"]})


ELR_ITEM = paired(
    Claim(
        "elr-f1",
        f"{ELR} 1: ELR's error on training rows and on others against iterations",
        "the error on training rows goes on falling where that on others rises again",
        "elr",
        (
            Pair("error", "training, end", "training, start"),
            Pair("error", "held out, lowest", "held out, end"),
            Pair("error", "held out, tuned", "held out, end", beside=True),
        ),
    ),
    extremes,
    ("curves", _errors),
)


# -- printed 0-1 losses -----------------------------------------------------------------------------------------------

# [ALR] 7.3: 0-1 loss of lr and alr on the sets where they part; its phoneme is nettalk.
PARTED = {
    ("nettalk", 2): (0.1935, 0.2814),
    ("nettalk", 3): (0.2347, 0.4743),
    ("promoters", 2): (0.1132, 0.1717),
    ("lung-cancer", 3): (0.6125, 0.5625),
}
PARAMETERS = {2: 75_246, 3: 5_465_451}


def parted_lines(figures: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of [ALR] 7.3: printed losses beside ours in paper mode; ours with alpha by validation beside."""
    lines = []
    for (name, order), printed in PARTED.items():
        for family, paper in zip(("lr", "alr"), printed, strict=True):
            for mode in ("paper", "cv"):
                own = figures[(figures["set"] == name) & (figures["method"] == f"{family}{order} {mode}")]
                own = own.dropna(subset=["error"]) if "error" in own else own.iloc[:0]
                lines.append(_parted(name, f"{family}{order} {mode}", paper if mode == "paper" else np.nan, own))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _parted(name: str, method: str, paper: float, own: pd.DataFrame) -> dict[str, object]:
    line: dict[str, object] = {"item": "alr-7.3", "set": name, "method": method, "quantity": "0-1 loss", "paper": paper}
    line |= {"source": "printed" if np.isfinite(paper) else "", "sets": 1, "reason": ""}
    if not len(own):
        return line | {"ours": np.nan, "sd": np.nan, "splits": 0, "verdict": "no data", "reason": "not computed yet"}
    row = own.iloc[0]
    line |= {"ours": float(row["error"]), "sd": float(row["error_sd"]), "splits": int(row["fits"])}
    if not np.isfinite(paper):
        return line | {"verdict": ""}
    said = verdict(paper, float(row["error"]), float(row["error_sd"]), int(row["fits"]), 0.00005)
    return line | {"verdict": said, "reason": reason_of("alr-7.3") if said == "differs" else ""}


def parted_seen(table: pd.DataFrame) -> str:
    """Return the losses, set by set."""
    told = table[table["ours"].notna()]
    return "; ".join(f"{row.method} on {row.set} {row.ours:.3f}" for row in told.itertuples()) or "no data"


PARTED_ITEM = Item(
    "alr-7.3",
    "[ALR] 7.3: sets on which alr and lr part, and alpha chosen by validation",
    "validated",
    "lr and alr part on phoneme, promoters and lung-cancer for all rows can be fitted; alpha should be chosen",
    parted_lines,
    parted_seen,
)

# -- claims -----------------------------------------------------------------------------------------------------------

_TOP = "Claim {}: {}"
CLAIMS: tuple[Item, ...] = (
    limited(
        "c1",
        _TOP.format(1, "one F whatever the family and the start"),
        "the same F to 1e-8, alpha 1e-3 on phi",
        "optimum",
    ),
    limited("c2", _TOP.format(2, "A1JE = naive Bayes = KDB0 = A0DE"), "the same to 1e-12", "tables"),
    limited("c3", _TOP.format(3, "alr started at AnJE is AnJE before its first step"), "the same to 1e-12", "no-step"),
    limited(
        "c4",
        _TOP.format(4, "on Zipf columns alr needs a third of lr's iterations, from AnJE no more than from zero"),
        "at most 1/3, to within 0.1 % of the best NLL, n = 1, alpha 0",
        "races-zipf",
        partial(derived.zipf_lines, "c4"),
    ),
    limited(
        "c5",
        _TOP.format(5, "alr's gain grows with n on skewed columns"),
        "iterations over lr's fall with n",
        "races-zipf",
        partial(derived.zipf_lines, "c5"),
    ),
    _curved(
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
    _pulled(
        "c10",
        _TOP.format(10, "a pull toward one runs from alr to naive Bayes; RMSE may dip between"),
        "the same RMSE at both ends, and the best alpha between them below both",
        (
            Pair("rmse", _ONE.format("strongest"), "anje1 paper", "like"),
            Pair("rmse", _ONE.format("weakest"), "alr1 paper", "like"),
            Pair("rmse", _ONE.format("best"), "anje1 paper"),
            Pair("rmse", _ONE.format("best"), "alr1 paper"),
        ),
    ),
    _curved(
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
    limited(
        "c15",
        _TOP.format(15, "bandwidths settle in about three outer steps"),
        "about three (at most four counts)",
        "settles",
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
)


def _maps(*methods: str) -> Shows:
    def shown(figures: pd.DataFrame) -> pd.DataFrame:
        return figures[figures["method"].isin(methods) & (figures[["map", "points"]].notna().any(axis=1))]

    return "maps", lambda figures: shown(figures) if {"map", "points"} <= set(figures) else figures.iloc[:0]


def _h_curves(figures: pd.DataFrame) -> pd.DataFrame:
    if "h" not in figures:
        return pd.DataFrame()
    own = figures[figures["h"].notna()]
    return pd.DataFrame({"panel": own["set"], "method": own["method"], "x": own["seen"], "y": own["h"]})


def _nothing(figures: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(columns=list(COLUMNS))


TOY = (
    Item(
        "dlr-f2",
        f"{DLR} 2: the toy",
        "toy",
        "two classes, each of two long clouds that cross the other's",
        _nothing,
        lambda table: "the same four Gaussians, drawn anew",
        *_maps("points"),
    ),
    *(
        limited(
            f"dlr-f{number}",
            f"{DLR} {number}: p of {method} over the toy's plane",
            f"accuracy {toy.PRINTED[method]} %",
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
