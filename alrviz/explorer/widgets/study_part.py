"""What every page of a study does, and a tab of one: it learns what its settings cost and what of them is kept, shows
the study of them, and gives it to the registry when Run is pressed.

What is set is a study, whether it runs or not: it is priced, the cells of it that are kept are shown, and Run goes on
with the rest. While a study of other settings still runs it stays in the picture, marked as outdated.
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Protocol

import panel as pn
import panel_material_ui as pmui

from alrviz.errors import AlrvizError
from alrviz.explorer.session.jobs import Jobs
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.explorer.widgets.dialogs import ScriptDialog, text_button
from alrviz.stop import StopToken
from alrviz.views.core.panes import say
from alrviz.views.core.style import safe
from alrviz.views.studies.study_view import StudyView

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

WAITING = "<span class='quiet'>No table yet.</span>"
KEEP = "Continue when I close the page"
PYTHON = "Python: copy this study as a script whose numbers are the screen's"


class Known(Protocol):
    """What is known of a study before it runs: the study, or None where nothing is left of it; bytes and processes."""

    @property
    def study(self) -> Any:
        """The study, waiting, with the cells that are kept."""

    @property
    def bytes(self) -> int:
        """What all workers take together."""

    @property
    def n_jobs(self) -> int:
        """Processes."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know of the table before it runs: columns that are lost, rows that repeat."""


class StudyPart:
    """See the module's text; a deriving class says what is asked, and what is said of it.

    Args:
        session: the visitor's.
        page: slug of the page it is on.
    """

    study_view: StudyView

    def __init__(self, session: Session, page: str):
        self.session, self._page = session, page
        self.jobs = Jobs(session)
        self.known: Any = None
        self._sought: Any = None  # what `known` is, or will be, about
        self._doing = ""
        self.time = pn.pane.HTML("", stylesheets=[PANE_CSS], align="center", margin=(0, 4))
        self.prices = pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=(8, 0, 0, 0))
        self.note = pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0, visible=False)
        self._cuts = session.cuts
        self.python = text_button("Python", "code", PYTHON)
        self.python.on_click(lambda _: self._show_script())
        self.dialog = ScriptDialog()
        # A page that has room for it puts it into the row of Run.
        self.keep = pmui.Checkbox(label=KEEP, align="center", margin=(0, 0, 0, 8))
        self.keep.param.watch(lambda event: self._kept(bool(event.new)), "value")

    # -- what a deriving class says ------------------------------------------------------------------------------------

    def settings(self) -> Hashable:
        """Return what is set: equal settings are the same study on the same table."""
        raise NotImplementedError

    def sought(self, dataset: "Dataset") -> Hashable:
        """Return what a study of these settings is about: another one is learned about anew."""
        return dataset.hash, self.settings(), self.session.seed

    def work(self, dataset: "Dataset") -> Callable[[StopToken], Known]:
        """Return what learns what is known of the settings, to be called on a thread; it may call `tell`."""
        raise NotImplementedError

    def show_settings(self) -> None:
        """Let the controls show what is set."""
        raise NotImplementedError

    def told(self, known: Any) -> tuple[str, str]:
        """Return the line of what it takes, and the table of prices, as HTML."""
        raise NotImplementedError

    def script(self, known: Any) -> str:
        """Return the script of "copy as Python"."""
        raise NotImplementedError

    def recut(self, slug: str) -> None:
        """Cut numbers so in every recipe that is set, and ask anew."""
        raise NotImplementedError

    def choose_cuts(self, slug: str) -> None:
        """Cut numbers so here, and from now on on every page."""
        if self.session.cuts == slug:  # recipes that were cut each in its own way
            self.recut(slug)
        else:
            self.session.cuts = slug

    def learned(self) -> None:
        """What is known, or shown, has changed."""

    @property
    def front(self) -> bool:
        """Whether it is what the visitor sees."""
        return self.session.page == self._page

    # -- what is asked -------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Follow the session from now on: to be called once, when the view is there."""
        self.session.param.watch(lambda _: self.ground_changed(), "dark")
        self.session.param.watch(lambda *_: self.ask(), ["dataset", "loading", "cuts"])
        self.ask()

    def ground_changed(self) -> None:
        """Show it on another ground."""
        self.study_view.dark = self.session.dark

    def ask(self) -> None:
        """Learn what is known of what is set, unless that is known or on its way; not while it is not seen."""
        session, dataset = self.session, self.session.dataset
        seen = self.front and session.loading is None
        # Before anything is shown: a menu that goes back and forth while its press is handled stays wrong on the page.
        if seen and session.cuts != self._cuts:  # set here or on another page
            self._cuts = session.cuts
            self.recut(session.cuts)
            return
        self.show_settings()
        if not seen:
            return
        if dataset is None:
            self.without_table()
        else:
            self.seek(self.sought(dataset), self.work(dataset))

    def without_table(self) -> None:
        """What is done while the session has no table."""
        say(self.prices, WAITING)

    def seek(self, sought: Hashable, work: Callable[[StopToken], Known]) -> None:
        """Learn on a thread what is known of what is sought, unless that is known or on its way."""
        if sought == self._sought:
            self.jobs.withdraw("study")
            return
        self._sought, self.known = sought, None
        self.study_view.param.update(ready=False, outdated=self.study_view.study is not None)
        self.learned()
        self.jobs.start(
            "study", work, self._learned, self._failed,
            lambda: say(self.time, f"<span class='quiet'>{safe(self._doing, 120)} …</span>"),
        )  # fmt: skip

    def tell(self, doing: str) -> None:
        """Say what the thread is at."""
        self._doing = doing

    def _failed(self, error: Exception) -> None:
        self._sought = None
        say(self.time, "")
        self.jobs.failed("study", error)

    def _learned(self, known: Known) -> None:
        """Show the study that is set, that of this process or what is kept of it, unless another is under way."""
        self.known = known
        line, table = self.told(known)
        remarks = [f"{safe(words[:1].upper() + words[1:], 600)}." for words in known.remarks]
        self.note.param.update(object=f"<p class='quiet'>{' '.join(remarks)}</p>", visible=bool(remarks))
        say(self.time, line)
        say(self.prices, table)
        if known.study is None:
            self.learned()
            return
        view = self.study_view
        found = self.session.find_study(known.study)
        shown = view.study
        busy = shown is not None and shown.phase in ("running", "queued")
        if not busy or (found is not None and found.spec == shown.spec and found.data_hash == shown.data_hash):
            view.outdated = False
            view.watch(found if found is not None else known.study)
            if found is not None:
                self.keep.value = found.entry.keep
        view.ready = True
        self.learned()

    # -- running -------------------------------------------------------------------------------------------------------

    def begin(self) -> Any:
        """The study that Run starts or goes on with, given to the registry; None where there is none."""
        session, known = self.session, self.known
        if known is None or known.study is None:
            return None
        try:
            self.jobs.withdraw("study")
            study = session.adopt_study(known.study, bytes=known.bytes, threads=known.n_jobs)
            study.entry.keep = self.keep.value
            return study
        except AlrvizError as error:
            self.jobs.failed("study", error)
            return None

    def _kept(self, keep: bool) -> None:
        """Let the study shown go on, or not, when nobody looks at it."""
        entry = getattr(self.study_view.study, "entry", None)  # none before it is begun
        if entry is not None:
            entry.keep = keep

    def _show_script(self) -> None:
        if self.known is not None:
            self.dialog.show(self.script(self.known))

    # -- the shell's calls ---------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        waiting = self.jobs.poll()
        seen = self.study_view.drawn
        moving = self.study_view.pump()
        if self.study_view.drawn != seen:
            self.learned()
        return moving or waiting

    def on_shown(self) -> None:
        """Turn to what came meanwhile."""
        self.ask()

    def on_hidden(self) -> None:
        """A study goes on while its page is behind another."""

    def close(self) -> None:
        """End the threads' work; the study is the registry's."""
        self.jobs.close()
