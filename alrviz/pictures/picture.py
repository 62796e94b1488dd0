"""Pictures as values: a `Picture` is data, a `Plot` is its figure, made once and then fed with new data.

A module of this folder turns results of a study or race into a `Picture`: named columns, ranges, labels, and a function
that draws marks on an empty figure. A `Plot` shows it, alone (`picture.plot()`) or live in a page
(`views.core.live_figure`): as long as the key stays the same, only columns, ranges and properties change.

A page's theme sets the colours of axes and ground, and also the sizes of axis text, in em of a fixed 13 px: too small
for the last row of a lecture room. A guard in the browser restores our sizes. `describe` gives a canvas a sentence for
screen readers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, CustomJS, NoOverlap, Range1d
from bokeh.models.annotations import Legend, LegendItem
from bokeh.models.axes import Axis
from bokeh.plotting import figure

from alrviz.pictures.palette import IN_FRONT

Data = dict[str, Any]  # columns of a source by name
Range = tuple[float, float]  # of an axis, from left to right or from below
FONT_NAME = "Roboto, Helvetica, Arial, sans-serif"
FONT = value(FONT_NAME)  # for glyphs, where a plain text would name a column
_SIZES = {"axis_label_text_font_size": "16px", "major_label_text_font_size": "15px"}
# Layout and the first sentence may come in either order, so each calls it. The toolbar beside the canvas stays usable.
_HEAR = """
const canvas = Bokeh.index.find_one(cb_obj)?.canvas_view?.primary?.el;
if (!canvas) return;
canvas.setAttribute("role", "img");
canvas.setAttribute("aria-label", cb_obj.tags.join(" "));
"""
# Bokeh draws an axis title in one line, which a low picture cuts off: it is broken into lines that fit.
_BREAK = """
const axis = cb_obj.left.find((part) => typeof part.axis_label === "string");
if (!axis || cb_obj.properties.inner_height.is_unset || !(cb_obj.inner_height > 0)) return;  // not laid out yet
const letter = 0.52 * parseFloat(axis.axis_label_text_font_size), lines = [];
const most = Math.max(cb_obj.inner_height / letter, 8);  // a word a line would be no better
for (const word of axis.axis_label.replaceAll("\\n", " ").split(" ")) {
  const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
  if (lines.length && longer.length <= most) lines[lines.length - 1] = longer;
  else lines.push(word);
}
const axis_label = lines.join("\\n");
if (axis.axis_label !== axis_label) axis.setv({axis_label}, {sync: false});
"""
# The explorer shows all words larger on a wall.
_KEEP = """
const size = window.alrvizTextSize?.(cb_obj, '{name}', '{size}') ?? '{size}';
if (cb_obj.{name} !== size) cb_obj.{name} = size;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture at one moment, as data.

    Attributes:
        draw: puts the marks on the figure of a new plot, over its sources.
        x, y: ranges. labels: of the two axes.
        data: columns of the sources by name; a tuple of them where each line has its own.
        streams: sources whose rows are mostly added to, or changed in few places: these alone are sent.
        parts: properties that change with what is shown, of the parts that `draw` names; a tuple for a tuple of parts.
        axes: what else the empty figure takes (`x_axis_type`).
        key: a figure drawn for another key cannot show it. All that a figure cannot change belongs to it: which sources
            and parts there are, how many in each tuple, the names of their columns, `axes`, what `draw` does otherwise.
    """

    draw: Callable[["Plot"], None]
    x: Range
    y: Range
    labels: tuple[str, str]
    data: Mapping[str, Any]
    streams: tuple[str, ...] = ()
    parts: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Any] = field(default_factory=dict)
    key: Any = ()

    def plot(self, name: str = "picture") -> "Plot":
        """Return a new figure of this name that shows it."""
        return Plot(self, name)

    def __getitem__(self, name: str) -> Any:
        """Return the columns of the source `name`, or of several sources."""
        return self.data[name]


class Plot:
    """The figure of a picture.

    Attributes:
        figure: Bokeh's.
        sources: by name, as the picture has their columns; `draw` may add others, which are fed by hand.
        parts: models whose properties the picture sets, by name.
    """

    def __init__(self, picture: Picture, name: str):
        self.figure = frame(picture.x, picture.y, picture.labels, name, **picture.axes)
        self.sources: dict[str, Any] = {
            name: tuple(map(ColumnDataSource, columns)) if isinstance(columns, tuple) else ColumnDataSource(columns)
            for name, columns in picture.data.items()
        }
        self.parts: dict[str, Any] = {"x": self.figure.xaxis[0], "y": self.figure.yaxis[0]}
        self._labels = picture.labels
        picture.draw(self)
        self.dress(picture)

    def __getitem__(self, name: str) -> Any:
        """Return the Bokeh source of this name, or the tuple of sources."""
        return self.sources[name]

    def dress(self, picture: Picture) -> None:
        """Label the axes and set the properties of parts that have changed; any assignment is sent to the browser."""
        if picture.labels != self._labels:
            for axis, label in zip((self.parts["x"], self.parts["y"]), picture.labels, strict=True):
                axis.axis_label = label
            if self.figure.tags == [_caption(self._labels)]:
                describe(self.figure, _caption(picture.labels))
            self._labels = picture.labels
        for model, properties in pairs(self.parts, picture.parts):
            changed_properties = {name: new for name, new in properties.items() if getattr(model, name) != new}
            if changed_properties:
                model.update(**changed_properties)


def pairs(models: Mapping[str, Any], properties: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each model with its properties to set: both by name, or by name and number.

    Raises:
        ValueError: if there is none of this name, or not as many.
    """
    for name, named_properties in properties.items():
        if name not in models:
            raise ValueError(f"the figure has no {name!r}; it has {', '.join(models)}. {_OTHER}")
        models_of_name, settings = _as_tuple(models[name]), _as_tuple(named_properties)
        if len(models_of_name) != len(settings):
            raise ValueError(f"of {name!r} the figure has {len(models_of_name)}; got {len(settings)}. {_OTHER}")
        yield from zip(models_of_name, settings, strict=True)


_OTHER = "A picture of other ones needs another key"


def _as_tuple(value_or_tuple: Any) -> tuple[Any, ...]:
    return value_or_tuple if isinstance(value_or_tuple, tuple) else (value_or_tuple,)


def frame(x: Range, y: Range, labels: tuple[str, str], name: str, **figure_params: Any) -> figure:
    """Return a figure called `name` of the ranges x and y with these labels of its axes.

    figure_params: arguments of Bokeh's `figure`.
    """
    fig = figure(
        name=name,
        x_range=Range1d(start=x[0], end=x[1]),
        y_range=Range1d(start=y[0], end=y[1]),
        sizing_mode="stretch_both",
        min_height=240,
        min_border_right=24,
        tools="pan,box_zoom,reset",
        toolbar_location="right",
        **figure_params,
    )
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    fig.xgrid.grid_line_width = fig.ygrid.grid_line_width = 0.6
    fig.outline_line_color = None
    for axis, label in zip((fig.xaxis[0], fig.yaxis[0]), labels, strict=True):
        axis.axis_label = label
        axis.major_label_policy = NoOverlap(min_distance=6)  # where a picture is narrow
        keep_sizes(axis)
    describe(fig, _caption(labels))
    hear = CustomJS(code=_HEAR)
    for name in ("tags", "inner_width"):
        fig.js_on_change(name, hear)
    for name in ("tags", "inner_height"):  # another title comes with another description
        fig.js_on_change(name, CustomJS(code=_BREAK))
    return fig


def _caption(labels: tuple[str, str]) -> str:
    return f"Picture: {labels[1]} against {labels[0]}." if all(labels) else "Picture."


def describe(fig: figure, sentence: str) -> None:
    """Set the sentence that screen readers read out for a figure."""
    if fig.tags != [sentence]:  # Bokeh sends equal values to the browser too
        fig.tags = [sentence]


def write(
    fig: figure, source: ColumnDataSource, colour: str = "colour", *, x: Any = "x", y: str = "y", size: int = 15,
    bold: bool = False, front: bool | None = None, **place: Any,
) -> Any:  # fmt: skip
    """Write the words of a source at its points into a figure; return their renderer.

    colour: a colour, or the column that has it. x, y: columns or values of the points. size: of the letters, px. bold:
    whether they are bold. front: for words in front of lines and dots: whether the ground is dark. place: align,
    baseline, x_offset, y_offset, as Bokeh has them.
    """
    text_properties = {name if "offset" in name else f"text_{name}": value for name, value in place.items()}
    text_properties |= {} if front is None else IN_FRONT[front]
    font_properties = {
        "text_font": FONT,
        "text_font_size": f"{size}px",
        "text_font_style": "bold" if bold else "normal",
    }
    return fig.text(x, y, text="words", source=source, text_color=colour, **{**font_properties, **text_properties})


def add_legend(fig: figure, items: Iterable[tuple[str, Sequence[Any]]], **legend_params: Any) -> Legend:
    """Add a legend above a figure's frame: the words and the renderers of each item; legend_params are Bokeh's."""
    legend_params = {
        "orientation": "horizontal", "margin": 0, "padding": 2, "spacing": 8, "border_line_color": None,
        "background_fill_alpha": 0.0, "label_text_font_size": "15px", "glyph_width": 16, **legend_params,
    }  # fmt: skip
    legend = Legend(items=[LegendItem(label=text, renderers=list(glyphs)) for text, glyphs in items], **legend_params)
    fig.add_layout(legend, "above")
    return legend


def padded(parts: Iterable[Any], below: float, above: float, least: float = 0.1) -> Range:
    """Return a range that holds all values of the parts (arrays), with room below and above in shares of their span.

    least: smallest span, in shares of the highest value, so that tiny differences do not fill the picture.
    """
    values = np.concatenate([np.asarray(array, float) for array in [*parts, []]])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    lowest, highest = float(values.min()), float(values.max())
    span = max(highest - lowest, least * abs(highest)) or 0.5
    return lowest - below * span, highest + above * span


def keep_sizes(axis: Axis) -> None:
    """Set the sizes of an axis's text, and set them again whenever a theme changes them."""
    for name, size in _SIZES.items():
        setattr(axis, name, size)
        axis.js_on_change(name, CustomJS(code=_KEEP.format(name=name, size=size)))
    axis.axis_label_text_font_style = "normal"
