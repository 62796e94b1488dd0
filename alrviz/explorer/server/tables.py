"""Uploaded tables, held in memory for their owners alone, who find them again after a reload.

An `Upload` is the file's bytes and how they are to be read; the bytes are kept so that delimiter, encoding or missing
tokens can be changed. Nothing is written to disk. Per owner the oldest is dropped, and the process holds so many bytes:
owners leave without saying so, and what was unseen for longest makes room for who comes. Files that still arrive or are
being read count as well: a `UploadClaim` is room for one of them.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from alrviz.data.limits import size_text
from alrviz.data.options import ReadOptions
from alrviz.data.table import Table
from alrviz.errors import TableError
from alrviz.explorer.server.limits import ServerLimits, below


@dataclass(frozen=True)
class FileLink:
    """Which file a link is about: its name (never a path), shape and the first 16 hex digits of its bytes' SHA-256."""

    name: str
    rows: int
    columns: int
    hash: str

    def __str__(self) -> str:
        return f"{self.name} ({self.rows:,} rows x {self.columns:,} columns, hash {self.hash})"

    def fits(self, data_hash: str) -> bool:
        """Whether a table with this hash is the one meant."""
        return data_hash.startswith(self.hash)


def safe_name(name: str) -> str:
    """Return a file's name without folders and without marks that mean something elsewhere."""
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w .()+-]", "_", last).strip(". ")[:80] or "table"


@dataclass(frozen=True, eq=False)
class Upload:
    """A dropped file: `name` (no path), its bytes, how to read them (None: detect); `points` as a link has them, ""
    for what must not, or cannot, be in one.
    """

    name: str
    data: bytes
    options: ReadOptions | None = None
    points: str = ""

    @classmethod
    def of(cls, filename: str, data: bytes | str) -> "Upload":
        """Return an upload of a browser's file (text arrives as str where it is UTF-8)."""
        return cls(safe_name(filename), data.encode() if isinstance(data, str) else bytes(data))

    def replace(self, **changes: Any) -> "Upload":
        """Return the same file, to be read otherwise."""
        return replace(self, **changes)


def link_of(upload: Upload, table: Table) -> FileLink:
    """Return what a link says about this file: enough to know it again, nothing of its content."""
    return FileLink(upload.name, table.n_rows, len(table.names), sha256(upload.data).hexdigest()[:16])


class UploadClaim:
    """Room for a file on its way: `size` bytes of what the process may hold, until `release`."""

    def __init__(self, tables: "UploadedTables", owner: str):
        self._tables, self._owner, self.size = tables, owner, 0

    def resize(self, size: int) -> None:
        """Claim `size` bytes in all; `TableError` where there is no room for them, and the claim stays as it was."""
        with self._tables.lock:
            self._tables.make_room(self._owner, size, self)
            self.size = size
            self._tables.claims.add(self)

    def release(self) -> None:
        """Give the room back; once more does no harm."""
        with self._tables.lock:
            self._tables.claims.discard(self)


class UploadedTables:
    """The tables a process holds, by owner and hash."""

    def __init__(self, limits: ServerLimits, clock: Callable[[], float] = time.monotonic):
        self.limits = limits
        self._clock = clock
        self._held: dict[tuple[str, str], Upload] = {}
        self._seen: dict[str, float] = {}  # by owner
        self.claims: set[UploadClaim] = set()
        self.lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """How many bytes of files are held, those on their way included."""
        with self.lock:
            return self._size()

    def _size(self) -> int:
        return sum(len(upload.data) for upload in self._held.values()) + sum(claim.size for claim in self.claims)

    def look(self, owner: str) -> None:
        """Say that this owner is there now: files of who is there are not dropped for others."""
        with self.lock:
            if owner in self._seen:
                self._seen[owner] = self._clock()

    def claim(self, owner: str) -> UploadClaim:
        """Return room for a file of this owner, of no bytes yet."""
        return UploadClaim(self, owner)

    def make_room(self, owner: str, size: int, claim: UploadClaim | None = None) -> None:
        """Drop the files of owners who are away, the longest unseen first, until there is room for one of this size.

        What other claims hold stays; of this owner's files it is not asked: they give way to the new one. `TableError`
        where all that would be too little.
        """
        now, idle = self._clock(), self.limits.idle
        held: dict[str, int] = {}
        for (who, _), upload in self._held.items():
            held[who] = held.get(who, 0) + len(upload.data)
        held.pop(owner, None)
        absent = [who for who in held if idle is not None and now - self._seen[who] > idle]
        absent.sort(key=self._seen.__getitem__)
        coming = sum(other.size for other in self.claims if other is not claim)
        others, leaving = sum(held.values()) + coming, []
        while absent and not below(others + size, self.limits.uploads):
            leaving.append(absent.pop(0))
            others -= held[leaving[-1]]
        if not below(others + size, self.limits.uploads):
            raise TableError(
                f"there is no room for another {size_text(size)}: the server holds {size_text(others)} of the "
                f"{size_text(self.limits.uploads or 0)} of tables it may; try a smaller table, or later"
            )
        self._held = {key: kept for key, kept in self._held.items() if key[0] not in leaving}
        for who in leaving:
            del self._seen[who]

    def keep(self, owner: str, hash16: str, upload: Upload) -> None:
        """Hold a table for its owner, in place of the oldest beyond the limits; `TableError` where there is no room."""
        with self.lock:
            self.make_room(owner, len(upload.data))
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
        with self.lock:
            upload = self._held.get((owner, link.hash))
            if upload is not None:
                self._seen[owner] = self._clock()
            return upload
