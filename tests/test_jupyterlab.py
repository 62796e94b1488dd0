"""The example notebooks in a real JupyterLab: a race moves and stops, a film plays, a study fills its picture.

With ALRVIZ_SHOTS=FOLDER the pictures are kept, to be looked at.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, end_process, free_port, wait_until

pytestmark = pytest.mark.slow  # JupyterLab and a kernel take half a minute to be there

# A race long enough to be stopped: the notebook's own is over in a second.
LONG = {"rows=1000": "rows=20_000", "max_iter=1000": "max_iter=100_000, tol=1e-300"}
FOLDER = os.environ.get("ALRVIZ_SHOTS", "")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab on a copy of the notebooks, the race's made longer."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is in the test extra")
    folder = shutil.copytree(ROOT / "docs" / "notebooks", tmp_path / "notebooks")
    race = folder / "race.ipynb"
    text = race.read_text(encoding="utf-8")
    for old, new in LONG.items():
        assert old in text
        text = text.replace(old, new)
    race.write_text(text, encoding="utf-8")
    port = free_port()
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--IdentityProvider.token=",
        f"--notebook-dir={folder}",
    ]
    log = (tmp_path / "lab.log").open("wb")
    environment = os.environ | {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "HOME": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options, str(folder)],
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment,
    )
    try:
        said = tmp_path / "lab.log"
        wait_until(lambda: b"is running at" in said.read_bytes(), 120, "JupyterLab to answer")
        yield f"http://localhost:{port}"
    finally:
        end_process(process)
        log.close()


def _iteration(page: Any) -> int:
    text = page.get_by_text(re.compile(r"At iteration [\d,]+")).first.text_content(timeout=120_000)
    return int(re.search(r"iteration ([\d,]+)", text)[1].replace(",", ""))


def _opened(lab: str, browser: Any, notebook: str, words: str, problems: list[str]) -> Any:
    """Open a notebook and choose its first cell, once a kernel is there."""
    page = browser.new_page(viewport={"width": 1280, "height": 1700})
    page.on("console", lambda message: problems.append(message.text) if "TypeError" in message.text else None)
    page.goto(f"{lab}/lab/tree/{notebook}.ipynb")
    page.locator("p", has_text=words).first.click(timeout=60_000)
    page.get_by_text(re.compile(r"Python 3.* \| Idle")).first.wait_for(timeout=60_000)
    return page


def _run_cells(page: Any, count: int) -> None:
    for _ in range(count):
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(500)


def _keep(page: Any, name: str) -> None:
    """Keep a picture, where any are wanted."""
    if FOLDER:
        page.wait_for_timeout(1_500)
        Path(FOLDER).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(FOLDER) / f"lab-{name}.png")


def test_a_race_moves_and_stops_in_jupyterlab(lab: str, browser: Any) -> None:
    problems: list[str] = []
    page = _opened(lab, browser, "race", "Two racers look for", problems)
    _run_cells(page, 4)  # as far as the cell that shows the view
    run = page.get_by_role("button", name="Run or pause (space)").first
    run.click(timeout=120_000)
    before = _iteration(page)
    wait_until(lambda: _iteration(page) > before + 20, 60, "the race to move")
    page.get_by_role("button", name=re.compile(r"Stop.*\(s\)")).first.click()
    page.get_by_text("stopped").first.wait_for(timeout=10_000)
    stopped = _iteration(page)
    page.wait_for_timeout(2_000)
    assert _iteration(page) == stopped
    assert not problems, "changes of the page that it could not read"
    page.close()


VIEWS = [
    ("density", "asks of every number", r"^ended$", r"^'(converged|stalled|max_iter).*nats per row'$"),
    ("order", "Order 1 looks at columns", r"^\d+ of \d+ fits · done$", r"^n = 2 lowers held-out log loss"),
]


@pytest.mark.parametrize(("notebook", "words", "end", "printed"), VIEWS)
def test_a_view_runs_to_its_end_in_jupyterlab(
    lab: str, browser: Any, notebook: str, words: str, end: str, printed: str
) -> None:
    """Run is pressed in the view; the cell below finds that it has run."""
    problems: list[str] = []
    page = _opened(lab, browser, notebook, words, problems)
    _run_cells(page, 4)
    run = page.get_by_role("button", name=re.compile(r"^Run.*\(space\)")).first
    run.click(timeout=120_000)
    page.get_by_text(re.compile(end)).first.wait_for(timeout=120_000)
    page.locator("p", has_text="above, or").first.click()
    _keep(page, f"{notebook}-ended")
    _run_cells(page, 2)
    page.get_by_text(re.compile(printed)).last.wait_for(timeout=60_000)
    _keep(page, f"{notebook}-printed")
    assert not page.get_by_text("Traceback (most recent call last)").count()
    assert not problems, "changes of the page that it could not read"
    page.close()
