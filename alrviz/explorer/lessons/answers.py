"""Compute the right answer of a question from a result: a named measure of a race, a fit or a study.

A result is a list of tables. A race or a fit has

    racers   name, iterations, near (iterations to 0.1 % of the best objective), nearer_1 (to 1 %), nll, objective,
             heldout_log_loss, heldout_error, outcome: a row per racer, at its last iteration
    steps    name, iteration and the numbers of that step: a row per iteration of each racer
    columns  of a fit of densities: column, and bandwidth, as a multiple of Silverman's

A study has its summary and, if it has them, `reliability` (test rows in groups by predicted probability) and
`importance` (a row per tuple, by name). A measure reads a column of a row; a selector such as "order=2" or
"name=lr, iteration=10" selects the row. The first table that has all these columns is used.
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
from alrviz.explorer.lesson import AnswerValue, Question
from alrviz.explorer.lessons.ranges import holds
from alrviz.pictures.prediction import Place, Prediction
from alrviz.studies.core.study import Study
from alrviz.studies.density.density_film import bandwidth_path
from alrviz.studies.race.milestones import by_objective, milestones
from alrviz.studies.statistics.measures import MEASURES as STUDY_MEASURES
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
# The columns of the results of each page, to check a lesson's file when it is read. The names of `NAMED_COLUMNS` depend
# on the result: penalties of orders, bandwidths of columns, means along a path.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "convergence": _RACE,
    "boundaries": (*_RACE, "column", "bandwidth"),
    "path": ("racer", "label", "name", "order", "alpha", "repeats", *STUDY_MEASURES),
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
    """Raise AlrvizError, with the nearest name, if no result of a page has such a column."""
    columns = COLUMNS.get(page)
    if columns is None or name in columns or NAMED_COLUMNS.fullmatch(name):
        return
    similar = get_close_matches(name, columns, n=1)
    hint = f"did you mean {similar[0]!r}? There are" if similar else "there are"
    raise AlrvizError(
        f"results of the page {page} have no column {name!r}; {hint} {', '.join(columns)} (docs/lessons.md has more)"
    )


@dataclass(frozen=True)
class Measure:
    """One measure; docs/lessons.md describes each.

    Attributes:
        arguments: names of its arguments, in words.
        kinds: the kinds of questions that it answers.
        compute: takes the tables, the arguments and the values of the options.
        max_args: number of arguments that it takes at most; 0 for those in `arguments`.
    """

    arguments: str
    kinds: tuple[str, ...]
    compute: Callable[[Any, tuple[str, ...], tuple[str, ...]], AnswerValue]
    max_args: int = 0

    @property
    def numeric(self) -> bool:
        """Whether it returns a number; the options of a choice are then ranges."""
        return "number" in self.kinds

    def takes(self, n_arguments: int) -> bool:
        """Return whether the measure can be called with so many arguments: at least those not marked "where needed", at
        most `max_args`, or all.
        """
        names = self.arguments.split(", ")
        n_optional = sum(name.endswith("where needed") for name in names)
        return len(names) - n_optional <= n_arguments <= (self.max_args or len(names))


def answer(question: Question, result: object) -> AnswerValue:
    """Return the right answer to the question.

    Raises:
        AlrvizError: if a column or row is missing, with the nearest; if a number is outside all ranges.
    """
    if question.answer is None:
        raise AlrvizError("this question has no right answer")
    measure = MEASURES[question.answer.measure]
    value = measure.compute(tables(result), question.answer.of, question.values)
    if question.kind != "choice" or not measure.numeric:
        if question.kind == "choice" and value not in question.values:
            raise AlrvizError(f"{value!r} is not one of the options {', '.join(question.values)}")
        return value
    assert isinstance(value, float)
    option = next((text for text in question.values if holds(text, value)), None)
    if option is None:
        raise AlrvizError(f"{value:.4g} is outside all ranges {', '.join(question.values)}")
    return option


def tables(result: object) -> list[pd.DataFrame]:
    """Return a result as tables, the summary first."""
    return _study_tables(result) if isinstance(getattr(result, "study", result), Study) else _race_tables(result)


def _study_tables(result: Any) -> list[pd.DataFrame]:
    """Return summary, reliability and importance of a study, as far as it has them."""
    frames = [result.summary()]
    if hasattr(result, "reliability"):
        frames.append(result.reliability())
    if hasattr(result, "importance"):
        frames.append(result.importance())
    return [frame if frame.index.name is None else frame.rename_axis("name").reset_index() for frame in frames]


def _race_tables(race: Any) -> list[pd.DataFrame]:
    """Return the tables `racers`, `steps` and `columns` (one for each fit of densities) of the module's docstring."""
    reader = RaceReader(race)
    reader.pull()
    summaries = [racer.summary() for racer in reader.racers]
    milestone_iterations: dict[str, list[float | None]] = {}
    for same_objective in by_objective(summaries).values():
        race_milestones = milestones(same_objective)
        for summary in same_objective:
            milestone_iterations[summary.name] = [race_milestones.count_at(summary.name, goal) for goal in (0, 1)]
    racer_rows, step_frames = [], []
    for racer, summary in zip(reader.racers, summaries, strict=True):
        columns_of_racer = {name: np.asarray(values) for name, values in racer.columns.items() if name != "kind"}
        frame = pd.DataFrame({"name": summary.name, "iteration": columns_of_racer.pop("index"), **columns_of_racer})
        for name in ("nll", "objective", "penalty"):
            frame[name] = frame[name] / summary.n_rows
        step_frames.append(frame)
        last_step = frame.iloc[-1].to_dict() if len(frame) else {}
        racer_rows.append({
            **last_step, "name": summary.name, "iterations": summary.iterations,
            "nearer_1": milestone_iterations[summary.name][0], "near": milestone_iterations[summary.name][1],
            "outcome": summary.outcome,
        })  # fmt: skip
    paths = [bandwidth_path(run) for run in race.runs if "bandwidth" in run.recipe.params and len(run.trace)]
    bandwidth_frames = [pd.DataFrame({"column": path.columns, "bandwidth": path.ratios[-1]}) for path in paths]
    racer_frame = pd.DataFrame(racer_rows).drop(columns="iteration")
    return [racer_frame, pd.concat(step_frames, ignore_index=True), *bandwidth_frames]


# ---- rows and columns ------------------------------------------------------------------------------------------------


def parse_selector(text: str) -> dict[str, str]:
    """Return the values by column of a selector, "order=2, name=lr"."""
    name_value_pairs = [part.partition("=") for part in text.split(",")]
    if any(not (sign and key.strip() and value.strip()) for key, sign, value in name_value_pairs):
        raise AlrvizError(f"{text!r} selects no row; expected column=value, such as order=2")
    return {key.strip(): value.strip() for key, _, value in name_value_pairs}


def _select_rows(frames: Sequence[pd.DataFrame], column: str, conditions: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of the first table that has `column` and all columns of `conditions`, whose cells equal these.

    Raises:
        AlrvizError: if there is no such table or row, with the columns or values that there are.
    """
    required_columns = [column, *conditions]
    table = next((frame for frame in frames if set(required_columns) <= set(frame.columns)), None)
    if table is None:
        columns = [str(name) for frame in frames for name in frame.columns]
        missing = next((name for name in required_columns if name not in columns), column)
        similar = get_close_matches(missing, columns, n=1)
        raise AlrvizError(
            f"the result has no column {missing!r}"
            + (f"; did you mean {similar[0]!r}?" if similar else f"; it has {', '.join(dict.fromkeys(columns))}")
        )
    for name, expected_text in conditions.items():
        is_match = [_cell_equals(cell, expected_text) for cell in table[name]]
        if not any(is_match):
            values_text = ", ".join(dict.fromkeys(str(cell) for cell in table[name][:200]))
            raise AlrvizError(f"no row of the result has {name}={expected_text}; there are {values_text[:200]}")
        table = table[is_match]
    return table


def _cell_equals(value: object, expected_text: str) -> bool:
    """Return whether a cell has the text of a selector, or is a number that equals it."""
    if str(value) == expected_text:
        return True
    try:
        return bool(np.isclose(float(str(value)), float(expected_text), rtol=1e-9))
    except ValueError:
        return False


def _single_value(frames: Sequence[pd.DataFrame], column: str, selector: str) -> Any:
    """Return a column's cell in the one row that the selector ("order=2") selects."""
    rows = _select_rows(frames, column, parse_selector(selector))
    if len(rows) != 1:
        raise AlrvizError(f"{len(rows)} rows of the result have {selector}; expected one: name more columns")
    return rows[column].iloc[0]


def _cell_number(frames: Sequence[pd.DataFrame], column: str, selector: str) -> float:
    """Return `_single_value` as a number; `AlrvizError` if it is none."""
    value = _single_value(frames, column, selector)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise AlrvizError(f"{column} of {selector} is {value!r}, not a number") from None


def _ranking(frames: Sequence[pd.DataFrame], arguments: tuple[str, ...], options: tuple[str, ...]) -> list[str]:
    """Return the options, which are values of the column `key`, sorted by another column; NaN is last.

    arguments: column, key, and a selector of rows where needed.
    """
    column, key, *selector = arguments
    rows = _select_rows(frames, column, {})
    rows = _select_rows(frames, column, parse_selector(selector[0])) if selector else rows
    if key not in rows:
        raise AlrvizError(f"the table with {column} has no column {key!r}; it has {', '.join(map(str, rows.columns))}")
    number_by_option = {}
    for option in options:
        numbers = [value for name, value in zip(rows[key], rows[column], strict=True) if _cell_equals(name, option)]
        if len(numbers) > 1:
            raise AlrvizError(f"{len(numbers)} rows of the result have {key}={option}; expected one: name more columns")
        number_by_option[option] = float(numbers[0]) if numbers and numbers[0] is not None else float("nan")
    missing_options = [option for option in options if not any(_cell_equals(name, option) for name in rows[key])]
    if missing_options and len(missing_options) == len(options):
        present_text = ", ".join(dict.fromkeys(str(cell) for cell in rows[key][:200]))
        raise AlrvizError(f"no row of the result has {key}={missing_options[0]}; there are {present_text[:200]}")
    return sorted(
        (option for option in options if option not in missing_options),
        key=lambda option: (np.isnan(number_by_option[option]), number_by_option[option]),
    )


def _fallen_share(frames: Sequence[pd.DataFrame], column: str, selector: str) -> float:
    """Return the share of a column's total fall (iteration 0 to the last) that is done at the selected iteration."""
    step_frames = [table for table in frames if "iteration" in table]
    without_iteration = {key: value for key, value in parse_selector(selector).items() if key != "iteration"}
    row_selector = ", ".join(f"{key}={value}" for key, value in without_iteration.items())
    first_value = _cell_number(step_frames, column, f"{row_selector}, iteration=0".lstrip(", "))
    current_value = _cell_number(step_frames, column, selector)
    last_value = float(_select_rows(step_frames, column, without_iteration)[column].iloc[-1])
    return (first_value - current_value) / (first_value - last_value) if first_value != last_value else 1.0


def _overconfidence(frames: Sequence[pd.DataFrame], selector: str) -> float:
    rows = _select_rows(frames, "confidence", parse_selector(selector))
    return float(np.average(rows["confidence"] - rows["accuracy"], weights=rows["rows"]))


_NUMBERS, _RANKING_ARGUMENTS = ("choice", "number"), "column, key, row where needed"
MEASURES: Mapping[str, Measure] = {
    "value": Measure("column, row", _NUMBERS, lambda frames, args, _: _cell_number(frames, *args)),
    "percent": Measure("column, row", _NUMBERS, lambda frames, args, _: 100 * _cell_number(frames, *args)),
    "word": Measure("column, row", ("choice",), lambda frames, args, _: str(_single_value(frames, *args))),
    "ratio": Measure(
        "column, row, row", _NUMBERS,
        lambda frames, args, _: _cell_number(frames, *args[:2]) / _cell_number(frames, args[0], args[2]),
    ),
    "difference": Measure(
        "column, row, row", _NUMBERS,
        lambda frames, args, _: _cell_number(frames, *args[:2]) - _cell_number(frames, args[0], args[2]),
    ),
    "fallen": Measure("column, row", _NUMBERS, lambda frames, args, _: _fallen_share(frames, *args)),
    "overconfidence": Measure("row", _NUMBERS, lambda frames, args, _: _overconfidence(frames, *args)),
    "less": Measure(
        "column, row, row", ("choice",),
        lambda frames, args, _: (
            "yes" if _cell_number(frames, *args[:2]) < _cell_number(frames, args[0], args[2]) else "no"
        ),
    ),
    "lowest": Measure(_RANKING_ARGUMENTS, ("choice",), lambda *result: _ranking(*result)[0]),
    "highest": Measure(_RANKING_ARGUMENTS, ("choice",), lambda *result: _ranking(*result)[-1]),
    "ranking": Measure(_RANKING_ARGUMENTS, ("order",), lambda *result: tuple(_ranking(*result))),
    "values": Measure(
        "column, row, row ...", ("sketch",),
        lambda frames, args, _: tuple(_cell_number(frames, args[0], line) for line in args[1:]), 9,
    ),
}  # fmt: skip


# ---- on the picture --------------------------------------------------------------------------------------------------

_ITERATION_COLUMNS = {"iteration": ("near", "nearer_1", "iterations")}  # numbers of a race that are x on its picture


def on_picture(question: Question, answer_text: AnswerValue, axes: NumberAxes) -> Prediction | None:
    """Return an answer as marks on a picture; None if it is no number on the picture's axes."""
    if question.answer is None or question.answer.measure not in ("value", "values"):
        return None
    column, *selectors = question.answer.of
    numbers = answer_text if isinstance(answer_text, tuple) else (answer_text,)
    place_by_answer = [
        _place_on_axes(column, parse_selector(selector), number, axes)
        for selector, number in zip(selectors, numbers, strict=True)
    ]
    drawn_places = tuple(place for place in place_by_answer if place is not None)
    if len(drawn_places) < len(place_by_answer):
        return None
    names = [option.words for option in question.options] or [""]
    labels = (f"you, {name}" if name else f"you: {number:.3g}" for name, number in zip(names, numbers, strict=True))
    return Prediction(drawn_places, tuple(labels))


def _place_on_axes(column: str, conditions: Mapping[str, str], value: str | float, axes: NumberAxes) -> Place | None:
    """Return where an answer is on a picture. conditions: of its selector. None if the picture has no such axis."""
    if isinstance(value, str):
        return None
    if column in _ITERATION_COLUMNS.get(axes.x_column, ()):
        return value, None
    if column not in axes.y_columns:
        return None
    x = None
    with suppress(ValueError):
        x = float(conditions[axes.x_column]) if axes.x_column in conditions else None
    return x, value
