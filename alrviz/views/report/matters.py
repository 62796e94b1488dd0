"""What matters to a report's model: columns ranked, what each of their values says, and one row's sum: the part of the
page that takes the model apart.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from alrviz.pictures import interactions as effects_drawn
from alrviz.pictures.level_axis import short
from alrviz.pictures.picture import Picture
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.words import beyond_chance
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.studies.statistics.measures import loss_text
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.words import number
from alrviz.views.report.judged import figure_html, gain, ranked

LISTED = 15  # columns and tuples in the table
EFFECTS = 4  # main effects drawn at once; further ones are folded, up to so many
FOLDED = 60
PAIRS = 2
CELLS = 1_600  # of a heat map
SAME = 6  # sentences on columns that say the same
ADDED = 8  # parts of a row's sum, of which the others are one


def what_matters(facts: ReportFacts, rows: bool) -> str:
    """Return what carries the model; `rows`: whether a row of the table may be shown."""
    effects, label = facts.effects, facts.evaluation.interest
    if effects is None:
        return f"<p>This model cannot be taken apart into effects: {safe(facts.no_effects, 400)}.</p>"
    known = [str(own) for own in effects.classes]
    if label not in known:  # a class that came later than all rows that were learned from
        label = known[int(np.bincount(effects.encoded.y).argmax())]
    table = ranked(effects)
    bars = effects_drawn.ranked(table, by="loss", along="log loss without it: nats more")
    below = " A share below 0 corrects what other columns say." if (table.share.head(LISTED) < 0).any() else ""
    return (
        "<p>A <i>main effect</i> is what a column says by itself, an effect of a pair what two columns say together "
        "beyond that (<i>pure</i> effects). Columns are ranked by how much worse the "
        f"probabilities of {'held-out' if effects.has_heldout else 'the training'} rows get when its points are left "
        "out, the rest unchanged, in nats (natural logarithms) of log loss: the whole model gains "
        f"{loss_text(gain(facts.evaluation))} nats over the class shares, and has a log loss of "
        f"{loss_text(facts.evaluation.summary().log_loss)}. The share of the score says how much of the differences "
        "between rows' points (their variance) comes from it; shares add up to 100 %. The two may rank differently: "
        "points far from 0 on few rows make a large share, but the log loss of those few rows alone; and points that "
        f"turn many a close decision matter more than their share.{below}</p>"
        f"<div class='pictures'>{figure_html(bars, 'Importance of columns', height=380)}"
        f"<div>{_orders(effects)}</div></div>{_listed(table)}{_same(effects, table)}"
        f"<p>{safe(effects.sentence(), 1_200)}</p>"
        f"<h3>How columns act on {safe(label, 40)}</h3><p>Right, or up, is toward {safe(label, 40)}; 0 is the mean of "
        "the rows that were learned from. A step of 0.7 doubles the odds, -0.7 halves them; what other columns say is "
        "not in it. Bars have their number of rows in brackets, and are pale where rows are few. Points of few rows "
        f"are less certain.</p>{_effects(effects, table, label)}{_one_row(facts) if rows else ''}"
    )


def _orders(effects: Interactions) -> str:
    orders = effects.orders()
    if len(orders) < 2:
        return ""
    return html_table(
        ["columns together", "how many", "share of the score"],
        ([f"{n}", f"{line['tuples']:,.0f}", percent(line["share"])] for n, line in orders.to_dict("index").items()),
    )


def _listed(table: pd.DataFrame) -> str:
    several = bool((table.order > 1).any())
    rows = [
        [safe(name, 80), *([f"{line['order']}"] if several else []),
         f"{number(line['loss'], 4)} &plusmn; {number(line['loss_error'], 4)}", percent(line["share"])]
        for name, line in zip(table.index[:LISTED], table.head(LISTED).to_dict("records"), strict=True)
    ]  # fmt: skip
    heads = ["column, or columns together", "columns"] if several else ["column"]
    more = len(table) - LISTED
    left = f"<p class='quiet'>and {more:,} more, each of which costs less</p>" if more > 0 else ""
    return html_table([*heads, "log loss without it: nats more", "share of the score"], rows) + left


def _same(effects: Interactions, table: pd.DataFrame) -> str:
    """Sentences on columns that are known from others: what they say is split between them."""
    singles = [effects.columns.index(str(name)) for name in table.index[table.order == 1][:FOLDED]]
    pairs = known_from(effects.encoded.codes, singles)
    once = [(j, i) for j, i in pairs if (i, j) not in pairs or singles.index(j) < singles.index(i)]
    if not once:
        return ""
    said, before = [], float(effects.mute().loc["all", "log_loss"])
    for j, i in once[:SAME]:
        one, other = (f"<b>{safe(effects.columns[k], 60)}</b>" for k in (j, i))
        rise = float(effects.mute(effects.columns[i], effects.columns[j]).loc["muted", "log_loss"]) - before
        words = f"{one} and {other} say the same" if (i, j) in pairs else f"{one} is known from {other}"
        said.append(f"{words}: without both, log loss rises by {loss_text(rise)} nats")
    more = f", and {len(once) - SAME:,} more pairs" if len(once) > SAME else ""
    return (
        f"<p>{'; '.join(said)}{more}. What such columns share is split between them, so that each by itself seems to "
        "matter less.</p>"
    )


def known_from(codes: np.ndarray, columns: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs (j, i) of columns of codes (a, N) where each value of i goes with one value of j.

    Columns of one value, and those with more than a value for every three rows, say nothing of the kind.
    """
    own = {j: np.unique(codes[j], return_inverse=True)[1].ravel() for j in columns}
    sizes = {j: int(code.max(initial=0)) + 1 for j, code in own.items()}
    found = []
    for i in columns:
        if not 1 < sizes[i] <= codes.shape[1] / 3:
            continue
        beside = np.empty(sizes[i], np.int64)  # a value of j that goes with each of i's
        for j in columns:
            if j != i and 1 < sizes[j] <= sizes[i]:
                beside[own[i]] = own[j]
                if (beside[own[i]] == own[j]).all():
                    found.append((j, i))
    return found


# -- what values say ---------------------------------------------------------------------------------------------------


def _effects(effects: Interactions, table: pd.DataFrame, label: str) -> str:
    """The main effects, the most important ones unfolded, and the most important pairs, drawn."""
    singles = list(map(str, table.index[table.order == 1]))
    first = [*(_main(effects, name, label) for name in singles[:EFFECTS]), *_pairs(effects, table, label)]
    folded = [_main(effects, name, label) for name in singles[EFFECTS:FOLDED]]
    shown = f"<div class='pictures'>{''.join(first)}</div>"
    if not folded:
        return shown
    more = len(singles) - FOLDED
    rest = f"<p class='quiet'>{more:,} columns that matter less are not drawn.</p>" if more > 0 else ""
    count = f"{len(folded)} more columns act" if len(folded) > 1 else "one more column acts"
    pictures = f"<div class='pictures'>{''.join(folded)}</div>"
    return f"{shown}<details><summary>How {count}</summary>{pictures}{rest}</details>"


def _main(effects: Interactions, name: str, label: str) -> str:
    column = effects.pure.space.members[effects.number_of(name)][0]
    table = _toward(effects.effects(name), label)
    if effects.encoder.columns_[column].kind == "categorical":  # others stand in their order
        table = table.sort_values("effect", ascending=False)
    table = table[table.rows > 0]
    counts = [f" ({rows:,.0f})" for rows in table.rows]
    told = [
        short(level, effects_drawn.BAR_CUT - len(rows)) + rows for level, rows in zip(table.levels, counts, strict=True)
    ]
    if len(table) > effects_drawn.BARS:  # a line, along which there is no room for counts
        told = list(table.levels)
    bars = effects_drawn.signed_bars(
        told, table.effect, np.nan, np.nan, [""] * len(told), effects_drawn.opacity(table.rows.to_numpy())
    )
    picture = effects_drawn.bar_picture(bars, f"{name}: effect toward {label} (log-odds)")
    high = min(180 + 18 * min(len(table), 30), 520)
    caption = _of_intervals(table) if len(table) > effects_drawn.BARS else ""
    return figure_html(picture, f"Effect of {name}", caption, height=high)


def _pairs(effects: Interactions, table: pd.DataFrame, label: str) -> Iterable[str]:
    pairs, found = table[table.order == 2], 0
    for name in pairs.index[beyond_chance(pairs)]:
        members = effects.pure.space.members[effects.number_of(name)]
        levels = [effects.labels(j) for j in members]
        if found == PAIRS or len(levels[0]) * len(levels[1]) > CELLS:
            continue
        found += 1
        picture = _pair(effects, str(name), [int(j) for j in members], levels, label)
        caption = f"{safe(name, 80)}: blue toward {safe(label, 40)}, orange away from it; struck out: no such row"
        high = 120 + 18 * max(map(len, levels))
        yield figure_html(picture, f"Effect of {name}", caption, height=min(max(high, 300), 800))


def _of_intervals(effect: pd.DataFrame) -> str:
    """How many rows a point of a line rests on: there is no room for each one's."""
    least, middle, most = (f"{rows:,.0f}" for rows in effect.rows.quantile([0, 0.5, 1]))
    return (
        f"{len(effect)} values or intervals, each of {least} to {most} of the rows that were learned from (median "
        f"{middle}). A jump may be real: where rows are many it hardly is chance, where they are few it may be."
    )


def _pair(
    effects: Interactions, name: str, members: Sequence[int], levels: Sequence[Sequence[str]], label: str
) -> Picture:
    t = effects.number_of(name)
    pure = effects.pure
    cells = pure.cells_of(t)
    codes = pure.space.codes_of(pure.index.seen[cells])
    k = list(map(str, effects.classes)).index(label)
    many = len(effects.classes)
    values, rows = (np.zeros((len(levels[0]), len(levels[1]))) for _ in range(2))
    values[codes[:, 0], codes[:, 1]] = pure.f[cells][:, k] * (many / max(many - 1, 1))
    rows[codes[:, 0], codes[:, 1]] = pure.rows[cells]
    used = [np.flatnonzero(rows.sum(axis=1 - side) > 0) for side in (0, 1)]
    first, second = ([levels[side][at] for at in used[side].tolist()] for side in (0, 1))
    columns = (effects.columns[members[0]], effects.columns[members[1]])
    values, rows = values[np.ix_(*used)], rows[np.ix_(*used)]
    if len(second) > len(first):  # names of many levels stand in lines of their own
        values, rows, first, second, columns = values.T, rows.T, second, first, columns[::-1]
    return effects_drawn.heat_map(values, rows, (first, second), columns, f"toward {label}", signed=True)


def _toward(effects: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return of a frame of `Interactions.effects` a line per cell: levels, rows, and what they add to the log-odds of a
    class against the mean of the others; 0.7 doubles the odds.
    """
    many = effects["class"].nunique()
    mine = effects[effects["class"].astype(str) == label]
    gap = mine.pure.to_numpy() * (many / max(many - 1, 1))  # they sum to 0 over the classes
    return pd.DataFrame({"levels": mine.levels.to_numpy(), "rows": mine.rows.to_numpy(), "effect": gap})


# -- a row's sum -------------------------------------------------------------------------------------------------------


def _one_row(facts: ReportFacts) -> str:
    """How the points of a row are added up: the first one that was judged."""
    effects, found = facts.effects, facts.evaluation
    assert effects is not None
    row = effects.row(found.X.iloc[[0]])
    of, against = (f"<b>{safe(label, 40)}</b>" for label in (row.of, row.against))
    lines = [["before any column (the intercept)", f"{row.intercept:+.2f}"]]
    lines += [
        [f"{safe(name, 60)} = {safe(line['levels'], 60)}", f"{line['log_odds']:+.2f}"]
        for name, line in row.frame.head(ADDED).to_dict("index").items()
    ]
    if len(others := row.frame.log_odds[ADDED:]):
        lines.append([f"{len(others):,} other{'s' if len(others) > 1 else ''}", f"{others.sum():+.2f}"])
    lines.append(["<b>sum</b>", f"<b>{row.log_odds:+.2f}</b>"])
    return (
        f"<h3>One row, added up</h3><p>Row {found.X.index[0]} is predicted as {of}, with a probability of "
        f"{number(row.probabilities[row.of], 3)}. Its points toward {of} against {against} are added up; the sum is "
        "the logarithm of the ratio of the two probabilities.</p>" + html_table(["", "points"], lines)
    )
