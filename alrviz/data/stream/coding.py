"""Encode the batches of a table into a cache, with no more than one column in memory.

    learn    every value is parsed by its column's spec and spooled, a file for each column; then levels and cuts are
             learned on the training rows, column by column
    encode   the codes of training and test rows are written in chunks that are drawn from the whole table by a hash of
             the row numbers: sorted rows, for example by class, would spoil stochastic steps

Test rows are drawn by a hash of the row's number, so that they are the same however the table is divided into files;
every class keeps at least its first row for training.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data import splits
from alrviz.data.column_encoder import ColumnEncoder
from alrviz.data.encode import Encoder
from alrviz.data.encoded import code_dtype
from alrviz.data.level_order import sort_levels
from alrviz.data.parse_cells import parse_column
from alrviz.data.parse_spec import ColumnSpec
from alrviz.data.splits import SHUFFLE_SEED, chunk_of, hash_test_rows, row_hash, validation_rows
from alrviz.data.stream.cache import SPOOL_PREFIX, CacheWriter, CodeCache, write_error
from alrviz.data.stream.source import Batch, Source
from alrviz.data.values import source_cells
from alrviz.errors import TableError, short
from alrviz.home import make_private_folder
from alrviz.stop import NEVER, StopToken

Progress = Callable[[str, int], None]  # called with the activity and the number of rows finished


@dataclass(frozen=True, eq=False)
class Coding:
    """The settings by which a table is encoded: features, class, unreadable values, cuts, share of test rows."""

    source: Source
    features: tuple[ColumnSpec, ...]
    target: ColumnSpec
    unreadable: str  # "error" or "missing", see `open_table`
    encoder: Encoder
    holdout: float  # share of the rows
    seed: int


def code_table(
    coding: Coding, path: Path, facts: dict[str, Any], progress: Progress, stop: StopToken = NEVER
) -> CodeCache:
    """Read and encode the table of `coding`; return the cache, stored in `path`."""
    try:
        make_private_folder(path.parent)
        folder = Path(tempfile.mkdtemp(prefix=SPOOL_PREFIX, dir=path.parent))
    except OSError as error:
        raise write_error(path.parent, error) from error
    try:
        spool = _Spool(coding, folder)
        for batch in coding.source.batches(stop):
            spool.add(batch)
            progress("reading", batch.first + batch.n_rows)
        return _encode_rows(coding, spool, path, facts, progress, stop)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_Levels = dict[str, int]  # the levels of a column so far, numbered in order of appearance


class _Spool:
    """Parsed values in a file for each column, float64 or int32 levels, and the class of each row, -1 for none."""

    def __init__(self, coding: Coding, folder: Path):
        self.coding, self.folder = coding, folder
        self.levels = [None if feature.kind == "numeric" else _Levels() for feature in coding.features]
        self.classes = _Levels()
        self.n_rows = 0
        self.unread = dict.fromkeys((feature.source for feature in coding.features), 0)
        self._paths = [folder / str(j) for j in range(len(coding.features))]
        self._y: list[NDArray[np.int16]] = []

    def add(self, batch: Batch) -> None:
        """Parse the rows of a batch and append them to the files."""
        y = self._level_numbers(batch, self.coding.target, self.classes)
        if len(self.classes) > np.iinfo(np.int16).max:
            raise TableError(f"column {self.coding.target.source!r} has more than {np.iinfo(np.int16).max:,} classes")
        self._y.append(y.astype(np.int16))
        for feature, levels, path in zip(self.coding.features, self.levels, self._paths, strict=True):
            values: NDArray[Any]
            if levels is None:
                values, is_unreadable = parse_column(source_cells(batch.columns[feature.source]), feature)
                self._check_readable(batch, feature, is_unreadable)
            else:
                values = self._level_numbers(batch, feature, levels)
            try:
                with path.open("ab") as file:
                    values.tofile(file)
            except OSError as error:
                raise write_error(path.parent, error) from error
        self.n_rows += batch.n_rows

    def take_classes(self) -> NDArray[np.int16]:
        """Return the class number of every row (N,), -1 for none, and release the array to save memory."""
        y, self._y = np.concatenate([np.empty(0, np.int16), *self._y]), []
        return y

    def column(self, j: int, begin: int = 0, end: int | None = None) -> NDArray[Any]:
        """Return rows begin .. end - 1 of a column."""
        dtype = np.dtype(np.float64 if self.levels[j] is None else np.int32)
        end = self.n_rows if end is None else end
        return np.fromfile(self._paths[j], dtype, end - begin, offset=begin * dtype.itemsize)

    def _level_numbers(self, batch: Batch, feature: ColumnSpec, levels: _Levels) -> NDArray[np.int32]:
        """Return the level number of each row; each distinct text is parsed once."""
        text = batch.columns[feature.source].as_text
        text_codes = text.codes
        values, is_unreadable = feature.parse_texts(text.levels)
        codes = [-1 if value is None else levels.setdefault(value, len(levels)) for value in values]
        level_numbers = np.array([*codes, -1], np.int32)
        if is_unreadable.any():
            self._check_readable(batch, feature, np.append(is_unreadable, False)[text_codes])
        return level_numbers[text_codes].astype(np.int32, copy=False)

    def _check_readable(self, batch: Batch, feature: ColumnSpec, is_unreadable: NDArray[np.bool_]) -> None:
        """Raise `TableError` for the first unreadable row of a batch, or count such rows as missing."""
        if not is_unreadable.any():
            return
        if self.coding.unreadable == "missing":
            self.unread[feature.source] += int(is_unreadable.sum())
            return
        first_row = int(is_unreadable.argmax())
        text = batch.columns[feature.source].as_text
        value = short(text.levels[int(text.codes[first_row])].as_py())
        raise TableError(
            f"column {feature.source!r} holds {value} in row {batch.first + first_row + 1:,} ({batch.path.name!r}), "
            f"which is not {feature.value_description}, as in the sampled rows. Pass its kind, such as categorical, or "
            "unreadable='missing' (--unreadable missing) to count such values as missing"
        )


def _encode_rows(
    coding: Coding, spool: _Spool, path: Path, facts: dict[str, Any], progress: Progress, stop: StopToken
) -> CodeCache:
    """Learn levels and cuts on the training rows, and write the codes of all rows with a class."""
    y, is_test, labels = _split(coding, spool)
    is_train = (y >= 0) & ~is_test
    _, moved_rows = validation_rows(np.where(is_train, y, np.int16(-1)), coding.seed)
    train_y = y[is_train] if None in spool.levels else y[:0]  # only cuts of numeric columns need classes
    weights = np.broadcast_to(1.0, train_y.shape)
    encoder, columns, undivided = coding.encoder, [], []
    for j, feature in enumerate(coding.features):
        stop.check()
        progress(f"learning {feature.name!r}", spool.n_rows)
        values = spool.column(j)[is_train] if spool.levels[j] is None else _training_levels(spool, j, is_train)
        series = _column_series(feature, spool.levels[j], values)
        column = encoder.code_column(series, feature.name, feature.kind, train_y, labels, weights, stop)
        undivided += [feature.name] * encoder.lacks_cuts(column, series)
        columns.append(column)
    encoder.take(columns, labels, undivided)
    lookups = [
        None if levels is None else _codes_by_level(levels, column)
        for levels, column in zip(spool.levels, columns, strict=True)
    ]
    kinds = code_dtype(encoder.levels_), code_dtype(np.array([len(labels)]))
    mask_by_part = {"train": is_train, "test": is_test & (y >= 0)}
    shuffled = {name: _Shuffled(spool.folder / name, int(mask.sum()), kinds) for name, mask in mask_by_part.items()}
    for begin in range(0, spool.n_rows, splits.CHUNK):
        stop.check()
        end = min(begin + splits.CHUNK, spool.n_rows)
        codes = np.empty((len(columns), end - begin), kinds[0])
        for j, (column, lookup) in enumerate(zip(columns, lookups, strict=True)):
            values = spool.column(j, begin, end)
            codes[j] = column.transform(pd.Series(values)) if lookup is None else lookup[values]
        hashes = row_hash(begin, end - begin, coding.seed + SHUFFLE_SEED)
        moved_positions = np.flatnonzero((moved_rows >= begin) & (moved_rows < end))
        hashes[moved_rows[moved_positions] - begin] = np.uint64(2**64 - 1 - len(moved_rows)) + moved_positions.astype(
            np.uint64
        )
        for name, mask in mask_by_part.items():
            part_rows_in_chunk = np.flatnonzero(mask[begin:end])
            shuffled[name].add(
                np.take(codes, part_rows_in_chunk, axis=1), y[begin:end][part_rows_in_chunk], hashes[part_rows_in_chunk]
            )
        progress("encoding", end)
    writer = CacheWriter(path, len(columns), (kinds[0].name, kinds[1].name))
    try:
        for name, rows_of_part in shuffled.items():
            for chunk, chunk_y in rows_of_part.chunks():
                stop.check()
                writer.add(name, chunk, chunk_y)
        facts |= {"encoder": encoder.to_dict(), "lost": list(encoder.lost_), "dropped": int((y < 0).sum())}
        return writer.close({**facts, "rows": spool.n_rows, "unread": spool.unread})
    except BaseException:
        writer.abandon()
        raise


def _training_levels(spool: _Spool, j: int, is_train: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the distinct levels of a column's training rows, -1 included if a value is missing."""
    levels = spool.levels[j]
    assert levels is not None
    occurs = np.zeros(len(levels) + 1, bool)
    for begin in range(0, spool.n_rows, splits.CHUNK):
        end = min(begin + splits.CHUNK, spool.n_rows)
        occurs[spool.column(j, begin, end)[is_train[begin:end]] + 1] = True
    return np.flatnonzero(occurs) - 1


class _Shuffled:
    """Rows distributed over files by their hash, so that each file has a chunk drawn from the whole table."""

    def __init__(self, path: Path, n_rows: int, kinds: tuple[np.dtype, np.dtype]):
        self._kinds, self._path = kinds, path
        self._pieces: list[list[int]] = [[] for _ in range(-(-n_rows // splits.CHUNK))]
        self._columns = 0

    def add(self, codes: NDArray[np.unsignedinteger], y: NDArray[np.integer], hashes: NDArray[np.uint64]) -> None:
        """Distribute rows: codes (a, m), classes (m,) and hashes (m,)."""
        self._columns = len(codes)
        file_of_row = chunk_of(hashes, len(self._pieces)).astype(np.min_scalar_type(len(self._pieces)))
        order = np.argsort(file_of_row, kind="stable")
        ends = np.cumsum(np.bincount(file_of_row, minlength=len(self._pieces)))
        codes, y, hashes = np.take(codes, order, axis=1), y[order].astype(self._kinds[1]), hashes[order]
        for file_number, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
            if end > begin:
                piece = slice(begin, end)
                self._pieces[file_number].append(end - begin)
                try:
                    with self._file(file_number).open("ab") as file:
                        file.write(codes[:, piece].tobytes() + y[piece].tobytes() + hashes[piece].tobytes())
                except OSError as error:
                    raise write_error(self._path.parent, error) from error

    def chunks(self) -> Iterator[tuple[NDArray[np.unsignedinteger], NDArray[np.integer]]]:
        """Yield codes and classes of each file, in the order of the hashes, and remove the file."""
        for file_number, pieces in enumerate(self._pieces):
            if not pieces:
                continue
            codes, classes, hashes = list[NDArray[Any]](), list[NDArray[Any]](), list[NDArray[np.uint64]]()
            with self._file(file_number).open("rb") as file:
                for n_rows in pieces:
                    piece = np.frombuffer(file.read(n_rows * self._columns * self._kinds[0].itemsize), self._kinds[0])
                    codes.append(piece.reshape(self._columns, n_rows))
                    classes.append(np.frombuffer(file.read(n_rows * self._kinds[1].itemsize), self._kinds[1]))
                    hashes.append(np.frombuffer(file.read(8 * n_rows), np.uint64))
            self._file(file_number).unlink()
            order = np.argsort(np.concatenate(hashes))  # no two are equal
            yield np.take(np.concatenate(codes, axis=1), order, axis=1), np.concatenate(classes)[order]

    def _file(self, k: int) -> Path:
        return self._path.with_name(f"{self._path.name}-{k}")


def _split(coding: Coding, spool: _Spool) -> tuple[NDArray[np.int16], NDArray[np.bool_], NDArray[Any]]:
    """Return the class of every row among the sorted labels, -1 for none, the mask of test rows, and the labels."""
    names = np.array(list(spool.classes), dtype=object)
    order = np.argsort(names.astype(str), kind="stable")
    y = np.append(np.argsort(order), -1).astype(np.int16)[spool.take_classes()]
    if len(names) < 2:
        raise TableError(f"column {coding.target.source!r} has {len(names)} class; two classes at least were expected")
    return y, hash_test_rows(y, len(names), coding.holdout, coding.seed), names[order].astype(str)


def _column_series(feature: ColumnSpec, levels: _Levels | None, values: NDArray[Any]) -> pd.Series:
    """Return rows of a column in the form that `Encoder.code_column` accepts."""
    if levels is None:
        return pd.Series(values, name=feature.name)
    names = list(levels)
    series = pd.Series(pd.Categorical.from_codes(values, categories=names), name=feature.name)
    order = sort_levels(names) if feature.kind == "ordinal" else None
    return series if order is None else series.cat.set_categories(order, ordered=True)


def _codes_by_level(levels: _Levels, column: ColumnEncoder) -> NDArray[np.integer]:
    """Return the code of each level number, then that of missing, for index -1."""
    missing = column.n_levels if column.missing_code is None else column.missing_code
    codes: NDArray[np.integer] = np.append(column.transform(pd.Series(list(levels), dtype=object)), missing)
    return codes
