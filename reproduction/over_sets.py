"""One study over many sets: R x 2-fold cross-validation of the same racers on each.

A row is a racer on a set: the means of the measures over the folds, bias and variance over the rounds (plug-in and
unbiased), iterations, evaluations, seconds. Every fit is kept as it finishes; a racer of which one is missing, or has
failed, has no figures yet: means over other folds are not set against each other. A racer whose pass over a set would
be too much work is left out and its row says so: work = rows x tuples x classes.

A study that takes a night goes in *stages*: what is cheap on all sets first, then costlier racers and more rounds. A
set's racers are then compared over the rounds that all of them have; one with fewer than the first stage's has no
figures yet.

Rows that are *published* beside a page (`Settings.published`) need not be measured again, even where the store of their
fits is lost: a racer that has figures of a stage's rounds there is not fitted, and the run's row takes the place of the
published one once it has as many rounds. A row says which alrviz measured it (`alrviz`: version and revision of the
numbers) and on which table (`data`: the beginning of its hash).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from alrviz import __version__
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.checkpoint import Checkpoint
from alrviz.studies.core.study_task import NUMBERS_VERSION
from alrviz.studies.protocols.bias_variance import Errors, bias_variance
from reproduction.kept import Progress, Row
from reproduction.racers import RACERS
from reproduction.sets import BenchmarkSet
from reproduction.settings import OWNER, Published, Settings
from reproduction.tables import MadeTable

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.studies.core.study import Study

# Rows x tuples x classes: ten fits of more take hours on two cores.
MOST_WORK = 1e9
MEANS = ("log_loss", "error", "rmse", "brier", "ece", "n_iter", "evaluations", "train_log_loss")
SECONDS = ("train_seconds", "classify_seconds")
PARTS = ("bias", "variance", "bias_unbiased", "variance_unbiased")
VERSION_TEXT = f"{__version__}, numbers {NUMBERS_VERSION}"  # all that the key of a kept fit says of alrviz


@dataclass(frozen=True)
class Stage:
    """What is fitted on which sets, in how many rounds, where a pass is no more work than `most_work`."""

    sets: Sequence[BenchmarkSet | MadeTable]
    racers: Sequence[str]
    rounds: int = 5
    most_work: float = MOST_WORK

    def takes(self, table: BenchmarkSet | MadeTable, dataset: "Dataset") -> list[str]:
        """Return the racers that it fits on a set."""
        return [name for name in self.racers if table in self.sets and work(RACERS[name], dataset) <= self.most_work]


def set_rows(
    sets: Sequence[BenchmarkSet | MadeTable],
    racers: Sequence[str],
    settings: Settings,
    rounds: int = 5,
    most_work: float = MOST_WORK,
) -> Progress:
    """Yield (what was done, its rows) a set and racer, as they finish."""
    return staged_rows([Stage(sets, racers, rounds, most_work)], settings)


def staged_rows(stages: Sequence[Stage], settings: Settings) -> Progress:
    """Compute stage after stage; yield (label, rows) a set and racer, and a set's rows again after each stage.

    Of rows of one set and racer the last counts. With several stages fits must be kept: the next takes them from there.
    """
    if settings.kept_only:
        by_name = {table.name: table for stage in stages for table in stage.sets}
        stages = [Stage(tuple(by_name.values()), (), 0), *stages]
    for stage in stages[: 1 if settings.kept_only else None]:
        for table in stage.sets:
            if table.missing(settings.folder):
                yield from _published_alone(table, stages, settings)
            else:
                yield from _of_set(table, stage, [entry for entry in stages if table in entry.sets], settings)


def _published_alone(table: BenchmarkSet | MadeTable, stages: Sequence[Stage], settings: Settings) -> Progress:
    """Yield the published rows of a set that is missing, and where to get the set."""
    racers = dict.fromkeys(name for entry in stages if table in entry.sets for name in entry.racers)
    for name in racers:
        if (table.name, name) in settings.published:
            yield f"{table.name}: {name}, published", [dict(settings.published[table.name, name])]
    yield f"{table.name}: no data", [{"set": table.name, "missing": table.advice(settings.folder)}]


def _of_set(table: BenchmarkSet | MadeTable, stage: Stage, stages: Sequence[Stage], settings: Settings) -> Progress:
    """Compute what a stage takes of a set; yield what there is of all stages that have it."""
    dataset = table.read(settings.folder)
    racers = list(dict.fromkeys(name for entry in stages for name in entry.racers))
    published = {name: row for name in racers if (row := _of_table(settings, table, name, dataset))}
    limit_work = [name for name in racers if any(name in entry.takes(table, dataset) for entry in stages)]
    labels: Row = {"set": table.name, "group": table.group, "rows": dataset.n_rows}
    for name in racers:
        if name not in limit_work and name not in published:
            much = {"left_out": "too much work", "work": work(RACERS[name], dataset)}
            yield f"{table.name}: {name} left out", [labels | {"method": name} | much]
    rounds = [entry.rounds for entry in stages if entry.racers]
    have = {name: int(row["rounds"]) for name, row in published.items()}
    to_fit = [name for name in limit_work if have.get(name, 0) < max(rounds)]
    batch = [name for name in stage.takes(table, dataset) if have.get(name, 0) < stage.rounds]
    rounds_run = dict.fromkeys(to_fit, 0)
    if to_fit:
        whole = _study(dataset, to_fit, max(rounds), settings)
        if batch == to_fit and stage.rounds == max(rounds):
            whole.run()
        else:
            if batch:
                _study(dataset, batch, stage.rounds, settings).run()
            if not recalled(whole, settings) and not published and not settings.kept_only:
                return
        rounds_run = {name: _rounds(whole, racer) for racer, name in enumerate(to_fit)}
    # A published row that the run has not reached stands; it cannot be told of fewer rounds than it has.
    stands = {name for name, k in have.items() if rounds_run.get(name, 0) < k}
    known_rounds = [have[name] if name in stands else rounds_run[name] for name in (*stands, *rounds_run)]
    common = min((k for k in known_rounds if k >= min(rounds)), default=min(rounds))
    labels |= {"data_hash": dataset.hash[:_HASH], "alrviz": VERSION_TEXT}
    for name in racers:
        price = {"work": work(RACERS[name], dataset)}
        if name in stands:
            yield f"{table.name}: {name}, published", [dict(published[name]) | price]
        elif name in rounds_run:
            yield f"{table.name}: {name}", [labels | {"method": name} | price | line(whole, to_fit.index(name), common)]


_HASH = 12  # letters of a table's


def published_rows(file: Path) -> Published:
    """Return the rows with figures of a study over sets by set and method; none where there is no such file."""
    rows = pd.read_csv(file) if file.is_file() else pd.DataFrame()
    if not {"set", "method", "rounds", "error"} <= set(rows):
        return {}
    figures: list[dict[str, Any]] = rows[rows["error"].notna()].to_dict("records")
    return {(row["set"], row["method"]): {name: x for name, x in row.items() if pd.notna(x)} for row in figures}


def _of_table(settings: Settings, table: BenchmarkSet | MadeTable, racer: str, dataset: "Dataset") -> Row:
    """The published row of a racer, if its row count and hash are those of this table; else empty."""
    row = settings.published.get((table.name, racer), {})
    matches = row.get("rows") == dataset.n_rows and row.get("data_hash", dataset.hash[:_HASH]) == dataset.hash[:_HASH]
    return dict(row) if matches else {}


def _study(dataset: "Dataset", racers: Sequence[str], rounds: int, settings: Settings) -> "Study":
    recipes = [RACERS[name] for name in racers]
    return bias_variance(dataset, recipes, rounds=rounds, n_jobs=settings.jobs, keep=settings.keep, owner=OWNER)


def _rounds(study: "Study", racer: int) -> int:
    """How many rounds a racer has without a gap, from the first."""
    fits = Counter(task.split.repeat for task, result in study.results() if task.racer == racer and not result.failed)
    return next(k for k in count() if fits[k] < study.tasks[0].split.folds)


def recalled(study: "Study", settings: Settings) -> int:
    """Take what is kept of a study's cells, of a study with other racers too; return how many there are."""
    keeping = Checkpoint(settings.keep, OWNER, study.kind, study.spec, study.data_hash)
    if not keeping.find():
        keeping.begin(", ".join(study.names), study.dataset.name)
        keeping.end("stopped", "")
    return study.recall()


def line(study: "Study", racer: int, rounds: int) -> Row:
    """Return what is known of one racer: fits, those that failed, and the means and parts of the error of `rounds`
    rounds where all their fits are there and none failed.
    """
    results = [(cell, result) for cell, result in study.results() if cell.racer == racer]
    faults = [str(result.rows[0]["sentence"]) for _, result in results if result.failed]
    facts: Row = {"fits": len(results) - len(faults), "failed": len(faults), "why": faults[0] if faults else ""}
    if _rounds(study, racer) < rounds:
        results = []
    results = [(cell, result) for cell, result in results if cell.split.repeat < rounds]
    rows = [row for _, result in results for row in result.rows]
    for name in (*MEANS, *SECONDS):
        values = np.array([row.get(name, np.nan) for row in rows], float)
        facts[name] = float(values.mean()) if len(values) else float("nan")
    errors = np.array([row["error"] for row in rows], float)
    facts["error_sd"] = float(errors.std(ddof=1)) if len(errors) > 1 else float("nan")
    facts["parameters"] = max((row["parameters"] or 0 for row in rows), default=float("nan"))
    parts = Errors(study.dataset.y).parts("", results)
    return facts | {"rounds": parts["rounds"], **{name: parts[name] for name in PARTS}}


def work(recipe: Recipe, dataset: "Dataset") -> float:
    """Return rows x tuples x classes of a pass: what decides whether a racer is affordable."""
    columns = len(dataset.kinds)
    order = recipe.params.get("order", recipe.params.get("n", 0) + 1)
    return float(dataset.n_rows) * comb(columns, int(order)) * len(np.unique(dataset.y))
