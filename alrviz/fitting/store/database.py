"""One SQLite file: opened, brought up to date, written in whole transactions, and errors said in words.

Write-ahead logging: a process that is killed at any moment leaves every transaction it had ended, and nothing of the
one it was in; readers never wait. What a power cut of the machine takes is at most the last few transactions.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alrviz.errors import StoreError
from alrviz.fitting.home import HOME
from alrviz.fitting.store.schema import MIGRATIONS

# Milliseconds that a writer waits for another process's transaction; each lasts a few.
PATIENCE = 5_000
# "alrv", by which our files are told from other SQLite databases.
_APPLICATION = 0x616C7276


class Database:
    """A connection that the threads of this process share.

    Args:
        path: of the file; it and its folder are made where they are missing.
        patience: milliseconds to wait where another process writes.

    Raises:
        StoreError: a folder that cannot be written, a file that is no store, of a later version, or locked.
    """

    def __init__(self, path: Path, patience: int = PATIENCE):
        self.path = path
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(self._words(error)) from error
        try:
            with self._speaking():
                self._open(patience)
        except BaseException:
            self._connection.close()
            raise

    def _open(self, patience: int) -> None:
        run = self._connection.execute
        run(f"PRAGMA busy_timeout = {int(patience)}")
        if self._number("user_version") == 0:
            run("PRAGMA auto_vacuum = INCREMENTAL")  # before the first table, or not at all
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA foreign_keys = ON")
        self._migrate()

    def _migrate(self) -> None:
        """Bring the schema up to date, in one transaction: two processes that start at once do it once."""
        with self.transaction() as run:
            version, marked = self._number("user_version"), self._number("application_id")
            if (version or self._number("schema_version")) and marked != _APPLICATION:
                raise StoreError(
                    f"{str(self.path)!r} is a database of another program; set {HOME} to a folder of your own"
                )
            if version > len(MIGRATIONS):
                raise StoreError(
                    f"{str(self.path)!r} was written by a later version of alrviz: its format is {version}, and this "
                    f"version reads up to {len(MIGRATIONS)}; update alrviz, or set {HOME} to another folder"
                )
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    run(statement)
            if version < len(MIGRATIONS):
                run(f"PRAGMA application_id = {_APPLICATION}")
                run(f"PRAGMA user_version = {len(MIGRATIONS)}")

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Give `execute`; all that is done with it is kept when the block ends, or nothing where it raises."""
        with self._lock, self._speaking():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # where the disk is full, SQLite has rolled back by itself
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that answer a question."""
        with self._lock, self._speaking():
            return self._connection.execute(question, values).fetchall()

    @property
    def size(self) -> int:
        """Bytes in use."""
        with self._lock, self._speaking():
            return (self._number("page_count") - self._number("freelist_count")) * self._number("page_size")

    def shrink(self) -> None:
        """Give the room of what was deleted back to the disk."""
        with self._lock, self._speaking():
            # as a script: `execute` takes one step of it, which is one page
            self._connection.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """End the connection; what is written is on disk."""
        with self._lock:
            self._connection.close()

    def _number(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(self._words(error)) from error

    def _words(self, error: Exception) -> str:
        text, path = str(error), str(self.path)
        if "locked" in text or "busy" in text:
            return f"{path!r} is locked by another process; close it, or set {HOME} to another folder"
        if "not a database" in text or "malformed" in text:
            return f"{path!r} is no run store, or is damaged ({text}); move it away, or set {HOME} to another folder"
        if "disk is full" in text:
            return f"{path!r} could not grow: the disk is full; free some room, or set {HOME} to another folder"
        return f"{path!r} cannot be written ({text}); set {HOME} to a folder that can"
