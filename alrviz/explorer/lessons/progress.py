"""A visitor's progress and answers in each lesson: one small file per visitor, in the user's folder.

A file's name is a digest of the visitor's cookie, as in the run store, so that a listing of the folder reveals no
cookie. A lesson with a new version starts again, because its questions may have changed.
"""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from alrviz.explorer.lesson import AnswerValue, Lesson
from alrviz.fitting.store import owner_digest
from alrviz.home import home, make_private_folder, open_private

MAX_VISITORS = 5_000  # files; beyond, the oldest is deleted
MAX_FILE_BYTES = 1_000_000
_lock = threading.Lock()


@dataclass(frozen=True)
class Progress:
    """A visitor's progress in a lesson.

    Attributes:
        step: the last step seen, from 1; 0 before the first.
        said: the visitor's answers by question.
        was: the right answers of the questions whose run was seen.
    """

    step: int = 0
    said: Mapping[str, AnswerValue] = field(default_factory=dict)
    was: Mapping[str, AnswerValue] = field(default_factory=dict)


def progress_of(owner: str, lesson: Lesson) -> Progress:
    """Return a visitor's progress in a lesson; at the first step if none was saved. owner: the visitor's id."""
    stored_fields = _read_progress_by_lesson(owner).get(_lesson_key(lesson), {})
    step = stored_fields.get("step", 0)
    answers = (_readable_answers(lesson, stored_fields.get(name) or {}) for name in ("said", "was"))
    return Progress(min(step, len(lesson.steps)) if isinstance(step, int) else 0, *answers)


def _readable_answers(lesson: Lesson, stored: Mapping[str, Any]) -> dict[str, AnswerValue]:
    """Return the answers that the lesson still accepts. stored: answers by question id, as read from JSON."""
    answers = {}
    for id, stored_answer in stored.items():
        question = lesson.question(id)
        try:
            if question is not None:
                answers[id] = question.read(stored_answer)
        except ValueError:
            continue  # the question was changed without a new version
    return answers


def keep_progress(owner: str, lesson: Lesson, progress: Progress) -> None:
    """Save the progress of the visitor with the id `owner`; if the file cannot be written, it is lost when the
    page is closed.
    """
    with _lock:
        try:
            progress_by_lesson = _read_progress_by_lesson(owner) | {_lesson_key(lesson): asdict(progress)}
            file = _progress_file(owner)
            make_private_folder(file.parent)
            if not file.exists():
                _delete_oldest(file.parent)
            temporary = file.with_suffix(".new")
            temporary.unlink(missing_ok=True)
            with open(temporary, "x", encoding="utf-8", opener=open_private) as out:
                json.dump(progress_by_lesson, out)
            os.replace(temporary, file)
        except OSError:
            return


def _lesson_key(lesson: Lesson) -> str:
    return f"{lesson.id}@{lesson.version}"


def _progress_file(owner: str) -> Path:
    return home() / "lessons" / f"{owner_digest(owner)}.json"


def _read_progress_by_lesson(owner: str) -> dict[str, Any]:
    """Return the fields of `Progress` by `_lesson_key`; {} without a readable file."""
    try:
        text = _progress_file(owner).read_text(encoding="utf-8")[:MAX_FILE_BYTES]
        progress = json.loads(text)
    except (OSError, ValueError):
        return {}
    return (
        {key: value for key, value in progress.items() if isinstance(value, dict)} if isinstance(progress, dict) else {}
    )


def _delete_oldest(folder: Path) -> None:
    files = list(folder.glob("*.json"))
    for file in sorted(files, key=lambda file: file.stat().st_mtime)[: max(0, len(files) - MAX_VISITORS + 1)]:
        file.unlink(missing_ok=True)
