"""End a process with its parent, even if the parent was killed and could not tell it."""

import os
import sys
import threading
import time

LOOK_SECONDS = 0.5  # seconds between two looks


def exit_with_parent(parent: int) -> None:
    """Make this process end as soon as its parent (process id) is gone, whatever it is doing."""
    threading.Thread(target=_wait_for_end, args=(parent,), name="alrviz-parent-watch", daemon=True).start()


def _wait_for_end(parent: int) -> None:
    if sys.platform == "win32":  # there an orphan keeps its parent's id
        import _winapi

        synchronize = 0x00100000
        try:
            handle = _winapi.OpenProcess(synchronize, False, parent)
        except OSError:
            os._exit(1)  # it is gone already
        _winapi.WaitForSingleObject(handle, _winapi.INFINITE)
    else:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
    os._exit(1)
