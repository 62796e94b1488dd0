"""Where the winning class changes on a map: smooth lines between two scales, edges of cells where there are levels.

Between two scales the line of class k is the zero level of (its value - the highest other value), found by linear
interpolation between the places asked. Of C classes C - 1 such fields hold every boundary. A model that cuts numbers
into levels has values in steps, between which nothing can be interpolated: its lines are edges of cells too, where the
colours change.
"""

from typing import Any

import numpy as np
from contourpy import contour_generator
from numpy.typing import NDArray

from alrviz.studies.maps.decision_map import Surface

Lines = dict[str, list[NDArray[np.float64]]]


def boundary(surface: Surface) -> Lines:
    """Return the boundaries as the columns of a source of lines: xs and ys, an array of positions per line."""
    if surface.across.numeric and surface.up.numeric and not _in_steps(surface):
        return _contours(surface)
    return _edges(surface)


def _in_steps(surface: Surface) -> bool:
    """Whether most boundaries are jumps from one run of equal values to another."""
    crossings = jumps = 0
    for values, winner in (
        (surface.values, surface.winner), (surface.values.swapaxes(0, 1), surface.winner.T)
    ):  # fmt: skip
        same = (values[1:] == values[:-1]).all(axis=2)
        differ = (winner[1:] != winner[:-1])[1:-1]
        crossings += int(differ.sum())
        jumps += int((differ & same[:-2] & same[2:]).sum())
    return 2 * jumps > crossings


def _contours(surface: Surface) -> Lines:
    rows, columns, _ = surface.values.shape
    x, y = surface.across.centres(columns), surface.up.centres(rows)
    lines: list[Any] = [line for field in _fields(surface) for line in contour_generator(x, y, field).lines(0.0)]
    return {"xs": [line[:, 0] for line in lines], "ys": [line[:, 1] for line in lines]}


def _fields(surface: Surface) -> list[Any]:
    """What is 0 on boundaries; places where the model says nothing are masked."""
    values = surface.values.astype(np.float64)
    silent = surface.winner < 0
    if surface.single:
        return [np.ma.array(values[..., 0], mask=silent)]
    won = np.unique(surface.winner[~silent])
    fields = []
    for k in won[:-1]:
        others = np.delete(values, k, axis=2).max(axis=2)
        with np.errstate(invalid="ignore"):
            field = values[..., k] - others
        fields.append(np.ma.array(np.nan_to_num(field, posinf=1e300, neginf=-1e300), mask=silent))
    return fields


def _edges(surface: Surface) -> Lines:
    winner = surface.winner
    rows, columns = winner.shape
    x = np.linspace(surface.across.low, surface.across.high, columns + 1)
    y = np.linspace(surface.up.low, surface.up.high, rows + 1)
    upright = [
        (x[[j + 1, j + 1]], y[[a, b]]) for j in range(columns - 1) for a, b in _runs(winner[:, j], winner[:, j + 1])
    ]
    level = [(x[[a, b]], y[[i + 1, i + 1]]) for i in range(rows - 1) for a, b in _runs(winner[i], winner[i + 1])]
    lines = upright + level
    return {"xs": [line[0] for line in lines], "ys": [line[1] for line in lines]}


def _runs(one: NDArray[np.intp], other: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Stretches (first, end) in which neighbouring rows of cells are won by different classes."""
    differ = np.concatenate([[False], one != other, [False]])
    turns = np.flatnonzero(differ[1:] != differ[:-1])
    return list(zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True))
