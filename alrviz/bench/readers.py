"""Readers of one race by its secret link: what 200 of them cost the server, and how late a point reaches them.

A race takes a step every --pace seconds in a server of its own; each reader opens the read-only link as a browser does
(the page, then a websocket whose messages are read, nothing is drawn). Reported are the processor time that the server
needs a second, what a reader's page costs to open and to keep, and the time from a step to the message that brings it.
Readers share the machine with the server: their own reading is in the delays.
"""

import argparse
import asyncio
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from alrviz.bench._server import Server, serving
from alrviz.bench._tools import Row, show
from alrviz.errors import AlrvizError

_TOKEN = re.compile(r'"token":"([^"]+)"')
_STEPS = re.compile(rb'"step",\[([-\d,. ]+)\]|"step":\[([-\d,. ]+)\]')
# What BokehJS sends once its views are built: the page lives from then on.
_READY = {
    "kind": "MessageSent",
    "msg_type": "bokeh_event",
    "msg_data": {"type": "event", "name": "document_ready", "values": {"type": "map", "entries": []}},
}
AT_ONCE = 8  # readers that open the page at the same time


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the crowd."""
    parser.add_argument("--readers", type=int, nargs="+", default=[1, 50, 200], help="how many (default: 1 50 200)")
    parser.add_argument("--seconds", type=float, default=15.0, help="for which they are fed (default: 15)")
    parser.add_argument("--pace", type=float, default=0.5, help="seconds between two steps (default: 0.5)")


@dataclass
class Reader:
    """One reader: when the last step of each message came, and how many bytes; `greeted` by the first message."""

    came: list[tuple[int, float]] = field(default_factory=list)
    bytes: int = 0
    socket: Any = None
    greeted: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self, message: Any) -> None:
        """Take a message off the websocket."""
        if message is None:
            return
        self.greeted.set()
        data = message.encode() if isinstance(message, str) else message
        self.bytes += len(data)
        steps = [int(float(v)) for found in _STEPS.findall(data) for v in b"".join(found).decode().split(",") if v]
        if steps:
            self.came.append((max(steps), time.time()))


async def crowd(url: str, token: str, count: int) -> list[Reader]:
    """Open the link `count` times, some at a time; every reader listens from then on."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one() -> Reader:
        async with gate:
            return await _opened(url, token)

    return list(await asyncio.gather(*(one() for _ in range(count))))


async def _opened(url: str, token: str) -> Reader:
    from tornado.httpclient import AsyncHTTPClient, HTTPRequest
    from tornado.websocket import websocket_connect

    page = await AsyncHTTPClient().fetch(f"{url}explorer?watch={token}", request_timeout=300.0)
    found = _TOKEN.search(page.body.decode())
    if found is None:
        raise AlrvizError("the server's page holds no session")
    reader = Reader()
    request = HTTPRequest(
        f"ws://{urlsplit(url).netloc}/explorer/ws", headers={"Origin": url.rstrip("/")}, request_timeout=300.0
    )
    reader.socket = await websocket_connect(
        request, subprotocols=["bokeh", found[1]], on_message_callback=reader.read, max_message_size=2**28
    )
    await asyncio.wait_for(reader.greeted.wait(), 300.0)
    for kind, content in (("PULL-DOC-REQ", {}), ("PATCH-DOC", {"events": [_READY]})):  # as BokehJS begins
        for part in ({"msgid": kind, "msgtype": kind}, {}, content):
            await reader.socket.write_message(json.dumps(part))
    return reader


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row for each crowd."""
    rows = [_measured(count, options) for count in options.readers]
    print()
    show(
        (
            (r["readers"], f"{100 * r['load']:.0f} %", f"{1e3 * r['median']:.0f} ms", f"{1e3 * r['p95']:.0f} ms",
             f"{1e3 * r['most']:.0f} ms", f"{1e3 * r['open']:.0f} ms", f"{r['page']:.1f} MiB", f"{r['kept']:.0f} MiB",
             f"{r['bytes']:.1f} kB/s")
            for r in rows
        ),
        header=("readers", "server's processor", "delay", "95 %", "longest", "to open one", "a page", "server",
                "each gets"),
    )  # fmt: skip
    yield from rows


def _measured(count: int, options: argparse.Namespace) -> Row:
    with serving(None) as server:
        server.ask("warm")
        token = server.ask("shared", options.pace)
        return asyncio.run(_fed(server, token, count, options.seconds))


async def _fed(server: Server, token: str, count: int, seconds: float) -> Row:
    def ask(name: str) -> Any:
        return asyncio.get_running_loop().run_in_executor(None, server.ask, name)

    await _left(await crowd(server.url, token, 1))  # the first page imports; it is no part of what one costs
    before = await ask("used")
    begun = time.perf_counter()
    readers = await crowd(server.url, token, count)
    opened = time.perf_counter() - begun
    print(f"{count} readers are there after {opened:.1f} s", flush=True)
    here = await ask("used")
    await ask("begin")  # only now: the messages of a long line, whose points are thinned, do not tell its last step
    await asyncio.sleep(3.0)
    await ask("forget")
    for reader in readers:
        reader.came.clear()
        reader.bytes = 0
    first = await ask("used")
    await asyncio.sleep(seconds)
    last, notes = await ask("used"), await ask("notes")
    delays = np.array(delays_of(notes.steps, readers))
    if not len(delays):
        raise AlrvizError("no reader saw a step")
    taken = last.at - first.at
    await _left(readers)
    return {
        "readers": count,
        "load": (last.processor - first.processor) / taken,
        "median": float(np.median(delays)),
        "p95": float(np.percentile(delays, 95)),
        "most": float(delays.max()),
        "open": (here.processor - before.processor) / count,
        "page": (here.memory - before.memory) / count / 2**20,
        "kept": last.memory / 2**20,
        "bytes": sum(reader.bytes for reader in readers) / count / taken / 1e3,
    }


def delays_of(steps: list[tuple[str, int, float]], readers: list[Reader]) -> list[float]:
    """Return the seconds from each step to the first message with it or a later one, of every reader."""
    made: dict[int, float] = {}
    for _, index, at in steps:  # the last racer's: then all of them are there to be shown
        made[index] = max(at, made.get(index, 0.0))
    found = []
    for reader in readers:
        for index, at in made.items():
            came = [when for last, when in reader.came if last >= index and when >= at]
            if came:
                found.append(min(came) - at)
    return found


async def _left(readers: list[Reader]) -> None:
    for reader in readers:
        reader.socket.close()
    await asyncio.sleep(0.1)
