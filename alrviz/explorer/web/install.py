"""Put the guard into every Bokeh server that serves the explorer, before its first request.

`panel serve apps/explorer.py` makes its server when it starts and runs the script when the first page is asked for. So
the script cannot guard its own server in time. Panel loads the entry points of the group `panel.io.rest` before it
makes a server, in `panel serve` and in `pn.serve`. The one of this package leads here (pyproject.toml), and importing
the explorer does as well.

Servers of other applications are left alone, but for one thing: no server of a process that shows pictures of this
package imports modules that an address names (`component_files`).
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
    """Guard the servers that are made from now on; a second call changes nothing."""
    global _installed
    close_module_imports()
    if _installed:
        return
    _installed = True
    process = os.getpid()
    make: Callable[..., None] = BaseServer.__init__

    @wraps(make)
    def make_guarded(server: BaseServer, *given: Any, **named: Any) -> None:
        make(server, *given, **named)
        server._tornado.settings[SERVER_SETTING] = weakref.ref(server)
        if serves_explorer(server._tornado):
            if task_id() is not None:  # a worker of --num-procs: this process ends without telling its workers
                exit_with_parent(process)
            from alrviz.explorer.web.guard import protect  # imports the application: not for other servers

            protect(server)

    BaseServer.__init__ = make_guarded


def serves_explorer(application: BokehTornado) -> bool:
    """Whether one of the pages of a server is the explorer, by what its scripts and functions name."""
    handlers = [handler for context in application.applications.values() for handler in context.application.handlers]
    return any(map(_names_explorer, handlers))


def _names_explorer(handler: Handler) -> bool:
    handler = getattr(handler, "_main_handler", handler)  # of a directory with a main.py
    if isinstance(handler, CodeHandler):
        source = handler._runner.source or ""
        return "alrviz" in source and "explorer" in source
    modules = (getattr(one, "__module__", "") or "" for one in _functions(getattr(handler, "_func", None)))
    return any(module.startswith("alrviz.explorer") for module in modules)


def _functions(function: Any) -> Iterator[Any]:
    """Yield what a page is made by: Panel wraps the function of `pn.serve` in a partial call."""
    if isinstance(function, partial):
        for part in (function.func, *function.args):
            yield from _functions(part)
    elif callable(function):
        yield function


def no_rest_api(files: list[str], endpoint: str) -> list[Any]:
    """Return the routes of a REST API as `panel serve --rest-provider alrviz` asks for it: there is none."""
    return []
