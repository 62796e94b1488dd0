"""Panes of our own HTML."""

from typing import Any

import panel as pn

from alrviz.views.style import CSS


def html(**params: Any) -> Any:
    """Return an empty pane in the house look, as wide as there is room."""
    return pn.pane.HTML("", stylesheets=[CSS], **{"sizing_mode": "stretch_width", "margin": 0, **params})


def say(pane: Any, text: str) -> None:
    """Show this text; only what differs reaches the browser."""
    if pane.object != text:
        pane.object = text
