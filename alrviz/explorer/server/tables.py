"""Uploaded tables, held in memory for their owners, who find them again after a reload.

An `Upload` is a file's bytes and the options to read them; the bytes are held so that the file can be read again with
another delimiter, encoding or missing token. Nothing is written to disk. The oldest uploads of an owner are dropped
beyond a number, and the process holds a limited number of bytes: since owners leave without notice, the uploads of
those absent longest make room for new ones. A `MemoryReservation` reserves bytes for a
file that is arriving or being read.
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
from alrviz.explorer.server.limits import ServerLimits, is_within


@dataclass(frozen=True)
class FileLink:
    """The file of a link: its name (never a path), shape, and the first 16 hex digits of its bytes' SHA-256."""

    name: str
    rows: int
    columns: int
    hash: str

    def __str__(self) -> str:
        return f"{self.name} ({self.rows:,} rows x {self.columns:,} columns, hash {self.hash})"

    def fits(self, data_hash: str) -> bool:
        """Return whether this is the link of the file with this full hash, of which it holds the first digits."""
        return data_hash.startswith(self.hash)


def safe_name(name: str) -> str:
    """Return a file's name without folders and special characters."""
    base_name = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w .()+-]", "_", base_name).strip(". ")[:80] or "table"


@dataclass(frozen=True, eq=False)
class Upload:
    """A dropped file.

    Attributes:
        name: without its path.
        data: the file's bytes.
        options: how to read them; None to detect it.
        points: the file as the text of a link, for a few drawn points (`session.points`); "" for other files.
    """

    name: str
    data: bytes
    options: ReadOptions | None = None
    points: str = ""

    @classmethod
    def from_file(cls, filename: str, data: bytes | str) -> "Upload":
        """Return an upload of a browser's file; UTF-8 text arrives as str."""
        return cls(safe_name(filename), data.encode() if isinstance(data, str) else bytes(data))

    def replace(self, **changes: Any) -> "Upload":
        """Return the same file with other options."""
        return replace(self, **changes)


def link_of(upload: Upload, table: Table) -> FileLink:
    """Return the link's identification of a file, which holds none of its content."""
    return FileLink(upload.name, table.n_rows, len(table.names), sha256(upload.data).hexdigest()[:16])


class MemoryReservation:
    """A reservation of `size` bytes of the process's memory for uploads of a visitor (`owner`: the id), until
    `release`.
    """

    def __init__(self, tables: "UploadedTables", owner: str):
        self._tables, self._owner, self.size = tables, owner, 0

    def resize(self, size: int) -> None:
        """Reserve `size` bytes in all.

        Raises:
            TableError: if there is no room; the reservation keeps its size.
        """
        with self._tables.lock:
            self._tables.make_room(self._owner, size, self)
            self.size = size
            self._tables.reservations.add(self)

    def release(self) -> None:
        """Release the reservation; a second call does nothing."""
        with self._tables.lock:
            self._tables.reservations.discard(self)


class UploadedTables:
    """The uploads of a process, by visitor and hash.

    Attributes:
        limits: on the bytes of a visitor's uploads and of all.
        reservations: reservations for files that are arriving.
        lock: held while uploads or reservations change.
    """

    def __init__(self, limits: ServerLimits, clock: Callable[[], float] = time.monotonic):
        self.limits = limits
        self._clock = clock
        self._uploads: dict[tuple[str, str], Upload] = {}
        self._last_seen: dict[str, float] = {}  # by owner
        self.reservations: set[MemoryReservation] = set()
        self.lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """Number of bytes of all uploads and reservations."""
        with self.lock:
            return self._used_bytes()

    def _used_bytes(self) -> int:
        return sum(len(upload.data) for upload in self._uploads.values()) + sum(
            reservation.size for reservation in self.reservations
        )

    def note_look(self, owner: str) -> None:
        """Note that an owner is present: uploads of present owners are not dropped for others."""
        with self.lock:
            if owner in self._last_seen:
                self._last_seen[owner] = self._clock()

    def make_room(self, owner: str, size: int, reservation: MemoryReservation | None = None) -> None:
        """Drop uploads of absent owners, those absent longest first, until there is room for `size` bytes.

        Other reservations stay. The owner's own uploads do not count, because the new file replaces them.

        Raises:
            TableError: if dropping all of them would not make enough room; then nothing is dropped.
        """
        current_time, max_absence = self._clock(), self.limits.idle
        bytes_by_owner: dict[str, int] = {}
        for (upload_owner, _), upload in self._uploads.items():
            bytes_by_owner[upload_owner] = bytes_by_owner.get(upload_owner, 0) + len(upload.data)
        bytes_by_owner.pop(owner, None)
        absent_owners = [
            name
            for name in bytes_by_owner
            if max_absence is not None and current_time - self._last_seen[name] > max_absence
        ]
        absent_owners.sort(key=self._last_seen.__getitem__)
        reserved_bytes = sum(
            other_reservation.size for other_reservation in self.reservations if other_reservation is not reservation
        )
        used_bytes, evicted_owners = sum(bytes_by_owner.values()) + reserved_bytes, []
        while absent_owners and not is_within(used_bytes + size, self.limits.uploads):
            evicted_owners.append(absent_owners.pop(0))
            used_bytes -= bytes_by_owner[evicted_owners[-1]]
        if not is_within(used_bytes + size, self.limits.uploads):
            raise TableError(
                f"there is no room for another {size_text(size)}: the server holds {size_text(used_bytes)} of at most "
                f"{size_text(self.limits.uploads or 0)} of tables; try a smaller table, or try again later"
            )
        self._uploads = {key: upload for key, upload in self._uploads.items() if key[0] not in evicted_owners}
        for upload_owner in evicted_owners:
            del self._last_seen[upload_owner]

    def keep(self, owner: str, hash16: str, upload: Upload) -> None:
        """Hold an upload for its owner, and drop the owner's oldest ones beyond the limits.

        Raises:
            TableError: if there is no room.
        """
        with self.lock:
            self.make_room(owner, len(upload.data))
            self._last_seen[owner] = self._clock()
            self._uploads.pop((owner, hash16), None)
            self._uploads[owner, hash16] = upload
            keys = [key for key in self._uploads if key[0] == owner]
            while len(keys) > 1 and not (
                is_within(len(keys), self.limits.tables) and is_within(self._used_bytes(), self.limits.uploads)
            ):
                del self._uploads[keys.pop(0)]

    def find(self, owner: str, link: FileLink) -> Upload | None:
        """Return the owner's upload of a link; None if it is not held any more."""
        with self.lock:
            upload = self._uploads.get((owner, link.hash))
            if upload is not None:
                self._last_seen[owner] = self._clock()
            return upload
