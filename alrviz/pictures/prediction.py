"""A user's prediction, made before the numbers were known, on the axes of a picture: dotted, in the colour of text.

A number of the vertical axis alone is a line across, one of the horizontal axis a line upright, and numbers of both are
dots joined by a line. What lies outside is named at the edge, with an arrow.
"""

import math
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, LogScale, Range1d, Scale
from bokeh.plotting import figure

from alrviz.pictures.palette import GROUNDS, INKS
from alrviz.pictures.picture import FONT

Place = tuple[float | None, float | None]  # along and up; None where it is of the other axis alone
_DOTS = [2, 4]
MIN_LABEL_DISTANCE = 0.08  # share of an axis: closer labels would overlap, also in Present's type size
SIGN_WIDTH_PX, LINE_HEIGHT_PX = 12, 30  # pixels of a sign of the words, and of a line of them


@dataclass(frozen=True)
class Prediction:
    """Predicted numbers. places: at least one. words: plain text for each."""

    places: tuple[Place, ...]
    words: tuple[str, ...]


def draw_prediction(fig: figure, prediction: Prediction, dark: bool = False) -> list[Any]:
    """Draw a prediction on a figure; return the renderers added, none if the axes cannot show its values.

    dark: whether the ground is dark.
    """
    # Renderers alone: a part of `center` that comes with a renderer has no view yet when Bokeh's browser paints.
    ink, renderers = INKS[dark], []
    drawable_numbers = [
        (x, y, text)
        for (x, y), text in zip(prediction.places, prediction.words, strict=True)
        if _is_drawable(fig, x, y)
    ]
    if not drawable_numbers:
        return []
    line_properties: dict[str, Any] = {"line_color": ink, "line_width": 2.5, "line_dash": _DOTS}
    if points := [(x, y) for x, y, _ in drawable_numbers if x is not None and y is not None]:
        along, up = map(list, zip(*points, strict=True))
        renderers.append(fig.line(along, up, **line_properties))
        renderers.append(fig.scatter(along, up, marker="x", size=13, line_color=ink, line_width=3))
    renderers += [fig.hspan(y=y, **line_properties) for x, y, _ in drawable_numbers if x is None]
    renderers += [fig.vspan(x=x, **line_properties) for x, y, _ in drawable_numbers if y is None]
    labels = [_label(fig, *number) for number in drawable_numbers]
    _separate_labels(fig, drawable_numbers, labels)
    columns = {name: [label[name] for label in labels] for name in ("x", "y", "text", "align", "dx", "dy")}
    renderers.append(fig.text(
        "x", "y", text="text", source=ColumnDataSource(columns), x_offset="dx", y_offset="dy", text_align="align",
        text_color=ink, text_font=FONT, text_font_size="16px", text_font_style="bold",
        background_fill_color=GROUNDS[dark], background_fill_alpha=0.75,
    ))  # fmt: skip
    return renderers


def _is_drawable(fig: figure, x: float | None, y: float | None) -> bool:
    """Return whether a figure's axes can show x and y (None: no such coordinate): logarithmic ones have no 0."""
    scales = ((x, fig.x_scale), (y, fig.y_scale))
    return all(value is None or (math.isfinite(value) and (value > 0 or not isinstance(scale, LogScale)))
               for value, scale in scales)  # fmt: skip


def _label(fig: figure, x: float | None, y: float | None, text: str) -> dict[str, Any]:
    """Return the label of a line at x or y, or of a point at both: its text at the line's end or the figure's edge."""
    inside_x, inside_y = (_clip_to_axis(axis, value) for axis, value in ((fig.x_range, x), (fig.y_range, y)))
    arrow, align = "", "left"
    if y is not None and inside_y != y:
        arrow = " ↑" if y > inside_y else " ↓"
    elif x is not None and inside_x != x:
        right = (x > inside_x) == (fig.x_range.end > fig.x_range.start)
        arrow, align = (" →", "right") if right else (" ←", "left")
    return {
        "x": inside_x, "y": inside_y, "text": text + arrow, "align": align, "dx": -8 if align == "right" else 8,
        "dy": 24 if arrow == " ↑" else -6,
    }  # fmt: skip


def _separate_labels(
    fig: figure, numbers: list[tuple[float | None, float | None, str]], labels: list[dict[str, Any]]
) -> None:
    """Move labels of lines that are close to each other apart: of upright lines in height, of level ones sideways.

    numbers: x, y (None: none) and text of each line; labels: their columns, changed in place.
    """
    for k, (x, y, _) in enumerate(numbers):
        if x is not None and y is not None:
            continue
        name, axis, scale = ("x", fig.x_range, fig.x_scale) if y is None else ("y", fig.y_range, fig.y_scale)
        position = _axis_share(axis, scale, labels[k][name])
        for earlier_number, label in zip(numbers[:k], labels, strict=False):
            has_same_axes = (earlier_number[0] is None, earlier_number[1] is None) == (x is None, y is None)
            if not has_same_axes or abs(_axis_share(axis, scale, label[name]) - position) >= (
                MIN_LABEL_DISTANCE if y is not None else 2 * MIN_LABEL_DISTANCE
            ):
                continue
            if y is not None:
                labels[k]["dx"] = max(labels[k]["dx"], label["dx"] + SIGN_WIDTH_PX * len(label["text"]))
            else:
                labels[k]["dy"] = min(labels[k]["dy"], label["dy"] - LINE_HEIGHT_PX)


def _axis_share(axis: Range1d, scale: Scale, value: float) -> float:
    """Return the position of a value on an axis (range) of this scale, from 0 to 1."""
    low, high, position = float(axis.start), float(axis.end), value
    if isinstance(scale, LogScale):
        low, high, position = math.log(low), math.log(high), math.log(position)
    return (position - low) / (high - low)


def _clip_to_axis(axis: Range1d, value: float | None) -> float:
    """Return a value within the axis's range; its start without a value."""
    low, high = sorted((float(axis.start), float(axis.end)))
    return float(axis.start) if value is None else min(max(value, low), high)
