"""Free and total memory, and the return of freed memory to the system.

A container has less than its machine: the limits of its control groups (Linux) count too.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# Where the system does not say: what a small laptop has free.
ASSUMED_FREE_BYTES = 4 * 2**30
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # of malloc.h
_GROUPS = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Return the bytes that can be allocated without swapping, as far as the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        free = total_memory() // 2
    return max(min([free, *(limit - used_bytes for limit, used_bytes in _groups())]), 0)


def used_memory(process: int | str = "self") -> int:
    """Return the resident memory in bytes of a process, given its id, or of this one; 0 if the system does not say."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def total_memory() -> int:
    """Return the bytes that this process may use, as far as the system tells."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        machine = 2 * ASSUMED_FREE_BYTES
    return min([machine, *(limit for limit, _ in _groups())])


def give_back() -> None:
    """Return freed memory to the system: glibc keeps it between blocks in use, and Arrow keeps its own."""
    with suppress(AttributeError):  # half imported by another thread
        if "pyarrow" in sys.modules:
            sys.modules["pyarrow"].default_memory_pool().release_unused()
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def whole_arrays() -> None:
    """Fix glibc's mmap threshold at 4 MiB, so that freed arrays return to the operating system.

    glibc else raises it, up to 32 MiB, when larger arrays are freed, and keeps freed arrays below it on its heap.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 2**22)


def few_arenas() -> None:
    """Have all threads allocate from two arenas, unless MALLOC_ARENA_MAX says how many; to be called before they begin.

    glibc gives threads up to eight arenas a core, and what is freed in one is of no use to the others: of races by
    thirty owners, all gone, 100 MB and more stayed.
    """
    if sys.platform != "linux" or "MALLOC_ARENA_MAX" in os.environ:
        return
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


def _groups() -> Iterator[tuple[int, int]]:
    """Return (limit, bytes in use that cannot be reclaimed) of this process's control groups that have a limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):  # of version 2, of version 1
            new = controllers == ""
            root = _GROUPS if new else _GROUPS / "memory"
            names = ("memory.max", "memory.current") if new else ("memory.limit_in_bytes", "memory.usage_in_bytes")
            folder = root / path.lstrip("/")
            for group in (folder, *(parent for parent in folder.parents if parent.is_relative_to(root))):
                yield from _group(group, *names)


def _group(folder: Path, limit_name: str, used_name: str) -> Iterator[tuple[int, int]]:
    try:
        limit = int((folder / limit_name).read_text(encoding="ascii"))  # "max" is none
        used_bytes = int((folder / used_name).read_text(encoding="ascii"))
        parts = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return
    if limit < 2**60:  # version 1 says so where there is none
        yield limit, used_bytes - int(parts.get("inactive_file", 0))
