"""A class as a value: who may answer what, how often, how much of it is held, and what is kept of it."""

import json

import pytest

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import Option, Question
from alrviz.explorer.server import class_store, classes
from alrviz.explorer.server.class_store import ClassAutosave, restore
from alrviz.explorer.server.classes import LETTERS, Classes, ClassRefused, Classroom
from alrviz.fitting.store import Store
from tests.conftest import wait_until
from tests.explorer.fakes import Clock

CHOICE = Question("q", "choice", "Which is faster?", (Option("lr", "LR"), Option("alr", "ALR")))
NUMBER = Question("n", "number", "How many?", (), low=0, high=100)
TEXT = Question("t", "text", "Why?", ())


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def room(clock):
    return Classroom("ann", clock=clock)


def refused(status, *given):
    work, *given = given
    with pytest.raises(ClassRefused) as found:
        work(*given)
    assert found.value.status == status
    return str(found.value)


def test_one_vote_a_student_and_round_changed_at_will_until_it_is_closed(room):
    assert "closed" in refused(409, room.vote, "bob", 0, "lr")
    first = room.ask(CHOICE)
    room.vote("bob", 1, "lr", "  it\nis\tsimple ")
    room.vote("eve", 1, "lr")
    room.vote("bob", 1, "alr", "no")
    assert {who: (vote.answer, vote.note) for who, vote in first.votes.items()} == {
        "bob": ("alr", "no"),
        "eve": ("lr", ""),
    }
    assert (room.vote_of("bob").answer, room.vote_of("nobody")) == ("alr", None)
    room.close()
    assert "closed" in refused(409, room.vote, "bob", 1, "lr")
    again = room.ask(CHOICE)
    assert "closed" in refused(409, room.vote, "bob", 1, "lr"), "an answer to the round before"
    room.vote("bob", 2, "lr")
    assert [one.votes["bob"].answer for one in room.rounds_of(CHOICE)] == ["alr", "lr"]
    assert room.phone_message()["again"]
    assert (first.open, again.open) == (False, True)


def test_phones_are_told_the_question_and_never_an_answer(room):
    assert room.phone_message() == {"round": 0, "open": False}
    room.ask(CHOICE)
    version, told = room.version, json.dumps(room.phone_message())
    room.vote("bob", 1, "alr", "secret words")
    assert (room.version, json.dumps(room.phone_message())) == (version, told)
    assert room.phone_message()["options"] == [["lr", "LR"], ["alr", "ALR"]]


@pytest.mark.parametrize("given", ["svm", 1, None, ["lr"], {"lr": 1}, True, "lr\0"])
def test_what_is_no_answer_is_refused_with_what_was_expected(room, given):
    room.ask(CHOICE)
    assert "lr, alr" in refused(422, room.vote, "bob", 1, given)
    assert not room.round.votes


@pytest.mark.parametrize(
    ("question", "given"), [(NUMBER, float("nan")), (NUMBER, 10**400), (TEXT, " \n\u200b"), (TEXT, 7)]
)
def test_numbers_and_texts_are_checked_too(room, question, given):
    room.ask(question)
    refused(422, room.vote, "bob", 1, given)


def test_texts_are_one_line_and_short(room):
    room.ask(TEXT)
    room.vote("bob", 1, "a\n\u202eb" + "c" * 10_000)
    assert room.round.votes["bob"].answer == "a b" + "c" * 197
    room.vote("eve", 1, "Vi\u00ea\u0323t" + "a" + "\u0300" * 190)
    assert room.round.votes["eve"].answer == "Vi\u00ea\u0323ta" + "\u0300" * 4, "marks do not pile up over other lines"


def test_a_student_may_not_send_too_often(room, clock):
    room.ask(CHOICE)
    for _ in range(classes.STUDENT_VOTES[0]):
        room.vote("bob", 1, "lr")
    assert "wait" in refused(429, room.vote, "bob", 1, "alr")
    room.vote("eve", 1, "lr")
    clock.now += classes.STUDENT_VOTES[1]
    room.vote("bob", 1, "alr")


def test_ten_thousand_who_come_take_the_room_of_a_thousand_and_keep_out_nobody_who_has_voted(room, clock, monkeypatch):
    monkeypatch.setattr(classes, "MAX_STUDENTS", 50)
    room.ask(CHOICE)
    for student in ("bob", "ann"):
        room.open_page(student, "here")
    room.vote("bob", 1, "lr", "", "here")
    room.close_page("bob")
    for k in range(10_000):
        room.join(f"{k}", f"{k % 3}")
    assert len(room.students) == 50
    assert {"bob", "ann"} <= set(room.students), "who has voted, or whose page is open"
    assert {f"{k}" for k in range(47)} <= set(room.students), "of those who only came the latest make room"
    room.open_page("cid", "0")
    assert "cid" in room.students, "a student of the address that the flood comes from"
    room.close_page("cid")
    assert dict(room.join_addresses()) == {"here": 2, "0": 17, "1": 16, "2": 15}
    for k in range(60):
        room.vote(f"script {k}", 1, "lr")
    assert len(room.round.votes) == 49, "all but ann"
    for k in range(48):
        room.open_page(f"new {k}")
        room.close_page(f"new {k}")
        room.vote(f"new {k}", 1, "alr")
    assert set(room.students) == {"bob", "ann"} | {f"new {k}" for k in range(48)}, "votes without a page make room"
    assert [vote.answer for vote in room.round.votes.values()] == ["lr"] + ["alr"] * 48
    assert "full" in refused(503, room.open_page, "one more")
    room.close_page("ann")
    assert not room.open_pages


def test_a_vote_that_is_refused_takes_nobodys_place(room, monkeypatch):
    monkeypatch.setattr(classes, "MAX_STUDENTS", 1)
    monkeypatch.setattr(classes, "MAX_TEXT_BYTES", 1000)
    room.ask(TEXT)
    room.vote("bob", 1, "b" * 100)
    refused(409, room.vote, "eve", 0, "e")
    refused(422, room.vote, "eve", 1, 7)
    refused(503, room.vote, "eve", 1, "e" * 200)
    for _ in range(classes.STUDENT_VOTES[0]):
        with pytest.raises(ClassRefused):
            room.vote("ann", 1, 7)
    refused(429, room.vote, "ann", 1, "a")
    assert (list(room.students), list(room.round.votes)) == (["bob"], ["bob"])
    room.vote("eve", 1, "e")
    assert (list(room.students), list(room.round.votes)) == (["eve"], ["eve"])
    room.vote("eve", 1, "e" * 200)


def test_words_have_a_limit_in_all(room, monkeypatch):
    monkeypatch.setattr(classes, "MAX_TEXT_BYTES", 1000)
    room.ask(TEXT)
    room.vote("bob", 1, "b" * 200)
    assert "no room" in refused(503, room.vote, "eve", 1, "e" * 200)
    room.vote("bob", 1, "b")
    room.vote("eve", 1, "e" * 200)


def test_a_closed_door_lets_in_nobody_new(room):
    room.ask(CHOICE)
    room.join("bob")
    room.locked = True
    room.vote("bob", 1, "lr")
    assert "nobody else" in refused(403, room.vote, "eve", 1, "lr")


def test_a_class_is_found_by_its_code_and_wrong_codes_run_out(clock):
    held = Classes(clock)
    room = held.open("ann")
    assert held.open("ann") is room
    assert (len(room.code), set(room.code) <= set(LETTERS)) == (6, True)
    code = f" {room.code[:3]}-{room.code[3:].lower()}\u00e9"
    assert held.enter(code, "here") is room
    for k in range(classes.BROWSER_CODES[0]):
        refused(404, held.enter, f"BBBBB{k}", "there")
    assert "Too many" in refused(429, held.enter, room.code, "there"), "else the right one would be told"
    assert held.enter(code, "here") is room
    assert held.enter(code, "there", "eve's") is room, "another browser behind the same router"
    for k in range(classes.ADDRESS_CODES[0] - classes.BROWSER_CODES[0]):
        refused(404, held.enter, "BBBBBB", "there", f"made up {k}")
    assert "QR code" in refused(429, held.enter, code, "there", "eve's")
    room.join(room.student("eve's"))
    assert held.enter(code, "there", "eve's") is room, "who is in the class learns nothing by it"
    for k in range(classes.TOTAL_CODES[0]):
        with pytest.raises(ClassRefused):
            held.enter("BBBBBB", f"{k}")
    refused(429, held.enter, room.code, "here")
    tries = classes.TOTAL_CODES[0] + 24 * 3600 / classes.TOTAL_CODES[1]
    assert tries / len(LETTERS) ** 6 < 0.002, "a day's tries from everywhere find a class by one in 500"
    assert held.find(room.secret) is room, "the QR code needs no letters"


def test_a_class_is_forgotten_when_it_ends_or_nobody_uses_it(clock, monkeypatch):
    monkeypatch.setattr(classes, "MAX_CLASSES", 2)
    held = Classes(clock)
    room, used = held.open("ann"), held.open("bob")
    used.open_page("eve")
    with pytest.raises(AlrvizError, match="2 classes"):
        held.open("cid")
    clock.now += classes.IDLE_CLASS_SECONDS + 1
    held.open("cid")
    assert (held.class_of("ann"), held.class_of("bob")) == (None, used)
    assert room.has_ended
    clock.now += classes.IDLE_CLASS_SECONDS + 1
    used.close_page("eve")
    asked = held.class_of("cid")
    asked.ask(CHOICE)
    clock.now += classes.IDLE_CLASS_SECONDS - 1
    used.touch()  # its teacher's page is open
    held.sweep()
    assert (held.class_of("cid"), held.class_of("bob")) == (asked, used), "a question counts, and a look"
    clock.now += 2
    held.sweep()
    assert (held.class_of("cid"), held.class_of("bob")) == (None, used), "without anybody who opens another"
    held.end(used)
    assert held.find(used.secret) is None


def test_answers_as_rows(room):
    room.ask(CHOICE)
    room.vote("bob", 1, "lr", "first")
    room.vote("eve", 1, "alr")
    room.ask(CHOICE)
    room.vote("eve", 2, "alr")
    rows = [(row["asked"], row["student"], row["answer"], row["note"]) for row in room.rows()]
    assert rows == [(1, 1, "lr", "first"), (1, 2, "alr", ""), (2, 2, "alr", "")]
    assert "bob" not in str(list(room.rows()))


def test_a_saved_class_is_there_after_a_restart_for_its_teacher_and_its_students(tmp_path, monkeypatch):
    monkeypatch.setattr(class_store, "TICK_SECONDS", 0.01)
    store, held = Store(tmp_path), Classes()
    room = held.open("ann")
    bob = room.student("bob's cookie")
    room.ask(NUMBER)
    room.vote(bob, 1, 40, "half")
    room.keeper = ClassAutosave(room, lambda: store)
    ranking = Question("o", "order", "Which first?", (Option("a", "A"), Option("b", "B")))
    room.ask(ranking)
    room.vote(bob, 2, ["b", "a"])
    wait_until(lambda: len(store.tasks(room.secret)) == 2 and store.tasks(room.secret)[1][2], 20, "the votes on disk")
    other = Classes()  # a second server of the same store
    restore(other, lambda: store)
    assert other.find(room.secret) is None, "its votes would be written over"
    wait_until(lambda: len(list(tmp_path.glob("runs.class.*"))) == 1, 20, "the lock")
    room.keeper._lock.release()  # the server was killed: nothing was ended
    after = Classes()
    restore(after, lambda: store)
    restore(other, lambda: store)
    assert other.find(room.secret) is None, "one of them takes it in"
    back = after.find(room.secret)
    assert (back.code, back.rounds[0].votes, back.rounds[0].open) == (room.code, room.rounds[0].votes, False)
    assert after.class_of("ann") is back
    assert after.class_of("bob's cookie") is None
    assert "bob's cookie" not in str(store.tasks(room.secret)), "nobody votes by what is kept"
    back.vote(bob, 2, ["a", "b"])
    assert [row["student"] for row in back.rows()] == [1, 1]
    after.end(back)
    assert back.keeper.join(20), "a class that has ended is kept no more"
    assert not list(tmp_path.glob("runs.class.*"))
    assert [(run.state, run.kind) for run in store.runs("ann")] == [("done", "class")]
    assert store.tasks(room.secret)[1][2][0]["answer"] == ["a", "b"]
    once_more = Classes()
    restore(once_more, lambda: store)
    assert once_more.find(room.secret) is None, "it has ended"
    room.keeper.end(delete=True)
    assert room.keeper.join(20)
    assert not store.runs("ann")
    store.close()


def test_a_class_of_a_teacher_who_has_opened_another_is_not_taken_in_and_one_that_is_can_be_deleted(tmp_path):
    store, held = Store(tmp_path), Classes()
    kept = json.dumps({"code": "BCDFGH"})
    store.begin("ann", "class", kept, "", id="a" * 32)
    store.begin("bob", "class", kept, "", id="b" * 32)
    new = held.open("ann")  # the server has just begun
    restore(held, lambda: store)
    assert (held.class_of("ann"), held.find("a" * 32)) == (new, None)
    assert [run.state for run in store.runs("ann")] == ["interrupted"]
    keeper = held.find("b" * 32).keeper  # nobody has asked for bob's yet: his name is not known
    keeper.end(delete=True)
    assert keeper.join(20)
    assert not store.runs("bob")
    store.close()
