"""What a fit over passes goes on from after its process has ended: one file, written whole after every pass."""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from alrviz.errors import AlrvizError

ROWS = "codes"  # the name under which the codes' file is part of what a fit is of


class PassCheckpoint:
    """A file with the state after the last whole pass.

    Args:
        path: of the file, which need not be there.
        of: what the fit is of, by name, as JSON takes it: a state of another is refused.
    """

    def __init__(self, path: Path, of: Mapping[str, Any]):
        self.path, self._of = path, dict(of)

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
        other = _differing(str(state.pop("of", "{}")), self._of)
        if other:
            raise AlrvizError(
                f"{os.fspath(self.path)!r} is of another fit: {other}; say what it was begun with, or remove it to "
                "begin anew"
            )
        return state

    def write(self, state: Mapping[str, Any]) -> None:
        """Keep a state instead of the one before."""
        draft = self.path.with_name(f"{self.path.name}.part")
        with draft.open("wb") as file:
            arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state.items()}
            np.savez(file, of=np.array(json.dumps(self._of)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)


def _differing(text: str, now: Mapping[str, Any]) -> str:
    """Which settings a state was kept with, and which there are now, where they differ; "" where none does."""
    try:
        then = dict(json.loads(text))
    except (TypeError, ValueError):
        then = {}
    told = []
    for name in sorted({*then, *now}):
        before, after = then.get(name), json.loads(json.dumps(now.get(name)))
        if before != after:
            told.append((name, f"{name} was {before!r} and is {after!r}"))
    settings = [words for name, words in told if name != ROWS]
    return ", ".join(settings) or ("other files or rows" if told else "")
