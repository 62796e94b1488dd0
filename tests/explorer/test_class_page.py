"""A class over HTTP: who gets what, and what hostile students get."""

import asyncio
import json
import re
import subprocess

import pytest

from alrviz.explorer.lesson import Option, Question
from alrviz.explorer.server import classes
from alrviz.explorer.shell import asset
from alrviz.explorer.web import class_page, spectators
from benchmarks.spectators import messages
from tests.explorer.test_spectators import EVIL, Served, in_loop

CHOICE = Question("q", "choice", f"Which? {EVIL}", (Option("lr", "LR"), Option("alr", EVIL)))
TEXT = Question("t", "text", "Why?", ())


class Class(Served):
    """A server with a race and a class that shows it."""

    def __init__(self, auth=None):
        super().__init__(auth)
        self.room = self.registry.classes.open("ann")
        self.room.race = self.secret
        self.url = self.url.replace("/race/", "/class")
        self.own = f"/{self.room.secret}"

    async def student(self):
        """Open the page; returns the cookie that it gives."""
        page = await self.ask(self.own)
        assert page.code == 200
        return {"Cookie": page.headers["Set-Cookie"].split(";")[0]}

    async def vote(self, student, answer="lr", number=1, note="", **more):
        body = more.pop("body", None) or json.dumps({"round": number, "answer": answer, "note": note})
        return await self.ask(f"{self.own}/vote", method="POST", body=body, headers=student, **more)

    def told(self, student):
        """Listen to the steps; returns the messages that came, as a queue, and the answer to come."""
        came = asyncio.Queue()

        def take(data):
            for message in messages(data):
                came.put_nowait(message)

        return came, asyncio.ensure_future(self.ask(f"{self.own}/steps", headers=student, streaming_callback=take))


def said(answer):
    return json.loads(answer.body).get("error", "")


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(spectators, "TICK_SECONDS", 0.01)


def test_a_class_is_told_its_race_and_its_question_and_answers():
    async def look():
        held = Class()
        bob, eve = await held.student(), await held.student()
        assert bob != eve
        came, ends = held.told(bob)
        assert (await came.get())["steps"] == [0, 1, 2], "the live picture"
        assert (await came.get())["class"] == {"round": 0, "open": False}
        held.room.ask(CHOICE)
        while not (asked := (await came.get()).get("class", {})).get("round"):
            pass
        assert asked["open"]
        assert EVIL not in json.dumps(asked).replace(json.dumps(EVIL)[1:-1], "", 1)
        assert (await held.vote(bob, "alr", note=f"nobody's {EVIL}")).code == 200
        assert (await held.vote(eve)).code == 200
        mine = await held.ask(f"{held.own}/vote", headers=bob)
        assert json.loads(mine.body) == {"answer": "alr", "note": f"nobody's {EVIL}"}
        held.registry.revoke_link(held.entry)
        held.race.take(1)
        late, _ = held.told(eve)
        assert "steps" in await late.get(), "the picture stays when its race is gone"
        while "class" not in (whole := await late.get()):
            pass
        assert "nobody's" not in json.dumps(whole)
        held.room.close()
        assert "closed" in said(refused := await held.vote(eve, "alr"))
        assert refused.code == 409
        held.registry.classes.end(held.room)
        while (await came.get()) != {"gone": True}:
            pass
        assert (await ends).code == 200
        for path in ("", "/steps", "/vote"):
            assert (await held.ask(held.own + path, headers=bob)).code == 404

    in_loop(look())


def test_the_page_holds_nobodys_words_and_its_cookie_no_script_reads():
    async def look():
        held = Class()
        held.room.ask(CHOICE)
        page = await held.ask(held.own)
        assert held.room.secret not in page.body.decode()
        assert EVIL not in page.body.decode()
        cookie = page.headers["Set-Cookie"]
        assert re.search(r"HttpOnly.*SameSite=Lax|SameSite=Lax.*HttpOnly", cookie)
        again = await held.ask(held.own, headers={"Cookie": cookie.split(";")[0]})
        assert again.headers["Set-Cookie"].split(";")[0] == cookie.split(";")[0], "who comes back is who it was"
        for made_up in ("", "x" * 32, "F" * 32, "a" * 31):
            answer = await held.vote({"Cookie": f"{class_page.COOKIE}={made_up}"})
            assert (answer.code, "cookie" in said(answer)) == (403, True)

    in_loop(look())


def test_nobody_votes_twice_or_for_another_and_sees_no_other_vote():
    async def look():
        held = Class()
        held.room.ask(CHOICE)
        bob, eve = await held.student(), await held.student()
        await held.vote(bob, "lr")
        await held.vote(bob, "alr")
        assert [vote.answer for vote in held.room.round.votes.values()] == ["alr"]
        number = next(iter(held.room.students))
        for as_bob in ({"Cookie": f"{class_page.COOKIE}={number}"}, eve):
            body = json.dumps({"round": 1, "answer": "lr", "student": number, "id": number})
            await held.vote(as_bob, body=body)
            assert held.room.round.votes[number].answer == "alr"
        mine = json.loads((await held.ask(f"{held.own}/vote", headers=eve)).body)
        assert mine["answer"] == "lr"
        assert (await held.ask(f"{held.own}/votes", headers=eve)).code == 404
        assert (await held.ask(f"{held.own}/vote?student={number}", headers=eve)).body == json.dumps(mine).encode()

    in_loop(look())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"\xff\xfe", 400),
        (b"[" * 5000, 400),
        (b"null", 400),
        (b'{"round": "1", "answer": "lr"}', 400),
        (b'{"round": 1}', 422),
        (b'{"round": 1, "answer": {"a": [1]}}', 422),
        (b'{"round": 1, "answer": "svm"}', 422),
        (b'{"round": 2, "answer": "lr"}', 409),
        (b'{"round": 1e999, "answer": "lr"}', 400),
        (b'{"round": 1, "answer": "lr", "note": "' + b"x" * 20_000 + b'"}', 400),
    ],
)
def test_whatever_else_is_sent_is_refused(body, code):
    async def look():
        held = Class()
        held.room.ask(CHOICE)
        answer = await held.vote(await held.student(), body=body)
        assert answer.code == code
        assert not held.room.round.votes
        assert (await held.vote(await held.student())).code == 200, "the server is there"

    in_loop(look())


def test_rates_are_limited_and_a_door_can_be_closed():
    async def look():
        held = Class()
        held.room.ask(CHOICE)
        bob = await held.student()
        codes = [(await held.vote(bob)).code for _ in range(classes.STUDENT_VOTES[0] + 3)]
        assert codes[: classes.STUDENT_VOTES[0]] == [200] * classes.STUDENT_VOTES[0]
        assert codes[-1] == 429
        held.room.locked = True
        eve = await held.student()
        answers = (await held.vote(eve), await held.ask(f"{held.own}/steps", headers=eve))
        assert [answer.code for answer in answers] == [403, 403]
        assert answers[1].body.decode().startswith("The teacher lets nobody else in")

    in_loop(look())


def test_a_page_opened_often_and_a_crowd_beyond_all_places_are_told_so(monkeypatch):
    monkeypatch.setattr(spectators, "MAX_READERS", class_page.MAX_STUDENT_PAGES + 1)

    async def look():
        held = Class()
        bob = await held.student()
        open_pages = [held.told(bob) for _ in range(class_page.MAX_STUDENT_PAGES)]
        for came, _ in open_pages:
            await came.get()
        assert (await held.ask(f"{held.own}/steps", headers=bob)).code == 429
        came, _ = held.told(await held.student())
        await came.get()
        full = await held.ask(f"{held.own}/steps", headers=await held.student())
        assert (full.code, full.body) == (503, b"There is no place for more readers now")
        assert held.room.open_pages.total() == class_page.MAX_STUDENT_PAGES + 1, "who was refused is not here"

    in_loop(look())


def test_six_letters_lead_to_the_class_and_wrong_ones_run_out():
    async def look():
        held = Class()
        assert b"six letters" in (await held.ask("")).body
        for form in ("", "/"):
            right = await held.ask(f"{form}?code={held.room.code.lower()}")
            assert right.code == 303
            led = right.headers["Location"]
            assert led == f"./{'' if form else 'class/'}{held.room.secret}"
        codes = [(await held.ask("?code=%3Cb%3EBBBB")) for _ in range(classes.BROWSER_CODES[0] + 1)]
        assert [answer.code for answer in codes] == [404] * classes.BROWSER_CODES[0] + [429]
        assert b"<b>BBBB" not in codes[0].body
        right = f"?code={held.room.code}"
        assert (await held.ask(right)).code == 429
        other = {"Cookie": (await held.ask("")).headers["Set-Cookie"].split(";")[0]}
        assert (await held.ask(right, headers=other)).code == 303, "another browser of the same address"
        assert (await held.ask(held.own)).code == 200, "the QR code is no guess"

    in_loop(look())


def test_a_number_is_read_as_it_was_meant_or_asked_about():
    from playwright._impl._driver import compute_driver_executable

    read = re.search(r"function questionNumber.*?\n}", asset("questions.js"), re.DOTALL)[0]
    typed = ["1,5", "0,125", " 1 000", "12,500.5", "1,000,000", "-2.5", "1e3", "some", "1,000", "-12,500"]
    tried = "x => { try { return questionNumber(x) } catch (error) { return error.message } }"
    code = f"{read}\nconsole.log(JSON.stringify({json.dumps(typed)}.map({tried})))"
    found = json.loads(subprocess.check_output([compute_driver_executable()[0], "-e", code], timeout=60))
    assert found[:8] == [1.5, 0.125, 1000, 12500.5, 1_000_000, -2.5, 1000, None]
    assert found[8:] == [
        "1,000: do you mean 1000 or 1.000? Write it so.",
        "-12,500: do you mean -12500 or -12.500? Write it so.",
    ]
