"""Add the guard to every Bokeh server of the explorer, before its first request.

`panel serve apps/explorer.py` makes its server at the start, but runs the script only for the first page, too late to
guard the server. Panel loads the entry points of the group `panel.io.rest` before it makes a server, in `panel serve`
and in `pn.serve`. The entry point of this package (pyproject.toml) imports this module, and so does the explorer.

Servers of other applications are not changed, with one exception: once this package is imported, no server imports
modules that an address names (`component_files`).
"""

import os
import weakref
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

from bokeh.application.handlers.code import CodeHandler
from bokeh.application.handlers.handler import Handler
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from tornado.process import task_id

from alrviz.component_files import close_module_imports
from alrviz.exit_with_parent import exit_with_parent
from alrviz.explorer.web import SERVER_SETTING

_installed = False


def install() -> None:
    """Guard all servers made from now on; a second call changes nothing."""
    global _installed
    close_module_imports()
    if _installed:
        return
    _installed = True
    process = os.getpid()
    original_init: Callable[..., None] = BaseServer.__init__

    @wraps(original_init)
    def make_guarded(server: BaseServer, *args: Any, **kwargs: Any) -> None:
        original_init(server, *args, **kwargs)
        server._tornado.settings[SERVER_SETTING] = weakref.ref(server)
        if serves_explorer(server._tornado):
            if task_id() is not None:  # a worker of --num-procs, which its parent does not end
                exit_with_parent(process)
            from alrviz.explorer.web.guard import protect  # here, because it imports the application

            protect(server)

    BaseServer.__init__ = make_guarded


def serves_explorer(application: BokehTornado) -> bool:
    """Return whether a page of a server is the explorer, judged by the names in its scripts and functions."""
    handlers = [handler for context in application.applications.values() for handler in context.application.handlers]
    return any(map(_names_explorer, handlers))


def _names_explorer(handler: Handler) -> bool:
    handler = getattr(handler, "_main_handler", handler)  # of a directory with a main.py
    if isinstance(handler, CodeHandler):
        source = handler._runner.source or ""
        return "alrviz" in source and "explorer" in source
    functions = _page_functions(getattr(handler, "_func", None))
    modules = (getattr(function, "__module__", "") or "" for function in functions)
    return any(module.startswith("alrviz.explorer") for module in modules)


def _page_functions(function: Any) -> Iterator[Any]:
    """Yield the functions that make a page; Panel wraps that of `pn.serve` in partial calls."""
    if isinstance(function, partial):
        for part in (function.func, *function.args):
            yield from _page_functions(part)
    elif callable(function):
        yield function


def no_rest_api(files: list[str], endpoint: str) -> list[Any]:
    """Return no routes: the entry point of a REST API, which Panel loads before it makes a server."""
    return []
