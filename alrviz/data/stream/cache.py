"""The code cache: encoded rows in one file, which is written once and read in every pass.

    "ALRVIZC1" | chunk after chunk | description as JSON | its length (8 bytes) | "ALRVIZC1"

A chunk has about 2^18 rows, drawn from the whole table: the codes of one column after the other (uint8, or more for
many levels), then the classes. Each has a checksum. The file is written under another name and renamed when it is
complete, so that an incomplete file is never read. A thread reads chunks ahead and copies them: mapped pages would
count as memory.
"""

import errno
import json
import os
import shutil
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any, BinaryIO, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from alrviz.data.limits import size_text
from alrviz.errors import TableError, TableFileError
from alrviz.home import make_private_folder, open_private
from alrviz.stop import NEVER, StopToken

QUOTA_BYTES = 50 * 10**9  # of all caches in a folder; beyond, the oldest are removed
SUFFIX, SPOOL_PREFIX = ".codes", "reading-"  # of cache files, and of temporary folders
IN_USE_SECONDS, ABANDONED_SECONDS = 3600.0, 7 * 86400.0  # age below which caches, and temporary files, are kept
_MAGIC = b"ALRVIZC1"


class Chunk(NamedTuple):
    """Rows as codes (a, m) and class indices (m,) int32."""

    codes: NDArray[np.unsignedinteger]
    y: NDArray[np.int32]


class _ChunkLocation(NamedTuple):
    """The position of a chunk in the file."""

    offset: int  # in bytes
    rows: int  # number of rows
    checksum: int  # CRC-32 of the bytes


@dataclass(frozen=True, eq=False, repr=False)
class CodeCache:
    """A file of codes.

    Attributes:
        path: of the file.
        facts: its description by the writer: the encoder, the table's name, counts.
        n_columns: a.
        dtypes: names of numpy's dtypes of codes and classes.
        parts: the chunks of "train" and "test".
    """

    path: Path
    facts: Mapping[str, Any]
    n_columns: int
    dtypes: tuple[str, str]
    parts: Mapping[str, tuple[_ChunkLocation, ...]]

    def __repr__(self) -> str:
        rows = ", ".join(f"{self.n_rows(part):,} rows to {part}" for part in self.parts)
        return f"<CodeCache {self.path.name!r}: {rows}>"

    def n_rows(self, part: str) -> int:
        """Return the number of rows of a part."""
        return sum(location.rows for location in self.parts.get(part, ()))

    def chunks(self, part: str, order: Sequence[int] | None = None, stop: StopToken = NEVER) -> Iterator[Chunk]:
        """Yield the chunks of a part, in the file's order or in `order`; the next ones are read ahead.

        Raises:
            TableError: a checksum does not match; the file is removed.
        """
        locations = self.parts.get(part, ())
        selected = [locations[k] for k in (range(len(locations)) if order is None else order)]
        queue: Queue[Chunk | BaseException] = Queue(maxsize=2)
        is_closed = threading.Event()

        def read() -> None:
            try:
                with self.path.open("rb") as file:
                    os.utime(self.path)
                    for location in selected:
                        if is_closed.is_set():
                            return
                        queue.put(self._read_chunk(file, location))
            except FileNotFoundError:
                queue.put(TableFileError(f"the codes kept in {os.fspath(self.path)!r} are gone; run it again"))
            except BaseException as error:
                queue.put(error)

        reader = threading.Thread(target=read, name="alrviz-code-cache", daemon=True)
        reader.start()
        try:
            for _ in selected:
                stop.check()
                chunk = queue.get()
                if isinstance(chunk, BaseException):
                    raise chunk
                yield chunk
        finally:
            is_closed.set()
            while not queue.empty():  # wakes the reader if it waits for a free place
                queue.get_nowait()

    def rest(
        self, part: str, n_first: int, order: Sequence[int] | None = None, stop: StopToken = NEVER
    ) -> Iterator[Chunk]:
        """Yield the chunks of a part without the `n_first` first rows, all of which are in the first chunk."""
        numbers = range(len(self.parts[part])) if order is None else order
        for k, (codes, y) in zip(numbers, self.chunks(part, order, stop), strict=True):
            yield Chunk(codes, y) if k else Chunk(np.ascontiguousarray(codes[:, n_first:]), y[n_first:])

    def whole(self, part: str) -> Chunk:
        """Return all rows of a part as one chunk."""
        chunks = list(self.chunks(part))
        if not chunks:
            return Chunk(np.empty((self.n_columns, 0), self.dtypes[0]), np.empty(0, np.int32))
        return Chunk(np.concatenate([c.codes for c in chunks], axis=1), np.concatenate([c.y for c in chunks]))

    def _read_chunk(self, file: BinaryIO, location: _ChunkLocation) -> Chunk:
        """Return the chunk at a location; if its checksum does not match, remove the file and raise `TableError`."""
        code_dtype, class_dtype = map(np.dtype, self.dtypes)
        n_bytes = location.rows * (self.n_columns * code_dtype.itemsize + class_dtype.itemsize)
        file.seek(location.offset)
        data = bytearray(n_bytes)
        if file.readinto(data) != n_bytes or zlib.crc32(data) != location.checksum:  # type: ignore[attr-defined]
            with suppress(OSError):
                self.path.unlink()
            raise TableError(
                f"the stored codes {os.fspath(self.path)!r} are damaged (at byte {location.offset:,}); the file was "
                "removed: run it again, and the table is encoded again"
            )
        n_code_bytes = location.rows * self.n_columns * code_dtype.itemsize
        codes_of_chunk = np.frombuffer(data, code_dtype, location.rows * self.n_columns).reshape(
            self.n_columns, location.rows
        )
        return Chunk(codes_of_chunk, np.frombuffer(data, class_dtype, location.rows, n_code_bytes).astype(np.int32))


def open_cache(path: Path) -> CodeCache | None:
    """Return the cache in `path`; None if there is none, or it is incomplete or of another version."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
            description_end = file.seek(-len(_MAGIC) - 8, os.SEEK_END)
            description_bytes = int.from_bytes(file.read(8), "little")
            if file.read() != _MAGIC or description_bytes > description_end:
                return None
            file.seek(description_end - description_bytes)
            state = json.loads(file.read(description_bytes))
            parts = {
                name: tuple(_ChunkLocation(*location) for location in locations)
                for name, locations in state["parts"].items()
            }
            os.utime(path)  # `keep_quota` removes the least recently used
            return CodeCache(path, state["facts"], state["columns"], tuple(state["dtypes"]), parts)
    except (OSError, ValueError, KeyError, TypeError):
        return None


class CacheWriter:
    """Writes a code cache under another name; `close` renames the complete file, `abandon` removes it."""

    def __init__(self, path: Path, n_columns: int, dtypes: tuple[str, str]):
        self._path, self._n_columns, self._dtypes = path, n_columns, dtypes
        self._parts: dict[str, list[_ChunkLocation]] = {}
        self._draft = path.with_name(f"{path.stem}.{uuid4().hex}.part")
        try:
            make_private_folder(path.parent)
            # Only its owner may read the file, which has all values of the table; `close` and `abandon` close it.
            self._file = open(self._draft, "wb", opener=open_private)  # noqa: SIM115
        except OSError as error:
            raise write_error(path.parent, error) from error
        self._file.write(_MAGIC)

    def add(self, part: str, codes: NDArray[np.unsignedinteger], y: NDArray[np.integer]) -> None:
        """Write a chunk of a part: codes (a, n) and y (n,)."""
        data = np.ascontiguousarray(codes, self._dtypes[0]).tobytes() + y.astype(self._dtypes[1]).tobytes()
        location = _ChunkLocation(self._file.tell(), len(y), zlib.crc32(data))
        self._write(data)
        self._parts.setdefault(part, []).append(location)

    def close(self, facts: Mapping[str, Any]) -> CodeCache:
        """Write the description, rename the file, and return the cache."""
        parts = {name: list(map(list, locations)) for name, locations in self._parts.items()}
        state = {"facts": dict(facts), "columns": self._n_columns, "dtypes": self._dtypes, "parts": parts}
        description = json.dumps(state).encode()
        self._write(description + len(description).to_bytes(8, "little") + _MAGIC)
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._draft, self._path)
        except OSError as error:
            raise write_error(self._path.parent, error) from error
        keep_quota(self._path)
        cache = open_cache(self._path)
        assert cache is not None
        return cache

    def abandon(self) -> None:
        """Remove the incomplete file."""
        self._file.close()
        self._draft.unlink(missing_ok=True)

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise write_error(self._path.parent, error) from error


def write_error(folder: Path, error: OSError) -> TableFileError:
    """Return the error for a folder that cannot be written to, with the free space if none is left."""
    if error.errno == errno.ENOSPC:
        free_text = size_text(shutil.disk_usage(folder).free)
        return TableFileError(
            f"no space is left for the codes in {os.fspath(folder)!r} ({free_text} free); make some, or say another "
            "folder (cache=, --cache)"
        )
    return TableFileError(
        f"codes cannot be written to {os.fspath(folder)!r}: {error.strerror}; say another folder (cache=)"
    )


def keep_quota(newest: Path, quota: int = QUOTA_BYTES) -> None:
    """Remove the least recently used caches in the folder of `newest` beyond the quota, and abandoned temporary files.

    Caches that were used in the last hour are kept.
    """
    time_now, total_bytes = time.time(), 0
    files = [(file, file.stat()) for file in newest.parent.iterdir()]
    for file, stat in sorted(files, key=lambda entry: entry[1].st_mtime, reverse=True):
        if file.suffix == SUFFIX:
            total_bytes += stat.st_size
            if total_bytes > quota and file != newest and time_now - stat.st_mtime > IN_USE_SECONDS:
                file.unlink(missing_ok=True)
        elif time_now - stat.st_mtime > ABANDONED_SECONDS and file.suffix == ".part":
            file.unlink(missing_ok=True)
        elif time_now - stat.st_mtime > ABANDONED_SECONDS and file.name.startswith(SPOOL_PREFIX):
            shutil.rmtree(file, ignore_errors=True)
