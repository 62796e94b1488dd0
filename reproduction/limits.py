"""Claims that a number decides: it is measured and must keep to one side of a limit.

A row has set, method, quantity, ours, limit and above (True where ours must be above the limit, else at most it);
ours is NaN where not all that it is made of was computed.
"""

import numpy as np
import pandas as pd

from reproduction.compare import COLUMNS
from reproduction.judge import AGREES, DIFFERS, NOT_RUN, UNDECIDED, judge_claim
from reproduction.kept import Row


def limit_row(name: str, method: str, quantity: str, ours: float, limit: float, above: bool = False) -> Row:
    """Return the row of a figure and its limit: see the module."""
    return {"set": name, "method": method, "quantity": quantity, "ours": ours, "limit": limit, "above": above}


def limit_lines(item: str, figures: pd.DataFrame, reason: str = "") -> pd.DataFrame:
    """Return a line a row (`COLUMNS`): it agrees where it keeps to its side of the limit; NaN is undecided."""
    lines = []
    for row in figures.to_dict("records"):
        keeps = row["ours"] > row["limit"] if row["above"] else row["ours"] <= row["limit"]
        sign, known = ">" if row["above"] else "<=", not np.isnan(row["ours"])
        why = reason if known else "not computed yet"
        lines.append(
            {
                "item": item,
                "set": row["set"],
                "method": row["method"],
                "quantity": row["quantity"],
                "paper": f"{sign} {row['limit']:g}",
                "source": "in words",
                "ours": f"{row['ours']:.3g}" if known else np.nan,
                "sd": np.nan,
                "splits": 1,
                "sets": int(known),
                "verdict": (AGREES if keeps else DIFFERS) if known else NOT_RUN,
                "reason": "" if keeps else why,
            }
        )
    return pd.DataFrame(lines, columns=list(COLUMNS))


def drawn_lines(item: str, figures: pd.DataFrame, reason: str = "") -> pd.DataFrame:
    """Return a line a method and quantity of rows that are draws of a random table each, of which most must keep to
    the limit: one draw, or few, tell nothing.
    """
    lines = limit_lines(item, figures, reason)
    merged = []
    for _, own in lines.groupby(["method", "quantity", "paper"], sort=False):
        known = own[own["verdict"] != NOT_RUN]
        kept = int((known["verdict"] == AGREES).sum())
        said = judge_claim(kept, len(known) - kept) if len(known) else NOT_RUN
        told = f"{kept} of {len(known)} draws, median {known['ours'].astype(float).median():.3g}" if len(known) else ""
        about = {"set": f"{len(own)} draws", "paper": f"most {own['paper'].iloc[0]}", "ours": told, "sets": len(known)}
        why = {DIFFERS: reason, UNDECIDED: "beyond chance neither way", NOT_RUN: "not computed yet"}
        merged.append(own.iloc[0].to_dict() | about | {"verdict": said, "reason": why.get(said, "")})
    return pd.DataFrame(merged, columns=list(COLUMNS))


def limit_points(table: pd.DataFrame) -> pd.DataFrame:
    """Return what a picture of limits shows of a table: set, method, ours, paper (the limit), sd, verdict, log.

    Of many sets the first two dozen lines; a figure of 0 stands at 1e-17.
    """
    own = table.head(24)
    ours = own["ours"].astype(float)
    limits = own["paper"].str.split().str[-1].astype(float)
    small = (limits > 0) & (limits < 0.01)
    shown = own.assign(ours=ours.where(~small, ours.clip(lower=1e-17)), paper=limits, sd=np.nan)
    return shown.assign(set=own["quantity"], method=own["set"] + ": " + own["method"], log=small)


def limit_seen(table: pd.DataFrame) -> str:
    """Return how many keep to each limit of a quantity, and the figure that is nearest to it or furthest beyond."""
    numbers = pd.to_numeric(table["ours"], errors="coerce").notna()
    counted = table[~numbers & table["ours"].notna() & (table["ours"] != "")]
    parts = [
        f"{row['quantity']} of {row['method']}: {row['ours']}" for row in counted.to_dict("records") if row["ours"]
    ]
    for (quantity, limit), own in table[numbers].groupby(["quantity", "paper"], sort=False):
        values = own["ours"].astype(float)
        above = str(limit).startswith(">")
        worst = values.min() if above else values.max()
        kept = int((own["verdict"] == AGREES).sum())
        parts.append(f"{quantity}: {kept} of {len(own)} within {limit}, mean {values.mean():.3g}, "
                     f"worst {worst:.3g}")  # fmt: skip
    return "; ".join(parts) or "no figures"
