"""The words beside a live race, as HTML: values at the head, milestones, the separation meter, the table of numbers.

Pure functions of a `RaceReader`; every name is escaped.
"""

import math
from collections.abc import Sequence

import numpy as np

from alrviz.pictures.palette import racer_colours, racer_marks
from alrviz.studies.race.milestones import Milestones, by_objective, milestones
from alrviz.views.core.style import html_table, safe
from alrviz.views.core.trace_reader import Racer, RaceReader

ROWS_SHOWN = 40  # of the table under the picture
_ENDS = ("objective", "heldout_log_loss")
_HINTS = {
    "NLL": "Negative log-likelihood per training row, in nats, at the iteration shown",
    "test": "Mean log loss per test row, in nats, at the iteration shown",
}


def number(value: float, digits: int = 4) -> str:
    """A value for a table: fixed digits, few when it is tiny, a dash where there is none."""
    if not math.isfinite(value):
        return "&ndash;"
    return f"{value:.1e}" if 0 < abs(value) < 10**-digits else f"{value:.{digits}f}"


def names_html(names: Sequence[str], labels: Sequence[str], dark: bool = False) -> list[str]:
    """Return the name of each racer behind the mark and in the colour that it has in pictures."""
    looks = zip(racer_colours(labels, dark), racer_marks(len(names)), names, strict=True)
    return [
        f"<span style='color:{colour}' aria-hidden='true'>{sign}</span> {safe(name, 60)}"
        for colour, (_, sign), name in looks
    ]


def _racers(watched: RaceReader, dark: bool) -> list[tuple[Racer, str]]:
    """Each racer, and its name as HTML."""
    names, labels = zip(*((racer.name, racer.label) for racer in watched.racers), strict=True)
    return list(zip(watched.racers, names_html(names, labels, dark), strict=True))


def values_html(watched: RaceReader, unit: str = "iterations", dark: bool = False) -> str:
    """Loss of every racer at the head, and when it came near the best objective, in the unit of the axis."""
    held = any("heldout_log_loss" in racer.columns for racer in watched.racers)
    marks = _marks(watched)
    heads = [(name, _HINTS[name]) for name in (["NLL", "test"] if held else ["NLL"])]
    if marks:
        heads += _mark_heads(marks, unit)
    rows = []
    for racer, name in _racers(watched, dark):
        cells = [name + _search(racer, watched.head)]
        cells.append(number(watched.at(racer, "nll") / (racer.run.trace.rows or 1.0)))
        if held:
            cells.append(number(watched.at(racer, "heldout_log_loss")))
        if marks:
            goals = marks.get(racer.name)
            cells += [_count(goals.at(racer.name, goal, unit) if goals else None, unit) for goal in (0, 1)]
        rows.append(cells)
    titles = ["racer", *(f"<abbr title='{safe(hint)}'>{name}</abbr>" for name, hint in heads)]
    until = _until(watched, marks, unit) if marks else ""
    title = f"<h2>At {watched.counted} {watched.head:,} <span class='quiet'>loss per row, in nats</span></h2>"
    return f"{title}{html_table(titles, rows)}{until}"


def _search(racer: Racer, head: int) -> str:
    """How far the search of a step length, or of alphas, is, while there is no iteration yet."""
    trials = racer.trials(head)
    searching = len(racer) and not racer.columns["index"][: head + 1][-1]
    if not searching or not (racer.tried > 0 or trials):
        return ""
    count = trials or racer.tried
    what = f"{'' if trials else 'step length: '}{count} trial{'' if trials else ' fit'}{'s' if count > 1 else ''}"
    return f" <span class='quiet'>{what}</span>"


def _mark_heads(marks: dict[str, Milestones], unit: str) -> list[tuple[str, str]]:
    """Titles of the two columns of milestones, and what each means; racers of two objectives may have both kinds."""
    groups = {mark.to_zero: mark for mark in marks.values()}
    short = {False: ("1 %", "0.1 %"), True: ("≤ 0.01", "≤ 10⁻⁴")}
    return [
        (
            " or ".join(short[to_zero][goal] for to_zero in sorted(groups)),
            f"{unit} until {' or '.join(groups[to_zero].words[goal] for to_zero in sorted(groups))}",
        )
        for goal in (0, 1)
    ]


def _until(watched: RaceReader, marks: dict[str, Milestones], unit: str) -> str:
    kinds = {mark.to_zero for mark in marks.values()}
    # While a race goes on a milestone is met by all who lead: the best is what has been seen so far.
    of = "" if watched.shown else " <b>so far</b> (provisional until the race has ended)"
    of = of if watched.same_objective else f" of its own objective{of}"
    near = [f"1 %, 0.1 %: {unit} to reach that near the lowest F{of}"] if False in kinds else []
    low = [f"≤: {unit} until F per row is that low, which falls to 0"] if True in kinds else []
    return f"<p class='quiet'>{'; '.join(near + low)}</p>"


def _marks(watched: RaceReader) -> dict[str, Milestones]:
    """The milestones of every racer that has begun, by its name."""
    lanes = [racer.lane(upto=watched.seen) for racer in watched.racers if len(racer)]
    by_name: dict[str, Milestones] = {}
    for group in by_objective(lanes).values():
        marks = milestones(group)
        by_name.update({lane.name: marks for lane in group})
    return by_name


def _count(cell: float | None, unit: str) -> str:
    if cell is None:
        return "&ndash;"
    return f"{cell:.0f}" if unit == "iterations" else f"{cell:.3g}"


def separation_html(watched: RaceReader, dark: bool = False) -> str:
    """The separation meter: what is known before the run, rows classified correctly, how large phi has grown."""
    bars, colours = [], racer_colours([racer.label for racer in watched.racers], dark)
    for racer, colour in zip(watched.racers, colours, strict=True):
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
        "<h2><abbr title='Complete separation: at a training accuracy of 100 % unregularised log loss without bounds "
        "has no finite optimum, and the norm of phi grows without end. Quasi-complete separation: the same holds where "
        "a cell has no row of some class, whatever the accuracy.'>Separation</abbr> "
        "<span class='quiet'>training accuracy · norm of phi</span></h2>"
    )
    return f"{title}<div class='meter'>{''.join(bars)}</div>{_empty_share(watched)}"


def _empty_share(watched: RaceReader) -> str:
    free = [racer for racer in watched.racers if _grows_in_empty(racer)]
    shares = [share for racer in free if (share := racer.run.separation.get("empty_share", 0.0)) > 0]
    if not shares:
        return ""
    return (
        f"<p class='quiet'>Quasi-complete separation: {100 * max(shares):.1f} % of the (cell, class) pairs have no "
        "row, so that with alpha 0 their coefficients diverge; no finite optimum exists.</p>"
    )


def _grows_in_empty(racer: Racer) -> bool:
    """Whether a (cell, class) pair without rows sends its weight to infinity: log loss, a free weight of its own."""
    params = racer.recipe.params
    free = params.get("share") == "cell-class" and not racer.bounded
    return free and params.get("objective") == "nll" and not racer.alpha


def ends_html(watched: RaceReader, dark: bool = False) -> str:
    """How every racer stands at its last iteration seen, and when it came near the best: what a verdict is about."""
    marks = _marks(watched)
    held = any("heldout_log_loss" in racer.columns for racer in watched.racers)
    heads = ["racer", "iterations", "F per row", *(["test"] if held else [])]
    heads += [safe(title) for title, _ in _mark_heads(marks, "iterations")] if marks else []
    rows = []
    for racer, name in _racers(watched, dark):
        goals, outcome = marks.get(racer.name), racer.outcome if watched.shown else None
        columns = {name: racer.columns.get(name, ())[: watched.seen + 1] for name in _ENDS}
        last = {name: float(values[-1]) for name, values in columns.items() if len(values)}
        objective = last.get("objective", math.nan) / (racer.run.trace.rows or 1.0)
        steps = racer.columns["index"][: watched.seen + 1]
        cells = [name, f"{steps[-1] if len(steps) else 0:,}", number(objective, 6)]
        cells += [number(last.get("heldout_log_loss", math.nan), 6)] if held else []
        if marks:
            cells += [_count(goals.at(racer.name, goal) if goals else None, "iterations") for goal in (0, 1)]
        cells.append("" if outcome is None else safe(outcome.code))
        rows.append(cells)
    until = _until(watched, marks, "iterations") if marks else ""
    return html_table((*heads, "ended"), rows) + until


def numbers_html(watched: RaceReader, dark: bool = False) -> str:
    """The table of all iterations, or steps: one row each, two columns per racer; the CSV has all columns."""
    heads, columns = [watched.counted], []
    for racer, name in _racers(watched, dark):
        rows = racer.run.trace.rows or 1.0
        heads.append(f"{name}: NLL")
        columns.append([number(value / rows, 6) for value in racer.columns["nll"]])
        if "heldout_log_loss" in racer.columns:
            heads.append("test")
            columns.append([number(value, 6) for value in racer.columns["heldout_log_loss"]])
    length = max(map(len, columns), default=0)
    lines = ([str(k), *(column[k] if k < len(column) else "" for column in columns)] for k in places_shown(length))
    return html_table(heads, lines) + more_in_csv(length, f"{watched.counted}s")


def places_shown(length: int) -> list[int]:
    """Return which of so many lines a table shows: evenly spread, so that its end can be seen."""
    return sorted({round(k) for k in np.linspace(0, length - 1, ROWS_SHOWN).tolist()}) if length else []


def more_in_csv(length: int, what: str) -> str:
    """Return a note below a table that shows only some of its lines."""
    return f"<p class='quiet'>{ROWS_SHOWN} of {length:,} {what}; the CSV has all.</p>" if length > ROWS_SHOWN else ""
