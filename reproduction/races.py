"""How fast fits converge: the negative log-likelihood after every iteration, on all rows, alpha 0.

A row is a point of a curve: set, method, seen (the iteration), nll (per row, less log C as the papers plot it), and, in
the last point of each, iterations, ended. Where a set's methods have ended a row each says what is compared: to_goal,
iterations until NLL is within 0.1 % of the lowest that any method of the set and order reached (1e-4 a row where some
method fits every row); whoever did not come there counts with what it had spent.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from alrviz.fitting.recipe import Recipe, paper_mode
from alrviz.fitting.runs.run import Run
from reproduction.kept import Progress, Row, Step, kept_rows
from reproduction.sets import BenchmarkSet
from reproduction.settings import Settings
from reproduction.tables import MadeTable

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

POINTS = 30  # of a curve, evenly on a logarithmic axis
ABSOLUTE, RELATIVE = 1e-4, 1e-3


@dataclass(frozen=True)
class Races:
    """A table and the recipes that race on it by name; max_iter: most iterations of a fit."""

    table: BenchmarkSet | MadeTable
    racers: Mapping[str, Recipe]
    max_iter: int = 300


def fitted_as_printed(orders: Sequence[int], *, cg: bool = False, kinds: Sequence[str] = ()) -> dict[str, Recipe]:
    """Return lr and alr of these orders in paper mode by name; `kinds` adds alrj and alr from AnJE."""
    params = {"solver": "cg"} if cg else {}
    racers = {}
    for order in orders:
        racers[f"lr{order}"] = paper_mode(Recipe("lr", order=order)).replace(**params)
        alr = paper_mode(Recipe("alr", order=order)).replace(**params)
        racers[f"alr{order}"] = alr
        if "alrj" in kinds:
            racers[f"alrj{order}"] = alr.replace(scale="theta-gamma")
        if "from anje" in kinds:
            racers[f"alr{order} from anje"] = alr.replace(start="anje")
    return racers


def race_rows(races: Sequence[Races], settings: Settings) -> Progress:
    """Yield (what was done, its points) a set and racer, then (..., iterations to the goals) of the set."""
    for race in races:
        table = race.table
        if table.missing(settings.folder):
            yield f"{table.name}: no data", [{"set": table.name, "missing": table.advice(settings.folder)}]
            continue
        dataset = table.read(settings.folder)
        steps = []
        for name, recipe in race.racers.items():
            limited = recipe.replace(max_iter=min(race.max_iter, recipe.params["max_iter"]), holdout=0.0)
            labels = {"set": table.name, "method": name}
            key = ["race", limited.to_json(), POINTS, labels]
            steps.append(Step(f"{table.name}: {name}", key, partial(raced, labels), (dataset, limited), dataset.hash))
        curves: list[Row] = []
        for label, rows in kept_rows("races", steps, settings):
            curves.append(rows[-1])
            yield label, [{name: cell for name, cell in row.items() if name != "curve"} for row in rows]
        yield f"{table.name}: iterations to the goal", to_goals(curves)


def raced(labels: Mapping[str, str], dataset: "Dataset", recipe: Recipe) -> list[Row]:
    """Return the points of one fit."""
    run = Run(dataset, recipe, n_jobs=1)
    for _ in run.steps():
        pass
    trace = run.trace.frame()
    assert run.outcome is not None
    nll = trace["nll"].to_numpy(float) / run.trace.rows
    index = trace["index"].to_numpy(int)
    offset = float(np.log(len(np.unique(dataset.y))))
    marks = np.unique(np.geomspace(1, max(index[-1], 1), POINTS).astype(int))
    positions = np.unique([0, *np.searchsorted(index, marks, "left").clip(max=len(index) - 1), len(index) - 1])
    rows: list[Row] = [{**labels, "seen": int(index[k]), "nll": float(nll[k] - offset)} for k in positions]
    # Where each goal would be met depends on the other racers: the whole curve goes along, as its best so far.
    rows[-1] |= {"iterations": int(index[-1]), "ended": run.outcome.code, "curve": np.minimum.accumulate(nll).tolist()}
    return rows


# Who needs how many iterations of L-BFGS-B at order 1, without a penalty and with one of 0.3 on phi.
_SCALED = {
    "lr1": paper_mode(Recipe("lr", order=1)),
    "alr1": paper_mode(Recipe("alr", order=1)),
    "alr1 from anje": paper_mode(Recipe("alr", order=1)).replace(start="anje"),
    "diagonal": paper_mode(Recipe("lr", order=1)).replace(scale="diagonal"),
}
SCALED = {"": _SCALED, " penalised": {k: recipe.replace(alpha=0.3, penalty="phi") for k, recipe in _SCALED.items()}}
MOST_STEPS = 1000


def scaled_rows(tables: Sequence[MadeTable], settings: Settings) -> Progress:
    """Yield (what was done, its rows) a table: iterations of each of SCALED to within 0.1 % of the best objective."""
    racers = json.dumps([recipe.to_json() for racers in SCALED.values() for recipe in racers.values()])
    steps = [
        Step(f"scales on {table.name}", ["scaled", table.name, racers, MOST_STEPS], scaled, (table,))
        for table in tables
    ]
    yield from kept_rows("scaled", steps, settings)


def scaled(table: MadeTable) -> list[Row]:
    """Return a row a racer: set, group, method, reached, to_goal (all iterations if the goal was not reached)."""
    dataset, rows = table.build(), []
    for words, racers in SCALED.items():
        paths = {}
        for name, recipe in racers.items():
            run = Run(dataset, recipe.replace(max_iter=MOST_STEPS, holdout=0.0), n_jobs=1)
            for _ in run.steps():
                pass
            paths[name + words] = np.minimum.accumulate(run.trace.frame()["objective"].to_numpy(float))
        goal = (1 + RELATIVE) * min(path[-1] for path in paths.values())
        for name, path in paths.items():
            reaching = np.flatnonzero(path <= goal)
            labels = {"set": table.name, "group": table.group, "method": name, "reached": bool(len(reaching))}
            rows.append(labels | {"to_goal": max(1.0, float(reaching[0] if len(reaching) else len(path) - 1))})
    return rows


def to_goals(curves: Sequence[Row]) -> list[Row]:
    """Return a row a method of one set: set, method, to_goal, reached, last; the goal is that of the method's order.

    curves: the last rows of `raced`.
    """
    best: dict[str, float] = {}
    for row in curves:
        order = _order(row["method"])
        best[order] = min(best.get(order, np.inf), row["curve"][-1])
    lines = []
    for row in curves:
        lowest = best[_order(row["method"])]
        goal = ABSOLUTE if lowest < ABSOLUTE else lowest * (1 + RELATIVE)
        reaching = np.flatnonzero(np.array(row["curve"]) <= goal)
        iterations = float(reaching[0]) if len(reaching) else float(row["iterations"])
        labels = {"set": row["set"], "method": row["method"], "reached": bool(len(reaching)), "last": row["curve"][-1]}
        lines.append(labels | {"to_goal": max(1.0, iterations)})
    return lines


def _order(method: str) -> str:
    return "".join(letter for letter in method if letter.isdigit())
