"""Learning curves: the loss of a row that is predicted before it is learned from, against the rows seen before.

A line a learner, the mean over the orders of the rows, with a band of a standard error; a ring where a higher order
goes ahead for good of the one below it. The grey stretch is the window: the rows that the last point shown averages.
The line of a learner that has counted the rows that judge it is dashed, its name has a star, and a note says why.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from bokeh.models import BoxAnnotation, HoverTool, Label

from alrviz.pictures.formatting import LOSSES
from alrviz.pictures.labels import VisibleArea, place
from alrviz.pictures.palette import GREY, racer_colours, readable
from alrviz.pictures.picture import FONT_NAME, Data, Picture, Plot, Range, padded, write
from alrviz.studies.statistics.crossing import MIN_ROWS, Crossing

SPANS: Mapping[str, str] = {"all": "rows seen, log scale", "first": "rows seen"}
ZOOM_ROWS = 1000  # rows of the zoom
_LABEL_WIDTH_SHARE = 0.22  # of the width, right of the curves, for their names
LEAK_MARK = "*"
_LEAK_DASHES = [8, 5]
_LEAK_NOTE = f"{LEAK_MARK} dashed: has counted the rows that judge it"


def measured(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the summary `curves` of `learning_curve` with rmse, the root of rmse2, and its standard error added."""
    if "rmse2" not in curves:
        return curves
    root = np.sqrt(curves["rmse2"])
    error = curves["rmse2_se"] / (2 * root.where(root > 0))  # to first order: d sqrt(v) = dv / (2 sqrt(v))
    return curves.assign(rmse=root, rmse_se=error)


def learning_curve(
    curves: pd.DataFrame,
    racers: Sequence[tuple[str, str]],
    *,
    measure: str,
    span: str,
    rows: int,
    window: int,
    crossed: Sequence[Crossing] = (),
    leaking: Collection[int] = (),
    dark: bool = False,
) -> Picture:
    """Return the picture.

    Args:
        curves: the table that `measured` returns; it may be empty.
        racers: (name, label) of each recipe.
        measure: one of LOSSES.
        span: one of SPANS: how many rows the horizontal axis shows.
        rows: number of rows of the table.
        window: number of rows that a point averages.
        crossed: the crossings of curves by this measure.
        leaking: indices of racers that have counted rows before they predict them.
    """
    racers = [(f"{name} {LEAK_MARK}" if k in leaking else name, label) for k, (name, label) in enumerate(racers)]
    last_row = rows if span == "all" else min(ZOOM_ROWS, rows)
    has_measure = len(curves) > 0 and measure in curves
    shown_curves = curves[curves["seen"] <= last_row] if has_measure else curves
    by_racer = [shown_curves[shown_curves["racer"] == k] if has_measure else shown_curves for k in range(len(racers))]
    lines = tuple(_line(racer_rows, measure) for racer_rows in by_racer)
    # Of points that average enough rows: the very first leap from 0 to 1.
    line_bounds = (line[bound][line["x"] >= MIN_ROWS] for line in lines for bound in ("low", "high"))
    x, y = _x_range(last_row, span), padded(line_bounds, 0.08, 0.08, least=0.0)
    rings: Data = {"x": [], "y": [], "words": []}
    for crossing in crossed:
        line = lines[crossing.racer]
        ring_indices = np.flatnonzero(line["x"] == crossing.n_rows)
        if len(ring_indices) and not crossing.from_start:
            rings["x"].append(float(line["x"][ring_indices[0]]))
            rings["y"].append(float(line["y"][ring_indices[0]]))
            rings["words"].append(crossing_text(crossing, rows))
    return Picture(
        draw=partial(_draw, racers=racers, leaking=frozenset(leaking), measure=measure, dark=dark),
        x=x, y=y, labels=(SPANS[span], LOSSES[measure]), axes={"x_axis_type": "log"} if span == "all" else {},
        data={"lines": lines, "rings": rings, "words": _end_labels(lines, racers, y, dark)},
        parts={
            "window": {"left": float(max(last_row - window, 1)), "right": float(last_row)},
            "note": {"visible": bool(leaking)},
        },
        key=(tuple(racers), rows, measure, span, dark),
    )  # fmt: skip


def _line(racer_rows: pd.DataFrame, measure: str) -> Data:
    if not len(racer_rows) or measure not in racer_rows:
        return {"x": np.empty(0), "y": np.empty(0), "low": np.empty(0), "high": np.empty(0), "orders": np.empty(0)}
    rows = racer_rows[racer_rows[measure].notna()].sort_values("seen")
    y, spread = rows[measure].to_numpy(float), np.nan_to_num(rows[f"{measure}_se"].to_numpy(float))
    x = rows["seen"].to_numpy(float)
    return {"x": x, "y": y, "low": y - spread, "high": y + spread, "orders": rows["orders"].to_numpy()}


def _x_range(last_row: int, span: str) -> Range:
    """Return the horizontal axis's range of one of SPANS, up to last_row, with room for names."""
    if span == "all":
        left = float(min(10, max(last_row / 10, 1)))
        return left, float(last_row * (last_row / left) ** (_LABEL_WIDTH_SHARE / (1 - _LABEL_WIDTH_SHARE)))
    return 0.0, last_row / (1 - _LABEL_WIDTH_SHARE)


def _end_labels(lines: Sequence[Data], racers: Sequence[tuple[str, str]], y: Range, dark: bool) -> Data:
    """Return the racers' names at the ends of their lines, moved apart where they overlap; y: the visible range."""
    colours = racer_colours([label for _, label in racers], dark)
    drawn_racers = [racer_index for racer_index, line in enumerate(lines) if len(line["x"])]
    end_x = [float(lines[racer_index]["x"][-1]) for racer_index in drawn_racers]
    end_heights = [float(lines[racer_index]["y"][-1]) for racer_index in drawn_racers]
    names = [racers[racer_index][0] for racer_index in drawn_racers]
    clipped_heights = np.clip(end_heights, *y).tolist()
    shifts = place(VisibleArea(0.0, 1.0, *y), [1.0] * len(names), clipped_heights, names, [False] * len(names))
    text_colours = [readable(colours[racer_index], dark) for racer_index in drawn_racers]
    return {"x": end_x, "y": clipped_heights, "words": names, "dy": shifts, "colour": text_colours}


def crossing_text(crossing: Crossing, rows: int) -> str:
    """Return a crossing in words; rows: number of rows of the table."""
    end_text = ", at the end by less than a standard error" if crossing.slight else ""
    if crossing.n_rows is None:
        return (
            f"{crossing.higher} is not below {crossing.lower} after {rows:,} "
            f"rows{end_text.replace(', at the end', ',')}"
        )
    since_text = "the start" if crossing.from_start else f"{crossing.n_rows:,} rows on"
    return f"{crossing.higher} stays below {crossing.lower} from {since_text}{end_text}"


def _draw(plot: Plot, racers: Sequence[tuple[str, str]], leaking: Collection[int], measure: str, dark: bool) -> None:
    fig = plot.figure
    window = plot.parts["window"] = BoxAnnotation(fill_color=GREY, fill_alpha=0.12, line_color=None, level="underlay")
    fig.add_layout(window)
    hovers = []
    colours = racer_colours([label for _, label in racers], dark)
    for k, ((text, _), colour, source) in enumerate(zip(racers, colours, plot["lines"], strict=True)):
        fig.varea("x", "low", "high", source=source, fill_color=colour, fill_alpha=0.18)
        dashes = _LEAK_DASHES if k in leaking else []
        hovers.append(fig.line("x", "y", source=source, line_color=colour, line_width=2.6, line_dash=dashes, name=text))
    ink = readable(GREY, dark)
    corner_position = {"x": 8, "y": 6, "x_units": "screen", "y_units": "screen"}
    leak_note = Label(text=_LEAK_NOTE, text_color=ink, text_font_size="16px", text_font=FONT_NAME, **corner_position)
    fig.add_layout(leak_note)
    plot.parts["note"] = leak_note
    ring = fig.scatter("x", "y", source=plot["rings"], size=16, fill_color=None, line_color=ink, line_width=2.4)
    write(fig, plot["words"], size=16, bold=True, front=dark, baseline="middle", x_offset=8, y_offset="dy")
    tips = [("model", "$name"), ("rows seen", "@x{0,0}"), (LOSSES[measure], "@y{0.0000}"), ("orders", "@orders")]
    fig.add_tools(HoverTool(renderers=hovers, tooltips=tips), HoverTool(renderers=[ring], tooltips="@words"))
