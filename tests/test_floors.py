"""The floors of the package: imports go down only.

Read from the sources, not from `sys.modules`: HoloViews imports Panel by itself. An import inside a function counts as
one at the top of a module, and so does `import_module("alrviz.x")` with its name written out; one under `TYPE_CHECKING`
counts too, because a type from above ties a module to it just as well.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "alrviz"

# (floor, place on it): a room may import its own modules and every room below; on floor 1 models may import passes,
# passes may import data, never back. `alrviz` itself is the front door: above everything, so nothing inside uses it.
FLOORS = {
    "kernels": (0, 0),
    "errors": (0, 0),
    "stop": (0, 1),
    "memory": (0, 1),
    "lifeline": (0, 1),
    "data": (1, 0),
    "passes": (1, 1),
    "models": (1, 2),
    "fitting": (2, 0),
    "estimators": (3, 0),
    "studies": (4, 0),
    "pictures": (5, 0),
    "views": (6, 0),
    "explorer": (7, 0),
    "reproduce": (7, 0),
    "cli": (8, 0),
    "bench": (8, 0),
    "apps": (8, 0),
    "": (9, 0),
}
# The lowest floor that may import a library of pictures or pages.
LIBRARIES = {
    "panel": 6,
    "panel_material_ui": 6,
    "bokeh": 5,
    "holoviews": 5,
    "hvplot": 5,
    "geoviews": 5,
    "datashader": 5,
}
KERNELS_SEE = {"alrviz", "collections", "llvmlite", "logging", "math", "numba", "numpy", "typing"}
# What looks up on purpose: a run hands its model to the floor that keeps models, when somebody asks for it.
UPWARD = {
    ("alrviz/fitting/runs/run.py", "alrviz.estimators.scoring"),
    ("alrviz/fitting/runs/run.py", "alrviz.estimators.recipes.RecipeClassifier"),
}


def room_of(path: Path, package: Path = PACKAGE) -> str:
    """The first folder or module under the package, "" for its front door."""
    if package not in path.parents:
        return path.parent.name
    first = path.relative_to(package).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imported(path: Path, package: Path = PACKAGE) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of everything a source imports, wherever in it; `from a import b` gives a.b."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = (
                    [*path.relative_to(package.parent).parent.parts[: None if level == 1 else 1 - level]]
                    if level
                    else []
                )
                prefix = ".".join([*base, *([module] if module else [])])
                yield from ((node.lineno, f"{prefix}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def violations(path: Path, package: Path = PACKAGE) -> list[str]:
    """Say in a sentence each what a source imports that it must not see."""
    room = room_of(path, package)
    if room not in FLOORS:
        return [f"{path.name}: alrviz/{room} has no floor in tests/test_floors.py"]
    found = []
    for line, name in imported(path, package):
        top, _, rest = name.partition(".")
        where = f"{path.relative_to(package.parent)}:{line}: floor {FLOORS[room][0]} imports {name}"
        if (path.relative_to(package.parent).as_posix(), name) in UPWARD:
            continue
        if top == "alrviz":
            target = rest.split(".")[0]
            if target == "__version__":
                continue
            target = target if target in FLOORS else ""
            above = FLOORS[target] > FLOORS[room] or (room != target and FLOORS[target] == FLOORS[room])
            if above:
                found.append(f"{where}, which is {'the front door' if target == '' else f'not below {room}'}")
        elif FLOORS[room][0] < LIBRARIES.get(top, 0):
            found.append(f"{where}, allowed from floor {LIBRARIES[top]} on")
        elif room == "kernels" and top not in KERNELS_SEE:
            found.append(f"{where}: a kernel sees arrays and nothing else")
    return found


SOURCES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "apps").glob("*.py")])


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_only(path):
    assert violations(path) == []


def test_every_floor_is_read():
    rooms = {room_of(path) for path in SOURCES}
    assert set(FLOORS) == rooms, "a room without sources, or sources without a floor"


PLANTED = [
    ("data/read.py", "import alrviz.fitting.runs.run", "not below data"),
    ("data/read.py", "from alrviz.passes import warm", "not below data"),
    ("passes/scores.py", "from ..models import space", "not below passes"),
    ("models/space.py", "def late():\n    from alrviz.estimators import LRClassifier", "not below models"),
    (
        "fitting/runs/run.py",
        "from importlib import import_module\nimport_module('alrviz.views.race')",
        "not below fitting",
    ),
    ("fitting/runs/run.py", "if TYPE_CHECKING:\n    from alrviz.studies.race.race import Race", "not below fitting"),
    ("estimators/lr.py", "from alrviz import read_table", "the front door"),
    ("estimators/lr.py", "import alrviz", "the front door"),
    ("studies/race/race.py", "import panel as pn", "from floor 6"),
    ("pictures/curves.py", "from panel.io import state", "from floor 6"),
    ("studies/race/race.py", "def late():\n    import bokeh.models", "from floor 5"),
    ("studies/race/race.py", "from holoviews import Curve", "from floor 5"),
    ("errors.py", "from alrviz.stop import NEVER", "not below errors"),
    ("kernels/scores.py", "import pandas", "arrays and nothing else"),
    ("kernels/scores.py", "from alrviz.errors import TableError", "not below kernels"),
    ("secrets/keys.py", "import os", "has no floor"),
]


@pytest.mark.parametrize(("place", "source", "complaint"), PLANTED)
def test_a_planted_violation_is_found(tmp_path, place, source, complaint):
    path = tmp_path / "alrviz" / place
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    (sentence,) = violations(path, tmp_path / "alrviz")
    assert complaint in sentence


ALLOWED = [
    ("data/read.py", "import pandas\nfrom alrviz.stop import NEVER\nfrom .limits import Limits"),
    ("models/space.py", "from alrviz.passes import warm\nfrom alrviz.data.encode import Encoder"),
    ("kernels/scores.py", "import numpy as np\nfrom numba import types\nfrom alrviz.kernels import kernel"),
    ("pictures/curves.py", "from bokeh.plotting import figure\nfrom alrviz import __version__"),
    ("views/race.py", "import panel as pn\nfrom ..pictures.curves import curves"),
    ("cli.py", "import alrviz.explorer"),
]


@pytest.mark.parametrize(("place", "source"), ALLOWED)
def test_what_goes_down_is_allowed(tmp_path, place, source):
    path = tmp_path / "alrviz" / place
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    assert violations(path, tmp_path / "alrviz") == []
