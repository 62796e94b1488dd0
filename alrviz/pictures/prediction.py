"""A user's prediction, made before the numbers were known, on the axes of a picture: dotted, in the colour of text.

A number of the vertical axis alone is a line across, one of the horizontal axis a line upright, and numbers of both are
dots joined by a line. What lies outside is named at the edge, with an arrow.
"""

import math
from dataclasses import dataclass
from typing import Any

from bokeh.models import ColumnDataSource, LogScale
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
    """Draw a prediction on a figure; return the renderers added, none if the axes cannot show its values."""
    # Renderers alone: a part of `center` that comes with a renderer has no view yet when Bokeh's browser paints.
    ink, parts = INKS[dark], []
    marks = [
        (x, y, words) for (x, y), words in zip(prediction.places, prediction.words, strict=True) if _can(fig, x, y)
    ]
    if not marks:
        return []
    line_properties: dict[str, Any] = {"line_color": ink, "line_width": 2.5, "line_dash": _DOTS}
    if points := [(x, y) for x, y, _ in marks if x is not None and y is not None]:
        along, up = map(list, zip(*points, strict=True))
        parts.append(fig.line(along, up, **line_properties))
        parts.append(fig.scatter(along, up, marker="x", size=13, line_color=ink, line_width=3))
    parts += [fig.hspan(y=y, **line_properties) for x, y, _ in marks if x is None]
    parts += [fig.vspan(x=x, **line_properties) for x, y, _ in marks if y is None]
    labels = [_label(fig, *mark) for mark in marks]
    _part(fig, marks, labels)
    columns = {name: [label[name] for label in labels] for name in ("x", "y", "text", "align", "dx", "dy")}
    parts.append(fig.text(
        "x", "y", text="text", source=ColumnDataSource(columns), x_offset="dx", y_offset="dy", text_align="align",
        text_color=ink, text_font=FONT, text_font_size="16px", text_font_style="bold",
        background_fill_color=GROUNDS[dark], background_fill_alpha=0.75,
    ))  # fmt: skip
    return parts


def _can(fig: figure, x: float | None, y: float | None) -> bool:
    """Whether the axes have such a place: a logarithmic one has nothing at 0."""
    scales = ((x, fig.x_scale), (y, fig.y_scale))
    return all(value is None or (math.isfinite(value) and (value > 0 or not isinstance(scale, LogScale)))
               for value, scale in scales)  # fmt: skip


def _label(fig: figure, x: float | None, y: float | None, words: str) -> dict[str, Any]:
    """Return a label with its position: at the end of the line, or at the edge for a value outside."""
    across, up = (_inside(axis, value) for axis, value in ((fig.x_range, x), (fig.y_range, y)))
    arrow, align = "", "left"
    if y is not None and up != y:
        arrow = " ↑" if y > up else " ↓"
    elif x is not None and across != x:
        right = (x > across) == (fig.x_range.end > fig.x_range.start)
        arrow, align = (" →", "right") if right else (" ←", "left")
    return {
        "x": across, "y": up, "text": words + arrow, "align": align, "dx": -8 if align == "right" else 8,
        "dy": 24 if arrow == " ↑" else -6,
    }  # fmt: skip


def _part(fig: figure, marks: list[tuple[float | None, float | None, str]], labels: list[dict[str, Any]]) -> None:
    """Put the words of lines that lie near each other beside each other, those of upright ones above each other."""
    for k, (x, y, _) in enumerate(marks):
        if x is not None and y is not None:
            continue
        name, axis, scale = ("x", fig.x_range, fig.x_scale) if y is None else ("y", fig.y_range, fig.y_scale)
        place = _share(axis, scale, labels[k][name])
        for earlier_mark, label in zip(marks[:k], labels, strict=False):
            has_same_axes = (earlier_mark[0] is None, earlier_mark[1] is None) == (x is None, y is None)
            if not has_same_axes or abs(_share(axis, scale, label[name]) - place) >= (
                MIN_LABEL_DISTANCE if y is not None else 2 * MIN_LABEL_DISTANCE
            ):
                continue
            if y is not None:
                labels[k]["dx"] = max(labels[k]["dx"], label["dx"] + SIGN_WIDTH_PX * len(label["text"]))
            else:
                labels[k]["dy"] = min(labels[k]["dy"], label["dy"] - LINE_HEIGHT_PX)


def _share(axis: Any, scale: Any, value: float) -> float:
    """Return the position of a value on an axis, from 0 to 1."""
    low, high, position = float(axis.start), float(axis.end), value
    if isinstance(scale, LogScale):
        low, high, position = math.log(low), math.log(high), math.log(position)
    return (position - low) / (high - low)


def _inside(axis: Any, value: float | None) -> float:
    """Return a value within the axis's range; its start without a value."""
    low, high = sorted((float(axis.start), float(axis.end)))
    return float(axis.start) if value is None else min(max(value, low), high)
