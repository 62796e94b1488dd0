"""Report section on effects: for each column a picture, a sentence and a table of its levels' points."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.parse_values import number_text
from alrviz.pictures import interactions as pictures
from alrviz.pictures.interactions import FULL_COLOUR_ROWS
from alrviz.pictures.level_axis import short
from alrviz.pictures.picture import Picture
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.texts import beyond_chance
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.views.core.style import html_table, safe
from alrviz.views.report.quality import figure_html

MAX_UNFOLDED_EFFECTS = 6  # main effects shown at once
MAX_EFFECTS = 60  # including folded ones
MAX_PAIRS = 2
MAX_HEAT_MAP_CELLS = 1_600
MAX_TABLE_LINES = 300  # of the table of points
NEGLIGIBLE_LOG_ODDS = 0.05  # a column whose points never exceed this hardly matters
JUMP_LOG_ODDS, MIN_JUMPS = 1.0, 3  # distance from both neighbours that is a jump; number of jumps for a warning
MIN_RANK_CORRELATION = 0.9  # between values and points, to say that points rise or fall
MIN_MARKED_SHARE = 0.25  # a value with this share of the rows is marked on a line


def effects_html(facts: ReportFacts, label: str) -> str:
    """Return the main effects toward the class `label`, the largest ones unfolded, and the most important pairs."""
    effects, ranking = facts.effects, facts.ranking
    assert effects is not None
    groups = ranking[ranking.order == 1].tuples.tolist()
    unfolded_figures = [
        *(_column_figure(facts, tuples, label) for tuples in groups[:MAX_UNFOLDED_EFFECTS]),
        *_pair_figures(effects, ranking, label),
    ]
    folded_figures = [_column_figure(facts, tuples, label) for tuples in groups[MAX_UNFOLDED_EFFECTS:MAX_EFFECTS]]
    unfolded_html = f"<div class='pictures'>{''.join(unfolded_figures)}</div>"
    if not folded_figures:
        return unfolded_html
    n_hidden = len(groups) - MAX_EFFECTS
    more_html = f"<p class='quiet'>{n_hidden:,} columns that matter less are not drawn.</p>" if n_hidden > 0 else ""
    count_text = f"{len(folded_figures)} more columns act" if len(folded_figures) > 1 else "one more column acts"
    folded_html = f"<div class='pictures'>{''.join(folded_figures)}</div>"
    return f"{unfolded_html}<details><summary>How {count_text}</summary>{folded_html}{more_html}</details>"


# -- a column ----------------------------------------------------------------------------------------------------------


def _column_figure(facts: ReportFacts, tuples: Sequence[str], label: str) -> str:
    """Return the figure of a column, or of equivalent columns, whose points toward the class `label` are added.

    tuples: names of the columns.
    """
    effects = facts.effects
    assert effects is not None
    singles = [effects.columns.index(name) for name in tuples if name in effects.columns]
    kinds = [effects.encoder.columns_[column_index].kind for column_index in singles]
    column = singles[kinds.index("categorical") if "categorical" in kinds else 0]  # preferred: its levels have names
    name = " + ".join(effects.columns[column_index] for column_index in singles)
    is_ordered = effects.encoder.columns_[column].kind != "categorical"
    points = column_points(facts, column, tuples, label)
    bars = points if is_ordered else points.sort_values("effect", ascending=False)
    too_many_bars = len(points) > pictures.MAX_LEVELS_WITH_BARS
    if too_many_bars and not is_ordered:  # a line would join values that are no neighbours
        bars = bars[bars.rows.rank(ascending=False, method="first") <= pictures.MAX_LEVELS_WITH_BARS]
    is_line = too_many_bars and is_ordered
    suffixes = [f" ({rows:,.0f})" for rows in bars.rows]
    names = [short(level, pictures.MAX_BAR_CHARS - len(n)) + n for level, n in zip(bars.levels, suffixes, strict=True)]
    bars_frame = pictures.signed_bars(
        list(bars.levels) if is_line else names, bars.effect, np.nan, np.nan, [""] * len(bars),
        pictures.opacity(bars.rows.to_numpy()),
    )  # fmt: skip
    marks = [_mark_text(level, points) for level in bars.itertuples()]
    bars_frame = bars_frame.assign(apart=bars.missing.to_numpy(), mark=marks)
    picture = pictures.bar_picture(bars_frame, f"{name}: points toward {label}")
    height = 320 if is_line else min(150 + 18 * len(bars), 720)
    left_out_text = (
        f" The {len(bars)} most frequent of {len(points):,} values are drawn." if len(bars) < len(points) else ""
    )
    return figure_html(
        picture, f"Effect of {name}",
        effect_sentences(points, is_ordered, label) + left_out_text + (_LINE_NOTE if is_line else ""),
        height=height, note=_points_table(points if is_ordered else points.sort_values("effect", ascending=False)),
    )  # fmt: skip


_LINE_NOTE = " Intervals stand side by side, whatever their width."


def column_points(facts: ReportFacts, column: int, tuples: Sequence[str], label: str) -> pd.DataFrame:
    """Return a row for each level of a column that occurs.

    Columns: levels (its name), rows, effect (contribution of the tuples to the log-odds of the class `label` against
    the mean of the others), missing (whether it stands for missing values), single (whether it is a single value).
    """
    effects = facts.effects
    assert effects is not None
    codes, level_labels = effects.encoded.codes[column].astype(np.int64), effects.labels(column)
    rows = np.bincount(codes, effects.encoded.weights, minlength=len(level_labels))
    present_codes, example_rows = np.unique(codes, return_index=True)  # an example row of each level
    parts = effects.pure.row_effects(
        effects.encoded.codes[:, example_rows], [effects.number_of(name) for name in tuples]
    )
    n_classes, k = len(effects.classes), list(map(str, effects.classes)).index(label)
    effect = parts[:, :, k].sum(axis=1) * (n_classes / max(n_classes - 1, 1))  # they sum to 0 over the classes
    encoder = effects.encoder.columns_[column]
    names, is_single = _level_names(facts, column, level_labels)
    is_missing = present_codes == (-1 if encoder.missing_code is None else encoder.missing_code)
    return pd.DataFrame(
        {
            "levels": [names[code] for code in present_codes], "rows": rows[present_codes], "effect": effect,
            "missing": is_missing, "single": [is_single[code] for code in present_codes],
        }
    )  # fmt: skip


def _level_names(facts: ReportFacts, column: int, labels: Sequence[str]) -> tuple[list[str], list[bool]]:
    """Return the names of a column's levels, from their labels, and whether each is a single value.

    An interval in which all rows have the same number is named by that number.
    """
    effects, names = facts.effects, list(labels)
    assert effects is not None
    encoder = effects.encoder.columns_[column]
    is_single = [encoder.cuts is None] * len(names)
    if encoder.cuts is None or facts.whole_rows is not None or encoder.name not in facts.dataset.X:
        return names, is_single
    values = facts.dataset.X[encoder.name]
    numbers = pd.to_numeric(values, errors="coerce").groupby(np.asarray(encoder.transform(values))).agg(["min", "max"])
    for code, value in numbers["min"][numbers["min"] == numbers["max"]].items():
        names[int(code)], is_single[int(code)] = number_text(value), True
    return names, is_single


def _mark_text(level: Any, table: pd.DataFrame) -> str:
    """Return the mark of a level (a row of the table): name and share if missing or very frequent, else ""."""
    share = level.rows / table.rows.sum()
    if level.missing:
        return f"missing ({percent(share)})"
    return (
        f"{short(str(level.levels))} ({percent(share)} of rows)" if level.single and share >= MIN_MARKED_SHARE else ""
    )


def effect_sentences(table: pd.DataFrame, ordered: bool, label: str) -> str:
    """Return a summary of a `column_points` table toward the class `label`, two or three sentences as HTML.

    ordered: whether its levels have an order.
    """
    label, frequent = safe(label, 40), table[table.rows >= FULL_COLOUR_ROWS]
    n_rare = len(table) - len(frequent)
    frequent = table if len(frequent) < 2 else frequent
    if float(frequent.effect.abs().max()) < NEGLIGIBLE_LOG_ODDS:
        text = f"It hardly acts: no value says more than {frequent.effect.abs().max():.2f} for or against {label}."
    else:
        highest_point, lowest = (frequent.loc[row] for row in (frequent.effect.idxmax(), frequent.effect.idxmin()))
        prefix = (
            f"Of values with {FULL_COLOUR_ROWS} rows or more, most" if n_rare and n_rare < len(table) - 1 else "Most"
        )
        text = f"{prefix} toward {label}: {_value_text(highest_point)}; most away from it: {_value_text(lowest)}."
        not_missing = frequent[~frequent.missing]
        trend = not_missing.effect.corr(pd.Series(np.arange(len(not_missing)), not_missing.index), method="spearman")
        if ordered and len(not_missing) > 2 and abs(trend) >= MIN_RANK_CORRELATION:
            text = f"The {'higher' if trend > 0 else 'lower'}, the more toward {label}. {text}"
    most_frequent = table.loc[table.rows.idxmax()]
    top_share = float(most_frequent.rows / table.rows.sum())
    if top_share > 0.5:
        text += f" Most rows ({percent(top_share)}) have {_value_text(most_frequent, False)}."
    if n_rare:
        text += f" {n_rare:,} of {len(table):,} values have fewer than {FULL_COLOUR_ROWS} rows (pale): less certain."
    return text + (_jump_warning(table) if ordered else "")


def _jump_warning(table: pd.DataFrame) -> str:
    """Return a warning if several values of a `column_points` table differ strongly from both neighbours, else ""."""
    line = table[~table.missing]
    point_steps = np.diff(line.effect)
    distance = np.minimum(np.abs(point_steps[:-1]), np.abs(point_steps[1:])) * (point_steps[:-1] * point_steps[1:] < 0)
    jumps = line.iloc[1:-1][distance > JUMP_LOG_ODDS]
    if len(jumps) < MIN_JUMPS:
        return ""
    largest_jump = line.levels.iloc[1 + int(distance.argmax())]
    return (
        f" It jumps up and down: {len(jumps):,} of {len(line):,} values are more than {JUMP_LOG_ODDS:g} above or below "
        f"both neighbours, by up to {distance.max():.1f} (<b>{safe(largest_jump, 40)}</b>); "
        f"half of them have {jumps.rows.median():,.0f} rows or fewer. Such points are what the model has learned of "
        "these single values: do not read them as an effect of more or less."
    )


def _value_text(level: pd.Series, with_rows: bool = True) -> str:
    rows = f", {level.rows:,.0f} rows" if with_rows else ""
    return f"<b>{safe(level.levels, 40)}</b> ({level.effect:+.2f}{rows})"


def _points_table(table: pd.DataFrame) -> str:
    table_rows = (
        [safe(level, 80), f"{rows:,.0f}", f"{effect:+.2f}"]
        for level, rows, effect in table[["levels", "rows", "effect"]].head(MAX_TABLE_LINES).itertuples(index=False)
    )
    note = f"<p class='quiet'>and {len(table) - MAX_TABLE_LINES:,} more</p>" if len(table) > MAX_TABLE_LINES else ""
    table_html = html_table(["value", "rows learned from", "points"], table_rows)
    return f"<details><summary>All {len(table):,} points</summary>{table_html}{note}</details>"


# -- a pair ------------------------------------------------------------------------------------------------------------


def _pair_figures(effects: Interactions, table: pd.DataFrame, label: str) -> Iterable[str]:
    """Yield a figure for each of the most important pairs; table: the ranking of tuples, label: the class."""
    pair_ranking, n_drawn = table[table.order == 2], 0
    for name, tuples in pair_ranking.tuples[beyond_chance(pair_ranking)].items():
        numbers = [effects.number_of(part) for part in tuples]  # several where columns say the same: they are added
        members = [int(j) for j in effects.pure.space.members[numbers[0]]]
        levels = [effects.labels(j) for j in members]
        if n_drawn == MAX_PAIRS or len(levels[0]) * len(levels[1]) > MAX_HEAT_MAP_CELLS:
            continue
        n_drawn += 1
        picture = _pair_picture(effects, numbers, members, levels, label)
        caption = f"{safe(name, 80)}: blue toward {safe(label, 40)}, orange away from it; struck out: no such row"
        height = 120 + 18 * max(map(len, levels))
        yield figure_html(picture, f"Effect of {name}", caption, height=min(max(height, 300), 800))


def _pair_picture(
    effects: Interactions, numbers: Sequence[int], members: Sequence[int], levels: Sequence[Sequence[str]], label: str
) -> Picture:
    """Return a pair's heat map toward the class `label`.

    numbers: indices of the tuples whose effects are added; members: the pair's columns; levels: the names of their
    levels.
    """
    codes, n_classes = effects.encoded.codes[:, effects.encoded.weights > 0], len(effects.classes)
    row_weights = effects.encoded.weights[effects.encoded.weights > 0]
    k = list(map(str, effects.classes)).index(label)
    present_codes, code_positions = zip(*(np.unique(codes[j], return_inverse=True) for j in members), strict=True)
    cells, example, cell_of = np.unique(np.column_stack(code_positions), axis=0, return_index=True, return_inverse=True)
    values = effects.pure.row_effects(codes[:, example], numbers)[:, :, k].sum(axis=1) * (
        n_classes / max(n_classes - 1, 1)
    )
    cell_rows = np.bincount(cell_of.ravel(), row_weights).astype(np.float64)
    names = [
        [labels[code] for code in codes_present] for labels, codes_present in zip(levels, present_codes, strict=True)
    ]
    columns = [effects.columns[j] for j in members]
    if len(names[1]) > len(names[0]):  # the column with more levels goes on the y axis, where names have room
        cells, names, columns = cells[:, ::-1], names[::-1], columns[::-1]
    return pictures.cell_map(cells, values, cell_rows, names, columns, f"toward {label}")
