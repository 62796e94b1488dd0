"""The decision map while it lives: one pane, one figure, sources that are fed; and what a press on it means.

A new figure is made only where Bokeh cannot change the old one: other axes, scores after probabilities, another ground.
Points are sent only when they changed.

Every press counts. Bokeh calls the second of two within 300 ms a double tap, one that is held longer (or that a busy
page hears of later) a press, and one that slips by more than 5 px a pan.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import DoubleTap, PanEnd, PanStart, PressUp, Tap
from bokeh.models import BoxZoomTool, ColumnDataSource, HoverTool, PanTool, PointDrawTool, ResetTool

from alrviz.pictures.columns import class_colours
from alrviz.pictures.decision_map import Picture, contents, decision_map_picture, name_classes
from alrviz.pictures.labels import WIDTH
from alrviz.pictures.palette import MARKERS
from alrviz.studies.maps.decision_map import Points, Surface

_PREDICTED = ("fill", "predicted")  # columns of the points that a changed model changes
NEAR = 0.04  # of the map's width or height: how near a press must be to a point to mean it
PRESSES = (Tap, DoubleTap, PressUp)
SLIP = 12  # px: a hand that moves no further while it presses means one place


class LiveMap:
    """The pane of a decision map.

    Args:
        name: of the figure, by which buttons find it to save it.
        pressed: called with a place (x, y) of the map, as positions on its axes.
        moved: called with a row and its new place after a point was dragged; None where no point may be.
        width: how many pixels the legend may count on.
    """

    def __init__(
        self,
        name: str,
        pressed: Callable[[float, float], None],
        moved: Callable[[int, float, float], None] | None,
        width: int = WIDTH,
    ):
        self.name = name
        self.pane = pn.pane.Bokeh(sizing_mode="stretch_both", min_height=260, margin=0)
        self._pressed, self._moved, self._width = pressed, moved, width
        self._picture: Picture | None = None
        self._made_of: Any = None
        self._named: tuple[str, ...] = ()
        self._points: Points | None = None
        self._drawing = ""
        self._tips: list[tuple[Any, Any]] = []  # the figure's tooltips, and what each looks at
        self._feeding = False
        self._begun: PanStart | None = None

    def show(self, surface: Surface, *, dark: bool = False, drawing: str = "") -> None:
        """Draw a surface; `drawing` as for `let_draw`."""
        made_of = (_of_axes(surface), surface.probability, surface.single, dark)
        if self._picture is None or made_of != self._made_of:
            picture = self._make(surface, dark)
            self._made_of = made_of
            self.let_draw(drawing)
            self.pane.object = picture.figure
            return
        self.let_draw(drawing)
        if surface.classes != self._named:
            name_classes(self._picture, surface, self._width)
            self._named = surface.classes
        self._feeding = True
        try:
            what = contents(surface)
            self._picture.ground.data = what.ground
            self._picture.boundary.data = what.boundary
            if surface.points is not self._points:
                _feed_points(self._picture.points, what.points)
                self._points = surface.points
        finally:
            self._feeding = False

    def clear(self) -> None:
        """Show nothing."""
        self._picture = self._points = self.pane.object = None

    def let_draw(self, what: str) -> None:
        """Let a hand draw ("add", "move", "remove"; "" for nothing): no tool moves the map, no tooltip covers it.

        A tool that was taken out of a toolbar may not come back (BokehJS says that it is registered): each time a new
        one is made. The tooltips stay in it and look at nothing meanwhile.
        """
        if self._picture is None or what == self._drawing:
            return
        bar, dots = self._picture.figure.toolbar, self._picture.dots
        self._drawing = what
        for tip, renderers in self._tips:
            tip.renderers = [] if what else renderers
        moves = [PointDrawTool(renderers=[dots], add=False)] if self._moved is not None and what == "move" else []
        one_scale = self._picture.figure.match_aspect
        others = [] if what else [PanTool(), BoxZoomTool(match_aspect=one_scale), ResetTool()]
        bar.active_drag = "auto"  # a tool must be among those of the bar
        bar.tools = [*others, *moves, *(tip for tip, _ in self._tips)]
        if moves:
            bar.active_drag = moves[0]

    def preview(self, x: float, y: float, k: int, label: str, n_classes: int) -> None:
        """Show a point of class k at a place at once; the next surface has it among its own."""
        if self._picture is None or self._points is None:
            return
        colour, mark = class_colours(n_classes)[k], MARKERS[k % len(MARKERS)]
        new = {
            "x": x,
            "y": y,
            "row": -1,
            "outline": colour,
            "fill": colour,
            "marker": mark,
            "truth": label,
            "predicted": label,
        }
        self._feeding = True
        try:
            self._picture.points.stream({name: [value] for name, value in new.items()})
        finally:
            self._feeding = False

    def nearest(self, x: float, y: float) -> int | None:
        """The row whose point is pressed at this place, None where there is none near."""
        if self._points is None or not len(self._points.rows) or self._picture is None:
            return None
        box = self._picture.figure
        wide, high = box.x_range.end - box.x_range.start, box.y_range.end - box.y_range.start
        distance = np.hypot((self._points.x - x) / wide, (self._points.y - y) / high)
        k = int(distance.argmin())
        return int(self._points.rows[k]) if distance[k] <= NEAR else None

    def _make(self, surface: Surface, dark: bool) -> Picture:
        picture = decision_map_picture(surface, name=self.name, dark=dark, width=self._width)
        for kind in PRESSES:
            picture.figure.on_event(kind, self._press)
        for kind in (PanStart, PanEnd):
            picture.figure.on_event(kind, self._slipped)
        if self._moved is not None:
            picture.points.on_change("data", lambda attr, old, new: self._dragged())
        self._picture, self._points, self._begun = picture, surface.points, None
        tools = picture.figure.toolbar.tools
        self._drawing, self._tips = "", [(tool, tool.renderers) for tool in tools if isinstance(tool, HoverTool)]
        self._named = surface.classes
        return picture

    def _press(self, event: Any) -> None:
        """A press within the frame."""
        box = None if self._picture is None else self._picture.figure
        if box is not None and all(
            span.start <= at <= span.end for span, at in ((box.x_range, event.x), (box.y_range, event.y))
        ):
            self._pressed(event.x, event.y)

    def _slipped(self, event: Any) -> None:
        """A short slip is a press where it began."""
        if isinstance(event, PanStart):
            self._begun = event
            return
        begun, self._begun = self._begun, None
        if begun is not None and np.hypot(event.sx - begun.sx, event.sy - begun.sy) <= SLIP:
            self._press(begun)

    def _dragged(self) -> None:
        points, picture = self._points, self._picture
        if self._feeding or points is None or picture is None or self._moved is None:
            return
        x, y = (np.asarray(picture.points.data[key], dtype=np.float64) for key in ("x", "y"))
        if len(x) != len(points.x):
            return
        for k in np.flatnonzero((x != points.x) | (y != points.y)):
            self._moved(int(points.rows[k]), float(x[k]), float(y[k]))


def _feed_points(source: ColumnDataSource, points: dict[str, Any]) -> None:
    """Bring the points up to date: where only predictions changed, only those that did are sent."""
    old = {name: np.asarray(column) for name, column in source.data.items()}
    new = {name: np.asarray(column) for name, column in points.items()}
    if any(
        len(old[name]) != len(new[name]) or (old[name] != new[name]).any() for name in new if name not in _PREDICTED
    ):
        source.data = points
        return
    changed = np.flatnonzero(old[_PREDICTED[0]] != new[_PREDICTED[0]]).tolist()
    if changed:
        source.patch({name: [(k, new[name][k]) for k in changed] for name in _PREDICTED})


def _of_axes(surface: Surface) -> Any:
    return tuple((str(axis.name), axis.low, axis.high, axis.levels) for axis in (surface.across, surface.up))
