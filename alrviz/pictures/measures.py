"""Measures of a convergence picture, and the conversion of a trace's frame into points.

A measure names a column for the training rows, one for the test rows, and what they are divided by; an axis names
what the picture counts along. Everything here is data: no figure is needed to know what will be drawn.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# A frame of `Trace.frame`, or its columns by name.
Columns = Mapping[str, Any]

AXES: Mapping[str, tuple[str, str]] = {
    "iterations": ("index", "iterations"),
    "passes": ("passes", "passes over the rows"),
    "seconds": ("seconds", "seconds of solver time"),
}
FIRST_ITERATIONS = 30  # iterations that the span "first" shows
# Spans: how much of the horizontal axis is shown, and on which scale: words in the menu, suffix of the axis's label.
SPANS: Mapping[str, tuple[str, str]] = {
    "all": ("all iterations", ""),
    "first": (f"first {FIRST_ITERATIONS} iterations", f", first {FIRST_ITERATIONS} iterations"),
    "log": ("log scale", ", log scale"),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing to watch.

    words: its name in a menu. axis: label of the vertical axis. train, heldout: columns of the frame, or None.
    per_row: whether the training column is a sum over rows. of_rows: whether it is of training or test rows. log:
    whether its axis is logarithmic. grey: the keys of the levels drawn as grey lines (`Trace.baseline`, milestones),
    with their words.
    """

    words: str
    axis: str
    train: str | None
    heldout: str | None = None
    per_row: bool = False
    of_rows: bool = True
    log: bool = False
    grey: tuple[tuple[str, str], ...] = ()


_SHARES, _ANJE = ("class_shares", "class shares"), ("anje", "AnJE")
_MILESTONES = (("milestone_0", "1 % milestone"), ("milestone_1", "0.1 % milestone"))
_ZERO = (("zero_0", "0.01"), ("zero_1", "0.0001"))
_BASELINES = (("heldout_class_shares", "class shares"), ("heldout_anje", "AnJE"))
MEASURES: Mapping[str, Measure] = {
    "nll": Measure(
        "loss per row", "loss per row (nats)", "nll", "heldout_log_loss", per_row=True, grey=(_SHARES, _ANJE, *_ZERO)
    ),
    "gap": Measure(
        "loss above the lowest",
        "loss above the lowest, per row (nats)",
        "objective",
        per_row=True,
        log=True,
        grey=_MILESTONES,
    ),
    "gradient": Measure("gradient norm", "norm of the gradient", "grad_norm", log=True),
    "heldout": Measure("test log loss", "test log loss per row (nats)", None, "heldout_log_loss", grey=_BASELINES),
    "error": Measure("0-1 loss", "0-1 loss (share of rows wrong)", "train_error", "heldout_error"),
    "rmse": Measure("RMSE", "RMSE of the class probabilities", "train_rmse", "heldout_rmse"),
    "alpha": Measure("penalty of each order", "alpha, the penalty of each order", "alpha", of_rows=False, log=True),
}
ALPHAS = "alpha_"  # begins the columns of a racer that finds its penalties: alpha_1, alpha_2, ...


def is_log(measure: str, to_zero: bool = False) -> bool:
    """Return whether a measure's axis is logarithmic: of gap and gradient always, of NLL if it falls to 0 (to_zero)."""
    return MEASURES[measure].log or (measure == "nll" and to_zero)


def axis_label(measure: str, to_zero: bool = False) -> str:
    """Return the label of a measure's axis, "log" included if it is logarithmic; to_zero: as in `is_log`."""
    return MEASURES[measure].axis + (", log scale" if is_log(measure, to_zero) else "")


def along_label(axis: str, span: str = "all", measure: str = "") -> str:
    """Return the horizontal axis's label, with the part that a span leaves out and whether it is logarithmic.

    axis, span, measure: keys of `AXES`, `SPANS` and `MEASURES`.
    """
    label, suffix = AXES[axis][1], SPANS[span][1]
    if (axis, measure) == ("iterations", "alpha"):
        label = "trials of alpha, then iterations"
    return f"first {FIRST_ITERATIONS} {label}" if (axis, span) == ("iterations", "first") else label + suffix


def first_steps(columns: Columns) -> Columns:
    """The columns of a frame up to iteration `FIRST_ITERATIONS`."""
    n_steps = int(np.searchsorted(np.asarray(columns["index"]), FIRST_ITERATIONS, side="right"))
    return {name: columns[name][:n_steps] for name in columns}


def zero_place(frames: Iterable[Columns], axis: str) -> float | None:
    """Return the position of 0 (iteration 0) on a logarithmic axis of AXES: half of the smallest positive value.

    None where nothing in the frames (a racer's columns each) is 0.
    """
    if axis == "iterations":
        return 0.5
    x = np.concatenate([*(np.asarray(columns[AXES[axis][0]], float) for columns in frames), np.empty(0)])
    if not (x == 0).any():
        return None
    return float(x[x > 0].min() / 2) if (x > 0).any() else 0.5


def values(columns: Columns, measure: str, part: str, rows: float, best: float = 0.0) -> np.ndarray:
    """The vertical coordinates of one line, NaN where there is nothing to draw.

    part: "train" or "heldout". rows: total training weight. best: best known objective, what "gap" is measured from.
    """
    definition = MEASURES[measure]
    column = definition.train if part == "train" else definition.heldout
    if column is None or column not in columns:
        return np.full(len(columns["index"]), np.nan)
    column_values = np.asarray(columns[column], float)
    if measure == "gap":
        column_values = column_values - best
    return column_values / rows if part == "train" and definition.per_row else column_values


def gap_floor(gaps: Iterable[np.ndarray]) -> float | None:
    """Return the position on a logarithmic axis of a gap that equals 0 within rounding; None if no racer has one.

    The best known F is the lowest that was met: it still had something to go, which is missing in the last gaps of the
    racer that met it, and drawn as they are they fall off a cliff. What is missing is estimated by Aitken's
    extrapolation of its last two tenths: no more than F fell in the last of them, which is what is told of a race that
    is young or falls steadily, and no less than half a decade below all other gaps.

    >>> gap_floor([np.array([8.0, 4.0, 2.0, 1.0, 0.0])])  # each gap half of the last: as much again is missing
    1.0
    >>> round(gap_floor([np.array([10.0, 4.9, 0.0])]), 3)
    4.9
    """
    finite_gaps = [gap[np.isfinite(gap)] for gap in gaps]
    closed_gaps = [gap[: int((gap <= 0).argmax()) + 1] for gap in finite_gaps if (gap <= 0).any()]
    if not closed_gaps:
        return None
    all_gaps = np.concatenate(finite_gaps)
    smallest = float(all_gaps[all_gaps > 0].min()) if (all_gaps > 0).any() else 1.0
    return max(smallest / 3, *(_left_to_go(gap) for gap in closed_gaps))


def _left_to_go(gap: np.ndarray) -> float:
    """Estimate how far F would still fall after the last of these gaps, which is 0."""
    tenth_length = max(1, (len(gap) - 1) // 10)
    if len(gap) <= 2 * tenth_length:
        return 0.0
    earlier_fall, fall = float(gap[-1 - 2 * tenth_length] - gap[-1 - tenth_length]), float(gap[-1 - tenth_length])
    return min(fall, fall * fall / (earlier_fall - fall)) if 0 < fall < earlier_fall else max(fall, 0.0)


def points(
    columns: Columns,
    measure: str,
    part: str,
    *,
    axis: str = "iterations",
    rows: float = 1.0,
    best: float = 0.0,
    log: bool = False,
    floor: float | None = None,
    zero: float | None = None,
) -> dict[str, np.ndarray]:
    """Return the points of a line: x, y and the step's index; on a logarithmic axis only those above 0.

    Args:
        columns: of a racer's trace; steps are its "step" if it has one (`RaceReader.curves`), else its "index".
        measure: a key of `MEASURES`.
        part: "train" or "heldout".
        axis: a key of `AXES`.
        rows: total weight of the training rows, by which losses are divided.
        best: the lowest objective, from which gaps are measured.
        log: whether y is logarithmic.
        floor: what lower values are raised to (`gap_floor`); None leaves out what is 0.
        zero: position of x = 0 on a logarithmic axis (`zero_place`).
    """
    x = np.asarray(columns[AXES[axis][0]], float)
    if zero is not None:
        x = np.where(x <= 0, zero, x)
    y = values(columns, measure, part, rows, best)
    if floor is not None:
        y = np.where(y < floor, floor, y)
    drawable = np.isfinite(y) & ((y > 0) if log else True)
    return {"x": x[drawable], "y": y[drawable], "step": np.asarray(columns.get("step", columns["index"]))[drawable]}
