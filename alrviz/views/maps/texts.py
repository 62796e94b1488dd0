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
    sentences = [
        _absent_html(surface),
        _flat_axes_note(surface),
        others_words(others, row, n_others),
        _points_text(surface.points),
        _left_out_levels_text(surface),
    ]
    sentences.append("The background is fainter where the model is less sure.")
    return " ".join(f"<p>{sentence}</p>" for sentence in sentences if sentence)


def others_words(others: str, row: int, n_others: int) -> str:
    """Return how the n_others columns on neither axis are treated; "" if there are none.

    others: "typical", "row", "mean" or "near"; row: whose values they have, for "row".
    """
    if not n_others:
        return ""
    treatment = {
        "typical": "held at typical values (medians, most frequent levels)",
        "row": f"held at the values of row {row:,}",
        "mean": f"averaged over rows (at most {MAX_AVERAGED}), wherever these lie on the map",
        "near": f"averaged over the {N_NEAREST} nearest rows, weighted by nearness",
    }[others]
    return f"{n_others:,} other column{'s' if n_others > 1 else ''} {treatment}."


def _absent_html(surface: Surface) -> str:
    """Return a sentence on the classes that win nowhere on the map, each with its highest value; "" without any."""
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


def _flat_axes_note(surface: Surface) -> str:
    """Return a note about axes along which the model is constant; "" if there are none."""
    surface_values = surface.values
    flat_axis_names = [
        safe(axis.name, 60)
        for axis, lines in ((surface.across, surface_values.swapaxes(0, 1)), (surface.up, surface_values))
        if axis.numeric and np.array_equal(lines, np.broadcast_to(lines[:1], lines.shape), equal_nan=True)
    ]
    if not flat_axis_names:
        return ""
    axis_names = " and ".join(flat_axis_names)
    return f"The model is the same all along {axis_names}: where it cuts numbers into levels, no cut was found there."


def _points_text(points: Points | None) -> str:
    """Return a sentence on the points drawn: how many of the table's rows, and how many are classified correctly."""
    if points is None:
        return ""
    n_right = int((points.truth == points.predicted).sum())
    count = len(points.rows)
    rows_text = f"{count:,} of {points.total:,} rows" if points.thinned else f"{count:,} row{'s' if count != 1 else ''}"
    absent_text = f"; {points.absent:,} without a place on these axes" if points.absent else ""
    shown_text = f"{rows_text} shown, {n_right:,} classified correctly{absent_text}"
    return f"Points: outline is the true class, fill the prediction; {shown_text}."


def _left_out_levels_text(surface: Surface) -> str:
    cut_axes = [axis for axis in (surface.across, surface.up) if axis.left_out]
    return " ".join(
        f"{safe(axis.name, 60)}: the {len(axis.levels)} most frequent of {len(axis.levels) + axis.left_out:,} levels."
        for axis in cut_axes
    )


def numbers_html(surface: Surface) -> str:
    """Return the table of classes: share of the map won, highest value, points."""
    winner, points = surface.winner, surface.points
    highest_by_class = dict(surface.absent())
    class_values = np.concatenate([-surface.values, surface.values], axis=2) if surface.single else surface.values
    table_rows = []
    for class_index, name in enumerate(surface.classes):
        highest_value = highest_by_class.get(name, float(np.nanmax(class_values[..., class_index], initial=-np.inf)))
        cells = [safe(name, 60), f"{100 * float((winner == class_index).mean()):.1f} %"]
        cells.append(f"{highest_value:.4g}" if np.isfinite(highest_value) else "&ndash;")
        if points is not None:
            is_class = points.truth == class_index
            cells += [f"{int(is_class.sum()):,}", f"{int((is_class & (points.predicted == class_index)).sum()):,}"]
        table_rows.append(cells)
    value_head = "highest probability" if surface.probability else "highest score"
    column_titles = [
        "class",
        "share of the map",
        value_head,
        *(["points", "classified correctly"] if points is not None else []),
    ]
    return html_table(column_titles, table_rows)
