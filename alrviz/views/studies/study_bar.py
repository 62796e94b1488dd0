"""The row under a study's pictures: run or resume, stop, how far it is, and what failed.

The buttons carry the CSS classes by which a page's keyboard finds them (space, s).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import panel as pn
import panel_material_ui as pmui

from alrviz.pictures.formatting import left_text
from alrviz.views.core.panes import say
from alrviz.views.core.style import CSS, ICONS, safe
from alrviz.views.core.transport import change, key_button

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

_RUN = "Run (space)"
_RESUME = "Resume: what is finished is kept (space)"
_WAITS = "<p class='quiet'>It runs as soon as its price is known.</p>"
_BAR = """
.bar { height: 8px; border-radius: 4px; background: var(--alrviz-line, rgba(128,128,128,.3)); overflow: hidden; }
.bar b { display: block; height: 8px; background: var(--alrviz-accent, #4a4896); }
.row { display: grid; grid-template-columns: 1fr max-content; gap: 0 12px; align-items: center; }
"""


class StudyBar:
    """Buttons and progress.

    Args:
        run, stop, redo: called when pressed.
    """

    def __init__(self, run: Callable[[], None], stop: Callable[[], None], redo: Callable[[], None]):
        self.run = key_button(
            "Run", "play_arrow", "space", _RUN, run,
            variant="contained", width=128,
        )  # fmt: skip
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
        goes_on = not outdated and phase in ("stopped", "failed")
        done = not outdated and phase == "done"
        label, hint = ("Resume", _RESUME) if goes_on else ("Run", _RUN)
        disabled = not may_run or waits or (not outdated and under_way) or done
        change(self.run, label=label, description=hint, disabled=disabled)
        change(self.stop, disabled=not under_way and not waits)
        failed = 0 if study is None else study.progress.failed
        change(self.redo, visible=bool(failed) and not under_way and not outdated)
        told = "" if study is None else progress_html(study, outdated)
        say(self.told, _WAITS if waits else told)


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
        words.append("computing" if progress.seconds_left is None else f"about {left_text(progress.seconds_left)} left")
    elif phase == "stopped":
        words.append("stopped; what is finished is kept")
    elif phase == "failed":
        words.append(f"ended by an error: {study.error}")
    elif phase == "done":
        words.append("done")
    if progress.failed:
        words.append(f"{progress.failed:,} failed")
    told = getattr(study, "told", "")
    return " · ".join([*words, told] if told else words)
