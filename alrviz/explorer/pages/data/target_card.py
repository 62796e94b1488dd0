"""The question "Which column is the class?", asked if no column is a good guess."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
import panel_material_ui as pmui

from alrviz.errors import TableError, for_page
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import button, card, html
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.table import Table


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
        self.quartiles = button("Cut into quartiles", lambda: self._use("quartiles"), **button_params)
        self.target.param.watch(lambda event: self._offer_quartiles(event.new), "value")
        row = pmui.Row(
            self.target,
            button("Use as the class", lambda: self._use("target"), **button_params | {"variant": "contained"}),
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

    def _use(self, kind: str) -> None:
        if self.session.table.pending is not None:
            self.session.table.set_kinds({self.target.value: kind})

    def _offer_quartiles(self, name: str | None) -> None:
        table = self.session.table.pending
        if table is not None and name in table.names:
            series = table.values[table.names.index(name)].series
            self.quartiles.visible = pd.api.types.is_numeric_dtype(series.dtype)
            empty = int(series.isna().sum())
            text = f"{empty:,} of {len(series):,} rows have no value in {safe(name, 60)} and would be left out."
            self.missing_note.object = f"<p>{text}</p>" if empty else ""


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
        return safe(text[:1].upper() + text[1:], 600) + "."
    return "Choose it to continue."
