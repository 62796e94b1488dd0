r"""Formulas kept as LaTeX, shown as MathML: browsers draw it themselves, so nothing is fetched and no script runs.

Only what our formulas use is understood: letters, numbers, operators, Greek, \log \sum \frac{}{} \text{} \|, ^ and _.
The LaTeX source stays in the markup as an annotation, which is what copying and screen readers get.
"""

import re
from html import escape

_GREEK = {
    "alpha": "\u03b1",
    "phi": "\u03c6",
    "theta": "\u03b8",
    "pi": "\u03c0",
    "gamma": "\u03b3",
    "sum": "\u2211",
    "cdot": "\u00b7",
    "le": "\u2264",
    "mid": "|",
    "propto": "\u221d",
    "partial": "\u2202",
    "approx": "\u2248",
    "in": "\u2208",
    "|": "\u2016",
    ",": "\u2009",
}
_NAMES = ("log", "exp", "min", "softmax", "diag")
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_]|\d+(?:\.\d+)?|[A-Za-z]|\S")


def math(latex: str, *, block: bool = False) -> str:
    """Return LaTeX as a MathML element; raises `ValueError` on a command it does not know.

    >>> "<msub><mi>w</mi><mi>k</mi></msub>" in math("w_k")
    True
    """
    tokens = _TOKEN.findall(re.sub(r"\\text\{([^}]*)\}", lambda m: "\\text{" + m[1].replace(" ", "~") + "}", latex))
    body, rest = _row(tokens)
    if rest:
        raise ValueError(f"unbalanced braces in {latex!r}")
    display = ' display="block"' if block else ""
    note = f'<annotation encoding="application/x-tex">{escape(latex)}</annotation>'
    return f"<math{display}><semantics><mrow>{body}</mrow>{note}</semantics></math>"


def _row(tokens: list[str]) -> tuple[str, list[str]]:
    parts: list[str] = []
    while tokens and tokens[0] != "}":
        if tokens[0] in "^_":
            mark, *tokens = tokens
            script, tokens = _atom(tokens)
            base = parts.pop() if parts else "<mrow></mrow>"
            parts.append(_scripted(base, mark, script))
        else:
            part, tokens = _atom(tokens)
            parts.append(part)
    return "".join(parts), tokens


def _scripted(base: str, mark: str, script: str) -> str:
    for tag, other in (("msub", "^"), ("msup", "_")):
        if base.startswith(f"<{tag}>") and mark == other:  # a_b^c: both marks on one base
            inner = base.removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")
            first, second = _halves(inner)
            below, above = (second, script) if tag == "msub" else (script, second)
            return f"<msubsup>{first}{below}{above}</msubsup>"
    tag = "msub" if mark == "_" else "msup"
    return f"<{tag}>{base}{script}</{tag}>"


def _halves(inner: str) -> tuple[str, str]:
    """The two children of a scripted element."""
    depth, start = 0, 0
    for match in re.finditer(r"<(/?)[a-z]+[^>]*>", inner):
        depth += -1 if match[1] else 1
        if depth == 0:
            start = match.end()
            break
    return inner[:start], inner[start:]


def _atom(tokens: list[str]) -> tuple[str, list[str]]:
    token, *rest = tokens
    if token == "{":
        body, rest = _row(rest)
        if not rest:
            raise ValueError("unbalanced braces")
        return f"<mrow>{body}</mrow>", rest[1:]
    if token == "\\frac":
        above, rest = _atom(rest)
        below, rest = _atom(rest)
        return f"<mfrac>{above}{below}</mfrac>", rest
    if token == "\\text":
        end = rest.index("}")
        return f"<mtext>{escape(''.join(rest[1:end]).replace('~', chr(160)))}</mtext>", rest[end + 1 :]
    return _leaf(token), rest


def _leaf(token: str) -> str:
    name = token.removeprefix("\\")
    if token.startswith("\\"):
        if name in _NAMES:
            return f"<mi>{name}</mi><mspace width='0.17em'/>"
        if name not in _GREEK:
            raise ValueError(f"unknown command {token!r}; known are {', '.join(sorted((*_GREEK, *_NAMES)))}")
        sign = _GREEK[name]
        return f"<mi>{sign}</mi>" if sign.isalpha() and name != "partial" else f"<mo>{sign}</mo>"
    if token.isdigit() or re.fullmatch(r"\d+\.\d+", token):
        return f"<mn>{token}</mn>"
    return f"<mi>{token}</mi>" if token.isalpha() else f"<mo>{escape(token)}</mo>"
