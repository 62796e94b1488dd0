"""The explorer in a process of its own, which notes when each step was made and how long its event loop was blocked."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from alrviz.errors import AlrvizError
from alrviz.fitting.recipe import Recipe
from alrviz.home import HOME

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.stream.table import Stream

OWNER = "0" * 32  # whose the race is that is shared
HEARTBEAT_SECONDS = 0.005  # seconds between two looks at the event loop
READY = 180.0  # seconds until the server answers


@dataclass
class Notes:
    """What the server has noted since it was last asked to forget.

    Attributes:
        begin_time: when a run was first asked for a step (seconds since 1970), infinite if none was.
        steps: racer's label, iteration and time of every step of any run.
        blocked: the longest time that the event loop was late, seconds.
        worked: the longest that its own thread had a processor meanwhile: what is over that are other threads and
            processes, whose turn it was.
    """

    begin_time: float = float("inf")
    steps: list[tuple[str, int, float]] = field(default_factory=list)
    blocked: float = 0.0
    worked: float = 0.0


@dataclass(frozen=True)
class Usage:
    """What the server's process has used: the clock (seconds), seconds of processor, bytes of memory it holds."""

    clock_seconds: float
    processor: float
    memory: int


class Server:
    """A server under way; `ask(name, ...)` has it do one of the things of `_Desk`."""

    def __init__(self, connection: Connection, url: str):
        self._connection = connection
        self.url = url

    def ask(self, name: str, *arguments: Any, limit: float = 600.0) -> Any:
        """Return what the desk's method of that name returns; raises `AlrvizError` if it does not answer."""
        self._connection.send((name, arguments))
        if not self._connection.poll(limit):
            raise AlrvizError(f"the server did not answer {name!r} within {limit:.0f} s")
        answer = self._connection.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


@contextmanager
def serving(
    make: "Callable[[], Dataset | Stream] | None",
    recipes: tuple[Recipe, ...] = (),
    merging: bool = True,
    **environment: str,
) -> Iterator[Server]:
    """Serve the explorer, on what `make` makes, and beside it "watched", one view of a race of `recipes` on it.

    Without `merging` rows that repeat are fitted one by one, as if each were another.
    """
    context = get_context("spawn")
    parent_end, child_end = context.Pipe()
    child = context.Process(target=_serve, args=(child_end, make, recipes, merging), daemon=True)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # what is raced is not for the user's history
        with _environment({HOME: folder} | environment):  # a child takes it at its start, before it imports anything
            child.start()
        child_end.close()
        try:
            if not parent_end.poll(READY):
                raise AlrvizError(f"the server did not start within {READY:.0f} s")
            yield Server(parent_end, parent_end.recv())
        finally:
            child.terminate()
            child.join()


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    previous_values = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in previous_values.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _serve(
    connection: Connection, make: "Callable[[], Dataset | Stream] | None", recipes: tuple[Recipe, ...], merging: bool
) -> None:
    from panel.io.server import get_server

    from alrviz.explorer import application
    from alrviz.models import joint_values

    if not merging:
        joint_values.MIN_REPEATED_SHARE = 1.0  # of the rows would have to repeat
    dataset = make() if make is not None else None
    desk = _Desk(dataset, recipes)
    pages = {"explorer": lambda: application(dataset), "watched": desk.race_page}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = get_server(pages, port=port, address="127.0.0.1", websocket_origin=[f"127.0.0.1:{port}"])
    desk.server = server
    desk.listen(server.io_loop)
    connection.send(f"http://127.0.0.1:{port}/")
    loop = server.io_loop
    threading.Thread(target=desk.answer, args=(connection, lambda: loop.add_callback(loop.stop)), daemon=True).start()
    server.start()
    loop.start()


class _Desk:
    """Answers what the benchmark asks, on a thread of its own."""

    def __init__(self, dataset: "Dataset | Stream | None", recipes: tuple[Recipe, ...]):
        self._dataset = dataset
        self._recipes = recipes
        self._notes = Notes()
        self._view: Any = None
        self._pace = 0.0
        self._secret = ""
        self._class: Any = None
        self._begin: Callable[[], None] = lambda: None
        self.server: Any = None
        self._take_note()

    def _take_note(self) -> None:
        from alrviz.fitting.runs.run import Run

        advance = Run.advance

        def noted(run: Run) -> Any:
            self._notes.begin_time = min(self._notes.begin_time, time.time())
            time.sleep(self._pace)
            step = advance(run)
            if step is not None:
                self._notes.steps.append((run.recipe.label, step.index, time.time()))
            return step

        Run.advance = noted  # type: ignore[method-assign, assignment]

    def listen(self, loop: Any) -> None:
        """Ask the event loop to call back every few milliseconds, and note how late it is."""
        due = last_thread_seconds = 0.0

        def beat() -> None:
            nonlocal due, last_thread_seconds
            clock, thread_seconds = time.perf_counter(), time.thread_time()
            if due:
                self._notes.blocked = max(self._notes.blocked, clock - due)
                self._notes.worked = max(self._notes.worked, thread_seconds - last_thread_seconds)
            due, last_thread_seconds = clock + HEARTBEAT_SECONDS, thread_seconds
            loop.call_later(HEARTBEAT_SECONDS, beat)

        loop.add_callback(beat)

    def answer(self, connection: Connection, end: Callable[[], None]) -> None:
        """Answer requests until the connection ends, also because the benchmark was killed; then call `end`."""
        while True:
            try:
                name, arguments = connection.recv()
            except EOFError:
                end()
                return
            try:
                connection.send(getattr(self, name)(*arguments))
            except Exception as error:
                connection.send(AlrvizError(f"{type(error).__name__} in the server: {error}"))

    # ---- what may be asked -----------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Begin new notes."""
        self._notes = Notes()

    def notes(self) -> Notes:
        """Return the notes."""
        return self._notes

    def warm(self) -> None:
        """Make the kernels ready."""
        from alrviz.fitting.warm import warm

        warm(wide=False)

    def usage(self) -> Usage:
        """Return what the process has used until now."""
        import psutil

        return Usage(time.perf_counter(), time.process_time(), psutil.Process().memory_info().rss)

    def models(self) -> int:
        """Return the number of Bokeh models in all documents of the server."""
        return sum(len(session.document.models) for session in self.server.get_sessions())

    def share_race(self, pace: float) -> tuple[str, str]:
        """Make a long race of two racers, a step of both every `pace` seconds; return its id and its link's secret."""
        from alrviz.data.demos import load_demo
        from alrviz.explorer.server.run_queue import Entry
        from alrviz.explorer.server.run_registry import process_registry
        from alrviz.studies.race.race import race

        Entry.visible_until = property(lambda entry: None)  # type: ignore[assignment, method-assign]  # no browser says more
        plain = Recipe("lr", order=2, alpha=0, tol=0.0, max_iter=100_000)
        self._pace = pace / 2
        registry = process_registry()
        entry = registry.add(race(load_demo("led", rows=3000), (plain, plain.replace(family="alr"))), OWNER)
        entry.keep = True
        self._begin = entry.start
        self._secret = registry.share_link(entry)
        return entry.id, self._secret

    def classroom(self) -> str:
        """Open a class that is shown the race which is shared; return its secret."""
        from alrviz.explorer.server.run_registry import process_registry

        self._class = process_registry().classes.open(OWNER)
        self._class.race = self._secret
        return self._class.secret

    def ask_class(self, text: str) -> float:
        """Ask the class a question with two options; return when that was."""
        from alrviz.explorer.lesson import Option, Question

        self._class.ask(Question(text, "choice", text, (Option("lr", "LR"), Option("alr", "ALR"))))
        return time.time()

    def close_class(self) -> int:
        """Close the question; return how many have answered."""
        self._class.close()
        return len(self._class.round.votes)

    def begin(self) -> None:
        """Start the race that is shared."""
        self._begin()

    def run_unwatched(self) -> float:
        """Run the race with nobody watching; return its seconds from its first iteration to its last."""
        race = self._race()
        self.forget()
        race.start()
        race.join()
        return self._race_seconds()

    def together(self, limit: float) -> float:
        """Wait at most `limit` seconds for the race that the browser's button has started; return its seconds."""
        if self._view is None:
            raise AlrvizError("no browser shows the view")
        end = time.monotonic() + limit
        while not self._view.race.ended and time.monotonic() < end:
            time.sleep(0.05)
        return self._race_seconds()

    def race_page(self) -> Any:
        """Return the page with a view of a race that has not begun."""
        import panel as pn

        from alrviz.explorer.server.process_tuning import filter_log, tune_process
        from alrviz.views.race.race_view import RaceView

        pn.extension(notifications=False)
        filter_log()
        self._view = RaceView(self._race())
        tune_process(pn.state.curdoc.session_context)  # as the explorer does: Panel collects whenever a page is left
        return pn.panel(self._view)

    def _race(self) -> Any:
        from alrviz.studies.race.race import race

        assert self._dataset is not None
        return race(self._dataset, self._recipes, n_jobs=1)

    def _race_seconds(self) -> float:
        times = [step_time for _, index, step_time in self._notes.steps if index]
        return times[-1] - times[0]
