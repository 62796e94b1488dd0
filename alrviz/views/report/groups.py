"""Where a report's model fails: groups of rows beside each other, classes confused, the rows it got most wrong."""

from dataclasses import replace

import numpy as np
import pandas as pd

from alrviz.pictures import evaluation as drawn
from alrviz.studies.protocols.report_facts import MIN_GROUP_ROWS, ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.studies.statistics.row_groups import MAX_LEVELS
from alrviz.views.core.style import html_table, safe
from alrviz.views.report.judged import figure_html, group_text, groups_of_all
from alrviz.views.studies.evaluation import false_alarms, group_losses_html, groups_html, worst_html

OPEN = 3  # columns whose groups are shown at once; others are folded
WORST = 10  # rows
NAMED = 20  # columns that are not compared
SIDES = 5  # values of a column between whose groups a gap is told in a sentence
_NONE = "It got none wrong; of these it was least sure."
_LOOK = "Worth a look: they may be errors of the table, or cases that these columns cannot explain."


# -- in a sentence -----------------------------------------------------------------------------------------------------


def hardest_group(facts: ReportFacts) -> str:
    """Return the group in which the smallest part of its own baseline's errors is avoided, of those in which it is
    smaller than in all rows beyond chance; "" where there is none.

    A group may have many errors because its rows are hard to tell: what counts is what the model gains there.
    """
    summary, table = facts.evaluation.summary(), groups_of_all(facts)
    if not summary.shares_error:
        return ""
    overall = summary.error / summary.shares_error
    table = table[table.rows * table.shares_error >= MIN_GROUP_ROWS]
    table = table[table.low / table.shares_error > overall]
    if table.empty:
        return ""
    left = table.error / table.shares_error
    line, avoided = table.loc[left.idxmax()], 1 - float(left.max())
    return (
        f"It gains least where <b>{safe(line.column, 40)}</b> is {group_text(line.group)}: {percent(line.error)} of "
        f"{line.rows:,} rows are wrong, and always saying the most frequent class there would be wrong for "
        f"{percent(line.shares_error)}. So {percent(avoided) if avoided > 0 else 'none'} of these errors are avoided "
        f"(of all rows: {percent(1 - overall)}). This counts groups in which that answer makes {MIN_GROUP_ROWS} errors "
        "or more, and what is beyond chance."
    )


def most_missed(facts: ReportFacts) -> str:
    """Return the group where most rows of the rarer of two classes are missed, beyond chance; "" if there is none."""
    evaluation = facts.evaluation
    if len(evaluation.classes) != 2:
        return ""
    figures, table = evaluation.as_predicted(), groups_of_all(facts)
    table = table[(table.rows * table.share >= MIN_GROUP_ROWS) & (table.sensitivity_high < figures.sensitivity)]
    if table.empty:
        return ""
    line = table.loc[table.sensitivity.idxmin()]
    return (
        f"It misses {safe(evaluation.interest, 40)} most where <b>{safe(line.column, 40)}</b> is "
        f"{group_text(line.group)}: "
        f"{percent(1 - line.sensitivity)} of {line.share * line.rows:,.0f} such rows (of all: "
        f"{percent(1 - figures.sensitivity)}). This counts groups with {MIN_GROUP_ROWS} such rows or more, and what "
        "is beyond chance."
    )


def most_divided(facts: ReportFacts) -> str:
    """Return the column of two to five values between whose groups the share of found rows differs most, where that is
    beyond chance; "" if there is none, or more than two classes.

    Such columns are often about who somebody is; which of them are is not known here.
    """
    evaluation = facts.evaluation
    if len(evaluation.classes) != 2:
        return ""
    label, widest = safe(evaluation.interest, 40), None
    for column, table in facts.groups.items():
        if evaluation.X[column].nunique() > SIDES:
            continue
        large = table[table.rows * table.share >= MIN_GROUP_ROWS]
        if len(large) < 2:
            continue
        lowest, highest = (large.loc[at] for at in (large.sensitivity.idxmin(), large.sensitivity.idxmax()))
        gap = highest.sensitivity - lowest.sensitivity
        if lowest.sensitivity_high < highest.sensitivity_low and (widest is None or gap > widest[0]):
            widest = gap, column, lowest, highest
    if widest is None:
        return ""
    _, column, lowest, highest = widest
    sides = [
        f"{percent(group.sensitivity)} of the {group.share * group.rows:,.0f} where it is {group_text(group.group)}"
        for group in (lowest, highest)
    ]
    return (
        f"Among columns with two to five values, groups differ most by <b>{safe(column, 40)}</b>: of the rows "
        f"that are {label} it finds {sides[0]}, and {sides[1]}."
    )


# -- the section -------------------------------------------------------------------------------------------------------


def where_it_fails(facts: ReportFacts, rows: bool) -> str:
    """Return groups beside each other, the classes confused, and the rows held least likely."""
    evaluation = facts.evaluation
    two, label = len(evaluation.classes) == 2, safe(evaluation.interest, 40)
    definitions = (
        f"<i>Sensitivity</i> is the share of the rows that are {label} which are predicted so, <i>false alarms</i> the "
        f"share of the other rows predicted {label}; "
    )
    left_out = facts.not_compared
    not_compared = (
        f" Not compared, for there are more such columns: {safe(', '.join(left_out[:NAMED]), 600)}"
        f"{f' and {len(left_out) - NAMED:,} more' if len(left_out) > NAMED else ''}."
        if left_out
        else ""
    )
    parts = [
        f"<p>{hardest_group(facts)} {most_missed(facts)} {most_divided(facts)}</p>"
        f"<p>Rows are grouped by every column of at most {MAX_LEVELS} values, whatever it is about, and by the most "
        "important others (numbers cut into four groups of about as many rows, of texts the "
        f"{MAX_LEVELS} most frequent).{not_compared} {definitions}the <i>baseline</i> is always saying the group's own "
        "most frequent "
        "class: some groups are harder than others. Intervals of 95 % are Wilson's; the dashed line of a picture is "
        "the figure of all rows. The lowest and the highest group of each column "
        f"({MIN_GROUP_ROWS} rows at least):</p>{_overview(facts, two)}"
    ]
    sections = [_by_column(facts, name, table, two) for name, table in facts.groups.items()]
    parts += sections[:OPEN]
    if rest := sections[OPEN:]:
        names = ", ".join(safe(name, 40) for name in list(facts.groups)[OPEN:])
        parts.append(f"<details><summary>Groups by {names}</summary>{''.join(rest)}</details>")
    confused = evaluation.confusions(8)
    if not two and len(confused):
        pairs = (
            [safe(line["class"], 60), safe(line["predicted"], 60), f"{line['rows']:,.6g}", percent(line["share"])]
            for line in confused.to_dict("records")
        )
        heads = ["class", "predicted as", "rows", "share of the class"]
        parts.append(f"<h3>Classes most often confused</h3>{html_table(heads, pairs)}")
    if rows:
        by_importance = replace(evaluation, X=evaluation.X[facts.columns])
        parts.append(
            "<h3>The rows that it got most wrong</h3><p>"
            f"{_LOOK if evaluation.error else _NONE} Row 0 is the first row below the header (rows without a class "
            f"are not counted). The columns that matter most stand first.</p>{worst_html(by_importance, WORST)}"
        )
    return "".join(parts)


def _overview(facts: ReportFacts, two: bool) -> str:
    """A line for each column: the lowest and the highest group of each figure."""
    lines = []
    for name, table in facts.groups.items():
        table = table.assign(alarms=false_alarms(table.specificity), every=1.0, others=1 - table.share)
        figures = [("sensitivity", "share"), ("alarms", "others")] if two else []
        cells = [safe(name, 60), str(len(table))]
        for figure, share in [*figures, ("error", "every"), ("shares_error", "every")]:
            large = table[table.rows * table[share] >= MIN_GROUP_ROWS]
            cells.append(_ends(large, figure) if len(large) else "&ndash;")
        lines.append(cells)
    rates = ["sensitivity", "false alarms"] if two else []
    heads = ["column", "groups", *rates, "error", "baseline error"]
    return html_table([heads[0], heads[1], *(f"<th class='t'>{words}</th>" for words in heads[2:])], lines)


def _ends(table: pd.DataFrame, figure: str) -> str:
    low, high = table.loc[table[figure].idxmin()], table.loc[table[figure].idxmax()]
    ends = [f"{safe(line.group, 24)}: {percent(line[figure]).replace(' ', '&nbsp;')}" for line in (low, high)]
    return f"<td class='t'>{'<br>'.join(ends) if low.group != high.group else ends[0]}</td>"


def _by_column(facts: ReportFacts, name: str, table: pd.DataFrame, two: bool) -> str:
    evaluation = facts.evaluation
    height = 90 + 24 * len(table)
    pictures = figure_html(drawn.groups(table, evaluation.error), f"Errors by {name}", height=height)
    if two and np.isfinite(table.sensitivity).any():
        overall = float(evaluation.as_predicted().sensitivity)
        sensitivities = drawn.groups(table, overall, "sensitivity")
        pictures = figure_html(sensitivities, f"Sensitivity by {name}", height=height) + pictures
    return (
        f"<h3>By {safe(name, 60)}</h3><div class='pictures'>{pictures}</div>{groups_html(table, evaluation.interest)}"
        f"<details><summary>Probabilities and log loss by {safe(name, 60)}</summary>"
        f"{group_losses_html(table, evaluation.interest)}</details>"
    )
