"""Two methods over sets: win-draw-loss beside the paper's, or a claim in words, and the verdict.

A *pair* says which measure of which two methods is compared, on which sets, and what was said of it:

    printed W-D-L    ours is set against it (`judge.judge_record`)
    "less"           the first is smaller than `factor` times the second on more sets than larger (`judge.judge_claim`)
    "mean less"      the first is lower in the mean of logarithms (`judge.judge_ratio`)
    "like"           within a twentieth of each other (`judge.judge_like`)

Figures are rows with set, group, method and measures; a set counts where both methods have the measure, of equally
many rounds where rows say of how many.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from alrviz.studies.statistics.significance import WinDrawLoss, geometric_mean_ratio, sign_test, win_draw_loss
from reproduction.compare import COLUMNS
from reproduction.item import verdicts
from reproduction.judge import (
    DIFFERS,
    ENOUGH,
    NOT_RUN,
    SURE,
    UNDECIDED,
    alike,
    judge_claim,
    judge_like,
    judge_ratio,
    judge_record,
    same_coin,
)
from reproduction.sets import BIG_SETS

DIGITS = 4  # to which 0-1 loss, bias and the like are rounded before they are equal
DRAW = 0.5 * 10.0**-DIGITS
# Measures of the printed counts, in the papers' order: they print the unbiased form of Kohavi and Wolpert's parts.
PRINTED = ("bias_unbiased", "variance_unbiased", "error", "rmse")
LARGE = 400  # rows from which a set is told apart where few sets were reached: the cheapest are the smallest
LARGEST, MANY = "largest", 10_000  # the group that [WANBIA-C] has beside all, and from which rows sets are in it
FEW = 3  # sets: with fewer they are told by name
_COUNTED = ("n_iter", "parameters", "train_seconds", "classify_seconds", "to_goal")


@dataclass(frozen=True)
class Pair:
    """What is compared: see the module.

    printed: the paper's wins, draws and losses. group: "little", "big", LARGEST, or None for all sets. wrong: what is
    to be said of a printed p that is not the exact one. beside: whether it is ours beside the paper's, without a
    verdict. factor: what the second is multiplied by before the two are compared.
    """

    measure: str
    a: str
    b: str
    expect: str = "less"
    printed: tuple[int, int, int] | None = None
    group: str | None = None
    wrong: str = ""
    beside: bool = False
    factor: float = 1.0

    @property
    def words(self) -> str:
        """The two methods, in words."""
        return f"{self.a} vs {self.b}"


@dataclass(frozen=True)
class Found:
    """What came of a pair: the sets that both have, their values, W-D-L, the geometric mean of first over second.

    sizes: in words, what the sets' sizes tell (`_sizes`).
    """

    sets: list[str]
    a: np.ndarray
    b: np.ndarray
    wins: WinDrawLoss
    ratio: float
    sizes: str = ""


def found(pair: Pair, figures: pd.DataFrame) -> Found:
    """Return what the figures say of a pair."""
    if not len(figures) or pair.measure not in figures:
        return Found([], np.empty(0), np.empty(0), WinDrawLoss(0, 0, 0, 1.0), float("nan"))
    own = _of_group(figures, pair.group)
    both = own[own["method"].isin((pair.a, pair.b))]
    rounds = both["rounds"].fillna(0) if "rounds" in both else pd.Series(0, index=both.index)
    values = both.assign(rounds=rounds).pivot_table(
        index=["set", "rounds"], columns="method", values=pair.measure, sort=False
    )
    values = values.reindex(columns=[pair.a, pair.b]).dropna().droplevel("rounds")
    a, b = values[pair.a].to_numpy(float), values[pair.b].to_numpy(float)
    digits = digits_of(pair.measure)
    wins, ratio = win_draw_loss(a, pair.factor * b, digits), geometric_mean_ratio(a, b)
    return Found(list(values.index), a, b, wins, ratio, _sizes(values, own, digits))


def _of_group(figures: pd.DataFrame, group: str | None) -> pd.DataFrame:
    if group == LARGEST:
        return figures[figures["rows"] >= MANY] if "rows" in figures else figures.iloc[:0]
    return figures[figures["group"] == group] if group and "group" in figures else figures


def _sizes(values: pd.DataFrame, figures: pd.DataFrame, digits: int | None) -> str:
    """W-D-L on the sets of at least LARGE rows, where there are smaller ones too; how the ratio goes with the rows.

    Rank correlation of rows and first over second (each with half a draw's width more, for the zeros): below 0 the
    first stands the better the larger the set.
    """
    if "rows" not in figures or not len(values):
        return ""
    rows = figures.groupby("set")["rows"].max().reindex(values.index)
    parts = []
    large = values[rows >= LARGE].to_numpy(float)
    if len(large) not in (0, len(values)):
        wins = win_draw_loss(large[:, 0], large[:, 1], digits)
        parts.append(f"{wins} on the {len(large)} of them with {LARGE} rows or more")
    ratio = (values.iloc[:, 0] + DRAW) / (values.iloc[:, 1] + DRAW)
    if len(values) >= ENOUGH and rows.nunique() > 1 and ratio.nunique() > 1:
        told = f"half have under {rows.median():,.0f} rows"
        parts.append(f"{told}, rank correlation of rows and ratio {ratio.corr(rows, method='spearman'):.2f}")
    return "; ".join(parts)


def verdict(pair: Pair, what: Found) -> str:
    """Return the verdict (`judge.VERDICTS`); nothing for a pair that stands beside.

    >>> ours = Found(["one"], np.array([1.0]), np.array([2.0]), WinDrawLoss(1, 0, 0, 1.0), 0.5)
    >>> verdict(Pair("error", "alr2", "lr2"), ours), verdict(Pair("error", "alr2", "lr2", printed=(62, 3, 11)), ours)
    ('undecided', 'undecided')
    """
    if pair.beside:
        return ""
    if not what.sets:
        return NOT_RUN
    record = what.wins.wins, what.wins.losses
    if pair.printed is not None:
        return judge_record(record, pair.printed[::2])
    if pair.expect == "like":
        return judge_like(what.a, what.b, width_of(pair.measure))
    if pair.expect == "mean less":
        width = width_of(pair.measure)
        return judge_ratio(what.a + width, pair.factor * what.b + width)
    return judge_claim(*record)


def width_of(measure: str) -> float:
    """Return half of the width within which two figures of a measure are equal."""
    return 0.0 if measure in _COUNTED else DRAW


def digits_of(measure: str) -> int | None:
    """Return to how many digits two figures of a measure are rounded before they are equal; None of counted ones."""
    return None if measure in _COUNTED else DIGITS


def pair_lines(
    item: str, pairs: Sequence[Pair], figures: pd.DataFrame, reason: Callable[[Pair, Found], str] | None = None
) -> pd.DataFrame:
    """Return a line a pair (`COLUMNS`)."""
    lines = []
    for pair in pairs:
        what = found(pair, figures)
        said = verdict(pair, what)
        why = (reason or likely)(pair, what) if said == DIFFERS else ""
        if said in (UNDECIDED, NOT_RUN):
            why = "; ".join(part for part in (_lacking(pair, what, figures), likely(pair, what)) if part)
        lines.append(
            {
                "item": item,
                "set": f"{pair.group or 'all'} sets",
                "method": pair.words,
                "quantity": pair.measure,
                "paper": _told(pair),
                "source": "printed" if pair.printed else "in words",
                "ours": _ours(pair, what) if what.sets else "",
                "sd": np.nan,
                "splits": np.nan,
                "sets": len(what.sets),
                "verdict": said,
                "reason": "; ".join(part for part in (why, pair.wrong) if part),
            }
        )
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _ours(pair: Pair, what: Found) -> str:
    if pair.expect != "like":
        return shown(what)
    near = alike(what.a, what.b, width_of(pair.measure))  # the verdict's own test counts these, not who is lower
    return f"{shown(what)}; within a twentieth on {near}, p {p_words(sign_test(near, len(what.sets) - near))}"


def _lacking(pair: Pair, what: Found, figures: pd.DataFrame) -> str:
    """What a pair without a verdict waits for."""
    own = _of_group(figures, pair.group)
    left = own[own["left_out"].notna() & own["method"].isin((pair.a, pair.b))] if "left_out" in own else own.iloc[:0]
    counted = what.wins.wins + what.wins.losses
    few = f"a sign test needs {ENOUGH} sets that are no draws"
    parts = [few if counted < ENOUGH else "beyond chance neither way"] if what.sets else []
    if pair.group == "big":
        parts.append(f"there are {len(BIG_SETS)} big ones")
    if len(left):
        parts.append(f"too much work on {left['set'].nunique()}")
    elif not what.sets:
        parts.append("not computed yet: no set has every fit of both")
    return ", ".join(parts)


def _told(pair: Pair) -> str:
    if pair.beside:
        return ""
    if pair.printed is None:
        times = "" if pair.factor == 1 else f" than {pair.factor:g} times the second"
        said = {"less": f"first is less{times}", "mean less": "first is less in the mean", "like": "about the same"}
        return said[pair.expect]
    wins, draws, losses = pair.printed
    return f"{wins}/{draws}/{losses}, p {p_words(sign_test(wins, losses))}"


def shown(what: Found) -> str:
    """Return W-D-L, p and the mean ratio in few words."""
    return f"{what.wins}, p {p_words(what.wins.p)}, mean ratio {what.ratio:.3g}"


def p_words(p: float) -> str:
    """Return p in few words: "< .001", ".049", "1"."""
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def likely(pair: Pair, what: Found) -> str:
    """Return what numbers alone can say of a pair that differs."""
    ours, parts = what.wins, []
    if not what.sets:
        return ""
    if pair.printed is not None:
        record, printed = (ours.wins, ours.losses), pair.printed[::2]
        if ours.p > SURE or sign_test(*printed) > SURE:
            parts.append(f"one share of wins would give both with p {p_words(same_coin(record, printed))}")
    if len(what.sets) < FEW:
        parts.append(f"on {' and '.join(what.sets)} alone")
    if pair.measure.endswith("_seconds"):
        parts.append(f"medians {np.median(what.a):.2g} and {np.median(what.b):.2g} s, beside other work")
    return "; ".join(part for part in (*parts, what.sizes) if part)


def seen(table: pd.DataFrame) -> str:
    """Return what the lines come to: each pair's figures, and how many verdicts there are of each."""
    parts = [
        f"{row['quantity']} of {row['method']} ({row['set']}) {row['ours']}"
        for row in table.to_dict("records")
        if row["ours"] != "" and row["verdict"]
    ]
    return "; ".join([*parts[:6], verdicts(table)])


def points(pairs: Iterable[Pair], figures: pd.DataFrame) -> pd.DataFrame:
    """Return what a scatter of the pairs shows: panel, set, x (the second's value), y (the first's), log."""
    lines = []
    for pair in pairs:
        what = found(pair, figures)
        if what.sets:
            panel = f"{pair.measure}, {pair.group or 'all'}: {shown(what)}"
            log = pair.measure in _COUNTED
            lines += [
                {"panel": panel, "set": name, "x": x, "y": y, "x_name": pair.b, "y_name": pair.a, "log": log}
                for name, x, y in zip(what.sets, what.b, what.a, strict=True)
            ]
    return pd.DataFrame(lines)
