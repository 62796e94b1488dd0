"""Small encoded tables of numbers and levels side by side, as dlr takes them."""

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from tests.fitting.tables import row_weights


def mixed(rows=60, n_classes=2, *, numeric=2, seed=0, weights=None, gaps=0.0, overlap=1.0):
    """Return rows of numeric columns, whose classes lie apart, and one column of three levels, which tells a little.

    The columns stand numeric, levels, numeric ... `gaps`: share of the numbers that are missing. `overlap`: spread of
    the classes, in units of the distance between them.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % n_classes
    numbers = rng.normal(size=(numeric, rows)) * overlap + np.where(np.arange(numeric)[:, None] % 2, y == 1, y)
    numbers[rng.random(numbers.shape) < gaps] = np.nan
    level = np.where(rng.random(rows) < 0.5, y % 3, rng.integers(0, 3, rows))
    places = np.array([0, *range(2, numeric + 1)][:numeric], np.int64)
    codes = np.zeros((numeric + 1, rows), np.uint8)
    codes[places] = np.isnan(numbers)
    codes[1 if numeric else 0] = level
    levels = np.where(np.isin(np.arange(numeric + 1), places), 2, 3) if numeric else np.array([3])
    return Encoded(
        codes=codes,
        y=y.astype(np.int32),
        weights=row_weights(weights, rows, rng),
        levels=levels,
        classes=np.array([f"class {k}" for k in range(n_classes)]),
        names=tuple(f"x{j}" for j in range(numeric + 1)),
        numbers=numbers,
        numeric=places,
    )


def density_run(encoded, holdout=None, n_jobs=1, **params):
    """Return a run of dlr, its bandwidths by "loo", alpha 10; whatever else is left out takes the recipe's default."""
    seed = params.pop("seed", 0)
    return Run.on_encoded(
        encoded, Recipe("dlr", **{"bandwidth": "loo", "alpha": 10.0, "seed": seed, **params}), holdout, n_jobs=n_jobs
    )


def density_objective(encoded, **params):
    """Return the objective and the vector (w, log h) that a recipe starts from."""
    run = density_run(encoded, **{"max_iter": 0, **params})
    run.advance()
    return run.objective, run.state.point.w
