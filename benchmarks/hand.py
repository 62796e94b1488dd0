"""A hand on the maps in Chromium: a dragged bandwidth during DLR-h on 20,000 rows, a drawn point among 1,000.

Needs Playwright (extra `bench`) and Chromium. Times are the page's own, from the key or the press to the frame in which
the curves, or the map's ground, are others.

    slider   one visitor's fit with validated bandwidths (mode "paper") goes on; another drags a bandwidth of the same
             table, whose weights follow
    point    a visitor draws points one by one; the model follows each
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks._chromium import PATIENCE, browser, page_of, wait
from benchmarks._server import serving
from benchmarks._tools import Row
from benchmarks.live import Findings

DATA = "explorer?page=boundaries&data=age-curve&rows={rows}"
_SCRIPT = """(() => {
  const column = (source, name) => Array.from(source.data instanceof Map ? source.data.get(name) : source.data[name]);
  const mark = (numbers) => numbers.reduce((sum, x) => (sum * 31 + Math.round(x * 1e6)) % 1e9, 0);
  const figures = (name) => Bokeh.documents.flatMap((document) => [...document._all_models.values()])
    .filter((model) => model.type === "Figure" && model.name?.startsWith(name) && Bokeh.index.find_one(model));
  const drawn = {
    curves: () => figures("alrviz-ratio").map((f) => f.renderers.filter((r) => r.glyph?.type === "MultiLine")
      .map((r) => mark(column(r.data_source, "ys").flatMap((y) => Array.from(y)))).join()).join(),
    ground: () => figures("alrviz-map").map((f) => f.renderers.filter((r) => r.glyph?.type === "ImageRGBA")
      .map((r) => mark(Array.from(column(r.data_source, "value")[0]))).join())[0],
  };
  let took = null;
  const watch = (what, event) => {
    took = null;
    const before = drawn[what]();
    addEventListener(event, () => {
      const begun = performance.now();
      const look = () => {
        if (drawn[what]() === before) requestAnimationFrame(look);
        else took = performance.now() - begun;
      };
      requestAnimationFrame(look);
    }, { once: true, capture: true });
  };
  const place = (across, up) => {
    const view = Bokeh.index.find_one(figures("alrviz-map")[0]);
    const box = view.canvas_view.el.getBoundingClientRect(), frame = view.frame.bbox;
    return [box.left + frame.left + across * frame.width, box.top + frame.top + (1 - up) * frame.height];
  };
  window.hand = { watch, took: () => took, place, drawn };
})()"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sizes."""
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the table that is fitted (default: 20000)")
    parser.add_argument("--moves", type=int, default=40, help="moves of the slider (default: 40)")
    parser.add_argument("--points", type=int, default=1000, help="points that are there (default: 1000)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a figure."""
    findings = Findings()
    with browser() as chromium:
        if chromium is None:
            print("nothing measured: Playwright or Chromium is missing")
            return
        with serving(None) as server:
            slider(chromium, server.url, options, findings)
            point(chromium, server.url, options, findings)
    findings.show()
    yield from findings.rows


def slider(chromium: Any, url: str, options: argparse.Namespace, findings: Findings) -> None:
    """Drag a bandwidth while another visitor's fit goes on."""
    address = url + DATA.format(rows=options.rows)
    latencies = []
    with page_of(chromium, address + "&model=dlr_qpaper") as busy, page_of(chromium, address) as page:
        for visitor_page in (busy, page):
            wait(visitor_page, "bench.says('^ended$')", 2 * PATIENCE)
        page.evaluate(_SCRIPT)
        thumb = page.get_by_role("slider", name="age: h").first
        thumb.focus()
        for move in range(options.moves):
            if not busy.evaluate("bench.says('^(running|fitting|getting ready)')"):
                busy.evaluate("bench.press('Run')")
                time.sleep(0.3)
            page.evaluate("hand.watch('curves', 'keydown')")
            page.keyboard.press("ArrowRight" if move % 20 < 10 else "ArrowLeft")
            latencies.append(_waited(page))
    findings.add(f"a dragged bandwidth, {options.rows:,} rows, DLR-h beside it", latencies)
    findings.add("95th percentile of these", [float(np.quantile(latencies, 0.95))], 0.2)


def point(chromium: Any, url: str, options: argparse.Namespace, findings: Findings) -> None:
    """Draw points."""
    latencies = []
    with page_of(chromium, f"{url}explorer?page=boundaries&data=four-gaussians&rows={options.points}") as page:
        wait(page, "bench.says('^ended$')", 2 * PATIENCE)
        page.evaluate("bench.press('Draw')")
        wait(page, "bench.says('per point')")
        page.evaluate(_SCRIPT)
        for turn in range(options.repeats):
            time.sleep(2.0)  # the bandwidths have followed the point before
            x, y = page.evaluate(f"hand.place({0.3 + 0.4 * turn / options.repeats}, 0.5)")
            page.evaluate("hand.watch('ground', 'pointerup')")
            page.mouse.click(x, y)
            latencies.append(_waited(page))
    findings.add(f"a point drawn among {options.points:,}, until the map is another", latencies, 0.3)


def _waited(page: Any) -> float:
    """The seconds that the page has noted."""
    page.wait_for_function("() => hand.took() !== null", timeout=PATIENCE, polling=20)
    return float(page.evaluate("hand.took()")) / 1000.0
