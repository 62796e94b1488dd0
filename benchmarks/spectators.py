"""Spectators of one race by its secret link: what 200 of them cost the server, and how late a step reaches them.

A race takes a step every --pace seconds in a server of its own. Each spectator opens the link as a browser does (the
page, then the answer that brings the steps; nothing is drawn), and the race's owner has the explorer's page open beside
them. Reported are the time until all are there, the processor time and the memory that a spectator costs, and the time
from a step to the message that brings it, to spectators and to the owner, whose delay without spectators (0) is to be
compared. Spectators share the machine with the server: their own reading is in the delays.
"""

import argparse
import asyncio
import gzip
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from alrviz.errors import AlrvizError
from alrviz.explorer.server.visitor_ids import COOKIE
from benchmarks._server import OWNER, Server, serving
from benchmarks._tools import Row, show

_TOKEN = re.compile(r'"token":"([^"]+)"')
_STEPS = re.compile(rb'"step",\[([-\d,. ]+)\]|"step":\[([-\d,. ]+)\]')
_INFO = re.compile(r'BrowserInfo","id":"(p\d+)"')
# What BokehJS sends once its views are built, and what Panel's last root tells then: the page lives from then on.
_READY = {
    "kind": "MessageSent",
    "msg_type": "bokeh_event",
    "msg_data": {"type": "event", "name": "document_ready", "values": {"type": "map", "entries": []}},
}
_TIMEZONE = {"kind": "ModelChanged", "attr": "timezone_offset", "new": 0}
ALL_STEPS = 2**62
AT_ONCE = 32  # spectators that open the page at the same time
PATIENCE = 300.0  # seconds


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the crowd."""
    parser.add_argument("--spectators", type=int, nargs="+", default=[0, 50, 200], help="how many (default: 0 50 200)")
    parser.add_argument("--seconds", type=float, default=15.0, help="for which they are fed (default: 15)")
    parser.add_argument("--pace", type=float, default=0.5, help="seconds between two steps (default: 0.5)")


def messages(data: bytes) -> list[dict[str, Any]]:
    """Return the JSON of whole server-sent events."""
    return [json.loads(line[5:]) for line in data.splitlines() if line.startswith(b"data:")]


@dataclass
class Spectator:
    """One spectator: when the last step of each message came, and their bytes; `greeted` by the first message."""

    came: list[tuple[int, float]] = field(default_factory=list)
    size: int = 0
    greeted: asyncio.Event = field(default_factory=asyncio.Event)
    leave: Any = None

    def read(self, data: bytes) -> None:
        """Take what the server sent a spectator's page: events, or nothing but a sign of life."""
        self.greeted.set()
        self.size += len(data)
        for message in messages(data):
            if steps := message.get("steps", []):
                self.came.append((int(max(steps)), time.time()))


@dataclass
class Owner(Spectator):
    """The owner's explorer page as a spectator; `info` is the id of the model with the browser's properties."""

    info: str = ""

    def read(self, data: bytes | str | None) -> None:
        """Take a message off the websocket."""
        if data is None:
            return
        if isinstance(data, str) and (info := _INFO.search(data)):
            self.info = info[1]
        self.greeted.set()
        step_texts = _STEPS.findall(data.encode() if isinstance(data, str) else data)
        steps = [int(float(v)) for parts in step_texts for v in b"".join(parts).decode().split(",") if v]
        if steps:
            self.came.append((max(steps), time.time()))
        elif b'"step"' in (data.encode() if isinstance(data, str) else data):  # a line anew, all it has
            self.came.append((ALL_STEPS, time.time()))


async def crowd(url: str, secret: str, count: int) -> list[Spectator]:
    """Open the link `count` times, some at a time; every spectator listens from then on."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def join() -> Spectator:
        async with gate:
            return await _open_spectator(urlsplit(url).netloc, f"/explorer/race/{secret}")

    return list(await asyncio.gather(*(join() for _ in range(count))))


async def _open_spectator(host: str, path: str) -> Spectator:
    name, port = host.split(":")
    stream, writer = await asyncio.open_connection(name, int(port), limit=2**24)
    page = await get(stream, writer, host, path)
    if b"<canvas" not in gzip.decompress(await stream.readexactly(int(page["content-length"]))):
        raise AlrvizError("the link leads to no page for spectators")
    await get(stream, writer, host, path + "/steps")
    spectator = Spectator()
    task = asyncio.ensure_future(listen(stream, spectator))

    def leave() -> None:
        task.cancel()
        writer.close()

    spectator.leave = leave
    await asyncio.wait_for(spectator.greeted.wait(), PATIENCE)
    return spectator


async def get(
    stream: asyncio.StreamReader, sink: asyncio.StreamWriter, host: str, path: str, extra: str = "", method: str = "GET"
) -> dict[str, str]:
    """Ask for `path` with further lines of the head, and the body behind them; return the headers of the answer."""
    extra = extra or "\r\n"
    sink.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n{extra}".encode())
    first, *lines = (await stream.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    if " 200 " not in first:
        raise AlrvizError(f"{path} was answered with {first!r}")
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


async def listen(stream: asyncio.StreamReader, spectator: Spectator) -> None:
    """Read chunks; the server sends each message as one."""
    while size := int((await stream.readline()) or b"0", 16):
        spectator.read((await stream.readexactly(size + 2))[:-2])


async def open_owner(visitor: str, url: str, query: str) -> Owner:
    """Open the explorer's page at a link as a visitor of this id, up to where it lives."""
    from tornado.httpclient import AsyncHTTPClient, HTTPRequest
    from tornado.websocket import websocket_connect

    cookie = {"Cookie": f"{COOKIE}={visitor}"}
    page = await AsyncHTTPClient().fetch(f"{url}explorer?{query}", headers=cookie, request_timeout=PATIENCE)
    token = _TOKEN.search(page.body.decode())
    if token is None:
        raise AlrvizError("the server's page holds no session")
    owner = Owner()
    headers = cookie | {"Origin": url.rstrip("/")}
    socket = await websocket_connect(
        # With the query, as BokehJS does: the session is of the link by which the websocket asks for it.
        HTTPRequest(f"ws://{urlsplit(url).netloc}/explorer/ws?{query}", headers=headers, request_timeout=PATIENCE),
        subprotocols=["bokeh", token[1]], on_message_callback=owner.read, max_message_size=2**28,
    )  # fmt: skip
    owner.leave = socket.close
    await asyncio.wait_for(owner.greeted.wait(), PATIENCE)

    async def send(kind: str, **content: Any) -> None:
        for part in ({"msgid": kind, "msgtype": kind}, {}, content):
            await socket.write_message(json.dumps(part))

    await send("PULL-DOC-REQ")  # as BokehJS begins
    async with asyncio.timeout(PATIENCE):
        while not owner.info:
            await asyncio.sleep(0.01)
    await send("PATCH-DOC", events=[_READY, _TIMEZONE | {"model": {"id": owner.info}}])
    return owner


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row for each crowd."""
    rows = [_measure(count, options) for count in options.spectators]
    print()
    show(
        (
            (r["spectators"], f"{r['opened']:.1f} s", f"{1e3 * r['open']:.1f} ms", f"{1024 * r['page']:.0f} KiB",
             f"{100 * r['load']:.0f} %", *(ms(r[name]) for name in ("median", "p95", "most", "owner", "owner95")),
             f"{r['bytes']:.1f} kB/s")
            for r in rows
        ),
        header=("spectators", "all are there", "processor each", "memory each", "server's processor", "delay", "95 %",
                "longest", "the owner's", "95 %", "each gets"),
    )  # fmt: skip
    yield from rows


def ms(seconds: float) -> str:
    """Return seconds in milliseconds; "" where there are none."""
    return "" if np.isnan(seconds) else f"{1e3 * seconds:.0f} ms"


def _measure(count: int, options: argparse.Namespace) -> Row:
    with serving(None) as server:
        server.ask("warm")
        return asyncio.run(_fed(server, count, options))


async def _fed(server: Server, count: int, options: argparse.Namespace) -> Row:
    def ask(name: str, *values: Any) -> Any:
        return asyncio.get_running_loop().run_in_executor(None, server.ask, name, *values)

    run, secret = await ask("share_race", options.pace)
    owner = await open_owner(
        OWNER, server.url, f"run={run}"
    )  # the first page imports; it is no part of what a spectator costs
    await asyncio.sleep(2.0)
    for spectator in await crowd(server.url, secret, min(count, 1)):
        spectator.leave()
    before_crowd = await ask("usage")
    start = time.perf_counter()
    spectators = await crowd(server.url, secret, count)
    opening_seconds = time.perf_counter() - start
    with_crowd = await ask("usage")
    print(f"{count} spectators are there after {opening_seconds:.1f} s", flush=True)
    await ask("begin")  # only now: the messages of a long line, whose points are thinned, do not tell its last step
    await asyncio.sleep(3.0)
    await ask("forget")
    for visitor in (owner, *spectators):
        visitor.came.clear()
        visitor.size = 0
    first_usage = await ask("usage")
    await asyncio.sleep(options.seconds)
    last_usage, notes = await ask("usage"), await ask("notes")
    for visitor in (owner, *spectators):
        visitor.leave()
    duration, n_spectators = last_usage.clock_seconds - first_usage.clock_seconds, max(count, 1)
    delays, owner_delays = (
        np.array(delays_of(notes.steps, listeners) or [np.nan]) for listeners in (spectators, [owner])
    )
    if np.isnan(owner_delays).any() or (count and np.isnan(delays).any()):
        raise AlrvizError("no step was seen by the spectators, or by the race's owner")
    return {
        "spectators": count,
        "opened": opening_seconds,
        "open": (with_crowd.processor - before_crowd.processor) / n_spectators,
        "page": (with_crowd.memory - before_crowd.memory) / n_spectators / 2**20,
        "load": (last_usage.processor - first_usage.processor) / duration,
        "median": float(np.median(delays)),
        "p95": float(np.percentile(delays, 95)),
        "most": float(delays.max()),
        "owner": float(np.median(owner_delays)),
        "owner95": float(np.percentile(owner_delays, 95)),
        "bytes": sum(spectator.size for spectator in spectators) / n_spectators / duration / 1e3,
    }


def delays_of(steps: list[tuple[str, int, float]], spectators: list[Any]) -> list[float]:
    """Return the seconds from each step to the first message with it or a later one, of every spectator."""
    step_times: dict[int, float] = {}
    for _, index, step_time in steps:  # the last racer's: then all of them are there to be shown
        step_times[index] = max(step_time, step_times.get(index, 0.0))
    delays = []
    for spectator in spectators:
        for index, step_time in step_times.items():
            came = [arrival for last, arrival in spectator.came if last >= index and arrival >= step_time]
            if came:
                delays.append(min(came) - step_time)
    return delays
