"""The owner of a session: a random id in a cookie, or one owner for all browsers of a single user's machine.

The cookie is HttpOnly and SameSite=Lax. The application is run while the server still builds its answer to the first
request, before any header is sent, so the cookie is added to the headers of exactly that answer. Where the server is
not Tornado (a notebook, a test) there is no cookie and every session is its own owner.
"""

import os
import re
import secrets
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

COOKIE = "alrviz_owner"
LOCAL = "local"
LOCAL_SWITCH = "ALRVIZ_LOCAL_OWNER"
# Headers of requests that a proxy or tunnel has forwarded.
FORWARDED_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")
_ID = re.compile(r"[0-9a-f]{32}\Z")
_YEAR_SECONDS = 365 * 24 * 3600
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def new_id() -> str:
    """Return 128 random bits as 32 hex digits, for an owner, a run or a link's secret."""
    return secrets.token_hex(16)


def is_id(text: object) -> bool:
    """Return whether `text` has the form of an id."""
    return isinstance(text, str) and _ID.match(text) is not None


def cookie_text(owner: str, secure: bool = False) -> str:
    """Return the Set-Cookie header's value for `owner`."""
    return f"{COOKIE}={owner}; Max-Age={_YEAR_SECONDS}; Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")


def owner_of(
    cookies: Mapping[str, str], headers: Mapping[str, str] = _NO_HEADERS, environment: Mapping[str, str] = os.environ
) -> tuple[str, bool]:
    """Return the owner of a session with these cookies, and whether that owner is new.

    On a single user's machine all requests have one owner, except those that a proxy has forwarded: they may come from
    many people.

    Args:
        headers: the request's headers, to recognise forwarded requests.
        environment: with `ALRVIZ_LOCAL_OWNER` "1" if the server is for one person.
    """
    if environment.get(LOCAL_SWITCH) == "1" and not any(name in headers for name in FORWARDED_HEADERS):
        return LOCAL, False
    cookie = cookies.get(COOKIE, "")
    return (cookie, False) if is_id(cookie) else (new_id(), True)


def remember(request: Any, owner: str) -> bool:
    """Add the owner's cookie to the answer to a request (Bokeh's proxy of it); return whether that was possible."""
    http = getattr(request, "_request", None)
    connection = getattr(http, "connection", None)
    if connection is None or not hasattr(connection, "write_headers"):
        return False
    _add_header_once(connection, cookie_text(owner, secure=getattr(http, "protocol", "http") == "https"))
    return True


def _add_header_once(connection: Any, cookie: str) -> None:
    """Add a cookie to the next response of a connection. cookie: value of the header Set-Cookie."""
    original_write: Callable[..., Any] = connection.write_headers

    def write_headers(start_line: Any, headers: Any, *args: Any, **kwargs: Any) -> Any:
        del connection.write_headers  # restores the class's method: the connection may serve other requests
        headers.add("Set-Cookie", cookie)
        return original_write(start_line, headers, *args, **kwargs)

    connection.write_headers = write_headers
