"""The convergence picture: how far each racer has come, along iterations, passes or seconds.

Training rows are a full line, test rows a dashed one of the same colour; grey lines stand at the class shares and at
AnJE; names stand at the ends of lines; raw points are shown while they are few. Where there are more than two racers
each line carries the marker of its racer, for readers who confound colours. A figure shows any measure along any axis
of racers that are called the same, as long as neither axis turns logarithmic or back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
from bokeh.models import FixedTicker, HoverTool, NumeralTickFormatter
from bokeh.models.annotations import Label
from bokeh.models.axes import LogAxis

from alrviz.pictures.labels import (
    HEIGHT,
    LETTER,
    WIDTH,
    Crossing,
    VisibleArea,
    box,
    legend_columns,
    legend_rows,
    place,
    with_room,
)
from alrviz.pictures.measures import (
    ALPHAS,
    MEASURES,
    Columns,
    along_label,
    axis_label,
    first_steps,
    gap_floor,
    is_log,
    points,
    values,
    zero_place,
)
from alrviz.pictures.palette import GREY, MARKERS, racer_colours, readable
from alrviz.pictures.picture import FONT_NAME, Data, Picture, Plot, add_legend, write

MAX_DRAWN_POINTS = 2_000  # points; beyond it a line of a picture 1,000 pixels wide shows no more
DASHES = [7, 5]
LEGEND_ROW_PX = 25  # px
KINDS: tuple[tuple[str, list[int]], ...] = (("training rows", []), ("test rows", DASHES))  # words and dashes
BEST = "lowest found"  # at the line of `gap_floor`
_LEVELS = 1 + max(len(measure.grey) for measure in MEASURES.values())
GREY_LINE_COST = 0.2  # of a racer's line is a grey one: words may stand on it
MAX_MARKED_POINTS = 60  # with more points the line alone shows them
MAX_UNMARKED_RACERS = 2  # of more racers each line carries markers
MARKER_STEP_PX = 90  # px across, from one marker of a line to the next
_SCALES = ("linear", "log")
# Ticks of a logarithmic horizontal axis; Bokeh leaves out labels that would overlap.
_TICKS = tuple(m * 10.0**power for power in range(-6, 7) for m in (1, 2, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class RacerCurve:
    """One racer as a picture sees it.

    name: at the end of its line. label: its family's, for the colour. columns: its trace's frame, or that frame's
    columns by name. rows: total training weight. best: the best known objective of the function it minimises.
    upto: the last step to show, None for all (scrubbing); what lies beyond it is drawn faintly.
    """

    name: str
    label: str
    columns: Columns
    rows: float
    best: float = 0.0
    upto: int | None = None


def convergence(
    curves: Sequence[RacerCurve],
    *,
    measure: str = "nll",
    axis: str = "iterations",
    span: str = "all",
    baseline: Mapping[str, float] | None = None,
    to_zero: bool = False,
    dark: bool = False,
    rests: bool = True,
    size: tuple[int, int] | None = None,
    note: str = "",
) -> Picture:
    """Return the picture of these racers' curves; the page's theme colours axes and ground.

    Args:
        curves: the steps of each racer.
        measure: a key of `MEASURES`.
        axis: a key of `AXES`.
        span: a key of `SPANS`.
        baseline: `Trace.baseline`.
        to_zero: whether NLL falls to 0, so that its axis is logarithmic.
        dark: whether the ground is dark.
        rests: whether the race stands still; names then keep off the lines.
        size: width and height of the frame in pixels; None for those of a window of 1280x720.
        note: words in the corner, which stay when the picture is copied.
    """
    if measure == "alpha":
        curves = penalties(curves)
    if span == "first":
        curves = [replace(curve, columns=first_steps(curve.columns)) for curve in curves]
    log_x, log = span == "log", is_log(measure, to_zero)
    zero = zero_place((curve.columns for curve in curves), axis) if log_x else None
    grey_heights, floor = grey_levels(measure, baseline or {}, curves)
    # On a logarithmic axis each of the first points has its own place.
    line_params = {"axis": axis, "log": log, "floor": floor, "zero": zero}
    n_first = MAX_MARKED_POINTS if log_x else 0
    whole_train, whole_heldout = (
        [_whole_line(curve, measure, part, n_first, **line_params) for curve in curves] for part in ("train", "heldout")
    )
    last_steps = [curve.upto for curve in curves]
    train, heldout = (list(map(_up_to_step, lines, last_steps)) for lines in (whole_train, whole_heldout))
    faint_lines = [_up_to_step(whole_train[k], -1 if upto is None else None) for k, upto in enumerate(last_steps)]
    all_lines, names, kind_names = [*whole_train, *whole_heldout], [curve.name for curve in curves], _kinds(measure)
    height = HEIGHT - LEGEND_ROW_PX * (legend_rows([*names, *kind_names], WIDTH) - 1)
    xs, ys = ([columns[key] for columns in all_lines] for key in ("x", "y"))
    view = box(xs, ys, list(grey_heights.values()), log, names, height, log_x)
    frame_area = view if size is None else replace(view, width=size[0], height=size[1])
    end_lines = heldout if MEASURES[measure].train is None else train
    line_ends, covered_lines = list(map(_line_end, end_lines)), all_lines if rests else []
    head_marks, label_marks, grey_marks = marks(curves, line_ends, grey_heights, frame_area, dark, covered_lines)
    parts: dict[str, Any] = {
        "dots": tuple({"visible": len(columns["x"]) <= MAX_MARKED_POINTS} for columns in train),
        "hover": {"tooltips": _tooltips(measure, axis, any("step" in curve.columns for curve in curves))},
        "note": {"text": note, "visible": bool(note)},
        "legend": {"ncols": legend_columns([*names, *kind_names], frame_area.width)},
        "kinds": tuple({"visible": kind in kind_names} for kind, _ in KINDS),
    }
    return Picture(
        draw=partial(_draw, curves=curves, dark=dark),
        x=(view.left, view.right), y=(view.bottom, view.top),
        labels=(along_label(axis, span, measure), axis_label(measure, to_zero)),
        # Heads and words are as many from the first to the last.
        data={
            "train": tuple(train), "heldout": tuple(heldout), "beyond": tuple(faint_lines),
            "markers": tuple(_markers(line, k, len(curves), frame_area) for k, line in enumerate(end_lines)),
            "grey": grey_marks,
            "heads": with_room(head_marks, len(names)), "words": with_room(label_marks, len(names) + _LEVELS),
        },
        streams=("train", "heldout", "beyond"), parts=parts | (_log_ticks(zero) if log_x else {}),
        axes={"x_axis_type": _SCALES[view.log_x], "y_axis_type": _SCALES[view.log]},
        key=(tuple((curve.name, curve.label) for curve in curves), log, log_x, dark),
    )  # fmt: skip


def _log_ticks(zero: float | None) -> dict[str, Any]:
    """Return the properties of a logarithmic horizontal axis; zero: the place of an x of 0 on it."""
    if zero is None:
        return {"ticks": {"ticks": list(_TICKS)}, "x": {"major_label_overrides": {}}}
    return {
        "ticks": {"ticks": [zero, *(tick for tick in _TICKS if tick > zero)]},
        "x": {"major_label_overrides": {zero: "0"}},
    }


def grey_levels(
    measure: str, baseline: Mapping[str, float], curves: Sequence[RacerCurve]
) -> tuple[dict[str, float], float | None]:
    """Return the heights of a measure's grey lines by their words, and where gaps of 0 are drawn (`gap_floor`).

    baseline: `Trace.baseline`; curves: those drawn, which gaps of 0 are drawn below.
    """
    gaps = [values(curve.columns, measure, "train", curve.rows, curve.best) for curve in curves]
    floor = gap_floor(gaps) if measure == "gap" else None
    heights = {text: baseline[key] for key, text in MEASURES[measure].grey if np.isfinite(baseline.get(key, np.nan))}
    return heights | ({} if floor is None else {BEST: floor}), floor


def penalties(curves: Sequence[RacerCurve]) -> list[RacerCurve]:
    """Return the lines of the measure "alpha": for racers that choose alphas, one for each order along all steps.

    A single alpha is that of the racer's own order, whichever that is.

    >>> columns = {"index": [0, 0, 1], "alpha_1": [np.nan, 9, 0.5], "alpha_2": [np.nan, 9, 40]}
    >>> found = penalties([RacerCurve(name="hlr", label="hlr", columns=columns, rows=1)])
    >>> [(curve.name, curve.columns["index"].tolist(), curve.columns["alpha"]) for curve in found]
    [('hlr order 1', [0, 1, 2], [nan, 9, 0.5]), ('hlr order 2', [0, 1, 2], [nan, 9, 40])]
    """
    return [
        replace(
            curve,
            name=f"{curve.name} order {name.removeprefix(ALPHAS)}" if f"{ALPHAS}2" in curve.columns else curve.name,
            columns={**curve.columns, "index": np.arange(len(curve.columns["index"])), "alpha": curve.columns[name]},
        )
        for curve in curves
        for name in curve.columns
        if name.startswith(ALPHAS)
    ]


def _whole_line(curve: RacerCurve, measure: str, part: str, n_first: int, **params: Any) -> Data:
    """Return the points of a racer's line that are drawn, among them the first n_first; `params`: as in `points`."""
    columns = points(curve.columns, measure, part, rows=curve.rows, best=curve.best, **params)
    drawn_indices = np.union1d(min_max(columns["y"]), np.arange(min(n_first, len(columns["y"]))))
    return {key: column[drawn_indices] for key, column in columns.items()}


def _line_end(columns: Data) -> tuple[float, float] | None:
    return (float(columns["x"][-1]), float(columns["y"][-1])) if len(columns["x"]) else None


def _up_to_step(columns: Data, upto: int | None) -> Data:
    if upto is None:
        return columns
    return {key: column[columns["step"] <= upto] for key, column in columns.items()}


def _markers(columns: Data, racer_index: int, n_racers: int, view: VisibleArea) -> Data:
    """Return the points of a line that carry its racer's marker; those of other racers are elsewhere along the axis.

    racer_index, n_racers: the racer's number, from 0, and how many there are; few racers have no markers.
    """
    if n_racers <= MAX_UNMARKED_RACERS or not len(columns["x"]):
        return {"x": np.empty(0), "y": np.empty(0)}
    x_pixels, _ = view.pixels(np.asarray(columns["x"], np.float64), np.asarray(columns["y"], np.float64))
    marker_pixels = np.arange((racer_index + 0.5) / n_racers * MARKER_STEP_PX, x_pixels[-1], MARKER_STEP_PX)
    marked_points = np.unique(np.searchsorted(x_pixels, marker_pixels))
    return {"x": columns["x"][marked_points], "y": columns["y"][marked_points]}


def marks(
    curves: Sequence[RacerCurve],
    ends: Sequence[tuple[float, float] | None],
    levels: Mapping[str, float],
    view: VisibleArea,
    dark: bool = False,
    drawn: Sequence[Data] = (),
) -> tuple[Data, Data, Data]:
    """Return the columns for the ends of the lines, the words beside them, and the grey lines.

    Args:
        curves: the racers.
        ends: last point of each racer's line, None where it has none.
        levels: heights of the grey lines by their words.
        view: the visible area.
        dark: whether the ground is dark.
        drawn: lines that words should not cover.
    """
    colours = racer_colours([curve.label for curve in curves], dark)
    racer_looks = zip(curves, colours, cycle(MARKERS), ends, strict=False)
    head_rows = [(*end, colour, marker, curve.name) for curve, colour, marker, end in racer_looks if end is not None]
    grey_lines = [(text, height) for text, height in levels.items() if view.bottom <= height <= view.top]
    # Place the grey words first: a name has its line's colour, but a grey word is recognised by its place only.
    labels = [(view.right, height, text, GREY, True) for text, height in grey_lines]
    for x, y, colour, _, name in head_rows:
        is_cut = view.pixel(x, view.top)[0] + LETTER * len(name) > view.width
        labels.append((view.right if is_cut else x, y, name, colour, is_cut))
    label_x, label_y, label_texts, label_colours, is_right_aligned = _columns(labels, 5)
    crossings = _crossings([height for _, height in grey_lines], view, drawn)
    shifts = place(view, label_x, label_y, label_texts, is_right_aligned, crossings, len(grey_lines))
    return (
        dict(zip(("x", "y", "colour", "marker"), _columns(head_rows, 5), strict=False)),
        {
            "x": label_x, "y": label_y, "words": label_texts,
            "colour": [readable(colour, dark) for colour in label_colours],
            "align": ["right" if is_right else "left" for is_right in is_right_aligned],
            "dx": [-4 if is_right else 7 for is_right in is_right_aligned],
            "dy": [shift - 2 for shift in shifts],
        },
        {"x0": [view.begin] * len(grey_lines), "x1": [view.right] * len(grey_lines), "y": [v for _, v in grey_lines]},
    )  # fmt: skip


def _crossings(grey_heights: Sequence[float], view: VisibleArea, lines: Sequence[Data]) -> list[Crossing]:
    ends = np.array([view.begin, view.right])
    grey_crossings = [Crossing(ends, np.array([height, height]), GREY_LINE_COST) for height in grey_heights]
    return grey_crossings + [Crossing(line["x"], line["y"]) for line in lines if len(line["x"]) > 1]


def _columns(rows: Sequence[tuple[Any, ...]], n_columns: int) -> list[list[Any]]:
    return [[row[k] for row in rows] for k in range(n_columns)]


def _draw(plot: Plot, curves: Sequence[RacerCurve], dark: bool) -> None:
    fig = plot.figure
    if isinstance(fig.xaxis[0], LogAxis):
        plot.parts["ticks"] = fig.xaxis[0].ticker = fig.xgrid[0].ticker = FixedTicker()
        fig.xaxis[0].formatter = NumeralTickFormatter(format="0,0.[000000]")
    fig.segment(
        "x0", "y", "x1", "y", source=plot["grey"], color=GREY, line_width=1.2, line_dash=[2, 3], level="underlay"
    )
    dot_renderers: list[Any] = []
    legend_items: list[tuple[str, Any]] = []
    hovered_renderers: list[Any] = []
    for k, colour in enumerate(racer_colours([curve.label for curve in curves], dark)):
        name, train_source = curves[k].name, plot["train"][k]
        fig.line("x", "y", source=plot["beyond"][k], color=colour, line_width=2, alpha=0.25)
        train_line = fig.line("x", "y", source=train_source, color=colour, line_width=2.6, name=name)
        test_line = fig.line(
            "x", "y", source=plot["heldout"][k], color=colour, line_width=2.2, line_dash=DASHES, name=name
        )
        dot_renderers.append(fig.scatter("x", "y", source=train_source, color=colour, size=4.5))
        marker: Any = fig.scatter(
            "x", "y", source=plot["markers"][k], color=colour, size=9, marker=MARKERS[k % len(MARKERS)]
        )
        hovered_renderers += [train_line, test_line]
        legend_items.append((name, [train_line, test_line, *([marker] if len(curves) > MAX_UNMARKED_RACERS else [])]))
    fig.scatter("x", "y", source=plot["heads"], marker="marker", size=10, color="colour")
    label_offsets: dict[str, Any] = {"align": "align", "x_offset": "dx", "y_offset": "dy"}
    write(fig, plot["words"], size=16, bold=True, front=dark, **label_offsets)
    hover = HoverTool(renderers=hovered_renderers, mode="mouse", point_policy="snap_to_data")
    fig.add_tools(hover)
    for kind_name, dashes in KINDS:
        legend_items.append((kind_name, [fig.line([np.nan], [np.nan], color=GREY, line_width=2.2, line_dash=dashes)]))
    legend = add_legend(fig, legend_items, click_policy="hide", location="left")
    corner_position = {"x": 8, "y": 22, "x_units": "screen", "y_units": "screen"}
    note = Label(
        text="", text_color=readable(GREY, dark), text_font_size="16px", text_font=FONT_NAME, **corner_position
    )
    fig.add_layout(note)
    plot.parts |= {
        "dots": tuple(dot_renderers),
        "hover": hover,
        "note": note,
        "legend": legend,
        "kinds": tuple(legend.items[-2:]),
    }


def _tooltips(measure: str, axis: str, has_trials: bool) -> list[tuple[str, str]]:
    """Return the tooltip of a point, (words, field) of each line, for a measure against an axis.

    has_trials: whether alphas are tried, so that a step need not be an iteration.
    """
    x_tip = [] if axis == "iterations" and (measure == "alpha" or not has_trials) else [(axis, "@x{0,0.[000]}")]
    step_tip = ("step" if has_trials else "iteration", "@step")
    return [("model", "$name"), step_tip, *x_tip, (MEASURES[measure].words, "@y{0.[000000]}")]


def _kinds(measure: str) -> list[str]:
    """Return the words of the legend for lines of training rows and of test rows, if a measure has both."""
    definition = MEASURES[measure]
    columns = (definition.train, definition.heldout) if definition.of_rows else (None, None)
    kinds = [text for (text, _), column in zip(KINDS, columns, strict=True) if column is not None]
    return kinds if len(kinds) > 1 else []  # the axis names the rows of a measure that has but one kind


def min_max(y: np.ndarray, limit: int = MAX_DRAWN_POINTS) -> np.ndarray:
    """Positions of at most `limit` points of `y` (points,) to draw, ascending; all of them when there are few.

    Thinned so as to keep what the eye would see: the line is cut into stretches of equally many points; each gives its
    minimum and its maximum in their own order, and the first and the last point always stay. Spikes survive, which
    taking every k-th point would lose. A stretch has a power of two of points: while a line grows, all stretches but
    the last stay what they were, and need not be sent again. NaN counts as neither. `limit` is at least 4.
    """
    n_inner = len(y) - 2
    if len(y) <= limit:
        return np.arange(len(y))
    stretch_size = 1
    while -(-n_inner // stretch_size) > (limit - 2) // 2:
        stretch_size *= 2
    n_stretches = -(-n_inner // stretch_size)
    padded = np.full(n_stretches * stretch_size, np.nan)
    padded[:n_inner] = y[1:-1]
    points_by_stretch = padded.reshape(n_stretches, stretch_size)
    is_nan = np.isnan(points_by_stretch)
    stretch_starts = 1 + stretch_size * np.arange(n_stretches)
    lowest = stretch_starts + np.where(is_nan, np.inf, points_by_stretch).argmin(axis=1)
    highest = stretch_starts + np.where(is_nan, -np.inf, points_by_stretch).argmax(axis=1)
    has_number = ~is_nan.all(axis=1)
    return np.unique(np.concatenate([[0], lowest[has_number], highest[has_number], [len(y) - 1]]))
