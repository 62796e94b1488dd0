"""What stands before the pages, over HTTP and websockets, of `panel serve` and of `alrviz explore`."""

import asyncio
import json
import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from bokeh.util.token import generate_jwt_token, generate_session_id, get_session_id
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler
from tornado.websocket import websocket_connect

from alrviz.explorer.server import rate_limit
from alrviz.explorer.web import guard
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


def test_a_session_cannot_be_chosen_even_before_the_first_page(serve):
    url = serve().url

    async def look():
        await first_message(url, forged(CHOSEN))  # whoever is there first may have begun one
        page = (await ask(f"{url}?bokeh-session-id={CHOSEN}")).body.decode()
        assert "<title>alrviz</title>" not in page, "the explorer, in a session that somebody else has chosen"
        fresh = await ask(f"{url}?data=led")
        assert (fresh.code, fresh.headers["Location"]) == (303, "./explorer?data=led")

        mine = await page_of(url)
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
                assert "A session belongs to the browser" in refused.body.decode()
                assert get_session_id(mine) not in refused.body.decode()

    asyncio.run(look())


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
            assert "not embedded" in script.body.decode()
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


def test_the_door_leads_to_this_server_only(serve):
    served = serve(ALRVIZ_TOKEN="a long word of the class")
    root = served.url.rpartition("/")[0]

    async def look():
        await ask(served.url)  # the first request finds the script not run yet
        for segment in ("javascript:alert(1)", "https:evil.example", "\\evil.example"):
            right = await ask(f"{root}/{segment}?token=a+long+word+of+the+class")
            assert right.code == 303
            assert urljoin(f"{root}/", right.headers["Location"]).startswith(f"{root}/")
            assert ":" not in right.headers["Location"]

    asyncio.run(look())


def test_a_class_server_asks_for_its_token_once(serve):
    served = serve(ALRVIZ_TOKEN="open sesame please")

    async def look():
        await ask(served.url)  # the first request finds the script not run yet
        without = await ask(served.url)
        assert (without.code, "token" in without.body.decode()) == (403, True)
        assert TOKEN.search(without.body.decode()) is None
        wrong = await ask(f"{served.url}?token=wrong")
        assert (wrong.code, "not the one of this server" in wrong.body.decode()) == (403, True)
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

    asyncio.run(look())


def test_the_first_visitor_of_panel_serve_keeps_what_the_link_asks_for(serve):
    url = serve().url

    async def look():
        first = await ask(f"{url}?data=led&rows=500&bokeh-session-id={CHOSEN}")
        assert (first.code, first.headers["Location"]) == (303, "./explorer?data=led&rows=500")
        found = TOKEN.search((await ask(f"{url}?data=led", follow_redirects=True)).body.decode())
        assert get_session_id(found[1]) != CHOSEN

    asyncio.run(look())


def test_tokens_cannot_be_tried_out_and_who_is_in_stays_in():
    """The door alone, before a page of one word."""

    class Inside(RequestHandler):
        def get(self):
            self.write("inside")

    async def look():
        rule = guard.door_rule("right")
        server = HTTPServer(Application([rule, (".*", Inside)]))
        socket, port = bind_unused_port()
        server.add_socket(socket)
        url = f"http://127.0.0.1:{port}/explorer"
        try:
            right = await ask(f"{url}?token=right")
            inside = {"Cookie": right.headers["Set-Cookie"].partition(";")[0]}
            for _ in range(guard.TRIES):
                assert (await ask(f"{url}?token=wrong")).code == 403
            for token in ("wrong", "right"):
                refused = await ask(f"{url}?token={token}")
                assert (refused.code, "Set-Cookie" in refused.headers) == (429, False)
                assert 0 < int(refused.headers["Retry-After"]) <= guard.AGAIN
            assert (await ask(url)).code == 403, "the place to enter it is shown"
            assert (await ask(url, headers=inside)).body == b"inside"
            old = await ask(f"{url}?data=led&token=of+yesterday", headers=inside)
            assert (old.code, old.headers["Location"]) == (303, "./explorer?data=led")
        finally:
            server.stop()

    asyncio.run(look())


def test_tries_come_back_one_by_one_and_are_of_an_address(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(rate_limit, "_MANY", 1)
    tries = rate_limit.RateLimit(guard.TRIES, guard.AGAIN, clock)
    for _ in range(guard.TRIES):
        assert tries.wait("a") == 0
        tries.count("a")
    assert tries.wait("a") == guard.AGAIN
    assert tries.wait("b") == 0
    clock.now += guard.AGAIN
    assert tries.wait("a") == 0
    tries.count("a")
    assert tries.wait("a") == guard.AGAIN
    clock.now += 1000
    for other in "bc":
        tries.count(other)
    assert list(tries._until) == ["b", "c"], "what is over is forgotten"
