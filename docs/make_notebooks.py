"""Run the example notebooks and store them with their outputs, for readers on the web.

Usage: python docs/make_notebooks.py [NAME ...]

Of a view only its picture and words are stored. The script that asks a kernel for the live view is left out: readers
without a kernel do not need it, and a notebook that is run again makes it anew.
"""

import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat

FOLDER = Path(__file__).parent / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
SECONDS = 600  # of a cell, at most
_STATIC = ("text/plain", "image/png")


def run(path: Path) -> Any:
    """Return the notebook with the outputs of a run in its own folder."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()
    return notebook


def make_static(notebook: Any) -> None:
    """Leave of each view its picture and words; drop what differs from run to run."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                output.data = {kind: output.data[kind] for kind in _STATIC}
                output.metadata = {}


def main(names: list[str]) -> None:
    """Store the notebooks of these names, or all."""
    for path in [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb")):
        notebook = run(path)
        make_static(notebook)
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main(sys.argv[1:])
