"""Demo sets of simulated patients whose risk is a known function: the age curve, mixed types.

    p(ill | x) = 1 / (1 + exp(-score(x)))

The age curve is not monotone: a model that is linear in age cannot follow it ([DLR], figure 1). Mixed types have
numbers, words, an order and missing values; a value that is missing adds nothing to the score.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

CLASSES = ("healthy", "ill")
_STAGES = ("I", "II", "III", "IV")
_REGIONS = ("north", "east", "south", "west", "islands")
_REGION_SHARES = (0.4, 0.3, 0.2, 0.09, 0.01)
_REGION_RISK = dict(zip(_REGIONS, (0.0, 0.8, -0.8, 0.4, -1.5), strict=True))
MISSING = 0.1  # share of missing pressures, independent of their values


def age_risk(age: np.ndarray) -> np.ndarray:
    """Return the part (N,) of the score due to age (N,) in years: high at birth, lowest near 29, highest near 68."""
    newborn, elderly = np.exp(-((age / 12) ** 2)), np.exp(-(((age - 68) / 16) ** 2))
    return -2.0 + 3.2 * newborn + 4.0 * elderly


def age_score(frame: pd.DataFrame) -> np.ndarray:
    """Return the score (N,) of the age curve, which depends on age and slightly on pressure."""
    return np.asarray(age_risk(frame["age"].to_numpy()) - 0.04 * (frame["pressure"].to_numpy() - 85))


def age_curve(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return patients with uniform ages from 0 to 95 years, and a pressure of little influence."""
    frame = pd.DataFrame({"age": rng.uniform(0, 95, rows).round(1), "pressure": rng.normal(85, 12, rows).round(1)})
    return _ill(frame, age_score, rng)


def mixed_score(frame: pd.DataFrame) -> np.ndarray:
    """Return the score (N,) of mixed types: a sum over temperature, log pressure, region, stage and smoking."""
    pressure = np.log(frame["pressure"].to_numpy() / 120)
    stage = frame["stage"].astype(object).map({name: k for k, name in enumerate(_STAGES)}).to_numpy(dtype=float)
    region = frame["region"].astype(object).map(_REGION_RISK).to_numpy(dtype=float)
    smoker = frame["smoker"].astype(object).to_numpy() == "yes"
    fever = np.abs(frame["temperature"].to_numpy() - 36.8)
    return np.asarray(
        -2.4 + 1.6 * np.minimum(fever, 2.5) + 5.0 * np.nan_to_num(pressure) + region + 0.7 * stage + 0.9 * smoker
    )


def mixed_types(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return patients with two numeric columns, one with missing values, two categorical ones and an ordinal one."""
    pressure = np.exp(rng.normal(np.log(120), 0.2, rows)).round(0)
    pressure[rng.random(rows) < MISSING] = np.nan
    frame = pd.DataFrame(
        {
            "temperature": rng.normal(37.0, 1.1, rows).round(1),
            "pressure": pressure,
            "region": np.array(_REGIONS, dtype=object)[rng.choice(len(_REGIONS), rows, p=_REGION_SHARES)],
            "stage": np.array(_STAGES, dtype=object)[rng.choice(len(_STAGES), rows, p=(0.4, 0.3, 0.2, 0.1))],
            "smoker": np.array(["no", "yes"], dtype=object)[rng.integers(0, 2, rows)],
        }
    )
    return _ill(frame, mixed_score, rng)


def truth(score: Callable[[pd.DataFrame], np.ndarray], frame: pd.DataFrame) -> np.ndarray:
    """Return p(healthy | x) and p(ill | x) of every row, (N, 2)."""
    ill = 1 / (1 + np.exp(-score(frame)))
    return np.column_stack([1 - ill, ill])


def _ill(frame: pd.DataFrame, score: Callable[[pd.DataFrame], np.ndarray], rng: np.random.Generator) -> pd.DataFrame:
    ill = rng.random(len(frame)) < truth(score, frame)[:, 1]
    return frame.assign(**{"class": np.array(CLASSES, dtype=object)[ill.astype(int)]})
