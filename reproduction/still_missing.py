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
class MissingFits:
    """Names of the sets without figures by expected seconds, and the law's error.

    seconds: if all fits make as many passes as half of those known, and if they make as many as they may; None where
    the work of a set is not known, or no law for one of the racers that it lacks. factor: within which two of three
    known fits' seconds of a pass are of what the law says of them.
    """

    seconds: dict[str, Seconds | None]
    factor: float


@dataclass(frozen=True)
class _Law:
    """A racer's law of seconds a pass: coefficients, mean over law, passes of the median fit, |log errors|."""

    power: np.ndarray
    mean_factor: float
    passes: float
    residuals: np.ndarray

    @classmethod
    def fit(cls, rows: pd.DataFrame) -> "_Law | None":
        """Fit the law to rows with figures; None where too few know their work."""
        usable = rows[rows["work"] > 0]  # a row of before this column was has figures, and is not in the law
        if len(usable) < ENOUGH:
            return None
        passes = usable["evaluations"].clip(lower=1).fillna(1)
        seconds = np.log((usable["train_seconds"] + usable["classify_seconds"]) / passes).to_numpy(float)
        works = np.log(usable["work"].to_numpy(float))
        power = np.polyfit(works, seconds, 1)
        residuals = seconds - np.polyval(power, works)
        return cls(power, float(np.exp(residuals).mean()), float(passes.median()), np.abs(residuals))

    def seconds(self, work: float, max_passes: int) -> np.ndarray:
        """Return the seconds (2,) of a fit of `work` a pass, if `max_passes` passes are allowed."""
        of_pass = self.mean_factor * float(np.exp(np.polyval(self.power, np.log(work))))
        return of_pass * np.array([self.passes, max(self.passes, max_passes) if self.passes > 1 else 1])


def still_missing(rows: pd.DataFrame, sets: Sequence[str], racers: Sequence[str], rounds: int) -> MissingFits:
    """Return which of `sets` lack a racer's figures, with the seconds that the missing racers need.

    rows: of `over_sets`, with work. rounds: of FOLDS fits each.

    >>> fields = {"method": "lr2 paper", "classify_seconds": 0.0, "evaluations": 10.0, "error": 0.0}
    >>> known = [fields | {"set": f"s{k}", "work": 10.0**k, "train_seconds": 10.0**k} for k in range(6)]
    >>> new = fields | {"set": "new", "work": 50.0, "train_seconds": np.nan, "error": np.nan}
    >>> missing = still_missing(pd.DataFrame([*known, new]), ["s1", "new"], ["lr2 paper"], 2)
    >>> low, high = missing.seconds["new"]  # 2 x 2 fits of 5 seconds a pass
    >>> round(low), round(high), round(missing.factor, 3)
    (200, 200000, 1.0)
    """
    rows = rows.reindex(columns=list(dict.fromkeys([*rows, "method", "set", "work", "error", "evaluations"])))
    figures = rows[rows["error"].notna()]
    seconds_by_set: dict[str, np.ndarray | None] = {}
    residuals: list[float] = []
    for racer in racers:
        law = _Law.fit(figures[figures["method"] == racer]) or _Law.fit(
            figures[figures["method"] == LOWER.get(racer, "")]
        )
        residuals += [] if law is None else list(law.residuals)
        works = rows[rows["method"] == racer].groupby("set")["work"].max()
        for name in set(sets) - set(figures.loc[figures["method"] == racer, "set"]):
            so_far, work = seconds_by_set.get(name, np.zeros(2)), works.get(name, np.nan)
            if law is None or so_far is None or not work > 0:
                seconds_by_set[name] = None
                continue
            seconds_by_set[name] = so_far + FOLDS * rounds * law.seconds(work, RACERS[racer].params.get("max_iter", 1))
    seconds_pairs = {
        name: None if pair is None else (float(pair[0]), float(pair[1])) for name, pair in seconds_by_set.items()
    }
    by_seconds = sorted(seconds_pairs.items(), key=lambda item: (item[1] is None, item[1] or (0.0, 0.0), item[0]))
    return MissingFits(dict(by_seconds), float(np.exp(np.quantile(residuals, 2 / 3))) if residuals else float("nan"))
