"""Options of reading a table, which the reader detects and shows, and the user can set."""

import codecs
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from alrviz.errors import TableError, nearest

DELIMITERS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
THOUSANDS = ("", ",", ".", " ", "'")
MAX_NAME_ROWS = 3  # rows of names
OF_COLUMNS = ("missing", "dayfirst", "pivot", "spellings", "fill_down", "numbers")  # that a single column may have
ENCODINGS = (
    "utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1", "cp1251", "koi8_r", "cp1253", "shift_jis", "euc_jp", "gb18030",
    "big5", "euc_kr", "utf-8-cp1252",
)  # fmt: skip
MIXED = "utf-8-cp1252"  # UTF-8 with stray bytes of cp1252, as in concatenated files
# Texts that are missing in any column: what people, R, pandas, databases and spreadsheets write.
MISSING = (
    *("", "?", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "Null", "-"),
    *("#N/A", "#NA", "#VALUE!", "#DIV/0!", "#REF!", "#NAME?", "#NUM!", "<NA>", "NaT", "(null)", "\\N", "n.a.", "N.A."),
    *("k.A.", "./.", ".|."),
)
# Texts that are missing among numbers and dates; among words they may be a level ("none", "mild", "severe").
DOUBTFUL = (
    *("-", "--", "---", ".", "..", "*", "None", "none", "NONE", "nil", "Nil", "NIL", "na", "Na", "N/a"),
    *("\u2013", "\u2014", "missing", "Missing", "unknown", "Unknown", "UNKNOWN", "not available", "Not available"),
    *("Not Available", "not reported", "Not reported", "unbekannt", "keine Angabe", "refused", "Refused"),
    *("not asked", "Not asked", "n.d.", "N.D.", "n/d", "N/D", "nd", "ND", "n.b.", "н/д"),
)
CERTAIN = tuple(token for token in MISSING if token not in DOUBTFUL)


@dataclass(frozen=True)
class ReadOptions:
    r"""How text is read as a table; None means: detect it. `Dataset.options` has the options in force, detected ones
    included.

    Formats with types use only `missing`, `merge_case` and, for texts, `dayfirst`.

    Attributes:
        delimiter: one character.
        encoding: one of Python's names; or "utf-8-cp1252", UTF-8 in which invalid bytes are read as cp1252.
        decimal: "." or ","; in `Dataset.options` None if columns have different ones.
        thousands: "" (no marks), ",", ".", " " or "'".
        missing: texts that stand for a missing value, in addition to the empty cell.
        header: whether the first row has the names, or the number of rows of names (0 to 3).
        skip_rows, skip_footer: numbers of lines before the names and behind the table that are no part of it.
        comment: the mark with which comment lines begin; "" for none.
        sheet: the name of a workbook's sheet, or its number from 1 (also as a text, unless a sheet has that name); of a
            zip archive of several tables the name of one.
        merge_case: whether spellings that differ only in upper and lower case are one level. Default: yes, except
            with a capital within a word, as in the code gOLD, and in columns with single letters; True merges these,
            too.
        dayfirst: the order of ambiguous dates: True makes 5/6/2020 the 5th of June, False the 6th of May. Default: as
            another date of the column shows, else as the decimal mark or the delimiter suggests.
        pivot: two-digit years below it are of this century, others of the last (0 to 100).
        spellings: the level of which a text is another spelling, as in {"femal": "female"}.
        fill_down: whether an empty cell has the value above it, as with labels in the first row of a group alone.
        numbers: True if texts with an annotation beside a number are that number: flags (0.2 p), footnotes (8.1[1]),
            remarks in brackets (3,720 (46 %)), limits (<5). Texts without a number are missing then.
        long_form: columns of a table in long form, to read it with a row for each case: those that number the cases,
            that of the parameters and that of the values, as in ("patient", "test", "value").
        columns: options of single columns, in place of the table's: `missing`, `dayfirst`, `pivot`, `spellings`,
            `fill_down` and `numbers`, as in {"born": {"pivot": 0}}.

    >>> import alrviz, io
    >>> file = io.StringIO("size;class\n1,5;no\n2,5;yes\n3,5;no")
    >>> alrviz.read_table(file, "class", options=alrviz.ReadOptions(decimal=",")).frame["size"].tolist()
    [1.5, 2.5, 3.5]
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] | None = None
    header: bool | int | None = None
    skip_rows: int | None = None
    skip_footer: int | None = None
    comment: str | None = None
    sheet: str | int | None = None
    merge_case: bool | None = None
    dayfirst: bool | None = None
    pivot: int | None = None
    spellings: Any = None  # given as a mapping, kept as pairs of text and level, so that options can be hashed
    fill_down: bool | None = None
    numbers: bool | None = None
    long_form: tuple[str, ...] | None = None
    columns: Any = ()  # given as a mapping, kept as pairs of name and ReadOptions, so that options can be hashed

    @property
    def fills_down(self) -> bool:
        """Whether `fill_down` is said of the table or of a column."""
        return bool(self.fill_down or any(column.fill_down for _, column in self.columns))

    @property
    def explicit_options(self) -> dict[str, Any]:
        """The options that are not None, by name, as JSON values."""
        value_by_name = {option.name: getattr(self, option.name) for option in fields(self)}
        value_by_name["missing"] = None if self.missing is None else list(self.missing)
        value_by_name["long_form"] = None if self.long_form is None else list(self.long_form)
        value_by_name["spellings"] = None if self.spellings is None else dict(self.spellings)
        value_by_name["columns"] = {
            name: column_options.explicit_options for name, column_options in self.columns
        } or None
        return {name: value for name, value in value_by_name.items() if value is not None}

    def for_column(self, name: str) -> "ReadOptions":
        """Return the options of one column, which take precedence over the table's."""
        options = dict(self.columns).get(name)
        return self if options is None else replace(self, **options.explicit_options)

    def notes_on_columns(self, names: Collection[str]) -> list[str]:
        """Return a note for each column with options that is not among the table's."""
        return [
            f"options were given for the column {column!r}, and there is none{nearest(column, names)}"
            for column, _ in self.columns
            if column not in names
        ]

    def with_change(self, change: Mapping[str, Any]) -> "ReadOptions":
        """Return these options with the fields of a `Doubt.change` replaced, for single columns field by field.

        Texts that a change adds to the missing ones of a column, or removes (see `missing_change`), keep the effects of
        earlier changes, so that several doubts about a column may be accepted in any order.
        """
        columns = self.explicit_options.get("columns", {})
        changed_columns = {}
        for name, values in change.get("columns", {}).items():
            column = columns.get(name, {})
            changed_columns[name] = column | values
            if isinstance(edit := values.get("missing"), Mapping):
                texts = [*column.get("missing", edit["usual"]), *edit["add"]]
                changed_columns[name]["missing"] = [text for text in texts if text not in edit["remove"]]
        return ReadOptions(**{**self.explicit_options, **change, "columns": columns | changed_columns})

    def __post_init__(self) -> None:
        if isinstance(self.missing, str):
            raise TableError(
                f"missing is a text, {self.missing!r}; a tuple of texts was expected, such as ({self.missing!r},)"
            )
        if isinstance(self.missing, Mapping):
            raise TableError(
                f"missing is {dict(self.missing)!r}; a tuple of texts was expected: a doubt's change is accepted by "
                "ReadOptions().with_change(doubt.change)"
            )
        if self.missing is not None:
            tokens = dict.fromkeys(("", *(str(token).strip() for token in self.missing)))
            object.__setattr__(self, "missing", tuple(tokens))
        if self.long_form is not None:
            object.__setattr__(self, "long_form", tuple(self.long_form))
        if self.spellings is not None:
            pairs = self.spellings.items() if isinstance(self.spellings, Mapping) else self.spellings
            object.__setattr__(self, "spellings", tuple((str(text), str(level)) for text, level in pairs))
        pairs = self.columns.items() if isinstance(self.columns, Mapping) else self.columns
        columns = {str(name): v.explicit_options if isinstance(v, ReadOptions) else v for name, v in pairs}
        for name, values in columns.items():
            if invalid := [key for key in values if key not in OF_COLUMNS]:
                raise TableError(
                    f"{invalid[0]!r} cannot be said of column {name!r} alone; {', '.join(OF_COLUMNS)} can"
                    f"{nearest(invalid[0], OF_COLUMNS)}"
                )
        object.__setattr__(self, "columns", tuple((name, ReadOptions(**values)) for name, values in columns.items()))
        for option, (is_valid, valid_values) in _CHECKS.items():
            value = getattr(self, option)
            if value is not None and not is_valid(value):
                suggestion = nearest(value, ENCODINGS) if option == "encoding" else ""
                raise TableError(f"{option} is {value!r}; {valid_values} was expected{suggestion}")
        if self.decimal is not None and self.decimal == self.thousands:
            raise TableError(f"decimal and thousands are both {self.decimal!r}; they must differ")


def missing_change(
    usual_by_column: Mapping[str, Collection[str]], add: Collection[str] = (), remove: Collection[str] = ()
) -> dict[str, Any]:
    """Return the change for `ReadOptions.with_change` that adds or removes missing texts of single columns.

    `usual_by_column` are the texts that are missing now, for columns whose options do not say which are.
    """
    edit = {"add": list(add), "remove": list(remove)}
    return {"columns": {name: {"missing": {"usual": list(usual), **edit}} for name, usual in usual_by_column.items()}}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _is_long_form(names: Any) -> bool:
    is_list = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    return is_list and len(set(names)) == len(names) > 2


def _is_encoding(name: str) -> bool:
    """Return whether Python knows an encoding of text of this name."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        return False
    return True


_FLAGS = (True, False)
# For each option whether a value is valid, and what is expected.
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "delimiter": (
        lambda mark: len(mark) == 1 and mark.isascii() and mark not in '"\r\n\0',
        f"one ASCII character, such as {', '.join(map(repr, DELIMITERS))},",
    ),
    "decimal": (DECIMALS.__contains__, f"one of {', '.join(map(repr, DECIMALS))}"),
    "thousands": (THOUSANDS.__contains__, f"one of {', '.join(map(repr, THOUSANDS))}"),
    "skip_rows": (_is_count, "a whole number from 0"),
    "skip_footer": (_is_count, "a whole number from 0"),
    "header": (lambda count: _is_count(count) and count <= MAX_NAME_ROWS, f"a whole number from 0 to {MAX_NAME_ROWS}"),
    "comment": (lambda mark: len(mark) <= 8 and "\n" not in mark, "what a line begins with, such as '#',"),
    "pivot": (range(101).__contains__, "a whole number from 0 to 100"),
    **dict.fromkeys(("dayfirst", "merge_case", "fill_down"), (_FLAGS.__contains__, "True, False or None (detect it)")),
    "numbers": (_FLAGS.__contains__, "True or False"),
    "long_form": (_is_long_form, "names of columns, such as ('patient', 'test', 'value'): cases, parameter, value,"),
    "encoding": (_is_encoding, f"an encoding of text, such as {', '.join(ENCODINGS)},"),
}


def _decode_stray_bytes(error: Any) -> tuple[str, int]:
    """Handle a decoding error: return invalid UTF-8 as cp1252, and the position from which to continue."""
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != MIXED:
        return None
    utf8, decoder = codecs.lookup("utf-8"), codecs.getincrementaldecoder("utf-8")
    mixed_decoder: Any = lambda errors="strict": decoder(MIXED)  # noqa: E731 - the codec expects a class
    return codecs.CodecInfo(utf8.encode, utf8.decode, name=MIXED, incrementaldecoder=mixed_decoder)


codecs.register_error(MIXED, _decode_stray_bytes)
codecs.register(_find_codec)
