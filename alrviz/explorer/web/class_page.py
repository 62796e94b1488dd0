"""A class over HTTP: the light page of spectators with a question on it, and the answers that phones send.

    <page of the explorer>/class                   where the code of six letters is typed, ?code=... leads on
    <page of the explorer>/class/<secret>          the page: the live picture, the question, a field
    <page of the explorer>/class/<secret>/steps    server-sent events, the same bytes for all: race and question
    <page of the explorer>/class/<secret>/vote     POST an answer as JSON; GET one's own

Nobody has an account or a session: a student is the random id in a cookie that scripts cannot read. What a student
sends is at most a few kilobytes and is read by the question; nothing of it is ever in what others are sent.
"""

import json
from functools import cache
from html import escape
from math import ceil
from typing import Any

from tornado.web import RequestHandler, authenticated, stream_request_body

from alrviz.explorer.server.classes import ClassRefused, Classroom
from alrviz.explorer.server.run_registry import Registry, process_registry
from alrviz.explorer.server.visitor_ids import is_id, new_id
from alrviz.explorer.shell import asset
from alrviz.explorer.shell.markdown import markdown_html
from alrviz.explorer.web.answer import Answer
from alrviz.explorer.web.race_feed import GONE, RaceFeed
from alrviz.explorer.web.spectators import SECRET, Quiet, Steps
from alrviz.pictures.replay import live_html, to_json

COOKIE = "alrviz_student"
MAX_BODY_BYTES = 8_192  # bytes of an answer
MAX_PAGES = 3  # that a student may have open
COOKIE_DAYS = 7  # that a student's cookie lasts from when a page was loaded last: a saved class goes on over days
_NO_CLASS = "There is no class at this address now."
_NO_COOKIE = "This page needs a cookie, by which your answer is counted once. Allow it and load the page again."


class ClassFeed:
    """What the phones of a class are told: the race that its teacher shows, and the question.

    Attributes:
        gone: whether the class is over; what `pull` returned then was the last message.
    """

    def __init__(self, registry: Registry, secret: str):
        self.gone = False
        self._registry, self._secret = registry, secret
        self._race = RaceFeed(registry, "")
        self._version = -1

    @property
    def whole(self) -> bytes:
        """All that is known, for a phone that has just come."""
        room = self._registry.classes.find(self._secret)
        return GONE if room is None else self._race.whole + _question(room)

    def pull(self) -> bytes:
        """Return what is new."""
        room = self._registry.classes.find(self._secret)
        if room is None:
            self.gone = True
            return GONE
        self._race.token = room.race
        line = self._race.pull() if room.race else b""
        if self._race.gone:  # the picture stays as it was until there is another
            self._race.gone, line = False, b""
        if room.version != self._version:
            self._version = room.version
            line += _question(room)
        return line


def _question(room: Classroom) -> bytes:
    told = room.phone_message()
    if room.round is not None:  # the teacher's words are Markdown
        told["text"] = markdown_html(told["text"], inline=True)
        told["options"] = [[value, markdown_html(words, inline=True)] for value, words in told["options"]]
    return to_json({"class": told}).encode() + b"\n"


def _cookie(request: RequestHandler) -> str:
    """Return the student's id; "" where the browser brings none."""
    found = request.get_cookie(COOKIE, "") or ""
    return found if is_id(found) else ""


def _keep_cookie(request: RequestHandler) -> None:
    """Give a browser an id, or the one that it has for longer."""
    secure = request.request.protocol == "https"
    id = _cookie(request) or new_id()
    request.set_cookie(COOKIE, id, expires_days=COOKIE_DAYS, httponly=True, samesite="Lax", secure=secure)


class _OfClass(Quiet):
    """What a class's addresses have in common: who asks, and where."""

    def room(self, secret: str) -> Classroom:
        """The class of a secret; `ClassRefused` where there is none."""
        found = self.registry.classes.find(secret)
        if found is None:
            raise ClassRefused(404, _NO_CLASS)
        return found

    def entered(self, secret: str) -> tuple[Classroom, str]:
        """The class, and who asks; `ClassRefused` where one of them is not known."""
        room, cookie = self.room(secret), _cookie(self)
        if not cookie:
            raise ClassRefused(403, _NO_COOKIE)
        return room, room.student(cookie)


class ClassPage(_OfClass):
    """The page; whoever comes for the first time gets an id."""

    @authenticated
    def get(self, secret: str) -> None:
        """Answer with the page, with status 404 where there is no class."""
        if self.registry.classes.find(secret) is None:
            self.set_status(404)
        else:
            _keep_cookie(self)
        self.write_page(_page())


class ClassSteps(_OfClass, Steps):
    """What the page is told, as long as it stays."""

    @authenticated
    async def get(self, secret: str) -> None:
        """Tell of the class until it ends."""
        try:
            room, student = self.entered(secret)
            if room.open_pages[student] >= MAX_PAGES:
                raise ClassRefused(429, "This page is open too often: close it elsewhere.")
            room.open_page(student, self.address)
        except ClassRefused as refused:
            self.set_status(refused.status)
            self.write(str(refused))
            return
        try:
            await self.serve(secret, lambda: ClassFeed(self.registry, secret))
        finally:
            room.close_page(student)


@stream_request_body
class ClassVote(_OfClass):
    """A student's answer."""

    async def prepare(self) -> None:
        """Take no more than an answer: what is longer is not read."""
        self.request.connection.set_max_body_size(MAX_BODY_BYTES)
        self._body = b""
        await super().prepare()

    def data_received(self, chunk: bytes) -> None:
        """Take a part of it."""
        self._body += chunk

    @authenticated
    def get(self, secret: str) -> None:
        """Answer with one's own answer to the question that was asked last."""
        try:
            room, student = self.entered(secret)
        except ClassRefused as refused:
            self._refuse(refused)
            return
        vote = room.vote_of(student)
        self.write({} if vote is None else {"answer": vote.answer, "note": vote.note})

    @authenticated
    def post(self, secret: str) -> None:
        """Take an answer, or say why not."""
        try:
            room, student = self.entered(secret)
            sent = _sent(self._body)
            room.vote(student, sent["round"], sent.get("answer"), sent.get("note") or "", self.address)
        except ClassRefused as refused:
            self._refuse(refused)
            return
        self.write({})

    def _refuse(self, refused: ClassRefused) -> None:
        self.set_status(refused.status)
        if refused.wait:
            self.set_header("Retry-After", str(ceil(refused.wait)))
        self.write({"error": str(refused)})


def _sent(body: bytes) -> dict[str, Any]:
    """Return what a phone has sent; `ClassRefused` of what is no answer's form."""
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict) or type(sent.get("round")) is not int:
        raise ClassRefused(400, "That is no answer: expected JSON with round, answer and note.")
    return sent


class ClassCode(Answer):
    """Where the code is typed."""

    def initialize(self, registry: Registry | None = None) -> None:
        """Take the registry, the process's own without one."""
        self._classes = (registry or process_registry()).classes

    def get(self) -> None:
        """Lead to the class whose code is in the address, or ask for a code."""
        code, wrong = self.get_query_argument("code", ""), ""
        _keep_cookie(self)
        if code:
            try:
                room = self._classes.enter(code[:40], self.request.remote_ip or "", _cookie(self))
            except ClassRefused as refused:
                self.set_status(refused.status)
                wrong = str(refused)
                if refused.wait:
                    wrong += f" in {ceil(refused.wait)} s."
                    self.set_header("Retry-After", str(ceil(refused.wait)))
            else:
                folder = "./" if self.request.path.endswith("/") else "./class/"
                self.redirect(f"{folder}{room.secret}", status=303)
                return
        self.set_header("Referrer-Policy", "no-referrer")
        self.say(
            self.get_status(),
            "Join a class",
            f"<p role=alert>{escape(wrong)}</p><form><label>The six letters on the wall<br><input name=code autofocus "
            "required autocapitalize=characters autocomplete=off spellcheck=false maxlength=20 style='font:600 2rem "
            "ui-monospace,monospace;width:9em;max-width:100%;letter-spacing:.15em;text-transform:uppercase'></label> "
            "<p><button style='font:inherit;font-weight:600;min-height:48px;padding:0 2em;border:0;border-radius:8px;"
            "background:#5b3db8;color:#fff'>Join</button></p></form>",
        )


@cache
def _page() -> bytes:
    section = f"<style>{asset('questions.css')}</style>{asset('class_page.html', __package__)}"
    return live_html("Class", section, asset("questions.js") + asset("class_page.js", __package__)).encode()


def routes(registry: Registry | None = None) -> list[tuple[str, Any, dict[str, Any]]]:
    """Return the handlers as Tornado takes them, below whichever path the explorer has."""
    given = {"registry": registry}
    return [
        (r".*/class/?", ClassCode, given),
        (rf".*/class/{SECRET}/steps", ClassSteps, given),
        (rf".*/class/{SECRET}/vote", ClassVote, given),
        (r".*/class/([^/]*)/?", ClassPage, given),
    ]
