"""The example notebooks in a real JupyterLab: all cells at once, buttons, files saved and opened again.

What a page has drawn is counted there (the points of every source) and compared with what the kernel has. With
ALRVIZ_LAB_RUNS=20 every notebook is run so often, each time with a fresh kernel; with ALRVIZ_SHOTS=FOLDER pictures of
the pages are kept, to be looked at.
"""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest
from PIL import Image

from tests.conftest import ROOT, end_process, free_port, wait_until

pytest.importorskip("jupyterlab", reason="jupyterlab is in the test extra")
pytestmark = pytest.mark.jupyterlab

RUNS = int(os.environ.get("ALRVIZ_LAB_RUNS", "1"))
FOLDER = os.environ.get("ALRVIZ_SHOTS", "")
MOST = 500_000  # bytes that a view may add to a file
# A race that can be stopped, laid out beside what is Panel's.
LAID_OUT = "pn.Column('# A heading', pn.widgets.Select.from_param(view.param.axis), view)"
LONG = {
    "rows=1000": "rows=20_000",
    "max_iter=1000": "max_iter=100_000, tol=1e-300",
    '"view"': f'"import panel as pn\\n", "{LAID_OUT}"',
    "race.join()": "pass",
    "run.outcome.code": "run.phase",
}
VIEW = "[data-lm-suppress-shortcuts]"
# Added as the last cell: when nothing moves any more, what the kernel's figures hold.
COUNTS = """
import time
from collections import Counter
while {view}.standalone_pump.moving:
    time.sleep(0.05)
sources = {{r.data_source.id: r.data_source for f in {view}.figures() for r in f.renderers}}
print("points", sorted(max((len(c) for c in s.data.values()), default=0) for s in sources.values()))
"""
MENDED = "() => Bokeh.Models.get('panel.models.esm.ReactComponent').prototype._render_code.mended"
DRAWN = """() => [...window.alrviz.alive.values()].map((view) => view.document()).filter(Boolean).map((document) => {
  const figures = [...document._all_models.values()].filter((model) => model.type === "Figure");
  const sources = new Set(figures.flatMap((figure) => figure.renderers.map((renderer) => renderer.data_source)));
  return [...sources].map((source) => source.get_length() ?? 0).sort((a, b) => a - b);
})"""

LABELS = """() => [...window.alrviz.alive.values()].map((view) => view.document()).filter(Boolean)
  .flatMap((document) => [...document._all_models.values()].map((model) => String(model.axis_label ?? "")))"""


class Lab:
    """JupyterLab on a folder of notebooks."""

    def __init__(self, folder: Path, url: str):
        self.folder, self.url = folder, url

    def notebook(self, name: str, change: Callable[[str], str] = str) -> str:
        """Put a copy of an example there, with a cell that counts; return its name."""
        cells = json.loads(change((ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")))
        for cell in cells["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        view = "film" if name == "density" else "view"
        last = {"cell_type": "code", "id": "counts", "metadata": {}, "outputs": [], "execution_count": None}
        cells["cells"].append(last | {"source": COUNTS.format(view=view)})
        copy = f"{name}-{len(list(self.folder.glob('*.ipynb')))}"
        (self.folder / f"{copy}.ipynb").write_text(json.dumps(cells), encoding="utf-8")
        return copy

    def outputs(self, name: str) -> list[Any]:
        """The outputs in a file, as saved."""
        cells = json.loads((self.folder / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        return [output for cell in cells for output in cell.get("outputs", ())]

    def end_kernels(self) -> None:
        """Shut all kernels down."""
        with urlopen(f"{self.url}/api/sessions", timeout=30) as answer:
            sessions = json.load(answer)
        for session in sessions:
            urlopen(Request(f"{self.url}/api/sessions/{session['id']}", method="DELETE"), timeout=30).close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    folder.mkdir()
    port = free_port()
    options = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    options.append("--ServerApp.disable_check_xsrf=True")  # the tests end kernels
    own = {"JUPYTER_CONFIG_DIR": str(home / "config"), "HOME": str(home), "PYTHONPATH": str(ROOT)}
    with (home / "lab.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options, f"--notebook-dir={folder}", str(folder)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | own,
        )
    try:
        wait_until(lambda: b"is running at" in (home / "lab.log").read_bytes(), 120, "JupyterLab to answer")
        yield Lab(folder, f"http://localhost:{port}")
    finally:
        end_process(process)


@pytest.fixture(scope="module")
def context(browser: Any) -> Iterator[Any]:
    """A reader's browser, which keeps JupyterLab's scripts from one page to the next."""
    made = browser.new_context(viewport={"width": 1280, "height": 1700})
    yield made
    made.close()


@pytest.fixture
def opened(lab: Lab, context: Any) -> Iterator[Callable[[str], Any]]:
    """A function that opens a notebook; no script may fail, and nothing may be asked of another machine."""
    problems: list[str] = []

    def asked(request: Any) -> None:
        if not request.url.startswith((lab.url, "data:", "blob:", lab.url.replace("http", "ws"))):
            problems.append(f"asked of another machine: {request.url}")

    def open_one(name: str) -> Any:
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(f"exception: {error}"))
        page.on("request", asked)
        page.goto(f"{lab.url}/lab/tree/{name}.ipynb?reset")
        page.get_by_text(re.compile(r"Python 3.* \| Idle")).first.wait_for(timeout=120_000)
        return page

    yield open_one
    for page in context.pages:
        page.close()
    lab.end_kernels()
    assert not problems, "\n".join(problems)


def _run_all(page: Any) -> None:
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
    page.locator("[data-command='runmenu:run-all']").click()


def _points(page: Any) -> list[int]:
    text = page.get_by_text(re.compile(r"^points \[")).first.text_content(timeout=180_000)
    return json.loads(text.removeprefix("points "))


def _keep(page: Any, name: str) -> None:
    """Keep a picture, where any are wanted."""
    if FOLDER:
        Path(FOLDER).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(FOLDER) / f"lab-{name}.png")


def _inked(page: Any) -> float:
    """The share of a view's pixels that have a colour."""
    shot = Image.open(io.BytesIO(page.locator(VIEW).first.screenshot())).convert("RGB")
    pixels = np.asarray(shot, dtype=int)
    return float((pixels.max(axis=2) - pixels.min(axis=2) > 60).mean())


def _save(page: Any) -> None:
    page.locator(".jp-NotebookPanel:visible .jp-NotebookPanel-toolbar [data-jp-item-name='save']").click()
    page.locator(".jp-mod-current.jp-mod-dirty").wait_for(state="detached", timeout=30_000)


ENDS = {
    "race": r"^alr is .*faster|within 0\.1 %",
    "density": r"^ended$|^step 11 of 11",
    "order": r"^20 of 20 fits · done$",
}


def _run_whole(page: Any, name: str) -> list[int]:
    """Run all cells at once, and see that the page has drawn every point that the kernel has; return how many."""
    _run_all(page)
    counts = _points(page)
    assert sum(counts) > 30
    wait_until(lambda: page.evaluate(DRAWN) == [counts], 60, lambda: f"{counts}; drawn: {page.evaluate(DRAWN)}")
    page.get_by_text(re.compile(ENDS[name])).first.wait_for(timeout=10_000)
    wait_until(lambda: _inked(page) > 0.002, 30, "colours on the canvases")
    run = page.get_by_role("button", name=re.compile(r"^Run.*\(space\)")).first
    assert page.evaluate(MENDED), "what the kernel sets comes back as the reader's"
    assert run.locator(".material-icons").first.evaluate("el => el.getBoundingClientRect().width") < 30, "no icon"
    return counts


@pytest.mark.slow(reason="every notebook; a run of order begins the next test, one of a race the last")
@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("turn", range(RUNS))
def test_all_cells_at_once_leave_the_view_complete(
    lab: Lab, opened: Callable[[str], Any], name: str, turn: int
) -> None:
    """A view whose cell is followed at once by one that runs it: the page has every point that the kernel has."""
    page = opened(lab.notebook(name))
    _run_whole(page, name)
    if turn == 0:
        _keep(page, f"{name}-all")


def test_the_file_keeps_the_last_picture_and_pages_find_the_view_again(lab: Lab, opened: Callable[[str], Any]) -> None:
    copy = lab.notebook("order")
    page = opened(copy)
    counts = _run_whole(page, "order")
    _save(page)
    (shown,) = [output["data"] for output in lab.outputs(copy) if "image/png" in output.get("data", {})]
    assert "Pairs (n = 2) are best" in "".join(shown["text/plain"])
    assert sum(len("".join(part)) for part in shown.values()) < MOST
    assert (lab.folder / f"{copy}.ipynb").stat().st_size < MOST

    page.reload()  # the kernel goes on: the view is alive
    wait_until(lambda: page.evaluate("() => !!window.alrviz") and page.evaluate(DRAWN) == [counts], 60, "it is back")
    page.locator(".jp-CodeCell").nth(1).locator(".jp-InputArea").click()
    page.keyboard.press("Control+Enter")  # a new view of a new study in the same place
    wait_until(lambda: page.evaluate(DRAWN) not in ([], [counts]), 60, "the cell that was run again shows its view")
    _save(page)

    lab.end_kernels()
    page.close()
    page = opened(copy)  # another kernel, which knows of no view: the picture stays
    picture = page.locator(".alrviz-view img").first
    picture.wait_for(timeout=60_000)
    assert picture.evaluate("image => image.naturalWidth") > 500
    assert not page.locator(VIEW).count()
    _keep(page, "order-reopened")


def _iteration(page: Any) -> int:
    text = page.get_by_text(re.compile(r"At iteration [\d,]+")).first.text_content(timeout=120_000)
    return int(re.search(r"At iteration ([\d,]+)", text)[1].replace(",", ""))


def test_a_long_race_laid_out_beside_other_things_moves_and_stops(lab: Lab, opened: Callable[[str], Any]) -> None:
    def longer(text: str) -> str:
        for old, new in LONG.items():
            assert old in text
            text = text.replace(old, new)
        return text

    page = opened(lab.notebook("race", longer))
    page.locator(".jp-CodeCell").first.locator(".jp-InputArea").click()
    for _ in range(3):  # as far as the cell that shows the view
        page.keyboard.press("Shift+Enter")
    page.get_by_role("button", name="Run or pause (space)").first.click(timeout=120_000)
    before = _iteration(page)
    wait_until(lambda: _iteration(page) > before + 300, 90, "the race to move")
    page.locator(".alrviz-view").evaluate("place => { place.dataset.before = true }")
    page.get_by_role("button", name=re.compile(r"Stop.*\(s\)")).first.click()
    page.get_by_text("stopped").first.wait_for(timeout=10_000)
    stopped = _iteration(page)
    page.wait_for_timeout(1_000)
    assert _iteration(page) == stopped
    # The picture in the file is another now, so the output was drawn anew and the view has moved: it looks as before.
    page.locator(".alrviz-view:not([data-before])").wait_for(timeout=60_000)
    assert page.locator(".MuiSelect-icon").first.evaluate("el => el.getBoundingClientRect().width") < 40, "no style"
    assert page.locator(".MuiSlider-root").first.evaluate("el => el.getBoundingClientRect().width") > 80, "no slider"
    page.get_by_label("Axis", exact=True).select_option("passes")
    wait_until(lambda: any("passes" in label for label in page.evaluate(LABELS)), 30, "the other axis")
    assert not page.get_by_text("Traceback").count()
    _keep(page, "race-stopped")
