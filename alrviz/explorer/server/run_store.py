"""The server's run store, opened at the first use, or the error if it cannot be opened.

After a failure the store is opened again only after RETRY_SECONDS, because each attempt at a locked store waits for
seconds. Pages work without it and show `store_problem`.
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
_failures: dict[Path, tuple[StoreError, float]] = {}  # by home folder: the error and its time


def open_run_store() -> Store:
    """Return the run store of this process.

    Raises:
        StoreError: if it cannot be opened; for RETRY_SECONDS the same error is raised again.
    """
    folder = home()
    with _lock:
        error, failure_time = _failures.get(folder, (None, 0.0))
        if error is not None and time.monotonic() - failure_time < RETRY_SECONDS:
            raise error.with_traceback(None)  # each raise would add its frames to the stored error
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
    """Return the run store, or the error if it cannot be opened, for `keep=` of a study."""
    try:
        return open_run_store()
    except StoreError as error:
        return error


def store_problem() -> str:
    """Return why runs are not stored now, without paths; "" as long as the store works."""
    store = store_or_error()
    return for_page(store) if isinstance(store, StoreError) else store.database.problem
