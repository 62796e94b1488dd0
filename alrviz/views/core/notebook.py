"""Base class of views: display in a notebook, storage in its file, and saving as a page.

An output contains a view's picture, its text, and a script that requests the live view from the kernel
(notebook_comm.py). The picture is renewed when a view comes to rest and after each cell, so that the file, opened later
without a kernel, shows the latest state. Every method and every assignment to a parameter takes a turn
(kernel_lock.py), because watchers may run on the thread of a widget in another layout.
"""

import base64
import inspect
import os
import re
import weakref
from collections import Counter
from collections.abc import Callable
from functools import wraps
from html import escape, unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import panel as pn
import param
from panel.viewable import Viewer

from alrviz.errors import AlrvizError
from alrviz.pictures.elements import element
from alrviz.views.core.browser_ready import server_session
from alrviz.views.core.kernel_lock import turn
from alrviz.views.core.notebook_output import (
    PICTURE_WIDTH_PX,
    Output,
    ipython_shell,
    picture_html,
    renew,
    uses_other_comm,
)
from alrviz.views.core.pump import Pump
from alrviz.views.core.saved_page import page_html
from alrviz.views.core.state_sync import add_to_page


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def run_in_turn(*args: Any, **kwargs: Any) -> Any:
        with turn():
            return method(*args, **kwargs)

    return run_in_turn


def _still(figures: list[Any], words: str, width: int) -> bytes:
    from alrviz.pictures.still import still  # imports matplotlib, for which no page need wait

    return still(figures, words, width=width)


class NotebookViewer(Viewer):
    """View that is live in a notebook and leaves its picture in the file."""

    dark = param.Boolean(default=False, doc="Whether the background is dark.")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if inspect.isfunction(member) and not name.startswith("__"):
                setattr(cls, name, _in_turn(member))

    def __init__(self, **params: Any):
        super().__init__(**params)
        add_to_page()

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
            return
        if isinstance(value, ViewLayout) and name == "layout":
            value.view = self
            _register_layout_display()
        with turn():
            super().__setattr__(name, value)

    standalone_pump: Pump | None = None

    @property
    def views(self) -> list["NotebookViewer"]:
        """The views shown by this one: itself, or the members of a composed view."""
        return [self]

    def _make_pump(self, look: Callable[[], bool], period: int, on_leave: Callable[[], None] | None = None) -> Any:
        """Make the view's own pump, which updates the picture in the file when it pauses; return its `wake`.

        look, period, on_leave: arguments of `Pump`.
        """
        self.standalone_pump = Pump(look, period, on_leave, lambda: renew(self), lambda: Output.in_cell)
        return self.standalone_pump.wake

    # ---- picture and text --------------------------------------------------------------------------------------------

    layout: Any  # Panel layout of the view
    _wake: Callable[[], None] = staticmethod(lambda: None)  # starts the pump, if the view has one

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the layout, and start the pump."""
        self._wake()
        return self.layout

    def settle(self) -> None:
        """Show everything computed so far, and wait for computations of the view itself.

        On a page the pump does this gradually; a script has no event loop and needs this call. A race or study that
        still runs is shown in its current state. Views without a pump always show everything.
        """

    def _settle_unserved(self) -> None:
        """Settle unless on a served page, whose pump and reader decide what is shown."""
        if server_session() is None:
            self.settle()

    def figures(self) -> list[Any]:
        """Return the Bokeh figures of everything computed so far, in page order."""
        self._settle_unserved()
        return self.shown_figures()

    def shown_figures(self) -> list[Any]:
        """Return the Bokeh figures on the screen, in page order."""
        panes = self.layout.select(pn.pane.Bokeh)
        return [pane.object for pane in panes if pane.object is not None and pane.visible]

    def elements(self) -> dict[str, Any]:
        """Return the figures as HoloViews overlays by name, to be composed with `+` and `*`.

        Repeated kinds are numbered: "density-ratio", "density-ratio-2".

        Raises:
            AlrvizError: if HoloViews is not installed.
        """
        overlays: dict[str, Any] = {}
        n_by_kind: Counter[str] = Counter()
        for figure in self.figures():
            kind = re.sub(r"^alrviz-|-[0-9a-f]{12}$", "", figure.name or "picture")
            n_by_kind[kind] += 1
            overlays[kind if n_by_kind[kind] == 1 else f"{kind}-{n_by_kind[kind]}"] = element(figure)
        return overlays

    def text(self) -> str:
        """Return the view's sentence about everything computed so far, as plain text."""
        self._settle_unserved()
        return self.shown_text()

    def shown_text(self) -> str:
        """Return the sentence on the screen, as plain text."""
        sentence_html = getattr(getattr(self, "sentence", None), "object", None) or ""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", sentence_html)).split())

    def png(self, width: int = PICTURE_WIDTH_PX) -> bytes:
        """Return the figures as a PNG, rendered without a browser.

        Args:
            width: in px.

        Returns:
            Bytes of the PNG; it shows the view's text if there is no figure yet.
        """
        return _still(self.figures(), self.shown_text(), width)

    def shown_png(self) -> bytes:
        """Return the figures on the screen as a PNG, for the notebook's file."""
        return _still(self.shown_figures(), self.shown_text(), PICTURE_WIDTH_PX)

    # ---- in a notebook -----------------------------------------------------------------------------------------------

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Return the output of a notebook: picture, text, and the script that requests the live view.

        include, exclude: of IPython's protocol, without effect.
        """
        shell = ipython_shell()
        if shell is None or uses_other_comm():
            return self._bundle_of_panel(include, exclude)
        with turn():
            return Output.register(self, shell).bundle()

    def _ipython_display_(self) -> None:
        """Display the view in an output that can be updated later."""
        from IPython.display import publish_display_data

        shell = ipython_shell()
        if shell is None or uses_other_comm():
            publish_display_data(*self._bundle_of_panel())
            return
        with turn():
            output = Output.register(self, shell)
            publish_display_data(*output.bundle(), transient={"display_id": output.key})

    def _bundle_of_panel(self, include: Any = None, exclude: Any = None) -> Any:
        """Return Panel's own output, for notebooks with other connections; a picture if Panel cannot connect."""
        if ipython_shell() is None and not pn.extension._loaded:
            return self._still_bundle()  # no page will connect
        try:
            return super()._repr_mimebundle_(include, exclude) or self._still_bundle()
        except ModuleNotFoundError as error:
            package = str(error.name).partition(".")[0]
            return self._still_bundle(
                f"A picture: a live view needs the package {package} here (pip install {package})."
            )

    def _still_bundle(self, note: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        """Return picture and text as the output where no connection is possible; `note` explains why."""
        picture, view_text = base64.b64encode(self.png()).decode("ascii"), self.shown_text()
        html = picture_html(picture, view_text) + (f"<p>{escape(note)}</p>" if note else "")
        plain_text = ": ".join(filter(None, (type(self).__name__, view_text, note)))
        return {"text/plain": plain_text, "image/png": picture, "text/html": html}, {}

    def _display_(self) -> Any:
        """Show the picture in marimo, for which there is no connection; it asks the result for `_mime_`."""
        bundle, _ = self._still_bundle()
        return SimpleNamespace(_mime_=lambda: ("text/html", bundle["text/html"]))

    # ---- as a file ---------------------------------------------------------------------------------------------------

    def save(self, filename: Any, title: str | None = None) -> None:
        """Save the view with everything computed so far; a paused or scrubbed fit is saved at its current place.

        Args:
            filename: path that ends in .png (the pictures) or .html (a page that needs neither network nor Python), or
                a file open for text, to which the page is written.
            title: title of the page; by default the name of the view's class.

        Raises:
            AlrvizError: if the path has another ending.
        """
        path = Path(filename).expanduser() if isinstance(filename, str | os.PathLike) else None
        if path is not None and path.suffix.lower() == ".png":
            path.write_bytes(self.png())
            return
        if path is not None and path.suffix.lower() not in (".html", ".htm"):
            raise AlrvizError(f"a view is saved as .html or .png; got {path.name!r}. Nearest: {path.stem}.html")
        view_text = self.text()  # first, because it settles the view
        page_text = page_html(self.layout, title or type(self).__name__, view_text)
        if path is None:
            filename.write(page_text)
        else:
            path.write_text(page_text, encoding="utf-8")


class ViewLayout(pn.Column):
    """Layout of a view. It refers to the view, which is therefore found inside other Panel layouts."""

    _view_reference: "weakref.ref[NotebookViewer] | None" = None

    def __init__(self, *parts: Any, **look: Any):
        super().__init__(*parts, **{"sizing_mode": "stretch_width", "margin": 0, **look})

    @property
    def view(self) -> NotebookViewer | None:
        """The view; None for a copy of a layout, which is not live."""
        return None if self._view_reference is None else self._view_reference()

    @view.setter
    def view(self, view: NotebookViewer) -> None:
        self._view_reference = weakref.ref(view)

    def save(self, filename: Any, title: str | None = None, resources: Any = None, **kwargs: Any) -> Any:
        """Save as Panel does, but inline pages as the view does, because Panel's load libraries from the network."""
        view = self.view
        if view is None or kwargs or str(getattr(resources, "mode", resources)).lower() != "inline":
            return super().save(filename, title, resources, **kwargs)
        return view.save(filename, title)


class _ComposedView(NotebookViewer):
    """Panel layout that contains views, displayed by a notebook as one view."""

    def __init__(self, layout: Any, views: list[NotebookViewer]):
        super().__init__()
        self.layout, self._members = layout, views

    @property
    def views(self) -> list[NotebookViewer]:
        """The views in it."""
        return self._members

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the layout, and start the pumps of its views."""
        for view in self._members:
            view.__panel__()
        return self.layout

    def settle(self) -> None:
        """Settle each view."""
        for view in self._members:
            view.settle()

    def shown_text(self) -> str:
        """Return the sentence that each member view now shows, joined by spaces, as plain text."""
        return " ".join(filter(None, (view.shown_text() for view in self._members)))


def _outermost_views(layout: Any) -> list[NotebookViewer]:
    """Return the views in a layout, without those nested in another view."""
    layouts = layout.select(ViewLayout)
    inner_ids = {
        id(part) for view_layout in layouts for part in view_layout.select(ViewLayout) if part is not view_layout
    }
    views = [view_layout.view for view_layout in layouts if id(view_layout) not in inner_ids]
    return [view for view in views if view is not None]


def _register_layout_display() -> None:
    """Register `_show_layout` with IPython."""
    shell = ipython_shell()
    if shell is not None:
        shell.display_formatter.ipython_display_formatter.for_type(pn.viewable.Viewable, _show_layout)


def _show_layout(layout: Any) -> None:
    """Display a layout that contains views; NotImplementedError tells IPython to display any other by default."""
    views = _outermost_views(layout)
    if not views or uses_other_comm():
        raise NotImplementedError
    (views[0] if layout is views[0].layout else _ComposedView(layout, views))._ipython_display_()
