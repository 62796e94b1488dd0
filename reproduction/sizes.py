"""[sALR] figure 5: how many parameters the chosen tuples have. They are counted before the first step, on all rows.

A row is a method on a set: parameters; one that would be too much work is left out and says so (`over_sets.work`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alrviz.estimators.make import make_estimator
from reproduction.kept import Progress, Row, Step, kept_rows
from reproduction.over_sets import MOST_WORK, work
from reproduction.racers import GROWN_SHARES, RACERS, selection_name
from reproduction.sets import BenchmarkSet
from reproduction.settings import Settings

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

GROWTHS = (("salr", "mi"), ("hsalr", "mi"), ("hsalr", "strong"))


def size_rows(sets: Sequence[BenchmarkSet], settings: Settings, orders: Sequence[int] = (3, 4)) -> Progress:
    """Yield (what was done, its rows) a set and order."""
    for table in sets:
        if table.missing(settings.folder):
            yield f"{table.name}: no data", [{"set": table.name, "missing": table.advice(settings.folder)}]
            continue
        dataset = table.read(settings.folder)
        labels: Row = {"set": table.name, "group": table.group, "rows": dataset.n_rows}
        steps = [
            Step(f"{table.name}, n = {order}", ["sizes", order], count_parameters, (dataset, order), dataset.hash)
            for order in orders
        ]
        for label, rows in kept_rows("sizes", steps, settings):
            yield label, [labels | row for row in rows]


def count_parameters(dataset: "Dataset", order: int) -> list[Row]:
    """Return the parameters of salr and of hsalr by both growths, for each share of tuples kept."""
    rows: list[Row] = []
    names = [selection_name(family, order, score, share) for family, score in GROWTHS for share in GROWN_SHARES]
    for name in names:
        needed = work(RACERS[name], dataset)
        if needed > MOST_WORK:
            rows.append({"method": name, "work": needed, "left_out": "too much work"})
            continue
        model = make_estimator(RACERS[name].replace(max_iter=0), n_jobs=1).fit(dataset.X, dataset.y)
        rows.append({"method": name, "work": needed, "parameters": model.cells_.n_parameters(len(model.classes_))})
    return rows
