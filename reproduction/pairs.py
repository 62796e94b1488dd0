"""Two methods over sets: win-draw-loss beside the paper's, or a claim in words, and the verdict.

A *pair* says which measure of which two methods is compared, on which sets, and what was said of it:

    printed W-D-L    ours is set against it (`judge.judge_record`)
    "less"           the first is smaller than `factor` times the second on more sets than larger (`judge.judge_claim`)
    "like"           within a twentieth of each other (`judge.judge_like`)

Figures are rows with set, group, method and measures; a set counts where both methods have the measure, of equally
many rounds where rows say of how many. Of fewer than `ENOUGH` sets a claim about a mean loss is judged within each,
over its rows (`judge.judge_rows`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from alrviz.studies.statistics.significance import WinDrawLoss, geometric_mean_ratio, sign_test, win_draw_loss
from reproduction.compare import COLUMNS
from reproduction.item import verdicts
from reproduction.judge import (
    DIFFERS,
    ENOUGH,
    LIKE,
    NOT_RUN,
    SURE,
    UNDECIDED,
    alike,
    judge_claim,
    judge_like,
    judge_record,
    judge_rows,
    row_side,
    same_coin,
)
from reproduction.sets import BIG_SETS

DIGITS = 4  # to which 0-1 loss, bias and the like are rounded before they are equal
DRAW = 0.5 * 10.0**-DIGITS
# Measures of the printed counts, in the papers' order: they print the unbiased form of Kohavi and Wolpert's parts.
PRINTED_MEASURES = ("bias_unbiased", "variance_unbiased", "error", "rmse")
LARGE = 400  # rows from which a set is told apart where few sets were reached: the cheapest are the smallest
LARGEST = "largest"  # the group that [WANBIA-C] has beside all
LARGEST_ROWS = 10_000  # from which on sets are in it
FEW_SETS = 3  # sets: with fewer they are told by name
# Means over rows of a loss within 0 .. 1, and the power that makes it one: of learning curves squared errors.
_ROW_LOSSES = {"error": 1, "rmse": 2, "brier": 1, "first": 1, "early": 1, "last": 1}
_EXACT_MEASURES = ("n_iter", "parameters", "train_seconds", "classify_seconds", "to_goal")


@dataclass(frozen=True)
class Pair:
    """What is compared: see the module.

    record: the printed wins, draws and losses of the paper. group: "little", "big", LARGEST, or None for all sets.
    wrong: what is to be said of a printed p that is not the exact one. unjudged: the pair is listed without a verdict.
    factor: what the second is multiplied by before the two are compared.
    """

    measure: str
    a: str
    b: str
    expect: str = "less"
    record: tuple[int, int, int] | None = None
    group: str | None = None
    wrong: str = ""
    unjudged: bool = False
    factor: float = 1.0

    @property
    def words(self) -> str:
        """The two methods, in words."""
        return f"{self.a} vs {self.b}"


@dataclass(frozen=True)
class Comparison:
    """What came of a pair: the sets that both have, their values, W-D-L, the geometric mean of first over second.

    sizes: in words, what the sets' sizes tell (`_sizes`). rows: of each set, those that the measure is a mean over;
    none where that is not known.
    """

    sets: list[str]
    a: np.ndarray
    b: np.ndarray
    wins: WinDrawLoss
    ratio: float
    sizes: str = ""
    rows: np.ndarray = field(default_factory=lambda: np.empty(0))


def compare_pair(pair: Pair, figures: pd.DataFrame) -> Comparison:
    """Return the comparison of a pair on the sets of its group for which both methods have the measure."""
    if not len(figures) or pair.measure not in figures:
        return Comparison([], np.empty(0), np.empty(0), WinDrawLoss(0, 0, 0, 1.0), float("nan"))
    group_rows = _of_group(figures, pair.group)
    pair_rows = group_rows[group_rows["method"].isin((pair.a, pair.b))]
    rounds = pair_rows["rounds"].fillna(0) if "rounds" in pair_rows else pd.Series(0, index=pair_rows.index)
    values = pair_rows.assign(rounds=rounds).pivot_table(
        index=["set", "rounds"], columns="method", values=pair.measure, sort=False
    )
    values = values.reindex(columns=[pair.a, pair.b]).dropna().droplevel("rounds")
    a, b = values[pair.a].to_numpy(float), values[pair.b].to_numpy(float)
    digits = digits_of(pair.measure)
    wins, ratio = win_draw_loss(a, pair.factor * b, digits), geometric_mean_ratio(a, b)
    n_rows = group_rows.groupby("set")["rows"].max().reindex(values.index) if "rows" in group_rows else pd.Series()
    known_rows = n_rows.to_numpy(float) if len(n_rows) and n_rows.notna().all() else np.empty(0)
    return Comparison(list(values.index), a, b, wins, ratio, _sizes(values, group_rows, digits), known_rows)


def _of_group(figures: pd.DataFrame, group: str | None) -> pd.DataFrame:
    if group == LARGEST:
        return figures[figures["rows"] >= LARGEST_ROWS] if "rows" in figures else figures.iloc[:0]
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
        sizes = f"half have under {rows.median():,.0f} rows"
        parts.append(f"{sizes}, rank correlation of rows and ratio {ratio.corr(rows, method='spearman'):.2f}")
    return "; ".join(parts)


def verdict(pair: Pair, result: Comparison) -> str:
    """Return the verdict (`judge.VERDICTS`); "" for an unjudged pair.

    >>> ours = Comparison(["one"], np.array([1.0]), np.array([2.0]), WinDrawLoss(1, 0, 0, 1.0), 0.5)
    >>> verdict(Pair("error", "alr2", "lr2"), ours), verdict(Pair("error", "alr2", "lr2", record=(62, 3, 11)), ours)
    ('undecided', 'undecided')
    """
    if pair.unjudged:
        return ""
    if not result.sets:
        return NOT_RUN
    record = result.wins.wins, result.wins.losses
    if pair.record is not None:
        return judge_record(record, pair.record[::2])
    if sides := within_sets(pair, result):
        return judge_rows(sides)
    if pair.expect == "like":
        return judge_like(result.a, result.b, width_of(pair.measure))
    return judge_claim(*record)


def within_sets(pair: Pair, result: Comparison) -> list[int]:
    """Return of each set the side of a claim that its rows take (`judge.row_side`), in the order of `result.sets`.

    Empty where a sign test over the sets is possible, or where the measure is neither a mean of losses within 0 .. 1
    nor a number of parameters.
    """
    count = len(result.sets)
    if pair.measure == "parameters" and count < ENOUGH:  # the rows decide them: nothing is left to chance
        return np.sign(pair.factor * result.b - result.a).astype(int).tolist()
    if count >= ENOUGH or pair.measure not in _ROW_LOSSES or not len(result.rows):
        return []
    power = _ROW_LOSSES[pair.measure]
    sides = []
    for a, b, rows in zip(result.a**power, result.b**power, result.rows, strict=True):
        if pair.expect == "like":
            least, most = sorted((a, b))
            sides.append(row_side(most, min(1.0, LIKE**power * least), rows, count))
        else:
            sides.append(row_side(a, min(1.0, pair.factor**power * b), rows, count))
    return sides


def width_of(measure: str) -> float:
    """Return half of the width within which two figures of a measure are equal."""
    return 0.0 if measure in _EXACT_MEASURES else DRAW


def digits_of(measure: str) -> int | None:
    """Return to how many digits two figures of a measure are rounded before they are equal; None of counted ones."""
    return None if measure in _EXACT_MEASURES else DIGITS


def pair_lines(
    item: str, pairs: Sequence[Pair], figures: pd.DataFrame, reason: Callable[[Pair, Comparison], str] | None = None
) -> pd.DataFrame:
    """Return a line a pair (`COLUMNS`)."""
    lines = []
    for pair in pairs:
        result = compare_pair(pair, figures)
        word = verdict(pair, result)
        cause = (reason or likely)(pair, result) if word == DIFFERS else ""
        if word in (UNDECIDED, NOT_RUN):
            cause = "; ".join(part for part in (_missing_words(pair, result, figures), likely(pair, result)) if part)
        lines.append(
            {
                "item": item,
                "set": f"{pair.group or 'all'} sets",
                "method": pair.words,
                "quantity": pair.measure,
                "paper": _paper_words(pair),
                "source": "printed" if pair.record else "in words",
                "ours": _our_words(pair, result) if result.sets else "",
                "sd": np.nan,
                "splits": np.nan,
                "sets": len(result.sets),
                "verdict": word,
                "reason": "; ".join(part for part in (cause, pair.wrong) if part),
            }
        )
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _our_words(pair: Pair, result: Comparison) -> str:
    if sides := within_sets(pair, result):
        words = "the claim holds on {}, its opposite on {}" if pair.record is None else "lower on {}, higher on {}"
        words = words.format(sides.count(1), sides.count(-1))
        basis = "counted" if pair.measure == "parameters" else "over the rows of each set"
        return f"{record_words(result)}; {basis}, {words} of {len(sides)}"
    if pair.expect != "like":
        return record_words(result)
    near = alike(result.a, result.b, width_of(pair.measure))  # the verdict's own test counts these, not who is lower
    return (
        f"{record_words(result)}; within a twentieth on {near}, p {p_words(sign_test(near, len(result.sets) - near))}"
    )


def _missing_words(pair: Pair, result: Comparison, figures: pd.DataFrame) -> str:
    """What a pair without a verdict waits for."""
    group_rows = _of_group(figures, pair.group)
    skipped = (
        group_rows[group_rows["left_out"].notna() & group_rows["method"].isin((pair.a, pair.b))]
        if "left_out" in group_rows
        else group_rows.iloc[:0]
    )
    n_decided = result.wins.wins + result.wins.losses
    too_few = f"a sign test needs {ENOUGH} sets that are no draws"
    if sides := within_sets(pair, result):
        too_few = "the sets contradict each other" if any(sides) else "no set has rows enough"
    parts = [too_few if n_decided < ENOUGH else "beyond chance neither way"] if result.sets else []
    if pair.group == "big":
        parts.append(f"there are {len(BIG_SETS)} big ones")
    if len(skipped):
        parts.append(f"too much work on {skipped['set'].nunique()}")
    elif not result.sets:
        parts.append("not computed yet: no set has every fit of both")
    return ", ".join(parts)


def _paper_words(pair: Pair) -> str:
    if pair.unjudged:
        return ""
    if pair.record is None:
        times = "" if pair.factor == 1 else f" than {pair.factor:g} times the second"
        words = {"less": f"first is less{times}", "like": "about the same"}
        return words[pair.expect]
    wins, draws, losses = pair.record
    return f"{wins}/{draws}/{losses}, p {p_words(sign_test(wins, losses))}"


def record_words(result: Comparison) -> str:
    """Return W-D-L, p and the mean ratio in few words."""
    return f"{result.wins}, p {p_words(result.wins.p)}, mean ratio {result.ratio:.3g}"


def p_words(p: float) -> str:
    """Return p in few words: "< .001", ".049", "1"."""
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def likely(pair: Pair, result: Comparison) -> str:
    """Return what numbers alone can say of a pair that differs."""
    record_here, parts = result.wins, []
    if not result.sets:
        return ""
    if pair.record is not None:
        record, printed_sides = (record_here.wins, record_here.losses), pair.record[::2]
        if record_here.p > SURE or sign_test(*printed_sides) > SURE:
            parts.append(f"one share of wins would give both with p {p_words(same_coin(record, printed_sides))}")
    if len(result.sets) < FEW_SETS:
        parts.append(f"on {' and '.join(result.sets)} alone")
    if pair.measure.endswith("_seconds"):
        parts.append(f"medians {np.median(result.a):.2g} and {np.median(result.b):.2g} s, beside other work")
    return "; ".join(part for part in (*parts, result.sizes) if part)


def summarize_pairs(table: pd.DataFrame) -> str:
    """Return the figures of the first six pairs and the number of lines by verdict, as a sentence."""
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
        result = compare_pair(pair, figures)
        if result.sets:
            panel = f"{pair.measure}, {pair.group or 'all'}: {record_words(result)}"
            log = pair.measure in _EXACT_MEASURES
            lines += [
                {"panel": panel, "set": name, "x": x, "y": y, "x_name": pair.b, "y_name": pair.a, "log": log}
                for name, x, y in zip(result.sets, result.b, result.a, strict=True)
            ]
    return pd.DataFrame(lines)
