"""The readers' page and its steps over HTTP: who gets what, in which form, and who gets nothing."""

import asyncio
import contextlib
from urllib.parse import urlsplit

import pytest
from bokeh.server.auth_provider import NullAuth
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application

from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.web import class_page, spectators
from alrviz.explorer.web.race_feed import RaceFeed
from alrviz.explorer.web.spectators import routes
from alrviz.fitting.recipe import Recipe
from benchmarks.spectators import messages
from tests.races import ByHand

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


SERVERS = []


def in_loop(work):
    """Run it in a loop of its own, whose servers end with it."""

    async def worked():
        try:
            await work
        finally:
            while SERVERS:
                server = SERVERS.pop()
                server.stop()
                await server.close_all_connections()  # or a socket outlives the loop and warns in a later test

    asyncio.run(worked())


class Served:
    """A server in this loop, with one race whose link was given away."""

    def __init__(self, auth=None):
        self.registry = Registry(ServerLimits(), timer=False)
        self.race = ByHand(Recipe("lr", alpha=0), Recipe("alr", alpha=0))
        self.race.dataset.name = EVIL
        self.race.take(3)
        self.entry = self.registry.add(self.race, "ann")
        self.secret = self.registry.share_link(self.entry)
        application = Application([*routes(self.registry), *class_page.routes(self.registry)])
        application.auth_provider = auth or NullAuth()
        application.prefix = ""
        socket, port = bind_unused_port()
        server = HTTPServer(application)
        server.add_socket(socket)
        SERVERS.append(server)
        self.url = f"http://127.0.0.1:{port}/explorer/race/"

    async def ask(self, path, **options):
        return await AsyncHTTPClient().fetch(self.url + path, raise_error=False, follow_redirects=False, **options)

    def listen(self):
        """Ask for the steps; returns the lines that came, as a queue, and the answer to come."""
        lines = asyncio.Queue()
        answer = asyncio.ensure_future(self.ask(f"{self.secret}/steps", streaming_callback=lines.put_nowait))
        return lines, answer


def test_the_page_is_one_for_all_and_keeps_the_secret():
    async def look():
        served = Served()
        page = await served.ask(served.secret)
        assert page.code == 200
        assert served.secret not in page.body.decode()
        assert EVIL not in page.body.decode()
        assert "connect-src 'self'" in page.body.decode()
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert page.headers["Cache-Control"] == "no-store"
        assert "Set-Cookie" not in page.headers
        packed = await served.ask(served.secret, decompress_response=True)
        assert packed.body == page.body

    in_loop(look())


@pytest.mark.parametrize("which", ["f" * 32, "", "0", "F" * 32, "%00" * 32, "f" * 33])
def test_a_wrong_secret_gets_nothing(which):
    async def look():
        served = Served()
        for path in (which, f"{which}/steps"):
            assert (await served.ask(path)).code == 404
        page = await served.ask(which)
        assert page.body == (await served.ask(served.secret)).body, "the page says what is wrong"
        assert (await served.ask(served.entry.id)).code == 404, "the run's own name is no secret of a link"

    in_loop(look())


def test_whatever_is_sent_changes_nothing():
    async def look():
        served = Served()
        for path in (served.secret, f"{served.secret}/steps"):
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                body = b"stop" if method != "DELETE" else None
                assert (await served.ask(path, method=method, body=body)).code == 405
        assert served.race.calls == []

    in_loop(look())


def test_all_are_told_the_same_bytes_until_the_link_is_taken_back(monkeypatch):
    monkeypatch.setattr(spectators, "TICK_SECONDS", 0.01)

    async def look():
        served = Served()
        (one, one_ends), (two, two_ends) = served.listen(), served.listen()
        first = await one.get()
        assert await two.get() == first
        (message,) = messages(first)
        assert message["steps"] == [0, 1, 2]
        assert EVIL in message["title"], "names are text; the page puts them nowhere else"
        served.race.take(1)
        assert messages(await one.get())[0]["steps"] == [3]
        assert messages(await two.get())[0]["steps"] == [3]
        late, _ = served.listen()
        assert messages(await late.get())[0]["steps"] == [0, 1, 2, 3], "who comes late is told all"
        served.registry.revoke_link(served.entry)
        assert messages(await one.get()) == messages(await late.get()) == [{"gone": True}]
        assert (await one_ends).code == (await two_ends).code == 200
        assert (await served.ask(served.secret)).code == 404

    in_loop(look())


def test_a_slow_reader_is_passed_over_and_then_told_all():
    class Slow(spectators.RaceStream):
        def __init__(self):
            self.close_event, self.missed_ticks, self._pending_write, self.got = asyncio.Event(), 0, None, []

        def write(self, chunk):
            self.got.append(chunk)

        def flush(self):
            return asyncio.get_running_loop().create_future()

    async def look():
        slow = Slow()
        for line in (b"1", b"2", b"3"):
            slow.send(line, lambda: pytest.fail("all there is costs much, and is not sent"))
        assert slow.got == [b"1"]
        slow._pending_write.set_result(None)
        slow.send(b"4", lambda: b"whole 4")
        slow._pending_write.set_result(None)
        slow.send(b"5", lambda: b"whole 5")
        assert slow.got == [b"1", b"whole 4", b"5"]
        for _ in range(spectators.SILENT_TICKS + 1):
            slow.send(b"6", lambda: b"whole 6")
        assert slow.close_event.is_set()

    in_loop(look())


def test_who_leaves_while_others_are_told_takes_nobody_along(monkeypatch):
    monkeypatch.setattr(spectators, "WRITES_PER_TURN", 1)

    class Listens:
        def __init__(self):
            self.close_event, self.missed_ticks, self.got = asyncio.Event(), 0, []

        def send(self, line, whole):
            assert not self.close_event.is_set(), "Tornado refuses to write behind an answer's end"
            self.got.append(line)

    async def look():
        crowd = spectators.Spectators(RaceFeed(Registry(ServerLimits(), timer=False), "f" * 32))
        crowd.readers = one, two, three = [Listens() for _ in range(3)]
        telling = asyncio.ensure_future(crowd._send_all(b"1"))
        await asyncio.sleep(0)
        two.close_event.set()
        await telling
        assert [reader.got for reader in (one, two, three)] == [[b"1"], [], [b"1"]]

    in_loop(look())


def test_who_takes_nothing_loses_the_connection(monkeypatch):
    monkeypatch.setattr(spectators, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(spectators, "SILENT_TICKS", 3)

    async def look():
        served = Served()
        served.race.dataset.name = "long" * 2**22  # more than a socket holds
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(served.url).port)
        writer.write(f"GET /explorer/race/{served.secret}/steps HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        crowd = spectators._spectators[id(served.registry), served.secret]
        while crowd.readers:
            served.race.take(1)
            await asyncio.sleep(0.01)
        with contextlib.suppress(ConnectionResetError):
            assert len(await asyncio.wait_for(reader.read(), 60)) < 2**24, "the rest was let go"
        writer.close()

    in_loop(look())


@pytest.mark.parametrize("limit", ["MAX_READERS", "MAX_READERS_PER_ADDRESS"])
def test_beyond_so_many_readers_the_next_is_to_ask_again(limit, monkeypatch):
    monkeypatch.setattr(spectators, limit, 1)

    async def look():
        served = Served()
        lines, _ = served.listen()
        await lines.get()
        other = served.registry.share_link(served.registry.add(ByHand(), "bob"))
        for secret in (served.secret, other):
            assert (await served.ask(f"{secret}/steps")).code == 503

    in_loop(look())


def test_where_visitors_must_say_who_they_are_readers_must_too():
    class Asks(NullAuth):
        get_user = staticmethod(lambda handler: None)
        login_url = "/login"

    async def look():
        served = Served(Asks())
        for path in (served.secret, f"{served.secret}/steps"):
            answer = await served.ask(path)
            assert (answer.code, answer.headers["Location"][:6]) == (302, "/login")

    in_loop(look())
