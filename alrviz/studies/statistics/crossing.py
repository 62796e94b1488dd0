"""Where learning curves of one family cross: from how many rows on a higher order is better than the one below."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

MIN_ROWS = 20  # means over fewer rows are too noisy to tell which order is better


@dataclass(frozen=True, slots=True)
class Crossing:
    """The crossing of two curves of one family whose orders are neighbours.

    Attributes:
        lower, higher: names of the racers of the lower and the higher order.
        racer: index of the racer of the higher order.
        seen: rows from which on the higher order is better at every point; None if it is not at the last point.
        from_start: whether it is better at every point from `MIN_ROWS` rows on.
        slight: whether the curves end within one standard error of their difference (False if that is unknown).
    """

    lower: str
    higher: str
    racer: int
    seen: int | None
    from_start: bool = False
    slight: bool = False


def family_of(label: str) -> str:
    """Return the family of a label; "nb" is AnJE of order 1."""
    return "anje" if label == "nb" else label


def crossings(curves: pd.DataFrame, measure: str) -> list[Crossing]:
    """Return a crossing for each pair of neighbouring orders of a family that has one curve for each order.

    curves: the summary of `learning_curve` (racer, label, name, order, seen and the measures). Families with two curves
    of one order (two solvers, say) are left out, as the order alone does not tell which of them cross.
    """
    result = []
    stable = curves[curves["seen"] >= MIN_ROWS]
    for _, family in stable.groupby(stable["label"].map(family_of), sort=False):
        racers = family.drop_duplicates("racer").sort_values("order")
        if racers["order"].duplicated().any():
            continue
        curves_by_racer = family.pivot_table(index="seen", columns="racer", values=measure)
        errors = dict(zip(family["racer"], family.get(f"{measure}_se", family["seen"] * np.nan), strict=True))
        names = dict(zip(racers["racer"], racers["name"], strict=True))
        for low, high in zip(racers["racer"], racers["racer"][1:], strict=False):
            common_rows, error = curves_by_racer[[low, high]].dropna(), float(np.hypot(errors[low], errors[high]))
            result.append(
                _crossing(common_rows[low], common_rows[high], str(names[low]), str(names[high]), int(high), error)
            )
    return result


def _crossing(low: pd.Series, high: pd.Series, lower: str, higher: str, racer: int, error: float) -> Crossing:
    is_lower = (high < low).to_numpy()
    slight = bool(len(is_lower)) and bool(abs(high.iloc[-1] - low.iloc[-1]) < error)
    if not len(is_lower) or not is_lower[-1]:
        return Crossing(lower, higher, racer, None, slight=slight)
    points_above = np.flatnonzero(~is_lower)
    first = int(points_above[-1]) + 1 if len(points_above) else 0
    return Crossing(lower, higher, racer, int(low.index[first]), from_start=first == 0, slight=slight)
