"""Bandwidths and losses along a dlr fit, one panel above the other; the film's cursor moves over them.

Above: bandwidth over Silverman's of every numeric column, on a log axis; those that moved most in colours, which are
none of the classes', with their names before the ends of their lines, the others grey. Below: loss per row of training
rows (full), validation rows (dotted) and test rows (dashed). Dots stand where a step moved bandwidths. A line marks
the iteration that is shown.
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
TIMES_SILVERMANS = "\N{MULTIPLICATION SIGN} Silverman's"  # unit of a bandwidth relative to Silverman's
HEIGHTS = (150, 110)  # assumed pixels of the two drawing frames


def bandwidth_pictures(path: BandwidthPath, *, dark: bool = False) -> tuple[Picture, Picture]:
    """Return the pictures of a path, for a light or `dark` ground: of ratios and of losses."""
    x = path.iterations.astype(np.float64)
    n_columns = len(path.columns)
    order, colours = _colours(path)
    colours = [colour if colour == GREY else readable(colour, dark) for colour in colours]
    # Silverman's (1) is always within it, and above the lines there is room for a name.
    area = box([x], [path.ratios.ravel(), np.array([0.6, 1.7])], log=True, height=HEIGHTS[0])
    tips = [(float(x[-1]), float(path.ratios[-1, d])) for d in order[:N_NAMED]] if len(x) else []
    names = [short(path.columns[d], _MAX_NAME_CHARS) for d in order[:N_NAMED]][: len(tips)]
    name_colours = [colours[d] for d in order[:N_NAMED]][: len(tips)]
    if tips:  # the unit of the axis is the dotted line
        tips, names, name_colours = [*tips, (tips[0][0], 1.0)], [*names, "Silverman's = 1"], [*name_colours, GREY]
    move_indices = np.flatnonzero(path.outer)
    step_indices, column_indices = np.repeat(move_indices, n_columns), np.tile(np.arange(n_columns), len(move_indices))
    loss_curves = [np.asarray(values, dtype=np.float64) for values in path.losses.values()]
    loss_area, picture_key = box([x], loss_curves, height=HEIGHTS[1]), (path.columns, tuple(path.losses), dark)
    ratios = Picture(
        draw=partial(_draw_ratios, dark=dark),
        x=(area.left, area.right), y=(area.bottom, area.top),
        labels=("iteration", "relative bandwidth"),
        axes={"y_axis_type": "log"}, parts={"ticks": {"ticks": log_ticks(area.bottom, area.top)}}, key=picture_key,
        data={
            "ratios": {
                "xs": [x] * n_columns, "ys": [path.ratios[:, d] for d in range(n_columns)], "colour": colours,
                "width": [2.4 if colour != GREY else 1.2 for colour in colours], "column": list(path.columns),
            },
            "moved": {
                "x": x[step_indices], "y": path.ratios[step_indices, column_indices],
                "colour": np.array(colours, dtype=object)[column_indices],
            },
            "names": {
                "x": [tip[0] for tip in tips], "y": [tip[1] for tip in tips], "words": names,
                "colour": name_colours, "dy": _label_shifts(area, tips, names),
            },
        },
    )  # fmt: skip
    dashes = [STYLES.get(sample_name, "solid") for sample_name in path.losses]
    losses = Picture(
        draw=partial(_draw_losses, sample_names=list(path.losses), dark=dark),
        x=(loss_area.left, loss_area.right), y=(loss_area.bottom, loss_area.top), labels=("iteration", "loss"),
        key=picture_key,
        data={"losses": {"xs": [x] * len(loss_curves), "ys": loss_curves, "what": list(path.losses), "dash": dashes}},
    )  # fmt: skip
    return ratios, losses


def _label_shifts(area: VisibleArea, tips: Sequence[tuple[float, float]], names: Sequence[str]) -> list[float]:
    """Return by how many px the names at the tips (x, y) of lines are moved: above the upper half, below the others."""
    median_height = float(np.median([y for _, y in tips])) if len(tips) > 1 else 0.0
    gaps = [-_NAME_GAP_PX if y >= median_height else LINE - _NAME_GAP_PX / 2 for _, y in tips]
    unit = np.log(area.top / area.bottom) / area.height
    shifts = place(
        area, [x for x, _ in tips], [y * np.exp(-gap * unit) for (_, y), gap in zip(tips, gaps, strict=True)], names,
        [True] * len(tips),
    )  # fmt: skip
    return [shift + gap for shift, gap in zip(shifts, gaps, strict=True)]


def _colours(path: BandwidthPath) -> tuple[list[int], list[str]]:
    """Return the column indices, the one whose bandwidth moved most first, and each column's colour in table order.

    Of more than N_NAMED columns the N_NAMED that moved most have hues, the others are grey.
    """
    n_columns = len(path.columns)
    log_range_by_column = np.zeros(n_columns)
    if len(path.ratios):
        log_ratios = np.log(np.where(path.ratios > 0, path.ratios, np.nan))
        is_finite = np.isfinite(log_ratios).all(axis=0)
        log_range_by_column[is_finite] = np.ptp(log_ratios[:, is_finite], axis=0)
    column_order = [int(d) for d in np.argsort(-log_range_by_column, kind="stable")]
    hues = list(COLUMN_COLOURS)
    if n_columns <= N_NAMED:  # few columns keep their colours while the fit goes on
        return column_order, hues[:n_columns]
    rank_by_column = {d: rank for rank, d in enumerate(column_order)}
    return column_order, [hues[rank_by_column[d]] if rank_by_column[d] < N_NAMED else GREY for d in range(n_columns)]


def _draw_ratios(plot: Plot, dark: bool) -> None:
    fig = plot.figure
    plot.parts["ticks"] = fig.yaxis[0].ticker = FixedTicker()
    fig.yaxis[0].formatter = BasicTickFormatter(use_scientific=False)
    fig.add_layout(Span(location=1.0, dimension="width", line_color=GREY, line_dash=[2, 3], line_width=1.2))
    ratio_lines = fig.multi_line("xs", "ys", source=plot["ratios"], line_color="colour", line_width="width")
    fig.scatter("x", "y", source=plot["moved"], size=5, color="colour")
    write(fig, plot["names"], bold=True, front=dark, align="right", y_offset="dy")
    _mark_step(plot, ratio_lines, [("column", "@column"), ("iteration", "$x{0}"), ("ratio", "$y{0.[000]}")], dark)


def _draw_losses(plot: Plot, sample_names: Sequence[str], dark: bool) -> None:
    loss_lines = plot.figure.multi_line(
        "xs", "ys", source=plot["losses"], line_color=family_colour("dlr"), line_width=2.4, line_dash="dash"
    )
    samples = [
        plot.figure.line(
            [np.nan], [np.nan], color=family_colour("dlr"), line_width=2.2, line_dash=STYLES.get(rows, "solid")
        )
        for rows in sample_names
    ]
    add_legend(plot.figure, [(f"{rows} rows", [sample]) for rows, sample in zip(sample_names, samples, strict=True)])
    _mark_step(plot, loss_lines, [("rows", "@what"), ("iteration", "$x{0}"), ("nats", "$y{0.[0000]}")], dark)


def _mark_step(plot: Plot, line_renderer: Any, tooltips: list[tuple[str, str]], dark: bool) -> None:
    """Add `tooltips` (words, field) to the lines that line_renderer draws, and a cursor at the step that is shown.

    dark: whether the ground is dark.
    """
    plot.figure.min_height = 120
    plot.figure.add_tools(HoverTool(renderers=[line_renderer], tooltips=tooltips))
    cursor = plot.parts["cursor"] = Span(
        location=0.0, dimension="height", line_color=readable(GREY, dark), line_width=2
    )  # fmt: skip
    plot.figure.add_layout(cursor)
