"""The checkpoint of a fit over passes: one file, written completely after every pass, from which it can be resumed."""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from alrviz.errors import AlrvizError

ROWS = "codes"  # the codes' file is one of the settings that identify a fit, under this name


class PassCheckpoint:
    """A file with the state after the last complete pass.

    Args:
        path: of the file, which need not exist.
        settings: identify the fit, by name, as JSON values; the state of another fit is refused.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]):
        self.path, self._settings = path, dict(settings)

    def read(self) -> dict[str, Any] | None:
        """Return the stored state, None if there is none.

        Raises:
            AlrvizError: the file is damaged, or of another fit.
        """
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays_by_name = {name: archive[name] for name in archive.files}
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise AlrvizError(f"{os.fspath(self.path)!r} is damaged ({error}); remove it to start again") from error
        difference = _differences(str(arrays_by_name.pop("of", "{}")), self._settings)
        if difference:
            raise AlrvizError(
                f"{os.fspath(self.path)!r} belongs to another fit: {difference}; use its settings, or remove it to "
                "start again"
            )
        return arrays_by_name

    def write(self, state: Mapping[str, Any]) -> None:
        """Replace the stored state."""
        draft = self.path.with_name(f"{self.path.name}.part")
        with draft.open("wb") as file:
            arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state.items()}
            np.savez(file, of=np.array(json.dumps(self._settings)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)


def _differences(text: str, settings: Mapping[str, Any]) -> str:
    """Return the settings that differ between a checkpoint and this fit, as text; "" if none does."""
    try:
        stored_settings = dict(json.loads(text))
    except (TypeError, ValueError):
        stored_settings = {}
    differences = []
    for name in sorted({*stored_settings, *settings}):
        stored_value, current_value = stored_settings.get(name), json.loads(json.dumps(settings.get(name)))
        if stored_value != current_value:
            differences.append((name, f"{name} was {stored_value!r} and is {current_value!r}"))
    texts = [text for name, text in differences if name != ROWS]
    return ", ".join(texts) or ("other files or rows" if differences else "")
