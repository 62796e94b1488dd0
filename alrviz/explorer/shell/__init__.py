"""The frame around every page: rail, header, theme, notices, dialogs, glossary, lesson, class, connection."""

from importlib.resources import files


def asset(name: str, package: str = __name__) -> str:
    """Return the text of a script or a style sheet in a package's folder."""
    return (files(package) / name).read_text(encoding="utf-8")
