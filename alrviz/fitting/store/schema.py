"""The tables of the run store, as the steps that make them: format k is what the first k of MIGRATIONS make.

    runs      a study or a race: whose, of what (spec, JSON), on which data, how far, why it ended; the link that shows
              it in the explorer, "" where it was not begun there; how many members or racers it has (parts)
    cells     finished tasks of studies: a fit's rows (JSON) and predictions, by owner and key
    members   which tasks are of which study, and at what place
    racers    of each racer of a race what is no step: rows, levels to compare with, its outcome (JSON); how many steps
    steps     a racer's steps, several in a row, by the place of the first in its trace
    key       one row that tells whether the key is the one that owners are kept by (proof)

Owners are kept as their keyed hash, and each row with a checksum of what it holds, which triggers keep true: whoever
writes gives `keyed(owner)` and `checksum(values ...)` to the connection (`database`). A bit that the disk has changed
is found where the row is read.

A step that was published is never changed: a further one is added behind it.
"""

# The columns of each table that its checksum is about; those that are text are taken as their bytes.
COLUMNS: dict[str, dict[str, str]] = {
    "runs": dict.fromkeys(
        ("id", "owner", "kind", "name", "spec", "data_hash", "data_name", "version", "state", "sentence", "link"),
        "TEXT",
    )
    | {"created": "REAL", "changed": "REAL", "parts": "INTEGER"},
    "cells": dict.fromkeys(("owner", "key", "recipe", "data_hash", "outcome", "rows"), "TEXT") | {"predicted": "BLOB"},
    "members": {"run": "TEXT", "place": "INTEGER", "owner": "TEXT", "key": "TEXT"},
    "racers": {"run": "TEXT", "racer": "INTEGER", "about": "TEXT", "steps": "INTEGER"},
    "steps": {"run": "TEXT", "racer": "INTEGER", "place": "INTEGER", "packed": "BLOB"},
}
_KEYS = {"runs": ("id",), "cells": ("owner", "key"), "members": ("run", "place"), "racers": ("run", "racer"),
         "steps": ("run", "racer", "place")}  # fmt: skip


def sound(table: str) -> str:
    """Return the SQL of whether a row of `table` is as it was written; NULL or 0 where it is not."""
    return f"{table}.checksum = {_checksum(table, table)}"


def _checksum(table: str, row: str) -> str:
    parts = (f"CAST({row}.{c} AS BLOB)" if kind == "TEXT" else f"{row}.{c}" for c, kind in COLUMNS[table].items())
    return f"checksum({', '.join(parts)})"


def _guarded(table: str) -> tuple[str, ...]:
    """Statements that give a table its checksums, and keep them true."""
    same = " AND ".join(f"{key} = new.{key}" for key in _KEYS[table])
    renew = f"BEGIN UPDATE {table} SET checksum = {_checksum(table, 'new')} WHERE {same}; END"
    return (
        f"ALTER TABLE {table} ADD COLUMN checksum INTEGER",
        f"UPDATE {table} SET checksum = {_checksum(table, table)}",
        f"CREATE TRIGGER {table}_added AFTER INSERT ON {table} {renew}",
        f"CREATE TRIGGER {table}_changed AFTER UPDATE OF {', '.join(COLUMNS[table])} ON {table} {renew}",
    )


_FIRST = (
    """CREATE TABLE runs (
        id TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, spec TEXT NOT NULL,
        data_hash TEXT NOT NULL, data_name TEXT NOT NULL, version TEXT NOT NULL, state TEXT NOT NULL,
        sentence TEXT NOT NULL, created REAL NOT NULL, changed REAL NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX runs_by_owner ON runs (owner, changed)",
    """CREATE TABLE cells (
        owner TEXT NOT NULL, key TEXT NOT NULL, recipe TEXT NOT NULL, data_hash TEXT NOT NULL, outcome TEXT NOT NULL,
        rows TEXT NOT NULL, predicted BLOB, PRIMARY KEY (owner, key)
    )""",
    """CREATE TABLE members (
        run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, place INTEGER NOT NULL, owner TEXT NOT NULL,
        key TEXT NOT NULL, PRIMARY KEY (run, place)
    ) WITHOUT ROWID""",
    "CREATE INDEX members_by_cell ON members (owner, key)",
)
_RACES = (
    "ALTER TABLE runs ADD COLUMN link TEXT NOT NULL DEFAULT ''",
    """CREATE TABLE racers (
        run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, racer INTEGER NOT NULL, about TEXT NOT NULL,
        PRIMARY KEY (run, racer)
    ) WITHOUT ROWID""",
    """CREATE TABLE steps (
        run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, racer INTEGER NOT NULL, place INTEGER NOT NULL,
        packed BLOB NOT NULL, PRIMARY KEY (run, racer, place)
    )""",
)
_PARTS = "UPDATE runs SET parts = " + " + ".join(
    f"(SELECT count(*) FROM {table} WHERE {table}.run = runs.id)" for table in ("members", "racers")
)
_SAFE = (
    *(f"UPDATE {table} SET owner = keyed(owner)" for table in ("runs", "cells", "members")),
    "ALTER TABLE racers ADD COLUMN steps INTEGER",
    "ALTER TABLE runs ADD COLUMN parts INTEGER NOT NULL DEFAULT 0",
    _PARTS,
    *(statement for table in COLUMNS for statement in _guarded(table)),
    *(
        f"CREATE TRIGGER {table}_{name} AFTER {event} ON {table} BEGIN {_PARTS} WHERE id = {row}.run; END"
        for table in ("members", "racers")
        for name, event, row in (("counted", "INSERT", "new"), ("left", "DELETE", "old"))
    ),
)
KEYED = 3  # the first format without the owners' own names
PROVED = 4  # the first that knows its key
PROOF = "keyed('')"  # nobody's
_KEY = ("CREATE TABLE key (proof TEXT NOT NULL)", f"INSERT INTO key VALUES ({PROOF})")
MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _RACES, _SAFE, _KEY)
