"""How the values of a report's columns act on a class: a picture, a sentence and a table of all points for each."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.parse_values import number_text
from alrviz.pictures import interactions as drawn
from alrviz.pictures.interactions import FULL_COLOUR_ROWS
from alrviz.pictures.level_axis import short
from alrviz.pictures.picture import Picture
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.words import beyond_chance
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.views.core.style import html_table, safe
from alrviz.views.report.judged import figure_html

EFFECTS = 6  # main effects drawn at once; further ones are folded, up to so many
FOLDED = 60
PAIRS = 2
CELLS = 1_600  # of a heat map
POINTS = 300  # lines of the table of all points
LITTLE = 0.05  # log-odds; a column that never says more hardly acts
JUMP, JUMPS = 1.0, 3  # log-odds by which a value stands out from its neighbours; so many such are told
FOLLOWS = 0.9  # rank correlation of values in their order with their points, beyond which points rise or fall
MARKED = 0.25  # of the rows; one value of so many has a mark of its own on a line


def effects_html(facts: ReportFacts, label: str) -> str:
    """Return the main effects, the most important ones unfolded, and the most important pairs."""
    effects, table = facts.effects, facts.ranking
    assert effects is not None
    singles = table[table.order == 1].tuples.tolist()
    first = [*(_column(facts, tuples, label) for tuples in singles[:EFFECTS]), *_pairs(effects, table, label)]
    folded = [_column(facts, tuples, label) for tuples in singles[EFFECTS:FOLDED]]
    shown = f"<div class='pictures'>{''.join(first)}</div>"
    if not folded:
        return shown
    more = len(singles) - FOLDED
    rest = f"<p class='quiet'>{more:,} columns that matter less are not drawn.</p>" if more > 0 else ""
    count = f"{len(folded)} more columns act" if len(folded) > 1 else "one more column acts"
    pictures = f"<div class='pictures'>{''.join(folded)}</div>"
    return f"{shown}<details><summary>How {count}</summary>{pictures}{rest}</details>"


# -- a column ----------------------------------------------------------------------------------------------------------


def _column(facts: ReportFacts, tuples: Sequence[str], label: str) -> str:
    """A column's picture, or that of columns that say the same, whose points are added."""
    effects = facts.effects
    assert effects is not None
    singles = [effects.columns.index(name) for name in tuples if name in effects.columns]
    kinds = [effects.encoder.columns_[j].kind for j in singles]
    column = singles[kinds.index("categorical") if "categorical" in kinds else 0]  # whose values have names
    name = " + ".join(effects.columns[j] for j in singles)
    ordered = effects.encoder.columns_[column].kind != "categorical"
    table = column_points(facts, column, tuples, label)
    bars = table if ordered else table.sort_values("effect", ascending=False)
    many = len(table) > drawn.BARS
    if many and not ordered:  # a line would join values that are no neighbours
        bars = bars[bars.rows.rank(ascending=False, method="first") <= drawn.BARS]
    line = many and ordered
    counts = [f" ({rows:,.0f})" for rows in bars.rows]
    names = [short(level, drawn.BAR_CUT - len(n)) + n for level, n in zip(bars.levels, counts, strict=True)]
    shown = drawn.signed_bars(
        list(bars.levels) if line else names, bars.effect, np.nan, np.nan, [""] * len(bars),
        drawn.opacity(bars.rows.to_numpy()),
    ).assign(apart=bars.missing.to_numpy(), mark=[_mark(one, table) for one in bars.itertuples()])  # fmt: skip
    picture = drawn.bar_picture(shown, f"{name}: points toward {label}")
    high = 320 if line else min(150 + 18 * len(bars), 720)
    left_out = f" The {len(bars)} most frequent of {len(table):,} values are drawn." if len(bars) < len(table) else ""
    return figure_html(
        picture, f"Effect of {name}", in_words(table, ordered, label) + left_out + (_OF_A_LINE if line else ""),
        height=high, below=_all_points(table if ordered else table.sort_values("effect", ascending=False)),
    )  # fmt: skip


_OF_A_LINE = " Intervals stand side by side, whatever their width."


def column_points(facts: ReportFacts, column: int, tuples: Sequence[str], label: str) -> pd.DataFrame:
    """Return a line per level of a column that has rows: levels (what it is called), rows, effect (what it adds to the
    log-odds of the class against the mean of the others, by all these tuples), missing (whether it is for missing
    values), single (whether it is one value).
    """
    effects = facts.effects
    assert effects is not None
    codes, labels = effects.encoded.codes[column].astype(np.int64), effects.labels(column)
    rows = np.bincount(codes, effects.encoded.weights, minlength=len(labels))
    used, first = np.unique(codes, return_index=True)  # a row of each level: columns that say the same have one too
    parts = effects.pure.of_rows(effects.encoded.codes[:, first], [effects.number_of(name) for name in tuples])
    many, k = len(effects.classes), list(map(str, effects.classes)).index(label)
    effect = parts[:, :, k].sum(axis=1) * (many / max(many - 1, 1))  # they sum to 0 over the classes
    encoder = effects.encoder.columns_[column]
    names, single = _names(facts, column, labels)
    gap = used == (-1 if encoder.missing_code is None else encoder.missing_code)
    return pd.DataFrame(
        {
            "levels": [names[c] for c in used], "rows": rows[used], "effect": effect, "missing": gap,
            "single": [single[c] for c in used],
        }
    )  # fmt: skip


def _names(facts: ReportFacts, column: int, labels: Sequence[str]) -> tuple[list[str], list[bool]]:
    """What levels are called, and whether each is one value: an interval in which all rows of the table have the same
    number is called by it.
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
    """What stands beside a value on a line, a row of the table: its share where many rows have it, or it is missing."""
    share = level.rows / table.rows.sum()
    if level.missing:
        return f"missing ({percent(share)})"
    return f"{short(str(level.levels))} ({percent(share)} of rows)" if level.single and share >= MARKED else ""


def in_words(table: pd.DataFrame, ordered: bool, label: str) -> str:
    """Return what a table of `column_points` comes to, in two or three sentences, as HTML."""
    label, named = safe(label, 40), table[table.rows >= FULL_COLOUR_ROWS]
    few = len(table) - len(named)
    named = table if len(named) < 2 else named
    if float(named.effect.abs().max()) < LITTLE:
        words = f"It hardly acts: no value says more than {named.effect.abs().max():.2f} for or against {label}."
    else:
        top, bottom = (named.loc[of] for of in (named.effect.idxmax(), named.effect.idxmin()))
        of = f"Of values with {FULL_COLOUR_ROWS} rows or more, most" if few and few < len(table) - 1 else "Most"
        words = f"{of} toward {label}: {_value(top)}; most away from it: {_value(bottom)}."
        in_order = named[~named.missing]
        trend = in_order.effect.corr(pd.Series(np.arange(len(in_order)), in_order.index), method="spearman")
        if ordered and len(in_order) > 2 and abs(trend) >= FOLLOWS:
            words = f"The {'higher' if trend > 0 else 'lower'}, the more toward {label}. {words}"
    most = table.loc[table.rows.idxmax()]
    share = float(most.rows / table.rows.sum())
    if share > 0.5:
        words += f" Most rows ({percent(share)}) have {_value(most, False)}."
    if few:
        words += f" {few:,} of {len(table):,} values have fewer than {FULL_COLOUR_ROWS} rows (pale): less certain."
    return words + (_jumps(table) if ordered else "")


def _jumps(table: pd.DataFrame) -> str:
    """A warning where values stand out from both neighbours, up and down: no trend joins them."""
    line = table[~table.missing]
    step = np.diff(line.effect)
    away = np.minimum(np.abs(step[:-1]), np.abs(step[1:])) * (step[:-1] * step[1:] < 0)
    out = line.iloc[1:-1][away > JUMP]
    if len(out) < JUMPS:
        return ""
    return (
        f" It jumps up and down: {len(out):,} of {len(line):,} values stand more than {JUMP:g} above or below both "
        f"their neighbours, by up to {away.max():.1f} (<b>{safe(line.levels.iloc[1 + int(away.argmax())], 40)}</b>); "
        f"half of them have {out.rows.median():,.0f} rows or fewer. Such points are what the model has learned of "
        "these single values: do not read them as an effect of more or less."
    )


def _value(level: pd.Series, count: bool = True) -> str:
    rows = f", {level.rows:,.0f} rows" if count else ""
    return f"<b>{safe(level.levels, 40)}</b> ({level.effect:+.2f}{rows})"


def _all_points(table: pd.DataFrame) -> str:
    lines = (
        [safe(level, 80), f"{rows:,.0f}", f"{effect:+.2f}"]
        for level, rows, effect in table[["levels", "rows", "effect"]].head(POINTS).itertuples(index=False)
    )
    more = f"<p class='quiet'>and {len(table) - POINTS:,} more</p>" if len(table) > POINTS else ""
    heads = html_table(["value", "rows learned from", "points"], lines)
    return f"<details><summary>All {len(table):,} points</summary>{heads}{more}</details>"


# -- a pair ------------------------------------------------------------------------------------------------------------


def _pairs(effects: Interactions, table: pd.DataFrame, label: str) -> Iterable[str]:
    pairs, count = table[table.order == 2], 0
    for name, tuples in pairs.tuples[beyond_chance(pairs)].items():
        numbers = [effects.number_of(part) for part in tuples]  # several where columns say the same: they are added
        members = [int(j) for j in effects.pure.space.members[numbers[0]]]
        levels = [effects.labels(j) for j in members]
        if count == PAIRS or len(levels[0]) * len(levels[1]) > CELLS:
            continue
        count += 1
        picture = _pair(effects, numbers, members, levels, label)
        caption = f"{safe(name, 80)}: blue toward {safe(label, 40)}, orange away from it; struck out: no such row"
        high = 120 + 18 * max(map(len, levels))
        yield figure_html(picture, f"Effect of {name}", caption, height=min(max(high, 300), 800))


def _pair(
    effects: Interactions, numbers: Sequence[int], members: Sequence[int], levels: Sequence[Sequence[str]], label: str
) -> Picture:
    codes, many = effects.encoded.codes[:, effects.encoded.weights > 0], len(effects.classes)
    rows_of = effects.encoded.weights[effects.encoded.weights > 0]
    k = list(map(str, effects.classes)).index(label)
    used, places = zip(*(np.unique(codes[j], return_inverse=True) for j in members), strict=True)
    cells, one, cell_of = np.unique(np.column_stack(places), axis=0, return_index=True, return_inverse=True)
    values = effects.pure.of_rows(codes[:, one], numbers)[:, :, k].sum(axis=1) * (many / max(many - 1, 1))
    rows = np.bincount(cell_of.ravel(), rows_of).astype(np.float64)
    names = [[labels[code] for code in own] for labels, own in zip(levels, used, strict=True)]
    columns = [effects.columns[j] for j in members]
    if len(names[1]) > len(names[0]):  # names of many levels stand in lines of their own
        cells, names, columns = cells[:, ::-1], names[::-1], columns[::-1]
    return drawn.cell_map(cells, values, rows, names, columns, f"toward {label}")
