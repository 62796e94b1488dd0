"""A race that was run earlier: its traces as JSON, and back.

The file holds what a reader needs to see the race and to repeat it: the data set's name, rows and hash, every recipe,
every step. Weights are not in it.
"""

import json
from types import SimpleNamespace
from typing import Any, cast

from alrviz.errors import AlrvizError, TableError
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers.step import Outcome, Step
from alrviz.studies.race.race import Race, RecordedRun

FORMAT = 1
_FIELDS = tuple(name for name in Step.__slots__ if name != "extra")
_WHOLE = ("index", "evaluations")


def as_race(given: Any) -> Race:
    """Return what can be watched: a race as it is, a fitted model as a recorded race of one, its own fit.

    Raises:
        TableError: of a data set. AlrvizError: of anything else, or of a model that was not fitted here.
    """
    if hasattr(given, "runs") and hasattr(given, "recorded"):
        return cast(Race, given)
    kind = type(given).__name__
    expected = "expected what alrviz.race(dataset, recipes) returns, or an estimator after its fit"
    if hasattr(given, "to_recipe") and not isinstance(given, type):
        if getattr(given, "trace_", None) is None:
            raise AlrvizError(f"this {kind} keeps no fit to show: call its fit first (a model's file does not hold it)")
        run = RecordedRun(given.to_recipe(), given.trace_, given.outcome_, {})
        about = SimpleNamespace(name=f"the data that {kind} was fitted on", hash="", n_rows=round(given.trace_.rows))
        return Race(about, [run], recorded=True)
    from alrviz.data.dataset import Dataset

    if isinstance(given, Dataset):
        raise TableError(f"a data set alone is no race; {expected}")
    raise AlrvizError(f"a {kind} cannot be shown as a race; {expected}")


def record(race: Race, version: str) -> str:
    """Return an ended race as JSON; raises `AlrvizError` while a racer runs."""
    if not race.ended:
        raise AlrvizError("a race can be recorded when every racer has ended; join it first")
    content = {
        "format": FORMAT,
        "version": version,
        "data": {"name": race.dataset.name, "hash": race.dataset.hash, "n_rows": race.dataset.n_rows},
        "runs": [_run(run) for run in race.runs],
    }
    return json.dumps(content, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _run(run: Any) -> dict[str, Any]:
    frame, outcome = run.trace.frame(), run.outcome
    assert outcome is not None  # of a race that has ended
    return {
        "recipe": run.recipe.to_json(),
        "rows": run.trace.rows,
        "heldout_rows": run.trace.heldout_rows,
        "baseline": run.trace.baseline,
        "outcome": [outcome.code, outcome.sentence],
        "separation": {name: float(f"{value:.6g}") for name, value in run.separation.items()},
        "columns": {name: [_short(value, name) for value in frame[name]] for name in frame.columns},
    }


def _short(value: Any, name: str) -> Any:
    """A number with the digits a picture and a milestone need; what is not finite is null."""
    if name == "kind":
        return value
    if name in _WHOLE:
        return int(value)
    number = float(value)
    return float(f"{number:.9g}") if abs(number) < float("inf") else None


def read_recorded(text: str) -> Race:
    """Return the race that `record` wrote; raises `AlrvizError` on another format."""
    content = json.loads(text)
    if content.get("format") != FORMAT:
        raise AlrvizError(f"recorded race of format {content.get('format')!r}; this version reads format {FORMAT}")
    runs = [_read_run(part) for part in content["runs"]]
    return Race(SimpleNamespace(**content["data"]), runs, recorded=True)


def _read_run(part: dict[str, Any]) -> RecordedRun:
    trace = Trace()
    trace.rows, trace.heldout_rows, trace.baseline = part["rows"], part["heldout_rows"], part["baseline"]
    columns = part["columns"]
    extras = [name for name in columns if name not in _FIELDS]
    for k in range(len(columns["index"])):
        fields = {name: _number(columns[name][k]) for name in _FIELDS}
        trace.append(Step(**fields, extra={name: _number(columns[name][k]) for name in extras}))
    trace.close()
    return RecordedRun(Recipe.from_json(part["recipe"]), trace, Outcome(*part["outcome"]), part["separation"])


def _number(value: Any) -> Any:
    return float("nan") if value is None else value
