import asyncio
import gc
import logging
import re
import sys
import threading
import time
import weakref
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from bokeh.client import pull_session
from bokeh.models import ImportedStyleSheet
from bokeh.util.token import get_session_id
from panel.io.server import get_server
from tornado.websocket import WebSocketClosedError

from alrviz.explorer import application
from alrviz.explorer.server import process_tuning
from alrviz.explorer.shell.shell import Shell

VISITORS = 2


@pytest.fixture
def unsettled(monkeypatch):
    interval = sys.getswitchinterval()
    monkeypatch.setattr(process_tuning, "_is_tuned", False)
    monkeypatch.setattr(process_tuning, "_frozen_page", False)
    monkeypatch.setattr(process_tuning, "_left_pages", weakref.WeakSet())
    yield
    sys.setswitchinterval(interval)
    gc.unfreeze()


@pytest.mark.usefixtures("unsettled")
def test_a_process_that_serves_pages_no_longer_looks_through_what_it_imported():
    process_tuning.tune_process(object())
    assert gc.get_freeze_count() > 10_000
    assert sys.getswitchinterval() == pytest.approx(process_tuning.SWITCH_INTERVAL_SECONDS)
    frozen = gc.get_freeze_count()
    leftover = [[] for _ in range(100)]
    process_tuning.tune_process(object())
    assert gc.get_freeze_count() <= frozen, "frozen again: what visitors leave would stay for ever"
    assert len(leftover) == 100


@pytest.mark.usefixtures("event_loop")
def test_a_message_to_a_browser_that_has_gone_leaves_no_traceback(caplog):
    async def fail(error):
        raise error

    async def unawaited(error):
        task = asyncio.ensure_future(fail(error))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert task.done()

    process_tuning.filter_log()
    for error in (WebSocketClosedError(), ValueError("of our own")):
        asyncio.get_event_loop().run_until_complete(unawaited(error))
        gc.collect()
    assert "of our own" in caplog.text
    assert "WebSocketClosedError" not in caplog.text
    logging.getLogger("asyncio").removeFilter(process_tuning._is_relevant)


@pytest.mark.usefixtures("unsettled")
def test_a_notebook_keeps_its_own_settings():
    before = sys.getswitchinterval(), gc.get_freeze_count()
    process_tuning.tune_process(None)
    assert (sys.getswitchinterval(), gc.get_freeze_count()) == before


@pytest.mark.usefixtures("unsettled")
def test_the_page_frozen_with_the_imports_is_freed_when_nobody_is_there():
    class Page:
        def __init__(self):
            self.itself = self

    page, calls = Page(), []
    gone, server = weakref.ref(page), SimpleNamespace(sessions=["another visitor"])
    context = SimpleNamespace(server_context=server)

    def leave(page):
        process_tuning.page_left(context, page, lambda seconds, call: calls.append(call))

    process_tuning.tune_process(object())
    leave(page)
    held = [page]
    del page
    calls.pop()()
    gc.collect()
    assert gone() is not None
    assert not calls  # whoever is there would be frozen with the imports
    server.sessions.clear()
    leave(Page())
    calls.pop()()
    assert calls, "a page that is still held would be frozen for ever"
    held.clear()
    calls.pop()()
    assert gone() is None
    assert gc.get_freeze_count() > 10_000
    leave(Page())
    assert not calls  # once is enough


@pytest.mark.usefixtures("unsettled", "event_loop")
def test_nothing_keeps_the_pages_of_visitors_who_have_gone(monkeypatch):
    """Only the first page is built for whoever asks; who looks at one has a session. None is sent to another server."""
    pages = []
    monkeypatch.setattr(process_tuning, "THAW_DELAY_SECONDS", 0.2)
    made = Shell.__init__

    def remembered(self, *given, **named):
        made(self, *given, **named)
        pages.extend([weakref.ref(self), weakref.ref(self.session)])

    monkeypatch.setattr(Shell, "__init__", remembered)
    address = "127.0.0.1"
    server = get_server(
        {"explorer": application},
        port=0,
        address=address,
        unused_session_lifetime_milliseconds=500,
        check_unused_sessions_milliseconds=100,
        websocket_origin="*",
    )
    url = f"http://{address}:{server.port}/explorer"
    errors, sheets = [], []

    def visit():
        try:
            for _ in range(VISITORS):
                with urlopen(url, timeout=60) as answer:
                    token = re.search(r'"token":"([^"]+)"', answer.read().decode())[1]
                while server.get_sessions("/explorer"):  # whoever connects late finds no session of the page
                    time.sleep(0.1)
                monkeypatch.setattr("bokeh.client.session.generate_jwt_token", lambda session_id, token=token: token)
                late = pull_session(url=url, session_id=get_session_id(token))
                sheets.extend(sheet.url for sheet in late.document.select({"type": ImportedStyleSheet}))
                late.close()
            end = time.monotonic() + 60
            while (server.get_sessions("/explorer") or process_tuning._frozen_page) and time.monotonic() < end:
                time.sleep(0.1)
            while any(page() is not None for page in pages) and time.monotonic() < end:
                time.sleep(0.5)  # the loop goes on: it holds the last tick of each page
                gc.collect()
        except Exception as error:
            errors.append(error)
        finally:
            server.io_loop.add_callback(server.io_loop.stop)

    visitor = threading.Thread(target=visit, daemon=True)
    visitor.start()
    server.start()
    server.io_loop.start()
    server.stop()
    visitor.join(10)
    assert not errors
    assert sheets
    assert not [sheet for sheet in sheets if "//" in sheet], "asked of another server"
    gc.collect()
    assert len(pages) == 2 * (1 + VISITORS)
    assert [page() for page in pages if page() is not None] == []
