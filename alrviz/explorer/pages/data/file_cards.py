"""The cards about a file that is no data set yet: which column is the class, and why it could not be read."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd
import panel_material_ui as pmui

from alrviz.data.source import tables_of_zip
from alrviz.errors import (
    EMPTY_TABLE,
    FOREIGN_FORMAT,
    ONE_COLUMN,
    UNEVEN_LINES,
    AlrvizError,
    TableError,
    capitalize,
    for_page,
)
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import button, card, html
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.table import Table

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


class TargetCard:
    """Asks for the class of the session's pending table.

    Args:
        session: the visitor's.
        demos: called by the button "Demo sets".
    """

    def __init__(self, session: Session, demos: Callable[[], None]):
        self.session = session
        self.text = html((0, 0, 8, 0))
        self.target = pmui.Select(label="The class", options=[], width=320, margin=(0, 12, 0, 0))
        button_params = {"variant": "outlined", "margin": (6, 12, 0, 0)}
        self.quartiles = button("Cut into quartiles", lambda: self._use_column("quartiles"), **button_params)
        self.target.param.watch(lambda event: self._offer_quartiles(event.new), "value")
        row = pmui.Row(
            self.target,
            button("Use as the class", lambda: self._use_column("target"), **button_params | {"variant": "contained"}),
            self.quartiles,
            button("Cancel", session.table.discard_pending, **button_params),
            button("Demo sets", demos, **button_params),
            margin=0,
        )
        self.missing_note = html((4, 0, 0, 0))
        self.panel = card(self.text, row, self.missing_note, margin=(0, 0, 12, 0))

    def ask(self, table: "Table") -> None:
        """Ask about this table."""
        self.text.object = (
            f"<h1>Which column is the class?</h1><br><p>{safe(table.name, 80)} was read: {table.n_rows:,} rows and "
            f"{len(table.names):,} columns. {why_no_class(table)}</p>"
        )
        target = table.default_target.name
        likely_names = [choice.name for choice in table.target_choices]
        other_names = [name for name in table.names if name not in likely_names]
        self.target.param.update(options=[*likely_names, *other_names], value=target)
        self._offer_quartiles(target)

    def _use_column(self, kind: str) -> None:
        if self.session.table.pending is not None:
            self.session.table.changes.set_kinds({self.target.value: kind})

    def _offer_quartiles(self, name: str | None) -> None:
        """Offer to cut a numeric column into quartiles, and warn of its missing values."""
        table = self.session.table.pending
        if table is not None and name in table.names:
            series = table.values[table.names.index(name)].series
            self.quartiles.visible = pd.api.types.is_numeric_dtype(series.dtype)
            empty = int(series.isna().sum())
            empty_text = f"{empty:,} of {len(series):,} rows have no value in {safe(name, 60)} and would be left out."
            self.missing_note.object = f"<p>{empty_text}</p>" if empty else ""


def why_no_class(table: "Table") -> str:
    """Return as HTML why the most likely column cannot be the class."""
    from alrviz.data.dataset import dataset_of

    name, reason = table.default_target.name, table.default_target.why
    try:
        dataset_of(table, name)
    except TableError as error:
        series = table.values[table.names.index(name)].series
        if pd.api.types.is_numeric_dtype(series.dtype) and series.nunique() > 1:
            return (
                f"{safe(name, 60)}, {reason}, holds {series.nunique():,} different numbers, too many to be classes. "
                "Choose another column, or cut this one into quartiles: four classes of equal size."
            )
        text = for_page(error)
        return safe(capitalize(text), 600) + "."
    return "Choose it to continue."


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
        """Show the refused file's first lines and advice; hide the card if there is none, or its notice was closed."""
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
        self.options.visible = lines is not None or bool(tables_of_zip(refusal.upload.data))
        lines_html = "".join(f"<div>{safe(line, MAX_LINE_CHARS) or '&nbsp;'}</div>" for line in lines or ())
        self.text.object = (
            f"<h1>{safe(refusal.upload.name, 80)} could not be read as a table</h1><br><p>What you can do:</p>"
            f"<ul>{advice_html}</ul>"
            + (f"<p>First lines of the file:</p><code class='scroll'>{lines_html}</code>" if lines_html else "")
        )


def first_lines(data: bytes) -> list[str] | None:
    """Return the first lines of a text file, None for other files."""
    first_bytes = data[:4_000]
    if not first_bytes.strip() or b"\0" in first_bytes or first_bytes.startswith((b"PK", b"%PDF", b"\x89PNG")):
        return None
    lines = first_bytes.decode("utf-8", "replace").splitlines()[:MAX_LINES]
    return None if sum(line.count("\ufffd") for line in lines) > len(first_bytes) / 10 else lines
