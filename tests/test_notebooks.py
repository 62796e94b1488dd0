"""Every example notebook runs from the first cell to the last, and is stored with pictures that need no kernel."""

import base64
import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

MOST = 500_000  # bytes that a view may add to a file
STORED_BYTES = 150_000  # of a notebook in the repository
LAST = {"race": "within 1 %", "density": "Iteration 11: loss per row", "order": "Pairs (n = 2) are best"}
NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


IN_JUPYTERLAB = pytest.mark.slow(reason="test_jupyterlab runs all its cells")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_the_picture_of_its_end(path):
    """As docs/make_notebooks.py leaves it: readers on the web have no kernel."""
    assert path.stat().st_size < STORED_BYTES
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert all(cell["execution_count"] for cell in cells), "run python docs/make_notebooks.py"
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    (view,) = [output["data"] for output in outputs if "image/png" in output.get("data", {})]
    assert set(view) == {"text/plain", "image/png"}, "the script of a live view is no use without its kernel"
    assert LAST[path.stem] in "".join(view["text/plain"])
    assert Image.open(io.BytesIO(base64.b64decode(view["image/png"]))).size[0] > 1000


@pytest.mark.jupyterlab
@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=[IN_JUPYTERLAB] * (path.stem == "order")) for path in NOTEBOOKS]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")  # zmq's and asyncio's own changes
@pytest.mark.filterwarnings("ignore::DeprecationWarning:zmq")
def test_notebook_runs(path):
    # Imported here: nbformat compiles grammars for more than a second, in every process that collects this module.
    nbclient, nbconvert, nbformat = (pytest.importorskip(name) for name in ("nbclient", "nbconvert", "nbformat"))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in shown if output.output_type == "stream" and output.name == "stderr"]
    (view,) = [output.data for output in shown if "image/png" in output.get("data", {})]
    assert "application/vnd.holoviews_exec.v0+json" in view, "what JupyterLab makes the live view of"
    assert LAST[path.stem] in view["text/plain"], "the view's words are those of the end"
    assert sum(len(str(part)) for part in view.values()) < MOST
    # The page that nbconvert makes of it shows the picture, and asks nobody for it.
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    assert re.search(r"<img[^>]* src=.data:image/png;base64,", page)
    assert Image.open(io.BytesIO(base64.b64decode(view["image/png"]))).size[0] > 1000
