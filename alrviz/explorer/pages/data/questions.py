"""What is doubtful about a table, as questions with their answers: how it was read, what is the class, what leaks.

A question about the reading shows both readings side by side. The other one is read on a thread, of the whole file
where it is small, else of its first lines. Answers are changes of the table, which can be undone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import panel as pn
from panel.viewable import Viewable

from alrviz.data.target import TargetReason
from alrviz.errors import AlrvizError, for_page
from alrviz.explorer.pages.data.readings import Reading, compare_readings
from alrviz.explorer.session.apply_kinds import read_upload
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.stop import StopToken
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset, Table
    from alrviz.data.doubts import Doubt
    from alrviz.explorer.server.tables import Upload

MAX_QUESTIONS = 1  # about the reading, at a time: an answer may settle others
MAX_TARGETS = 3  # other columns offered as the class
MAX_LEAKS = 4
PREVIEW_BYTES = 1_000_000
_ABOVE = (6, 0, 0, 0)
_ASIDE = {**CARD, "padding": "10px 12px"}


@dataclass(frozen=True)
class _Comparison:
    """Both readings of a doubt; the other one is missing where it failed, with the reason."""

    readings: tuple[Reading, Reading] | None
    error: str = ""


class Questions:
    """Asks what is doubtful about the session's table.

    Args:
        tasks: the page's.
        ask: called with a column's name and the kind it is to have.
    """

    def __init__(self, session: Session, tasks: PageTasks, ask: Callable[[str, str], None]):
        self._session, self._tasks, self._ask = session, tasks, ask
        self._table: Table | None = None
        self._sides: dict[str, tuple[pn.pane.HTML, pn.pane.HTML, Viewable]] = {}
        self._comparisons: dict[str, _Comparison] = {}  # by question, as are the sides
        self.panel = pn.Column(sizing_mode="stretch_width", margin=0)

    @property
    def doubts(self) -> "list[Doubt]":
        """The doubts about the reading that are open; those of a table that cannot be read again are notes only."""
        table, source = self._table, self._session.table.source
        if table is None or source.upload is None:
            return []
        return [doubt for doubt in table.doubts if doubt.question not in source.settled]

    def show(self, table: "Table", dataset: "Dataset | None", quartiles_of: str = "") -> None:
        """Ask about a table, and what was made of it; `quartiles_of` is a number that was asked to be the class."""
        same, self._table = table is self._table, table
        doubts = self.doubts
        if not same:
            self._comparisons, self._sides = {}, {}
        shown = doubts[:MAX_QUESTIONS]
        rows = [self._doubt_card(doubt) for doubt in shown]
        if len(doubts) > len(shown):
            more = len(doubts) - len(shown)
            questions = "question follows" if more == 1 else "questions follow"
            rows.append(html((0, 0, 8, 0), f"<p class='quiet'>{more} more {questions}.</p>"))
        if dataset is not None:
            rows += self._meaning(dataset, quartiles_of)
        rows += [self._change_row(k) for k in range(len(self._session.table.history))]
        self.panel[:] = rows
        waiting = [doubt for doubt in shown if doubt.question not in self._comparisons]
        upload = self._session.table.source.upload
        if waiting and upload is not None:
            self._compare(table, upload, waiting)

    # ---- both readings ---------------------------------------------------------------------------------------------

    def _doubt_card(self, doubt: "Doubt") -> Viewable:
        now, other = html(), html()
        keep = button("Keep this reading", lambda: self._settle(doubt), variant="outlined", size="small", margin=_ABOVE)
        change = button(
            "Read it this way", lambda: self._read_otherwise(doubt), variant="contained", size="small", margin=_ABOVE
        )
        self._sides[doubt.question] = (now, other, change)
        half = {
            "sizing_mode": "stretch_width",
            "styles": _ASIDE,
            "margin": (0, 12, 0, 0),
            "css_classes": ["alrviz-half"],
        }
        sides = pn.Row(
            pn.Column(html(text="<h2>As it was read</h2>"), now, keep, **half),
            pn.Column(html(text="<h2>The other way</h2>"), other, change, **half),
            sizing_mode="stretch_width",
            margin=0,
            css_classes=["alrviz-pictures"],  # below each other where a page is narrow
        )
        self._fill(doubt)
        return pn.Column(
            html((0, 0, 6, 0), f"<p><b>{safe(doubt.question, 400)}</b></p>"), sides,
            sizing_mode="stretch_width", styles=CARD, margin=(12, 0, 0, 0),
        )  # fmt: skip

    def _fill(self, doubt: "Doubt") -> None:
        now, other, change = self._sides[doubt.question]
        comparison = self._comparisons.get(doubt.question)
        if comparison is None:
            now.object = other.object = "<p class='quiet'>Reading both ways …</p>"
        elif comparison.readings is None:
            now.object, other.object = "", f"<p>{safe(comparison.error, 300)}</p>"
            change.visible = False
        else:
            now.object, other.object = (reading.html for reading in comparison.readings)

    def _compare(self, table: "Table", upload: "Upload", doubts: "Sequence[Doubt]") -> None:
        limits, owner, finished = self._session.registry.limits, self._session.owner, dict[str, _Comparison]()
        part, whole = _first_lines(upload, table)

        def work(stop: StopToken) -> None:
            now = table if whole else read_upload(part.replace(options=table.asked), limits, stop, owner)
            for doubt in doubts:
                try:
                    otherwise = part.replace(options=table.asked.with_change(doubt.change))
                    readings = compare_readings(now, read_upload(otherwise, limits, stop, owner), doubt.columns)
                    finished[doubt.question] = _Comparison(readings)
                except AlrvizError as error:
                    stop.check()
                    finished[doubt.question] = _Comparison(None, for_page(error))

        def look(*_: object) -> None:
            for doubt in doubts:
                if doubt.question in finished and doubt.question not in self._comparisons:
                    self._comparisons[doubt.question] = finished[doubt.question]
                    self._fill(doubt)

        self._tasks.start("readings", work, look, look=look)

    def _read_otherwise(self, doubt: "Doubt") -> None:
        if self._table is not None:
            self._session.table.reread(self._table.asked.with_change(doubt.change), f"{doubt.question} Yes")

    def _settle(self, doubt: "Doubt") -> None:
        self._session.table.settle(doubt.question)

    # ---- meaning ---------------------------------------------------------------------------------------------------

    def _meaning(self, dataset: "Dataset", quartiles_of: str) -> list[Viewable]:
        rows = []
        if quartiles_of:
            text = f"<b>{safe(quartiles_of, 60)}</b> is a measured number. It can be the class if it is cut into four."
            rows.append(self._row(text, {"Cut into quartiles": (quartiles_of, "quartiles")}))
        if class_in_doubt(dataset):
            choices = [choice.name for choice in dataset.table.target_choices if choice.name != dataset.target]
            text = f"<b>{safe(dataset.target, 60)}</b> was taken as the class, {_why(dataset)}. Is it another column?"
            rows.append(self._row(text, {name: (name, "target") for name in choices[:MAX_TARGETS]}))
        for name in dataset.leaks[:MAX_LEAKS]:
            text = f"<b>{safe(name, 60)}</b> alone tells the class almost without error. Is it known beforehand?"
            rows.append(self._row(text, {"No, ignore it": (name, "ignore")}))
        return rows

    def _row(self, text: str, answers: dict[str, tuple[str, str]]) -> Viewable:
        row = pn.Row(html((4, 0), f"<p>{text}</p>"), sizing_mode="stretch_width", margin=(2, 0))
        for label, (name, kind) in answers.items():
            pressed = self._answer(name, kind)
            row.append(button(label[:40], pressed, variant="outlined", size="small", margin=(0, 0, 0, 12)))
        return row

    def _answer(self, name: str, kind: str) -> Callable[[], None]:
        return lambda: self._ask(name, kind)

    def _change_row(self, place: int) -> Viewable:
        """Return the row of a change that can be undone."""
        table = self._session.table
        change, last = table.history[place], place == len(table.history) - 1
        row = pn.Row(
            html((4, 0), f"<p class='quiet'>✓ {safe(change.words, 300)}</p>"),
            sizing_mode="stretch_width",
            margin=(2, 0),
        )
        label = "Undo" if last else "Undo from here on"
        row.append(button(label, lambda: table.undo(change), variant="outlined", size="small", margin=(0, 0, 0, 12)))
        return row


def class_in_doubt(dataset: "Dataset") -> bool:
    """Whether the class was guessed by something weaker than its name, and others are as likely."""
    guessed = any(column.guessed for column in dataset.columns if column.kind == "target")
    certain = dataset.table.default_target.reason in (TargetReason.NAME, TargetReason.STATED)
    return guessed and not certain and len(dataset.table.target_choices) > 1


def is_number(dataset: "Dataset", name: str) -> bool:
    """Whether a column was read as numbers."""
    return name in dataset.frame and pd.api.types.is_numeric_dtype(dataset.frame[name].dtype)


def _why(dataset: "Dataset") -> str:
    choice = dataset.table.default_target
    return f"as it {'is' if choice.reason is TargetReason.LAST else 'has'} {choice.why}"


def _first_lines(upload: "Upload", table: "Table") -> "tuple[Upload, bool]":
    """Return the file, cut behind its first lines where it is large and text, and whether it is whole."""
    if len(upload.data) <= PREVIEW_BYTES or table.options.delimiter is None:
        return upload, True
    end = upload.data.rfind(b"\n", 0, PREVIEW_BYTES)
    return (upload, True) if end < 0 else (upload.replace(data=upload.data[: end + 1]), False)
