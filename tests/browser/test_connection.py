"""A lost connection: said at once, no press taken, back by itself with what ran, in whatever way it was lost."""

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from alrviz.explorer.server.visitor_ids import COOKIE
from alrviz.explorer.shell.connection import HEADER
from alrviz.fitting.store import Store
from tests.browser.lines import Line
from tests.browser.steps import LONG, Explorer
from tests.conftest import ROOT, Served

pytestmark = pytest.mark.browser

ANYWHERE = (ROOT / "apps" / "explorer.py", "--allow-websocket-origin", "*")
OF_THE_LOSS = re.compile(r"ERR_|WebSocket|Failed to connect to Bokeh|404.*/session|Failed to load resource")


class Lost(Explorer):
    """A visitor whose line to the server can be cut."""

    def __init__(self, page: Any, line: Line):
        super().__init__(page, f"http://127.0.0.1:{line.port}/explorer")
        self.line = line

    def session_is_there(self) -> bool:
        """Whether the server, asked over a line of its own, still has the page's session."""
        token = re.search(r'"token":"([^"]+)"', self.page.content())
        request = Request(f"http://127.0.0.1:{self.line.server}/explorer/session", headers={HEADER: token[1]})
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)["here"]

    def race(self) -> str:
        """Wait until a race runs; return its id, which comes into the address once the whole page is drawn."""
        super().race()
        (run,) = self.wait(lambda: self.asked().get("run"), "the race in the address")
        return run

    def said(self) -> str:
        """What the page says of its connection."""
        return self.js("(() => { const b = document.getElementById('alrviz-connection');"
                       " return b && !b.hidden ? b.textContent : ''; })()")  # fmt: skip

    def lose(self, how: Callable[[], None]) -> None:
        """Lose the connection, see it said, and press what must not be taken."""
        self.js("window.before = true")
        how()
        self.wait(lambda: "Nothing can be pressed" in self.said(), "the message")
        self.page.mouse.click(*self._middle(self.page.get_by_role("button", name="Data", exact=True)))
        self.wait(lambda: "your change was not saved" in self.said(), "the press refused")
        time.sleep(1.5)  # the page has asked for its server again, and what it said can still be read
        assert "your change was not saved" in self.said()

    @staticmethod
    def _middle(button: Any) -> tuple[float, float]:
        box = button.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def found(self, same: bool) -> str:
        """Wait until the page is back, by a new loading of it unless `same`; return what it said then."""
        told = self.page.wait_for_function(
            "(same) => window.before === (same || undefined) && document.documentElement.dataset.lost === undefined"
            " && document.getElementById('alrviz-connection')?.textContent.match("
            "/^(Connected again|The server was restarted\\. Stored).*/)?.[0]",
            arg=same,
        )
        self.ready()
        return told.json_value()

    def keeps(self, home: Path, run: str) -> bool:
        """Whether the run store in that folder has steps of the visitor's race."""
        (owner,) = (cookie["value"] for cookie in self.page.context.cookies() if cookie["name"] == COOKIE)
        with closing(Store(home)) as store:
            return any(kept.id == run and store.traces(run) for kept in store.runs(owner))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the servers of these tests keep."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(serve: Callable[..., Served], home: Path, warmed: str) -> Served:
    """A server for several tests; it gives up a session whose browser has been away for three seconds."""
    return serve(
        *ANYWHERE, "--unused-session-lifetime", "3000", "--check-unused-sessions", "200", ALRVIZ_HOME=str(home)
    )


@pytest.fixture
def lost(new_page: Callable[..., Any]) -> Iterator[Callable[[Served], Lost]]:
    """A function that gives a visitor of a server, over a line of their own."""
    visitors: list[Lost] = []

    def make(server: Served) -> Lost:
        visitors.append(Lost(new_page(), Line(urlsplit(server.url).port)))
        return visitors[-1]

    yield make
    for visitor in visitors:
        visitor.page.context.close()  # before the line: a page that loses its server goes on asking for it
        visitor.line.close()
        problems = visitor.page.problems
        problems[:] = [problem for problem in problems if not OF_THE_LOSS.search(problem)]


def test_a_page_comes_back_to_its_own_session_with_what_is_in_no_link(lost, server):
    explorer = lost(server).open("?" + LONG)
    asked = explorer.race()  # a session with something under way is not given up
    explorer.unfold("About this plot")
    explorer.wait_says("^expand_less$")
    for how, same in ((explorer.line.cut, False), (explorer.line.silence, True)):  # what was only silent goes on
        explorer.lose(how)
        explorer.line.mend()
        explorer.found(same)
        explorer.wait_says("^expand_less$")
        explorer.wait(lambda: explorer.says("^(running|paused|ended)$") and explorer.fewest() >= 1, "the race")
        assert explorer.asked()["run"] == [asked]
        assert "page" not in explorer.asked(), "a press while it was lost was taken later"


@pytest.mark.slow(reason="a page that comes back after its server's restart has a test")
def test_a_page_whose_session_has_expired_is_loaded_again_and_finds_its_race(lost, server):
    explorer = lost(server).open("?" + LONG)
    asked = explorer.race()
    if explorer.says("^running$"):
        explorer.run.click()
    explorer.wait_says("^(paused.*|ended)$")
    drawn = explorer.fewest()
    explorer.lose(explorer.line.cut)
    explorer.wait(lambda: not explorer.session_is_there(), "the session's end")
    explorer.line.mend()
    explorer.found(False)
    explorer.wait(lambda: explorer.fewest() >= drawn, "the race as far as it was")
    assert explorer.asked()["run"] == [asked]


def test_a_restarted_server_is_found_by_itself_and_the_race_in_the_run_store(lost, serve, home, warmed):
    server = serve(*ANYWHERE, ALRVIZ_HOME=str(home))  # its own, for it is killed
    explorer = lost(server).open("?" + LONG)
    asked = explorer.race()
    explorer.wait(lambda: explorer.keeps(home, asked), "the race in the run store")  # on disk a moment after the screen
    explorer.lose(lambda: server.process.send_signal(signal.SIGKILL))
    explorer.line.server = urlsplit(serve(*ANYWHERE, ALRVIZ_HOME=str(home)).url).port
    assert "was restarted" in explorer.found(False)
    explorer.wait(lambda: explorer.fewest() >= 1, "the race as it was kept")
    assert explorer.wait(lambda: explorer.asked().get("kept"), "the race in the address") == [asked]
    assert not explorer.says("^running$")
