"""Bokeh figure that is updated in place as its picture changes.

`LiveFigure.show` streams added rows, patches a few changed ones, and otherwise replaces a source's columns. A new
figure blocks the server for 0.1 s (0.4 s while a race runs) and the browser for as long, so one is made only if Bokeh
cannot change the old one: when the picture's key differs. The reader's zoom is kept until the reset button is pressed
or another subject is shown.
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

TAIL_POINTS = 3  # points at the end of a thinned line that the next step may replace
MAX_PATCHED_SHARE = 1 / 3  # of a source's values; if more changed, all are sent
MAX_SENT_RANGES = 50  # updates after which a browser no longer echoes a range: five seconds of a race
Ranges = tuple[float, float, float, float]  # x start, x end, y start, y end


@dataclass(frozen=True)
class NumberAxes:
    """Numeric axes of a view's picture.

    A lesson draws the reader's numeric answer on them, as a mark at its x or y.

    Attributes:
        picture: the picture.
        x_column: column of the trace or study shown along x, "" for none.
        y_columns: columns shown along y.
    """

    picture: "LiveFigure"
    x_column: str
    y_columns: tuple[str, ...]


class FigurePane(pn.pane.Bokeh):
    """Pane whose size, styles and visibility can be set in a button's callback.

    Panel (1.9.4) runs such callbacks without the document's lock and sets the figure directly, which Bokeh refuses. A
    held change waits for the lock.
    """

    @pn.io.hold()
    def _track_overrides(self, *events: Any) -> None:
        super()._track_overrides(*events)


class LiveFigure:
    """Pane that shows a `Picture` and updates it. Changes are held for the same reason as in `FigurePane`.

    Args:
        kind: name of saved files without their ending ("alrviz-race"); prefix of `name`.
        on_new_figure: called with the plot of every new figure before it is shown.
        on_resize: called when the drawing frame's size in the browser has changed.
        pane: layout parameters of the Panel pane.

    Attributes:
        name: name of its figures, by which save buttons find them.
        plot: the figure and its sources; None before the first picture.
        size: width and height of the drawing frame in the browser, in px; None before it is known.
    """

    def __init__(
        self,
        kind: str,
        *,
        on_new_figure: Callable[[Plot], None] | None = None,
        on_resize: Callable[[], None] | None = None,
        **pane: Any,
    ):
        self.kind, self.name = kind, f"{kind}-{uuid.uuid4().hex[:12]}"
        self._on_new_figure, self._on_resize = on_new_figure, on_resize
        self.pane = FigurePane(**{"sizing_mode": "stretch_both", "margin": 0, **pane})
        self.plot: Plot | None = None
        self.picture: Picture | None = None
        self.size: tuple[int, int] | None = None
        self._subject: Any = None
        self._prediction: tuple[Prediction, bool] | None = None  # with whether the background is dark
        self._prediction_marks: list[Any] = []  # its renderers
        self._sent_ranges: deque[Ranges] = deque(maxlen=MAX_SENT_RANGES)  # the latest ranges set by the server

    @pn.io.hold()
    def show(self, picture: Picture, subject: Any = None) -> None:
        """Draw a picture, in the current figure if the keys agree.

        Args:
            picture: the picture.
            subject: identifies what is shown; the reader's zoom is reset when it changes.

        Raises:
            ValueError: if the keys agree but sources or columns differ.
        """
        old_picture, plot = self.picture, self.plot
        if plot is None or old_picture is None or picture.key != old_picture.key:
            self.plot = plot = picture.plot(self.name)
            self._prediction, self._prediction_marks = None, []
            self._sent_ranges.clear()
            self._record_ranges(_ranges_of(picture))
            if self._on_resize is not None:
                for side_name in ("inner_width", "inner_height"):
                    plot.figure.on_change(side_name, partial(self._update_size, plot.figure))
            if self._on_new_figure is not None:
                self._on_new_figure(plot)
            self.pane.object = plot.figure
        else:
            plot.dress(picture)
            for name, columns_or_tuple in picture.data.items():
                for source, columns in pairs(plot.sources, {name: columns_or_tuple}):
                    _check_columns(name, source, columns)
                    feed(source, columns) if name in picture.streams else replace(source, columns)
            self._follow(plot.figure, picture, reset=subject != self._subject)
        self.picture, self._subject = picture, subject
        if old_picture is not None and picture.labels != old_picture.labels:  # the prediction belongs to other axes
            self.predict(None)

    @pn.io.hold()
    def fit(self, y: Range) -> None:
        """Set the y range, for marks that a view adds to the figure itself."""
        if self.plot is not None:
            self._record_ranges((*self._sent_ranges[-1][:2], *y))
            self.plot.figure.y_range.update(start=y[0], end=y[1], reset_start=y[0], reset_end=y[1])

    @pn.io.hold()
    def predict(self, prediction: Prediction | None, dark: bool = False) -> bool:
        """Draw a reader's prediction in place of the last one; return whether any mark is visible.

        dark: whether the ground is dark.
        """
        key = None if prediction is None else (prediction, dark)
        if self.plot is None:
            return False
        if key == self._prediction:
            return bool(self._prediction_marks)
        fig = self.plot.figure
        if self._prediction_marks:
            fig.renderers = [renderer for renderer in fig.renderers if renderer not in self._prediction_marks]
        self._prediction_marks = [] if prediction is None else draw_prediction(fig, prediction, dark)
        self._prediction = key
        return bool(self._prediction_marks)

    def clear(self) -> None:
        """Remove the picture."""
        self.plot = self.picture = self.pane.object = None

    @pn.io.hold()
    def describe(self, sentence: str) -> None:
        """Set the sentence that screen readers read out.

        It is sent separately from the figure: a description that comes with a figure replaced at once is lost.
        """
        if self.plot is not None and self.picture is not None:
            x_label, y_label = self.picture.labels
            describe(self.plot.figure, f"Lines of {y_label} along {x_label}. {sentence}")

    def _update_size(self, fig: figure, attr: str, old: Any, new: Any) -> None:
        try:
            size = fig.inner_width, fig.inner_height
        except UnsetValueError:  # width and height arrive one after the other
            return
        if self.plot is not None and fig is self.plot.figure and min(size) > 0 and size != self.size:
            self.size = size
            if self._on_resize is not None:
                self._on_resize()

    def _follow(self, fig: figure, picture: Picture, reset: bool) -> None:
        """Set the ranges of `fig` to those of a new picture, unless the reader has zoomed into the old one.

        reset: whether they are set in any case. A notebook's browser echoes ranges late, so any range sent by the
        server recently does not count as zoom.
        """
        old_picture = self.picture
        current_ranges = fig.x_range.start, fig.x_range.end, fig.y_range.start, fig.y_range.end
        if reset and old_picture is not None:
            self._sent_ranges.clear()
            self._record_ranges(_ranges_of(old_picture))
        # The new range is no zoom either: two figures may share it, and the other may have set it already.
        self._record_ranges(_ranges_of(picture))
        follows = reset or all(
            limit in ranges for limit, ranges in zip(current_ranges, zip(*self._sent_ranges, strict=True), strict=True)
        )
        for axis, (start, end), old_range in (
            (fig.x_range, picture.x, None if old_picture is None else old_picture.x),
            (fig.y_range, picture.y, None if old_picture is None else old_picture.y),
        ):
            if not reset and (start, end) == old_range:
                continue
            if follows and (axis.start, axis.end) != (start, end):
                axis.update(start=start, end=end)
            if (axis.reset_start, axis.reset_end) != (start, end):
                axis.update(reset_start=start, reset_end=end)

    def _record_ranges(self, ranges: Ranges) -> None:
        if ranges in self._sent_ranges:
            self._sent_ranges.remove(ranges)  # becomes the newest
        self._sent_ranges.append(ranges)


def picture_buttons(pictures: Mapping[str, LiveFigure], origin: Callable[[str], Origin]) -> list[Any]:
    """Return PNG and SVG buttons for pictures; if there are several, the labels name them.

    Args:
        pictures: pictures by name.
        origin: returns title and provenance of a picture of that name, for the saved file.
    """
    several = len(pictures) > 1
    return [
        button
        for name, figure in pictures.items()
        for button in figure_buttons(
            figure.name, figure.kind, name if several else f"the picture of {name}", partial(origin, name), several
        )
    ]


def _ranges_of(picture: Picture) -> Ranges:
    return (*picture.x, *picture.y)


def _check_columns(name: str, source: ColumnDataSource, columns: Data) -> None:
    if columns.keys() != source.data.keys():
        has, got = (", ".join(sorted(names)) or "none" for names in (source.data, columns))
        raise ValueError(f"{name!r} has the columns {has}; got {got}. A picture with other ones needs another key")


def replace(source: ColumnDataSource, columns: Data) -> str:
    """Set a source's columns unless they are equal; return "kept" or "replaced"."""
    if _are_equal(dict(source.data), columns):
        return "kept"
    source.data = columns
    return "replaced"


def feed(source: ColumnDataSource, columns: Data) -> str:
    """Update a source of plain values; return "kept", "patched", "streamed" or "replaced".

    Added rows are streamed. Up to `MAX_PATCHED_SHARE` changed values are patched, as are the last points of a thinned
    line, which are provisional.
    """
    new_columns = {name: np.asarray(column) for name, column in columns.items()}
    old_columns = {name: np.asarray(source.data[name]) for name in columns}
    old_length, new_length = (len(next(iter(arrays.values()), ())) for arrays in (old_columns, new_columns))
    n = min(old_length, new_length)
    rows_by_name = {name: _differing_rows(old_columns[name][:n], new_columns[name][:n]) for name in columns}
    changed_rows = {name: rows for name, rows in rows_by_name.items() if len(rows)}
    if old_length == new_length and not changed_rows:
        return "kept"
    n_values = old_length * len(old_columns) if old_length == new_length else 0
    is_tail = min((int(rows[0]) for rows in changed_rows.values()), default=old_length) >= old_length - TAIL_POINTS
    is_patchable = is_tail or sum(map(len, changed_rows.values())) < MAX_PATCHED_SHARE * n_values
    if not n or new_length < old_length or not is_patchable or full_resend_pending(source):
        source.data = columns
        return "replaced"
    if changed_rows:
        source.patch({name: [(int(k), new_columns[name][k]) for k in rows] for name, rows in changed_rows.items()})
    if new_length > old_length:
        # as lists, because each array would be sent as a separate message
        source.stream({name: column[old_length:].tolist() for name, column in new_columns.items()})
    return "streamed" if new_length > old_length and not changed_rows else "patched"


def _differing_rows(old_column: Any, new_column: Any) -> Any:
    """Return the rows where old_column and new_column, of plain values, differ; NaN equals NaN."""
    return np.flatnonzero((old_column != new_column) & ~((old_column != old_column) & (new_column != new_column)))


def _are_equal(old_value: Any, new_value: Any) -> bool:
    """Return whether old_value equals new_value, recursively; NaN equals NaN."""
    if isinstance(new_value, dict):
        return old_value.keys() == new_value.keys() and all(
            _are_equal(old_value[name], new_value[name]) for name in new_value
        )
    if isinstance(old_value, np.ndarray) or isinstance(new_value, np.ndarray):
        old_array, new_array = np.asarray(old_value), np.asarray(new_value)
        return old_array.shape == new_array.shape and not len(_differing_rows(old_array.ravel(), new_array.ravel()))
    if isinstance(new_value, list | tuple):
        return len(old_value) == len(new_value) and all(map(_are_equal, old_value, new_value))
    return bool(old_value == new_value or (old_value != old_value and new_value != new_value))


def full_resend_pending(source: ColumnDataSource) -> bool:
    """Whether a held message will send all of a source: its columns, or a layout that contains it.

    Such a message is serialised when it is sent and then includes rows streamed meanwhile. Streaming them as well would
    add them twice, and a line would run back to its start.
    """
    if source.document is None:
        return False
    return any(
        event.model is source or _has_models(event.new)
        if isinstance(event, ModelChangedEvent)
        else isinstance(event, ColumnDataChangedEvent) and event.model is source
        for event in source.document.callbacks._held_events  # Bokeh has no public access to held events
    )


def _has_models(value: Any) -> bool:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    return any(isinstance(item, BokehModel | list | dict) for item in members)
