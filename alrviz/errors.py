"""The exceptions of alrviz; each message says what was wrong, what was expected, and the nearest valid choice.

Each class is also one of Python's own, so that code which knows nothing of alrviz catches what it expects.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class Sentence(str):
    """A sentence for callers in Python; `page` is its variant for the explorer, which names controls, not arguments."""

    page: str

    def __new__(cls, text: str, page: str = "") -> "Sentence":
        """Make both texts the same without `page`; pickle sets it afterwards."""
        self = super().__new__(cls, text)
        self.page = page or text
        return self


def for_page(message: object) -> str:
    """Return the text of a sentence, or of an error, as a page shows it."""
    text = message.args[0] if isinstance(message, BaseException) and message.args else message
    return text.page if isinstance(text, Sentence) else str(message)


class AlrvizError(Exception):
    """Base of every error raised on purpose; `code` names its cause where callers tell causes apart, else ""."""

    def __init__(self, *args: object, code: str = ""):
        super().__init__(*args)
        self.code = code


# Codes of a `TableError`.
MEASURED_TARGET = "measured target"  # a numeric target of too many values to be classes
EMPTY_TABLE = "empty table"  # no rows, or nothing at all
ONE_COLUMN = "one column"
UNEVEN_LINES = "uneven lines"  # prose, or another delimiter
FOREIGN_FORMAT = "foreign format"  # a picture, a PDF ...
NOT_IN_BATCHES = "not in batches"  # what a table that is read in batches cannot have, and read_table reads


class TableError(AlrvizError, ValueError):
    """A table, a column or a value in it cannot be used."""


class TableFileError(TableError, OSError):
    """A path that no table can be read from: a folder, a device, a pipe, a file without permission."""


class MissingFileError(TableFileError, FileNotFoundError):
    """There is no such file; the message names the nearest."""


class RecipeError(AlrvizError, ValueError):
    """A parameter, or a combination of parameters, that is invalid."""


class MemoryLimitError(AlrvizError, MemoryError):
    """Raised before memory is allocated: a model, a table or a result would take more than is allowed.

    Attributes: `needed` and `allowed`, in bytes.
    """

    def __init__(self, message: str, needed: int, allowed: int):
        super().__init__(message)
        self.needed = needed
        self.allowed = allowed

    def __reduce__(self) -> tuple[type, tuple[str, int, int]]:
        return type(self), (str(self), self.needed, self.allowed)


class StoreError(AlrvizError, OSError):
    """The run store cannot be opened, read or written.

    The message is for its operator; what a page shows (`for_page`) is a clause without the store's path.
    """


class ModelFileError(AlrvizError, ValueError):
    """A model that cannot be saved, or a file without a model that this version can use."""


class LostColumnsWarning(UserWarning):
    """Numeric columns of which no cut is left: all their values are one level, which no model can see.

    MDL looks at one column at a time, so it finds no cut in columns that tell something only together, as in
    class = sign(a * b). `discretize="quantile"` keeps them, and so does "mdl-smooth" where a family has smooth levels.
    """


class DoubtfulTableWarning(UserWarning):
    """A table or its weights can be fitted, and it is likely that something else was meant.

    Numbers that are text, a text that names the rows, weights that sum to next to nothing, a setting without effect.
    """


class Stopped(AlrvizError):
    """Raised inside work done in chunks once `stop` is called on its token."""


class TimeOver(Stopped):
    """Raised inside work done in chunks once the time of its `Deadline` is over."""


class ReadingWarning(UserWarning):
    """New rows have values that cannot be read as the training table was, or another layout."""


class UnseenLevelWarning(UserWarning):
    """New rows have values that no training row has."""


def nearest(word: object, choices: Iterable[object]) -> str:
    """Return "; did you mean X?" for the choice closest to `word`, or an empty string when none is close."""
    by_text = {str(choice): choice for choice in choices}
    close = get_close_matches(str(word), by_text, n=1, cutoff=0.6)
    return f"; did you mean {by_text[close[0]]!r}?" if close else ""


def short(text: object, width: int = 60) -> str:
    """Return a value as it appears in messages: quoted, and cut when long."""
    quoted = repr(text)
    return quoted if len(quoted) <= width else quoted[: width - 1] + "…"


def listed(names: Sequence[object], max_names: int = 8) -> str:
    """Return names as they appear in messages: at most this many, and the number of others."""
    more_text = f" and {len(names) - max_names:,} more" if len(names) > max_names else ""
    return ", ".join(short(name) for name in names[:max_names]) + more_text


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Return words as a list in a sentence; "" for none.

    >>> join_words(["lr", "alr", "gd"]), join_words(["lr", "alr"], "or"), join_words(["lr"])
    ('lr, alr and gd', 'lr or alr', 'lr')
    """
    return f" {conjunction} ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def capitalize(text: str) -> str:
    """Return a text with a capital first letter, the others as they are (`str.capitalize` lowers them)."""
    return text[:1].upper() + text[1:]


def plural(count: int, one: str, several: str = "") -> str:
    """Return a count with its noun: "1 row", "1,200 rows"; `several` is the noun's plural (default: with an s)."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"
