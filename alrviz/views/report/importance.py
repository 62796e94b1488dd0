"""Report section on importance: columns ranked, effects of their levels, and the sum of one row."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from alrviz.pictures import interactions as pictures
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.redundancy import groups_of
from alrviz.studies.effects.row_explanation import RowExplanation
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.studies.statistics.measures import loss_text
from alrviz.views.core.style import html_table, safe, verdict_html
from alrviz.views.race.texts import number
from alrviz.views.report.effects import effects_html
from alrviz.views.report.quality import figure_html, gain
from alrviz.views.studies.evaluation import value_text

TABLE_ROWS = 15
MIN_OVERLAP = 0.4  # columns overlap if one removes this share of the uncertainty about the other
MAX_GROUPS, MAX_LINKS = 6, 4  # of overlapping columns, and sentences about each group
MAX_PARTS = 8  # of a row's sum; further ones are added up
TARGET_LOG_ODDS = 0.4  # the example row is the one nearest to this: 60 % for two classes
MAX_CLOSE_LOG_ODDS = 1.0  # up to here the example is "a close call": 73 % for two classes


def what_matters(facts: ReportFacts, rows: bool) -> str:
    """Return the section; `rows` tells whether a row of the table may be shown."""
    effects, label = facts.effects, facts.evaluation.class_of_interest
    if effects is None:
        return f"<p>This model cannot be split into effects: {safe(facts.no_effects, 400)}.</p>"
    classes = [str(name) for name in effects.classes]
    if label not in classes:  # the class occurs only in test rows
        label = classes[int(np.bincount(effects.encoded.y).argmax())]
    mirrored_text = "".join(
        f" Those toward {safe(other_class, 40)} are the same with the sign changed."
        for other_class in classes
        if other_class != label and len(classes) == 2
    )
    table, has_tuples = facts.ranking, int(effects.pure.sizes.max()) > 1
    bars = pictures.ranked(table, by="loss", along="rise of log loss without it (nats)")
    pure_text = (
        " What two columns say together counts only as far as it goes beyond what each says by itself."
        if has_tuples
        else ""
    )
    judging_rows = "test" if effects.has_heldout else "the training"
    below_zero_text = (
        " A share below 0 corrects what other columns say." if (table.share.head(TABLE_ROWS) < 0).any() else ""
    )
    items = {False: "columns", True: "columns and their combinations"}[has_tuples]
    return (
        f"<p>The {items} are sorted by how much worse the probabilities of {judging_rows} rows get when their points "
        f"are left out, the rest unchanged.{pure_text} That is measured in log loss, where smaller is better: "
        "that of the "
        f"whole model is {loss_text(facts.evaluation.summary().log_loss)}, "
        f"{loss_text(gain(facts.evaluation))} below that of the class shares alone. An effect is what goes together in "
        "this table; it is not said that one thing causes the other.</p>"
        f"<div class='pictures'>{figure_html(bars, 'Importance of columns', height=380)}"
        f"<div>{_ranking_table(table, gain(facts.evaluation))}</div></div>{_overlap_sentences(facts)}"
        "<details><summary>What the share of the score is, and what the model lacks</summary>"
        "<p>The share of the score says how much of the differences between rows' points (their variance) comes from a "
        "column; shares add up to 100 %. It may rank columns differently: points far from 0 on few rows make a large "
        "share, but the log loss of those few rows alone; and where columns overlap, one's points may undo another's, "
        f"so that its share is small though its points are not.{below_zero_text}</p>{_orders_table(effects)}"
        f"{verdict_html(effects.verdict())}</details>"
        f"<h3>How columns act on {safe(label, 40)}</h3><p>Right, or up, is toward {safe(label, 40)}; 0 is the mean of "
        "the rows that were learned from. 0.7 points double the odds, -0.7 halve them; what other columns say is "
        "not in it. Numbers of rows stand in brackets; what is pale rests on few rows, and is less certain."
        f"{mirrored_text}</p>"
        f"{effects_html(facts, label)}{_one_row(facts, label) if rows else ''}"
    )


def _orders_table(effects: Interactions) -> str:
    orders = effects.orders()
    if len(orders) < 2:
        return ""
    return html_table(
        ["columns together", "how many", "share of the score"],
        ([f"{n}", f"{row['tuples']:,.0f}", percent(row["share"])] for n, row in orders.to_dict("index").items()),
    )


def _ranking_table(table: pd.DataFrame, total_gain: float) -> str:
    """Return the first rows of a ranking as an HTML table.

    total_gain: the model's gain over the class shares, in nats, of which each row's loss is a share; no such column
    unless it is positive.
    """
    has_tuples = bool((table.order > 1).any())
    table_rows = [
        [safe(name, 80), *([f"{ranked['order']}"] if has_tuples else []),
         f"{number(ranked['loss'], 4)} &plusmn; {number(ranked['loss_error'], 4)}",
         *([percent(ranked["loss"] / total_gain)] if total_gain > 0 else []), percent(ranked["share"])]
        for name, ranked in zip(table.index[:TABLE_ROWS], table.head(TABLE_ROWS).to_dict("records"), strict=True)
    ]  # fmt: skip
    column_titles = ["column, or columns together", "columns"] if has_tuples else ["column"]
    column_titles += ["rise of log loss without it (nats)", *(["of what the model gains"] if total_gain > 0 else [])]
    n_hidden = len(table) - TABLE_ROWS
    note = f"<p class='quiet'>and {n_hidden:,} more, each of which costs less</p>" if n_hidden > 0 else ""
    return html_table([*column_titles, "share of the score"], table_rows) + note


def overlaps(facts: ReportFacts) -> list[tuple[list[str], pd.DataFrame]]:
    """Return groups of columns that determine one another, wholly or in part.

    Each is the columns' names, the most important first, and the rows of `dependence` that link them (for each pair the
    stronger direction).
    """
    effects, dependence = facts.effects, facts.dependence
    assert effects is not None
    dependence = dependence[dependence.known >= MIN_OVERLAP].sort_values("known", ascending=False, kind="stable")
    pairs = [frozenset(pair) for pair in dependence[["column", "other"]].itertuples(index=False)]
    dependence = dependence[~pd.Series(pairs, dependence.index, dtype=object).duplicated()]
    ranked_columns = [
        effects.columns.index(name) for group in facts.ranking.tuples for name in group if name in effects.columns
    ]
    groups = []
    for group in groups_of(dependence, len(effects.columns)):
        if len(group) > 1:
            names = [effects.columns[j] for j in sorted(group, key=ranked_columns.index)]
            groups.append((names, dependence[dependence.column.isin(group)]))
    return sorted(groups, key=lambda group: ranked_columns.index(effects.columns.index(group[0][0])))


def _overlap_sentences(facts: ReportFacts) -> str:
    """Return sentences on columns that overlap, whose shared information is split between them."""
    effects, groups = facts.effects, overlaps(facts)
    assert effects is not None
    if not groups:
        return ""
    sentences = []
    for names, links in groups[:MAX_GROUPS]:
        link_texts = []
        for column_index, i, known_share in links.head(MAX_LINKS).itertuples(index=False):
            column, other_column = (f"<b>{safe(effects.columns[k], 60)}</b>" for k in (column_index, i))
            dependence = facts.dependence
            known_back = dependence[(dependence.column == i) & (dependence.other == column_index)].known.iloc[0]
            if known_share == known_back == 1.0:
                link_texts.append(f"{column} and {other_column} say the same, so they are ranked and drawn as one")
            elif known_share == 1.0:
                link_texts.append(f"{column} is known from {other_column}")
            else:
                link_texts.append(f"{other_column} tells {percent(known_share)} of what there is to know of {column}")
        together = {2: "both"}.get(len(names), f"all {len(names)}")
        rise_of_group = facts.ranking.loss[[set(tuples) == set(names) for tuples in facts.ranking.tuples]]
        loss_rise = float(effects.cost_without(*names)[0] if rise_of_group.empty else rise_of_group.iloc[0])
        verb = "rises" if loss_rise > 0 else "changes"
        sentences.append(f"{', '.join(link_texts)}: without {together}, log loss {verb} by {loss_text(loss_rise)} nats")
    hidden_note = f"<li>and {len(groups) - MAX_GROUPS:,} more groups</li>" if len(groups) > MAX_GROUPS else ""
    items_html = "".join(f"<li>{column}</li>" for column in sentences)
    return (
        "<p>Some columns overlap. What they share is split between them, so that each by itself seems to matter "
        f"less, and which of them ranks higher is partly chance:</p><ul>{items_html}{hidden_note}</ul>"
    )


# -- a row's sum -------------------------------------------------------------------------------------------------------


def _one_row(facts: ReportFacts, label: str) -> str:
    """Return the sum of points toward the class `label` of a test row whose prediction is close but not a tie."""
    effects, evaluation = facts.effects, facts.evaluation
    assert effects is not None
    other_classes = [
        k for k, name in enumerate(evaluation.classes) if name != label and name in map(str, effects.classes)
    ]
    label_log_p, other_log_p = evaluation.log_p[:, evaluation.classes.index(label)], evaluation.log_p[:, other_classes]
    k = int(np.abs(label_log_p - other_log_p.max(axis=1) - TARGET_LOG_ODDS).argmin())
    x, is_close = evaluation.X.iloc[[k]], abs(label_log_p[k] - other_log_p[k].max()) <= MAX_CLOSE_LOG_ODDS
    row = effects.row(x, label=label, other_label=evaluation.classes[other_classes[int(other_log_p[k].argmax())]])
    of, against = (f"<b>{safe(name, 40)}</b>" for name in (row.label, row.other_label))
    log_odds_by_name = facts.ranking.tuples.map(lambda name: float(row.frame.log_odds[name].sum()))
    log_odds_by_name = log_odds_by_name.iloc[np.argsort(-log_odds_by_name.abs().to_numpy(), kind="stable")]
    log_odds = [row.intercept, *log_odds_by_name.head(MAX_PARTS)]
    line_texts = [
        "before any column (the intercept)",
        *(_line_of_row(x, name, facts, row) for name in log_odds_by_name.index[:MAX_PARTS]),
    ]
    if n_other := len(log_odds_by_name) - MAX_PARTS if len(log_odds_by_name) > MAX_PARTS else 0:
        log_odds.append(float(log_odds_by_name[MAX_PARTS:].sum()))
        line_texts.append(f"{n_other:,} other{'s' if n_other > 1 else ''}")
    rounded_values = round_to_sum(log_odds, -1 if n_other else 0)
    table_rows = [[name, f"{value:+.2f}"] for name, value in zip(line_texts, rounded_values, strict=True)]
    table_rows.append(["<b>sum</b>", f"<b>{sum(rounded_values):+.2f}</b>"])
    is_binary = len(effects.classes) == 2
    note = " as in the pictures above" if is_binary else f", against {against} (above: against the mean of the others)"
    note += ", rounded so that they add up"
    return (
        f"<h3>One row, added up</h3><p>Row {evaluation.X.index[k]}, one of the {evaluation.rows_text}, is "
        f"{'a close call' if is_close else 'the closest there is'}: the probability of {of} is "
        f"{percent(row.probabilities[row.label])}, that of {against} {percent(row.probabilities[row.other_label])}. "
        f"Its class is <b>{safe(evaluation.classes[evaluation.y[k]], 40)}</b>. These are its points toward {of}{note}; "
        "the intercept is the score of a row whose points are all 0, not the share of the class. A sum above 0 means "
        f"that {of} is the more probable of the two.</p>{html_table(['', 'points'], table_rows)}"
    )


def _line_of_row(x: pd.DataFrame, name: str, facts: ReportFacts, row: RowExplanation) -> str:
    """Return the columns of line `name` of the ranking with the row's levels, or its values in x."""
    tuples = facts.ranking.tuples[name]
    single_columns = [column for column in tuples if column in x]
    level_texts = [value_text(x[column].iloc[0]) for column in single_columns] or [str(row.frame.levels[tuples[0]])]
    return f"{safe(name, 60)} = {safe(' / '.join(level_texts), 60)}"


def round_to_sum(values: Sequence[float], rest: int) -> list[float]:
    """Round values to two decimals that add up to the rounded sum; number `rest` absorbs the rounding errors.

    >>> round_to_sum([0.004, 0.004, 0.004], -1)
    [0.0, 0.0, 0.01]
    """
    rounded_values = np.round(values, 2)
    rounded_values[rest] += round(float(np.sum(values)), 2) - rounded_values.sum()
    return [float(value) for value in rounded_values.round(2) + 0.0]
