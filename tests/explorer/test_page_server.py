"""The page's HTML is handed out at once; its session is built once, in its turn, and for whoever still waits for it."""

import asyncio
import base64
import gzip
import json
import re
from contextlib import suppress
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from bokeh.util.token import generate_jwt_token, get_token_payload
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from alrviz.explorer.server import page_queue
from alrviz.explorer.server.page_queue import PageQueue
from alrviz.explorer.server.visitor_ids import COOKIE
from alrviz.explorer.shell.connection import HEADER
from alrviz.explorer.web import page_server
from alrviz.explorer.web.messages import MAX_MESSAGE_BYTES, BoundedReceiver
from alrviz.explorer.web.page_server import MAX_SESSION_SOCKETS, PageServer
from tests.explorer.test_guard import PATIENCE, TOKEN, ask, first_message, forged, page_of
from tests.explorer.test_messages import change, fragments


class Context:
    """A server's sessions; each is built when the test says so."""

    def __init__(self):
        self.sessions, self.begun, self.built = [], [], asyncio.Event()

    async def create_session_if_needed(self, id, request, token):
        self.begun.append(id)
        await self.built.wait()
        self.sessions.append(SimpleNamespace(id=id))


def coming(server, id, address="a"):
    request = SimpleNamespace(remote_ip=address, path="/page/ws", uri="/page/ws?a=1", cookies={})
    return asyncio.ensure_future(server.ensure_session(generate_jwt_token(id, signed=False), request, "/ws"))


async def turns(count=6):
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_session_that_page_and_websocket_ask_for_is_built_once():
    async def run():
        context = Context()
        server = PageServer(context, PageQueue())
        both = [coming(server, "one"), coming(server, "one")]
        await turns()
        context.built.set()
        assert await asyncio.gather(*both, coming(server, "one")) == [True] * 3
        assert await coming(server, "one")
        return context.begun

    assert asyncio.run(run()) == ["one"]


def test_what_nobody_waits_for_any_more_is_not_begun_and_what_is_begun_is_built():
    async def run():
        context = Context()
        server = PageServer(context, PageQueue())
        first, left, stays, kept = (coming(server, name) for name in ("first", "left", "kept", "kept"))
        await turns()
        for task in (first, left, stays):  # one that is being built, one that queues, and one of two that queue
            task.cancel()
        context.built.set()
        assert await kept
        await asyncio.gather(first, left, stays, return_exceptions=True)
        return context.begun, [session.id for session in context.sessions]

    assert asyncio.run(run()) == (["first", "kept"], ["first", "kept"])


def test_whoever_comes_as_the_last_one_leaves_is_served_and_a_session_that_is_being_built_keeps_its_turn():
    async def run():
        context = Context()
        server = PageServer(context, PageQueue())
        first = coming(server, "first")
        left = coming(server, "again")
        await turns()
        left.cancel()
        await asyncio.sleep(0)
        again = coming(server, "again")  # as the one before is being cancelled
        first.cancel()
        await turns()
        twice = coming(server, "first")
        await turns()
        assert context.begun == ["first"], "nobody else's turn while one is being built"
        context.built.set()
        assert [await again, await twice] == [True, True]
        return context.begun

    assert asyncio.run(run()) == ["first", "again"]


def test_too_many_who_wait_are_told(monkeypatch):
    monkeypatch.setattr(page_queue, "MAX_WAITING_PER_ADDRESS", 1)

    async def run():
        context = Context()
        server = PageServer(context, PageQueue())
        waiting = [coming(server, name) for name in ("one", "two", "three")]
        await turns()
        context.built.set()
        return await asyncio.gather(*waiting)

    assert asyncio.run(run()) == [True, True, False]


def test_a_session_that_waits_has_a_place():
    async def run():
        context = Context()
        server = PageServer(context, PageQueue())
        waiting = [coming(server, name) for name in ("one", "two", "three")]
        await turns()
        places = [server.queue.place(name)[0] for name in ("one", "two", "three", "none")]
        context.built.set()
        await asyncio.gather(*waiting)
        return places

    assert asyncio.run(run()) == [0, 1, 2, 0]


@pytest.fixture
def opened(served):
    """The address of a server that has built a page."""
    asyncio.run(page_of(served.url))
    return served.url


def test_whoever_only_asks_for_the_page_has_no_session_built(opened):
    async def here(token, path=""):
        return await ask(f"{opened}/session{path}", headers={HEADER: token})

    async def look():
        page = await ask(opened + "?data=led")
        token = TOKEN.search(page.body.decode())[1]
        assert re.search('name="alrviz-token" content="([^"]+)"', page.body.decode())[1] == token
        assert json.loads((await here(token)).body)["here"] is False
        for other in ("", "x", forged("chosen"), token[:-3]):
            assert (await here(other, "/new?data=led")).code == 403
            assert (await here(other, "/place")).code == 403
        assert json.loads((await here(token, "/place")).body) == {"place": 0, "seconds": 0}
        assert (await here(token, "/new?data=led")).code == 204
        assert json.loads((await here(token)).body)["here"] is True
        assert await first_message(opened, token) == "ACK"

    asyncio.run(look())


def test_the_session_is_of_the_owner_whose_cookie_came_with_the_page(opened):
    async def look():
        page = await ask(opened)
        owner = re.match(f"{COOKIE}=([0-9a-f]{{32}});.*HttpOnly", page.headers["Set-Cookie"])[1]
        assert get_token_payload(TOKEN.search(page.body.decode())[1])["cookies"][COOKIE] == owner
        again = await ask(opened, headers={"Cookie": f"{COOKIE}={owner}"})
        assert "Set-Cookie" not in again.headers
        assert get_token_payload(TOKEN.search(again.body.decode())[1])["cookies"][COOKIE] == owner

    asyncio.run(look())


async def connect(url, token):
    """A websocket of the session of a token."""
    address = urlsplit(url)
    request = HTTPRequest(
        f"ws://{address.netloc}{address.path}/ws",
        headers={"Origin": f"http://{address.netloc}"},
        request_timeout=PATIENCE,
    )
    return await websocket_connect(request, subprotocols=["bokeh", token], max_message_size=2**28)


async def close_code_of(url, token, *parts, size=0):
    """The code with which a websocket is closed that sends these parts when its session is there, then the head of a
    message of `size` bytes: bytes that the server has not read when it closes would reset the connection, and the code
    be lost.
    """
    socket = await connect(url, token)
    for _ in range(3):
        assert await asyncio.wait_for(socket.read_message(), PATIENCE) is not None
    with suppress(WebSocketClosedError):  # closed before all of a part was sent
        for part in parts:
            await socket.write_message(part, binary=isinstance(part, bytes))
        if size:
            await socket.protocol.stream.write(b"\x81\xff" + size.to_bytes(8, "big") + bytes(4))
    while await asyncio.wait_for(socket.read_message(), PATIENCE) is not None:
        pass
    socket.close()
    return socket.close_code


def test_a_websocket_beyond_the_limits_is_closed_with_a_short_line(opened, served):
    packed = {"type": "bytes", "data": base64.b64encode(gzip.compress(bytes(10**6))).decode()}

    async def look():
        token = await page_of(opened)
        assert await close_code_of(opened, token, *fragments(change(packed, "href", "p1001"))) == 1008
        assert await close_code_of(opened, token, size=MAX_MESSAGE_BYTES + 1) == 1009
        assert await first_message(opened, token) == "ACK", "the session itself goes on"

    begun = len(served.log)
    asyncio.run(look())
    assert len(served.log) - begun < 5_000


def test_a_session_has_so_many_websockets_also_of_those_that_open_at_once(opened):
    async def look():
        token = await page_of(opened)
        n_sockets = 2 * MAX_SESSION_SOCKETS
        sockets = await asyncio.gather(*(connect(opened, token) for _ in range(n_sockets)))
        first = await asyncio.gather(*(asyncio.wait_for(socket.read_message(), PATIENCE) for socket in sockets))
        codes = [socket.close_code for socket in sockets]
        for socket in sockets:
            socket.close()
        return sum(message is not None for message in first), codes.count(1008)

    assert asyncio.run(look()) == (MAX_SESSION_SOCKETS, MAX_SESSION_SOCKETS)


@pytest.mark.parametrize(("connection", "reason"), [(object(), "not completed"), (None, "before its session")])
def test_a_message_that_is_incomplete_or_early_ends_its_websocket(monkeypatch, connection, reason):
    """The handler alone, with a clock that does not wait."""
    monkeypatch.setattr(page_server, "MESSAGE_SECONDS", 0.0)
    closed = []

    async def look():
        handler = object.__new__(page_server._Socket)
        handler._incoming, handler._deadline, handler._is_refused = BoundedReceiver(), None, False
        handler.connection, handler.request = connection, SimpleNamespace(remote_ip="a")
        handler.close = lambda code, text: closed.append((code, reason in text))
        for part in fragments(change(1))[:2]:
            await handler.on_message(part)
        await asyncio.sleep(0.01)
        await handler.on_message("{}")

    asyncio.run(look())
    assert closed == [(1008, True)]
