"""Chromium for the benchmarks of the explorer: its pages, what they wait for, and on which cores it runs."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._server import Server

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--no-first-run"]  # fmt: skip
SCRIPTS = [Path(__file__).with_name(name) for name in ("_page.js", "_live.js")]
PATIENCE = 120_000  # ms
PRICED = "bench.says('per iteration, all racers')"  # the page has encoded and counted the table


@contextmanager
def pin_processes(first: bool) -> Iterator[None]:
    """Keep processes started within the block on the first core, or off it; no-op on one core or without affinity."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else set()
    if len(cores) < 2:
        yield
        return
    os.sched_setaffinity(0, {min(cores)} if first else cores - {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextmanager
def browser() -> Iterator[Any]:
    """Yield Chromium, or None where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        yield None
        return
    with sync_playwright() as playwright:
        executable = next(filter(None, map(shutil.which, CHROMIUMS)), playwright.chromium.executable_path)
        if not Path(executable).exists():
            yield None
            return
        chromium = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield chromium
        chromium.close()


@contextmanager
def page_of(chromium: Any, address: str) -> Iterator[Any]:
    """Open a page in a context of its own."""
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    for script in SCRIPTS:
        page.add_init_script(path=script)
    page.goto(address, wait_until="commit", timeout=PATIENCE)
    try:
        yield page
    finally:
        context.close()


def wait(page: Any, condition: str, milliseconds: int = PATIENCE) -> None:
    """Wait until a condition of the page's script holds."""
    page.wait_for_function(f"() => window.bench && ({condition})", timeout=milliseconds, polling=20)


def started(page: Any, server: Server, eager: bool = False) -> float:
    """Have a race begin, if the page does not start one by itself; return when (ms since 1970).

    Eager: Run is pressed as soon as it can be, whatever the page still has to prepare.
    """
    if not eager:
        wait(page, PRICED, 3 * PATIENCE)
        time.sleep(1.0)
    while not np.isfinite(begin_time := server.ask("notes").begin_time):
        if page.evaluate("Boolean(bench.button('Run'))"):
            return page.evaluate("bench.press('Run')")
        time.sleep(0.02)
    return 1000.0 * begin_time


def beat(page: Any) -> float:
    """Return the seconds of an empty request to the page's server."""
    script = "async () => { const b = bench.now(); await fetch('static/js/bokeh.min.js', {method: 'HEAD', cache: 'no-store'}); return bench.now() - b; }"  # noqa: E501
    return seconds_of(page.evaluate(script))


def seconds_of(milliseconds: float | None) -> float:
    """Return the seconds of what a page has timed; NaN where it did not come within its time."""
    return np.nan if milliseconds is None else milliseconds / 1000.0
