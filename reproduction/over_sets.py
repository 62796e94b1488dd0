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
MEASURED_BY = f"{__version__}, numbers {NUMBERS_VERSION}"  # all that the key of a kept fit says of alrviz


@dataclass(frozen=True)
class Stage:
    """What is fitted on which sets, in how many rounds, where a pass is no more work than `most_work`."""

    sets: Sequence[BenchmarkSet | MadeTable]
    racers: Sequence[str]
    rounds: int = 5
    most_work: float = MOST_WORK

    def takes(self, one: BenchmarkSet | MadeTable, dataset: "Dataset") -> list[str]:
        """Return the racers that it fits on a set."""
        return [name for name in self.racers if one in self.sets and work(RACERS[name], dataset) <= self.most_work]


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
    """Compute stage after stage; yield (what was done, its rows) a set and racer, those of a set anew after each.

    Of rows of one set and racer the last counts. With several stages fits must be kept: the next takes them from there.
    """
    if settings.kept_only:
        by_name = {one.name: one for stage in stages for one in stage.sets}
        stages = [Stage(tuple(by_name.values()), (), 0), *stages]
    for stage in stages[: 1 if settings.kept_only else None]:
        for one in stage.sets:
            if one.missing(settings.folder):
                yield from _published_alone(one, stages, settings)
            else:
                yield from _of_set(one, stage, [other for other in stages if one in other.sets], settings)


def _published_alone(one: BenchmarkSet | MadeTable, stages: Sequence[Stage], settings: Settings) -> Progress:
    """Yield what is published of a set that is not at hand, and where to get it."""
    racers = dict.fromkeys(name for other in stages if one in other.sets for name in other.racers)
    for name in racers:
        if (one.name, name) in settings.published:
            yield f"{one.name}: {name}, published", [dict(settings.published[one.name, name])]
    yield f"{one.name}: no data", [{"set": one.name, "missing": one.advice(settings.folder)}]


def _of_set(one: BenchmarkSet | MadeTable, stage: Stage, stages: Sequence[Stage], settings: Settings) -> Progress:
    """Compute what a stage takes of a set; yield what there is of all stages that have it."""
    dataset = one.read(settings.folder)
    racers = list(dict.fromkeys(name for other in stages for name in other.racers))
    published = {name: row for name in racers if (row := _of_table(settings, one, name, dataset))}
    affordable = [name for name in racers if any(name in other.takes(one, dataset) for other in stages)]
    about: Row = {"set": one.name, "group": one.group, "rows": dataset.n_rows}
    for name in racers:
        if name not in affordable and name not in published:
            much = {"left_out": "too much work", "work": work(RACERS[name], dataset)}
            yield f"{one.name}: {name} left out", [about | {"method": name} | much]
    rounds = [other.rounds for other in stages if other.racers]
    have = {name: int(row["rounds"]) for name, row in published.items()}
    fitted = [name for name in affordable if have.get(name, 0) < max(rounds)]
    own = [name for name in stage.takes(one, dataset) if have.get(name, 0) < stage.rounds]
    there = dict.fromkeys(fitted, 0)
    if fitted:
        whole = _study(dataset, fitted, max(rounds), settings)
        if own == fitted and stage.rounds == max(rounds):
            whole.run()
        else:
            if own:
                _study(dataset, own, stage.rounds, settings).run()
            if not recalled(whole, settings) and not published and not settings.kept_only:
                return
        there = {name: _rounds(whole, racer) for racer, name in enumerate(fitted)}
    # A published row that the run has not reached stands; it cannot be told of fewer rounds than it has.
    stands = {name for name, k in have.items() if there.get(name, 0) < k}
    known = [have[name] if name in stands else there[name] for name in (*stands, *there)]
    common = min((k for k in known if k >= min(rounds)), default=min(rounds))
    about |= {"data_hash": dataset.hash[:_HASH], "alrviz": MEASURED_BY}
    for name in racers:
        price = {"work": work(RACERS[name], dataset)}
        if name in stands:
            yield f"{one.name}: {name}, published", [dict(published[name]) | price]
        elif name in there:
            yield f"{one.name}: {name}", [about | {"method": name} | price | line(whole, fitted.index(name), common)]


_HASH = 12  # letters of a table's


def published_rows(file: Path) -> Published:
    """Return the rows with figures of a study over sets by set and method; none where there is no such file."""
    rows = pd.read_csv(file) if file.is_file() else pd.DataFrame()
    if not {"set", "method", "rounds", "error"} <= set(rows):
        return {}
    told: list[dict[str, Any]] = rows[rows["error"].notna()].to_dict("records")
    return {(row["set"], row["method"]): {name: x for name, x in row.items() if pd.notna(x)} for row in told}


def _of_table(settings: Settings, one: BenchmarkSet | MadeTable, racer: str, dataset: "Dataset") -> Row:
    """The published row of a racer on this very table, as far as it says which; empty without one."""
    row = settings.published.get((one.name, racer), {})
    same = row.get("rows") == dataset.n_rows and row.get("data_hash", dataset.hash[:_HASH]) == dataset.hash[:_HASH]
    return dict(row) if same else {}


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
    failed = [str(result.rows[0]["sentence"]) for _, result in results if result.failed]
    found: Row = {"fits": len(results) - len(failed), "failed": len(failed), "why": failed[0] if failed else ""}
    if _rounds(study, racer) < rounds:
        results = []
    results = [(cell, result) for cell, result in results if cell.split.repeat < rounds]
    rows = [row for _, result in results for row in result.rows]
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
