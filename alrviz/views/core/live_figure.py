"""A picture while it lives: one pane, one figure, sources that are fed.

`show` brings the figure up to date: rows that were only added are streamed, few that changed are patched, anything else
replaces a source's columns. A new figure holds up the server for a tenth of a second (four where a race runs beside it)
and the browser for as long, so one is made only where Bokeh cannot change the old one: for a picture of another key. A
reader's zoom is left alone until the reset button is pressed or something else is shown.
"""

import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import panel as pn
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.document.events import ColumnDataChangedEvent, ModelChangedEvent
from bokeh.models import ColumnDataSource
from bokeh.models import Model as BokehModel
from bokeh.plotting import figure

from alrviz.pictures.picture import Data, Picture, Plot, Range, describe, pairs
from alrviz.pictures.prediction import Prediction, draw_prediction
from alrviz.views.core.saving import Origin, figure_buttons

TAIL = 3  # points at the end of a thinned line that the next step may replace
MANY = 1 / 3  # of a source's values: where so many changed, all are sent
LATE = 50  # ranges, of as many updates: what a notebook's browser may send back; five seconds of a race
_Sides = tuple[float, float, float, float]  # start and end of the range along, and of that upwards


@dataclass(frozen=True)
class NumberAxes:
    """The picture of a view whose axes are numbers, and the columns of what ran whose values stand along and up."""

    picture: "LiveFigure"
    along: str
    up: tuple[str, ...]


class FigurePane(pn.pane.Bokeh):
    """Pane whose size, styles and visibility can be set in answer to a press.

    Panel (1.9.4) answers presses without the document's lock and hands such a setting straight to the figure, which
    Bokeh refuses. A held change waits for the lock.
    """

    @pn.io.hold()
    def _track_overrides(self, *events: Any) -> None:
        super()._track_overrides(*events)


class LiveFigure:
    """The pane of a picture. Its changes are held for the same reason as those of `FigurePane`.

    Args:
        kind: what is drawn, as files that save it are called ("alrviz-race"); the figure's own name begins so.
        made: called with the plot of every new figure before it is shown.
        resized: called when the browser has given its frame another size.
        pane: how Panel lays it out.

    Attributes:
        name: of its figures, by which buttons find them to save them.
        plot: the figure and its sources; None before there is one.
        size: width and height of the drawing frame in the browser, None before it is known.
    """

    def __init__(
        self,
        kind: str,
        *,
        made: Callable[[Plot], None] | None = None,
        resized: Callable[[], None] | None = None,
        **pane: Any,
    ):
        self.kind, self.name = kind, f"{kind}-{uuid.uuid4().hex[:12]}"
        self._made, self._resized = made, resized
        self.pane = FigurePane(**{"sizing_mode": "stretch_both", "margin": 0, **pane})
        self.plot: Plot | None = None
        self.picture: Picture | None = None
        self.size: tuple[int, int] | None = None
        self._of: Any = None
        self._said: tuple[Prediction, bool] | None = None  # what was said before, and whether the ground is dark
        self._drawn: list[Any] = []  # the renderers that show it
        self._given: deque[_Sides] = deque(maxlen=LATE)  # the ranges that the figure was given last

    @pn.io.hold()
    def show(self, picture: Picture, of: Any = None) -> None:
        """Draw a picture, in the figure there is if that can show it.

        of: what it is of; of something else a reader's zoom does not hold.

        Raises:
            ValueError: if it has the key of the picture there is, and other sources or columns.
        """
        old, plot = self.picture, self.plot
        if plot is None or old is None or picture.key != old.key:
            self.plot = plot = picture.plot(self.name)
            self._said, self._drawn = None, []
            self._given.clear()
            self._give(_sides(picture))
            if self._resized is not None:
                for side in ("inner_width", "inner_height"):
                    plot.figure.on_change(side, partial(self._sized, plot.figure))
            if self._made is not None:
                self._made(plot)
            self.pane.object = plot.figure
        else:
            plot.dress(picture)
            for name, part in picture.data.items():
                for source, columns in pairs(plot.sources, {name: part}):
                    _check_columns(name, source, columns)
                    feed(source, columns) if name in picture.streams else replace(source, columns)
            self._follow(plot.figure, picture, anew=of != self._of)
        self.picture, self._of = picture, of
        if old is not None and picture.labels != old.labels:  # what was said is of other axes
            self.predict(None)

    @pn.io.hold()
    def fit(self, y: Range) -> None:
        """Show these heights, which what was put into the figure by hand needs."""
        if self.plot is not None:
            self._give((*self._given[-1][:2], *y))
            self.plot.figure.y_range.update(start=y[0], end=y[1], reset_start=y[0], reset_end=y[1])

    @pn.io.hold()
    def predict(self, said: Prediction | None, dark: bool = False) -> bool:
        """Draw what somebody said before, in place of what was drawn of it; returns whether a mark stands there."""
        wanted = None if said is None else (said, dark)
        if self.plot is None:
            return False
        if wanted == self._said:
            return bool(self._drawn)
        fig = self.plot.figure
        if self._drawn:
            fig.renderers = [part for part in fig.renderers if part not in self._drawn]
        self._drawn = [] if said is None else draw_prediction(fig, said, dark)
        self._said = wanted
        return bool(self._drawn)

    def clear(self) -> None:
        """Show nothing."""
        self.plot = self.picture = self.pane.object = None

    @pn.io.hold()
    def describe(self, sentence: str) -> None:
        """Say what is drawn, for readers who hear the page.

        Not in the message that brings the figure: of one that another replaces at once the browser never hears.
        """
        if self.plot is not None and self.picture is not None:
            along, axis = self.picture.labels
            describe(self.plot.figure, f"Lines of {axis} along {along}. {sentence}")

    def _sized(self, fig: figure, attr: str, old: Any, new: Any) -> None:
        try:
            size = fig.inner_width, fig.inner_height
        except UnsetValueError:  # one comes before the other
            return
        if self.plot is not None and fig is self.plot.figure and min(size) > 0 and size != self.size:
            self.size = size
            if self._resized is not None:
                self._resized()

    def _follow(self, fig: figure, picture: Picture, anew: bool) -> None:
        """Let the ranges follow, unless the reader has zoomed; whoever zoomed did it in what was drawn before.

        A notebook's browser sends back what it was given, and late: a range it had not long ago is no zoom.
        """
        old = self.picture
        shown = fig.x_range.start, fig.x_range.end, fig.y_range.start, fig.y_range.end
        if anew and old is not None:
            self._given.clear()
            self._give(_sides(old))
        # What it is given now is no zoom either: of a range that two figures share the other one may have moved.
        self._give(_sides(picture))
        follows = anew or all(side in sides for side, sides in zip(shown, zip(*self._given, strict=True), strict=True))
        for axis, (start, end), before in (
            (fig.x_range, picture.x, None if old is None else old.x),
            (fig.y_range, picture.y, None if old is None else old.y),
        ):
            if not anew and (start, end) == before:
                continue
            if follows and (axis.start, axis.end) != (start, end):
                axis.update(start=start, end=end)
            if (axis.reset_start, axis.reset_end) != (start, end):
                axis.update(reset_start=start, reset_end=end)

    def _give(self, sides: _Sides) -> None:
        if sides in self._given:
            self._given.remove(sides)  # it is the newest again
        self._given.append(sides)


def picture_buttons(pictures: Mapping[str, LiveFigure], origin: Callable[[str], Origin]) -> list[Any]:
    """Return the buttons PNG and SVG of pictures, by what they show; of several each button says which one it saves.

    origin: returns what stands above and below one of them when it is saved.
    """
    several = len(pictures) > 1
    return [
        button
        for what, figure in pictures.items()
        for button in figure_buttons(
            figure.name, figure.kind, what if several else f"the picture of {what}", partial(origin, what), several
        )
    ]


def _sides(picture: Picture) -> _Sides:
    return (*picture.x, *picture.y)


def _check_columns(name: str, source: ColumnDataSource, columns: Data) -> None:
    if columns.keys() != source.data.keys():
        has, got = (", ".join(sorted(names)) or "none" for names in (source.data, columns))
        raise ValueError(f"{name!r} has the columns {has}; got {got}. A picture with other ones needs another key")


def replace(source: ColumnDataSource, columns: Data) -> str:
    """Give a source these columns, unless it has them; returns "kept" or "replaced"."""
    if _same(dict(source.data), columns):
        return "kept"
    source.data = columns
    return "replaced"


def feed(source: ColumnDataSource, columns: Data) -> str:
    """Bring a source of plain values up to date; returns "kept", "patched", "streamed" or "replaced".

    What was only added is streamed. Few values that changed are patched, as are the last points of a thinned line,
    which are provisional.
    """
    old = {name: np.asarray(source.data[name]) for name in columns}
    have, want = (len(next(iter(part.values()), ())) for part in (old, columns))
    both = min(have, want)
    differ = {name: _differs(old[name][:both], np.asarray(new)[:both]) for name, new in columns.items()}
    changed = {name: rows for name, rows in differ.items() if len(rows)}
    if have == want and not changed:
        return "kept"
    count = sum(map(len, changed.values()))
    tail = min((int(rows[0]) for rows in changed.values()), default=have) >= have - TAIL
    few = tail or (have == want and count < MANY * have * len(old))
    if not both or want < have or not few or waits_whole(source):
        source.data = columns
        return "replaced"
    if changed:
        source.patch({name: [(int(k), np.asarray(columns[name])[k]) for k in rows] for name, rows in changed.items()})
    if want > have:
        # as lists: each array would be a message of its own, and there are few numbers
        source.stream({name: np.asarray(new)[have:].tolist() for name, new in columns.items()})
    return "streamed" if want > have and not changed else "patched"


def _differs(old: Any, new: Any) -> Any:
    """Where two columns of plain values differ; NaN is NaN."""
    return np.flatnonzero((old != new) & ~((old != old) & (new != new)))


def _same(old: Any, new: Any) -> bool:
    """Whether values are equal, those of lists and of mappings too; NaN is NaN."""
    if isinstance(new, dict):
        return old.keys() == new.keys() and all(_same(old[name], new[name]) for name in new)
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        a, b = np.asarray(old), np.asarray(new)
        return a.shape == b.shape and not len(_differs(a.ravel(), b.ravel()))
    if isinstance(new, list | tuple):
        return len(old) == len(new) and all(map(_same, old, new))
    return bool(old == new or (old != old and new != new))


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
