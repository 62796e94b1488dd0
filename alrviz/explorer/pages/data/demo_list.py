"""The demo sets with a line each, as buttons."""

from collections.abc import Callable
from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.views.core.style import safe


def demo_list(take: Callable[[str], None]) -> Any:
    """Return all demo sets in two columns; `take` is called with the name of the one pressed."""
    from alrviz.data.demos import demo_line, demo_names

    cells = []
    for name in demo_names():
        button = pmui.Button(label=name, variant="outlined", size="small", width=150, margin=(0, 12, 0, 0))
        button.on_click(lambda _, name=name: take(name))
        line = pn.pane.HTML(
            f"<span class='quiet'>{safe(demo_line(name), 300)}</span>",
            stylesheets=[PANE_CSS],
            sizing_mode="stretch_width",
            margin=0,
        )
        cells.append(pn.Row(button, line, sizing_mode="stretch_width", margin=(5, 12, 5, 0)))
    half = (len(cells) + 1) // 2
    columns = [pn.Column(*part, sizing_mode="stretch_width", margin=0) for part in (cells[:half], cells[half:])]
    return pn.Row(*columns, sizing_mode="stretch_width", margin=0)
