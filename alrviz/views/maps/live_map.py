"""Live decision map, on which a reader can add, move and remove points.

All kinds of clicks count: Bokeh reports the second click within 300 ms as a double tap, a long one (or one that a busy
page receives late) as a press, and one that moves by more than 5 px as a pan.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from bokeh.events import DoubleTap, PanEnd, PanStart, PointEvent, PressUp, Tap
from bokeh.models import BoxZoomTool, HoverTool, PanTool, PointDrawTool, ResetTool

from alrviz.pictures.columns import class_colours
from alrviz.pictures.decision_map import decision_map_picture, name_classes
from alrviz.pictures.labels import WIDTH
from alrviz.pictures.palette import MARKERS
from alrviz.pictures.picture import Plot
from alrviz.studies.maps.decision_map import Points, Surface
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.panes import Updating

MAX_POINT_DISTANCE = 0.04  # from a click to a point, in widths or heights of the map
PRESS_EVENTS = (Tap, DoubleTap, PressUp)
MAX_SLIP_PX = 12  # a pan up to this length counts as a click


class LiveMap(LiveFigure):
    """Pane of a decision map.

    Args:
        width: width available for the legend, in px.
        on_add, on_move, on_remove: see `DecisionMapView`.
    """

    def __init__(
        self,
        width: int = WIDTH,
        on_add: Callable[[Any, Any], None] | None = None,
        on_move: Callable[[int, Any, Any], None] | None = None,
        on_remove: Callable[[int], None] | None = None,
    ):
        super().__init__("alrviz-map", on_new_figure=self._connect, min_height=260)
        self._width, self._on_add, self._on_move, self._on_remove = width, on_add, on_move, on_remove
        self._surface: Surface | None = None
        self._points: Points | None = None
        self._class_names: tuple[str, ...] = ()
        self._mode = self._wanted_mode = ""
        self._tooltips: list[tuple[Any, Any]] = []  # hover tools with their renderers
        self._updating = Updating()
        self._pan_start: PanStart | None = None

    def show_surface(self, surface: Surface, *, dark: bool = False, drawing: str = "") -> None:
        """Draw a surface on a light or `dark` ground; `drawing` is the mode of `let_draw`."""
        old_plot, self._surface, self._points, self._wanted_mode = self.plot, surface, surface.points, drawing
        with self._updating:
            self.show(decision_map_picture(surface, dark=dark, width=self._width))
        if self.plot is not None and self.plot is old_plot and surface.classes != self._class_names:
            name_classes(self.plot, surface, self._width)
        self._class_names = surface.classes
        self.let_draw(drawing)

    def clear(self) -> None:
        """Remove the map."""
        super().clear()
        self._surface = self._points = None

    def empty(self) -> None:
        """Remove points and background but keep the axes for the next surface."""
        self._points = None
        if self.plot is not None:
            with self._updating:
                for name in ("ground", "boundary", "points"):
                    self.plot[name].data = {column: [] for column in self.plot[name].data}

    def let_draw(self, mode: str) -> None:
        """Set the mode, what a click does: "add", "move" or "remove" a point, "" for nothing.

        While drawing, zoom tools and tooltips are off. BokehJS refuses to add a removed tool again ("already
        registered"), so new zoom tools are made each time; hover tools stay, without renderers.
        """
        if self.plot is None or mode == self._mode:
            return
        toolbar, dots = self.plot.figure.toolbar, self.plot.parts["dots"]
        self._mode = mode
        for hover_tool, renderers in self._tooltips:
            hover_tool.renderers = [] if mode else renderers
        move_tools = (
            [PointDrawTool(renderers=[dots], add=False)] if self._on_move is not None and mode == "move" else []
        )
        one_scale = self.plot.figure.match_aspect
        zoom_tools = [] if mode else [PanTool(), BoxZoomTool(match_aspect=one_scale), ResetTool()]
        toolbar.active_drag = "auto"  # a tool must be among those of the bar
        toolbar.tools = [*zoom_tools, *move_tools, *(hover_tool for hover_tool, _ in self._tooltips)]
        if move_tools:
            toolbar.active_drag = move_tools[0]

    def preview(self, x: float, y: float, k: int, label: str, n_classes: int) -> None:
        """Show a new point at (x, y) at once; the next surface is fitted with it.

        k, label: number and name of its class, also shown as the predicted one; n_classes: for the colours.
        """
        if self.plot is None or self._points is None:
            return
        colour, marker = class_colours(n_classes)[k], MARKERS[k % len(MARKERS)]
        new_point = {"x": x, "y": y, "row": -1, "outline": colour, "fill": colour, "marker": marker}
        new_point |= {"truth": label, "predicted": label}
        with self._updating:
            self.plot["points"].stream({name: [value] for name, value in new_point.items()})

    def _connect(self, plot: Plot) -> None:
        for kind in PRESS_EVENTS:
            plot.figure.on_event(kind, self._press)
        for kind in (PanStart, PanEnd):
            plot.figure.on_event(kind, self._pan_event)
        if self._on_move is not None:
            plot["points"].on_change("data", lambda attr, old, new: self._points_dragged())
        tools = plot.figure.toolbar.tools
        self._pan_start, self._mode = None, ""
        self._tooltips = [(tool, tool.renderers) for tool in tools if isinstance(tool, HoverTool)]
        self.let_draw(self._wanted_mode)

    def _press(self, event: PointEvent) -> None:
        """Handle a click inside the frame."""
        surface, points = self._surface, self._points
        if self.plot is None or surface is None:
            return
        across, up = self.plot.figure.x_range, self.plot.figure.y_range
        if not (across.start <= event.x <= across.end and up.start <= event.y <= up.end):
            return
        if self._mode == "add" and self._on_add is not None:
            self._on_add(surface.across.value(event.x), surface.up.value(event.y))
        elif self._mode == "remove" and self._on_remove is not None and points is not None and len(points.rows):
            x_span, y_span = across.end - across.start, up.end - up.start
            distances = np.hypot((points.x - event.x) / x_span, (points.y - event.y) / y_span)
            nearest_point = int(distances.argmin())
            if distances[nearest_point] <= MAX_POINT_DISTANCE:
                self._on_remove(surface.across.column.index[int(points.rows[nearest_point])])

    def _pan_event(self, event: PointEvent) -> None:
        """Treat a short pan as a click at its start."""
        if isinstance(event, PanStart):
            self._pan_start = event
            return
        pan_start, self._pan_start = self._pan_start, None
        if pan_start is not None and np.hypot(event.sx - pan_start.sx, event.sy - pan_start.sy) <= MAX_SLIP_PX:
            self._press(pan_start)

    def _points_dragged(self) -> None:
        surface, points, plot = self._surface, self._points, self.plot
        if self._updating or surface is None or points is None or plot is None or self._on_move is None:
            return
        x, y = (np.asarray(plot["points"].data[key], dtype=np.float64) for key in ("x", "y"))
        if len(x) != len(points.x):
            return
        for point_index in np.flatnonzero((x != points.x) | (y != points.y)):
            row = surface.across.column.index[int(points.rows[point_index])]
            self._on_move(row, surface.across.value(float(x[point_index])), surface.up.value(float(y[point_index])))
