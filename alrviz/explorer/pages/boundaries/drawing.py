"""Drawing on the DLR tab: the visitor adds, moves and removes points, and the models are fitted to them."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from alrviz.data.dataset import Dataset
from alrviz.explorer.pages.boundaries import dlr_frames
from alrviz.explorer.pages.boundaries.dlr_controls import ColumnMenus, DlrControls
from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame
from alrviz.explorer.pages.boundaries.dlr_view import Pictures
from alrviz.explorer.pages.boundaries.fit import MapTab
from alrviz.explorer.pages.boundaries.frame_queue import FrameQueue
from alrviz.explorer.server.table_process import READERS
from alrviz.explorer.session.points import POINTS_FILE, POINTS_KINDS, READ_OPTIONS, pack_points
from alrviz.explorer.session.sketch import Sketch
from alrviz.explorer.shell.theme import PANE_CSS, button
from alrviz.fitting.recipe import Recipe
from alrviz.job import LatestJob
from alrviz.studies.race.reference_fit import TRUTH
from alrviz.views.core.panes import say
from alrviz.views.core.style import SCREEN_READER_ONLY, WORDS_ON_BUTTONS, safe

MAX_UNDO = 100
REST_SECONDS = 0.08  # pause after which the models are fitted; fits started sooner would be stopped by the next press


class DlrState(MapTab):
    """The part of the DLR tab (density-based logistic regression) that `Drawing` and the texts use.

    Attributes:
        table: the data set of the two columns; None while it is made.
        frame: what the pictures show, a step of the run, dragged bandwidths or drawn points; None before the first.
    """

    table: Dataset | None
    frame: DlrFrame | None
    columns: ColumnMenus
    menus: DlrControls
    pictures: Pictures
    frames: FrameQueue
    drawing: "Drawing"

    def show_controls(self) -> None:
        """Update the menus."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Show the run's step that the player is at."""
        raise NotImplementedError


_ACTIONS = {"Add": "add", "Move": "move", "Remove": "remove"}
_HINTS = {
    "add": "Press on the left map to add a point",
    "move": "Drag a point of the left map",
    "remove": "Press a point of the left map to remove it",
}

_ONE_LINE = (
    ":host { height: 24px; } span { display: block; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }"
)


def _button(label: str, icon: str, hint: str, on_press: Callable[[], None], **params: object) -> pmui.Button:
    button_params = {"variant": "outlined", "size": "small", "margin": (0, 8, 0, 0), **params}
    return button(label, on_press, icon=icon, icon_size="20px", description=hint, **button_params)


class Drawing:
    """The drawn points of a tab.

    When another tab or table is shown, the points are set aside. They return with their tab, or when Draw is pressed.

    Args:
        tab: shows the points; its recipe and peer are fitted to them.

    Attributes:
        sketch: the points being drawn; None while the table's rows are shown.
        points_set_aside: the points to return to; None without any.
    """

    def __init__(self, tab: DlrState):
        self._tab = tab
        self._peers = LatestJob("the peer of drawn points")
        self.sketch: Sketch | None = None
        self.points_set_aside: Sketch | None = None
        self._undo_stack: list[Sketch] = []  # the latest last
        # Fits by points and recipe. A fit starts from the previous one, which decides the optimum it finds: after Undo
        # the points must have the fit that they had before.
        self._fits: OrderedDict[Hashable, DlrFrame] = OrderedDict()
        self._build()

    def _build(self) -> None:
        """Build the row of controls."""
        group_params: dict[str, object] = {"size": "small", "margin": (0, 12, 0, 0)}
        group_params |= {"stylesheets": [SCREEN_READER_ONLY], "sx": WORDS_ON_BUTTONS}
        self.action = pmui.RadioButtonGroup(options=_ACTIONS, value="add", label="A press on the map", **group_params)
        self.label = pmui.RadioButtonGroup(options=["a"], value="a", label="Class of new points", **group_params)
        # Always one line: a hint that wraps would move the map under the pointer.
        self.words = pn.pane.HTML(
            "", stylesheets=[PANE_CSS, _ONE_LINE], sizing_mode="stretch_width", margin=(4, 0, 0, 0)
        )
        self.undo_button = _button("Undo", "undo", "Undo: take the last change back", self.undo)
        clear_button = _button(
            "Clear", "delete_sweep", "Clear: start from two points of each of two classes", self._clear
        )
        save_button = _button(
            "Save as data set", "check", "Save as data set: make a table of these points", self.save,
            variant="contained",
        )  # fmt: skip
        discard_button = _button("Discard", "close", "Discard: forget these points", self.discard)
        self.action.param.watch(lambda _: self._on_action(), "value")
        # Separate from the buttons, so that these do not move under the pointer when the controls change.
        tools = pn.FlexBox(
            self.action, self.label, align_items="center", gap="4px 0", margin=0,
            styles={"flex": "1 1 0", "min-width": "320px"}, css_classes=["alrviz-line"],
        )  # fmt: skip
        buttons = pn.Row(
            self.undo_button,
            clear_button,
            discard_button,
            save_button,
            align="center",
            margin=0,
            styles={"flex": "0 0 auto"},
        )
        controls = pn.FlexBox(tools, buttons, align_items="center", gap="4px 0", sizing_mode="stretch_width", margin=0)
        self.panel = pn.Column(controls, self.words, sizing_mode="stretch_width", margin=(0, 0, 8, 0), visible=False)

    @property
    def is_drawing(self) -> bool:
        """Whether points are being drawn."""
        return self.sketch is not None

    @property
    def is_possible(self) -> bool:
        """Whether drawing can start: there are points set aside, or both columns are numeric."""
        return self.points_set_aside is not None or self._tab.columns.numeric

    def begin(self) -> None:
        """Start drawing from the points set aside, or from rows of the table."""
        sketch, self.points_set_aside = self.points_set_aside, None
        table, column_names = self._tab.table, self._tab.columns.pair
        if sketch is None and table is not None and column_names is not None and self._tab.columns.numeric:
            session = self._tab.session
            # Points from a visitor's file must not be put into a link.
            is_private = session.table.source.file is not None and not session.table.source.points
            sketch = Sketch.from_dataset(table, column_names, session.seed, private=is_private)
        if sketch is None:
            return
        READERS.warm()  # starts the process that will read the saved points
        self._tab.player.press_stop()
        self.sketch = sketch
        self.panel.visible = True
        self._tab.show_controls()
        self._on_action()
        self._on_points()

    def set_aside(self) -> None:
        """Stop drawing, if it goes on, and keep the points in `points_set_aside` until it is resumed."""
        if self.is_drawing:
            self.points_set_aside = self.sketch
            self.end()

    def end(self) -> None:
        """Stop drawing."""
        if self.is_drawing:
            self.sketch = self._tab.session.sketch = None
            self._undo_stack = []
            self._fits.clear()
            self._peers.cancel()
            self.panel.visible = False
            self._tab.pictures.map.drawing = ""
            self._tab.show_controls()

    def save(self) -> None:
        """Load the points as a table."""
        sketch = self.sketch
        if sketch is not None:
            self.end()
            self._tab.pictures.outdate()  # until the table is loaded
            self._tab.session.axes = (0, 1)
            points_csv = sketch.csv()
            packed_points = "" if sketch.private else pack_points(points_csv)
            self._tab.session.table.load_bytes(POINTS_FILE, points_csv, READ_OPTIONS, POINTS_KINDS, packed_points)

    def discard(self) -> None:
        """Discard the points and show the table."""
        self.end()
        self._tab.redraw()

    # ---- points ------------------------------------------------------------------------------------------------------

    def add(self, x: float, y: float) -> None:
        """Add a point of the chosen class; it is shown at once, before the models are fitted."""
        label = str(self.label.value)
        if self._change_sketch(lambda sketch: sketch.add(float(x), float(y), label)):
            self._tab.pictures.map.preview(x, y, label)

    def move(self, name: int, x: float, y: float) -> None:
        """Move a point. name: its number in the sketch."""
        self._change_sketch(lambda sketch: sketch.move(name, float(x), float(y)))

    def remove(self, name: int) -> None:
        """Remove a point."""
        self._change_sketch(lambda sketch: sketch.remove(name))

    def undo(self) -> None:
        """Undo the last change."""
        if self.sketch is not None and self._undo_stack:
            self.sketch = self._undo_stack.pop()
            self._on_points()

    def _clear(self) -> None:
        if self._change_sketch(lambda _: Sketch.blank()):
            self._tab.pictures.wipe()

    def _change_sketch(self, change: Callable[[Sketch], Sketch]) -> bool:
        """Change the points; return whether they have changed."""
        sketch = self.sketch
        if sketch is None or (new_sketch := change(sketch)) is sketch:
            return False
        self._undo_stack = [*self._undo_stack[-MAX_UNDO:], sketch]
        self.sketch = new_sketch
        self._on_points()
        return True

    def _on_action(self) -> None:
        self.label.visible = self.action.value == "add"
        self._tab.pictures.map.drawing = self.action.value
        self._show_controls()

    def _show_controls(self) -> None:
        """Update the classes, the number of points and the Undo button."""
        sketch = self.sketch
        if sketch is None:
            return
        self.undo_button.disabled = not self._undo_stack
        if list(self.label.options) != list(sketch.classes):
            self.label.param.update(options=list(sketch.classes), value=sketch.classes[0])
        hint = "No more points: the models would be too slow to follow" if sketch.full else _HINTS[self.action.value]
        say(self.words, f"<span class='quiet'>{len(sketch):,} points · {safe(hint)}</span>")

    # ---- models ------------------------------------------------------------------------------------------------------

    def _on_points(self) -> None:
        sketch = self.sketch
        assert sketch is not None
        self._tab.session.sketch = sketch
        self._show_controls()
        self._tab.pictures.follow(sketch.columns, sketch.classes_with_points)
        self.follow()

    def follow(self) -> None:
        """Fit both models to the points."""
        sketch, tab = self.sketch, self._tab
        if sketch is None:
            return
        X, y, recipe, name = sketch.X, sketch.y, tab.recipe, tab.name
        previous, known_fit = tab.frame, self._fits.get(_fit_key(recipe, X, y))
        if known_fit is None:
            tab.frames.request(lambda stop: dlr_frames.of_points(X, y, recipe, previous, stop, REST_SECONDS))
        else:
            tab.frames.request(lambda stop: iter([known_fit]))
        if name != TRUTH:
            tab.tasks.hide_error("peer")
            self._peers.run(
                lambda stop: dlr_frames.peer_of_points(name, X, y, stop, REST_SECONDS),
                self._show_peer,
                partial(tab.tasks.show_error, "peer"),
            )
        tab.frames.poll_often()

    def remember(self, frame: DlrFrame) -> None:
        """Keep the fit of the points once it has converged."""
        if frame.live is not None and frame.live.is_finished:
            self._fits[_fit_key(self._tab.recipe, frame.X, frame.y)] = frame
            if len(self._fits) > MAX_UNDO:
                self._fits.popitem(last=False)

    def take_peer(self) -> bool:
        """Show the peer if a thread has fitted it; return whether a fit is still going on."""
        peer_busy = self._peers.poll()
        return self.is_drawing and peer_busy

    def _show_peer(self, peer: tuple[Any, pd.DataFrame, np.ndarray]) -> None:
        if self.is_drawing:
            self._tab.pictures.peer_map.outdated = False
            self._tab.pictures.peer_map.watch(*peer)


def _fit_key(recipe: Recipe, X: Any, y: Any) -> Hashable:
    return recipe, X.to_numpy().tobytes(), X.index.to_numpy().tobytes(), tuple(y)
