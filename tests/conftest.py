"""What several floors' tests share: a server with the explorer, a browser, and Hypothesis's profile.

`served` is one server for the whole session, started as README says; `serve(...)` starts further ones with other
settings. `page` is a fresh page of 1280x720 in a context of its own (own cookies); it fails its test when the page's
console shows an error. Where there is no Chromium a test that asks for it is skipped with the reason; under
ALRVIZ_REQUIRE_BROWSER=1 it fails.
"""

import asyncio
import gc
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER_ARGS = [
    "--no-sandbox",  # a container's root has no other way
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
READY = 120.0  # seconds until a server answers; panel's own import is most of it

# Threads of BLAS and of gradient boosting wait for each other in loops, which take the processors from the processes
# beside them: a fit of 0.3 s took 20 s. Both are read when numpy and scikit-learn are imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# No deadline and no complaint about slow first examples: they compile kernels. In CI the examples are always the same.
# Change what a property is about, and run its tests with `--hypothesis-profile=thorough`.
settings.register_profile(
    "alrviz",
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.register_profile("thorough", settings.get_profile("alrviz"), max_examples=500, derandomize=False)
settings.load_profile("alrviz")
gc.disable()  # what is imported and collected stays: see pytest_collection_finish


def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are processors: many tests wait for a server, a thread or another process."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort tests by module, as all processes have to run the same list."""
    items.sort(key=lambda item: (not item.path.is_relative_to(ROOT / "tests"), item.path))


# Modules of which every test has this marker. Where it is deselected they are not imported: JupyterLab alone takes
# seconds, in every process.
MARKED_MODULES = {
    "browser": Path(__file__).parent / "browser",
    "jupyterlab": Path(__file__).parent / "test_jupyterlab.py",
}


def pytest_configure(config: pytest.Config) -> None:
    """Let each process begin to collect in another folder: a module that two import at once is compiled by both."""
    worker = getattr(config, "workerinput", None)
    if worker is not None and config.args == config.getini("testpaths"):
        left_out = [path for marker, path in MARKED_MODULES.items() if f"not {marker}" in config.option.markexpr]
        paths = sorted([*(ROOT / "tests").glob("[a-z]*/"), *(ROOT / "tests").glob("test_*.py")])
        places = [str(path) for path in paths if path not in left_out]
        start = len(places) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        config.args = [*places[start:], *places[:start], *config.args[1:]]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the modules of deselected stages, unless the command names them."""
    named = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    for marker, path in MARKED_MODULES.items():
        if collection_path == path and f"not {marker}" in config.option.markexpr:
            return not any(argument.is_relative_to(path) for argument in named) or None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[None]:
    """Leave out modules without examples: to look for these in all docstrings took a second in every process."""
    collectors = yield
    has_examples = b">>>" in file_path.read_bytes()
    return [collector for collector in collectors if has_examples or not isinstance(collector, DoctestModule)]


def pytest_collection_finish() -> None:
    """Keep the collector off what modules and tests hold for good: sweeps of it took 15 % of the processor's time."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 10, 10)


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests keep is not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALRVIZ_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def event_loop() -> Iterator[None]:
    """Set a new loop: from Python 3.12 on asking for one makes none, and an earlier test may have closed its own."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@dataclass(frozen=True)
class Served:
    """A server under way: its page's address, its process, and the file its log goes to."""

    url: str
    process: subprocess.Popen[bytes]
    log_path: Path

    @property
    def log(self) -> str:
        """What the server has said so far."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")


def free_port() -> int:
    """Return a port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(
    condition: Callable[[], Any], seconds: float, what: str | Callable[[], str], every: float | None = None
) -> Any:
    """Ask `condition` until what it returns is true, and return that; fail after `seconds`.

    Without `every` (seconds) it asks the less often the longer it has waited, and asking takes half of the time at
    most: a page that is busy is not kept from its work. What is dear to say is a function, called only for a failure.
    """
    start = time.monotonic()
    while True:
        begun = time.monotonic()
        if answer := condition():
            return answer
        if begun > start + seconds:
            pytest.fail(f"not within {seconds:g} s: {what if isinstance(what, str) else what()}")
        pause = min(max(0.05, (begun - start) / 10), 1.0) if every is None else every
        time.sleep(max(pause, min(time.monotonic() - begun, 1.0)))


def start_server(app: Path, log_path: Path, *arguments: str, **environment: str) -> Served:
    """Start `panel serve` on a free port and wait until it answers."""
    port = free_port()
    command = [sys.executable, "-m", "panel", "serve", str(app), "--port", str(port), "--address", "127.0.0.1"]
    command += ["--allow-websocket-origin", f"127.0.0.1:{port}", *arguments]
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    served = Served(f"http://127.0.0.1:{port}/{app.stem}", process, log_path)

    def answers() -> bool:
        if process.poll() is not None:
            pytest.fail(f"the server ended with code {process.returncode}:\n{served.log}")
        try:
            with urlopen(f"http://127.0.0.1:{port}/static/js/bokeh.min.js", timeout=5) as answer:
                return answer.status == 200
        except HTTPError as error:
            return error.code == 403  # a server with a token asks for it from the first request on
        except (URLError, TimeoutError, ConnectionError):
            return False

    try:
        wait_until(answers, READY, f"an answer from {' '.join(command)}")
    except BaseException:
        end_process(process)
        raise
    return served


def end_process(process: subprocess.Popen[bytes]) -> None:
    """End a process, kindly and then not."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """A function that starts a server: `serve(app=apps/explorer.py, *arguments of panel serve, VARIABLE="value")`."""
    started: list[Served] = []

    def start(app: Path = ROOT / "apps" / "explorer.py", *arguments: str, **environment: str) -> Served:
        folder = tmp_path_factory.mktemp("server")
        own = {"ALRVIZ_HOME": str(folder / "home")} | environment  # what a test keeps is not the user's
        started.append(start_server(app, folder / "log.txt", *arguments, **own))
        return started[-1]

    yield start
    for served in started:
        end_process(served.process)


@pytest.fixture(scope="session")
def served(serve: Callable[..., Served]) -> Served:
    """The explorer, served once for all tests: `served.url`, `served.log`."""
    return serve()


def _without_browser(reason: str) -> None:
    if os.environ.get("ALRVIZ_REQUIRE_BROWSER") == "1":
        pytest.fail(f"ALRVIZ_REQUIRE_BROWSER=1, and {reason}")
    pytest.skip(reason)


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium under Playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _without_browser("Playwright is not installed")
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, CHROMIUMS)), playwright.chromium.executable_path)
        if not Path(found).exists():
            _without_browser("there is no Chromium (Debian: apt-get install chromium; or: playwright install chromium)")
        launched = playwright.chromium.launch(executable_path=found, args=BROWSER_ARGS)
        yield launched
        launched.close()


# Not for the whole session: Playwright's event loop occupies its thread, and asyncio.run would fail there.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, one for each test module."""
    with chromium() as launched:
        yield launched


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens a page in a context of its own: `new_page(color_scheme="dark", viewport={...})`.

    What the console shows as an error is in `page.problems`; it must be empty at the end of the test.
    """
    contexts: list[Any] = []
    problems: list[str] = []

    def open_page(**options: Any) -> Any:
        contexts.append(browser.new_context(**{"viewport": {"width": 1280, "height": 720}} | options))
        page = contexts[-1].new_page()
        page.problems = problems
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(f"exception: {error}"))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems, "the page's console shows errors:\n" + "\n".join(problems)


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    """A fresh page of 1280x720; `page.problems` lists the console's errors."""
    return new_page()
