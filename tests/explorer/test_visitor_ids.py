"""Owners: one cookie, set once, on exactly the answer it belongs to."""

from types import SimpleNamespace

import pytest
from tornado.httputil import HTTPHeaders

from alrviz.errors import AlrvizError
from alrviz.explorer.server.limits import ServerLimits, limits_from
from alrviz.explorer.server.visitor_ids import (
    COOKIE,
    LOCAL,
    LOCAL_SWITCH,
    cookie_text,
    is_id,
    new_id,
    owner_of,
    remember,
)


def test_a_known_cookie_is_its_owner():
    owner = new_id()
    assert owner_of({COOKIE: owner}, {}, {}) == (owner, False)


@pytest.mark.parametrize("forged", ["", "local", "x" * 32, "a" * 31, "A" * 32, "a" * 32 + "\n", "../x"])
def test_anything_else_is_a_new_owner(forged):
    owner, new = owner_of({COOKIE: forged}, {}, {})
    assert new
    assert is_id(owner)
    assert owner != forged


def test_on_a_single_users_machine_there_is_one_owner():
    assert owner_of({}, {}, {LOCAL_SWITCH: "1"}) == (LOCAL, False)
    assert owner_of({}, {}, {LOCAL_SWITCH: "0"})[1]


@pytest.mark.parametrize("header", ["X-Forwarded-For", "x-real-ip", "forwarded", "Via"])
def test_a_forwarded_request_has_an_owner_of_its_own(header):
    owner, new = owner_of({}, HTTPHeaders({header: "1.2.3.4"}), {LOCAL_SWITCH: "1"})
    assert new
    assert owner != LOCAL


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites():
    text = cookie_text("a" * 32)
    assert "HttpOnly" in text
    assert "SameSite=Lax" in text
    assert "Secure" not in text
    assert cookie_text("a" * 32, secure=True).endswith("Secure")


def test_the_cookie_goes_with_one_answer_only():
    class Headers(dict):
        def add(self, key, value):
            self[key] = value

    class Connection:
        def write_headers(self, start_line, headers, chunk=None):
            return start_line, headers, chunk

    connection = Connection()
    request = SimpleNamespace(_request=SimpleNamespace(connection=connection, protocol="http"))
    assert remember(request, "b" * 32)
    _, headers, chunk = connection.write_headers("line", Headers(), b"body")
    assert headers["Set-Cookie"].startswith(f"{COOKIE}={'b' * 32};")
    assert chunk == b"body"
    assert connection.write_headers("line", Headers())[1] == {}


def test_without_a_web_server_there_is_no_cookie():
    assert not remember(SimpleNamespace(), "b" * 32)


def test_limits_come_from_the_environment():
    assert limits_from({}) == ServerLimits()
    changed = limits_from({"ALRVIZ_MAX_ROWS": "10", "ALRVIZ_MAX_BYTES": "none"})
    assert (changed.rows, changed.bytes) == (10, None)
    assert (changed.table().rows, changed.table().bytes) == (10, None)
    with pytest.raises(AlrvizError, match="ALRVIZ_MAX_ROWS='many' is not a limit; expected a whole number"):
        limits_from({"ALRVIZ_MAX_ROWS": "many"})
