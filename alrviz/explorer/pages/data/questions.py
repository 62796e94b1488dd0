"""Questions about what is doubtful in a table: how it was read, which column is the class, which columns leak it.

One question about the reading is asked at a time, as an answer may settle others. It shows both readings side by side;
the other one is made on a thread, of the whole file or, if that is large, of its first lines. Answers are changes of
the table, which can be undone.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
import panel as pn
from panel.viewable import Viewable

from alrviz.data.compression import is_packed
from alrviz.data.leaks import percent_told
from alrviz.data.source import first_lines
from alrviz.data.target import TargetReason
from alrviz.errors import AlrvizError, for_page
from alrviz.explorer.pages.data.readings import Reading, compare_readings
from alrviz.explorer.session.apply_kinds import read_upload
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import CARD, button, card, html
from alrviz.stop import StopToken
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset, Table
    from alrviz.data.doubts import Doubt
    from alrviz.explorer.server.tables import Upload

MAX_TARGETS = 3  # other columns offered as the class
MAX_LEAKS = 4
PREVIEW_BYTES = 1_000_000
_BELOW = {"size": "small", "margin": (6, 0, 0, 0)}
_ASIDE = {**CARD, "padding": "10px 12px"}


class Questions:
    """Asks the questions about the session's table.

    Args:
        tasks: the page's.
        ask: called with a column's name and the kind that an answer gives it.
    """

    def __init__(self, session: Session, tasks: PageTasks, ask: Callable[[str, str], None]):
        self._session, self._tasks, self._ask = session, tasks, ask
        self._table: Table | None = None
        self._doubt: Doubt | None = None
        self._result: tuple[Reading, Reading] | str | None = None  # both readings, or why there is no other one
        self._is_part = False  # whether both are readings of the file's first lines
        self._panes, self._change = (html(), html()), button("", lambda: None)
        self.panel = pn.Column(sizing_mode="stretch_width", margin=0)

    def open_doubts(self, table: "Table") -> "list[Doubt]":
        """Return the doubts about the reading that are open; a table that cannot be read again has them as notes."""
        source = self._session.table.source
        if source.upload is None:
            return []
        return [doubt for doubt in table.doubts if doubt.question not in source.confirmed_questions]

    def show(self, table: "Table", dataset: "Dataset | None", quartiles_of: str = "") -> None:
        """Ask about a table and its data set; `quartiles_of` is a numeric column that was chosen as the class."""
        doubts, upload = self.open_doubts(table), self._session.table.source.upload
        doubt = doubts[0] if doubts else None
        if table is not self._table or doubt != self._doubt:
            self._table, self._doubt, self._result = table, doubt, None
            self._tasks.cancel("readings")
            if doubt is not None and upload is not None:
                self._compare(table, upload, doubt)
        rows = [] if doubt is None else [self._doubt_card(table, doubt)]
        if len(doubts) > 1:
            questions = "question follows" if len(doubts) == 2 else "questions follow"
            rows.append(html((0, 0, 8, 0), f"<p class='quiet'>{len(doubts) - 1} more {questions}.</p>"))
        if dataset is not None:
            rows += self._meaning(dataset, quartiles_of)
        self.panel[:] = rows + [self._change_row(k) for k in range(len(self._session.table.history))]

    # ---- both readings ---------------------------------------------------------------------------------------------

    def _doubt_card(self, table: "Table", doubt: "Doubt") -> Viewable:
        session, question = self._session.table, doubt.question
        look = {"variant": "outlined", **_BELOW}  # both alike: neither answer is the likelier one
        keep = button("Keep this reading", lambda: session.confirm_reading(question), **look)
        other = table.asked.with_change(doubt.change)
        reread = button("Read it this way", lambda: session.reread(other, f"{question} Yes"), **look)
        self._panes, self._change = (html(), html()), reread
        half = {"sizing_mode": "stretch_width", "styles": _ASIDE, "margin": (0, 12, 0, 0)}
        sides = pn.Row(
            pn.Column(html(text="<h2>As it was read</h2>"), self._panes[0], keep, **half),
            pn.Column(html(text="<h2>The other way</h2>"), self._panes[1], reread, **half),
            sizing_mode="stretch_width",
            margin=0,
            css_classes=["alrviz-pictures"],  # below each other where a page is narrow
        )
        self._fill()
        return card(html((0, 0, 6, 0), f"<p><b>{safe(question, 400)}</b></p>"), sides, margin=(12, 0, 0, 0))

    def _fill(self) -> None:
        now, other = self._panes
        self._change.visible = not isinstance(self._result, str)
        if self._result is None:
            now.object = other.object = "<p class='quiet'>Reading both ways …</p>"
        elif isinstance(self._result, str):
            now.object, other.object = "", f"<p>{safe(self._result, 300)}</p>"
        else:
            note = "<p class='quiet'>of the first lines of the file</p>" if self._is_part else ""
            now.object, other.object = (reading.html + note for reading in self._result)

    def _compare(self, table: "Table", upload: "Upload", doubt: "Doubt") -> None:
        limits, owner = self._session.registry.limits, self._session.owner
        part = _first_lines(upload, table)
        self._is_part = part is not upload

        def work(stop: StopToken) -> tuple[Reading, Reading] | str:
            try:
                now = table if part is upload else read_upload(part.replace(options=table.asked), limits, stop, owner)
                otherwise = part.replace(options=table.asked.with_change(doubt.change))
                return compare_readings(now, read_upload(otherwise, limits, stop, owner), doubt.columns)
            except AlrvizError as error:
                stop.check()
                return for_page(error)

        def done(result: tuple[Reading, Reading] | str) -> None:
            self._result = result
            self._fill()

        self._tasks.start("readings", work, done)

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
        for name, share in [*dataset.leaks.items()][:MAX_LEAKS]:
            told = f"the class of {percent_told(share)} of the rows"
            text = f"<b>{safe(name, 60)}</b> alone tells {told}. Is it known beforehand?"
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


def _first_lines(upload: "Upload", table: "Table") -> "Upload":
    """Return the file; of a large one of text only its first lines."""
    if table.options.delimiter is None or is_packed(upload.data):
        return upload
    lines = first_lines(upload.data, PREVIEW_BYTES)
    return upload if lines is upload.data else upload.replace(data=lines)
