"""Docstrings below the estimators name the shapes of arrays, taken and returned, and the errors raised.

A method that a base class or a protocol describes need only say in what it differs.
"""

import ast
import re
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "alrviz"
MODULES = sorted(path for floor in ("data", "passes", "models", "fitting") for path in (ROOT / floor).rglob("*.py"))
CONTRACTS = ("fitting/objectives/ridge.py", "fitting/solvers/state.py")
ARRAY = re.compile(r"NDArray|\bFloats\b|ndarray|ArrayLike|\bCodes\b")
# In brackets: lengths, of which one is a letter or a number, or one length and a comma.
SIZE, LENGTH = r"(?:\d*[A-Za-z](?:_\w+)?|\d+)", r"[\w+\-*/. ]+"
SHAPE = re.compile(
    rf"\({LENGTH},\)|\({SIZE}(?:, {LENGTH})+\)|\((?:{LENGTH}, )+{SIZE}(?:, {LENGTH})*\)|\bshape|, of any"
)
AS_PROTOCOL = re.compile(r"As `\w+` says|; see `\w+`\.$")
EXEMPT_DECORATORS = ("property", "cached_property", "setter", "overload", "abstractmethod")


def functions_of(path):
    """Public functions and methods of public classes, each with the class."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node, None
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from ((method, node) for method in node.body if isinstance(method, ast.FunctionDef))


def arrays_of(function):
    """Names of the arguments that are arrays, and "return" where one is returned."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    parts = [*((argument.arg, argument.annotation) for argument in arguments), ("return", function.returns)]
    return [name for name, annotation in parts if annotation and ARRAY.search(ast.unparse(annotation))]


def is_named(text, name):
    """Whether a class's docstring gives the shape of the array called `name`."""
    match = re.search(rf"(?:^|\s)(?:`{name}`|(?:\w+, )*{name}(?:, \w+)*:) ?(.*)", text)
    return match is not None and SHAPE.match(match[1]) is not None


def errors_of(function):
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            name = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
            if name[0].isupper() and name not in ("AssertionError", "NotImplementedError"):
                yield name


DESCRIBED = {function.name for path in CONTRACTS for function, owner in functions_of(ROOT / path) if owner}


def test_what_is_a_shape():
    shapes = "(N,)", "(a_num, N)", "(2T + S, W)", "(cells, parts, W)", "(N, 5)", "(bytes,)", "shaped as w"
    assert [text for text in shapes if not SHAPE.search(text)] == []
    words = "(lr, alr)", "counts (the rows, say)", "(Nocedal and Wright, algorithm 7.4)", "(N)", "reshaped"
    assert [text for text in words if SHAPE.search(text)] == []
    assert is_named("Rows. w, center: (P,) weights", "center")
    assert not is_named("Rows. w: weights (P,)", "w")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_shapes_and_errors_are_described(path):
    problems = []
    for function, owner in functions_of(path):
        decorators = {getattr(node, "id", getattr(node, "attr", "")) for node in function.decorator_list}
        if function.name.startswith("_") or decorators & {*EXEMPT_DECORATORS}:
            continue
        text, class_text = ast.get_docstring(function) or "", ast.get_docstring(owner) or "" if owner else ""
        is_described = owner is not None and function.name in DESCRIBED and str(path.relative_to(ROOT)) not in CONTRACTS
        is_described = (
            is_described or AS_PROTOCOL.search(text) or all(map(partial(is_named, class_text), arrays_of(function)))
        )
        if not SHAPE.search(text) and not is_described:
            problems.append(f"line {function.lineno}: {function.name} has arrays, and its docstring no shape")
        problems += [
            f"line {function.lineno}: {function.name} raises {error}, which its docstring does not say"
            for error in errors_of(function)
            if error not in text + class_text
        ]
    assert not problems
