"""An empty figure in the house look: thin grids, text of 16 px, axes and ground in the colours of the page's theme.

The theme of a page also sets the sizes of axis text, in em of a fixed 13 px: too small for the last row of a lecture
room. A guard in the browser puts them back; the colours, which must follow light and dark, stay the theme's.

A canvas says nothing to who hears a page: `describe` gives it a sentence.
"""

from typing import Any

from bokeh.core.properties import value
from bokeh.models import CustomJS, NoOverlap, Range1d
from bokeh.models.axes import Axis
from bokeh.plotting import figure

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
_KEEP = "const size = '{size}'; if (cb_obj.{name} !== size) cb_obj.{name} = size"


def frame(x: tuple[float, float], y: tuple[float, float], labels: tuple[str, str], name: str, **more: Any) -> figure:
    """A figure that shows `x` by `y` under these axis labels; `more` goes to Bokeh's `figure`."""
    fig = figure(
        name=name,
        x_range=Range1d(start=x[0], end=x[1]),
        y_range=Range1d(start=y[0], end=y[1]),
        sizing_mode="stretch_both",
        min_height=240,
        min_border_right=24,
        tools="pan,box_zoom,reset",
        toolbar_location="right",
        **more,
    )
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    fig.xgrid.grid_line_width = fig.ygrid.grid_line_width = 0.6
    fig.outline_line_color = None
    for axis, label in zip((fig.xaxis[0], fig.yaxis[0]), labels, strict=True):
        axis.axis_label = label
        axis.major_label_policy = NoOverlap(min_distance=6)  # where a picture is narrow
        keep_sizes(axis)
    describe(fig, f"Picture: {labels[1]} against {labels[0]}." if all(labels) else "Picture.")
    hear = CustomJS(code=_HEAR)
    for name in ("tags", "inner_width"):
        fig.js_on_change(name, hear)
    return fig


def describe(fig: figure, sentence: str) -> None:
    """Say what a figure shows, for readers who hear the page instead of seeing it."""
    if fig.tags != [sentence]:  # even what is set to what it is goes to the browser
        fig.tags = [sentence]


def keep_sizes(axis: Axis) -> None:
    """Set the sizes of an axis's text, and set them again whenever a theme changes them."""
    for name, size in _SIZES.items():
        setattr(axis, name, size)
        axis.js_on_change(name, CustomJS(code=_KEEP.format(name=name, size=size)))
    axis.axis_label_text_font_style = "normal"
