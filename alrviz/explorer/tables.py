"""Tables that were dropped, held in memory for their owners: a reload finds them again, nobody else does.

An `Upload` is the file's bytes and how they are to be read; the bytes are kept so that delimiter, encoding or missing
tokens can be changed. Nothing is written to disk. Per owner the oldest is dropped, and the process holds so many bytes.
"""

import threading
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

    def __init__(self, limits: ServerLimits):
        self.limits = limits
        self._held: dict[tuple[str, str], Upload] = {}
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """How many bytes of files are held."""
        return sum(len(upload.data) for upload in self._held.values())

    def check_room(self, owner: str, size: int) -> None:
        """Raise `TableError` if another file of this size would be too much for the process."""
        with self._lock:
            others = sum(len(upload.data) for (who, _), upload in self._held.items() if who != owner)
        if not below(others + size, self.limits.uploads):
            raise TableError(
                f"the server holds {others / 1e6:,.0f} MB of other people's tables and has no room for another "
                f"{size / 1e6:,.0f} MB now; try a smaller table, or later"
            )

    def keep(self, owner: str, hash16: str, upload: Upload) -> None:
        """Hold a table for its owner; the owner's oldest beyond the limit is dropped."""
        with self._lock:
            self._held.pop((owner, hash16), None)
            self._held[owner, hash16] = upload
            mine = [key for key in self._held if key[0] == owner]
            surplus = len(mine) - self.limits.tables if self.limits.tables is not None else 0
            for key in mine[: max(surplus, 0)]:
                del self._held[key]

    def find(self, owner: str, link: FileLink) -> Upload | None:
        """Return the owner's table that a link is about, if it is still held."""
        return self._held.get((owner, link.hash))
