"""The token that a server may ask of visitors, as Jupyter does: whoever brings it in an address gets a cookie for it.

Readers of a shared race and students of a class bring the secret of their link instead.
"""

import re
import secrets
from hashlib import sha256
from math import ceil

from tornado.httputil import HTTPServerRequest
from tornado.routing import Matcher
from tornado.web import RequestHandler

from alrviz.explorer.server.rate_limit import RateLimit
from alrviz.explorer.web import spectators
from alrviz.explorer.web.answer import Answer, address_without

TRIES_AT_ONCE = 20  # wrong tokens that an address may bring at once
SECONDS_PER_TRY = 3.0  # seconds after which it may bring one more
_READER = re.compile(rf"/(race/{spectators.SECRET}(/steps)?|class(/{spectators.SECRET}(/steps|/vote)?)?)/?\Z")


def _cookie_of(request: HTTPServerRequest) -> str:
    """The cookie's name: browsers send all of a host's to each of its ports."""
    port = request.host.rpartition(":")[2]
    return f"alrviz_token_{port if port.isdecimal() else ''}"


class _WithoutCookie(Matcher):
    """Requests that have not shown the token, and those that still have it in their address."""

    def __init__(self, token: str):
        self._token = token

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        shown = _shown(request, self._token)
        return None if (shown and "token" not in request.arguments) or _READER.search(request.path) else {}


def _digest(token: str) -> str:
    """What the cookie holds: a token may be any text."""
    return sha256(token.encode()).hexdigest()


def _shown(request: HTTPServerRequest, token: str) -> bool:
    """Whether a request has the cookie."""
    cookie = request.cookies.get(_cookie_of(request))
    return cookie is not None and _same(cookie.value, _digest(token))


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode(), expected.encode())


def door_rule(token: str) -> tuple[Matcher, type[RequestHandler], dict[str, object]]:
    """Return the rule, as Tornado takes it, that asks for a token whoever has not shown it."""
    return _WithoutCookie(token), _Door, {"token": token, "tries": RateLimit(TRIES_AT_ONCE, SECONDS_PER_TRY)}


class _Door(Answer):
    """Takes the token and gives the cookie."""

    def initialize(self, token: str, tries: RateLimit) -> None:
        self._token, self._tries = token, tries

    def prepare(self) -> None:
        """Let in, or ask for the token; one who is in already keeps the cookie, whatever token the address has."""
        given, address = self.get_query_argument("token", ""), self.request.remote_ip or ""
        known = _shown(self.request, self._token)
        wait = 0 if known or not given else ceil(self._tries.wait(address))
        if wait:  # also the right one: else it would be told from the others
            self.set_header("Retry-After", str(wait))
            self.say(
                429,
                "Too many wrong tokens",
                f"<p>Your address has brought {TRIES_AT_ONCE} wrong tokens; the next one is looked at in {wait} s.</p>",
            )
            return
        if known or _same(given, self._token):
            secure = self.request.protocol == "https"
            self.set_cookie(
                _cookie_of(self.request), _digest(self._token), httponly=True, samesite="Lax", secure=secure
            )
            self.redirect(address_without(self.request, "token"), status=303)
            return
        if given:
            self._tries.count(address)
        wrong = "<p>The token in this address is not the one of this server; it changes with every start.</p>"
        self.say(
            403,
            "This explorer asks for its token",
            f"{wrong if given else ''}<p>Open the address that was printed where the server was started (it ends with "
            "<code>?token=...</code>), or enter the token here.</p><form><label>Token <input name=token "
            "type=password autofocus></label> <button>Open</button></form>",
        )
