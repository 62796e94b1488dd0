"""The folder for everything that outlives a process: the user's data folder, or `ALRVIZ_HOME`.

It holds tables, runs and answers, so folders and files that alrviz makes there have modes 0700 and 0600, whatever the
umask is; what exists keeps its mode.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

HOME = "ALRVIZ_HOME"


def home() -> Path:
    """Return the folder, which may not exist yet: `ALRVIZ_HOME` if it is set, else the user's data folder."""
    folder = os.environ.get(HOME)
    return Path(folder) if folder else platformdirs.user_data_path("alrviz", appauthor=False)


@contextmanager
def temporary_home() -> Iterator[None]:
    """Use another folder, which is empty at first and removed at the end, in this process and those that it starts."""
    earlier_folder = os.environ.get(HOME)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[HOME] = folder
        try:
            yield
        finally:
            os.environ.pop(HOME)
            if earlier_folder is not None:
                os.environ[HOME] = earlier_folder


def make_private_folder(folder: Path) -> None:
    """Make a folder and its missing parents, each for its user alone; folders that exist keep their mode.

    Raises:
        OSError: the folder cannot be made.
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)  # `parents=True` would leave the parents to the umask


def open_private(path: str, flags: int) -> int:
    """Opener for `open`: a new file is readable and writable by its user alone."""
    return os.open(path, flags, 0o600)
