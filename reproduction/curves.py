"""Learning curves: learners that meet the rows one by one, and classifiers after ever more training rows.

A row is a point of a curve: set, method, seen (rows), rmse2 (mean over the last rows of (1/C) sum_k (p_k - 1[k=y])^2),
error, orders (of the rows, over which it is a mean), rows (predictions in that mean).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.study import Study
from alrviz.studies.protocols.bias_variance import bias_variance
from alrviz.studies.protocols.compare import fits_each
from alrviz.studies.protocols.learning_curve import learning_curve
from reproduction.kept import Progress, Row
from reproduction.over_sets import recalled
from reproduction.sets import BenchmarkSet
from reproduction.settings import OWNER, Settings
from reproduction.tables import MadeTable

MOST_POINTS = 40  # of a curve in the tables; the store has about 120


@dataclass(frozen=True)
class Curves:
    """Learners on one table: recipes by name, where alr takes log theta from, orders of the rows, rows of a mean."""

    table: BenchmarkSet | MadeTable
    learners: dict[str, Recipe]
    theta: str = "two-pass"
    repeats: int = 2
    window: int = 1000


def stepwise(families: Sequence[str], orders: Sequence[int], solver: str = "sgd") -> dict[str, Recipe]:
    """Return recipes that learn row by row, by name."""
    recipes = {f"{f}{n}": Recipe(f, order=n, solver=solver, alpha=0.0) for f in families if f != "anje" for n in orders}
    return recipes | {f"anje{n}": Recipe("anje", order=n) for n in orders if "anje" in families}


def curve_rows(curves: Sequence[Curves], settings: Settings) -> Progress:
    """Yield (what was done, its points) a table."""
    for spec in curves:
        table = spec.table
        if table.missing(settings.folder):
            yield f"{table.name}: no data", [{"set": table.name, "missing": table.advice(settings.folder)}]
            continue
        study = learning_curve(
            table.read(settings.folder),
            list(spec.learners.values()),
            repeats=spec.repeats,
            window=spec.window,
            theta=spec.theta,
            n_jobs=settings.jobs,
            keep=settings.keep,
            owner=OWNER,
        )
        _run(study, settings)
        yield f"{table.name}, {spec.theta}", list(_points(study, spec))


def _points(study: Study, spec: Curves) -> Iterator[Row]:
    lines = study.summary()
    for racer, name in enumerate(spec.learners):
        # A curve that has not met all orders of the rows is a mean over others than its neighbours'.
        curve = lines[(lines["racer"] == racer) & (lines["orders"] == spec.repeats)] if len(lines) else lines
        positions = sorted({*range(0, len(curve), max(1, len(curve) // MOST_POINTS)), *range(len(curve))[-1:]})
        for row in curve.iloc[positions].to_dict("records"):
            point = {key: row[key] for key in ("seen", "rmse2", "error", "orders")}
            counted = {"rows": spec.repeats * min(spec.window, row["seen"])}
            yield {"set": spec.table.name, "theta": spec.theta, "method": name} | point | counted


def share_rows(
    table: BenchmarkSet, recipes: dict[str, Recipe], shares: Sequence[float], settings: Settings
) -> Progress:
    """Yield the error of classifiers that learned from ever larger shares of half of the rows: once 2-fold."""
    if table.missing(settings.folder):
        yield f"{table.name}: no data", [{"set": table.name, "missing": table.advice(settings.folder)}]
        return
    dataset = table.read(settings.folder)
    for share in shares:
        study = bias_variance(
            dataset,
            list(recipes.values()),
            rounds=1,
            train_shares=(share,),
            n_jobs=settings.jobs,
            keep=settings.keep,
            owner=OWNER,
        )
        _run(study, settings)
        frame = study.frame()
        rows: list[Row] = []
        for racer, name in enumerate(recipes):
            fits = frame[frame["racer"] == racer] if len(frame) else frame
            if len(fits) and fits["error"].notna().sum() == fits_each(study):
                n_rows = int(fits["train_rows"].mean())
                point = {"seen": n_rows, "error": float(fits["error"].mean()), "rows": dataset.n_rows}
                rows.append({"set": table.name, "method": name} | point)
        yield f"{table.name}: share {share:g}", rows


def _run(study: Study, settings: Settings) -> None:
    if settings.kept_only:
        recalled(study, settings)
    else:
        study.run()
