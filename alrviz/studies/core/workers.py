"""Workers that compute tasks: this process, processes beside it, or a Dask cluster; results come as they are ready.

Each worker has a *slot*: a thread here that hands one task after another to one process (joblib's loky) and waits for
it. So a killed process costs the one task it computed, and a stop can kill the processes without waiting. On a cluster
a slot is one of its threads; a stop there drops results, and running tasks end by themselves.

Processes take seconds to start, a dozen on a busy machine: until the first of them has finished a task this process
computes too, so that first results come soon.

Tasks that share encoded rows go to one slot as far as all slots stay busy. Each task computes with one thread, and its
numbers do not depend on the worker. A worker process ends with the process it computes for, however that ends.
"""

import os
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

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

POLL_SECONDS = 0.05  # between two looks at the stop token while nothing finishes
IDLE_SECONDS = 60  # that a process waits for the next study; another takes three seconds to start
_idle: deque[Any] = deque(maxlen=16)
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def compute_tasks(
    tasks: Sequence[tuple[int, StudyTask]],
    datasets: "Mapping[str, Dataset]",
    *,
    n_jobs: int | None,
    scheduler: str | None = None,
    stop: StopToken,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) of each (index, task) as they finish, until all have or `stop` is called on the token.

    datasets: the tables by hash. n_jobs: 1 for this process, k for k other processes, None for one per processor; on a
    cluster the maximum number of its threads. scheduler: address of the cluster, None without one. tick: called
    regularly by the thread that iterates.
    """
    queue, finished = _TaskQueue(tasks), SimpleQueue[tuple[int, Result]]()
    with ExitStack() as ending:
        slots = _slots(datasets, n_jobs, len(tasks), scheduler, stop, ending)
        for slot in slots:
            ending.callback(slot.close)
        ending.callback(queue.clear)  # called first: slots that are closed take no other task
        work = [partial(_serve, slot, queue, finished) for slot in slots]
        if isinstance(slots[0], _Process) and not _idle:
            local = _ThisProcess(datasets, stop)
            work.append(partial(_serve, local, queue, finished, until=lambda: queue.has_other_worker(id(local))))
        for serving_function in work:
            Job(serving_function, "alrviz-slot").start()
        n_unfinished = len(tasks)
        while n_unfinished and not stop.stopped:
            tick()
            try:
                result = finished.get(timeout=POLL_SECONDS)
            except Empty:
                continue
            n_unfinished -= 1
            if not stop.stopped:
                yield result


class _Slot(ABC):
    """One task after another is computed in a slot."""

    @abstractmethod
    def compute(self, task: StudyTask) -> Result:
        """Compute a task and wait for its result."""

    def close(self) -> None:  # noqa: B027 - most slots have nothing to kill
        """Kill the computation, if it does not end by itself: in this process by the stop token, on a cluster with the
        study's client.
        """


class _TaskQueue:
    """Tasks that have not started, by the rows they share, and the seconds of the latest task of each recipe."""

    def __init__(self, tasks: Sequence[tuple[int, StudyTask]]):
        groups: dict[Any, list[tuple[int, StudyTask]]] = {}
        for index, task in tasks:  # those of a group share encoded rows, which a worker caches
            groups.setdefault((task.data_hash, task.split), []).append((index, task))
        self._groups = deque(groups.values())  # that no slot has begun
        self._by_slot: dict[int, list[tuple[int, StudyTask]]] = {}
        self._seconds: dict[str, float] = {}
        self._working: set[int] = set()  # slots that have finished a task
        self._lock = threading.Lock()

    def take(self, slot: int) -> tuple[int, StudyTask] | None:
        """Return the next task for a slot: of its own group, else of a new group.

        Once all groups have begun the costliest task comes first: of the slot's own, else of the slot with most tasks
        left. So the last task to finish is a short one, and no slot waits long for another.
        """
        with self._lock:
            own_tasks = self._by_slot.setdefault(slot, [])
            if not own_tasks and self._groups:
                own_tasks = self._by_slot[slot] = self._groups.popleft()
            if self._groups:
                return own_tasks.pop(0)
            candidates = own_tasks or max(self._by_slot.values(), key=len)
            if not candidates:
                return None
            costs = [self._seconds.get(task.recipe, 0.0) for _, task in candidates]
            return candidates.pop(costs.index(max(costs)))

    def note(self, slot: int, task: StudyTask, seconds: float) -> None:
        """Record the seconds of a task that a slot has finished."""
        with self._lock:
            self._seconds[task.recipe] = seconds
            self._working.add(slot)

    def has_other_worker(self, slot: int) -> bool:
        """Return whether any other slot has finished a task."""
        with self._lock:
            return bool(self._working - {slot})

    def clear(self) -> None:
        """Drop all tasks that have not started."""
        with self._lock:
            self._groups.clear()
            self._by_slot.clear()


class _ThisProcess(_Slot):
    """A slot that computes in this process; a stop ends the task after its present step."""

    def __init__(self, datasets: "Mapping[str, Dataset]", stop: StopToken):
        self._tables = {key: SentTable.from_dataset(dataset) for key, dataset in datasets.items()}
        self._stop = stop

    def compute(self, task: StudyTask) -> Result:
        return compute(task, self._tables[task.data_hash], self._stop)


class _Process(_Slot):
    """A slot with a process of its own, which is replaced if it is killed."""

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
                result: Result = self._submit(task, shipment.without_content).result()
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
                    future = idle.submit(compute_shipped, task, shipment)
                except (BrokenProcessPool, ShutdownExecutorError):
                    continue  # it died while it was idle
                self._executor = idle
                return future
            if self._executor is None:
                self._executor = ProcessPoolExecutor(
                    max_workers=1,
                    timeout=IDLE_SECONDS,
                    env=_ONE_THREAD,
                    initializer=exit_with_parent,
                    initargs=(os.getpid(),),
                )
            return self._executor.submit(compute_shipped, task, shipment)


def _take_idle() -> Any:
    """Return a process that an earlier study left idle; None without any."""
    try:
        return _idle.pop()
    except IndexError:
        return None


class _OnCluster(_Slot):
    """A slot with a thread of a cluster, reached through the study's client; the tables have been sent before."""

    def __init__(self, client: Any, tables: Mapping[str, Any]):
        self._client, self._tables = client, tables

    def compute(self, task: StudyTask) -> Result:
        try:
            future = self._client.submit(compute_shipped, task, self._tables[task.data_hash], pure=False)
            result: Result = future.result()
        except Exception as error:  # a cluster raises all kinds of errors if a worker is lost
            return failure(f"the cluster lost it ({type(error).__name__}: {error}); it can be computed again", True)
        return result


def compute_shipped(task: StudyTask, shipment: TableTransfer) -> Result:
    """Compute a task in a worker process; raises `TableMissing` if its table has to be sent with it."""
    return compute(task, shipment.unpack())


def _slots(
    datasets: "Mapping[str, Dataset]",
    n_jobs: int | None,
    n_tasks: int,
    scheduler: str | None,
    stop: StopToken,
    exit_stack: ExitStack,
) -> list[_Slot]:
    """Return the slots for n_tasks tasks on tables (datasets, by hash); at the end exit_stack closes what they share.

    Those of a cluster, at the address `scheduler`, share one client, and each table is sent to all workers once.
    """
    if scheduler is not None:
        client = exit_stack.enter_context(connect(scheduler))
        assert client is not None
        n_workers = max(1, sum(client.ncores().values())) if n_jobs is None else jobs_of(n_jobs)
        tables = {
            key: client.scatter(TableTransfer.from_dataset(dataset), broadcast=True, hash=False)
            for key, dataset in datasets.items()
        }
        return [_OnCluster(client, tables) for _ in range(min(n_workers, n_tasks))]
    n_workers = min(n_tasks, available_threads() if n_jobs is None else jobs_of(n_jobs))
    if n_workers <= 1:
        return [_ThisProcess(datasets, stop)]
    shipments = {key: TableTransfer.from_dataset(dataset) for key, dataset in datasets.items()}
    return [_Process(shipments) for _ in range(n_workers)]


def jobs_of(n_jobs: int | None) -> int:
    """Return the number of workers, which may exceed the number of processors; raises `RecipeError` if invalid."""
    is_count = isinstance(n_jobs, int) and not isinstance(n_jobs, bool) and n_jobs > 0
    return n_jobs if is_count else resolve_jobs(n_jobs)  # type: ignore[return-value]


def _serve(
    slot: _Slot,
    queue: _TaskQueue,
    finished: "SimpleQueue[tuple[int, Result]]",
    stop: StopToken,
    until: Callable[[], bool] = lambda: False,
) -> None:
    """Compute the queue's tasks with a slot, until none is left or `until` returns True; then close the slot.

    Puts (index, result) of each into `finished`; an exception is a failed result. `stop` is the token that `Job`
    passes; the queue is emptied when the job is cancelled, so it is not asked.
    """
    while not until() and (index_and_task := queue.take(id(slot))) is not None:
        index, task = index_and_task
        start_time = time.perf_counter()
        try:
            result = slot.compute(task)
        except Exception as error:  # without a result the study would wait for ever
            result = failure(f"it could not be handed to a worker: {type(error).__name__}: {error}", True)
        queue.note(id(slot), task, time.perf_counter() - start_time)
        finished.put((index, result))
    slot.close()


def fair_memory() -> int:
    """Return the bytes for each fit: half of the machine's memory, divided by its processors.

    Total memory rather than free memory: results may depend on it, and a study must find its saved tasks again.
    """
    return total_memory() // 2 // available_threads()
