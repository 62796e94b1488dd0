"""A folder with small stand-ins for the benchmark sets: the right names and kinds of columns, made-up values."""

import numpy as np
import pandas as pd

from reproduction.sets import BenchmarkSet

RING = BenchmarkSet("ring", "Wisconsin breast cancer", ("ring",), "https://example.org/ring")
JOINED_SET = BenchmarkSet("both", "hepatitis", ("ring", "more"), "https://example.org/both")
MISSING_SET = BenchmarkSet("absent", "Cleveland heart disease", ("absent",), "https://example.org/absent")


def ring(rows=60, seed=0):
    """Two rings of points, a column of text that helps, one gap."""
    random = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    angle, radius = random.uniform(0, 2 * np.pi, rows), 1.0 + 2.0 * y + random.normal(0, 0.2, rows)
    table = pd.DataFrame({"east": radius * np.cos(angle), "north": radius * np.sin(angle)}).round(3)
    table["town"] = np.where(random.random(rows) < 0.8, np.array(["a", "b"])[y], "z")
    table.loc[3, "east"] = np.nan
    return table.assign(**{"class": np.array(["in", "out"])[y]})


def fill_folder(folder):
    """Write the sets RING and JOINED_SET; return the folder."""
    ring().to_csv(folder / "ring.csv.gz", index=False)
    ring(20, seed=1).to_csv(folder / "more.csv", index=False)
    return folder
