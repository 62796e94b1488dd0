"""The frame around every page: header with the drop strip, navigation rail, drawer, notice, help.

It only arranges them; session and shell handle presses.
"""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.util import edit_readonly
from panel.viewable import Viewable

from alrviz import __version__
from alrviz.explorer.lessons.writer import lesson_yaml
from alrviz.explorer.page import Page
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell import theme
from alrviz.explorer.shell.button_list import Button, ButtonList
from alrviz.explorer.shell.class_panel import ClassPanel
from alrviz.explorer.shell.dialogs import LazyDialog, TextDialog, dialog
from alrviz.explorer.shell.drop_strip import DropStrip
from alrviz.explorer.shell.glossary import glossary_html
from alrviz.explorer.shell.notices import Notice
from alrviz.explorer.shell.qr import local_hint, page_url, qr_html
from alrviz.views.core.clipboard import copy_code
from alrviz.views.core.style import safe

GROUPS = ("Explore", "Evaluate", "Understand", "Data")
LESSON_FILE = "my-lesson.yaml"
_LESSON_HINT = (
    "<p>This file opens a lesson whose first step is what you see now. Change its texts, copy the step for the next "
    f"one, and open it with <code>alrviz explore --lesson {LESSON_FILE}</code>: each reload of the page reads it "
    "again.</p>"
)
COPIED_MESSAGE = "The link to what you see is copied."


class Frame:
    """The parts around a page, and `root`, the page of panel-material-ui that holds them all.

    Args:
        session: the visitor's session.
        pages: by slug, in the order of the rail.
        on_file: called with name and bytes of a dropped file.
        classes: the panel of a class.
        lesson: the panel of a lesson; None without one.
    """

    def __init__(
        self,
        session: Session,
        pages: Mapping[str, Page],
        on_file: Callable[[str, bytes], None],
        classes: ClassPanel,
        lesson: Viewable | None = None,
    ):
        self.session, self._on_file, self._pages, self._slug = session, on_file, pages, ""
        self.notice = Notice(session)
        self._area = pn.Column(sizing_mode="stretch_both", margin=(12, 16))
        self._classes = classes
        self._area.css_classes = ["alrviz-area"]  # shrinks beside a lesson or a class
        # The containers of the page's view, from the inside out.
        beside_panel: list[Viewable] = [self._area, classes.panel]
        if lesson is not None:  # three columns are more than a projector has room for
            classes.panel.css_classes = ["alrviz-of-lesson"]
            classes.panel.margin = (12, 0, 0, 16)
            beside_panel = [pn.Column(classes.panel, lesson, margin=0, css_classes=["alrviz-stacked"]), self._area]
        page_row = pn.Row(*beside_panel, margin=0, css_classes=["alrviz-beside"])
        self._outer = pn.Column(self.notice.heard, self.notice.panel, page_row, sizing_mode="stretch_both", margin=0)
        self._around = [self._area, page_row, self._outer]
        self._opening = theme.html(stylesheets=[theme.PANE_CSS, theme.PROGRESS_CSS])
        self._drawer = pmui.Drawer(anchor="right", size=420, sx={"p": "16px", "backgroundImage": "none"})
        self._help = LazyDialog(_help_dialog)
        self._code = theme.html()
        self._code_dialog = LazyDialog(lambda: dialog("This page on another screen", "sm", self._code))
        self._lesson_text = TextDialog("Make a lesson from here", "The lesson", _download, _LESSON_HINT)
        row_params: dict[str, Any] = {"sizing_mode": None, "align": "center"}
        self._table_text = theme.html((0, 0, 0, 20), css_classes=["alrviz-about"], **row_params)
        # The title of the page: visible while the rail is hidden, and always read by screen readers.
        self._title = theme.html((0, 0, 0, 12), css_classes=["alrviz-here-only"], **row_params)
        group_names = dict.fromkeys((*GROUPS, *(page.group for page in pages.values())))  # a new group comes last
        grouped_pages = [page for group in group_names for page in pages.values() if page.group == group]
        self._rail = ButtonList(
            [Button(page.slug, page.title, page.icon, page.group) for page in grouped_pages], session.go, upright=True,
            sizing_mode="stretch_width",
        )  # fmt: skip
        self.root = self._page()
        session.watch(lambda *_: self._show_table_text(), ["dataset", "pending", "sketch", "page"])
        self._show_table_text()
        pn.state.onload(self._show_title)  # Panel gives the document the title of all pages before

    def show(self, slug: str, view: Viewable) -> None:
        """Replace the view shown, and close and empty the drawer."""
        # A page that stretches in both directions fills the window; for others the window scrolls.
        mode = "stretch_width" if getattr(view, "sizing_mode", None) == "stretch_width" else "stretch_both"
        for container in self._around:
            container.sizing_mode = mode
            # Panel limits columns to the height of their container: unfolded parts would overlap those below.
            container.styles = {"max-height": "none"} if mode == "stretch_width" else {}
        # Only the view shown is in the document, because Bokeh lays out hidden figures too, which froze the browser.
        if list(self._area.objects) != [view]:
            self._area.objects = [view]
        self._drawer.param.update(open=False, objects=[])
        self._rail.here = slug
        self._slug = slug
        self._show_title()

    def show_opening(self, slug: str, has_failed: bool = False) -> None:
        """Show that a page is being opened, or that opening it has failed."""
        title = safe(self._pages[slug].title)
        self._opening.object = (
            f"<p role='alert'><b>{title} could not be opened.</b> To try again, choose another page and come back.</p>"
            if has_failed
            else f"<p role='status'>Opening {title} …</p><div role='progressbar' aria-label='Opening {title}'></div>"
        )
        self.show(slug, self._opening)

    def _show_title(self) -> None:
        """Set the page's heading, and the title of the browser's tab to page and table."""
        page_title = self._pages[self._slug].title if self._slug else ""
        self._title.object = f"<h1>{safe(page_title)}</h1>"
        dataset, document = self.session.table.dataset, pn.state.curdoc
        if document is not None:
            title_parts = [page_title, "" if dataset is None else dataset.name, "alrviz"]
            with pn.io.hold(document):  # a title needs Bokeh's lock, which Panel does not hold for presses of buttons
                document.title = " - ".join(part for part in title_parts if part)

    def open_drawer(self, content: Viewable | None) -> None:
        """Show the drawer with some content; close it for None."""
        if content is None:
            self._drawer.open = False
        elif list(self._drawer.objects) == [content]:
            self._drawer.open = True
        else:
            self._drawer.param.update(objects=[content], open=True)

    def _header(self) -> pn.Row:
        limit, table = self.session.registry.limits.bytes, self.session.table
        strip = DropStrip(
            limit, table.receive, self._on_file, table.show_error, width=400, margin=(0, 16), align="center",
            css_classes=["alrviz-strip"],
        )  # fmt: skip
        tell = copy_code("window.location.href", f"window.alrvizTell({json.dumps(COPIED_MESSAGE)})")
        menu = ButtonList(
            [Button("menu", "Pages", "menu", code="window.alrvizRail()", mark="alrviz-menu")], align="center"
        )
        tools = ButtonList(
            [
                Button("class", "Class: students answer by phone", "groups"),
                Button("copy", "Copy a link to what you see", "link", code=tell),
                Button("code", "QR code of the link to what you see", "qr_code_2", mark="alrviz-seldom"),
                Button("lesson", "Make a lesson from here", "post_add", mark="alrviz-seldom"),
                Button(
                    "present",
                    "Present: the picture alone, in large",
                    "slideshow",
                    code="alrvizPresent()",
                    mark="alrviz-seldom",
                ),
                Button("theme", "Light or dark", "contrast", code="window.alrvizToggleTheme()"),
                Button("help", "Help: keys and words", "help_outline", mark="alrviz-key-help"),
            ],
            self._press,
            align="center",
        )
        return pn.Row(
            menu,
            self._title,
            self._table_text,
            pn.HSpacer(),
            strip,
            tools,
            sizing_mode="stretch_width",
            margin=0,
            css_classes=["alrviz-header"],
        )

    def _page(self) -> pmui.Page:
        page = pmui.Page(
            title="alrviz",
            header=[self._header()],
            sidebar=[self._rail],
            main=[
                self._outer,
                self._drawer,
                self._help.place,
                self._code_dialog.place,
                self._lesson_text.place,
                self._classes.place,
            ],
            sidebar_variant="permanent",
            sidebar_width=theme.RAIL_WIDTH_PX,
            sidebar_resizable=False,
            theme_toggle=False,
            busy_indicator=None,
            theme_config=theme.THEME,
            sx=theme.PAGE_SX,
            template=theme.TEMPLATE,
            favicon=theme.FAVICON,
            raw_css=[theme.RAW_CSS],
            meta_description="A laboratory for classifiers from naive Bayes to higher-order logistic regression",
            site_url="?",
        )
        # By default the page's `busy` follows Panel's busy flag, which changes with every tick of the pump, and each
        # change of a page makes Panel visit all models below it: 0.1 s per tick. So it follows another parameter. Plain
        # False would not do: the process's busy flag would keep a reference to the page for ever.
        with edit_readonly(page):
            page.busy = page.param.loading
        return page

    def _press(self, key: str) -> None:
        actions = {
            "help": self._help.open, "code": self._show_code, "lesson": self._show_lesson, "class": self._classes.open,
        }  # fmt: skip
        actions[key]()

    def _show_code(self) -> None:
        """Show the QR code of the page's link."""
        self._code.object = local_hint() + qr_html(page_url() + self.session.link.query)
        self._code_dialog.open()

    def _show_lesson(self) -> None:
        """Show a lesson file whose first step is the current state."""
        self._lesson_text.show(lesson_yaml(self.session.link.state))

    def _show_table_text(self) -> None:
        self._show_title()
        dataset, pending = self.session.table.dataset, self.session.table.pending
        if pending is not None:
            self._table_text.object = f"<b>{safe(pending.name, 40)}</b> <span class='quiet'>&nbsp;needs a class</span>"
            return
        if dataset is None:
            self._table_text.object = "<span class='quiet'>no table yet</span>"
            return
        sketch = self.session.sketch
        if sketch is not None and self.session.page == "boundaries":  # the only page that shows them
            origin_text = f"; begun from {safe(sketch.origin, 40)}" if sketch.origin else ""
            self._table_text.object = (
                f"<b>{len(sketch):,} points</b> <span class='quiet'>&nbsp;drawn, not kept yet{origin_text}</span>"
            )
            return
        stream = self.session.table.stream
        total_text = "" if stream is None else f" of {stream.n_rows:,}"
        self._table_text.object = (
            f"<div style='white-space:nowrap; overflow:hidden; text-overflow:ellipsis; max-width:440px'>"
            f"<b>{safe(dataset.name, 40)}</b> <span class='quiet'>&nbsp;{dataset.n_rows:,}{total_text} rows · "
            f"{dataset.X.shape[1]:,} columns · {dataset.n_classes:,} classes</span></div>"
        )


def _download(field: pmui.TextAreaInput) -> Viewable:
    button = pmui.FileDownload(
        callback=lambda: io.BytesIO(field.value.encode()), filename=LESSON_FILE, label=f"Download {LESSON_FILE}",
        variant="contained", margin=(8, 0),
    )  # fmt: skip
    return pn.Row(button, margin=0)


def _help_dialog() -> pmui.Dialog:
    keys = "".join(
        f"<dt><kbd>{key}</kbd></dt><dd>{effect}</dd>"
        for key, effect in (
            ("space", "run, pause"),
            ("→", "one step"),
            ("←", "one step back"),
            ("s", "stop"),
            ("?", "this help"),
        )
    )
    text = (
        f"<h2>Keys</h2><dl>{keys}</dl><br><h2>Words</h2>{glossary_html()}"
        f"<br><p class='quiet'>alrviz {safe(__version__)}</p>"
    )
    return dialog("Help", "md", theme.html(text=text))
