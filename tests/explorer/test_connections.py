"""Limits on connections and requests, and whom a request is taken to come from."""

import asyncio
import errno
import os
from types import SimpleNamespace

import pytest
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders
from tornado.ioloop import IOLoop
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from alrviz.errors import AlrvizError
from alrviz.explorer.server.visitor_ids import LOCAL, LOCAL_SWITCH, owner_of
from alrviz.explorer.web import connections
from alrviz.explorer.web.connections import ConnectionTable, forward_client, parse_networks, stated_proxies

LOOPBACK = parse_networks(connections.LOOPBACK)


class Stream:
    """A connection, as far as the table looks at it."""

    def __init__(self):
        self._closed = False

    def close(self):
        self._closed = True

    def closed(self):
        return self._closed


class Address(RequestHandler):
    """Answers with the client's address and protocol."""

    def get(self):
        self.write(f"{self.request.remote_ip} {self.request.protocol}")

    post = get


async def with_server(use, xheaders=False, proxies=LOOPBACK):
    """Call `use(port, table)` while a limited server of one word answers."""
    server = HTTPServer(Application([(".*", Address)]), xheaders=xheaders)
    listener, port = bind_unused_port()
    server.add_socket(listener)
    table = connections.limit_connections(server, IOLoop.current(), proxies)
    try:
        return await use(port, table)
    finally:
        server.stop()
        await server.close_all_connections()


async def send(port, head):
    """Send a request as it is; return all that comes until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("\n", "\r\n").encode())
    try:
        return (await asyncio.wait_for(reader.read(), 30)).decode()
    finally:
        writer.close()


def test_a_large_body_is_refused_before_it_is_read():
    head = "POST / HTTP/1.1\nHost: x\nContent-Length: 100000000\n\n"
    assert asyncio.run(with_server(lambda port, _: send(port, head))).startswith("HTTP/1.1 400")


def test_idle_and_half_sent_connections_are_closed(monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.05)

    async def use(port, _):
        for head in ("", "GET / HTTP/1.1\nHo"):
            assert await send(port, head) == ""

    asyncio.run(with_server(use))


def test_half_sent_requests_displace_each_other_and_no_open_page():
    async def use(port, table):
        table.limit = 3
        pages = []
        for _ in range(2):  # whose requests are complete: an event stream, a slow answer
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
            pages.append((reader, writer))
        others = []
        for _ in range(20):
            others.append(await asyncio.open_connection("127.0.0.1", port))
            others[-1][1].write(b"GET / HT")
        for reader, writer in pages:
            writer.write(b"words")
            assert await asyncio.wait_for(reader.readline(), 30) == b"HTTP/1.1 200 OK\r\n"
        assert (await send(port, "GET / HTTP/1.1\nHost: x\nConnection: close\n\n")).startswith("HTTP/1.1 200")
        for _, writer in [*pages, *others]:
            writer.close()

    asyncio.run(with_server(use))


def test_an_address_holds_half_of_the_connections_and_a_proxy_all():
    table = ConnectionTable(8, parse_networks(["10.0.0.1"]))
    streams = [Stream() for _ in range(6)]
    assert [table.admit(stream, "a") for stream in streams] == [True] * 4 + [False] * 2
    table.wait(streams[1], "a")
    table.wait(streams[2], "a")
    assert table.admit(Stream(), "a"), "one that waits has made room"
    assert [stream.closed() for stream in streams[:4]] == [False, True, False, False]
    assert table.admit(Stream(), "b"), "others still come in"
    streams[0].close()
    assert table.admit(Stream(), "a"), "one that has gone is not counted"
    assert all(table.admit(Stream(), "10.0.0.1") for _ in range(3))
    assert table.count() == 8
    assert table.admit(Stream(), "c"), "in place of the one that still waited"
    assert streams[2].closed()
    assert not table.admit(Stream(), "c"), "nobody waits any more"


def test_table_forgets_closed_connections_and_keeps_websockets():
    table = ConnectionTable(8, [])
    closed, websocket = Stream(), Stream()
    for stream in (closed, websocket):
        table.admit(stream, "a")
    closed.close()
    for stream in (closed, websocket):
        table.end(stream, "a")
    assert table.count() == 1
    websocket.close()
    table.end(websocket, "a")
    assert table.count() == 0


def test_without_files_accepting_pauses(monkeypatch, caplog):
    class Listener:
        def accept(self):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    calls = []
    loop = SimpleNamespace(
        add_handler=lambda listener, accept, events: calls.append(accept),
        remove_handler=lambda listener: calls.append("removed"),
        call_later=lambda seconds, resume: calls.append(resume),
    )
    made_room = []
    table = SimpleNamespace(make_room=lambda: made_room.append(1))
    end = connections._accept_with_pause(Listener(), loop, None, table)
    calls.pop()(1, IOLoop.READ)
    assert calls[0] == "removed"
    assert made_room
    assert len(caplog.records) == 1
    calls[1]()
    assert callable(calls[2]), "it listens again"
    end()
    calls[1]()
    assert len(calls) == 4, "but not after its end"


@pytest.mark.parametrize(
    ("peer", "sent", "seen"),
    [
        ("127.0.0.1", {"X-Forwarded-For": "1.1.1.1, 9.9.9.9"}, "9.9.9.9"),  # what a client sent stands first
        ("127.0.0.1", {"X-Forwarded-For": "9.9.9.9, 127.0.0.1"}, "9.9.9.9"),
        ("::1", {"X-Forwarded-For": "2001:db8::1"}, "2001:db8::1"),
        ("::ffff:127.0.0.1", {"X-Forwarded-For": "9.9.9.9"}, "9.9.9.9"),
        ("127.0.0.1", {"X-Real-Ip": "1.1.1.1", "X-Forwarded-For": "9.9.9.9"}, "9.9.9.9"),
        ("127.0.0.1", {"X-Real-Ip": "1.1.1.1"}, None),
        ("8.8.8.8", {"X-Forwarded-For": "1.1.1.1", "X-Real-Ip": "1.1.1.1", "X-Scheme": "https"}, None),
    ],
)
def test_a_client_does_not_choose_its_address(peer, sent, seen):
    headers = HTTPHeaders(sent)
    forward_client(headers, peer, LOOPBACK)
    assert headers.get("X-Forwarded-For") == seen
    assert "X-Real-Ip" not in headers
    assert "X-Scheme" not in headers


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Real-Ip"])
@pytest.mark.parametrize("proxies", [[], LOOPBACK])
def test_forwarded_request_of_an_unstated_proxy_is_not_the_local_owners(header, proxies):
    headers = HTTPHeaders({header: "1.1.1.1"})
    forward_client(headers, "8.8.8.8", proxies)
    assert owner_of({}, headers, {LOCAL_SWITCH: "1"})[1]


def test_request_without_a_proxy_is_the_local_owners():
    headers = HTTPHeaders({"Host": "localhost"})
    forward_client(headers, "127.0.0.1", [])
    assert owner_of({}, headers, {LOCAL_SWITCH: "1"}) == (LOCAL, False)


def test_only_a_stated_proxy_names_the_client():
    head = "GET / HTTP/1.1\nHost: x\nConnection: close\nX-Real-Ip: 1.1.1.1\nX-Forwarded-For: 1.1.1.1, 9.9.9.9\n"
    head += "X-Forwarded-Proto: https\n\n"

    def seen(**options):
        return asyncio.run(with_server(lambda port, _: send(port, head), **options)).rpartition("\r\n")[2]

    assert seen(xheaders=True) == "9.9.9.9 https"
    assert seen(xheaders=True, proxies=parse_networks(["10.0.0.1"])) == "127.0.0.1 http"
    assert seen(xheaders=False, proxies=[]) == "127.0.0.1 http"


def test_proxies_are_stated_by_address_or_network():
    assert stated_proxies({}) == LOOPBACK
    assert [str(one) for one in stated_proxies({"ALRVIZ_PROXIES": "10.0.0.5, 192.168.0.0/16"})] == [
        "10.0.0.5/32",
        "192.168.0.0/16",
    ]
    with pytest.raises(AlrvizError, match="proxy\\.example"):
        stated_proxies({"ALRVIZ_PROXIES": "proxy.example"})
