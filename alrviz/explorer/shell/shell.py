"""One visitor's page: which of the pages is shown, the pump that brings what threads have done, the link."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import panel as pn
from bokeh.server.contexts import BokehSessionContext
from panel.io.callbacks import PeriodicCallback
from panel.viewable import Viewable
from tornado.ioloop import IOLoop

from alrviz.data.dataset import Dataset
from alrviz.data.demos import demo_names
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import Lesson
from alrviz.explorer.lessons import library
from alrviz.explorer.page import Page
from alrviz.explorer.server import process_tuning, visitor_ids
from alrviz.explorer.server.tables import Upload
from alrviz.explorer.session.link_errors import Choices, check_link, link_message
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import LINK_PARAMS, State, read_link
from alrviz.explorer.shell import theme
from alrviz.explorer.shell.class_panel import ClassPanel
from alrviz.explorer.shell.frame import Frame
from alrviz.explorer.shell.lesson_panel import LessonPanel
from alrviz.views.core.browser_ready import connected, page_ready, server_session

# What of a session its link shows.
_LINKED = ("dataset", "pending", "loading", "entry", "requested_file", "map_entry", *LINK_PARAMS)
TICK_MS = 100
# Presses that came while another page was being built are read before the next one is: only the last is opened.
OPEN_DELAY_MS = 50
DRAWN_SECONDS = 0.8  # from a page's websocket to its picture on the screen, measured with nothing beside it


class Shell:
    """One visitor's pages in their frame; `page_classes` in the rail's order, first the one of the first screen."""

    def __init__(self, session: Session, page_classes: Sequence[Any], lesson: Lesson | None = None):
        self.session = session
        # Before the pages: where its question is open they run nothing by themselves.
        self.lesson = None if lesson is None else LessonPanel(session, lesson, lambda: self._front, self.open_place)
        session.registry.add_page(session.runs)
        self._classes = page_classes
        self.pages: dict[str, Page] = {cls.slug: cls(session) for cls in page_classes}
        self._first = next(iter(self.pages))
        self._views: dict[str, Viewable] = {}
        self._drawers: dict[str, Viewable | None] = {}
        self._asked = self._shown = ""  # the page that was asked for, and the one in front: "" while it is being opened
        self._callback: PeriodicCallback | None = None
        self._returns = False  # whether the session is just being brought to a place that the reader has gone back to
        self._awaited: object = None  # the loading of its table
        self._quiet = 0
        self._there: float | None = None  # when the browser was first seen
        self.classes = ClassPanel(session, self.lesson)
        self.frame = Frame(session, self.pages, self._dropped, self.classes, self.lesson)
        self.root, self.notice = self.frame.root, self.frame.notice
        session.on_wake = self.wake
        session.open_drawer = self.open_drawer
        session.watch(lambda *_: self.show_page(), "page")
        session.watch(lambda *_: self.write_link(), list(_LINKED))
        if pn.state.location is not None:
            pn.state.location.param.watch(lambda event: self._visited(event.new), "search")
        self.root.param.watch(lambda event: setattr(session, "dark", bool(event.new)), "dark_theme")
        self.show_page()

    # ---- pages -------------------------------------------------------------------------------------------------

    def show_page(self) -> None:
        """Replace the page shown by the session's page.

        The browser draws a page anew at every visit, and on its first visit the page is built, which takes seconds on a
        busy server: the browser is first told that it opens.
        """
        slug = self.session.page
        if slug not in self.pages:
            self.session.page = self._first  # comes back here by its watcher
            return
        if slug == self._asked:
            return
        seen = bool(self._asked) and server_session() is not None and page_ready()
        self._leave_for(slug)
        if not seen:
            self._bring(slug)
            return
        with pn.io.hold():  # one message, which is sent before the page is built
            self.frame.show_opening(slug)
        pn.state.curdoc.add_timeout_callback(partial(self._open, slug), OPEN_DELAY_MS)

    def _leave_for(self, slug: str) -> None:
        """Let the page in front rest: another is asked for."""
        self._asked = slug
        if self._shown:
            self.pages[self._shown].on_hidden()
            self._shown = ""

    def open_place(self, search: str) -> None:
        """Show what a link asks for as if it had been loaded, in this session: its page is built anew.

        Of what the pages had before nothing is left over; header, lesson and class stay as they are.
        """
        lesson = None if self.lesson is None else self.lesson.lesson
        state, told, _ = opened(search, self._classes, lesson)
        slug = state.page if state.page in self.pages else self._first
        with pn.io.hold():
            self._leave_for(slug)  # nothing is shown while the session's parameters change
            anew = {slug, *self._views}
            for one in anew:
                self._close(one)
            returns, self._returns = self._returns, True  # nor is a link written of some of them
            try:
                self.session.link.open(state, told)
            finally:
                self._returns = returns
            self.pages |= {cls.slug: cls(self.session) for cls in self._classes if cls.slug in anew}
            self._asked = "another"
            self.show_page()
            self.write_link()

    def _close(self, slug: str) -> None:
        """End a page with all that it holds."""
        self.session.unsubscribe(slug)
        self.pages[slug].close()
        self._drawers.pop(slug, None)
        self._views.pop(slug, None)

    def _open(self, slug: str) -> None:
        """Build the page that was asked for, unless the reader has gone on meanwhile."""
        if slug != self._asked or self._shown:
            return
        try:
            with pn.io.hold():
                self._bring(slug)
        except Exception:
            self.frame.show_opening(slug, failed=True)
            raise

    def _bring(self, slug: str) -> None:
        if slug not in self._views:
            self._views[slug] = self.pages[slug].view()
        self.frame.show(slug, self._views[slug])
        self._shown = slug
        self.pages[slug].on_shown()
        self.wake()

    def open_drawer(self, open: bool = True) -> None:
        """Open or close the drawer of the page shown, building it for the first time."""
        slug = self._shown
        if not slug:  # none before the page is there
            return
        if open and slug not in self._drawers:
            self._drawers[slug] = self.pages[slug].drawer()
        self.frame.open_drawer(self._drawers[slug] if open else None)

    def _dropped(self, name: str, data: bytes) -> None:
        awaited = self.session.table.requested_file is not None  # by a link: the page it is about is shown
        self.session.table.load_bytes(name, data)
        if not awaited:
            self.session.go("data")

    @property
    def _front(self) -> Page | None:
        """The page shown; None while it is being opened."""
        return self.pages.get(self._shown)

    # ---- pump and link -----------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Start the pump if it rests."""
        self._quiet = 0
        if self._callback is None and pn.state.curdoc is not None and pn.state.curdoc.session_context is not None:
            # In the background: to raise Panel's busy flag and lower it, which nothing here shows, costs a tick 1.6 ms,
            # of 3.7 where there is nothing new.
            self._callback = PeriodicCallback(callback=self.pump, period=TICK_MS, background=True)
        if self._callback is not None and not self._callback.running:
            self._callback.start()

    def pump(self) -> None:
        """One tick: the session, the notice, the page shown; rests after two quiet seconds.

        What changes in a tick goes to the browser as one message: it lays the page out once.
        """
        with pn.io.hold():
            watched = connected()
            if not page_ready():
                return
            if self.session.holds_tasks:
                self._await_drawn()
            busy = self.session.pump(watched)
            if self.session.table.loading is not None:
                self.notice.show()
            busy |= self._front is not None and bool(self._front.pump())
            if self.lesson is not None:
                self.lesson.look()
            busy |= self.classes.look()
            self._keep_session(self.session.busy)
            self._quiet = 0 if busy else self._quiet + 1
            if self._quiet > 20 and self._callback is not None and self._callback.running:
                self._callback.stop()

    def _await_drawn(self) -> None:
        """Let work begin once the page is on the screen; no event of BokehJS says when views that React draws are."""
        self._there = self._there or time.monotonic()
        if time.monotonic() - self._there >= DRAWN_SECONDS:
            if server_session() is not None:  # not of a visitor who has gone meanwhile, nor in a notebook
                process_tuning.tune_process(pn.state.curdoc.session_context)
            self.session.release_tasks()

    def close(self) -> None:
        """End the work of a visitor who has gone: others wait for its places. Runs are the registry's."""
        if self._callback is not None and self._callback.running:
            self._callback.stop()
        self.session.registry.remove_page(self.session.runs)
        self.session.table.cancel()
        for page in self.pages.values():
            page.close()

    def on_destroyed(self, context: BokehSessionContext) -> None:
        """End the page of a session that its server ends: the visitor has gone."""
        self.close()
        process_tuning.page_left(context, self, IOLoop.current().call_later)

    _kept = False

    def _keep_session(self, keep: bool) -> None:
        """Hold the server's session while something runs: a lost connection finds its page again."""
        session = server_session()
        if session is None or keep == self._kept:
            return
        (session.block_expiration if keep else session.unblock_expiration)()
        self._kept = keep

    def _visited(self, search: str) -> None:
        """The browser's address has changed: by us, or by the reader's Back or Forward."""
        if search != self.session.link.query:
            self._returns = True
            try:
                with pn.io.hold():
                    self._return_to(search)
            finally:
                self._returns, self._awaited = False, self.session.table.loading
            self.write_link()

    def _return_to(self, search: str) -> None:
        """Show a place where the reader has been."""
        place, session = read_link(search), self.session
        if self.lesson is not None and (place.lesson, place.step) != (session.lesson, session.step):
            if not self.lesson.goes_on_at(place.step):
                self.open_place(search)
                return
            session.step = place.step
        session.link.visit(place)

    def write_link(self) -> None:
        """Put what is shown into the address bar; until the table that this asks for is there it stays as it is."""
        location, session, table = pn.state.location, self.session, self.session.table
        awaited = table.loading is not None and (table.dataset is None or table.loading is self._awaited)
        if self._returns or awaited:
            return
        if location is not None and location.search != (link := session.link.query):
            location.search = link


def build(page_classes: Sequence[Any], dataset: Dataset | Upload | Stream | None = None, path: str = "") -> Shell:
    """Return the shell of the visitor whose request is being answered."""
    request = getattr(getattr(pn.state.curdoc, "session_context", None), "request", None)
    http = getattr(request, "_request", None)
    cookies = pn.state.cookies if request is not None else {}
    owner, new = visitor_ids.owner_of(cookies, getattr(http, "headers", {}))
    if new and request is not None:
        visitor_ids.remember(request, owner)
    session = Session(owner=owner, served=dataset, served_from=path)
    if address := getattr(http, "remote_ip", ""):
        session.registry.note_address(owner, address)
    if request is not None:
        process_tuning.filter_log()
        process_tuning.use_server_styles(pn.state.curdoc)
        session.hold_tasks()
    dark = (pn.state.cookies.get(theme.THEME_COOKIE) if request is not None else "") == "dark"
    pn.config.theme = "dark" if dark else "default"
    session.dark = dark
    search = pn.state.location.search if pn.state.location is not None else ""
    state, told, lesson = opened(search or "", page_classes)
    session.link.open(state, told)
    shell = Shell(session, page_classes, lesson)
    if request is not None:
        pn.state.on_session_destroyed(shell.on_destroyed)
    return shell


def opened(search: str, page_classes: Sequence[Any], lesson: Lesson | None = None) -> tuple[State, str, Lesson | None]:
    """Return what a link asks for, what is to be said of what could not be used of it, and its lesson.

    A link with a lesson, and no more than the number of its step, opens what the step sets. `lesson`: the one that is
    open already.
    """
    state, choices, broken = read_link(search), choices_of(page_classes), ""
    try:
        lesson = lesson or (library.find(state.lesson, choices) if state.lesson else None)
    except AlrvizError as error:
        broken = f"The lesson cannot be opened: {error}"
    if lesson is not None:
        step = min(state.step, len(lesson.steps))
        if state == State(lesson=state.lesson, step=state.step):
            search = lesson.steps[step - 1].link
        state = read_link(search).replace(lesson=lesson.id, step=step)
    state, troubles = check_link(search, state, {**choices(state.page), "lesson": library.names()})
    return state, broken or link_message(troubles), lesson


def choices_of(page_classes: Sequence[Any]) -> Callable[[str], Choices]:
    """Return what tells what a link to a page may hold."""
    pages = {cls.slug: cls for cls in page_classes}
    names: Choices = {"page": pages, "data": demo_names(), "sets": demo_names(), "measure": ()}
    return lambda page: {**names, **getattr(pages.get(page or State().page), "choices", dict)()}
