"""The source of a session's table, and the changes of it that can be undone."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from alrviz.explorer.server.tables import FileLink, Upload
from alrviz.explorer.session.row_filter import RowFilter
from alrviz.explorer.session.state import State


@dataclass(frozen=True)
class Source:
    """The source of a session's table, and the visitor's choices for it.

    Attributes:
        upload: the dropped file, or None.
        file: name, shape and hash of the file for a link, or None.
        demo: name and number of rows of a demo set, or None.
        kinds: changed kinds by column position.
        split: slug of the splitting rule; "" for the default.
        rows: filters of the rows; () for all rows.
        confirmed_questions: questions about the reading that the visitor answered "No".
    """

    upload: Upload | None = None
    file: FileLink | None = None
    demo: tuple[str, int | None] | None = None
    kinds: Mapping[int, str] = field(default_factory=dict)
    split: str = ""
    rows: tuple[RowFilter, ...] = ()
    confirmed_questions: frozenset[str] = frozenset()

    @property
    def points(self) -> str:
        """The packed points if the table is a few drawn points; "" for others."""
        return self.upload.points if self.upload is not None else ""


NO_CHOICES = Source()


def choices_of(state: State) -> Source:
    """Return the kinds, split and rows that a link gives for its table."""
    return Source(kinds=dict(state.kinds), split=state.split, rows=state.filters)


@dataclass(frozen=True)
class Change:
    """A change of the table that can be undone: its description, and the table's source before it."""

    words: str
    source_before: Source


@dataclass(frozen=True)
class Refusal:
    """A small file that could not be read as a table, and the error; it can be read again with other options."""

    upload: Upload
    error: Exception
