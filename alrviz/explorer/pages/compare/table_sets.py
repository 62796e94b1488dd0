"""The tables that recipes are compared on: demo sets, and several of the visitor's tables.

For a visitor's table a page keeps its `FileLink` and the chosen kinds, split and rows. The table is read again from
the uploaded bytes, which the server keeps, unless it is the session's table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.errors import AlrvizError, TableError, for_page
from alrviz.explorer.server.tables import FileLink, Upload
from alrviz.explorer.session.apply_kinds import derive_dataset, read_upload
from alrviz.explorer.session.row_filter import RowFilter
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.source import Source
from alrviz.stop import StopToken


@dataclass(frozen=True)
class Choices:
    """A visitor's choices for a table: kinds by column position, slug of the split, filters of rows."""

    kinds: tuple[tuple[int, str], ...] = ()
    split: str = ""
    rows: tuple[RowFilter, ...] = ()

    @property
    def source(self) -> Source:
        """The choices as an argument of `derive_dataset`."""
        return Source(kinds=dict(self.kinds), split=self.split, rows=self.rows)


@dataclass(frozen=True)
class TableSets:
    """The chosen tables: demo sets by name, and the visitor's tables with their choices."""

    demos: tuple[str, ...] = ()
    own_tables: tuple[tuple[FileLink, Choices], ...] = ()

    def __len__(self) -> int:
        return len(self.demos) + len(self.own_tables)


@dataclass(frozen=True)
class NamedTable:
    """An opened table with a unique name, and its origin.

    Attributes:
        demo: the demo set's name, "" for a visitor's table.
        upload: the visitor's file; None for a demo set and for the table that the server was started with.
        choices: of the visitor.
    """

    dataset: Dataset = field(compare=False)
    demo: str = ""
    upload: Upload | None = None
    choices: Choices = Choices()


class OwnTables:
    """The visitor's tables that were loaded while the page existed, and those of its link."""

    def __init__(self, session: Session, files: Sequence[FileLink]):
        self._session = session
        self._tables: dict[str, tuple[FileLink, Choices]] = {link.hash: (link, Choices()) for link in files}

    def add_current(self) -> FileLink | None:
        """Add the session's table, or update its choices; return it if it is new."""
        table, source = self._session.table, self._session.table.source
        if source.file is None or table.dataset is None or table.pending is not None:
            return None
        link, is_new = source.file, source.file.hash not in self._tables
        self._tables[link.hash] = (link, Choices(tuple(sorted(source.kinds.items())), source.split, source.rows))
        return link if is_new else None

    def options(self) -> dict[str, FileLink]:
        """Return the entries of a menu; equal names are distinguished by the hash."""
        links = [link for link, _ in self._tables.values()]
        names = [link.name for link in links]
        return {
            f"{link.name} (yours{', ' + link.hash[:6] if names.count(link.name) > 1 else ''})": link for link in links
        }

    def with_choices(self, links: Sequence[FileLink]) -> tuple[tuple[FileLink, Choices], ...]:
        """Return these tables with their choices."""
        return tuple(self._tables[link.hash] for link in links if link.hash in self._tables)


def opener(session: Session) -> Callable[[FileLink, Choices, StopToken], NamedTable]:
    """Return a function that may be called on a worker thread: it opens the table of a link.

    That is the session's table, the server's own, or a file that the visitor uploaded. The function raises `TableError`
    if the server no longer has the file.
    """
    current = session.table.source.file if session.table.pending is None else None
    dataset, upload = session.table.dataset, session.table.source.upload
    served, owner = session.table.served, session.owner
    tables, limits = session.registry.tables, session.registry.limits

    def open_table(link: FileLink, choices: Choices, stop: StopToken) -> NamedTable:
        if dataset is not None and current is not None and current.hash == link.hash:
            return NamedTable(dataset, "", upload, choices)
        if served is not None and link.fits(served.hash):
            if choices == Choices():
                return NamedTable(served)
            derived = derive_dataset(served.table, choices.source, stop, served.given_kinds, served, served)
            return NamedTable(derived, choices=choices)
        table = tables.find(owner, link)
        if table is None:
            raise TableError(f"drop {link} again: the server no longer has it")
        return NamedTable(
            derive_dataset(read_upload(table, limits, stop, owner), choices.source, stop), "", table, choices
        )

    return open_table


def open_all(
    sets: TableSets,
    seed: int,
    open_own: Callable[[FileLink, Choices, StopToken], NamedTable],
    stop: StopToken,
    tell: Callable[[str], None],
) -> tuple[tuple[NamedTable, ...], tuple[tuple[str, str], ...]]:
    """Return the tables with distinct names, and (name, reason) of those that cannot be opened.

    Args:
        sets: names of demo sets and links to files.
        seed: seed of demo sets with random rows.
        open_own: opens a file of the visitor.
        stop: ends the opening.
        tell: called with a sentence before each table.
    """

    def demo(name: str) -> NamedTable:
        return NamedTable(load_demo(name, seed=seed), name)

    openers: list[tuple[str, Callable[[], NamedTable]]] = [(name, partial(demo, name)) for name in sets.demos]
    openers += [(link.name, partial(open_own, link, choices, stop)) for link, choices in sets.own_tables]
    tables: list[NamedTable] = []
    failures: list[tuple[str, str]] = []
    for name, make in openers:
        stop.check()
        tell(f"opening {name}")
        try:
            table = make()
        except AlrvizError as error:
            if stop.stopped:
                raise
            failures.append((name, for_page(error)))
            continue
        duplicate = next((opened for opened in tables if opened.dataset.hash == table.dataset.hash), None)
        if duplicate is not None:
            failures.append((name, f"it is the same table as {duplicate.dataset.name}"))
        else:
            tables.append(_with_unique_name(table, [opened.dataset.name for opened in tables]))
    return tuple(tables), tuple(failures)


def _with_unique_name(table: NamedTable, used_names: Sequence[str]) -> NamedTable:
    """Return the table, renamed if its name is used."""
    name, count = table.dataset.name, 2
    while name in used_names:
        name, count = f"{table.dataset.name} {count}", count + 1
    return table if name == table.dataset.name else replace(table, dataset=replace(table.dataset, name=name))
