"""The convergence picture while it lives: one pane, one figure, sources that are fed.

`show` brings the picture up to date: points that were only added are streamed, anything else replaces a source's
columns. A new figure holds up the server for a tenth of a second (four where a race runs beside it) and the browser for
as long, so one is made only where Bokeh cannot change the old one: racers of other names, an axis that turns
logarithmic. A reader's zoom is left alone until the reset button is pressed or another race is shown.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import panel as pn
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.document.events import ColumnDataChangedEvent, ModelChangedEvent
from bokeh.models import ColumnDataSource
from bokeh.models import Model as BokehModel

from alrviz.pictures.convergence import FEW, Contents, Picture, contents, convergence, entitle, named, place_zero
from alrviz.pictures.frame import describe
from alrviz.pictures.labels import WIDTH, Box
from alrviz.pictures.measures import is_log
from alrviz.views.core.trace_reader import RaceReader

_PARTS = ("x", "y", "step")
TAIL = 3  # points at the end of a thinned line that the next step may replace


class LivePicture:
    """The pane of a race's convergence picture.

    Args:
        name: of its figure. resized: called when the browser has given its frame another size.
    """

    def __init__(self, name: str, resized: Callable[[], None]):
        self.name, self._resized = name, resized
        self._size: tuple[int, int] | None = None
        self.pane = pn.pane.Bokeh(sizing_mode="stretch_both", min_height=260, margin=0)
        self._picture: Picture | None = None
        self._made_of: Any = None
        self._drawn_of: Any = None
        self._box: Box | None = None
        self.drawn = (0, -1)  # which race, by its number, and the last iteration of it that was drawn
        # Left, right, bottom, top that this race's picture was given so far.
        self._given: tuple[set[float], ...] = (set(), set(), set(), set())

    def show(
        self, watched: RaceReader, measure: str, axis: str, span: str = "all", dark: bool = False, rests: bool = True
    ) -> None:
        """Draw what `watched` says is to be seen now. rests: whether that will stay so."""
        curves = watched.curves()
        options: dict[str, Any] = {
            "measure": measure,
            "axis": axis,
            "span": span,
            "baseline": watched.levels(),
            "to_zero": watched.to_zero,
            "dark": dark,
            "rests": rests,
            "size": self._size,
        }
        note = "recorded earlier" if watched.race.recorded else ""
        names = tuple((racer.name, racer.label) for racer in watched.racers)
        made_of = (names, is_log(measure, watched.to_zero), span == "log", dark)
        drawn_of = (watched, measure, span)
        if self._picture is None or made_of != self._made_of:
            self._picture = convergence(curves, name=self.name, note=note, **options)
            self._box = contents(curves, **options).box
            for side in ("inner_width", "inner_height"):
                self._picture.figure.on_change(side, partial(self._sized, self._picture.figure))
            self.pane.object = self._picture.figure
        else:
            what = contents(curves, **options)
            entitle(
                self._picture, measure=measure, axis=axis, span=span, to_zero=watched.to_zero, note=note,
                width=WIDTH if self._size is None else self._size[0],
            )  # fmt: skip
            place_zero(self._picture, what.zero)
            self._feed(self._picture, what, anew=drawn_of != self._drawn_of)
        self._made_of, self._drawn_of = made_of, drawn_of
        self.drawn = watched.number, min(watched.seen, watched.last)

    def _sized(self, figure: Any, attr: str, old: Any, new: Any) -> None:
        try:
            size = figure.inner_width, figure.inner_height
        except UnsetValueError:  # one comes before the other
            return
        if self._picture is not None and figure is self._picture.figure and min(size) > 0 and size != self._size:
            self._size = size
            self._resized()

    def describe(self, sentence: str) -> None:
        """Say what is drawn, for readers who hear the page.

        Not in the message that brings the figure: of one that another replaces at once the browser never hears.
        """
        if self._picture is not None:
            axis, along = (of[0].axis_label for of in (self._picture.figure.yaxis, self._picture.figure.xaxis))
            describe(self._picture.figure, f"Lines of {axis} along {along}. {sentence}")

    def _feed(self, picture: Picture, what: Contents, anew: bool) -> None:
        for sources, lines in (
            (picture.train, what.train),
            (picture.heldout, what.heldout),
            (picture.beyond, what.beyond),
        ):
            for source, line in zip(sources, lines, strict=True):
                feed(source, line)
        for dot, line in zip(picture.dots, what.train, strict=True):
            dot.visible = len(line["x"]) <= FEW
        sources = (picture.heads, picture.words, picture.grey)
        for source, marks in zip(sources, (*named(what), what.grey), strict=True):
            if dict(source.data) != marks:
                source.data = marks
        self._fit(picture, what.box, anew)

    def _fit(self, picture: Picture, box: Box, anew: bool) -> None:
        """Let the ranges follow, unless the reader has zoomed; whoever zoomed did it in what was drawn before.

        A notebook's browser sends back what it was given, and late: a range it once had is no zoom.
        """
        x, y, old = picture.figure.x_range, picture.figure.y_range, self._box
        if old is None or (box == old and not anew):
            return
        if anew:
            self._given = (set(), set(), set(), set())
        for given, side in zip(self._given, (old.left, old.right, old.bottom, old.top), strict=True):
            given.add(side)
        shown = (x.start, x.end, y.start, y.end)
        if anew or all(side in given for side, given in zip(shown, self._given, strict=True)):
            x.update(start=box.left, end=box.right)
            y.update(start=box.bottom, end=box.top)
        x.update(reset_start=box.left, reset_end=box.right)
        y.update(reset_start=box.bottom, reset_end=box.top)
        self._box = box


def feed(source: ColumnDataSource, line: dict[str, np.ndarray]) -> str:
    """Bring a line's source up to date; returns "kept", "streamed", "patched" or "replaced".

    What was only added is streamed. The last points of a thinned line are provisional: they are patched.
    """
    old = {part: np.asarray(source.data[part]) for part in _PARTS}
    have, want = len(old["x"]), len(line["x"])
    same = have if have <= want else 0
    for part in _PARTS:
        differ = np.flatnonzero(old[part][:same] != line[part][:same])
        same = int(differ[0]) if len(differ) else same
    if same == have == want:
        return "kept"
    if not same or have > want or have - same > TAIL or waits_whole(source):
        source.data = line
        return "replaced"
    if same < have:
        source.patch({part: [(slice(same, have), line[part][same:have].tolist())] for part in _PARTS})
    if want > have:
        # as lists: each array would be a message of its own, and there are few numbers
        source.stream({part: line[part][have:].tolist() for part in _PARTS})
    return "patched" if same < have else "streamed"


def waits_whole(source: ColumnDataSource) -> bool:
    """Whether a message that is still held back will carry the whole of a source: its columns, or a layout it is in.

    It is written only when it is sent, with what has been streamed meanwhile in it, and the stream would then be added
    once more: the line runs back to its beginning.
    """
    if source.document is None:
        return False
    return any(
        event.model is source or _has_models(event.new)
        if isinstance(event, ModelChangedEvent)
        else isinstance(event, ColumnDataChangedEvent) and event.model is source
        for event in source.document.callbacks._held_events  # no public name says what is held
    )


def _has_models(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    return any(isinstance(item, BokehModel | list | dict) for item in items)
