"""The states of a study on a page: estimating its cost, ready for Run, running, done.

A study is estimated whenever its settings change. Its stored tasks are shown, and Run computes the rest. A study of
other settings that still runs stays in the picture, marked as outdated, until Run replaces it.
"""

import time
from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any

import panel_material_ui as pmui

from alrviz.errors import AlrvizError
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.widgets.study_estimate import PlannedStudy
from alrviz.stop import StopToken
from alrviz.studies.core.study import Study
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.core.style import safe
from alrviz.views.studies.study_view import StudyView

REST_SECONDS = 0.5  # a dragged value that has not moved for so long is written into the link
NO_TABLE = "<span class='quiet'>No table yet.</span>"
READING = "<span class='quiet'>Reading the table …</span>"
ESTIMATING = "<span class='quiet'>Estimating the cost …</span>"
ASKING = "<span class='quiet'>Earlier results are shown when the question is answered.</span>"
KEEP = "Continue when I close the page"


class StudyState(Enum):
    """The state of the study of the current settings.

    | state | Run | its result |
    |---|---|---|
    | IDLE | disabled: there is no table, or nothing that can be run | none |
    | ESTIMATING | a press is kept until the estimate is there | that of other settings, marked as outdated |
    | READY | starts it, or resumes what was stopped | its stored tasks |
    | RUNNING | disabled, Stop instead; it runs or queues | grows |
    | DONE | disabled | complete |
    """

    IDLE = "idle"
    ESTIMATING = "estimating"
    READY = "ready"
    RUNNING = "running"
    DONE = "done"


class StudyRunner:
    """See the module's text.

    Args:
        session: runs the study.
        tasks: run the estimate.
        on_change: called when the state, the costs or the study have changed.
        on_progress: called with the activity of the estimate as HTML, "" if it has failed.
        autorun_seconds: the first study starts if it is estimated to take no longer; None if it must not.

    Attributes:
        view: shows the study; set by the page when it is built.
        costs: of the study of the current settings; None until they are estimated.
        keep: whether the study continues when the page is closed.
    """

    view: StudyView

    def __init__(
        self,
        session: Session,
        tasks: PageTasks,
        on_change: Callable[[], None],
        on_progress: Callable[[str], None],
        autorun_seconds: float | None,
    ):
        self._session, self._tasks, self._on_change, self._on_progress = session, tasks, on_change, on_progress
        self._autorun_seconds = autorun_seconds
        self.costs: PlannedStudy | None = None
        self._settings: Hashable = None  # of the study in `costs`, or being estimated; None if there is none
        self._activity = ""
        self._awaits_table = False  # whether the view shows READING
        self.keep = pmui.Checkbox(label=KEEP, align="center", margin=(0, 0, 0, 8))
        self.keep.param.watch(lambda event: self._keep(bool(event.new)), "value")

    @property
    def state(self) -> StudyState:
        """The state of the study of the current settings."""
        if self.costs is None:
            return StudyState.IDLE if self._settings is None else StudyState.ESTIMATING
        if self.costs.study is None:
            return StudyState.IDLE
        phase = "" if self.current is None else self.current.phase
        return {"running": StudyState.RUNNING, "queued": StudyState.RUNNING, "done": StudyState.DONE}.get(
            phase, StudyState.READY
        )

    @property
    def current(self) -> Any:
        """The study shown if it is of the current settings; None otherwise."""
        return None if self.view.outdated else self.view.study

    def _show_state(self) -> None:
        """Enable or disable Run."""
        state = self.state
        if state is StudyState.IDLE:
            self.view.cancel_press()
        self.view.param.update(
            ready=state not in (StudyState.IDLE, StudyState.ESTIMATING), ready_soon=state is StudyState.ESTIMATING
        )

    # -- the estimate ----------------------------------------------------------------------------------------------

    def wait_for_table(self) -> None:
        """Keep a press of Run for the table that is being read."""
        if self.view.study is None:
            self._awaits_table, self.view.ready_soon = True, True
            self.view.tell(READING)

    def reset(self, sentence: str = "") -> None:
        """Forget the estimate, because there is no table. sentence: shown in place of the study."""
        self._settings = self.costs = None
        self._show_state()
        if sentence:
            self.view.tell(sentence)

    def estimate(self, settings: Hashable, work: Callable[[StopToken, Callable[[str], None]], PlannedStudy]) -> None:
        """Estimate the study of these settings on a thread, unless that is done or running."""
        view = self.view
        table_was_awaited, self._awaits_table = self._awaits_table, False
        if settings == self._settings:
            self._tasks.hide_error("study")
            if table_was_awaited:  # the table was not loaded: show the previous study again
                view.cancel_press()
                view.tell(ESTIMATING)
                self._show_state()
                if self.costs is not None:
                    self.show(self.costs)
            return
        if self._settings is not None:  # a press meant the previous settings, or waits for its table
            view.cancel_press()
        self._settings, self.costs = settings, None
        view.outdated = view.study is not None
        self._show_state()
        if view.study is None:
            view.tell(ESTIMATING)
        self._on_change()
        self._tasks.start(
            "study", lambda stop: work(stop, self._note_activity), self.show, self._fail,
            lambda: self._on_progress(f"<span class='quiet'>{safe(self._activity, 120)} …</span>"),
        )  # fmt: skip

    def _note_activity(self, activity: str) -> None:
        self._activity = activity

    def _fail(self, error: Exception) -> None:
        self.reset()
        self._on_progress("")
        if self.view.study is None:
            self.view.tell_none()
        self._tasks.show_error("study", error)

    def show(self, costs: PlannedStudy) -> None:
        """Show the study of the current settings: the one of this process or its stored tasks.

        A study of other settings that is under way stays in the picture.
        """
        self.costs, shown_study = costs, self.view.study
        is_running = shown_study is not None and shown_study.phase in ("running", "queued")
        if costs.study is not None:
            # The study of this process, if there is one.
            self._show_study(self._session.runs.find_study(costs.study) or costs.study, is_running)
        elif not is_running:
            self.view.watch(None)
            reasons = "; ".join(costs.refusals) or "nothing is chosen"
            self.view.tell_verdict(Verdict("Nothing to run with these settings.", f"{reasons.rstrip('.')}."))
        self._show_state()
        if costs.study is not None:
            self._press_waiting(costs.cost.seconds)
        self._autorun_seconds = None
        self._on_change()

    def _show_study(self, study: Study, is_running: bool) -> None:
        """Show a study, unless another one is under way (is_running) or a question has to be answered first."""
        view, session = self.view, self._session
        session.wake()  # the study may be running
        if session.runs.asking and not is_running and study.phase != "waiting":
            view.watch(None)
            view.tell(ASKING)
        elif not is_running or _is_same_study(study, view.study):
            view.outdated = False
            view.watch(study)
            if study.entry is not None:
                self.keep.value = study.entry.keep

    def _press_waiting(self, seconds: float) -> None:
        """Repeat a waiting press of Run, or run a study that is cheap enough; seconds: its cost."""
        view, study, limit = self.view, self.view.study, self._autorun_seconds
        if self._session.runs.asking:  # Run is free when the question is answered
            view.cancel_press()
        elif view.is_waiting:
            view.repeat_press()
        elif limit is not None and seconds <= limit and study is not None and study.phase == "waiting":
            view.press_run()

    def show_again(self) -> None:
        """Show the study after a lesson's question, which hid it, has been answered."""
        if self.costs is not None and self.view.study is None and not self._session.runs.asking:
            self.show(self.costs)

    # -- running ---------------------------------------------------------------------------------------------------

    def start(self) -> Study | None:
        """Hand the study to the registry; return it for Run to start, None if it cannot run."""
        if self.costs is None or self.costs.study is None:
            return None
        try:
            self._tasks.hide_error("study")
            study = self._session.runs.adopt_study(
                self.costs.study, bytes=self.costs.parallel_cost.bytes, threads=self.costs.n_jobs
            )
            study.entry.keep = self.keep.value
            return study
        except AlrvizError as error:
            self._tasks.show_error("study", error)
            return None

    def _keep(self, keep: bool) -> None:
        study = self.view.study
        if study is not None and study.entry is not None:  # None before the study is started
            study.entry.keep = keep

    def pump(self) -> bool:
        """Follow the study; returns whether there may be more."""
        was_drawn = self.view.drawn_state
        has_work = self.view.pump()
        if self.view.drawn_state != was_drawn:
            self._on_change()
        return has_work


def _is_same_study(study: Study, other: Study | None) -> bool:
    return other is not None and study.spec == other.spec and study.data_hash == other.data_hash


class DraggedValue:
    """A value that is dragged on a picture, and written into the link when it rests.

    Every change of the link is an entry in the browser's history. Session and view have parameters of the same name.
    """

    def __init__(self, session: Session, view: StudyView, name: str):
        self._session, self._view, self._name = session, view, name
        self._moved_at = 0.0
        self.moving = False

    def move(self, *_: object) -> None:
        """Note the time of a move."""
        self._moved_at = time.monotonic()

    def write(self) -> bool:
        """Write the value if it rests; return whether it is still moving."""
        value = getattr(self._view, self._name)
        if value == self._view.param[self._name].default:
            value = getattr(State(), self._name)
        has_changed = value != getattr(self._session, self._name)
        self.moving = has_changed and time.monotonic() - self._moved_at < REST_SECONDS
        if has_changed and not self.moving:
            self._session.param.update({self._name: value})
        return self.moving
