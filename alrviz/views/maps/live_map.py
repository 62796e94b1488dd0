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
        width: how many pixels the legend may count on.
        on_add, on_move, on_remove: as `DecisionMapView` takes them; None where nothing is to happen.
    """

    def __init__(
        self,
        width: int = WIDTH,
        on_add: Callable[[Any, Any], None] | None = None,
        on_move: Callable[[int, Any, Any], None] | None = None,
        on_remove: Callable[[int], None] | None = None,
    ):
        super().__init__("alrviz-map", on_new_figure=self._new, min_height=260)
        self._width, self._on_add, self._on_move, self._on_remove = width, on_add, on_move, on_remove
        self._surface: Surface | None = None
        self._points: Points | None = None  # that are shown of it
        self._named: tuple[str, ...] = ()
        self._drawing = self._wanted = ""
        self._tips: list[tuple[Any, Any]] = []  # the figure's tooltips, and what each looks at
        self._feeding = Updating()
        self._begun: PanStart | None = None

    def show_surface(self, surface: Surface, *, dark: bool = False, drawing: str = "") -> None:
        """Draw a surface; `drawing` as for `let_draw`."""
        old, self._surface, self._points, self._wanted = self.plot, surface, surface.points, drawing
        with self._feeding:
            self.show(decision_map_picture(surface, dark=dark, width=self._width))
        if self.plot is not None and self.plot is old and surface.classes != self._named:
            name_classes(self.plot, surface, self._width)
        self._named = surface.classes
        self.let_draw(drawing)

    def clear(self) -> None:
        """Show nothing."""
        super().clear()
        self._surface = self._points = None

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
        moves = [PointDrawTool(renderers=[dots], add=False)] if self._on_move is not None and what == "move" else []
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
        new = {"x": x, "y": y, "row": -1, "outline": colour, "fill": colour, "marker": mark}
        new |= {"truth": label, "predicted": label}
        with self._feeding:
            self.plot["points"].stream({name: [value] for name, value in new.items()})

    def _new(self, plot: Plot) -> None:
        for kind in PRESSES:
            plot.figure.on_event(kind, self._press)
        for kind in (PanStart, PanEnd):
            plot.figure.on_event(kind, self._slipped)
        if self._on_move is not None:
            plot["points"].on_change("data", lambda attr, old, new: self._dragged())
        tools = plot.figure.toolbar.tools
        self._begun, self._drawing = None, ""
        self._tips = [(tool, tool.renderers) for tool in tools if isinstance(tool, HoverTool)]
        self.let_draw(self._wanted)

    def _press(self, event: Any) -> None:
        """Take a press within the frame."""
        surface, points = self._surface, self._points
        if self.plot is None or surface is None:
            return
        across, up = self.plot.figure.x_range, self.plot.figure.y_range
        if not (across.start <= event.x <= across.end and up.start <= event.y <= up.end):
            return
        if self._drawing == "add" and self._on_add is not None:
            self._on_add(surface.across.value(event.x), surface.up.value(event.y))
        elif self._drawing == "remove" and self._on_remove is not None and points is not None and len(points.rows):
            wide, high = across.end - across.start, up.end - up.start
            distance = np.hypot((points.x - event.x) / wide, (points.y - event.y) / high)
            k = int(distance.argmin())
            if distance[k] <= NEAR:
                self._on_remove(surface.across.column.index[int(points.rows[k])])

    def _slipped(self, event: Any) -> None:
        """A short slip is a press where it began."""
        if isinstance(event, PanStart):
            self._begun = event
            return
        begun, self._begun = self._begun, None
        if begun is not None and np.hypot(event.sx - begun.sx, event.sy - begun.sy) <= SLIP:
            self._press(begun)

    def _dragged(self) -> None:
        surface, points, plot = self._surface, self._points, self.plot
        if self._feeding or surface is None or points is None or plot is None or self._on_move is None:
            return
        x, y = (np.asarray(plot["points"].data[key], dtype=np.float64) for key in ("x", "y"))
        if len(x) != len(points.x):
            return
        for k in np.flatnonzero((x != points.x) | (y != points.y)):
            row = surface.across.column.index[int(points.rows[k])]
            self._on_move(row, surface.across.value(float(x[k])), surface.up.value(float(y[k])))
