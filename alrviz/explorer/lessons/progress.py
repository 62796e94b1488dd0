"""A visitor's progress and answers in each lesson: one small file for each visitor, in the user's own folder.

A file's name is a digest of the visitor's cookie, as in the run store: whoever reads a listing or a copy of the folder
learns nobody's cookie.

A lesson whose version was raised is begun anew: the old answers were to other questions.
"""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from alrviz.explorer.lesson import Lesson, Said
from alrviz.fitting.store import owner_digest
from alrviz.home import home, make_private_folder, open_private

MAX_VISITORS = 5_000  # visitors whose progress is kept; the one who has not been here for longest is forgotten
MAX_FILE_BYTES = 1_000_000  # bytes of a file that are read
_lock = threading.Lock()


@dataclass(frozen=True)
class Progress:
    """Where a visitor is. step: the last step seen, from 1; 0 before the first. said: answers by question; was: what
    happened, of those whose run was seen.
    """

    step: int = 0
    said: Mapping[str, Said] = field(default_factory=dict)
    was: Mapping[str, Said] = field(default_factory=dict)


def progress_of(owner: str, lesson: Lesson) -> Progress:
    """Return how far a visitor is in a lesson."""
    kept = _read(owner).get(_key(lesson), {})
    step = kept.get("step", 0)
    answers = (_answers(lesson, kept.get(name) or {}) for name in ("said", "was"))
    return Progress(min(step, len(lesson.steps)) if isinstance(step, int) else 0, *answers)


def _answers(lesson: Lesson, kept: Mapping[str, Any]) -> dict[str, Said]:
    found = {}
    for id, given in kept.items():
        question = lesson.question(id)
        try:
            if question is not None:
                found[id] = question.read(given)
        except ValueError:
            continue  # of another wording of the same version
    return found


def keep_progress(owner: str, lesson: Lesson, progress: Progress) -> None:
    """Keep how far a visitor is; where nothing can be written, for as long as the page is open only."""
    with _lock:
        try:
            every = _read(owner) | {_key(lesson): asdict(progress)}
            file = _file(owner)
            make_private_folder(file.parent)
            if not file.exists():
                _make_room(file.parent)
            fresh = file.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            with open(fresh, "x", encoding="utf-8", opener=open_private) as out:
                json.dump(every, out)
            os.replace(fresh, file)
        except OSError:
            return


def _key(lesson: Lesson) -> str:
    return f"{lesson.id}@{lesson.version}"


def _file(owner: str) -> Path:
    return home() / "lessons" / f"{owner_digest(owner)}.json"


def _read(owner: str) -> dict[str, Any]:
    try:
        text = _file(owner).read_text(encoding="utf-8")[:MAX_FILE_BYTES]
        found = json.loads(text)
    except (OSError, ValueError):
        return {}
    return {key: one for key, one in found.items() if isinstance(one, dict)} if isinstance(found, dict) else {}


def _make_room(folder: Path) -> None:
    files = list(folder.glob("*.json"))
    for file in sorted(files, key=lambda one: one.stat().st_mtime)[: max(0, len(files) - MAX_VISITORS + 1)]:
        file.unlink(missing_ok=True)
