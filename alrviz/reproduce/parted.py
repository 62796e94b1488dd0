"""[ALR] 7.3: the printed 0-1 losses of lr and alr where they part, ours in paper mode and with alpha by validation."""

import numpy as np
import pandas as pd

from alrviz.reproduce.compare import COLUMNS, verdict
from alrviz.reproduce.item import Item
from alrviz.reproduce.reasons import reason_of

# [ALR] 7.3: 0-1 loss of lr and alr on the sets where they part; its phoneme is nettalk.
PARTED = {
    ("nettalk", 2): (0.1935, 0.2814),
    ("nettalk", 3): (0.2347, 0.4743),
    ("promoters", 2): (0.1132, 0.1717),
    ("lung-cancer", 3): (0.6125, 0.5625),
}


def parted_lines(figures: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of [ALR] 7.3: printed losses beside ours in paper mode; ours with alpha by validation beside."""
    lines = []
    for (name, order), printed in PARTED.items():
        for family, paper in zip(("lr", "alr"), printed, strict=True):
            for mode in ("paper", "cv"):
                own = figures[(figures["set"] == name) & (figures["method"] == f"{family}{order} {mode}")]
                own = own.dropna(subset=["error"]) if "error" in own else own.iloc[:0]
                lines.append(_parted(name, f"{family}{order} {mode}", paper if mode == "paper" else np.nan, own))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _parted(name: str, method: str, paper: float, own: pd.DataFrame) -> dict[str, object]:
    line: dict[str, object] = {"item": "alr-7.3", "set": name, "method": method, "quantity": "0-1 loss", "paper": paper}
    line |= {"source": "printed" if np.isfinite(paper) else "", "sets": 1, "reason": ""}
    if not len(own):
        return line | {
            "ours": np.nan,
            "sd": np.nan,
            "splits": 0,
            "sets": 0,
            "verdict": "no data",
            "reason": "not computed yet",
        }
    row = own.iloc[0]
    line |= {"ours": float(row["error"]), "sd": float(row["error_sd"]), "splits": int(row["fits"])}
    if not np.isfinite(paper):
        return line | {"verdict": ""}
    said = verdict(paper, float(row["error"]), float(row["error_sd"]), int(row["fits"]), 0.00005)
    return line | {"verdict": said, "reason": reason_of("alr-7.3") if said == "differs" else ""}


def parted_seen(table: pd.DataFrame) -> str:
    """Return the losses, set by set."""
    told = table[table["ours"].notna()]
    return "; ".join(f"{row.method} on {row.set} {row.ours:.3f}" for row in told.itertuples()) or "no data"


PARTED_ITEM = Item(
    "alr-7.3",
    "[ALR] 7.3: sets on which alr and lr part, and alpha chosen by validation",
    "validated",
    "lr and alr part on phoneme, promoters and lung-cancer for all rows can be fitted; alpha should be chosen",
    parted_lines,
    parted_seen,
)
