"""The pages of a class over HTTP: the live picture of a race with a question below, and the answers of phones.

    <page of the explorer>/class                   a form for the code of six letters; ?code=... redirects to the class
    <page of the explorer>/class/<secret>          the page: live picture, question, field for the answer
    <page of the explorer>/class/<secret>/steps    server-sent events, the same bytes for all: race and question
    <page of the explorer>/class/<secret>/vote     POST an answer as JSON; GET the student's own answer

Students have no accounts and no sessions: a student is the random id in a cookie that scripts cannot read. An answer
has at most a few kilobytes and is validated by the question; no part of it is ever sent to other students.
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
from alrviz.explorer.web.answer import PlainPage
from alrviz.explorer.web.race_feed import ENDED_MESSAGE, RaceFeed
from alrviz.explorer.web.spectators import SECRET, EventStream, SecretHandler
from alrviz.pictures.replay import live_html, to_json

COOKIE = "alrviz_student"
MAX_BODY_BYTES = 8_192  # of an answer
MAX_STUDENT_PAGES = 3  # open pages of a student
COOKIE_DAYS = 7  # after the page was loaded last; a saved class may go on over days
_NO_CLASS = "There is no class at this address now."
_NO_COOKIE = "This page needs a cookie, so that your answer is counted once. Allow cookies and load the page again."


class ClassFeed(RaceFeed):
    """The messages to the phones of a class: the race that its teacher shows, and the question."""

    def __init__(self, registry: Registry, secret: str):
        super().__init__(registry, "")
        self._secret = secret
        self._version = -1

    @property
    def full_message(self) -> bytes:
        """The complete message, for a phone that has just connected."""
        room = self._registry.classes.find(self._secret)
        return ENDED_MESSAGE if room is None else super().full_message + _question_message(room)

    def pull(self) -> bytes:
        """Return the changes of class and race since the last call, as JSON lines; once the class has ended,
        ENDED_MESSAGE.
        """
        room = self._registry.classes.find(self._secret)
        if room is None:
            self.is_ended = True
            return ENDED_MESSAGE
        self.token = room.race
        json_lines = super().pull() if room.race else b""
        if self.is_ended:  # phones show the last picture until there is another race
            self.is_ended, json_lines = False, b""
        if room.version != self._version:
            self._version = room.version
            json_lines += _question_message(room)
        return json_lines


def _question_message(room: Classroom) -> bytes:
    """Return the class's question as a JSON line for phones."""
    message = room.phone_message()
    if room.round is not None:  # the teacher's words are Markdown
        message["text"] = markdown_html(message["text"], inline=True)
        message["options"] = [[value, markdown_html(text, inline=True)] for value, text in message["options"]]
    return to_json({"class": message}).encode() + b"\n"


def _cookie(request: RequestHandler) -> str:
    """Return the student's cookie; "" without a valid one."""
    cookie = request.get_cookie(COOKIE, "") or ""
    return cookie if is_id(cookie) else ""


def _keep_cookie(request: RequestHandler) -> None:
    """Set the student's cookie, or extend its life."""
    secure = request.request.protocol == "https"
    id = _cookie(request) or new_id()
    request.set_cookie(COOKIE, id, expires_days=COOKIE_DAYS, httponly=True, samesite="Lax", secure=secure)


class _ClassHandler(SecretHandler):
    """Base of the handlers of a class."""

    def authenticate(self, secret: str) -> tuple[Classroom, str]:
        """Return the class and the student of the request.

        Raises:
            ClassRefused: if there is no such class, or the request has no cookie.
        """
        room, cookie = self.registry.classes.find(secret), _cookie(self)
        if room is None:
            raise ClassRefused(404, _NO_CLASS)
        if not cookie:
            raise ClassRefused(403, _NO_COOKIE)
        return room, room.student(cookie)


class ClassPage(_ClassHandler):
    """The page of a class, which sets the student's cookie."""

    @authenticated
    def get(self, secret: str) -> None:
        """Respond with the page; with status 404 if there is no such class."""
        if self.registry.classes.find(secret) is None:
            self.set_status(404)
        else:
            _keep_cookie(self)
        self.write_page(_page_bytes())


class ClassStream(_ClassHandler, EventStream):
    """The event stream of a class's page."""

    @authenticated
    async def get(self, secret: str) -> None:
        """Stream race and questions until the class ends."""
        try:
            room, student = self.authenticate(secret)
            if room.open_pages[student] >= MAX_STUDENT_PAGES:
                raise ClassRefused(429, "This page is open too often; close it in another window.")
            room.open_page(student, self.address)
        except ClassRefused as refusal:
            self.set_status(refusal.status)
            self.write(str(refusal))
            return
        try:
            await self.stream_feed(secret, lambda: ClassFeed(self.registry, secret))
        finally:
            room.close_page(student)


@stream_request_body
class ClassVote(_ClassHandler):
    """The answer of a student to the latest question."""

    async def prepare(self) -> None:
        """Limit the body; longer ones are not read."""
        self.request.connection.set_max_body_size(MAX_BODY_BYTES)
        self._body = b""
        await super().prepare()

    def data_received(self, chunk: bytes) -> None:
        """Append a part of the body."""
        self._body += chunk

    @authenticated
    def get(self, secret: str) -> None:
        """Respond with the student's own answer to the latest question; {} without one."""
        try:
            room, student = self.authenticate(secret)
        except ClassRefused as refusal:
            self._refuse(refusal)
            return
        vote = room.vote_of(student)
        self.write({} if vote is None else {"answer": vote.answer, "note": vote.note})

    @authenticated
    def post(self, secret: str) -> None:
        """Record the answer of the student (known by a cookie) in the class whose link has this secret.

        If it is refused, respond with the reason.
        """
        try:
            room, student = self.authenticate(secret)
            answer_fields = _parse_answer(self._body)
            note = answer_fields.get("note") or ""
            room.vote(student, answer_fields["round"], answer_fields.get("answer"), note, self.address)
        except ClassRefused as refusal:
            self._refuse(refusal)
            return
        self.write({})

    def _refuse(self, refusal: ClassRefused) -> None:
        self.set_status(refusal.status)
        if refusal.wait:
            self.set_header("Retry-After", str(ceil(refusal.wait)))
        self.write({"error": str(refusal)})


def _parse_answer(body: bytes) -> dict[str, Any]:
    """Return the fields of a phone's answer; raise `ClassRefused` if they are malformed."""
    try:
        answer_fields = json.loads(body)
    except (ValueError, RecursionError):
        answer_fields = None
    if not isinstance(answer_fields, dict) or type(answer_fields.get("round")) is not int:
        raise ClassRefused(400, "That is no answer: expected JSON with round, answer and note.")
    return answer_fields


class ClassCode(PlainPage):
    """The form for the code of a class."""

    def initialize(self, registry: Registry | None = None) -> None:
        """Set the registry; None for the process's."""
        self._classes = (registry or process_registry()).classes

    def get(self) -> None:
        """Redirect to the class of the code in the address, or show the form."""
        code, wrong = self.get_query_argument("code", ""), ""
        _keep_cookie(self)
        if code:
            try:
                room = self._classes.enter(code[:40], self.request.remote_ip or "", _cookie(self))
            except ClassRefused as refusal:
                self.set_status(refusal.status)
                wrong = str(refusal)
                if refusal.wait:
                    wrong += f" in {ceil(refusal.wait)} s."
                    self.set_header("Retry-After", str(ceil(refusal.wait)))
            else:
                folder = "./" if self.request.path.endswith("/") else "./class/"
                self.redirect(f"{folder}{room.secret}", status=303)
                return
        self.set_header("Referrer-Policy", "no-referrer")
        self.write_html(
            self.get_status(),
            "Join a class",
            f"<p role=alert>{escape(wrong)}</p><form><label>The six letters on the wall<br><input name=code autofocus "
            "required autocapitalize=characters autocomplete=off spellcheck=false maxlength=20 style='font:600 2rem "
            "ui-monospace,monospace;width:9em;max-width:100%;letter-spacing:.15em;text-transform:uppercase'></label> "
            "<p><button style='font:inherit;font-weight:600;min-height:48px;padding:0 2em;border:0;border-radius:8px;"
            "background:#5b3db8;color:#fff'>Join</button></p></form>",
        )


@cache
def _page_bytes() -> bytes:
    section = f"<style>{asset('questions.css')}</style>{asset('class_page.html', __package__)}"
    return live_html("Class", section, asset("questions.js") + asset("class_page.js", __package__)).encode()


def routes(registry: Registry | None = None) -> list[tuple[str, Any, dict[str, Any]]]:
    """Return the routes for Tornado, below any path of the explorer."""
    kwargs = {"registry": registry}
    return [
        (r".*/class/?", ClassCode, kwargs),
        (rf".*/class/{SECRET}/steps", ClassStream, kwargs),
        (rf".*/class/{SECRET}/vote", ClassVote, kwargs),
        (r".*/class/([^/]*)/?", ClassPage, kwargs),
    ]
