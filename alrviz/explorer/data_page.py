"""The Data page: which table, what its columns are, what each order would cost.

States: empty (nothing loaded: the demo sets), a table whose class is still to be chosen, a table. Reading and its
errors are shown by the shell's notice. Whatever computes (pictures, prices, leaks) does so on a thread and arrives with
the pump.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.errors import TableError
from alrviz.explorer import prices
from alrviz.explorer.column_picture import picture_of
from alrviz.explorer.columns_grid import KINDS, ColumnsGrid, columns_frame
from alrviz.explorer.data_cards import ABOUT, classes_html, head_html, notes_html
from alrviz.explorer.loading import Loading
from alrviz.explorer.look import CARD, PANE_CSS
from alrviz.explorer.read_options import ReadOptionsPanel
from alrviz.explorer.session import Session
from alrviz.studies.export import to_csv
from alrviz.views.column import ColumnView
from alrviz.views.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.explorer.prices import Offer

_CUT_WORDS = {"MDL": "mdl", "10 quantiles": "quantile", "10 equal widths": "uniform"}
MOST_OFFERS = 6


def _html(margin: Any = 0) -> Any:
    return pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=margin)


def _card(*parts: Any, **params: Any) -> Any:
    return pn.Column(*parts, **{"styles": CARD, "sizing_mode": "stretch_width", "margin": 0, **params})


class DataPage:
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Data", "table_chart", "Understand", "data"

    def __init__(self, session: Session):
        self.session = session
        self.chosen = ""
        self._jobs: dict[str, Loading[Any]] = {}
        self._offers: list[Offer] = []
        self._offers_shown = -1
        self._leaks: list[str] = []
        self._asked_target = ""
        self._shown: Any = None

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Any:
        """Build the page."""
        self._head, self._classes, self._prices, self._notes = _html(), _html((8, 0, 0, 0)), _html(), _html()
        self._title, self._name = _html(), _html((4, 12, 0, 0))
        self._grid = ColumnsGrid(self.choose, self.ask_kind)
        self._picture = ColumnView(height=236)
        self._column = pmui.Select(label="Column", options=[], sizing_mode="stretch_width", margin=(4, 8, 4, 0))
        self._kind = pmui.Select(label="Kind", options=list(KINDS), sizing_mode="stretch_width", margin=(4, 8, 4, 0))
        self._cuts = pmui.Select(
            label="Cut into levels by", options=_CUT_WORDS, value="mdl", sizing_mode="stretch_width", margin=(4, 0)
        )
        self._column.param.watch(lambda event: self.choose(event.new), "value")
        self._kind.param.watch(self._on_kind, "value")
        self._cuts.param.watch(lambda *_: self._draw(), "value")
        self._suggestions = pn.Column(sizing_mode="stretch_width", margin=(8, 0, 0, 0))
        self._gallery = pmui.Dialog(
            self._demo_list(), title="Demo sets", close_on_click=True, show_close_button=True, width_option="lg"
        )
        self._full = pn.Column(
            self._head_card(), self._columns_row(), self._price_card(), sizing_mode="stretch_width", margin=0
        )
        self._empty = _card(self._empty_text(), self._demo_list())
        self._target_panel = self._build_target_panel()
        self.session.param.watch(lambda *_: self._table_changed(), ["dataset", "pending"])
        self.session.param.watch(lambda event: self._on_problem(event.new), "problem")
        self._table_changed()
        return pn.Column(
            self._target_panel, self._empty, self._full, self._gallery, sizing_mode="stretch_width", margin=0
        )

    def _head_card(self) -> Any:
        demos = pmui.Button(label="Demo sets", icon="apps", variant="outlined", margin=(0, 8, 0, 0))
        demos.on_click(lambda _: self._gallery.param.update(open=True))
        options = pmui.Button(label="How it was read", icon="tune", variant="outlined", margin=(0, 8, 0, 0))
        options.on_click(lambda _: self.session.open_drawer(True))
        race = pmui.Button(label="Race on it", icon="show_chart", variant="contained", margin=0)
        race.on_click(lambda _: self.session.go("convergence"))
        top = pn.Row(self._name, demos, options, race, sizing_mode="stretch_width", margin=0)
        return _card(top, self._head, self._notes, self._suggestions)

    def _columns_row(self) -> Any:
        export = pmui.FileDownload(
            callback=self._columns_csv,
            filename="columns.csv",
            label="Columns as CSV",
            variant="text",
            size="small",
            margin=(6, 0, 0, 0),
            width=180,
            height=36,
        )
        left = _card(self._grid.table, export, styles={**CARD, "flex": "11 1 0"})
        controls = pn.Row(self._column, self._kind, self._cuts, sizing_mode="stretch_width", margin=0)
        right = _card(
            controls, self._title, self._picture, self._classes, margin=(0, 0, 0, 12), styles={**CARD, "flex": "9 1 0"}
        )
        return pn.Row(left, right, sizing_mode="stretch_width", margin=(12, 0, 0, 0))

    def _price_card(self) -> Any:
        head = pn.pane.HTML(
            "<h2>What each order would cost</h2>",
            stylesheets=[PANE_CSS],
            sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
        )
        return _card(head, self._prices, margin=(12, 0, 16, 0))

    def _empty_text(self) -> Any:
        text = (
            "<h1>No table yet</h1><br><p>Drop a file anywhere on this page: CSV, TSV, Parquet, ARFF or xlsx, "
            "gzip as well, one row "
            "per example and a column that says its class. Or take one of these demo sets, whose truth is known.</p>"
        )
        return pn.pane.HTML(text, stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=(0, 0, 12, 0))

    def _demo_list(self) -> Any:
        from alrviz.data.demos import demo_line, demo_names

        cells = []
        for name in demo_names():
            button = pmui.Button(label=name, variant="outlined", size="small", width=150, margin=(0, 12, 0, 0))
            button.on_click(lambda _, name=name: self._take_demo(name))
            line = pn.pane.HTML(
                f"<span class='quiet'>{safe(demo_line(name), 300)}</span>",
                stylesheets=[PANE_CSS],
                sizing_mode="stretch_width",
                margin=0,
            )
            cells.append(pn.Row(button, line, sizing_mode="stretch_width", margin=(5, 12, 5, 0)))
        half = (len(cells) + 1) // 2
        columns = [pn.Column(*part, sizing_mode="stretch_width", margin=0) for part in (cells[:half], cells[half:])]
        return pn.Row(*columns, sizing_mode="stretch_width", margin=0)

    def _build_target_panel(self) -> Any:
        self._target_text = _html((0, 0, 8, 0))
        self._target = pmui.Select(label="The class", options=[], width=320, margin=(0, 12, 0, 0))
        use = pmui.Button(label="Use as the class", variant="contained", margin=(6, 12, 0, 0))
        self._quartiles = pmui.Button(label="Cut into quartiles", variant="outlined", margin=(6, 0, 0, 0))
        use.on_click(lambda _: self.ask_kind(self._target.value, "target"))
        self._quartiles.on_click(lambda _: self.ask_kind(self._target.value, "quartiles"))
        self._target.param.watch(lambda event: self._offer_quartiles(event.new), "value")
        row = pn.Row(self._target, use, self._quartiles, margin=0)
        return _card(self._target_text, row, visible=False, margin=(0, 0, 12, 0))

    def drawer(self) -> Any:
        """Build the drawer: how the table was read, and what the page shows."""
        about = pn.pane.HTML(ABOUT, stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=16)
        return pn.Column(ReadOptionsPanel(self.session).panel, about, sizing_mode="stretch_width", margin=0)

    # ---- showing -----------------------------------------------------------------------------------------------

    def _table_changed(self) -> None:
        session, dataset, pending = self.session, self.session.dataset, self.session.pending
        self._target_panel.visible = pending is not None
        self._full.visible = dataset is not None and pending is None
        self._empty.visible = dataset is None and pending is None
        self._gallery.open = False
        if pending is not None:
            self._ask_for_target(pending)
        elif dataset is not None and dataset is not self._shown:
            self._shown = dataset
            self._show(dataset, _line(session))

    def _show(self, dataset: "Dataset", line: str) -> None:
        names = [column.name for column in dataset.columns]
        if self.chosen not in names:
            self.chosen = next((c.name for c in dataset.columns if c.kind not in ("target", "ignore")), dataset.target)
        self._name.object = f"<h1>{safe(dataset.name, 80)}</h1>"
        self._head.object = head_html(dataset, line)
        self._notes.object = notes_html(dataset)
        self._classes.object = classes_html(dataset)
        self._show_grid(dataset)
        self._column.param.update(options=names, value=self.chosen)
        self._leaks = []
        self._suggest(dataset)
        self._draw()
        self._price(dataset)

    def _show_grid(self, dataset: "Dataset") -> None:
        made = range(len(dataset.columns)) if self.session.demo is not None else ()
        changed = {position for position, _ in self.session.state.kinds}
        self._grid.show(dataset, self.chosen, frozenset(made) - changed)

    def _on_kind(self, event: Any) -> None:
        dataset = self.session.dataset
        current = next((c.kind for c in dataset.columns if c.name == self.chosen), "") if dataset else ""
        if event.new and event.new != current:
            self.ask_kind(self.chosen, event.new)

    def choose(self, name: str) -> None:
        """Look at another column."""
        if self.session.dataset is None or not name or name == self.chosen:
            return
        self.chosen = name
        self._grid.choose(name)
        self._column.value = name
        self._draw()

    def ask_kind(self, name: str, kind: str) -> None:
        """Change a column's kind; what it leads to arrives with the pump."""
        self._asked_target = name if kind == "target" else ""
        self.session.set_kinds({name: kind})

    def _on_problem(self, problem: Exception | None) -> None:
        dataset = self.session.dataset
        if problem is None or dataset is None or self.session.pending is not None:
            return
        self._show_grid(dataset)  # a kind that was refused goes back to what it is
        self._sync_controls(dataset)
        if isinstance(problem, TableError) and self._asked_target and _is_number(dataset, self._asked_target):
            self._suggest(dataset, quartiles_of=self._asked_target)

    def _suggest(self, dataset: "Dataset", quartiles_of: str = "") -> None:
        """Offer what is one click away: quartiles, ids and leaks."""
        rows = []
        if quartiles_of:
            text = f"<b>{safe(quartiles_of, 60)}</b> is a measured number. It can be the class if it is cut into four."
            rows.append(_suggestion(text, "Cut into quartiles", partial(self.ask_kind, quartiles_of, "quartiles")))
        for column in dataset.columns:
            if column.guessed and column.kind == "ignore" and column.why.startswith("an id?"):
                kind = "numeric" if _is_number(dataset, column.name) else "categorical"
                text = f"<b>{safe(column.name, 60)}</b> looks like an id and is ignored."
                rows.append(_suggestion(text, "Use it", partial(self.ask_kind, column.name, kind)))
        for name in self._leaks:
            text = (
                f"<b>{safe(name, 60)}</b> alone tells the class almost without error. Is it the class in other words?"
            )
            rows.append(_suggestion(text, "Ignore it", partial(self.ask_kind, name, "ignore")))
        if len(rows) > MOST_OFFERS:
            more = f"<span class='quiet'>and {len(rows) - MOST_OFFERS:,} more; change kinds in the grid</span>"
            rows = [*rows[:MOST_OFFERS], pn.pane.HTML(more, stylesheets=[PANE_CSS], margin=0)]
        self._suggestions[:] = rows

    def _ask_for_target(self, table: Any) -> None:
        self._target_text.object = (
            f"<h1>Which column is the class?</h1><br><p>{safe(table.name, 80)} was read: {table.n_rows:,} rows and "
            f"{len(table.names):,} columns. {_why_no_class(table)}</p>"
        )
        target = table.default_target()[0]
        self._target.param.update(options=list(table.names), value=target)
        self._offer_quartiles(target)

    def _offer_quartiles(self, name: str | None) -> None:
        table = self.session.pending
        if table is not None and name in table.names:
            series = table.values[table.names.index(name)].series
            self._quartiles.visible = pd.api.types.is_numeric_dtype(series.dtype)

    def _sync_controls(self, dataset: "Dataset") -> None:
        kind = next(column.kind for column in dataset.columns if column.name == self.chosen)
        self._kind.value = kind
        self._kind.disabled = kind == "target"
        self._cuts.visible = kind == "numeric"

    # ---- work on threads ---------------------------------------------------------------------------------------

    def _draw(self) -> None:
        dataset, name, cuts = self.session.dataset, self.chosen, self._cuts.value
        if dataset is None:
            return
        self._sync_controls(dataset)
        classes = [str(label) for label in dataset.labels.cat.categories]

        def done(picture: Any) -> None:
            self._title.object = f"<h2>{safe(picture.title)}</h2>"
            self._picture.show(picture, classes)

        self._work("picture", lambda stop: picture_of(dataset, name, cuts, 10, stop), done)

    def _price(self, dataset: "Dataset") -> None:
        found: list[Offer] = []
        self._offers, self._offers_shown = found, -1
        seed = self.session.seed

        def work(stop: Any) -> list[str]:
            from alrviz.data.leaks import leaks

            prices.offers(dataset, seed, found.append, stop)
            return leaks(dataset, stop=stop)

        def done(leaking: list[str]) -> None:
            self._leaks = leaking
            if leaking:
                self._suggest(dataset)

        self._work("prices", work, done)
        self._show_prices()

    def _work(self, key: str, work: Any, done: Any) -> None:
        if key in self._jobs:
            self._jobs[key].cancel()
        self._jobs[key] = Loading(work, key, done, self._failed)
        self.session.wake()

    def _failed(self, error: Exception) -> None:
        self.session.problem = error

    def _show_prices(self) -> None:
        job = self._jobs.get("prices")
        waiting = job is not None and not job.over
        state = 2 * len(self._offers) + waiting
        if state != self._offers_shown:
            self._offers_shown = state
            self._prices.object = prices.offers_html(tuple(self._offers), waiting)

    def pump(self) -> bool:
        """Take over what threads have finished."""
        waiting = [job.poll() for job in list(self._jobs.values())]
        if self._shown is not None:
            self._show_prices()
        return any(waiting)

    def _take_demo(self, name: str) -> None:
        self._gallery.open = False
        self.session.load_demo(name)

    def on_shown(self) -> None:
        """Nothing to do: the page follows the session."""

    def on_hidden(self) -> None:
        """Nothing to do: threads end by themselves."""

    def close(self) -> None:
        """End the threads' work."""
        for job in self._jobs.values():
            job.cancel()

    # ---- export ------------------------------------------------------------------------------------------------

    def _columns_csv(self) -> Any:
        import io

        dataset = self.session.dataset
        if dataset is None:
            return io.StringIO("")
        about = {"alrviz": __version__, "data": dataset.name, "data hash": dataset.hash, "seed": self.session.seed}
        return io.StringIO(to_csv(columns_frame(dataset), about))


def _suggestion(text: str, label: str, action: Any) -> Any:
    button = pmui.Button(label=label, variant="outlined", size="small", margin=(0, 0, 0, 12))
    button.on_click(lambda _: action())
    return pn.Row(pn.pane.HTML(f"<p>{text}</p>", stylesheets=[PANE_CSS], margin=(4, 0)), button, margin=(2, 0))


def _is_number(dataset: "Dataset", name: str) -> bool:
    return name in dataset.frame and pd.api.types.is_numeric_dtype(dataset.frame[name].dtype)


def _why_no_class(table: Any) -> str:
    """Return why the column that would be taken cannot be the class, for people."""
    name, why = table.default_target()
    try:
        table.dataset(name)
    except TableError as error:
        series = table.values[table.names.index(name)].series
        if pd.api.types.is_numeric_dtype(series.dtype) and series.nunique() > 1:
            return (
                f"{safe(name, 60)}, {why}, holds {series.nunique():,} different numbers, too many to be classes. "
                "Choose "
                "another column, or cut this one into quartiles: four classes of equal size."
            )
        return safe(str(error)[:1].upper() + str(error)[1:], 600) + "."
    return "Choose it, then go on."


def _line(session: Session) -> str:
    if session.demo is not None:
        from alrviz.data.demos import demo_line

        return demo_line(session.demo[0])
    return f"from {session.upload.name}" if session.upload is not None else ""
