"""The frame around every page: rail, header, theme, notices, glossary, what a lost connection says."""

from importlib.resources import files


def asset(name: str, package: str = __name__) -> str:
    """Return a script or a style sheet that lies beside the modules of a package."""
    return (files(package) / name).read_text(encoding="utf-8")
