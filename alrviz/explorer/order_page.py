"""The page "Which order?": the same cross-validation for orders 0 to 3, one sentence, and a way to use the answer.

What is set is a study, whether it runs or not: it is priced, the cells of it that are kept are shown, and Run goes on
with the rest. While a study of other settings still runs it stays in the picture, marked as outdated.
"""

from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.errors import AlrvizError
from alrviz.explorer.convergence_dialogs import ScriptDialog, text_button
from alrviz.explorer.convergence_words import rich
from alrviz.explorer.jobs import Jobs
from alrviz.explorer.look import CARD, PANE_CSS
from alrviz.explorer.order_choice import FAMILIES, FIRST, FIRST_FOLDS, FOLDS, Asked, Known, learn, racers_of
from alrviz.explorer.order_controls import OrderControls
from alrviz.explorer.order_words import ABOUT, WAITING, price_html, script, time_html
from alrviz.explorer.session import Session
from alrviz.views.folded import Folded
from alrviz.views.order_study import OrderStudyView
from alrviz.views.panes import say

USE = "race this order on the page Convergence"
PYTHON = "Python: copy this study as a script whose numbers are the screen's"


class OrderPage:
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Which order?", "stairs", "Judge", "order"

    def __init__(self, session: Session):
        self.session = session
        self.jobs = Jobs(session)
        given = session.judged[0] if session.judged and session.judged[0].family in FAMILIES else FIRST
        self.asked = Asked(given, session.folds if session.folds in FOLDS else FIRST_FOLDS)
        self.known: Known | None = None
        self._sought: Any = None  # what `known` is, or will be, about
        self._doing = ""

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Any:
        """Build the page."""
        session = self.session
        self.study_view = OrderStudyView(again=self.begin, wake=session.wake, dark=session.dark, ready=False)
        self.controls = OrderControls(session, self._changed, self.jobs.failed)
        self.use = pmui.Button(
            label="Use it", icon="show_chart", variant="contained", margin=(0, 8, 0, 0), visible=False
        )
        self.use.on_click(lambda _: self.use_it())
        self.python = text_button("Python", "code", PYTHON)
        self.python.on_click(lambda _: self._show_script())
        self.time = pn.pane.HTML("", stylesheets=[PANE_CSS], align="center", margin=(0, 4))
        self.prices = pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=(8, 0, 0, 0))
        self.study_view.aside[:] = [self.prices]
        self._dialog = ScriptDialog()
        self.study_view.bar.panel.insert(2, self.use)
        told = pn.Row(self.time, self.python, margin=0, styles={"margin-left": "auto"})
        top = pn.FlexBox(
            *self.controls.parts, told, align_items="center", gap="4px 0", margin=(0, 0, 8, 0),
            sizing_mode="stretch_width",
        )  # fmt: skip
        text = pn.pane.HTML(rich(ABOUT), stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0)
        card = pn.Column(self.study_view, styles=CARD, sizing_mode="stretch_width", margin=0)
        session.param.watch(lambda _: self._ground_changed(), "dark")
        session.param.watch(lambda *_: self._ask(), ["dataset", "loading"])
        self._ask()
        folded = Folded("What am I looking at?", text)
        return pn.Column(top, card, folded, self._dialog.place, sizing_mode="stretch_width", margin=0)

    def drawer(self) -> Any:
        """Return nothing: all there is to set is in the first row."""

    def _ground_changed(self) -> None:
        self.study_view.dark = self.session.dark

    # ---- what is asked -----------------------------------------------------------------------------------------

    def _changed(self, asked: Asked) -> None:
        self.asked = asked
        self.session.param.update(
            judged=() if asked.recipe == FIRST else (asked.recipe,),
            folds="" if asked.folds == FIRST_FOLDS else asked.folds,
        )
        self._ask()

    def _ask(self) -> None:
        """Learn what is known of what is set, unless that is known or on its way; not behind another page."""
        session, asked, dataset = self.session, self.asked, self.session.dataset
        self.controls.show(asked)
        if session.page != self.slug or session.loading is not None:
            return
        if dataset is None:
            say(self.prices, WAITING)
            return
        seed, owner, limits = session.seed, session.owner, session.registry.limits
        sought = (dataset.hash, asked, seed)
        if sought == self._sought:
            return
        self._sought, self.known = sought, None
        self.study_view.param.update(ready=False, outdated=self.study_view.study is not None)
        self._show_use()
        self.jobs.start(
            "study",
            lambda stop: learn(dataset, asked, seed, owner, limits.threads or 10**6, stop, self._tell),
            self._learned, self._failed, lambda: say(self.time, f"<span class='quiet'>{self._doing} …</span>"),
        )  # fmt: skip

    def _tell(self, doing: str) -> None:
        self._doing = doing

    def _failed(self, error: Exception) -> None:
        self._sought = None
        say(self.time, "")
        self.jobs.failed(error)

    def _learned(self, known: Known) -> None:
        """Show the study that is set, that of this process or what is kept of it, unless another is under way."""
        self.known = known
        say(self.prices, price_html(known))
        say(self.time, "" if known.study is None else time_html(known))
        if known.study is None:
            return
        view = self.study_view
        found = self.session.find_study(known.study)
        shown = view.study
        busy = shown is not None and shown.phase in ("running", "queued")
        if not busy or (found is not None and found.spec == shown.spec and found.data_hash == shown.data_hash):
            view.outdated = False
            view.show(found if found is not None else known.study)
        view.ready = True
        self._show_use()

    # ---- running -----------------------------------------------------------------------------------------------

    def begin(self) -> Any:
        """The study that Run starts or goes on with, given to the registry; None where there is none."""
        session, known = self.session, self.known
        if known is None or known.study is None:
            return None
        try:
            return session.adopt_study(known.study, bytes=known.bytes, threads=known.n_jobs)
        except AlrvizError as error:
            session.problem = error
            return None

    def use_it(self) -> None:
        """Race the verdict's order on the page Convergence."""
        racers = racers_of(self.study_view.study, self.session.seed)
        if racers:
            self.session.go("convergence", race=True, recipes=racers)

    def _show_use(self) -> None:
        view = self.study_view
        order = None if view.verdict is None or view.outdated else view.verdict.order
        label = f"Use n = {order}" if order else "Use it"
        if (self.use.visible, self.use.label) != (bool(order), label):
            # What a button is called begins with what is written on it.
            self.use.param.update(visible=bool(order), label=label, description=f"{label}: {USE}")

    def _show_script(self) -> None:
        if self.known is not None:
            self._dialog.show(script(self.session, self.known, __version__))

    # ---- the shell's calls -------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        waiting = self.jobs.poll()
        seen = self.study_view.drawn
        moving = self.study_view.pump()
        if self.study_view.drawn != seen:
            self._show_use()
        return moving or waiting

    def on_shown(self) -> None:
        """Turn to what came meanwhile."""
        self._ask()

    def on_hidden(self) -> None:
        """A study goes on while its page is behind another."""

    def close(self) -> None:
        """End the threads' work; the study is the registry's."""
        self.jobs.close()
