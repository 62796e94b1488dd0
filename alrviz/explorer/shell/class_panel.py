"""The teacher's side of a class: the code for the wall, and beside the page the question, its count and its answers.

Nothing is built before a class is opened. The panel looks at the class with every tick of the pump and shows what has
changed; the class itself is the process's (`server.classes`), so that a reload, or another page, finds it again.
"""

from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

import pandas as pd
import panel as pn
import panel_material_ui as pmui
from param.parameterized import Event

from alrviz import __version__
from alrviz.errors import AlrvizError, plural
from alrviz.explorer.lesson import Option, Question, Said, plain_line
from alrviz.explorer.server.class_store import ClassAutosave
from alrviz.explorer.server.classes import Classroom
from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.server.run_store import open_run_store
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell import class_answers
from alrviz.explorer.shell.dialogs import LazyDialog, dialog
from alrviz.explorer.shell.lesson_panel import LessonPanel
from alrviz.explorer.shell.markdown import markdown_html
from alrviz.explorer.shell.qr import NOT_HERE, is_local, qr_html
from alrviz.explorer.shell.theme import CARD, PANE_CSS, button, html
from alrviz.studies.core.export import to_csv
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import safe

OPTIONS = 12  # of a question of one's own
MAX_NAMED_ADDRESSES = 3  # of those that students joined from; the others are counted
ON_SCREEN = "Look at the question on the screen."
KINDS = {"choice": "Choice", "number": "Number", "order": "Order", "text": "Text"}
_WITH_OPTIONS = ("choice", "order")
END, CONFIRM_END = "End the class", "End: press again"
_ABOUT = (
    "<p>Students answer from their phones, without an account: they see your race as it runs, and your question while "
    "it is open. You see how many have answered, and the answers when the question is closed.</p><p class='quiet'>"
    "Nothing is kept when the class ends, unless you save it.</p>"
)
_CODE = "font: 700 min(11vw, 5.5rem)/1.1 ui-monospace, monospace; letter-spacing: .12em; margin: 0"


class ClassPanel:
    """The panel of one visitor.

    Args:
        session: the visitor's.
        lesson: beside the page, if there is one: its question can be asked, and is answered for the class.

    Attributes:
        panel: what stands beside the page while there is a class. place: where its dialog is.
    """

    def __init__(self, session: Session, lesson: LessonPanel | None):
        self.session, self._lesson = session, lesson
        self.panel = pn.Column(visible=False, width=300, margin=(12, 16, 12, 0), css_classes=["alrviz-class"])
        self._wall = LazyDialog(lambda: dialog("Class", "md", self._text, self._begin))
        self.place = self._wall.place
        self._room: Classroom | None = None
        self._shown: object = None
        self._offered: Entry | None = None  # the race that this window has shown last
        self._opened = self._form = self._built = False  # the answers; the form for a question in place of the last
        self._begin = button("Open a class", self._open_class, icon="groups", variant="contained")
        self._text = html()
        self.look()

    # ---- the dialog for the wall -------------------------------------------------------------------------------------

    def open(self) -> None:
        """Show the code of the class, or what a class is."""
        self._show_wall()
        self._wall.open()

    def _show_wall(self) -> None:
        room = self._room
        # One button: were it another, Escape would go where the focus is lost.
        self._begin.param.update(label="Open a class" if room is None else "Back to the page")
        if room is None:
            self._text.object = _ABOUT
            return
        location = pn.state.location
        base = "" if location is None else location.href.split("?")[0].split("#")[0].rstrip("/") + "/"
        typed, secret = urljoin(base, "class"), urljoin(base, f"class/{room.secret}")
        near = urlsplit(typed)
        self._text.object = (
            f"{NOT_HERE if is_local() else ''}<div style='display:flex; flex-wrap:wrap; gap:24px; align-items:center; "
            f"justify-content:center'><div style='flex:0 1 50vh; min-width:220px'>"
            f"{qr_html(secret, named=False, high='60vh')}</div><div style='text-align:center; min-width:0'>"
            f"<p style='font-size:1.25rem'>Photograph the code, or open<br><b style='overflow-wrap:anywhere'>"
            f"{safe(near.netloc + near.path)}</b></p><p style='{_CODE}'>{room.code}</p>"
            f"<p style='font-size:1.25rem' role='status'>{self._here(room)}</p></div></div>"
        )

    @staticmethod
    def _here(room: Classroom) -> str:
        return f"{plural(len(room.open_pages), 'student')} here"

    def _open_class(self) -> None:
        """Open a class; where there is one, leave its dialog."""
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
        """Show the owner's class."""
        self._room = self.session.registry.classes.class_of(self.session.owner)
        if not self._built:
            self._build()
        self.panel.visible = True
        self._keep.value = self._room is not None and self._room.keeper is not None
        self._lock.value = self._room is not None and self._room.locked
        self.look()
        self.session.wake()

    def _build(self) -> None:
        self._built = True
        self._head = html()
        self._answers = html((0, 0, 8, 0))
        self._answers.stylesheets = [PANE_CSS, class_answers.CSS]
        self._close = button("Close the question", self._close_question, variant="contained")
        self._show = button("Show the answers", lambda: self._turn(answers=True), variant="contained")
        again = "Ask again: what they think after a discussion"
        self._again = button("Ask again", self._ask_again, variant="outlined", description=again)
        self._next = button("Another question", lambda: self._turn(form=True), variant="outlined")
        self._of_lesson = button(
            "Ask the class", lambda: self._ask(self._lesson_question), icon="groups", variant="contained"
        )
        self._kind = pmui.RadioButtonGroup(
            label="Kind of answer", options={words: kind for kind, words in KINDS.items()}, value="choice",
            size="small", margin=(0, 0, 8, 0), sx={"& .MuiToggleButton-root": {"textTransform": "none", "px": "9px"}},
        )  # fmt: skip
        self._words = pmui.TextInput(
            label="Your question", placeholder=ON_SCREEN, max_length=300, sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
        )  # fmt: skip
        self._options = pmui.TextAreaInput(
            label="Options, a line each", value="A\nB\nC\nD", rows=4, sizing_mode="stretch_width", margin=(0, 0, 8, 0)
        )
        self._wrong = html()
        self._own = pn.Column(
            self._words, self._kind, self._options, self._wrong,
            button("Ask", self._ask_own, icon="campaign", variant="contained", margin=0),
            sizing_mode="stretch_width", margin=(8, 0),
        )  # fmt: skip
        self._kind.param.watch(lambda event: setattr(self._options, "visible", event.new in _WITH_OPTIONS), "value")
        teacher_only = ["alrviz-class-tools"]  # what the wall does not show
        self._keep = pmui.Switch(label="Save the answers", margin=(4, 0), css_classes=teacher_only)
        self._keep.param.watch(lambda event: self._save(bool(event.new)), "value")
        self._lock = pmui.Switch(label="Let nobody else join", margin=(4, 0), css_classes=teacher_only)
        self._lock.param.watch(self._lock_door, "value")
        self._joined = html((8, 0, 0, 0))
        self._joined.css_classes = teacher_only
        self._end = button(
            END, self._end_class, variant="outlined", color="error", size="small", margin=(8, 0, 0, 0),
            css_classes=teacher_only,
        )  # fmt: skip
        wall = button("Code", self.open, icon="qr_code_2", variant="outlined", size="small", margin=0)
        csv = csv_button("alrviz-class.csv", self._csv, "all answers of the class")
        for one in (self._close, self._show, self._again, self._next, self._of_lesson):
            one.margin = (0, 8, 8, 0)
        self.panel[:] = [
            pn.Column(
                self._head, pn.Row(wall, csv, margin=(8, 0), css_classes=teacher_only), self._answers,
                pn.FlexBox(self._close, self._show, self._again, self._next, self._of_lesson, margin=0), self._own,
                self._keep, self._joined, self._lock, self._end, sizing_mode="stretch_width", margin=0, styles=CARD,
            )
        ]  # fmt: skip

    @property
    def _lesson_question(self) -> Question | None:
        return None if self._lesson is None else self._lesson.step.ask

    def look(self) -> bool:
        """Show what has changed; returns whether there is a class to be looked at."""
        if self._room is None:
            if self.session.registry.classes.class_of(self.session.owner) is not None:  # opened in another window
                self._follow()
            return False
        room = self._room
        if room.ended:  # in another window
            self._leave()
            return False
        room.touch()
        entry = self.session.runs.map_entry if self.session.page == "boundaries" else self.session.runs.entry
        if entry is not None and entry is not self._offered:  # what another window has shown since stays
            self._offered, room.race = entry, self.session.registry.share_link(entry)
        one, question = room.round, self._lesson_question
        was = None if self._lesson is None else self._lesson.was
        changes = 0 if one is None else one.changes
        problem = "" if room.keeper is None else room.keeper.problem
        origins = room.join_addresses()
        shown = (
            room,
            room.version,
            changes,
            len(room.open_pages),
            self._opened,
            self._form,
            question,
            was,
            problem,
            origins,
        )
        if shown != self._shown:
            self._shown = shown
            self._tell(room, question, was, problem)
            self._joined.object = joined_html(origins)
        return True

    def _tell(self, room: Classroom, question: Question | None, was: Said | None, problem: str) -> None:
        one = room.round
        form = one is None or self._form
        closed = not form and one is not None and not one.open
        self._head.object = (
            f"<h2>Class <span style='letter-spacing:.08em'>{room.code}</span></h2>"
            f"<p role='status'>{self._here(room)}</p>"
            + (f"<p class='bad'>Not saved: {safe(problem)}</p>" if problem else "")
        )
        self._show_wall()
        self._own.visible, self._answers.visible = form, not form
        self._close.visible = not form and not closed
        self._show.visible = closed and not self._opened
        self._again.visible = self._next.visible = closed
        self._of_lesson.visible = question is not None and (
            form or (closed and one is not None and one.question != question)
        )
        if not form and one is not None:
            known = was if question == one.question else None
            self._answers.object = f"<p><b>{markdown_html(one.question.text, inline=True)}</b></p>" + (
                class_answers.answers_html(room.rounds_of(one.question), _words, known)
                if closed and self._opened
                else f"<p role='status'><b style='font-size:1.75rem'>{len(one.votes):,}</b> answered"
                f"{'; the question is closed' if closed else ''}</p>"
            )

    # ---- what the teacher does ---------------------------------------------------------------------------------------

    def _ask(self, question: Question | None) -> None:
        if self._room is None or question is None:
            return
        try:
            self._room.ask(question)
        except AlrvizError as error:
            self.session.problem = error
            return
        self._opened = self._form = False
        entry = self._offered
        if entry is not None and entry.is_shared:
            self._room.race = entry.token  # the question is of what is seen here
        self.look()

    def _ask_again(self) -> None:
        if self._room is not None and self._room.round is not None:
            self._ask(self._room.round.question)

    def _ask_own(self) -> None:
        """Ask what is in the form, or say what is missing there."""
        kind, text = self._kind.value, plain_line(self._words.value_input or self._words.value or "") or ON_SCREEN
        lines = (self._options.value_input or self._options.value or "").splitlines()
        said = tuple(dict.fromkeys(filter(None, map(plain_line, lines)))) if kind in _WITH_OPTIONS else ()
        wrong = ""
        if kind in _WITH_OPTIONS and not 2 <= len(said) <= OPTIONS:
            wrong = f"Give 2 to {OPTIONS} different options, a line each; here: {len(said)}."
        self._wrong.object = f"<p class='bad' role='alert'>{wrong}</p>" if wrong else ""
        if not wrong:
            self._ask(Question("own", kind, text, tuple(Option(words, words) for words in said)))

    def _close_question(self) -> None:
        if self._room is None or self._room.round is None:
            return
        self._room.close()
        one = self._room.round
        said = one.typical()
        if self._lesson is not None and one.question == self._lesson_question and said is not None:
            self._lesson.say(said, of_class=True)  # so that Run is free
        self.look()

    def _turn(self, *, answers: bool = False, form: bool = False) -> None:
        """Show the answers, or the form for another question."""
        self._opened, self._form = self._opened or answers, self._form or form
        self.look()

    def _save(self, keep: bool) -> None:
        """Keep the class in the run store from now on, or no more and nothing of it."""
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
        if self._end.label != CONFIRM_END:
            self._end.label = CONFIRM_END
            return
        if self._room is not None:
            self.session.registry.classes.end(self._room)
        self._leave()

    def _leave(self) -> None:
        """There is no class any more."""
        self._room, self._shown, self._opened, self._form, self._offered = None, None, False, False, None
        self._end.label = END
        self.panel.visible = self._lock.value = self._keep.value = False
        self._show_wall()

    def _csv(self) -> str:
        return "" if self._room is None else class_csv(self._room)


def joined_html(origins: Sequence[tuple[str, int]]) -> str:
    """Tell how many students joined from which addresses, given with the most first; the teacher may close joining."""
    if not origins:
        return ""
    count = sum(students for _, students in origins)
    named = [f"{students:,} from {safe(address or 'before the restart', 45)}" for address, students in origins]
    rest = sum(students for _, students in origins[MAX_NAMED_ADDRESSES:])
    if rest:
        others = len(origins) - MAX_NAMED_ADDRESSES
        named[MAX_NAMED_ADDRESSES:] = [f"{rest:,} from {plural(others, 'other address', 'other addresses')}"]
    return f"<p class='quiet'>{count:,} joined: {', '.join(named)}</p>"


def class_csv(room: Classroom) -> str:
    """Return the answers of a class as CSV."""
    names = ["question", "kind", "asked", "student", "answer", "note", "second"]
    return to_csv(pd.DataFrame(list(room.rows()), columns=names), {"alrviz": __version__, "class": room.code})


def _words(text: str) -> str:
    return markdown_html(text, inline=True)
