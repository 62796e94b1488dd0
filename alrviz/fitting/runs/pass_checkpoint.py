"""What a fit over passes goes on from after its process has ended: one file, written whole after every pass."""

import hashlib
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from alrviz.errors import AlrvizError


class PassCheckpoint:
    """A file with the state after the last whole pass.

    Args:
        path: of the file, which need not be there.
        of: what the fit is of, as text: a state of another is refused.
    """

    def __init__(self, path: Path, of: str):
        self.path, self._of = path, hashlib.sha256(of.encode()).hexdigest()

    def read(self) -> dict[str, Any] | None:
        """Return the state that is kept, None where there is none.

        Raises:
            AlrvizError: the file is damaged, or of another fit.
        """
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                state = {name: found[name] for name in found.files}
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise AlrvizError(f"{os.fspath(self.path)!r} is damaged ({error}); remove it to begin anew") from error
        if str(state.pop("of", "")) != self._of:
            raise AlrvizError(
                f"{os.fspath(self.path)!r} is of another fit: other files, settings or rows; remove it to begin anew"
            )
        return state

    def write(self, state: Mapping[str, Any]) -> None:
        """Keep a state instead of the one before."""
        draft = self.path.with_name(f"{self.path.name}.part")
        with draft.open("wb") as file:
            arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state.items()}
            np.savez(file, of=np.array(self._of), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)
