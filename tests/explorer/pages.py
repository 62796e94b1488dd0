"""Pages without a browser: opened as a link opens them, and waited for."""

import time

from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import read_link

OWNER = "a" * 32


def session_of(link, owner=OWNER, registry=None):
    """A visitor's session as a link gives it."""
    session = Session(owner=owner, registry=registry or Registry(ServerLimits(), timer=False))
    session.link.open(read_link(link))
    return session


def opened(page_class, link, owner=OWNER, registry=None):
    """A page with its view made."""
    page = page_class(session_of(link, owner, registry))
    page.view()
    return page


def until(page, condition, seconds=120, said=lambda page: ""):
    """Pump session and page until a condition holds; `said` is what the page says, told where it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, (page.session.problem, said(page))
        page.session.pump()
        page.pump()
        time.sleep(0.02)


def until_study(page, condition, seconds=120):
    """`until`, on a page that shows one study, or whose front tab does."""
    until(page, condition, seconds, lambda page: getattr(page, "tab", page).study_view.sentence.object)


def run_study(page):
    """Press Run, and wait for the end of the study."""
    view = getattr(page, "tab", page).study_view
    view.press_run()
    until_study(page, lambda: view.study.phase == "done")
    page.pump()
