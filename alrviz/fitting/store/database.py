"""One SQLite file: opened, brought up to date, written in whole transactions, and errors said in words.

Write-ahead logging: a process that is killed at any moment leaves every transaction it had ended, and nothing of the
one it was in; readers never wait. What a power cut of the machine takes is at most the last few transactions.

File and folder are the user's alone. Of an owner the file has a keyed hash (`keyed`), whose key lies in a file beside
it: who reads a copy of the one learns nobody's cookie. A store whose key is gone, or another's, is not opened: it would
seem empty. At the opening the pages are looked through: SQLite itself says nothing of a bit that has changed, and may
leave rows out.
"""

import errno
import hmac
import logging
import os
import secrets
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from alrviz.errors import Sentence, StoreError, for_page
from alrviz.fitting.store.schema import KEYED, MIGRATIONS, PROOF, PROVED
from alrviz.home import HOME, make_private_folder, open_private, restrict_home

# Milliseconds that a writer waits for another process's transaction, which lasts a few; studies go on without the store
# where it stays locked for longer.
PATIENCE = 2_000
# "alrv", by which our files are told from other SQLite databases.
_APPLICATION = 0x616C7276
# Bytes up to which indexes are compared with their tables when a file is opened: 0.1 s. Beyond only pages are checked.
_WHOLE = 64 * 2**20
_KEY = 32  # bytes
_log = logging.getLogger(__name__)


class Database:
    """A connection that the threads of this process share.

    Args:
        path: of the file; it and its folder are made where they are missing.
        patience: milliseconds to wait where another process writes.

    Attributes:
        problem: why the last transaction that writes failed, without a path; "" where it did not.

    Raises:
        StoreError: a folder that cannot be written, a file that is no store, of a later version, or locked.
    """

    def __init__(self, path: Path, patience: int = PATIENCE):
        self.path, self.problem = path, ""
        self._lock = threading.RLock()
        try:
            make_private_folder(path.parent)
            os.close(open_private(str(path), os.O_CREAT | os.O_RDWR))  # SQLite gives its further files the same mode
            restrict_home(path.parent)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise self._error(error) from error
        try:
            with self._speaking():
                self._open(patience)
        except BaseException as error:
            self._connection.close()
            if isinstance(error, OSError) and not isinstance(error, StoreError):  # of the key's file
                raise self._error(error) from error
            raise

    def keyed(self, owner: str) -> str:
        """Return what stands for an owner in this file: an HMAC with the key beside it."""
        return hmac.new(self._key, owner.encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def _open(self, patience: int) -> None:
        self._connection.text_factory = lambda text: text.decode(
            "utf-8", "replace"
        )  # a checksum tells what was changed
        run = self._connection.execute
        run(f"PRAGMA busy_timeout = {int(patience)}")
        # A key is made before the first owner is written, so where owners are it was there.
        self._key = _key_of(self.path.with_suffix(".key"), make=self._number("user_version") < KEYED)
        self._connection.create_function("keyed", 1, self.keyed, deterministic=True)
        self._connection.create_function("checksum", -1, _checksum, deterministic=True)
        self._check()
        if self._number("user_version") == 0:
            run("PRAGMA auto_vacuum = INCREMENTAL")  # before the first table, or not at all
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA foreign_keys = ON")
        self._migrate()
        if len(MIGRATIONS) >= PROVED and self.read(f"SELECT proof FROM key WHERE proof != {PROOF}"):
            raise _lost(self.path.with_suffix(".key"), "it is of another store")

    def _check(self) -> None:
        """Raise where pages are damaged; indexes are made anew from their tables."""
        size = self._number("page_count") * self._number("page_size")
        question = f"PRAGMA {'integrity_check' if size <= _WHOLE else 'quick_check'}(1)"
        found = self._connection.execute(question).fetchone()
        if found is not None and found[0] != "ok":
            _log.warning("%r is damaged (%s); its indexes are made anew", str(self.path), found[0])
            self._connection.execute("REINDEX")
            found = self._connection.execute(question).fetchone()
        if found is not None and found[0] != "ok":
            raise sqlite3.DatabaseError(f"database disk image is malformed: {found[0]}")

    def _migrate(self) -> None:
        """Bring the schema up to date, in one transaction: two processes that start at once do it once."""
        if self._number("user_version") == len(MIGRATIONS) and self._number("application_id") == _APPLICATION:
            return  # a store that another process is writing to can be opened, and read
        with self.transaction() as run:
            version, marked = self._number("user_version"), self._number("application_id")
            if (version or self._number("schema_version")) and marked != _APPLICATION:
                raise _store_error(
                    f"{str(self.path)!r} is a database of another program; set {HOME} to a folder of your own",
                    "the run store's file is a database of another program",
                )
            if version > len(MIGRATIONS):
                raise _store_error(
                    f"{str(self.path)!r} was written by a later version of alrviz: its format is {version}, and this "
                    f"version reads up to {len(MIGRATIONS)}; update alrviz, or set {HOME} to another folder",
                    "the run store was written by a later version of alrviz",
                )
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    run(statement)
            if version < len(MIGRATIONS):
                run(f"PRAGMA application_id = {_APPLICATION}")
                run(f"PRAGMA user_version = {len(MIGRATIONS)}")
        if 0 < version < KEYED:
            with suppress(sqlite3.OperationalError):  # another process has it open: its pages are written over in time
                self._connection.executescript("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")  # no owner's name is left

    @contextmanager
    def transaction(self, writes: bool = True) -> Iterator[Any]:
        """Give `execute`; all that is done with it is kept when the block ends, or nothing where it raises.

        Whoever only reads (`writes` False) keeps no other process from writing, and sees nothing of it in the block.
        """
        with self._lock:
            try:
                with self._speaking():
                    self._connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")
                    try:
                        yield self._connection.execute
                        self._connection.execute("COMMIT")
                    except BaseException:
                        if self._connection.in_transaction:  # where the disk is full, SQLite has rolled back by itself
                            self._connection.execute("ROLLBACK")
                        raise
            except StoreError as error:
                if writes:
                    self.problem = for_page(error)
                raise
            if writes:
                self.problem = ""

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
            raise self._error(error) from error
        except UnicodeDecodeError as error:  # SQLite's message about a file whose own statements are damaged
            raise self._error(error, sqlite3.SQLITE_CORRUPT) from error

    def _error(self, error: Exception, code: int = 0) -> StoreError:
        """Return the error as one of the store; `code` is SQLite's, where the error itself has none."""
        text, path = str(error), str(self.path)
        code = getattr(error, "sqlite_errorcode", code) & 0xFF  # without what extends it
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return _store_error(
                f"{path!r} is locked by another process; close it, or set {HOME} to another folder",
                "another process has locked the run store",
            )
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return _store_error(
                f"{path!r} is no run store, or is damaged ({text}); move it away, or set {HOME} to another folder",
                "the run store is damaged",
            )
        if code == sqlite3.SQLITE_FULL or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
            return _store_error(
                f"{path!r} could not grow: the disk is full; free some room, or set {HOME} to another folder",
                "the disk is full",
            )
        return _store_error(
            f"{path!r} cannot be written ({text}); set {HOME} to a folder that can", "the run store cannot be written"
        )


def _lost(path: Path, why: str) -> StoreError:
    return _store_error(
        f"{str(path)!r} is not the key that belongs to the run store beside it: {why}; put it back from a copy, or "
        "move both away: without it nobody's runs are found",
        "the key of the run store is missing or belongs to another",
    )


def _store_error(message: str, reason: str) -> StoreError:
    """Return the error with its message for the operator, and the reason that a visitor's page shows."""
    return StoreError(Sentence(message, reason))


def _key_of(path: Path, make: bool) -> bytes:
    """Return the key in a file; with `make` it is made where there is none.

    Two processes that start at once have the same.
    """
    if not path.exists():
        if not make:
            raise _lost(path, "it is not there")
        _make_key(path)
    key = path.read_bytes()
    if len(key) != _KEY:
        raise _lost(path, f"it has {len(key)} bytes, expected {_KEY}")
    return key


def _make_key(path: Path) -> None:
    made = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    _write_new(made, secrets.token_bytes(_KEY))
    try:
        os.link(made, path)  # whole, or not at all
    except FileExistsError:
        pass
    except OSError:  # a file system without links: others may find the file while it is written
        with suppress(FileExistsError):
            _write_new(path, made.read_bytes())
        end = time.monotonic() + PATIENCE / 1000
        while path.stat().st_size < _KEY and time.monotonic() < end:
            time.sleep(0.01)
    finally:
        made.unlink()


def _write_new(path: Path, data: bytes) -> None:
    with open(path, "xb", opener=open_private) as file:
        file.write(data)


def _checksum(*values: Any) -> int:
    found = 0
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        found = zlib.crc32(data, zlib.crc32(b"%d:" % len(data), found))
    return found
