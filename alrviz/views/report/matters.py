"""What matters to a report's model: columns ranked, what each of their values says, and one row's sum: the part of the
page that takes the model apart.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from alrviz.pictures import interactions as effects_drawn
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.redundancy import groups_of
from alrviz.studies.effects.row_explanation import RowExplanation
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.studies.statistics.measures import loss_text
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.words import number
from alrviz.views.report.effects import effects_html
from alrviz.views.report.judged import figure_html, gain
from alrviz.views.studies.evaluation import value_text

LISTED = 15  # columns and tuples in the table
OVERLAPS = 0.4  # of what is not known of a column, another takes away so much: they are said to overlap
SAME, LINKS = 6, 4  # groups of columns that overlap; links told of each
ADDED = 8  # parts of a row's sum, of which the others are one
_ALL_SINGLE = "Main effects carry 100% of the score. "  # of a model without pairs: nothing is said of them
CLOSE = 0.4  # log-odds of the row that is added up, as near as there is one: 60 % of two classes
NEAR = 1.0  # log-odds within which it is called a close call: 73 % of two classes


def what_matters(facts: ReportFacts, rows: bool) -> str:
    """Return what carries the model; `rows`: whether a row of the table may be shown."""
    effects, label = facts.effects, facts.evaluation.interest
    if effects is None:
        return f"<p>This model cannot be taken apart into effects: {safe(facts.no_effects, 400)}.</p>"
    classes = [str(name) for name in effects.classes]
    if label not in classes:  # a class that came later than all rows that were learned from
        label = classes[int(np.bincount(effects.encoded.y).argmax())]
    mirrored = "".join(
        f" Those toward {safe(other, 40)} are the same with the sign changed."
        for other in classes
        if other != label and len(classes) == 2
    )
    table, has_tuples = facts.ranking, int(effects.pure.sizes.max()) > 1
    bars = effects_drawn.ranked(table, by="loss", along="rise of log loss without it (nats)")
    pure = (
        " What two columns say together counts only as far as it goes beyond what each says by itself."
        if has_tuples
        else ""
    )
    judged = "test" if effects.has_heldout else "the training"
    below_zero = " A share below 0 corrects what other columns say." if (table.share.head(LISTED) < 0).any() else ""
    heads = {False: "columns", True: "columns and their combinations"}[has_tuples]
    return (
        f"<p>The {heads} stand in the order of how much worse the probabilities of {judged} rows get when their points "
        f"are left out, the rest unchanged.{pure} That is measured in log loss, where smaller is better: that of the "
        f"whole model is {loss_text(facts.evaluation.summary().log_loss)}, "
        f"{loss_text(gain(facts.evaluation))} below that of the class shares alone. An effect is what goes together in "
        "this table; it is not said that one thing causes the other.</p>"
        f"<div class='pictures'>{figure_html(bars, 'Importance of columns', height=380)}"
        f"<div>{_listed(table, gain(facts.evaluation))}</div></div>{_same(facts)}"
        "<details><summary>What the share of the score is, and what the model lacks</summary>"
        "<p>The share of the score says how much of the differences between rows' points (their variance) comes from a "
        "column; shares add up to 100 %. It may rank columns differently: points far from 0 on few rows make a large "
        "share, but the log loss of those few rows alone; and where columns overlap, one's points may undo another's, "
        f"so that its share is small though its points are not.{below_zero}</p>{_orders(effects)}"
        f"<p>{safe(effects.sentence().removeprefix(_ALL_SINGLE), 1_200)}</p></details>"
        f"<h3>How columns act on {safe(label, 40)}</h3><p>Right, or up, is toward {safe(label, 40)}; 0 is the mean of "
        "the rows that were learned from. 0.7 points double the odds, -0.7 halve them; what other columns say is "
        "not in it. Numbers of rows stand in brackets; what is pale rests on few rows, and is less certain."
        f"{mirrored}</p>"
        f"{effects_html(facts, label)}{_one_row(facts, label) if rows else ''}"
    )


def _orders(effects: Interactions) -> str:
    orders = effects.orders()
    if len(orders) < 2:
        return ""
    return html_table(
        ["columns together", "how many", "share of the score"],
        ([f"{n}", f"{line['tuples']:,.0f}", percent(line["share"])] for n, line in orders.to_dict("index").items()),
    )


def _listed(table: pd.DataFrame, whole: float) -> str:
    """The ranking. whole: the nats by which the model is better than the class shares."""
    several = bool((table.order > 1).any())
    rows = [
        [safe(name, 80), *([f"{line['order']}"] if several else []),
         f"{number(line['loss'], 4)} &plusmn; {number(line['loss_error'], 4)}",
         *([percent(line["loss"] / whole)] if whole > 0 else []), percent(line["share"])]
        for name, line in zip(table.index[:LISTED], table.head(LISTED).to_dict("records"), strict=True)
    ]  # fmt: skip
    heads = ["column, or columns together", "columns"] if several else ["column"]
    heads += ["rise of log loss without it (nats)", *(["of what the model gains"] if whole > 0 else [])]
    more = len(table) - LISTED
    note = f"<p class='quiet'>and {more:,} more, each of which costs less</p>" if more > 0 else ""
    return html_table([*heads, "share of the score"], rows) + note


def overlaps(facts: ReportFacts) -> list[tuple[list[str], pd.DataFrame]]:
    """Return groups of columns of which one is known, wholly or in part, from another: their names, the most important
    first, and the lines of `dependence` that say so, of the two directions the larger one.
    """
    effects, known = facts.effects, facts.dependence
    assert effects is not None
    known = known[known.known >= OVERLAPS].sort_values("known", ascending=False, kind="stable")
    each = [frozenset(pair) for pair in known[["column", "other"]].itertuples(index=False)]
    known = known[~pd.Series(each, known.index, dtype=object).duplicated()]
    places = [
        effects.columns.index(name) for group in facts.ranking.tuples for name in group if name in effects.columns
    ]
    groups = []
    for group in groups_of(known, len(effects.columns)):
        if len(group) > 1:
            names = [effects.columns[j] for j in sorted(group, key=places.index)]
            groups.append((names, known[known.column.isin(group)]))
    return sorted(groups, key=lambda one: places.index(effects.columns.index(one[0][0])))


def _same(facts: ReportFacts) -> str:
    """Sentences on columns that overlap: what they say is split between them."""
    effects, groups = facts.effects, overlaps(facts)
    assert effects is not None
    if not groups:
        return ""
    sentences = []
    for names, links in groups[:SAME]:
        words = []
        for j, i, known in links.head(LINKS).itertuples(index=False):
            column, other_column = (f"<b>{safe(effects.columns[k], 60)}</b>" for k in (j, i))
            dependence = facts.dependence
            both = dependence[(dependence.column == i) & (dependence.other == j)].known.iloc[0]
            if known == both == 1.0:
                words.append(f"{column} and {other_column} say the same, so they are ranked and drawn as one")
            elif known == 1.0:
                words.append(f"{column} is known from {other_column}")
            else:
                words.append(f"{other_column} tells {percent(known)} of what there is to know of {column}")
        every = {2: "both"}.get(len(names), f"all {len(names)}")
        ranked = facts.ranking.loss[[set(tuples) == set(names) for tuples in facts.ranking.tuples]]
        cost = float(effects.cost_without(*names)[0] if ranked.empty else ranked.iloc[0])
        how = "rises" if cost > 0 else "changes"
        sentences.append(f"{', '.join(words)}: without {every}, log loss {how} by {loss_text(cost)} nats")
    more = f"<li>and {len(groups) - SAME:,} more groups</li>" if len(groups) > SAME else ""
    lines = "".join(f"<li>{column}</li>" for column in sentences)
    return (
        "<p>Some columns overlap. What they share is split between them, so that each by itself seems to matter "
        f"less, and which of them ranks higher is partly chance:</p><ul>{lines}{more}</ul>"
    )


# -- a row's sum -------------------------------------------------------------------------------------------------------


def _one_row(facts: ReportFacts, label: str) -> str:
    """How the points of a row are added up: of those that were judged one that is close, not a tie."""
    effects, evaluation = facts.effects, facts.evaluation
    assert effects is not None
    others = [k for k, own in enumerate(evaluation.classes) if own != label and own in map(str, effects.classes)]
    mine, best = evaluation.log_p[:, evaluation.classes.index(label)], evaluation.log_p[:, others]
    k = int(np.abs(mine - best.max(axis=1) - CLOSE).argmin())
    x, close = evaluation.X.iloc[[k]], abs(mine[k] - best[k].max()) <= NEAR
    row = effects.row(x, of=label, against=evaluation.classes[others[int(best[k].argmax())]])
    of, against = (f"<b>{safe(one, 40)}</b>" for one in (row.of, row.against))
    lines = facts.ranking.tuples.map(lambda own: float(row.frame.log_odds[own].sum()))
    lines = lines.iloc[np.argsort(-lines.abs().to_numpy(), kind="stable")]
    values = [row.intercept, *lines.head(ADDED)]
    words = ["before any column (the intercept)", *(_said_of(x, name, facts, row) for name in lines.index[:ADDED])]
    if more := len(lines) - ADDED if len(lines) > ADDED else 0:
        values.append(float(lines[ADDED:].sum()))
        words.append(f"{more:,} other{'s' if more > 1 else ''}")
    parts = rounded(values, -1 if more else 0)
    table = [[name, f"{value:+.2f}"] for name, value in zip(words, parts, strict=True)]
    table.append(["<b>sum</b>", f"<b>{sum(parts):+.2f}</b>"])
    two = len(effects.classes) == 2
    how = " as in the pictures above" if two else f", against {against} (above: against the mean of the others)"
    how += ", rounded so that they add up"
    return (
        f"<h3>One row, added up</h3><p>Row {evaluation.X.index[k]}, one of the {evaluation.what}, is "
        f"{'a close call' if close else 'the closest there is'}: the probability of {of} is "
        f"{percent(row.probabilities[row.of])}, that of {against} {percent(row.probabilities[row.against])}. Its class "
        f"is <b>{safe(evaluation.classes[evaluation.y[k]], 40)}</b>. These are its points toward {of}{how}; the "
        "intercept is the score of a row whose points are all 0, not the share of the class. A sum above 0 means that "
        f"{of} is the more probable of the two.</p>{html_table(['', 'points'], table)}"
    )


def _said_of(x: pd.DataFrame, name: str, facts: ReportFacts, row: RowExplanation) -> str:
    """A line of the ranking with what the row has there."""
    tuples = facts.ranking.tuples[name]
    singles = [column for column in tuples if column in x]
    values = [value_text(x[column].iloc[0]) for column in singles] or [str(row.frame.levels[tuples[0]])]
    return f"{safe(name, 60)} = {safe(' / '.join(values), 60)}"


def rounded(values: Sequence[float], rest: int) -> list[float]:
    """Return numbers of two decimals that add up to their sum, rounded; number `rest` has what rounding leaves.

    >>> rounded([0.004, 0.004, 0.004], -1)
    [0.0, 0.0, 0.01]
    """
    parts = np.round(values, 2)
    parts[rest] += round(float(np.sum(values)), 2) - parts.sum()
    return [float(one) for one in parts.round(2) + 0.0]
