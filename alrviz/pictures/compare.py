"""One model against another: a point for each data set, both axes alike and logarithmic.

On the dashed diagonal they are equal; below it the model that goes upward is lower, hence better. A point, in colour
and mark of the better, is the mean over the fits, its bars one standard deviation to each side, a faint dot one fold.
A log axis has no place for 0: what is 0 stands on the picture's edge, hollow; so do folds far below all means.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import FixedTicker, HoverTool

from alrviz.pictures.labels import VisibleArea, log_ticks, place
from alrviz.pictures.palette import GREY, racer_marks, readable
from alrviz.pictures.picture import Data, Picture, Plot, Range, write
from alrviz.studies.statistics.measures import BINS

WORDS = {
    "log_loss": "log loss", "error": "0-1 loss", "rmse": "RMSE", "brier": "Brier score",
    "ece": f"calibration error (ECE, {BINS} bins)",
    "balanced_error": "balanced error", "average_precision_loss": "1 - average precision",
    "bias": "bias²", "variance": "variance", "train_seconds": "training seconds",
    "classify_seconds": "classification seconds",
}  # fmt: skip
WIDTH, HEIGHT = 300, 290  # assumed pixels of the drawing frame
MAX_NAMED = 14  # points with a name; beyond it only the tooltip names them
_MARGIN_SHARE = 0.09  # of the range, on each side
LABEL_DISTANCE_LIMIT = 2.5
_MIN_RANGE = float(np.log10(1.2))  # differences below a fifth must not fill the picture


def compare(
    lines: pd.DataFrame,
    rows: pd.DataFrame,
    pair: tuple[int, int],
    measure: str,
    colours: Sequence[str],
    dark: bool = False,
) -> Picture:
    """Return the picture.

    Args:
        lines: a study's summary (data, racer, name, measures and their _sd).
        rows: the study's frame, a row for each fit; it may be empty.
        pair: index of the recipe on the horizontal axis, and on the vertical axis.
        measure: one of `alrviz.studies.protocols.compare.COMPARED`.
        colours: one for each recipe; a point has that of the better one.
        dark: whether the ground is dark.
    """
    across, up = pair
    signs = racer_marks(len(colours))
    means = _pairs(lines, pair, measure, ["data"])
    sd_by_racer = _pairs(lines, pair, f"{measure}_sd", ["data"]).reindex(means.index)
    folds = _pairs(rows, pair, measure, ["data", "repeat", "fold"])
    axis_low, axis_high = _range(means.to_numpy(float).ravel(), folds.to_numpy(float).ravel())
    x, y = (np.maximum(means[racer].to_numpy(float), axis_low) for racer in pair)
    deviations = [np.nan_to_num(sd_by_racer[racer].to_numpy(float)) for racer in pair]
    data_names = [str(name) for name in means.index]
    colour_by_side = {-1: colours[up], 0: GREY, 1: colours[across]}
    marker_by_side = {-1: signs[up][0], 0: "circle", 1: signs[across][0]}
    sides = np.sign(means[up] - means[across]).astype(int)
    points: Data = {
        "x": x, "y": y, "data": data_names, "across": means[across].to_numpy(float), "up": means[up].to_numpy(float),
        "left": np.maximum(x - deviations[0], axis_low), "right": x + deviations[0],
        "low": np.maximum(y - deviations[1], axis_low), "high": y + deviations[1],
        "colour": [colour_by_side[sign] for sign in sides], "marker": [marker_by_side[sign] for sign in sides],
        "filled": [float(least > 0) for least in means.min(axis=1)],
    }  # fmt: skip
    names = dict(zip(lines["racer"], lines["name"], strict=True)) if len(lines) else {}
    fold_x, fold_y = (np.maximum(folds[racer].to_numpy(float), axis_low) for racer in pair)
    labels = tuple(f"{names.get(racer, '')}: {WORDS[measure]} (log)" for racer in pair)
    tick_places = log_ticks(axis_low, axis_high)
    tick_labels, span = {"major_label_overrides": {tick: f"{tick:.4g}" for tick in tick_places}}, [axis_low, axis_high]
    return Picture(
        draw=partial(_draw, dark=dark),
        x=(axis_low, axis_high), y=(axis_low, axis_high), labels=(labels[0], labels[1]),
        axes={"x_axis_type": "log", "y_axis_type": "log"},
        data={
            "diagonal": {"x": span, "y": span},
            "folds": {"x": fold_x, "y": fold_y, "data": [str(key[0]) for key in folds.index]},
            "points": points,
            "names": _names(x, y, data_names, (axis_low, axis_high)),
            "corners": {
                "x": [axis_low, axis_high], "y": [axis_high, axis_low],
                "words": [f"{signs[racer][1]} {names[racer]} lower" if racer in names else "" for racer in pair],
                "align": ["left", "right"], "base": ["top", "bottom"], "dx": [6, -6], "dy": [6, -6],
                "colour": [readable(colours[racer], dark) for racer in pair],
            },
        },
        parts={"x": tick_labels, "y": tick_labels, "ticks": ({"ticks": tick_places}, {"ticks": tick_places})},
        key=dark,
    )  # fmt: skip


def _pairs(table: pd.DataFrame, pair: tuple[int, int], measure: str, index_columns: list[str]) -> pd.DataFrame:
    """Return a table with the values of a measure by two racers, `pair`, as columns, a line wherever both have it.

    table: the study's, whose order stays; index_columns: those that tell its lines apart.
    """
    if not len(table) or measure not in table:
        return pd.DataFrame(columns=list(pair), index=pd.MultiIndex.from_tuples([], names=index_columns), dtype=float)
    columns = [table[table["racer"] == racer].set_index(index_columns)[measure].astype(float) for racer in pair]
    return pd.concat(columns, axis=1, keys=pair, join="inner").dropna()


def _range(mean_values: np.ndarray, folds: np.ndarray) -> Range:
    """Return a positive range that holds all mean_values above 0, with room around them; zeros get its lower edge.

    It also holds the folds that are no more than LABEL_DISTANCE_LIMIT times lower or higher.
    """
    mean_logs = np.log10(mean_values[mean_values > 0])
    if not len(mean_logs):
        return 0.01, 1.0
    log_low, log_high = float(mean_logs.min()), float(mean_logs.max())
    near_logs = np.log10(
        np.clip(folds[folds > 0], 10**log_low / LABEL_DISTANCE_LIMIT, LABEL_DISTANCE_LIMIT * 10**log_high)
    )
    log_low, log_high = float(near_logs.min(initial=log_low)), float(near_logs.max(initial=log_high))
    if (mean_values <= 0).any():
        log_low -= max(0.15 * (log_high - log_low), 0.15)
    missing_width = max(_MIN_RANGE - (log_high - log_low), 0.0) / 2
    log_low, log_high = log_low - missing_width, log_high + missing_width
    log_margin = _MARGIN_SHARE * (log_high - log_low)
    return float(10 ** (log_low - log_margin)), float(10 ** (log_high + log_margin))


def _names(x: np.ndarray, y: np.ndarray, data_names: list[str], axis_range: Range) -> Data:
    """Return labels with the data sets' names beside the points (x, y), moved up or down where they would overlap."""
    if len(data_names) > MAX_NAMED:
        x, y, data_names = x[:0], y[:0], []
    log_low, log_high = np.log10(axis_range)
    area = VisibleArea(log_low, log_high, log_low, log_high, height=HEIGHT, width=WIDTH)
    is_right_half = [bool(value > (log_low + log_high) / 2) for value in np.log10(x)]
    shifts = place(area, np.log10(x).tolist(), np.log10(y).tolist(), data_names, is_right_half)
    return {
        "x": x, "y": y, "words": data_names, "dy": [shift - 3 for shift in shifts],
        "align": ["right" if ends_here else "left" for ends_here in is_right_half],
        "dx": [-9 if ends_here else 9 for ends_here in is_right_half],
    }  # fmt: skip


def _draw(plot: Plot, dark: bool) -> None:
    fig, points = plot.figure, plot["points"]
    plot.parts["ticks"] = FixedTicker(), FixedTicker()
    fig.xaxis[0].ticker, fig.yaxis[0].ticker = plot.parts["ticks"]
    fig.line("x", "y", source=plot["diagonal"], line_color=GREY, line_dash=[6, 5], line_width=1.4)
    fig.scatter("x", "y", source=plot["folds"], size=4, color=GREY, alpha=0.35, line_color=None)
    fig.segment("left", "y", "right", "y", source=points, line_color="colour", line_width=1.6)
    fig.segment("x", "low", "x", "high", source=points, line_color="colour", line_width=1.6)
    label_offsets: dict[str, Any] = {"align": "align", "x_offset": "dx", "y_offset": "dy"}
    write(fig, plot["names"], readable(GREY, dark), size=14, front=dark, **label_offsets)
    dots = fig.scatter(  # over the grounds of all names
        "x", "y", source=points, size=11, marker="marker", fill_color="colour", fill_alpha="filled",
        line_color="colour", line_width=2, level="overlay",
    )  # fmt: skip
    write(fig, plot["corners"], bold=True, baseline="base", **label_offsets)
    tips = [("data", "@data"), ("across", "@across{0.00000}"), ("up", "@up{0.00000}")]
    fig.add_tools(HoverTool(renderers=[dots], tooltips=tips))
