"""What a docstring below the estimators has to say: the shapes of arrays, taken and returned, and the errors raised.

A method that carries out what a base or a protocol describes says what is its own alone.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "alrviz"
MODULES = sorted(path for floor in ("data", "passes", "models", "fitting") for path in (ROOT / floor).rglob("*.py"))
CONTRACTS = ("fitting/objectives/protocol.py", "fitting/objectives/ridge.py", "fitting/solvers/state.py")
ARRAY = re.compile(r"NDArray|\bFloats\b|ndarray|ArrayLike|\bCodes\b")
SHAPE = re.compile(r"\([\w+\-*/. ]*,[\w+\-*/., ]*\)|shape|, of any")
SHOWN = ("property", "cached_property", "setter", "overload", "abstractmethod")


def functions_of(path):
    """Public functions and methods of public classes, each with the class."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield node, None
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from ((method, node) for method in node.body if isinstance(method, ast.FunctionDef))


def annotations(function):
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [ast.unparse(part) for part in (*(each.annotation for each in arguments), function.returns) if part]


def errors_of(function):
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and node.exc is not None:
            name = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
            if name[0].isupper() and name != "NotImplementedError":
                yield name


DESCRIBED = {function.name for path in CONTRACTS for function, owner in functions_of(ROOT / path) if owner}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_shapes_and_errors_are_described(path):
    lacking = []
    for function, owner in functions_of(path):
        shown = {getattr(each, "id", getattr(each, "attr", "")) for each in function.decorator_list} & {*SHOWN}
        if function.name.startswith("_") or shown:
            continue
        text = f"{ast.get_docstring(function) or ''} {ast.get_docstring(owner) or '' if owner else ''}"
        told = owner is not None and function.name in DESCRIBED and str(path.relative_to(ROOT)) not in CONTRACTS
        if any(map(ARRAY.search, annotations(function))) and not SHAPE.search(text) and not told:
            lacking.append(f"line {function.lineno}: {function.name} has arrays, and its docstring no shape")
        lacking += [
            f"line {function.lineno}: {function.name} raises {error}, which its docstring does not say"
            for error in errors_of(function)
            if error not in text and "Raises:" not in text
        ]
    assert not lacking
