"""Bias, variance and error against order, alpha or training size: three pictures side by side, of one scale.

A line is a family with all its settings but the one below it; bars are a standard error. All three axes span equally
much, so that what bias loses and variance gains are seen as equal heights. What has no such setting (a forest has no
order) is a dashed level. Values of the axis stand at equal steps, as the grid that was fitted has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import FixedTicker, HoverTool

from alrviz.fitting.families.param import in_digits
from alrviz.pictures.labels import legend_columns
from alrviz.pictures.palette import MARKERS, racer_colours
from alrviz.pictures.picture import Data, Picture, Plot, Range, add_legend
from alrviz.studies.core.names import parameter_words
from alrviz.studies.statistics.crossing import family_of

_MARGIN_STEPS = 0.4  # of a step, left of the first value and right of the last
_LINE_SHIFT_STEPS, _MAX_SHIFT_STEPS = 0.05, 0.25  # between lines, so that their bars stay apart, and of all lines
LEGEND_WIDTH_PX = 320  # assumed


@dataclass(frozen=True, slots=True)
class Kind:
    """A definition of bias and variance: columns of the summary that add up to the error, and what they are called."""

    name: str
    bias: str
    variance: str
    bias_words: str
    variance_words: str
    form: str = ""  # of several that are called so

    def on_axis(self, words: str) -> str:
        """Return a label of an axis or a column, with the form of decomposition if needed."""
        return f"{words}, {self.form}" if self.form else words


KINDS: Mapping[str, Kind] = {
    "plug-in": Kind("Kohavi-Wolpert, plug-in", "bias", "variance", "bias²", "variance"),
    "unbiased": Kind(
        "Kohavi-Wolpert, unbiased", "bias_unbiased", "variance_unbiased", "bias²", "variance", form="unbiased"
    ),
    "Domingos": Kind("Domingos", "bias_domingos", "net_variance_domingos", "bias", "net variance"),
}
AXES: Mapping[str, str] = {
    "order": "order n",
    "alpha": "alpha",
    "train_share": "share of the training rows",
}


def share_text(share: float) -> str:
    """Return a training size in words. share: part of the training rows that is used, from 0 to 1."""
    return "all training rows" if share == 1 else f"{100 * share:g} % of the training rows"


def varying(table: pd.DataFrame) -> list[str]:
    """Return the axes along which a line of the study has more than one value, in the order of AXES."""
    return [axis for axis in AXES if any(rows[axis].nunique() > 1 for rows in _along(table, axis).values())]


def bias_variance(table: pd.DataFrame, axis: str, kind: str, *, dark: bool = False) -> dict[str, Picture]:
    """Return the pictures of a summary of `bias_variance`: "bias", "variance" and "error".

    axis: of AXES. kind: of KINDS. Against order or alpha the lines are those of the largest training size of which
    there are figures.
    """
    rows_with_error = table[table["error"].notna()] if table["error"].notna().any() else table
    share, shares = rows_with_error["train_share"].max(), table["train_share"].nunique()
    shown_rows = table if axis == "train_share" else table[table["train_share"] == share]
    axis_text = AXES[axis] + (f", {share_text(share)}" if shares > 1 and axis != "train_share" else "")
    values = _values(shown_rows[axis])
    places = {value: float(k) for k, value in enumerate(values)}
    by_name = _along(shown_rows, axis)
    parts = list(by_name.values())
    definition = KINDS[kind]
    columns = {"bias": definition.bias, "variance": definition.variance, "error": "error"}
    ends = (-_MARGIN_STEPS, max(len(values), 1) - 1 + _MARGIN_STEPS)
    lines = {}
    for part, column in columns.items():
        dodge = min(_LINE_SHIFT_STEPS, _MAX_SHIFT_STEPS / max(len(parts), 1))
        shifts = (dodge * (k - (len(parts) - 1) / 2) for k in range(len(parts)))
        lines[part] = tuple(_line(rows, axis, column, places, ends, d) for rows, d in zip(parts, shifts, strict=True))
    labels = tuple(str(rows["label"].iloc[0]) for rows in parts)
    dashed = tuple(not any(value in places for value in rows[axis]) for rows in parts)
    ticks = tuple(f"{100 * value:g} %" if axis == "train_share" else in_digits(value) for value in values)
    named_colours = list(zip(by_name, racer_colours(labels, dark), dashed, strict=True))
    titles = {
        "bias": definition.on_axis(definition.bias_words),
        "variance": definition.on_axis(definition.variance_words),
        "error": "error (0-1)",
    }
    ranges = _ranges(lines)
    return {
        part: Picture(
            draw=partial(_draw, lines=named_colours, ticks=ticks, title=title),
            x=ends, y=ranges[part], labels=(axis_text, title), data={"lines": lines[part]},
            key=(tuple(by_name), labels, ticks, axis, kind, dark),
        )
        for part, title in titles.items()
    }  # fmt: skip


def _along(table: pd.DataFrame, axis: str) -> dict[str, pd.DataFrame]:
    """The lines of a summary along an axis, by name."""
    if not len(table):
        return {}
    racers = zip(table["name"], table["label"], table[axis], strict=True)
    names = [_without(str(name), str(label), axis, value) for name, label, value in racers]
    lines = {name: table[[name == line_name for line_name in names]] for name in dict.fromkeys(names)}
    return {_called(name, rows, axis): rows for name, rows in lines.items()}


def _called(name: str, rows: pd.DataFrame, axis: str) -> str:
    """Return the name of a line: its family if it has several orders, else its label (nb, not anje)."""
    label = str(rows["label"].iloc[0])
    if axis != "order" or rows["label"].nunique() > 1 or not name.startswith(family_of(label)):
        return name
    return label + name.removeprefix(family_of(label))


def _values(column: pd.Series) -> list[Any]:
    """The values of an axis, ascending; words ("cv") and an alpha for each order after the numbers."""
    values = [value for value in dict.fromkeys(column) if not _is_missing(value)]
    words = [value for value in values if isinstance(value, str | tuple)]
    return [*sorted(value for value in values if value not in words), *sorted(words, key=in_digits)]


def _is_missing(value: Any) -> bool:
    return not isinstance(value, tuple) and bool(pd.isna(value))


def _without(name: str, label: str, axis: str, value: Any) -> str:
    """A racer's name without the word for its place on the axis."""
    if axis == "train_share" or _is_missing(value):
        return name
    setting_text = parameter_words("alpha", value) if axis == "alpha" else f"n={in_digits(value)}"
    if axis == "order" and name.startswith(label):
        name = family_of(label) + name[len(label) :]
    return f"{name} ".replace(f" {setting_text} ", " ", 1).strip()


def _line(rows: pd.DataFrame, axis: str, column: str, places: Mapping[Any, float], ends: Range, shift: float) -> Data:
    rows_with_value = rows[rows[column].notna()]
    x = np.array([places.get(value, np.nan) + shift for value in rows_with_value[axis]], float)
    y, error = rows_with_value[column].to_numpy(float), rows_with_value[f"{column}_se"].to_numpy(float)
    name, rounds = rows_with_value["name"].to_numpy(object), rows_with_value["rounds"].to_numpy()
    if len(rows_with_value) and np.isnan(x).all():  # no such setting: a level from end to end
        x, y, error = np.array(ends), np.repeat(y[:1], 2), np.full(2, np.nan)
        name, rounds = np.repeat(name[:1], 2), np.repeat(rounds[:1], 2)
    order = np.argsort(x)
    spread = np.nan_to_num(error)
    line = {"x": x, "y": y, "low": y - spread, "high": y + spread, "error": error, "name": name, "rounds": rounds}
    return {key: values[order] for key, values in line.items()}


def _ranges(lines: Mapping[str, Sequence[Data]]) -> dict[str, Range]:
    """One span for all parts, each around its own middle."""
    ends = {}
    for part, part_lines in lines.items():
        heights = np.concatenate([np.empty(0), *(line[key] for line in part_lines for key in ("low", "high"))])
        ends[part] = (float(heights.min()), float(heights.max())) if len(heights) else (0.05, 0.05)
    span = 1.16 * max(high - low for low, high in ends.values()) or 0.1
    starts = {part: (low + high - span) / 2 for part, (low, high) in ends.items()}
    for part, (low, _) in ends.items():
        if low >= 0:  # no room for what cannot be
            starts[part] = max(starts[part], -0.04 * span)
    return {part: (start, start + span) for part, start in starts.items()}


def _draw(plot: Plot, lines: Sequence[tuple[str, str, bool]], ticks: Sequence[str], title: str) -> None:
    """Draw lines, each of a name, a colour, and whether it is a level."""
    fig, items, dots = plot.figure, [], []
    names = dict(enumerate(ticks))
    fig.xaxis[0].update(ticker=FixedTicker(ticks=list(names)), major_label_overrides=names)
    fig.xgrid.grid_line_color = None
    for k, (source, (text, colour, dashed)) in enumerate(zip(plot["lines"], lines, strict=True)):
        dash = [7, 5] if dashed else []
        line = fig.line("x", "y", source=source, line_color=colour, line_width=2.6, line_dash=dash)
        bars = fig.segment("x", "low", "x", "high", source=source, line_color=colour, line_width=2)
        marker = MARKERS[k % len(MARKERS)]
        dots.append(fig.scatter("x", "y", source=source, color=colour, size=0 if dashed else 8, marker=marker))
        items.append((text, [line, bars, dots[-1]]))
    tips = [("model", "@name"), (title, "@y{0.0000}"), ("standard error", "@error{0.0000}"), ("rounds", "@rounds")]
    fig.add_tools(HoverTool(renderers=dots, tooltips=tips))
    legend_params: dict[str, Any] = {"orientation": "vertical", "location": "left", "spacing": 2, "glyph_width": 24}
    columns = legend_columns([text for text, *_ in lines], LEGEND_WIDTH_PX)
    add_legend(fig, items, ncols=columns, click_policy="hide", **legend_params)
