"""Warnings shown once, not by every fold of a cross-validation nor by every worker."""

import atexit
import multiprocessing
import os
import tempfile
import warnings
import zlib
from contextlib import suppress
from hashlib import sha256

_WARNED: set[str] = set()


def warn_once(text: str, category: type[Warning], stacklevel: int = 1) -> None:
    """Warn, unless the same text was said before by this process or, in a worker of joblib, by another of its workers.

    Every fold of a cross-validation would say it once more, and scikit-learn changes the filters, which makes Python
    forget what it has shown. Workers agree by an empty file in the folder for temporary files, which the process that
    started them removes when it ends. Its name has that process's id and a digest of multiprocessing's random
    key, which workers inherit: a process that was killed leaves its files, and another may have its id later.
    """
    if text in _WARNED:
        return
    _WARNED.add(text)
    parent = multiprocessing.parent_process()
    if parent is not None:
        mark_name = f"{_prefix_of_marks(parent.pid)}{zlib.crc32(text.encode('utf-8', 'backslashreplace')):08x}"
        try:
            os.close(
                os.open(os.path.join(tempfile.gettempdir(), mark_name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            )
        except FileExistsError:
            return
        except OSError:  # no folder to write to: rather said by each worker than by none
            pass
    warnings.warn(text, category, stacklevel=stacklevel + 1)


def _prefix_of_marks(pid: int | None) -> str:
    """Return the prefix of the files by which the workers of process `pid` agree on shown warnings."""
    key = bytes(multiprocessing.current_process().authkey)
    return f"{_MARK}{sha256(key).hexdigest()[:16]}-{pid}-"


def _remove_marks(pid: int) -> None:
    """Remove the temporary files by which workers of process `pid` agreed which warnings had been shown.

    A forked process, whose id differs, does nothing.
    """
    if pid == os.getpid():  # not in a process that was forked
        with suppress(OSError):
            for name in os.listdir(tempfile.gettempdir()):
                if name.startswith(_prefix_of_marks(pid)):
                    os.unlink(os.path.join(tempfile.gettempdir(), name))


_MARK = "alrviz-warned-"
if multiprocessing.parent_process() is None:
    atexit.register(_remove_marks, os.getpid())
