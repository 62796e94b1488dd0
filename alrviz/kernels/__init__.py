"""Kernels: numba functions of arrays, and nothing else.

Every kernel carries the one decorator below. Measured: without `nogil` a kernel freezes the event loop for its whole
length; `cache` loads a compiled kernel in 3 ms; numpy's error model spares a test at every division. Not used on
purpose: `parallel` (two threads inside it at once abort the process), `fastmath` (NaN is lost, nothing gained), eager
signatures (slow import). Helpers of a kernel live in its own file: numba's cache does not see an edit of a callee
elsewhere.

Arguments that belong together are a named tuple, defined in the kernel's file for the same reason. A call takes 2 to 3
us more for two of them. Unpack a tuple's arrays before a loop, and hand arrays and numbers to a helper that is called
for each row: reading an array from a tuple counts a reference, which threads wait for. `averages.keys` took five times
as long with one such read a row.
"""

import logging
from typing import Any

from numba import njit
from numba.core import event

_log = logging.getLogger(__name__)

kernel = njit(cache=True, nogil=True, error_model="numpy")


class _Announcement(event.Listener):
    """Say, once a process, that kernels are being compiled: nothing else would tell why a fit takes so long."""

    told = False

    def on_start(self, event: Any) -> None:
        """Take the first compilation of one of ours; what is loaded from the disk is none."""
        if not self.told and event.data["dispatcher"].py_func.__module__.startswith(__name__):
            self.told = True
            _log.warning(
                "alrviz compiles its numerical kernels, once on this machine: this takes some seconds, on a slow "
                "machine a minute (`alrviz warm` does it ahead)"
            )

    def on_end(self, event: Any) -> None:
        """Nothing: seconds of compiling are told by the run."""


event.register("numba:compile", _Announcement())
