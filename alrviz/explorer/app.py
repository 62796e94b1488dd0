"""The application: the list of its pages in the order of the rail, and the set-up of a server."""

import logging
from typing import TYPE_CHECKING, Any

from alrviz.explorer.web.install import install

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from panel.viewable import Viewable

    from alrviz.data.dataset import Dataset
    from alrviz.data.stream.table import Stream
    from alrviz.explorer.lesson import Lesson
    from alrviz.explorer.server.tables import Upload

install()  # at import, because a server must be guarded when it is made
_log = logging.getLogger(__name__)
FAILED = (
    "<h1>This page could not be opened</h1><p>The server met an error while it built the page. "
    "<a href=''>Try again</a>, or <a href='?'>open the first page</a> without the settings of this link. If that does "
    "not help, restart the server; its log says what went wrong.</p>"
)


def preload() -> None:
    """Import the modules of all pages before a server starts, so that its first visitor waits a second less."""
    import alrviz.estimators.peers
    import alrviz.explorer.pages.boundaries.dlr_tab
    import alrviz.explorer.pages.boundaries.family_tab
    import alrviz.explorer.shell.shell  # noqa: F401
    from alrviz.explorer.server.table_process import READERS

    page_classes()  # imports their modules
    READERS.warm()


def page_classes() -> "list[Any]":
    """Return the pages, in the order of the rail."""
    from alrviz.explorer.pages.bias.page import BiasPage
    from alrviz.explorer.pages.boundaries.page import BoundariesPage
    from alrviz.explorer.pages.compare.page import ComparePage
    from alrviz.explorer.pages.convergence.page import ConvergencePage
    from alrviz.explorer.pages.data.page import DataPage
    from alrviz.explorer.pages.interactions.page import InteractionsPage
    from alrviz.explorer.pages.lessons.page import LessonsPage
    from alrviz.explorer.pages.order.page import OrderPage
    from alrviz.explorer.pages.path.page import PathPage
    from alrviz.explorer.pages.selection.page import SelectionPage

    return [
        ConvergencePage, BoundariesPage, PathPage, LessonsPage, OrderPage, BiasPage, ComparePage, InteractionsPage,
        DataPage, SelectionPage,
    ]  # fmt: skip


def offer_lesson(path: "Path") -> "Lesson":
    """Add the lesson of a file to the lessons of the server.

    Raises:
        AlrvizError: if the file is not a valid lesson, with line and field.
    """
    from alrviz.explorer.lessons.library import add_file
    from alrviz.explorer.shell.shell import choices_of

    return add_file(path, choices_of(page_classes()))


def application(
    dataset: "Dataset | Upload | Stream | None" = None,
    path: "Path | None" = None,
    on_failure: "Callable[[Exception], object]" = lambda error: None,
) -> "Viewable":
    """Return the page of the visitor whose request is being answered, ready for `.servable()`.

    Args:
        dataset: the table to open instead of the first demo set: in memory, a file whose class column is to be chosen
            on the page, or a table larger than memory, of which pages show a sample.
        path: the table's file, for the scripts of "copy as Python".
        on_failure: called with the error if the page cannot be built; its visitor sees `FAILED`.
    """
    import panel as pn

    from alrviz.explorer.shell.shell import build
    from alrviz.explorer.web import guard, page_server

    pn.extension("tabulator", notifications=False)
    if not guard.is_admitted(getattr(pn.state.curdoc, "session_context", None)):
        return pn.pane.HTML("The server has only just started: <a href='?'>open the explorer again</a>.")
    page_server.mark_uniform(pn.state.curdoc)
    pages = page_classes()
    try:
        return build(pages, dataset, "" if path is None else str(path)).root
    except Exception as error:  # otherwise the browser would wait for ever
        on_failure(error)
        _log.exception("a page could not be built")
        return pn.pane.HTML(FAILED)
