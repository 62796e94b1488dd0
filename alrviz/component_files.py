"""Keep Panel from importing modules that a request's address names.

Every server of Panel answers `/components/MODULE/CLASS/ATTRIBUTE/FILE` with a file of a component. To look for it,
Panel imports MODULE, whichever it is: one that prints, or one that ends the process. A component that a page shows has
been imported, so other modules need not be looked at. `pn.serve` and `.show()` serve views too, so this holds from
their import on.
"""

import sys
from typing import Any

from panel.io.server import ComponentResourceHandler
from param import Parameterized
from tornado.web import HTTPError

_closed = False


def close_module_imports() -> None:
    """Make Panel search files only in existing components; a second call changes nothing."""
    global _closed
    if _closed:
        return
    _closed = True
    find_file = ComponentResourceHandler.parse_url_path

    def find_known_file(handler: Any, path: str) -> str:
        module_name, _, path_in_module = path.partition("/")
        # Not getattr: a module may import others when a name is asked of it.
        component = vars(sys.modules.get(module_name, object)).get(path_in_module.partition("/")[0])
        if not (isinstance(component, type) and issubclass(component, Parameterized)):
            raise HTTPError(404, "No component")
        return find_file(handler, path)

    ComponentResourceHandler.parse_url_path = find_known_file
