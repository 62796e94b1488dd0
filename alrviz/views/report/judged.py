"""How good a report's model is, and whether its probabilities can be trusted: figures of the rows that judge."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from alrviz.errors import AlrvizError
from alrviz.pictures import evaluation as drawn
from alrviz.pictures.picture import Picture
from alrviz.pictures.still import still_svg
from alrviz.studies.protocols.report_facts import MIN_GROUP_ROWS, ReportFacts
from alrviz.studies.statistics.evaluation import Evaluation, percent
from alrviz.studies.statistics.measures import BINNING, loss_text, row_losses
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.words import number
from alrviz.views.studies.evaluation import classes_html, points, summary_html

REFERENCE = "gradient boosting"  # what stands beside the model
NAMED = 4  # classes that are never predicted
# By calibration error, beyond what chance gives. Where that is more than UNSURE, rows tell twice as much alone.
TRUSTED = {
    0.02: "can be taken at their word on average",
    0.06: "are roughly right on average",
    np.inf: "are not to be trusted",
}
UNSURE = 0.05
RARE, FEW = 0.01, 100  # a probability that is said to be small; rows of which so few are worth a sentence


def figure_html(
    of: Picture, words: str, caption: str = "", *, width: int = 440, height: int = 300, below: str = ""
) -> str:
    """Return a picture as a figure of the page; words say what it is to who does not see it, below stands under it."""
    captioned = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{still_svg(of.plot().figure, words, width=width, height=height)}{captioned}{below}</figure>"


def reference_in_words(facts: ReportFacts) -> str:
    """Return how many errors the model that nobody reads makes on the same rows; "" where there is none."""
    if facts.reference is None:
        return ""
    return (
        f" {REFERENCE[:1].upper()}{REFERENCE[1:]}, which nobody can read, is wrong for "
        f"{percent(facts.reference.error)} of the same rows; {_against(facts.evaluation, facts.reference)}"
    )


def _against(evaluation: Evaluation, other: Evaluation) -> str:
    """Whether the log loss of a model differs from that of another one on the same rows, row by row."""
    weight = np.ones(len(evaluation.y)) if evaluation.weight is None else evaluation.weight
    over = (row_losses(evaluation.log_p, evaluation.y) - row_losses(other.log_p, other.y))[weight > 0]
    w = weight[weight > 0] / weight.sum()
    mean = float(w @ over)
    error = float(np.sqrt(w @ (over - mean) ** 2 * (w @ w)))
    figures = f"{loss_text(abs(mean))} &plusmn; {loss_text(error)} nats"
    chance = "no more" if abs(mean) <= 2 * error else "more"
    how = "higher" if mean > 0 else "lower"
    return f"beside it the log loss of this model is {how} by {figures}, {chance} than chance gives."


def gain(evaluation: Evaluation) -> float:
    """Return by how many nats of log loss the model is better than the class shares."""
    summary = evaluation.summary()
    return float(summary.shares_log_loss - summary.log_loss)


# -- in a sentence -----------------------------------------------------------------------------------------------------


def never_predicted(evaluation: Evaluation) -> str:
    """Return which classes have rows and are no row's prediction; "" where there is none."""
    table = evaluation.by_class()
    lost = table[(table.rows > 0) & (table.predicted == 0)]
    if lost.empty:
        return ""
    named = ", ".join(f"<b>{safe(line['class'], 40)}</b> ({percent(line.share)} of the rows)"
                      for _, line in lost.head(NAMED).iterrows())  # fmt: skip
    more = f" and {len(lost) - NAMED:,} more classes" if len(lost) > NAMED else ""
    return f"It never predicts {named}{more}: another class is always more probable."


def no_better(evaluation: Evaluation) -> str:
    """Return that probabilities are worse than the class shares by more than one standard error; "" elsewhere.

    The shares are of these very rows: the best that one answer for all can be.
    """
    summary = evaluation.summary()
    weight = np.ones(len(evaluation.y)) if evaluation.weight is None else evaluation.weight
    log_p, y, weight = evaluation.log_p[weight > 0], evaluation.y[weight > 0], weight[weight > 0]
    w = weight / weight.sum()
    over = row_losses(log_p, y) + np.log(np.bincount(y, w)[y])
    variance = w @ (over - w @ over) ** 2
    if w @ over <= np.sqrt(variance * (w @ w)):
        return ""
    return (
        f"<b>Its probabilities are worse than the class shares</b>, given to every row: log loss "
        f"{loss_text(summary.log_loss)}, and {loss_text(summary.shares_log_loss)} by the shares alone."
    )


def calibration_sentence(evaluation: Evaluation) -> str:
    """Return how far probabilities can be trusted, beside what chance would give of so many rows."""
    table, ece, chance = evaluation.reliability(), evaluation.summary().ece, evaluation.chance_ece()
    gap = float(np.average(table.confidence - table.accuracy, weights=table.rows))
    sure = 2 * float(np.sqrt(((table.rows / table.rows.sum() * table.standard_error) ** 2).sum()))
    lean = f", and it is too {'sure of itself' if gap > 0 else 'cautious'}" if abs(gap) > max(sure, 0.005) else ""
    sentence = f"Its probabilities {next(words for most, words in TRUSTED.items() if ece - chance < most)}"
    if chance > UNSURE and ece < 2 * chance:
        sentence = "There are too few rows to tell whether its probabilities can be trusted"
    return (
        f"{sentence}: they are off by {_points(ece)}{lean}. On so many rows even probabilities that are exactly right "
        f"would seem to be off by about {_points(chance)}, by chance alone"
        f"{'; so on average no fault is visible' if ece <= chance else ''}."
    )


def worst_calibrated(facts: ReportFacts) -> str:
    """Return the group whose mean probability is farthest from what happened, in standard errors, where that is more
    than chance gives of so many groups (Bonferroni, 5 %); "" where there is none.
    """
    table = groups_of_all(facts)
    large = table[table.rows >= MIN_GROUP_ROWS]
    off = ((large.p - large.share).abs() / large.p_error.where(large.p_error > 0)).fillna(0.0)
    if large.empty or off.max() <= norm.isf(0.025 / len(table)):
        return ""
    line = large.loc[off.idxmax()]
    return (
        f"Farthest off, beyond what chance gives of {len(table):,} groups, is where <b>{safe(line.column, 40)}</b> is "
        f"{group_text(line.group)}: the mean probability of {safe(facts.evaluation.interest, 40)} is "
        f"{percent(line.p)}, and {percent(line.share)} of {line.rows:,} rows are."
    )


def groups_of_all(facts: ReportFacts) -> pd.DataFrame:
    """Return the groups of all columns in one table: those of `Evaluation.groups`, and the column of each."""
    names = ["rows", "share", "p", "p_error", "error", "low", "shares_error", "sensitivity", "sensitivity_high"]
    none = pd.DataFrame(columns=["column", "group", *names])
    tables = [table.assign(column=column) for column, table in facts.groups.items()]
    return pd.concat(tables, ignore_index=True) if tables else none


def group_text(group: str) -> str:
    """Return a group as a sentence names it: an interval in words."""
    for sign, words in (("<= ", "at most "), ("> ", "more than ")):
        group = words + group.removeprefix(sign) if group.startswith(sign) else group
    return safe(group, 40)


def _points(share: float) -> str:
    return f"{points(share)} percentage points"


def missed(evaluation: Evaluation) -> str:
    """Return how many rows of the rarer of two classes are predicted as the other; "" of more classes."""
    if len(evaluation.classes) != 2:
        return ""
    figures = evaluation.as_predicted()
    return (
        f"Of the {figures.tp + figures.fn:,.0f} rows that are <b>{safe(evaluation.interest, 40)}</b> it misses "
        f"<b>{figures.fn:,.0f}</b> "
        f"({percent(1 - figures.sensitivity)}), where the more probable class is predicted (threshold 0.5)."
    )


# -- sections ----------------------------------------------------------------------------------------------------------


def how_good(facts: ReportFacts) -> str:
    """Return figures, curves and thresholds."""
    evaluation = facts.evaluation
    label = safe(evaluation.interest, 40)
    ring = 0.5 if len(evaluation.classes) == 2 else None
    ring_words = "" if ring is None else "; the ring is threshold 0.5"
    pictures = (
        (drawn.confusion(evaluation), "Confusion matrix",
         "Confusion matrix: a row is a class, a column what it is predicted as; the diagonal is right."),
        (drawn.curves("roc", evaluation, evaluation.interest, ring), "ROC curve",
         f"ROC: the share of {label} that is found (sensitivity) against false alarms among the others, as the "
         f"threshold falls{ring_words}. The diagonal is guessing; the area below (AUC) is 1 for a perfect model."),
        (drawn.curves("precision", evaluation, evaluation.interest, ring), "Precision and recall",
         f"Precision against recall: of the rows said to be {label}, how many are; and of those that are, how many are "
         f"found{ring_words}. The dashed line is guessing."),
    )  # fmt: skip
    return (
        f"<p>All figures are of the {len(evaluation.y):,} {evaluation.what}. {_beside(facts)}Log loss is the mean of "
        "-log(probability given to what happened), in nats: 0 would be certainty that is always right; class shares "
        "alone are what can be said without any column, the same probabilities for every row. The calibration error is "
        f"by how much probabilities are off on average, over {BINNING}; the AUC is the chance that a random row of a "
        "class gets a higher probability of that class than a random row of the others; average precision is the mean "
        "height of the curve of precision below. The 95 % interval of the error is Wilson&rsquo;s, of the AUC "
        "DeLong&rsquo;s.</p>"
        f"{summary_html(evaluation, facts.reference, REFERENCE)}"
        f"<div class='pictures'>{''.join(figure_html(*each) for each in pictures)}</div>"
        f"<h3>Classes</h3>{classes_html(evaluation)}<h3>Choosing another threshold for {label}</h3>"
        f"<p>{label} is predicted where its probability reaches a threshold. A lower one finds more of its rows "
        "(sensitivity) and raises more false alarms (lower specificity). PPV is the share of alarms that are right, "
        f"NPV, of the rows not predicted {label}, the share that are not. All thresholds except 0.5 and the one by "
        "costs were chosen on these same rows, so that on new rows their figures will differ a little.</p>"
        f"{_matched(evaluation)}"
    )


def _beside(facts: ReportFacts) -> str:
    if facts.reference is not None:
        return (
            "Beside the model stands scikit-learn&rsquo;s gradient boosting with its default settings (some hundred "
            "decision trees, often hard to beat and hard to read), which learned from the same rows. "
        )
    return f"No gradient boosting stands beside it: {safe(facts.no_reference, 300)}. " if facts.no_reference else ""


def _matched(evaluation: Evaluation) -> str:
    wanted: list[tuple[str, dict[str, float]]] = [
        ("threshold 0.5", {"threshold": 0.5}),
        *((f"specificity {100 * share:.0f} %", {"specificity": share}) for share in (0.8, 0.9, 0.95)),
        *((f"sensitivity {100 * share:.0f} %", {"sensitivity": share}) for share in (0.8, 0.95)),
        ("a miss is as bad as 5 false alarms (an example)", {"miss": 5.0}),
    ]
    rows = []
    for words, how in wanted:
        try:
            at = evaluation.at(**how)  # type: ignore[arg-type]
        except AlrvizError:  # of one class alone nothing can be matched
            continue
        names = ("sensitivity", "specificity", "ppv", "npv", "accuracy")
        rows.append([words, number(min(at.threshold, 1.0), 3), *(percent(at[name]) for name in names)])
    return html_table(["chosen for", "threshold", "sensitivity", "specificity", "PPV", "NPV", "accuracy"], rows)


def how_calibrated(facts: ReportFacts) -> str:
    """Return whether what is said to happen in so many of a hundred cases does."""
    evaluation = facts.evaluation
    label = safe(evaluation.interest, 40)
    of_interest = figure_html(
        drawn.calibration(evaluation, evaluation.interest), "Reliability curve",
        f"Rows in groups by the probability of {label}, against the share that is {label}. On the dashed diagonal "
        "probabilities are right; bars (often shorter than a dot is wide) are one standard error.",
    )  # fmt: skip
    of_predicted = figure_html(
        drawn.calibration(evaluation), "Reliability curve of the class predicted",
        "The same for the class that is predicted, whichever that is. Below the diagonal the model is too sure.",
    )  # fmt: skip
    half = "; of two classes half of it is often given" if len(evaluation.classes) == 2 else ""
    return (
        f"<p>{calibration_sentence(evaluation)} {worst_calibrated(facts)}{_extremes(evaluation)} The Brier score, "
        "the mean squared distance between probabilities and what happened, summed over the classes, is "
        f"{number(evaluation.summary().brier, 3)}{half}.</p>"
        f"<div class='pictures'>{of_interest}{of_predicted}</div>"
    )


def _extremes(evaluation: Evaluation) -> str:
    """What an average does not tell: how often the class came where it was held next to impossible, or all but sure."""
    p, mine = evaluation.p(), evaluation.y == evaluation.classes.index(evaluation.interest)
    weight = np.ones(len(p)) if evaluation.weight is None else evaluation.weight
    sentence = []
    for words, rows in ((f"below {percent(RARE)}", p < RARE), (f"above {percent(1 - RARE)}", p > 1 - RARE)):
        if weight[rows].sum() >= FEW:
            expected, came = float(weight[rows] @ p[rows]), float(weight[rows] @ mine[rows])
            sentence.append(
                f"of the {weight[rows].sum():,.0f} rows with a probability {words}, {came:,.0f} are "
                f"{safe(evaluation.interest, 40)}, and {expected:,.1f} were to be expected"
            )
    return f" At the ends: {'; '.join(sentence)}." if sentence else ""
