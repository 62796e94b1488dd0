"""What a reader does and sees, as methods: tests speak of buttons and numbers, not of the page's structure."""

import base64
import io
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin

import pandas as pd

import benchmarks
from tests.conftest import wait_until

# A race that does not end while a test looks at it: gradient descent never gets there.
LONG = "racers=lr_a0.01_vgd_i100000~alr_a0.01_pphi_vgd_i100000"
PATIENCE = 90.0  # seconds for what only must happen at all: the machine may be busy with other things
PROBES = (Path(benchmarks.__file__).with_name("_page.js"), Path(__file__).with_name("probe.js"))


@dataclass
class Line:
    """What the picture draws of one racer."""

    steps: list[int]
    values: list[float]
    heldout: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.steps)


class Explorer:
    """A page of the explorer in a browser."""

    def __init__(self, page: Any, url: str):
        self.page, self.url = page, url
        page.set_default_timeout(PATIENCE * 1000)
        for script in PROBES:
            page.add_init_script(path=script)

    # ---- coming and going ------------------------------------------------------------------------------------------

    def open(self, query: str = "") -> "Explorer":
        """Open the page and wait until it can be used."""
        self.page.goto(urljoin(self.url, query), wait_until="commit")
        return self.ready()

    def ready(self) -> "Explorer":
        self.page.get_by_role("button", name="Pages", exact=True).wait_for()
        self.wait(lambda: self.js("Bokeh.documents.length > 0 && document.readyState === 'complete'"), "the page")
        return self

    def go(self, page: str) -> None:
        self.page.get_by_role("button", name=page, exact=True).click()

    def query(self) -> str:
        """The query of the address, asked of the browser: Playwright's `page.url` waits for a call that listens."""
        return self.js("location.search")

    def asked(self) -> dict[str, list[str]]:
        """The address's parameters."""
        return parse_qs(self.query().removeprefix("?"))

    def js(self, expression: str, argument: Any = None) -> Any:
        return self.page.evaluate(expression, argument)

    def wait(self, condition: Any, what: str | Callable[[], str], seconds: float = PATIENCE) -> Any:
        return wait_until(condition, seconds, what)

    def still(self, expression: str) -> Any:
        """What an expression gives once it gives the same four times in a row: nothing moves it any more."""
        seen: list[Any] = []

        def same() -> bool:
            seen.append(self.js(expression))
            return len(seen) > 3 and seen[-1] is not None and seen[-4:] == [seen[-1]] * 4

        wait_until(same, PATIENCE, lambda: f"{expression} to rest; it gave {seen[-1:]}", every=0.1)
        return seen[-1]

    # ---- controls ----------------------------------------------------------------------------------------------------

    def button(self, *names: str) -> Any:
        """A button by the beginning of its name or its words; several names are alternatives."""
        return self.page.get_by_role("button", name=re.compile(f"^({'|'.join(map(re.escape, names))})"))

    @property
    def run(self) -> Any:
        return self.button("Run", "Pause")

    @property
    def stop(self) -> Any:
        return self.button("Stop")

    @property
    def step(self) -> Any:
        return self.button("Step")

    @property
    def back(self) -> Any:
        return self.button("Back")

    @property
    def slider(self) -> Any:
        return self.page.get_by_role("slider", name="Iteration")

    def slider_value(self) -> int:
        return int(self.slider.first.get_attribute("aria-valuenow") or self.slider.first.input_value())

    def choose(self, label: str, option: str) -> None:
        """Choose from a menu."""
        self.page.get_by_role("combobox", name=re.compile(f"^{label}")).click()
        entry = self.page.get_by_role("option", name=option, exact=True)  # panel-material-ui's are items of a menu
        entry.or_(self.page.get_by_role("menuitem", name=option, exact=True)).click()
        self.page.get_by_role("listbox").wait_for(state="hidden")

    def order(self, n: int) -> None:
        self.page.get_by_role("button", name=f"n = {n}", exact=True).click()

    def unfold(self, title: str) -> None:
        """Open a folded part by its title."""
        self.page.get_by_role("button", name=title, exact=True).click()

    def race(self) -> None:
        """Wait until what is drawn is a race on this table, pressing Run if it does not start by itself."""
        self.wait_says("per iteration")
        started = time.monotonic()
        # A cheap race starts by itself, a moment later where the machine is busy, and a press then would pause it.
        while self.says("^(outdated|recorded|stopped)") and time.monotonic() < started + 3:
            time.sleep(0.1)
        if self.says("^(outdated|recorded|stopped)"):
            self.run.click()
        self.wait(lambda: self.says("^(running|paused|ended)$") and self.fewest() >= 1, "a race on this table")

    def everything(self) -> str:
        """All text of the page, shown or folded, as one line."""
        return self.js("() => Array.from(probe.all(), (e) => probe.ownText(e)).filter(Boolean).join(' ')")

    # ---- what is shown ---------------------------------------------------------------------------------------------

    def says(self, pattern: str) -> bool:
        """Whether a visible element's own text matches."""
        return self.js("(pattern) => probe.says(pattern)", pattern)

    def wait_says(self, pattern: str, seconds: float = PATIENCE) -> None:
        self.wait(lambda: self.says(pattern), lambda: f"the page says {pattern!r}; it says:\n{self.text()}", seconds)

    def text(self) -> str:
        return self.page.locator("body").aria_snapshot()

    def racers(self) -> dict[str, Line]:
        """What the convergence picture draws now."""
        return self.lines(self.js("() => probe.racers()"))

    @staticmethod
    def lines(found: dict[str, Any]) -> dict[str, Line]:
        return {
            name: Line(line["steps"], line["values"], line.get("heldout", {}).get("values", []))
            for name, line in found.items()
        }

    def last_steps(self) -> dict[str, int]:
        return {name: (line.steps[-1] if line.steps else -1) for name, line in self.racers().items()}

    def fewest(self) -> int:
        """How many iterations the racer with the fewest has drawn (a start point is one)."""
        return min((step + 1 for step in self.last_steps().values()), default=0)

    def csv(self) -> pd.DataFrame:
        """The numbers as they are saved."""
        save = self.page.get_by_role("button", name=re.compile(r"^(CSV(?!,)|Save all numbers)")).first
        if not save.is_visible():
            self.unfold("Numbers")
        with self.page.expect_download() as download:
            save.click()
        return pd.read_csv(io.StringIO(Path(download.value.path()).read_text()), comment="#")

    def picked(self, name: str, data: bytes | None = None, path: Path | None = None) -> None:
        """Give a file to the drop zone's own input, as its "browse" does."""
        file: Any = path if path is not None else {"name": name, "mimeType": "text/csv", "buffer": data}
        self.page.locator("input[type=file]").set_input_files(file)

    def dropped(self, name: str, data: bytes) -> None:
        """Drop a file anywhere on the page."""
        self.js(
            """([name, text]) => {
                const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
                const transfer = new DataTransfer();
                transfer.items.add(new File([bytes], name));
                const target = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
                const event = {dataTransfer: transfer, bubbles: true, composed: true, cancelable: true};
                target.dispatchEvent(new DragEvent("dragover", event));
                target.dispatchEvent(new DragEvent("drop", event));
            }""",
            [name, base64.b64encode(data).decode()],
        )


def say(*lines: str) -> None:
    """Write figures that are told, not asserted (`pytest -s` shows them)."""
    sys.stdout.write("\n".join(["", *lines, ""]))
