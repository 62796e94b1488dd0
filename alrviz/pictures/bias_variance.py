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
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.labels import legend_columns
from alrviz.pictures.palette import MARKERS, racer_colours, racer_marks
from alrviz.pictures.picture import Data, Picture, Plot, Range, add_legend
from alrviz.studies.core.names import parameter_words, short_names
from alrviz.studies.statistics.crossing import family_of

_MARGIN_STEPS = 0.4  # of a step, left of the first value and right of the last
_LINE_SHIFT_STEPS, _MAX_SHIFT_STEPS = 0.05, 0.25  # between lines, so that their bars stay apart, and of all lines
LEGEND_WIDTH_PX = 320  # assumed


@dataclass(frozen=True, slots=True)
class Kind:
    """A definition of bias and variance.

    name: in the menu. definition: what it estimates, and how. bias, variance: columns of the summary that add up to the
    error. bias_words, variance_words: what they are called. form: which of several with these words, or "".
    """

    name: str
    definition: str
    bias: str
    variance: str
    bias_words: str
    variance_words: str
    form: str = ""

    def on_axis(self, words: str) -> str:
        """Return the words of an axis or a column, followed by the form of decomposition if there are several."""
        return f"{words}, {self.form}" if self.form else words


KINDS: Mapping[str, Kind] = {
    "plug-in": Kind(
        "as observed", "Kohavi and Wolpert's bias² and variance, from observed frequencies (plug-in)",
        "bias", "variance", "bias²", "variance",
    ),
    "unbiased": Kind(
        "corrected for few rounds",
        "Kohavi and Wolpert's bias² and variance, corrected for the number of rounds (unbiased)",
        "bias_unbiased", "variance_unbiased", "bias²", "variance", form="corrected",
    ),
    "Domingos": Kind(
        "Domingos's definition", "Domingos's bias and variance, around the class that most models predict",
        "bias_domingos", "net_variance_domingos", "bias", "net variance",
    ),
}  # fmt: skip
AXES: Mapping[str, str] = {
    "order": "order n",
    "alpha": "alpha",
    "train_share": "share of the training rows",
}


def share_text(share: float) -> str:
    """Return a training size in words. share: part of the training rows that is used, from 0 to 1."""
    return "all training rows" if share == 1 else f"{100 * share:g} % of the training rows"


def line_looks(recipes: Sequence[Recipe], dark: bool) -> list[tuple[str, str]]:
    """Return colour and marker (a letter) of each recipe's line: those that differ in order or alpha share one."""
    if not recipes:
        return []
    columns = {name: [recipe.params.get(name) for recipe in recipes] for name in ("order", "alpha")}
    labels = [recipe.label for recipe in recipes]
    table = pd.DataFrame({"racer": range(len(recipes)), "name": short_names(recipes), "label": labels, **columns})
    axis = next((name for name, values in columns.items() if len({*values} - {None}) > 1), "order")
    groups = list(_rows_by_line_name(table, axis).values())
    colours = racer_colours([str(rows["label"].iloc[0]) for rows in groups], dark)
    looks = [(colour, sign) for colour, (_, sign) in zip(colours, racer_marks(len(groups)), strict=True)]
    look_by_racer = {int(racer): looks[k] for k, rows in enumerate(groups) for racer in rows["racer"]}
    return [look_by_racer[racer] for racer in range(len(recipes))]


def varying(table: pd.DataFrame) -> list[str]:
    """Return the axes (in the order of AXES) along which a line of the summary `table` has more than one value."""
    return [axis for axis in AXES if any(rows[axis].nunique() > 1 for rows in _rows_by_line_name(table, axis).values())]


def bias_variance(table: pd.DataFrame, axis: str, kind: str, *, dark: bool = False) -> dict[str, Picture]:
    """Return the pictures of a summary `table` of `bias_variance`: "bias", "variance" and "error".

    axis: one of AXES; against order or alpha the lines are those of the largest training size with figures. kind: one
    of KINDS. dark: whether the ground is dark.
    """
    rows_with_error = table[table["error"].notna()] if table["error"].notna().any() else table
    largest_share, n_shares = rows_with_error["train_share"].max(), table["train_share"].nunique()
    shown_rows = table if axis == "train_share" else table[table["train_share"] == largest_share]
    axis_text = AXES[axis] + (f", {share_text(largest_share)}" if n_shares > 1 and axis != "train_share" else "")
    axis_values = _values(shown_rows[axis])
    x_of = {value: float(k) for k, value in enumerate(axis_values)}
    rows_by_line_name = _rows_by_line_name(shown_rows, axis)
    groups = list(rows_by_line_name.values())
    definition = KINDS[kind]
    column_by_quantity = {"bias": definition.bias, "variance": definition.variance, "error": "error"}
    x_span = (-_MARGIN_STEPS, max(len(axis_values), 1) - 1 + _MARGIN_STEPS)
    lines = {}
    for part, column in column_by_quantity.items():
        shift_step = min(_LINE_SHIFT_STEPS, _MAX_SHIFT_STEPS / max(len(groups), 1))
        shifts = (shift_step * (k - (len(groups) - 1) / 2) for k in range(len(groups)))
        lines[part] = tuple(_line(rows, axis, column, x_of, x_span, d) for rows, d in zip(groups, shifts, strict=True))
    line_labels = tuple(str(rows["label"].iloc[0]) for rows in groups)
    is_level_line = tuple(not any(value in x_of for value in rows[axis]) for rows in groups)
    ticks = tuple(f"{100 * value:g} %" if axis == "train_share" else in_digits(value) for value in axis_values)
    line_looks = list(zip(rows_by_line_name, racer_colours(line_labels, dark), is_level_line, strict=True))
    title_by_quantity = {
        "bias": definition.on_axis(definition.bias_words),
        "variance": definition.on_axis(definition.variance_words),
        "error": "error (share wrong)",
    }
    range_by_quantity = _ranges(lines)
    return {
        part: Picture(
            draw=partial(_draw, line_looks=line_looks, ticks=ticks, title=title),
            x=x_span, y=range_by_quantity[part], labels=(axis_text, title), data={"lines": lines[part]},
            key=(tuple(rows_by_line_name), line_labels, ticks, axis, kind, dark),
        )
        for part, title in title_by_quantity.items()
    }  # fmt: skip


def _rows_by_line_name(table: pd.DataFrame, axis: str) -> dict[str, pd.DataFrame]:
    """Return the rows of a summary `table` for each line along an axis, by the line's name."""
    if not len(table):
        return {}
    racer_rows = zip(table["name"], table["label"], table[axis], strict=True)
    names = [_name_without_setting(str(name), str(label), axis, value) for name, label, value in racer_rows]
    rows_by_line_name = {name: table[[name == line_name for line_name in names]] for name in dict.fromkeys(names)}
    return {_line_name(name, rows, axis): rows for name, rows in rows_by_line_name.items()}


def _line_name(name: str, rows: pd.DataFrame, axis: str) -> str:
    """Return the name of the line of these rows: its family if it has several orders, else its label (nb, not anje).

    name: without the setting on the axis.
    """
    label = str(rows["label"].iloc[0])
    if axis != "order" or rows["label"].nunique() > 1 or not name.startswith(family_of(label)):
        return name
    return label + name.removeprefix(family_of(label))


def _values(column: pd.Series) -> list[Any]:
    """Return the values of an axis's column, ascending; words ("cv") and lists of alphas come after the numbers."""
    values = [value for value in dict.fromkeys(column) if not _is_missing(value)]
    text_values = [value for value in values if isinstance(value, str | tuple)]
    return [*sorted(value for value in values if value not in text_values), *sorted(text_values, key=in_digits)]


def _is_missing(value: Any) -> bool:
    return not isinstance(value, tuple) and bool(pd.isna(value))


def _name_without_setting(name: str, label: str, axis: str, value: Any) -> str:
    """Return a racer's name without its value on the axis; label: its family's."""
    if axis == "train_share" or _is_missing(value):
        return name
    setting_text = parameter_words("alpha", value) if axis == "alpha" else f"n={in_digits(value)}"
    if axis == "order" and name.startswith(label):
        name = family_of(label) + name[len(label) :]
    return f"{name} ".replace(f" {setting_text} ", " ", 1).strip()


def _line(rows: pd.DataFrame, axis: str, column: str, x_of: Mapping[Any, float], x_span: Range, shift: float) -> Data:
    """Return the points and error bars of a figure (a column of the summary's rows) as a line.

    x_of: position of each value of the axis; x_span: the visible range; shift: of the line along x.
    """
    rows_with_value = rows[rows[column].notna()]
    x = np.array([x_of.get(value, np.nan) + shift for value in rows_with_value[axis]], float)
    y, se = rows_with_value[column].to_numpy(float), rows_with_value[f"{column}_se"].to_numpy(float)
    name, rounds = rows_with_value["name"].to_numpy(object), rows_with_value["rounds"].to_numpy()
    if len(rows_with_value) and np.isnan(x).all():  # no such setting: a level from end to end
        x, y, se = np.array(x_span), np.repeat(y[:1], 2), np.full(2, np.nan)
        name, rounds = np.repeat(name[:1], 2), np.repeat(rounds[:1], 2)
    order = np.argsort(x)
    half_bar = np.nan_to_num(se)
    line = {"x": x, "y": y, "low": y - half_bar, "high": y + half_bar, "error": se, "name": name, "rounds": rounds}
    return {key: values[order] for key, values in line.items()}


def _ranges(lines_by_quantity: Mapping[str, Sequence[Data]]) -> dict[str, Range]:
    """Return a range of y by quantity: all equally long, each around the middle of its lines."""
    low_high_by_quantity = {}
    for quantity, quantity_lines in lines_by_quantity.items():
        heights = np.concatenate([np.empty(0), *(line[key] for line in quantity_lines for key in ("low", "high"))])
        low_high_by_quantity[quantity] = (float(heights.min()), float(heights.max())) if len(heights) else (0.05, 0.05)
    span = 1.16 * max(high - low for low, high in low_high_by_quantity.values()) or 0.1
    start_by_quantity = {quantity: (low + high - span) / 2 for quantity, (low, high) in low_high_by_quantity.items()}
    for quantity, (low, _) in low_high_by_quantity.items():
        if low >= 0:  # no room for what cannot be
            start_by_quantity[quantity] = max(start_by_quantity[quantity], -0.04 * span)
    return {quantity: (start, start + span) for quantity, start in start_by_quantity.items()}


def _draw(plot: Plot, line_looks: Sequence[tuple[str, str, bool]], ticks: Sequence[str], title: str) -> None:
    """Draw lines on the axis `ticks`, below a title; line_looks: name, colour, and whether it is a level, of each."""
    fig, legend_items, dot_renderers = plot.figure, [], []
    tick_label_by_x = dict(enumerate(ticks))
    fig.xaxis[0].update(ticker=FixedTicker(ticks=list(tick_label_by_x)), major_label_overrides=tick_label_by_x)
    fig.xgrid.grid_line_color = None
    for k, (source, (text, colour, dashed)) in enumerate(zip(plot["lines"], line_looks, strict=True)):
        dash_pattern = [7, 5] if dashed else []
        line = fig.line("x", "y", source=source, line_color=colour, line_width=2.6, line_dash=dash_pattern)
        bars = fig.segment("x", "low", "x", "high", source=source, line_color=colour, line_width=2)
        marker = MARKERS[k % len(MARKERS)]
        dot_renderers.append(fig.scatter("x", "y", source=source, color=colour, size=0 if dashed else 8, marker=marker))
        legend_items.append((text, [line, bars, dot_renderers[-1]]))
    tooltips = [("model", "@name"), (title, "@y{0.0000}"), ("standard error", "@error{0.0000}"), ("rounds", "@rounds")]
    fig.add_tools(HoverTool(renderers=dot_renderers, tooltips=tooltips))
    legend_params: dict[str, Any] = {"orientation": "vertical", "location": "left", "spacing": 2, "glyph_width": 24}
    n_columns = legend_columns([text for text, *_ in line_looks], LEGEND_WIDTH_PX)
    add_legend(fig, legend_items, ncols=n_columns, click_policy="hide", **legend_params)
