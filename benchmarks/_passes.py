"""An objective at hand: what a fit would run its passes over, prepared step by step with the time of each."""

import time
from dataclasses import dataclass
from itertools import pairwise

from alrviz.data.encoded import Encoded
from alrviz.fitting.families.build_fit import Fit, assemble
from alrviz.fitting.prepare import CoveredRows, TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.models.plan import Plan


@dataclass(frozen=True)
class Ready:
    """A fit before its first step, and the seconds of planning its cover, carrying it out, and counting."""

    plan: Plan
    covered_rows: CoveredRows
    fit: Fit
    planning: float
    covering: float
    counting: float


def ready(encoded: Encoded, recipe: Recipe, n_jobs: int | None = None, merge: bool = True) -> Ready:
    """Prepare a fit; `merge` says whether rows that repeat are merged where more than a fifth do."""
    order = recipe.params["order"]
    prepared = TrainingData(encoded, None, n_jobs=n_jobs, merge=merge)
    times = [time.perf_counter()]
    plan = prepared.plan(order)
    times.append(time.perf_counter())
    covered_rows = prepared.covered_rows(order)
    times.append(time.perf_counter())
    tables = prepared.tables(order, recipe.params["smoothing"])
    times.append(time.perf_counter())
    fit = assemble(covered_rows.rows, covered_rows.cover, tables, recipe.params, encoded.classes)
    return Ready(plan, covered_rows, fit, *(b - a for a, b in pairwise(times)))
