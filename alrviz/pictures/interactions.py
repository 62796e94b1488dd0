"""Which interactions matter, drawn: ranked bars with bands, columns by columns, one tuple's cells, a row's sum.

Bars lie: a line each with its name, from 0, whiskers for the 90 % band; or, as UpSet has it, with a dot for each column
of the tuple. What adds to the first of two classes is blue, what takes from it vermilion. Cells are as opaque as they
have rows, up to 50, and hatched where no row is. Views and reports draw by these alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import (
    AllLabels,
    BasicTickFormatter,
    CustomJSTickFormatter,
    FixedTicker,
    HoverTool,
    NumeralTickFormatter,
)
from numpy.typing import NDArray

from alrviz.pictures.level_axis import MAX_LEVEL_CHARS, TILT_RADIANS, level_axis, short
from alrviz.pictures.palette import GREY, INKS, ink_on, on_ground, readable
from alrviz.pictures.picture import Data, Picture, Plot, write
from alrviz.studies.core.names import tuples_text
from alrviz.studies.effects.row_explanation import RowExplanation

FOR_COLOUR, AGAINST_COLOUR = "#0072B2", "#D55E00"
ORDER_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")  # main effects, pairs, triples, more
MAX_BARS = 16  # bars
COLUMNS = 24  # of the matrix
MAX_LEVELS_WITH_BARS = 32  # levels that have a bar each; of more a line is drawn
MAX_LEVELS_WITH_DOTS = 150  # levels on a line that have a dot each
MAX_PANELS = 6  # levels of a third column that have a heat map each
STEPS = 9  # effects of a row's sum that have a bar each
MAX_BAR_CHARS = 26  # letters of a bar's name
_ON_LINE = 10  # levels on a line that are named
_UNSUPPORTED_OPACITY = 0.25  # opacity of effects that hardly any row supports
FULL_COLOUR_ROWS = 50  # rows from which on a point is drawn in full colour
_TIPS = [("", "@name"), ("", "@value{0.0000} (@low{0.0000} to @high{0.0000})"), ("", "@tip")]
_MAX_NUMBERED_CELLS = 60  # cells whose numbers are written in them, at most


def order_colour(order: int) -> str:
    """Return the colour of tuples of `order` columns."""
    return ORDER_COLOURS[min(order, len(ORDER_COLOURS)) - 1]


def opacity(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how opaque what so many rows say is drawn."""
    opaque: NDArray[np.float64] = _UNSUPPORTED_OPACITY + (1 - _UNSUPPORTED_OPACITY) * np.minimum(
        1.0, rows / FULL_COLOUR_ROWS
    )
    return opaque


def ranked(
    table: pd.DataFrame, muted: Sequence[str] = (), chosen: str = "", *, by: str = "nats",
    along: str = "importance (nats per row)",
    members: Mapping[str, Sequence[str]] | None = None, rows_name: str = "test", dark: bool = False,
) -> Picture:  # fmt: skip
    """Return bars of the first lines of a table of `importance`, with bands where it has them.

    Args:
        table: `Interactions.importance`.
        muted: names of the tuples left out of the score, drawn pale.
        chosen: name of the tuple to be marked.
        by: the table's column that is drawn.
        along: label of the horizontal axis.
        members: the columns of each tuple by its name, drawn as dots in place of names.
        rows_name: the rows whose loss it is.
        dark: whether the ground is dark.
    """
    shown_bars = table.head(MAX_BARS)
    bar_values = shown_bars[by].clip(lower=0.0)
    bars = pd.DataFrame(
        {
            "name": [f"» {name}" if name == chosen else str(name) for name in shown_bars.index],
            "value": bar_values.to_numpy(),
            "low": shown_bars.get(f"{by}_low", bar_values).fillna(bar_values).to_numpy(),
            "high": shown_bars.get(f"{by}_high", bar_values).fillna(bar_values).to_numpy(),
            "colour": [GREY if name in muted else order_colour(n_cols) for name, n_cols in shown_bars["order"].items()],
            "tip": [f"{n_cols} column{'s' if n_cols > 1 else ''}; share {share:.1%}; "
                    f"{rows_name} loss {rise:+.4f} without it"
                    for n_cols, share, rise in shown_bars[["order", "share", "loss"]].itertuples(index=False)],
            "alpha": 1.0,
        }
    )  # fmt: skip
    if members is None:
        return bar_picture(bars, along, dark=dark)
    return _dotted_bars(bars, [members[str(name)] for name in shown_bars.index], along, dark)


def _dotted_bars(bars: pd.DataFrame, members: Sequence[Sequence[str]], along: str, dark: bool) -> Picture:
    """Return bars with dots for the columns of their tuples, `members`; columns most often there come first.

    along: label of the horizontal axis; dark: whether the ground is dark.
    """
    uses = Counter(name for parts in members for name in parts)
    columns = sorted(uses, key=lambda name: (-uses[name], list(uses).index(name)))
    n_bars, m = len(bars), len(columns)
    first_x, bar_width = m + 0.3, max(m, 6)  # of the bars, in dots
    highest = float(np.nanmax(bars[["value", "high"]].to_numpy(float), initial=0.0)) or 1.0
    y = n_bars - 0.5 - np.arange(n_bars)
    data = _bar_columns(bars) | {"y": y, "zero": [first_x] * n_bars}
    for name in ("value", "low", "high"):
        data[f"at_{name}"] = first_x + bar_width * bars[name].to_numpy(float) / highest
    dot_x = {name: k + 0.5 for k, name in enumerate(columns)}
    dots: Data = {"x": [], "y": [], "colour": []}
    spans: Data = {"x0": [], "x1": [], "y": y}
    for parts, height, bar_name in zip(members, y.tolist(), data["name"], strict=True):
        dots["x"] += [dot_x[name] for name in parts]
        dots["y"] += [height] * len(parts)
        dots["colour"] += [FOR_COLOUR if bar_name.startswith("» ") else INKS[dark]] * len(parts)
        spans["x0"].append(min(dot_x[name] for name in parts))
        spans["x1"].append(max(dot_x[name] for name in parts))
    ticks = [*dot_x.values(), first_x, first_x + bar_width / 2, first_x + bar_width]
    tick_texts = [*map(short, columns), "0", f"{highest / 2:.2g}", f"{highest:.2g}"]
    grid = {"x": list(dot_x.values()) * n_bars, "y": np.repeat(y, m)}
    return Picture(
        draw=partial(_draw_dotted, ticks=ticks, texts=tick_texts, dark=dark), x=(0.0, first_x + 1.04 * bar_width),
        y=(0.0, float(max(n_bars, 1))), labels=(f"columns; {along}", ""),
        data={"bars": data, "dots": dots, "spans": spans, "grid": grid},
        key=(tuple(columns), n_bars, highest, along, dark),
    )  # fmt: skip


def _draw_dotted(plot: Plot, ticks: Sequence[float], texts: Sequence[str], dark: bool) -> None:
    fig, bars = plot.figure, plot["bars"]
    fig.grid.visible = fig.yaxis.visible = False
    fig.scatter("x", "y", source=plot["grid"], size=7, color=GREY, alpha=0.25)
    fig.segment("x0", "y", "x1", "y", source=plot["spans"], line_color=INKS[dark], line_width=2)
    fig.scatter("x", "y", source=plot["dots"], size=9, color="colour")
    boxes = fig.hbar(
        y="y", height=0.72, left="zero", right="at_value", source=bars, fill_color="colour", fill_alpha="alpha",
        line_color="colour",
    )  # fmt: skip
    fig.segment("at_low", "y", "at_high", "y", source=bars, line_color=INKS[dark], line_width=2)
    fig.xaxis[0].update(
        ticker=FixedTicker(ticks=list(ticks)), major_label_orientation=TILT_RADIANS, major_label_policy=AllLabels(),
        formatter=CustomJSTickFormatter(
            args={"at": list(ticks), "words": list(texts)}, code="return words[at.indexOf(tick)] ?? ''"
        ),
    )  # fmt: skip
    fig.add_tools(HoverTool(renderers=[boxes], tooltips=_TIPS))


def legend(orders: Sequence[int]) -> list[tuple[str, str]]:
    """Return colour and name of each order that occurs."""
    return [(order_colour(n), tuples_text(n)) for n in orders]


def bar_picture(bars: pd.DataFrame, along: str, *, dark: bool = False, percent: bool = False) -> Picture:
    """Return the picture of bars from a table with name, value, low, high, colour, tip, alpha, the first row on top.

    Bars start at 0 or at "start". More than 32 become a line of dots; those that are "apart" are drawn beside it, and
    some have a label, "mark". along: label of the horizontal axis; percent: whether it is in per cent; dark: whether
    the ground is dark.
    """
    n_bars = len(bars)
    starts = bars["start"].to_numpy(float) if "start" in bars else np.zeros(n_bars)
    ends = np.column_stack([starts, *(starts + bars[name].to_numpy(float) for name in ("value", "low", "high"))])
    if n_bars > MAX_LEVELS_WITH_BARS:
        return _level_line(bars, along, dark, percent)
    x_low, x_high = min(0.0, float(np.nanmin(ends, initial=0.0))), max(0.0, float(np.nanmax(ends, initial=0.0)))
    air = 0.04 * (x_high - x_low) or 1.0
    y = n_bars - 0.5 - np.arange(n_bars)
    data = _bar_columns(bars) | {"y": y, "zero": starts, "end": ends[:, 1], "from": ends[:, 2], "to": ends[:, 3]}
    x = (0.0, 1.0) if percent else (x_low - air * (x_low < 0), x_high + air)
    names = tuple(data["name"])
    return Picture(
        draw=partial(_draw_bars, names=names, percent=percent, dark=dark), x=x, y=(0.0, float(max(n_bars, 1))),
        labels=(along, ""), data={"bars": data}, key=(names, along, percent, dark),
    )  # fmt: skip


def _bar_columns(bars: pd.DataFrame) -> Data:
    return {name: bars[name].tolist() for name in ("name", "value", "low", "high", "colour", "tip", "alpha")}


def _draw_bars(plot: Plot, names: Sequence[str], percent: bool, dark: bool) -> None:
    fig, bars = plot.figure, plot["bars"]
    fig.ygrid.visible = False
    bar_renderer = fig.hbar(
        y="y", height=0.72, left="zero", right="end", source=bars, fill_color="colour", fill_alpha="alpha",
        line_color="colour",
    )  # fmt: skip
    fig.segment("from", "y", "to", "y", source=bars, line_color=INKS[dark], line_width=2)
    level_axis(fig.yaxis[0], names[::-1], tilts=False, cut=MAX_BAR_CHARS)
    fig.yaxis[0].major_label_policy = AllLabels()
    number_formatter = NumeralTickFormatter(format="0 %") if percent else BasicTickFormatter(power_limit_low=-5)
    fig.xaxis[0].formatter = number_formatter
    fig.xaxis[0].ticker.desired_num_ticks = 4
    fig.add_tools(HoverTool(renderers=[bar_renderer], tooltips=_TIPS))


def _level_line(bars: pd.DataFrame, along: str, dark: bool, percent: bool) -> Picture:
    """Return a picture of the levels as a line with a band, for more levels than can have a bar each.

    bars: as in `bar_picture`. along: label of the axis of values.
    """
    n_levels, data = len(bars), {name: bars[name].tolist() for name in ("name", "value", "low", "high", "tip", "alpha")}
    value_and_band = bars[["value", "low", "high"]].to_numpy(float)
    y_low, y_high = min(0.0, float(np.nanmin(value_and_band))), max(0.0, float(np.nanmax(value_and_band)))
    air = 0.06 * (y_high - y_low) or 1.0
    names, x, level_values = tuple(data["name"]), np.arange(n_levels) + 0.5, value_and_band[:, 0]
    is_joined = ~bars["apart"].to_numpy(bool) if "apart" in bars else np.ones(n_levels, bool)
    mark_texts = bars["mark"].to_numpy(object) if "mark" in bars else np.full(n_levels, "", object)
    curve = {name: np.asarray(data[name])[is_joined] for name in ("value", "low", "high")} | {"x": x[is_joined]}
    dot_sizes = np.where(is_joined & (mark_texts == "") & (n_levels > MAX_LEVELS_WITH_DOTS), 0.0, 7.0)
    marked_levels = np.flatnonzero(mark_texts != "")
    mark_columns = {"x": x[marked_levels], "y": level_values[marked_levels], "words": mark_texts[marked_levels]}
    mark_columns |= {
        "side": np.where(x[marked_levels] < n_levels / 2, "left", "right"),
        "at": x[marked_levels],
        "above": level_values[marked_levels] + 0.07 * (y_high - y_low),
    }
    return Picture(
        draw=partial(_draw_line, names=names, percent=percent, dark=dark), x=(0.0, float(n_levels)),
        y=(0.0, 1.0) if percent else (y_low - air, y_high + air), labels=("", along),
        data={"bars": data | {"x": x, "size": dot_sizes}, "curve": curve, "marks": mark_columns},
        key=(names, along, percent, dark),
    )  # fmt: skip


def _draw_line(plot: Plot, names: Sequence[str], percent: bool, dark: bool) -> None:
    fig, bars, marks = plot.figure, plot["bars"], plot["marks"]
    fig.line([0, len(names)], [0, 0], line_color=GREY, line_dash=[5, 4])
    fig.varea("x", "low", "high", source=plot["curve"], fill_color=FOR_COLOUR, fill_alpha=0.25)
    fig.line("x", "value", source=plot["curve"], line_color=FOR_COLOUR, line_alpha=0.5, line_width=1.6)
    fig.scatter("x", "value", source=bars, size="size", fill_color=FOR_COLOUR, fill_alpha="alpha", line_color=None)
    fig.scatter("x", "y", source=marks, size=13, fill_color=None, line_color=INKS[dark], line_width=2)
    write(fig, marks, INKS[dark], x="at", y="above", size=14, front=dark, align="side", baseline="middle")
    level_axis(fig.xaxis[0], names, max_ticks=_ON_LINE)
    if percent:
        fig.yaxis[0].formatter = NumeralTickFormatter(format="0 %")
    invisible_line = fig.line("x", "value", source=bars, line_alpha=0.0)  # levels without a dot say what they are, too
    fig.add_tools(HoverTool(renderers=[invisible_line], tooltips=_TIPS, mode="vline"))


def seriated(strength: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return columns in an order in which those that interact stand near each other; strength (a, a) is symmetric."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(strength) < 3:
        return np.arange(len(strength))
    closeness = strength / (strength.max() or 1.0)
    distance = 1.0 - closeness
    np.fill_diagonal(distance, 0.0)
    order: NDArray[np.intp] = leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True))
    return order


def matrix(
    table: pd.DataFrame, columns: Sequence[str], members: Sequence[Sequence[int]], *, dark: bool = False
) -> Picture:
    """Return the picture of columns by columns: pairs beside the diagonal, main effects on it.

    table: `Interactions.importance` in the order of the tuples; members: the columns' indices of each. dark: whether
    the ground is dark.
    """
    n_columns, nats = len(columns), table["nats"].to_numpy(float)
    strength = np.zeros((n_columns, n_columns))
    for tuple_columns, value in zip(members, nats, strict=True):
        if len(tuple_columns) <= 2:
            strength[tuple_columns[0], tuple_columns[-1]] = strength[tuple_columns[-1], tuple_columns[0]] = value
    strongest_columns = np.sort(np.argsort(-strength.sum(axis=1), kind="stable")[:COLUMNS])
    pair_strength = strength[np.ix_(strongest_columns, strongest_columns)].copy()
    np.fill_diagonal(pair_strength, 0.0)
    shown_columns = strongest_columns[seriated(pair_strength)]
    n, strongest_pair, strongest_single = (
        len(shown_columns),
        float(pair_strength.max(initial=0.0)) or 1.0,
        float(np.diag(strength).max()) or 1.0,
    )
    y, x = (index_grid.ravel() for index_grid in np.indices((n, n)))
    value = strength[shown_columns[y], shown_columns[x]]
    is_diagonal = y == x
    alpha = np.sqrt(np.clip(value / np.where(is_diagonal, strongest_single, strongest_pair), 0, 1))
    names = [str(columns[column_index]) for column_index in shown_columns]
    data: Data = {
        "left": x + 0.03, "right": x + 0.97, "bottom": n - 1 - y + 0.03, "top": n - y - 0.03, "value": value,
        "alpha": alpha, "colour": np.where(is_diagonal, *ORDER_COLOURS[:2]), "across": [names[k] for k in x],
        "up": [names[k] for k in y],
    }  # fmt: skip
    return Picture(
        draw=partial(_draw_matrix, names=tuple(names)), x=(0.0, float(n)), y=(0.0, float(n)),
        labels=("diagonal: columns; colour: importance", ""), data={"cells": data},
        key=(tuple(names), dark),
    )  # fmt: skip


def _draw_matrix(plot: Plot, names: Sequence[str]) -> None:
    fig = plot.figure
    fig.grid.visible = False
    boxes = fig.quad(
        "left", "right", "bottom", "top", source=plot["cells"], fill_color="colour", fill_alpha="alpha",
        line_color=GREY, line_alpha=0.4,
    )  # fmt: skip
    level_axis(fig.xaxis[0], names, room=20)
    level_axis(fig.yaxis[0], names[::-1], tilts=False)
    fig.yaxis[0].major_label_policy = AllLabels()
    if len(names) <= 12:
        fig.xaxis[0].major_label_policy = AllLabels()
    else:  # fits COLUMNS names of this size side by side, except on a phone, which leaves some out
        fig.xaxis[0].major_label_orientation = "vertical"
        fig.axis.major_label_text_font_size = "12px"
    fig.add_tools(HoverTool(renderers=[boxes], tooltips=[("", "@up & @across"), ("nats", "@value{0.0000}")]))


def heat_map(
    values: NDArray[np.float64], rows: NDArray[np.float64], names: tuple[Sequence[str], Sequence[str]],
    titles: tuple[str, str], value_name: str, *, signed: bool, panels: Sequence[str] = ("",), dark: bool = False,
) -> Picture:  # fmt: skip
    """Return the picture of the cells of two columns: values (L1, L2), NaN for absent cells, and their rows.

    Of three columns it has a panel for each of some levels of the third, (P, L1, L2).

    Args:
        values: what colours show.
        rows: number of rows in each cell.
        names: of the levels of both columns.
        titles: names of both columns.
        value_name: what the values are.
        signed: whether colours tell above from below 0, else only how much.
        panels: title of each panel.
        dark: whether the ground is dark.
    """
    values, rows = (array.reshape(len(panels), *array.shape[-2:]) for array in (values, rows))
    n_up, n_across = values.shape[1:]
    panels_per_row = min(len(panels), max(1, round(np.sqrt(1.6 * len(panels) * (n_up + 1) / (n_across + 1)))))
    n_panel_rows = -(-len(panels) // panels_per_row)
    gap = 0 if len(panels) == 1 else 1  # between panels, for their titles
    panel_indices, y, x = (index_grid.ravel() for index_grid in np.indices(values.shape))
    left, cell_top = (
        (panel_indices % panels_per_row) * (n_across + gap) + x,
        n_panel_rows * (n_up + gap) - (panel_indices // panels_per_row) * (n_up + gap) - gap - y,
    )
    value, cell_rows = values.ravel(), rows.ravel()
    largest_value = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    has_rows = cell_rows > 0
    strength = np.nan_to_num(np.abs(value) / largest_value) * (opacity(cell_rows) if signed else 1.0)
    colour, alpha = np.where(value < 0, AGAINST_COLOUR, FOR_COLOUR), np.where(has_rows, strength, 0.0)
    has_numbers = values.size <= _MAX_NUMBERED_CELLS
    is_written = has_rows & np.isfinite(value) & has_numbers
    cell_texts = [f"{cell_value:.2f}" if written else "" for cell_value, written in zip(value, is_written, strict=True)]
    data: Data = {
        "left": left + 0.02, "right": left + 0.98, "bottom": cell_top - 0.98, "top": cell_top - 0.02, "value": value,
        "colour": colour, "alpha": alpha, "rows": cell_rows,
        "across": [names[1][k] for k in x.tolist()], "up": [names[0][k] for k in y.tolist()],
        "panel": [panels[k] for k in panel_indices.tolist()], "hatch": np.where(has_rows, " ", "/"),
        "x": left + 0.5, "y": cell_top - 0.5, "words": cell_texts,
        "ink": [ink_on(on_ground(cell_colour, part, dark)) for cell_colour, part in zip(colour, alpha, strict=True)],
    }  # fmt: skip
    k = np.arange(len(panels))
    heads: Data = {
        "x": (k % panels_per_row) * (n_across + gap) + n_across / 2,
        "y": (n_panel_rows - k // panels_per_row) * (n_up + gap) - 0.5 * gap,
        "words": [short(name, 2 * MAX_LEVEL_CHARS) for name in panels],
    }  # fmt: skip
    levels = tuple([*[""] * gap, *names[0]] * n_panel_rows), tuple([*names[1], *[""] * gap] * panels_per_row)
    key = "" if has_numbers else f"   (darkest: {'±' if signed else ''}{largest_value:.2g})"
    return Picture(
        draw=partial(_draw_heat, names=levels, value_name=value_name, gap=gap, dark=dark),
        x=(0.0, float(panels_per_row * (n_across + gap) - gap)),
        y=(0.0, float(n_panel_rows * (n_up + gap))), labels=(titles[1] + key, titles[0]),
        data={"cells": data, "heads": heads},
        key=(levels, value_name, len(panels), dark),
    )  # fmt: skip


def _draw_heat(plot: Plot, names: tuple[Sequence[str], Sequence[str]], value_name: str, gap: int, dark: bool) -> None:
    fig, cells = plot.figure, plot["cells"]
    fig.grid.visible = False
    boxes = fig.quad(
        "left", "right", "bottom", "top", source=cells, fill_color="colour", fill_alpha="alpha", line_color=GREY,
        line_alpha=0.5, hatch_pattern="hatch", hatch_color=GREY, hatch_alpha=0.5,
    )  # fmt: skip
    write(fig, cells, "ink", size=13, align="center", baseline="middle")
    write(fig, plot["heads"], INKS[dark], size=14, align="center", baseline="middle")
    level_axis(fig.xaxis[0], names[1])
    level_axis(fig.yaxis[0], names[0][::-1], tilts=False)
    panel = [("", "@panel")] if gap else []
    tips = [*panel, ("", "@up & @across"), (value_name, "@value{0.000}"), ("rows", "@rows{0,0}")]
    fig.add_tools(HoverTool(renderers=[boxes], tooltips=tips))


def cell_map(
    codes: NDArray[np.int64], values: NDArray[np.float64], rows: NDArray[np.float64], levels: Sequence[Sequence[str]],
    columns: Sequence[str], value_name: str, *, about: str = "", signed: bool = True, dark: bool = False,
) -> Picture:  # fmt: skip
    """Return the heat map of the cells of two columns, or of three with a panel for each level of the third.

    Of more than six levels of the third column those with most rows are shown.

    Args:
        codes: levels (S, 2) or (S, 3) of each cell.
        values: what colours show, (S,).
        rows: number of rows in each cell, (S,).
        levels: names of the levels of each column.
        columns: names of the columns.
        value_name: what the values are.
        about: further words of the title.
        signed: whether colours tell above from below 0, else only how much.
        dark: whether the ground is dark.
    """
    third_codes = codes[:, 2] if len(columns) > 2 else np.zeros(len(codes), np.int64)
    rows_by_panel = np.bincount(third_codes, rows, len(levels[2]) if len(columns) > 2 else 1)
    panels = np.sort(np.argsort(-rows_by_panel, kind="stable")[:MAX_PANELS]).tolist()
    shape = (len(panels), len(levels[0]), len(levels[1]))
    grid, weight = np.full(shape, np.nan), np.zeros(shape)
    for k, level in enumerate(panels):
        in_panel = third_codes == level
        grid[k, codes[in_panel, 0], codes[in_panel, 1]], weight[k, codes[in_panel, 0], codes[in_panel, 1]] = (
            values[in_panel],
            rows[in_panel],
        )
    names = [f"{columns[2]} = {levels[2][level]}" for level in panels] if len(columns) > 2 else [""]
    titles = (columns[0], f"{columns[1]}   ({about})" if about else columns[1])
    return heat_map(grid, weight, (levels[0], levels[1]), titles, value_name, signed=signed, panels=names, dark=dark)


def row_sum(row: RowExplanation, *, dark: bool = False) -> Picture:
    """Return the waterfall of a row's log-odds: intercept, largest effects, the others together, and the sum.

    dark: whether the ground is dark.
    """
    shown_steps, hidden_steps = row.frame.head(STEPS), row.frame.iloc[STEPS:]
    shown_bars = [("intercept", row.intercept, "what the classes have without any column")]
    shown_bars += [
        (f"{name} = {levels}", value, f"{rows:,.0f} rows" if has_rows else "a cell that no row has")
        for name, levels, value, rows, has_rows in shown_steps[["levels", "log_odds", "rows", "seen"]].itertuples()
    ]
    if len(hidden_steps):
        shown_bars.append((f"{len(hidden_steps):,} others", float(hidden_steps["log_odds"].sum()), "their sum"))
    names, values, tips = map(list, zip(*shown_bars, strict=True))
    bars = signed_bars(
        [*names, f"sum: {row.log_odds:.2f}"], [*values, row.log_odds], np.nan, np.nan,
        [*tips, "what all of them add up to"], [0.85] * len(shown_bars) + [0.45],
    ).assign(start=[0.0, *np.cumsum(values)[:-1], 0.0])  # fmt: skip
    return bar_picture(bars, f"log-odds of {short(str(row.label))} against {short(str(row.other_label))}", dark=dark)


def tuple_count_curve(
    table: pd.DataFrame, current_loss: float | None, rows_name: str = "test", *, dark: bool = False
) -> Picture:
    """Return the picture of a table of `keep_best`: log loss and 0-1 loss against the number of tuples kept.

    current_loss: with the muted tuples left out; None where none is muted. rows_name: the rows of the losses. dark:
    whether the ground is dark.
    """
    table = table.iloc[1:]  # with the intercept alone there is nothing to see
    x = table["kept"].to_numpy(float)
    losses = table["log_loss"].to_numpy(float)
    k_best = int(losses.argmin())
    line: Data = {"x": x, "y": losses, "kept": table["kept"].tolist(), "added": table["added"].fillna("").tolist(),
                  "error": table["error"].tolist()}  # fmt: skip
    y_low, y_high = float(losses.min()), float(losses.max())
    if current_loss is not None:
        y_high, y_low = max(y_high, current_loss), min(y_low, current_loss)
    air, n_ends = 0.12 * (y_high - y_low) or 0.1, 0 if current_loss is None else 2
    return Picture(
        draw=partial(_draw_curve, dark=dark), x=(0.9, float(x.max()) ** 1.12 * 1.15),
        y=(y_low - 1.5 * air, y_high + air), labels=("columns and tuples kept, best first", f"{rows_name} log loss"),
        data={
            "line": line,
            "best": {"x": [x[k_best]], "y": [losses[k_best]], "words": [f"{int(table['kept'].iloc[k_best])} kept"]},
            "now": {"x": [0.9, float(x.max())][:n_ends], "y": [current_loss, current_loss][:n_ends]},
        },
        axes={"x_axis_type": "log"}, key=dark,
    )  # fmt: skip


def _draw_curve(plot: Plot, dark: bool) -> None:
    fig, line = plot.figure, plot["line"]
    fig.line("x", "y", source=line, line_color=FOR_COLOUR, line_width=2.6)
    dots = fig.scatter("x", "y", source=line, color=FOR_COLOUR, size=5)
    fig.scatter("x", "y", source=plot["best"], size=16, fill_color=None, line_color=FOR_COLOUR, line_width=2.6)
    write(fig, plot["best"], readable(FOR_COLOUR, dark), size=14, front=dark, align="center", y_offset=26)
    fig.line("x", "y", source=plot["now"], line_color=AGAINST_COLOUR, line_width=2, line_dash="dashed")
    tips = [("kept", "@kept"), ("last", "@added"), ("log loss", "@y{0.0000}"), ("0-1 loss", "@error{0.0000}")]
    fig.add_tools(HoverTool(renderers=[dots], tooltips=tips))


def signed_bars(
    names: Sequence[str], values: Any, low: Any, high: Any, tips: Sequence[str], alpha: Any
) -> pd.DataFrame:
    """Return bars for `bar_picture`, (n,) names, values, bands from low to high, tips and opacities alpha.

    Their colours tell for which of two classes they are.
    """
    values = np.asarray(values, float)
    return pd.DataFrame(
        {
            "name": list(names), "value": values, "low": np.where(np.isfinite(low), low, values),
            "high": np.where(np.isfinite(high), high, values),
            "colour": np.where(values < 0, AGAINST_COLOUR, FOR_COLOUR),
            "tip": list(tips), "alpha": np.broadcast_to(alpha, values.shape),
        }
    )  # fmt: skip
