"""The command line of the benchmarks: `python -m benchmarks NAME [--data DIR] [--repeats K] ...`."""

import argparse
import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from alrviz.errors import AlrvizError, nearest
from benchmarks._tools import environment, save

FOLDER = Path(__file__).parent


def benchmarks() -> dict[str, Path]:
    """Return the module of each benchmark by its name; a name that Python keeps for itself ends in "_" as a file."""
    return {path.stem.rstrip("_"): path for path in sorted(FOLDER.glob("[!_]*.py"))}


def summary(path: Path) -> str:
    """Return the first line of a module's docstring, without importing it."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark, or list them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, add_help=False)
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.add_argument("-h", "--help", action="store_true", help="show this help, or that of NAME")
    options, rest = parser.parse_known_args(arguments)
    modules = benchmarks()
    if options.name is None:
        parser.print_help() if options.help else None
        print("\n".join(f"{name:<10} {summary(path)}" for name, path in modules.items()))
        return 0 if options.list or options.help else 2
    if options.name not in modules:
        print(
            f"no benchmark {options.name!r}; expected one of {', '.join(modules)}{nearest(options.name, modules)}",
            file=sys.stderr,
        )
        return 2
    return _run(options.name, modules[options.name], [*rest, *(["--help"] if options.help else [])])


def _run(name: str, path: Path, arguments: Sequence[str]) -> int:
    module = import_module(f"benchmarks.{path.stem}")
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the benchmark sets (NAME.csv.gz)")
    parser.add_argument("--repeats", type=int, default=5, help="how often each is timed (default: 5)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="save the figures too, a tidy row each")
    if hasattr(module, "arguments"):
        module.arguments(parser)
    options = parser.parse_args(arguments)
    print(environment(), end="\n\n", flush=True)
    rows = []
    try:
        for row in module.run(options):
            rows.append(row)
            if options.csv is not None:  # again with every row: hours of figures must not hang on the last one
                save(rows, options.csv)
    except AlrvizError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
