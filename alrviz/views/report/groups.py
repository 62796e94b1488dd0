"""Report section on failures: groups of rows compared, classes confused, the worst predicted rows."""

from dataclasses import replace

import numpy as np
import pandas as pd

from alrviz.pictures import evaluation as pictures
from alrviz.studies.protocols.report_facts import MIN_GROUP_ROWS, ReportFacts
from alrviz.studies.statistics.evaluation import percent
from alrviz.studies.statistics.row_groups import MAX_LEVELS
from alrviz.views.core.style import html_table, safe
from alrviz.views.report.quality import figure_html, group_text, groups_of_all
from alrviz.views.studies.evaluation import false_alarms, group_losses_html, groups_html, worst_html

MAX_UNFOLDED_COLUMNS = 3  # columns whose groups are shown at once; others are folded
WORST_ROWS = 10
MAX_NAMES = 20  # of columns that are not compared
MAX_VALUES = 5  # of a column for `most_divided`
_NO_ERRORS_TEXT = "It got none wrong; of these it was least sure."
_ERRORS_TEXT = "Worth a look: they may be errors of the table, or cases that these columns cannot explain."


# -- sentences ---------------------------------------------------------------------------------------------------------


def hardest_group(facts: ReportFacts) -> str:
    """Return a sentence on the group in which the model improves least on the baseline, "" if there is none.

    Groups count only if their improvement is significantly below that of all rows. The error alone would not be fair,
    as some groups are harder than others.
    """
    summary, table = facts.evaluation.summary(), groups_of_all(facts)
    if not summary.shares_error:
        return ""
    overall = summary.error / summary.shares_error
    table = table[table.rows * table.shares_error >= MIN_GROUP_ROWS]
    table = table[table.low / table.shares_error > overall]
    if table.empty:
        return ""
    remaining = table.error / table.shares_error
    line, avoided = table.loc[remaining.idxmax()], 1 - float(remaining.max())
    return (
        f"It gains least where <b>{safe(line.column, 40)}</b> is {group_text(line.group)}: {percent(line.error)} of "
        f"{line.rows:,} rows are wrong, and always saying the most frequent class there would be wrong for "
        f"{percent(line.shares_error)}. So {percent(avoided) if avoided > 0 else 'none'} of these errors are avoided "
        f"(of all rows: {percent(1 - overall)}). This counts groups in which that answer makes {MIN_GROUP_ROWS} errors "
        "or more, and what is beyond chance."
    )


def most_missed(facts: ReportFacts) -> str:
    """Return a sentence on the group with a significantly low sensitivity for the rarer class, else ""."""
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
    """Return a sentence on the column of two to five values whose groups differ most in sensitivity.

    "" if no difference is significant, or with more than two classes. Such columns often describe people, and a
    difference may be unfair.
    """
    evaluation = facts.evaluation
    if len(evaluation.classes) != 2:
        return ""
    label, widest = safe(evaluation.interest, 40), None
    for column, table in facts.groups.items():
        if evaluation.X[column].nunique() > MAX_VALUES:
            continue
        large_groups = table[table.rows * table.share >= MIN_GROUP_ROWS]
        if len(large_groups) < 2:
            continue
        lowest, highest = (
            large_groups.loc[row] for row in (large_groups.sensitivity.idxmin(), large_groups.sensitivity.idxmax())
        )
        gap = highest.sensitivity - lowest.sensitivity
        if lowest.sensitivity_high < highest.sensitivity_low and (widest is None or gap > widest[0]):
            widest = gap, column, lowest, highest
    if widest is None:
        return ""
    _, column, lowest, highest = widest
    halves = [
        f"{percent(group.sensitivity)} of the {group.share * group.rows:,.0f} where it is {group_text(group.group)}"
        for group in (lowest, highest)
    ]
    return (
        f"Among columns with two to five values, groups differ most by <b>{safe(column, 40)}</b>: of the rows "
        f"that are {label} it finds {halves[0]}, and {halves[1]}."
    )


# -- the section -------------------------------------------------------------------------------------------------------


def where_it_fails(facts: ReportFacts, rows: bool) -> str:
    """Return the section; `rows` tells whether rows of the table may be shown."""
    evaluation = facts.evaluation
    is_binary, label = len(evaluation.classes) == 2, safe(evaluation.interest, 40)
    definitions_html = (
        f"<i>Sensitivity</i> is the share of the rows that are {label} which are predicted so, <i>false alarms</i> the "
        f"share of the other rows predicted {label}; "
    )
    omitted = facts.not_compared
    not_compared_text = (
        f" Not compared, for there are more such columns: {safe(', '.join(omitted[:MAX_NAMES]), 600)}"
        f"{f' and {len(omitted) - MAX_NAMES:,} more' if len(omitted) > MAX_NAMES else ''}."
        if omitted
        else ""
    )
    parts = [
        f"<p>{hardest_group(facts)} {most_missed(facts)} {most_divided(facts)}</p>"
        f"<p>Rows are grouped by every column of at most {MAX_LEVELS} values, whatever it is about, and by the most "
        "important others (numbers cut into four groups of about as many rows, of texts the "
        f"{MAX_LEVELS} most frequent).{not_compared_text} {definitions_html}the <i>baseline</i> is always "
        "saying the group's own "
        "most frequent "
        "class: some groups are harder than others. Intervals of 95 % are Wilson's; the dashed line of a picture is "
        "the figure of all rows. The lowest and the highest group of each column "
        f"({MIN_GROUP_ROWS} rows at least):</p>{_overview(facts, is_binary)}"
    ]
    sections = [_by_column(facts, name, table, is_binary) for name, table in facts.groups.items()]
    parts += sections[:MAX_UNFOLDED_COLUMNS]
    if folded_sections := sections[MAX_UNFOLDED_COLUMNS:]:
        names = ", ".join(safe(name, 40) for name in list(facts.groups)[MAX_UNFOLDED_COLUMNS:])
        parts.append(f"<details><summary>Groups by {names}</summary>{''.join(folded_sections)}</details>")
    confused = evaluation.confusions(8)
    if not is_binary and len(confused):
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
            f"{_ERRORS_TEXT if evaluation.error else _NO_ERRORS_TEXT} Row 0 is the first row below the header "
            f"(rows without a class are not counted). The most important columns come first.</p>"
            f"{worst_html(by_importance, WORST_ROWS)}"
        )
    return "".join(parts)


def _overview(facts: ReportFacts, is_binary: bool) -> str:
    """Return the table of columns with the lowest and highest group for each figure."""
    lines = []
    for name, table in facts.groups.items():
        table = table.assign(alarms=false_alarms(table.specificity), all_rows=1.0, others=1 - table.share)
        figures = [("sensitivity", "share"), ("alarms", "others")] if is_binary else []
        cells = [safe(name, 60), str(len(table))]
        for figure, share in [*figures, ("error", "all_rows"), ("shares_error", "all_rows")]:
            large_groups = table[table.rows * table[share] >= MIN_GROUP_ROWS]
            cells.append(_lowest_and_highest(large_groups, figure) if len(large_groups) else "&ndash;")
        lines.append(cells)
    rates = ["sensitivity", "false alarms"] if is_binary else []
    heads = ["column", "groups", *rates, "error", "baseline error"]
    return html_table([heads[0], heads[1], *(f"<th class='t'>{words}</th>" for words in heads[2:])], lines)


def _lowest_and_highest(table: pd.DataFrame, figure: str) -> str:
    low, high = table.loc[table[figure].idxmin()], table.loc[table[figure].idxmax()]
    ends = [f"{safe(line.group, 24)}: {percent(line[figure]).replace(' ', '&nbsp;')}" for line in (low, high)]
    return f"<td class='t'>{'<br>'.join(ends) if low.group != high.group else ends[0]}</td>"


def _by_column(facts: ReportFacts, name: str, table: pd.DataFrame, is_binary: bool) -> str:
    evaluation = facts.evaluation
    height = 90 + 24 * len(table)
    html = figure_html(pictures.groups(table, evaluation.error), f"Errors by {name}", height=height)
    if is_binary and np.isfinite(table.sensitivity).any():
        overall = float(evaluation.as_predicted().sensitivity)
        sensitivities = pictures.groups(table, overall, "sensitivity")
        html = figure_html(sensitivities, f"Sensitivity by {name}", height=height) + html
    return (
        f"<h3>By {safe(name, 60)}</h3><div class='pictures'>{html}</div>{groups_html(table, evaluation.interest)}"
        f"<details><summary>Probabilities and log loss by {safe(name, 60)}</summary>"
        f"{group_losses_html(table, evaluation.interest)}</details>"
    )
