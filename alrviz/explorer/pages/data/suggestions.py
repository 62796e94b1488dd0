"""What the Data page offers to do about a table, each one click away: quartiles, ids taken back, leaks ignored."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import panel as pn
from panel.viewable import Viewable

from alrviz.data.kinds import KindCode
from alrviz.data.target import TargetReason
from alrviz.explorer.shell.theme import PANE_CSS, button
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.options import ReadOptions

MOST = 6
MOST_TARGETS = 3


def suggestions(
    dataset: "Dataset",
    leaks: Sequence[str],
    ask: Callable[[str, str], None],
    quartiles_of: str = "",
    reread: "Callable[[ReadOptions], None] | None" = None,
) -> list[Viewable]:
    """Return a row for each; `ask` is called with a column's name and the kind it is to have.

    `reread` is called with how the file is to be read instead; None where there is no file.
    `quartiles_of` is a number that was asked to be the class.
    """
    rows = []
    if quartiles_of:
        text = f"<b>{safe(quartiles_of, 60)}</b> is a measured number. It can be the class if it is cut into four."
        rows.append(_row(text, "Cut into quartiles", ask, quartiles_of, "quartiles"))
    guessed = any(column.guessed for column in dataset.columns if column.kind == "target")
    if guessed and dataset.table.default_target.reason not in (TargetReason.NAME, TargetReason.STATED):
        others = [choice.name for choice in dataset.table.target_choices if choice.name != dataset.target][
            :MOST_TARGETS
        ]
        if others:
            text = f"<b>{safe(dataset.target, 60)}</b> was taken as the class, {_why(dataset)}. Is it another column?"
            pressed = [(name, _asking(ask, name, "target")) for name in others]
            rows.append(_buttons(text, pressed))
    for token, names in dataset.table.sentinels.items():
        if reread is None:
            break
        text = f"{safe(token)} in <b>{safe(', '.join(names), 60)}</b> may stand for a missing value."
        rows.append(_buttons(text, [("Read it as missing", _rereading(reread, dataset.options, token))]))
    for column in dataset.columns:
        if column.guessed and column.code in (KindCode.ID, KindCode.TEXT_ID):
            kind = "numeric" if is_number(dataset, column.name) else "categorical"
            what = "an id or free text" if column.code is KindCode.TEXT_ID else "an id"
            text = f"<b>{safe(column.name, 60)}</b> looks like {what} and is ignored."
            rows.append(_row(text, "Use it", ask, column.name, kind))
        elif column.guessed and column.code is KindCode.MAYBE_ID:
            text = f"<b>{safe(column.name, 60)}</b> has different numbers of as many digits, as an id has."
            rows.append(_row(text, "Ignore it", ask, column.name, "ignore"))
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


def _why(dataset: "Dataset") -> str:
    choice = dataset.table.default_target
    return f"as it {'is' if choice.reason is TargetReason.LAST else 'has'} {choice.why}"


def _asking(ask: Callable[[str, str], None], name: str, kind: str) -> Callable[[], None]:
    return lambda: ask(name, kind)


def _rereading(reread: "Callable[[ReadOptions], None]", options: "ReadOptions", token: str) -> Callable[[], None]:
    return lambda: reread(replace(options, missing=(*(options.missing or ("",)), token)))


def _row(text: str, label: str, ask: Callable[[str, str], None], name: str, kind: str) -> Viewable:
    return _buttons(text, [(label, _asking(ask, name, kind))])


def _buttons(text: str, pressed: Sequence[tuple[str, Callable[[], None]]]) -> Viewable:
    row = pn.Row(pn.pane.HTML(f"<p>{text}</p>", stylesheets=[PANE_CSS], margin=(4, 0)), margin=(2, 0))
    for label, work in pressed:
        row.append(button(label[:40], work, variant="outlined", size="small", margin=(0, 0, 0, 12)))
    return row
