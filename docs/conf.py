"""The documentation site: `sphinx-build -W -b html docs build/site`."""

from importlib import import_module
from pathlib import Path
from typing import Any

import alrviz

project = "alrviz"
author = "the alrviz developers"
copyright = "the alrviz developers"
version = release = alrviz.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "README.md"]
html_theme = "furo"
html_title = "alrviz"
templates_path = ["templates"]

# The pages are GitHub's Markdown as it stands: links to headings, and to files beside the documentation.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
suppress_warnings = ["myst.header"]
# Notebooks are run by the tests, in JupyterLab; here they are shown as they were saved.
nb_execution_mode = "off"

autosummary_generate = True
autodoc_typehints = "none"  # shapes and units stand in the texts; signatures are shown with their defaults
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = True
napoleon_use_ivar = True  # an attribute may be a property, which has a text of its own
napoleon_use_rtype = False


def api_page() -> str:
    """Return the page of the public names, a table for each folder of the package."""
    groups: dict[str, list[str]] = {}
    for name in sorted(alrviz._names, key=str.lower):
        module = getattr(getattr(alrviz, name), "__module__", "alrviz.errors").split(".")[1]
        groups.setdefault(module, []).append(name)
    title_by_module = {
        "data": "Tables", "estimators": "Estimators (scikit-learn)", "fitting": "Recipes and runs",
        "studies": "Races and studies", "views": "Views", "errors": "Errors and warnings",
    }  # fmt: skip
    parts = [
        "# API reference",
        "Every public name of `import alrviz`; its examples are run as tests.",
        "",
    ]
    for module, title in title_by_module.items():
        entries = "\n".join(f"   alrviz.{name}" for name in groups.pop(module))
        parts.append(f"## {title}\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: api\n\n{entries}\n```\n")
    if groups:
        raise ValueError(f"public names of modules without a title here: {groups}")
    return "\n".join(parts)


def glossary_page() -> str:
    """Return the page of the terms, which the explorer shows on hover."""
    from alrviz.explorer.shell.glossary import TERMS

    entries = "\n\n".join(f"{term}\n: {text}" for term, text in TERMS.items())
    return f"# Glossary\n\n{entries}\n"


def skip_foreign_member(app: Any, kind: str, name: str, member: object, is_skipped: bool, options: Any) -> bool | None:
    """Leave out members that a class inherits from other packages: pages of Panel's parameters help nobody."""
    module = getattr(member, "__module__", "") or ""
    return True if kind == "class" and module and not module.startswith("alrviz") else None


def setup(app: Any) -> None:
    """Write the pages of public names and of the glossary. The import makes lazy names visible to autosummary."""
    import_module("alrviz.views")
    (Path(__file__).parent / "api.md").write_text(api_page(), encoding="utf-8")
    (Path(__file__).parent / "glossary.md").write_text(glossary_page(), encoding="utf-8")
    app.connect("autodoc-skip-member", skip_foreign_member)
