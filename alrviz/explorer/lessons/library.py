"""The list of lessons: those of the package, and the user's files, which are read again whenever they are opened."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import Lesson
from alrviz.explorer.lessons.reader import MAX_FILE_BYTES, ChoicesOf, read_lesson

# In the recommended order.
SHIPPED = (
    "nll", "naive-bayes", "coordinates", "parity", "alpha", "acceleration", "bias-variance", "learning-curves",
    "bandwidth", "calibration", "order", "interactions",
)  # fmt: skip
_user_files: dict[str, Path] = {}  # by id


@cache
def read_shipped(id: str) -> Lesson:
    """Return a lesson of the package; `KeyError` if there is no such lesson."""
    if id not in SHIPPED:
        raise KeyError(id)
    text = (files("alrviz.explorer.lessons") / "shipped" / f"{id}.yaml").read_text(encoding="utf-8")
    return read_lesson(text, f"{id}.yaml")


def read_file(path: Path, choices: ChoicesOf = lambda page: {}) -> Lesson:
    """Return the lesson of a file; an `AlrvizError` names line and field of a mistake."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise AlrvizError(f"{path.name}: a lesson has at most {MAX_FILE_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise AlrvizError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise AlrvizError(f"{path.name}: a lesson is text in UTF-8; byte {error.start:,} is invalid") from error
    return read_lesson(text, path.name, choices)


def add_file(path: Path, choices: ChoicesOf = lambda page: {}) -> Lesson:
    """Offer a file's lesson to all visitors of this server, before the others."""
    lesson = read_file(path, choices)
    _user_files[lesson.id] = path
    return lesson


def names() -> tuple[str, ...]:
    """Return the ids of all lessons."""
    return (*_user_files, *(id for id in SHIPPED if id not in _user_files))


def find(id: str, choices: ChoicesOf = lambda page: {}) -> Lesson | None:
    """Return a lesson by its id, None if there is none; `AlrvizError` if the user's file has become invalid."""
    if id in _user_files:
        return read_file(_user_files[id], choices)
    return read_shipped(id) if id in SHIPPED else None
