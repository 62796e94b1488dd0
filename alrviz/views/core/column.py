"""A column's rows by level and class, as a picture that is built once and then fed."""

import uuid
from collections.abc import Sequence

import panel as pn
from bokeh.models import ColumnDataSource

from alrviz.pictures.columns import ColumnPicture, bars, column_figure, cut_lines, frame_axis
from alrviz.views.core.panes import as_high


class ColumnView(pn.viewable.Viewer):
    """Shows one `ColumnPicture` at a time; `height` of the picture as CSS has it."""

    def __init__(self, *, height: str = "300px"):
        super().__init__()
        self._bars = ColumnDataSource(
            {k: [] for k in ("left", "right", "bottom", "top", "colour", "level", "class", "rows", "share")}
        )
        self._cuts = ColumnDataSource({"x": [], "low": [], "high": []})
        name = f"alrviz-column-{uuid.uuid4().hex[:12]}"  # by which buttons find the figure to save it
        self.figure = column_figure(self._bars, self._cuts, name=name)
        self._pane = as_high(pn.pane.Bokeh(self.figure, sizing_mode="stretch_both", margin=0), height, 300)

    def show(self, picture: ColumnPicture, classes: Sequence[str]) -> None:
        """Draw another column."""
        self._bars.data = {str(name): values.to_numpy() for name, values in bars(picture, classes).items()}
        self._cuts.data = {str(name): values.to_numpy() for name, values in cut_lines(picture).items()}
        frame_axis(self.figure, picture)

    def __panel__(self) -> pn.viewable.Viewable:
        return self._pane
