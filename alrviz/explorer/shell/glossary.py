"""The terms of the trade, one line each: shown on hover, in the Help dialog, and as the documentation's glossary."""

import re
from importlib.resources import files
from pathlib import Path

from alrviz.explorer.shell.markdown import math
from alrviz.views.core.style import safe

# One line a term, sorted; `docs/conf.py` makes the documentation's glossary of the same.
_LINES = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").splitlines()
TERMS = dict(line.removeprefix("- **").split("**: ", 1) for line in _LINES)


def explain(term: str) -> str:
    """Return the one-line explanation of a term; an unknown one is a `KeyError`: a term without one is a mistake."""
    return TERMS[term]


def term_html(term: str, label: str | None = None) -> str:
    """Return a term that explains itself on hover."""
    return f'<abbr title="{safe(TERMS[term], 400)}">{safe(label or term)}</abbr>'


def glossary_html() -> str:
    """Return all terms as a list."""
    rows = "".join(
        f"<dt>{safe(term)}</dt><dd>{safe(text, 400)}</dd>"
        for term, text in sorted(TERMS.items(), key=lambda item: item[0].lower())
    )
    return f"<dl>{rows}</dl>"


def about_html(name: str) -> str:
    """Return `about/NAME.md`, which says what a page or a part of it shows, as HTML."""
    return rich((files("alrviz.explorer") / "about" / f"{name}.md").read_text(encoding="utf-8"))


def rich(text: str) -> str:
    """Our own texts as HTML: paragraphs, *strong*, [[term]] or [[term|shown]] with its explanation, $LaTeX$."""
    text = re.sub(r"\$\$(.+?)\$\$", lambda m: math(m[1], block=True), text.strip())
    text = re.sub(r"\$(.+?)\$", lambda m: math(m[1]), text)
    text = re.sub(r"\[\[([^|\]]+)(?:\|([^\]]+))?\]\]", lambda m: term_html(m[1], m[2]), text)
    text = re.sub(r"\*([^*<]+)\*", r"<b>\1</b>", text)
    return "".join(f"<p>{part}</p>" for part in text.split("\n\n"))
