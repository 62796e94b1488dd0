"""Bandwidths and losses along a dlr fit, one panel above the other; the film's cursor moves over them.

Above: h over Silverman's h of every numeric column, on a log axis; those that moved most in colours, which are none of
the classes', with their names before the ends of their lines, the others grey. Below: NLL per row of training rows
(full), validation rows (dotted) and test rows (dashed). Dots stand where a step moved bandwidths. A line marks the
step that is shown.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from bokeh.models import BasicTickFormatter, FixedTicker, HoverTool, Span

from alrviz.pictures.labels import LINE, VisibleArea, box, log_ticks, place
from alrviz.pictures.level_axis import short
from alrviz.pictures.palette import COLUMN_COLOURS, GREY, family_colour, readable
from alrviz.pictures.picture import Picture, Plot, add_legend, write
from alrviz.studies.density.density_frames import BandwidthPath

N_NAMED = len(COLUMN_COLOURS)  # columns with a colour and a name
_MAX_NAME_CHARS = 20  # letters of a name
_NAME_GAP_PX = 6  # px between a line and the name on it
STYLES = {"training": "solid", "validation": "dotted", "test": "dashed"}
HEIGHTS = (150, 110)  # assumed pixels of the two drawing frames


def bandwidth_pictures(path: BandwidthPath, *, dark: bool = False) -> tuple[Picture, Picture]:
    """Return the pictures of a path: of ratios and of losses."""
    x = path.iterations.astype(np.float64)
    count = len(path.columns)
    order, colours = _colours(path)
    colours = [colour if colour == GREY else readable(colour, dark) for colour in colours]
    # Silverman's (1) is always within it, and above the lines there is room for a name.
    view = box([x], [path.ratios.ravel(), np.array([0.6, 1.7])], log=True, height=HEIGHTS[0])
    ends = [(float(x[-1]), float(path.ratios[-1, d])) for d in order[:N_NAMED]] if len(x) else []
    names = [short(path.columns[d], _MAX_NAME_CHARS) for d in order[:N_NAMED]][: len(ends)]
    move_indices = np.flatnonzero(path.outer)
    step_indices, column = np.repeat(move_indices, count), np.tile(np.arange(count), len(move_indices))
    tops = [np.asarray(values, dtype=np.float64) for values in path.losses.values()]
    loss_area, key = box([x], tops, height=HEIGHTS[1]), (path.columns, tuple(path.losses), dark)
    ratios = Picture(
        draw=partial(_draw_ratios, dark=dark),
        x=(view.left, view.right), y=(view.bottom, view.top),
        labels=("step", "h / h_S (log)"),  # h_S: Silverman's; the PNG's font has no subscript S
        axes={"y_axis_type": "log"}, parts={"ticks": {"ticks": log_ticks(view.bottom, view.top)}}, key=key,
        data={
            "ratios": {
                "xs": [x] * count, "ys": [path.ratios[:, d] for d in range(count)], "colour": colours,
                "width": [2.4 if colour != GREY else 1.2 for colour in colours], "column": list(path.columns),
            },
            "moved": {
                "x": x[step_indices], "y": path.ratios[step_indices, column],
                "colour": np.array(colours, dtype=object)[column],
            },
            "names": {
                "x": [e[0] for e in ends], "y": [e[1] for e in ends], "words": names,
                "colour": [colours[d] for d in order[:N_NAMED]][: len(ends)], "dy": _beside_lines(view, ends, names),
            },
        },
    )  # fmt: skip
    dashes = [STYLES.get(part, "solid") for part in path.losses]
    losses = Picture(
        draw=partial(_draw_losses, parts=list(path.losses), dark=dark),
        x=(loss_area.left, loss_area.right), y=(loss_area.bottom, loss_area.top), labels=("step", "NLL per row"),
        key=key,
        data={"losses": {"xs": [x] * len(tops), "ys": tops, "what": list(path.losses), "dash": dashes}},
    )  # fmt: skip
    return ratios, losses


def _beside_lines(view: VisibleArea, ends: Sequence[tuple[float, float]], names: Sequence[str]) -> list[float]:
    """Shifts of names from the ends of their lines: of the upper half of the lines above them, of the others below."""
    middle = float(np.median([y for _, y in ends])) if len(ends) > 1 else 0.0
    dys = [-_NAME_GAP_PX if y >= middle else LINE - _NAME_GAP_PX / 2 for _, y in ends]
    unit = np.log(view.top / view.bottom) / view.height
    shifts = place(
        view, [x for x, _ in ends], [y * np.exp(-dy * unit) for (_, y), dy in zip(ends, dys, strict=True)], names,
        [True] * len(ends),
    )  # fmt: skip
    return [shift + dy for shift, dy in zip(shifts, dys, strict=True)]


def _colours(path: BandwidthPath) -> tuple[list[int], list[str]]:
    """Columns by how far they moved, and a colour for each: hues for the first, grey for the others."""
    count = len(path.columns)
    far = np.zeros(count)
    if len(path.ratios):
        logs = np.log(np.where(path.ratios > 0, path.ratios, np.nan))
        finite = np.isfinite(logs).all(axis=0)
        far[finite] = np.ptp(logs[:, finite], axis=0)
    column_order = [int(d) for d in np.argsort(-far, kind="stable")]
    hues = list(COLUMN_COLOURS)
    if count <= N_NAMED:  # few columns keep their colours while the fit goes on
        return column_order, hues[:count]
    rank_by_column = {d: k for k, d in enumerate(column_order)}
    return column_order, [hues[rank_by_column[d]] if rank_by_column[d] < N_NAMED else GREY for d in range(count)]


def _draw_ratios(plot: Plot, dark: bool) -> None:
    fig = plot.figure
    plot.parts["ticks"] = fig.yaxis[0].ticker = FixedTicker()
    fig.yaxis[0].formatter = BasicTickFormatter(use_scientific=False)
    fig.add_layout(Span(location=1.0, dimension="width", line_color=GREY, line_dash=[2, 3], line_width=1.2))
    lines = fig.multi_line("xs", "ys", source=plot["ratios"], line_color="colour", line_width="width")
    fig.scatter("x", "y", source=plot["moved"], size=5, color="colour")
    write(fig, plot["names"], bold=True, front=dark, align="right", y_offset="dy")
    _mark_step(plot, lines, [("column", "@column"), ("step", "$x{0}"), ("ratio", "$y{0.[000]}")], dark)


def _draw_losses(plot: Plot, parts: Sequence[str], dark: bool) -> None:
    lines = plot.figure.multi_line(
        "xs", "ys", source=plot["losses"], line_color=family_colour("dlr"), line_width=2.4, line_dash="dash"
    )
    samples = [
        plot.figure.line(
            [np.nan], [np.nan], color=family_colour("dlr"), line_width=2.2, line_dash=STYLES.get(part, "solid")
        )
        for part in parts
    ]
    add_legend(plot.figure, [(f"{part} rows", [sample]) for part, sample in zip(parts, samples, strict=True)])
    _mark_step(plot, lines, [("rows", "@what"), ("step", "$x{0}"), ("nats", "$y{0.[0000]}")], dark)


def _mark_step(plot: Plot, lines: Any, tips: list[tuple[str, str]], dark: bool) -> None:
    """Add the tooltips of the lines, and the cursor at the step that is shown."""
    plot.figure.min_height = 120
    plot.figure.add_tools(HoverTool(renderers=[lines], tooltips=tips))
    cursor = plot.parts["cursor"] = Span(
        location=0.0, dimension="height", line_color=readable(GREY, dark), line_width=2
    )  # fmt: skip
    plot.figure.add_layout(cursor)
