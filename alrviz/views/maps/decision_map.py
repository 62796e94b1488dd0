"""DecisionMapView: predictions of a fitted classifier on the plane of two columns; in a notebook or on a page.

The panes are built once. Maps are computed on a thread, first coarse, then finer, and shown by the pump (the view's
own, or a page's). The numbers come from `studies.decision_map`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from param.parameterized import Event

from alrviz import __version__
from alrviz.errors import AlrvizError
from alrviz.job import LatestJob, at_rest
from alrviz.pictures.labels import WIDTH
from alrviz.stop import StopToken
from alrviz.studies.core.export import caption, to_csv
from alrviz.studies.maps.axes import axes_of, first_axes
from alrviz.studies.maps.decision_map import Surface, decision_map, frame_of
from alrviz.studies.maps.partial_dependence import OTHERS
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import picture_buttons
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import Updating, fade, html, say, stack
from alrviz.views.core.saving import Origin, csv_button
from alrviz.views.core.style import CSS, safe
from alrviz.views.maps import texts
from alrviz.views.maps.live_map import LiveMap

TICK_MS = 50
REFINE_DELAY_SECONDS = 0.12  # before finer maps are computed, as the reader may still be dragging
HEIGHT_PX = 424  # of menus and picture
FRAME_HEIGHT_PX = 240  # of the drawing frame in a window of 1280x720
DRAWING_MODES = {"look": "", "add": "add", "move": "move", "remove": "remove"}


class DecisionMapView(NotebookViewer):
    """Live map of a classifier's decisions over two columns.

    Columns of the same unit ("length (cm)" and "width (cm)", "x1" and "x2", "x" and "y") whose spans differ by at most
    a factor of four share one scale, so that circles look round. Other columns fill the frame.

    Args:
        model: a fitted classifier with `classes_` and `predict_proba` or `decision_function`; None for an empty map.
        X: (N, a) DataFrame or matrix, the columns of the model.
        y: (N,) true classes; None draws no points.
        wake: called when a map is requested, by a page that then calls `pump` periodically; by default the view has its
            own periodic callback.
        height: CSS height of menus and picture.
        width: width available for the legend in px, and for the shape of a map with one scale.
        controls: whether the menus of columns are shown.
        numbers: title of the folded table, different for each view on a page.
        on_add: called with two values, in the columns' units, when the map is clicked while `drawing` is "add".
        on_move: called with a row and its two new values after its point was dragged while `drawing` is "move".
        on_remove: called with a row when its point is clicked while `drawing` is "remove".

    Rows are passed to callbacks by their label in the index of X, because positions may change in the meantime.

    >>> import alrviz
    >>> data = alrviz.load_demo("iris")
    >>> model = alrviz.LRClassifier(order=1, alpha=1.0).fit(data.X, data.y)
    >>> view = alrviz.DecisionMapView(model, data.X, data.y)
    """

    across = param.Parameter(default=None, doc="Column on the x axis.")
    up = param.Parameter(default=None, doc="Column on the y axis.")
    others = param.Selector(
        default="typical", objects=list(OTHERS), doc="Treatment of the other columns: a key of `OTHERS`."
    )
    row = param.Integer(default=0, bounds=(0, None), doc='Row whose values the other columns have for others="row".')
    title = param.String(default="", doc="Title above the map.")
    classes = param.Parameter(default=None, doc="Order of classes, which determines colours; None for the model's.")
    drawing = param.Selector(default="", objects=list(DRAWING_MODES.values()), doc="Effect of a click on the map.")
    outdated = param.Boolean(default=False, doc="Whether settings have changed since the model was fitted.")

    def __init__(
        self,
        model: Any = None,
        X: Any = None,
        y: Any = None,
        *,
        wake: Callable[[], None] | None = None,
        height: str = f"{HEIGHT_PX}px",
        width: int = WIDTH,
        controls: bool = True,
        numbers: str = "Numbers",
        on_add: Callable[[Any, Any], None] | None = None,
        on_move: Callable[[int, Any, Any], None] | None = None,
        on_remove: Callable[[int], None] | None = None,
        **params: Any,
    ):
        super().__init__(**params)
        self._width = width
        self._wake = wake or self._make_pump(self.pump, TICK_MS, self.stop)
        self.picture = LiveMap(width, on_add, on_move, on_remove)
        self._map = LatestJob("a decision map")
        self._model: Any = None
        self._X: Any = None
        self._y: Any = None
        self._frame: pd.DataFrame | None = None
        self._requested: tuple[str, int, int] = ("typical", 0, 0)  # others, row, number of other columns
        self.surface: Surface | None = None
        self._build(height, controls, numbers)
        self.param.watch(self._axes_changed, ["across", "up"])
        self.param.watch(lambda *_: self._request_map(), ["others", "row", "classes"])
        self.param.watch(lambda _: self._redraw(), "dark")
        self.param.watch(lambda _: self._let_draw(), "drawing")
        self.param.watch(lambda *_: self._show_outdated(), ["outdated", "title"])
        self.watch(model, X, y)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _build(self, height: str, controls: bool, numbers: str) -> None:
        self.menus = MapMenus(self, controls)
        self.status = pn.pane.HTML("", stylesheets=[CSS], align="center", margin=(0, 0, 4, 0))
        self.heading = html()
        self.caption = self.sentence = html(min_height=24, margin=(6, 0, 0, 0))
        widget_params: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (0, 0, 4, 0)}
        self.head = pn.Row(self.menus.panel, pn.HSpacer(), self.status, **widget_params)
        csv_save_button = csv_button("alrviz-map.csv", self._csv, "the value of every class at every place of the map")
        buttons = [*picture_buttons({"the decision map": self.picture}, lambda _: self.origin()), csv_save_button]
        self._numbers = Numbers(
            buttons, lambda: "" if self.surface is None else texts.numbers_html(self.surface), title=numbers
        )
        # The column around the figure fades, because a style set on a figure that is replaced at once would be lost.
        self._fading_part = pn.Column(self.picture.pane, sizing_mode="stretch_both", min_height=260, margin=0)
        body = stack(*([self.head] if controls else []), self._fading_part)
        # Panel's layout uses the number, the browser the style.
        body.param.update(height=HEIGHT_PX, styles={"height": height, "flex": f"0 0 {height}"})
        heading_row = (
            self.heading if controls else pn.Row(self.heading, self.status, sizing_mode="stretch_width", margin=0)
        )
        # A page with many pictures may place the map and its texts separately.
        self.top, self.rest = stack(heading_row, body), stack(self.caption, self._numbers)
        self.layout = ViewLayout(self.top, self.rest)

    # -- model and rows -----------------------------------------------------------------------------------------------

    def watch(self, model: Any, X: Any, y: Any = None) -> None:
        """Map a model over rows X of classes y; the axes stay if X has their columns."""
        self._model, self._y = model, y
        if X is not self._X:
            self._set_rows(X)
        self._request_map()

    def set_model(self, model: Any) -> None:
        """Map another model over the same rows; None empties the map."""
        self._model = model
        self._request_map()

    @property
    def busy(self) -> bool:
        """Whether a map is being computed."""
        return self._map.busy

    def stop(self) -> None:
        """Cancel the computation, because the page was left; the map shown stays."""
        self._map.cancel()

    @property
    def words(self) -> str:
        """Caption of the map, as HTML."""
        return str(self.caption.object)

    def _set_rows(self, X: Any) -> None:
        """Set the rows X; axes stay if X has their columns."""
        self._X, self._frame = X, None if X is None else frame_of(X)
        frame = self._frame
        if frame is None:
            return
        try:
            across, up = first_axes(frame, self.across, self.up, self._y)
        except AlrvizError:
            return  # the requested map will report the error
        with param.parameterized.discard_events(self):
            self.param.update(across=across, up=up, row=min(self.row, len(frame) - 1))

    def _axes_changed(self, *events: Event) -> None:
        """Called when a column of the axes changes: map these; choosing the other axis's column swaps the two."""
        if self.across == self.up:
            event = events[0]
            other_axis = "up" if event.name == "across" else "across"
            with param.parameterized.discard_events(self):
                self.param.update(**{other_axis: event.old})
        self._request_map()

    def _request_map(self) -> None:
        """Start to compute the map; the current one stays until then."""
        model, X, y, frame = self._model, self._X, self._y, self._frame
        if frame is not None:
            self.menus.offer(list(frame.columns), len(frame))
        if model is None or frame is None:
            self._map.cancel()
            self.surface = None
            self.picture.clear()
            self._show_caption()
            return
        shape = self._width / FRAME_HEIGHT_PX
        names, others, row, classes = (self.across, self.up), self.others, self.row, self.classes
        current_axes = (None, None) if self.surface is None else (self.surface.across, self.surface.up)
        self._requested = (others, row, max(0, frame.shape[1] - 2))

        def maps(stop: StopToken) -> Iterator[Surface]:
            if frame.shape[1] < 2 or not len(frame):
                first_axes(frame)
            axes = axes_of(frame, names, current_axes, shape)
            options: dict[str, Any] = {"others": others, "row": row, "classes": classes, "stop": stop}
            coarse_first = decision_map(model, X, y, across=axes[0], up=axes[1], **options)
            return at_rest(coarse_first, stop, REFINE_DELAY_SECONDS)

        self._map.run(maps, self._show, self._show_error)
        self._wake()
        self._show_status()

    # -- the pump -----------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Show new maps; return whether there may be more."""
        with pn.io.hold():
            map_busy = self._map.poll()
        if not map_busy:
            self._show_status()
        return map_busy

    def settle(self) -> None:
        """Wait for the finest map and show it."""
        with pn.io.hold():
            self._map.finish()

    def _show_error(self, error: Exception) -> None:
        self.surface = None
        self.picture.clear()
        kind = "" if isinstance(error, AlrvizError) else f"{type(error).__name__}: "
        say(self.caption, f"<p class='bad'>No map: {kind}{safe(error, 600)}</p>")

    def _show(self, surface: Surface) -> None:
        self.surface = surface
        self._redraw()

    def _redraw(self) -> None:
        if self.surface is not None:
            with pn.io.hold():
                self.picture.show_surface(self.surface, dark=self.dark, drawing=self.drawing)
                self._show_caption()
                self._numbers.refresh()

    def preview(self, x: float, y: float, label: str) -> None:
        """Show a new point (x, y) of the class `label` at once, before the model is refitted; axes must be numeric."""
        if self.classes is not None and label in self.classes:
            self.picture.preview(x, y, list(self.classes).index(label), label, len(self.classes))

    def empty(self) -> None:
        """Remove points and decisions but keep the axes until the next map."""
        self.picture.empty()

    def _let_draw(self) -> None:
        with pn.io.hold():
            self.picture.let_draw(self.drawing)

    # -- words --------------------------------------------------------------------------------------------------------

    def _show_caption(self) -> None:
        if self.surface is None:
            caption_html = "<p class='quiet'>No model yet: fit one, and its decisions are drawn here.</p>"
        else:
            caption_html = texts.caption_html(self.surface, *self._requested)
        say(self.caption, caption_html)
        self._show_outdated()
        self._show_status()

    def _show_status(self) -> None:
        is_late = self._map.busy and (self.surface is None or self.outdated)
        say(self.status, f"<span class='quiet'>{'asking the model &hellip;' if is_late else ''}</span>")

    def _show_outdated(self) -> None:
        """Fade a map of outdated settings, and show title and "outdated"."""
        is_outdated = self.outdated and self.surface is not None  # what is not there yet is not outdated
        heading_parts = [safe(self.title, 80)] if self.title else []
        heading_parts += ["<span class='bad'>outdated</span>"] if is_outdated else []
        say(self.heading, f"<h2>{' '.join(heading_parts)}</h2>" if heading_parts else "")
        fade(is_outdated, self._fading_part, self.caption)

    def _csv(self) -> str:
        return "" if self.surface is None else to_csv(self.surface.frame(), self._provenance())

    def _provenance(self) -> dict[str, Any]:
        others, row, n_others = self._requested
        provenance = {"alrviz": __version__, "model": self.title or repr(self._model)}
        return provenance | ({"others": others, "row": row} if n_others else {})

    def origin(self) -> Origin:
        """Return title and provenance of the saved map."""
        return Origin(self.title or "Decision map", "" if self.surface is None else caption(self._provenance()))


class MapMenus:
    """Menus for a view's parameters `across`, `up`, `others` and `row`.

    Args:
        view: the view.
        visible: whether the menus are shown.
    """

    def __init__(self, view: DecisionMapView, visible: bool):
        self._view, self._offering = view, Updating()
        small_params: dict[str, Any] = {"size": "small", "margin": (0, 12, 0, 0)}
        self.axes = [pmui.Select(label=label, options={}, width=150, **small_params) for label in ("x", "y")]
        self.others = pmui.Select(
            label="Other columns", options={words: key for key, words in OTHERS.items()}, width=210, **small_params
        )
        self.row = pmui.IntInput(label="Row", start=0, value=0, width=110, **small_params)
        for widget, name in zip([*self.axes, self.others, self.row], ("across", "up", "others", "row"), strict=True):
            widget.param.watch(self._setter(name), "value")
        self.panel = pn.Row(*self.axes, self.others, self.row, visible=visible, margin=0)

    def offer(self, names: Sequence[Any], rows: int) -> None:
        """Offer the columns `names` and row numbers below `rows`; show the view's settings, hide menus without
        effect.
        """
        view = self._view
        with self._offering:
            options = {str(name): name for name in names}
            for menu, value in zip(self.axes, (view.across, view.up), strict=True):
                menu.param.update(options=options, value=value)
            has_others = len(names) > 2
            self.others.param.update(value=view.others, visible=has_others)
            self.row.param.update(value=view.row, end=max(rows - 1, 0), visible=has_others and view.others == "row")

    def _setter(self, name: str) -> Callable[[Any], None]:
        def set_param(event: Event) -> None:
            if not self._offering and event.new is not None:
                self._view.param.update(**{name: event.new})

        return set_param
