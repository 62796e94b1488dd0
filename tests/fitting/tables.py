"""Encoded tables made on the spot, their covers and counts, and runs on them."""

import numpy as np

from alrviz.data.encoded import Encoded, code_dtype
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.prepare import CoveredRows, TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.models.cell_space import CellSpace
from alrviz.models.plan import plan_cover
from alrviz.models.set_cover import cover_rows
from alrviz.models.tables import count_tables
from alrviz.passes.rows import Rows


def table(rows=200, levels=(3, 4, 2, 5), n_classes=3, *, seed=0, weights=None, gaps=0.0, dtype=None, signal=1.0):
    """Return random rows whose class follows a softmax of one number per level and class.

    `weights`: None, "whole" or "fractions". `gaps`: share of the codes that are no level. `signal`: size of the scores.
    """
    rng = np.random.default_rng(seed)
    levels = np.asarray(levels, np.int64)
    codes = np.stack([np.minimum(rng.geometric(0.4, rows) - 1, top - 1) for top in levels])
    scores = sum(signal * rng.normal(size=(top, n_classes))[code] for top, code in zip(levels, codes, strict=True))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)[:rows]  # every class occurs
    codes[:, :1] = 0
    absent = rng.random(codes.shape) < gaps
    codes = np.where(absent, levels[:, None], codes)
    return Encoded(
        codes=codes.astype(dtype or code_dtype(levels)),
        y=y.astype(np.int32),
        weights=row_weights(weights, rows, rng),
        levels=levels,
        classes=np.array([f"class {k}" for k in range(n_classes)]),
        names=tuple(f"x{j}" for j in range(len(levels))),
    )


def separable(rows=30, n_classes=3):
    """Return rows whose first column is their class: every row can lead by as much as one likes."""
    encoded = table(rows, (n_classes, 3, 2), n_classes)
    encoded.codes[0] = encoded.y
    return encoded


def row_weights(kind, rows, rng):
    """Return ones, whole numbers from 1 to 4, or numbers between 0.1 and 2."""
    if kind is None:
        return np.ones(rows)
    return rng.integers(1, 5, rows).astype(float) if kind == "whole" else rng.uniform(0.1, 2.0, rows)


def kernel_codes(encoded):
    """Return the codes in a dtype that kernels take."""
    return encoded.codes.astype(np.uint32 if encoded.codes.dtype.itemsize > 2 else np.uint16)


def covered(encoded, order, heldout=None, *, plan=None, n_jobs=1):
    """Return the rows covered for order n: by `plan(codes, space)`, or as a fit would; repeats stay."""
    space, sets = CellSpace(encoded.levels, order), [encoded] if heldout is None else [encoded, heldout]
    codes = [kernel_codes(part) for part in sets]
    cover, keys = cover_rows((plan or plan_cover)(codes[0], space), space, codes, encoded.weights > 0, n_jobs)
    rows = [Rows(of.y, of.weights, of.n_classes, key, n_jobs) for of, key in zip(sets, keys, strict=True)]
    return CoveredRows(cover, rows[0], rows[1] if len(rows) > 1 else None)


def counted(encoded, order, m=1.0):
    """Return the generative tables of order n."""
    of = covered(encoded, order)
    return count_tables(of.rows, of.cover, m)


def run_of(encoded, family="lr", holdout=None, **params):
    """Return a run on one thread; alpha is the family's fixed one, whatever else is left out the recipe's default."""
    if "alpha" in FAMILIES[family].params:
        params = {"alpha": FAMILIES[family].params["alpha"].default_in_links, **params}
    return Run.on_encoded(encoded, Recipe(family, **params), holdout, n_jobs=1)


def prepared_objective(encoded, family="lr", **params):
    """Return the objective and the start weights that a recipe makes of `encoded`, row by row: repeats stay."""
    run = run_of(encoded, family, **{"max_iter": 0, **params})
    run._prepared = TrainingData(encoded, None, None, 1, merge=False)
    run.advance()
    return run._fit.objective, run._fit.w0


def states(solver, objective, w0):
    """Yield the state at `w0`, then one state an iteration, without end."""
    state = solver.init(objective, w0)
    while True:
        yield solver.with_report_point(objective, state)
        state = solver.advance(objective, state)


def drain(run):
    """Fit to the end and return the run."""
    for _ in run.steps():
        pass
    return run


def same_steps(a, b):
    """Whether two traces are equal bit for bit in everything but the clocks."""
    return [_without_clock(step) for step in a] == [_without_clock(step) for step in b]


def _without_clock(step):
    extra = {name: value for name, value in step.extra.items() if not name.endswith("seconds")}
    return (
        step.index, step.kind, step.evaluations, step.passes, step.objective, step.nll, step.penalty, step.grad_norm,
        step.step_size, extra,
    )  # fmt: skip
