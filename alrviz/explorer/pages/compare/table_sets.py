"""The tables that recipes are compared on: demo sets by name, and the visitor's own, several at once.

Of a visitor's table a page keeps the link's description and the chosen kinds, split and rows; the table is read again
from the bytes that the process holds, unless it is the session's table.
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
    """What a visitor chose for a table: kinds by column position, the slug of a split, the rows that are kept."""

    kinds: tuple[tuple[int, str], ...] = ()
    split: str = ""
    rows: tuple[RowFilter, ...] = ()

    @property
    def source(self) -> Source:
        """The same, as `derive` takes it."""
        return Source(kinds=dict(self.kinds), split=self.split, rows=self.rows)


@dataclass(frozen=True)
class TableSets:
    """The chosen tables: demo sets by name, the visitor's own by a link's description and their choices."""

    demos: tuple[str, ...] = ()
    own: tuple[tuple[FileLink, Choices], ...] = ()

    def __len__(self) -> int:
        return len(self.demos) + len(self.own)


@dataclass(frozen=True)
class NamedTable:
    """An opened table, under a name that no other one has, and its origin.

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
    """The visitor's tables that a page has seen, the latest first."""

    def __init__(self, session: Session, files: Sequence[FileLink]):
        self._session = session
        self._tables: dict[str, tuple[FileLink, Choices]] = {link.hash: (link, Choices()) for link in files}

    def look(self) -> FileLink | None:
        """Add the session's table, or update its choices; return it if it is new here."""
        table, source = self._session.table, self._session.table.source
        if source.file is None or table.dataset is None or table.pending is not None:
            return None
        link, is_new = source.file, source.file.hash not in self._tables
        self._tables[link.hash] = (link, Choices(tuple(sorted(source.kinds.items())), source.split, source.rows))
        return link if is_new else None

    def options(self) -> dict[str, FileLink]:
        """The entries of a menu: of equal names the hash tells which."""
        links = [link for link, _ in self._tables.values()]
        names = [link.name for link in links]
        return {
            f"{link.name} (yours{', ' + link.hash[:6] if names.count(link.name) > 1 else ''})": link for link in links
        }

    def of(self, links: Sequence[FileLink]) -> tuple[tuple[FileLink, Choices], ...]:
        """Return these tables with their choices."""
        return tuple(self._tables[link.hash] for link in links if link.hash in self._tables)


def opener(session: Session) -> Callable[[FileLink, Choices, StopToken], NamedTable]:
    """Return the function that opens a table of the visitor, to be called on a thread."""
    mine = session.table.source.file if session.table.pending is None else None
    dataset, upload = session.table.dataset, session.table.source.upload
    served, owner = session.table.served, session.owner
    tables, limits = session.registry.tables, session.registry.limits

    def opened(link: FileLink, choices: Choices, stop: StopToken) -> NamedTable:
        if dataset is not None and mine is not None and mine.hash == link.hash:
            return NamedTable(dataset, "", upload, choices)
        if served is not None and link.fits(served.hash):
            if choices == Choices():
                return NamedTable(served)
            made = derive_dataset(served.table, choices.source, stop, served.given_kinds, served, served)
            return NamedTable(made, choices=choices)
        held = tables.find(owner, link)
        if held is None:
            raise TableError(f"drop {link} again: it is not held here any more")
        return NamedTable(
            derive_dataset(read_upload(held, limits, stop, owner), choices.source, stop), "", held, choices
        )

    return opened


def open_all(
    sets: TableSets,
    seed: int,
    own: Callable[[FileLink, Choices, StopToken], NamedTable],
    stop: StopToken,
    tell: Callable[[str], None],
) -> tuple[tuple[NamedTable, ...], tuple[tuple[str, str], ...]]:
    """Return the tables, under distinct names, and (name, reason) of those that cannot be opened."""

    def demo(name: str) -> NamedTable:
        return NamedTable(load_demo(name, seed=seed), name)

    openers: list[tuple[str, Callable[[], NamedTable]]] = [(name, partial(demo, name)) for name in sets.demos]
    openers += [(link.name, partial(own, link, choices, stop)) for link, choices in sets.own]
    tables: list[NamedTable] = []
    absent: list[tuple[str, str]] = []
    for name, make in openers:
        stop.check()
        tell(f"opening {name}")
        try:
            table = make()
        except AlrvizError as error:
            if stop.stopped:
                raise
            absent.append((name, for_page(error)))
            continue
        same = next((other for other in tables if other.dataset.hash == table.dataset.hash), None)
        if same is not None:
            absent.append((name, f"it is the same table as {same.dataset.name}"))
        else:
            tables.append(_named(table, [other.dataset.name for other in tables]))
    return tuple(tables), tuple(absent)


def _named(table: NamedTable, taken: Sequence[str]) -> NamedTable:
    """Return the table under a name that is not taken."""
    name, count = table.dataset.name, 2
    while name in taken:
        name, count = f"{table.dataset.name} {count}", count + 1
    return table if name == table.dataset.name else replace(table, dataset=replace(table.dataset, name=name))
