"""Style sheets, tables and escaping for the HTML of all views.

Colours are CSS custom properties that a page may set; elsewhere (in a notebook) the surrounding colours are inherited.
"""

from collections.abc import Iterable
from html import escape

from alrviz.studies.statistics.verdict import Verdict

CSS = """
:host { font: 400 16px/1.45 Roboto, 'Segoe UI', Arial, sans-serif; font-variant-numeric: tabular-nums;
  color: var(--alrviz-text, inherit); }
p { margin: 0 0 .5em; } p:last-child { margin-bottom: 0; }
.quiet { color: var(--alrviz-quiet, #777); }
.bad { color: var(--alrviz-bad, #c0392b); }
.sentence { font-size: 1.125rem; line-height: 1.4; font-weight: 500; }
.detail { font-size: .9375rem; line-height: 1.4; color: var(--alrviz-quiet, #777); }
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

# Style of a self-contained page (reports).
_PAGE_CSS = """
:root { color-scheme: light; --alrviz-line: #d5d5da; --alrviz-quiet: #5c5c66; }
body { font: 16px/1.5 Roboto, 'Segoe UI', Helvetica, Arial, sans-serif; color: #1d1d24; background: #fff; margin: 0;
  font-variant-numeric: tabular-nums; }
main { max-width: 1240px; margin: 0 auto; padding: 24px 20px 60px; box-sizing: border-box; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3em; } h2 { font-size: 1.25rem; margin: 2em 0 .4em;
  border-top: 1px solid var(--alrviz-line); padding-top: 1em; } h3 { font-size: 1rem; margin: 1.2em 0 .3em; }
p, ul { max-width: 46em; } .quiet { color: var(--alrviz-quiet); }
nav { display: flex; flex-wrap: wrap; gap: .2em 1.1em; }
.box { background: #f2f4fa; border-radius: 8px; padding: 10px 18px; margin: 14px 0; } a { color: #2f4f9e; }
.scroll { overflow-x: auto; background: /* shaded on the right until it is scrolled to its end */
  linear-gradient(to left, #fff 30%, #fff0) 100% 0 / 60px 100% no-repeat local,
  linear-gradient(to left, #0002, #0000) 100% 0 / 16px 100% no-repeat scroll; }
table { border-collapse: collapse; } th { font-weight: 500; text-align: right;
  color: var(--alrviz-quiet); vertical-align: bottom; }
td { text-align: right; vertical-align: top; white-space: nowrap; }
td:first-child, td.t { white-space: normal; overflow-wrap: break-word; min-width: 9em; }
td.t, th.t { text-align: left; } td.t { overflow-wrap: anywhere; }
th, td { padding: .25em .8em .25em 0; border-bottom: 1px solid var(--alrviz-line); }
th:first-child, td:first-child { text-align: left; }
@media (max-width: 600px) { table { font-size: .92rem; } th, td { padding-right: .5em; }
  td:first-child, td.t { min-width: 6em; } }
.scroll th:first-child, .scroll td:first-child { position: sticky; left: 0; background: #fff; z-index: 1; }
figure { margin: 0; }
figcaption { color: var(--alrviz-quiet); font-size: .92rem; max-width: 34em; }
.pictures { display: flex; flex-wrap: wrap; gap: 18px 26px; margin: 10px 0; } .pictures figure { flex: 1 1 380px; }
.pictures > * { min-width: min(380px, 100%); max-width: 100%; }
pre { background: #f4f4f6; padding: 12px; border-radius: 6px; overflow-x: auto; font-size: .86rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
details > summary { cursor: pointer; color: #2f4f9e; padding: .4em 0; }
@media print { .scroll { overflow: visible; } td, th { white-space: normal !important; } }
@media print { h2 { break-after: avoid; } figure, table { break-inside: avoid; } nav { display: none; } }
"""

# Labels for screen readers only, of groups of buttons whose captions explain themselves.
SCREEN_READER_ONLY = """
label.MuiFormLabel-root { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""

# Rule that draws a button's icon: Panel's pages include it, a notebook has only the font.
ICONS = """
.material-icons { font-family: "Material Icons"; font-style: normal; font-weight: normal; line-height: 1;
  letter-spacing: normal; text-transform: none; display: inline-block; white-space: nowrap; direction: ltr;
  font-feature-settings: "liga"; }
"""

# Toggle buttons with words large enough for a projector.
_WORDS = {"fontSize": "1rem", "textTransform": "none", "py": "4px"}
WORDS_ON_BUTTONS = {"& .MuiToggleButton-root": _WORDS}

# The same without line breaks, for tabs, whose titles have two words.
WORDS_IN_ONE_LINE = {
    "& .MuiToggleButton-root": {**_WORDS, "whiteSpace": "nowrap", "px": {"xs": "4px", "sm": "7px"}},
}

MAX_UNSCROLLED_COLUMNS = 2  # a table with more may be wider than a phone
FADED_OPACITY = "0.45"  # of results of outdated settings


def html_table(heads: Iterable[str], rows: Iterable[Iterable[str]], kind: str = "scroll", foot: str = "") -> str:
    """Return a table as HTML, in a box that scrolls sideways.

    Args:
        heads, rows: cells as HTML; callers escape names from data by `safe`. A cell may bring its own tag
            (`<td class='n'>`).
        kind: CSS classes of the box.
        foot: further rows, as HTML.
    """

    def cell(tag: str, text: str) -> str:
        tag = tag if text else "td"  # screen readers do not accept an empty th
        return text if text.startswith(f"<{tag}") else f"<{tag}>{text}</{tag}>"

    def line(tag: str, cells: Iterable[str]) -> str:
        return f"<tr>{''.join(cell(tag, text) for text in cells)}</tr>"

    heads = list(heads)
    focus_attribute = " tabindex='0'" if len(heads) > MAX_UNSCROLLED_COLUMNS else ""  # so that arrow keys scroll it
    body = "".join(line("td", cells) for cells in rows)
    return f"<div class='{kind}'{focus_attribute}><table>{line('th', heads)}{body}{foot}</table></div>"


def safe(text: object, max_length: int = 300) -> str:
    """Return any text as safe HTML: escaped, without control characters, truncated to `max_length` characters."""
    return escape(printable(text, max_length))


def printable(text: object, max_length: int) -> str:
    """Return any text without control characters, truncated to `max_length` characters."""
    printable_text = "".join(ch if ch.isprintable() else " " for ch in str(text))
    return printable_text if len(printable_text) <= max_length else printable_text[: max_length - 1] + "…"


def verdict_html(verdict: Verdict) -> str:
    """Return a verdict as HTML: its headline, and below it the detail in small type; `n = 2` is not broken."""
    headline, detail = (
        safe(text, 2000).replace("n = ", "n&nbsp;=&nbsp;") for text in (verdict.headline, verdict.detail)
    )
    detail_html = f"<p class='detail'>{detail}</p>" if detail else ""
    return f"<p class='sentence'>{headline}</p>{detail_html}"


def page_html(title: str, body: str) -> str:
    """Return a self-contained page without scripts; `title` and `body` are HTML."""
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<link rel='icon' href='data:,'><style>{_PAGE_CSS}</style></head><body><main><h1>{title}</h1>"
        f"{body}</main></body></html>\n"
    )
