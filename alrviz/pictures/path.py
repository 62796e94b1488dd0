"""From generative to discriminative: losses along alpha, and how far the weights leave the center.

alpha falls from left to right on a log axis: at the left end the penalty is strong, the model the center's; at the
right end there is none. Full lines are training rows, dashed ones test rows; a ring marks the best test point
of a path. Horizontal lines are models without an alpha; one that lies outside is named at the edge, with its value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Span

from alrviz.pictures.formatting import LOSSES
from alrviz.pictures.labels import LETTER, WIDTH, VisibleArea, place, with_room
from alrviz.pictures.palette import GREY, racer_colours, readable
from alrviz.pictures.picture import Data, Picture, Plot, Range, write
from alrviz.studies.statistics.measures import loss_text

BANDS = ((0, 100), (5, 95), (25, 75))  # quantiles, the widest first
LABEL_WIDTH_SHARE = 0.3  # of the frame's width, right of the paths, for names
LEFT_GAP_SHARE = 0.02  # of the width, left of them
LEFT_MARGIN_PX, RIGHT_MARGIN_PX = 86, 30  # px beside the frame: a slider under the picture keeps to them
_ALPHA = "alpha: strong to weak penalty, log scale"


@dataclass(frozen=True, slots=True)
class Named:
    """A path or a reference: its name, the family's label (for the colour), and its number among the study's racers.

    short: shorter name, for a place without room for the name; "" if the name is to be written there too.
    """

    name: str
    label: str
    racer: int
    short: str = ""


def across(alphas: Sequence[float]) -> Range:
    """Return the range of the horizontal axis, from the largest alpha on the left to the smallest, with room for
    names.
    """
    highest_alpha, lowest_alpha = max(alphas), min(alphas)
    n_decades = max(np.log10(highest_alpha / lowest_alpha), 1.0) / (1 - LABEL_WIDTH_SHARE - LEFT_GAP_SHARE)
    return float(highest_alpha * 10 ** (LEFT_GAP_SHARE * n_decades)), float(
        lowest_alpha / 10 ** (LABEL_WIDTH_SHARE * n_decades)
    )


def losses(
    lines: pd.DataFrame,
    paths: Sequence[Named],
    beside: Sequence[Named],
    alphas: Sequence[float],
    measure: str,
    best: Mapping[int, float],
    *,
    dark: bool = False,
    width: int = WIDTH,
) -> Picture:
    """Return the picture of losses of paths along `alphas`.

    Args:
        lines: the study's summary, maybe empty.
        paths: the racers with a path.
        beside: those without, drawn as levels.
        alphas: of the axis.
        measure: of the losses.
        best: alpha of the lowest test loss by racer.
        dark: whether the ground is dark.
        width: pixels of the frame.
    """
    has_measure = measure in lines
    path_rows = [_path_rows(lines, model.racer) if has_measure else lines.iloc[:0] for model in paths]
    train = tuple(_line(rows, f"train_{measure}", model.name) for rows, model in zip(path_rows, paths, strict=True))
    test_lines = tuple(_line(rows, measure, model.name) for rows, model in zip(path_rows, paths, strict=True))
    colours = racer_colours([model.label for model in paths], dark)
    best_points: Data = {"x": [], "y": [], "colour": [], "words": []}
    for rows, model, colour in zip(path_rows, paths, colours, strict=True):
        for row in rows[rows["alpha"] == best.get(model.racer)].to_dict("records") if has_measure else ():
            best_points["x"].append(row["alpha"])
            best_points["y"].append(row[measure])
            best_points["colour"].append(colour)
            best_points["words"].append(loss_text(row[measure]))
    parts_beside = [(model, _path_rows(lines, model.racer)) for model in beside if has_measure]
    loss_levels = [(model, float(rows[measure].iloc[0])) for model, rows in parts_beside if len(rows)]
    loss_levels.sort(key=lambda level: -level[1])  # so that names that move out of each other's way stay in this order
    y_range = _range([*train, *test_lines], [value for _, value in loss_levels])
    level_lines, end_labels = _levels_and_labels(
        loss_levels, paths, test_lines, y_range, dark, LABEL_WIDTH_SHARE * width
    )
    return Picture(
        draw=partial(_draw_losses, paths=paths, alphas=alphas, measure=measure, dark=dark),
        x=across(alphas), y=y_range, labels=(_ALPHA, LOSSES[measure]), axes={"x_axis_type": "log"},
        data={
            "levels": level_lines, "train": train, "heldout": test_lines, "best": best_points,
            "words": with_room(end_labels, len(paths) + len(beside)),
        },
        key=(tuple(paths), tuple(alphas), measure, dark),
    )  # fmt: skip


def _path_rows(summary_rows: pd.DataFrame, racer: int) -> pd.DataFrame:
    return summary_rows[summary_rows["racer"] == racer].sort_values("alpha", ascending=False)


def _line(rows: pd.DataFrame, column: str, name: str) -> Data:
    if column not in rows:
        return {"x": np.empty(0), "y": np.empty(0), "name": []}
    return {"x": rows["alpha"].to_numpy(float), "y": rows[column].to_numpy(float), "name": [name] * len(rows)}


def _range(lines: Sequence[Data], levels: Sequence[float]) -> Range:
    """Return the range of the vertical axis, from the paths (`lines`) and the references (`levels`) near them."""
    heights = np.concatenate([np.empty(0), *(line["y"] for line in lines)])
    heights = heights[np.isfinite(heights)]
    if not len(heights):
        heights = np.array(levels)
    if not len(heights):
        return 0.0, 1.0
    y_low, y_high = float(heights.min()), float(heights.max())
    margin = 0.3 * ((y_high - y_low) or abs(y_high))
    inside_levels = [value for value in levels if y_low - margin <= value <= y_high + margin]
    y_low, y_high = min([y_low, *inside_levels]), max([y_high, *inside_levels])
    height = max(y_high - y_low, 0.1 * abs(y_high)) or 0.5  # what differs by less is not to fill the picture
    return (y_low - 0.08 * height if y_low > 0.08 * height else -0.03 * height), y_high + 0.1 * height


def _levels_and_labels(
    levels: Sequence[tuple[Named, float]], paths: Sequence[Named], heldout: Sequence[Data], y: Range, dark: bool,
    room: float,
) -> tuple[Data, Data]:  # fmt: skip
    """Return the columns of the horizontal lines, and those of the names at the right end: paths first, which keep
    places.

    levels: racers without a path, each with its loss; heldout: the points of each path; y: the visible range; dark:
    whether the ground is dark; room: for the names, px.
    """
    colours = racer_colours([path.label for path in paths], dark)
    labels = [
        (path.name if LETTER * len(path.name) < room else path.short or path.name, float(line["y"][-1]), colour, "bold")
        for path, line, colour in zip(paths, heldout, colours, strict=True)
        if len(line["y"])
    ]
    inside_lines: Data = {"y": [], "colour": []}
    for model, loss in levels:
        colour = racer_colours([model.label], dark)[0]
        arrow = " ↑" if loss > y[1] else " ↓" if loss < y[0] else ""
        if not arrow:
            inside_lines["y"].append(loss)
            inside_lines["colour"].append(colour)
        value_text = f" {loss_text(loss)}{arrow}"
        fits = LETTER * len(model.name + value_text) < room
        labels.append(((model.name if fits else model.short or model.name) + value_text, loss, colour, "normal"))
    names = [name for name, *_ in labels]
    heights = [float(np.clip(height, *y)) for _, height, *_ in labels]
    shifts = place(
        VisibleArea(0.0, 1.0, *y), [1 - LABEL_WIDTH_SHARE] * len(names), heights, names, [False] * len(names)
    )
    inks, styles = [readable(colour, dark) for *_, colour, _ in labels], [style for *_, style in labels]
    return inside_lines, {"y": heights, "words": names, "dy": shifts, "colour": inks, "style": styles}


def _draw_losses(plot: Plot, paths: Sequence[Named], alphas: Sequence[float], measure: str, dark: bool) -> None:
    fig, right = plot.figure, min(alphas)
    _mark_alphas(plot, alphas)
    left_end = across(alphas)[0]
    fig.segment(left_end, "y", right, "y", source=plot["levels"], line_color="colour", line_dash=[2, 4], line_width=1.8)
    dot_renderers, colours = [], racer_colours([rows.label for rows in paths], dark)
    for colour, train_source, test_source in zip(colours, plot["train"], plot["heldout"], strict=True):
        fig.line("x", "y", source=train_source, line_color=colour, line_width=2.6)
        fig.line("x", "y", source=test_source, line_color=colour, line_width=2.6, line_dash=[7, 5])
        dot_renderers.append(fig.scatter("x", "y", source=test_source, color=colour, size=5))
    fig.scatter("x", "y", source=plot["best"], size=18, fill_color=None, line_color="colour", line_width=3)
    trail, latest_points = (ColumnDataSource({"x": [], "train": [], "heldout": [], "colour": []}) for _ in range(2))
    _add_head(plot)
    for rows in ("train", "heldout"):
        fig.scatter("x", rows, source=trail, size=5, color="colour", fill_alpha=1.0 if rows == "train" else 0.0)
    # Diamonds: a ring is the lowest test loss of a path.
    fig.scatter("x", "train", source=latest_points, size=14, marker="diamond", color="colour")
    fig.scatter(
        "x",
        "heldout",
        source=latest_points,
        size=14,
        marker="diamond",
        line_color="colour",
        line_width=3,
        fill_color=None,
    )
    write(fig, plot["words"], x=right, front=dark, font_style="style", baseline="middle", x_offset=10, y_offset="dy")
    tips = [("path", "@name"), ("alpha", "@x{0.[00000]}"), (f"test {LOSSES[measure]}", "@y{0.0000}")]
    fig.add_tools(HoverTool(renderers=dot_renderers, tooltips=tips))
    plot.sources |= {"trail": trail, "live": latest_points}


def point_at(
    plot: Plot,
    alpha: float,
    row: Mapping[str, Any] | None,
    trail: Sequence[Mapping[str, Any]],
    measure: str,
    colour: str,
) -> Range | None:
    """Move the vertical line to an alpha, and mark the fit there and those that were looked at before.

    Args:
        plot: the picture of losses.
        alpha: where the line goes.
        row: the figures of the fit there, None without one.
        trail: those of fits looked at before.
        measure: of the losses.
        colour: of the marks.

    Returns:
        The range of heights of these fits if the picture is empty otherwise.
    """
    plot.parts["head"].location = alpha
    plot["live"].data = _points([] if row is None else [row], measure, colour)
    plot["trail"].data = points = _points(trail, measure, colour)
    heights = [*points["train"], *points["heldout"]]
    if not heights or any(len(source.data["y"]) for source in plot["heldout"]):
        return None
    return 0.0, 1.3 * max(heights) or 1.0


def _points(rows: Sequence[Mapping[str, Any]], measure: str, colour: str) -> Data:
    return {
        "x": [row["alpha"] for row in rows],
        "train": [row[f"train_{measure}"] for row in rows],
        "heldout": [row[measure] for row in rows],
        "colour": [colour] * len(rows),
    }


def spread(
    lines: pd.DataFrame, racer: int, alphas: Sequence[float], colour: str, key: Any = (), *, center: str = "center"
) -> Picture:
    """Return the picture of how far a racer's weights are from its center: their quantiles against alpha.

    lines: the study's summary; colour: of the lines; key: what it shows: a picture of another key is drawn anew;
    center: its name.
    """
    column_names = [f"away_{percentile}" for band in BANDS for percentile in band] + ["away_50"]
    data: Data = {name: [] for name in ("x", *column_names)}
    if "away_50" in lines:
        rows = _path_rows(lines, racer)
        data = {"x": rows["alpha"].to_numpy(float)} | {name: rows[name].to_numpy(float) for name in column_names}
    return Picture(
        draw=partial(_draw_spread, alphas=alphas, colour=colour),
        x=(across(alphas)[0], min(alphas)), y=_spread_range(data), labels=("alpha, log scale", f"weights - {center}"),
        axes={"x_axis_type": "log"}, data={"bands": data}, key=(racer, key),
    )  # fmt: skip


def _spread_range(data: Data) -> Range:
    """Return a range from nine tenths of the weights, as wide again on either side, as outliers may lie anywhere."""
    inner_bands = [np.abs(np.asarray(data[name], float)) for name in ("away_5", "away_95")]
    widest = float(max((away.max() for away in inner_bands if len(away)), default=0.0)) or 1.0
    return -1.8 * widest, 1.8 * widest


def _draw_spread(plot: Plot, alphas: Sequence[float], colour: str) -> None:
    fig, bands = plot.figure, plot["bands"]
    _mark_alphas(plot, alphas)
    fig.min_height = 120
    for (lower, upper), opacity in zip(BANDS, (0.13, 0.2, 0.4), strict=True):
        fig.varea("x", f"away_{lower}", f"away_{upper}", source=bands, fill_color=colour, fill_alpha=opacity)
    fig.line("x", "away_50", source=bands, line_color=colour, line_width=2)
    latest_band = plot.sources["live"] = ColumnDataSource({"x": [], "low": [], "high": []})
    fig.segment("x", "low", "x", "high", source=latest_band, line_color=colour, line_width=6)
    _add_head(plot)


def spread_at(plot: Plot, alpha: float, row: Mapping[str, float] | None) -> None:
    """Move the line to an alpha, and show the range of nine tenths of the weights of the fit there (row), if any."""
    plot.parts["head"].location = alpha
    rows = [] if row is None else [row]
    segment_ends = {"low": [fit["away_5"] for fit in rows], "high": [fit["away_95"] for fit in rows]}
    plot["live"].data = {"x": [alpha] * len(rows), **segment_ends}


def _mark_alphas(plot: Plot, alphas: Sequence[float]) -> None:
    """Label at most five powers of ten: of more, Bokeh leaves out those that would overlap."""
    first_power, last_power = np.ceil(np.log10(min(alphas)) - 1e-9), np.floor(np.log10(max(alphas)) + 1e-9)
    powers = np.arange(first_power, last_power + 1, max(np.ceil((last_power - first_power) / 4), 1))
    label_by_alpha = {float(10.0**k): f"{10.0**k:,.0f}" if k >= 0 else f"{10.0**k:.{-int(k)}f}" for k in powers}
    plot.parts["x"].update(ticker=FixedTicker(ticks=list(label_by_alpha)), major_label_overrides=label_by_alpha)
    plot.figure.min_border_left, plot.figure.min_border_right = LEFT_MARGIN_PX, RIGHT_MARGIN_PX


def _add_head(plot: Plot) -> None:
    alpha_line = Span(location=None, dimension="height", line_color=GREY, line_width=1.6, level="underlay")
    plot.figure.add_layout(alpha_line)
    plot.parts["head"] = alpha_line
