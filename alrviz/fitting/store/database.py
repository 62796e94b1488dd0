"""One SQLite file: opened and checked, written in complete transactions, with errors explained.

With write-ahead logging a process that is killed at any moment leaves every transaction it had ended, and nothing of
the current one; readers never wait. A power cut loses at most the last few transactions. Only their user can read file
and folder.
"""

import errno
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alrviz.errors import Sentence, StoreError, for_page
from alrviz.home import HOME, make_private_folder, open_private

# Milliseconds that a writer waits for another process's transaction, which lasts a few. If the file stays locked for
# longer, studies go on without the store.
LOCK_TIMEOUT_MS = 2_000
APPLICATION_ID = 0x616C7276  # "alrv": distinguishes our files from other SQLite databases
FORMAT = 6  # formats 1 to 5 are from before version 0.1
# Up to this size indexes are compared with their tables when a file is opened, in 0.1 s. Beyond, only pages are
# checked.
MAX_FULL_CHECK_BYTES = 64 * 2**20
_log = logging.getLogger(__name__)


class Database:
    """A connection that the threads of this process share.

    Args:
        path: The file; it and its folder are made if they are missing.
        schema: SQL statements that create the tables of a new file.
        lock_timeout_ms: How long to wait while another process writes.

    Attributes:
        problem: Why the last writing transaction failed, without a path; "" if it did not.

    Raises:
        StoreError: the folder cannot be written, or the file is no store, of a later version, or locked.
    """

    def __init__(self, path: Path, schema: str = "", lock_timeout_ms: int = LOCK_TIMEOUT_MS):
        self.path, self.problem = path, ""
        self._lock = threading.RLock()
        try:
            make_private_folder(path.parent)
            os.close(
                open_private(str(path), os.O_CREAT | os.O_RDWR)
            )  # SQLite creates its further files with the same mode
            self._connection = self._open(schema, lock_timeout_ms)
        except StoreError:
            raise
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self._error(error) from error

    def _open(self, schema: str, lock_timeout_ms: int) -> sqlite3.Connection:
        connection = self._connect(lock_timeout_ms)
        try:
            connection.execute("BEGIN")  # another process that creates the tables meanwhile changes both
            version, application = (_number(connection, name) for name in ("user_version", "application_id"))
            connection.execute("COMMIT")
            if application == APPLICATION_ID and version < FORMAT:
                connection.close()
                self._move_aside(version)
                connection = self._connect(lock_timeout_ms)
            elif (version or _number(connection, "schema_version")) and application != APPLICATION_ID:
                raise _store_error(
                    f"{str(self.path)!r} is a database of another program; set {HOME} to a folder of your own",
                    "the run store's file is a database of another program",
                )
            elif version > FORMAT:
                raise _store_error(
                    f"{str(self.path)!r} was written by a later version of alrviz: its format is {version}, and this "
                    f"version reads {FORMAT}; update alrviz, or set {HOME} to another folder",
                    "the run store was written by a later version of alrviz",
                )
            self._check(connection)
            if _number(connection, "user_version") != FORMAT:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only possible before the first table
            for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
                connection.execute(f"PRAGMA {pragma}")
            if _number(connection, "user_version") != FORMAT:
                mark_sql = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
                connection.executescript(f"BEGIN IMMEDIATE; {schema} {mark_sql} COMMIT;")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, lock_timeout_ms: int) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        connection.text_factory = lambda text: text.decode("utf-8", "replace")  # a checksum reveals changed bytes
        connection.execute(f"PRAGMA busy_timeout = {int(lock_timeout_ms)}")
        return connection

    def _move_aside(self, version: int) -> None:
        """Rename a file of an older format `version`, which is neither read nor lost."""
        stem, suffix = f"{self.path.stem}-format-{version}", self.path.suffix
        names = (self.path.with_name(f"{stem}{ending}{suffix}") for ending in ("", *(f"-{k}" for k in range(2, 1000))))
        new_path = next(name for name in names if not name.exists())
        self.path.replace(new_path)
        _log.warning("%r is of a version before 0.1 and cannot be read; it is now %r", str(self.path), str(new_path))
        os.close(open_private(str(self.path), os.O_CREAT | os.O_RDWR))

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raise if pages of a connection's file are damaged; rebuild indexes that differ from their tables."""
        file_bytes = _number(connection, "page_count") * _number(connection, "page_size")
        query = f"PRAGMA {'integrity_check' if file_bytes <= MAX_FULL_CHECK_BYTES else 'quick_check'}(1)"
        (result,) = connection.execute(query).fetchone()
        if result != "ok":
            _log.warning("%r is damaged (%s); its indexes are rebuilt", str(self.path), result)
            connection.execute("REINDEX")
            (result,) = connection.execute(query).fetchone()
        if result != "ok":
            error = sqlite3.DatabaseError(f"database disk image is malformed: {result}")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error

    @contextmanager
    def transaction(self, writes: bool = True) -> Iterator[Any]:
        """Yield `execute`; commit when the block ends, or roll back if it raises.

        A transaction that only reads (`writes` False) does not block other processes' writes, and does not see them.
        """
        with self._lock:
            try:
                with self._explained():
                    self._connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")
                    try:
                        yield self._connection.execute
                        self._connection.execute("COMMIT")
                    except BaseException:
                        if self._connection.in_transaction:  # on a full disk SQLite rolls back by itself
                            self._connection.execute("ROLLBACK")
                        raise
            except StoreError as error:
                if writes:
                    self.problem = for_page(error)
                raise
            if writes:
                self.problem = ""

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query with these values for its question marks."""
        with self._lock, self._explained():
            return self._connection.execute(query, values).fetchall()

    @property
    def size(self) -> int:
        """Bytes in use."""
        with self._lock, self._explained():
            pages = _number(self._connection, "page_count") - _number(self._connection, "freelist_count")
            return pages * _number(self._connection, "page_size")

    def shrink(self) -> None:
        """Return the space of deleted rows to the disk."""
        with self._lock, self._explained():
            # as a script: `execute` would free a single page
            self._connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the connection; everything written is on disk."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise SQLite's errors as a `StoreError` with advice."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> StoreError:
        """Return the error as a `StoreError` with advice."""
        text, path = str(error), str(self.path)
        # SQLite's message about a damaged file may not be UTF-8
        default_code = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else 0
        code = getattr(error, "sqlite_errorcode", default_code) & 0xFF  # without the extended part
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return _store_error(
                f"{path!r} is locked by another process; close it, or set {HOME} to another folder",
                "another process has locked the run store",
            )
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return _store_error(
                f"{path!r} is not a run store, or is damaged ({text}); move it away, or set {HOME} to another folder",
                "the run store is damaged",
            )
        if code == sqlite3.SQLITE_FULL or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
            return _store_error(
                f"{path!r} could not grow: the disk is full; free some space, or set {HOME} to another folder",
                "the disk is full",
            )
        return _store_error(
            f"{path!r} cannot be written ({text}); set {HOME} to a writable folder", "the run store cannot be written"
        )


def _store_error(message: str, reason: str) -> StoreError:
    """Return the error, with a message for the operator and the reason that a visitor's page shows."""
    return StoreError(Sentence(message, reason))


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
