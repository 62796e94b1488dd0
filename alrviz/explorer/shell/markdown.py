"""Render the texts of lessons, Markdown with LaTeX between dollar signs, as HTML that cannot contain anything active.

Raw HTML stands there as it was written, pictures are not fetched, links lead to web pages only, and LaTeX cannot make
elements or attributes of its own.
"""

import re
from collections.abc import Mapping
from functools import cache
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from alrviz.explorer.shell.formulas import math
from alrviz.views.core.style import safe

_OWN = re.compile(r"\\(href|style|class|id|cssId|url|data|includegraphics)\b")  # LaTeX that would be attributes
# What formulas are made of: MathML that shows something, leads nowhere and runs nothing.
ELEMENTS = frozenset(
    re.findall(r"\w+", """math semantics annotation mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup
    munder mover munderover mmultiscripts mprescripts none mtable mtr mtd mlabeledtr mpadded mphantom menclose mfenced
    mstyle merror""")
)  # fmt: skip
ATTRIBUTES = frozenset(
    re.findall(r"\w+", """display encoding stretchy fence form separator accent accentunder movablelimits largeop
    symmetric minsize maxsize linethickness lspace rspace width height depth columnalign rowspacing columnspacing
    columnlines rowlines frame displaystyle scriptlevel mathvariant notation open close separators mathcolor
    mathbackground voffset linebreak""")
)  # fmt: skip


class _Checked(HTMLParser):
    """Reads a formula as browsers do; a ValueError where it is more than one."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS or not ATTRIBUTES.issuperset(name for name, _ in attrs):
            raise ValueError(f"<{tag}> with {[name for name, _ in attrs]} in a formula")


def _formula(latex: str, about: Mapping[str, Any]) -> str:
    """A formula as MathML; what cannot be drawn as its source."""
    if _OWN.search(latex):
        return f"<code>{safe(latex, 400)}</code>"
    try:  # in a \text the converter would leave < as it is
        made = math(latex.replace("<", r"\lt ").replace(">", r"\gt "), block=bool(about.get("display_mode")))
        _Checked().feed(made)
        return made
    except Exception:  # the converter raises whatever it trips over
        return f"<code>{safe(latex, 400)}</code>"


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "html_inline", "html_block"])
    parser.validateLink = lambda url: url.startswith(("https://", "http://", "?"))  # type: ignore[method-assign]
    return parser.use(dollarmath_plugin, renderer=_formula, double_inline=True, allow_digits=False)


def markdown_html(text: str, *, inline: bool = False) -> str:
    """Return Markdown as HTML that can be shown as it is, whoever wrote the Markdown; `inline`: without paragraphs.

    >>> markdown_html("*NLL* is <b>large</b>", inline=True)
    '<em>NLL</em> is &lt;b&gt;large&lt;/b&gt;'
    """
    made: str = _parser().renderInline(text) if inline else _parser().render(text)
    return made
