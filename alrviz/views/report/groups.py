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
    ratio = summary.error / summary.shares_error
    table = table[table.rows * table.shares_error >= MIN_GROUP_ROWS]
    table = table[table.low / table.shares_error > ratio]
    if table.empty:
        return ""
    ratio_by_group = table.error / table.shares_error
    group, avoided = table.loc[ratio_by_group.idxmax()], 1 - float(ratio_by_group.max())
    return (
        f"It gains least where <b>{safe(group.column, 40)}</b> is {group_text(group.group)}: {percent(group.error)} of "
        f"{group.rows:,} rows are predicted wrongly, and always saying the most frequent class there would be wrong "
        f"for {percent(group.shares_error)}. So {percent(avoided) if avoided > 0 else 'none'} of these errors are "
        f"avoided (of all rows: {percent(1 - ratio)}). This counts groups in which that answer makes {MIN_GROUP_ROWS} "
        "errors or more, and what is beyond chance."
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
    group = table.loc[table.sensitivity.idxmin()]
    return (
        f"It misses {safe(evaluation.class_of_interest, 40)} most where <b>{safe(group.column, 40)}</b> is "
        f"{group_text(group.group)}: "
        f"{percent(1 - group.sensitivity)} of {group.share * group.rows:,.0f} such rows (of all: "
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
    label, widest_gap = safe(evaluation.class_of_interest, 40), None
    for column, table in facts.groups.items():
        if evaluation.X[column].nunique() > MAX_VALUES:
            continue
        large_groups = table[table.rows * table.share >= MIN_GROUP_ROWS]
        if len(large_groups) < 2:
            continue
        lowest_group, highest_group = (
            large_groups.loc[row] for row in (large_groups.sensitivity.idxmin(), large_groups.sensitivity.idxmax())
        )
        gap = highest_group.sensitivity - lowest_group.sensitivity
        if lowest_group.sensitivity_high < highest_group.sensitivity_low and (
            widest_gap is None or gap > widest_gap[0]
        ):
            widest_gap = gap, column, lowest_group, highest_group
    if widest_gap is None:
        return ""
    _, column, lowest_group, highest_group = widest_gap
    group_texts = [
        f"{percent(group.sensitivity)} of the {group.share * group.rows:,.0f} where it is {group_text(group.group)}"
        for group in (lowest_group, highest_group)
    ]
    return (
        f"Among columns with two to five values, groups differ most by <b>{safe(column, 40)}</b>: of the rows "
        f"that are {label} it finds {group_texts[0]}, and {group_texts[1]}."
    )


# -- the section -------------------------------------------------------------------------------------------------------


def where_it_fails(facts: ReportFacts, rows: bool) -> str:
    """Return the section; `rows` tells whether rows of the table may be shown."""
    evaluation = facts.evaluation
    is_binary, label = len(evaluation.classes) == 2, safe(evaluation.class_of_interest, 40)
    definitions_html = (
        f"<i>Sensitivity</i> is the share of the rows that are {label} which are predicted so, <i>false alarms</i> the "
        f"share of the other rows predicted {label}; "
    )
    omitted_columns = facts.not_compared
    not_compared_text = (
        f" Not compared, for there are more such columns: {safe(', '.join(omitted_columns[:MAX_NAMES]), 600)}"
        f"{f' and {len(omitted_columns) - MAX_NAMES:,} more' if len(omitted_columns) > MAX_NAMES else ''}."
        if omitted_columns
        else ""
    )
    section_parts = [
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
    section_parts += sections[:MAX_UNFOLDED_COLUMNS]
    if folded_sections := sections[MAX_UNFOLDED_COLUMNS:]:
        names = ", ".join(safe(name, 40) for name in list(facts.groups)[MAX_UNFOLDED_COLUMNS:])
        section_parts.append(f"<details><summary>Groups by {names}</summary>{''.join(folded_sections)}</details>")
    confused = evaluation.confusions(8)
    if not is_binary and len(confused):
        confused_rows = (
            [safe(pair["class"], 60), safe(pair["predicted"], 60), f"{pair['rows']:,.6g}", percent(pair["share"])]
            for pair in confused.to_dict("records")
        )
        column_titles = ["class", "predicted as", "rows", "share of the class"]
        section_parts.append(f"<h3>Classes most often confused</h3>{html_table(column_titles, confused_rows)}")
    if rows:
        sorted_evaluation = replace(evaluation, X=evaluation.X[facts.columns])
        section_parts.append(
            "<h3>The rows that it got most wrong</h3><p>"
            f"{_ERRORS_TEXT if evaluation.error else _NO_ERRORS_TEXT} Row 0 is the first row below the header "
            f"(rows without a class are not counted). The most important columns come first.</p>"
            f"{worst_html(sorted_evaluation, WORST_ROWS)}"
        )
    return "".join(section_parts)


def _overview(facts: ReportFacts, is_binary: bool) -> str:
    """Return the table of columns with the lowest and highest group for each figure.

    is_binary: whether sensitivity and false alarms are among the figures.
    """
    table_rows = []
    for name, table in facts.groups.items():
        table = table.assign(alarms=false_alarms(table.specificity), all_rows=1.0, others=1 - table.share)
        figure_columns = [("sensitivity", "share"), ("alarms", "others")] if is_binary else []
        cells = [safe(name, 60), str(len(table))]
        for figure, share_column in [*figure_columns, ("error", "all_rows"), ("shares_error", "all_rows")]:
            large_groups = table[table.rows * table[share_column] >= MIN_GROUP_ROWS]
            cells.append(_lowest_and_highest(large_groups, figure) if len(large_groups) else "&ndash;")
        table_rows.append(cells)
    rates = ["sensitivity", "false alarms"] if is_binary else []
    titles = ["column", "groups", *rates, "error", "baseline error"]
    return html_table([titles[0], titles[1], *(f"<th class='t'>{title}</th>" for title in titles[2:])], table_rows)


def _lowest_and_highest(table: pd.DataFrame, figure: str) -> str:
    lowest, highest = table.loc[table[figure].idxmin()], table.loc[table[figure].idxmax()]
    texts = [f"{safe(group.group, 24)}: {percent(group[figure]).replace(' ', '&nbsp;')}" for group in (lowest, highest)]
    return f"<td class='t'>{'<br>'.join(texts) if lowest.group != highest.group else texts[0]}</td>"


def _by_column(facts: ReportFacts, name: str, table: pd.DataFrame, is_binary: bool) -> str:
    """Return pictures and tables of the groups of the column `name`; table: its `Evaluation.groups`.

    is_binary: whether there are two classes.
    """
    evaluation = facts.evaluation
    height = 90 + 24 * len(table)
    html = figure_html(pictures.groups(table, evaluation.error), f"Errors by {name}", height=height)
    if is_binary and np.isfinite(table.sensitivity).any():
        overall_sensitivity = float(evaluation.as_predicted().sensitivity)
        sensitivities = pictures.groups(table, overall_sensitivity, "sensitivity")
        html = figure_html(sensitivities, f"Sensitivity by {name}", height=height) + html
    return (
        f"<h3>By {safe(name, 60)}</h3><div class='pictures'>{html}</div>"
        f"{groups_html(table, evaluation.class_of_interest)}"
        f"<details><summary>Probabilities and log loss by {safe(name, 60)}</summary>"
        f"{group_losses_html(table, evaluation.class_of_interest)}</details>"
    )
