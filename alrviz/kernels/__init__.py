"""Kernels: numba functions of arrays, and nothing else.

Every kernel carries the decorator `kernel` below. Its options, as measured:

    nogil        without it a kernel freezes the event loop until it returns
    cache        a compiled kernel loads from disk in 3 ms
    error_model  numpy's spares a test at every division
    parallel     not used: two threads inside such a kernel at once abort the process
    fastmath     not used: it loses NaN and gains nothing
    signatures   not given: compiling eagerly makes the import slow

Conventions of all kernels: a kernel that helps another stands in the same file, because numba's cache does not notice
an edit of a callee elsewhere. Short copies (`_exp`, `_first_slot`) are the price. Arguments that belong together are a
named tuple, defined in the kernel's file for the same reason; two of them cost 2 to 3 us a call. Unpack a tuple's
arrays before a loop, and pass plain arrays and numbers to a helper that is called for every row: reading an array from
a tuple counts a reference, for which threads wait. One such read per row made `averages.parent_keys` five times slower.
"""

import logging
from typing import Any

from numba import njit
from numba.core import event

_log = logging.getLogger(__name__)

kernel = njit(cache=True, nogil=True, error_model="numpy")


class _Announcement(event.Listener):
    """Log once per process that kernels are being compiled: nothing else explains why the first fit takes so long."""

    announced = False

    def on_start(self, event: Any) -> None:
        """Log the first compilation of one of our kernels; loading from disk is not a compilation."""
        if not self.announced and event.data["dispatcher"].py_func.__module__.startswith(__name__):
            self.announced = True
            _log.warning(
                "alrviz compiles its numerical kernels, once on this machine: this takes some seconds, on a slow "
                "machine a minute (`alrviz warm` does it ahead)"
            )

    def on_end(self, event: Any) -> None:
        """Do nothing, as numba requires the method; runs report the seconds of compiling themselves."""


event.register("numba:compile", _Announcement())
