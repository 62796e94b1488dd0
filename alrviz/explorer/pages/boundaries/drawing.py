"""Drawing on the DLR tab: points that a visitor adds, moves and removes, and models that follow them."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from alrviz.explorer.pages.boundaries import dlr_frames
from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame
from alrviz.explorer.pages.boundaries.draw_bar import DrawBar
from alrviz.explorer.server.table_process import READERS
from alrviz.explorer.session.points import AS_WRITTEN, FILE, KINDS, pack
from alrviz.explorer.session.sketch import Sketch
from alrviz.fitting.recipe import Recipe
from alrviz.job import LatestJob
from alrviz.studies.race.reference_fit import TRUTH

if TYPE_CHECKING:
    from alrviz.explorer.pages.boundaries.dlr_state import DlrState

UNDONE = 100  # changes that can be taken back
REST = 0.08  # seconds without a press after which models follow: each press of a fast hand would stop the one before


class Drawing:
    """The sketch of a tab, while there is one.

    Points that have to make room, for another tab or another table, are put by: they come back with their tab, or when
    Draw is pressed.

    Args:
        tab: whose maps are drawn on, and whose recipe and peer follow.
    """

    def __init__(self, tab: "DlrState"):
        self._tab = tab
        self._peers = LatestJob("the peer of drawn points")
        self.sketch: Sketch | None = None
        self.waiting: Sketch | None = None  # points that were put by
        self._before: list[Sketch] = []  # what Undo goes back to, the latest last
        # By points and recipe, what was fitted to them. A fit goes on from the one before it, and where it comes from
        # decides which optimum it finds: points that come back have the fit that they had.
        self._fits: OrderedDict[Hashable, DlrFrame] = OrderedDict()
        self.bar = DrawBar(self._acted, self.undo, self._cleared, self.keep, self.leave)
        self.bar.panel.visible = False

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
            own = session.file is not None and not session.points  # a link would give it away
            sketch = Sketch.of(table, names, session.seed, private=own)
        if sketch is None:
            return
        READERS.warm()  # which starts a process: whoever saves the points need not wait for it
        self._tab.part.player.press_stop()
        self.sketch = sketch
        self.bar.panel.visible = True
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
            self.sketch = self._tab.session.drawn = None
            self._before = []
            self._fits.clear()
            self._peers.cancel()
            self.bar.panel.visible = False
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
            points = "" if sketch.private else pack(table)
            self._tab.session.load_bytes(FILE, table, AS_WRITTEN, KINDS, points)

    def leave(self) -> None:
        """Go back to the table that was there."""
        self.end()
        self._tab.redraw()

    # ---- what a hand does --------------------------------------------------------------------------------------------

    def add(self, x: float, y: float) -> None:
        """Add a point of the class chosen: it is seen at once, the models follow."""
        label = str(self.bar.label.value)
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
        self._before = [*self._before[-UNDONE:], sketch]
        self.sketch = changed
        self._changed()
        return True

    def _acted(self) -> None:
        self._tab.pictures.map.drawing = self.bar.action.value
        if self.sketch is not None:
            self.bar.show(self.sketch, bool(self._before))

    # ---- models that follow ------------------------------------------------------------------------------------------

    def _changed(self) -> None:
        sketch = self.sketch
        assert sketch is not None
        self._tab.session.drawn = sketch
        self.bar.show(sketch, bool(self._before))
        self._tab.pictures.follow(sketch.columns, sketch.drawn)
        self.follow()

    def follow(self) -> None:
        """Fit both models to the points."""
        sketch, tab = self.sketch, self._tab
        if sketch is None:
            return
        X, y, recipe, name = sketch.X, sketch.y, tab.recipe, tab.name
        before, known = tab.moment, self._fits.get(_of(recipe, X, y))
        if known is None:
            tab.ask(lambda stop: dlr_frames.of_points(X, y, recipe, before, stop, REST))
        else:
            tab.ask(lambda stop: iter([known]))
        if name != TRUTH:
            tab.tasks.withdraw("peer")
            self._peers.run(
                lambda stop: dlr_frames.peer_of_points(name, X, y, stop, REST),
                self._show_peer,
                partial(tab.tasks.failed, "peer"),
            )
        tab.hurry()

    def remember(self, moment: DlrFrame) -> None:
        """Keep what was fitted to points, once nothing follows."""
        if moment.live is not None and moment.live.settled:
            self._fits[_of(self._tab.recipe, moment.X, moment.y)] = moment
            if len(self._fits) > UNDONE:
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
