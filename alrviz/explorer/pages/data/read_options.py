"""The drawer of the Data page: the options that the file was read with, to be changed and read again."""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.data.limits import size_text
from alrviz.data.options import DECIMALS, DELIMITERS, ENCODINGS, THOUSANDS, ReadOptions
from alrviz.data.source import tables_of_zip
from alrviz.errors import AlrvizError, TableError
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import button, html
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.table import Table

_DELIMITER_WORDS = {",": "comma ,", ";": "semicolon ;", "\t": "tab", "|": "bar |", " ": "space"}
_MARK_WORDS = {"": "none", ",": "comma ,", ".": "point .", " ": "space", "'": "apostrophe '"}
_EMPTY, QUOTE = "empty", '"'
_NEEDS_QUOTES = re.compile(rf'[,;\n]|^"|^{_EMPTY}$')
_ENTRY = re.compile(r'[^\S\n]*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^",\n][^,\n]*)?)[^\S\n]*(?:[,\n]|\Z)')
_PER_COLUMN = ""  # the decimal mark is detected for each column
_ORDERS = {"": None, "day": True, "month": False}


def missing_text(tokens: Iterable[str]) -> str:
    """Return missing texts for the field: separated by commas, the empty cell as a word, quoted as in CSV."""
    return ", ".join(
        _EMPTY if token == "" else f'"{token.replace(QUOTE, QUOTE * 2)}"' if _NEEDS_QUOTES.search(token) else token
        for token in tokens
    )


def missing_tokens(text: str) -> tuple[str, ...]:
    """Return the missing texts in the field (inverse of `missing_text`); the empty cell is always the first.

    Raises:
        TableError: for an open quotation mark, or a semicolon, which does not separate texts.
    """
    tokens, start = [""], 0
    while start < len(text):
        entry = _ENTRY.match(text, start)
        rest = text[start:].strip()
        if entry is None:
            raise TableError(
                f"the missing text {rest!r} begins with a quotation mark and has none before the next comma; one was "
                'expected, and a quotation mark within a text is doubled ("")'
            )
        quoted, plain = entry["quoted"], (entry["plain"] or "").strip()
        if ";" in plain:
            raise TableError(
                f"the missing text {plain!r} has a semicolon; texts are separated by commas, and a text with a "
                "semicolon of its own is written in quotation marks"
            )
        tokens.append(quoted.replace(QUOTE * 2, QUOTE) if quoted is not None else "" if plain == _EMPTY else plain)
        start = entry.end()
    return tuple(dict.fromkeys(tokens))


def texts_by_column(table: "Table") -> dict[str, tuple[str, ...]]:
    """Return the texts that are missing in single columns, beyond those of the whole table."""
    everywhere = table.options.missing or ("",)
    texts = {c.name: tuple(text for text in c.missing_texts if text not in everywhere) for c in table.values}
    return {name: column_texts for name, column_texts in texts.items() if column_texts}


def change_missing(table: "Table", previous: ReadOptions, tokens: Collection[str]) -> dict[str, Any]:
    """Return the options by which these texts, and no others, are missing.

    A text that was missing in single columns stays so there alone, as it may be a level of others.
    """
    texts, everywhere = texts_by_column(table), table.options.missing or ("",)
    shown = {*everywhere, *(text for column_texts in texts.values() for text in column_texts)}
    new_texts = [token for token in tokens if token not in shown]
    columns = previous.explicit_options.get("columns", {})
    for name in dict.fromkeys((*texts, *(name for name, options in columns.items() if "missing" in options))):
        options = columns.get(name, {})
        candidates = dict.fromkeys((*options.get("missing", everywhere), *texts.get(name, ()), *new_texts))
        columns[name] = {**options, "missing": [text for text in candidates if text in tokens]}
    everywhere_now = tuple(text for text in (*everywhere, *new_texts) if text in tokens)
    return {"missing": everywhere_now, "columns": columns}


class ReadOptionsPanel:
    """Shows the detected options; "Read the file again" applies changes."""

    def __init__(self, session: Session):
        self.session = session
        self._table: Table | None = None  # whose options are shown; None for a refused file
        self._initial: dict[str, object] = {}  # the fields' values before the reader's changes
        self._head = html((0, 0, 8, 0))
        wide_params = {"sizing_mode": "stretch_width", "margin": (8, 0)}
        self.widgets: dict[str, Viewable] = {  # by option
            "delimiter": pmui.Select(label="Delimiter", options={}, **wide_params),
            "encoding": pmui.Select(label="Encoding", options=list(ENCODINGS), **wide_params),
            "decimal": pmui.Select(
                label="Decimal mark",
                options={_MARK_WORDS[m]: m for m in DECIMALS} | {"detected for each column": _PER_COLUMN},
                **wide_params,
            ),
            "thousands": pmui.Select(
                label="Thousands marks", options={_MARK_WORDS[mark]: mark for mark in THOUSANDS}, **wide_params
            ),
            "dayfirst": pmui.Select(
                label="Order of dates",
                options={"as they look": "", "day first, 31/12/2020": "day", "month first, 12/31/2020": "month"},
                **wide_params,
            ),
            "missing": pmui.TextAreaInput(
                label="Missing values are written",
                description="All texts in force, separated by commas or line ends; a text with a comma is written in "
                "quotation marks. A text found in single columns is missing there alone. An empty cell is always "
                "missing.",
                rows=1,
                auto_grow=True,
                **wide_params,
            ),
            "sheet": pmui.Select(label="Sheet", options=[], **wide_params),
            "header": pmui.Select(
                label="Header rows", options={"none": 0, "one": 1, "two": 2, "three": 3}, **wide_params
            ),
            "skip_rows": pmui.IntInput(label="Lines to skip before the header", start=0, value=0, **wide_params),
            "skip_footer": pmui.IntInput(label="Lines to skip after the table", start=0, value=0, **wide_params),
            "comment": pmui.TextInput(label="Comment lines begin with", **wide_params),
            "fill_down": pmui.Checkbox(label="An empty cell has the value above it", **wide_params),
            "merge_case": pmui.Checkbox(label="Yes, yes and YES are one level (yES is another)", **wide_params),
        }  # fmt: skip
        self._read_button = button("Read the file again", self._reread, variant="contained", margin=(12, 0))
        # Panel limits columns to the height of the drawer: the text below would cover the button.
        look = {"sizing_mode": "stretch_width", "styles": {"max-height": "none"}}
        self._fields = pn.Column(*self.widgets.values(), self._read_button, margin=0, **look)
        self.panel = pn.Column(self._head, self._fields, margin=16, **look)
        session.subscribe(lambda *_: self.show(), ["dataset", "pending", "refusal"])
        self.show()

    def show(self) -> None:
        """Show the current options."""
        session = self.session
        table = session.table.pending or (session.table.dataset.table if session.table.dataset is not None else None)
        upload, refusal = session.table.source.upload, session.table.refusal
        self._table = table if refusal is None else None
        if refusal is not None:
            self._fields.visible = True
            self._head.object = f"<h1>How to read it</h1><br><p>Say how {safe(refusal.upload.name)} is to be read.</p>"
            options = replace(ReadOptions(delimiter=","), **(refusal.upload.options or ReadOptions()).explicit_options)
            self._fill_widgets(options, tables_of_zip(refusal.upload.data))
            return
        self._fields.visible = upload is not None and table is not None
        if upload is None or table is None:
            reason = "A demo set is generated, not read. Drop a file of your own"
            if session.table.source.demo is None and table is not None:
                reason = "The explorer was started with this table. Drop its file here"
            self._head.object = (
                f"<h1>How it was read</h1><br><p class='quiet'>{reason} to see and change how its delimiter, encoding, "
                "numbers and missing values were read.</p>"
            )
            return
        self._head.object = (
            f"<h1>How it was read</h1><br><p>{safe(upload.name)}, {size_text(len(upload.data))}. This was detected; "
            "change what is wrong and read it again.</p>"
        )
        self._fill_widgets(table.options, table.sheets or tables_of_zip(upload.data))

    def _fill_widgets(self, options: ReadOptions, sheets: tuple[str, ...]) -> None:
        is_text, is_workbook = options.delimiter is not None, bool(sheets) and options.delimiter is None
        widgets = self.widgets
        for name in ("delimiter", "encoding", "comment"):
            widgets[name].visible = is_text
        for name in ("decimal", "thousands", "header", "skip_rows", "skip_footer", "fill_down"):
            widgets[name].visible = is_text or is_workbook  # the types of Parquet, ARFF and others are known
        widgets["sheet"].visible = bool(sheets)
        delimiters = [d for d in (*DELIMITERS, " ", options.delimiter) if d]
        widgets["delimiter"].options = {_DELIMITER_WORDS.get(d, d): d for d in dict.fromkeys(delimiters)}
        encodings = [*ENCODINGS, *([options.encoding] if options.encoding else [])]
        widgets["encoding"].options = list(dict.fromkeys(encodings))
        widgets["sheet"].options = [*([] if options.sheet in sheets else [""]), *sheets]
        self._initial = {
            "delimiter": options.delimiter or ",",
            "encoding": options.encoding or ENCODINGS[0],
            "decimal": options.decimal or _PER_COLUMN,
            "thousands": options.thousands or "",
            "missing": missing_text(self._missing_shown(options)),
            "header": int(options.header if options.header is not None else 1),
            "skip_rows": options.skip_rows or 0,
            "skip_footer": options.skip_footer or 0,
            "comment": options.comment or "",
            "sheet": options.sheet if options.sheet in sheets else "",
            "fill_down": bool(options.fill_down),
            "merge_case": options.merge_case is not False,
            "dayfirst": next(word for word, order in _ORDERS.items() if order is options.dayfirst),
        }
        for name, widget in self.widgets.items():
            if name != "sheet" or sheets:
                widget.value = self._initial[name]

    def _missing_shown(self, options: ReadOptions) -> tuple[str, ...]:
        """Return all missing texts in force: of the whole table, then those of single columns."""
        texts = {} if self._table is None else texts_by_column(self._table)
        return tuple(dict.fromkeys((*(options.missing or ("",)), *(text for c in texts.values() for text in c))))

    def _reread(self) -> None:
        """Read the file again with all changes so far; other options are detected again."""
        refusal = self.session.table.refusal
        upload = refusal.upload if refusal is not None else self.session.table.source.upload
        previous = (upload.options if upload is not None else None) or ReadOptions()
        changes = {
            name: widget.value
            for name, widget in self.widgets.items()
            if widget.visible and widget.value != self._initial[name]
        }
        words = f"read again with {', '.join(sorted(changes))}" if changes else "read again"
        if "decimal" in changes:
            changes["decimal"] = changes["decimal"] or None
        if "dayfirst" in changes:
            changes["dayfirst"] = _ORDERS[changes["dayfirst"]]
        try:
            if "missing" in changes:
                tokens = missing_tokens(changes["missing"])
                missing = {"missing": tokens} if self._table is None else change_missing(self._table, previous, tokens)
                changes |= missing
            options = replace(previous, **changes)
        except AlrvizError as error:
            self.session.problem = error
            return
        self.session.open_drawer(False)
        self.session.table.reread(options, words)
