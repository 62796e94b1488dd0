"""Passes on the machines of a Dask cluster, with the same bits as on one machine.

    chunks = ClusterChunks(client, coded, "train")        in place of LocalChunks

The function of a pass is sent once, as an argument under its own key that the scheduler keeps, so that workers which
join later or replace a dead one get it from there. A task is a run of FANOUT^k chunks, as few as take a second. It
reads them from the client's codes where its machine sees these, else from codes that its machine makes of the files.
Sums of tasks are added by chunk number, FANOUT at a time, on the workers, and one comes back. Nothing lives in one
worker's memory alone: a dead worker costs only its tasks of the pass.

Steps that depend on the one before (`read`) are not distributed: this process reads the chunks itself.
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
from alrviz.data.stream.table import EncodedTable, load_or_encode
from alrviz.errors import AlrvizError, RecipeError, TableFileError
from alrviz.home import home
from alrviz.passes.stream import FANOUT, ChunkWork, LocalChunks, Result
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from distributed import Client, Future

POLL_SECONDS = 0.2  # between two checks of the stop token
TIMEOUT_SECONDS = 60.0  # for a scheduler to answer, and for a cluster without workers to get one
MIN_TASK_SECONDS = 1.0  # as far as there are rows enough
_DASK_CONFIG = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}  # tables are sent as arguments on purpose


def require_dask() -> None:
    """Raise `RecipeError` where the packages that reach a cluster are missing."""
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise RecipeError("a scheduler is reached through Dask: pip install 'alrviz[dask]'") from error


@contextmanager
def connect(scheduler: "str | Client | None") -> "Iterator[Client | None]":
    """Yield a client of the scheduler at an address, closed at the end; a given client is yielded unchanged, and None
    as None.

    Raises:
        RecipeError: the argument is neither an address nor a client, or Dask is not installed.
        AlrvizError: no scheduler answers.
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
        client = Client(scheduler, set_as_default=False, timeout=TIMEOUT_SECONDS)
    except (OSError, ValueError) as error:  # a time-out is an OSError
        raise AlrvizError(
            f"no Dask scheduler answers at {scheduler!r} ({error or type(error).__name__}); expected the address that "
            "`dask scheduler` prints, such as tcp://host:8786"
        ) from error
    with client:
        yield client


def local_chunks(coded: EncodedTable, part_name: str, n_first: int = 0) -> LocalChunks:
    """Return the chunks of a part ("train", "test") of a coded table without its first n_first rows, read by this
    process.
    """
    return LocalChunks(partial(coded.cache.rest, part_name, n_first), len(coded.cache.parts[part_name]))


class ClusterChunks:
    """Chunks of a part of a coded table, read by the workers of a cluster; see `passes.stream.Chunks`.

    Raises:
        AlrvizError: there is no worker; or a worker lacks the files and the codes, has other rows or another alrviz.
    """

    def __init__(self, client: "Client", coded: EncodedTable, part_name: str, stop: StopToken = NEVER):
        self._client, self.rows_from, self._read_chunks = client, (part_name, 0), coded.cache.rest
        self.n_chunks, self.passes = len(coded.cache.parts[part_name]), 0
        self._chunk_seconds = 0.0  # measured in the pass before
        with _cluster_errors():
            self._table = self._submit(_pass_through, pickle.dumps(_with_absolute_paths(coded)))
            hosts = {urlsplit(address).hostname: address for address in self._workers(stop)}
            ready = [self._submit(_prepare_codes, self._table, workers=[host], retries=1) for host in hosts.values()]
            versions = self._gather_results(ready, stop)
        for version in versions:
            if version != __version__:
                raise AlrvizError(f"a worker has alrviz {version} and this is {__version__}; expected the same")

    def read(self, order: Sequence[int] | None = None, stop: StopToken = NEVER) -> Iterable[Any]:
        """Yield the chunks numbered `order` (None: all), read by this process."""
        return self._read_chunks(*self.rows_from, order, stop)

    def without(self, n_first: int) -> "ClusterChunks":
        """Return the same rows without the first `n_first`."""
        chunks = copy(self)
        chunks.rows_from, chunks.passes = (self.rows_from[0], n_first), 0
        return chunks

    def map_reduce(self, work: ChunkWork[Result], combine: Any, n_jobs: int, stop: StopToken) -> Result:
        """Apply `work` to runs of chunks, a task each, and combine the results by chunk number; see `Chunks`."""
        self.passes += 1
        task_chunks = 1 if self._chunk_seconds else FANOUT
        while (
            self._chunk_seconds and self._chunk_seconds * task_chunks < MIN_TASK_SECONDS and task_chunks < self.n_chunks
        ):
            task_chunks *= FANOUT
        first_chunks = range(0, self.n_chunks, task_chunks)
        with _cluster_errors():
            sent_work, workers = self._submit(_pass_through, pickle.dumps(work)), self._workers(stop)
            tasks = [
                self._submit(
                    _run_task, self._table, sent_work, self.rows_from,
                    range(first_chunk, min(first_chunk + task_chunks, self.n_chunks)),
                    workers=[workers[k * len(workers) // len(first_chunks)]],
                )
                for k, first_chunk in enumerate(first_chunks)
            ]  # fmt: skip
            all_tasks = [*tasks]
            while len(tasks) > 1:
                tasks = [
                    self._submit(_combine_results, combine, tasks[k : k + FANOUT]) for k in range(0, len(tasks), FANOUT)
                ]
                all_tasks += tasks
            try:
                seconds, result = self._gather_results(tasks, stop)[0]
            except BaseException:
                self._client.cancel(all_tasks, force=True)
                raise
        self._chunk_seconds = seconds / self.n_chunks
        return result

    def _submit(self, work: Any, *arguments: Any, **options: Any) -> "Future":
        """Submit a task under its own key, so that it may run on any worker, and again."""
        import dask

        key = f"alrviz{work.__name__}-{uuid4().hex}"
        if "workers" in options:
            options["allow_other_workers"] = True
        with dask.config.set(_DASK_CONFIG):
            return self._client.submit(work, *arguments, key=key, pure=False, **options)

    def _workers(self, stop: StopToken) -> list[str]:
        """Return the workers' addresses, sorted; wait for the first worker."""
        started_at = time.monotonic()
        while not (addresses := sorted(self._client.ncores())):
            if time.monotonic() - started_at > TIMEOUT_SECONDS:
                scheduler = self._client.scheduler.address
                raise AlrvizError(
                    f"the cluster at {scheduler} has had no worker for {TIMEOUT_SECONDS:.0f} s; start one "
                    "(`dask worker ADDRESS`)"
                )
            stop.rest(POLL_SECONDS)
        return addresses

    def _gather_results(self, futures: "Sequence[Future]", stop: StopToken) -> list[Any]:
        """Return the results of tasks from their futures; wait for them as long as there are workers."""
        last_check = time.monotonic()
        for future in futures:
            while not future.done():
                stop.rest(POLL_SECONDS)
                if time.monotonic() - last_check > TIMEOUT_SECONDS / 4:
                    self._workers(stop)
                    last_check = time.monotonic()
        results = [future.result() for future in futures]
        if refusal := next((result for result in results if isinstance(result, _Refusal)), None):
            raise TableFileError(refusal)
        return results


@contextmanager
def _cluster_errors() -> Iterator[None]:
    """Raise failures of workers and of the scheduler as AlrvizError."""
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


def _with_absolute_paths(coded: EncodedTable) -> EncodedTable:
    """Return the table with paths that do not depend on the working directory of a process."""
    cache, coding = coded.cache, coded.coding
    source = replace(coding.source, paths=tuple(path.absolute() for path in coding.source.paths))
    return replace(coded, cache=replace(cache, path=cache.path.absolute()), coding=replace(coding, source=source))


def _pass_through(data: bytes) -> bytes:
    """Return the data: as the result of a task it is kept by the scheduler and shared between workers."""
    return data


class _Refusal(str):
    """The reason why a worker cannot do its task, returned as a result: Dask cannot send exceptions that have two
    bases.
    """


def _prepare_codes(table: bytes) -> str:
    """Make the codes of a pickled `EncodedTable` available on this machine; return the version of alrviz."""
    try:
        _open_codes(pickle.loads(table))
    except AlrvizError as error:
        return _Refusal(f"{_worker_name()} {error}")
    return __version__


def _run_task(
    table: bytes, work: bytes, rows: tuple[str, int], chunk_numbers: Sequence[int]
) -> "tuple[float, Any] | _Refusal":
    """Return the seconds and the result of a pass over chunks of these numbers.

    table, work: the pickled `EncodedTable` and function of the pass; rows: the part's name and how many of its first
    rows are left out. `work` is unpickled here, so that its arrays have the flags for which kernels are compiled.
    """
    started_at = time.perf_counter()
    for may_retry in (True, False):  # damaged codes have been removed and are made again
        try:
            result = pickle.loads(work)(_open_codes(pickle.loads(table)).rest(*rows, chunk_numbers), 1, NEVER)
            break
        except AlrvizError as error:
            if not may_retry:
                return _Refusal(f"{_worker_name()} {error}")
    return time.perf_counter() - started_at, result


def _combine_results(
    combine: Any, task_results: "Sequence[tuple[float, Any] | _Refusal]"
) -> "tuple[float, Any] | _Refusal":
    """Return the total seconds of tasks and their results combined by `combine`, or the first refusal among them."""
    results: list[tuple[float, Any]] = []
    for task_result in task_results:
        if isinstance(task_result, _Refusal):
            return task_result
        results.append(task_result)
    return sum(seconds for seconds, _ in results), combine([result for _, result in results])


def _worker_name() -> str:
    from distributed import get_worker

    return f"worker {get_worker().name!r} at {get_worker().address}:"


def _open_codes(coded: EncodedTable) -> CodeCache:
    """Return the codes of this machine: the client's where its file is visible, else codes made here of the table's
    files.

    Raises:
        TableError: neither is visible here, or the files have other rows.
    """
    path = coded.cache.path
    path_here = path if path.parent.is_dir() else home() / "codes" / path.name
    if open_cache(path_here) is None:
        _require_files(coded.coding.source.paths, path_here)
    cache = load_or_encode(coded.coding, path_here)
    if cache.parts != coded.cache.parts:
        raise TableFileError(f"{str(path_here)!r} holds other rows than {str(path)!r} of the client; remove it")
    return cache


def _require_files(paths: Iterable[Path], codes: Path) -> None:
    """Raise `TableFileError` if one of `paths`, files of the table, is not visible here; codes: the path where codes
    belong.
    """
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise TableFileError(
            f"sees neither the file {str(missing)!r} nor the codes {str(codes)!r}; expected the files at one place on "
            "all workers, or codes in a folder that all share (cache=, --cache)"
        )
