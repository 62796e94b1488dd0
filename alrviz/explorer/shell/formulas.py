r"""Formulas kept as LaTeX, shown as MathML: browsers draw it themselves, so nothing is fetched and no script runs.

The LaTeX source stays in the markup as an annotation, which is what copying and screen readers get.
"""

import re
from functools import cache
from html import escape

from latex2mathml.converter import convert

# Browsers put no space between an operator and the symbol before it, or its argument without brackets.
_SPACE_BEFORE_OPERATOR = re.compile(r"(?<=[\w)}])\s*(?=\\(?:log|exp|min)\b)")
_SPACE_AFTER_OPERATOR = re.compile(r"(\\(?:log|exp|min))\s*(?=[\w\\])")


@cache
def math(latex: str, *, block: bool = False) -> str:
    r"""Return LaTeX as a MathML element; raises `ValueError` on an unknown command and on braces that do not match.

    Beside LaTeX's own there are \softmax and \diag.

    >>> "<msub><mi>w</mi><mi>k</mi></msub>" in math("w_k")
    True
    """
    if latex.count("{") != latex.count("}"):
        raise ValueError(f"unbalanced braces in {latex!r}")
    source = _SPACE_AFTER_OPERATOR.sub(r"\1\\,", _SPACE_BEFORE_OPERATOR.sub(r"\\,", latex.replace(r"\phi", r"\varphi")))
    mathml = convert(re.sub(r"\\(softmax|diag)\b", r"\\operatorname{\1}", source))
    if unknown := re.search(r"<mi>(\\\w+)", mathml):
        raise ValueError(f"unknown command {unknown[1]!r} in {latex!r}")
    body = mathml[mathml.index(">") + 1 : mathml.rindex("</math>")]
    note = f'<annotation encoding="application/x-tex">{escape(latex)}</annotation>'
    display_attribute = ' display="block"' if block else ""
    return f"<math{display_attribute}><semantics>{body}{note}</semantics></math>"
