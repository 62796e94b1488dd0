"""The tab "Results" of Compare: figures of a CSV file, shown like a comparison that was run here.

Used for the papers' tables, which `python -m reproduction` measures, and for results of other programs.
"""

from typing import Any, cast

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.errors import for_page
from alrviz.explorer.page import Tab
from alrviz.explorer.server.tables import safe_name
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.drop_strip import FileStrip
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import CARD, html, room
from alrviz.studies.protocols.results import Results, read_results
from alrviz.views.core.panes import say
from alrviz.views.core.style import safe
from alrviz.views.studies.compare import CompareView

N_FIRST_METHODS = 4  # methods shown at first
MAX_METHODS = 8
FIELD_LABEL = "Results: drop a CSV, or browse"
FIELD_HELP = "A line for each data set and method (or each fit), with figures such as error, accuracy, rmse, log_loss"


class ResultsTab(Tab):
    """The upload field, the menu of methods, and the comparison of the chosen ones."""

    slug = "results"

    def __init__(self, session: Session):
        super().__init__(session)
        self.results: Results | None = None

    def build(self) -> tuple[Viewable, Viewable]:
        """Build the widgets; return the row of menus and everything below it."""
        session = self.session
        self.strip = FileStrip(session, self._read_file, self._show_error, FIELD_LABEL, FIELD_HELP, width=300, margin=0)
        self.methods = pmui.MultiChoice(
            label="Methods", options=[], max_items=MAX_METHODS, sizing_mode="stretch_width", solid=False, visible=False,
            margin=(0, 0, 0, 8), css_classes=["alrviz-line"],
        )  # fmt: skip
        self.methods.param.watch(lambda _: self._show_methods(), "value")
        menus_row = pn.Row(self.strip, self.methods, margin=0)
        self.text = html(text=about_html("results"))
        self.study_view = CompareView(wake=session.wake, dark=session.dark, height=f"min(560px, {room(330, 290, 82)})")
        self.study_view.bar.panel.visible = False  # nothing runs here
        self.card = pn.Column(self.study_view, styles=CARD, sizing_mode="stretch_width", margin=0, visible=False)
        session.subscribe(lambda event: self.study_view.param.update(dark=event.new), "dark")
        return menus_row, pn.Column(self.text, self.card, sizing_mode="stretch_width", margin=0)

    # ---- the file --------------------------------------------------------------------------------------------------

    def _read_file(self, name: str, data: bytes) -> None:
        name = safe_name(name)
        self.tasks.start(
            "results", lambda stop: read_results(data, name), lambda results: self.show(results, name), self._show_error
        )

    def _show_error(self, error: Exception) -> None:
        say(self.text, f"<p class='bad'>{safe(for_page(error), 600)}</p>")

    def show(self, results: Results, name: str) -> None:
        """Show a file's results, first the methods with results on most sets."""
        self.results = results
        n_sets, n_methods = (f"{len(items):,}" for items in (results.datasets, results.methods))
        say(self.text, f"<p class='quiet'>{safe(name, 60)}: {n_methods} methods on {n_sets} data sets</p>")
        self.study_view.offer_measures(results.measured)
        self.methods.param.update(
            options=list(results.methods),
            value=list(results.methods[:N_FIRST_METHODS]),
            visible=len(results.methods) > 1,
        )
        self._show_methods()

    def _show_methods(self) -> None:
        methods = [name for name in self.methods.value or () if self.results and name in self.results.methods]
        self.card.visible = bool(methods)
        selection = self.results.select_methods(methods) if self.results is not None and methods else None
        self.study_view.watch(cast("Any", selection))

    def pump(self) -> bool:
        """Take over received files and what threads have finished; return whether there may be more."""
        return self.strip.pump() | super().pump()

    def close(self) -> None:
        """Cancel the tab's tasks, and the upload of a file."""
        self.strip.cancel()
        super().close()
