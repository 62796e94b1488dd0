"""Which sets have no figures yet, and about how many seconds their fits need.

Seconds of a fit go with its work (rows x tuples x classes of a pass) about as a power: for each racer the power law is
fitted to the sets that have figures, in logarithms. The number of passes differs from set to set, so that the law is
wrong by a factor; how large it is among the known sets is told beside it. What the law gives is near the median of such
sets; their mean, of which a sum is made, is above it: by as much as the mean of the known seconds over the law's
(Duan's smearing).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

FOLDS = 2
ENOUGH = 5  # sets from which a power law is fitted


@dataclass(frozen=True)
class Needed:
    """Names of the sets without figures by expected seconds, and the law's error.

    seconds: None where the work of a set is not known, or no law for one of the racers that it lacks.

    factor: within which two of three known fits are of what the law says of them.
    """

    seconds: dict[str, float | None]
    factor: float


def still_missing(rows: pd.DataFrame, sets: Sequence[str], racers: Sequence[str], rounds: int) -> Needed:
    """Return which of `sets` lack a racer's figures, with the seconds that the missing racers need.

    rows: of `over_sets`, with work. rounds: of FOLDS fits each.

    >>> about = {"method": "lr2", "train_seconds": np.nan, "classify_seconds": 0.0, "error": np.nan}
    >>> known = [about | {"set": f"s{k}", "work": 10.0**k, "train_seconds": 10.0**k, "error": 0} for k in range(6)]
    >>> needed = still_missing(pd.DataFrame([*known, about | {"set": "new", "work": 50.0}]), ["s1", "new"], ["lr2"], 2)
    >>> {name: round(seconds) for name, seconds in needed.seconds.items()}, round(needed.factor, 3)
    ({'new': 200}, 1.0)
    """
    expected: dict[str, float | None] = {}
    away = []
    for racer in racers:
        own = rows[rows["method"] == racer] if "method" in rows else rows.iloc[:0]
        own = own if "work" in own else own.assign(work=np.nan)
        there = own[own["error"].notna()] if len(own) else own
        told = there[there["work"] > 0]  # a row of before this column was has figures, and is not in the law
        law, above = None, 1.0
        if len(told) >= ENOUGH:
            seconds = np.log(told["train_seconds"] + told["classify_seconds"])
            law = np.polyfit(np.log(told["work"]), seconds, 1)
            apart = seconds - np.polyval(law, np.log(told["work"]))
            away += list(np.abs(apart))
            above = float(np.exp(apart).mean())
        for name in set(sets) - set(there["set"] if len(there) else ()):
            of_set = own.loc[own["set"] == name, "work"].dropna() if len(own) else own
            so_far = expected.get(name, 0.0)
            if law is None or not len(of_set) or so_far is None:
                expected[name] = None
                continue
            expected[name] = so_far + FOLDS * rounds * above * float(np.exp(np.polyval(law, np.log(of_set.iloc[0]))))
    by_seconds = sorted(expected.items(), key=lambda one: (one[1] is None, one[1] or 0.0, one[0]))
    return Needed(dict(by_seconds), float(np.exp(np.quantile(away, 2 / 3))) if away else float("nan"))
