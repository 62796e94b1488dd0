"""Which sets have no figures yet, and about how many seconds their fits need.

Seconds of a pass go with its work (rows x tuples x classes) about as a power: for each racer the power law is fitted to
the sets that have figures, in logarithms; where too few have, that of the racer one order below is taken. How large its
error is among the known sets is told beside it. What the law gives is near the median of such sets; their mean, of
which a sum is made, is above it: by as much as the mean of the known seconds over the law's (Duan's smearing).

How many passes a fit makes its work does not tell: a few dozen where the classes are soon apart, as many as it may
where no optimum is reached. So there are two figures: with as many as half of the known fits make, and with as many as
a fit may make.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reproduction.racers import LOWER, RACERS

FOLDS = 2
ENOUGH = 5  # sets from which a power law is fitted
Seconds = tuple[float, float]


@dataclass(frozen=True)
class Needed:
    """Names of the sets without figures by expected seconds, and the law's error.

    seconds: if all fits make as many passes as half of those known, and if they make as many as they may; None where
    the work of a set is not known, or no law for one of the racers that it lacks. factor: within which two of three
    known fits' seconds of a pass are of what the law says of them.
    """

    seconds: dict[str, Seconds | None]
    factor: float


@dataclass(frozen=True)
class _Law:
    """Of a racer: seconds of a pass by work, what their mean is above that, passes of the median fit, and the error."""

    power: np.ndarray
    above: float
    passes: float
    apart: np.ndarray

    @classmethod
    def of(cls, known: pd.DataFrame) -> "_Law | None":
        """Fit the law to rows with figures; None where too few know their work."""
        told = known[known["work"] > 0]  # a row of before this column was has figures, and is not in the law
        if len(told) < ENOUGH:
            return None
        passes = told["evaluations"].clip(lower=1).fillna(1)
        seconds = np.log((told["train_seconds"] + told["classify_seconds"]) / passes).to_numpy(float)
        works = np.log(told["work"].to_numpy(float))
        power = np.polyfit(works, seconds, 1)
        apart = seconds - np.polyval(power, works)
        return cls(power, float(np.exp(apart).mean()), float(passes.median()), np.abs(apart))

    def seconds(self, work: float, most: int) -> np.ndarray:
        """Return the seconds (2,) of a fit of so much work a pass, if `most` passes are allowed."""
        of_pass = self.above * float(np.exp(np.polyval(self.power, np.log(work))))
        return of_pass * np.array([self.passes, max(self.passes, most) if self.passes > 1 else 1])


def still_missing(rows: pd.DataFrame, sets: Sequence[str], racers: Sequence[str], rounds: int) -> Needed:
    """Return which of `sets` lack a racer's figures, with the seconds that the missing racers need.

    rows: of `over_sets`, with work. rounds: of FOLDS fits each.

    >>> about = {"method": "lr2 paper", "classify_seconds": 0.0, "evaluations": 10.0, "error": 0.0}
    >>> known = [about | {"set": f"s{k}", "work": 10.0**k, "train_seconds": 10.0**k} for k in range(6)]
    >>> new = about | {"set": "new", "work": 50.0, "train_seconds": np.nan, "error": np.nan}
    >>> needed = still_missing(pd.DataFrame([*known, new]), ["s1", "new"], ["lr2 paper"], 2)
    >>> few, most = needed.seconds["new"]  # 2 x 2 fits of 5 seconds a pass
    >>> round(few), round(most), round(needed.factor, 3)
    (200, 200000, 1.0)
    """
    rows = rows.reindex(columns=list(dict.fromkeys([*rows, "method", "set", "work", "error", "evaluations"])))
    known = rows[rows["error"].notna()]
    expected: dict[str, np.ndarray | None] = {}
    away: list[float] = []
    for racer in racers:
        law = _Law.of(known[known["method"] == racer]) or _Law.of(known[known["method"] == LOWER.get(racer, "")])
        away += [] if law is None else list(law.apart)
        works = rows[rows["method"] == racer].groupby("set")["work"].max()
        for name in set(sets) - set(known.loc[known["method"] == racer, "set"]):
            so_far, work = expected.get(name, np.zeros(2)), works.get(name, np.nan)
            if law is None or so_far is None or not work > 0:
                expected[name] = None
                continue
            expected[name] = so_far + FOLDS * rounds * law.seconds(work, RACERS[racer].params.get("max_iter", 1))
    told = {name: None if both is None else (float(both[0]), float(both[1])) for name, both in expected.items()}
    by_seconds = sorted(told.items(), key=lambda one: (one[1] is None, one[1] or (0.0, 0.0), one[0]))
    return Needed(dict(by_seconds), float(np.exp(np.quantile(away, 2 / 3))) if away else float("nan"))
