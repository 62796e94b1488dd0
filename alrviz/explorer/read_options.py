"""The drawer of the Data page: how the file was read, and the same to be read otherwise."""

import panel as pn
import panel_material_ui as pmui

from alrviz.data.limits import size_text
from alrviz.data.options import DECIMALS, DELIMITERS, ENCODINGS, THOUSANDS, ReadOptions
from alrviz.errors import AlrvizError
from alrviz.explorer.look import PANE_CSS
from alrviz.explorer.session import Session
from alrviz.views.style import safe

_DELIMITER_WORDS = {",": "comma ,", ";": "semicolon ;", "\t": "tab", "|": "bar |", " ": "space"}
_MARK_WORDS = {"": "none", ",": "comma ,", ".": "point .", " ": "space", "'": "apostrophe '"}
_EMPTY = "empty"
_OWN = ""  # as a decimal mark: every column has its own


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
        self._head = pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=(0, 0, 8, 0))
        wide = {"sizing_mode": "stretch_width", "margin": (8, 0)}
        self._delimiter = pmui.Select(label="Delimiter", options={}, **wide)
        self._encoding = pmui.Select(label="Encoding", options=list(ENCODINGS), **wide)
        self._decimal = pmui.Select(
            label="Decimal mark", options={_MARK_WORDS[m]: m for m in DECIMALS} | {"each column's own": _OWN}, **wide
        )
        self._thousands = pmui.Select(
            label="Thousands marks", options={_MARK_WORDS[mark]: mark for mark in THOUSANDS}, **wide
        )
        self._missing = pmui.TextInput(
            label="Missing values are written",
            description="Separated by spaces. An empty cell is always missing.",
            **wide,
        )
        self._header = pmui.Checkbox(label="The first row holds the names", **wide)
        self._again = pmui.Button(label="Read the file again", variant="contained", margin=(12, 0))
        self._again.on_click(lambda _: self._reread())
        self._fields = pn.Column(
            self._delimiter,
            self._encoding,
            self._decimal,
            self._thousands,
            self._missing,
            self._header,
            self._again,
            sizing_mode="stretch_width",
            margin=0,
        )
        self.panel = pn.Column(self._head, self._fields, sizing_mode="stretch_width", margin=16)
        session.param.watch(lambda *_: self.show(), ["dataset", "pending"])
        self.show()

    def show(self) -> None:
        """Show the options in force."""
        session = self.session
        table = session.pending or (session.dataset.table if session.dataset is not None else None)
        upload = session.upload
        self._fields.visible = upload is not None and table is not None
        if upload is None or table is None:
            self._head.object = (
                "<h1>How it was read</h1><br><p class='quiet'>A demo set is made, not read. Drop a file of your "
                "own to see, "
                "and to change, how its delimiter, encoding, numbers and missing values were understood.</p>"
            )
            return
        self._head.object = (
            f"<h1>How it was read</h1><br><p>{safe(upload.name)}, {size_text(len(upload.data))}. This was detected; "
            "change what is wrong and read it again.</p>"
        )
        self._fill(table.options)

    def _fill(self, options: ReadOptions) -> None:
        delimiters = [d for d in (*DELIMITERS, " ", options.delimiter) if d]
        text = options.delimiter is not None
        for widget in (self._delimiter, self._encoding, self._decimal, self._thousands, self._header):
            widget.visible = text  # Parquet, ARFF and xlsx carry their own types
        self._delimiter.options = {_DELIMITER_WORDS.get(d, d): d for d in dict.fromkeys(delimiters)}
        encodings = [*ENCODINGS, *([options.encoding] if options.encoding else [])]
        self._encoding.options = list(dict.fromkeys(encodings))
        if text:
            self._delimiter.value = options.delimiter
            self._encoding.value = options.encoding or ENCODINGS[0]
            self._decimal.value = options.decimal or _OWN
            self._thousands.value = options.thousands or ""
            self._header.value = options.header is not False
        self._missing.value = missing_text(options.missing or ("",))

    def _reread(self) -> None:
        try:
            missing = missing_tokens(self._missing.value)
            options = ReadOptions(missing=missing)
            if self._delimiter.visible:
                options = ReadOptions(
                    delimiter=self._delimiter.value,
                    encoding=self._encoding.value,
                    decimal=self._decimal.value or None,
                    thousands=self._thousands.value,
                    missing=missing,
                    header=bool(self._header.value),
                )
        except AlrvizError as error:
            self.session.problem = error
            return
        self.session.open_drawer(False)
        self.session.reread(options)
