"""One study over many sets: R x 2-fold cross-validation of the same racers on each, the smallest set first.

A row is a racer on a set: the means of the measures over the folds, bias and variance over the rounds (plug-in and
unbiased), iterations, evaluations, seconds. Every fit is kept as it finishes; a racer of which one is missing, or has
failed, has no figures yet: means over other folds are not set against each other. A racer whose pass over a set would
be too much work is left out and its row says so: work = rows x tuples x classes.
"""

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from alrviz.fitting.recipe import Recipe
from alrviz.reproduce.kept import Progress, Row
from alrviz.reproduce.racers import RACERS
from alrviz.reproduce.sets import BenchmarkSet
from alrviz.reproduce.settings import OWNER, Settings
from alrviz.reproduce.tables import MadeTable
from alrviz.studies.core.checkpoint import Checkpoint
from alrviz.studies.protocols.bias_variance import Errors, bias_variance
from alrviz.studies.protocols.compare import fits_each

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.studies.core.study import Study

# Rows x tuples x classes: ten fits of more take hours on two cores.
MOST_WORK = 1e9
MEANS = ("log_loss", "error", "rmse", "brier", "ece", "n_iter", "evaluations", "train_log_loss")
SECONDS = ("train_seconds", "classify_seconds")
PARTS = ("bias", "variance", "bias_unbiased", "variance_unbiased")


def set_rows(
    sets: Sequence[BenchmarkSet | MadeTable],
    racers: Sequence[str],
    settings: Settings,
    rounds: int = 5,
    most_work: float = MOST_WORK,
) -> Progress:
    """Yield (what was done, its rows) a set and racer, as they finish."""
    for one in sets:
        if one.missing(settings.folder):
            yield f"{one.name}: no data", [{"set": one.name, "missing": one.advice(settings.folder)}]
            continue
        dataset = one.read(settings.folder)
        about = {"set": one.name, "group": one.group, "rows": dataset.n_rows}
        affordable = [name for name in racers if work(RACERS[name], dataset) <= most_work]
        for name in racers:
            if name not in affordable:
                yield f"{one.name}: {name} left out", [about | {"method": name, "left_out": "too much work"}]
        if not affordable:
            continue
        study = bias_variance(
            dataset,
            [RACERS[name] for name in affordable],
            rounds=rounds,
            n_jobs=settings.jobs,
            keep=settings.keep,
            owner=OWNER,
        )
        if not settings.kept_only:
            study.run()
        elif not recalled(study, settings):
            continue
        for racer, name in enumerate(affordable):
            yield f"{one.name}: {name}", [about | {"method": name} | line(study, racer)]


def recalled(study: "Study", settings: Settings) -> int:
    """Take what is kept of a study's cells, of a study with other racers too; return how many there are."""
    keeping = Checkpoint(settings.keep, OWNER, study.kind, study.spec, study.data_hash)
    if not keeping.find():
        keeping.begin(", ".join(study.names), study.dataset.name)
        keeping.end("stopped", "")
    return study.recall()


def line(study: "Study", racer: int) -> Row:
    """Return what is known of one racer: fits, those that failed, and with all of them means and parts of the error."""
    results = [(cell, result) for cell, result in study.results() if cell.racer == racer]
    rows = [row for _, result in results if not result.failed for row in result.rows]
    failed = [str(result.rows[0]["sentence"]) for _, result in results if result.failed]
    found: Row = {"fits": len(rows), "failed": len(failed), "why": failed[0] if failed else ""}
    if len(rows) < fits_each(study):
        rows, results = [], []
    for name in (*MEANS, *SECONDS):
        values = np.array([row.get(name, np.nan) for row in rows], float)
        found[name] = float(values.mean()) if len(values) else float("nan")
    errors = np.array([row["error"] for row in rows], float)
    found["error_sd"] = float(errors.std(ddof=1)) if len(errors) > 1 else float("nan")
    found["parameters"] = max((row["parameters"] or 0 for row in rows), default=float("nan"))
    parts = Errors(study.dataset.y).parts("", results)
    return found | {"rounds": parts["rounds"], **{name: parts[name] for name in PARTS}}


def work(recipe: Recipe, dataset: "Dataset") -> float:
    """Return rows x tuples x classes of a pass: what decides whether a racer is affordable."""
    columns = len(dataset.kinds)
    order = recipe.params.get("order", recipe.params.get("n", 0) + 1)
    return float(dataset.n_rows) * comb(columns, int(order)) * len(np.unique(dataset.y))
