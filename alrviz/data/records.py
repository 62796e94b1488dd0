"""Parse rows of delimited text with pyarrow, in memory or in batches, and repair rows of another number of cells.

    fewer cells                     the missing ones are empty        fits
    more, and the surplus is empty  the surplus is dropped            fits
    more                            the surplus is dropped            does not fit

All are counted. A table with more than 1 % of rows that do not fit is refused, as its layout was misjudged.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from alrviz.data.doubts import Note, NoteCode
from alrviz.data.quotes import split_record
from alrviz.errors import UNEVEN_LINES, TableError, plural, short

MAX_UNFIT_SHARE = 0.01
MAX_UNEVEN_SHARE = 0.5  # of the rows; with more the table is refused, as the delimiter is wrong
# The changes of uneven rows, in words.
CHANGES = {
    "padded": "fewer cells than there are columns: the missing ones were read as empty",
    "trimmed": "empty cells beyond the last column, which were dropped",
    "cut": "more cells than there are columns: the surplus was dropped",
}
NAMED_LINES = 10  # rows that do not fit, in the error


class UnevenRow(NamedTuple):
    """A repaired row: its number among all records, from 0, its cells, the kind of change, its original text."""

    record: int
    cells: list[str]
    change: str  # one of `CHANGES`
    text: str


class UnevenRows:
    """The uneven rows of a text of `width` columns, in order; a handler for pyarrow's CSV reader, which skips them.

    `n_skipped` is the number of lines that the reader skips before the rows. `merged` inserts the rows, batch by batch.
    """

    def __init__(self, width: int, delimiter: str, n_skipped: int = 0):
        self.width, self.delimiter, self.n_skipped = width, delimiter, n_skipped
        self.rows: list[UnevenRow] = []
        self._n_merged = self._n_fitting = 0

    def take(self, row: "pa.csv.InvalidRow") -> str:
        """Store a repaired row, and tell the parser to skip it."""
        cells = split_record(row.text, self.delimiter)
        surplus = [cell for cell in cells[self.width :] if cell.strip()]
        change = "padded" if len(cells) < self.width else "cut" if surplus else "trimmed"
        cells = [*cells, *[""] * (self.width - len(cells))][: self.width]
        self.rows.append(UnevenRow(row.number - 1 - self.n_skipped, cells, change, row.text))
        return "skip"

    def check(self, n_rows: int, place_of: Callable[[int], str]) -> list[str]:
        """Return a note for each kind of change, with the first place; `place_of` returns "line 17" for a record.

        Raises `TableError` if more than 1 % of `n_rows` have a surplus that is not empty.
        """
        changes = {change: [row for row in self.rows if row.change == change] for change in CHANGES}
        n_uneven, cut_rows = len(changes["padded"]) + len(changes["cut"]), changes["cut"]
        cells_text = f"{self.width} cells at the delimiter {self.delimiter!r}"
        if n_uneven > max(1, MAX_UNEVEN_SHARE * n_rows):
            raise TableError(
                f"{n_uneven:,} of {n_rows:,} lines have not {cells_text}: this is no table of rows, or another "
                "delimiter cuts it",
                code=UNEVEN_LINES,
            )
        if len(cut_rows) > max(1, MAX_UNFIT_SHARE * n_rows):
            examples = [f"{place_of(row.record)}: {short(row.text)}" for row in cut_rows[:NAMED_LINES]]
            raise TableError(
                f"{len(cut_rows):,} of {n_rows:,} lines have more than the table's {cells_text}: is it in a text "
                f"without quotation marks? The first are {'; '.join(examples)}"
            )
        notes = list[str]()
        for change, rows in changes.items():
            if rows:
                lines_text = f"{plural(len(rows), 'line has', 'lines have')} {CHANGES[change]}"
                note = f"{lines_text} (first in {place_of(rows[0].record)})"
                notes.append(Note.with_code(NoteCode.UNEVEN_ROWS, note))
        return notes

    def merged(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of parsed rows, with dictionary columns, with the repaired rows inserted."""
        pending = self.rows[self._n_merged :]
        batch_rows = [row.record - self._n_merged - k - self._n_fitting for k, row in enumerate(pending)]
        batch_rows = [batch_row for batch_row in batch_rows if batch_row <= batch.num_rows]
        rows = pending[: len(batch_rows)]
        self._n_merged += len(rows)
        self._n_fitting += batch.num_rows
        if not rows:
            return batch
        columns = []
        for j, column in enumerate(batch.columns):
            levels = column.dictionary
            texts = pa.array([row.cells[j] for row in rows], type=pa.string())
            joined = pa.concat_arrays([levels.cast(pa.string()), texts]).dictionary_encode()
            codes = joined.indices.to_numpy()
            fitting = codes[: len(levels)][column.indices.to_numpy(zero_copy_only=False)]
            indices = np.insert(fitting, batch_rows, codes[len(levels) :]).astype(np.int32)
            columns.append(pa.DictionaryArray.from_arrays(pa.array(indices), joined.dictionary))
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def record_batches(text: Any, uneven: UnevenRows, block: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a UTF-8 stream with repaired rows, as dictionary columns, `block` bytes at a time.

    Raises `ArrowInvalid` for a row longer than a block, and for an empty text.
    """
    empty = empty_batch(uneven.width)
    with pa.csv.open_csv(
        text,
        pa.csv.ReadOptions(
            use_threads=False,
            block_size=min(block, 2**31 - 1),
            skip_rows=uneven.n_skipped,
            column_names=empty.schema.names,
        ),
        pa.csv.ParseOptions(delimiter=uneven.delimiter, newlines_in_values=True, invalid_row_handler=uneven.take),
        pa.csv.ConvertOptions(column_types=empty.schema, strings_can_be_null=False, check_utf8=False),
    ) as reader:
        for batch in reader:
            yield uneven.merged(batch)
        if (last_batch := uneven.merged(empty)).num_rows:  # repaired rows behind the last batch
            yield last_batch


def empty_batch(width: int) -> pa.RecordBatch:
    """Return a batch without rows of so many dictionary columns."""
    cells = pa.dictionary(pa.int32(), pa.string())
    return pa.RecordBatch.from_pylist(
        [], schema=pa.schema([(f"f{column_index}", cells) for column_index in range(width)])
    )
