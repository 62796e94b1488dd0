"""Compiling in processes of their own what was never compiled on this machine.

Numba compiles under one lock and, most of the while, the interpreter's: the kernels of a first race take this process
ten seconds, and whoever it answers meanwhile waits for a turn. Apart, the kernels of covers and those of passes (five
seconds each) are compiled side by side and kept on disk, whence this process loads them in a third of a second.

What a child cannot do (no interpreter to start, no folder to keep kernels in) is compiled here, when it is called.
"""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from alrviz.kernels.plan import grow
from alrviz.kernels.scores import trial
from alrviz.stop import NEVER, StopToken

LOOK = 0.02  # seconds between two looks at the children
PATIENCE = 60.0  # seconds; a child that takes longer is not waited for
# A part's largest kernel, by which the whole is known, and what compiles it.
_PARTS: tuple[tuple[Any, str], ...] = (
    (grow, "from alrviz.fitting.warm import warm_covers; warm_covers()"),
    (trial, "from alrviz.passes.warm import warm_passes; warm_passes({n_classes})"),
)
_lock = threading.Lock()
_children: dict[str, "subprocess.Popen[bytes]"] = {}


def compile_apart(n_classes: int, stop: StopToken = NEVER) -> None:
    """Have what fits of `n_classes` need compiled and kept, where nothing of it is kept yet, and wait for it.

    Raises:
        Stopped: if the token was pulled meanwhile; the compiling goes on, for whoever comes next.
    """
    with _lock:
        for kernel, code in _PARTS:
            if code not in _children and not kept(kernel) and (child := _start(code.format(n_classes=n_classes))):
                _children[code] = child
        children = list(_children.values())
    end = time.monotonic() + PATIENCE
    while any(child.poll() is None for child in children) and time.monotonic() < end:
        stop.check()
        time.sleep(LOOK)


def kept(kernel: Any) -> bool:
    """Whether numba has kept something of this kernel on disk."""
    name = f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.__name__}-*.nbi"
    folder = kernel.stats.cache_path
    return folder is not None and any(Path(folder).glob(name))


def _start(code: str) -> "subprocess.Popen[bytes] | None":
    try:
        return subprocess.Popen(
            [sys.executable or "python", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
