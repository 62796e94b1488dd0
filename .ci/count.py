"""Count what a reader of the code has to hold in mind, in this tree or another: `python .ci/count.py [ROOT ...]`.

Lines are code alone: without docstrings, comments, blanks and imports. A chain is the longest way down through imports
inside the explorer; a circle is a set of modules each of which reaches all others, types and lazy imports included.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from hashlib import sha256
from pathlib import Path

SHORT = 80  # lines
ALIKE = 6  # statements in a row that stand twice
FAMILY = re.compile(r"\bfamily\s*(==|!=|in|not in)\s|\.family\s*(==|!=|in|not in)\s")


def code_lines(source: str) -> int:
    """Lines with code on them, without docstrings and imports."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, node.end_lineno + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            skipped.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in quiet:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - skipped)


def modules_of(root: Path) -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((root / "alrviz").rglob("*.py"))
    }


def imports_of(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of the package that one imports, anywhere in it."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full in modules else base)
    return {each for each in found if each in modules and each != name}


def circles_of(graph: dict[str, set[str]]) -> list[list[str]]:
    """Sets of modules that reach each other (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for below in graph[name]:
            if below not in order:
                visit(below)
                low[name] = min(low[name], low[below])
            elif below in stack:
                low[name] = min(low[name], order[below])
        if low[name] == order[name]:
            cut = stack.index(name)
            if len(stack) - cut > 1:
                found.append(sorted(stack[cut:]))
            del stack[cut:]

    sys.setrecursionlimit(10_000)
    for name in graph:
        if name not in order:
            visit(name)
    return found


def longest(graph: dict[str, set[str]], start: str) -> tuple[str, ...]:
    """A longest way down from a module, no module twice."""
    known: dict[str, tuple[str, ...]] = {}

    def way(name: str, above: frozenset[str]) -> tuple[str, ...]:
        if name not in known:
            below = [way(each, above | {name}) for each in graph[name] if each not in above]
            known[name] = (name, *max(below, key=len, default=()))
        return known[name]

    return way(start, frozenset())


def twice(modules: dict[str, Path]) -> int:
    """Pairs of places where ALIKE statements in a row are the same but for names."""
    places = defaultdict(set)
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            body = getattr(node, "body", None)
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If | ast.For | ast.With) or not body:
                continue
            shapes = [re.sub(r"(id|arg|attr)='\w+'", r"\1=_", ast.dump(each)) for each in body]
            for k in range(len(shapes) - ALIKE + 1):
                key = sha256("\n".join(shapes[k : k + ALIKE]).encode()).hexdigest()
                places[key].add((name, getattr(node, "name", node.lineno)))
    return len({tuple(sorted(map(str, where))) for where in places.values() if len(where) > 1})


def counted(root: Path) -> dict[str, object]:
    """All figures of a tree, by name."""
    modules = modules_of(root)
    graph = {name: imports_of(name, path, modules) for name, path in modules.items()}
    importers = Counter(below for found in graph.values() for below in found)
    sources = {name: path.read_text() for name, path in modules.items()}
    lines = {name: code_lines(source) for name, source in sources.items()}
    floors: Counter[str] = Counter()
    for name, count in lines.items():
        floors[name.split(".")[1] if "." in name else ""] += count
    library = sum(count for name, count in lines.items() if not re.match(r"alrviz\.(bench|reproduce)", name))
    explorer = {name: {x for x in below if ".explorer" in x} for name, below in graph.items() if ".explorer" in name}
    chain = max((longest(explorer, name) for name in explorer), key=len)
    outside = re.compile(r"alrviz\.(bench|reproduce|fitting\.families)")
    branches = {name: len(FAMILY.findall(source)) for name, source in sources.items() if not outside.match(name)}
    shown = ("alrviz.explorer", "alrviz.views")
    return {
        "lines of code": sum(lines.values()),
        "lines without bench and reproduce": library,
        "lines by folder": dict(sorted(floors.items())),
        "files": len(modules),
        f"files under {SHORT} lines with one importer": sum(
            source.count("\n") < SHORT and importers[name] == 1 and modules[name].name != "__init__.py"
            for name, source in sources.items()
        ),
        "longest chain of imports in the explorer": len(chain),
        "circles": len(circles_of(graph)),
        "branches on a family's name outside the families": sum(branches.values()),
        "Any in explorer and views": sum(
            len(re.findall(r"\bAny\b", source)) for name, source in sources.items() if name.startswith(shown)
        ),
        "places that stand twice": twice(modules),
        "lines of tests": sum(code_lines(path.read_text()) for path in (root / "tests").rglob("*.py")),
    }


if __name__ == "__main__":
    trees = [Path(given) for given in sys.argv[1:]] or [Path(__file__).parents[1]]
    figures = [counted(tree) for tree in trees]
    for label in figures[0]:
        sys.stdout.write(f"{label}: {'  ->  '.join(str(found[label]) for found in figures)}\n")
