"""The tables that recipes are compared on: demo sets by name, and the visitor's own, several at once.

Of a table of the visitor's a page remembers what a link says of it, and which kinds were changed; its rows are read
anew from the bytes that the process holds, unless it is the session's table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.errors import AlrvizError, TableError, for_page
from alrviz.explorer.server.tables import FileLink, Upload
from alrviz.explorer.session.apply_kinds import read_upload, with_kinds, with_split
from alrviz.explorer.session.session import Session
from alrviz.stop import StopToken

Kinds = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class TableSets:
    """What is chosen: demo sets by name, the visitor's tables by what a link says of them and their changed kinds."""

    demos: tuple[str, ...] = ()
    own: tuple[tuple[FileLink, Kinds], ...] = ()

    def __len__(self) -> int:
        return len(self.demos) + len(self.own)


@dataclass(frozen=True)
class NamedTable:
    """A table that is there: its rows, under a name that no other of them has, and where it comes from.

    Attributes:
        demo: the demo set's name, "" for a visitor's table.
        upload: the visitor's file; None for a demo set and for the table that the server was started with.
        kinds: what was changed.
    """

    dataset: Dataset = field(compare=False)
    demo: str = ""
    upload: Upload | None = None
    kinds: Kinds = ()


class OwnTables:
    """The visitor's tables that a page has seen, the latest first."""

    def __init__(self, session: Session, files: Sequence[FileLink]):
        self._session = session
        self._found: dict[str, tuple[FileLink, Kinds]] = {link.hash: (link, ()) for link in files}

    def look(self) -> FileLink | None:
        """Take notice of the session's table; returns it where it is new here."""
        session = self._session
        if session.table.source.file is None or session.table.dataset is None or session.table.pending is not None:
            return None
        link, new = session.table.source.file, session.table.source.file.hash not in self._found
        self._found[link.hash] = (link, tuple(sorted(session.table.source.kinds.items())))
        return link if new else None

    def options(self) -> dict[str, FileLink]:
        """The entries of a menu: of equal names the hash tells which."""
        links = [link for link, _ in self._found.values()]
        names = [link.name for link in links]
        return {
            f"{link.name} (yours{', ' + link.hash[:6] if names.count(link.name) > 1 else ''})": link for link in links
        }

    def of(self, links: Sequence[FileLink]) -> tuple[tuple[FileLink, Kinds], ...]:
        """Return these tables with their changed kinds."""
        return tuple(self._found[link.hash] for link in links if link.hash in self._found)


def opener(session: Session) -> Callable[[FileLink, Kinds, StopToken], NamedTable]:
    """Return what opens a table of the visitor's, to be called on a thread."""
    mine = session.table.source.file if session.table.pending is None else None
    dataset, upload = session.table.dataset, session.table.source.upload
    served, owner = session.table.served, session.owner
    tables, limits = session.registry.tables, session.registry.limits

    def opened(link: FileLink, kinds: Kinds, stop: StopToken) -> NamedTable:
        if dataset is not None and mine is not None and mine.hash == link.hash:
            return NamedTable(dataset, "", upload, kinds)
        if served is not None and link.fits(served.hash):
            made = with_kinds(served.table, dict(kinds), stop, served.given_kinds, served) if kinds else served
            return NamedTable(with_split(made, "", served), "", None, kinds)
        held = tables.find(owner, link)
        if held is None:
            raise TableError(f"drop {link} again: it is not held here any more")
        return NamedTable(with_kinds(read_upload(held, limits, stop, owner), dict(kinds), stop), "", held, kinds)

    return opened


def open_all(
    sets: TableSets,
    seed: int,
    own: Callable[[FileLink, Kinds, StopToken], NamedTable],
    stop: StopToken,
    tell: Callable[[str], None],
) -> tuple[tuple[NamedTable, ...], tuple[tuple[str, str], ...]]:
    """Return the tables, under names of their own, and (name, why) of those that cannot be had."""

    def demo(name: str) -> NamedTable:
        return NamedTable(load_demo(name, seed=seed), name)

    ways: list[tuple[str, Callable[[], NamedTable]]] = [(name, partial(demo, name)) for name in sets.demos]
    ways += [(link.name, partial(own, link, kinds, stop)) for link, kinds in sets.own]
    found: list[NamedTable] = []
    absent: list[tuple[str, str]] = []
    for name, make in ways:
        stop.check()
        tell(f"opening {name}")
        try:
            table = make()
        except AlrvizError as error:
            if stop.stopped:
                raise
            absent.append((name, for_page(error)))
            continue
        same = next((other for other in found if other.dataset.hash == table.dataset.hash), None)
        if same is not None:
            absent.append((name, f"it is the same table as {same.dataset.name}"))
        else:
            found.append(_named(table, [other.dataset.name for other in found]))
    return tuple(found), tuple(absent)


def _named(table: NamedTable, taken: Sequence[str]) -> NamedTable:
    """Return the table under a name that is not taken."""
    name, count = table.dataset.name, 2
    while name in taken:
        name, count = f"{table.dataset.name} {count}", count + 1
    return table if name == table.dataset.name else replace(table, dataset=replace(table.dataset, name=name))
