"""Recorded races: the traces of a race as JSON, and back.

The file has everything needed to see the race and to repeat it: the data set's name, rows and hash, all recipes, all
steps. It has no weights.
"""

import json
from types import SimpleNamespace
from typing import Any, cast

from alrviz.errors import AlrvizError, TableError
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.step import Step
from alrviz.studies.race.race import Race, RecordedRun, run_metadata

FORMAT = 1
_FIELDS = tuple(name for name in Step.__slots__ if name != "extra")
_INTEGER_FIELDS = ("index", "evaluations")


def as_race(source: Any) -> Race:
    """Return `source`, if it is a race, unchanged; or a fitted model as a recorded race of its own fit.

    Raises:
        TableError: for a data set.
        AlrvizError: for anything else, or a model without a recorded fit.
    """
    if hasattr(source, "runs") and hasattr(source, "recorded"):
        return cast(Race, source)
    kind = type(source).__name__
    expected_text = "expected what alrviz.race(dataset, recipes) returns, or an estimator after its fit"
    if hasattr(source, "to_recipe") and not isinstance(source, type):
        if getattr(source, "trace_", None) is None:
            raise AlrvizError(f"this {kind} has no recorded fit: call its fit first (a model's file has none)")
        run = RecordedRun(source.to_recipe(), source.trace_, source.outcome_, {})
        dataset = SimpleNamespace(name=f"the data that {kind} was fitted on", hash="", n_rows=round(source.trace_.rows))
        return Race(dataset, [run], recorded=True)
    from alrviz.data.dataset import Dataset

    if isinstance(source, Dataset):
        raise TableError(f"a data set alone is no race; {expected_text}")
    raise AlrvizError(f"a {kind} cannot be shown as a race; {expected_text}")


def record(race: Race, version: str) -> str:
    """Return a race as JSON, with alrviz's version; raises `AlrvizError` until all racers have ended."""
    if not race.ended:
        raise AlrvizError("a race can be recorded once every racer has ended; join it first")
    content = {
        "format": FORMAT,
        "version": version,
        "data": {"name": race.dataset.name, "hash": race.dataset.hash, "n_rows": race.dataset.n_rows},
        "runs": [_run_content(run) for run in race.runs],
    }
    return json.dumps(content, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _run_content(run: Any) -> dict[str, Any]:
    frame, metadata = run.trace.frame(), run_metadata(run)
    return {
        **metadata,
        "recipe": run.recipe.to_json(),
        "separation": {name: float(f"{value:.6g}") for name, value in metadata["separation"].items()},
        "columns": {name: [_rounded(value, name) for value in frame[name]] for name in frame.columns},
    }


def _rounded(value: Any, name: str) -> Any:
    """Round a value of the field `name` to the digits that pictures and milestones need; None if it is not finite."""
    if name == "kind":
        return value
    if name in _INTEGER_FIELDS:
        return int(value)
    number = float(value)
    return float(f"{number:.9g}") if abs(number) < float("inf") else None


def read_recorded(text: str) -> Race:
    """Return the race in a text that `record` wrote; raises `AlrvizError` for another format."""
    content = json.loads(text)
    if content.get("format") != FORMAT:
        raise AlrvizError(f"the recorded race has format {content.get('format')!r}; this version reads {FORMAT}")
    runs = [_read_run(run_data) for run_data in content["runs"]]
    return Race(SimpleNamespace(**content["data"]), runs, recorded=True)


def _read_run(run_data: dict[str, Any]) -> RecordedRun:
    columns = {name: [_number(value) for value in values] for name, values in run_data["columns"].items()}
    extras = [name for name in columns if name not in _FIELDS]
    steps = [
        Step(**{name: columns[name][k] for name in _FIELDS}, extra={name: columns[name][k] for name in extras})
        for k in range(len(columns["index"]))
    ]
    return RecordedRun.of_parts(Recipe.from_json(run_data["recipe"]), run_data, steps)


def _number(value: Any) -> Any:
    return float("nan") if value is None else value
