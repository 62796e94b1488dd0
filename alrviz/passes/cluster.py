"""Passes on the machines of a Dask cluster: sums made where the chunks are read, to the same bits as on one machine.

    chunks = ClusterChunks(client, coded, "train")        in place of OwnChunks

What a pass does with some chunks is sent once a pass, under a key of its own, as an argument that the scheduler keeps:
a worker that comes later, or instead of one that died, has it from there. A task is a run of FANOUT^k chunks, as few as
take a second; it reads them from the codes of the client where it sees these, or from those that its machine makes of
the files. Sums of tasks are added by the chunks' numbers, FANOUT at a time, on the workers, and one comes back. Nothing
is only in one worker's memory: a worker that dies costs its tasks of the pass.

Steps that are taken row by row, each from where the last one led, are not spread: `read` is this process's own.
"""

import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from alrviz import __version__
from alrviz.data.stream.cache import CodeCache, open_cache
from alrviz.data.stream.table import CodedTable, coded_cache
from alrviz.errors import AlrvizError, RecipeError, TableFileError
from alrviz.home import home
from alrviz.passes.stream import FANOUT, Found, OwnChunks, Work
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from distributed import Client, Future

LOOK = 0.2  # seconds between two looks at whether it is to be stopped
PATIENCE = 60.0  # seconds for a scheduler to answer, and for a cluster that has no worker to get one
TASK = 1.0  # seconds that a task takes at least, where there are rows enough
_ARGUMENT = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}  # tables are arguments on purpose


def require_dask() -> None:
    """Raise `RecipeError` where the packages that reach a cluster are missing."""
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise RecipeError("a scheduler is reached through Dask: pip install 'alrviz[dask]'") from error


@contextmanager
def connected(scheduler: "str | Client | None") -> "Iterator[Client | None]":
    """Give a client of the scheduler at an address, closed at the end; a client that there is already, as it is.

    Raises:
        RecipeError: what is neither, or Dask is not installed.
        AlrvizError: nothing answers there.
    """
    if scheduler is None:
        yield None
        return
    require_dask()
    from distributed import Client

    if isinstance(scheduler, Client):
        yield scheduler
        return
    if not isinstance(scheduler, str):
        raise RecipeError(
            f"scheduler={scheduler!r} is no scheduler; expected an address such as 'tcp://host:8786', or a "
            "distributed.Client"
        )
    try:
        client = Client(scheduler, set_as_default=False, timeout=PATIENCE)
    except (OSError, ValueError) as error:  # a time-out is an OSError
        raise AlrvizError(
            f"no Dask scheduler answers at {scheduler!r} ({error or type(error).__name__}); expected the address that "
            "`dask scheduler` prints, such as tcp://host:8786"
        ) from error
    with client:
        yield client


def own_chunks(coded: CodedTable, part: str, n_first: int = 0) -> OwnChunks:
    """Return the chunks of a part without its `n_first` first rows, passed over by this process."""
    return OwnChunks(partial(coded.cache.rest, part, n_first), len(coded.cache.parts[part]))


class ClusterChunks:
    """Chunks of a part of a coded table, passed over by the workers of a cluster; see `passes.stream.Chunks`.

    Raises:
        AlrvizError: there is no worker; one lacks the files and the codes, has other rows, or another alrviz.
    """

    def __init__(self, client: "Client", coded: CodedTable, part: str, stop: StopToken = NEVER):
        self._client, self._of, self._rest = client, (part, 0), coded.cache.rest
        self.number, self.passes = len(coded.cache.parts[part]), 0
        self._seconds = 0.0  # that a chunk took in the pass before
        with _told():
            self._table = self._submit(_received, pickle.dumps(_absolute(coded)))
            hosts = {urlsplit(address).hostname: address for address in self._workers(stop)}
            ready = [self._submit(_prepared, self._table, workers=[one], retries=1) for one in hosts.values()]
            versions = self._results(ready, stop)
        for found in versions:
            if found != __version__:
                raise AlrvizError(f"a worker has alrviz {found} and this is {__version__}; expected the same")

    def read(self, order: Sequence[int] | None = None, stop: StopToken = NEVER) -> Iterable[Any]:
        """Yield the chunks, read here."""
        return self._rest(*self._of, order, stop)

    def without(self, n_first: int) -> "ClusterChunks":
        """Return the same rows without the first so many."""
        rest = copy(self)
        rest._of, rest.passes = (self._of[0], n_first), 0
        return rest

    def over(self, work: Work[Found], combine: Any, n_jobs: int, stop: StopToken) -> Found:
        """As `Chunks` says: a task a run of chunks, their results combined by number."""
        self.passes += 1
        size = 1 if self._seconds else FANOUT
        while self._seconds and self._seconds * size < TASK and size < self.number:
            size *= FANOUT
        starts = range(0, self.number, size)
        with _told():
            sent, workers = self._submit(_received, pickle.dumps(work)), self._workers(stop)
            nodes = [
                self._submit(
                    _shard, self._table, sent, self._of, range(begin, min(begin + size, self.number)),
                    workers=[workers[k * len(workers) // len(starts)]],
                )
                for k, begin in enumerate(starts)
            ]  # fmt: skip
            every = [*nodes]
            while len(nodes) > 1:
                nodes = [self._submit(_combined, combine, nodes[k : k + FANOUT]) for k in range(0, len(nodes), FANOUT)]
                every += nodes
            try:
                seconds, found = self._results(nodes, stop)[0]
            except BaseException:
                self._client.cancel(every, force=True)
                raise
        self._seconds = seconds / self.number
        return found

    def _submit(self, work: Any, *arguments: Any, **options: Any) -> "Future":
        """Send a task of its own: it may run on any worker, and again."""
        import dask

        key = f"alrviz{work.__name__}-{uuid4().hex}"
        if "workers" in options:
            options["allow_other_workers"] = True
        with dask.config.set(_ARGUMENT):
            return self._client.submit(work, *arguments, key=key, pure=False, **options)

    def _workers(self, stop: StopToken) -> list[str]:
        """The workers' addresses, sorted; waits for the first."""
        begin = time.monotonic()
        while not (found := sorted(self._client.ncores())):
            if time.monotonic() - begin > PATIENCE:
                where = self._client.scheduler.address
                raise AlrvizError(
                    f"the cluster at {where} has had no worker for {PATIENCE:.0f} s; start one (`dask worker ADDRESS`)"
                )
            stop.rest(LOOK)
        return found

    def _results(self, futures: "Sequence[Future]", stop: StopToken) -> list[Any]:
        """Wait for what tasks return, as long as there are workers."""
        seen = time.monotonic()
        for future in futures:
            while not future.done():
                stop.rest(LOOK)
                if time.monotonic() - seen > PATIENCE / 4:
                    self._workers(stop)
                    seen = time.monotonic()
        results = [future.result() for future in futures]
        if refused := next((found for found in results if isinstance(found, _Refused)), None):
            raise TableFileError(refused)
        return results


@contextmanager
def _told() -> Iterator[None]:
    """Say as an AlrvizError what became of workers or of the scheduler while they were asked."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        yield
    except AlrvizError:
        raise
    except KilledWorker as error:
        raise AlrvizError(
            f"workers died one after the other at the same task ({error}); have they memory enough?"
        ) from error
    except ModuleNotFoundError as error:
        raise AlrvizError(f"workers lack a package ({error}): pip install 'alrviz[dask]' where they run") from error
    except (CancelledError, OSError) as error:
        raise AlrvizError(f"the Dask scheduler is gone ({error or type(error).__name__})") from error


# ---- on the workers --------------------------------------------------------------------------------------------------


def _absolute(coded: CodedTable) -> CodedTable:
    """The same, said in a way that does not hang on the folder a process was started in."""
    cache, coding = coded.cache, coded.coding
    source = replace(coding.source, paths=tuple(path.absolute() for path in coding.source.paths))
    return replace(coded, cache=replace(cache, path=cache.path.absolute()), coding=replace(coding, source=source))


def _received(data: bytes) -> bytes:
    """What was sent, which other workers have from here, or anew from the scheduler."""
    return data


class _Refused(str):
    """Why a worker cannot do its task, returned: Dask's way to send an error back breaks those of two bases."""


def _prepared(table: bytes) -> str:
    """Make sure of the codes; return the version."""
    try:
        _codes(pickle.loads(table))
    except AlrvizError as error:
        return _Refused(f"{_name()} {error}")
    return __version__


def _shard(table: bytes, work: bytes, of: tuple[str, int], numbers: Sequence[int]) -> "tuple[float, Any] | _Refused":
    """Seconds, and what a pass makes of chunks of some numbers; unpickled here, its arrays are as kernels want them."""
    begin = time.perf_counter()
    for again in (True, False):  # what is damaged is removed, and made anew
        try:
            found = pickle.loads(work)(_codes(pickle.loads(table)).rest(*of, numbers), 1, NEVER)
            break
        except AlrvizError as error:
            if not again:
                return _Refused(f"{_name()} {error}")
    return time.perf_counter() - begin, found


def _combined(combine: Any, found: "Sequence[tuple[float, Any] | _Refused]") -> "tuple[float, Any] | _Refused":
    made: list[tuple[float, Any]] = []
    for one in found:
        if isinstance(one, _Refused):
            return one
        made.append(one)
    return sum(seconds for seconds, _ in made), combine([own for _, own in made])


def _name() -> str:
    from distributed import get_worker

    return f"worker {get_worker().name!r} at {get_worker().address}:"


def _codes(coded: CodedTable) -> CodeCache:
    """The codes as this machine sees them: the client's, or its own, made of the files.

    Raises:
        TableError: it sees neither, or has other rows.
    """
    path = coded.cache.path
    own = path if path.parent.is_dir() else home() / "codes" / path.name
    if open_cache(own) is None:
        _require_files(coded.coding.source.paths, own)
    found = coded_cache(coded.coding, own)
    if found.parts != coded.cache.parts:
        raise TableFileError(f"{str(own)!r} holds other rows than {str(path)!r} of the client; remove it")
    return found


def _require_files(paths: Iterable[Path], codes: Path) -> None:
    lacking = next((path for path in paths if not path.exists()), None)
    if lacking is not None:
        raise TableFileError(
            f"sees neither the file {str(lacking)!r} nor the codes {str(codes)!r}; expected the files at one place on "
            "all workers, or codes in a folder that all share (cache=, --cache)"
        )
