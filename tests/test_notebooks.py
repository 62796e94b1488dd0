"""Every example notebook runs from the first cell to the last, and is stored without output."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat comes with the test extra's jupyterlab")
nbclient = pytest.importorskip("nbclient", reason="nbclient is in the test extra")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")  # zmq's and asyncio's own changes
@pytest.mark.filterwarnings("ignore::DeprecationWarning:zmq")
def test_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "store notebooks without output"
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    client.execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in shown if output.output_type == "stream" and output.name == "stderr"]
    mimes = {mime for output in shown for mime in output.get("data", ())}
    assert "text/html" in mimes
    assert any(mime.startswith("application/vnd.holoviews") for mime in mimes)  # the live view
