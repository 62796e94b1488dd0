"""The convergence picture: how far each racer has come, along iterations, passes or seconds.

Training rows are a full line, test rows a dashed one of the same colour; grey lines stand at the class prior and at
AnJE; names stand at the ends of lines; raw points are shown while they are few. Where there are more than two racers
each line carries the marker of its racer, for readers who confound colours. A figure shows any measure along any axis
of racers that are called the same, as long as neither axis turns logarithmic or back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from bokeh.models import FixedTicker, HoverTool, NumeralTickFormatter
from bokeh.models.annotations import Label
from bokeh.models.axes import LogAxis

from alrviz.pictures.labels import (
    HEIGHT,
    LETTER,
    LINE,
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
BEST = "lowest F found: limit of resolution"  # at the line of `gap_floor`
MAX_LABEL_SHARE = 0.75  # of a picture's width, for the words on a grey line
_LEVELS = 1 + max(len(measure.grey) for measure in MEASURES.values())
GREY_LINE_COST = 0.2  # of a racer's line is a grey one: words may stand on it
MAX_MARKED_POINTS = 60  # with more points the line alone shows them
MAX_UNMARKED_RACERS = 2  # of more racers each line carries markers
MARKER_STEP_PX = 90  # px across, from one marker of a line to the next
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
    """Return the picture of these racers; the page's theme colours axes and ground.

    measure: a key of `MEASURES`. axis: a key of `AXES`. span: a key of `SPANS`. baseline: `Trace.baseline`. to_zero:
    whether NLL falls to 0. dark: whether the ground is dark. rests: whether the lines rest; names then keep off them.
    size: width and height of the drawing frame in pixels, None for those of a window of 1280x720. note: words in the
    corner, which belong to the picture wherever it goes.
    """
    if measure == "alpha":
        curves = penalties(curves)
    if span == "first":
        curves = [replace(curve, columns=first_steps(curve.columns)) for curve in curves]
    log_x = span == "log"
    zero = zero_place((curve.columns for curve in curves), axis) if log_x else None
    log = is_log(measure, to_zero)
    levels, floor = grey_levels(measure, baseline or {}, curves)

    def points_of(curve: RacerCurve, part: str) -> Data:
        line = points(
            curve.columns, measure, part, axis=axis, rows=curve.rows, best=curve.best, log=log, floor=floor, zero=zero
        )
        places = min_max(line["y"])
        if log_x:  # each of the first points has its own place
            places = np.union1d(places, np.arange(min(MAX_MARKED_POINTS, len(line["y"]))))
        return {key: column[places] for key, column in line.items()}

    curve_pairs = [(points_of(curve, "train"), points_of(curve, "heldout")) for curve in curves]
    train, heldout, beyond = [], [], []
    for curve, (full, dashed) in zip(curves, curve_pairs, strict=True):
        train.append(_cut(full, curve.upto))
        heldout.append(_cut(dashed, curve.upto))
        beyond.append(full if curve.upto is not None else _cut(full, -1))
    all_lines = [part for pair in curve_pairs for part in pair]
    names = [curve.name for curve in curves]
    kinds = _kinds(measure)
    height = HEIGHT - LEGEND_ROW_PX * (legend_rows([*names, *kinds], WIDTH) - 1)
    view = box(
        (p["x"] for p in all_lines), (p["y"] for p in all_lines), list(levels.values()), log, names, height, log_x
    )
    frame_area = view if size is None else replace(view, width=size[0], height=size[1])
    drawn_lines = [*(line for pair in curve_pairs for line in pair)] if rests else []
    ends_of = heldout if MEASURES[measure].train is None else train
    ends = [(float(p["x"][-1]), float(p["y"][-1])) if len(p["x"]) else None for p in ends_of]
    heads, words, grey = marks(curves, ends, levels, frame_area, dark, drawn_lines)
    markers = [_markers(line, k, len(curves), frame_area) for k, line in enumerate(ends_of)]
    parts: dict[str, Any] = {
        "dots": tuple({"visible": len(line["x"]) <= MAX_MARKED_POINTS} for line in train),
        "hover": {"tooltips": _tooltips(measure, axis, any("step" in curve.columns for curve in curves))},
        "note": {"text": note, "visible": bool(note)},
        "legend": {"ncols": legend_columns([*names, *kinds], frame_area.width)},
        "kinds": tuple({"visible": kind in kinds} for kind, _ in KINDS),
    }
    if log_x:  # where an x of 0 stands on a logarithmic axis
        zeros = {} if zero is None else {zero: "0"}
        parts["ticks"] = {"ticks": [*zeros, *(tick for tick in _TICKS if zero is None or tick > zero)]}
        parts["x"] = {"major_label_overrides": zeros}
    x_scale, y_scale = ("log" if log else "linear" for log in (view.log_x, view.log))
    return Picture(
        draw=partial(_draw, curves=curves, dark=dark),
        x=(view.left, view.right), y=(view.bottom, view.top),
        labels=(along_label(axis, span, measure), axis_label(measure, to_zero)),
        # Heads and words are as many from the first to the last.
        data={
            "train": tuple(train), "heldout": tuple(heldout), "beyond": tuple(beyond), "markers": tuple(markers),
            "grey": grey,
            "heads": with_room(heads, len(names)), "words": with_room(words, len(names) + _LEVELS),
        },
        streams=("train", "heldout", "beyond"), parts=parts, axes={"x_axis_type": x_scale, "y_axis_type": y_scale},
        key=(tuple((curve.name, curve.label) for curve in curves), log, log_x, dark),
    )  # fmt: skip


def grey_levels(
    measure: str, baseline: Mapping[str, float], curves: Sequence[RacerCurve]
) -> tuple[dict[str, float], float | None]:
    """Return the heights of the grey lines of a measure by their words, and where gaps of 0 are drawn (`gap_floor`)."""
    gaps = [values(curve.columns, measure, "train", curve.rows, curve.best) for curve in curves]
    floor = gap_floor(gaps) if measure == "gap" else None
    heights = {words: baseline[key] for key, words in MEASURES[measure].grey if np.isfinite(baseline.get(key, np.nan))}
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


def _cut(line: Data, upto: int | None) -> Data:
    if upto is None:
        return line
    return {key: column[line["step"] <= upto] for key, column in line.items()}


def _markers(line: Data, number: int, racers: int, view: VisibleArea) -> Data:
    """Return the points of a line that carry its racer's marker; those of other racers are elsewhere along the axis.

    number, racers: the racer's number, from 0, and how many there are; few racers have no markers.
    """
    if racers <= MAX_UNMARKED_RACERS or not len(line["x"]):
        return {"x": np.empty(0), "y": np.empty(0)}
    x_pixels, _ = view.pixels(np.asarray(line["x"], np.float64), np.asarray(line["y"], np.float64))
    marker_pixels = np.arange((number + 0.5) / racers * MARKER_STEP_PX, x_pixels[-1], MARKER_STEP_PX)
    marked_points = np.unique(np.searchsorted(x_pixels, marker_pixels))
    return {"x": line["x"][marked_points], "y": line["y"][marked_points]}


def marks(
    curves: Sequence[RacerCurve],
    ends: Sequence[tuple[float, float] | None],
    levels: Mapping[str, float],
    view: VisibleArea,
    dark: bool = False,
    drawn: Sequence[Data] = (),
) -> tuple[Data, Data, Data]:
    """Heads of the lines, the words beside them, and the grey lines, as columns.

    ends: last point of each racer's line, None where it has none. drawn: lines that words should leave free.
    """
    colours = racer_colours([curve.label for curve in curves], dark)
    looks = [
        (c, colours[k], MARKERS[k % len(MARKERS)], end) for k, (c, end) in enumerate(zip(curves, ends, strict=True))
    ]
    rows = [(curve.name, colour, marker, *end) for curve, colour, marker, end in looks if end is not None]
    name, colour, marker, x, y = [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 5
    heads = [view.pixel(at, up) for at, up in zip(x, y, strict=True)]
    lines = [(_told(w, view.pixel(view.right, v), heads), v) for w, v in levels.items() if view.bottom <= v <= view.top]
    # Place the grey words first: a name has its line's colour, but a grey word is recognised by its place only.
    words = [*(w for w, _ in lines), *name]
    is_cut = [view.pixel(at, view.top)[0] + LETTER * len(text) > view.width for at, text in zip(x, name, strict=True)]
    at_x = [*(view.right for _ in lines), *(view.right if out else at for at, out in zip(x, is_cut, strict=True))]
    at_y = [*(v for _, v in lines), *y]
    ends_there = [True] * len(lines) + is_cut
    line_ends = np.array([view.begin, view.right])
    crossings = [Crossing(line_ends, np.array([value, value]), GREY_LINE_COST) for _, value in lines]
    crossings += [Crossing(line["x"], line["y"]) for line in drawn if len(line["x"]) > 1]
    shifts = place(view, at_x, at_y, words, ends_there, crossings, len(lines))
    return (
        {"x": x, "y": y, "colour": colour, "marker": marker},
        {
            "x": at_x,
            "y": at_y,
            "words": words,
            "colour": [readable(c, dark) for c in (*(GREY for _ in lines), *colour)],
            "align": ["right" if end else "left" for end in ends_there],
            "dx": [-4 if end else 7 for end in ends_there],
            "dy": [shift - 2 for shift in shifts],
        },
        {"x0": [view.begin] * len(lines), "x1": [view.right] * len(lines), "y": [v for _, v in lines]},
    )


def _told(words: str, end: tuple[float, float], heads: Sequence[tuple[float, float]]) -> str:
    """Return the words of a grey line; without what explains them, where that takes most of the line or hides a head.

    end: of the line, in pixels. heads: of the racers' lines.
    """
    width, words_width = end[0], LETTER * len(words)
    is_hidden = any(x > width - words_width and abs(y - end[1]) < LINE for x, y in heads)
    return words if words_width < MAX_LABEL_SHARE * width and not is_hidden else words.partition(":")[0]


def _draw(plot: Plot, curves: Sequence[RacerCurve], dark: bool) -> None:
    fig = plot.figure
    if isinstance(fig.xaxis[0], LogAxis):
        plot.parts["ticks"] = fig.xaxis[0].ticker = fig.xgrid[0].ticker = FixedTicker()
        fig.xaxis[0].formatter = NumeralTickFormatter(format="0,0.[000000]")
    fig.segment(
        "x0", "y", "x1", "y", source=plot["grey"], color=GREY, line_width=1.2, line_dash=[2, 3], level="underlay"
    )
    dots: list[Any] = []
    items: list[tuple[str, Any]] = []
    hovered_renderers: list[Any] = []
    for k, colour in enumerate(racer_colours([curve.label for curve in curves], dark)):
        name, train = curves[k].name, plot["train"][k]
        fig.line("x", "y", source=plot["beyond"][k], color=colour, line_width=2, alpha=0.25)
        train_line = fig.line("x", "y", source=train, color=colour, line_width=2.6, name=name)
        dashed = fig.line(
            "x", "y", source=plot["heldout"][k], color=colour, line_width=2.2, line_dash=DASHES, name=name
        )
        dots.append(fig.scatter("x", "y", source=train, color=colour, size=4.5))
        marker: Any = fig.scatter(
            "x", "y", source=plot["markers"][k], color=colour, size=9, marker=MARKERS[k % len(MARKERS)]
        )
        hovered_renderers += [train_line, dashed]
        items.append((name, [train_line, dashed, *([marker] if len(curves) > MAX_UNMARKED_RACERS else [])]))
    fig.scatter("x", "y", source=plot["heads"], marker="marker", size=10, color="colour")
    label_offsets: dict[str, Any] = {"align": "align", "x_offset": "dx", "y_offset": "dy"}
    write(fig, plot["words"], size=16, bold=True, front=dark, **label_offsets)
    hover = HoverTool(renderers=hovered_renderers, mode="mouse", point_policy="snap_to_data")
    fig.add_tools(hover)
    for words, dashes in KINDS:
        items.append((words, [fig.line([np.nan], [np.nan], color=GREY, line_width=2.2, line_dash=dashes)]))
    legend = add_legend(fig, items, click_policy="hide", location="left")
    corner_position = {"x": 8, "y": 6, "x_units": "screen", "y_units": "screen"}
    note = Label(
        text="", text_color=readable(GREY, dark), text_font_size="16px", text_font=FONT_NAME, **corner_position
    )
    fig.add_layout(note)
    plot.parts |= {
        "dots": tuple(dots),
        "hover": hover,
        "note": note,
        "legend": legend,
        "kinds": tuple(legend.items[-2:]),
    }


def _tooltips(measure: str, axis: str, trials: bool) -> list[tuple[str, str]]:
    """Return the tooltip of a point; while alphas are tried, a step need not be an iteration."""
    x_tip = [] if axis == "iterations" and (measure == "alpha" or not trials) else [(axis, "@x{0,0.[000]}")]
    step = ("step" if trials else "iteration", "@step")
    return [("model", "$name"), step, *x_tip, (MEASURES[measure].words, "@y{0.[000000]}")]


def _kinds(measure: str) -> list[str]:
    """Return the words for the lines that a measure has: of training rows, of test rows, or neither."""
    definition = MEASURES[measure]
    columns = (definition.train, definition.heldout) if definition.of_rows else (None, None)
    return [words for (words, _), column in zip(KINDS, columns, strict=True) if column is not None]


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
    size = 1
    while -(-n_inner // size) > (limit - 2) // 2:
        size *= 2
    stretches = -(-n_inner // size)
    padded = np.full(stretches * size, np.nan)
    padded[:n_inner] = y[1:-1]
    table = padded.reshape(stretches, size)
    is_nan = np.isnan(table)
    begin = 1 + size * np.arange(stretches)
    lowest = begin + np.where(is_nan, np.inf, table).argmin(axis=1)
    highest = begin + np.where(is_nan, -np.inf, table).argmax(axis=1)
    has_number = ~is_nan.all(axis=1)
    return np.unique(np.concatenate([[0], lowest[has_number], highest[has_number], [len(y) - 1]]))
