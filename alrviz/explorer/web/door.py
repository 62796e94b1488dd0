"""Access by token, as in Jupyter: a visitor who opens an address with the server's token gets a cookie for it.

Readers of a shared race and students of a class need no token, because their links hold a secret.
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
from alrviz.explorer.web.answer import PlainPage, address_without

MAX_WRONG_TOKENS = 20  # of an address at once
SECONDS_PER_TRY = 3.0  # until one more
_READER = re.compile(rf"/(race/{spectators.SECRET}(/steps)?|class(/{spectators.SECRET}(/steps|/vote)?)?)/?\Z")


def _cookie_name(request: HTTPServerRequest) -> str:
    """Return the cookie's name, with the port, because browsers send a host's cookies to all of its ports."""
    port = request.host.rpartition(":")[2]
    return f"alrviz_token_{port if port.isdecimal() else ''}"


class _WithoutToken(Matcher):
    """Matches requests that the token form must answer: those without the cookie, and those whose address holds a
    token. Pages for spectators never match.
    """

    def __init__(self, token: str):
        self._token = token

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        is_admitted = _has_cookie(request, self._token)
        return None if (is_admitted and "token" not in request.arguments) or _READER.search(request.path) else {}


def _digest(token: str) -> str:
    """Return the cookie's value; the token itself may have characters that a cookie cannot hold."""
    return sha256(token.encode()).hexdigest()


def _has_cookie(request: HTTPServerRequest, token: str) -> bool:
    """Return whether a request has the cookie of the token."""
    cookie = request.cookies.get(_cookie_name(request))
    return cookie is not None and _is_equal(cookie.value, _digest(token))


def _is_equal(text: str, expected_text: str) -> bool:
    return secrets.compare_digest(text.encode(), expected_text.encode())


def token_rule(token: str) -> tuple[Matcher, type[RequestHandler], dict[str, object]]:
    """Return Tornado's rule that asks visitors without the cookie for the token."""
    return _WithoutToken(token), _TokenForm, {"token": token, "tries": RateLimit(MAX_WRONG_TOKENS, SECONDS_PER_TRY)}


class _TokenForm(PlainPage):
    """Asks for the token, and sets the cookie."""

    def initialize(self, token: str, tries: RateLimit) -> None:
        self._token, self._rate_limit = token, tries

    def prepare(self) -> None:
        """Set the cookie and redirect, or ask for the token; a valid cookie stays, whatever token the address has."""
        token, address = self.get_query_argument("token", ""), self.request.remote_ip or ""
        is_admitted = _has_cookie(self.request, self._token)
        wait = 0 if is_admitted or not token else ceil(self._rate_limit.seconds_to_wait(address))
        if wait:  # also for the right token, which an attacker would recognise otherwise
            self.set_header("Retry-After", str(wait))
            self.write_html(
                429,
                "Too many wrong tokens",
                f"<p>Your address has tried {MAX_WRONG_TOKENS} wrong tokens. Try again in {wait} s.</p>",
            )
            return
        if is_admitted or _is_equal(token, self._token):
            secure = self.request.protocol == "https"
            self.set_cookie(
                _cookie_name(self.request), _digest(self._token), httponly=True, samesite="Lax", secure=secure
            )
            self.redirect(address_without(self.request, "token"), status=303)
            return
        if token:
            self._rate_limit.count_attempt(address)
        hint = "<p>The token in this address is wrong. A server has a new token after every start.</p>"
        self.write_html(
            403,
            "This explorer needs a token",
            f"{hint if token else ''}<p>Open the address that was printed where the server was started (it ends with "
            "<code>?token=...</code>), or enter the token here.</p><form><label>Token <input name=token "
            "type=password autofocus></label> <button>Open</button></form>",
        )
