"""Sentences on which tuples matter to a model, and on interactions that it lacks."""

import pandas as pd
from scipy.stats import norm

from alrviz.errors import capitalize, join_words
from alrviz.studies.core.names import tuples_text
from alrviz.studies.statistics.measures import loss_text
from alrviz.studies.statistics.verdict import Verdict, first_headline

SIGNIFICANCE_LEVEL = 0.05  # significance level of all tests of a table together
_TUPLE_SUBJECTS = {1: "A column", 2: "A column or pair", 3: "A column, pair or triple"}  # by the highest order


def effects_verdict(orders: pd.DataFrame, importance: pd.DataFrame, row_text: str) -> Verdict:
    """Return how many tuples of each order lower the log loss beyond chance, and which lowers it most.

    Args:
        orders: a row for each order, with its `tuples` (how many) and its `share` of the score.
        importance: a row for each tuple: `Interactions.importance`.
        row_text: the rows of the log loss, "test" or "these rows'".
    """
    helpful = importance[beyond_chance(importance)]
    counts = [
        f"{n_helpful:,} of {int(row.tuples):,} {tuples_text(int(size))}"
        for size, row in orders.iterrows()
        if (n_helpful := int((helpful["order"] == size).sum()))
    ]
    if helpful.empty:
        headline, details = f"Nothing lowers {row_text} log loss beyond chance.", []
    else:
        name, verb = str(helpful["loss"].idxmax()), "matters" if len(helpful) == 1 else "matter"
        counts_text = join_words(counts)
        headline = first_headline(
            f"{counts_text} {verb}, most {name}.", f"{counts_text} {verb}.", f"{len(helpful):,} effects {verb}."
        )
        best = helpful.loc[name]
        subject_text = _TUPLE_SUBJECTS.get(int(orders.index.max()), "A tuple")
        details = [
            f"{subject_text} matters if it lowers {row_text} log loss beyond chance; {name} does most, by "
            f"{loss_text(best['loss'])} ± {loss_text(best['loss_error'])} nats (standard error)."
        ]
        highest_order = int(helpful["order"].max())
        of_highest_order = helpful.loc[helpful["order"] == highest_order, "loss"]
        if (highest_name := str(of_highest_order.idxmax())) != name:
            details.append(
                f"Of the {tuples_text(highest_order)} {highest_name} does most, by {loss_text(of_highest_order.max())}."
            )
        details += [
            f"None of the {int(row.tuples):,} {tuples_text(int(size))} matters."
            for size, row in orders.iterrows()
            if not (helpful["order"] == size).any()
        ]
    if len(orders) > 1:
        first, *others = [(tuples_text(int(size)), f"{100 * row.share:.0f} %") for size, row in orders.iterrows()]
        other_texts = "".join(f", {noun} {share}" for noun, share in others)
        details.append(f"{capitalize(first[0])} explain {first[1]} of how rows' scores differ{other_texts}.")
    return Verdict(headline, " ".join(details))


def beyond_chance(importance: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows of a table of `Interactions.importance` have a loss significantly above 0, with Bonferroni's
    correction: without any real effect, one table in twenty has such a row.
    """
    return importance["loss"] > norm.isf(SIGNIFICANCE_LEVEL / max(len(importance), 1)) * importance["loss_error"]


def absent_tuples_sentence(table: pd.DataFrame, order: int) -> str:
    """Return the sentence on a table of `Interactions.absent_tuples`: which tuples of an order would lower the loss.

    It applies Bonferroni's correction (by chance one table in twenty has some).
    """
    helpful = table[(table["p"] * len(table) < SIGNIFICANCE_LEVEL) & (table["gain"] > 0)]
    if helpful.empty:
        return f"No {tuples_text(order)} are worth adding: none would gain beyond chance."
    gains_text = ", ".join(
        f"{name} {loss_text(row.gain)} ± {loss_text(row.gain_error)}" for name, row in helpful.head(3).iterrows()
    )
    more_text = f" and {len(helpful) - 3:,} more" if len(helpful) > 3 else ""
    return f"Not in the model, and predicted to lower test log loss (nats per row): {gains_text}{more_text}."
