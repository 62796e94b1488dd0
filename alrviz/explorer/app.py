"""The application: its pages, in the order of the rail, and what a server does before its first visitor."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from alrviz.data.dataset import Dataset
    from alrviz.explorer.tables import Upload


def preload() -> None:
    """Import what a page is made of: whoever starts a server calls this, and the first visitor waits a second less."""
    import alrviz.estimators.peers
    import alrviz.explorer.bias_page
    import alrviz.explorer.boundaries
    import alrviz.explorer.boundaries_dlr
    import alrviz.explorer.boundaries_family
    import alrviz.explorer.compare_page
    import alrviz.explorer.convergence
    import alrviz.explorer.data_page
    import alrviz.explorer.order_page
    import alrviz.explorer.path_page
    import alrviz.explorer.shell  # noqa: F401
    from alrviz.explorer.table_process import READERS

    READERS.warm()


def application(dataset: "Dataset | Upload | None" = None, path: "Path | None" = None) -> Any:
    """Return the page of the visitor whose request is being answered, ready for `.servable()`.

    Args:
        dataset: a table to open with, instead of the first demo set; a file whose class is to be chosen on the page.
        path: of the file it was read from: the scripts of "copy as Python" read it there.
    """
    import panel as pn

    from alrviz.explorer import front, guard
    from alrviz.explorer.bias_page import BiasPage
    from alrviz.explorer.boundaries import BoundariesPage
    from alrviz.explorer.compare_page import ComparePage
    from alrviz.explorer.convergence import ConvergencePage
    from alrviz.explorer.data_page import DataPage
    from alrviz.explorer.order_page import OrderPage
    from alrviz.explorer.path_page import PathPage
    from alrviz.explorer.shell import build

    pn.extension("tabulator", notifications=False)
    if not guard.admitted(getattr(pn.state.curdoc, "session_context", None)):
        return pn.pane.HTML("The server has only just started: <a href='?'>open the explorer again</a>.")
    front.same_for_all(pn.state.curdoc)
    pages = [ConvergencePage, BoundariesPage, PathPage, OrderPage, BiasPage, ComparePage, DataPage]
    return build(pages, dataset, "" if path is None else str(path)).root
