"""Drawing on the DLR tab: points that a visitor adds, moves and removes, and models that follow them."""

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
from alrviz.views.core.style import HEARD, WORDS_ON_BUTTONS, safe

MAX_UNDO = 100  # changes that can be taken back
REST_SECONDS = 0.08  # without a press, after which models follow: each press of a fast hand would stop the one before


class DlrState(MapTab):
    """What drawing and the words of the DLR tab use of it.

    Attributes:
        table: the two columns chosen; None until it is made, or while the data set is loaded.
        moment: what is drawn; None before the first.
    """

    table: Dataset | None
    moment: DlrFrame | None
    columns: ColumnMenus
    menus: DlrControls
    pictures: Pictures
    frames: FrameQueue
    drawing: "Drawing"

    def show_controls(self) -> None:
        """Bring the menus up to date."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw the moment that the player is at."""
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


def _button(label: str, icon: str, hint: str, pressed: Callable[[], None], **params: object) -> pmui.Button:
    given = {"variant": "outlined", "size": "small", "margin": (0, 8, 0, 0), **params}
    return button(label, pressed, icon=icon, icon_size="20px", description=hint, **given)


class Drawing:
    """The sketch of a tab, while there is one.

    Points that have to make room, for another tab or another table, are put by: they come back with their tab, or when
    Draw is pressed.

    Args:
        tab: whose maps are drawn on, and whose recipe and peer follow.
    """

    def __init__(self, tab: DlrState):
        self._tab = tab
        self._peers = LatestJob("the peer of drawn points")
        self.sketch: Sketch | None = None
        self.waiting: Sketch | None = None  # points that were put by
        self._before: list[Sketch] = []  # what Undo goes back to, the latest last
        # By points and recipe, what was fitted to them. A fit goes on from the one before it, and where it comes from
        # decides which optimum it finds: points that come back have the fit that they had.
        self._fits: OrderedDict[Hashable, DlrFrame] = OrderedDict()
        self._build()

    def _build(self) -> None:
        """Build the row of controls that is shown while a visitor draws."""
        group: dict[str, object] = {"size": "small", "margin": (0, 12, 0, 0)}
        group |= {"stylesheets": [HEARD], "sx": WORDS_ON_BUTTONS}
        self.action = pmui.RadioButtonGroup(options=_ACTIONS, value="add", label="A press on the map", **group)
        self.label = pmui.RadioButtonGroup(options=["a"], value="a", label="Class of new points", **group)
        # One line in every state: where hints wrapped, the map moved under the pointer.
        self.words = pn.pane.HTML(
            "", stylesheets=[PANE_CSS, _ONE_LINE], sizing_mode="stretch_width", margin=(4, 0, 0, 0)
        )
        self.undo_button = _button("Undo", "undo", "Undo: take the last change back", self.undo)
        clear = _button("Clear", "delete_sweep", "Clear: start from two points of each of two classes", self._cleared)
        keep = _button(
            "Save as data set", "check", "Save as data set: make a table of these points", self.keep,
            variant="contained",
        )  # fmt: skip
        leave = _button("Discard", "close", "Discard: forget these points", self.leave)
        self.action.param.watch(lambda _: self._acted(), "value")
        # The buttons have a place of their own: whatever a press changes beside them, none slides under the pointer.
        drawn = pn.FlexBox(
            self.action, self.label, align_items="center", gap="4px 0", margin=0,
            styles={"flex": "1 1 0", "min-width": "320px"}, css_classes=["alrviz-line"],
        )  # fmt: skip
        buttons = pn.Row(self.undo_button, clear, leave, keep, align="center", margin=0, styles={"flex": "0 0 auto"})
        controls = pn.FlexBox(drawn, buttons, align_items="center", gap="4px 0", sizing_mode="stretch_width", margin=0)
        self.panel = pn.Column(controls, self.words, sizing_mode="stretch_width", margin=(0, 0, 8, 0), visible=False)

    @property
    def on(self) -> bool:
        """Whether a visitor draws."""
        return self.sketch is not None

    @property
    def possible(self) -> bool:
        """Whether there is anything to draw from: points that were put by, or two columns of numbers."""
        return self.waiting is not None or self._tab.columns.numeric

    def begin(self) -> None:
        """Draw: go on with the points that were put by, or begin from the rows that are there."""
        sketch, self.waiting = self.waiting, None
        table, names = self._tab.table, self._tab.columns.chosen
        if sketch is None and table is not None and names is not None and self._tab.columns.numeric:
            session = self._tab.session
            own = session.table.source.file is not None and not session.table.source.points  # a link would give it away
            sketch = Sketch.of(table, names, session.seed, private=own)
        if sketch is None:
            return
        READERS.warm()  # which starts a process: whoever saves the points need not wait for it
        self._tab.player.press_stop()
        self.sketch = sketch
        self.panel.visible = True
        self._tab.show_controls()
        self._acted()
        self._changed()

    def put_by(self) -> None:
        """Draw no more for now."""
        if self.on:
            self.waiting = self.sketch
            self.end()

    def end(self) -> None:
        """Draw no more."""
        if self.on:
            self.sketch = self._tab.session.sketch = None
            self._before = []
            self._fits.clear()
            self._peers.cancel()
            self.panel.visible = False
            self._tab.pictures.map.drawing = ""
            self._tab.show_controls()

    def keep(self) -> None:
        """Make a table of the points: all else goes on with it as with any table."""
        sketch = self.sketch
        if sketch is not None:
            self.end()
            self._tab.pictures.outdate()  # what is drawn is of no table until the points are one
            self._tab.session.axes = (0, 1)
            table = sketch.csv()
            points = "" if sketch.private else pack_points(table)
            self._tab.session.table.load_bytes(POINTS_FILE, table, READ_OPTIONS, POINTS_KINDS, points)

    def leave(self) -> None:
        """Go back to the table that was there."""
        self.end()
        self._tab.redraw()

    # ---- what a hand does --------------------------------------------------------------------------------------------

    def add(self, x: float, y: float) -> None:
        """Add a point of the class chosen: it is seen at once, the models follow."""
        label = str(self.label.value)
        if self._set(lambda sketch: sketch.add(float(x), float(y), label)):
            self._tab.pictures.map.preview(x, y, label)

    def move(self, name: int, x: float, y: float) -> None:
        """Move a point, called by its name in the sketch."""
        self._set(lambda sketch: sketch.move(name, float(x), float(y)))

    def remove(self, name: int) -> None:
        """Remove a point."""
        self._set(lambda sketch: sketch.remove(name))

    def undo(self) -> None:
        """Take the last change back."""
        if self.sketch is not None and self._before:
            self.sketch = self._before.pop()
            self._changed()

    def _cleared(self) -> None:
        if self._set(lambda _: Sketch.blank()):
            self._tab.pictures.wipe()

    def _set(self, change: Callable[[Sketch], Sketch]) -> bool:
        """Change the points; returns whether they have changed."""
        sketch = self.sketch
        if sketch is None or (changed := change(sketch)) is sketch:
            return False
        self._before = [*self._before[-MAX_UNDO:], sketch]
        self.sketch = changed
        self._changed()
        return True

    def _acted(self) -> None:
        self.label.visible = self.action.value == "add"
        self._tab.pictures.map.drawing = self.action.value
        self._show_controls()

    def _show_controls(self) -> None:
        """Show which classes may be drawn, how many points there are, and whether a change can be taken back."""
        sketch = self.sketch
        if sketch is None:
            return
        self.undo_button.disabled = not self._before
        if list(self.label.options) != list(sketch.classes):
            self.label.param.update(options=list(sketch.classes), value=sketch.classes[0])
        hint = "No more points: the map could not follow" if sketch.full else _HINTS[self.action.value]
        say(self.words, f"<span class='quiet'>{len(sketch):,} points · {safe(hint)}</span>")

    # ---- models that follow ------------------------------------------------------------------------------------------

    def _changed(self) -> None:
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
        before, known = tab.moment, self._fits.get(_of(recipe, X, y))
        if known is None:
            tab.frames.ask(lambda stop: dlr_frames.of_points(X, y, recipe, before, stop, REST_SECONDS))
        else:
            tab.frames.ask(lambda stop: iter([known]))
        if name != TRUTH:
            tab.tasks.hide_error("peer")
            self._peers.run(
                lambda stop: dlr_frames.peer_of_points(name, X, y, stop, REST_SECONDS),
                self._show_peer,
                partial(tab.tasks.show_error, "peer"),
            )
        tab.frames.hurry()

    def remember(self, moment: DlrFrame) -> None:
        """Keep what was fitted to points, once nothing follows."""
        if moment.live is not None and moment.live.settled:
            self._fits[_of(self._tab.recipe, moment.X, moment.y)] = moment
            if len(self._fits) > MAX_UNDO:
                self._fits.popitem(last=False)

    def advance(self) -> bool:
        """Take the peer that has come; returns whether there may be more."""
        busy = self._peers.poll()
        return self.on and busy

    def _show_peer(self, found: tuple[Any, pd.DataFrame, np.ndarray]) -> None:
        if self.on:
            self._tab.pictures.other.outdated = False
            self._tab.pictures.other.watch(*found)


def _of(recipe: Recipe, X: Any, y: Any) -> Hashable:
    return recipe, X.to_numpy().tobytes(), X.index.to_numpy().tobytes(), tuple(y)
