"""The explorer in Chromium: kernels compiled beforehand, one browser, no motion, and pages that forgive nothing.

What moves (the bar of a page that opens, a button's colour) is painted anew at every frame while a test waits, so pages
are those of readers who asked for less motion; `reduced_motion="no-preference"` is the others'.

On top of the console's errors a page's test fails for a request that fails, that goes elsewhere than to the page's own
server, or for a dialog that a script opened.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.steps import Explorer
from tests.conftest import ROOT, Served, chromium


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Chromium, one for all these tests."""
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="session")
def warmed() -> str:
    """`alrviz warm`, run once; what it said."""
    command = [sys.executable, "-c", "from alrviz.cli import main; raise SystemExit(main(['warm']))"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=600).stdout


@pytest.fixture(scope="session")
def served(serve: Callable[..., Served], warmed: str) -> Served:
    """The explorer, served once for all these tests, after `alrviz warm`."""
    return serve()


def _watch(page: Any) -> None:
    own: list[str] = []

    def asked(request: Any) -> None:
        target = urlsplit(request.url)
        if target.scheme in ("data", "blob", "about"):
            return
        own.append(target.netloc)
        if target.netloc != own[0]:
            page.problems.append(f"asked of another server: {request.url}")

    def failed(request: Any) -> None:
        if "ERR_ABORTED" not in str(request.failure):  # the page was left meanwhile
            page.problems.append(f"failed: {request.url} ({request.failure})")

    def answered(response: Any) -> None:
        if response.status >= 400:
            page.problems.append(f"{response.status}: {response.url}")

    def opened(dialog: Any) -> None:
        page.problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    for event, handler in (("request", asked), ("requestfailed", failed), ("response", answered), ("dialog", opened)):
        page.on(event, handler)


@pytest.fixture
def new_page(new_page: Callable[..., Any]) -> Callable[..., Any]:
    """A function that opens a page in a context of its own."""

    def open_page(**options: Any) -> Any:
        page = new_page(**{"reduced_motion": "reduce"} | options)
        _watch(page)
        return page

    return open_page


@pytest.fixture
def new_explorer(new_page: Callable[..., Any], served: Served) -> Callable[..., Explorer]:
    """A function that gives another visitor a page: `new_explorer(server=served, color_scheme="dark")`."""

    def make(server: Served = served, **options: Any) -> Explorer:
        return Explorer(new_page(**options), server.url)

    return make


@pytest.fixture
def explorer(new_explorer: Callable[..., Explorer]) -> Explorer:
    """A visitor's page, not opened yet."""
    return new_explorer()
