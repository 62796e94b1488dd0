"""What every view of a study does: run, stop, go on, redo, and look after what has come.

A view of one kind of study derives from `StudyView` and says what is drawn. It computes nothing: figures are the
study's own, and it is drawn anew only when there are more of them.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui
import param

from alrviz.errors import for_page
from alrviz.pictures.formatting import duration_text
from alrviz.studies.core.export import caption, study_csv, study_provenance
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, NumberAxes, picture_buttons
from alrviz.views.core.notebook import NotebookViewer
from alrviz.views.core.panes import fade, html, say
from alrviz.views.core.saving import Origin
from alrviz.views.core.style import CSS, ICONS, safe
from alrviz.views.core.transport import change, key_button

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

TICK = 100  # ms
SLOW = 5  # ticks between two pictures while cells come fast
# Times what a picture took: so long the next one waits while cells come, or large tables would hold the page.
REST = 10
_RUN = "Run (space)"
_RESUME = "Resume: what is finished is kept (space)"
_WAITS = "<p class='quiet'>It runs as soon as its cost is known.</p>"
_BAR = """
.bar { height: 8px; border-radius: 4px; background: var(--alrviz-line, rgba(128,128,128,.3)); overflow: hidden; }
.bar b { display: block; height: 8px; background: var(--alrviz-accent, #4a4896); }
.row { display: grid; grid-template-columns: 1fr max-content; gap: 0 12px; align-items: center; }
"""


class StudyBar:
    """The row under a study's pictures: run or resume, stop, how far it is, and what failed.

    The buttons carry the CSS classes by which a page's keyboard finds them (space, s).

    Args:
        run, stop, redo: called when pressed.
    """

    def __init__(self, run: Callable[[], None], stop: Callable[[], None], redo: Callable[[], None]):
        self.run = key_button("Run", "play_arrow", "space", _RUN, run, variant="contained", width=128)
        self.stop = key_button("Stop", "stop", "s", "Stop (s)", stop)
        self.redo = pmui.Button(
            label="Retry failed", icon="refresh", variant="outlined", margin=(0, 8, 0, 0), stylesheets=[ICONS]
        )
        self.redo.visible = False
        self.redo.on_click(lambda _: redo())
        self.told = pn.pane.HTML(
            "", stylesheets=[CSS + _BAR], sizing_mode="stretch_width", align="center", margin=0,
            css_classes=["alrviz-wide"],
        )  # fmt: skip
        self.panel = pn.Row(self.run, self.stop, self.redo, self.told, sizing_mode="stretch_width", margin=0)
        self.panel.css_classes = ["alrviz-run"]

    def show(self, study: "Study | None", *, outdated: bool, may_run: bool, waits: bool = False) -> None:
        """Bring the row up to date; only what differs reaches the browser."""
        phase = "waiting" if study is None else study.phase
        under_way = phase in ("running", "queued")
        resumes = not outdated and phase in ("stopped", "failed")
        done = not outdated and phase == "done"
        label, hint = ("Resume", _RESUME) if resumes else ("Run", _RUN)
        disabled = not may_run or waits or (not outdated and under_way) or done
        change(self.run, label=label, description=hint, disabled=disabled)
        change(self.stop, disabled=not under_way and not waits)
        failed = 0 if study is None else study.progress.failed
        change(self.redo, visible=bool(failed) and not under_way and not outdated)
        progress = "" if study is None else progress_html(study, outdated)
        say(self.told, _WAITS if waits else progress)


def progress_html(study: "Study", outdated: bool = False) -> str:
    """How far a study is, in a bar and in words."""
    progress = study.progress
    share = progress.done / max(progress.total, 1)
    words = safe(progress_words(study))
    if outdated:
        words = f"outdated: settings have changed · {words}"
    label = f"role='progressbar' aria-label='Fits done' aria-valuenow='{100 * share:.0f}'"
    bar = f"<div class='bar' {label}><b style='width:{100 * share:.1f}%'></b></div>"
    return f"<div class='row'>{bar}<p>{words}</p></div>"


def progress_words(study: "Study") -> str:
    """How far a study is: "12 of 40 fits · about 10 s left"."""
    progress, phase = study.progress, study.phase
    words = [f"{progress.done:,} of {progress.total:,} fits"]
    if phase == "running":
        words.append(
            "computing" if progress.seconds_left is None else f"about {duration_text(progress.seconds_left)} left"
        )
    elif phase == "stopped":
        words.append("stopped; what is finished is kept")
    elif phase == "failed":
        words.append(f"ended by an error: {study.error}")
    elif phase == "done":
        words.append("done")
    if progress.failed:
        words.append(f"{progress.failed:,} failed")
    entry = study.entry
    server = study.problem if entry is None else entry.activity or entry.note or study.problem
    return " · ".join([*words, server] if server else words)


def folds_html(study: "Study", verdict: str, lines: Any) -> str:
    """What a study of test folds has found, and how many of them that rests on while it is not all."""
    words = safe(f"{verdict}.", 900).replace("n = ", "n&nbsp;=&nbsp;")
    if study.phase == "done":
        return words if words.startswith("n&nbsp;") else words[:1].upper() + words[1:]
    total, complete = len({task.split for task in study.tasks}), int(lines.folds.iloc[0]) if len(lines) else 0
    if complete < 2:
        return f"<span class='quiet'>{complete} of {total} folds: a sentence needs two.</span>"
    return f"<span class='quiet'>After {complete} of {total} folds:</span> {words}"


def notes_html(notes: Sequence[str]) -> str:
    """What a verdict stands on, in one quiet line."""
    sentences = " ".join(f"{safe(note[:1].upper() + note[1:], 400)}." for note in map(for_page, notes))
    return f"<div class='quiet' style='font-size:15px'>{sentences}</div>" if sentences else ""


class StudyView(NotebookViewer):
    """The frame of a study's view; a deriving class says what is drawn (`_build`, `_draw`) and how it is laid out.

    Args:
        study: what a function of the studies returned.
        height: of its picture, as CSS has it, of several a tuple; without it `HEIGHT`.
        again: called when Run is pressed; returns the study to run or to go on with, or None. Without it that is the
            study shown.
        wake: called when something begins to move, by a page that calls `pump` itself from then on; without it the view
            has a periodic callback of its own.
    """

    outdated = param.Boolean(default=False, doc="Whether settings have changed since the study shown.")
    ready = param.Boolean(default=True, doc="Whether Run may be pressed.")
    coming = param.Boolean(default=False, doc="Whether Run will be ready soon: a press is kept until then.")

    def __init__(
        self,
        study: "Study | None" = None,
        *,
        height: Any = None,
        again: "Callable[[], Study | None] | None" = None,
        wake: Callable[[], None] | None = None,
        **params: Any,
    ):
        super().__init__(**params)
        self.study = study
        self._height = height or self.HEIGHT
        self._again = again
        self._wake = wake or self._pumped(self.pump, TICK)
        self.waits = False  # whether Run was pressed before it was ready
        self.drawn: Any = None  # what the pictures show: phase and cells done
        self.lines: Any = None  # the summary of the study, as it was drawn last
        self._ticks = 0
        self._rest_until = 0.0
        self.bar = StudyBar(self.press_run, self.press_stop, self.press_redo)
        room, below = self.SENTENCE
        self.sentence = html(min_height=room, margin=(0, 0, below, 0))  # what the study says
        self._build()
        self.param.watch(lambda *_: self.refresh(), ["outdated", "ready", "coming"])
        self.param.watch(lambda _: self.redraw(), "dark")
        self.refresh()

    # -- what a deriving class says ------------------------------------------------------------------------------------

    HEIGHT: Any  # as `height` has it
    SENTENCE = (28, 8)  # px that the sentence has at least, and below it
    body: Any  # the pictures and what belongs to them
    _numbers: Numbers  # the buttons that save, and the table
    layout: Any  # sentence, body, numbers and `bar.panel`
    aside: Any = None  # the column in which a page puts its table of costs; None: it folds that below the view

    @property
    def axes(self) -> NumberAxes | None:
        """What stands along and up in the picture, if its axes are numbers: lessons draw answers on it."""
        return None

    def _build(self) -> None:
        """Make the panes, `body`, `_numbers` and `layout`, once."""
        raise NotImplementedError

    def _draw(self, study: Any) -> None:
        """Show what there is of a study, whose summary is `lines`; it may have no rows yet, and then no columns.

        While the study waits, `tell` says "Press Run: " and what will be computed.
        """
        raise NotImplementedError

    def _empty(self) -> None:
        """Show that there is no study."""
        self.body.visible = False
        self.tell_none()

    def _fold_numbers(
        self, files: Sequence[Any], pictures: Mapping[str, LiveFigure], table: Callable[[Any], str]
    ) -> Numbers:
        """Return the folded numbers: buttons that save files and pictures, and the table that is made of a study."""
        saves = [*files, *picture_buttons(pictures, self.origin)]
        return Numbers(saves, lambda: "" if self.study is None else table(self.study))

    def csv_of_fits(self) -> str:
        """Return every fit of the study as a CSV."""
        return "" if self.study is None else study_csv(self.study)

    def csv_of_summary(self) -> str:
        """Return the study's summary as a CSV."""
        return "" if self.study is None else study_csv(self.study, self.study.summary())

    def tell(self, text: str) -> None:
        """Let the sentence say this, as HTML."""
        say(self.sentence, f"<div class='sentence'>{text}</div>")

    def tell_none(self) -> None:
        """Let the sentence say that there is no study."""
        self.tell("<span class='quiet'>No study yet.</span>")

    def origin(self, what: str) -> Origin:
        """Return what stands above and below a picture of `what` when it is saved."""
        study = self.study
        title = (
            f"{type(self).__name__.removesuffix('View')}: {what}"
            if study is None
            else f"{', '.join(study.names)}: {what}"
        )
        return Origin(title, "" if study is None else caption(study_provenance(study), study.recipes))

    # -- the study -----------------------------------------------------------------------------------------------------

    def watch(self, study: "Study | None") -> None:
        """Take up a study, or none: what it has computed is shown at once, and followed from there."""
        self.study = study
        self.redraw()
        self._wake()

    def press_run(self) -> None:
        """Run, or go on with what is finished kept; before Run is ready the press is kept for `press_again`."""
        if self.coming and not self.ready:
            self.waits = True
            self.refresh()
            return
        self.waits = False
        study = self.study if self._again is None else self._again()
        if study is not None:
            self.study, self.outdated = study, False
            study.control.start()
            self.redraw()
            self._wake()

    def press_stop(self) -> None:
        """Stop: no later cell appears, and a press that waits is given up."""
        if self.waits:
            self.forget_press()
            return
        if self.study is not None:
            self.study.control.stop()
            self.refresh()

    def press_again(self) -> None:
        """Carry out the press of Run that waits."""
        if self.waits:
            self.press_run()

    def forget_press(self) -> None:
        """Give up the press of Run that waits."""
        if self.waits:
            self.waits = False
            self.refresh()

    def press_redo(self) -> None:
        """Compute the cells that failed again."""
        if self.study is not None and self.study.phase not in ("running", "queued"):
            self.study.redo()
            self.redraw()
            self._wake()

    # -- looking -------------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Show what has come; returns whether there may be more."""
        self._ticks += 1
        moving = self.study is not None and self.study.phase in ("running", "queued")
        if not moving or self._ticks % SLOW == 1:
            self.refresh()
        return moving

    def settle(self) -> None:
        """Show all of the study that has been computed by now."""
        self._rest_until = 0.0
        self.refresh()

    def redraw(self) -> None:
        """Draw it anew, whatever was drawn before."""
        self.drawn, self._rest_until = None, 0.0
        self.refresh()

    def refresh(self) -> None:
        """Bring everything up to date: the pictures only where there is more to see."""
        study = self.study
        with pn.io.hold():
            may_run = (self.ready or self.coming) and (study or self._again) is not None
            self.bar.show(study, outdated=self.outdated, may_run=may_run, waits=self.waits)
            fade(self.outdated, self.sentence, self.body)  # at once, also while pictures rest
            state = (None if study is None else (study.phase, study.progress.done), self.outdated)
            begun = time.monotonic()
            resting = begun < self._rest_until and study is not None and study.phase == "running"
            if state != self.drawn and not resting:
                self.drawn = state
                self.lines = None if study is None else study.summary()
                if study is None:
                    self._empty()
                else:
                    self.body.visible = True
                    self._draw(study)
                    self._numbers.refresh()
                self._rest_until = time.monotonic() + REST * (time.monotonic() - begun)
