"""A class of students on the light page while a race runs: how fast answers are taken, and what they cost.

A race takes a step every --pace seconds in a server of its own; its teacher has the explorer's page open. Each student
opens the class's page, listens, and answers each of three questions at a moment of the --within seconds after it came;
some change their minds. Beside that, the teacher's page with no class (0 students). With --sessions so many students
open the explorer itself, all at once, each with a race of their own: when their pages, first and last steps come, for
the first, the middle and the last of them (how fair it is), and how long the event loop was not free. Clients share the
machine with the server.
"""

import argparse
import asyncio
import json
import os
import random
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from alrviz.errors import AlrvizError
from benchmarks._server import OWNER, Server, serving
from benchmarks._tools import Row, show
from benchmarks.spectators import AT_ONCE, PATIENCE, Spectator, delays_of, get, listen, messages, ms, open_owner

QUESTIONS = 3
CHANGED_ANSWER_SHARE = 0.3  # of the students who change their answer
LINK = "data=monks-1"  # a race that starts by itself
LASTING = 60.0  # seconds that are waited for the last step of every session
STILL = 3.0  # seconds without a step after which a session's race is over
# Seconds from the start, of the first, the middle and the last of the sessions: fair where they are near each other.
SPREAD = [f"{event}_{position}" for event in ("page", "begun", "ended") for position in ("first", "median", "last")]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the class."""
    parser.add_argument("--students", type=int, nargs="+", default=[0, 300], help="how many (default: 0 300)")
    parser.add_argument("--within", type=float, default=5.0, help="seconds in which all answer (default: 5)")
    parser.add_argument("--pace", type=float, default=0.5, help="seconds between two steps (default: 0.5)")
    parser.add_argument("--sessions", type=int, default=30, help="explorer sessions instead (default: 30; 0: none)")


class Student(Spectator):
    """One student: arrival times by round, seconds of each answer, which follows within `answer_seconds`."""

    def __init__(self, host: str, path: str, cookie: str, answer_seconds: float) -> None:
        super().__init__()
        self.arrival_times: dict[int, float] = {}
        self.took: list[float] = []
        self._host, self._path, self._cookie, self._answer_seconds = host, path, cookie, answer_seconds
        self.answers: set[asyncio.Task[None]] = set()

    def read(self, data: bytes) -> None:
        """Take what the server sent, and answer a question."""
        super().read(data)
        for message in messages(data):
            class_state = message.get("class", {})
            if class_state.get("open") and class_state["round"] not in self.arrival_times:
                self.arrival_times[class_state["round"]] = time.time()
                times = 1 + (random.random() < CHANGED_ANSWER_SHARE)
                for _ in range(times):
                    task = asyncio.ensure_future(self._answer(class_state["round"]))
                    self.answers.add(task)

    async def _answer(self, number: int) -> None:
        await asyncio.sleep(random.uniform(0, self._answer_seconds))
        body = json.dumps({"round": number, "answer": random.choice(["lr", "alr"]), "note": "so it seems"})
        start = time.perf_counter()
        stream, writer = await asyncio.open_connection(*self._host.split(":"))
        head = f"Cookie: {self._cookie}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        try:
            await get(stream, writer, self._host, f"{self._path}/vote", head, "POST")
        finally:  # also where the benchmark ends before the server has answered
            writer.close()
        self.took.append(time.perf_counter() - start)


def _leave(task: asyncio.Task[None], writer: asyncio.StreamWriter) -> None:
    task.cancel()
    writer.close()


async def _joined(url: str, secret: str, count: int, answer_seconds: float) -> list[Student]:
    gate, host, path = asyncio.Semaphore(AT_ONCE), urlsplit(url).netloc, f"/explorer/class/{secret}"

    async def join() -> Student:
        async with gate:
            stream, writer = await asyncio.open_connection(*host.split(":"), limit=2**24)
            page = await get(stream, writer, host, path)
            await stream.readexactly(int(page["content-length"]))
            cookie = page["set-cookie"].split(";")[0]
            await get(stream, writer, host, f"{path}/steps", f"Cookie: {cookie}\r\n\r\n")
            student = Student(host, path, cookie, answer_seconds)
            task = asyncio.ensure_future(listen(stream, student))
            student.leave = partial(_leave, task, writer)
            await asyncio.wait_for(student.greeted.wait(), PATIENCE)
            return student

    return list(await asyncio.gather(*(join() for _ in range(count))))


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row for each class, and one for the sessions."""
    rows = [_measure(_class(count, options)) for count in options.students]
    print()
    show(
        (
            (r["students"], f"{r['opened']:.1f} s", *(ms(r[name]) for name in ("answer", "answer95", "longest")),
             ms(r["asked95"]), f"{r['answers']}", *(ms(r[name]) for name in ("teacher", "teacher95")),
             f"{100 * r['load']:.0f} %", f"{100 * r['clients']:.0f} %", f"{1024 * r['memory']:.0f} KiB")
            for r in rows
        ),
        header=("students", "all are there", "an answer", "95 %", "longest", "a question, 95 %", "answers",
                "teacher's page", "95 %", "server's processor", "the clients'", "memory each"),
    )  # fmt: skip
    yield from rows
    if options.sessions:
        row = _measure(_sessions(options.sessions))
        print()
        show(
            [(row["sessions"], row["errors"], *(f"{row[name]:.1f} s" for name in SPREAD), ms(row["blocked"]),
              ms(row["worked"]), f"{row['processor']:.0f} s in {row['taken']:.0f} s", f"{row['load']:.1f}")],
            header=("sessions", "errors", "a page: first", "median", "last", "a race's first step: first", "median",
                    "last", "all steps: first", "median", "last", "the loop late by", "of it its own work",
                    "processor", "load before"),
        )  # fmt: skip
        yield row


def _measure(work: Any) -> Row:
    with serving(None) as server:
        server.ask("warm")
        return asyncio.run(work(server))


def _asking(server: Server) -> Any:
    return lambda name, *values: asyncio.get_running_loop().run_in_executor(None, server.ask, name, *values)


def _class(count: int, options: argparse.Namespace) -> Any:
    async def work(server: Server) -> Row:
        ask = _asking(server)
        run, _ = await ask("share_race", options.pace)
        secret = await ask("classroom") if count else ""
        teacher = await open_owner(OWNER, server.url, f"run={run}")
        await asyncio.sleep(2.0)
        usage_before, start = await ask("usage"), time.perf_counter()
        students = await _joined(server.url, secret, count, options.within)
        opening_seconds, usage_opened = time.perf_counter() - start, await ask("usage")
        await ask("begin")
        await asyncio.sleep(3.0)
        await ask("forget")
        teacher.came.clear()
        first_usage, client_seconds = await ask("usage"), time.process_time()
        came: list[float] = []
        for k in range(QUESTIONS):
            ask_time = await ask("ask_class", f"Question {k + 1}") if count else 0.0
            await asyncio.sleep(options.within + 2.0)
            voted = await ask("close_class") if count else 0
            if voted != count:
                raise AlrvizError(f"{voted} of {count} students have answered question {k + 1}")
            came += [student.arrival_times[k + 1] - ask_time for student in students]
        last_usage, notes = await ask("usage"), await ask("notes")
        for visitor in (teacher, *students):
            visitor.leave()
        duration = last_usage.clock_seconds - first_usage.clock_seconds
        took = [seconds for student in students for seconds in student.took] or [np.nan]
        steps = delays_of(notes.steps, [teacher]) or [np.nan]
        return {
            "students": count,
            "opened": opening_seconds,
            "answers": len(took) if count else 0,
            "answer": float(np.median(took)),
            "answer95": float(np.percentile(took, 95)),
            "longest": max(took),
            "asked95": float(np.percentile(came or [np.nan], 95)),
            "teacher": float(np.median(steps)),
            "teacher95": float(np.percentile(steps, 95)),
            "load": (last_usage.processor - first_usage.processor) / duration,
            "clients": (time.process_time() - client_seconds) / duration,
            "memory": (usage_opened.memory - usage_before.memory) / max(count, 1) / 2**20,
        }

    return work


def _sessions(count: int) -> Any:
    async def work(server: Server) -> Row:
        ask = _asking(server)
        (await open_owner(OWNER, server.url, LINK)).leave()  # the first page imports
        await asyncio.sleep(2.0)
        await ask("forget")
        first_usage, start = await ask("usage"), time.time()

        async def open_page(k: int) -> Any:
            page = await open_owner(f"{k + 1:032x}", server.url, LINK)
            return time.time() - start, page

        load = os.getloadavg()[0]
        results = await asyncio.gather(*(open_page(k) for k in range(count)), return_exceptions=True)
        pages = [result for result in results if not isinstance(result, BaseException)]
        end = time.time() + LASTING
        while time.time() < end and not all(page.came and time.time() - page.came[-1][1] > STILL for _, page in pages):
            await asyncio.sleep(0.2)
        last_usage, notes = await ask("usage"), await ask("notes")
        for _, page in pages:
            page.leave()
        ran = [page.came for _, page in pages if page.came]
        seconds = {
            "page": [page_seconds for page_seconds, _ in pages],
            "begun": [came[0][1] - start for came in ran],
            "ended": [came[-1][1] - start for came in ran],
        }
        delays_or_nan = (delays or [np.nan] for delays in seconds.values())
        spread = [(min(values), float(np.median(values)), max(values)) for values in delays_or_nan]
        return {
            "sessions": count,
            "errors": count - len(ran),
            **dict(zip(SPREAD, (value for triple in spread for value in triple), strict=True)),
            "blocked": notes.blocked,
            "worked": notes.worked,
            "processor": last_usage.processor - first_usage.processor,
            "taken": last_usage.clock_seconds - first_usage.clock_seconds,
            "load": load,
        }

    return work
