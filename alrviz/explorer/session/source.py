"""The source of a session's table, and the changes of it that can be undone."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from alrviz.explorer.server.tables import FileLink, Upload
from alrviz.explorer.session.row_filter import RowFilter
from alrviz.explorer.session.state import State


@dataclass(frozen=True)
class Source:
    """The source of a session's table, and the changes made to it.

    Attributes:
        upload: the dropped file, or None. file: its name, shape and hash, as a link holds them.
        demo: name and number of rows of a demo set, or None.
        kinds: changed kinds by column position.
        split: slug of what splits of the rows respect.
        rows: the rows that are kept; () for all.
        settled: questions about the reading that were answered by keeping it.
    """

    upload: Upload | None = None
    file: FileLink | None = None
    demo: tuple[str, int | None] | None = None
    kinds: Mapping[int, str] = field(default_factory=dict)
    split: str = ""
    rows: tuple[RowFilter, ...] = ()
    settled: frozenset[str] = frozenset()

    @property
    def points(self) -> str:
        """The table as a link holds it if it is a few drawn points; "" for others."""
        return self.upload.points if self.upload is not None else ""


NOTHING_CHOSEN = Source()


def choices_of(state: State) -> Source:
    """Return the kinds, split and rows that a link gives for its table."""
    return Source(kinds=dict(state.kinds), split=state.split, rows=state.filters)


@dataclass(frozen=True)
class Change:
    """A change of the table that can be undone: a description of it, and the table's source before."""

    words: str
    before: Source


@dataclass(frozen=True)
class Refusal:
    """A file of moderate size that no table could be read from, and why; it can be read again with other options."""

    upload: Upload
    error: Exception
