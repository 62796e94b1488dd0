"""[ELR] figure 1: the error of ELR on the rows it learns from, and on others, after every iteration.

A row is a point: set, method ("training" or "held out"), seen (the iteration), error. `extremes` gives what is
compared: the error at the start, at its lowest, where cross-tuning stops, and at the end.
"""

from typing import TYPE_CHECKING

import pandas as pd

from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from reproduction.kept import Progress, Row, Step, kept_rows
from reproduction.settings import Settings

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from reproduction.sets import BenchmarkSet

KINDS = {"training": "train_error", "held out": "heldout_error"}


def elr_rows(sets: "tuple[BenchmarkSet, ...]", settings: Settings, most: int = 100) -> Progress:
    """Yield (what was done, its points) a set, those that are there."""
    for one in sets:
        if one.missing(settings.folder):
            yield f"{one.name}: no data", [{"set": one.name, "missing": one.advice(settings.folder)}]
            continue
        dataset = one.read(settings.folder)
        step = Step(f"{one.name}: elr", ["elr", one.name, most], traced, (one.name, dataset, most), dataset.hash)
        yield from kept_rows(f"elr {one.name}", [step], settings)


def traced(name: str, dataset: "Dataset", most: int) -> list[Row]:
    """Return the points of one fit to the end, naive Bayes' structure, 70 % of the rows to learn from."""
    tuned = Run(dataset, Recipe("elr", structure="nb", cross_tuning=True, max_iter=most), n_jobs=1)
    for _ in tuned.steps():
        pass
    stop = next((step.extra["tuned_stop"] for step in tuned.trace.since(0) if "tuned_stop" in step.extra), None)
    run = Run(dataset, Recipe("elr", structure="nb", cross_tuning=False, max_iter=most, tol=0.0), n_jobs=1)
    for _ in run.steps():
        pass
    rows: list[Row] = []
    for step in run.trace.since(0):
        for method, key in KINDS.items():
            if key in step.extra:
                about = {"set": name, "method": method, "seen": step.index, "error": float(step.extra[key])}
                rows.append(about | {"tuned_stop": stop})
    return rows


def extremes(figures: pd.DataFrame) -> pd.DataFrame:
    """Return set, method and error: "training, start" and so on."""
    lines = []
    if len(figures) and "seen" in figures:
        for (name, method), own in figures.dropna(subset=["seen"]).groupby(["set", "method"], sort=False):
            errors = own.sort_values("seen")["error"].to_numpy(float)
            stop = int(min(own["tuned_stop"].fillna(0).iloc[0], len(errors) - 1))
            places = {"start": errors[0], "lowest": errors.min(), "tuned": errors[stop], "end": errors[-1]}
            lines += [{"set": name, "method": f"{method}, {words}", "error": value} for words, value in places.items()]
    return pd.DataFrame(lines)
