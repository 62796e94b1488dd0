"""The decision map while it lives, and what a press on it means.

Every press counts. Bokeh calls the second of two within 300 ms a double tap, one that is held longer (or that a busy
page hears of later) a press, and one that slips by more than 5 px a pan.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from bokeh.events import DoubleTap, PanEnd, PanStart, PressUp, Tap
from bokeh.models import BoxZoomTool, HoverTool, PanTool, PointDrawTool, ResetTool

from alrviz.pictures.columns import class_colours
from alrviz.pictures.decision_map import decision_map_picture, name_classes
from alrviz.pictures.labels import WIDTH
from alrviz.pictures.palette import MARKERS
from alrviz.pictures.picture import Plot
from alrviz.studies.maps.decision_map import Points, Surface
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.panes import Updating

NEAR = 0.04  # of the map's width or height: how near a press must be to a point to mean it
PRESSES = (Tap, DoubleTap, PressUp)
SLIP = 12  # px: a hand that moves no further while it presses means one place


class LiveMap(LiveFigure):
    """The pane of a decision map.

    Args:
        pressed: called with a place (x, y) of the map, as positions on its axes.
        moved: called with a row and its new place after a point was dragged; None where no point may be.
        width: how many pixels the legend may count on.
    """

    def __init__(
        self,
        pressed: Callable[[float, float], None],
        moved: Callable[[int, float, float], None] | None,
        width: int = WIDTH,
    ):
        super().__init__("alrviz-map", made=self._new, min_height=260)
        self._pressed, self._moved, self._width = pressed, moved, width
        self._named: tuple[str, ...] = ()
        self._points: Points | None = None
        self._drawing = self._wanted = ""
        self._tips: list[tuple[Any, Any]] = []  # the figure's tooltips, and what each looks at
        self._feeding = Updating()
        self._begun: PanStart | None = None

    def show_surface(self, surface: Surface, *, dark: bool = False, drawing: str = "") -> None:
        """Draw a surface; `drawing` as for `let_draw`."""
        old, self._points, self._wanted = self.plot, surface.points, drawing
        with self._feeding:
            self.show(decision_map_picture(surface, dark=dark, width=self._width))
        if self.plot is not None and self.plot is old and surface.classes != self._named:
            name_classes(self.plot, surface, self._width)
        self._named = surface.classes
        self.let_draw(drawing)

    def clear(self) -> None:
        """Show nothing."""
        super().clear()
        self._points = None

    def wipe(self) -> None:
        """Empty the figure, and keep its axes; the next surface fills it."""
        self._points = None
        if self.plot is not None:
            with self._feeding:
                for name in ("ground", "boundary", "points"):
                    self.plot[name].data = {column: [] for column in self.plot[name].data}

    def let_draw(self, what: str) -> None:
        """Let a hand draw ("add", "move", "remove"; "" for nothing): no tool moves the map, no tooltip covers it.

        A tool that was taken out of a toolbar may not come back (BokehJS says that it is registered): each time a new
        one is made. The tooltips stay in it and look at nothing meanwhile.
        """
        if self.plot is None or what == self._drawing:
            return
        bar, dots = self.plot.figure.toolbar, self.plot.parts["dots"]
        self._drawing = what
        for tip, renderers in self._tips:
            tip.renderers = [] if what else renderers
        moves = [PointDrawTool(renderers=[dots], add=False)] if self._moved is not None and what == "move" else []
        one_scale = self.plot.figure.match_aspect
        others = [] if what else [PanTool(), BoxZoomTool(match_aspect=one_scale), ResetTool()]
        bar.active_drag = "auto"  # a tool must be among those of the bar
        bar.tools = [*others, *moves, *(tip for tip, _ in self._tips)]
        if moves:
            bar.active_drag = moves[0]

    def preview(self, x: float, y: float, k: int, label: str, n_classes: int) -> None:
        """Show a point of class k at a place at once; the next surface has it among its own."""
        if self.plot is None or self._points is None:
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
        with self._feeding:
            self.plot["points"].stream({name: [value] for name, value in new.items()})

    def nearest(self, x: float, y: float) -> int | None:
        """The row whose point is pressed at this place, None where there is none near."""
        if self._points is None or not len(self._points.rows) or self.plot is None:
            return None
        box = self.plot.figure
        wide, high = box.x_range.end - box.x_range.start, box.y_range.end - box.y_range.start
        distance = np.hypot((self._points.x - x) / wide, (self._points.y - y) / high)
        k = int(distance.argmin())
        return int(self._points.rows[k]) if distance[k] <= NEAR else None

    def _new(self, plot: Plot) -> None:
        for kind in PRESSES:
            plot.figure.on_event(kind, self._press)
        for kind in (PanStart, PanEnd):
            plot.figure.on_event(kind, self._slipped)
        if self._moved is not None:
            plot["points"].on_change("data", lambda attr, old, new: self._dragged())
        tools = plot.figure.toolbar.tools
        self._begun, self._drawing = None, ""
        self._tips = [(tool, tool.renderers) for tool in tools if isinstance(tool, HoverTool)]
        self.let_draw(self._wanted)

    def _press(self, event: Any) -> None:
        """A press within the frame."""
        box = None if self.plot is None else self.plot.figure
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
        points, plot = self._points, self.plot
        if self._feeding or points is None or plot is None or self._moved is None:
            return
        x, y = (np.asarray(plot["points"].data[key], dtype=np.float64) for key in ("x", "y"))
        if len(x) != len(points.x):
            return
        for k in np.flatnonzero((x != points.x) | (y != points.y)):
            self._moved(int(points.rows[k]), float(x[k]), float(y[k]))
