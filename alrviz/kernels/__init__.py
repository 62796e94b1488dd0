"""Kernels: numba functions of arrays, and nothing else.

Every kernel carries the one decorator below. Measured: without `nogil` a kernel freezes the event loop for its whole
length; `cache` loads a compiled kernel in 3 ms; numpy's error model spares a test at every division. Not used on
purpose: `parallel` (two threads inside it at once abort the process), `fastmath` (NaN is lost, nothing gained), eager
signatures (slow import). Helpers of a kernel live in its own file: numba's cache does not see an edit of a callee
elsewhere.
"""

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
