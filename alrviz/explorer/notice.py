"""What is under way and what went wrong, said above the page.

Three designed states: work in progress with its time and a way out, a problem in plain words, a file that a link asks
for. Texts may come from tables: they are escaped.
"""

import panel as pn
import panel_material_ui as pmui

from alrviz.errors import AlrvizError
from alrviz.explorer.look import PANE_CSS
from alrviz.explorer.session import Session
from alrviz.views.style import safe


def problem_html(error: Exception) -> str:
    """Return an error for people: ours as they are, others as what they are, without a traceback."""
    if isinstance(error, AlrvizError | OSError):
        text = str(error) or type(error).__name__
    elif isinstance(error, MemoryError):
        text = "there was not enough memory for this; take fewer rows or columns"
    else:
        text = f"something unexpected went wrong ({type(error).__name__}: {error}); the page goes on working"
    text = text[:1].upper() + text[1:]
    return f"<p><b class='bad'>That did not work.</b> {safe(text, 1200)}</p>"


class Notice:
    """The band above a page."""

    def __init__(self, session: Session):
        self.session = session
        self._text = pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0)
        self._bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=(6, 0, 0, 0))
        self._cancel = pmui.Button(label="Cancel", variant="outlined", size="small", margin=(0, 0, 0, 12))
        self._close = pmui.Button(label="Dismiss", variant="text", size="small", margin=(0, 0, 0, 12))
        self._cancel.on_click(lambda _: session.cancel())
        self._close.on_click(lambda _: session.param.update(problem=None, wanted=None))
        self._row = pmui.Row(
            pmui.Column(self._text, self._bar, sizing_mode="stretch_width", margin=0),
            self._cancel,
            self._close,
            sizing_mode="stretch_width",
            margin=0,
        )
        self.panel = pn.Column(self._row, sizing_mode="stretch_width", margin=(12, 16, 0, 16), visible=False)
        session.param.watch(lambda *_: self.show(), ["loading", "problem", "wanted"])
        self.show()

    def show(self) -> None:
        """Show what the session says now; the pump calls it while time passes."""
        session = self.session
        loading, problem, wanted = session.loading, session.problem, session.wanted
        self._bar.visible = self._cancel.visible = loading is not None
        self._close.visible = loading is None
        if loading is not None:
            queue = " (waiting for a free place)" if loading.waiting else ""
            title = loading.title[:1].upper() + loading.title[1:]
            self._text.object = f"<p>{safe(title)}{queue} … {loading.seconds:.0f} s</p>"
            self.panel.visible = loading.seconds > 0.3  # what is done at once needs no announcement
        elif problem is not None:
            self._text.object = problem_html(problem)
            self.panel.visible = True
        elif wanted is not None:
            self._text.object = (
                f"<p><b>This link is about a table of its maker's.</b> Drop the same file to see it: "
                f"{safe(wanted, 300)}. It was not sent along, and never leaves the server it is dropped on.</p>"
            )
            self.panel.visible = True
        else:
            self.panel.visible = False
        self.panel.styles = _BAD if problem is not None and loading is None else _PLAIN


_PLAIN = {
    "background": "var(--alrviz-paper)",
    "border": "1px solid var(--alrviz-line)",
    "border-left": "4px solid var(--alrviz-accent)",
    "border-radius": "8px",
    "padding": "10px 16px",
}
_BAD = {**_PLAIN, "background": "var(--alrviz-bad-ground)", "border-left": "4px solid var(--alrviz-bad)"}
