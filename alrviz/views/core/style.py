"""What every view's HTML shares: type, tables, and the escaping of names that come from data.

Colours are custom properties that a page may set; where none does (a notebook) the surroundings' colours are inherited.
"""

from collections.abc import Iterable
from html import escape

CSS = """
:host { font: 400 16px/1.45 Roboto, 'Segoe UI', Arial, sans-serif; font-variant-numeric: tabular-nums;
  color: var(--alrviz-text, inherit); }
p { margin: 0 0 .5em; } p:last-child { margin-bottom: 0; }
.quiet { color: var(--alrviz-quiet, #777); }
.bad { color: var(--alrviz-bad, #c0392b); }
.sentence { font-size: 1.125rem; line-height: 1.4; font-weight: 500; }
h2 { font-size: 1rem; font-weight: 600; margin: .9em 0 .3em; } h2:first-child { margin-top: 0; }
table { border-collapse: collapse; width: 100%; }
th { font-weight: 500; text-align: right; color: var(--alrviz-quiet, #777); white-space: nowrap; }
td { text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; }
th, td { padding: .22em 0 .22em .5em; border-bottom: 1px solid var(--alrviz-line, rgba(128,128,128,.3)); }
th:first-child, td:first-child { padding-left: 0; }
abbr { text-decoration: underline dotted; text-underline-offset: 3px; cursor: help; }
.meter { display: grid; grid-template-columns: max-content 1fr max-content; gap: .25em .6em; align-items: center; }
.meter i { display: block; height: 8px; border-radius: 4px; background: var(--alrviz-line, rgba(128,128,128,.3)); }
.meter i b { display: block; height: 8px; border-radius: 4px; }
.scroll { overflow-x: auto; }
"""

# The label of a group of buttons whose words say it to the eye: heard, not seen.
HEARD = """
label.MuiFormLabel-root { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""

# What draws a button's icon: a page of Panel's brings this rule along, a notebook brings the font alone.
ICONS = """
.material-icons { font-family: "Material Icons"; font-style: normal; font-weight: normal; line-height: 1;
  letter-spacing: normal; text-transform: none; display: inline-block; white-space: nowrap; direction: ltr;
  font-feature-settings: "liga"; }
"""

# Buttons of a group whose words are to be read from afar.
_WORDS = {"fontSize": "1rem", "textTransform": "none", "py": "4px"}
WORDS_ON_BUTTONS = {"& .MuiToggleButton-root": _WORDS}

# And in one line each, where there is more beside them: a tab is called by two words.
WORDS_IN_ONE_LINE = {
    "& .MuiToggleButton-root": {**_WORDS, "whiteSpace": "nowrap", "px": {"xs": "4px", "sm": "7px"}},
}

WIDE = 2  # columns of a table; of more it may be wider than a phone
FADED = "0.45"  # opacity of what belongs to settings that are no longer there


def html_table(heads: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "scroll", foot: str = "") -> str:
    """Return a table as HTML, in a box that scrolls sideways.

    Args:
        heads, rows: the cells, as HTML: a name that comes from data is made safe by whoever writes it. A cell that
            begins with a tag of its own (`<td class='n'>`) keeps it.
        kind: classes of the box.
        foot: lines below, as HTML.
    """

    def cell(tag: str, text: str) -> str:
        tag = tag if text else "td"  # a head without words is none to a screen reader
        return text if text.startswith(f"<{tag}") else f"<{tag}>{text}</{tag}>"

    def line(tag: str, cells: Iterable[str]) -> str:
        return f"<tr>{''.join(cell(tag, text) for text in cells)}</tr>"

    heads = list(heads)
    reached = " tabindex='0'" if len(heads) > WIDE else ""  # what is wider than a screen is scrolled by keys too
    body = "".join(line("td", cells) for cells in rows)
    return f"<div class='{kind}'{reached}><table>{line('th', heads)}{body}{foot}</table></div>"


def safe(text: object, longest: int = 300) -> str:
    """Return text from anywhere as HTML that shows it: escaped, without control characters, cut when long."""
    plain = "".join(ch if ch.isprintable() else " " for ch in str(text))
    return escape(plain if len(plain) <= longest else plain[: longest - 1] + "…")
