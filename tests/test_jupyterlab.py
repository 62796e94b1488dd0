"""The example notebook of a race in a real JupyterLab: it moves, it stops, and nothing moves after that."""

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
        wait_until(lambda: b"is running at" in said.read_bytes(), 60, "JupyterLab to answer")
        yield f"http://localhost:{port}"
    finally:
        end_process(process)
        log.close()


def _iteration(page: Any) -> int:
    text = page.get_by_text(re.compile(r"At iteration [\d,]+")).first.text_content(timeout=120_000)
    return int(re.search(r"iteration ([\d,]+)", text)[1].replace(",", ""))


def test_a_race_moves_and_stops_in_jupyterlab(lab: str, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if "TypeError" in message.text else None)
    page.goto(f"{lab}/lab/tree/race.ipynb")
    page.locator("p", has_text="Two racers look for").click(timeout=60_000)
    page.get_by_text(re.compile(r"Python 3.* \| Idle")).first.wait_for(timeout=60_000)
    for _ in range(4):  # as far as the cell that shows the view
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(500)
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
