"""The card about a file that cannot be read: first lines and advice. The notice above it gives the reason."""

from functools import partial
from types import MappingProxyType

from alrviz.errors import EMPTY_TABLE, FOREIGN_FORMAT, ONE_COLUMN, UNEVEN_LINES, AlrvizError
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import button, card, html
from alrviz.views.core.style import safe

MAX_LINES, MAX_LINE_CHARS = 5, 120  # of the file
_ADVICE = MappingProxyType(
    {
        ONE_COLUMN: (
            "If the columns are separated by another character, such as ; or a tab, choose it in “How it was read”.",
            "If each line is a text or a single measurement, add columns that describe it: where it is from, how long "
            "it is, whether a word occurs. A class is predicted from other columns.",
        ),
        EMPTY_TABLE: (
            "Save the file with a first line of column names, and below it one line for each example.",
            "If the rows are further down, say in “How it was read” how many lines come before the names.",
        ),
        UNEVEN_LINES: (
            "If this is running text, put what you know of each example into a table: one line for each example, one "
            "column for each property, one of them the class.",
            "If it is a table, choose its delimiter in “How it was read”, or skip the lines above and below it there.",
        ),
        FOREIGN_FORMAT: (
            "Open it in the program that made it and save the table as CSV or as a workbook (xlsx).",
            "Numbers that are printed in a picture or a PDF have to be typed or copied into a table first.",
        ),
    }
)
_GENERAL_ADVICE = (
    "A table has a line of column names, and below it a line for each example, with as many cells.",
    "Any spreadsheet program can save a table as CSV, which is always read.",
)


class RefusalCard:
    """Shown while the session's latest file is refused; it disappears when the notice is dismissed."""

    def __init__(self, session: Session):
        self._session = session
        self.text = html((0, 0, 8, 0))
        open_options = partial(session.open_drawer, True)
        self.options = button("Say how to read it", open_options, icon="tune", variant="outlined", margin=(6, 0, 0, 0))
        self.panel = card(self.text, self.options, margin=(0, 0, 12, 0), visible=False)
        session.subscribe(lambda *_: self.show(), ["refusal", "problem"])

    def show(self) -> None:
        """Show the file's first lines and advice."""
        refusal = self._session.table.refusal
        self.panel.visible = refusal is not None
        if refusal is None:
            return
        if self._session.problem is not refusal.error:  # the notice was dismissed
            self._session.table.refusal = None
            return
        code = refusal.error.code if isinstance(refusal.error, AlrvizError) else ""
        advice_html = "".join(f"<li>{safe(sentence, 400)}</li>" for sentence in _ADVICE.get(code, _GENERAL_ADVICE))
        lines = first_lines(refusal.upload.data)
        self.options.visible = lines is not None
        lines_html = "".join(f"<div>{safe(line, MAX_LINE_CHARS) or '&nbsp;'}</div>" for line in lines or ())
        self.text.object = (
            f"<h1>{safe(refusal.upload.name, 80)} could not be read as a table</h1><br><p>What you can do:</p>"
            f"<ul>{advice_html}</ul>"
            + (f"<p>First lines of the file:</p><code class='scroll'>{lines_html}</code>" if lines_html else "")
        )


def first_lines(data: bytes) -> list[str] | None:
    """Return the first lines of a text file, None for other files."""
    head = data[:4_000]
    if not head.strip() or b"\0" in head or head.startswith((b"PK", b"%PDF", b"\x89PNG")):
        return None
    lines = head.decode("utf-8", "replace").splitlines()[:MAX_LINES]
    return None if sum(line.count("\ufffd") for line in lines) > len(head) / 10 else lines
