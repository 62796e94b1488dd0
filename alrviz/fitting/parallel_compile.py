"""A second process compiles the kernels of passes while this one compiles those of covers.

Numba compiles under a lock, so threads would wait for each other, but what one process keeps on disk another loads in
milliseconds. Only the first page on a machine that never compiled is worth a process; it takes half of its wait.
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

EVERY = 0.02  # seconds between two looks at the stop token
LONGEST = 60.0  # seconds; who takes longer is not waited for
_once = threading.Lock()  # whoever asks first in this process has it, and keeps it
_COMPILE = """
import sys
from alrviz.passes.losses import LOSSES
from alrviz.passes.warm import warm_passes
warm_passes(int(sys.argv[1]), False, LOSSES[sys.argv[2]])
"""


class CompileProcess:
    """Passes of `n_classes` being compiled by another process, if that is worth one; `wait` lets it come to its end.

    A process that fails costs nothing: what it did not keep is compiled here.
    """

    def __init__(self, n_classes: int, objective: str):
        self._job: Job[int] | None = None  # that waits for the process
        self.begun = available_threads() > 1 and _once.acquire(blocking=False) and _never_compiled()
        if not self.begun:
            return
        command = [sys.executable, "-c", _COMPILE, str(n_classes), objective]
        quiet = subprocess.DEVNULL
        try:
            process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
        except OSError:  # there is none to be had
            self.begun = False
            return
        self._job = Job(lambda stop: process.wait(), "compiling beside")
        self._job.start()

    @property
    def ended(self) -> bool:
        """Whether the process has ended, or there was none."""
        return self._job is None or not self._job.alive

    def wait(self, stop: StopToken) -> None:
        """Return when it has ended, or hangs; whoever stops does not wait for it."""
        latest = time.monotonic() + LONGEST
        while self._job is not None and not self._job.join(EVERY) and time.monotonic() < latest:
            stop.check()


def _never_compiled() -> bool:
    """Whether nothing is kept on disk yet: the smallest kernel had to be compiled then."""
    cells = np.zeros((1, 2))
    vectors.subtract(cells, cells, np.empty(cells.shape, np.float32))
    return bool(sum(kernels.subtract.stats.cache_misses.values()))
