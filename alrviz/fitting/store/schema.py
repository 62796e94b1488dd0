"""The tables of the run store, as the steps that make them: format k is what the first k of MIGRATIONS make.

    runs      a study or a race: whose, of what (spec, JSON), on which data, how far, why it ended; and the link that
              shows it in the explorer, "" where it was not begun there
    cells     finished cells of studies: a fit's rows (JSON) and predictions, by owner and key
    members   which cells are of which study, and at what place
    racers    of each racer of a race what is no step: rows, levels to compare with, its outcome (JSON)
    steps     a racer's steps, several in a row, by the place of the first in its trace

A step that was published is never changed: a further one is added behind it.
"""

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
MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _RACES)
