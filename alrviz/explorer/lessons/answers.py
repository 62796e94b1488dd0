"""Compute the right answer of a question from what ran: a named measure of a race, a fit or a study.

What ran is seen as tables. Of a race or a fit they are

    racers   name, iterations, near (iterations to 0.1 % of the best objective), nearer_1 (to 1 %), nll, objective,
             heldout_log_loss, heldout_error, outcome: a line for each racer, at its last iteration
    steps    name, iteration and the numbers of that step: a line for each iteration of each racer
    columns  of a fit of densities: column, and bandwidth, as a multiple of Silverman's

and of a study its summary, with `reliability` (test rows in groups by predicted probability) and `importance`
(a line for each tuple, by name) where it has them. A measure says which column it is of, and a line is told by values
of other columns, "order=2" or "name=lr, iteration=10". A column that a summary lacks is looked for in the others.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import Question, Said
from alrviz.explorer.lessons.ranges import holds
from alrviz.pictures.prediction import Place, Prediction
from alrviz.studies.core.study import Study
from alrviz.studies.density.density_film import bandwidth_path
from alrviz.studies.race.milestones import by_objective, milestones
from alrviz.studies.statistics.measures import MEASURES as JUDGED
from alrviz.views.core.live_figure import NumberAxes
from alrviz.views.core.trace_reader import RaceReader

_RACE = (
    "name", "iteration", "iterations", "near", "nearer_1", "outcome", "nll", "objective", "penalty", "heldout_log_loss",
    "heldout_error", "heldout_rmse", "heldout_seconds", "train_error", "train_rmse", "seconds", "passes", "evaluations",
    "products", "grad_norm", "step_size", "lead", "phi_norm", "search_log_loss", "search_folds", "eta0",
    "tuned_stop",
)  # fmt: skip
_ERRORS = (
    "error", "bias", "variance", "bias_unbiased", "variance_unbiased", "bias_domingos", "variance_domingos",
    "net_variance_domingos", "log_loss", "rmse2",
)  # fmt: skip
# By page, the columns of what runs there, so that a lesson's file is checked when it is read; `NAMED_COLUMNS` are named
# by what ran: penalties of orders, bandwidths of columns, means along a path.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "convergence": _RACE,
    "boundaries": (*_RACE, "column", "bandwidth"),
    "path": ("racer", "label", "name", "order", "alpha", "repeats", *JUDGED),
    "order": (
        "order", "folds", "log_loss", "error", "se", "parameters", "train_seconds", "gain", "gain_se", "wins", "rows",
        "confidence", "accuracy", "effective", "standard_error",
    ),
    "bias": (
        "racer", "label", "name", "order", "alpha", "train_share", "rounds", "seen", "orders",
        *_ERRORS, *(f"{name}_se" for name in _ERRORS),
    ),
    "interactions": (
        "name", "order", "share", "structural", "nats", "loss", "loss_error", "cells", "nats_low", "nats_high",
        "share_low", "share_high",
    ),
}  # fmt: skip
NAMED_COLUMNS = re.compile(r"alpha_\d+|h_\d+|(train|away)_\w+|\w+_above_se|spread_\w+")


def check_column(page: str, name: str) -> None:
    """Raise AlrvizError, with the nearest, of a column that nothing of a page has."""
    known = COLUMNS.get(page)
    if known is None or name in known or NAMED_COLUMNS.fullmatch(name):
        return
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}? There are" if near else "there are"
    raise AlrvizError(
        f"what runs on the page {page} has no column {name!r}; {hint} {', '.join(known)} (docs/lessons.md has more)"
    )


@dataclass(frozen=True)
class Measure:
    """One measure.

    takes: what it is of, in words. kinds: of questions that it answers. least, most: how many texts it is of. numeric:
    whether it gives a number, of which the options of a choice are ranges. compute: of tables, its texts and the
    options' values. doc: what it gives.
    """

    takes: str
    kinds: tuple[str, ...]
    least: int
    most: int
    numeric: bool
    compute: Callable[[Any, tuple[str, ...], tuple[str, ...]], Said]
    doc: str


def answer(question: Question, result: object) -> Said:
    """Return what is right: what an answer to the question would be that had known what ran.

    Raises:
        AlrvizError: of a column or a line that is not there, with the nearest; of a number in none of the ranges.
    """
    if question.answer is None:
        raise AlrvizError("nobody has said what is right")
    measure = MEASURES[question.answer.measure]
    found = measure.compute(tables(result), question.answer.of, question.values)
    if question.kind != "choice" or not measure.numeric:
        if question.kind == "choice" and found not in question.values:
            raise AlrvizError(f"{found!r} is none of the options {', '.join(question.values)}")
        return found
    assert isinstance(found, float)
    option = next((value for value in question.values if holds(value, found)), None)
    if option is None:
        raise AlrvizError(f"{found:.4g} is in none of the ranges {', '.join(question.values)}")
    return option


def tables(result: object) -> list[pd.DataFrame]:
    """Return what ran as tables, the summary first."""
    return _study_tables(result) if isinstance(getattr(result, "study", result), Study) else _race_tables(result)


def _study_tables(result: Any) -> list[pd.DataFrame]:
    found = [result.summary()]
    if hasattr(result, "reliability"):
        found.append(result.reliability())
    if hasattr(result, "importance"):
        found.append(result.importance())
    return [table if table.index.name is None else table.rename_axis("name").reset_index() for table in found]


def _race_tables(race: Any) -> list[pd.DataFrame]:
    reader = RaceReader(race)
    reader.pull()
    lanes = [racer.summary() for racer in reader.racers]
    met: dict[str, list[float | None]] = {}
    for same in by_objective(lanes).values():
        marks = milestones(same)
        met |= {lane.name: [marks.at(lane.name, goal) for goal in (0, 1)] for lane in same}
    racers, steps = [], []
    for racer, lane in zip(reader.racers, lanes, strict=True):
        frame = {name: np.asarray(values) for name, values in racer.columns.items() if name != "kind"}
        whole = pd.DataFrame({"name": lane.name, "iteration": frame.pop("index"), **frame})
        for name in ("nll", "objective", "penalty"):
            whole[name] = whole[name] / lane.n_rows
        steps.append(whole)
        last = whole.iloc[-1].to_dict() if len(whole) else {}
        racers.append({
            **last, "name": lane.name, "iterations": lane.iterations, "nearer_1": met[lane.name][0],
            "near": met[lane.name][1], "outcome": lane.outcome,
        })  # fmt: skip
    paths = [bandwidth_path(run) for run in race.runs if "bandwidth" in run.recipe.params and len(run.trace)]
    columns = [pd.DataFrame({"column": path.columns, "bandwidth": path.ratios[-1]}) for path in paths]
    return [pd.DataFrame(racers).drop(columns="iteration"), pd.concat(steps, ignore_index=True), *columns]


# ---- lines and columns -----------------------------------------------------------------------------------------------


def where_of(text: str) -> dict[str, str]:
    """Return the values of columns by which a line is told; AlrvizError where the text tells none."""
    pairs = [part.partition("=") for part in text.split(",")]
    if any(not (sign and key.strip() and value.strip()) for key, sign, value in pairs):
        raise AlrvizError(f"{text!r} tells no line; expected column=value, such as order=2")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _lines(found: Sequence[pd.DataFrame], column: str, where: Mapping[str, str]) -> pd.DataFrame:
    """The lines of the first table that has a column and those by which lines are told."""
    wanted = [column, *where]
    table = next((one for one in found if set(wanted) <= set(one.columns)), None)
    if table is None:
        known = [str(name) for one in found for name in one.columns]
        lacking = next((name for name in wanted if name not in known), column)
        near = get_close_matches(lacking, known, n=1)
        raise AlrvizError(
            f"what ran has no column {lacking!r}"
            + (f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(dict.fromkeys(known))}")
        )
    for key, value in where.items():
        same = [_same(one, value) for one in table[key]]
        if not any(same):
            there = ", ".join(dict.fromkeys(str(one) for one in table[key][:200]))
            raise AlrvizError(f"no line of what ran has {key}={value}; there are {there[:200]}")
        table = table[same]
    return table


def _same(value: object, text: str) -> bool:
    if str(value) == text:
        return True
    try:
        return bool(np.isclose(float(str(value)), float(text), rtol=1e-9))
    except ValueError:
        return False


def _one(found: Sequence[pd.DataFrame], column: str, line: str) -> Any:
    lines = _lines(found, column, where_of(line))
    if len(lines) != 1:
        raise AlrvizError(f"{len(lines)} lines of what ran have {line}; expected one: name more columns")
    return lines[column].iloc[0]


def _number(found: Sequence[pd.DataFrame], column: str, line: str) -> float:
    value = _one(found, column, line)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise AlrvizError(f"{column} of {line} is {value!r}, no number") from None


def _ranked(found: Sequence[pd.DataFrame], of: tuple[str, ...], options: tuple[str, ...]) -> list[str]:
    """The options, which are values of a column, by another column, lowest first; what never came is last."""
    column, key, *line = of
    lines = _lines(found, column, {})
    lines = _lines(found, column, where_of(line[0])) if line else lines
    if key not in lines:
        raise AlrvizError(f"the table with {column} has no column {key!r}; it has {', '.join(map(str, lines.columns))}")
    at = {}
    for option in options:
        mine = [value for name, value in zip(lines[key], lines[column], strict=True) if _same(name, option)]
        if len(mine) > 1:
            raise AlrvizError(f"{len(mine)} lines of what ran have {key}={option}; expected one: name more columns")
        at[option] = float(mine[0]) if mine and mine[0] is not None else float("nan")
    lost = [option for option in options if not any(_same(name, option) for name in lines[key])]
    if lost and len(lost) == len(options):
        there = ", ".join(dict.fromkeys(str(one) for one in lines[key][:200]))
        raise AlrvizError(f"no line of what ran has {key}={lost[0]}; there are {there[:200]}")
    return sorted((one for one in options if one not in lost), key=lambda one: (np.isnan(at[one]), at[one]))


def _fallen(found: Sequence[pd.DataFrame], column: str, line: str) -> float:
    steps = [table for table in found if "iteration" in table]
    name = {key: value for key, value in where_of(line).items() if key != "iteration"}
    told = ", ".join(f"{key}={value}" for key, value in name.items())
    first, here = (_number(steps, column, one) for one in (f"{told}, iteration=0".lstrip(", "), line))
    last = float(_lines(steps, column, name)[column].iloc[-1])
    return (first - here) / (first - last) if first != last else 1.0


def _overconfidence(found: Sequence[pd.DataFrame], line: str) -> float:
    lines = _lines(found, "confidence", where_of(line))
    return float(np.average(lines["confidence"] - lines["accuracy"], weights=lines["rows"]))


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"


_NUMBERS = ("choice", "number")
MEASURES: Mapping[str, Measure] = {
    "value": Measure(
        "column, line", _NUMBERS, 2, 2, True, lambda found, of, _: _number(found, of[0], of[1]),
        "the number in a column of a line",
    ),
    "percent": Measure(
        "column, line", _NUMBERS, 2, 2, True, lambda found, of, _: 100 * _number(found, of[0], of[1]),
        "a hundred times the number in a column of a line",
    ),
    "word": Measure(
        "column, line", ("choice",), 2, 2, False, lambda found, of, _: str(_one(found, of[0], of[1])),
        "the word in a column of a line, such as an outcome",
    ),
    "ratio": Measure(
        "column, line, line", _NUMBERS, 3, 3, True,
        lambda found, of, _: _number(found, of[0], of[1]) / _number(found, of[0], of[2]),
        "the number in one line divided by that in another",
    ),
    "difference": Measure(
        "column, line, line", _NUMBERS, 3, 3, True,
        lambda found, of, _: _number(found, of[0], of[1]) - _number(found, of[0], of[2]),
        "the number in one line minus that in another",
    ),
    "fallen": Measure(
        "column, line", _NUMBERS, 2, 2, True, lambda found, of, _: _fallen(found, of[0], of[1]),
        "how much of a column's whole fall is done at a line, from 0 to 1: of a race's iteration",
    ),
    "overconfidence": Measure(
        "line", _NUMBERS, 1, 1, True, lambda found, of, _: _overconfidence(found, of[0]),
        "of Which order?: mean probability of the predicted class minus the share that is right, over test rows",
    ),
    "less": Measure(
        "column, line, line", ("choice",), 3, 3, False,
        lambda found, of, _: _yes(_number(found, of[0], of[1]) < _number(found, of[0], of[2])),
        "yes where the number in the first line is less, else no",
    ),
    "lowest": Measure(
        "column, key, line where needed", ("choice",), 2, 3, False,
        lambda found, of, options: _ranked(found, of, options)[0],
        "the option, a value of the column key, whose line has the lowest number",
    ),
    "highest": Measure(
        "column, key, line where needed", ("choice",), 2, 3, False,
        lambda found, of, options: _ranked(found, of, options)[-1],
        "the option, a value of the column key, whose line has the highest number",
    ),
    "ranking": Measure(
        "column, key, line where needed", ("order",), 2, 3, False,
        lambda found, of, options: tuple(_ranked(found, of, options)),
        "all options, values of the column key, by the number in their lines, lowest first",
    ),
    "values": Measure(
        "column, line, line ...", ("sketch",), 3, 9, True,
        lambda found, of, _: tuple(_number(found, of[0], line) for line in of[1:]),
        "the numbers in a column, one line for each option",
    ),
}  # fmt: skip


# ---- on the picture --------------------------------------------------------------------------------------------------

_ALONG = {"iteration": ("near", "nearer_1", "iterations")}  # numbers of a race that are places along its iterations


def on_picture(question: Question, said: Said, axes: NumberAxes) -> Prediction | None:
    """Return what was said as marks on a picture with these axes; None where it is no number of theirs."""
    if question.answer is None or question.answer.measure not in ("value", "values"):
        return None
    column, *lines = question.answer.of
    numbers = said if isinstance(said, tuple) else (said,)
    places = [_place(column, where_of(line), number, axes) for line, number in zip(lines, numbers, strict=True)]
    known = tuple(place for place in places if place is not None)
    if len(known) < len(places):
        return None
    names = [option.words for option in question.options] or [""]
    words = (f"you, {name}" if name else f"you: {number:.3g}" for name, number in zip(names, numbers, strict=True))
    return Prediction(known, tuple(words))


def _place(column: str, where: Mapping[str, str], number: str | float, axes: NumberAxes) -> Place | None:
    if isinstance(number, str):
        return None
    if column in _ALONG.get(axes.x_column, ()):
        return number, None
    if column not in axes.y_columns:
        return None
    at = None
    with suppress(ValueError):
        at = float(where[axes.x_column]) if axes.x_column in where else None
    return at, number
