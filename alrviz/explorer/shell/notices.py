"""The notice above a page: work in progress, errors and messages.

It shows work in progress with a bar, the time and a button to cancel; an error; a message; or the file that a link
needs. Texts are escaped, because they may come from tables.
"""

import panel as pn
import panel_material_ui as pmui
from bokeh.document import Document

from alrviz.errors import AlrvizError, capitalize, for_page
from alrviz.explorer.session.incoming_file import IncomingFile
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.job import LatestJob
from alrviz.views.core.style import safe

ANNOUNCE_SECONDS = 0.3  # shorter work is not announced, except the reading of a file, which is announced at once
_HIDDEN = ":host { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }"


class ScreenReaderText(pn.pane.HTML):
    """An invisible text that screen readers read out when it changes; for that it must always be on the page."""

    def _get_properties(self, doc: Document) -> dict[str, object]:
        return {**super()._get_properties(doc), "html_attributes": {"role": "status", "aria-live": "polite"}}


def error_text(error: Exception) -> str:
    """Return an error as a clause: this package's errors as they are, others with their type, without a traceback."""
    if isinstance(error, AlrvizError | OSError):
        return for_page(error) or type(error).__name__
    if isinstance(error, MemoryError):
        return "there was not enough memory for this; take fewer rows or columns"
    return f"something unexpected went wrong ({type(error).__name__}: {error}); the page goes on working"


def problem_html(error: Exception) -> str:
    """Return an error as HTML for the notice."""
    text = error_text(error)
    return f"<p><b class='bad'>That did not work.</b> {safe(capitalize(text), 1200)}</p>"


def time_text(seconds: float, share: float | None) -> str:
    """Return the time of work so far, and an estimate of the time left.

    share: part of the work that is done, from 0 to 1; None (or hardly begun): no estimate.
    """
    text = f"{seconds:.0f} s"
    if share is None or share < 0.05 or seconds < 1:
        return text
    remaining = seconds * (1 - share) / share
    return f"{text}, about {remaining:.0f} s left" if remaining < 90 else f"{text}, about {remaining / 60:.0f} min left"


class Notice:
    """The band above a page."""

    def __init__(self, session: Session):
        self.session = session
        self._text = html()
        self._bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=(6, 0, 0, 0))
        look = {"size": "small", "margin": (0, 0, 0, 12)}
        self._cancel = button("Cancel", session.table.give_up, variant="outlined", css_classes=["alrviz-key-s"], **look)
        self._close = button("Dismiss", self._dismiss, variant="text", **look)
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
        """Update the notice from the session; the pump calls it while a table is loading."""
        loading = self.session.table.loading
        self._bar.visible = self._cancel.visible = loading is not None
        self._close.visible = loading is None
        text = self._message_html()
        spoken_text, visible_text = (text, text) if loading is None else self._progress_html(loading)
        if loading is not None:
            self._show_share(loading.share)
        is_announced = loading is None or self._is_announced(loading)
        spoken_text = spoken_text if is_announced else ""
        self._text.object, self.heard.object = visible_text, spoken_text
        is_visible = bool(visible_text) and is_announced
        if is_visible and not self.panel.objects:
            self.panel[:] = [self._row]  # on most first screens there is nothing to say
        self.panel.visible = is_visible
        self.panel.styles = _ERROR_STYLE if self.session.problem is not None and loading is None else _PLAIN_STYLE

    def _is_announced(self, loading: LatestJob | IncomingFile) -> bool:
        """Whether work in progress is shown already."""
        is_file = isinstance(loading, IncomingFile) or self.session.table.reading
        return is_file or loading.seconds > ANNOUNCE_SECONDS

    def _show_share(self, share: float | None) -> None:
        """Move the bar to the share that is done; None: it is not known."""
        if share is None:
            self._bar.variant = "indeterminate"
        else:
            self._bar.param.update(variant="determinate", value=round(100 * share))

    @staticmethod
    def _progress_html(loading: LatestJob | IncomingFile) -> tuple[str, str]:
        """Return the HTML for screen readers, without the time, which changes all the while, and the visible HTML."""
        queue_text = " (waiting for a free place)" if loading.waiting else ""
        title = safe(f"{capitalize(loading.title)}{queue_text} …")
        time_html = f"<span class='quiet'>{time_text(loading.seconds, loading.share)}</span>"
        return f"<p>{title}</p>", f"<p>{title} {time_html}</p>"

    def _message_html(self) -> str:
        """Return the error, or the message and a request for the link's file; "" without any."""
        session = self.session
        if session.problem is not None:
            return problem_html(session.problem)
        text = f"<p>{safe(session.message)}</p>" if session.message else ""
        if session.table.requested_file is not None:
            return (
                f"{text}<p><b>This link uses the author's own data.</b> Drop the same file to see it: "
                f"{safe(session.table.requested_file, 300)}. It was not sent along, and never leaves the server it is "
                "dropped on.</p>"
            )
        return text


_PLAIN_STYLE = {**CARD, "border-left": "4px solid var(--alrviz-accent)", "padding": "10px 16px"}
_ERROR_STYLE = {**_PLAIN_STYLE, "background": "var(--alrviz-bad-ground)", "border-left": "4px solid var(--alrviz-bad)"}
