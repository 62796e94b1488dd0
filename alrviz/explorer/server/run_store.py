"""The server's run store, opened at the first use; where nothing can be stored, it keeps the reason.

A store that could not be opened is tried again after RETRY_SECONDS and not for every visitor: an attempt at a locked
one waits for seconds. Pages go on without it and show `store_problem`.
"""

import logging
import threading
import time
from pathlib import Path

from alrviz.errors import StoreError, for_page
from alrviz.fitting.store import Store, default_store
from alrviz.home import home

RETRY_SECONDS = 30.0
_log = logging.getLogger(__name__)
_lock = threading.Lock()
_failures: dict[Path, tuple[StoreError, float]] = {}  # by home folder: the error, and when it was met


def open_run_store() -> Store:
    """Return the run store of this process.

    Raises:
        StoreError: it cannot be opened; the same error for RETRY_SECONDS.
    """
    folder = home()
    with _lock:
        error, met = _failures.get(folder, (None, 0.0))
        if error is not None and time.monotonic() - met < RETRY_SECONDS:
            raise error.with_traceback(None)  # each raise would add its frames to the error that is kept
        try:
            store = default_store(folder)
        except StoreError as failure:
            if str(failure) != str(error):
                _log.warning("nothing is kept: %s", failure)
            _failures[folder] = failure, time.monotonic()
            raise
        _failures.pop(folder, None)
        return store


def store_or_error() -> Store | StoreError:
    """Return the run store, or the error where it cannot be opened: what `keep=` of a study takes."""
    try:
        return open_run_store()
    except StoreError as error:
        return error


def store_problem() -> str:
    """Return why nothing is being kept now, in words without a path; "" as long as the store works."""
    store = store_or_error()
    return for_page(store) if isinstance(store, StoreError) else store.database.problem
