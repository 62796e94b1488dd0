"""Claims that a number decides: it is measured and must keep to one side of a limit.

A row has set, method, quantity, ours, limit and above (True where ours must be above the limit, else at most it);
ours is NaN where not all that it is made of was computed.
"""

import numpy as np
import pandas as pd

from reproduction.compare import COLUMNS
from reproduction.judge import AGREES, DIFFERS, NOT_RUN, UNDECIDED, judge_claim
from reproduction.kept import Row


def limit_row(name: str, method: str, quantity: str, value: float, limit: float, is_floor: bool = False) -> Row:
    """Return the row of a figure (`value`) and its limit, above which it must be if the limit `is_floor`."""
    return {"set": name, "method": method, "quantity": quantity, "ours": value, "limit": limit, "above": is_floor}


def limit_lines(item: str, figures: pd.DataFrame, reason: str = "") -> pd.DataFrame:
    """Return a line a row (`COLUMNS`): it agrees where it keeps to its side of the limit; NaN is undecided."""
    lines = []
    for row in figures.to_dict("records"):
        keeps = row["ours"] > row["limit"] if row["above"] else row["ours"] <= row["limit"]
        sign, is_known = ">" if row["above"] else "<=", not np.isnan(row["ours"])
        cause = reason if is_known else "not computed yet"
        lines.append(
            {
                "item": item,
                "set": row["set"],
                "method": row["method"],
                "quantity": row["quantity"],
                "paper": f"{sign} {row['limit']:g}",
                "source": "in words",
                "ours": f"{row['ours']:.3g}" if is_known else np.nan,
                "sd": np.nan,
                "splits": 1,
                "sets": int(is_known),
                "verdict": (AGREES if keeps else DIFFERS) if is_known else NOT_RUN,
                "reason": "" if keeps else cause,
            }
        )
    return pd.DataFrame(lines, columns=list(COLUMNS))


def drawn_lines(item: str, figures: pd.DataFrame, reason: str = "") -> pd.DataFrame:
    """Return a line a method and quantity of rows that are draws of a random table each, of which most must keep to
    the limit: one draw, or few, tell nothing.
    """
    lines = limit_lines(item, figures, reason)
    merged = []
    for _, draws in lines.groupby(["method", "quantity", "paper"], sort=False):
        runs = draws[draws["verdict"] != NOT_RUN]
        n_kept = int((runs["verdict"] == AGREES).sum())
        verdict = judge_claim(n_kept, len(runs) - n_kept) if len(runs) else NOT_RUN
        text = f"{n_kept} of {len(runs)} draws, median {runs['ours'].astype(float).median():.3g}" if len(runs) else ""
        row = {"set": f"{len(draws)} draws", "paper": f"most {draws['paper'].iloc[0]}", "ours": text, "sets": len(runs)}
        causes = {DIFFERS: reason, UNDECIDED: "beyond chance neither way", NOT_RUN: "not computed yet"}
        merged.append(draws.iloc[0].to_dict() | row | {"verdict": verdict, "reason": causes.get(verdict, "")})
    return pd.DataFrame(merged, columns=list(COLUMNS))


def limit_points(table: pd.DataFrame) -> pd.DataFrame:
    """Return what a picture of limits shows of a table: set, method, ours, paper (the limit), sd, verdict, log.

    Of many sets the first two dozen lines; a figure of 0 stands at 1e-17.
    """
    lines = table.head(24)
    values = lines["ours"].astype(float)
    limits = lines["paper"].str.split().str[-1].astype(float)
    small = (limits > 0) & (limits < 0.01)
    points = lines.assign(ours=values.where(~small, values.clip(lower=1e-17)), paper=limits, sd=np.nan)
    return points.assign(set=lines["quantity"], method=lines["set"] + ": " + lines["method"], log=small)


def limit_seen(table: pd.DataFrame) -> str:
    """Return how many keep to each limit of a quantity, and the figure that is nearest to it or furthest beyond."""
    numbers = pd.to_numeric(table["ours"], errors="coerce").notna()
    records = table[~numbers & table["ours"].notna() & (table["ours"] != "")]
    parts = [
        f"{row['quantity']} of {row['method']}: {row['ours']}" for row in records.to_dict("records") if row["ours"]
    ]
    for (quantity, limit), group in table[numbers].groupby(["quantity", "paper"], sort=False):
        values = group["ours"].astype(float)
        is_floor = str(limit).startswith(">")
        worst = values.min() if is_floor else values.max()
        n_kept = int((group["verdict"] == AGREES).sum())
        parts.append(f"{quantity}: {n_kept} of {len(group)} within {limit}, mean {values.mean():.3g}, "
                     f"worst {worst:.3g}")  # fmt: skip
    return "; ".join(parts) or "no figures"
