"""What stands before the pages, over HTTP and websockets, of `panel serve` and of `alrviz explore`."""

import asyncio
import json
import re
import sys
from functools import partial
from html import unescape
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import panel as pn
import pytest
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import generate_jwt_token, generate_session_id, get_session_id
from panel.io.application import build_applications
from panel.io.server import get_server
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler
from tornado.websocket import websocket_connect

from alrviz.explorer import application
from alrviz.explorer.server import rate_limit
from alrviz.explorer.web import connections, door, guard, install
from tests.conftest import ROOT, wait_until
from tests.explorer.fakes import Clock

TOKEN = re.compile(r'"token":"([^"]+)"')
CHOSEN = "chosen-by-somebody-else"
PATIENCE = 120


async def ask(url, **options):
    options = {"request_timeout": PATIENCE, "follow_redirects": False} | options
    return await AsyncHTTPClient().fetch(url, raise_error=False, **options)


async def page_of(url):
    """The token in a page, as a visitor gets it."""
    answer = await ask(url, follow_redirects=True)
    assert answer.code == 200
    return TOKEN.search(answer.body.decode())[1]


async def first_message(url, token):
    """What a websocket that brings this token hears first; None where it is closed."""
    parts = urlsplit(url)
    request = HTTPRequest(
        f"ws://{parts.netloc}{parts.path}/ws",
        headers={"Origin": f"http://{parts.netloc}"},
        request_timeout=PATIENCE,
    )
    socket = await websocket_connect(request, subprotocols=["bokeh", token], max_message_size=2**28)
    try:
        message = await asyncio.wait_for(socket.read_message(), PATIENCE)
        return None if message is None else json.loads(message)["msgtype"]
    finally:
        socket.close()


def forged(session_id):
    return generate_jwt_token(session_id, signed=False, extra_payload={"headers": {}, "cookies": {}, "arguments": {}})


def test_the_first_request_of_a_server_finds_the_guard_in_place(serve):
    served = serve()
    url, root = served.url, served.url.rpartition("/")[0]

    async def look():
        # `this` prints a poem when it is imported, and `unittest.__main__` ends the process.
        for module in ("this", "unittest.__main__"):
            assert (await ask(f"{root}/components/{module}/a/b/c")).code == 403
        for address in (f"{url}/autoload.js?bokeh-autoload-element=x", f"{url}/metadata"):
            assert (await ask(address)).code == 403
        assert await first_message(url, forged(CHOSEN)) is None
        assert (await ask(f"{url}?bokeh-session-id={CHOSEN}")).code == 403

        mine = await page_of(f"{url}?data=led")
        assert get_session_id(mine) != CHOSEN
        assert await first_message(url, mine) == "ACK"
        assert await first_message(url, forged(get_session_id(mine))) is None
        assert await first_message(url, forged(generate_session_id(signed=False))) is None

        for query, headers in (
            (f"?bokeh-session-id={CHOSEN}", {}),
            (f"?bokeh-session-id={get_session_id(mine)}", {}),  # signed, of whoever made the link
            (f"?data=led&bokeh-token={mine}", {}),
            ("", {"Bokeh-Session-Id": get_session_id(mine)}),
        ):
            for path in ("", "/autoload.js"):
                element = ("&" if query else "?") + "bokeh-autoload-element=x" if path else ""
                refused = await ask(url + path + query + element, headers=headers)
                assert refused.code == 403, (query, path)
                assert "session" in refused.body.decode()
                assert get_session_id(mine) not in refused.body.decode()

    asyncio.run(look())
    assert "Zen of Python" not in served.log


def test_other_sites_neither_frame_nor_script_the_page(served):
    async def look():
        await page_of(served.url)
        page = await ask(served.url)
        assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
        assert page.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert page.headers["X-Content-Type-Options"] == "nosniff"

    asyncio.run(look())


def test_the_page_cannot_be_had_past_its_queue_as_a_script(served):
    async def look():
        await page_of(served.url)
        headers = {"Origin": "https://elsewhere.example", "Cookie": "alrviz_owner=" + "a" * 32}
        for method in ("GET", "OPTIONS"):
            url = f"{served.url}/autoload.js?bokeh-autoload-element=x"
            script = await ask(url, headers=headers, method=method)
            assert script.code == 403
            assert TOKEN.search(script.body.decode()) is None
            assert "Access-Control-Allow-Origin" not in script.headers

    asyncio.run(look())


@pytest.mark.parametrize("segment", ["javascript:alert(1)", "https:evil.example", "\\evil.example", "data:text/html,x"])
def test_no_path_becomes_an_address_elsewhere(served, segment):
    async def look():
        await page_of(served.url)
        root = served.url.rpartition("/")[0]
        for below in (root, served.url, f"{root}/elsewhere"):
            answer = await ask(f"{below}/{segment}?bokeh-session-id=x")
            for href in re.findall("href='([^']*)'", answer.body.decode()):
                assert urljoin(f"{below}/", unescape(href)).startswith(f"{below}/")
                assert ":" not in href
            assert below == served.url or answer.code == 404, "nothing is there"

    asyncio.run(look())


def test_a_class_server_asks_for_its_token_once_and_its_door_leads_nowhere_else(serve):
    served = serve(ALRVIZ_TOKEN="open sesame please")
    root = served.url.rpartition("/")[0]

    async def look():
        without = await ask(served.url)
        assert (without.code, "token" in without.body.decode()) == (403, True)
        assert TOKEN.search(without.body.decode()) is None
        wrong = await ask(f"{served.url}?token=wrong")
        assert (wrong.code, "token" in wrong.body.decode()) == (403, True)
        assert (await ask(f"{served.url}?token=open+sesame+pleases")).code == 403
        reader = await ask(f"{served.url}/race/{'f' * 32}")  # who brings a link's secret is asked for no other
        assert (reader.code, "token" in reader.body.decode().partition("<title>")[0]) == (404, False)

        right = await ask(f"{served.url}?data=led&token=open+sesame+please")
        assert (right.code, right.headers["Location"]) == (303, "./explorer?data=led")
        cookie = right.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        for path in ("/ws", "/autoload.js", "/static/js/bokeh.min.js"):
            assert (await ask(served.url + path)).code == 403
        inside = await ask(served.url, headers={"Cookie": cookie.partition(";")[0]})
        assert inside.code == 200
        assert TOKEN.search(inside.body.decode())
        for segment in ("javascript:alert(1)", "https:evil.example", "\\evil.example"):
            right = await ask(f"{root}/{segment}?token=open+sesame+please")
            assert right.code == 303
            assert urljoin(f"{root}/", right.headers["Location"]).startswith(f"{root}/")
            assert ":" not in right.headers["Location"]

    asyncio.run(look())
    assert "sesame" not in served.log


def test_a_page_whose_author_wrote_its_function_is_guarded_from_its_first_request_on():
    """`install` cannot tell what a function of somebody else will show."""

    def page():
        admitted = guard.is_admitted(pn.state.curdoc.session_context)
        return pn.pane.HTML("admitted" if admitted else "come again")

    async def look():
        server = get_server({"page": page}, port=0, show=False, verbose=False, num_procs=1)
        try:
            url = f"http://127.0.0.1:{server.port}/page"
            first = await ask(f"{url}?data=led")
            assert (first.code, first.headers["Location"]) == (303, "./page?data=led")
            assert "frame-ancestors" in (await ask(url)).headers["Content-Security-Policy"]
            assert (await ask(f"http://127.0.0.1:{server.port}/components/this/a/b/c")).code == 403
            assert server._http.conn_params.max_body_size == connections.MAX_BODY_BYTES
        finally:
            server.stop()

    asyncio.run(look())


def test_a_token_may_come_late_and_stays_once_set(monkeypatch, caplog):
    monkeypatch.delenv(guard.TOKEN_VARIABLE, raising=False)

    async def look():
        server = get_server({"page": lambda: "a page"}, port=0, show=False, verbose=False, num_procs=1)
        url = f"http://127.0.0.1:{server.port}/page"
        try:
            guard.protect(server)
            for token in ("right", "right", None):
                guard.protect(server, token)
            assert not caplog.records
            for token in ("other", ""):
                guard.protect(server, token)
            assert len(caplog.records) == 2
            assert (await ask(url)).code == 403
            assert (await ask(f"{url}?bokeh-session-id=x")).code == 403
            assert (await ask(f"{url}?token=other")).code == 403
            assert (await ask(f"{url}?token=right")).code == 303
        finally:
            server.stop()

    asyncio.run(look())
    assert not [record for record in caplog.records if "other" in record.getMessage()]


def test_no_server_of_the_process_imports_what_an_address_names():
    """A server that is not the explorer's: `.show()` of a view, `pn.serve` of another page."""
    assert "antigravity" not in sys.modules

    async def look():
        server = get_server({"page": lambda: "another page"}, port=0, show=False, verbose=False)
        try:
            for path in ("antigravity/a/b/c", "alrviz/ALRClassifier/_resources/css", "panel.pane/HTML/_resources/x"):
                assert (await ask(f"http://127.0.0.1:{server.port}/components/{path}")).code == 404
        finally:
            server.stop()

    asyncio.run(look())
    assert "antigravity" not in sys.modules


def test_the_explorer_is_told_from_other_applications(tmp_path):
    script, other = tmp_path / "page.py", tmp_path / "other.py"
    script.write_text("from alrviz.explorer import application\napplication().servable()\n")
    other.write_text("import panel as pn\npn.pane.HTML('x').servable()\n")

    def served(page):
        return install.serves_explorer(BokehTornado(build_applications({"page": page})))

    assert all(map(served, (application, partial(application, path=None), str(script))))
    assert not any(map(served, (lambda: "another page", str(other))))


@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them(serve):
    served = serve(ROOT / "apps" / "explorer.py", "--num-procs", "2")
    served.process.terminate()
    served.process.wait(timeout=PATIENCE)

    def gone():
        try:
            urlopen(served.url, timeout=5).close()
        except HTTPError:
            return False
        except (URLError, OSError):
            return True
        return False

    wait_until(gone, 30, "no answer at the port")


def test_tokens_cannot_be_tried_out_and_who_is_in_stays_in():
    """The door alone, before a page of one word."""

    class Inside(RequestHandler):
        def get(self):
            self.write("inside")

    async def look():
        rule = door.token_rule("right")
        server = HTTPServer(Application([rule, (".*", Inside)]))
        socket, port = bind_unused_port()
        server.add_socket(socket)
        url = f"http://127.0.0.1:{port}/explorer"
        try:
            right = await ask(f"{url}?token=right")
            inside = {"Cookie": right.headers["Set-Cookie"].partition(";")[0]}
            for _ in range(door.MAX_WRONG_TOKENS):
                assert (await ask(f"{url}?token=wrong")).code == 403
            for token in ("wrong", "right"):
                refused = await ask(f"{url}?token={token}")
                assert (refused.code, "Set-Cookie" in refused.headers) == (429, False)
                assert 0 < int(refused.headers["Retry-After"]) <= door.SECONDS_PER_TRY
            assert (await ask(url)).code == 403, "the place to enter it is shown"
            assert (await ask(url, headers=inside)).body == b"inside"
            old = await ask(f"{url}?data=led&token=of+yesterday", headers=inside)
            assert (old.code, old.headers["Location"]) == (303, "./explorer?data=led")
        finally:
            server.stop()

    asyncio.run(look())


def test_tries_come_back_one_by_one_and_are_of_an_address(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(rate_limit, "_SWEEP_KEYS", 1)
    tries = rate_limit.RateLimit(door.MAX_WRONG_TOKENS, door.SECONDS_PER_TRY, clock)
    for _ in range(door.MAX_WRONG_TOKENS):
        assert tries.seconds_to_wait("a") == 0
        tries.count_attempt("a")
    assert tries.seconds_to_wait("a") == door.SECONDS_PER_TRY
    assert tries.seconds_to_wait("b") == 0
    clock.now += door.SECONDS_PER_TRY
    assert tries.seconds_to_wait("a") == 0
    tries.count_attempt("a")
    assert tries.seconds_to_wait("a") == door.SECONDS_PER_TRY
    clock.now += 1000
    for other in "bc":
        tries.count_attempt(other)
    assert list(tries._until) == ["b", "c"], "what is over is forgotten"
