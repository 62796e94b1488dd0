"""The folder for everything that outlives a process: the user's data folder, or `ALRVIZ_HOME`.

It holds tables, runs and answers, so folders have mode 0700 and files 0600 whatever the umask is.
"""

import os
from contextlib import suppress
from pathlib import Path

import platformdirs

HOME = "ALRVIZ_HOME"
_FOLDER_NAMES = ("codes", "lessons", "sets")  # that alrviz makes in its home
_STORE_NAMES = tuple(f"runs.sqlite{ending}" for ending in ("", "-journal", "-shm", "-wal"))


def home() -> Path:
    """Return the folder, which may not exist yet: `ALRVIZ_HOME` if it is set, else the user's data folder."""
    folder = os.environ.get(HOME)
    return Path(folder) if folder else platformdirs.user_data_path("alrviz", appauthor=False)


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


def restrict_home(folder: Path) -> None:
    """Close alrviz's part of an existing folder to other users, as an earlier version may have left it open.

    The run store's files are closed in any folder. Folders are closed in `home()` only: elsewhere a folder of the same
    name may be the user's own. The home itself is closed only if nothing but alrviz's own is in it: it may be a home
    directory.
    """
    with suppress(OSError):  # another user's, who let this one write
        children = list(folder.iterdir())
        is_home = folder.resolve() == home().resolve()
        for child in children:
            if is_home and child.name in _FOLDER_NAMES:
                child.chmod(0o700)
            elif child.name in _STORE_NAMES:
                child.chmod(0o600)
        if is_home and all(child.name in (*_FOLDER_NAMES, *_STORE_NAMES) for child in children):
            folder.chmod(0o700)
