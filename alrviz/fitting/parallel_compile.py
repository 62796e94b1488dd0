"""A second process compiles the kernels of passes while this one compiles those of covers.

Numba compiles under a lock, so threads would wait for each other, but a process loads in milliseconds what another has
compiled to disk. This pays only for the first page on a machine that has never compiled; it halves that wait.
"""

import subprocess
import sys
import threading
import time

import numpy as np

from alrviz.job import Job
from alrviz.kernels import vectors as kernels
from alrviz.passes import vectors
from alrviz.passes.threads import available_threads
from alrviz.stop import StopToken

POLL_SECONDS = 0.02  # between two looks at the stop token
MAX_WAIT_SECONDS = 60.0
_once = threading.Lock()  # acquired by the first caller in this process, and never released
_COMPILE = """
import sys
from alrviz.passes.losses import LOSSES
from alrviz.passes.warm import warm_passes
warm_passes(int(sys.argv[1]), False, LOSSES[sys.argv[2]])
"""


class CompileProcess:
    """A process that compiles the passes of `n_classes`, if that pays; `wait` returns when it has finished.

    A process that fails costs nothing: this one compiles what is missing.
    """

    def __init__(self, n_classes: int, objective: str):
        self._job: Job[int] | None = None  # waits for the process
        self.started = available_threads() > 1 and _once.acquire(blocking=False) and _never_compiled()
        if not self.started:
            return
        command = [sys.executable, "-c", _COMPILE, str(n_classes), objective]
        devnull = subprocess.DEVNULL
        try:
            process = subprocess.Popen(command, stdin=devnull, stdout=devnull, stderr=devnull)
        except OSError:  # no process can be started
            self.started = False
            return
        self._job = Job(lambda stop: process.wait(), "compiling in a second process")
        self._job.start()

    @property
    def ended(self) -> bool:
        """Whether the process has ended, or there was none."""
        return self._job is None or not self._job.alive

    def wait(self, stop: StopToken) -> None:
        """Return when the process has ended or takes too long; raises `Stopped` once `stop` is called on the token."""
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while self._job is not None and not self._job.join(POLL_SECONDS) and time.monotonic() < deadline:
            stop.check()


def _never_compiled() -> bool:
    """Return whether no kernel is on disk yet: then the smallest one had to be compiled."""
    cells = np.zeros((1, 2))
    vectors.subtract(cells, cells, np.empty(cells.shape, np.float32))
    return bool(sum(kernels.subtract.stats.cache_misses.values()))
