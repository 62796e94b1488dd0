"""Measure how hard a source tree is to hold in mind: `python .ci/count.py [BEFORE] [AFTER]`.

Without arguments the tree of this file is measured. With two trees every figure is printed before and after. Lines are
counted for each folder; all other figures are of the package and of the evidence beside it together, so that moving a
module between them changes nothing. Measured elsewhere: the calls from a click on Run to the picture, test minutes.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

SOURCE_FOLDERS = ("alrviz", "benchmarks", "reproduction")
TEST_FOLDERS = ("tests", "benchmarks/tests", "reproduction/tests")
MAX_FUNCTION_LINES = 50  # without the docstring
MAX_COMPLEXITY = 15  # ways through a function, by McCabe
MAX_METHODS = 25
SMALL_MODULE_LINES = 80
REPEATED_STATEMENTS = 6  # in a row, equal but for names: a copy
FAMILY_BRANCH = re.compile(r"(?<!for )(?<!, )\bfamily\s*(==|!=|in|not in)\s")  # not `for family in`
FAMILY_MODULES = re.compile(r"(benchmarks|reproduction|alrviz\.(bench|reproduce|fitting\.families))\b")
# A name that consists of these words alone lacks its noun.
NOUNLESS_WORDS = """
it its own mine ours theirs whose who whom which what that this these those one ones other others each every some any
all both none nothing everything something another such same about above across after against ahead along alone apart at
away before behind below beside between by down for from here how in inside into least less many more most now of off on
out outside over then there to under up when where why with within without again few absent allowed asked begun brought
changed chosen closed coming counted covered done drawn dropped ended expected failed filled fitted followed found given
gone held judged kept known lacking learned left listed looked lost made meant measured met moved named needed offered
opened ordered paid pressed printed pulled put refused said seen sent settled shared shown spent stopped summed taken
told tried tuned turned typed used waiting wanted watched written
"""
NOUNLESS = frozenset(NOUNLESS_WORDS.split())
BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension, ast.match_case)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}  # public in spite of the underscore
OWNERS = {"self", "cls", "super()"}


class Lines(NamedTuple):
    """Lines of one or more modules: with code on them, within docstrings, with a comment on them."""

    code: int
    docstring: int
    comment: int

    def __str__(self) -> str:
        return f"{self.code:,} code, {self.docstring:,} docstring, {self.comment:,} comment"


class Module(NamedTuple):
    """A module: its path, its text and all nodes of its syntax tree."""

    path: Path
    source: str
    nodes: tuple[ast.AST, ...]

    @property
    def has_few_lines(self) -> bool:
        """Whether the module is a small one; the file that makes a folder a package is small by nature."""
        return self.source.count("\n") < SMALL_MODULE_LINES and self.path.name != "__init__.py"


def read_modules(root: Path, folder: str) -> dict[str, Module]:
    """Return every module below a folder of the tree by its dotted name, without those of tests inside."""
    modules = {}
    for path in sorted((root / folder).rglob("*.py")):
        relative = path.relative_to(root)
        if "tests" in relative.parts[1:-1] and folder not in TEST_FOLDERS:
            continue
        source = path.read_text(encoding="utf-8")
        name = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
        modules[name] = Module(path, source, tuple(ast.walk(ast.parse(source))))
    return modules


def docstring_of(node: ast.AST) -> ast.stmt | None:
    """Return the statement that is a node's docstring."""
    documented = isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node, clean=False)
    return node.body[0] if documented else None


def count_lines(module: Module) -> Lines:
    """Count a module's lines; blank lines count nowhere, a line with code and a comment counts in both."""
    docstring, code, comment = set(), set(), set()
    for statement in filter(None, map(docstring_of, module.nodes)):
        docstring.update(range(statement.lineno, statement.end_lineno + 1))
    layout = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(module.source).readline):
        if token.type == tokenize.COMMENT:
            comment.add(token.start[0])
        elif token.type not in layout:
            code.update(range(token.start[0], token.end[0] + 1))
    return Lines(len(code - docstring), len(docstring), len(comment))


def sum_lines(modules: dict[str, Module]) -> Lines:
    """Add up the lines of modules."""
    counts = [count_lines(module) for module in modules.values()]
    return Lines(*map(sum, zip(*counts, strict=True))) if counts else Lines(0, 0, 0)


def defined_names(module: Module) -> Iterator[str]:
    """Yield every name that a module defines: classes, functions, parameters, variables and attributes."""
    for node in module.nodes:
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            yield node.name
        elif isinstance(node, ast.arg) and node.arg not in OWNERS:
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def is_nounless(name: str) -> bool:
    """Return whether a name consists of pronouns, participles, prepositions and adverbs alone."""
    words = set(name.lower().split("_")) - {""}
    return bool(words) and words <= NOUNLESS


def is_large_function(node: ast.AST) -> bool:
    """Return whether a node is a function with too many lines or ways through it; inner functions count with it."""
    if not isinstance(node, FUNCTIONS):
        return False
    docstring = docstring_of(node)
    lines = node.end_lineno - (docstring.end_lineno if docstring else node.lineno)
    nodes = list(ast.walk(node))
    branches = sum(isinstance(inner, BRANCHES) for inner in nodes)
    operands = sum(len(inner.values) - 1 for inner in nodes if isinstance(inner, ast.BoolOp))
    return lines > MAX_FUNCTION_LINES or 1 + branches + operands > MAX_COMPLEXITY


def is_large_class(node: ast.AST) -> bool:
    """Return whether a node is a class with too many methods; those of its bases are not counted."""
    return isinstance(node, ast.ClassDef) and sum(isinstance(each, FUNCTIONS) for each in node.body) > MAX_METHODS


def count_private_reads(module: Module) -> int:
    """Count private names of other objects and modules: `estimator._recipe`, `from module import _name`."""
    names = []
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in OWNERS:
            names.append(node.attr)
        elif isinstance(node, ast.ImportFrom):
            names += [alias.name for alias in node.names]
    return sum(name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE for name in names)


def imported_modules(name: str, module: Module, modules: dict[str, Module]) -> set[str]:
    """Return the modules of the tree that a module imports, inside functions and for types too."""
    package = name if module.path.name == "__init__.py" else name.rpartition(".")[0]
    imported = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            full_names = [f"{base}.{alias.name}" for alias in node.names]
            imported.update(full if full in modules else base for full in full_names)
    return {other for other in imported if other in modules and other != name}


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return all modules that one module reaches by imports."""
    reached, border = set(), {start}
    while border:
        border = set().union(*(graph[name] for name in border)) - reached
        reached |= border
    return reached


def find_circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that import each other, directly or by way of others."""
    reach = {name: reachable(graph, name) for name in graph}
    members = [name for name in graph if name in reach[name]]
    return {frozenset(other for other in reach[name] if name in reach[other]) for name in members}


def count_copies(modules: dict[str, Module]) -> int:
    """Count the groups of places where the same statements stand in a row, but for names."""
    places = defaultdict(set)
    for name, module in modules.items():
        for node in module.nodes:
            body = getattr(node, "body", None)
            if not isinstance(node, (*FUNCTIONS, ast.If, ast.For, ast.With)) or not isinstance(body, list):
                continue
            shapes = [re.sub(r"(id|arg|attr)='\w+'", r"\1=_", ast.dump(statement)) for statement in body]
            for k in range(len(shapes) - REPEATED_STATEMENTS + 1):
                window = "\n".join(shapes[k : k + REPEATED_STATEMENTS])
                places[sha256(window.encode()).hexdigest()].add(f"{name}:{node.lineno}")
    return len({frozenset(group) for group in places.values() if len(group) > 1})


def count_ignored_imports(root: Path) -> int:
    """Count the imports that import-linter's contracts are told to ignore, each once."""
    tools = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return len(set().union(*(contract.get("ignore_imports", ()) for contract in tools["importlinter"]["contracts"])))


def measure(root: Path) -> dict[str, object]:
    """Return all figures of a tree by their labels."""
    modules = {name: module for folder in SOURCE_FOLDERS for name, module in read_modules(root, folder).items()}
    package = {name: module for name, module in modules.items() if name.split(".")[0] == "alrviz"}
    folders: defaultdict[str, dict[str, Module]] = defaultdict(dict)
    for name, module in modules.items():
        parts = module.path.relative_to(root).parts
        folders["/".join(parts[: 2 if parts[0] == "alrviz" and len(parts) > 2 else 1])][name] = module
    graph = {name: imported_modules(name, module, modules) for name, module in modules.items()}
    importers = Counter(other for imported in graph.values() for other in imported)
    small = [name for name, module in modules.items() if module.has_few_lines and importers[name] == 1]
    nodes = [node for module in modules.values() for node in module.nodes]
    names = [name for module in modules.values() for name in defined_names(module)]
    nounless = sum(map(is_nounless, names))
    circles = sorted(map(len, find_circles(graph)), reverse=True)
    tests = [sum_lines(read_modules(root, folder)) for folder in TEST_FOLDERS]
    return {
        "alrviz, all lines": sum(module.source.count("\n") for module in package.values()),
        "alrviz": sum_lines(package),
        **{f"  {folder}": sum_lines(folders[folder]) for folder in sorted(folders) if folder != "alrviz"},
        "  tests": Lines(*map(sum, zip(*tests, strict=True))),
        "modules": len(modules),
        f"modules under {SMALL_MODULE_LINES} lines with one importer": len(small),
        "names without a noun": f"{nounless:,} of {len(names):,}, {1000 * nounless / len(names):.0f} per 1,000",
        f"functions over {MAX_FUNCTION_LINES} lines or complexity {MAX_COMPLEXITY}": sum(map(is_large_function, nodes)),
        f"classes with more than {MAX_METHODS} methods": sum(map(is_large_class, nodes)),
        "Any": sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes),
        "private names of other objects": sum(map(count_private_reads, modules.values())),
        "circles of imports (modules in each)": f"{len(circles)} ({', '.join(map(str, circles))})",
        "imports that import-linter ignores": count_ignored_imports(root),
        "branches on a family's name outside the families": sum(
            len(FAMILY_BRANCH.findall(modules[name].source)) for name in modules if not FAMILY_MODULES.match(name)
        ),
        f"places with {REPEATED_STATEMENTS} equal statements": count_copies(modules),
    }


if __name__ == "__main__":
    figures = [measure(Path(tree)) for tree in sys.argv[1:] or [Path(__file__).parents[1]]]
    for label in dict.fromkeys(label for tree in figures for label in tree):
        sys.stdout.write(f"{label}: {'  ->  '.join(str(tree.get(label, '-')) for tree in figures)}\n")
