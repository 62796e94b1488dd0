"""Workers that compute tasks: this process, processes beside it, or a Dask cluster; a result as soon as it is there.

Every worker is a *slot*: a thread here that hands one task after another to one process of its own (joblib's loky) and
waits for it. So a process that is killed costs the one task it was at, and a stop kills the processes and waits for
nobody. On a cluster a slot is one of its threads: there a stop drops results, and the tasks
under way end by themselves.

Processes take seconds to start, a dozen on a busy machine: until the first of them has done a task this process
computes too, so that the first results are there at once.

Tasks that share encoded rows are handed to one slot as far as that keeps all of them busy. Each task computes with one
thread. Who computes it changes no number. A process ends with the one that it computes for, however that ends.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from alrviz.exit_with_parent import exit_with_parent
from alrviz.job import Job
from alrviz.memory import total_memory
from alrviz.passes.cluster import connect
from alrviz.passes.threads import available_threads, resolve_jobs
from alrviz.stop import StopToken
from alrviz.studies.core.compute_task import compute
from alrviz.studies.core.study_task import Result, StudyTask, failure
from alrviz.studies.core.table_transfer import SentTable, TableMissing, TableTransfer

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

# Seconds between two looks at the stop token while nothing finishes.
LOOK = 0.05
# Seconds that a process waits for the next study; it takes three to start another.
IDLE = 60
_idle: deque[Any] = deque(maxlen=16)
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def computed(
    tasks: Sequence[tuple[int, StudyTask]],
    datasets: "Mapping[str, Dataset]",
    *,
    n_jobs: int | None,
    scheduler: str | None = None,
    stop: StopToken,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Result]]:
    """Yield (place, result) of each of (place, task) as they finish, until all have or `stop` is pulled.

    `datasets`: the tables by hash. `n_jobs`: 1 for this process, k for k others, None for as many as there are
    processors; on a cluster at most so many of its threads. `tick` is called every now and then by the thread that
    iterates.
    """
    board, finished = _TaskQueue(tasks), SimpleQueue[tuple[int, Result]]()
    with ExitStack() as ending:
        slots = _slots(datasets, n_jobs, len(tasks), scheduler, stop, ending)
        ending.callback(_end, board, slots)
        work = [partial(_serve, slot, board, finished) for slot in slots]
        if any(isinstance(slot, _Process) for slot in slots) and not _idle:
            here = _Here({key: SentTable.of(dataset) for key, dataset in datasets.items()}, stop)
            work.append(partial(_serve, here, board, finished, until=lambda: board.done_by_others(id(here))))
        for serve in work:
            Job(serve, "alrviz-slot").start()
        left = len(tasks)
        while left and not stop.stopped:
            tick()
            try:
                found = finished.get(timeout=LOOK)
            except Empty:
                continue
            left -= 1
            if not stop.stopped:
                yield found


class _Slot(Protocol):
    def compute(self, task: StudyTask) -> Result:
        """Return what comes of a task; waits for it."""

    def close(self) -> None:
        """End what computes, whatever it is at."""


class _TaskQueue:
    """The tasks not yet begun, by what they share, and the seconds that those of each recipe took."""

    def __init__(self, tasks: Sequence[tuple[int, StudyTask]]):
        groups: dict[Any, list[tuple[int, StudyTask]]] = {}
        for place, task in tasks:
            groups.setdefault(task.group, []).append((place, task))
        self._fresh = deque(groups.values())
        self._begun: dict[int, list[tuple[int, StudyTask]]] = {}
        self._seconds: dict[str, float] = {}
        self._working: set[int] = set()  # slots that have done a task
        self._lock = threading.Lock()

    def take(self, slot: int) -> tuple[int, StudyTask] | None:
        """Return a task of the slot's group, else of a fresh one; once none is fresh the costliest of its own,
        and without any of its own the costliest of the slot that has most left.

        So the last to end is a short one, and no slot waits long for another.
        """
        with self._lock:
            mine = self._begun.setdefault(slot, [])
            if not mine and self._fresh:
                mine = self._begun[slot] = self._fresh.popleft()
            if self._fresh:
                return mine.pop(0)
            mine = mine or max(self._begun.values(), key=len)
            if not mine:
                return None
            costs = [self._seconds.get(task.recipe, 0.0) for _, task in mine]
            return mine.pop(costs.index(max(costs)))

    def note(self, slot: int, task: StudyTask, seconds: float) -> None:
        """Remember what a task took, and that the slot has done one."""
        with self._lock:
            self._seconds[task.recipe] = seconds
            self._working.add(slot)

    def done_by_others(self, slot: int) -> bool:
        """Return whether any other slot has done a task."""
        with self._lock:
            return bool(self._working - {slot})

    def clear(self) -> None:
        """Hand out no more."""
        with self._lock:
            self._fresh.clear()
            self._begun.clear()


class _Here:
    """The calling process; a stop ends the task under way with the step it is at."""

    def __init__(self, tables: Mapping[str, SentTable], stop: StopToken):
        self._tables, self._stop = tables, stop

    def compute(self, task: StudyTask) -> Result:
        return compute(task, self._tables[task.data_hash], self._stop)

    def close(self) -> None:
        """Nothing: the token ends it."""


class _Process:
    """One process beside this one; another in its place after it was killed."""

    def __init__(self, shipments: Mapping[str, TableTransfer]):
        self._shipments = shipments
        self._executor: Any = None
        self._busy = self._closed = False
        self._lock = threading.Lock()

    def compute(self, task: StudyTask) -> Result:
        from joblib.externals.loky.process_executor import BrokenProcessPool, ShutdownExecutorError

        shipment = self._shipments[task.data_hash]
        try:
            try:
                result: Result = self._submit(task, shipment.bare).result()
            except TableMissing:
                result = self._submit(task, shipment).result()
        except (BrokenProcessPool, ShutdownExecutorError):
            with self._lock:
                self._executor, self._busy = None, False
            return failure("its worker was killed, by the system where memory is short; it can be computed again", True)
        self._busy = False
        return result

    def close(self) -> None:
        with self._lock:
            self._closed = True
            executor, self._executor = self._executor, None
        if executor is None:
            return
        if self._busy:
            executor.shutdown(wait=False, kill_workers=True)
        else:
            _idle.append(executor)

    def _submit(self, task: StudyTask, shipment: TableTransfer) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor
        from joblib.externals.loky.process_executor import BrokenProcessPool, ShutdownExecutorError

        with self._lock:
            if self._closed:
                raise ShutdownExecutorError("closed")
            self._busy = True
            while self._executor is None and (idle := _take_idle()) is not None:
                try:
                    submitted = idle.submit(compute_shipped, task, shipment)
                except (BrokenProcessPool, ShutdownExecutorError):
                    continue  # it died while it waited
                self._executor = idle
                return submitted
            if self._executor is None:
                self._executor = ProcessPoolExecutor(
                    max_workers=1, timeout=IDLE, env=_ONE_THREAD, initializer=exit_with_parent, initargs=(os.getpid(),)
                )
            return self._executor.submit(compute_shipped, task, shipment)


def _take_idle() -> Any:
    """A process that an earlier study left; None without one."""
    try:
        return _idle.pop()
    except IndexError:
        return None


class _OnCluster:
    """A thread of a cluster's workers, reached through the study's client; the tables are there already."""

    def __init__(self, client: Any, tables: Mapping[str, Any]):
        self._client, self._tables = client, tables

    def compute(self, task: StudyTask) -> Result:
        try:
            future = self._client.submit(compute_shipped, task, self._tables[task.data_hash], pure=False)
            result: Result = future.result()
        except Exception as error:  # whatever a cluster has to say about a worker that is gone
            return failure(f"the cluster lost it ({type(error).__name__}: {error}); it can be computed again", True)
        return result

    def close(self) -> None:
        """Nothing: the study closes the client, and a cluster ends what it is at."""


def compute_shipped(task: StudyTask, shipment: TableTransfer) -> Result:
    """Compute a task in a worker, whose table is unpickled once; raises `TableMissing` where it must be sent."""
    return compute(task, shipment.table())


def _slots(
    datasets: "Mapping[str, Dataset]",
    n_jobs: int | None,
    tasks: int,
    scheduler: str | None,
    stop: StopToken,
    ending: ExitStack,
) -> list[_Slot]:
    if scheduler is not None:
        return _on_cluster(scheduler, datasets, n_jobs, tasks, ending)
    wanted = available_threads() if n_jobs is None else jobs_of(n_jobs)
    if min(wanted, tasks) <= 1:
        return [_Here({key: SentTable.of(dataset) for key, dataset in datasets.items()}, stop)]
    shipments = {key: TableTransfer.of(dataset) for key, dataset in datasets.items()}
    return [_Process(shipments) for _ in range(min(wanted, tasks))]


def _on_cluster(
    scheduler: str, datasets: "Mapping[str, Dataset]", n_jobs: int | None, tasks: int, ending: ExitStack
) -> list[_Slot]:
    """One client for all slots, closed at the end, and each table sent to all workers once."""
    client = ending.enter_context(connect(scheduler))
    assert client is not None
    wanted = max(1, sum(client.ncores().values())) if n_jobs is None else jobs_of(n_jobs)
    tables = {key: client.scatter(TableTransfer.of(one), broadcast=True, hash=False) for key, one in datasets.items()}
    return [_OnCluster(client, tables) for _ in range(min(wanted, tasks))]


def jobs_of(n_jobs: int | None) -> int:
    """Return the number of workers asked for: it may be more than there are processors; raises `RecipeError`."""
    asked = isinstance(n_jobs, int) and not isinstance(n_jobs, bool) and n_jobs > 0
    return n_jobs if asked else resolve_jobs(n_jobs)  # type: ignore[return-value]


def _serve(
    slot: _Slot,
    board: _TaskQueue,
    finished: "SimpleQueue[tuple[int, Result]]",
    stop: StopToken,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Compute tasks of the board with a slot, until there is none or `until` says that others do."""
    while not until() and (taken := board.take(id(slot))) is not None:
        place, task = taken
        begun = time.perf_counter()
        try:
            result = slot.compute(task)
        except Exception as error:  # no process can be had, a table cannot be sent: whoever waits must hear of it
            result = failure(f"it could not be handed to a worker: {type(error).__name__}: {error}", True)
        board.note(id(slot), task, time.perf_counter() - begun)
        finished.put((place, result))
    slot.close()


def _end(board: _TaskQueue, slots: Sequence[_Slot]) -> None:
    board.clear()
    for slot in slots:
        slot.close()


def fair_memory() -> int:
    """Bytes for each fit: half of what the machine has, shared by as many workers as it could run.

    Not of what is free: numbers may depend on it, and the same study would not find what is kept of it.
    """
    return total_memory() // 2 // available_threads()
