"""Ours beside the paper's, a set and a method a line: the mean over splits, how far it may stray, and the verdict.

SD is the standard deviation of ours over the splits; `judge.judge_mean` says what it allows. Milliseconds of another
machine are not comparable; the order of a set's methods by them is (`order_lines`). Times are
medians over splits, and their SD is the interquartile range over that of a standard normal variable: one disturbance
moves a mean and a standard deviation. Without a figure a line is undecided.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from reproduction.judge import DIFFERS, NOT_COMPARABLE, NOT_RUN, UNDECIDED, judge_mean, judge_order

COLUMNS = (
    "item", "set", "method", "quantity", "paper", "source", "ours", "sd", "splits", "sets", "verdict", "reason",
)  # fmt: skip
# Half a unit of the last digit that the paper prints.
HALF_DIGIT = {"accuracy": 0.05, "auc": 0.00005, "train_ms": 0.05}
_NORMAL_RANGE = 1.349
WOULD = "would agree"  # so the reason of a line of ours alone begins that would bring a printed figure

Paper = Mapping[tuple[str, str], float]  # by (the paper's name of the set, method)
Reason = Callable[[str, str, str], str]  # of (quantity, set, method)


def compared(
    item: str, quantity: str, figures: pd.DataFrame, paper: Paper, source: Callable[[str, str], str], reason: Reason
) -> pd.DataFrame:
    """Return a line a set and method (`COLUMNS`), in the order of `figures`.

    figures: rows of `split_rows`. paper: what it prints; a method or set it lacks stands there without a verdict.
    """
    lines = []
    if not len(figures):
        return pd.DataFrame(columns=list(COLUMNS))
    for (name, paper_set), of_set in figures.groupby(["set", "paper_set"], sort=False):
        if "missing" in of_set and of_set["missing"].notna().any():
            advice = of_set["missing"].iloc[0]
            printed = {method: value for (its_set, method), value in paper.items() if its_set == paper_set}
            lines += [
                _line(item, name, method, quantity, value, source(method, quantity), verdict=NOT_RUN, reason=advice)
                for method, value in printed.items()
            ]
            continue
        for method, rows in of_set.groupby("method", sort=False):
            value = paper.get((paper_set, method), np.nan)
            told = source(method, quantity) if np.isfinite(value) else ""
            lines.append(_measured(item, name, method, quantity, value, told, rows, reason))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def order_lines(table: pd.DataFrame) -> pd.DataFrame:
    """Return a line a set (`COLUMNS`) of what `compared` gave: the order of its methods, ours beside the paper's."""
    lines = []
    for (item, name, quantity), own in table.groupby(["item", "set", "quantity"], sort=False):
        both = own[["ours", "paper"]].astype(float).dropna()
        if len(both):
            said, tau, p = judge_order(both["ours"].to_numpy(), both["paper"].to_numpy())
            words, told = f"order of {len(both)} methods", f"Kendall's tau {tau:.2f}, p {p:.3f}"
            line = _line(item, name, words, quantity, np.nan, "printed", ours=told, splits=1, verdict=said)
            lines.append(line | {"paper": "theirs"})
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _measured(
    item: str, name: str, method: str, quantity: str, value: float, source: str, rows: pd.DataFrame, reason: Reason
) -> dict[str, object]:
    found = rows[quantity].dropna() if quantity in rows else pd.Series(dtype=float)
    if found.empty:
        failed = [] if "failed" not in rows else rows["failed"].dropna().tolist()
        why = failed[0] if failed else "no split gave a figure"
        return _line(item, name, method, quantity, value, source, verdict=UNDECIDED, reason=why)
    ours, sd = _middle_and_spread(found, robust=quantity.endswith("_ms"))
    if not np.isfinite(value):
        said = ""
    elif quantity.endswith("_ms"):
        said = NOT_COMPARABLE
    else:
        said = judge_mean(value, ours, sd, len(found), HALF_DIGIT[quantity])
    why = reason(quantity, name, method) if said in (DIFFERS, NOT_COMPARABLE) else ""
    return _line(
        item, name, method, quantity, value, source, ours=ours, sd=sd, splits=len(found), verdict=said, reason=why
    )


def _middle_and_spread(found: pd.Series, robust: bool) -> tuple[float, float]:
    if robust:
        low, middle, high = found.quantile([0.25, 0.5, 0.75])
        return float(middle), float(high - low) / _NORMAL_RANGE
    return float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else 0.0


def _line(
    item: str, name: str, method: str, quantity: str, value: float, source: str, **more: object
) -> dict[str, object]:
    about = {"item": item, "set": name, "method": method, "quantity": quantity, "paper": value, "source": source}
    return about | {"ours": np.nan, "sd": np.nan, "splits": 0, "sets": 1, "verdict": "", "reason": ""} | more
