"""DecisionMapView: what a fitted classifier says of every place on a plane of two columns, alone or in a page.

The panes are built once. A model or rows that change are asked on a thread, coarse first; the view's pump (its own
periodic callback, or a page's) shows what is there. The view computes nothing: numbers come from
`studies.decision_map`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

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
from alrviz.views.maps import words
from alrviz.views.maps.live_map import LiveMap

TICK = 50  # ms
REST = 0.12  # seconds before what is finer than the first map: a hand may be moving
HEIGHT = 424  # px of menus and picture
FRAME = 240  # px of the frame's height in a window of 1280x720
DRAWING = {"look": "", "add": "add", "move": "move", "remove": "remove"}


class DecisionMapView(NotebookViewer):
    """The live map of a classifier's decisions over two columns.

    Two columns of one unit ("length (cm)" and "width (cm)", "x1" and "x2", "x" and "y") whose spans differ by a factor
    of four at most have one scale: a circle looks round. Any others fill the frame.

    Args:
        model: a fitted classifier: `classes_` and `predict_proba`, or only `decision_function`. None for an empty map.
        X: (N, a) DataFrame or matrix, the columns the model takes.
        y: (N,) the true classes; None draws no points.
        wake: called when something is under way, by a page that calls `pump` itself from then on; without it the view
            has a periodic callback of its own.
        height: of menus and picture, as CSS has it. width: pixels that the legend may count on, and the shape of a map
            whose axes have one scale.
        controls: whether the menus of columns are shown.
        numbers: title of the folded table; a page that shows several views gives each its own.
        on_add: called with two values, in the columns' own units, when the map is pressed while `drawing` is "add".
        on_move: called with a row and its two new values after its point was dragged while `drawing` is "move".
        on_remove: called with a row when its point is pressed while `drawing` is "remove".

    A hand's row is the label that the row of the map shown has in its frame's index: what is worked out meanwhile may
    count its rows otherwise.

    >>> import alrviz
    >>> data = alrviz.load_demo("iris")
    >>> model = alrviz.LRClassifier(order=1, alpha=1.0).fit(data.X, data.y)
    >>> view = alrviz.DecisionMapView(model, data.X, data.y)
    """

    across = param.Parameter(default=None, doc="The column along the horizontal axis.")
    up = param.Parameter(default=None, doc="The column along the vertical axis.")
    others = param.Selector(
        default="typical", objects=list(OTHERS), doc="What stands in the other columns: a key of `OTHERS`."
    )
    row = param.Integer(default=0, bounds=(0, None), doc='The row that other columns are held at for others="row".')
    title = param.String(default="", doc="Words above the map.")
    classes = param.Parameter(default=None, doc="The order of classes, which gives their colours; None: the model's.")
    drawing = param.Selector(default="", objects=list(DRAWING.values()), doc="What a press on the map means.")
    outdated = param.Boolean(default=False, doc="Whether settings have changed since the model shown was fitted.")

    def __init__(
        self,
        model: Any = None,
        X: Any = None,
        y: Any = None,
        *,
        wake: Callable[[], None] | None = None,
        height: str = f"{HEIGHT}px",
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
        self._wake = wake or self._pumped(self.pump, TICK, self.stop)
        self.picture = LiveMap(width, on_add, on_move, on_remove)
        self._map = LatestJob("a decision map")
        self._model: Any = None
        self._X: Any = None
        self._y: Any = None
        self._frame: pd.DataFrame | None = None
        self._asked: tuple[str, int, int] = ("typical", 0, 0)  # others, row, other columns of the newest question
        self.surface: Surface | None = None
        self._build(height, controls, numbers)
        self.param.watch(self._turn, ["across", "up"])
        self.param.watch(lambda *_: self._ask(), ["others", "row", "classes"])
        self.param.watch(lambda _: self._redraw(), "dark")
        self.param.watch(lambda _: self._let_draw(), "drawing")
        self.param.watch(lambda *_: self._mark(), ["outdated", "title"])
        self.watch(model, X, y)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _build(self, height: str, controls: bool, numbers: str) -> None:
        self.menus = MapMenus(self, controls)
        self.status = pn.pane.HTML("", stylesheets=[CSS], align="center", margin=(0, 0, 4, 0))
        self.heading = html()
        self.caption = self.sentence = html(min_height=24, margin=(6, 0, 0, 0))
        look: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (0, 0, 4, 0)}
        self.head = pn.Row(self.menus.panel, pn.HSpacer(), self.status, **look)
        save = csv_button("alrviz-map.csv", self._csv, "the value of every class at every place of the map")
        buttons = [*picture_buttons({"the decision map": self.picture}, lambda _: self.origin()), save]
        self._numbers = Numbers(buttons, self._numbers_html, title=numbers)
        # What fades is around the figure: of one that another replaces at once the browser never hears.
        self._ground = pn.Column(self.picture.pane, sizing_mode="stretch_both", min_height=260, margin=0)
        body = stack(*([self.head] if controls else []), self._ground)
        # The number is what Panel's layout goes by; the style is what is seen.
        body.param.update(height=HEIGHT, styles={"height": height, "flex": f"0 0 {height}"})
        above = self.heading if controls else pn.Row(self.heading, self.status, sizing_mode="stretch_width", margin=0)
        # A page of many pictures may show what is seen first, and what is read later, in places of its own.
        self.top, self.rest = stack(above, body), stack(self.caption, self._numbers)
        self.layout = ViewLayout(self.top, self.rest)

    # -- what is mapped -----------------------------------------------------------------------------------------------

    def watch(self, model: Any, X: Any, y: Any = None) -> None:
        """Map this model over these rows; axes that still fit them stay as they are."""
        self._model, self._y = model, y
        if X is not self._X:
            self._take(X)
        self._ask()

    def set_model(self, model: Any) -> None:
        """Map another model of the same rows; None empties the map."""
        self._model = model
        self._ask()

    @property
    def busy(self) -> bool:
        """Whether a finer map, or any, is still to come."""
        return self._map.busy

    def stop(self) -> None:
        """Give up what is worked out: nobody looks any more. What is shown stays; `watch` asks again."""
        self._map.cancel()

    @property
    def words(self) -> str:
        """What is said under the map, as HTML."""
        return str(self.caption.object)

    def _take(self, X: Any) -> None:
        """Take up a table: columns that it has too stay on the axes."""
        self._X, self._frame = X, None if X is None else frame_of(X)
        frame = self._frame
        if frame is None:
            return
        try:
            across, up = first_axes(frame, self.across, self.up, self._y)
        except AlrvizError:
            return  # asked for, it says the same in words
        with param.parameterized.discard_events(self):
            self.param.update(across=across, up=up, row=min(self.row, len(frame) - 1))

    def _turn(self, *events: Any) -> None:
        """Turn to other axes; a column chosen for both changes places with the one it had."""
        if self.across == self.up:
            event = events[0]
            other = "up" if event.name == "across" else "across"
            with param.parameterized.discard_events(self):
                self.param.update(**{other: event.old})
        self._ask()

    def _ask(self) -> None:
        """Have the map worked out; what is shown stays until there is another."""
        model, X, y, frame = self._model, self._X, self._y, self._frame
        if frame is not None:
            self.menus.offer(list(frame.columns), len(frame))
        if model is None or frame is None:
            self._map.cancel()
            self.surface = None
            self.picture.clear()
            self._say()
            return
        shape = self._width / FRAME
        names, others, row, classes = (self.across, self.up), self.others, self.row, self.classes
        keep = (None, None) if self.surface is None else (self.surface.across, self.surface.up)
        self._asked = (others, row, max(0, frame.shape[1] - 2))

        def maps(stop: StopToken) -> Iterator[Surface]:
            if frame.shape[1] < 2 or not len(frame):
                first_axes(frame)
            axes = axes_of(frame, names, keep, shape)
            options: dict[str, Any] = {"others": others, "row": row, "classes": classes, "stop": stop}
            coarse_first = decision_map(model, X, y, across=axes[0], up=axes[1], **options)
            return at_rest(coarse_first, stop, REST)

        self._map.run(maps, self._show, self._failed)
        self._wake()
        self._show_status()

    # -- the pump -----------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Show what has come; returns whether there may be more."""
        with pn.io.hold():
            busy = self._map.poll()
        if not busy:
            self._show_status()
        return busy

    def settle(self) -> None:
        """Wait for the finest map of what was asked for, and show it."""
        with pn.io.hold():
            self._map.finish()

    def _failed(self, error: Exception) -> None:
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
                self._say()
                self._numbers.refresh()

    def preview(self, x: float, y: float, label: str) -> None:
        """Show a new point of one of `classes` before the model has seen it, on axes of numbers."""
        if self.classes is not None and label in self.classes:
            self.picture.preview(x, y, list(self.classes).index(label), label, len(self.classes))

    def wipe(self) -> None:
        """Show no points and no decisions on the axes that are there, until another map has been worked out."""
        self.picture.wipe()

    def _let_draw(self) -> None:
        with pn.io.hold():
            self.picture.let_draw(self.drawing)

    # -- words --------------------------------------------------------------------------------------------------------

    def _say(self) -> None:
        if self.surface is None:
            text = "<p class='quiet'>No model yet: fit one, and its decisions are drawn here.</p>"
        else:
            text = words.caption_html(self.surface, *self._asked)
        say(self.caption, text)
        self._mark()
        self._show_status()

    def _show_status(self) -> None:
        late = self._map.busy and (self.surface is None or self.outdated)
        say(self.status, f"<span class='quiet'>{'asking the model &hellip;' if late else ''}</span>")

    def _numbers_html(self) -> str:
        return "" if self.surface is None else words.numbers_html(self.surface)

    def _mark(self) -> None:
        """Fade what belongs to settings that are no longer there, and say so."""
        stale = self.outdated and self.surface is not None  # what is not there yet is not outdated
        parts = [safe(self.title, 80)] if self.title else []
        parts += ["<span class='bad'>outdated</span>"] if stale else []
        say(self.heading, f"<h2>{' '.join(parts)}</h2>" if parts else "")
        fade(stale, self._ground, self.caption)

    def _csv(self) -> str:
        return "" if self.surface is None else to_csv(self.surface.frame(), self._about())

    def _about(self) -> dict[str, Any]:
        others, row, n_others = self._asked
        about = {"alrviz": __version__, "model": self.title or repr(self._model)}
        return about | ({"others": others, "row": row} if n_others else {})

    def origin(self) -> Origin:
        """Return what stands above and below the map when it is saved."""
        return Origin(self.title or "Decision map", "" if self.surface is None else caption(self._about()))


class MapMenus:
    """The menus of a view that has parameters `across`, `up`, `others` and `row`.

    Args:
        view: the view; what is chosen is set there. visible: whether the menus are shown.
    """

    def __init__(self, view: DecisionMapView, visible: bool):
        self._view, self._offering = view, Updating()
        small: dict[str, Any] = {"size": "small", "margin": (0, 12, 0, 0)}
        self.axes = [pmui.Select(label=label, options={}, width=150, **small) for label in ("x", "y")]
        self.others = pmui.Select(
            label="Other columns", options={words: how for how, words in OTHERS.items()}, width=210, **small
        )
        self.row = pmui.IntInput(label="Row", start=0, value=0, width=110, **small)
        for widget, name in zip([*self.axes, self.others, self.row], ("across", "up", "others", "row"), strict=True):
            widget.param.watch(self._chosen(name), "value")
        self.panel = pn.Row(*self.axes, self.others, self.row, visible=visible, margin=0)

    def offer(self, names: Sequence[Any], rows: int) -> None:
        """Offer these columns and rows, and show what the view has; what would have no effect is hidden."""
        view = self._view
        with self._offering:
            options = {str(name): name for name in names}
            for menu, value in zip(self.axes, (view.across, view.up), strict=True):
                menu.param.update(options=options, value=value)
            more = len(names) > 2
            self.others.param.update(value=view.others, visible=more)
            self.row.param.update(value=view.row, end=max(rows - 1, 0), visible=more and view.others == "row")

    def _chosen(self, name: str) -> Callable[[Any], None]:
        def chosen(event: Any) -> None:
            if not self._offering and event.new is not None:
                self._view.param.update(**{name: event.new})

        return chosen
