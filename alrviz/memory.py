"""How much memory is free, and how much there is."""

import os
from pathlib import Path

# Where the system does not say: what a small laptop has free.
UNKNOWN = 4 * 2**30


def free_memory() -> int:
    """Return the bytes that can be allocated without swapping, as far as the system tells."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return total_memory() // 2


def total_memory() -> int:
    """Return the bytes of the machine, as far as the system tells; the same at every call."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2 * UNKNOWN
