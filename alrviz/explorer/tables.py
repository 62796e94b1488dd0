"""Tables that were dropped, held in memory for their owners: a reload finds them again, nobody else does.

An `Upload` is the file's bytes and how they are to be read; the bytes are kept so that delimiter, encoding or missing
tokens can be changed. Nothing is written to disk. Per owner the oldest is dropped, and the process holds so many bytes:
owners leave without saying so, and what was unseen for longest makes room for who comes.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from alrviz.errors import TableError
from alrviz.explorer.limits import ServerLimits, below
from alrviz.explorer.state import FileLink, safe_name

if TYPE_CHECKING:
    from alrviz.data.dataset import Table
    from alrviz.data.options import ReadOptions


@dataclass(frozen=True, eq=False)
class Upload:
    """A dropped file: `name` (no path), its bytes, and how to read them (None: detect)."""

    name: str
    data: bytes
    options: "ReadOptions | None" = None

    @classmethod
    def of(cls, filename: str, data: bytes | str) -> "Upload":
        """Return an upload of a browser's file (text arrives as str where it is UTF-8)."""
        return cls(safe_name(filename), data.encode() if isinstance(data, str) else bytes(data))

    def replace(self, **changes: Any) -> "Upload":
        """Return the same file, to be read otherwise."""
        return replace(self, **changes)


def link_of(upload: Upload, table: "Table") -> FileLink:
    """Return what a link says about this file: enough to know it again, nothing of its content."""
    return FileLink(upload.name, table.n_rows, len(table.names), sha256(upload.data).hexdigest()[:16])


class Tables:
    """The tables a process holds, by owner and hash."""

    def __init__(self, limits: ServerLimits, clock: Callable[[], float] = time.monotonic):
        self.limits = limits
        self._clock = clock
        self._held: dict[tuple[str, str], Upload] = {}
        self._seen: dict[str, float] = {}  # by owner
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """How many bytes of files are held."""
        with self._lock:
            return self._size()

    def _size(self) -> int:
        return sum(len(upload.data) for upload in self._held.values())

    def look(self, owner: str) -> None:
        """Say that this owner is there now: files of who is there are not dropped for others."""
        with self._lock:
            if owner in self._seen:
                self._seen[owner] = self._clock()

    def check_room(self, owner: str, size: int) -> None:
        """Raise `TableError` if another file of this size would be too much beside those of who is there."""
        with self._lock:
            self._room(owner, size)

    def _room(self, owner: str, size: int) -> list[str]:
        """Return the owners whose files have to go for one of this size, the longest unseen first."""
        now, idle = self._clock(), self.limits.idle
        held: dict[str, int] = {}
        for (who, _), upload in self._held.items():
            held[who] = held.get(who, 0) + len(upload.data)
        held.pop(owner, None)  # the owner's own give way to the new one
        absent = [who for who in held if idle is not None and now - self._seen[who] > idle]
        absent.sort(key=self._seen.__getitem__)
        others, leaving = sum(held.values()), []
        while absent and not below(others + size, self.limits.uploads):
            leaving.append(absent.pop(0))
            others -= held[leaving[-1]]
        if not below(others + size, self.limits.uploads):
            raise TableError(
                f"the server holds {others / 1e6:,.0f} MB of other people's tables and has no room for another "
                f"{size / 1e6:,.0f} MB now; try a smaller table, or later"
            )
        return leaving

    def keep(self, owner: str, hash16: str, upload: Upload) -> None:
        """Hold a table for its owner, in place of the oldest beyond the limits; `TableError` where there is no room."""
        with self._lock:
            leaving = self._room(owner, len(upload.data))
            self._held = {key: kept for key, kept in self._held.items() if key[0] not in leaving}
            for who in leaving:
                del self._seen[who]
            self._seen[owner] = self._clock()
            self._held.pop((owner, hash16), None)
            self._held[owner, hash16] = upload
            mine = [key for key in self._held if key[0] == owner]
            while len(mine) > 1 and not (
                below(len(mine), self.limits.tables) and below(self._size(), self.limits.uploads)
            ):
                del self._held[mine.pop(0)]

    def find(self, owner: str, link: FileLink) -> Upload | None:
        """Return the owner's table that a link is about, if it is still held."""
        with self._lock:
            upload = self._held.get((owner, link.hash))
            if upload is not None:
                self._seen[owner] = self._clock()
            return upload
