"""Run the example notebooks and store them with their outputs, for readers on the web.

Usage: python docs/make_notebooks.py [NAME ...]

Only the picture and the text of a view are stored, without the script that asks a kernel for the live view: readers
without a kernel do not need it, and running the notebook again makes it again.
"""

import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat

FOLDER = Path(__file__).parent / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
MAX_CELL_SECONDS = 600
_STATIC = ("text/plain", "image/png")


def run(path: Path) -> Any:
    """Return the notebook with the outputs of a run in its own folder."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=MAX_CELL_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()
    return notebook


def make_static(notebook: Any) -> None:
    """Reduce the output of each view to picture and text, and drop metadata that differs from run to run."""
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
