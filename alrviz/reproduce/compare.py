"""Ours beside the paper's: the mean over splits, how far it may stray, and the verdict.

    agrees    |ours - paper| <= 2 SD / sqrt(splits) + half a unit of the last printed digit
    differs   it is further away; the reason is told as far as it was found
    no data   the set is missing, or no fit came to an end

SD is the standard deviation of ours over the splits. Times are medians over splits, and their SD is the interquartile
range over that of a standard normal variable: one disturbance moves a mean and a standard deviation.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

COLUMNS = (
    "item", "set", "method", "quantity", "paper", "source", "ours", "sd", "splits", "sets", "verdict", "reason",
)  # fmt: skip
# Half a unit of the last digit that the paper prints.
HALF_DIGIT = {"accuracy": 0.05, "auc": 0.00005, "train_ms": 0.05}
_NORMAL_RANGE = 1.349

Paper = Mapping[tuple[str, str], float]  # by (the paper's name of the set, method)
Reason = Callable[[str, str, str], str]  # of (quantity, set, method)


def verdict(paper: float, ours: float, sd: float, splits: int, half_digit: float) -> str:
    """Return "agrees" or "differs".

    >>> verdict(96.5, 96.9, sd=1.5, splits=100, half_digit=0.05), verdict(96.5, 96.9, 1.5, 10, 0.05)
    ('differs', 'agrees')
    """
    spread = 2.0 * sd / np.sqrt(splits) if splits > 1 else 0.0
    return "agrees" if abs(ours - paper) <= spread + half_digit else "differs"


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
                _line(item, name, method, quantity, value, source(method, quantity), verdict="no data", reason=advice)
                for method, value in printed.items()
            ]
            continue
        for method, rows in of_set.groupby("method", sort=False):
            value = paper.get((paper_set, method), np.nan)
            told = source(method, quantity) if np.isfinite(value) else ""
            lines.append(_measured(item, name, method, quantity, value, told, rows, reason))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _measured(
    item: str, name: str, method: str, quantity: str, value: float, source: str, rows: pd.DataFrame, reason: Reason
) -> dict[str, object]:
    found = rows[quantity].dropna() if quantity in rows else pd.Series(dtype=float)
    if found.empty:
        failed = [] if "failed" not in rows else rows["failed"].dropna().tolist()
        why = failed[0] if failed else "no split gave a figure"
        return _line(item, name, method, quantity, value, source, verdict="no data", reason=why)
    ours, sd = _middle_and_spread(found, robust=quantity.endswith("_ms"))
    said = verdict(value, ours, sd, len(found), HALF_DIGIT[quantity]) if np.isfinite(value) else ""
    why = reason(quantity, name, method) if said == "differs" else ""
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
