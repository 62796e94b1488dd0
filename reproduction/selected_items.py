"""What [sALR] shows of chosen tuples, and claims 12 and 13: data, in the paper's order.

[sALR] Zaidi, Petitjean, Webb: Efficient and effective accelerated hierarchical higher-order logistic regression for
large data quantities, SDM 2018. Its sets of 2.5 million rows and more are not held: their lines say where to get them.

On each set 2 x 2-fold, every racer in the paper's way (`racers.TUPLES_CHOSEN`). A sign test over sets
decides (`judge`), of a rule that says beforehand which way a set counts; what is shown of Covertype alone is undecided.
"""

from collections.abc import Sequence

import pandas as pd

from reproduction.compare import COLUMNS
from reproduction.decided import Claim, limited, paired
from reproduction.item import Frames, Item
from reproduction.judge import NOT_RUN
from reproduction.pairs import Pair
from reproduction.racers import GROWN_SHARES, SHARES, TUPLES_CHOSEN, selection_name
from reproduction.sets import COVERTYPE, NOT_HELD

STUDY, SIZES, ON_COVERTYPE = "selected", "sizes", "covertype"
MEASURES = ("error", "rmse", "parameters", "train_seconds")
NAMES = {"error": "0-1 loss", "parameters": "parameters", "train_seconds": "seconds of training"}
# Less than half is "far fewer", at most a twentieth more is "like".
FAR_FEWER, LIKE = 0.5, 1.05
# Table 2, t = 0.9 by MI: parameters in thousands, training seconds, 0-1 loss.
TABLE_2 = {
    "SUSY": {"alr2": (272, 460, 0.1989), "salr2": (256, 1287, 0.1985), "hsalr2": (108, 919, 0.1988)},
    "HIGGS": {"alr2": (258, 2316, 0.2629), "salr2": (243, 3219, 0.2620), "hsalr2": (121, 2200, 0.2600)},
}
_OUR_METHODS = {"alr2": "alr2 adagrad", "salr2": "salr2 mi 0.9", "hsalr2": "hsalr2 mi 0.9"}


def along_shares(figures: pd.DataFrame) -> pd.DataFrame:
    """Return rows and of each set, order and score the means over `SHARES`, where all are there ("salr3 cv, mean")."""
    if not len(figures) or "error" not in figures:
        return figures
    lines = []
    for name, of_set in figures[figures["error"].notna()].groupby("set", sort=False):
        by_method = of_set.drop_duplicates("method").set_index("method")
        for order in TUPLES_CHOSEN:
            for score in ("mi", "cv"):
                names = [selection_name("salr", order, score, share) for share in SHARES]
                if set(names) <= set(by_method.index):
                    first = by_method.loc[names[0]].to_dict()
                    means = by_method.loc[names, [m for m in MEASURES if m in by_method]].astype(float).mean().to_dict()
                    lines.append(first | means | {"set": name, "method": f"salr{order} {score}, mean"})
    return pd.concat([figures, pd.DataFrame(lines)], ignore_index=True) if lines else figures


def _points_along(measure: str, sets: tuple[str, ...] | None = None) -> Frames:
    """What a picture over shares shows: a panel for each set and order, a line for each family and score."""

    def points(figures: pd.DataFrame) -> pd.DataFrame:
        if not len(figures) or measure not in figures:
            return pd.DataFrame()
        known_rows = figures[figures[measure].notna()]
        lines = []
        for row in (known_rows if sets is None else known_rows[known_rows["set"].isin(sets)]).to_dict("records"):
            for order, names in TUPLES_CHOSEN.items():
                if row["method"] not in names:
                    continue
                panel, (kind, _, rest) = f"{row['set']}, n = {order}", str(row["method"]).partition(" ")
                score, _, share = rest.partition(" ")
                if share and kind != "rf":
                    lines.append(
                        {"panel": panel, "method": f"{kind[:-1]} {score}", "x": float(share), "y": row[measure]}
                    )
                elif row["method"] == f"alr{order} adagrad":
                    ends = (SHARES[0], SHARES[-1])
                    lines += [{"panel": panel, "method": "alr", "x": end, "y": row[measure]} for end in ends]
        if not lines:
            return pd.DataFrame()
        frame = pd.DataFrame(lines).sort_values("x", kind="stable")
        frame = frame.assign(x_name="share kept, t", y_name=NAMES[measure])
        return frame[frame.groupby(["panel", "method"])["x"].transform("size") > 1]  # a point is no line

    return points


def _item(
    name: str,
    title: str,
    text: str,
    pairs: tuple[Pair, ...],
    measure: str = "",
    sets: tuple[str, ...] | None = None,
    study: str = STUDY,
) -> Item:
    """An item of a study; with `measure` it shows that along the shares, of `sets` alone where they are given."""

    def derive(figures: pd.DataFrame) -> pd.DataFrame:
        return along_shares(figures if sets is None or not len(figures) else figures[figures["set"].isin(sets)])

    head = f"[sALR] {title}" if name.startswith("salr") else title
    shows = ("curves", _points_along(measure, sets)) if measure else None
    return paired(Claim(name, head, text, study, pairs), derive, shows)


def _not_held(item: Item, sets: tuple[str, ...], has_numbers: bool = False) -> Item:
    """The item with a line for each set that is not held; with `has_numbers` a line for each printed number."""

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        lines = []
        for entry in NOT_HELD:
            if entry.paper not in sets:
                continue
            rows = figures[figures["set"] == entry.name] if len(figures) else figures
            for method, values in TABLE_2[entry.paper].items() if has_numbers else [("all", (float("nan"),))]:
                for quantity, value in zip(("thousand parameters", "seconds", "0-1 loss"), values, strict=False):
                    name = quantity if has_numbers else "0-1 loss"
                    lines.append(_missing_line(item.name, entry.paper, entry.url, method, name, value, rows))
        return pd.concat([item.table(figures), pd.DataFrame(lines, columns=list(COLUMNS))], ignore_index=True)

    return Item(**{**vars(item), "table": table})


def _missing_line(
    item: str, name: str, url: str, method: str, quantity: str, paper: float, rows: pd.DataFrame
) -> dict[str, object]:
    """A line of a set that may not be held: the paper's number, and ours where someone has the set."""
    method_rows = rows[rows["method"] == _OUR_METHODS.get(method, "")] if "error" in rows else rows.iloc[:0]
    column, scale = {"thousand parameters": ("parameters", 1e-3), "seconds": ("train_seconds", 1.0)}.get(
        quantity, ("error", 1.0)
    )
    value = float(method_rows.iloc[0][column]) * scale if len(method_rows) else float("nan")
    missing = "missing" in rows and rows["missing"].notna().any()
    line: dict[str, object] = {"item": item, "set": name, "method": method, "quantity": quantity, "paper": paper}
    line |= {
        "source": "printed" if paper == paper else "",
        "ours": value if value == value else "",
        "sd": float("nan"),
        "splits": 0,
    }
    is_known = value == value
    reason = "" if is_known else f"not held: get it from {url}" if missing else "not computed yet"
    return line | {"sets": int(is_known), "verdict": "" if is_known else NOT_RUN, "reason": reason}


_COVERTYPE = (COVERTYPE.name,)
_HIGHER = (3, 4)


def _grown(
    measure: str,
    a: str,
    b: str,
    expect: str = "less",
    factor: float = 1.0,
    orders: Sequence[int] = _HIGHER,
    shares: Sequence[float] = GROWN_SHARES,
    unjudged: bool = False,
) -> tuple[Pair, ...]:
    """A pair for each order and share; "salr" and "hsalr" are by MI, "strong" is hsalr of strong growth."""
    return tuple(
        Pair(measure, _name(a, order, share), _name(b, order, share), expect, factor=factor, unjudged=unjudged)
        for order in orders
        for share in shares
    )


def _name(family: str, order: int, share: float) -> str:
    if family == "strong":
        return selection_name("hsalr", order, "strong", share)
    return f"alr{order} adagrad" if family == "alr" else selection_name(family, order, "mi", share)


SELECTED = (
    limited(
        "salr-4",
        "[sALR] 4: a pair of columns that tells only together, searched from below and looked at whole",
        "bottom-up: what was not selected is not grown; by mutual information from below the pair is missed, the "
        "gain of all pairs finds it",
        "twelve-bits",
    ),
    _not_held(
        _item(
            "salr-t2",
            "table 2: parameters, time and error of alr, salr and hsalr, n = 2, t = 0.9 by MI, SUSY and HIGGS",
            "hsalr has less than half of the parameters and the like error; here on the sets that are held",
            (
                *_grown("parameters", "hsalr", "salr", "less", FAR_FEWER, (2,), (0.9,)),
                *_grown("parameters", "salr", "alr", orders=(2,), shares=(0.9,), unjudged=True),  # it cannot have more
                *_grown("error", "hsalr", "salr", "less", LIKE, (2,), (0.9,)),
                *_grown("error", "hsalr", "alr", "less", LIKE, (2,), (0.9,)),
                *_grown("train_seconds", "hsalr", "salr", "less", 1.0, (2,), (0.9,)),
            ),
        ),
        ("SUSY", "HIGGS"),
        has_numbers=True,
    ),
    _not_held(
        _item(
            "salr-t3",
            "table 3: naive Bayes, alr1, alr2, salr2, hsalr2 and hsalr2(*), Activity and Avazu",
            "pairs err less than single columns; hsalr2 and hsalr2(*), which keeps cells, are smaller at a like error "
            "(factorization machines, which the paper has beside, are not here)",
            (
                Pair("error", "alr1 adagrad", "nb"),
                Pair("error", "salr2 mi 0.9", "alr1 adagrad"),
                Pair("parameters", "hsalr2 mi 0.9", "salr2 mi 0.9"),
                Pair("parameters", "hsalr2 cells 0.9", "hsalr2 mi 0.9"),
                Pair("error", "hsalr2 mi 0.9", "salr2 mi 0.9", factor=LIKE),
                Pair("error", "hsalr2 cells 0.9", "salr2 mi 0.9", factor=LIKE),
            ),
        ),
        ("Activity", "Avazu"),
    ),
    _not_held(
        _item(
            "salr-f2",
            "figure 2: 0-1 loss of alr by AdaGrad, s(K)DB of the same order, AnJE, naive Bayes and a forest",
            "alr errs less than s(K)DB and AnJE of its order; of order 4 it comes near the forest",
            (
                *(Pair("error", f"alr{n} adagrad", f"skdb{n - 1}") for n in TUPLES_CHOSEN),
                *(Pair("error", f"alr{n} adagrad", f"anje{n} paper") for n in TUPLES_CHOSEN),
                *(Pair("error", f"alr{n} adagrad", "rf", factor=LIKE) for n in TUPLES_CHOSEN),
            ),
        ),
        ("SUSY", "HIGGS"),
    ),
    _item(
        "salr-f3",
        "figure 3: 0-1 loss along t, by MI and by CVscore, n = 2, 3, 4, Covertype",
        "n = 2: MI beats CVscore, and with t = 0.6 all tuples; n = 3, 4: CVscore beats MI, both beat all tuples",
        (
            Pair("error", "salr2 mi, mean", "salr2 cv, mean"),
            Pair("error", "salr2 mi 0.6", "alr2 adagrad"),
            *(Pair("error", f"salr{n} cv, mean", f"salr{n} mi, mean") for n in _HIGHER),
            *(Pair("error", f"salr{n} {score} 0.9", f"alr{n} adagrad") for n in _HIGHER for score in ("mi", "cv")),
            *(
                Pair("error", f"salr{n} mi 0.6", f"salr{n} {score} 0.6", unjudged=True)
                for n in TUPLES_CHOSEN
                for score in ("mi-mm", "gain")
            ),
        ),
        "error",
        _COVERTYPE,
    ),
    _not_held(
        _item(
            "salr-f4",
            "figure 4: 0-1 loss along t, by MI and by CVscore, n = 2, SUSY and HIGGS",
            "similar to Covertype; here on the sets that are held",
            (Pair("error", "salr2 mi, mean", "salr2 cv, mean"),),
            "error",
        ),
        ("SUSY", "HIGGS"),
    ),
    _item(
        "salr-f5",
        "figure 5: parameters of salr and hsalr along t by MI, n = 3, 4, Covertype, by both growths",
        "hsalr has greatly fewer; a tuple is a candidate where one part was kept (mi) or all of them (strong)",
        (
            *_grown("parameters", "hsalr", "salr", "less", FAR_FEWER),
            *_grown("parameters", "strong", "salr", "less", FAR_FEWER),
        ),
        "parameters",
        _COVERTYPE,
        SIZES,
    ),
    _item(
        "salr-f6",
        "figure 6: training time of alr, salr and hsalr along t by MI, n = 3, 4, Covertype",
        "hsalr trains in greatly less time than salr and alr",
        (
            *_grown("train_seconds", "hsalr", "salr"),
            *_grown("train_seconds", "hsalr", "alr"),
            *_grown("train_seconds", "strong", "salr", unjudged=True),
        ),
        "train_seconds",
        _COVERTYPE,
        ON_COVERTYPE,
    ),
    _item(
        "salr-f7",
        "figure 7: 0-1 loss of alr, salr and hsalr along t by MI, n = 3, 4, Covertype",
        "no great difference of salr and hsalr, but for t = 0.6 at n = 3",
        (
            *_grown("error", "hsalr", "salr", "less", LIKE),
            *_grown("error", "strong", "salr", "less", LIKE),
            *_grown("error", "strong", "alr", "less", LIKE),
        ),
        "error",
        _COVERTYPE,
        ON_COVERTYPE,
    ),
    _item(
        "c12",
        "Claim 12: tuples chosen by CVscore err less than by MI for n >= 3",
        "the lower 0-1 loss in the mean over t = 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, on more sets than chance gives",
        (
            *(Pair("error", f"salr{n} cv, mean", f"salr{n} mi, mean") for n in _HIGHER),
            Pair("error", "salr2 cv, mean", "salr2 mi, mean", unjudged=True),
        ),
    ),
    _item(
        "c13",
        "Claim 13: hsalr has far fewer parameters than salr at a like error, n >= 3",
        "under half of the parameters and at most 1.05 times the 0-1 loss, on more sets than chance gives",
        (
            *_grown("parameters", "hsalr", "salr", "less", FAR_FEWER),
            *_grown("error", "hsalr", "salr", "less", LIKE),
            *(
                Pair(measure, selection_name("hsalr", n, "strong", share), _name("salr", n, share), unjudged=True)
                for measure in ("parameters", "error")
                for n in _HIGHER
                for share in GROWN_SHARES
            ),
        ),
    ),
    _item(
        "c23",
        "Claim 23: hsalr has far fewer parameters than salr if it grows strongly, n >= 3",
        "ours: under half on more sets than chance gives, where a tuple needs all its parts kept (strong), not where "
        "one suffices (mi)",
        (
            *_grown("parameters", "strong", "salr", "less", FAR_FEWER),
            *_grown("parameters", "hsalr", "salr", unjudged=True),
        ),
        "parameters",
        study=SIZES,
    ),
)
