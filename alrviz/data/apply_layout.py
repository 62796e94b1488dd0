"""Find the table in a new file by the layout of an earlier one.

The layout of the spec is tried first, and fits if the columns' names are found. Otherwise (no title lines this time,
commas instead of semicolons) the layout is detected, and a note reports it. Part of score.py in every model file.
"""

import codecs
from collections.abc import Callable
from dataclasses import replace

from alrviz.data.doubts import DoubtCode, NoteCode, notes_about
from alrviz.data.long_form import pivot
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import LAYOUT_OPTIONS, Layout, ParseSpec
from alrviz.data.text import Buffer, RawTable, ReadRequest
from alrviz.errors import AlrvizError, TableError

_UTF8 = ("utf-8", "utf-8-sig", "ascii")
# Notes on the file's rows, which are passed on; others are about its layout.
_ROW_CODES: set[NoteCode | DoubtCode] = {
    *(NoteCode.LEFT_OUT, NoteCode.STACKED, NoteCode.STRAY_BYTES, NoteCode.FORMULAS, NoteCode.OPEN_QUOTES),
    *(NoteCode.UNEVEN_ROWS, NoteCode.PAGES, DoubtCode.ENCODING),
}


def apply_layout(
    data: Buffer, spec: ParseSpec, request: ReadRequest, read: Callable[[Buffer, ReadRequest], RawTable]
) -> RawTable:
    """Return the columns of a file, unpacked, in the spec's layout; if that does not fit, in the detected layout.

    The options of `request` take precedence over the spec's. Notes are those on the file's rows, and on its layout if
    that differs.

    Raises:
        TableError: the file is no table in any of these layouts.
    """
    layout, sources = spec.layout, set(spec.sources)
    first_error: TableError | None = None
    first_table: RawTable | None = None
    for options, is_spec_layout in _candidates(layout, request.options, _encoding(data, layout)).items():
        try:
            attempt = replace(request, options=options, known_layout=layout)
            raw = pivot(read(data, attempt), attempt)
        except TableError as error:
            first_error = first_error or error
            continue
        names = {column.name for column in raw.columns}
        matches_by_position = layout.is_unnamed and not options.header
        if sources <= names and (not matches_by_position or len(names) == len(layout.names)):
            changes = [] if is_spec_layout or not layout.is_text else [_changes_note(layout, raw.options)]
            return replace(raw, notes=[*changes, *notes_about(raw.notes, _ROW_CODES)])
        first_table = first_table or raw
    if first_table is None:
        raise first_error or AlrvizError("the table cannot be read")
    if layout.is_unnamed and len(first_table.columns) != len(layout.names):
        raise TableError(
            f"the rows have {len(first_table.columns)} columns, and the table that the model learned from, without "
            f"names, has {len(layout.names)}; a file like it was expected"
        )
    return first_table


def _encoding(data: Buffer, layout: Layout) -> str | None:
    """Return the spec's encoding; None to detect it, which is reliable for UTF-8 and UTF-16."""
    if "encoding" in layout.fixed or layout.encoding in (None, *_UTF8):
        return layout.encoding if "encoding" in layout.fixed else None
    try:
        codecs.utf_8_decode(data, "strict", True)
        return None
    except UnicodeError:
        return None if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else layout.encoding


def _candidates(layout: Layout, overrides: ReadOptions, encoding: str | None) -> dict[ReadOptions, bool]:
    """Return the options to try, in order, each with whether they are the spec's layout."""
    options = replace(
        ReadOptions(**{name: getattr(layout, name) for name in LAYOUT_OPTIONS}),
        encoding=encoding,
        header=layout.header or not layout.is_unnamed,
        # A footer is detected again if the earlier table had one, as this file may have none.
        skip_footer=layout.skip_footer if "skip_footer" in layout.fixed or not layout.skip_footer else None,
    )
    attempts = [(True, options), (True, replace(options, skip_rows=0)), (True, replace(options, skip_rows=None))]
    attempts += [(False, replace(options, sheet=None)), (False, ReadOptions(header=True))]
    if layout.is_unnamed:  # numbered names are in no file, so title lines cannot be recognised by them
        named_options = ReadOptions(delimiter=options.delimiter, header=True, sheet=options.sheet)
        skip = layout.skip_rows if "skip_rows" in layout.fixed else None if layout.skip_rows else 0
        attempts = [(True, named_options), (True, replace(options, skip_rows=skip)), (False, ReadOptions(header=False))]
    candidates: dict[ReadOptions, bool] = {}
    for as_before, options in attempts:
        change = {"long_form": layout.long_form, **overrides.explicit_options}
        candidates.setdefault(options.with_change(change), as_before)
    return candidates


def _changes_note(layout: Layout, options: ReadOptions) -> str:
    """Return the note on a layout that differs from the spec's, with the different options."""
    changes = [
        f"{name.replace('_', ' ')} {value!r}, not {expected_value!r}"
        for name in LAYOUT_OPTIONS
        if (value := getattr(options, name)) not in (None, expected_value := getattr(layout, name))
        and expected_value is not None
    ]
    return "the rows are laid out in another way than the table that the model learned from" + (
        f" ({'; '.join(changes)})" if changes else ""
    )
