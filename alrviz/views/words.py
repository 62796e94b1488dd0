"""The words beside a live race, as HTML: values at the head, milestones, the separation meter, the table of numbers.

Pure functions of a `Watched`; every name is escaped.
"""

import math
from collections.abc import Sequence

from alrviz.pictures.palette import racer_colours
from alrviz.studies.milestones import Milestones, by_objective, milestones
from alrviz.views.style import safe
from alrviz.views.watched import Watched

ROWS_SHOWN = 300
_HINTS = {
    "NLL": "Negative log-likelihood per training row, in nats, at the iteration shown",
    "held-out": "Log loss per held-out row, in nats, at the iteration shown",
}


def number(value: float, digits: int = 4) -> str:
    """A value for a table: fixed digits, few when it is tiny, a dash where there is none."""
    if not math.isfinite(value):
        return "&ndash;"
    return f"{value:.1e}" if 0 < abs(value) < 10**-digits else f"{value:.{digits}f}"


def colours(watched: Watched) -> list[str]:
    """One colour a racer, as in the picture."""
    return racer_colours([racer.label for racer in watched.racers])


def _racer(name: str, colour: str) -> str:
    return f"<span style='color:{colour}' aria-hidden='true'>●</span> {safe(name, 60)}"


def values_html(watched: Watched) -> str:
    """Loss of every racer at the head."""
    held = any("heldout_log_loss" in racer.columns for racer in watched.racers)
    names = ["NLL", "held-out"] if held else ["NLL"]
    head = "".join(f"<th><abbr title='{_HINTS[name]}'>{name}</abbr></th>" for name in names)
    rows = []
    for racer, colour in zip(watched.racers, colours(watched), strict=True):
        cells = [watched.at(racer, "nll") / (racer.run.trace.rows or 1.0)]
        if held:
            cells.append(watched.at(racer, "heldout_log_loss"))
        shown = "".join(f"<td>{number(value)}</td>" for value in cells)
        rows.append(f"<tr><td>{_racer(racer.name, colour)}</td>{shown}</tr>")
    return f"<h3>At iteration {watched.head:,}</h3><table><tr><th>racer</th>{head}</tr>{''.join(rows)}</table>"


def milestones_html(watched: Watched, unit: str = "iterations") -> str:
    """When each racer came near the best objective, in the unit of the axis."""
    lanes = [racer.lane(upto=watched.seen) for racer in watched.racers if len(racer)]
    if not lanes:
        return ""
    found: dict[str, Milestones] = {}
    for group in by_objective(lanes).values():
        marks = milestones(group)
        found.update({lane.name: marks for lane in group})
    words = next(iter(found.values())).words
    short = ["≤ 0.01", "≤ 0.0001"] if watched.to_zero else ["1 %", "0.1 %"]
    head = "".join(f"<th><abbr title='{safe(w)}'>{s}</abbr></th>" for w, s in zip(words, short, strict=True))
    rows = []
    for racer, colour in zip(watched.racers, colours(watched), strict=True):
        if racer.name not in found:
            continue
        cells = [found[racer.name].at(racer.name, goal, unit) for goal in (0, 1)]
        shown = "".join(f"<td>{_count(cell, unit)}</td>" for cell in cells)
        rows.append(f"<tr><td>{_racer(racer.name, colour)}</td>{shown}</tr>")
    own = "" if watched.same_objective else "<p class='quiet'>Each racer beside the best of its own objective.</p>"
    title = f"{unit.capitalize()} until near the best"
    return f"<h3>{title}</h3><table><tr><th>racer</th>{head}</tr>{''.join(rows)}</table>{own}"


def _count(cell: float | None, unit: str) -> str:
    if cell is None:
        return "not yet"
    return f"{cell:.0f}" if unit == "iterations" else f"{cell:.3g}"


def separation_html(watched: Watched) -> str:
    """The separation meter: what is known before the run, which rows lead, how large phi has grown."""
    bars = []
    for racer, colour in zip(watched.racers, colours(watched), strict=True):
        lead, norm = watched.at(racer, "lead"), watched.at(racer, "phi_norm")
        if not math.isfinite(lead):
            continue
        width = 100 * min(max(lead, 0.0), 1.0)
        bars.append(
            f"<span>{safe(racer.name, 60)}</span><i><b style='width:{width:.1f}%; background:{colour}'></b></i>"
            f"<span>{100 * math.floor(lead * 1000) / 1000:.1f} % · {number(norm, 1)}</span>"
        )
    if not bars:
        return ""
    title = (
        "<h3><abbr title='Share of training rows whose own class has the highest score: at 100 % the rows are "
        "separable, and without a pull no best model exists. Beside it the norm of phi, which then grows without end.'>"
        "Separation</abbr> <span class='quiet'>rows that lead · norm of phi</span></h3>"
    )
    return f"{title}<div class='meter'>{''.join(bars)}</div>{_empty_share(watched)}"


def _empty_share(watched: Watched) -> str:
    free = [racer for racer in watched.racers if not racer.alpha]
    found = [share for racer in free if (share := racer.run.separation.get("empty_share", 0.0)) > 0]
    if not found:
        return ""
    return (
        f"<p class='quiet'>{100 * max(found):.1f} % of the (cell, class) pairs hold no row, so with alpha 0 "
        "no finite optimum exists: the infimum is only approached.</p>"
    )


def notes_html(notes: Sequence[str]) -> str:
    """Sentences the reader should see before trusting the curves."""
    return "".join(f"<p class='quiet'>{safe(note, 500)}</p>" for note in dict.fromkeys(notes))


def numbers_html(watched: Watched) -> str:
    """The table under the picture: one row an iteration, two columns a racer; the CSV has all columns."""
    heads, columns = [], []
    for racer, colour in zip(watched.racers, colours(watched), strict=True):
        rows = racer.run.trace.rows or 1.0
        heads.append(f"<th>{_racer(racer.name, colour)}: NLL</th>")
        columns.append([number(value / rows, 6) for value in racer.columns["nll"]])
        if "heldout_log_loss" in racer.columns:
            heads.append("<th>held-out</th>")
            columns.append([number(value, 6) for value in racer.columns["heldout_log_loss"]])
    length = max((len(column) for column in columns), default=0)
    lines = []
    for k in range(min(length, ROWS_SHOWN)):
        cells = "".join(f"<td>{column[k] if k < len(column) else ''}</td>" for column in columns)
        lines.append(f"<tr><td>{k}</td>{cells}</tr>")
    more = f"<p class='quiet'>The first {ROWS_SHOWN} of {length:,}; the CSV has all.</p>" if length > ROWS_SHOWN else ""
    return f"<div class='scroll'><table><tr><th>iteration</th>{''.join(heads)}</tr>{''.join(lines)}</table></div>{more}"
