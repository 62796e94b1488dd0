"""The decision map: the ground in the colour of the class that wins, paler where the model is unsure, and the rows.

    opacity = MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * certainty,    certainty = (p - 1/C) / (1 - 1/C)

With scores, which are no probabilities, certainty is the margin over the next class (of two classes the score itself)
relative to its 95th percentile on the map. A point's outline is its true class, its fill what the model predicts.

Boundaries are smooth lines between two scales, edges of cells where there are levels. Between two scales the line of
class k is the zero level of (its value - the highest other value), found by linear interpolation between the places
asked. Of C classes C - 1 such fields hold every boundary. A model that cuts numbers into levels has values in steps,
between which nothing can be interpolated: its lines are edges of cells too, where the colours change.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from bokeh.models import BasicTicker, BasicTickFormatter, BoxZoomTool, CustomJS, CustomJSHover, HoverTool, PlainText
from bokeh.models.annotations import LegendItem
from bokeh.models.axes import Axis as BokehAxis
from bokeh.plotting import figure
from contourpy import contour_generator
from numpy.typing import NDArray

from alrviz.pictures.columns import OTHER_COLOUR as GREY
from alrviz.pictures.columns import class_colours
from alrviz.pictures.labels import LETTER, WIDTH, legend_columns
from alrviz.pictures.level_axis import level_axis, short
from alrviz.pictures.palette import GROUNDS, INKS, MARKERS
from alrviz.pictures.picture import FONT_NAME, Data, Picture, Plot, add_legend
from alrviz.studies.maps.axes import Axis
from alrviz.studies.maps.decision_map import Surface

Lines = dict[str, list[NDArray[np.float64]]]
MIN_OPACITY, MAX_OPACITY = 0.10, 0.62  # where all classes are equal, where one is certain; points show on both
MAX_NAMED = 12  # classes in the legend, and LINES it may have above a map that needs its room
LINES = 3
MAX_CLASS_CHARS = 22  # letters of a class's name
_LEGEND: Any = {
    "padding": 4, "spacing": 3, "glyph_width": 20, "location": "left",
    "title_text_font_size": "15px", "title_text_font": FONT_NAME, "title_text_font_style": "normal",
}  # fmt: skip
# Bokeh's own way, for ranges that it works out, is to widen them to the frame's shape; but the map ends where they end.
# So the frame takes the ranges' shape, and what it does not need is border, on the right and below. `sync` is off: of
# two browsers that show one figure each has its own size.
_ONE_SCALE = """
const view = Bokeh.index.find_one(cb_obj), layout = view?.layout, endless = {width: Infinity, height: Infinity};
const {inner_width, inner_height} = cb_obj.properties;
if (!layout || inner_width.is_unset || inner_height.is_unset) return;
if (!(cb_obj.inner_width > 0 && cb_obj.inner_height > 0)) return;
const right = Math.max(layout.right_panel.measure(endless).width, EDGE);
const below = layout.bottom_panel.measure(endless).height;
// Width and height arrive one after the other, and the other may be of the borders before: never more than there is.
const free_width = cb_obj.inner_width + Math.max(cb_obj.min_border_right, right) - right;
const free_height = cb_obj.inner_height + Math.max(cb_obj.min_border_bottom ?? 0, below) - below;
const wide = Math.min(free_width, view.el.offsetWidth - right);
const high = Math.min(free_height, view.el.offsetHeight - below);
const width = Math.min(wide, high * ratio), height = Math.min(high, wide / ratio);
const min_border_right = Math.round(right + wide - width), min_border_bottom = Math.round(below + high - height);
if (cb_obj.min_border_right !== min_border_right || cb_obj.min_border_bottom !== min_border_bottom)
  cb_obj.setv({min_border_right, min_border_bottom}, {sync: false});
"""


def certainty(surface: Surface) -> NDArray[np.float64]:
    """Return how sure the winner is at each place, from 0 to 1."""
    values = surface.values.astype(np.float64)
    if surface.probability:
        chance = 1.0 / values.shape[2]
        return np.clip(np.nan_to_num((values.max(axis=2) - chance) / (1.0 - chance)), 0.0, 1.0)
    if surface.single:
        margin = np.abs(values[..., 0])
    else:
        sorted_values = np.sort(values, axis=2)
        margin = sorted_values[..., -1] - sorted_values[..., -2]
    finite_margins = margin[np.isfinite(margin)]
    unit = float(np.quantile(finite_margins, 0.95)) if len(finite_margins) else 0.0
    return np.clip(np.nan_to_num(margin / (unit or 1.0), posinf=1.0), 0.0, 1.0)


def decision_map_picture(surface: Surface, *, dark: bool = False, width: int = WIDTH) -> Picture:
    """Return the map of a surface; width: pixels available for the legend; dark: whether the ground is dark.

    `name_classes` adapts its figure to a surface of other classes.
    """
    across, up = surface.across, surface.up
    axes = tuple((str(axis.name), axis.low, axis.high, axis.levels) for axis in (across, up))
    return Picture(
        draw=partial(_draw, surface=surface, dark=dark, width=width),
        x=(across.low, across.high), y=(up.low, up.high), labels=("", ""),
        data={"ground": _ground(surface), "boundary": boundary(surface), "points": _points(surface)},
        streams=("points",), key=(axes, surface.probability, surface.single, dark),
    )  # fmt: skip


def _ground(surface: Surface) -> Data:
    """Return the background: an RGBA image, the value and the winner of each place, and the map's position and size."""
    winner = surface.winner
    rgba = np.zeros((*winner.shape, 4), dtype=np.uint8)
    colours = class_colours(len(surface.classes))
    rgb_by_class = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in colours], dtype=np.uint8)
    rgba[..., :3] = rgb_by_class[winner]
    rgba[..., 3] = np.where(
        winner < 0, 0, np.rint(255 * (MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * certainty(surface)))
    )
    ground_values = surface.values[..., -1] if len(surface.classes) == 2 else surface.values.max(axis=2)
    return {
        "image": [rgba.view(np.uint32).reshape(winner.shape)],
        "value": [np.ascontiguousarray(ground_values)],
        "winner": [winner.astype(np.int32)],
        "x": [surface.across.low],
        "y": [surface.up.low],
        "width": [surface.across.high - surface.across.low],
        "height": [surface.up.high - surface.up.low],
    }


def _points(surface: Surface) -> Data:
    """Return the columns of the points' source: positions, rows, colours, markers, true and predicted class."""
    points = surface.points
    if points is None:
        return {key: [] for key in ("x", "y", "row", "outline", "fill", "marker", "truth", "predicted")}
    colours = np.array([*class_colours(len(surface.classes)), GREY], dtype=object)  # the last one stands for code -1
    class_names = np.array([*surface.classes, "none of these"], dtype=object)
    marker_by_class = np.array([*(MARKERS[k % len(MARKERS)] for k in range(len(surface.classes))), "x"], dtype=object)
    return {
        "x": points.x,
        "y": points.y,
        "row": points.rows,
        "outline": colours[points.truth],
        "fill": colours[points.predicted],
        "marker": marker_by_class[points.truth],
        "truth": class_names[points.truth],
        "predicted": class_names[points.predicted],
    }


def _draw(plot: Plot, surface: Surface, dark: bool, width: int) -> None:
    fig, points = plot.figure, plot["points"]
    fig.grid.visible = False
    if surface.one_scale:
        _keep_scale(fig, surface.across.length / surface.up.length)
    _label_axis(fig.xaxis[0], surface.across, tilts=True)
    _label_axis(fig.yaxis[0], surface.up, tilts=False)
    image = fig.image_rgba("image", x="x", y="y", dw="width", dh="height", source=plot["ground"], level="image")
    edges: Any = {"line_color": INKS[dark], "line_width": 2.2}
    fig.multi_line("xs", "ys", source=plot["boundary"], **edges)
    fig.scatter("x", "y", source=points, size=11, marker="marker", fill_color=GROUNDS[dark], line_color=None)
    dots: Any = fig.scatter(
        "x", "y", source=points, size=7, marker="marker", fill_color="fill", line_color="outline", line_width=2
    )
    dots.nonselection_glyph = dots.selection_glyph = None  # a press selects nothing
    hover, legend = HoverTool(renderers=[image]), add_legend(fig, (), **_LEGEND)
    tips = [("row", "@row{0,0}"), ("true class", "@truth"), ("predicted", "@predicted")]
    fig.add_tools(hover, HoverTool(renderers=[dots], tooltips=tips))
    edge = fig.line([np.nan], [np.nan], **edges)  # a map may have no boundary to take it from
    # samples: what the legend shows for each class, and last for a boundary
    plot.parts |= {"dots": dots, "hover": hover, "legend": legend, "samples": [edge]}
    name_classes(plot, surface, width)


def _keep_scale(fig: figure, ratio: float) -> None:
    """Give the figure's frame this ratio of width to height, also if drawn without a browser (`match_aspect`)."""
    fig.match_aspect = True
    for tool in fig.select({"type": BoxZoomTool}):
        tool.match_aspect = True
    fit = CustomJS(args={"ratio": ratio}, code=_ONE_SCALE.replace("EDGE", str(fig.min_border_right)))
    for side_name in ("inner_width", "inner_height"):
        fig.js_on_change(side_name, fit)


def name_classes(plot: Plot, surface: Surface, width: int = WIDTH) -> None:
    """Name a surface's classes in legend and tooltips of an existing figure; width: pixels available for the legend.

    A new figure would take a second to load, and would miss what the user clicks meanwhile.
    """
    _hover_ground(plot.parts["hover"], surface)
    _fill_legend(plot, surface, width)


def value_words(surface: Surface) -> str:
    """Return what the colours mean: the probability of which class, or a score."""
    two = len(surface.classes) == 2
    if surface.probability:
        return f"P({short(surface.classes[1], MAX_CLASS_CHARS)})" if two else "P(predicted class)"
    if surface.single:
        return f"score of {short(surface.classes[1], MAX_CLASS_CHARS)}, not a probability: boundary at 0"
    return "highest score, not a probability"


def _label_axis(axis: BokehAxis, shown_axis: Axis, *, tilts: bool) -> None:
    axis.axis_label = PlainText(text=str(shown_axis.name))
    if shown_axis.numeric:
        axis.update(ticker=BasicTicker(desired_num_ticks=6), formatter=BasicTickFormatter())
    else:
        level_axis(axis, shown_axis.levels, tilts=tilts)


def _hover_ground(hover: HoverTool, surface: Surface) -> None:
    """Set the tooltip of the background: the place, the class that wins there and its value."""
    class_formatter = CustomJSHover(args={"names": list(surface.classes)}, code="return names[value] ?? 'nothing'")
    formatters: dict[str, Any] = {"@winner": class_formatter}
    position_tips = []
    for axis, hover_field in ((surface.across, "$x"), (surface.up, "$y")):
        if axis.numeric:
            position_tips.append((str(axis.name), hover_field))
        else:
            level_names = {"words": list(axis.levels)}
            formatters[hover_field] = CustomJSHover(args=level_names, code="return words[Math.floor(value)] ?? ''")
            position_tips.append((str(axis.name), hover_field + "{custom}"))
    value_head = ("p" if surface.probability else "score") + (
        f"({surface.classes[1]})" if len(surface.classes) == 2 else ""
    )
    tips = [*position_tips, ("wins", "@winner{custom}"), (value_head, "@value{0.[0000]}")]
    hover.update(formatters=formatters, tooltips=tips)


def _fill_legend(plot: Plot, surface: Surface, width: int) -> None:
    """Fill the legend, `width` pixels wide: colour and mark of each class, the boundary, and what colours measure."""
    fig, samples, classes = plot.figure, plot.parts["samples"], surface.classes
    entry_texts, n_named, n_columns = _legend_entries(classes, width)
    for k in range(len(samples) - 1, n_named):  # a class has its colour however many there are
        marker_look = {"marker": MARKERS[k % len(MARKERS)], "color": class_colours(min(MAX_NAMED, len(classes)))[k]}
        samples.insert(k, fig.scatter([np.nan], [np.nan], size=13, **marker_look))
    renderers: list[Any] = [[sample] for sample in samples[:n_named]]
    if n_named < len(classes):
        renderers.append([fig.scatter([np.nan], [np.nan], size=0)])
    renderers.append(samples[-1:])
    legend_items = [LegendItem(label=text, renderers=parts) for text, parts in zip(entry_texts, renderers, strict=True)]
    title = f"Background: {value_words(surface)}"
    title = title if LETTER * len(title) <= width else title.replace(", ", ",\n")
    plot.parts["legend"].update(items=legend_items, title=title, ncols=n_columns)


def _legend_entries(classes: Sequence[str], width: int) -> tuple[list[str], int, int]:
    """Return the texts of a legend `width` pixels wide, the number of classes that fit LINES lines, and its columns."""
    for n_named in range(min(MAX_NAMED, len(classes)), 0, -1):
        entry_texts = [short(label, MAX_CLASS_CHARS) for label in classes[:n_named]]
        entry_texts += [f"and {len(classes) - n_named} more"] * (n_named < len(classes)) + ["boundary"]
        n_columns = legend_columns(entry_texts, width)
        if len(entry_texts) <= LINES * n_columns or n_named == 1:
            break
    return entry_texts, n_named, n_columns


# -- boundaries -------------------------------------------------------------------------------------------------------


def boundary(surface: Surface) -> Lines:
    """Return the boundaries as the columns of a source of lines: xs and ys, an array of positions per line."""
    if not (surface.across.numeric and surface.up.numeric) or _in_steps(surface):
        return _edges(surface)
    n_rows, n_columns, _ = surface.values.shape
    x, y = surface.across.centres(n_columns), surface.up.centres(n_rows)
    lines: list[Any] = [line for field in _fields(surface) for line in contour_generator(x, y, field).lines(0.0)]
    return {"xs": [line[:, 0] for line in lines], "ys": [line[:, 1] for line in lines]}


def _in_steps(surface: Surface) -> bool:
    """Whether most boundaries are jumps from one run of equal values to another."""
    crossings = jumps = 0
    for values, winner in (
        (surface.values, surface.winner), (surface.values.swapaxes(0, 1), surface.winner.T)
    ):  # fmt: skip
        are_equal = (values[1:] == values[:-1]).all(axis=2)
        is_crossing = (winner[1:] != winner[:-1])[1:-1]
        crossings += int(is_crossing.sum())
        jumps += int((is_crossing & are_equal[:-2] & are_equal[2:]).sum())
    return 2 * jumps > crossings


def _fields(surface: Surface) -> list[Any]:
    """Return fields that are 0 on boundaries; masked where the model gives NaN."""
    values = surface.values.astype(np.float64)
    has_no_winner = surface.winner < 0
    if surface.single:
        return [np.ma.array(values[..., 0], mask=has_no_winner)]
    winning_classes = np.unique(surface.winner[~has_no_winner])
    fields = []
    for k in winning_classes[:-1]:
        best_other_value = np.delete(values, k, axis=2).max(axis=2)
        with np.errstate(invalid="ignore"):
            field = values[..., k] - best_other_value
        fields.append(np.ma.array(np.nan_to_num(field, posinf=1e300, neginf=-1e300), mask=has_no_winner))
    return fields


def _edges(surface: Surface) -> Lines:
    """Return the boundaries as edges of the cells of the map between which the winner changes."""
    winner = surface.winner
    n_rows, n_columns = winner.shape
    x = np.linspace(surface.across.low, surface.across.high, n_columns + 1)
    y = np.linspace(surface.up.low, surface.up.high, n_rows + 1)
    upright_lines = [
        (x[[j + 1, j + 1]], y[[start, stop]])
        for j in range(n_columns - 1)
        for start, stop in _runs(winner[:, j], winner[:, j + 1])
    ]
    level = [
        (x[[start, stop]], y[[i + 1, i + 1]])
        for i in range(n_rows - 1)
        for start, stop in _runs(winner[i], winner[i + 1])
    ]
    lines = upright_lines + level
    return {"xs": [line[0] for line in lines], "ys": [line[1] for line in lines]}


def _runs(winners: NDArray[np.intp], neighbour_winners: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return stretches (first, end) in which two neighbouring rows of cells are predicted as different classes.

    winners, neighbour_winners: the class predicted in each cell of the one row and the other.
    """
    differ = np.concatenate([[False], winners != neighbour_winners, [False]])
    run_limits = np.flatnonzero(differ[1:] != differ[:-1])
    return list(zip(run_limits[::2].tolist(), run_limits[1::2].tolist(), strict=True))
