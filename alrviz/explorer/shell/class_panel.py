"""The teacher's side of a class: a dialog with the code for the wall, and a panel with the question and its answers.

Nothing is built before a class is opened. Every tick of the pump updates the panel from the class. The class itself
belongs to the process (`server.classes`), so that a reload or another page finds it again.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

import pandas as pd
import panel as pn
import panel_material_ui as pmui
from param.parameterized import Event

from alrviz import __version__
from alrviz.errors import AlrvizError, plural
from alrviz.explorer.lesson import AnswerValue, Option, Question, plain_line
from alrviz.explorer.server.class_store import ClassAutosave
from alrviz.explorer.server.classes import Classroom
from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.server.run_store import open_run_store
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell import class_answers
from alrviz.explorer.shell.dialogs import LazyDialog, dialog
from alrviz.explorer.shell.lesson_panel import LessonPanel
from alrviz.explorer.shell.markdown import markdown_html
from alrviz.explorer.shell.qr import local_hint, page_url, qr_html
from alrviz.explorer.shell.theme import CARD, PANE_CSS, button, html
from alrviz.studies.core.export import to_csv
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import safe

MAX_OPTIONS = 12  # of a question that the teacher writes
MAX_NAMED_ADDRESSES = 3  # of the addresses from which students joined
ON_SCREEN = "Look at the question on the screen."
KINDS = {"choice": "Choice", "number": "Number", "order": "Order", "text": "Text"}
_WITH_OPTIONS = ("choice", "order")
QUESTION, ANSWERS, FORM = "question", "answers", "form"  # what the panel shows of the latest round
END_LABEL, CONFIRM_END_LABEL = "End the class", "End: press again"
_ABOUT_CLASSES = (
    "<p>Students answer from their phones, without an account: they see your race as it runs, and your question while "
    "it is open. You see how many have answered, and the answers when the question is closed.</p><p class='quiet'>"
    "Nothing is kept when the class ends, unless you save it.</p>"
)
_CODE_STYLE = "font: 700 min(11vw, 5.5rem)/1.1 ui-monospace, monospace; letter-spacing: .12em; margin: 0"


class ClassPanel:
    """The class panel of one visitor.

    Args:
        session: the visitor's session.
        lesson: the lesson beside the page, whose questions can be asked; None without one.

    Attributes:
        panel: the panel beside the page, visible while there is a class.
        place: place of the dialog in a layout.
    """

    def __init__(self, session: Session, lesson: LessonPanel | None):
        self.session, self._lesson = session, lesson
        self.panel = pn.Column(visible=False, width=300, margin=(12, 16, 12, 0), css_classes=["alrviz-class"])
        self._wall = LazyDialog(lambda: dialog("Class", "md", self._dialog_text, self._begin_button))
        self.place = self._wall.place
        self._room: Classroom | None = None
        self._shown_state: object = None
        self._shared_entry: Entry | None = None  # the last run that this window has shown to the class
        self._view = QUESTION
        self._is_built = False
        self._begin_button = button("Open a class", self._open_class, icon="groups", variant="contained")
        self._dialog_text = html()
        self.look()

    # ---- the dialog for the wall -------------------------------------------------------------------------------------

    def open(self) -> None:
        """Show the code of the class, or an explanation before a class is opened."""
        self._show_wall()
        self._wall.open()

    def _show_wall(self) -> None:
        """Show the code of the class in the dialog, or what a class is."""
        room = self._room
        # The same button for both: replacing it would lose the keyboard focus.
        self._begin_button.param.update(label="Open a class" if room is None else "Back to the page")
        if room is None:
            self._dialog_text.object = _ABOUT_CLASSES
            return
        class_url = urlsplit(page_url("class"))
        code_html = qr_html(page_url(f"class/{room.secret}"), show_link=False, max_height="60vh")
        self._dialog_text.object = (
            f"{local_hint()}<div style='display:flex; flex-wrap:wrap; gap:24px; align-items:center; "
            f"justify-content:center'><div style='flex:0 1 50vh; min-width:220px'>"
            f"{code_html}</div><div style='text-align:center; min-width:0'>"
            f"<p style='font-size:1.25rem'>Photograph the code, or open<br><b style='overflow-wrap:anywhere'>"
            f"{safe(class_url.netloc + class_url.path)}</b></p><p style='{_CODE_STYLE}'>{room.code}</p>"
            f"<p style='font-size:1.25rem' role='status'>{plural(len(room.open_pages), 'student')} here</p></div></div>"
        )

    def _open_class(self) -> None:
        """Open a class; if there is one, close the dialog."""
        if self._room is not None:
            self._wall.close()
            return
        try:
            self.session.registry.classes.open(self.session.owner)
        except AlrvizError as error:
            self._wall.close()
            self.session.problem = error
            return
        self._follow()

    # ---- the panel ---------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Show the visitor's class in the panel."""
        self._room = self.session.registry.classes.class_of(self.session.owner)
        if not self._is_built:
            self._build()
        self.panel.visible = True
        self._save_switch.value = self._room is not None and self._room.keeper is not None
        self._lock_switch.value = self._room is not None and self._room.locked
        self.look()
        self.session.wake()

    def _build(self) -> None:
        self._is_built = True
        self._head = html()
        self._answers = html((0, 0, 8, 0))
        self._answers.stylesheets = [PANE_CSS, class_answers.CSS]
        self._close_button = button("Close the question", self._close_question, variant="contained")
        self._show_button = button("Show the answers", lambda: self._show_view(ANSWERS), variant="contained")
        hint = "Ask again: what they think after a discussion"
        self._again_button = button("Ask again", self._ask_again, variant="outlined", description=hint)
        self._next_button = button("Another question", lambda: self._show_view(FORM), variant="outlined")
        self._lesson_button = button(
            "Ask the class", lambda: self._ask(self._lesson_question), icon="groups", variant="contained"
        )
        self._build_form()
        teacher_only = ["alrviz-class-tools"]  # hidden on the wall
        self._save_switch = pmui.Switch(label="Save the answers", margin=(4, 0), css_classes=teacher_only)
        self._save_switch.param.watch(lambda event: self._save(bool(event.new)), "value")
        self._lock_switch = pmui.Switch(label="Let nobody else join", margin=(4, 0), css_classes=teacher_only)
        self._lock_switch.param.watch(self._lock_door, "value")
        self._joined = html((8, 0, 0, 0))
        self._joined.css_classes = teacher_only
        self._end_button = button(
            END_LABEL, self._end_class, variant="outlined", color="error", size="small", margin=(8, 0, 0, 0),
            css_classes=teacher_only,
        )  # fmt: skip
        wall = button("Code", self.open, icon="qr_code_2", variant="outlined", size="small", margin=0)
        csv = csv_button("alrviz-class.csv", self._csv, "all answers of the class")
        question_buttons = (
            self._close_button, self._show_button, self._again_button, self._next_button, self._lesson_button,
        )  # fmt: skip
        for pane in question_buttons:
            pane.margin = (0, 8, 8, 0)
        self.panel[:] = [
            pn.Column(
                self._head, pn.Row(wall, csv, margin=(8, 0), css_classes=teacher_only), self._answers,
                pn.FlexBox(*question_buttons, margin=0), self._form,
                self._save_switch, self._joined, self._lock_switch, self._end_button, sizing_mode="stretch_width",
                margin=0, styles=CARD,
            )
        ]  # fmt: skip

    def _build_form(self) -> None:
        """Build the form for a question of the teacher's own."""
        self._kind = pmui.RadioButtonGroup(
            label="Kind of answer", options={name: kind for kind, name in KINDS.items()}, value="choice",
            size="small", margin=(0, 0, 8, 0), sx={"& .MuiToggleButton-root": {"textTransform": "none", "px": "9px"}},
        )  # fmt: skip
        self._question_input = pmui.TextInput(
            label="Your question", placeholder=ON_SCREEN, max_length=300, sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
        )  # fmt: skip
        self._options = pmui.TextAreaInput(
            label="Options, a line each", value="A\nB\nC\nD", rows=4, sizing_mode="stretch_width", margin=(0, 0, 8, 0)
        )
        self._form_error = html()
        self._form = pn.Column(
            self._question_input, self._kind, self._options, self._form_error,
            button("Ask", self._ask_own, icon="campaign", variant="contained", margin=0),
            sizing_mode="stretch_width", margin=(8, 0),
        )  # fmt: skip
        self._kind.param.watch(lambda event: setattr(self._options, "visible", event.new in _WITH_OPTIONS), "value")

    @property
    def _lesson_question(self) -> Question | None:
        return None if self._lesson is None else self._lesson.step.ask

    def look(self) -> bool:
        """Update the panel; return whether there is a class."""
        if self._room is None:
            if self.session.registry.classes.class_of(self.session.owner) is not None:  # opened in another window
                self._follow()
            return False
        room = self._room
        if room.has_ended:  # in another window
            self._leave()
            return False
        room.touch()
        entry = self.session.runs.map_entry if self.session.page == "boundaries" else self.session.runs.entry
        if entry is not None and entry is not self._shared_entry:  # else another window may have shown a newer run
            self._shared_entry, room.race = entry, self.session.registry.share_link(entry)
        current_round, question = room.round, self._lesson_question
        outcome = None if self._lesson is None else self._lesson.outcome
        changes = 0 if current_round is None else current_round.changes
        problem = "" if room.keeper is None else room.keeper.problem
        origins = room.join_addresses()
        version = room.version, changes, len(room.open_pages), origins
        state = room, version, self._view, question, outcome, problem
        if state != self._shown_state:
            self._shown_state = state
            self._update(room, question, outcome, problem)
            self._joined.object = joined_html(origins)
        return True

    def _update(self, room: Classroom, question: Question | None, outcome: AnswerValue | None, problem: str) -> None:
        """Show the class's state. question: of the lesson's step; problem: why the class is not saved, or ""."""
        current_round = room.round
        shows_form = current_round is None or self._view == FORM
        is_closed = not shows_form and current_round is not None and not current_round.open
        self._head.object = (
            f"<h2>Class <span style='letter-spacing:.08em'>{room.code}</span></h2>"
            f"<p role='status'>{plural(len(room.open_pages), 'student')} here</p>"
            + (f"<p class='bad'>Not saved: {safe(problem)}</p>" if problem else "")
        )
        self._show_wall()
        self._form.visible, self._answers.visible = shows_form, not shows_form
        self._close_button.visible = not shows_form and not is_closed
        self._show_button.visible = is_closed and self._view != ANSWERS
        self._again_button.visible = self._next_button.visible = is_closed
        self._lesson_button.visible = question is not None and (
            shows_form or (is_closed and current_round is not None and current_round.question != question)
        )
        if not shows_form and current_round is not None:
            outcome_shown = outcome if question == current_round.question else None
            self._answers.object = f"<p><b>{markdown_html(current_round.question.text, inline=True)}</b></p>" + (
                class_answers.answers_html(room.rounds_of(current_round.question), _inline_html, outcome_shown)
                if is_closed and self._view == ANSWERS
                else f"<p role='status'><b style='font-size:1.75rem'>{len(current_round.votes):,}</b> answered"
                f"{'; the question is closed' if is_closed else ''}</p>"
            )

    # ---- the teacher's buttons ---------------------------------------------------------------------------------------

    def _ask(self, question: Question | None) -> None:
        if self._room is None or question is None:
            return
        try:
            self._room.ask(question)
        except AlrvizError as error:
            self.session.problem = error
            return
        entry = self._shared_entry
        if entry is not None and entry.is_shared:
            self._room.race = entry.token  # the question is about the run in this window
        self._show_view(QUESTION)

    def _ask_again(self) -> None:
        if self._room is not None and self._room.round is not None:
            self._ask(self._room.round.question)

    def _ask_own(self) -> None:
        """Ask the question of the form, or show what is missing."""
        typed_text = self._question_input.value_input or self._question_input.value or ""
        kind, text = self._kind.value, plain_line(typed_text) or ON_SCREEN
        option_lines = (self._options.value_input or self._options.value or "").splitlines()
        options = tuple(dict.fromkeys(filter(None, map(plain_line, option_lines)))) if kind in _WITH_OPTIONS else ()
        problem = ""
        if kind in _WITH_OPTIONS and not 2 <= len(options) <= MAX_OPTIONS:
            problem = f"Give 2 to {MAX_OPTIONS} different options, a line each; here: {len(options)}."
        self._form_error.object = f"<p class='bad' role='alert'>{problem}</p>" if problem else ""
        if not problem:
            self._ask(Question("own", kind, text, tuple(Option(option, option) for option in options)))

    def _close_question(self) -> None:
        """Close the round; the typical answer becomes that to the lesson's question."""
        if self._room is None or self._room.round is None:
            return
        self._room.close()
        closed_round = self._room.round
        answer = closed_round.typical()
        if self._lesson is not None and closed_round.question == self._lesson_question and answer is not None:
            self._lesson.record_answer(answer, of_class=True)  # so that Run is free
        self.look()

    def _show_view(self, view: str) -> None:
        """Show the question, the answers, or the form for another question."""
        self._view = view
        self.look()

    def _save(self, keep: bool) -> None:
        """Start saving the class to the run store, or stop and delete what was saved."""
        room = self._room
        if room is None or keep == (room.keeper is not None):
            return
        if keep:
            room.keeper = ClassAutosave(room, open_run_store)
        else:
            room.keeper.end(delete=True)
            room.keeper = None

    def _lock_door(self, event: Event) -> None:
        if self._room is not None:
            self._room.locked = bool(event.new)

    def _end_class(self) -> None:
        """End the class at the second press."""
        if self._end_button.label != CONFIRM_END_LABEL:
            self._end_button.label = CONFIRM_END_LABEL
            return
        if self._room is not None:
            self.session.registry.classes.end(self._room)
        self._leave()

    def _leave(self) -> None:
        """Hide the panel of a class that has ended."""
        self._room = self._shown_state = self._shared_entry = None
        self._view = QUESTION
        self._end_button.label = END_LABEL
        self.panel.visible = self._lock_switch.value = self._save_switch.value = False
        self._show_wall()

    def _csv(self) -> str:
        return "" if self._room is None else class_csv(self._room)


def joined_html(origins: Sequence[tuple[str, int]]) -> str:
    """Return a sentence on how many students joined from which addresses; `origins`: largest first."""
    if not origins:
        return ""
    n_students = sum(n_joined for _, n_joined in origins)
    origin_phrases = [f"{n_joined:,} from {safe(address or 'before the restart', 45)}" for address, n_joined in origins]
    n_other_students = sum(n_joined for _, n_joined in origins[MAX_NAMED_ADDRESSES:])
    if n_other_students:
        addresses_text = plural(len(origins) - MAX_NAMED_ADDRESSES, "other address", "other addresses")
        origin_phrases[MAX_NAMED_ADDRESSES:] = [f"{n_other_students:,} from {addresses_text}"]
    return f"<p class='quiet'>{n_students:,} joined: {', '.join(origin_phrases)}</p>"


def class_csv(room: Classroom) -> str:
    """Return the students' answers in a classroom as CSV, a row for each answer."""
    names = ["question", "kind", "asked", "student", "answer", "note", "second"]
    return to_csv(pd.DataFrame(list(room.rows()), columns=names), {"alrviz": __version__, "class": room.code})


def _inline_html(text: str) -> str:
    return markdown_html(text, inline=True)
