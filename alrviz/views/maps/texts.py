"""Texts of a decision map as HTML: its points, the treatment of other columns, classes that never win.

Pure functions of a `Surface`. All names are escaped.
"""

import numpy as np

from alrviz.studies.maps.decision_map import Points, Surface
from alrviz.studies.maps.partial_dependence import MAX_AVERAGED, N_NEAREST
from alrviz.views.core.style import html_table, safe

MAX_ABSENT_CLASSES = 5  # names of classes that win nowhere on a map


def caption_html(surface: Surface, others: str, row: int, n_others: int) -> str:
    """Return the caption of a map.

    others: what the columns on neither axis are: "typical" values, those of "row" number `row`, averaged ("mean"), or
    those of rows "near" the point. n_others: how many these columns are.
    """
    parts = [
        _absent(surface),
        _flat(surface),
        others_words(others, row, n_others),
        _points(surface.points),
        _left_out(surface),
    ]
    parts.append("The background is fainter where the model is less sure.")
    return " ".join(f"<p>{part}</p>" for part in parts if part)


def others_words(others: str, row: int, n_others: int) -> str:
    """Return how the columns on neither axis are treated; "" if there are none."""
    if not n_others:
        return ""
    treatment = {
        "typical": "held at typical values (medians, most frequent levels)",
        "row": f"held at the values of row {row:,}",
        "mean": f"averaged over rows (at most {MAX_AVERAGED}), wherever these lie on the map",
        "near": f"averaged over the {N_NEAREST} nearest rows, weighted by nearness",
    }[others]
    return f"{n_others:,} other column{'s' if n_others > 1 else ''} {treatment}."


def _absent(surface: Surface) -> str:
    absent_classes = surface.absent()
    if not absent_classes:
        return ""
    quantity = "probability" if surface.probability else "score"
    names = [
        f"{safe(name, 60)}" + (f" (its highest {quantity} here is {highest:.3g})" if np.isfinite(highest) else "")
        for name, highest in absent_classes[:MAX_ABSENT_CLASSES]
    ]
    n_more = len(absent_classes) - MAX_ABSENT_CLASSES
    suffix = f" and {n_more:,} more" if n_more > 0 else ""
    return f"<b>Never wins on this map: {', '.join(names)}{suffix}.</b>"


def _flat(surface: Surface) -> str:
    """Return a note about axes along which the model is constant; "" if there are none."""
    values = surface.values
    flat_axis_names = [
        safe(axis.name, 60)
        for axis, lines in ((surface.across, values.swapaxes(0, 1)), (surface.up, values))
        if axis.numeric and np.array_equal(lines, np.broadcast_to(lines[:1], lines.shape), equal_nan=True)
    ]
    if not flat_axis_names:
        return ""
    axis_names = " and ".join(flat_axis_names)
    return f"The model is the same all along {axis_names}: where it cuts numbers into levels, no cut was found there."


def _points(points: Points | None) -> str:
    if points is None:
        return ""
    right = int((points.truth == points.predicted).sum())
    count = len(points.rows)
    rows = f"{count:,} of {points.total:,} rows" if points.thinned else f"{count:,} row{'s' if count != 1 else ''}"
    absent_text = f"; {points.absent:,} without a place on these axes" if points.absent else ""
    shown_text = f"{rows} shown, {right:,} classified correctly{absent_text}"
    return f"Points: outline is the true class, fill the prediction; {shown_text}."


def _left_out(surface: Surface) -> str:
    cut_axes = [axis for axis in (surface.across, surface.up) if axis.left_out]
    return " ".join(
        f"{safe(axis.name, 60)}: the {len(axis.levels)} most frequent of {len(axis.levels) + axis.left_out:,} levels."
        for axis in cut_axes
    )


def numbers_html(surface: Surface) -> str:
    """Return the table of classes: share of the map won, highest value, points."""
    winner, points = surface.winner, surface.points
    highest = dict(surface.absent())
    values = np.concatenate([-surface.values, surface.values], axis=2) if surface.single else surface.values
    lines = []
    for k, name in enumerate(surface.classes):
        top = highest.get(name, float(np.nanmax(values[..., k], initial=-np.inf)))
        cells = [safe(name, 60), f"{100 * float((winner == k).mean()):.1f} %"]
        cells.append(f"{top:.4g}" if np.isfinite(top) else "&ndash;")
        if points is not None:
            is_class = points.truth == k
            cells += [f"{int(is_class.sum()):,}", f"{int((is_class & (points.predicted == k)).sum()):,}"]
        lines.append(cells)
    value_head = "highest probability" if surface.probability else "highest score"
    heads = [
        "class",
        "share of the map",
        value_head,
        *(["points", "classified correctly"] if points is not None else []),
    ]
    return html_table(heads, lines)
