"""Pure effects by the definition: dense tables, swept column by column until nothing moves."""

from itertools import combinations

import numpy as np


def pure_effects(tables, codes, weights, levels, sweeps=20_000):
    """Return {columns: table} and the intercept: `tables` {columns: (L_1, L_2, ..., C)} of columns of `levels` (a,)."""
    classes = next(iter(tables.values())).shape[-1]
    every = {part for key in tables for n in range(1, len(key) + 1) for part in combinations(key, n)}
    f = {key: np.zeros((*(levels[j] for j in key), classes)) for key in every}
    for key, table in tables.items():
        f[key] += table - table.mean(axis=-1, keepdims=True)
    intercept = np.zeros(classes)
    for key in sorted(every, key=len, reverse=True):
        w = np.zeros([levels[j] for j in key])
        np.add.at(w, tuple(codes[j] for j in key), weights)
        for _ in range(sweeps):
            moved = 0.0
            for axis in range(len(key)):
                mass = w.sum(axis=axis)[..., None]
                sums = (w[..., None] * f[key]).sum(axis=axis)
                mean = np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0)
                f[key] -= np.expand_dims(mean, axis)
                if len(key) == 1:
                    intercept += mean
                else:
                    f[key[:axis] + key[axis + 1 :]] += mean
                moved = max(moved, np.abs(mean).max())
            if moved < 1e-14:
                break
    return f, intercept
