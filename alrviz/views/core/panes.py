"""Panes of our own HTML, and the small parts that views share."""

from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.views.core.style import CSS, FADED, HEARD, WORDS_ON_BUTTONS


def html(**params: Any) -> Any:
    """Return an empty pane in the house look, as wide as there is room."""
    return pn.pane.HTML("", **{"stylesheets": [CSS], "sizing_mode": "stretch_width", "margin": 0, **params})


def stack(*parts: Any, **look: Any) -> pn.Column:
    """Return parts below each other, as wide as there is room; `look` as Panel has it."""
    return pn.Column(*parts, **{"sizing_mode": "stretch_width", "margin": 0, **look})


def fade(outdated: bool, *parts: Any) -> None:
    """Fade parts that belong to settings which are no longer there; only what differs reaches the browser."""
    for part in parts:
        styles = part.styles | {"opacity": FADED if outdated else "1"}
        if part.styles != styles:
            part.styles = styles


def as_high(pane: Any, height: str, number: int) -> Any:
    """Return a pane that stretches in a place so high, as CSS has it; Panel's own layout goes by the number of px."""
    styles = {"height": height, "flex": f"0 0 {height}"}
    classes = ["alrviz-pictures"] if isinstance(pane, pn.Row) else []  # below each other where a page is narrow
    return pn.Column(pane, height=number, styles=styles, sizing_mode="stretch_width", margin=0, css_classes=classes)


_SIDE_BY_SIDE = """
:host {{ flex-wrap: wrap; gap: 12px 16px; }}
:host > .alrviz-part-1 {{ flex: {grow[0]} 1 {widths[0]} !important; min-width: min({widths[0]}, 100%) !important; }}
:host > .alrviz-part-2 {{ flex: {grow[1]} 1 {widths[1]} !important; min-width: min({widths[1]}, 100%) !important; }}
"""
_FIRST_GROWS = (9999, 1)  # the first part takes all room that is left, the second only where it has a line of its own
HALVES = (1, 1)


def side_by_side(
    first: Any, second: Any, *widths: int | str, grow: tuple[int, int] = _FIRST_GROWS, **row: Any
) -> pn.Row:
    """Return a row of two parts; where it is too narrow for both, as in a notebook's cell, the second comes below.

    Args:
        first, second: the parts.
        widths: what each needs, in px or as CSS has it.
        grow: how they share the room that is left, as CSS has it: `HALVES`; by default it is the first one's.
        row: of the row, as Panel has it.
    """
    for part, name in ((first, "alrviz-part-1"), (second, "alrviz-part-2")):
        part.css_classes = [*part.css_classes, name]
    lengths = [width if isinstance(width, str) else f"{width}px" for width in widths]
    sheet = _SIDE_BY_SIDE.format(widths=lengths, grow=grow)
    return pn.Row(first, second, stylesheets=[sheet], **{"sizing_mode": "stretch_width", "margin": 0, **row})


class Updating:
    """A flag that is up while widgets are brought up to date: what they tell meanwhile is nobody's choice.

    >>> filling = Updating()
    >>> with filling:
    ...     bool(filling)
    True
    >>> bool(filling)
    False
    """

    _up = False

    def __enter__(self) -> None:
        self._up = True

    def __exit__(self, *_: object) -> None:
        self._up = False

    def __bool__(self) -> bool:
        return self._up


def say(pane: Any, text: str) -> None:
    """Show this text; only what differs reaches the browser."""
    if pane.object != text:
        pane.object = text


def choice(view: Any, name: str, options: Any, label: str, **look: Any) -> Any:
    """Return buttons side by side that choose the parameter `name` of a view; the label is for those who hear the page.

    options: words and values, as Panel has them.
    """
    look = {"size": "small", "stylesheets": [HEARD], "sx": WORDS_ON_BUTTONS, **look}
    group = pmui.RadioButtonGroup(label=label, options=options, value=getattr(view, name), **look)
    group.link(view, value=name, bidirectional=True)
    return group
