"""Small tables that the tests of the estimators share."""

import numpy as np
import pandas as pd


def drawn(rows=200, columns=4, levels=3, classes=3, seed=0):
    """A table of text columns and classes that depend on the first columns, no class ever certain."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, levels, (rows, columns))
    noisy = codes[:, 0] + codes[:, -1] * codes[:, columns // 2] + rng.integers(0, classes, rows)
    frame = pd.DataFrame(codes, columns=[f"c{j}" for j in range(columns)]).map(lambda code: f"v{code}")
    return frame, np.array([f"k{code}" for code in noisy % classes], dtype=object)


def mixed(rows=120, seed=1):
    """A table with every kind of column and missing values."""
    rng = np.random.default_rng(seed)
    number = rng.normal(size=rows)
    y = np.where(number + rng.normal(size=rows) / 2 > 0, "yes", "no")
    number[::17] = np.nan
    frame = pd.DataFrame(
        {
            "number": number,
            "count": rng.integers(0, 50, rows),
            "text": rng.choice(["a", "b", None], rows),
            "size": pd.Categorical(rng.choice(["small", "large"], rows), ["small", "large"], ordered=True),
            "flag": rng.integers(0, 2, rows).astype(bool),
        }
    )
    return frame, y
