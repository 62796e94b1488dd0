"""The notice above a page: work in progress, errors and messages.

Four designed states: work in progress with a bar, its time and a way out; a problem in plain words; a word about what
was done; a file that a link asks for. Texts may come from tables: they are escaped.
"""

import panel as pn
import panel_material_ui as pmui
from bokeh.document import Document

from alrviz.errors import AlrvizError, for_page
from alrviz.explorer.session.incoming_file import IncomingFile
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import html
from alrviz.job import LatestJob
from alrviz.views.core.style import safe

ANNOUNCE_SECONDS = 0.3  # seconds: what is done before needs no announcement
_HIDDEN = ":host { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }"


class ScreenReaderText(pn.pane.HTML):
    """A text that is not seen but read out when it changes; always on the page, as screen readers need it."""

    def _get_properties(self, doc: Document) -> dict[str, object]:
        return {**super()._get_properties(doc), "html_attributes": {"role": "status", "aria-live": "polite"}}


def error_text(error: Exception) -> str:
    """Return an error as a clause for people: our own as they are, others by their type, without a traceback."""
    if isinstance(error, AlrvizError | OSError):
        return for_page(error) or type(error).__name__
    if isinstance(error, MemoryError):
        return "there was not enough memory for this; take fewer rows or columns"
    return f"something unexpected went wrong ({type(error).__name__}: {error}); the page goes on working"


def problem_html(error: Exception) -> str:
    """Return an error that no part of a page shows, as HTML."""
    text = error_text(error)
    return f"<p><b class='bad'>That did not work.</b> {safe(text[:1].upper() + text[1:], 1200)}</p>"


def time_text(seconds: float, share: float | None) -> str:
    """Return how long work has lasted, and how long it still will where it says how far it is."""
    text = f"{seconds:.0f} s"
    if share is None or share < 0.05 or seconds < 1:
        return text
    left = seconds * (1 - share) / share
    return f"{text}, about {left:.0f} s left" if left < 90 else f"{text}, about {left / 60:.0f} min left"


class Notice:
    """The band above a page."""

    def __init__(self, session: Session):
        self.session = session
        self._text = html()
        self._bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=(6, 0, 0, 0))
        self._cancel = pmui.Button(
            label="Cancel", variant="outlined", size="small", margin=(0, 0, 0, 12), css_classes=["alrviz-key-s"]
        )
        self._close = pmui.Button(label="Dismiss", variant="text", size="small", margin=(0, 0, 0, 12))
        self._cancel.on_click(lambda _: session.table.give_up())
        self._close.on_click(lambda _: self._dismiss())
        self._row = pn.Row(  # Bokeh's own layouts: the words are there before React has drawn the buttons
            pn.Column(self._text, self._bar, sizing_mode="stretch_width", margin=0),
            self._cancel,
            self._close,
            sizing_mode="stretch_width",
            margin=0,
        )
        self.heard = ScreenReaderText("", stylesheets=[_HIDDEN], margin=0)
        self.panel = pn.Column(sizing_mode="stretch_width", margin=(12, 16, 0, 16), visible=False)
        session.watch(lambda *_: self.show(), ["loading", "problem", "message", "requested_file"])
        self.show()

    def _dismiss(self) -> None:
        self.session.clear_notice()
        self.session.table.requested_file = None

    def show(self) -> None:
        """Show what the session says now; the pump calls it while time passes."""
        loading = self.session.table.loading
        self._bar.visible = self._cancel.visible = loading is not None
        self._close.visible = loading is None
        heard = html = ""
        if loading is not None:
            heard, html = self._under_way(loading)
        else:
            heard = html = self._words()
        self._text.object, self.heard.object = html, heard
        visible = bool(html) and (loading is None or loading.seconds > ANNOUNCE_SECONDS)
        if visible and not self.panel.objects:
            self.panel[:] = [self._row]  # on most first screens there is nothing to say
        self.panel.visible = visible
        self.panel.styles = _BAD if self.session.problem is not None and loading is None else _PLAIN

    def _under_way(self, loading: LatestJob | IncomingFile) -> tuple[str, str]:
        """Return what is heard of work (not its time, which changes all the while), and what is seen."""
        queue = " (waiting for a free place)" if loading.waiting else ""
        title = safe(f"{loading.title[:1].upper()}{loading.title[1:]}{queue} …")
        share = loading.share
        if share is None:
            self._bar.variant = "indeterminate"
        else:
            self._bar.param.update(variant="determinate", value=round(100 * share))
        heard = f"<p>{title}</p>" if loading.seconds > ANNOUNCE_SECONDS else ""
        return heard, f"<p>{title} <span class='quiet'>{time_text(loading.seconds, share)}</span></p>"

    def _words(self) -> str:
        session = self.session
        if session.problem is not None:
            return problem_html(session.problem)
        told = f"<p>{safe(session.message)}</p>" if session.message else ""
        if session.table.requested_file is not None:
            return (
                f"{told}<p><b>This link uses the author's own data.</b> Drop the same file to see it: "
                f"{safe(session.table.requested_file, 300)}. It was not sent along, and never leaves the server it is "
                "dropped on.</p>"
            )
        return told


_PLAIN = {
    "background": "var(--alrviz-paper)",
    "border": "1px solid var(--alrviz-line)",
    "border-left": "4px solid var(--alrviz-accent)",
    "border-radius": "8px",
    "padding": "10px 16px",
}
_BAD = {**_PLAIN, "background": "var(--alrviz-bad-ground)", "border-left": "4px solid var(--alrviz-bad)"}
