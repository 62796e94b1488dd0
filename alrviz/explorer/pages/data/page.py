"""The Data page: the table, its columns, and the cost of each order.

States: empty (shows the demo sets), a table whose class must be chosen, a table. A state is built when it is first
shown. The shell's notice shows the progress of reading and errors. Pictures and costs are computed on threads and
arrive with the pump.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import panel as pn
from panel.viewable import Viewable

from alrviz.data.doubts import DoubtNote, NoteCode, notes_about
from alrviz.errors import TableError
from alrviz.explorer.page import Page
from alrviz.explorer.pages.data.cards import classes_html, columns_frame, head_html, layout_text, notes_html
from alrviz.explorer.pages.data.column_card import ColumnCard
from alrviz.explorer.pages.data.columns_wall import FEATURE, LinkedHistograms
from alrviz.explorer.pages.data.file_cards import RefusalCard, TargetCard
from alrviz.explorer.pages.data.linked_columns import LinkedSelection
from alrviz.explorer.pages.data.questions import Questions, class_in_doubt, is_number
from alrviz.explorer.pages.data.read_options import ReadOptionsPanel
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.dialogs import LazyDialog, dialog
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import CARD, button, card, html
from alrviz.explorer.widgets import order_costs
from alrviz.explorer.widgets.table_settings import cut_params, show_split, split_menu
from alrviz.stop import StopToken
from alrviz.studies.core.export import to_csv
from alrviz.views.core.panes import say
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.table import Table
    from alrviz.studies.core.cost import RecipeEstimate


def demo_list(on_choice: Callable[[str], None]) -> Viewable:
    """Return all demo sets in two columns; `on_choice` is called with a name."""
    from alrviz.data.demos import demo_line, demo_names

    demo_rows = []
    for name in demo_names():
        name_button = button(
            name, partial(on_choice, name), variant="outlined", size="small", width=150, margin=(0, 12, 0, 0)
        )
        description = html(text=f"<span class='quiet'>{safe(demo_line(name), 300)}</span>")
        demo_rows.append(pn.Row(name_button, description, sizing_mode="stretch_width", margin=(5, 12, 5, 0)))
    half = (len(demo_rows) + 1) // 2
    columns = [pn.Column(*rows, sizing_mode="stretch_width", margin=0) for rows in (demo_rows[:half], demo_rows[half:])]
    return pn.Row(*columns, sizing_mode="stretch_width", margin=0)


class DataPage(Page):
    """The page "Data"."""

    title, icon, group, slug = "Data", "table_chart", "Data", "data"

    def __init__(self, session: Session):
        super().__init__(session)
        self.column_name = ""
        self._estimates: list[RecipeEstimate] = []
        self._requested_target = ""
        self._dataset_shown: Dataset | None = None
        self._pending_asked: Table | None = None
        self._built = False

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Viewable:
        """Build the page in the session's state."""
        self._gallery = LazyDialog(lambda: dialog("Demo sets", "lg", demo_list(self._take_demo)))
        self._target = TargetCard(self.session, self._gallery.open)
        self._empty = pn.Column(sizing_mode="stretch_width", margin=0)
        self._top = pn.Column(sizing_mode="stretch_width", margin=0)
        self._full = pn.Column(sizing_mode="stretch_width", margin=0)
        self._refusal = RefusalCard(self.session)
        self._questions = Questions(self.session, self.tasks, self.ask_kind)
        self.session.subscribe(lambda *_: self._table_changed(), ["dataset", "pending", "loading"])
        self.session.subscribe(lambda _: self._ask_questions(), "history")
        self.session.subscribe(lambda event: self._on_problem(event.new), "problem")
        self.session.subscribe(lambda _: self._recut(), "cuts")
        self.session.subscribe(lambda *_: self._disable_race(), ["refusal", "loading"])
        self._table_changed()
        states = (self._refusal.panel, self._target.panel, self._empty, self._top, self._questions.panel, self._full)
        return pn.Column(*states, self._gallery.place, sizing_mode="stretch_width", margin=0)

    def _build(self) -> None:
        """Build the widgets of a table."""
        self._built = True
        self._name, self._head, self._notes = html((4, 12, 0, 0)), html(), html()
        self._classes, self._costs = html((8, 0, 0, 0)), html()
        self._columns = LinkedHistograms(self.session, self.tasks, self.choose, self.set_role, self._show_classes)
        self._column = ColumnCard(self.session, self.tasks, self.choose, self.ask_kind, self._classes)
        self._top[:] = [self._head_card()]
        self._full[:] = [self._columns_row(), self._cost_card()]

    def _head_card(self) -> Viewable:
        button_params = {"variant": "outlined", "margin": (0, 8, 0, 0)}
        drawer = partial(self.session.open_drawer, True)
        demos = button("Demo sets", self._gallery.open, icon="apps", **button_params)
        options = button("How it was read", drawer, icon="tune", **button_params)
        self._race = pn.Row(self._race_button(), margin=0)
        self._name.param.update(css_classes=["alrviz-line"], min_width=160)  # beside a class's panel the buttons wrap
        self._split = split_menu(self.session)
        self._split.param.update(margin=(0, 8, 0, 0), align="center")
        controls_row = pn.Row(
            self._name, self._split, demos, options, self._race, sizing_mode="stretch_width", margin=0,
            styles={"flex-wrap": "wrap", "row-gap": "6px"},
        )  # fmt: skip
        return card(controls_row, self._head, self._notes)

    @property
    def _is_race_disabled(self) -> bool:
        """Whether a table loads or a file was refused: "Open in Convergence" would open the table before."""
        return self.session.table.refusal is not None or self.session.table.loading is not None

    def _race_button(self) -> Viewable:
        """Return "Open in Convergence", in the table's state."""
        go = partial(self.session.go, "convergence", race=True)
        result = button("Open in Convergence", go, icon="show_chart", variant="contained", margin=0)
        result.disabled = self._is_race_disabled
        return result

    def _disable_race(self) -> None:
        """Show the button in the table's state.

        It is made again: a button that is changed while the browser first draws it may keep its first state.
        """
        if self._built and self._race[0].disabled != self._is_race_disabled:
            self._race[:] = [self._race_button()]

    def _columns_row(self) -> Viewable:
        export = csv_button("columns.csv", self.columns_csv, "the list of columns", "Columns as CSV")
        export.param.update(margin=(6, 0, 0, 0), width=180, height=36)
        cards = card(self._columns.panel, export, styles={**CARD, "flex": "12 1 0"})
        self._column.panel.param.update(margin=(0, 0, 0, 12), styles={**CARD, "flex": "8 1 0"})
        return pn.Row(cards, self._column.panel, sizing_mode="stretch_width", margin=(12, 0, 0, 0))

    def _cost_card(self) -> Viewable:
        title_pane = html((0, 0, 8, 0), "<h2>What each order would cost</h2>")
        export = csv_button("costs.csv", self.costs_csv, "what each order would cost", "Costs as CSV")
        export.param.update(margin=(6, 0, 0, 0), width=180, height=36)
        return card(title_pane, self._costs, export, margin=(12, 0, 16, 0))

    def _empty_card(self) -> Viewable:
        """Return the card shown before there is a table."""
        hint_pane = html((0, 0, 12, 0))
        hint_pane.object = (
            "<h1>No table yet</h1><br><p>Drop a file anywhere on this page: CSV, TSV, JSON, Parquet, Arrow, "
            "ARFF, Excel, OpenDocument, SPSS, Stata or SAS, also compressed, with one row per example and a column for "
            "its class. Or choose one of these demo sets.</p>"
        )
        return card(hint_pane, demo_list(self._take_demo))

    def _take_demo(self, name: str) -> None:
        self._gallery.close()
        self.session.table.load_demo(name)

    def drawer(self) -> Viewable:
        """Build the drawer: the options of reading, and the text about the page."""
        about_pane = html(16, f"<h1>About this page</h1><br>{about_html('data')}")
        return pn.Column(ReadOptionsPanel(self.session).panel, about_pane, sizing_mode="stretch_width", margin=0)

    # ---- showing -----------------------------------------------------------------------------------------------

    def _table_changed(self) -> None:
        session, dataset, pending = self.session, self.session.table.dataset, self.session.table.pending
        empty = dataset is None and pending is None and session.table.loading is None
        if empty and not self._empty.objects:
            self._empty[:] = [self._empty_card()]
        self._target.panel.visible = pending is not None
        self._top.visible = self._full.visible = dataset is not None and pending is None
        self._empty.visible = empty
        if pending is not None and pending is not self._pending_asked:
            self._target.ask(pending)
            self._ask_questions()
        self._pending_asked = pending
        if not self._built and session.table.loading is not None:
            return  # a grid that changes while it is first built would keep its first columns in the browser
        if pending is None and dataset is not None and dataset is not self._dataset_shown:
            self._dataset_shown = dataset
            if not self._built:
                self._build()
            self._show_dataset(dataset, _source_line(session))

    def _show_dataset(self, dataset: "Dataset", description: str) -> None:
        column_names = [column.name for column in dataset.columns]
        if self.column_name not in column_names:
            self.column_name = next(
                (c.name for c in dataset.columns if c.kind not in ("target", "ignore")), dataset.target
            )
        self._name.object = f"<h1>{safe(dataset.name, 80)}</h1>"
        self._head.object = head_html(dataset, description)
        self._notes.object = notes_html(dataset, self._notes_of_questions(dataset))
        show_split(self._split, self.session)
        self._columns.show(dataset, self.column_name)
        self._ask_questions()
        self._column.show(dataset, self.column_name)
        self._estimate(dataset)

    def _show_classes(self, selection: LinkedSelection | None) -> None:
        dataset = self._dataset_shown
        if dataset is not None:
            self._classes.object = classes_html(dataset, None if selection is None else selection.classes)

    def choose(self, name: str) -> None:
        """Show another column beside the cards."""
        dataset = self.session.table.dataset
        if dataset is None or name == self.column_name:
            return
        self.column_name = name
        self._columns.mark(name)
        self._column.show(dataset, name)

    def ask_kind(self, name: str, kind: str) -> None:
        """Change a column's kind; the new table arrives with the pump."""
        self._requested_target = name if kind == "target" else ""
        self.session.table.changes.set_kinds({name: kind})

    def set_role(self, name: str, role: str) -> None:
        """Set a column's role; the kind of a feature is guessed."""
        dataset = self.session.table.dataset
        if dataset is not None:
            self.ask_kind(name, _feature_kind(dataset, name) if role == FEATURE else role)

    def _on_problem(self, problem: Exception | None) -> None:
        dataset = self.session.table.dataset
        if problem is None or dataset is None or self.session.table.pending is not None or not self._built:
            return
        self._columns.reset()
        self._column.sync(dataset)
        if isinstance(problem, TableError) and self._requested_target and is_number(dataset, self._requested_target):
            self._ask_questions(quartiles_of=self._requested_target)

    def _ask_questions(self, quartiles_of: str = "") -> None:
        """Ask about the table shown, or about the one whose class is still to be chosen."""
        dataset, pending = self.session.table.dataset, self.session.table.pending
        if pending is not None:
            self._questions.show(pending, None)
        elif dataset is not None:
            self._questions.show(self.session.table.full_table or dataset.table, dataset, quartiles_of)

    def _notes_of_questions(self, dataset: "Dataset") -> list[str]:
        """Return the notes that are asked as questions, and need not be shown."""
        question_notes = [dataset.leaks_note]
        if self.session.table.source.upload is not None:
            question_notes += [note for note in dataset.notes if isinstance(note, DoubtNote)]
        if class_in_doubt(dataset):
            question_notes += notes_about(dataset.notes, {NoteCode.TARGET})
        return question_notes

    # ---- costs -------------------------------------------------------------------------------------------------

    def _estimate(self, dataset: "Dataset") -> None:
        estimates: list[RecipeEstimate] = []
        self._estimates = estimates
        seed, cuts = self.session.seed, cut_params(self.session.cuts)

        def show_costs(is_estimating: bool) -> None:
            say(self._costs, order_costs.costs_html(estimates, dataset.X.shape[1], is_estimating))

        def work(stop: StopToken) -> None:
            for estimate in order_costs.estimate_orders(dataset, seed, stop, cuts):
                estimates.append(estimate)  # noqa: PERF402 - `show_costs` reads the list while orders are estimated

        def fail(error: Exception) -> None:
            self.tasks.show_error("costs", error)
            show_costs(False)

        self.tasks.start("costs", work, lambda _: show_costs(False), fail, lambda: show_costs(True))
        show_costs(True)

    def _recut(self) -> None:
        """Estimate the costs again after the cuts have changed."""
        dataset = self.session.table.dataset
        if self._built and dataset is not None and dataset is self._dataset_shown:
            self._estimate(dataset)

    # ---- export ------------------------------------------------------------------------------------------------

    def columns_csv(self) -> str:
        """Return the list of columns, with the origin of the table."""
        dataset = self.session.table.dataset
        if dataset is None:
            return ""
        source = self.session.table.source
        by_maker = set(range(len(dataset.columns))) - set(source.kinds) if source.demo is not None else ()
        return to_csv(columns_frame(dataset, by_maker), self.session.table.provenance())

    def costs_csv(self) -> str:
        """Return the costs of each order, with the origin of the table."""
        table = self.session.table
        if table.dataset is None:
            return ""
        return to_csv(order_costs.costs_frame(self._estimates, table.dataset.X.shape[1]), table.provenance())


def _feature_kind(dataset: "Dataset", name: str) -> str:
    """Return the guessed kind of a column, or the kind of its values if the guess is "ignore"."""
    from alrviz.data.kinds import FEATURE_KINDS, guess_kind

    values = dataset.table.values[dataset.table.names.index(name)]
    n_present = int(values.series.notna().sum())
    guess = guess_kind(values, n_levels=values.series.nunique(), n_present=n_present).kind
    return guess if guess in FEATURE_KINDS else "numeric" if is_number(dataset, name) else "categorical"


def _source_line(session: Session) -> str:
    """Return the origin of the table in a line."""
    if session.table.source.demo is not None:
        from alrviz.data.demos import demo_line

        return demo_line(session.table.source.demo[0])
    upload, dataset = session.table.source.upload, session.table.dataset
    if upload is None or dataset is None:
        return ""
    layout = layout_text(dataset.options)
    return f"from {upload.name}" + (f": {layout}" if layout else "")
