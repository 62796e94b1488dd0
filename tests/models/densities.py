"""Tables whose density features are tested, and what makes all their sums exact, or all of them sums of grids."""

import numpy as np

EXACT, GRIDS = 1e-9, 1e9  # nanoseconds of a vote that make every sum exact, or every sum one of a grid


def table(rows, classes, numeric=2, categorical=1, seed=0, missing=0.1, weights="ones", apart=1.0):
    """Arguments of `DensityFeatures`: classes lie `apart`, numbers are missing here and there."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(classes), rng.integers(0, classes, rows - classes)).astype(np.int32)
    numbers = rng.normal(size=(numeric, rows)) + apart * y
    numbers[rng.random(numbers.shape) < missing] = np.nan
    levels = np.full(categorical, 4)
    codes = (rng.integers(0, 3, (categorical, rows)) + (y == 1)).astype(np.uint16)
    made = {"ones": np.ones(rows), "whole": rng.integers(1, 4, rows).astype(float), "parts": rng.uniform(0, 2, rows)}
    return numbers, codes, levels, y, made[weights], classes
