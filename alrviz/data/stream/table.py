"""`open_table`: open a table larger than memory; the counterpart of `read_table`.

    files -> a sample of their rows -> kinds, target, the spec of each column      (one pass, here)
    files -> levels, cuts -> codes                                                  (one pass, coding.py, once)

Kinds are guessed from a sample of rows of the whole table, drawn by a hash of their numbers. A value that does not fit
its column's spec is an error that names its row, or missing if `unreadable="missing"`.
"""

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.dataset import Column, Dataset, dataset_of
from alrviz.data.encode import Encoder, lost_text
from alrviz.data.encoded import SMOOTH_WAYS, Encoded
from alrviz.data.interpret import interpret
from alrviz.data.kinds import ROLES
from alrviz.data.limits import OWN_LIMITS, require_rows
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import ColumnSpec, ParseSpec
from alrviz.data.splits import row_hash
from alrviz.data.stream.cache import SUFFIX, CodeCache, open_cache
from alrviz.data.stream.coding import Coding, Progress, code_table
from alrviz.data.stream.source import Column as StreamColumn
from alrviz.data.stream.source import Source, open_source
from alrviz.data.table import Table
from alrviz.data.text import RawTable, TextColumn
from alrviz.data.values import join_columns
from alrviz.errors import MEASURED_TARGET, RecipeError, TableError, nearest
from alrviz.home import home
from alrviz.stop import NEVER, StopToken

SAMPLE_ROWS = 50_000  # from which target, kinds and specs are guessed
UNREADABLE = ("error", "missing")
_SAMPLE_SEED = 2**40  # of the sample's hash: above all seeds of recipes, or the sample would be test rows
_FORMAT = 3  # of codes; increased when the same table would get other codes
_coding_lock = threading.Lock()


def no_progress(activity: str, rows: int) -> None:
    """Progress callback that does nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """A table larger than memory, for one target; made by `open_table`, immutable.

    Attributes:
        source: the files.
        sample: rows of the whole table as a `Dataset`, from which kinds and the target were guessed.
        target: name of the class.
        spec: how its columns, and new rows, are read.
        n_rows: number of rows of all files, with or without a class.
        unreadable: treatment of values that do not fit their column's spec: "error" or "missing".
        cache: the folder of codes.
        notes: decisions and changes made while reading, as sentences.

    >>> import alrviz, tempfile, os
    >>> file = os.path.join(tempfile.mkdtemp(), "led.parquet")
    >>> alrviz.load_demo("led").frame.to_parquet(file)
    >>> stream = alrviz.open_table(file)
    >>> stream.target, stream.n_rows, sorted(set(stream.kinds.values()))
    ('class', 3000, ['categorical'])
    """

    source: Source
    sample: Dataset
    n_rows: int
    unreadable: str
    cache: Path
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        n_features = len(self.sample.X.columns)
        return f"<Stream {self.name!r}: {self.n_rows:,} rows, {n_features} columns, class {self.target!r}>"

    @property
    def name(self) -> str:
        """The table's name, of its file or folder."""
        return self.source.name

    @property
    def target(self) -> str:
        """The column that is the class."""
        return self.sample.target

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns and their kinds; their levels are those of the sample, and other rows may have more."""
        return self.sample.columns

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every column but the target."""
        return self.sample.kinds

    @property
    def spec(self) -> ParseSpec:
        """The spec by which columns, and new rows, are read."""
        return self.sample.spec

    @property
    def hash(self) -> str:
        """SHA-256 of the files' names, sizes and times, the target, the kinds and the spec."""
        return self._key([])

    def with_kinds(self, **kinds: str) -> "Stream":
        """Return the same table with these columns' kinds changed."""
        return replace(self, sample=self.sample.with_kinds(**kinds))

    def coded(
        self,
        discretize: str | None = "mdl",
        n_bins: int = 10,
        missing: str = "level",
        *,
        holdout: float = 0.05,
        seed: int = 0,
        progress: Progress = no_progress,
        stop: StopToken = NEVER,
    ) -> "EncodedTable":
        """Return the encoded table, which is read and encoded once and then stored in the cache.

        Args:
            discretize, n_bins, missing: as in `Encoder`; learned on training rows.
            holdout: share of test rows, from 0 to 0.95, drawn by `seed` and the row's number.
            progress: called with the activity and the number of rows finished.
            stop: ends it from another thread.

        Raises:
            TableError: a value, file or class that cannot be used, with its place; a column of weights, groups or
                times, because test rows are drawn by row number alone and all rows count equally.
            TableFileError: files have changed, or there is no space for the codes.
            RecipeError: `discretize="keep"` or smooth levels, or an unknown setting.
        """
        for name, kind in self.kinds.items():
            if kind in ROLES:
                raise TableError(
                    f"column {name!r} is of kind {kind!r}, which a table read in batches cannot use; expected "
                    "'ignore', or read_table, which reads it whole"
                )
        if not isinstance(holdout, int | float) or not 0.0 <= holdout <= 0.95:
            raise RecipeError(f"holdout={holdout!r} is out of range; expected a number from 0 to 0.95")
        if not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise RecipeError(f"seed={seed!r} is out of range; expected a whole number from 0 to {2**32 - 1}")
        if discretize == "keep":
            raise RecipeError(
                "discretize='keep' is not available for a table read in batches; expected discretize='mdl'"
            )
        if discretize in SMOOTH_WAYS:
            raise RecipeError("smooth levels are not available for a table read in batches; expected discretize='mdl' "
                              "or 'quantile', or read_table, which reads it whole")  # fmt: skip
        encoder = Encoder(discretize=discretize, n_bins=n_bins, missing=missing)
        key = self._key([discretize, n_bins, missing, holdout, seed, self.unreadable])
        path = self.cache / f"{key[:32]}{SUFFIX}"
        coding = Coding(self.source, self.spec.features, self._class_spec, self.unreadable, encoder, holdout, seed)
        cache = load_or_encode(coding, path, progress, stop)
        encoder_in_cache = Encoder.from_dict(cache.facts["encoder"])
        encoder_in_cache.lost_ = tuple(cache.facts["lost"])
        return EncodedTable(cache, encoder_in_cache, coding)

    @property
    def _class_spec(self) -> ColumnSpec:
        """The spec of the class, which is always read as text."""
        return replace(next(column for column in self.spec.columns if column.kind == "target"), kind="categorical")

    def _key(self, settings: list[Any]) -> str:
        state = [_FORMAT, self.source.identity, self.spec.to_dict(), *settings]
        return hashlib.sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """The encoded rows of a stream.

    Attributes:
        cache: the codes, in parts "train" and "test".
        encoder: fitted on the training rows.
        coding: the settings with which the cache can be written again.
    """

    cache: CodeCache
    encoder: Encoder
    coding: Coding

    @property
    def levels(self) -> NDArray[np.int64]:
        """Number of levels of each column (a,)."""
        return self.encoder.levels_

    @property
    def classes(self) -> NDArray[Any]:
        """Sorted class labels (C,)."""
        return self.encoder.classes_

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.encoder.columns_)

    def first_rows(self, part: str, max_rows: int) -> Encoded:
        """Return the first rows of "train" or "test": a random sample, because rows are stored in random order."""
        chunks, n_rows = [], 0
        for chunk in self.cache.chunks(part):
            chunks.append(chunk)
            n_rows += len(chunk.y)
            if n_rows >= max_rows:
                break
        codes = np.concatenate([chunk.codes for chunk in chunks], axis=1)[:, :max_rows]
        y = np.concatenate([chunk.y for chunk in chunks])[:max_rows].astype(np.int32)
        return Encoded(codes, y, np.ones(len(y)), self.levels, self.classes, self.names)

    @property
    def notes(self) -> list[str]:
        """Sentences on rows and values that are not used, and on numeric columns without a cut."""
        facts, notes = self.cache.facts, []
        if facts["dropped"]:
            notes.append(f"{facts['dropped']:,} of {facts['rows']:,} rows have no class and are not used")
        unread = {name: n for name, n in facts["unread"].items() if n}
        notes += [f"{n:,} values of {name!r} are not as the others and count as missing" for name, n in unread.items()]
        return notes + [text for text in [lost_text(self.encoder)] if text]


def load_or_encode(coding: Coding, path: Path, progress: Progress = no_progress, stop: StopToken = NEVER) -> CodeCache:
    """Return the cache in `path`, written first if there is none.

    Raises:
        TableError: see `Stream.coded`.
    """
    while not _coding_lock.acquire(timeout=0.05):  # runs of one table that begin together encode it once
        stop.check()
    try:
        return open_cache(path) or code_table(coding, path, {"name": coding.source.name}, progress, stop)
    finally:
        _coding_lock.release()


def open_table(
    paths: Any,
    target: str | None = None,
    *,
    options: ReadOptions | None = None,
    kinds: Mapping[str, str] | None = None,
    unreadable: str = "error",
    cache: Any = None,
    progress: Progress = no_progress,
    stop: StopToken = NEVER,
) -> Stream:
    """Open a table that need not fit into memory: Parquet, Arrow or delimited text, in one file or many.

    All rows are read once, to draw a sample from which each column's kind, and how its text is parsed, are guessed.

    Args:
        paths: a path, a folder, a pattern (``part-*.csv.gz``) or a list of them; text may be compressed (gzip, bzip2,
            xz, Zstandard).
        target, options, kinds: as in `read_table`, `kinds` as a mapping; a numeric target is not cut into classes.
        unreadable: treatment of a value that does not fit its column ("abc" among numbers): "error", which names the
            row, or "missing".
        cache: the folder where rows are stored once encoded (default: `codes` in `alrviz.home()`).
        progress: called with the activity and the number of rows finished.
        stop: ends the reading from another thread.

    Raises:
        TableError: files that cannot be used; `MissingFileError` if there are none.
        Stopped: `stop` was called on the token.

    >>> import pandas as pd, tempfile, os
    >>> file = os.path.join(tempfile.mkdtemp(), "t.csv")
    >>> rows = {"size": [1, 2, 9] * 50, "colour": ["red", "red", "blue"] * 50, "class": [0, 0, 1] * 50}
    >>> pd.DataFrame(rows).to_csv(file, index=False)
    >>> open_table(file, "class")
    <Stream 't': 150 rows, 2 columns, class 'class'>
    """
    if unreadable not in UNREADABLE:
        raise TableError(f"unreadable={unreadable!r}: expected one of {UNREADABLE}{nearest(unreadable, UNREADABLE)}")
    options = options or ReadOptions()
    source = open_source(paths, options, {str(name) for name in (target, *(kinds or ())) if name is not None})
    sampler = _RowSampler(SAMPLE_ROWS)
    n_rows, notes = 0, list[str]()
    for batch in source.batches(stop, sampler.select, notes):
        sampler.add(batch.columns)
        n_rows = batch.first + batch.n_rows
        progress("looking", n_rows)
    require_rows(n_rows)
    raw = RawTable(sampler.columns(), source.options, notes, (), source.head, sampler.sort, source.stated_kinds)
    table = Table.from_raw(source.name, interpret(raw, stop), OWN_LIMITS, options)
    try:
        sample = dataset_of(table, target, kinds=kinds, stop=stop)
    except TableError as error:
        if error.code != MEASURED_TARGET:
            raise
        name = target or table.default_target.name
        n_values = table.values[table.position(name)].series.nunique()
        raise TableError(
            f"column {name!r} holds {n_values:,} different numbers; a class of few values was expected: choose another "
            "target, or cut this one beforehand"
        ) from error
    notes = [*table.notes]  # those of `sample` on duplicates and rare levels may not hold for the whole table
    if n_rows > SAMPLE_ROWS:
        notes.append(
            f"column types were inferred from {SAMPLE_ROWS:,} of {n_rows:,} rows: pass kinds= to override them"
        )
    notes += [sample.leaks_note] if sample.leaks_note else []
    folder = home() / "codes" if cache is None else Path(cache)
    return Stream(source, sample, n_rows, unreadable, folder, tuple(notes))


class _RowSampler:
    """Samples the rows with the smallest hashes of their numbers, independently of the boundaries of files.

    size: maximum number of rows.
    """

    def __init__(self, size: int):
        self.sort = "typed"
        self._size = size
        self._parts: list[tuple[NDArray[np.uint64], dict[str, StreamColumn]]] = []
        self._max_hash = np.uint64(2**64 - 1)
        self._n_rows = 0

    def select(self, first: int, n_rows: int) -> NDArray[np.intp]:
        """Return which of the next n_rows rows, from number `first` on, are in the sample so far."""
        hashes = row_hash(first, n_rows, _SAMPLE_SEED)
        rows = np.flatnonzero(hashes <= self._max_hash)
        self._hashes = hashes[rows]
        return rows

    def add(self, columns: dict[str, StreamColumn]) -> None:
        """Add the columns of the rows that `select` returned last."""
        if any(isinstance(column, TextColumn) for column in columns.values()):
            self.sort = "text" if all(isinstance(column, TextColumn) for column in columns.values()) else "typed"
        self._parts.append((self._hashes, columns))
        self._n_rows += len(self._hashes)
        if self._n_rows > 4 * self._size:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the rows with the lowest hashes, as many as the sample may have."""
        hashes_of_all = np.concatenate([hashes for hashes, _ in self._parts])
        if len(hashes_of_all) > self._size:
            self._max_hash = np.partition(hashes_of_all, self._size - 1)[self._size - 1]
        for k, (hashes, columns) in enumerate(self._parts):
            rows = np.flatnonzero(hashes <= self._max_hash)
            self._parts[k] = hashes[rows], {name: _rows_of(column, rows) for name, column in columns.items()}
        self._n_rows = sum(len(hashes) for hashes, _ in self._parts)

    def columns(self) -> list[StreamColumn]:
        """Return the columns of the sample, with rows in the table's order."""
        self._shrink()
        return [join_columns([columns[name] for _, columns in self._parts]) for name in self._parts[0][1]]


def _rows_of(column: StreamColumn, rows: NDArray[np.intp]) -> StreamColumn:
    if isinstance(column, TextColumn):
        return column.select_rows(rows)
    return replace(column, series=column.series.iloc[rows].reset_index(drop=True))
