"""The explorer in Chromium: what watching costs a fit, points on the screen, blocked loop, Stop, first paint.

Needs Playwright (extra `bench`) and Chromium; the server runs in a process of its own, the browser in others, and all
share the machine: an empty request, timed beside, says how busy it is. Times in the page end when the frame that shows
the change has been painted.

    watching    two racers on one thread (n_jobs 1), alone and in a view that a browser shows, taking turns; the
                server on the first core, the browser on the others, where the system can keep them there
    race        lr and alr at n = 2 on --data's Covertype at full size (20 quantiles; its sample's rows repeated, which
                here are not merged), else on a made table
    first       the start of a race until its first points, kernels kept on disk, and never compiled
    tic-tac-toe a click on Run until the whole trace and its end are on the screen
    drag        a key on the line t of the page Selection, of 9,880 triples, until the picture follows
    stream      the event loop while --hands poker hands are gone over in batches and another visitor races
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from alrviz.data.demos.games import poker_hand
from alrviz.data.stream.table import open_table
from alrviz.explorer.recipes.recipe_url import write_recipes
from alrviz.fitting.recipe import Recipe
from benchmarks._chromium import PATIENCE, beat, browser, page_of, pin_processes, seconds_of, started, wait
from benchmarks._server import Notes, Server, serving
from benchmarks._sets import covertype, made_dataset
from benchmarks._tools import Row, show

ITERATIONS = 150  # of a race that is watched for what it costs
PARTS = ("watching", "race", "first", "tic-tac-toe", "paint", "drag", "stream")
BATCH = 2**18  # hands written at a time
TURNS = 25  # keys on the line t


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add parts and sizes."""
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="which parts (default: all)")
    parser.add_argument("--rows", type=int, default=581_012, help="rows of Covertype (default: 581012)")
    parser.add_argument("--made", type=int, default=100_000, help="rows of the made table (default: 100000)")
    parser.add_argument("--seconds", type=float, default=15.0, help="for which the race is watched (default: 15)")
    parser.add_argument("--hands", type=int, default=1_000_000, help="poker hands of the stream (default: 1000000)")


class Findings:
    """The table as it grows: label, the figure of every repeat, and the value to reach."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, label: str, values: list[float], reach: float | None = None, unit: str = "s") -> None:
        """Add a line; NaN stands for an event that did not come within its time."""
        numbers = [value for value in values if not np.isnan(value)]
        middle = median(numbers) if numbers else np.nan
        ends = {"least": min(numbers, default=np.nan), "most": max(numbers, default=np.nan)}
        self.rows.append(
            {"what": label, "median": middle, **ends, "unit": unit, "repeats": len(numbers), "reach": reach}
        )

    def show(self) -> None:
        """Print the table."""
        show(
            ((r["what"], *(_figure(r[name], r["unit"]) for name in ("median", "least", "most")), r["repeats"],
              "" if r["reach"] is None else
              f"{_figure(r['reach'], r['unit'])}: {'yes' if r['median'] <= r['reach'] else 'NO'}") for r in self.rows),
            header=("in the page", "median", "least", "most", "repeats", "to reach"),
        )  # fmt: skip


def _figure(value: float, unit: str) -> str:
    return f"{1e3 * value:.0f} ms" if unit == "s" else f"{value:.1f} {unit}"


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a figure."""
    findings = Findings()
    parts: dict[str, Callable[[Any, argparse.Namespace, Findings], None]] = {
        "watching": watching, "race": race, "first": first_points, "tic-tac-toe": tic_tac_toe, "paint": paint,
        "drag": drag, "stream": stream,
    }  # fmt: skip
    for name in options.parts:
        with ExitStack() as stack:
            with pin_processes(first=False) if name == "watching" else nullcontext():
                chromium = stack.enter_context(browser())
            if chromium is None:
                print("nothing measured: Playwright or Chromium is missing (pip install 'alrviz[bench]'; Debian: "
                      "apt-get install chromium; or: playwright install chromium)")  # fmt: skip
                return
            print(f"{name} ...", flush=True)
            parts[name](chromium, options, findings)
    print()
    findings.show()
    yield from findings.rows


def recipes_of(iterations: int, **params: Any) -> tuple[Recipe, ...]:
    """Return lr and alr on one objective."""
    plain = Recipe("lr", order=2, alpha=0.1, penalty="phi", center=0, start="zero", solver="lbfgs", tol=0.0,
                   max_iter=iterations)  # fmt: skip
    return tuple(plain.replace(family=family, **params) for family in ("lr", "alr"))


def watching(chromium: Any, options: argparse.Namespace, findings: Findings) -> None:
    """Time the same race alone and watched."""
    make = partial(made_dataset, options.made, 15, 6, 3)
    alone_seconds, watched_seconds, blocked = [], [], []
    with ExitStack() as stack:
        with pin_processes(first=True):
            server = stack.enter_context(serving(make, recipes_of(ITERATIONS)))
        server.ask("warm")
        server.ask("run_unwatched")
        # one page for all: to take apart those of visitors who have gone is no part of watching
        page = stack.enter_context(page_of(chromium, server.url + "watched"))
        for _ in range(options.repeats):
            alone_seconds.append(server.ask("run_unwatched"))
            wait(page, "bench.button('Run')")
            server.ask("forget")
            page.evaluate("bench.press('Run')")
            while not np.isfinite(server.ask("notes").begin_time):
                time.sleep(0.02)
            watched_seconds.append(server.ask("together", 300.0))
            blocked.append(server.ask("notes").blocked)
    findings.add(f"two racers, {options.made:,} made rows, {ITERATIONS} iterations, one thread, alone", alone_seconds)
    findings.add("the same, watched", watched_seconds)
    findings.add("event loop blocked at the longest meanwhile", blocked, 0.05)
    cost = median(np.divide(watched_seconds, alone_seconds)) - 1.0  # of neighbours: a machine drifts
    findings.add("so watching costs", [100.0 * cost], 5.0, "%")


def race(chromium: Any, options: argparse.Namespace, findings: Findings) -> None:
    """Watch a race, and stop it."""
    if options.data is None:
        make: Callable[[], Any] = partial(made_dataset, options.made, 30, 6, 7)
        name, recipes = f"made, {options.made:,} rows", recipes_of(100_000)
    else:
        make = partial(covertype, options.data, options.rows)
        name, recipes = f"Covertype, {options.rows:,} rows", recipes_of(100_000, discretize="quantile", n_bins=20)
    stops, delays, blocked, rates, answers = [], [], [], [], []
    with serving(make, merging=False) as server:
        server.ask("warm")
        address = f"{server.url}explorer?racers={write_recipes(recipes)}"
        for turn in range(max(1, options.repeats // 2)):
            with page_of(chromium, address) as page:
                started(page, server)
                wait(page, "bench.says('^running$') && Math.max(...Object.values(bench.last())) > 1", 3 * PATIENCE)
                server.ask("forget")
                page.evaluate("bench.follow()")
                time.sleep(options.seconds + 0.37 * turn)
                notes, drawn_points = server.ask("notes"), page.evaluate("bench.seen")
                answers.append(beat(page))
                stops.append(seconds_of(page.evaluate(f"bench.pressed('Stop', '^stopped', {PATIENCE})")))
                delays += delays_of(notes, drawn_points)
                rates.append(rate_of(notes))
                blocked.append(notes.blocked)
    findings.add(f"{name}: steps of each racer", rates, unit="a second")
    findings.add(f"{name}: from a step to its point", delays, 0.25)
    findings.add(f"{name}: event loop blocked at the longest", blocked, 0.05)
    findings.add(f"{name}: from Stop to its word", stops, 0.2)
    findings.add("an empty request beside it", answers)


def delays_of(notes: Notes, drawn_points: list[Any]) -> list[float]:
    """Return the seconds from each step to the moment its racer's point was on the screen.

    Racers' names in the picture begin with their labels.
    """
    step_times = {(label, index): seconds for label, index, seconds in notes.steps}
    points = [(name.split()[0], index, milliseconds / 1000.0) for name, index, milliseconds in drawn_points]
    return [seconds - step_times[label, index] for label, index, seconds in points if (label, index) in step_times]


def rate_of(notes: Notes) -> float:
    """Return the steps a second of each racer."""
    times = sorted(seconds for _, _, seconds in notes.steps)
    racers = len({label for label, _, _ in notes.steps})
    return (len(times) - 1) / (times[-1] - times[0]) / racers if len(times) > 1 else 0.0


def first_points(chromium: Any, options: argparse.Namespace, findings: Findings) -> None:
    """Time the first point of a live race, kernels kept on disk and never compiled."""
    with serving(None) as server:
        server.ask("warm")
        latencies = [_first_point(chromium, server) for _ in range(options.repeats)]
    findings.add("first live point of a race, kernels kept on disk", latencies, 1.0)
    latencies = []
    for _ in range(max(1, options.repeats // 2)):
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, serving(None, NUMBA_CACHE_DIR=folder) as server:
            latencies.append(_first_point(chromium, server, eager=True))
    findings.add("first live point of a race, never compiled, run as soon as it can be", latencies, 8.0)


def _first_point(chromium: Any, server: Server, eager: bool = False) -> float:
    server.ask("forget")
    with page_of(chromium, f"{server.url}explorer?racers={write_recipes(recipes_of(200))}") as page:
        wait(page, "true")
        page.evaluate("bench.follow()")
        start = started(page, server, eager)
        wait(page, f"bench.seen.some(([, , at]) => at > {start})")
        return (min(ms for _, _, ms in page.evaluate("bench.seen") if ms > start) - start) / 1000.0


def tic_tac_toe(chromium: Any, options: argparse.Namespace, findings: Findings) -> None:
    """Time a click on Run until the finished trace is on the screen."""
    latencies = []
    with serving(None) as server:
        server.ask("warm")
        for _ in range(options.repeats):
            with page_of(chromium, server.url + "explorer?data=tic-tac-toe") as page:
                server.ask("forget")
                started(page, server)
                wait(page, "bench.says('^ended$')")  # its first race: all is prepared
                latencies.append(seconds_of(page.evaluate(f"bench.again('Run', '^ended$', {PATIENCE})")))
    findings.add("tic-tac-toe, n = 2: from Run to the finished trace", latencies, 0.3)


def paint(chromium: Any, options: argparse.Namespace, findings: Findings) -> None:
    """Time the first screen with the recorded race in it."""
    painted = (
        "bench.until(() => bench.drawn() && Math.max(...Object.values(bench.last())) > 0, performance.timeOrigin, "
    )
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(max(1, options.repeats // 2)):
        with serving(None) as server:
            for latencies in (cold, warm, warm):
                with page_of(chromium, server.url + "explorer") as page:
                    wait(page, "true")
                    latencies.append(seconds_of(page.evaluate(f"{painted}{PATIENCE})")))
    findings.add("first paint with the recorded curve, a server's first page", cold, 3.0)
    findings.add("first paint with the recorded curve, later pages", warm, 3.0)


def drag(chromium: Any, options: argparse.Namespace, findings: Findings) -> None:
    """Time how the levels of a search follow the line t, key by key."""
    latencies, notes = [], []
    make = partial(made_dataset, 5_000, 40, 3, 2)
    with serving(make) as server, page_of(chromium, server.url + "explorer?page=selection&of=hsalr_o3") as page:
        wait(page, "bench.says('^Of 9,880 triples .* kept')", 3 * PATIENCE)
        page.get_by_role("slider", name="Keep t").focus()
        for _ in range(TURNS):
            time.sleep(0.5)
            page.evaluate(f"bench.listen('alrviz-tuples', {PATIENCE})")
            server.ask("forget")
            page.keyboard.press("ArrowLeft")
            latencies.append(seconds_of(page.evaluate("bench.answer.ms")))
            notes.append(server.ask("notes"))
    findings.add("9,880 triples: from a key on the line t to the picture", latencies, 0.2)
    _loop("9,880 triples", notes, findings)


def stream(chromium: Any, options: argparse.Namespace, findings: Findings) -> None:
    """Note how late the event loop is while all rows of a table larger than memory are fitted."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        make = partial(open_table, poker_hands(folder, options.hands), "class")
        address = "explorer?page=selection&on=all&of=hsalr_o2"
        with serving(make) as server, page_of(chromium, server.url + address) as page:
            server.ask("warm")
            with page_of(chromium, server.url + "explorer?data=waveform") as other_page:
                # The first race of this page: building a page is no part of what is timed.
                wait(other_page, "bench.says('^ended$')", 3 * PATIENCE)
                wait(page, "bench.button('Run') && bench.says('per iteration')", 3 * PATIENCE)
                page.evaluate("bench.press('Run')")
                wait(page, "bench.button('Pause')")
                notes: list[Notes] = []
                while page.evaluate("Boolean(bench.button('Pause'))") and len(notes) < 60:
                    server.ask("forget")
                    other_page.evaluate("bench.press('Run')")
                    time.sleep(options.seconds / 3)
                    notes.append(server.ask("notes"))
    _loop(f"{options.hands:,} rows gone over, another visitor races", notes, findings)


def _loop(name: str, notes: list[Notes], findings: Findings) -> None:
    findings.add(f"{name}: event loop blocked at the longest", [note.blocked for note in notes], 0.05)
    findings.add(f"{name}: of that, its own work", [note.worked for note in notes], 0.05)


def poker_hands(folder: str, rows: int) -> Path:
    """Return a Parquet file of so many poker hands, made batch by batch."""
    random, path = np.random.default_rng(0), Path(folder) / "poker.parquet"
    with ExitStack() as ending:
        writer: pq.ParquetWriter | None = None
        for begin in range(0, rows, BATCH):
            table = pa.Table.from_pandas(poker_hand(min(BATCH, rows - begin), random), preserve_index=False)
            writer = writer or ending.enter_context(pq.ParquetWriter(path, table.schema))
            writer.write_table(table)
    return path
