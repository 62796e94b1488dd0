"""Text beside a live race, as HTML: values at the head, milestones, the separation meter, the table of numbers.

Pure functions of a `RaceReader`. All names are escaped.
"""

import math
from collections.abc import Sequence

import numpy as np

from alrviz.pictures.palette import racer_colours, racer_marks
from alrviz.studies.race.milestones import Milestones, by_objective, milestones
from alrviz.views.core.style import html_table, safe
from alrviz.views.core.trace_reader import Racer, RaceReader, value_at

TABLE_ROWS = 40  # maximum rows of the table under the picture
_HINTS = {
    "training": "Mean log loss per training row (NLL), in nats, at the iteration shown",
    "test": "Mean log loss per test row, in nats, at the iteration shown",
}


def number(value: float, digits: int = 4) -> str:
    """Format a value for a table: fixed digits, scientific if tiny, a dash if missing."""
    if not math.isfinite(value):
        return "&ndash;"
    return f"{value:.1e}" if 0 < abs(value) < 10**-digits else f"{value:.{digits}f}"


def names_html(names: Sequence[str], labels: Sequence[str], dark: bool = False) -> list[str]:
    """Return the racers' names, each preceded by its mark in its colour, as in pictures.

    labels: of the racers, which set their colours; dark: whether the ground is dark.
    """
    looks = zip(racer_colours(labels, dark), racer_marks(len(names)), names, strict=True)
    return [
        f"<span style='color:{colour}' aria-hidden='true'>{sign}</span> {safe(name, 60)}"
        for colour, (_, sign), name in looks
    ]


def _racers(reader: RaceReader, dark: bool) -> list[tuple[Racer, str]]:
    """Return each racer with its name as HTML, for a light or `dark` ground."""
    names, labels = zip(*((racer.name, racer.label) for racer in reader.racers), strict=True)
    return list(zip(reader.racers, names_html(names, labels, dark), strict=True))


def values_html(reader: RaceReader, unit: str = "iterations", dark: bool = False) -> str:
    """Return the table of losses at the head and of milestones, in the unit of the x axis; dark: of the ground."""
    has_test = any("heldout_log_loss" in racer.columns for racer in reader.racers)
    goals_by_name = _goals_by_name(reader)
    titles_and_hints = [(name, _HINTS[name]) for name in (["training", "test"] if has_test else ["training"])]
    if goals_by_name:
        titles_and_hints += _goal_titles(goals_by_name, unit)
    table_rows = []
    for racer, name in _racers(reader, dark):
        cells = [name + _trials_note(racer, reader.head)]
        cells.append(number(value_at(racer, "nll", reader.head) / (racer.run.trace.rows or 1.0)))
        if has_test:
            cells.append(number(value_at(racer, "heldout_log_loss", reader.head)))
        if goals_by_name:
            racer_goals = goals_by_name.get(racer.name)
            cells += [
                _count_cell(racer_goals.count_at(racer.name, goal, unit) if racer_goals else None, unit)
                for goal in (0, 1)
            ]
        table_rows.append(cells)
    column_titles = ["model", *(f"<abbr title='{safe(hint)}'>{name}</abbr>" for name, hint in titles_and_hints)]
    goals_note = _goals_note(reader, goals_by_name, unit) if goals_by_name else ""
    title = f"<h2>At {reader.step_name} {reader.head:,} <span class='quiet'>loss per row, in nats</span></h2>"
    return f"{title}{html_table(column_titles, table_rows)}{goals_note}"


def _trials_note(racer: Racer, head: int) -> str:
    """Return the number of trials up to step `head` of a step length or of alphas, "" after the first iteration."""
    trials = racer.trials(head)
    is_searching = len(racer) and not racer.columns["index"][: head + 1][-1]
    if not is_searching or not (racer.trial_fits > 0 or trials):
        return ""
    n_trials = trials or racer.trial_fits
    note = f"{'' if trials else 'step length: '}{n_trials} trial{'' if trials else ' fit'}{'s' if n_trials > 1 else ''}"
    return f" <span class='quiet'>{note}</span>"


def _goal_titles(goals_by_name: dict[str, Milestones], unit: str) -> list[tuple[str, str]]:
    """Return title and hint of the two columns of milestones, counted in `unit`: relative, absolute, or both.

    goals_by_name: each racer's milestones; of different objectives some are relative and others absolute.
    """
    goals_by_kind = {goals.to_zero: goals for goals in goals_by_name.values()}
    titles_by_kind = {False: ("1 %", "0.1 %"), True: ("≤ 0.01", "≤ 10⁻⁴")}
    return [
        (
            " or ".join(titles_by_kind[to_zero][goal] for to_zero in sorted(goals_by_kind)),
            f"{unit} until {' or '.join(goals_by_kind[to_zero].goal_texts[goal] for to_zero in sorted(goals_by_kind))}",
        )
        for goal in (0, 1)
    ]


def _goals_note(reader: RaceReader, goals_by_name: dict[str, Milestones], unit: str) -> str:
    """Return the note below the milestones: what they count in `unit`, and that they are provisional during the race.

    goals_by_name: each racer's milestones.
    """
    kinds = {goals.to_zero for goals in goals_by_name.values()}
    # In a running race milestones are provisional, because the lowest objective is only the lowest so far.
    suffix = "" if reader.is_finished else " <b>so far</b> (provisional until the race has ended)"
    suffix = suffix if reader.same_objective else f" of its own objective{suffix}"
    relative_note = (
        [f"1 %, 0.1 %: {unit} until within this share of the lowest training loss{suffix}"] if False in kinds else []
    )
    absolute_note = [f"≤: {unit} until the training loss, which falls to 0, is that low"] if True in kinds else []
    return f"<p class='quiet'>{'; '.join(relative_note + absolute_note)}</p>"


def _goals_by_name(reader: RaceReader) -> dict[str, Milestones]:
    """Return the milestones of every racer that has a step, by name."""
    summaries = [racer.summary(upto=reader.last_shown) for racer in reader.racers if len(racer)]
    goals_by_name: dict[str, Milestones] = {}
    for group in by_objective(summaries).values():
        goals = milestones(group)
        goals_by_name.update({summary.name: goals for summary in group})
    return goals_by_name


def _count_cell(count: float | None, unit: str) -> str:
    """Return a milestone's count in `unit` as a table cell; a dash if it was not reached."""
    if count is None:
        return "&ndash;"
    return f"{count:.0f}" if unit == "iterations" else f"{count:.3g}"


def separation_html(reader: RaceReader, dark: bool = False) -> str:
    """Return the separation meter: training accuracy, size of the coefficients, and the share of empty combinations.

    dark: whether the ground is dark.
    """
    bars, colours = [], racer_colours([racer.label for racer in reader.racers], dark)
    for racer, colour in zip(reader.racers, colours, strict=True):
        lead, norm = value_at(racer, "lead", reader.head), value_at(racer, "phi_norm", reader.head)
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
        "<h2>Training accuracy <span class='quiet'>· <abbr title='The norm of phi. Complete separation: at a training "
        "accuracy of 100 % log loss without a penalty or bounds has no finite optimum, and the coefficients grow "
        "without end.'>size of the coefficients</abbr></span></h2>"
    )
    return f"{title}<div class='meter'>{''.join(bars)}</div>{_empty_share(reader)}"


def _empty_share(reader: RaceReader) -> str:
    """Return a note on combinations of cell and class without rows, whose weights diverge at alpha 0, or ""."""
    racers_in_empty_cells = [racer for racer in reader.racers if _grows_in_empty(racer)]
    shares = [share for racer in racers_in_empty_cells if (share := racer.run.separation.get("empty_share", 0.0)) > 0]
    if not shares:
        return ""
    return (
        "<p class='quiet'><abbr title='Quasi-complete separation: no finite optimum exists, whatever the accuracy.'>"
        f"Separation</abbr>: {100 * max(shares):.1f} % of the combinations of values and class have no row. Without a "
        "penalty their coefficients grow for ever.</p>"
    )


def _grows_in_empty(racer: Racer) -> bool:
    """Whether weights of empty (cell, class) pairs diverge: log loss, no penalty, bounds or shared weights."""
    params = racer.recipe.params
    has_free_weights = params.get("share") == "cell-class" and not racer.bounded
    return has_free_weights and params.get("objective") == "nll" and not racer.alpha


def ends_html(reader: RaceReader, dark: bool = False) -> str:
    """Return the table behind the verdict: each racer at its last step shown, its milestones and outcome.

    dark: whether the ground is dark.
    """
    goals_by_name = _goals_by_name(reader)
    has_test = any("heldout_log_loss" in racer.columns for racer in reader.racers)
    column_titles = ["model", "iterations", "training loss, penalty included", *(["test"] if has_test else [])]
    column_titles += [safe(title) for title, _ in _goal_titles(goals_by_name, "iterations")] if goals_by_name else []
    table_rows = []
    for racer, name in _racers(reader, dark):
        goals, outcome = goals_by_name.get(racer.name), racer.outcome if reader.is_finished else None
        iterations, objective, test_loss = (
            value_at(racer, column, reader.last_shown) for column in ("index", "objective", "heldout_log_loss")
        )
        cells = [name, f"{np.nan_to_num(iterations):,.0f}", number(objective / (racer.run.trace.rows or 1.0), 6)]
        cells += [number(test_loss, 6)] if has_test else []
        if goals_by_name:
            cells += [_count_cell(goals.count_at(racer.name, goal) if goals else None, "iterations") for goal in (0, 1)]
        cells.append("" if outcome is None else safe(outcome.code))
        table_rows.append(cells)
    goals_note = _goals_note(reader, goals_by_name, "iterations") if goals_by_name else ""
    return html_table((*column_titles, "ended"), table_rows) + goals_note


def numbers_html(reader: RaceReader, dark: bool = False) -> str:
    """Return the table of steps, two columns per racer; the CSV has all. dark: whether the ground is dark."""
    column_titles, cells = [reader.step_name], []
    for racer, name in _racers(reader, dark):
        total_weight = racer.run.trace.rows or 1.0
        column_titles.append(f"{name}: training")
        cells.append([number(value / total_weight, 6) for value in racer.columns["nll"]])
        if "heldout_log_loss" in racer.columns:
            column_titles.append("test")
            cells.append([number(value, 6) for value in racer.columns["heldout_log_loss"]])
    length = max(map(len, cells), default=0)
    rows = ([str(k), *(column[k] if k < len(column) else "" for column in cells)] for k in evenly_spread(length))
    return html_table(column_titles, rows) + more_in_csv(length, f"{reader.step_name}s")


def evenly_spread(length: int) -> list[int]:
    """Return which rows of a table of this length to show, evenly spread from first to last."""
    return sorted({round(k) for k in np.linspace(0, length - 1, TABLE_ROWS).tolist()}) if length else []


def more_in_csv(length: int, unit: str) -> str:
    """Return a note for a table of so many rows (length; unit: what they are) that shows only some of them."""
    return f"<p class='quiet'>{TABLE_ROWS} of {length:,} {unit}; the CSV has all.</p>" if length > TABLE_ROWS else ""
