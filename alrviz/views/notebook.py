"""What every view has in common: it can be shown in a notebook."""

from typing import Any

import panel as pn
from panel.viewable import Viewer


class NotebookViewer(Viewer):
    """A view that brings Panel's scripts with it where they are not loaded yet."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Show the view in a notebook; the scripts come from this machine."""
        if not pn.extension._loaded:
            pn.extension(inline=True)
        return super()._repr_mimebundle_(include, exclude)
