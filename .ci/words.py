"""List names, docstrings and comments that a newcomer would have to translate: `python .ci/words.py [FOLDER ...]`.

Prints one line per finding, grouped by module, and the totals of each folder. The patterns are heuristics: the list
shows where to read first, and nothing fails because of it. `.ci/count.py` counts the names of the whole tree.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from count import FUNCTIONS, NOUNLESS, Module, defined_names, docstring_of, is_nounless, read_modules

ROOT = Path(__file__).parents[1]
KINDS = ("name", "constant", "docstring", "comment")
# Adjectives and participles that leave open what a constant counts or bounds.
UNQUANTIFIED_WORDS = """
few far farthest full large largest late least long longest many much near rare short small smallest sure tidy wide
enough always never soon often worse worth wasted rough fine even odd plain last next old new
"""
UNQUANTIFIED = NOUNLESS | set(UNQUANTIFIED_WORDS.split())
VERBS = "said|told|held|kept|known|asked|taken|looked|meant|made|given|found|left|shown|seen|wanted|judged|met|had"
RIDDLES = {
    "relative clause without its noun": re.compile(
        r"(^|[,;:(] )(what|who|whoever|whatever) (is|are|was|were|has|have|a|an|the|it|they|of|all|each|goes|stays)\b"
        r"|\b(of|by|from|with|to|than|at) what (?!extent)",
        re.IGNORECASE,
    ),
    "pronoun without its noun": re.compile(
        r"\b(none|one|some|any) of (ours|theirs|these|those|them|its own)\b|\bthere is none\b|\bof its own\b"
        r"|\bits own\b(?! \w+)|\bthat there (is|are)\b|\bis none\b",
        re.IGNORECASE,
    ),
    "passive without its actor": re.compile(rf"\b(is|are|was|were|be) ({VERBS})\b", re.IGNORECASE),
    "old word": re.compile(
        r"\b(anew|behold|beyond all|taken up|taken over|told apart|broken off|passed over|made up for|as said|by and by"
        r"|at once made|stands? beside|lies? behind|goes? with|stays? so|say so)\b",
        re.IGNORECASE,
    ),
}
FRAGMENT = re.compile(r"^(What|Who|Whoever|Where|When|How|Hear|Say|Have|Nothing|Those|That|These|As|Of|The same)\b")


def is_unquantified(name: str) -> bool:
    """Return whether a constant's name says neither what it counts nor what it bounds."""
    words = set(name.lower().split("_")) - {""}
    return name.isupper() and bool(words) and words <= UNQUANTIFIED


def riddle_of(text: str) -> str:
    """Return which pattern a sentence matches first, "" if none."""
    return next((label for label, pattern in RIDDLES.items() if pattern.search(text)), "")


def sentences_of(module: Module) -> Iterator[tuple[str, int, str]]:
    """Yield (kind, line number, text) of each docstring's first line and each comment."""
    for node in module.nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and docstring_of(node):
            yield "docstring", docstring_of(node).lineno, ast.get_docstring(node).split("\n\n")[0].replace("\n", " ")
    for token in tokenize.generate_tokens(io.StringIO(module.source).readline):
        if token.type == tokenize.COMMENT:
            yield "comment", token.start[0], token.string.lstrip("# ")


def findings_of(module: Module) -> Iterator[tuple[str, str]]:
    """Yield (kind, description) of everything in a module that should be read again."""
    for name, times in sorted(Counter(defined_names(module)).items()):
        if is_unquantified(name):
            yield "constant", name
        elif is_nounless(name):
            yield "name", f"{name} x{times}"
    for kind, line, text in sentences_of(module):
        label = riddle_of(text)
        if not label and kind == "docstring" and FRAGMENT.match(text):
            label = "neither imperative nor noun phrase"
        if label:
            yield kind, f"line {line}: {text[:100]} [{label}]"


def list_findings(folder: str) -> None:
    """Print the findings of a folder's modules and their totals."""
    totals: Counter[str] = Counter()
    for name, module in read_modules(ROOT, folder).items():
        findings = list(findings_of(module))
        totals.update(kind for kind, _ in findings)
        if findings:
            sys.stdout.write(f"{name}\n")
            names = [text for kind, text in findings if kind == "name"]
            sys.stdout.write(f"  names: {', '.join(names)}\n" if names else "")
            sys.stdout.writelines(f"  {kind}: {text}\n" for kind, text in findings if kind != "name")
    sys.stdout.write(f"{folder}: {', '.join(f'{totals[kind]} {kind}s' for kind in KINDS)}\n\n")


if __name__ == "__main__":
    for each in sys.argv[1:] or ["alrviz"]:
        list_findings(each.rstrip("/"))
