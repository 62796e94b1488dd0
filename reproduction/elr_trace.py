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


def elr_rows(sets: "tuple[BenchmarkSet, ...]", settings: Settings, max_iter: int = 100) -> Progress:
    """Yield (what was done, its points) a set, those that are there."""
    for table in sets:
        if table.missing(settings.folder):
            yield f"{table.name}: no data", [{"set": table.name, "missing": table.advice(settings.folder)}]
            continue
        dataset = table.read(settings.folder)
        name = table.name
        step = Step(f"{name}: elr", ["elr", name, max_iter], traced, (name, dataset, max_iter), dataset.hash)
        yield from kept_rows(f"elr {table.name}", [step], settings)


def traced(name: str, dataset: "Dataset", max_iter: int) -> list[Row]:
    """Return the points of one fit to the end, naive Bayes' structure, 70 % of the rows to learn from."""
    pilot = Run(dataset, Recipe("elr", structure="nb", cross_tuning=True, max_iter=max_iter), n_jobs=1)
    for _ in pilot.steps():
        pass
    stop = next((step.extra["tuned_stop"] for step in pilot.trace.since(0) if "tuned_stop" in step.extra), None)
    run = Run(dataset, Recipe("elr", structure="nb", cross_tuning=False, max_iter=max_iter, tol=0.0), n_jobs=1)
    for _ in run.steps():
        pass
    rows: list[Row] = []
    for step in run.trace.since(0):
        for method, key in KINDS.items():
            if key in step.extra:
                point = {"set": name, "method": method, "seen": step.index, "error": float(step.extra[key])}
                rows.append(point | {"tuned_stop": stop})
    return rows


def extremes(figures: pd.DataFrame) -> pd.DataFrame:
    """Return set, method and error: "training, start" and so on."""
    lines = []
    if len(figures) and "seen" in figures:
        for (name, method), points in figures.dropna(subset=["seen"]).groupby(["set", "method"], sort=False):
            errors = points.sort_values("seen")["error"].to_numpy(float)
            stop = int(min(points["tuned_stop"].fillna(0).iloc[0], len(errors) - 1))
            places = {"start": errors[0], "lowest": errors.min(), "tuned": errors[stop], "end": errors[-1]}
            lines += [{"set": name, "method": f"{method}, {words}", "error": value} for words, value in places.items()]
    return pd.DataFrame(lines)
