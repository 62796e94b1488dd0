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
        n_rows: rows from which on the higher order is better at every point; None if it is not at the last point.
        from_start: whether it is better at every point from `MIN_ROWS` rows on.
        slight: whether the curves end within one standard error of their difference (False if that is unknown).
    """

    lower: str
    higher: str
    racer: int
    n_rows: int | None
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
    found_crossings = []
    stable_rows = curves[curves["seen"] >= MIN_ROWS]
    for _, family in stable_rows.groupby(stable_rows["label"].map(family_of), sort=False):
        racer_rows = family.drop_duplicates("racer").sort_values("order")
        if racer_rows["order"].duplicated().any():
            continue
        curves_by_racer = family.pivot_table(index="seen", columns="racer", values=measure)
        errors = dict(zip(family["racer"], family.get(f"{measure}_se", family["seen"] * np.nan), strict=True))
        names = dict(zip(racer_rows["racer"], racer_rows["name"], strict=True))
        for lower, higher in zip(racer_rows["racer"], racer_rows["racer"][1:], strict=False):
            common_rows, error = (
                curves_by_racer[[lower, higher]].dropna(),
                float(np.hypot(errors[lower], errors[higher])),
            )
            found_crossings.append(
                _crossing(
                    common_rows[lower], common_rows[higher], str(names[lower]), str(names[higher]), int(higher), error
                )
            )
    return found_crossings


def _crossing(
    lower_losses: pd.Series, higher_losses: pd.Series, lower: str, higher: str, racer: int, error: float
) -> Crossing:
    """Return the crossing of two curves: losses of the lower and the higher order, indexed by rows seen.

    lower, higher: names of the racers; racer: index of the higher one; error: standard error of the difference at the
    end.
    """
    is_lower = (higher_losses < lower_losses).to_numpy()
    is_slight = bool(len(is_lower)) and bool(abs(higher_losses.iloc[-1] - lower_losses.iloc[-1]) < error)
    if not len(is_lower) or not is_lower[-1]:
        return Crossing(lower, higher, racer, None, slight=is_slight)
    points_above = np.flatnonzero(~is_lower)
    start = int(points_above[-1]) + 1 if len(points_above) else 0
    return Crossing(lower, higher, racer, int(lower_losses.index[start]), from_start=start == 0, slight=is_slight)
