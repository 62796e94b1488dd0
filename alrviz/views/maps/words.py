"""The words of a decision map, as HTML: what is drawn, what the other columns are, which class never wins.

Pure functions of a `Surface`; every name is escaped.
"""

import numpy as np

from alrviz.studies.maps.decision_map import Points, Surface
from alrviz.studies.maps.partial_dependence import MAX_AVERAGED, NEAREST
from alrviz.views.core.style import html_table, safe

MOST_ABSENT = 5  # classes named that win nowhere


def caption_html(surface: Surface, others: str, row: int, n_others: int) -> str:
    """Say what the map shows; `n_others` is how many columns are on neither axis."""
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
    """Say what stands in the columns that are on neither axis; nothing where there are none."""
    if not n_others:
        return ""
    what = {
        "typical": "held at typical values (medians, most frequent levels)",
        "row": f"held at the values of row {row:,}",
        "mean": f"averaged over rows (at most {MAX_AVERAGED}), wherever these lie on the map",
        "near": f"averaged over the {NEAREST} nearest rows, weighted by nearness",
    }[others]
    return f"{n_others:,} other column{'s' if n_others > 1 else ''} {what}."


def _absent(surface: Surface) -> str:
    absent = surface.absent()
    if not absent:
        return ""
    what = "probability" if surface.probability else "score"
    named = [
        f"{safe(name, 60)}" + (f" (its highest {what} here is {highest:.3g})" if np.isfinite(highest) else "")
        for name, highest in absent[:MOST_ABSENT]
    ]
    more = f" and {len(absent) - MOST_ABSENT:,} more" if len(absent) > MOST_ABSENT else ""
    return f"<b>Never wins on this map: {', '.join(named)}{more}.</b>"


def _flat(surface: Surface) -> str:
    """Say along which scales the model tells no places apart; "" where there are none."""
    values = surface.values
    flat = [
        safe(axis.name, 60)
        for axis, lines in ((surface.across, values.swapaxes(0, 1)), (surface.up, values))
        if axis.numeric and np.array_equal(lines, np.broadcast_to(lines[:1], lines.shape), equal_nan=True)
    ]
    if not flat:
        return ""
    along = " and ".join(flat)
    return f"The model is the same all along {along}: where it cuts numbers into levels, no cut was found there."


def _points(points: Points | None) -> str:
    if points is None:
        return ""
    right = int((points.truth == points.predicted).sum())
    count = len(points.rows)
    which = f"{count:,} of {points.total:,} rows" if points.thinned else f"{count:,} row{'s' if count != 1 else ''}"
    absent = f"; {points.absent:,} without a place on these axes" if points.absent else ""
    shown = f"{which} shown, {right:,} classified correctly{absent}"
    return f"Points: outline is the true class, fill the prediction; {shown}."


def _left_out(surface: Surface) -> str:
    cut = [axis for axis in (surface.across, surface.up) if axis.left_out]
    return " ".join(
        f"{safe(axis.name, 60)}: the {len(axis.levels)} most frequent of {len(axis.levels) + axis.left_out:,} levels."
        for axis in cut
    )


def numbers_html(surface: Surface) -> str:
    """The table below the map, one line a class: the share of the map it wins, its highest value, its points."""
    winner, points = surface.winner, surface.points
    highest = dict(surface.absent())
    values = np.concatenate([-surface.values, surface.values], axis=2) if surface.single else surface.values
    lines = []
    for k, name in enumerate(surface.classes):
        top = highest.get(name, float(np.nanmax(values[..., k], initial=-np.inf)))
        cells = [safe(name, 60), f"{100 * float((winner == k).mean()):.1f} %"]
        cells.append(f"{top:.4g}" if np.isfinite(top) else "&ndash;")
        if points is not None:
            of_class = points.truth == k
            cells += [f"{int(of_class.sum()):,}", f"{int((of_class & (points.predicted == k)).sum()):,}"]
        lines.append(cells)
    what = "highest probability" if surface.probability else "highest score"
    heads = ["class", "share of the map", what, *(["points", "classified correctly"] if points is not None else [])]
    return html_table(heads, lines)
