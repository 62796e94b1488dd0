"""Report sections on quality and calibration, measured on test rows."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from alrviz.errors import AlrvizError, capitalize
from alrviz.passes.aligned_buffers import Floats
from alrviz.pictures import evaluation as pictures
from alrviz.pictures.picture import Picture
from alrviz.pictures.still import still_svg
from alrviz.studies.protocols.report_facts import MIN_GROUP_ROWS, ReportFacts
from alrviz.studies.statistics.evaluation import Evaluation, percent
from alrviz.studies.statistics.measures import BINNING, loss_text, row_losses
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.texts import number
from alrviz.views.studies.evaluation import classes_html, points, summary_html

REFERENCE_NAME = "gradient boosting"
MAX_NAMES = 4  # of classes that are never predicted
# Words by excess of the calibration error over its expectation by chance. If that is above MAX_CHANCE_ERROR, rows are
# too few, unless the error is twice as large.
TRUST_WORDS = {
    0.02: "can be taken at their word on average",
    0.06: "are roughly right on average",
    np.inf: "are not to be trusted",
}
MAX_CHANCE_ERROR = 0.05
SMALL_PROBABILITY, MIN_ROWS = 0.01, 100  # extreme probabilities are mentioned if at least so many rows have them


def figure_html(
    picture: Picture, words: str, caption: str = "", *, width: int = 440, height: int = 300, note: str = ""
) -> str:
    """Return a picture as a figure element, width x height px.

    words: the text alternative; caption: below it; note: HTML below the caption.
    """
    caption_html = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f"<figure>{still_svg(picture.plot().figure, words, width=width, height=height)}{caption_html}{note}</figure>"


def reference_sentence(facts: ReportFacts) -> str:
    """Return a sentence that compares the model with gradient boosting on the same rows; "" if that was not fitted."""
    if facts.reference is None:
        return ""
    return (
        f" {capitalize(REFERENCE_NAME)}, which nobody can read, is wrong for "
        f"{percent(facts.reference.error)} of the same rows; {_comparison(facts.evaluation, facts.reference)}"
    )


def _comparison(evaluation: Evaluation, other_evaluation: Evaluation) -> str:
    """Return by how much the log losses of two models differ, with a standard error paired by row."""
    model_losses, other_losses = (row_losses(part.log_p, part.y) for part in (evaluation, other_evaluation))
    mean, error = _mean_and_error(model_losses - other_losses, _weight(evaluation))
    figures = f"{loss_text(abs(mean))} &plusmn; {loss_text(error)} nats"
    significance_text = "no more" if abs(mean) <= 2 * error else "more"
    direction = "higher" if mean > 0 else "lower"
    return f"beside it the log loss of this model is {direction} by {figures}, {significance_text} than chance gives."


def _weight(evaluation: Evaluation) -> Floats:
    return np.ones(len(evaluation.y)) if evaluation.weight is None else evaluation.weight


def _mean_and_error(values: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted mean of values of rows, and its standard error; rows without weight do not count."""
    values, shares = values[weight > 0], weight[weight > 0] / weight.sum()
    mean = float(shares @ values)
    return mean, float(np.sqrt(shares @ (values - mean) ** 2 * (shares @ shares)))


def gain(evaluation: Evaluation) -> float:
    """Return the reduction of log loss relative to the class shares, in nats."""
    summary = evaluation.summary()
    return float(summary.shares_log_loss - summary.log_loss)


# -- sentences ---------------------------------------------------------------------------------------------------------


def never_predicted(evaluation: Evaluation) -> str:
    """Return a sentence on classes that are never predicted although they occur; "" if there are none."""
    class_table = evaluation.by_class()
    table_unpredicted = class_table[(class_table.rows > 0) & (class_table.predicted == 0)]
    if table_unpredicted.empty:
        return ""
    names = ", ".join(f"<b>{safe(class_row['class'], 40)}</b> ({percent(class_row.share)} of the rows)"
                      for _, class_row in table_unpredicted.head(MAX_NAMES).iterrows())  # fmt: skip
    suffix = f" and {len(table_unpredicted) - MAX_NAMES:,} more classes" if len(table_unpredicted) > MAX_NAMES else ""
    return f"It never predicts {names}{suffix}: another class is always more probable."


def worse_than_shares_warning(evaluation: Evaluation) -> str:
    """Return a warning if the log loss is more than one standard error worse than that of the class shares, else "".

    The shares are those of the test rows, so that no constant prediction is better.
    """
    summary = evaluation.summary()
    y, weight = evaluation.y, _weight(evaluation)
    class_shares = np.bincount(y, weight) / weight.sum()
    log_shares = np.log(class_shares, where=class_shares > 0, out=np.zeros(len(class_shares)))
    mean, error = _mean_and_error(row_losses(evaluation.log_p, y) + log_shares[y], weight)
    if mean <= error:
        return ""
    return (
        f"<b>Its probabilities are worse than the class shares</b>, given to every row: log loss "
        f"{loss_text(summary.log_loss)}, and {loss_text(summary.shares_log_loss)} by the shares alone."
    )


def calibration_sentence(evaluation: Evaluation) -> str:
    """Return how far probabilities can be trusted, compared with the calibration error expected by chance."""
    table, ece, chance_ece = evaluation.reliability(), evaluation.summary().ece, evaluation.chance_ece()
    gap = float(np.average(table.confidence - table.accuracy, weights=table.rows))
    margin = 2 * float(np.sqrt(((table.rows / table.rows.sum() * table.standard_error) ** 2).sum()))
    tendency_text = (
        f", and it is too {'sure of itself' if gap > 0 else 'cautious'}" if abs(gap) > max(margin, 0.005) else ""
    )
    sentence = f"Its probabilities {next(phrase for limit, phrase in TRUST_WORDS.items() if ece - chance_ece < limit)}"
    if chance_ece > MAX_CHANCE_ERROR and ece < 2 * chance_ece:
        sentence = "There are too few rows to tell whether its probabilities can be trusted"
    return (
        f"{sentence}: they are off by {_points(ece)}{tendency_text}. On so many rows even exactly right probabilities "
        f"would seem to be off by about {_points(chance_ece)}, by chance alone"
        f"{'; so on average no fault is visible' if ece <= chance_ece else ''}."
    )


def worst_calibrated(facts: ReportFacts) -> str:
    """Return a sentence on the group with the worst calibration in standard errors.

    "" if it is not significant at 5 % after Bonferroni's correction for the number of groups.
    """
    groups = groups_of_all(facts)
    large_bins = groups[groups.rows >= MIN_GROUP_ROWS]
    deviation = ((large_bins.p - large_bins.share).abs() / large_bins.p_error.where(large_bins.p_error > 0)).fillna(0.0)
    if large_bins.empty or deviation.max() <= norm.isf(0.025 / len(groups)):
        return ""
    line = large_bins.loc[deviation.idxmax()]
    return (
        f"Farthest off, beyond what chance gives of {len(groups):,} groups, is where <b>{safe(line.column, 40)}</b> is "
        f"{group_text(line.group)}: the mean probability of {safe(facts.evaluation.class_of_interest, 40)} is "
        f"{percent(line.p)}, and {percent(line.share)} of {line.rows:,} rows are."
    )


def groups_of_all(facts: ReportFacts) -> pd.DataFrame:
    """Return the tables of `Evaluation.groups` of all columns as one, with the column's name."""
    names = ["rows", "share", "p", "p_error", "error", "low", "shares_error", "sensitivity", "sensitivity_high"]
    empty = pd.DataFrame(columns=["column", "group", *names])
    tables = [table.assign(column=column) for column, table in facts.groups.items()]
    return pd.concat(tables, ignore_index=True) if tables else empty


def group_text(group: str) -> str:
    """Return a group's name for a sentence, intervals in words."""
    for sign, sign_text in (("<= ", "at most "), ("> ", "more than ")):
        group = sign_text + group.removeprefix(sign) if group.startswith(sign) else group
    return safe(group, 40)


def _points(share: float) -> str:
    return f"{points(share)} percentage points"


def missed_sentence(evaluation: Evaluation) -> str:
    """Return how many rows of the rarer of two classes are missed; "" with more classes."""
    if len(evaluation.classes) != 2:
        return ""
    figures = evaluation.as_predicted()
    return (
        f"Of the {figures.tp + figures.fn:,.0f} rows that are <b>{safe(evaluation.class_of_interest, 40)}</b> "
        f"it misses <b>{figures.fn:,.0f}</b> "
        f"({percent(1 - figures.sensitivity)}), where the more probable class is predicted (threshold 0.5)."
    )


# -- sections ----------------------------------------------------------------------------------------------------------


def how_good(facts: ReportFacts) -> str:
    """Return the section on quality: figures, curves and thresholds."""
    evaluation = facts.evaluation
    label = safe(evaluation.class_of_interest, 40)
    ring_threshold = 0.5 if len(evaluation.classes) == 2 else None
    ring_note = "" if ring_threshold is None else "; the ring is threshold 0.5"
    figures = (
        (pictures.confusion(evaluation), "Confusion matrix",
         "Confusion matrix: a row is a class, a column what it is predicted as; the diagonal is right."),
        (pictures.curves("roc", evaluation, evaluation.class_of_interest, ring_threshold), "ROC curve",
         f"ROC: the share of {label} that is found (sensitivity) against false alarms among the others, as the "
         f"threshold falls{ring_note}. The diagonal is guessing; the area below (AUC) is 1 for a perfect model."),
        (pictures.curves("precision", evaluation, evaluation.class_of_interest, ring_threshold), "Precision and recall",
         f"Precision against recall: of the rows said to be {label}, how many are; and of those that are, how many are "
         f"found{ring_note}. The dashed line is guessing."),
    )  # fmt: skip
    return (
        f"<p>All figures are of the {len(evaluation.y):,} {evaluation.rows_text}. {_reference_note(facts)}Log loss "
        "is the mean of -log(probability given to what happened), in nats: 0 would be certainty that is always right. "
        "Class shares alone use no column: every row gets the same probabilities. The calibration error is how far "
        f"probabilities are off on average, over {BINNING}. The AUC is the chance that a random row of a class gets a "
        "higher probability of that class than a random row of the others. Average precision is the mean height of the "
        "curve of precision below. The 95 % interval of the error is Wilson&rsquo;s, of the AUC DeLong&rsquo;s.</p>"
        f"{summary_html(evaluation, facts.reference, REFERENCE_NAME)}"
        f"<div class='pictures'>{''.join(figure_html(*figure) for figure in figures)}</div>"
        f"<h3>Classes</h3>{classes_html(evaluation)}<h3>Choosing another threshold for {label}</h3>"
        f"<p>{label} is predicted where its probability reaches a threshold. A lower one finds more of its rows "
        "(sensitivity) and raises more false alarms (lower specificity). PPV is the share of alarms that are right, "
        f"NPV, of the rows not predicted {label}, the share that are not. All thresholds except 0.5 and the one by "
        "costs were chosen on these same rows, so that on new rows their figures will differ a little.</p>"
        f"{_threshold_table(evaluation)}"
    )


def _reference_note(facts: ReportFacts) -> str:
    if facts.reference is not None:
        return (
            "Beside the model stands scikit-learn&rsquo;s gradient boosting with its default settings (some hundred "
            "decision trees, often hard to beat and hard to read), which learned from the same rows. "
        )
    return f"No gradient boosting stands beside it: {safe(facts.no_reference, 300)}. " if facts.no_reference else ""


def _threshold_table(evaluation: Evaluation) -> str:
    """Return the table of rates at a few thresholds, each chosen by a rule."""
    rules: list[tuple[str, dict[str, float]]] = [
        ("threshold 0.5", {"threshold": 0.5}),
        *((f"specificity {100 * share:.0f} %", {"specificity": share}) for share in (0.8, 0.9, 0.95)),
        *((f"sensitivity {100 * share:.0f} %", {"sensitivity": share}) for share in (0.8, 0.95)),
        ("a miss is as bad as 5 false alarms (an example)", {"miss": 5.0}),
    ]
    cells = []
    for rule_text, rule in rules:
        try:
            figures = evaluation.at(**rule)  # type: ignore[arg-type]
        except AlrvizError:  # impossible if the rows have only one class
            continue
        names = ("sensitivity", "specificity", "ppv", "npv", "accuracy")
        cells.append([rule_text, number(min(figures.threshold, 1.0), 3), *(percent(figures[name]) for name in names)])
    return html_table(["chosen for", "threshold", "sensitivity", "specificity", "PPV", "NPV", "accuracy"], cells)


def how_calibrated(facts: ReportFacts) -> str:
    """Return the section on calibration."""
    evaluation = facts.evaluation
    label = safe(evaluation.class_of_interest, 40)
    interest_figure = figure_html(
        pictures.calibration(evaluation, evaluation.class_of_interest), "Reliability curve",
        f"Rows in groups by the probability of {label}, against the share that is {label}. On the dashed diagonal "
        "probabilities are right; bars (often shorter than a dot is wide) are one standard error.",
    )  # fmt: skip
    predicted_figure = figure_html(
        pictures.calibration(evaluation), "Reliability curve of the class predicted",
        "The same for the class that is predicted, whichever that is. Below the diagonal the model is too sure.",
    )  # fmt: skip
    halved_brier_text = "; of two classes half of it is often given" if len(evaluation.classes) == 2 else ""
    return (
        f"<p>{calibration_sentence(evaluation)} {worst_calibrated(facts)}{_extremes(evaluation)} The Brier score, "
        "the mean squared distance between probabilities and what happened, summed over the classes, is "
        f"{number(evaluation.summary().brier, 3)}{halved_brier_text}.</p>"
        f"<div class='pictures'>{interest_figure}{predicted_figure}</div>"
    )


def _extremes(evaluation: Evaluation) -> str:
    """Return observed and expected numbers of rows with extreme probabilities, which averages hide."""
    p, is_class = evaluation.p(), evaluation.y == evaluation.classes.index(evaluation.class_of_interest)
    weight = np.ones(len(p)) if evaluation.weight is None else evaluation.weight
    sentences = []
    for range_text, mask in (
        (f"below {percent(SMALL_PROBABILITY)}", p < SMALL_PROBABILITY),
        (f"above {percent(1 - SMALL_PROBABILITY)}", p > 1 - SMALL_PROBABILITY),
    ):
        if weight[mask].sum() >= MIN_ROWS:
            expected_weight, observed_weight = float(weight[mask] @ p[mask]), float(weight[mask] @ is_class[mask])
            sentences.append(
                f"of the {weight[mask].sum():,.0f} rows with a probability {range_text}, {observed_weight:,.0f} are "
                f"{safe(evaluation.class_of_interest, 40)}, and {expected_weight:,.1f} were to be expected"
            )
    return f" At the ends: {'; '.join(sentences)}." if sentences else ""
