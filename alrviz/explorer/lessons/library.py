"""The list of lessons: those of the package, and the user's own files, which are read again at every opening."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import Lesson
from alrviz.explorer.lessons.reader import MAX_FILE_BYTES, ChoicesOf, read_lesson

# In the order in which they are best taken.
SHIPPED = (
    "nll", "naive-bayes", "coordinates", "parity", "alpha", "acceleration", "bias-variance", "learning-curves",
    "bandwidth", "calibration", "order", "interactions",
)  # fmt: skip
_own: dict[str, Path] = {}  # lessons of this server's user, by id


@cache
def shipped(id: str) -> Lesson:
    """Return a lesson of the package; a `KeyError` of none."""
    if id not in SHIPPED:
        raise KeyError(id)
    text = (files("alrviz.explorer.lessons") / "shipped" / f"{id}.yaml").read_text(encoding="utf-8")
    return read_lesson(text, f"{id}.yaml")


def read_file(path: Path, choices: ChoicesOf = lambda page: {}) -> Lesson:
    """Return the lesson of a file; an `AlrvizError` says what is wrong with it, by line and field."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise AlrvizError(f"{path.name}: a lesson has at most {MAX_FILE_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise AlrvizError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise AlrvizError(f"{path.name}: a lesson is text in UTF-8; byte {error.start:,} is none") from error
    return read_lesson(text, path.name, choices)


def add_own(path: Path, choices: ChoicesOf = lambda page: {}) -> Lesson:
    """Have a file's lesson among those that visitors of this server are offered, first of all."""
    lesson = read_file(path, choices)
    _own[lesson.id] = path
    return lesson


def names() -> tuple[str, ...]:
    """The ids of all lessons."""
    return (*_own, *(id for id in SHIPPED if id not in _own))


def find(id: str, choices: ChoicesOf = lambda page: {}) -> Lesson | None:
    """Return a lesson by its id, None where there is none; an `AlrvizError` of one's own file that is broken by now."""
    if id in _own:
        return read_file(_own[id], choices)
    return shipped(id) if id in SHIPPED else None
