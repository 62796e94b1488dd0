"""The explorer's look: one accent colour, light and dark, 16 px text, and the head of its page.

Light or dark follows the system until the reader toggles it; the choice is kept in the browser, and in a cookie so that
the server draws the first frame right. Everything the page loads comes from the server that serves it: fonts and icons
are those panel-material-ui ships.
"""

import json
from collections.abc import Callable

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.data.demos import demo_line, demo_names
from alrviz.explorer.session.state import State
from alrviz.explorer.shell import asset, connection
from alrviz.views.core.state_sync import STATE_SYNC
from alrviz.views.core.style import safe as safe  # one way to show a stranger's text, for pages as for views

ACCENT = {"light": "#4a4896", "dark": "#b9b7ff"}
THEME_COOKIE = "alrviz_theme"
RAIL_WIDTH_PX = 176  # px
FONT = "Roboto, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

_TYPE = {
    "fontFamily": FONT,
    "fontSize": 14,  # Material's own unit: with it, body1 is 16 px
    "body1": {"fontSize": "1rem", "lineHeight": 1.5},
    "body2": {"fontSize": "1rem", "lineHeight": 1.5},
    "button": {"fontSize": "1rem", "textTransform": "none", "fontWeight": 500},
    "caption": {"fontSize": "0.9375rem", "lineHeight": 1.45},
    "subtitle2": {"fontSize": "1rem"},
}
_SHAPE = {"borderRadius": 6}
_COMPONENTS = {
    "MuiButtonBase": {
        "styleOverrides": {
            "root": {
                "&.Mui-focusVisible": {
                    "outline": "3px solid var(--mui-palette-primary-main)",
                    "outlineOffset": "1px",
                }
            }
        }
    },
    # A tooltip is inside its narrow control, whose width must not limit it. Below the control it covers no neighbour in
    # the row, and controls that it covers can still be pressed.
    "MuiTooltip": {
        "defaultProps": {"slotProps": {"popper": {"placement": "bottom"}}},
        "styleOverrides": {
            "popper": {"pointerEvents": "none !important"},
            "tooltip": {"fontSize": "0.9375rem", "lineHeight": 1.45, "width": "max-content", "maxWidth": "300px"},
        },
    },
    "MuiButton": {
        "defaultProps": {"disableElevation": True},
        "styleOverrides": {"root": {"whiteSpace": "nowrap"}, "sizeSmall": {"fontSize": "0.9375rem"}},
    },
    # A page of panel-material-ui keeps room for its header by headings that hold a space, and calls its title an h3.
    "MuiTypography": {"defaultProps": {"variantMapping": {"h3": "div", "h5": "div"}}},
    "MuiMenuItem": {
        "styleOverrides": {
            "root": {
                "&[data-line] .MuiListItemText-root": {"flex": "0 0 112px", "margin": "12px 16px"},
                "&[data-line]::after": {
                    "content": "attr(data-line)",
                    "color": "var(--mui-palette-text-secondary)",
                    "fontSize": "0.9375rem",
                    "lineHeight": 1.3,
                    "padding": "6px 16px 6px 0",
                    "whiteSpace": "normal",
                    "flex": "0 1 520px",
                },
            }
        }
    },
    # The value of a disabled slider must stay readable.
    "MuiFormLabel": {"styleOverrides": {"root": {"&.Mui-disabled": {"color": "var(--mui-palette-text-secondary)"}}}},
    "MuiFormHelperText": {"styleOverrides": {"root": {"fontSize": "0.9375rem"}}},
}


def _palette(mode: str) -> dict[str, object]:
    light = mode == "light"
    return {
        "primary": {"main": ACCENT[mode], "contrastText": "#ffffff" if light else "#1b1c22"},
        "background": {"default": "#f5f5f8" if light else "#131418", "paper": "#ffffff" if light else "#1b1c22"},
        "text": {
            "primary": "#1d1d24" if light else "#eceaf3",
            "secondary": "#55555f" if light else "#b3b1bf",
        },
        "divider": "#e0e0e8" if light else "#34353f",
        "action": {"active": "#55555f" if light else "#b3b1bf"},  # the words of a toggle that is not pressed
    }


THEME = {
    mode: {"palette": _palette(mode), "typography": _TYPE, "shape": _SHAPE, "components": _COMPONENTS}
    for mode in ("light", "dark")
}

# Calm: the header and the rail are paper, not paint. The pair of header colours is the one that panel-material-ui reads
# as "leave the header's widgets alone".
PAGE_SX = {
    ".MuiAppBar-root": {
        "bgcolor": "primary.contrastText",
        "color": "primary.main",
        "boxShadow": "none",
        "backgroundImage": "none",
        "borderBottom": "1px solid",
        "borderColor": "divider",
    },
    # Without a busy indicator the page has an invisible progress bar that screen readers would still announce.
    ".MuiAppBar-root > .MuiLinearProgress-root": {"display": "none"},
    ".MuiToolbar-root": {"minHeight": "56px !important", "px": "16px !important"},
    ".MuiAppBar-root .title": {"color": "var(--mui-palette-text-primary)", "fontSize": "1.375rem", "fontWeight": 700},
    ".MuiDrawer-paper.sidebar": {
        "bgcolor": "background.default",
        "borderRight": "1px solid",
        "borderColor": "divider",
        "backgroundImage": "none",
    },
    "main": {"bgcolor": "background.default"},
    "&": {"height": "100dvh"},  # without the bars of a phone's browser
    "nav.alrviz-folded": {"display": "none"},
    # A window too narrow for a rail beside a page: it comes over the page when the menu is pressed.
    "@media (max-width: 1199px)": {
        ".MuiAppBar-root .title": {  # heard alone: the page's own title is there
            "position": "absolute", "width": "1px", "height": "1px", "overflow": "hidden", "clipPath": "inset(50%)",
        },
        "nav, nav.alrviz-folded": {"width": 0, "display": "block"},
        ".MuiDrawer-paper.sidebar": {
            "position": "fixed", "top": 0, "left": 0, "width": 248, "height": "100dvh", "visibility": "hidden",
            "transform": "translateX(-100%)", "transition": "transform .2s, visibility .2s", "zIndex": 1050,
        },
        ".MuiDrawer-paper.sidebar.alrviz-open": {
            "visibility": "visible", "transform": "none", "boxShadow": "0 0 0 100vmax rgba(0, 0, 0, .45)",
        },
    },
    ".MuiToolbar-root > .MuiBox-root": {"minWidth": 0},
    # Reserves the width of a scroll bar: when one appeared, rows would wrap and the content below would jump.
    ".main-content": {"scrollbarGutter": "stable", "&:focus": {"outline": "none"}},
    # The row of buttons with Run lies over the page.
    "@media (max-width: 999px) and (max-height: 649px)": {".main-content": {"paddingBottom": "64px"}},
    "@media (max-width: 599px)": {
        ".MuiToolbar-root": {"px": "8px !important"},
    },
}  # fmt: skip

RAW_CSS = asset("colours.css") + asset("page.css") + asset("connection.css")

FIT = asset("fit.css")

PANE_CSS = asset("pane.css")

CARD = {
    "background": "var(--alrviz-paper)",
    "border": "1px solid var(--alrviz-line)",
    "border-radius": "8px",
    "padding": "14px 16px",
}


def room(min_height: int, height_above: int, height_below: int) -> str:
    """Return the height, in CSS, of pictures in an element of the class `alrviz-room`, which fills the window.

    Args:
        min_height: px.
        height_above: px from the top of the window to the element, until the browser has measured it.
        height_below: px to keep visible below the pictures, such as the row of Run. In a low window the part of the
            element below the pictures (`--alrviz-later`) may be invisible.
    """
    remaining_css = f"100dvh - var(--alrviz-above, {height_above}px) - {height_below}px"
    return f"max({min_height}px, {remaining_css} + var(--alrviz-later, 0px))"


def html(margin: int | tuple[int, ...] = 0, text: str = "", **params: object) -> pn.pane.HTML:
    """Return a pane for text in the page's type, as wide as there is room. params: of the pane."""
    return pn.pane.HTML(text, margin=margin, **{"stylesheets": [PANE_CSS], "sizing_mode": "stretch_width", **params})


def button(label: str, on_press: Callable[[], object], **params: object) -> pmui.Button:
    """Return a button that calls `on_press`."""
    widget = pmui.Button(label=label, **params)
    widget.on_click(lambda _: on_press())
    return widget


def card(*contents: Viewable, **params: object) -> pn.Column:
    """Return a card (a sheet of paper on the page) with these parts below each other. params: of Panel's Column."""
    return pn.Column(*contents, **{"styles": CARD, "sizing_mode": "stretch_width", "margin": 0, **params})


_HEAD_SCRIPT = asset("theme.js")

# Shown from the first byte until the page is drawn: header, rail and background at their later places.
PROGRESS_CSS = asset("progress.css")
_OPENING_CSS = PROGRESS_CSS.replace("[role", "#alrviz-opening [role") + asset("opening.css").replace(
    "FONT", FONT
).replace("RAIL", str(RAIL_WIDTH_PX))
OPENING = (
    f"<style>{_OPENING_CSS}</style><div id='alrviz-opening'><b>alrviz</b><div><p role='status'>Opening …</p>"
    "<div role='progressbar' aria-label='Opening the page'></div></div></div>"
)

# The components' script has 1.4 MB and would be requested only with the first component: PRELOAD requests it at once.
# NATIVE lets the browser import it. Panel's es-module-shims would rewrite it for an import map that it does not need,
# and the browser would compile the rewritten script at every visit.
PRELOAD = pmui.Page._render_esm(compiled=True, server=True)
NATIVE = asset("native_import.js").replace("PRELOAD", json.dumps(PRELOAD))
_LINES = {name: demo_line(name) for name in demo_names()}  # descriptions of demo sets in menus
TEMPLATE = (
    '{% extends "base.html" %}'
    f'{{% block preamble %}}<link rel="modulepreload" href="{PRELOAD}">'
    "<script>"
    + NATIVE
    + connection.script()
    + asset("browser_history.js").replace("FIRST", State().page)
    + f"{{const FIT = {json.dumps(FIT)}, PRESENT = {json.dumps(asset('present.css'))};{_HEAD_SCRIPT}}}"
    + asset("accessibility.js").replace("LINES", json.dumps(_LINES).replace("</", "<\\/"))
    + asset("scroll_place.js")
    + asset("layout_frames.js")
    + STATE_SYNC
    + "</script>{{ super() }}{% endblock %}"
    "{% block loader %}<style>#loader { background: none !important; }"
    "#loader .spinner { border-color: var(--alrviz-line); border-top-color: var(--alrviz-accent); }</style>"
    f"{OPENING}{{{{ super() }}}}{{% endblock %}}"
)

FAVICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' "
    "rx='7' fill='%234a4896'/%3E%3Cpath d='M6 7 C10 22 17 25 27 25' fill='none' stroke='%23ffb08a' stroke-width='3'/%3E"
    "%3Cpath d='M6 7 C7 20 10 24 27 25.5' fill='none' stroke='%23fff' stroke-width='3'/%3E%3C/svg%3E"
)
