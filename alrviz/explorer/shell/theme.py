"""How the explorer looks: one accent colour, light and dark, 16 px text, and the head of its page.

Light or dark follows the system until the reader toggles it; the choice is kept in the browser, and in a cookie so that
the server draws the first frame right. Everything the page loads comes from the server that serves it: fonts and icons
are those panel-material-ui ships.
"""

import json
from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.shell import browser_history, connection
from alrviz.explorer.shell.accessibility import REPAIRS
from alrviz.views.core.state_sync import STATE_SYNC
from alrviz.views.core.style import safe as safe  # one way to show a stranger's text, for pages as for views

ACCENT = {"light": "#4a4896", "dark": "#b9b7ff"}
THEME_COOKIE = "alrviz_theme"
RAIL = 176  # px
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
    # The value of a slider that cannot be moved now is still read.
    "MuiFormLabel": {"styleOverrides": {"root": {"&.Mui-disabled": {"color": "var(--mui-palette-text-secondary)"}}}},
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
    "&": {"height": "100dvh"},  # what a phone's own bars leave
    "nav.alrviz-folded": {"display": "none"},
    # A window too narrow for a rail beside a page: it comes over the page when the menu is pressed.
    "@media (max-width: 1199px)": {
        ".MuiAppBar-root .title": {"display": "none"},  # the page's own title is there
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
    "@media (max-height: 599px)": {".main-content": {"paddingBottom": "64px"}},  # the row of buttons with Run
    "@media (max-width: 599px)": {
        ".MuiToolbar-root": {"px": "8px !important"},
    },
}  # fmt: skip

# Numbers in columns line up; a focus is visible wherever the keyboard goes.
RAW_CSS = (
    """
:root { --alrviz-accent: #4a4896; --alrviz-paper: #ffffff; --alrviz-ground: #f5f5f8; --alrviz-text: #1d1d24;
  --alrviz-quiet: #55555f; --alrviz-line: #e0e0e8; --alrviz-bad: #b3261e; --alrviz-bad-ground: #fdeeec;
  --alrviz-good: #00715a; }
:root[data-theme="dark"] { --alrviz-accent: #b9b7ff; --alrviz-paper: #1b1c22; --alrviz-ground: #131418;
  --alrviz-text: #eceaf3; --alrviz-quiet: #b3b1bf; --alrviz-line: #34353f; --alrviz-bad: #ffb4ab;
  --alrviz-bad-ground: #3a1f1d; --alrviz-good: #5fd6b4; color-scheme: dark; }
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { animation: none !important; transition: none !important; } }
html, body { font-variant-numeric: tabular-nums; background: var(--alrviz-ground); color: var(--alrviz-text); }
"""
    + connection.STYLE
)

# For every shadow root of the page, so that no component needs a rule of its own. In a narrow window nothing is wider
# than its place, what stands beside something comes below it, and the row of buttons with Run stays in sight.
FIT = """
@media (max-width: 999px) {
  :host { max-width: 100% !important; min-width: 0 !important; }
  :host > div { max-width: 100% !important; min-width: 0 !important; }
  :host(.bk-Row) { flex-wrap: wrap; row-gap: 6px; }
  :host(.bk-Row) > .bk-panel-models-layout-Column, :host(.bk-Row) > .alrviz-side {
    flex: 1 1 100% !important; width: 100% !important; margin-left: 0 !important; }
  :host(.bk-Row) > .bk-Row, :host(.alrviz-line) { flex: 1 1 100% !important; }
  :host(.bk-Row) > .bk-Spacer { display: none; }
  :host(.bk-Row) > .bk-Figure { flex: 0 0 100% !important; height: 250px !important; }
  :host(.alrviz-pictures), :host(.alrviz-pictures) > .bk-Row { height: auto !important; flex: 0 0 auto !important; }
  :host(.alrviz-pictures) > .bk-Figure { flex: 0 0 340px !important; height: 340px !important; }
  :host(.bk-panel-models-reactive_html-ReactiveHTML) > div > div { row-gap: 12px !important; }
}
@media (max-width: 999px), (max-height: 599px) {
  :host(.alrviz-run) { position: sticky; top: 0; bottom: 0; z-index: 4; padding: 6px 0;
    background: var(--alrviz-paper); }
  :host(.alrviz-run) > .alrviz-run { position: static; padding: 0; border: none; }
  :host(.alrviz-run) > .alrviz-wide { flex: 1 1 180px !important; }
}
@media (max-height: 599px) {
  :host(.alrviz-run) { position: fixed; top: auto; left: 0; right: 0; padding: 4px 16px; width: auto !important;
    border-top: 1px solid var(--alrviz-line); flex-wrap: nowrap; }
  :host(.alrviz-run) > .alrviz-run ~ * { display: none; }
}
@media (max-width: 599px) {
  :host(.alrviz-key-left) button, :host(.alrviz-key-right) button, :host(.alrviz-key-s) button {
    font-size: 0; min-width: 44px; padding: 8px 10px; }
  :host(.alrviz-key-left) .MuiButton-icon, :host(.alrviz-key-right) .MuiButton-icon,
  :host(.alrviz-key-s) .MuiButton-icon { margin: 0; }
}
:host(.alrviz-header) { flex-wrap: nowrap; min-width: 0 !important; }
:host(.alrviz-about) { flex: 0 1 auto !important; min-width: 0; overflow: hidden; }
@media (max-width: 1199px) {
  :host(.alrviz-strip), :host(.alrviz-strip) > div { width: 44px !important; min-width: 0 !important; }
  :host(.alrviz-strip) { margin: 0 4px !important; flex: 0 0 44px !important; }
  :host(.alrviz-strip) label { font-size: 0; min-width: 0; padding: 8px; }
  :host(.alrviz-strip) .MuiButton-icon { margin: 0; font-size: 22px; }
}
:host(.alrviz-header) > .bk-Spacer { display: block; }
:host(.alrviz-here-only) { flex: 0 1 auto !important; min-width: 0; overflow: hidden; }
:host(.alrviz-here-only) h1 { font-size: 1.25rem; font-weight: 700; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
@media (min-width: 1200px) {
  :host(.alrviz-here-only) { position: absolute !important; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
}
@media (max-width: 599px) { :host(.alrviz-about) { display: none !important; } }
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { animation: none !important; transition: none !important; scroll-behavior: auto !important; }
}
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
.scroll { overflow-x: auto; }
"""

CARD = {
    "background": "var(--alrviz-paper)",
    "border": "1px solid var(--alrviz-line)",
    "border-radius": "8px",
    "padding": "14px 16px",
}


def room(least: int, rest: int) -> str:
    """Return the height, as CSS has it, of pictures beside which a page has `rest` px of other things.

    It grows with the window, and is never below `least` px. At 1280x720 the row of Run under them is seen.
    """
    return f"max({least}px, 100vh - {rest}px)"


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
  const fit = new CSSStyleSheet();
  fit.replaceSync(FIT);
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, fit];
    return root;
  };
  // `alrvizRail` opens or closes the rail. In a narrow window a press beside it, a choice and Escape close it too.
  const deep = function* (root) {
    for (const el of root.querySelectorAll("*")) {
      yield el;
      if (el.shadowRoot) yield* deep(el.shadowRoot);
    }
  };
  const first = (selector, root = document) => {
    for (const el of deep(root)) if (el.matches(selector)) return el;
    return null;
  };
  const menu = () => first(".alrviz-menu");
  const rail = () => first(".MuiDrawer-paper.sidebar");
  const narrow = window.matchMedia("(max-width: 1199px)");
  window.alrvizRail = (open) => {
    const at = rail();
    if (!narrow.matches) {
      const folded = at.closest("nav").classList.toggle("alrviz-folded");
      menu().setAttribute("aria-expanded", String(!folded));
      return;
    }
    at.classList.toggle("alrviz-open", open);
    menu().setAttribute("aria-expanded", String(at.classList.contains("alrviz-open")));
    if (!at.classList.contains("alrviz-open")) return;
    requestAnimationFrame(() => (first(".alrviz-here", at) || first("button", at))?.focus());
  };
  window.addEventListener("click", (e) => {
    const at = rail();
    if (!at || !at.classList.contains("alrviz-open")) return;
    const path = e.composedPath();
    if (!path.includes(menu()) && (!path.includes(at) || path.some((el) => el.tagName === "BUTTON")))
      window.alrvizRail(false);
  });
  window.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !rail()?.classList.contains("alrviz-open")) return;
    window.alrvizRail(false);
    menu().focus();
  });
  // The title that the server gives the document, in the browser's tab.
  const title = () => {
    const doc = window.Bokeh?.documents?.[0];
    if (!doc) { setTimeout(title, 100); return; }
    const say = () => { if (doc.title() && document.title !== doc.title()) document.title = doc.title(); };
    doc.on_change(say);
    say();
  };
  title();
  const drawn = () => {  // the page's frame is there, in place of OPENING
    if (!first(".MuiAppBar-root")) { setTimeout(drawn, 50); return; }
    document.documentElement.dataset.drawn = "";
  };
  drawn();
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
        const button = el.matches("button") ? el : el.shadowRoot && el.shadowRoot.querySelector("button");
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

# Seen from the first byte until the page is drawn: its header, its rail and its ground, where they will be.
PROGRESS_CSS = """
[role=progressbar] { height: 6px; margin-top: 8px; border-radius: 3px; background: linear-gradient(90deg,
  var(--alrviz-line) 30%, var(--alrviz-accent) 50%, var(--alrviz-line) 70%) 0 0 / 300% 100%;
  animation: opening 1.6s linear infinite; }
@keyframes opening { from { background-position: 100% 0; } to { background-position: 0 0; } }
@media (prefers-reduced-motion: reduce) { [role=progressbar] { animation: none; } }
"""
_OPENING_CSS = (
    PROGRESS_CSS.replace("[role", "#alrviz-opening [role")
    + f"""
#alrviz-opening {{ position: fixed; inset: 0; z-index: 1200; background: var(--alrviz-ground);
  color: var(--alrviz-text); font: 400 16px/1.5 {FONT}; }}
#alrviz-opening b {{ display: block; box-sizing: border-box; height: 56px; padding: 0 16px;
  font: 700 1.375rem/55px {FONT}; background: var(--alrviz-paper); border-bottom: 1px solid var(--alrviz-line); }}
#alrviz-opening > div {{ margin: 12px 16px; }}
#alrviz-opening p {{ margin: 0; }}
html[data-drawn] #alrviz-opening, html:not([data-drawn]) #loader .spinner {{ display: none; }}
@media (min-width: 1200px) {{
  #alrviz-opening > div {{ margin: 0 0 0 {RAIL}px; padding: 12px 16px; height: 100vh;
    border-left: 1px solid var(--alrviz-line); }}
}}
"""
)
OPENING = (
    f"<style>{_OPENING_CSS}</style><div id='alrviz-opening'><b>alrviz</b><div><p role='status'>Opening …</p>"
    "<div role='progressbar' aria-label='Opening the page'></div></div></div>"
)

# The components' script is 1.4 MB, and asked for only when the first of them is drawn: PRELOAD asks for it at once.
# NATIVE lets the browser import it: Panel's es-module-shims would read all of it as text, for an import map that it
# does not need, and give the browser another script, which is compiled a second time at every visit.
PRELOAD = pmui.Page._render_esm(compiled=True, server=True)
NATIVE = """
(() => {
  const own = new URL(PRELOAD, document.baseURI).href;
  let shim;
  Object.defineProperty(window, "importShim", { configurable: true, get: () => shim, set: (given) => {
    shim = new Proxy(given, { apply: (load, self, args) =>
      new URL(args[0], document.baseURI).href === own ? import(own) : load(...args) });
  } });
})();
""".replace("PRELOAD", json.dumps(PRELOAD))
TEMPLATE = (
    '{% extends "base.html" %}'
    f'{{% block preamble %}}<link rel="modulepreload" href="{PRELOAD}">'
    "<script>"
    + NATIVE
    + connection.script()
    + browser_history.SCRIPT
    + _HEAD_SCRIPT.replace("FIT", json.dumps(FIT))
    + REPAIRS
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
