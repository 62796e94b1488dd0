"""The teacher's side of a class: what is shown when, one's own question, the lesson's, and the answers as bars."""

import io
import re
from types import SimpleNamespace

import pandas as pd
import pytest

from alrviz.explorer.lesson import Answer, Option, Question
from alrviz.explorer.server.classes import Round, Vote
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.class_answers import answers_html
from alrviz.explorer.shell.class_panel import CONFIRM_END_LABEL, END_LABEL, ON_SCREEN, ClassPanel
from tests.races import ByHand

EVIL = "</td><img src=x onerror=alert(1)>"
LESSON = Question("q", "choice", "Who *wins*?", (Option("lr", "LR"), Option("alr", "ALR")), Answer("first"))


class Teacher(ClassPanel):
    """A teacher at a step of a lesson, or at none."""

    def __init__(self, registry=None, question=None, was=None):
        self.said = []
        step = SimpleNamespace(ask=question)
        lesson = SimpleNamespace(step=step, outcome=was, record_answer=lambda said, of_class: self.said.append(said))
        session = Session(owner="ann", registry=registry or Registry(ServerLimits(), timer=False))
        super().__init__(session, lesson)

    @property
    def room(self):
        return self.session.registry.classes.class_of("ann")

    def press(self, button):
        button.clicks += 1
        self.look()

    def buttons(self):
        names = ("_close_button", "_show_button", "_again_button", "_next_button", "_lesson_button", "_form")
        return {name for name in names if getattr(self, name).visible}


def test_a_class_is_opened_found_after_a_reload_and_ended_by_two_presses():
    teacher = Teacher()
    teacher.open()
    assert not teacher.panel.visible
    teacher.press(teacher._begin_button)
    assert teacher.room.code in teacher._dialog_text.object
    assert "<svg" in teacher._dialog_text.object
    assert teacher.buttons() == {"_form"}
    assert teacher._wall._dialog.open
    teacher.press(teacher._begin_button)
    assert not teacher._wall._dialog.open
    reloaded = Teacher(teacher.session.registry)
    assert reloaded.panel.visible
    race = ByHand()
    teacher.session.runs.entry = teacher.session.registry.add(race, "ann")
    teacher.look()
    registry, room = teacher.session.registry, teacher.room
    assert registry.find_by_token(room.race).job is race, "the live picture"
    reloaded.session.runs.entry = registry.add(ByHand(), "ann")
    shown = []
    for window in (reloaded, teacher, reloaded):
        window.look()
        shown.append(room.race)
    assert shown == [reloaded.session.runs.entry.token] * 3, "of two windows the one that has raced last"
    assert reloaded.session.runs.entry.is_shared, "a race tells its steps only where somebody was given its link"
    registry.revoke_link(reloaded.session.runs.entry)
    reloaded.look()
    assert not reloaded.session.runs.entry.is_shared, "a link that was revoked stays so"
    used = room.last_used
    teacher.look()
    assert room.last_used > used, "a teacher who looks uses it"
    teacher.press(teacher._end_button)
    assert teacher._end_button.label == CONFIRM_END_LABEL
    teacher.press(teacher._end_button)
    assert teacher.room is None
    assert not teacher.panel.visible
    assert not reloaded.look(), "in another window too"
    assert reloaded._end_button.label == END_LABEL


def test_the_teacher_sees_where_students_came_from_and_closes_the_door_for_all_windows():
    teacher = Teacher()
    teacher.press(teacher._begin_button)
    for k, address in enumerate(["10.0.0.1"] * 3 + ["10.0.0.2", EVIL, "10.0.0.4", "10.0.0.5"]):
        teacher.room.join(f"{k}", address)
    teacher.look()
    told = teacher._joined.object
    assert "7 joined: 3 from 10.0.0.1, 1 from 10.0.0.2" in told
    assert "2 from 2 other addresses" in told
    assert "<img" not in told
    teacher._lock_switch.value = True
    assert teacher.room.locked
    assert Teacher(teacher.session.registry)._lock_switch.value, "a reloaded page shows it"


def test_a_class_that_cannot_be_saved_says_why(monkeypatch, tmp_path):
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / "home"))
    teacher = Teacher()
    teacher.press(teacher._begin_button)
    teacher._save_switch.value = True
    assert teacher.room.keeper.join(20)
    teacher.look()
    assert "Not saved: the run store" in teacher._head.object
    assert str(tmp_path) not in teacher._head.object


def test_ones_own_question_takes_two_presses_and_is_asked_again():
    teacher = Teacher()
    teacher.press(teacher._begin_button)
    own = teacher._form.objects[-1]
    teacher._options.value = "yes"
    teacher.press(own)
    assert "2 to 12" in teacher._form_error.object
    teacher._options.value = "yes\n no \n\nyes\n" + EVIL
    teacher.press(own)
    room = teacher.room
    assert (room.round.question.text, room.round.question.values) == (ON_SCREEN, ("yes", "no", EVIL))
    assert teacher.buttons() == {"_close_button"}
    room.vote("bob", 1, "no", EVIL)
    teacher.look()
    assert ">1</b> answered" in teacher._answers.object
    assert "no" not in re.sub("<[^>]*>", " ", teacher._answers.object).split(), "no answer while it is open"
    teacher.press(teacher._close_button)
    assert teacher.buttons() == {"_show_button", "_again_button", "_next_button"}
    assert "100 %" not in teacher._answers.object
    teacher.press(teacher._show_button)
    assert "100 %" in teacher._answers.object
    assert "<img" not in teacher._answers.object
    teacher.press(teacher._again_button)
    room.vote("bob", 2, "yes")
    teacher.press(teacher._close_button)
    teacher.press(teacher._show_button)
    assert "1 answer, then 1 answer" in teacher._answers.object
    table = pd.read_csv(io.StringIO(teacher._csv()), comment="#")
    assert table[["asked", "student", "answer"]].to_numpy().tolist() == [[1, 1, "no"], [2, 1, "yes"]]
    teacher.press(teacher._next_button)
    assert teacher.buttons() == {"_form"}


def test_the_lessons_question_is_offered_and_its_answers_stand_beside_what_happened():
    teacher = Teacher(question=LESSON)
    teacher.press(teacher._begin_button)
    assert teacher.buttons() == {"_form", "_lesson_button"}
    teacher.press(teacher._lesson_button)
    assert teacher.room.round.question == LESSON
    assert "<em>wins</em>" in teacher._answers.object
    for student, answer in (("a", "lr"), ("b", "alr"), ("c", "alr")):
        teacher.room.vote(student, 1, answer)
    teacher.press(teacher._close_button)
    assert teacher.said == ["alr"], "what most have said frees Run"
    teacher.press(teacher._show_button)
    assert "what happened" not in teacher._answers.object
    teacher._lesson.outcome = "alr"
    teacher.look()
    assert re.search(r"ALR ✓ what happened.*67 %", teacher._answers.object)


@pytest.mark.parametrize(
    ("question", "answers", "was", "shows"),
    [
        (Question("n", "number", "?", (), unit="it"), [3.0, 4.0, 1e12, -1e12, 5.0], 4.5, "Median 4 it; it was 4.5"),
        (Question("n", "number", "?", ()), [5.0, 5.0], None, "100 %"),
        (Question("n", "number", "?", ()), [0.0, 3e-323], None, "100 %"),
        (Question("n", "number", "?", ()), [1.0, 1.0000000000000002], 1.0, "it was 1"),
        (Question("o", "order", "?", LESSON.options), [("lr", "alr"), ("alr", "lr"), ("lr", "alr")], None, "LR → ALR"),
        (Question("o", "order", "?", LESSON.options), [("lr", "alr")], ("alr", "lr"), "what happened"),
        (Question("s", "sketch", "?", LESSON.options, low=0, high=1), [(0.5, 1.0), (0.7, 0.0)], (0.1, 0.2), "LR: 0.6"),
        (Question("t", "text", "?", ()), [EVIL, "so", "so"], None, "so (2)"),
    ],
)
def test_answers_of_every_kind_are_shown(question, answers, was, shows):
    one = Round(question, False, {str(k): Vote(answer, EVIL if k else "") for k, answer in enumerate(answers)})
    html = answers_html([one], outcome=was)
    assert shows in html
    assert "<img" not in html
    assert Round(question).typical() is None
    assert question.read(list(said) if isinstance(said := one.typical(), tuple) else said) == said
    assert "Nobody" in answers_html([Round(question)])
