"""The card about a file that is no table: its first lines, and advice. The notice above the page gives the reason."""

from functools import partial
from types import MappingProxyType

from alrviz.errors import EMPTY_TABLE, FOREIGN_FORMAT, ONE_COLUMN, UNEVEN_LINES, AlrvizError
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import button, card, html
from alrviz.views.core.style import safe

LINES, LONGEST_LINE = 5, 120  # of the file that are shown
_POSSIBLE = MappingProxyType(
    {
        ONE_COLUMN: (
            "If a mark such as ; or a tab stands between the columns, choose it in “How it was read”.",
            "If each line is a text or a single measurement, add columns that describe it: where it is from, how long "
            "it is, whether a word occurs. A class is predicted from other columns.",
        ),
        EMPTY_TABLE: (
            "Save the file with a first line of names, and below it one line for each example.",
            "If the rows are further down, say in “How it was read” how many lines come before the names.",
        ),
        UNEVEN_LINES: (
            "If this is running text, put what you know of each example into a table: a line each, a column for each "
            "property, one of them the class.",
            "If it is a table, choose the mark between its columns in “How it was read”, or leave out there the lines "
            "above and below it.",
        ),
        FOREIGN_FORMAT: (
            "Open it in the program that made it and save the table as CSV or as a workbook (xlsx).",
            "Numbers that are printed in a picture or a PDF have to be typed or copied into a table first.",
        ),
    }
)
_ALWAYS = (
    "A table of rows has a line of names, and below it a line for each example, with as many cells.",
    "Any spreadsheet program can save a table as CSV, which is always read.",
)


class RefusalCard:
    """Shown while the session's latest file is refused; it disappears with the notice that gives the reason."""

    def __init__(self, session: Session):
        self._session = session
        self.text = html((0, 0, 8, 0))
        opened = partial(session.open_drawer, True)
        self.options = button("Say how to read it", opened, icon="tune", variant="outlined", margin=(6, 0, 0, 0))
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
        possible = "".join(f"<li>{safe(sentence, 400)}</li>" for sentence in _POSSIBLE.get(code, _ALWAYS))
        lines = first_lines(refusal.upload.data)
        self.options.visible = lines is not None
        shown = "".join(f"<div>{safe(line, LONGEST_LINE) or '&nbsp;'}</div>" for line in lines or ())
        self.text.object = (
            f"<h1>{safe(refusal.upload.name, 80)} is no table yet</h1><br><p>What would be possible:</p>"
            f"<ul>{possible}</ul>" + (f"<p>The file begins so:</p><code class='scroll'>{shown}</code>" if shown else "")
        )


def first_lines(data: bytes) -> list[str] | None:
    """Return the first lines of a file that is text, else None."""
    head = data[:4_000]
    if not head.strip() or b"\0" in head or head.startswith((b"PK", b"%PDF", b"\x89PNG")):
        return None
    lines = head.decode("utf-8", "replace").splitlines()[:LINES]
    return None if sum(line.count("\ufffd") for line in lines) > len(head) / 10 else lines
