"""`alrviz explore`: a server for the explorer, by default for this machine only.

It serves the same page as `panel serve apps/explorer.py`. `--check` starts the same server and fetches the page once,
to test an installation without a browser.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import secrets
import sys
from collections.abc import Callable
from html import unescape
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

from alrviz.cli.options import (
    CommandError,
    Commands,
    Progress,
    add_table_options,
    read_options,
    require_file,
    whole_number,
    with_options,
)
from alrviz.errors import AlrvizError
from alrviz.job import Job
from alrviz.memory import free_memory

if TYPE_CHECKING:
    from bokeh.server.server import Server
    from panel.viewable import Viewable

    from alrviz.data.dataset import Dataset
    from alrviz.data.stream.table import Stream
    from alrviz.explorer.lesson import Lesson
    from alrviz.explorer.server.tables import Upload

PORT = 5006  # Panel's default; if it is in use the next free one
PORTS_TRIED = 50
PATH = "explorer"  # the page's path under `panel serve apps/explorer.py`, so that links work for both
LOCAL = ("127.0.0.1", "localhost")
TIMEOUT_SECONDS = 120.0  # for an answer: the first page imports everything, from a slow disk perhaps


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("explore", help="open the explorer in the browser")
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="a table to open with (CSV, Parquet, ARFF ...)"
    )
    parser.add_argument(
        "--batches", action="store_true", help="do not read the whole table: pages show a sample, Convergence can race "
        "all rows (always so for a folder, a pattern in quotes, or a table that memory cannot hold)",
    )  # fmt: skip
    parser.add_argument("--quartiles", action="store_true", help="cut a target of measured numbers into four classes")
    add_table_options(parser)
    port_hint = f"the port to serve on (default: {PORT}, or the next that is free)"
    parser.add_argument("--port", type=whole_number("a port", 1, 65_535), help=port_hint)
    parser.add_argument("--address", default="127.0.0.1", help="the address to serve on (default: this machine only)")
    parser.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="a name under which others reach the page; needed with --address, may be repeated",
    )
    parser.add_argument(
        "--proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="a reverse proxy (an IP address or a network) whose X-Forwarded-For and X-Forwarded-Proto are trusted; "
        "may be repeated",
    )
    parser.add_argument(
        "--token",
        metavar="TEXT",
        help="text that the page's address must contain the first time (default: random; none: no token is needed)",
    )
    parser.add_argument(
        "--lesson", type=Path, metavar="FILE", help="open a lesson of your own (YAML); it is read again at each reload"
    )
    parser.add_argument("--no-show", action="store_true", help="do not open a browser")
    parser.add_argument("--check", action="store_true", help="serve, fetch the page once, print the result, and end")
    parser.set_defaults(command=explore)


def explore(options: argparse.Namespace) -> int:
    """Serve the explorer until it is stopped, or with `--check` only check it; return the exit code."""
    dataset = read(options) if options.file else None
    from alrviz.explorer import application, preload
    from alrviz.explorer.server.visitor_ids import LOCAL_SWITCH
    from alrviz.explorer.web.connections import PROXIES_VARIABLE, parse_networks
    from alrviz.explorer.web.guard import protect

    lesson = _lesson(options.lesson) if options.lesson else None
    if for_one_person(options):
        os.environ.setdefault(LOCAL_SWITCH, "1")  # one owner, whichever browser asks
    if options.proxy:
        parse_networks(options.proxy)  # reports an invalid address before anything is served
        os.environ[PROXIES_VARIABLE] = ",".join(options.proxy)
    failures: list[Exception] = []
    path = None if dataset is None else options.file.resolve()

    def page() -> Viewable:  # Panel calls functions only, and would show a partial call as an object
        return application(dataset, path, on_failure=failures.append)

    server = _serve(page, options)  # reports a port or address that cannot be used
    preload()
    host = options.address if options.address not in ("", "0.0.0.0") else "localhost"
    token = "" if options.token == "none" else options.token or secrets.token_hex(24)
    protect(server, token)
    params = {"lesson": lesson.id} if lesson is not None else {"page": "data"} if dataset is not None else {}
    params |= {"token": token} if token else {}
    url = f"http://{host}:{server.port}/{PATH}" + (f"?{urlencode(params)}" if params else "")
    if options.check:
        if lesson is not None:
            _print_check(lesson)
        return _check_server(server, url, failures)
    print(f"The explorer is at {url} (end it with Ctrl-C)", flush=True)
    if not for_one_person(options):
        visitors_text = "who opens it with this token" if token else "who can reach this address"
        print(f"Everyone {visitors_text} can upload tables and run fits on this machine.", flush=True)
    if not options.no_show:
        server.io_loop.add_callback(server.show, urlsplit(url)._replace(scheme="", netloc="").geturl())
    _run_server(server)
    return 0


def for_one_person(options: argparse.Namespace) -> bool:
    """Return whether only the person who started the server can reach it: then all browsers share one owner.

    Not with a proxy or a public name (behind a proxy every address is local), and not without a token, as every user of
    this machine can then open the page.
    """
    from bokeh.settings import settings

    names = [options.address, *options.origin, *settings.allowed_ws_origin()]
    return options.token != "none" and not options.proxy and all(name.partition(":")[0] in LOCAL for name in names)


def _lesson(file: Path) -> Lesson:
    """Read a lesson and offer it on the page."""
    from alrviz.explorer.app import offer_lesson

    require_file(file)
    return offer_lesson(file.expanduser().resolve())


def _print_check(lesson: Lesson) -> None:
    questions = ", ".join(f"step {k}" for k, step in enumerate(lesson.steps, 1) if step.ask is not None)
    print(
        f"Lesson {lesson.id}, version {lesson.version}: {len(lesson.steps)} steps, no error; "
        f"questions: {questions or 'none'}. The rows that answers use are known when a step has run."
    )


def _in_batches(file: Path, options: argparse.Namespace) -> bool:
    """Return whether a table is read in batches: by request, of several files, or too large for memory."""
    if (
        options.batches
        or os.path.isdir(file)
        or (not os.path.exists(file) and any(sign in file.name for sign in "*?["))
    ):
        return True
    times = 3 if file.suffix.lower() in (".csv", ".tsv", ".txt") else 12  # size in memory, more for compressed formats
    return os.path.isfile(file) and os.path.getsize(file) * times > free_memory() // 2


def read(options: argparse.Namespace) -> Dataset | Upload | Stream:
    """Return the file's table; the file itself if its class cannot be guessed, so that the page asks for it; a sample
    if memory cannot hold it.
    """
    file = options.file.expanduser()
    if _in_batches(file, options):
        from alrviz.data.stream.table import open_table

        progress = Progress()
        stream = open_table(str(file), options.target, options=read_options(options), progress=progress.rows)
        progress.line(f"{stream!r}: pages show a sample of {stream.sample.n_rows:,} rows", *stream.notes)
        return stream
    require_file(file)
    from alrviz.data.dataset import dataset_of
    from alrviz.data.read import read_columns
    from alrviz.explorer.server.tables import Upload

    file_options = read_options(options)
    try:
        table = read_columns(file, options=file_options, expected_names={options.target} if options.target else ())
        try:
            return dataset_of(table, options.target, quartiles=options.quartiles or None)
        except AlrvizError as error:
            if options.target is not None:
                raise
            print(f"Choose on the page which column is the class: {with_options(str(error))}", flush=True)
            return Upload.from_file(file.name, file.read_bytes()).replace(options=file_options)
    except OSError as error:
        raise CommandError(f"{str(file)!r} cannot be read: {error.strerror or error}") from error


def _serve(page: Callable[[], Any], options: argparse.Namespace) -> Server:
    """Return a server for `page`, not started yet, on the requested port or on the first free one."""
    ports = [0] if options.check else [options.port] if options.port else range(PORT, PORT + PORTS_TRIED)
    for port in ports:
        try:
            return _bound(page, port, options)
        except ValueError as error:  # from Bokeh, for an origin in an unknown form
            raise CommandError(
                f"cannot serve there: {error}; expected names or IPv4 addresses, with a colon and the port if it is "
                "another"
            ) from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CommandError(f"cannot serve on {options.address}: {error.strerror or error}") from error
    if options.port:
        raise CommandError(f"port {options.port} is in use; give another, or leave --port out for the next free one")
    raise CommandError(f"the ports from {ports[0]} to {ports[-1]} are all in use; name a free one with --port")


def _bound(page: Callable[[], Any], port: int, options: argparse.Namespace) -> Server:
    from panel.io.server import get_server

    names = ["localhost", "127.0.0.1", options.address, *options.origin]
    origins = [name if ":" in name else f"{name}:{port}" for name in dict.fromkeys(names)]
    return get_server(
        {PATH: page},
        port=port,
        address=options.address,
        websocket_origin=origins,
        title={PATH: "alrviz"},
        use_xheaders=bool(options.proxy),
    )


def _run_server(server: Server) -> None:
    """Serve until the loop is stopped; Panel stops it on Ctrl-C."""
    server.start()
    try:
        server.io_loop.start()
    finally:
        server.stop()


def _check_server(server: Server, url: str, failures: list[Exception]) -> int:
    """Serve while a thread fetches the page once; print the result."""
    findings: list[tuple[bool, str]] = []

    def look() -> None:
        try:
            findings.append(_fetch_page(url))
        except (OSError, HTTPException) as error:
            findings.append((False, f"no page: {error}"))
        finally:
            server.io_loop.add_callback(server.io_loop.stop)

    Job(lambda stop: look(), "alrviz-check").start()
    _run_server(server)
    is_complete, sentence = findings[0] if findings else (False, "ended before the page came")
    if failures:
        is_complete, sentence = False, f"the page could not be built: {type(failures[0]).__name__}: {failures[0]}"
    print(f"{url.partition('?')[0]}: {sentence}", file=sys.stdout if is_complete else sys.stderr)
    return 0 if is_complete else 1


def _fetch_page(url: str) -> tuple[bool, str]:
    """Fetch the page, and the scripts and styles on its own server; return whether it is complete, and a sentence."""
    open_url = build_opener(HTTPCookieProcessor()).open
    with open_url(url, timeout=TIMEOUT_SECONDS) as answer:
        page_html = answer.read().decode()
    title_match = re.search(r"<title>(.*?)</title>", page_html, re.DOTALL)
    roots_match = re.search(r'"roots":\{(.*?)\}', page_html)
    if title_match is None or roots_match is None or not roots_match[1]:
        return False, "the server answered, but not with a page of the explorer"
    file_names = re.findall(r'(?:src|href)="([^"]+\.(?:js|css)\b[^"]*)"', page_html)
    file_urls = {urljoin(url, unescape(name)) for name in file_names}
    local_files = sorted(file for file in file_urls if urlsplit(file).netloc == urlsplit(url).netloc)
    for file in local_files:
        with open_url(file, timeout=TIMEOUT_SECONDS) as answer:
            answer.read()
    name, n_remote = unescape(title_match[1].strip()), len(file_urls) - len(local_files)
    files_text = f"{len(local_files)} scripts and styles" + (
        f" (and {n_remote} from elsewhere, not fetched)" if n_remote else ""
    )
    return True, f"page {name!r} of {len(page_html) / 1000:.0f} kB, {files_text}: all there"
