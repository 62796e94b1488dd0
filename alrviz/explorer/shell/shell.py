"""The shell of one visitor: the page shown, the pump that takes over the results of threads, and the address bar."""

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
from alrviz.views.core.browser_ready import is_connected, page_ready, server_session

# Parameters of a session whose changes change its link.
_LINK_SOURCES = ("dataset", "pending", "loading", "entry", "requested_file", "map_entry", *LINK_PARAMS)
TICK_MS = 100
# Time to read presses made while another page was being built, so that only the last page pressed is opened.
OPEN_DELAY_MS = 50
DRAW_SECONDS = 0.8  # from a page's websocket to its picture on the screen, measured on an idle machine


class Shell:
    """The pages of one visitor in their frame.

    Args:
        session: the visitor's session.
        page_classes: in the order of the rail; the first one is the default page.
        lesson: the lesson beside the pages; None without one.
    """

    def __init__(self, session: Session, page_classes: Sequence[Any], lesson: Lesson | None = None):
        self.session = session
        # Before the pages, which start no race by themselves while a question of the lesson is open.
        self.lesson = None if lesson is None else LessonPanel(session, lesson, lambda: self._front, self.open_place)
        session.registry.add_page(session.runs)
        self._classes = page_classes
        self.pages: dict[str, Page] = {cls.slug: cls(session) for cls in page_classes}
        self._first = next(iter(self.pages))
        self._views: dict[str, Viewable] = {}
        self._drawers: dict[str, Viewable | None] = {}
        self._requested = ""  # slug of the page requested last
        self._front_slug = ""  # slug of the page in front; "" while it is being opened
        self._callback: PeriodicCallback | None = None
        self._is_returning = False  # while Back or Forward changes the session, when no link is written
        self._awaited_loading: object = None  # the loading of a table requested by Back or Forward
        self._quiet_ticks = 0
        self._connect_time: float | None = None  # when the browser connected
        self.classes = ClassPanel(session, self.lesson)
        self.frame = Frame(session, self.pages, self._load_dropped, self.classes, self.lesson)
        self.root, self.notice = self.frame.root, self.frame.notice
        session.on_wake = self.wake
        session.open_drawer = self.open_drawer
        session.watch(lambda *_: self.show_page(), "page")
        session.watch(lambda *_: self.write_link(), list(_LINK_SOURCES))
        if pn.state.location is not None:
            pn.state.location.param.watch(lambda event: self._on_address_change(event.new), "search")
        self.root.param.watch(lambda event: setattr(session, "dark", bool(event.new)), "dark_theme")
        self.show_page()

    # ---- pages -------------------------------------------------------------------------------------------------

    def show_page(self) -> None:
        """Show the session's page.

        The browser redraws a page at every visit, and the first visit also builds it, which takes seconds on a busy
        server. So the browser first shows that the page is being opened.
        """
        slug = self.session.page
        if slug not in self.pages:
            self.session.page = self._first  # its watcher calls this method again
            return
        if slug == self._requested:
            return
        shows_opening = bool(self._requested) and server_session() is not None and page_ready()
        self._hide_front(slug)
        if not shows_opening:
            self._show_view(slug)
            return
        with pn.io.hold():  # one message, which is sent before the page is built
            self.frame.show_opening(slug)
        pn.state.curdoc.add_timeout_callback(partial(self._open_page, slug), OPEN_DELAY_MS)

    def _hide_front(self, slug: str) -> None:
        """Hide the page in front, because another one is requested."""
        self._requested = slug
        if self._front_slug:
            self.pages[self._front_slug].on_hidden()
            self._front_slug = ""

    def open_place(self, search: str) -> None:
        """Show the state of a link as if it were loaded: rebuild all pages; header, lesson and class stay."""
        lesson = None if self.lesson is None else self.lesson.lesson
        state, message, _ = open_link(search, self._classes, lesson)
        slug = state.page if state.page in self.pages else self._first
        with pn.io.hold():
            self._hide_front(slug)  # no page may react while the session's parameters change
            rebuilt_pages = {slug, *self._views}
            for page_slug in rebuilt_pages:
                self._close_page(page_slug)
            was_returning, self._is_returning = self._is_returning, True  # and no link is written meanwhile
            try:
                self.session.link.open(state, message)
            finally:
                self._is_returning = was_returning
            self.pages |= {cls.slug: cls(self.session) for cls in self._classes if cls.slug in rebuilt_pages}
            self._requested = "another"
            self.show_page()
            self.write_link()

    def _close_page(self, slug: str) -> None:
        """Close a page, and release all that it holds."""
        self.session.unsubscribe(slug)
        self.pages[slug].close()
        self._drawers.pop(slug, None)
        self._views.pop(slug, None)

    def _open_page(self, slug: str) -> None:
        """Build and show the requested page, unless another one was requested meanwhile."""
        if slug != self._requested or self._front_slug:
            return
        try:
            with pn.io.hold():
                self._show_view(slug)
        except Exception:
            self.frame.show_opening(slug, has_failed=True)
            raise

    def _show_view(self, slug: str) -> None:
        if slug not in self._views:
            self._views[slug] = self.pages[slug].view()
        self.frame.show(slug, self._views[slug])
        self._front_slug = slug
        self.pages[slug].on_shown()
        self.wake()

    def open_drawer(self, open: bool = True) -> None:
        """Open or close the drawer of the page shown, building it for the first time."""
        slug = self._front_slug
        if not slug:  # no page is shown yet
            return
        if open and slug not in self._drawers:
            self._drawers[slug] = self.pages[slug].drawer()
        self.frame.open_drawer(self._drawers[slug] if open else None)

    def _load_dropped(self, name: str, data: bytes) -> None:
        is_requested = self.session.table.requested_file is not None  # by a link, whose page stays
        self.session.table.load_bytes(name, data)
        if not is_requested:
            self.session.go("data")

    @property
    def _front(self) -> Page | None:
        """The page shown; None while it is being opened."""
        return self.pages.get(self._front_slug)

    # ---- pump and link -----------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Start the pump if it is not running."""
        self._quiet_ticks = 0
        if self._callback is None and pn.state.curdoc is not None and pn.state.curdoc.session_context is not None:
            # In the background, without Panel's busy flag, which no indicator shows here: setting it would take 1.6 of
            # the 3.7 ms of a tick without changes.
            self._callback = PeriodicCallback(callback=self.pump, period=TICK_MS, background=True)
        if self._callback is not None and not self._callback.running:
            self._callback.start()

    def pump(self) -> None:
        """Update session, notice and page once; the pump stops after two seconds without changes.

        All changes of a tick go to the browser as one message, so that it computes the layout once.
        """
        with pn.io.hold():
            is_watched = is_connected()
            if not page_ready():
                return
            if self.session.holds_tasks:
                self._await_drawn()
            is_busy = self.session.pump(is_watched)
            if self.session.table.loading is not None:
                self.notice.show()
            is_busy |= self._front is not None and bool(self._front.pump())
            if self.lesson is not None:
                self.lesson.look()
            is_busy |= self.classes.look()
            self._hold_session(self.session.busy)
            self._quiet_ticks = 0 if is_busy else self._quiet_ticks + 1
            if self._quiet_ticks > 20 and self._callback is not None and self._callback.running:
                self._callback.stop()

    def _await_drawn(self) -> None:
        """Start held-back tasks once the page is on the screen; BokehJS has no event for components drawn by React."""
        self._connect_time = self._connect_time or time.monotonic()
        if time.monotonic() - self._connect_time >= DRAW_SECONDS:
            if server_session() is not None:  # not for a visitor who has left, nor in a notebook
                process_tuning.tune_process(pn.state.curdoc.session_context)
            self.session.release_tasks()

    def close(self) -> None:
        """End the tasks of a visitor who has left, because others wait for their places; runs continue."""
        if self._callback is not None and self._callback.running:
            self._callback.stop()
        self.session.registry.remove_page(self.session.runs)
        self.session.table.cancel()
        for page in self.pages.values():
            page.close()

    def on_destroyed(self, context: BokehSessionContext) -> None:
        """Close the pages of a session that the server ends because its visitor has left."""
        self.close()
        process_tuning.page_left(context, self, IOLoop.current().call_later)

    _session_held = False

    def _hold_session(self, keep: bool) -> None:
        """Keep the server's session from expiring while a run is active, so that a lost page can reconnect to it."""
        session = server_session()
        if session is None or keep == self._session_held:
            return
        (session.block_expiration if keep else session.unblock_expiration)()
        self._session_held = keep

    def _on_address_change(self, search: str) -> None:
        """Follow a change of the browser's address by Back or Forward; changes by `write_link` need nothing."""
        if search != self.session.link.query:
            self._is_returning = True
            try:
                with pn.io.hold():
                    self._return_to(search)
            finally:
                self._is_returning, self._awaited_loading = False, self.session.table.loading
            self.write_link()

    def _return_to(self, search: str) -> None:
        """Show an earlier place of the browser's history."""
        earlier_state, session = read_link(search), self.session
        if self.lesson is not None and (earlier_state.lesson, earlier_state.step) != (session.lesson, session.step):
            if not self.lesson.has_same_page(earlier_state.step):
                self.open_place(search)
                return
            session.step = earlier_state.step
        session.link.visit(earlier_state)

    def write_link(self) -> None:
        """Write the session's link into the address bar, except while the table of that address is loading."""
        location, session, table = pn.state.location, self.session, self.session.table
        is_awaited = table.loading is not None and (table.dataset is None or table.loading is self._awaited_loading)
        if self._is_returning or is_awaited:
            return
        if location is not None and location.search != (link := session.link.query):
            location.search = link


def build(page_classes: Sequence[Any], dataset: Dataset | Upload | Stream | None = None, path: str = "") -> Shell:
    """Return the shell of the visitor whose request is being answered."""
    request = getattr(getattr(pn.state.curdoc, "session_context", None), "request", None)
    http = getattr(request, "_request", None)
    cookies = pn.state.cookies if request is not None else {}
    owner, is_new = visitor_ids.owner_of(cookies, getattr(http, "headers", {}))
    if is_new and request is not None:
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
    state, message, lesson = open_link(search or "", page_classes)
    session.link.open(state, message)
    shell = Shell(session, page_classes, lesson)
    if request is not None:
        pn.state.on_session_destroyed(shell.on_destroyed)
    return shell


def open_link(
    search: str, page_classes: Sequence[Any], lesson: Lesson | None = None
) -> tuple[State, str, Lesson | None]:
    """Return the state of a link, a message about its problems, and its lesson.

    A link with only a lesson and the number of a step opens the link of that step.

    Args:
        search: the query of the link.
        page_classes: the pages, for valid choices.
        lesson: the lesson that is open already; None to look for the link's lesson.
    """
    state, choices, error_message = read_link(search), choices_of(page_classes), ""
    try:
        lesson = lesson or (library.find(state.lesson, choices) if state.lesson else None)
    except AlrvizError as error:
        error_message = f"The lesson cannot be opened: {error}"
    if lesson is not None:
        step_number = min(state.step, len(lesson.steps))
        if state == State(lesson=state.lesson, step=state.step):
            search = lesson.steps[step_number - 1].link
        state = read_link(search).replace(lesson=lesson.id, step=step_number)
    state, problems = check_link(search, state, {**choices(state.page), "lesson": library.names()})
    return state, error_message or link_message(problems), lesson


def choices_of(page_classes: Sequence[Any]) -> Callable[[str], Choices]:
    """Return a function from a page's slug to the valid choices of its links."""
    pages = {cls.slug: cls for cls in page_classes}
    names: Choices = {"page": pages, "data": demo_names(), "sets": demo_names(), "measure": ()}
    return lambda page: {**names, **getattr(pages.get(page or State().page), "choices", dict)()}
