"""What the Data page offers to do about a table, each one click away: quartiles, ids taken back, leaks ignored."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.look import PANE_CSS
from alrviz.views.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

MOST = 6


def suggestions(
    dataset: "Dataset", leaks: Sequence[str], ask: Callable[[str, str], None], quartiles_of: str = ""
) -> list[Any]:
    """Return a row for each; `ask` is called with a column's name and the kind it is to have.

    `quartiles_of` is a number that was asked to be the class.
    """
    rows = []
    if quartiles_of:
        text = f"<b>{safe(quartiles_of, 60)}</b> is a measured number. It can be the class if it is cut into four."
        rows.append(_row(text, "Cut into quartiles", ask, quartiles_of, "quartiles"))
    for column in dataset.columns:
        if column.guessed and column.kind == "ignore" and column.why.startswith("an id?"):
            kind = "numeric" if is_number(dataset, column.name) else "categorical"
            text = f"<b>{safe(column.name, 60)}</b> looks like an id and is ignored."
            rows.append(_row(text, "Use it", ask, column.name, kind))
    for name in leaks:
        text = f"<b>{safe(name, 60)}</b> alone tells the class almost without error. Is it the class in other words?"
        rows.append(_row(text, "Ignore it", ask, name, "ignore"))
    if len(rows) > MOST:
        more = f"<span class='quiet'>and {len(rows) - MOST:,} more; change kinds in the grid</span>"
        rows = [*rows[:MOST], pn.pane.HTML(more, stylesheets=[PANE_CSS], margin=0)]
    return rows


def is_number(dataset: "Dataset", name: str) -> bool:
    """Whether a column was read as numbers."""
    return name in dataset.frame and pd.api.types.is_numeric_dtype(dataset.frame[name].dtype)


def _row(text: str, label: str, ask: Callable[[str, str], None], name: str, kind: str) -> Any:
    button = pmui.Button(label=label, variant="outlined", size="small", margin=(0, 0, 0, 12))
    button.on_click(lambda _: ask(name, kind))
    return pn.Row(pn.pane.HTML(f"<p>{text}</p>", stylesheets=[PANE_CSS], margin=(4, 0)), button, margin=(2, 0))
