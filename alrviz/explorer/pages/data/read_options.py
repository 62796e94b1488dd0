"""The drawer of the Data page: how the file was read, and the same to be read otherwise."""

from dataclasses import replace

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.data.limits import size_text
from alrviz.data.options import DECIMALS, DELIMITERS, ENCODINGS, THOUSANDS, ReadOptions
from alrviz.errors import AlrvizError
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import button, html
from alrviz.views.core.style import safe

_DELIMITER_WORDS = {",": "comma ,", ";": "semicolon ;", "\t": "tab", "|": "bar |", " ": "space"}
_MARK_WORDS = {"": "none", ",": "comma ,", ".": "point .", " ": "space", "'": "apostrophe '"}
_EMPTY = "empty"
_OWN = ""  # as a decimal mark: every column has its own
_ORDERS = {"": None, "day": True, "month": False}


def missing_text(tokens: tuple[str, ...]) -> str:
    """Return missing tokens for a text field: separated by spaces, the empty cell as a word."""
    return "  ".join(_EMPTY if token == "" else token for token in tokens)


def missing_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of such a text; an empty cell is always among them."""
    words = ["" if word == _EMPTY else word for word in text.split()]
    return tuple(dict.fromkeys(["", *words]))


class ReadOptionsPanel:
    """Shows what was detected; "read again" applies what was changed."""

    def __init__(self, session: Session):
        self.session = session
        self._shown: dict[str, object] = {}  # what the fields showed before anything was changed
        self._head = html((0, 0, 8, 0))
        wide = {"sizing_mode": "stretch_width", "margin": (8, 0)}
        self.widgets: dict[str, Viewable] = {  # by the option that each shows
            "delimiter": pmui.Select(label="Delimiter", options={}, **wide),
            "encoding": pmui.Select(label="Encoding", options=list(ENCODINGS), **wide),
            "decimal": pmui.Select(
                label="Decimal mark", options={_MARK_WORDS[m]: m for m in DECIMALS} | {"each column's own": _OWN},
                **wide,
            ),
            "thousands": pmui.Select(
                label="Thousands marks", options={_MARK_WORDS[mark]: mark for mark in THOUSANDS}, **wide
            ),
            "dayfirst": pmui.Select(
                label="Order of dates",
                options={"as they look": "", "day first, 31/12/2020": "day", "month first, 12/31/2020": "month"},
                **wide,
            ),
            "missing": pmui.TextInput(
                label="Missing values are written",
                description="Separated by spaces. An empty cell is always missing.",
                **wide,
            ),
            "sheet": pmui.Select(label="Sheet", options=[], **wide),
            "header": pmui.Select(
                label="Rows of names", options={"none": 0, "one": 1, "two": 2, "three": 3}, **wide
            ),
            "skip_rows": pmui.IntInput(label="Lines before the names to leave out", start=0, value=0, **wide),
            "skip_footer": pmui.IntInput(label="Lines behind the table to leave out", start=0, value=0, **wide),
            "comment": pmui.TextInput(label="Lines to leave out begin with", **wide),
            "merge_case": pmui.Checkbox(label="Yes, yes and YES are one level (yES is another)", **wide),
        }  # fmt: skip
        self._again = button("Read the file again", self._reread, variant="contained", margin=(12, 0))
        self._fields = pn.Column(*self.widgets.values(), self._again, sizing_mode="stretch_width", margin=0)
        self.panel = pn.Column(self._head, self._fields, sizing_mode="stretch_width", margin=16)
        session.subscribe(lambda *_: self.show(), ["dataset", "pending", "refusal"])
        self.show()

    def show(self) -> None:
        """Show the options in force."""
        session = self.session
        table = session.table.pending or (session.table.dataset.table if session.table.dataset is not None else None)
        upload, refused = session.table.source.upload, session.table.refusal
        if refused is not None:
            self._fields.visible = True
            self._head.object = f"<h1>How to read it</h1><br><p>Say how {safe(refused.upload.name)} is to be read.</p>"
            self._fill(replace(ReadOptions(delimiter=","), **(refused.upload.options or ReadOptions()).given), ())
            return
        self._fields.visible = upload is not None and table is not None
        if upload is None or table is None:
            what = "A demo set is made, not read. Drop a file of your own"
            if session.table.source.demo is None and table is not None:
                what = "The explorer was started with this table. Drop its file here"
            self._head.object = (
                f"<h1>How it was read</h1><br><p class='quiet'>{what} to see, and to change, how its delimiter, "
                "encoding, numbers and missing values were understood.</p>"
            )
            return
        self._head.object = (
            f"<h1>How it was read</h1><br><p>{safe(upload.name)}, {size_text(len(upload.data))}. This was detected; "
            "change what is wrong and read it again.</p>"
        )
        self._fill(table.options, table.sheets)

    def _fill(self, options: ReadOptions, sheets: tuple[str, ...]) -> None:
        text, book = options.delimiter is not None, options.sheet is not None
        of = self.widgets
        for name in ("delimiter", "encoding", "comment"):
            of[name].visible = text
        for name in ("decimal", "thousands", "header", "skip_rows", "skip_footer"):
            of[name].visible = text or book  # Parquet, ARFF and others carry their own types
        of["sheet"].visible = book
        delimiters = [d for d in (*DELIMITERS, " ", options.delimiter) if d]
        of["delimiter"].options = {_DELIMITER_WORDS.get(d, d): d for d in dict.fromkeys(delimiters)}
        encodings = [*ENCODINGS, *([options.encoding] if options.encoding else [])]
        of["encoding"].options = list(dict.fromkeys(encodings))
        of["sheet"].options = list(sheets)
        self._shown = {
            "delimiter": options.delimiter or ",",
            "encoding": options.encoding or ENCODINGS[0],
            "decimal": options.decimal or _OWN,
            "thousands": options.thousands or "",
            "missing": missing_text(options.missing or ("",)),
            "header": int(options.header if options.header is not None else 1),
            "skip_rows": options.skip_rows or 0,
            "skip_footer": options.skip_footer or 0,
            "comment": options.comment or "",
            "sheet": options.sheet,
            "merge_case": options.merge_case is not False,
            "dayfirst": next(word for word, order in _ORDERS.items() if order is options.dayfirst),
        }
        for name, widget in self.widgets.items():
            if name != "sheet" or book:
                widget.value = self._shown[name]

    def _reread(self) -> None:
        """Read the file again: what was changed holds, now and before; all else is detected anew."""
        refused = self.session.table.refusal
        upload = refused.upload if refused is not None else self.session.table.source.upload
        said = (upload.options if upload is not None else None) or ReadOptions()
        changed = {
            name: widget.value
            for name, widget in self.widgets.items()
            if widget.visible and widget.value != self._shown[name]
        }
        if "missing" in changed:
            changed["missing"] = missing_tokens(changed["missing"])
        if "decimal" in changed:
            changed["decimal"] = changed["decimal"] or None
        if "dayfirst" in changed:
            changed["dayfirst"] = _ORDERS[changed["dayfirst"]]
        try:
            options = replace(said, **changed)
        except AlrvizError as error:
            self.session.problem = error
            return
        self.session.open_drawer(False)
        self.session.table.reread(options, f"read again with {', '.join(sorted(changed))}" if changed else "read again")
