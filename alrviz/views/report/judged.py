"""How good a report's model is, whether its probabilities can be trusted, and where it fails: the part of the page that
says what was measured on rows.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from alrviz.errors import AlrvizError
from alrviz.pictures import evaluation as drawn
from alrviz.pictures.picture import Picture
from alrviz.pictures.still_svg import still_svg
from alrviz.studies.protocols.report_facts import ReportFacts
from alrviz.studies.statistics.evaluation import Evaluation, percent
from alrviz.studies.statistics.measures import loss_text, row_losses
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.words import number
from alrviz.views.studies.evaluation import classes_html, groups_html, summary_html, worst_html

GROUPS = 3  # columns whose groups are compared
GROUPED = 8  # the most important columns among which these are sought
NAMED = 4  # classes that are never predicted
WORST = 10  # rows
LEAST = 30  # rows of a group that is said to fare worse
# By calibration error, beyond what chance gives. Where that is more than UNSURE, rows tell twice as much alone.
TRUSTED = {0.02: "can be taken at their word", 0.06: "are roughly right", np.inf: "are not to be trusted"}
UNSURE = 0.05
_NONE = "It got none wrong; of these it was least sure."
_LOOK = "Worth a look: they may be errors of the table, or cases that these columns cannot explain."


def figure_html(
    of: Picture, words: str, caption: str = "", *, width: int = 440, height: int = 300, below: str = ""
) -> str:
    """Return a picture as a figure of the page; words say what it is to who does not see it, below stands under it."""
    told = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{still_svg(of.plot().figure, words, width=width, height=height)}{told}{below}</figure>"


def gain(found: Evaluation) -> float:
    """Return by how many nats of log loss the model is better than the class shares."""
    of = found.summary()
    return float(of.shares_log_loss - of.log_loss)


# -- in a sentence -----------------------------------------------------------------------------------------------------


def never_predicted(found: Evaluation) -> str:
    """Return which classes have rows and are no row's prediction; "" where there is none."""
    table = found.by_class()
    lost = table[(table.rows > 0) & (table.predicted == 0)]
    if lost.empty:
        return ""
    named = ", ".join(f"<b>{safe(line['class'], 40)}</b> ({percent(line.share)} of the rows)"
                      for _, line in lost.head(NAMED).iterrows())  # fmt: skip
    more = f" and {len(lost) - NAMED:,} more classes" if len(lost) > NAMED else ""
    return f"It never predicts {named}{more}: another class is always more probable."


def no_better(found: Evaluation) -> str:
    """Return that probabilities are worse than the class shares by more than one standard error; "" elsewhere.

    The shares are of these very rows: the best that one answer for all can be.
    """
    of = found.summary()
    weight = np.ones(len(found.y)) if found.weight is None else found.weight
    log_p, y, weight = found.log_p[weight > 0], found.y[weight > 0], weight[weight > 0]
    w = weight / weight.sum()
    over = row_losses(log_p, y) + np.log(np.bincount(y, w)[y])
    variance = w @ (over - w @ over) ** 2
    if w @ over <= np.sqrt(variance * (w @ w)):
        return ""
    return (
        f"<b>Its probabilities are worse than the class shares</b>, given to every row: log loss "
        f"{loss_text(of.log_loss)}, and {loss_text(of.shares_log_loss)} by the shares alone."
    )


def calibration_sentence(found: Evaluation) -> str:
    """Return how far probabilities can be trusted, beside what chance would give of so many rows."""
    table, ece, chance = found.reliability(), found.summary().ece, found.chance_ece()
    gap = float(np.average(table.confidence - table.accuracy, weights=table.rows))
    sure = 2 * float(np.sqrt(((table.rows / table.rows.sum() * table.standard_error) ** 2).sum()))
    lean = f", and it is too {'sure of itself' if gap > 0 else 'cautious'}" if abs(gap) > max(sure, 0.005) else ""
    said = f"Its probabilities {next(words for most, words in TRUSTED.items() if ece - chance < most)}"
    if chance > UNSURE and ece < 2 * chance:
        said = "There are too few rows to tell whether its probabilities can be trusted"
    return (
        f"{said}: they are off by {_points(ece)} on average{lean}. Of so many rows a model whose probabilities are "
        f"exactly right would show about {_points(chance)}, by chance alone"
        f"{'; so no fault is visible' if ece <= chance else ''}."
    )


def _points(share: float) -> str:
    return f"{percent(share).removesuffix(' %')} percentage points"


def missed(found: Evaluation) -> str:
    """Return how many rows of the rarer of two classes are predicted as the other; "" of more classes."""
    if len(found.classes) != 2:
        return ""
    of = found.as_predicted()
    return (
        f"Of the {of.tp + of.fn:,.0f} rows that are <b>{safe(found.interest, 40)}</b> it misses <b>{of.fn:,.0f}</b> "
        f"({percent(1 - of.sensitivity)}), where the more probable class is predicted (threshold 0.5)."
    )


def worst_group(facts: ReportFacts) -> str:
    """Return the group with the clearest excess of errors; "" where there is none."""
    overall, worst = facts.evaluation.error, None
    for column, table in compared_groups(facts):
        for line in table[(table.low > overall) & (table.rows >= LEAST)].to_dict("records"):
            if worst is None or line["low"] > worst[1]["low"]:
                worst = (column, line)
    if worst is None:
        return ""
    column, line = worst
    return (
        f"It fails most often where <b>{safe(column, 40)}</b> is {safe(line['group'], 40)}: {percent(line['error'])} "
        f"of {line['rows']:,} rows are wrong (all rows: {percent(overall)}). Always saying the most frequent class "
        f"there would be wrong for {percent(line['shares_error'])}."
    )


def compared_groups(facts: ReportFacts) -> list[tuple[str, pd.DataFrame]]:
    """Return the groups of the columns whose groups differ most in error, among the most important."""
    found = facts.evaluation
    columns = [str(found.X.columns[j]) for j in columns_by_importance(facts)]
    tables = [(name, found.groups(name)) for name in columns[:GROUPED]]
    spread = [float((t.rows * (t.error - found.error) ** 2).sum()) for _, t in tables]
    return [tables[k] for k in np.argsort(spread)[::-1][:GROUPS]]


def columns_by_importance(facts: ReportFacts) -> list[int]:
    """Return the places of the columns in the evaluated rows, the most important first; others in their order."""
    columns = list(map(str, facts.evaluation.X.columns))
    if facts.effects is None:
        return list(range(len(columns)))
    singles = facts.ranking[facts.ranking.order == 1]
    first = [columns.index(name) for own in singles.tuples for name in own if name in columns]
    return [*first, *(j for j in range(len(columns)) if j not in first)]


# -- sections ----------------------------------------------------------------------------------------------------------


def how_good(facts: ReportFacts) -> str:
    """Return figures, curves and thresholds."""
    found = facts.evaluation
    label = safe(found.interest, 40)
    ring = 0.5 if len(found.classes) == 2 else None
    pictures = (
        (drawn.confusion(found), "Confusion matrix",
         "Confusion matrix: a row is a class, a column what it is predicted as; the diagonal is right."),
        (drawn.curves("roc", found, found.interest, ring), "ROC curve",
         f"ROC: the share of {label} that is found (sensitivity) against false alarms among the others, as the "
         "threshold falls. The diagonal is guessing; the area under the curve (AUC) is 1 for a perfect model."),
        (drawn.curves("precision", found, found.interest, ring), "Precision and recall",
         f"Precision against recall: of the rows said to be {label}, how many are; and of those that are, how many are "
         "found. The dashed line is guessing."),
    )  # fmt: skip
    return (
        f"<p>All figures are of the {len(found.y):,} {found.what}. Log loss is the mean of -log(probability given to "
        "what happened), in nats: 0 would be certainty that is always right. Beside the model stands what can be said "
        "without any column, giving every row the class shares as its probabilities. The calibration error is by how "
        "much probabilities are off on average; the AUC is the chance that a random row of a class gets a higher "
        "probability of that class than a random row of the others; average precision is the mean height of the curve "
        "of precision below.</p>"
        f"{summary_html(found)}<div class='pictures'>{''.join(figure_html(*each) for each in pictures)}</div>"
        f"<h3>Classes</h3>{classes_html(found)}<h3>Choosing another threshold for {label}</h3>"
        f"<p>{label} is predicted where its probability reaches a threshold. A lower one finds more of its rows "
        "(sensitivity) and raises more false alarms (lower specificity). PPV is the share of alarms that are right, "
        f"NPV, of the rows not predicted {label}, the share that are not.</p>{_matched(found)}"
    )


def _matched(found: Evaluation) -> str:
    wanted: list[tuple[str, dict[str, float]]] = [
        ("threshold 0.5", {"threshold": 0.5}),
        *((f"specificity {100 * share:.0f} %", {"specificity": share}) for share in (0.8, 0.9, 0.95)),
        *((f"sensitivity {100 * share:.0f} %", {"sensitivity": share}) for share in (0.8, 0.95)),
        ("a miss costs 5 false alarms", {"miss": 5.0}),
    ]
    rows = []
    for words, how in wanted:
        try:
            at = found.at(**how)  # type: ignore[arg-type]
        except AlrvizError:  # of one class alone nothing can be matched
            continue
        names = ("sensitivity", "specificity", "ppv", "npv", "accuracy")
        rows.append([words, number(min(at.threshold, 1.0), 3), *(percent(at[name]) for name in names)])
    return html_table(["chosen for", "threshold", "sensitivity", "specificity", "PPV", "NPV", "accuracy"], rows)


def how_calibrated(facts: ReportFacts) -> str:
    """Return whether what is said to happen in so many of a hundred cases does."""
    found = facts.evaluation
    label = safe(found.interest, 40)
    one = figure_html(
        drawn.calibration(found, found.interest), "Reliability curve",
        f"Rows in groups by the probability of {label}, against the share that is {label}. On the dashed diagonal "
        "probabilities are right; bars are one standard error.",
    )  # fmt: skip
    two = figure_html(
        drawn.calibration(found), "Reliability curve of the class predicted",
        "The same for the class that is predicted, whichever that is. Below the diagonal the model is too sure.",
    )  # fmt: skip
    return (
        f"<p>{calibration_sentence(found)} The Brier score, the mean squared distance between probabilities and what "
        f"happened, summed over the classes, is {number(found.summary().brier, 3)}"
        f"{'; of two classes half of it is often given' if len(found.classes) == 2 else ''}.</p>"
        f"<div class='pictures'>{one}{two}</div>"
    )


def where_it_fails(facts: ReportFacts, rows: bool) -> str:
    """Return groups beside each other, the classes confused, and the rows held least likely."""
    found = facts.evaluation
    parts = [
        "<p>The share of wrong predictions by groups of rows, with 95 % intervals; the dashed line is all rows. A "
        "group whose interval lies to the right of it fares worse. Some groups are harder than others: the "
        "baseline is always saying the group's most frequent class, and for log loss giving each of its rows the "
        "group's own class shares.</p>"
    ]
    for name, table in compared_groups(facts):
        height = 120 + 26 * len(table)
        shown = figure_html(drawn.groups(table, found.error), f"Errors by {name}", width=620, height=height)
        lines = groups_html(table, found.interest)
        parts.append(f"<h3>By {safe(name, 60)}</h3>{shown}{lines}")
    confused = found.confusions(8)
    if len(found.classes) > 2 and len(confused):
        pairs = (
            [safe(line["class"], 60), safe(line["predicted"], 60), f"{line['rows']:,.6g}", percent(line["share"])]
            for line in confused.to_dict("records")
        )
        heads = ["class", "predicted as", "rows", "share of the class"]
        parts.append(f"<h3>Classes most often confused</h3>{html_table(heads, pairs)}")
    if rows:
        by_importance = replace(found, X=found.X.iloc[:, columns_by_importance(facts)])
        parts.append(
            "<h3>The rows that it got most wrong</h3><p>"
            f"{_LOOK if found.error else _NONE} Row 0 is the first row below the header (rows without a class are not "
            f"counted). The columns that matter most stand first.</p>{worst_html(by_importance, WORST)}"
        )
    return "".join(parts)
