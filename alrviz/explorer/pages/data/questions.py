"""Questions about a table: is it read correctly, which column is the class, which columns leak the class?

Questions about the reading are asked one at a time, since an answer may settle others. Both readings are shown side
by side; the alternative is read on a thread, from the first lines of a large file. Answers change the table and can be
undone.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd
import panel as pn
from panel.viewable import Viewable

from alrviz.data.leaks import percent_told
from alrviz.data.source import first_lines, is_packed
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
    from alrviz.data.dataset import Dataset
    from alrviz.data.doubts import Doubt
    from alrviz.data.table import Table
    from alrviz.explorer.server.tables import Upload

MAX_TARGETS = 3  # other columns offered as the class
MAX_LEAKS = 4
PREVIEW_BYTES = 1_000_000
_BUTTON_LOOK = {"size": "small", "margin": (6, 0, 0, 0)}
_READING_STYLES = {**CARD, "padding": "10px 12px"}


class Questions:
    """Asks the questions about the session's table.

    Args:
        session: the visitor's.
        tasks: the page's.
        on_kind: called with a column's name and the kind that an answer gives it.
    """

    def __init__(self, session: Session, tasks: PageTasks, on_kind: Callable[[str, str], None]):
        self._session, self._tasks, self._on_kind = session, tasks, on_kind
        self._table: Table | None = None
        self._doubt: Doubt | None = None
        self._result: tuple[Reading, Reading] | str | None = None  # both readings, or why there is no alternative
        self._is_part = False  # whether only the file's first lines are read
        self._panes, self._change = (html(), html()), button("", lambda: None)
        self.panel = pn.Column(sizing_mode="stretch_width", margin=0)

    def open_doubts(self, table: "Table | Dataset") -> "list[Doubt]":
        """Return the open doubts about the reading; [] for a table that cannot be read again, whose notes have them."""
        source = self._session.table.source
        if source.upload is None:
            return []
        return [doubt for doubt in table.doubts if doubt.question not in source.confirmed_questions]

    def show(self, table: "Table", dataset: "Dataset | None", quartiles_of: str = "") -> None:
        """Ask about a table and its data set. quartiles_of: a numeric column that was chosen as the class."""
        doubts, upload = self.open_doubts(dataset or table), self._session.table.source.upload
        doubt = doubts[0] if doubts else None
        if table is not self._table or doubt != self._doubt:
            self._table, self._doubt, self._result = table, doubt, None
            self._tasks.cancel("readings")
            if doubt is not None and upload is not None:
                self._start_comparison(table, upload, doubt)
        rows = [] if doubt is None else [self._doubt_card(table, doubt)]
        if len(doubts) > 1:
            questions = "question follows" if len(doubts) == 2 else "questions follow"
            rows.append(html((0, 0, 8, 0), f"<p class='quiet'>{len(doubts) - 1} more {questions}.</p>"))
        if dataset is not None:
            rows += self._meaning_questions(dataset, quartiles_of)
        self.panel[:] = rows + [self._change_row(k) for k in range(len(self._session.table.history))]

    # ---- both readings ---------------------------------------------------------------------------------------------

    def _doubt_card(self, table: "Table", doubt: "Doubt") -> Viewable:
        """Return the card with both readings of a file, and a button for each."""
        session, question = self._session.table, doubt.question
        button_look = {"variant": "outlined", **_BUTTON_LOOK}  # both alike: neither answer is the likelier one
        keep = button("Keep this reading", lambda: session.changes.confirm_reading(question), **button_look)
        options = table.given_options.with_change(doubt.change)
        reread = button("Read it this way", lambda: session.reread(options, f"{question} Yes"), **button_look)
        self._panes, self._change = (html(), html()), reread
        column_look = {"sizing_mode": "stretch_width", "styles": _READING_STYLES, "margin": (0, 12, 0, 0)}
        sides = pn.Row(
            pn.Column(html(text="<h2>As it was read</h2>"), self._panes[0], keep, **column_look),
            pn.Column(html(text="<h2>The other way</h2>"), self._panes[1], reread, **column_look),
            sizing_mode="stretch_width",
            margin=0,
            css_classes=["alrviz-pictures"],  # stacked in a narrow window
        )
        self._fill_panes()
        return card(html((0, 0, 6, 0), f"<p><b>{safe(question, 400)}</b></p>"), sides, margin=(12, 0, 0, 0))

    def _fill_panes(self) -> None:
        """Show both readings, or why the other one is impossible."""
        current_pane, alternative_pane = self._panes
        self._change.visible = not isinstance(self._result, str)
        if self._result is None:
            current_pane.object = alternative_pane.object = "<p class='quiet'>Reading both ways …</p>"
        elif isinstance(self._result, str):
            current_pane.object, alternative_pane.object = "", f"<p>{safe(self._result, 300)}</p>"
        else:
            first_lines_html = "<p class='quiet'>of the first lines of the file</p>" if self._is_part else ""
            current_pane.object, alternative_pane.object = (
                reading.table_html + first_lines_html for reading in self._result
            )

    def _start_comparison(self, table: "Table", upload: "Upload", doubt: "Doubt") -> None:
        """Read the file, or its first lines if it is large, in both ways on a thread."""
        limits, owner = self._session.registry.limits, self._session.owner
        preview = _first_lines(upload, table)
        self._is_part = preview is not upload

        def work(stop: StopToken) -> tuple[Reading, Reading] | str:
            try:
                current_reading = (
                    table
                    if preview is upload
                    else read_upload(preview.replace(options=table.given_options), limits, stop, owner)
                )
                alternative = preview.replace(options=table.given_options.with_change(doubt.change))
                return compare_readings(current_reading, read_upload(alternative, limits, stop, owner), doubt.columns)
            except AlrvizError as error:
                stop.check()
                return for_page(error)

        def finish(result: tuple[Reading, Reading] | str) -> None:
            self._result = result
            self._fill_panes()

        self._tasks.start("readings", work, finish)

    # ---- meaning ---------------------------------------------------------------------------------------------------

    def _meaning_questions(self, dataset: "Dataset", quartiles_of: str) -> list[Viewable]:
        """Return a row for each question on what columns mean: its text, and a button for each answer.

        The questions: whether to cut `quartiles_of` (a numeric column that was chosen as the class, "" for none) into
        quartiles, whether another column is the class, and whether columns that nearly give it away are to be ignored.
        """
        rows = []
        if quartiles_of:
            question_html = f"<b>{safe(quartiles_of, 60)}</b> is a measurement. Cut into quartiles it can be the class."
            rows.append(self._question_row(question_html, {"Cut into quartiles": (quartiles_of, "quartiles")}))
        if class_in_doubt(dataset):
            choices = [choice.name for choice in dataset.table.target_choices if choice.name != dataset.target]
            reason = _target_reason(dataset)
            question_html = f"<b>{safe(dataset.target, 60)}</b> was taken as the class, {reason}. Is it another column?"
            rows.append(self._question_row(question_html, {name: (name, "target") for name in choices[:MAX_TARGETS]}))
        for name, predicted_share in [*dataset.leaks.items()][:MAX_LEAKS]:
            share_text = f"the class of {percent_told(predicted_share)} of the rows"
            question_html = f"<b>{safe(name, 60)}</b> alone predicts {share_text}. Is it known before the class is?"
            rows.append(self._question_row(question_html, {"No, ignore it": (name, "ignore")}))
        return rows

    def _question_row(self, question_html: str, answers: dict[str, tuple[str, str]]) -> Viewable:
        """Return a question with buttons. answers: (column, kind that the answer gives it) by label."""
        buttons_row = pn.Row(html((4, 0), f"<p>{question_html}</p>"), sizing_mode="stretch_width", margin=(2, 0))
        for label, (name, kind) in answers.items():
            on_press = partial(self._on_kind, name, kind)
            buttons_row.append(button(label[:40], on_press, variant="outlined", size="small", margin=(0, 0, 0, 12)))
        return buttons_row

    def _change_row(self, change_index: int) -> Viewable:
        """Return the row of a change that can be undone."""
        table = self._session.table
        change, is_last = table.history[change_index], change_index == len(table.history) - 1
        row = pn.Row(
            html((4, 0), f"<p class='quiet'>✓ {safe(change.words, 300)}</p>"),
            sizing_mode="stretch_width",
            margin=(2, 0),
        )
        label = "Undo" if is_last else "Undo from here on"
        undo = partial(table.changes.undo, change)
        row.append(button(label, undo, variant="outlined", size="small", margin=(0, 0, 0, 12)))
        return row


def class_in_doubt(dataset: "Dataset") -> bool:
    """Whether the class was guessed, not by its name, and other columns are as likely."""
    guessed = any(column.guessed for column in dataset.columns if column.kind == "target")
    certain = dataset.table.default_target.reason in (TargetReason.NAME, TargetReason.STATED)
    return guessed and not certain and len(dataset.table.target_choices) > 1


def is_number(dataset: "Dataset", name: str) -> bool:
    """Whether a column was read as numbers."""
    return name in dataset.frame and pd.api.types.is_numeric_dtype(dataset.frame[name].dtype)


def _target_reason(dataset: "Dataset") -> str:
    choice = dataset.table.default_target
    return f"as it {'has' if choice.reason is TargetReason.FEW_VALUES else 'is'} {choice.why}"


def _first_lines(upload: "Upload", table: "Table") -> "Upload":
    """Return the file, reduced to its first lines if it is a large text file."""
    if table.options.delimiter is None or is_packed(upload.data):
        return upload
    lines = first_lines(upload.data, PREVIEW_BYTES)
    return upload if lines is upload.data else upload.replace(data=lines)
