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
    """Return the main effects, the most important ones unfolded, and the most important pairs."""
    effects, table = facts.effects, facts.ranking
    assert effects is not None
    singles = table[table.order == 1].tuples.tolist()
    unfolded_figures = [
        *(_column_figure(facts, tuples, label) for tuples in singles[:MAX_UNFOLDED_EFFECTS]),
        *_pair_figures(effects, table, label),
    ]
    folded_figures = [_column_figure(facts, tuples, label) for tuples in singles[MAX_UNFOLDED_EFFECTS:MAX_EFFECTS]]
    unfolded_html = f"<div class='pictures'>{''.join(unfolded_figures)}</div>"
    if not folded_figures:
        return unfolded_html
    n_hidden = len(singles) - MAX_EFFECTS
    more_html = f"<p class='quiet'>{n_hidden:,} columns that matter less are not drawn.</p>" if n_hidden > 0 else ""
    count_text = f"{len(folded_figures)} more columns act" if len(folded_figures) > 1 else "one more column acts"
    folded_html = f"<div class='pictures'>{''.join(folded_figures)}</div>"
    return f"{unfolded_html}<details><summary>How {count_text}</summary>{folded_html}{more_html}</details>"


# -- a column ----------------------------------------------------------------------------------------------------------


def _column_figure(facts: ReportFacts, tuples: Sequence[str], label: str) -> str:
    """Return the figure of a column, or of equivalent columns, whose points are added."""
    effects = facts.effects
    assert effects is not None
    singles = [effects.columns.index(name) for name in tuples if name in effects.columns]
    kinds = [effects.encoder.columns_[j].kind for j in singles]
    column = singles[kinds.index("categorical") if "categorical" in kinds else 0]  # preferred: its levels have names
    name = " + ".join(effects.columns[j] for j in singles)
    ordered = effects.encoder.columns_[column].kind != "categorical"
    table = column_points(facts, column, tuples, label)
    bars = table if ordered else table.sort_values("effect", ascending=False)
    too_many_bars = len(table) > pictures.MAX_LEVELS_WITH_BARS
    if too_many_bars and not ordered:  # a line would join values that are no neighbours
        bars = bars[bars.rows.rank(ascending=False, method="first") <= pictures.MAX_LEVELS_WITH_BARS]
    line = too_many_bars and ordered
    counts = [f" ({rows:,.0f})" for rows in bars.rows]
    names = [short(level, pictures.MAX_BAR_CHARS - len(n)) + n for level, n in zip(bars.levels, counts, strict=True)]
    marks = pictures.signed_bars(
        list(bars.levels) if line else names, bars.effect, np.nan, np.nan, [""] * len(bars),
        pictures.opacity(bars.rows.to_numpy()),
    ).assign(apart=bars.missing.to_numpy(), mark=[_mark(level, table) for level in bars.itertuples()])  # fmt: skip
    picture = pictures.bar_picture(marks, f"{name}: points toward {label}")
    height = 320 if line else min(150 + 18 * len(bars), 720)
    left_out_text = (
        f" The {len(bars)} most frequent of {len(table):,} values are drawn." if len(bars) < len(table) else ""
    )
    return figure_html(
        picture, f"Effect of {name}",
        effect_sentences(table, ordered, label) + left_out_text + (_LINE_NOTE if line else ""),
        height=height, note=_points_table(table if ordered else table.sort_values("effect", ascending=False)),
    )  # fmt: skip


_LINE_NOTE = " Intervals stand side by side, whatever their width."


def column_points(facts: ReportFacts, column: int, tuples: Sequence[str], label: str) -> pd.DataFrame:
    """Return a row for each level of a column that occurs.

    Columns: levels (its name), rows, effect (contribution of the tuples to the log-odds of the class against the mean
    of the others), missing (whether it stands for missing values), single (whether it is a single value).
    """
    effects = facts.effects
    assert effects is not None
    codes, labels = effects.encoded.codes[column].astype(np.int64), effects.labels(column)
    rows = np.bincount(codes, effects.encoded.weights, minlength=len(labels))
    present_codes, first = np.unique(codes, return_index=True)  # an example row of each level
    parts = effects.pure.of_rows(effects.encoded.codes[:, first], [effects.number_of(name) for name in tuples])
    n_classes, k = len(effects.classes), list(map(str, effects.classes)).index(label)
    effect = parts[:, :, k].sum(axis=1) * (n_classes / max(n_classes - 1, 1))  # they sum to 0 over the classes
    encoder = effects.encoder.columns_[column]
    names, single = _level_names(facts, column, labels)
    is_missing = present_codes == (-1 if encoder.missing_code is None else encoder.missing_code)
    return pd.DataFrame(
        {
            "levels": [names[c] for c in present_codes], "rows": rows[present_codes], "effect": effect,
            "missing": is_missing, "single": [single[c] for c in present_codes],
        }
    )  # fmt: skip


def _level_names(facts: ReportFacts, column: int, labels: Sequence[str]) -> tuple[list[str], list[bool]]:
    """Return names of levels and whether each is a single value.

    An interval in which all rows have the same number is named by that number.
    """
    effects, names = facts.effects, list(labels)
    assert effects is not None
    encoder = effects.encoder.columns_[column]
    single = [encoder.cuts is None] * len(names)
    if encoder.cuts is None or facts.whole_rows is not None or encoder.name not in facts.dataset.X:
        return names, single
    values = facts.dataset.X[encoder.name]
    numbers = pd.to_numeric(values, errors="coerce").groupby(np.asarray(encoder.transform(values))).agg(["min", "max"])
    for code, low in numbers["min"][numbers["min"] == numbers["max"]].items():
        names[int(code)], single[int(code)] = number_text(low), True
    return names, single


def _mark(level: Any, table: pd.DataFrame) -> str:
    """Return the mark of a level on a line: name and share if it is missing or very frequent, else ""."""
    share = level.rows / table.rows.sum()
    if level.missing:
        return f"missing ({percent(share)})"
    return (
        f"{short(str(level.levels))} ({percent(share)} of rows)" if level.single and share >= MIN_MARKED_SHARE else ""
    )


def effect_sentences(table: pd.DataFrame, ordered: bool, label: str) -> str:
    """Return a summary of a `column_points` table, two or three sentences as HTML."""
    label, frequent = safe(label, 40), table[table.rows >= FULL_COLOUR_ROWS]
    n_rare = len(table) - len(frequent)
    frequent = table if len(frequent) < 2 else frequent
    if float(frequent.effect.abs().max()) < NEGLIGIBLE_LOG_ODDS:
        words = f"It hardly acts: no value says more than {frequent.effect.abs().max():.2f} for or against {label}."
    else:
        top, bottom = (frequent.loc[row] for row in (frequent.effect.idxmax(), frequent.effect.idxmin()))
        prefix = (
            f"Of values with {FULL_COLOUR_ROWS} rows or more, most" if n_rare and n_rare < len(table) - 1 else "Most"
        )
        words = f"{prefix} toward {label}: {_value_text(top)}; most away from it: {_value_text(bottom)}."
        in_order = frequent[~frequent.missing]
        trend = in_order.effect.corr(pd.Series(np.arange(len(in_order)), in_order.index), method="spearman")
        if ordered and len(in_order) > 2 and abs(trend) >= MIN_RANK_CORRELATION:
            words = f"The {'higher' if trend > 0 else 'lower'}, the more toward {label}. {words}"
    most_frequent = table.loc[table.rows.idxmax()]
    share = float(most_frequent.rows / table.rows.sum())
    if share > 0.5:
        words += f" Most rows ({percent(share)}) have {_value_text(most_frequent, False)}."
    if n_rare:
        words += f" {n_rare:,} of {len(table):,} values have fewer than {FULL_COLOUR_ROWS} rows (pale): less certain."
    return words + (_jump_warning(table) if ordered else "")


def _jump_warning(table: pd.DataFrame) -> str:
    """Return a warning if several values differ strongly from both neighbours, else ""."""
    line = table[~table.missing]
    step = np.diff(line.effect)
    distance = np.minimum(np.abs(step[:-1]), np.abs(step[1:])) * (step[:-1] * step[1:] < 0)
    jumps = line.iloc[1:-1][distance > JUMP_LOG_ODDS]
    if len(jumps) < MIN_JUMPS:
        return ""
    highest = line.levels.iloc[1 + int(distance.argmax())]
    return (
        f" It jumps up and down: {len(jumps):,} of {len(line):,} values are more than {JUMP_LOG_ODDS:g} above or below "
        f"both neighbours, by up to {distance.max():.1f} (<b>{safe(highest, 40)}</b>); "
        f"half of them have {jumps.rows.median():,.0f} rows or fewer. Such points are what the model has learned of "
        "these single values: do not read them as an effect of more or less."
    )


def _value_text(level: pd.Series, count: bool = True) -> str:
    rows = f", {level.rows:,.0f} rows" if count else ""
    return f"<b>{safe(level.levels, 40)}</b> ({level.effect:+.2f}{rows})"


def _points_table(table: pd.DataFrame) -> str:
    lines = (
        [safe(level, 80), f"{rows:,.0f}", f"{effect:+.2f}"]
        for level, rows, effect in table[["levels", "rows", "effect"]].head(MAX_TABLE_LINES).itertuples(index=False)
    )
    note = f"<p class='quiet'>and {len(table) - MAX_TABLE_LINES:,} more</p>" if len(table) > MAX_TABLE_LINES else ""
    heads = html_table(["value", "rows learned from", "points"], lines)
    return f"<details><summary>All {len(table):,} points</summary>{heads}{note}</details>"


# -- a pair ------------------------------------------------------------------------------------------------------------


def _pair_figures(effects: Interactions, table: pd.DataFrame, label: str) -> Iterable[str]:
    pairs, count = table[table.order == 2], 0
    for name, tuples in pairs.tuples[beyond_chance(pairs)].items():
        numbers = [effects.number_of(part) for part in tuples]  # several where columns say the same: they are added
        members = [int(j) for j in effects.pure.space.members[numbers[0]]]
        levels = [effects.labels(j) for j in members]
        if count == MAX_PAIRS or len(levels[0]) * len(levels[1]) > MAX_HEAT_MAP_CELLS:
            continue
        count += 1
        picture = _pair_picture(effects, numbers, members, levels, label)
        caption = f"{safe(name, 80)}: blue toward {safe(label, 40)}, orange away from it; struck out: no such row"
        height = 120 + 18 * max(map(len, levels))
        yield figure_html(picture, f"Effect of {name}", caption, height=min(max(height, 300), 800))


def _pair_picture(
    effects: Interactions, numbers: Sequence[int], members: Sequence[int], levels: Sequence[Sequence[str]], label: str
) -> Picture:
    codes, n_classes = effects.encoded.codes[:, effects.encoded.weights > 0], len(effects.classes)
    rows_of = effects.encoded.weights[effects.encoded.weights > 0]
    k = list(map(str, effects.classes)).index(label)
    present_codes, places = zip(*(np.unique(codes[j], return_inverse=True) for j in members), strict=True)
    cells, example, cell_of = np.unique(np.column_stack(places), axis=0, return_index=True, return_inverse=True)
    values = effects.pure.of_rows(codes[:, example], numbers)[:, :, k].sum(axis=1) * (n_classes / max(n_classes - 1, 1))
    rows = np.bincount(cell_of.ravel(), rows_of).astype(np.float64)
    names = [
        [labels[code] for code in codes_present] for labels, codes_present in zip(levels, present_codes, strict=True)
    ]
    columns = [effects.columns[j] for j in members]
    if len(names[1]) > len(names[0]):  # the column with more levels goes on the y axis, where names have room
        cells, names, columns = cells[:, ::-1], names[::-1], columns[::-1]
    return pictures.cell_map(cells, values, rows, names, columns, f"toward {label}")
