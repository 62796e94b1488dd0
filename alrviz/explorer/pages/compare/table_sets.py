"""The tables that recipes are compared on: demo sets, and several of the visitor's tables.

For a visitor's table a page keeps its `Source`: its link and the chosen kinds, split and rows. The table is read again
from the uploaded bytes, which the server keeps, unless it is the session's table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.errors import AlrvizError, TableError, for_page
from alrviz.explorer.server.tables import FileLink
from alrviz.explorer.session.apply_kinds import derive_dataset, read_upload
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.source import NO_CHOICES, Source
from alrviz.stop import StopToken


@dataclass(frozen=True)
class TableSets:
    """The chosen tables: demo sets by name, and files of the visitor, each with the choices for it."""

    demos: tuple[str, ...] = ()
    own_tables: tuple[Source, ...] = ()

    def __len__(self) -> int:
        return len(self.demos) + len(self.own_tables)

    @property
    def links(self) -> list[FileLink]:
        """The links of the visitor's tables."""
        return [source.file for source in self.own_tables if source.file is not None]


@dataclass(frozen=True)
class NamedTable:
    """An opened table with a unique name, and its origin; without file and demo set it is the server's own table."""

    dataset: Dataset = field(compare=False)
    source: Source = NO_CHOICES


class OwnTables:
    """The visitor's tables that were loaded while the page existed, and those of its link."""

    def __init__(self, session: Session, files: Sequence[FileLink]):
        self._session = session
        self._sources = {link.hash: Source(file=link) for link in files}

    def add_current(self) -> FileLink | None:
        """Add the session's table, or update its choices; return it if it is new."""
        table, source = self._session.table, self._session.table.source
        if source.file is None or table.dataset is None or table.pending is not None:
            return None
        is_new = source.file.hash not in self._sources
        # Without the bytes, which the server may have to drop.
        self._sources[source.file.hash] = replace(source, upload=None, confirmed_questions=frozenset())
        return source.file if is_new else None

    def options(self) -> dict[str, FileLink]:
        """Return the entries of a menu; equal names are distinguished by the hash."""
        links = [source.file for source in self._sources.values() if source.file is not None]
        names = [link.name for link in links]
        return {
            f"{link.name} (yours{', ' + link.hash[:6] if names.count(link.name) > 1 else ''})": link for link in links
        }

    def with_choices(self, links: Sequence[FileLink]) -> tuple[Source, ...]:
        """Return these tables with their choices."""
        return tuple(self._sources[link.hash] for link in links if link.hash in self._sources)


def opener(session: Session) -> Callable[[Source, StopToken], NamedTable]:
    """Return a function that may be called on a worker thread: it opens the table of a link.

    That is the session's table, the server's own, or a file that the visitor uploaded. The function raises `TableError`
    if the server no longer has the file.
    """
    current_source = session.table.source if session.table.pending is None else NO_CHOICES
    dataset, served, owner = session.table.dataset, session.table.served, session.owner
    tables, limits = session.registry.tables, session.registry.limits

    def open_table(source: Source, stop: StopToken) -> NamedTable:
        link = source.file
        assert link is not None
        if dataset is not None and current_source.file is not None and current_source.file.hash == link.hash:
            return NamedTable(dataset, replace(source, upload=current_source.upload))
        if served is not None and link.fits(served.hash):
            if source == Source(file=link):
                return NamedTable(served)
            return NamedTable(derive_dataset(served.table, source, stop, served.given_kinds, served, served), source)
        upload = tables.find(owner, link)
        if upload is None:
            raise TableError(f"drop {link} again: the server no longer has it")
        table = read_upload(upload, limits, stop, owner)
        return NamedTable(derive_dataset(table, source, stop), replace(source, upload=upload))

    return open_table


def open_all(
    sets: TableSets,
    seed: int,
    open_own: Callable[[Source, StopToken], NamedTable],
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
        return NamedTable(load_demo(name, seed=seed), Source(demo=(name, None)))

    openers: list[tuple[str, Callable[[], NamedTable]]] = [(name, partial(demo, name)) for name in sets.demos]
    openers += [
        (link.name, partial(open_own, source, stop)) for link, source in zip(sets.links, sets.own_tables, strict=True)
    ]
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
        duplicate = next((earlier for earlier in tables if earlier.dataset.hash == table.dataset.hash), None)
        if duplicate is not None:
            failures.append((name, f"it is the same table as {duplicate.dataset.name}"))
        else:
            tables.append(_with_unique_name(table, [earlier.dataset.name for earlier in tables]))
    return tuple(tables), tuple(failures)


def _with_unique_name(table: NamedTable, used_names: Sequence[str]) -> NamedTable:
    """Return the table, renamed if its name is used."""
    old_name, number = table.dataset.name, 2
    new_name = old_name
    while new_name in used_names:
        new_name, number = f"{old_name} {number}", number + 1
    return table if new_name == old_name else replace(table, dataset=replace(table.dataset, name=new_name))
