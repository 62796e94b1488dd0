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
            paper_values = {method: value for (its_set, method), value in paper.items() if its_set == paper_set}
            lines += [
                _line(item, name, method, quantity, value, source(method, quantity), verdict=NOT_RUN, reason=advice)
                for method, value in paper_values.items()
            ]
            continue
        for method, rows in of_set.groupby("method", sort=False):
            value = paper.get((paper_set, method), np.nan)
            origin = source(method, quantity) if np.isfinite(value) else ""
            lines.append(_measured_line(item, name, method, quantity, value, origin, rows, reason))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def order_lines(table: pd.DataFrame) -> pd.DataFrame:
    """Return a line a set (`COLUMNS`) of what `compared` gave: the order of its methods, ours beside the paper's."""
    lines = []
    for (item, name, quantity), set_lines in table.groupby(["item", "set", "quantity"], sort=False):
        pairs = set_lines[["ours", "paper"]].astype(float).dropna()
        if len(pairs):
            verdict, tau, p = judge_order(pairs["ours"].to_numpy(), pairs["paper"].to_numpy())
            words, tau_text = f"order of {len(pairs)} methods", f"Kendall's tau {tau:.2f}, p {p:.3f}"
            line = _line(item, name, words, quantity, np.nan, "printed", ours=tau_text, splits=1, verdict=verdict)
            lines.append(line | {"paper": "theirs"})
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _measured_line(
    item: str, name: str, method: str, quantity: str, value: float, source: str, rows: pd.DataFrame, reason: Reason
) -> dict[str, object]:
    column = rows[quantity].dropna() if quantity in rows else pd.Series(dtype=float)
    if column.empty:
        failures = [] if "failed" not in rows else rows["failed"].dropna().tolist()
        note = failures[0] if failures else "no split gave a figure"
        return _line(item, name, method, quantity, value, source, verdict=UNDECIDED, reason=note)
    middle, sd = _middle_and_spread(column, robust=quantity.endswith("_ms"))
    if not np.isfinite(value):
        word = ""
    elif quantity.endswith("_ms"):
        word = NOT_COMPARABLE
    else:
        word = judge_mean(value, middle, sd, len(column), HALF_DIGIT[quantity])
    note = reason(quantity, name, method) if word in (DIFFERS, NOT_COMPARABLE) else ""
    return _line(
        item, name, method, quantity, value, source, ours=middle, sd=sd, splits=len(column), verdict=word, reason=note
    )


def _middle_and_spread(values: pd.Series, robust: bool) -> tuple[float, float]:
    if robust:
        low, middle, high = values.quantile([0.25, 0.5, 0.75])
        return float(middle), float(high - low) / _NORMAL_RANGE
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _line(
    item: str, name: str, method: str, quantity: str, value: float, source: str, **fields: object
) -> dict[str, object]:
    labels = {"item": item, "set": name, "method": method, "quantity": quantity, "paper": value, "source": source}
    return labels | {"ours": np.nan, "sd": np.nan, "splits": 0, "sets": 1, "verdict": "", "reason": ""} | fields
