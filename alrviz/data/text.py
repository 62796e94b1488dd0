"""Columns of text, and spellings of the same level.

A column is a dictionary: `levels` (the distinct texts) and `codes` (one per row, -1 is missing). Whether a text is a
number, a date or missing is then decided once for each distinct text: three times for 300,000 rows of three levels.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.doubts import DoubtCode, DoubtNote
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import ColumnSpec, Layout
from alrviz.data.parse_values import MARKS, MINUS, MONTH_NAMES, folded, has_usual_capitals, rows_above, spelling_lookup
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    import pandas as pd

# Answers that a column may have in full and by their first letter, which "a" and "A" of codes are not.
FULL_ANSWERS = (
    *("yes", "no", "true", "false", "male", "female", "ja", "nein", "oui", "non", "si", "männlich", "weiblich"),
)
ANSWER_LETTERS = {answer[0] for answer in FULL_ANSWERS}
SHORT_ANSWERS = {"no", "ja", "si", "da", "ne", "na"}
MAX_VARIANT_LEVELS = 100  # all pairs of levels are compared
MARKS_OF_WRITING = re.compile(r"[\s.?!'\"*]|(?<=\w)[-_](?=\w)")  # not the signs of A+, A- and < 1
MIN_VARIANT_RATIO = 5  # rows of a level for each row of a level that may be its misspelling
SAME_LETTERS = 0.85  # share of equal letters, in order, of a text and its misspelling
BAND = re.compile(r"^\d+ ?[-\u2013] ?\d+$|^\d+ ?\+$|^[<>] ?\d+$")
_MONTH = "|".join(name for name in MONTH_NAMES if name.isascii() and len(name) == 3)
DAY = re.compile(
    rf"^(?:0?(?P<day>\d{{1,2}})-(?P<after>{_MONTH})|(?P<before>{_MONTH})-0?(?P<year>\d{{1,2}}))$", re.IGNORECASE
)
MAX_STRAY_SHARE = 0.2  # of the rows
MAX_MENDED_LEVELS = 1000  # levels of a column whose texts are mended; more are names or ids
Buffer = bytes | bytearray
DETECTED = ReadOptions()
NUMBERLIKE = rf"^[+{MINUS}]?[0-9{MARKS}]*[0-9][0-9{MARKS}]*([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, slots=True)
class TextColumn:
    """One column of text.

    Attributes:
        name: of the column.
        codes: (N,) int32 index into `levels`, -1 for missing.
        levels: distinct texts, all of which occur.
        is_number: (N,) mask of the rows that were numbers in the source, as cells of workbooks may be; None without
            any. Their texts are in Python's notation, whatever decimal mark the other texts have.
        n_trimmed: number of rows whose text equals others after blanks at its ends were removed.
    """

    name: str
    codes: np.ndarray
    levels: pa.Array
    is_number: np.ndarray | None = None
    n_trimmed: int = 0

    @classmethod
    def from_codes(
        cls, name: str, codes: np.ndarray, levels: pa.Array, is_number: np.ndarray | None = None
    ) -> "TextColumn":
        """Return a column of raw codes and levels: trim levels, merge equal ones, drop those that do not occur."""
        trimmed = pc.utf8_trim_whitespace(levels)
        occurs = (n_rows_by_level := np.bincount(codes[codes >= 0], minlength=len(levels))) > 0
        if occurs.all() and trimmed.equals(levels) and pc.count_distinct(levels).as_py() == len(levels):
            return cls(name, codes, levels, is_number)
        joined = trimmed.filter(pa.array(occurs)).dictionary_encode()
        lookup = np.full(len(levels) + 1, -1, dtype=np.int32)  # the last entry is for code -1
        lookup[:-1][occurs] = new_codes = joined.indices.to_numpy()
        had_blanks = pc.and_(pc.not_equal(levels, trimmed), pc.not_equal(trimmed, "")).to_numpy(zero_copy_only=False)[
            occurs
        ]
        is_merged = had_blanks & (np.bincount(new_codes, minlength=1)[new_codes] > 1)
        return cls(name, lookup[codes], joined.dictionary, is_number, int(n_rows_by_level[occurs][is_merged].sum()))

    @classmethod
    def from_values(cls, name: str, values: Sequence[str | None], is_number: np.ndarray | None = None) -> "TextColumn":
        """Return a column of N Python strings, None for missing; `is_number` is (N,)."""
        return cls.from_arrow(name, pa.array(values, type=pa.string()), is_number)

    @classmethod
    def from_arrow(cls, name: str, texts: pa.Array, is_number: np.ndarray | None = None) -> "TextColumn":
        """Return a column of an arrow array of N strings, null for missing; `is_number` is (N,)."""
        encoded = texts.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        return cls.from_codes(name, codes, encoded.dictionary, is_number)

    @classmethod
    def joined(cls, parts: Sequence["TextColumn"]) -> "TextColumn":
        """Return the rows of several columns as one, with the name of the first."""
        levels = pa.concat_arrays([part.levels.cast(pa.string()) for part in parts]).dictionary_encode()
        code_of_level, first_level, codes = np.append(levels.indices.to_numpy(), -1).astype(np.int32), 0, []
        for part in parts:
            codes.append(code_of_level[np.where(part.codes < 0, len(code_of_level) - 1, part.codes + first_level)])
            first_level += len(part.levels)
        is_number = [
            np.zeros(len(part.codes), dtype=bool) if part.is_number is None else part.is_number for part in parts
        ]
        return cls.from_codes(parts[0].name, np.concatenate(codes), levels.dictionary, np.concatenate(is_number))

    @property
    def text_cells(self) -> "TextColumn":
        """The column with cells that were numbers in the source made missing: only texts show the decimal mark."""
        return self if self.is_number is None else self.mask_rows(~self.is_number)

    @property
    def blanks_note(self) -> str:
        """A note on cells that equal others after blanks at their ends were removed; "" without any."""
        cells = "1 cell has" if self.n_trimmed == 1 else f"{self.n_trimmed:,} cells have"
        return f"{cells} blanks at the ends in {self.name!r}, and the level of others without" if self.n_trimmed else ""

    @property
    def is_empty(self) -> np.ndarray:
        """Mask (N,) of the rows without text."""
        code_of_empty = pc.index(self.levels, "").as_py()
        is_empty_row: np.ndarray = (self.codes < 0) | ((self.codes == code_of_empty) if code_of_empty >= 0 else False)
        return is_empty_row

    def mask_rows(self, rows: np.ndarray) -> "TextColumn":
        """Return the column with all rows outside this mask (N,) made missing."""
        return self.take_rows(np.where(rows, np.arange(len(rows)), -1), self.name)

    def select_rows(self, rows: np.ndarray | slice) -> "TextColumn":
        """Return the column with these rows alone: numbers, a mask (N,) or a slice. `n_trimmed` starts anew."""
        is_number = None if self.is_number is None else self.is_number[rows]
        return TextColumn.from_codes(self.name, self.codes[rows], self.levels, is_number)

    @property
    def filled_cells(self) -> "TextColumn":
        """The column with each empty cell filled with the text above."""
        return self.take_rows(rows_above(self.is_empty), self.name)

    @property
    def as_text(self) -> "TextColumn":
        """The column itself, as columns of other types have their text."""
        return self

    def take_rows(self, rows: np.ndarray, name: str) -> "TextColumn":
        """Return the rows of these numbers (n,), -1 for one without value, as a column of this name."""
        is_number = None if self.is_number is None else np.append(self.is_number, False)[rows]
        return TextColumn.from_codes(name, np.append(self.codes, -1)[rows].astype(np.int32), self.levels, is_number)

    def without_texts(self, tokens: Sequence[str]) -> "TextColumn":
        """Return the column with the levels in `tokens` made missing."""
        is_token = pc.is_in(self.levels, value_set=pa.array(tokens, type=pa.string())).to_numpy(zero_copy_only=False)
        if not is_token.any():
            return self
        lookup = np.append(np.where(is_token, -1, np.cumsum(~is_token) - 1), -1).astype(np.int32)
        return replace(self, codes=lookup[self.codes], levels=self.levels.filter(pa.array(~is_token)))

    def only_texts(self, texts: Sequence[str]) -> "TextColumn":
        """Return the column with all levels but `texts` made missing."""
        return self.without_texts(sorted({*self.levels.to_pylist()} - {*texts}))

    def count(self, texts: Sequence[str]) -> int:
        """Return the number of rows with one of these texts."""
        return int(np.isin(self.codes, pc.index_in(pa.array(texts, pa.string()), self.levels).drop_null()).sum())

    def categorical(self) -> "pd.Series":
        """Return the column as a categorical Series of strings, levels sorted."""
        import pandas as pd  # not at the top: score.py runs without pandas

        order = pc.sort_indices(self.levels).to_numpy()
        rank = np.empty(len(order) + 1, dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        rank[-1] = -1
        categories = self.levels.take(pa.array(order)).to_pylist()
        return pd.Series(pd.Categorical.from_codes(rank[self.codes], categories=text_index(categories)), name=self.name)


@dataclass(frozen=True)
class ReadRequest:
    """How a source is read: what all readers of formats need beside its bytes.

    Attributes:
        options: set by the user; those that are None are detected.
        limits: of the table's size, checked while reading.
        stop: ends the reading from another thread.
        expected_names: column names that the caller knows, which help to recognise a row of names.
        known_layout: the layout of an earlier table of the same form.
    """

    options: ReadOptions = DETECTED
    limits: Limits = NO_LIMITS
    stop: StopToken = NEVER
    expected_names: Collection[str] = ()
    known_layout: Layout | None = None


@dataclass(frozen=True)
class RawTable:
    """The result of a format's reader: columns with uninterpreted texts.

    Attributes:
        columns: in order; `TextColumn`s, or `Values` if the source has types.
        options: the layout, given or detected.
        notes: sentences for the user.
        sheets: names of a workbook's sheets.
        head: the unchanged cells of the first row of names, if there is one.
        sort: what is still to be detected: "text" everything, "typed" missing values and dates, "decided" nothing.
        kinds: kinds that the file states beside its names, "target" included.
        is_stacked: whether tables under one another were joined, or totals or tables side by side were dropped.
    """

    columns: Sequence[Any]
    options: ReadOptions
    notes: list[str] = field(default_factory=list)
    sheets: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    sort: str = "typed"
    kinds: Mapping[str, str] = field(default_factory=dict)
    is_stacked: bool = False


def are_few(column: TextColumn, texts: Sequence[str], levels_per_text: int) -> bool:
    """Return whether texts are so few, among levels and among rows, that they are errors in a column of another type.

    `levels_per_text`: the number of other levels that is needed for each of the texts.
    """
    if levels_per_text * len(texts) > len(column.levels) - len(texts):
        return False
    return column.count(texts) <= MAX_STRAY_SHARE * int((column.codes >= 0).sum())


def all_match(levels: pa.Array, pattern: str) -> bool:
    """Return whether a regular expression matches every level.

    Arrow compiles it at every call, which takes up to a millisecond, and a column is matched with twenty forms of
    dates. So the first level is tested first, with an expression cached by Python; mostly it does not match.
    """
    if len(levels) and (first := levels[0].as_py()) is not None and not python_regex(pattern).search(first):
        return False
    return bool(pc.all(pc.match_substring_regex(levels, pattern)).as_py())


@cache
def python_regex(pattern: str) -> re.Pattern[str]:
    """Return an expression for Arrow compiled for Python, which has another escape for character codes."""
    return re.compile(re.sub(r"\\x\{([0-9a-fA-F]{4})\}", r"\\u\1", pattern))


def text_index(levels: Sequence[str]) -> "pd.Index":
    """Return levels as an Index of strings, of dtype object if there are none."""
    import pandas as pd

    return pd.Index(levels) if len(levels) else pd.Index([], dtype=object)


def merge_case(column: TextColumn, *, codes: bool = False) -> tuple[TextColumn, dict[str, str], str]:
    """Merge levels that differ only in upper and lower case or in spaces.

    The commonest spelling is kept. Nothing is merged in a column of very many levels, or if a level has a capital
    within a word ("hId"). Unless `codes` is True, the same holds for columns with single letters other than those of
    `FULL_ANSWERS`, because codes may distinguish "a" from "A".

    Returns:
        The column, the level of each folded text (empty if case may distinguish the column's levels), and a note.
    """
    levels, names = column.levels, column.levels.to_pylist() if len(column.levels) <= MAX_MENDED_LEVELS else []
    keys_by_level = folded(levels).dictionary_encode()
    keys, n_kept = keys_by_level.dictionary.to_pylist(), len(keys_by_level.dictionary)
    short_keys = {key for key in keys if len(key) == 1}
    others_are_answers = set(keys) - short_keys <= {*FULL_ANSWERS}
    are_codes = short_keys and not (short_keys <= ANSWER_LETTERS and others_are_answers)
    if len(names) < len(levels) or (are_codes and not codes):
        return column, {}, ""
    note = ""
    if n_kept < len(levels):
        key_of_level = keys_by_level.indices.to_numpy()
        merged_keys = [key_index for key_index in range(n_kept) if (key_of_level == key_index).sum() > 1]
        genotypes = {
            keys[key_index]
            for key_index in merged_keys
            if len(keys[key_index]) == 2 and (key_of_level == key_index).sum() > 2
        } - SHORT_ANSWERS  # AA, Aa, aa
        if not all(has_usual_capitals(names[i]) for i in np.flatnonzero(np.isin(key_of_level, merged_keys))) or (
            genotypes and not codes
        ):
            return column, {}, ""
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(levels))
        order = np.lexsort((-counts, key_of_level))
        representatives = order[np.searchsorted(key_of_level[order], np.arange(n_kept))]
        examples = [
            f"{', '.join(repr(names[i]) for i in order[key_of_level[order] == key_index])}"
            for key_index in merged_keys[:3]
        ]
        remainder = f" and {len(merged_keys) - 3:,} more" if len(merged_keys) > 3 else ""
        cells_text = f"{int(counts.sum() - counts[representatives].sum()):,} cells"
        note = (
            f"spellings in {column.name!r} that differ in upper and lower case are one level ({cells_text}): "
            f"{'; '.join(examples)}{remainder}"
        )
        codes_of_rows = np.append(key_of_level, -1).astype(np.int32)[column.codes]
        column = TextColumn(column.name, codes_of_rows, levels.take(pa.array(representatives)))
    pairs = zip(keys, column.levels.to_pylist(), strict=True)
    return column, {key: level for key, level in pairs if has_usual_capitals(level)}, note


def mend_bands(column: TextColumn) -> tuple[TextColumn, dict[str, str]]:
    """Restore bands that a spreadsheet converted to dates; return the column, and the band of each such text.

    In 1-5, Jun-25, 26-50 the second level was 6-25; 6-10 may have become 10-Jun or 6-Oct.
    """
    levels = column.levels.to_pylist()
    if not 3 <= len(levels) <= MAX_MENDED_LEVELS or 2 * sum(bool(BAND.match(level)) for level in levels) <= len(levels):
        return column, {}
    bands = {}
    for level in levels:
        if match := DAY.match(level):
            month = MONTH_NAMES[(match["before"] or match["after"]).lower()]
            low, high = sorted((month, int(match["day"] or match["year"])))
            bands[level] = f"{low}-{high}"
    if not bands:
        return column, {}
    mended = pa.array([bands.get(level, level) for level in levels], type=pa.string())
    return TextColumn.from_codes(column.name, column.codes, mended, column.is_number), bands


def variants_note(column: TextColumn, options: ReadOptions) -> str:
    """Return a doubt about rare levels that may be misspellings of common ones; "" without any."""
    levels = column.levels.to_pylist()
    if not 2 < len(levels) <= MAX_VARIANT_LEVELS:
        return ""
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(levels)).tolist()
    rows = dict(zip(levels, counts, strict=True))
    rank = {level: (rows[level], len(level)) for level in levels}
    common_of = {
        rare: common
        for rare in levels
        for common in sorted(levels, key=rank.__getitem__)  # of several the commonest, the last one, is used
        if rank[rare] < rank[common] and _may_be_variant(rare.lower(), common.lower(), rows[common] / rows[rare])
    }
    if not common_of:
        return ""
    for rare, common in common_of.items():  # a level may be a variant of one that is itself a variant
        while common in common_of:
            common = common_of[common]
        common_of[rare] = common
    pairs = [f"{rare!r} ({rows[rare]:,} rows) of {common!r}" for rare, common in common_of.items()]
    examples = ", ".join(pairs[:3]) + (f" and {len(pairs) - 3:,} more" if len(pairs) > 3 else "")
    note = f"in {column.name!r} there may be other spellings: {examples}"
    change = {"columns": {column.name: {"spellings": dict(options.spellings or ()) | common_of}}}
    n_cells = sum(rows[rare] for rare in common_of)
    return DoubtNote.with_doubt(note, DoubtCode.SPELLING, change, [column.name], n_cells, such=examples)


def respell(column: TextColumn, pairs: Sequence[tuple[str, str]]) -> tuple[TextColumn, dict[str, str]]:
    """Return the column with texts replaced by the levels in `pairs`, and the level of each replaced text."""
    spec = ColumnSpec(column.name, column.name, missing=(), spellings=spelling_lookup(pairs))
    texts = spec.rename_levels(column.levels)
    if texts is column.levels:
        return column, {}
    levels = zip(column.levels.to_pylist(), texts.to_pylist(), strict=True)
    respelled = {text: level for text, level in levels if text != level}
    return TextColumn.from_codes(column.name, column.codes, texts, column.is_number), respelled


def fold(text: str) -> str:
    """Return one text in the form of `folded`."""
    folded_text: str = folded(pa.array([text], type=pa.string()))[0].as_py()
    return folded_text


def _may_be_variant(rare: str, common: str, ratio: float) -> bool:
    """Return whether two texts have the same letters and digits, or the rare one is a likely misspelling."""
    letters, common_letters = (MARKS_OF_WRITING.sub("", text) for text in (rare, common))
    if letters == common_letters:
        return any(map(str.isalpha, letters))  # 11.7 is no spelling of 117
    if any(answer in (letters, common_letters) and answer[0] in (letters, common_letters) for answer in FULL_ANSWERS):
        return True
    if (
        ratio < MIN_VARIANT_RATIO
        or re.sub(r"\D", "", letters) != re.sub(r"\D", "", common_letters)
        or letters[:1] != common_letters[:1]
    ):
        return False
    shorter, longer = sorted((len(letters), len(common_letters)))
    return (
        shorter >= 5 and longer - shorter < 2 and SequenceMatcher(None, letters, common_letters).ratio() >= SAME_LETTERS
    )
