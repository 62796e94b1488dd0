"""HTML panes and small layout helpers that views share."""

from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.views.core.style import CSS, FADED_OPACITY, SCREEN_READER_ONLY, WORDS_ON_BUTTONS


def html(**params: Any) -> Any:
    """Return an empty HTML pane in the house style that stretches to the available width."""
    return pn.pane.HTML("", **{"stylesheets": [CSS], "sizing_mode": "stretch_width", "margin": 0, **params})


def stack(*parts: Any, **look: Any) -> pn.Column:
    """Return a column of full width; `look` are parameters of Panel's Column."""
    return pn.Column(*parts, **{"sizing_mode": "stretch_width", "margin": 0, **look})


def fade(outdated: bool, *parts: Any) -> None:
    """Fade parts that show results of outdated settings; only differences are sent to the browser."""
    for part in parts:
        styles = part.styles | {"opacity": FADED_OPACITY if outdated else "1"}
        if part.styles != styles:
            part.styles = styles


def as_high(pane: Any, height: str, number: int) -> Any:
    """Wrap a pane that stretches into a box of fixed height.

    Args:
        pane: the pane.
        height: CSS height.
        number: height in px, which Panel's own layout uses.
    """
    styles = {"height": height, "flex": f"0 0 {height}"}
    classes = ["alrviz-pictures"] if isinstance(pane, pn.Row) else []  # stacked on a narrow page
    return pn.Column(pane, height=number, styles=styles, sizing_mode="stretch_width", margin=0, css_classes=classes)


_SIDE_BY_SIDE = """
:host {{ flex-wrap: wrap; gap: 12px 16px; }}
:host > .alrviz-part-1 {{ flex: {grow[0]} 1 {widths[0]} !important; min-width: min({widths[0]}, 100%) !important; }}
:host > .alrviz-part-2 {{ flex: {grow[1]} 1 {widths[1]} !important; min-width: min({widths[1]}, 100%) !important; }}
"""
_FIRST_GROWS = (9999, 1)  # the first part takes all spare width; the second only when it is alone in its line
HALF_GROWTHS = (1, 1)


def side_by_side(
    first: Any, second: Any, *widths: int | str, grow: tuple[int, int] = _FIRST_GROWS, **row: Any
) -> pn.Row:
    """Return a row of two parts; where it is too narrow, as in a notebook's cell, the second moves below.

    Args:
        first, second: the parts.
        widths: width that each needs, in px or as CSS.
        grow: CSS flex-grow of each; by default the first takes all spare width.
        row: parameters of Panel's Row.
    """
    for part, name in ((first, "alrviz-part-1"), (second, "alrviz-part-2")):
        part.css_classes = [*part.css_classes, name]
    css_widths = [width if isinstance(width, str) else f"{width}px" for width in widths]
    sheet = _SIDE_BY_SIDE.format(widths=css_widths, grow=grow)
    return pn.Row(first, second, stylesheets=[sheet], **{"sizing_mode": "stretch_width", "margin": 0, **row})


class Updating:
    """Flag that is set while code updates widgets, so that their events are not taken for a reader's choice.

    >>> filling = Updating()
    >>> with filling:
    ...     bool(filling)
    True
    >>> bool(filling)
    False
    """

    _active = False

    def __enter__(self) -> None:
        self._active = True

    def __exit__(self, *_: object) -> None:
        self._active = False

    def __bool__(self) -> bool:
        return self._active


def say(pane: Any, text: str) -> None:
    """Set a pane's text; only differences are sent to the browser."""
    if pane.object != text:
        pane.object = text


def choice(view: Any, name: str, options: Any, label: str, **button_params: Any) -> Any:
    """Return a row of buttons that chooses a view's parameter.

    Args:
        view: the view.
        name: its parameter.
        options: Panel's options: a list, or values by label.
        label: label for screen readers.
        look: parameters of the RadioButtonGroup.
    """
    button_params = {"size": "small", "stylesheets": [SCREEN_READER_ONLY], "sx": WORDS_ON_BUTTONS, **button_params}
    group = pmui.RadioButtonGroup(label=label, options=options, value=getattr(view, name), **button_params)
    group.link(view, value=name, bidirectional=True)
    return group
