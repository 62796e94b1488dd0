"""The picture of one tuple's cells: bars for one column, heat maps for two or three."""

import numpy as np
import pandas as pd

from alrviz.pictures.interactions import MAX_PANELS, bar_picture, cell_map, opacity, signed_bars
from alrviz.pictures.level_axis import short
from alrviz.pictures.picture import Picture
from alrviz.studies.effects.interactions import Interactions

# Quantities that can be shown of a tuple's cells, by label.
QUANTITIES: dict[str, str] = {
    "pure": "pure",
    "phi": "phi",
    "w": "w",
    "rows": "rows",
    "P(class)": "p",
    "log theta": "theta",
}
SIGNED = ("pure", "phi", "w")


def tuple_effect(
    effects: Interactions, t: int, quantity: str, of: int, against: int, row: int, bands: pd.DataFrame | None = None,
    *, dark: bool = False,
) -> Picture:  # fmt: skip
    """Return the picture of a quantity of the cells of tuple t.

    Args:
        effects: of the model.
        t: the tuple's number.
        quantity: a value of QUANTITIES.
        of, against: numbers of the classes whose log-odds are shown.
        row: number of the row at whose levels further columns than three are fixed.
        bands: `EffectStudy.effects` of the tuple, for whiskers.
        dark: whether the ground is dark.
    """
    labels = [short(str(label)) for label in effects.classes.tolist()]
    words = next(text for text, name in QUANTITIES.items() if name == quantity) + " effect" * (quantity == "pure")
    title = f"{words}: {labels[of]} against {labels[against]}" if quantity in SIGNED else words
    title = f"{words} of {labels[of]}" if quantity in ("p", "theta", "w") else title
    values = effects.quantity(t, quantity, of, against)
    if len(effects.pure.space.members[t]) > 1:
        return _maps(effects, t, values, row, words, title, quantity in SIGNED, dark)
    low, high = (values, values) if bands is None else (bands["low"].to_numpy(), bands["high"].to_numpy())
    codes, rows, names = _cells(effects, t)
    order = np.argsort(codes[:, 0], kind="stable")
    tips = [f"{n_rows:,.0f} rows" for n_rows in rows[order]]
    level_names = [names[0][code] for code in codes[order, 0]]
    bars = signed_bars(level_names, values[order], low[order], high[order], tips, opacity(rows[order]))
    return bar_picture(bars, title, dark=dark, percent=quantity == "p")


def _maps(
    effects: Interactions, t: int, values: np.ndarray, row: int, words: str, title: str, signed: bool, dark: bool
) -> Picture:
    """Return the heat maps of two or three columns; further columns are fixed at the row's levels."""
    members, (codes, rows, names) = effects.pure.space.members[t], _cells(effects, t)
    columns, fixed_columns = [effects.columns[j] for j in members[:3]], members[3:]
    if len(columns) > 2 and len(names[2]) > MAX_PANELS:
        title = f"{title}; {MAX_PANELS} of {len(names[2])} levels of {columns[2]}"
    if len(fixed_columns):
        fixed_text = ", ".join(f"{effects.columns[j]} = {effects.level(j, row)}" for j in fixed_columns)
        title = f"{title}; {fixed_text}, as in row {row}"
    at_row = (codes[:, 3 : len(members)] == effects.encoded.codes[fixed_columns, row]).all(axis=1)
    return cell_map(
        codes[at_row], values[at_row], rows[at_row], names, columns, words, about=title, signed=signed, dark=dark
    )


def _cells(effects: Interactions, t: int) -> tuple[np.ndarray, np.ndarray, list[list[str]]]:
    """Return the codes (S, i) of a tuple's cells, their rows (S,), and the names of each column's levels."""
    pure, members = effects.pure, effects.pure.space.members[t]
    cells = pure.cells_of(t)
    codes = pure.space.codes_of(pure.index.seen_cells[cells])
    names = [effects.labels(j)[: 1 + int(codes[:, k].max(initial=0))] for k, j in enumerate(members)]
    return codes, pure.rows[cells], names
