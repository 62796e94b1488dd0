"""Base class of study views: run, stop, resume, retry failed fits, and redraw as results arrive.

A view of one kind of study derives from `StudyView` and draws it. It computes nothing: all numbers come from the study.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui
import param

from alrviz.errors import capitalize, for_page
from alrviz.pictures.formatting import duration_text
from alrviz.studies.core.export import caption, study_csv, study_provenance
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, NumberAxes, picture_buttons
from alrviz.views.core.notebook import NotebookViewer
from alrviz.views.core.panes import fade, html, say
from alrviz.views.core.saving import Origin
from alrviz.views.core.style import CSS, ICONS, safe, verdict_html
from alrviz.views.core.transport import change, key_button

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

TICK_MS = 100
TICKS_PER_REFRESH = 5  # while the study runs
REST_PER_DRAW_SECOND = 10  # pause after drawing, so that large pictures do not block the page
_RUN_HINT = "Run (space)"
_RESUME_HINT = "Resume: finished fits are kept (space)"
_WAITS_HTML = "<p class='quiet'>It runs as soon as its cost is known.</p>"
_BAR = """
.bar { height: 8px; border-radius: 4px; background: var(--alrviz-line, rgba(128,128,128,.3)); overflow: hidden; }
.bar b { display: block; height: 8px; background: var(--alrviz-accent, #4a4896); }
.row { display: grid; grid-template-columns: 1fr max-content; gap: 0 12px; align-items: center; }
"""


class StudyBar:
    """Row under a study's pictures: buttons to run or resume, stop and retry, and the progress."""

    def __init__(self, view: "StudyView"):
        self._view, run_params = view, {"variant": "contained", "width": 128}
        self.run = key_button("Run", "play_arrow", "space", _RUN_HINT, view.press_run, **run_params)
        self.stop = key_button("Stop", "stop", "s", "Stop (s)", view.press_stop)
        self.retry = pmui.Button(
            label="Retry failed", icon="refresh", variant="outlined", margin=(0, 8, 0, 0), stylesheets=[ICONS]
        )
        self.retry.visible = False
        self.retry.on_click(lambda _: view.press_retry())
        self.progress = pn.pane.HTML(
            "", stylesheets=[CSS + _BAR], sizing_mode="stretch_width", align="center", margin=0, min_width=240,
            css_classes=["alrviz-wide"],
        )  # fmt: skip
        self.panel = pn.Row(self.run, self.stop, self.retry, self.progress, sizing_mode="stretch_width", margin=0)
        self.panel.css_classes = ["alrviz-run", "alrviz-fits"]

    def show(self) -> None:
        """Update the row; only differences are sent to the browser."""
        view, study = self._view, self._view.study
        phase = "waiting" if study is None else study.phase
        under_way = phase in ("running", "queued")
        may_run = (view.ready or view.ready_soon) and (study or view.rerun) is not None and not view.is_waiting
        has_run = not view.outdated and (under_way or phase == "done")
        label, hint = ("Run", _RUN_HINT)
        if phase in ("stopped", "failed") and not view.outdated:
            label, hint = ("Resume", _RESUME_HINT)
        change(self.run, label=label, description=hint, disabled=not may_run or has_run)
        change(self.stop, disabled=not (under_way or view.is_waiting))
        has_failures = study is not None and study.progress.failed > 0
        change(self.retry, visible=has_failures and not under_way and not view.outdated)
        progress = "" if study is None else progress_html(study, view.outdated)
        say(self.progress, _WAITS_HTML if view.is_waiting else progress)


def progress_html(study: "Study", outdated: bool = False) -> str:
    """Return the progress of a study as a bar and text; outdated: whether settings have changed since."""
    progress = study.progress
    done_share = progress.n_done / max(progress.total, 1)
    progress_text = safe(progress_words(study))
    if outdated:
        progress_text = f"outdated: settings have changed · {progress_text}"
    progress_attributes = f"role='progressbar' aria-label='Fits done' aria-valuenow='{100 * done_share:.0f}'"
    bar_html = f"<div class='bar' {progress_attributes}><b style='width:{100 * done_share:.1f}%'></b></div>"
    return f"<div class='row'>{bar_html}<p>{progress_text}</p></div>"


def progress_words(study: "Study") -> str:
    """Return the progress of a study as a text, such as "12 of 40 fits · about 10 s left", or how it ended; also failed
    fits and the server's message.
    """
    progress, phase = study.progress, study.phase
    unit = "curves" if study.kind == "path" else "fits"  # a path is one task of many fits
    texts = [f"{progress.n_done:,} of {progress.total:,} {unit}"]
    if phase == "running":
        texts.append(
            "computing" if progress.seconds_left is None else f"about {duration_text(progress.seconds_left)} left"
        )
    elif phase == "stopped":
        texts.append("stopped; finished fits are kept")
    elif phase == "failed":
        texts.append(f"ended by an error: {study.error}")
    elif phase == "done":
        texts.append("done")
    if progress.failed:
        texts.append(f"{progress.failed:,} failed")
    entry = study.entry
    server_text = study.problem if entry is None else entry.activity or entry.note or study.problem
    return " · ".join([*texts, server_text] if server_text else texts)


def folds_verdict(study: "Study", verdict: Verdict, lines: Any) -> Verdict:
    """Return the verdict of a study of test folds; while it runs, its detail begins with the number of folds so far.

    lines: the study's summary.
    """
    if study.phase == "done":
        return verdict
    n_folds, n_complete = len({task.split for task in study.tasks}), int(lines.folds.iloc[0]) if len(lines) else 0
    if n_complete < 2:
        verb = "is" if n_complete == 1 else "are"
        return Verdict(f"{n_complete} of {n_folds} folds {verb} complete; a verdict needs two.")
    return Verdict(verdict.headline, f"So far, after {n_complete} of {n_folds} folds. {verdict.detail}")


def notes_html(notes: Sequence[str]) -> str:
    """Return the notes that qualify a verdict as a paragraph in small type."""
    sentences = " ".join(f"{safe(capitalize(note), 400)}." for note in map(for_page, notes))
    return f"<p class='detail'>{sentences}</p>" if sentences else ""


class StudyView(NotebookViewer):
    """View of a study; a derived class builds and draws it (`_build`, `_draw`).

    Args:
        study: a `Study`, such as `alrviz.compare` returns.
        height: CSS height of its picture, a tuple for several; default `HEIGHT`.
        rerun: called when Run is pressed; returns the study to run or resume, or None. By default the study shown.
        wake: called when the study starts or resumes, by a page that then calls `pump` periodically; by default the
            view has its own periodic callback.
    """

    outdated = param.Boolean(default=False, doc="Whether settings have changed since the study was made.")
    ready = param.Boolean(default=True, doc="Whether Run is enabled.")
    ready_soon = param.Boolean(default=False, doc="Whether Run will be enabled soon; a press then waits.")

    def __init__(
        self,
        study: "Study | None" = None,
        *,
        height: Any = None,
        rerun: "Callable[[], Study | None] | None" = None,
        wake: Callable[[], None] | None = None,
        **params: Any,
    ):
        super().__init__(**params)
        self.study = study
        self._height = height or self.HEIGHT
        self.rerun = rerun
        self._wake = wake or self._make_pump(self.pump, TICK_MS)
        self.is_waiting = False  # whether Run was pressed before it was ready
        self.drawn_state: Any = None  # phase and number of results in the pictures
        self.lines: Any = None  # summary of the study in the pictures
        self._ticks = 0
        self._rest_until = 0.0
        self.bar = StudyBar(self)
        min_height, margin = self.SENTENCE
        self.sentence = html(min_height=min_height, margin=(0, 0, margin, 0))
        self._build()
        self.param.watch(lambda *_: self.refresh(), ["outdated", "ready", "ready_soon"])
        self.param.watch(lambda _: self.redraw(), "dark")
        self.refresh()

    # -- defined by a derived class ------------------------------------------------------------------------------------

    HEIGHT: Any  # default of `height`
    SENTENCE = (28, 8)  # minimum height of the sentence and margin below it, in px
    body: Any  # the pictures and their controls
    _numbers: Numbers  # save buttons and table
    layout: Any  # sentence, body, numbers and `bar.panel`
    aside: Any = None  # column for a page's table of costs; if None, the page folds the table below the view

    @property
    def axes(self) -> NumberAxes | None:
        """Columns on the axes of the picture, if it has numeric axes on which lessons can mark predictions."""
        return None

    def _build(self) -> None:
        """Create `body`, `_numbers` and `layout`; called once."""
        raise NotImplementedError

    def _draw(self, study: Any) -> None:
        """Draw a study from its summary `lines`, which may have neither rows nor columns yet.

        While the study waits, `tell` should announce "Press Run: " and what will be computed.
        """
        raise NotImplementedError

    def show_no_study(self) -> None:
        """Show the state without a study."""
        self.body.visible = False
        self.tell_none()

    def _fold_numbers(
        self, files: Sequence[Any], pictures: Mapping[str, LiveFigure], table: Callable[[Any], str]
    ) -> Numbers:
        """Return the folded numbers: buttons for files and pictures, and the table that `table` makes of a study."""
        save_buttons = [*files, *picture_buttons(pictures, self.origin)]
        return Numbers(save_buttons, lambda: "" if self.study is None else table(self.study))

    def csv_of_fits(self) -> str:
        """Return every fit of the study as a CSV."""
        return "" if self.study is None else study_csv(self.study)

    def csv_of_summary(self) -> str:
        """Return the study's summary as a CSV."""
        return "" if self.study is None else study_csv(self.study, self.study.summary())

    def tell(self, text: str) -> None:
        """Show text (HTML) as the sentence above the picture."""
        say(self.sentence, f"<div class='sentence'>{text}</div>")

    def tell_verdict(self, verdict: Verdict, notes: str = "") -> None:
        """Show a verdict above the picture, and below it notes (HTML)."""
        say(self.sentence, verdict_html(verdict) + notes)

    def tell_none(self) -> None:
        """Say that there is no study yet."""
        self.tell("<span class='quiet'>No study yet.</span>")

    def origin(self, subject: str) -> Origin:
        """Return title and provenance of a saved picture of `subject`."""
        study = self.study
        if study is None:
            return Origin(f"{type(self).__name__.removesuffix('View')}: {subject}")
        return Origin(f"{', '.join(study.names)}: {subject}", caption(study_provenance(study), study.recipes))

    # -- the study -----------------------------------------------------------------------------------------------------

    def watch(self, study: "Study | None") -> None:
        """Show a study as far as it has computed, and follow it; None shows none."""
        self.study = study
        self.redraw()
        self._wake()

    def press_run(self) -> None:
        """Run or resume; if Run is ready soon, the press waits for `repeat_press`."""
        if self.ready_soon and not self.ready:
            self.is_waiting = True
            self.refresh()
            return
        self.is_waiting = False
        study = self.study if self.rerun is None else self.rerun()
        if study is not None:
            self.study, self.outdated = study, False
            study.control.start()
            self.redraw()
            self._wake()

    def press_stop(self) -> None:
        """Stop the study, or cancel a waiting press."""
        if self.is_waiting:
            self.cancel_press()
            return
        if self.study is not None:
            self.study.control.stop()
            self.refresh()

    def repeat_press(self) -> None:
        """Repeat a waiting press of Run."""
        if self.is_waiting:
            self.press_run()

    def cancel_press(self) -> None:
        """Cancel a waiting press of Run."""
        if self.is_waiting:
            self.is_waiting = False
            self.refresh()

    def press_retry(self) -> None:
        """Compute failed fits again."""
        if self.study is not None and self.study.phase not in ("running", "queued"):
            self.study.redo()
            self.redraw()
            self._wake()

    # -- updates -------------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Show new results; return whether there may be more."""
        self._ticks += 1
        is_running = self.study is not None and self.study.phase in ("running", "queued")
        if not is_running or self._ticks % TICKS_PER_REFRESH == 1:
            self.refresh()
        return is_running

    def settle(self) -> None:
        """Show everything computed so far."""
        self._rest_until = 0.0
        self.refresh()

    def redraw(self) -> None:
        """Draw the study again, even if it has not changed."""
        self.drawn_state, self._rest_until = None, 0.0
        self.refresh()

    def refresh(self) -> None:
        """Update everything; the pictures only if there are new results."""
        study = self.study
        with pn.io.hold():
            self.bar.show()
            fade(self.outdated, self.sentence, self.body)  # even while drawing pauses
            state = (None if study is None else (study.phase, study.progress.n_done), self.outdated)
            start_time = time.monotonic()
            is_resting = start_time < self._rest_until and study is not None and study.phase == "running"
            if state != self.drawn_state and not is_resting:
                self.drawn_state = state
                self.lines = None if study is None else study.summary()
                if study is None:
                    self.show_no_study()
                else:
                    self.body.visible = True
                    self._draw(study)
                    self._numbers.refresh()
                self._rest_until = time.monotonic() + REST_PER_DRAW_SECOND * (time.monotonic() - start_time)
