"""One column of the table: its kind, its rows by level and class, and the cuts of a race."""

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import panel as pn
import panel_material_ui as pmui
from bokeh.models import ColumnDataSource
from panel.viewable import Viewable
from param.parameterized import Event

from alrviz.data.kinds import KINDS
from alrviz.explorer.pages.data.cards import numbers_html
from alrviz.explorer.pages.data.column_picture import picture_of
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import card, html, room
from alrviz.explorer.widgets.table_settings import cut_params, cuts_menu, show_cuts
from alrviz.pictures.columns import ColumnPicture, bars, column_figure, cut_lines, frame_axis, numbers
from alrviz.studies.core.export import caption, to_csv
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.panes import as_high
from alrviz.views.core.saving import Origin, csv_button, figure_buttons
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset


class ColumnCard:
    """Shows one column at a time; the picture is computed on a thread.

    Args:
        session: the visitor's.
        tasks: the page's.
        on_column: called with the name of another column to show.
        on_kind: called with the column's name and its new kind.
        below: shown below the picture.
    """

    def __init__(
        self,
        session: Session,
        tasks: PageTasks,
        on_column: Callable[[str], None],
        on_kind: Callable[[str, str], None],
        below: Viewable,
    ):
        self.session, self._tasks, self._on_column, self._on_kind = session, tasks, on_column, on_kind
        self.name, self._current_kind = "", ""
        self._picture: ColumnPicture | None = None
        self._classes: list[str] = []
        self.column = _select("Column", [], margin=(4, 8, 4, 0))
        self.kind = _select("Kind", list(KINDS), margin=(4, 8, 4, 0))
        self.cuts = cuts_menu(lambda slug: session.param.update(cuts=slug))
        self.cuts.param.update(label="Cut into levels by", size="medium", sizing_mode="stretch_width", margin=(4, 0))
        session.subscribe(lambda _: self._show_cuts(), "cuts")
        self.column.param.watch(self._column_changed, "value")
        self.kind.param.watch(self._kind_changed, "value")
        self.title = html((4, 0))
        self.view = ColumnView(height=room(256, 460, 80))
        figure, file = self.view.figure.name, "alrviz-column"
        save = [
            *figure_buttons(figure, file, "the picture of the column", self.origin),
            csv_button(f"{file}.csv", self.csv, "rows per level and class"),
        ]
        self.numbers = Numbers(save, self._numbers_html)
        controls = pn.Row(self.column, self.kind, self.cuts, sizing_mode="stretch_width", margin=0)
        self.panel = card(controls, self.title, self.view, below, self.numbers)

    def show(self, dataset: "Dataset", name: str) -> None:
        """Show this column of a table."""
        self.name = name
        self.column.param.update(options=[column.name for column in dataset.columns], value=name)
        self.sync(dataset)
        self.draw()

    def sync(self, dataset: "Dataset") -> None:
        """Update the controls."""
        self._current_kind = next(column.kind for column in dataset.columns if column.name == self.name)
        self.kind.param.update(value=self._current_kind, disabled=self._current_kind == "target")
        show_cuts(self.cuts, self.session, self.session.cuts)
        self.cuts.visible = self._current_kind == "numeric"

    def _show_cuts(self) -> None:
        """Show the cuts chosen here or on another page."""
        dataset = self.session.table.dataset
        if dataset is not None and self.name in {column.name for column in dataset.columns}:
            self.sync(dataset)
            self.draw()

    def _column_changed(self, event: Event) -> None:
        if event.new:
            self._on_column(event.new)

    def _kind_changed(self, event: Event) -> None:
        if event.new and event.new != self._current_kind:
            self._on_kind(self.name, event.new)

    def draw(self) -> None:
        """Compute and draw the picture."""
        dataset, name, seed = self.session.table.dataset, self.name, self.session.seed
        cuts = cut_params(self.session.cuts)
        if dataset is None or not name:
            return
        self._classes = [str(label) for label in dataset.labels.cat.categories]
        self._tasks.start(
            "picture", lambda stop: picture_of(dataset, name, **cuts, seed=seed, stop=stop), self._show_picture
        )

    def _show_picture(self, picture: ColumnPicture) -> None:
        self._picture = picture
        self.title.object = f"<h2>{safe(picture.title)}</h2>"
        self.view.show(picture, self._classes)
        self.numbers.refresh()

    def _numbers_html(self) -> str:
        return "" if self._picture is None else numbers_html(self._picture, self._classes)

    def csv(self) -> str:
        """Return the numbers of the picture and their origin."""
        picture = self._picture
        if picture is None:
            return ""
        return to_csv(numbers(picture, self._classes), self._provenance() | {"cuts": list(picture.cuts)})

    def _provenance(self) -> dict[str, object]:
        return {} if self._picture is None else self.session.table.provenance() | {"column": self._picture.axis}

    def origin(self) -> Origin:
        """Return the title and the source of a saved picture."""
        return Origin(f"{self.name} by class", caption(self._provenance()))


def _select(label: str, options: Sequence[str], **params: object) -> pmui.Select:
    return pmui.Select(label=label, options=options, sizing_mode="stretch_width", **params)


class ColumnView(pn.viewable.Viewer):
    """Shows one `ColumnPicture` at a time. height: CSS height of the picture."""

    def __init__(self, *, height: str = "300px"):
        super().__init__()
        self._bars = ColumnDataSource(
            {k: [] for k in ("left", "right", "bottom", "top", "colour", "level", "class", "rows", "share")}
        )
        self._cuts = ColumnDataSource({"x": [], "low": [], "high": []})
        name = f"alrviz-column-{uuid.uuid4().hex[:12]}"  # save buttons find the figure by its name
        self.figure = column_figure(self._bars, self._cuts, name=name)
        self._picture_pane = as_high(pn.pane.Bokeh(self.figure, sizing_mode="stretch_both", margin=0), height, 300)

    def show(self, picture: ColumnPicture, classes: Sequence[str]) -> None:
        """Draw another column."""
        self._bars.data = {str(name): values.to_numpy() for name, values in bars(picture, classes).items()}
        self._cuts.data = {str(name): values.to_numpy() for name, values in cut_lines(picture).items()}
        frame_axis(self.figure, picture)

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the pane with the picture, for Panel."""
        return self._picture_pane
