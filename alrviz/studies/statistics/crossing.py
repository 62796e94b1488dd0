"""From how many rows on a higher order is ahead of the one below: where learning curves of one family cross."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

FIRST = 20  # rows; means over fewer say nothing about who is ahead


@dataclass(frozen=True, slots=True)
class Crossing:
    """Two curves of one family, of orders next to each other.

    Attributes:
        lower, higher: names of the racers of the lower and of the higher order.
        racer: of the higher order.
        seen: rows from which on the higher one is below at every point; None where it is not at the last one.
        from_start: whether it is at every point from `FIRST` rows on.
        slight: whether at the last point they differ by less than a standard error of the difference, if one is known.
    """

    lower: str
    higher: str
    racer: int
    seen: int | None
    from_start: bool = False
    slight: bool = False


def family_of(label: str) -> str:
    """Return the family whose orders a label is among: naive Bayes is AnJE of order 1."""
    return "anje" if label == "nb" else label


def crossings(curves: pd.DataFrame, measure: str) -> list[Crossing]:
    """Return a crossing for each two neighbouring orders of a family that has one curve an order.

    curves: a summary of `learning_curve` (racer, label, name, order, seen and the measures). Families with more curves
    of one order (two solvers) are left out: which of them would cross is not said by the order.
    """
    found = []
    told = curves[curves["seen"] >= FIRST]
    for _, family in told.groupby(told["label"].map(family_of), sort=False):
        racers = family.drop_duplicates("racer").sort_values("order")
        if racers["order"].duplicated().any():
            continue
        by_seen = family.pivot_table(index="seen", columns="racer", values=measure)
        errors = dict(zip(family["racer"], family.get(f"{measure}_se", family["seen"] * np.nan), strict=True))
        names = dict(zip(racers["racer"], racers["name"], strict=True))
        for low, high in zip(racers["racer"], racers["racer"][1:], strict=False):
            both, error = by_seen[[low, high]].dropna(), float(np.hypot(errors[low], errors[high]))
            found.append(_crossing(both[low], both[high], str(names[low]), str(names[high]), int(high), error))
    return found


def _crossing(low: pd.Series, high: pd.Series, lower: str, higher: str, racer: int, error: float) -> Crossing:
    ahead = (high < low).to_numpy()
    slight = bool(len(ahead)) and bool(abs(high.iloc[-1] - low.iloc[-1]) < error)
    if not len(ahead) or not ahead[-1]:
        return Crossing(lower, higher, racer, None, slight=slight)
    behind = np.flatnonzero(~ahead)
    first = int(behind[-1]) + 1 if len(behind) else 0
    return Crossing(lower, higher, racer, int(low.index[first]), from_start=first == 0, slight=slight)
