"""Visit every page of the explorer twice in one browser tab: seconds of long tasks per click, elements, models.

A long task is work of the browser's main thread of 50 ms or more, during which it answers to nothing. The seconds
of a click are the sum of the long tasks from the click until the page has been quiet for `--quiet` seconds.

Needs Playwright (extra `bench`) and Chromium.
"""

import argparse
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks._chromium import browser, page_of, wait
from benchmarks._server import Server, serving
from benchmarks._tools import Row, show

TITLES = (
    "Boundaries", "Generative to discriminative", "Lessons", "Which order?", "Bias and variance", "Compare",
    "Interactions", "Data", "Selection", "Convergence",
)  # fmt: skip
MAX_CLICK_SECONDS = 90.0
WORST_TARGET_SECONDS, MEDIAN_TARGET_SECONDS = 1.5, 0.5
MAX_ELEMENTS = 4_500
_SCRIPT = """(() => {
  const tasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) tasks.push([entry.startTime, entry.duration]);
  }).observe({ type: "longtask", buffered: true });
  const since = (begin) => tasks.filter(([start, duration]) => start + duration >= begin).map((task) => task[1]);
  const lastEnd = () => Math.max(0, ...tasks.map(([start, duration]) => start + duration));
  const elements = () => [...explorerPage.all()].length;
  const models = () => Bokeh.documents.reduce((sum, document) => sum + document._all_models.size, 0);
  window.visit = { since, lastEnd, elements, models };
})()"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the table and the number of rounds."""
    parser.add_argument("--link", default="", help="settings of the first page, e.g. data=mushroom (default: none)")
    parser.add_argument("--rounds", type=int, default=2, help="visits of every page (default: 2)")
    parser.add_argument("--quiet", type=float, default=1.5, help="seconds without a long task that end a click")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row per click."""
    with browser() as chromium:
        if chromium is None:
            print("nothing measured: Playwright or Chromium is missing")
            return
        with serving(None) as server:
            server.ask("warm")
            rows = visits(chromium, server, options)
    show(
        (
            (f"{row['round']}: {row['page']}", f"{row['seconds']:.2f} s", f"{row['longest']:.2f} s", row["elements"],
             row["models"], row["server models"])
            for row in rows
        ),
        header=("click on", "long tasks", "longest", "elements", "models", "on the server"),
    )  # fmt: skip
    seconds = [row["seconds"] for row in rows]
    print(f"\nlong-task seconds per click: worst {max(seconds):.2f} (to reach {WORST_TARGET_SECONDS}), "
          f"median {median(seconds):.2f} (to reach {MEDIAN_TARGET_SECONDS})")  # fmt: skip
    print(f"elements at the end: {rows[-1]['elements']:,} (at most {MAX_ELEMENTS:,})")
    for message in dict.fromkeys(message for row in rows for message in row["console"].split("\n") if message):
        print(f"console: {message}")
    yield from rows


def visits(chromium: Any, server: Server, options: argparse.Namespace) -> list[Row]:
    """Click through the rail `options.rounds` times; return a row per click."""
    rows: list[Row] = []
    with page_of(chromium, f"{server.url}explorer?{options.link}") as page:
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: messages.append(str(error)))
        wait(page, "bench.drawn()")
        page.evaluate(_SCRIPT)
        time.sleep(5.0)
        for turn in range(options.rounds):
            for title in TITLES:
                rows.append({"round": turn + 1, "page": title, **click(page, title, options.quiet)})
                rows[-1]["server models"] = server.ask("models")
                rows[-1]["console"] = "\n".join(messages)
                messages.clear()
                print(f"{turn + 1}: {title} ...", rows[-1], flush=True)
    return rows


def click(page: Any, title: str, quiet: float) -> dict[str, Any]:
    """Click a page's button in the rail; return what the browser worked until it was quiet again."""
    begin = page.evaluate("performance.now()")
    page.evaluate(f"bench.press({title!r})")
    deadline = time.monotonic() + MAX_CLICK_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.1)
        clock, last_end = page.evaluate("[performance.now(), visit.lastEnd()]")
        is_open = page.evaluate(f"document.title.startsWith({title!r}) && !bench.says('^Opening ')")
        if is_open and clock - max(last_end, begin) > 1e3 * quiet:
            break
    tasks = page.evaluate(f"visit.since({begin})")
    return {
        "seconds": sum(tasks) / 1e3,
        "longest": max(tasks, default=0.0) / 1e3,
        "elements": page.evaluate("visit.elements()"),
        "models": page.evaluate("visit.models()"),
    }
