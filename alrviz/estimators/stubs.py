"""What type checkers are told of the classifiers that are made of families: cells.pyi, and their public names.

    python -m alrviz.estimators.stubs

writes both anew; after a family has come or a parameter of one has changed.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from alrviz.estimators.cells import CLASSIFIERS

_HERE = Path(__file__).parent
CELLS, PUBLIC = _HERE / "cells.pyi", _HERE.parent / "__init__.pyi"
_IMPORT = re.compile(r"from \.estimators\.cells import \(\n.*?\)\n", re.DOTALL)


def stubs() -> Mapping[Path, str]:
    """Return what each of the two files should hold."""
    names = sorted(cls.__name__ for cls in CLASSIFIERS)
    listed = "".join(f"    {name} as {name},\n" for name in names)
    public = _IMPORT.sub(f"from .estimators.cells import (\n{listed})\n", PUBLIC.read_text(encoding="utf-8"))
    return {CELLS: _cells(names), PUBLIC: public}


def _cells(names: list[str]) -> str:
    parts = [
        '"""Written by `python -m alrviz.estimators.stubs`."""\n',
        "from typing import Any\n",
        "from alrviz.estimators.base import CellClassifier",
        "from alrviz.estimators.linear import LinearClassifier\n",
        "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n",
        "CLASSIFIERS: tuple[type[CellClassifier], ...]",
    ]
    for cls in CLASSIFIERS:
        own = {one.name: _name(one.type) for one in fields(cls) if one.init}
        defaults = {one.name: repr(one.default).replace("'", '"') for one in fields(cls) if one.init}
        first = (cls.__doc__ or "").splitlines()[0]
        parts += [f"\nclass {cls.__name__}({cls.__bases__[0].__name__}):", f'    """{first}"""\n']
        known = {name for base in cls.__mro__[1:] for name in vars(base).get("__annotations__", ())}
        parts += [f"    {name}: {kind}" for name, kind in own.items() if name not in known]
        parts += ["    def __init__(", "        self,", "        *,"]
        parts += [f"        {name}: {kind} = {defaults[name]}," for name, kind in own.items()]
        parts += ["    ) -> None: ..."]
    return "\n".join(parts) + "\n"


def _name(kind: object) -> str:
    return (
        kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind).replace("typing.", "")
    )


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
