"""Where a report's model fails: groups of rows beside each other, classes confused, the rows it got most wrong."""

from dataclasses import replace

import numpy as np
import pandas as pd

from alrviz.pictures import evaluation as drawn
from alrviz.studies.protocols.report_facts import GROUP, ReportFacts
from alrviz.studies.statistics.evaluation import LEVELS, percent
from alrviz.views.core.style import html_table, safe
from alrviz.views.report.judged import figure_html
from alrviz.views.studies.evaluation import false_alarms, group_losses_html, groups_html, worst_html

OPEN = 3  # columns whose groups are shown at once; others are folded
WORST = 10  # rows
NAMED = 20  # columns that are not compared
_NONE = "It got none wrong; of these it was least sure."
_LOOK = "Worth a look: they may be errors of the table, or cases that these columns cannot explain."


# -- in a sentence -----------------------------------------------------------------------------------------------------


def hardest_group(facts: ReportFacts) -> str:
    """Return the group whose errors come nearest to those of its own baseline, beyond chance; "" where there is none.

    A group may have many errors because its rows are hard to tell: what counts is what the model gains there.
    """
    of = facts.evaluation.summary()
    if not of.shares_error:
        return ""
    overall, worst = of.error / of.shares_error, None
    for column, table in facts.groups.items():
        for line in table[(table.rows * table.shares_error >= GROUP) & (table.rows >= GROUP)].to_dict("records"):
            least = line["low"] / line["shares_error"]
            if least > overall and (worst is None or least > worst[0]):
                worst = (least, column, line)
    if worst is None:
        return ""
    _, column, line = worst
    return (
        f"It gains least where <b>{safe(column, 40)}</b> is {_named(line['group'])}: {percent(line['error'])} of "
        f"{line['rows']:,} rows are wrong, and always saying the most frequent class there would be wrong for "
        f"{percent(line['shares_error'])}."
    )


def most_missed(facts: ReportFacts) -> str:
    """Return the group where most rows of the rarer of two classes are missed, beyond chance; "" if there is none."""
    found = facts.evaluation
    if len(found.classes) != 2:
        return ""
    of, label = found.as_predicted(), safe(found.interest, 40)
    worst = None
    for column, table in facts.groups.items():
        for line in table[table.rows * table.share >= GROUP].to_dict("records"):
            if line["sensitivity_high"] < min(of.sensitivity, 1.0 if worst is None else worst[1]["sensitivity_high"]):
                worst = column, line
    if worst is None:
        return ""
    column, line = worst
    return (
        f"It misses {label} most where <b>{safe(column, 40)}</b> is {_named(line['group'])}: "
        f"{percent(1 - line['sensitivity'])} of {line['share'] * line['rows']:,.0f} such rows (of all: "
        f"{percent(1 - of.sensitivity)})."
    )


def _named(group: str) -> str:
    """A group within a sentence: an interval in words."""
    for sign, words in (("<= ", "at most "), ("> ", "more than ")):
        group = words + group.removeprefix(sign) if group.startswith(sign) else group
    return safe(group, 40)


# -- the section -------------------------------------------------------------------------------------------------------


def where_it_fails(facts: ReportFacts, rows: bool) -> str:
    """Return groups beside each other, the classes confused, and the rows held least likely."""
    found = facts.evaluation
    two, label = len(found.classes) == 2, safe(found.interest, 40)
    asked = (
        f"<i>Sensitivity</i> is the share of the rows that are {label} which are predicted so, <i>false alarms</i> the "
        f"share of the other rows predicted {label}; "
    )
    left = facts.not_compared
    without = (
        f" Not compared, for there are more such columns: {safe(', '.join(left[:NAMED]), 600)}"
        f"{f' and {len(left) - NAMED:,} more' if len(left) > NAMED else ''}."
        if left
        else ""
    )
    parts = [
        f"<p>{hardest_group(facts)} {most_missed(facts)}</p><p>Rows are grouped by every column of at most {LEVELS} "
        "values, whatever it is about, and by the most important others (numbers cut into four groups of about "
        f"as many rows, of texts the {LEVELS} most frequent).{without} {asked}the <i>baseline</i> is always saying the "
        "group's own most frequent class: some groups are harder than others. Intervals of 95 % are "
        f"Wilson's. The lowest and the highest group of each column ({GROUP} rows at least):</p>{_overview(facts, two)}"
    ]
    shown = [_by_column(facts, name, table, two) for name, table in facts.groups.items()]
    parts += shown[:OPEN]
    if rest := shown[OPEN:]:
        names = ", ".join(safe(name, 40) for name in list(facts.groups)[OPEN:])
        parts.append(f"<details><summary>Groups by {names}</summary>{''.join(rest)}</details>")
    confused = found.confusions(8)
    if not two and len(confused):
        pairs = (
            [safe(line["class"], 60), safe(line["predicted"], 60), f"{line['rows']:,.6g}", percent(line["share"])]
            for line in confused.to_dict("records")
        )
        heads = ["class", "predicted as", "rows", "share of the class"]
        parts.append(f"<h3>Classes most often confused</h3>{html_table(heads, pairs)}")
    if rows:
        by_importance = replace(found, X=found.X[facts.columns])
        parts.append(
            "<h3>The rows that it got most wrong</h3><p>"
            f"{_LOOK if found.error else _NONE} Row 0 is the first row below the header (rows without a class are not "
            f"counted). The columns that matter most stand first.</p>{worst_html(by_importance, WORST)}"
        )
    return "".join(parts)


def _overview(facts: ReportFacts, two: bool) -> str:
    """A line for each column: the lowest and the highest group of each figure."""
    lines = []
    for name, table in facts.groups.items():
        table = table.assign(alarms=false_alarms(table.specificity), every=1.0, others=1 - table.share)
        figures = [("sensitivity", "share"), ("alarms", "others")] if two else []
        cells = [safe(name, 60), str(len(table))]
        for of, share in [*figures, ("error", "every"), ("shares_error", "every")]:
            own = table[table.rows * table[share] >= GROUP]
            cells.append(_ends(own, of) if len(own) else "&ndash;")
        lines.append(cells)
    rates = ["sensitivity", "false alarms"] if two else []
    heads = ["column", "groups", *rates, "error", "baseline error"]
    return html_table([heads[0], heads[1], *(f"<th class='t'>{words}</th>" for words in heads[2:])], lines)


def _ends(table: pd.DataFrame, of: str) -> str:
    low, high = table.loc[table[of].idxmin()], table.loc[table[of].idxmax()]
    said = [f"{safe(line.group, 24)}: {percent(line[of])}" for line in (low, high)]
    return f"<td class='t'>{'<br>'.join(said) if low.group != high.group else said[0]}</td>"


def _by_column(facts: ReportFacts, name: str, table: pd.DataFrame, two: bool) -> str:
    found = facts.evaluation
    height = 90 + 24 * len(table)
    pictures = figure_html(drawn.groups(table, found.error), f"Errors by {name}", height=height)
    if two and np.isfinite(table.sensitivity).any():
        overall = float(found.as_predicted().sensitivity)
        shown = drawn.groups(table, overall, "sensitivity")
        pictures = figure_html(shown, f"Sensitivity by {name}", height=height) + pictures
    return (
        f"<h3>By {safe(name, 60)}</h3><div class='pictures'>{pictures}</div>{groups_html(table, found.interest)}"
        f"<details><summary>Probabilities and log loss by {safe(name, 60)}</summary>"
        f"{group_losses_html(table, found.interest)}</details>"
    )
