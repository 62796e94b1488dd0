"""How the explorer looks: one accent colour, light and dark, 16 px text, and the head of its page.

Light or dark follows the system until the reader toggles it; the choice is kept in the browser, and in a cookie so that
the server draws the first frame right. Everything the page loads comes from the server that serves it: fonts and icons
are those panel-material-ui ships.
"""

from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.repairs import REPAIRS
from alrviz.views.style import safe as safe  # one way to show a stranger's text, for pages as for views

ACCENT = {"light": "#4a4896", "dark": "#b9b7ff"}
THEME_COOKIE = "alrviz_theme"
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
    # It lives inside the narrow control that it explains, which must not be what its width goes by. Below the control
    # it covers none of the others in its row; and what it covers can be pressed all the same.
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
    "MuiFormHelperText": {"styleOverrides": {"root": {"fontSize": "0.9375rem"}}},
}


def _palette(mode: str) -> dict[str, Any]:
    light = mode == "light"
    return {
        "primary": {"main": ACCENT[mode], "contrastText": "#ffffff" if light else "#1b1c22"},
        "background": {"default": "#f5f5f8" if light else "#131418", "paper": "#ffffff" if light else "#1b1c22"},
        "text": {
            "primary": "#1d1d24" if light else "#eceaf3",
            "secondary": "#55555f" if light else "#b3b1bf",
        },
        "divider": "#e0e0e8" if light else "#34353f",
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
    # A bar of progress that shows none: without its indicator the page leaves it there, unseen but heard.
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
}

# Numbers in columns line up; a focus is visible wherever the keyboard goes.
RAW_CSS = """
:root { --alrviz-accent: #4a4896; --alrviz-paper: #ffffff; --alrviz-ground: #f5f5f8; --alrviz-text: #1d1d24;
  --alrviz-quiet: #55555f; --alrviz-line: #e0e0e8; --alrviz-bad: #b3261e; --alrviz-bad-ground: #fdeeec;
  --alrviz-good: #00715a; }
:root[data-theme="dark"] { --alrviz-accent: #b9b7ff; --alrviz-paper: #1b1c22; --alrviz-ground: #131418;
  --alrviz-text: #eceaf3; --alrviz-quiet: #b3b1bf; --alrviz-line: #34353f; --alrviz-bad: #ffb4ab;
  --alrviz-bad-ground: #3a1f1d; --alrviz-good: #5fd6b4; color-scheme: dark; }
html, body { font-variant-numeric: tabular-nums; background: var(--alrviz-ground); color: var(--alrviz-text); }
"""

# Shared by every HTML pane of ours (each lives in a shadow root, where page styles do not reach).
PANE_CSS = """
:host { font: 400 16px/1.5 Roboto, 'Segoe UI', Arial, sans-serif; color: var(--alrviz-text);
  font-variant-numeric: tabular-nums; }
p { margin: 0 0 .4em; } p:last-child { margin-bottom: 0; }
.quiet { color: var(--alrviz-quiet); }
.bad { color: var(--alrviz-bad); } .good { color: var(--alrviz-good); }
h1 { font-size: 1.5rem; font-weight: 500; line-height: 1.25; margin: 0; }
h2 { font-size: 1.0625rem; font-weight: 600; line-height: 1.3; margin: 0; }
code, kbd { font: 15px/1.4 ui-monospace, 'DejaVu Sans Mono', Consolas, monospace; }
kbd { border: 1px solid var(--alrviz-line); border-bottom-width: 2px; border-radius: 4px; padding: 0 .4em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35em 1em; margin: 0; }
dt { font-weight: 500; } dd { margin: 0; color: var(--alrviz-quiet); }
abbr { text-decoration: underline dotted var(--alrviz-quiet); text-underline-offset: 3px; cursor: help; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 500; color: var(--alrviz-quiet); }
th, td { padding: .38em .9em .38em 0; border-bottom: 1px solid var(--alrviz-line); vertical-align: top; }
td.n, th.n { text-align: right; white-space: nowrap; } th { white-space: nowrap; }
a { color: var(--alrviz-accent); }
"""

CARD = {
    "background": "var(--alrviz-paper)",
    "border": "1px solid var(--alrviz-line)",
    "border-radius": "8px",
    "padding": "14px 16px",
}


def html(margin: Any = 0) -> Any:
    """Return an empty pane for text in the page's type, as wide as there is room."""
    return pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=margin)


def card(*parts: Any, **params: Any) -> Any:
    """Return a sheet of paper with these parts on it."""
    return pn.Column(*parts, **{"styles": CARD, "sizing_mode": "stretch_width", "margin": 0, **params})


# Runs before anything is drawn. `data-theme` is what panel-material-ui's components watch. A key presses the visible
# button whose component has the CSS class `alrviz-key-KEY` (space, right, left, help, or a letter), unless the focus is
# where keys have a meaning of their own. A file dropped anywhere on the page goes to the drop strip's own input.
_HEAD_SCRIPT = """
(() => {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("alrviz_theme"); } catch (e) { return null; } };
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    document.cookie = "alrviz_theme=" + theme + "; Max-Age=31536000; Path=/; SameSite=Lax";
  };
  const now = () => stored() || (system.matches ? "dark" : "light");
  show(now());
  system.addEventListener("change", () => show(now()));
  window.alrvizToggleTheme = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("alrviz_theme", next); } catch (e) { /* private window: not remembered */ }
    show(next);
  };
  const find = (root) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.matches('input[type="file"]')) return el;
      const inner = el.shadowRoot && find(el.shadowRoot);
      if (inner) return inner;
    }
    return null;
  };
  const KEYS = {" ": "space", "ArrowRight": "right", "ArrowLeft": "left", "?": "help"};
  const keyed = (root, cls) => {
    for (const el of root.querySelectorAll("*")) {
      if (el.classList.contains(cls)) {
        const button = el.shadowRoot && el.shadowRoot.querySelector("button");
        if (button && !button.disabled && button.getClientRects().length) return button;
      }
      const inner = el.shadowRoot && keyed(el.shadowRoot, cls);
      if (inner) return inner;
    }
    return null;
  };
  window.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
    let at = document.activeElement;
    while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
    const own = "input, textarea, select, [contenteditable], [role=combobox], [role=option], [role=slider]";
    if (at && at.matches(own)) return;
    if (at && e.key === " " && at.matches("button, a, [role=button], [role=tab], summary")) return;
    const name = KEYS[e.key] || (/^[a-z]$/.test(e.key) ? e.key : null);
    const button = name && keyed(document, "alrviz-key-" + name);
    if (button) { e.preventDefault(); button.click(); }
  });
  window.addEventListener("dragover", (e) => {
    if (e.dataTransfer && Array.from(e.dataTransfer.types).includes("Files")) e.preventDefault();
  });
  window.addEventListener("drop", (e) => {
    if (e.defaultPrevented || !e.dataTransfer || !e.dataTransfer.files.length) return;
    e.preventDefault();
    const input = find(document);
    if (input) { input.files = e.dataTransfer.files; input.dispatchEvent(new Event("change", {bubbles: true})); }
  });
})();
"""

# The components' script is 1.4 MB, and asked for only when the first of them is drawn: PRELOAD asks for it at once.
PRELOAD = pmui.Page._render_esm(compiled=True, server=True)
TEMPLATE = (
    '{% extends "base.html" %}'
    f'{{% block preamble %}}<link rel="modulepreload" href="{PRELOAD}">'
    "<script>" + _HEAD_SCRIPT + REPAIRS + "</script>{{ super() }}{% endblock %}"
    "{% block loader %}<style>#loader { background: none !important; }"
    "#loader .spinner { border-color: var(--alrviz-line); border-top-color: var(--alrviz-accent); }</style>"
    "{{ super() }}{% endblock %}"
)

FAVICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' "
    "rx='7' fill='%234a4896'/%3E%3Cpath d='M6 7 C10 22 17 25 27 25' fill='none' stroke='%23ffb08a' stroke-width='3'/%3E"
    "%3Cpath d='M6 7 C7 20 10 24 27 25.5' fill='none' stroke='%23fff' stroke-width='3'/%3E%3C/svg%3E"
)
