"""Render LaTeX as MathML, and the texts of lessons, Markdown with LaTeX between dollar signs, as safe HTML.

Browsers draw MathML themselves, so nothing is fetched and no script runs. The LaTeX source stays in the markup as an
annotation, which is what copying and screen readers get.

The HTML of a lesson cannot contain anything active: raw HTML is escaped, images are not loaded, links lead to web pages
only, and LaTeX cannot create other elements or attributes.
"""

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from html.parser import HTMLParser
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from alrviz.views.core.style import safe

# Browsers put no space between an operator and the symbol before it, or its argument without brackets.
_SPACE_BEFORE_OPERATOR = re.compile(r"(?<=[\w)}])\s*(?=\\(?:log|exp|min)\b)")
_SPACE_AFTER_OPERATOR = re.compile(r"(\\(?:log|exp|min))\s*(?=[\w\\])")


_ATTRIBUTE_COMMANDS = re.compile(r"\\(href|style|class|id|cssId|url|data|includegraphics)\b")
# Allowed in formulas: MathML without links and scripts.
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


@cache
def math(latex: str, *, block: bool = False) -> str:
    r"""Return LaTeX as a MathML element; raises `ValueError` on an unknown command and on braces that do not match.

    Beside LaTeX's own there are \softmax and \diag.

    >>> "<msub><mi>w</mi><mi>k</mi></msub>" in math("w_k")
    True
    """
    if latex.count("{") != latex.count("}"):
        raise ValueError(f"unbalanced braces in {latex!r}")
    spaced_latex = _SPACE_BEFORE_OPERATOR.sub(r"\\,", latex.replace(r"\phi", r"\varphi"))
    spaced_latex = _SPACE_AFTER_OPERATOR.sub(r"\1\\,", spaced_latex)
    mathml = convert(re.sub(r"\\(softmax|diag)\b", r"\\operatorname{\1}", spaced_latex))
    if unknown := re.search(r"<mi>(\\\w+)", mathml):
        raise ValueError(f"unknown command {unknown[1]!r} in {latex!r}")
    formula_mathml = mathml[mathml.index(">") + 1 : mathml.rindex("</math>")]
    source_annotation = f'<annotation encoding="application/x-tex">{escape(latex)}</annotation>'
    display_attribute = ' display="block"' if block else ""
    return f"<math{display_attribute}><semantics>{formula_mathml}{source_annotation}</semantics></math>"


class _FormulaChecker(HTMLParser):
    """Parses a formula as browsers do; raises ValueError if it has other elements or attributes."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS or not ATTRIBUTES.issuperset(name for name, _ in attrs):
            raise ValueError(f"<{tag}> with {[name for name, _ in attrs]} in a formula")


def _formula(latex: str, options: Mapping[str, Any]) -> str:
    """Return a formula as MathML, or its source if it cannot be converted."""
    if _ATTRIBUTE_COMMANDS.search(latex):
        return f"<code>{safe(latex, 400)}</code>"
    try:  # in a \text the converter would leave < as it is
        mathml = math(latex.replace("<", r"\lt ").replace(">", r"\gt "), block=bool(options.get("display_mode")))
        _FormulaChecker().feed(mathml)
        return mathml
    except Exception:  # the converter raises exceptions of any kind
        return f"<code>{safe(latex, 400)}</code>"


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "html_inline", "html_block"])
    parser.validateLink = lambda url: url.startswith(("https://", "http://", "?"))  # type: ignore[method-assign]
    return parser.use(dollarmath_plugin, renderer=_formula, double_inline=True, allow_digits=False)


def markdown_html(text: str, *, inline: bool = False) -> str:
    """Return untrusted Markdown as safe HTML; `inline`: without paragraphs.

    >>> markdown_html("*NLL* is <b>large</b>", inline=True)
    '<em>NLL</em> is &lt;b&gt;large&lt;/b&gt;'
    """
    result: str = _parser().renderInline(text) if inline else _parser().render(text)
    return result
