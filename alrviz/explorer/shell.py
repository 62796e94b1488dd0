"""The frame around every page: header with the drop strip, navigation rail, drawer, notice, link and pump.

A page is a class with `title`, `icon`, `group` ("See", "Judge" or "Understand") and `slug`, made with the session. It
has `view()` and `drawer()` (the latter may be None), called once, on its first visit, `on_shown()`, `on_hidden()`,
`pump()`, called every 100 ms while something runs, which returns whether the page still needs it, and `close()`, called
when the visitor has gone.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import panel as pn
import panel_material_ui as pmui
from panel.util import edit_readonly

from alrviz import __version__
from alrviz.explorer import look, owners
from alrviz.explorer.glossary import glossary_html
from alrviz.explorer.notice import Notice
from alrviz.explorer.session import Session
from alrviz.explorer.state import read_link
from alrviz.explorer.upload import DropStrip
from alrviz.views.clipboard import copy_code
from alrviz.views.ready import connected, page_ready, server_session
from alrviz.views.style import safe

GROUPS = ("See", "Judge", "Understand")
TICK = 100  # ms
RAIL = 176  # px


class Page(Protocol):
    """What the shell asks of a page."""

    title: str
    icon: str
    group: str
    slug: str

    def view(self) -> Any:
        """Return what is shown in the main area."""

    def drawer(self) -> Any:
        """Return what is shown in the drawer, or None."""

    def on_shown(self) -> None:
        """The page comes to the front."""

    def on_hidden(self) -> None:
        """The page leaves the front."""

    def pump(self) -> bool | None:
        """Take over what is new; returns whether there may be more."""

    def close(self) -> None:
        """The visitor has gone: end what works for nobody."""


class Shell:
    """One session's frame. `page_classes` are in the rail's order; the first is the page of the first screen."""

    def __init__(self, session: Session, page_classes: Sequence[Any]):
        self.session = session
        self.pages: dict[str, Page] = {cls.slug: cls(session) for cls in page_classes}
        self._first = next(iter(self.pages))
        self._views: dict[str, Any] = {}
        self._drawers: dict[str, Any] = {}
        self._shown = ""
        self._callback: Any = None
        self._quiet = 0
        self.notice = Notice(session)
        self._rail_buttons: dict[str, Any] = {}
        self._area = pn.Column(sizing_mode="stretch_both", margin=(12, 16))
        self._outer = pn.Column(self.notice.heard, self.notice.panel, self._area, sizing_mode="stretch_both", margin=0)
        self._drawer = pmui.Drawer(anchor="right", size=420, sx={"p": "16px", "backgroundImage": "none"})
        self._help = self._help_dialog()
        self._about = pn.pane.HTML("", stylesheets=[look.PANE_CSS], margin=0, align="center")
        self.root = self._frame()
        session.on_wake = self.wake
        session.open_drawer = self.open_drawer
        session.param.watch(lambda *_: self.show_page(), "page")
        session.param.watch(lambda *_: self._show_about(), ["dataset", "pending"])
        session.param.watch(
            lambda *_: self.write_link(),
            ["page", "dataset", "pending", "recipes", "question", "axis", "seed", "entry", "wanted"],
        )
        self.root.param.watch(lambda event: setattr(session, "dark", bool(event.new)), "dark_theme")
        self._show_about()
        self.show_page()

    # ---- the frame ---------------------------------------------------------------------------------------------

    def _frame(self) -> Any:
        limit = self.session.registry.limits.bytes
        strip = DropStrip(
            limit, self.session.receive, self._dropped, self.session.refuse, width=400, margin=(0, 16), align="center"
        )
        copy = _icon_button("link", "Copy a link to what you see")
        copy.js_on_click(code=copy_code("window.location.href"))
        theme = _icon_button("contrast", "Light or dark")
        theme.js_on_click(code="window.alrvizToggleTheme()")
        help_button = _icon_button("help_outline", "Help: keys and words", css_classes=["alrviz-key-help"])
        help_button.on_click(lambda _: self._help.param.update(open=True))
        header = pn.Row(
            self._about,
            pn.HSpacer(),
            strip,
            copy,
            theme,
            help_button,
            sizing_mode="stretch_width",
            margin=(0, 0, 0, 20),
        )
        page = pmui.Page(
            title="alrviz",
            header=[header],
            sidebar=[self._rail()],
            main=[self._outer, self._drawer, self._help],
            sidebar_variant="permanent",
            sidebar_width=RAIL,
            sidebar_resizable=False,
            theme_toggle=False,
            busy_indicator=None,
            theme_config=look.THEME,
            sx=look.PAGE_SX,
            template=look.TEMPLATE,
            favicon=look.FAVICON,
            raw_css=[look.RAW_CSS],
            meta_description="A laboratory for classifiers from naive Bayes to higher-order logistic regression",
            site_url="?",
        )
        # A page follows the busy flag, which every tick of the pump raises and lowers; and at every change of a page
        # Panel visits all models below it. Measured: 0.1 s a tick, most of what the event loop has. It follows by
        # another reference here, not by a plain False: that would leave the process' flag holding the page for ever.
        with edit_readonly(page):
            page.busy = page.param.loading
        return page

    def _rail(self) -> Any:
        parts: list[Any] = []
        for group in GROUPS:
            pages = [page for page in self.pages.values() if page.group == group]
            if not pages:
                continue
            parts.append(
                pn.pane.HTML(f"<h2 class='quiet'>{group}</h2>", stylesheets=[look.PANE_CSS], margin=(18, 0, 4, 18))
            )
            parts.extend(self._rail_button(page) for page in pages)
        return pmui.Column(*parts, sizing_mode="stretch_width", margin=0)

    def _rail_button(self, page: Page) -> Any:
        button = pmui.Button(
            label=page.title,
            icon=page.icon,
            icon_size="22px",
            variant="text",
            color="default",
            sizing_mode="stretch_width",
            margin=(2, 8),
            sx=_RAIL_REST,
        )
        button.on_click(lambda _: self.session.go(page.slug))
        self._rail_buttons[page.slug] = button
        return button

    def _help_dialog(self) -> Any:
        keys = "".join(
            f"<dt><kbd>{key}</kbd></dt><dd>{what}</dd>"
            for key, what in (
                ("space", "run, pause"),
                ("→", "one step"),
                ("←", "one step back"),
                ("s", "stop"),
                ("?", "this help"),
            )
        )
        html = (
            f"<h2>Keys</h2><dl>{keys}</dl><br><h2>Words</h2>{glossary_html()}"
            f"<br><p class='quiet'>alrviz {safe(__version__)}</p>"
        )
        close = pmui.Button(label="Close", variant="outlined", margin=(12, 0, 0, 0))
        dialog = pmui.Dialog(
            pn.pane.HTML(html, stylesheets=[look.PANE_CSS], sizing_mode="stretch_width", margin=0),
            close,
            title="Help",
            close_on_click=True,
            width_option="md",
        )
        close.on_click(lambda _: dialog.param.update(open=False))
        return dialog

    def _show_about(self) -> None:
        dataset, pending = self.session.dataset, self.session.pending
        if pending is not None:
            self._about.object = f"<b>{safe(pending.name, 40)}</b> <span class='quiet'>&nbsp;needs a class</span>"
            return
        if dataset is None:
            self._about.object = "<span class='quiet'>no table yet</span>"
            return
        self._about.object = (
            f"<div style='white-space:nowrap; overflow:hidden; text-overflow:ellipsis; max-width:440px'>"
            f"<b>{safe(dataset.name, 40)}</b> <span class='quiet'>&nbsp;{dataset.n_rows:,} rows · "
            f"{dataset.X.shape[1]:,} columns · {dataset.n_classes:,} classes</span></div>"
        )

    # ---- pages -------------------------------------------------------------------------------------------------

    def show_page(self) -> None:
        """Bring the session's page to the front, building it on its first visit."""
        slug = self.session.page
        if slug not in self.pages:
            self.session.page = self._first  # comes back here by its watcher
            return
        if slug == self._shown:
            return
        if self._shown:
            self.pages[self._shown].on_hidden()
        page = self.pages[slug]
        if slug not in self._views:
            self._views[slug] = page.view()
            self._drawers[slug] = page.drawer()
        view = self._views[slug]
        # A page as high as the window fills it; any other is as high as it is, and the window scrolls.
        mode = "stretch_width" if getattr(view, "sizing_mode", None) == "stretch_width" else "stretch_both"
        self._area.sizing_mode = self._outer.sizing_mode = mode
        # Panel's columns are at most as high as what holds them: what unfolds would lie under what comes next.
        self._area.styles = self._outer.styles = {"max-height": "none"} if mode == "stretch_width" else {}
        self._area[:] = [view]
        drawer = self._drawers[slug]
        self._drawer.param.update(open=False, objects=[] if drawer is None else [drawer])
        for name, button in self._rail_buttons.items():
            button.param.update(sx=_RAIL_HERE if name == slug else _RAIL_REST)
        self._shown = slug
        page.on_shown()
        self.wake()

    def open_drawer(self, open: bool = True) -> None:
        """Open or close the page's drawer of settings."""
        self._drawer.open = open

    def _dropped(self, name: str, data: bytes) -> None:
        self.session.load_bytes(name, data)
        self.session.go("data")

    # ---- pump and link -----------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Start the pump if it rests."""
        self._quiet = 0
        if self._callback is None and pn.state.curdoc is not None and pn.state.curdoc.session_context is not None:
            self._callback = pn.state.add_periodic_callback(self.pump, period=TICK, start=False)
        if self._callback is not None and not self._callback.running:
            self._callback.start()

    def pump(self) -> None:
        """One tick: the session, the notice, the page shown; rests after two quiet seconds.

        What changes in a tick goes to the browser as one message: it lays the page out once.
        """
        with pn.io.hold():
            self._tick()

    def _tick(self) -> None:
        watched = connected()
        if not page_ready():
            return
        busy = self.session.pump(watched)
        if self.session.loading is not None:
            self.notice.show()
        page = self.pages.get(self._shown)
        wants = bool(page.pump()) if page is not None else False
        self._keep_session(self.session.busy)
        self._quiet = 0 if busy or wants else self._quiet + 1
        if self._quiet > 20 and self._callback is not None and self._callback.running:
            self._callback.stop()

    def close(self) -> None:
        """End the work of a visitor who has gone: others wait for its places. Runs are the registry's."""
        self.session.cancel()
        for page in self.pages.values():
            page.close()

    _kept = False

    def _keep_session(self, keep: bool) -> None:
        """Hold the server's session while something runs: a lost connection finds its page again."""
        session = server_session()
        if session is None or keep == self._kept:
            return
        (session.block_expiration if keep else session.unblock_expiration)()
        self._kept = keep

    def write_link(self) -> None:
        """Put what is shown into the address bar."""
        location = pn.state.location
        if location is not None and location.search != (link := self.session.link):
            location.search = link

    # ------------------------------------------------------------------------------------------------------------


_TINT = "color-mix(in srgb, var(--mui-palette-primary-main) {}%, transparent)"
_RAIL_REST = {
    "justifyContent": "flex-start",
    "px": "12px",
    "py": "8px",
    "color": "text.primary",
    "fontSize": "1rem",
    "&:hover": {"backgroundColor": _TINT.format(8), "color": "text.primary"},
}
_RAIL_HERE = {
    **_RAIL_REST,
    "color": "primary.main",
    "fontWeight": 700,
    "backgroundColor": _TINT.format(14),
    "&:hover": {"backgroundColor": _TINT.format(20), "color": "primary.main"},
}


def _icon_button(icon: str, label: str, **params: Any) -> Any:
    return pmui.IconButton(
        label=label, icon=icon, icon_size="24px", description=label, color="default", margin=0, align="center", **params
    )


def build(page_classes: Sequence[Any], dataset: Any = None) -> Shell:
    """Return the shell of the visitor whose request is being answered."""
    request = getattr(getattr(pn.state.curdoc, "session_context", None), "request", None)
    owner, new = owners.owner_of(pn.state.cookies if request is not None else {})
    if new and request is not None:
        owners.remember(request, owner)
    session = Session(owner=owner, served=dataset)
    dark = (pn.state.cookies.get(look.THEME_COOKIE) if request is not None else "") == "dark"
    pn.config.theme = "dark" if dark else "default"
    session.dark = dark
    search = pn.state.location.search if pn.state.location is not None else ""
    state = read_link(search or "")
    session.apply(state)
    shell = Shell(session, page_classes)
    if request is not None:
        pn.state.on_session_destroyed(lambda _: shell.close())
    return shell
