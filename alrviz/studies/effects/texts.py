"""Sentences on what carries a model's score, and on interactions that it lacks."""

import pandas as pd
from scipy.stats import norm

from alrviz.studies.core.names import tuples_text
from alrviz.studies.statistics.measures import loss_text

SIGNIFICANCE_LEVEL = 0.05  # significance level of all tests of a table together


def verdict(orders: pd.DataFrame, importance: pd.DataFrame, row_text: str) -> str:
    """Return a sentence on the orders' shares of the score, and on the tuples that lower the log loss.

    Args:
        orders: a row for each order, with its `tuples` (how many) and its `share` of the score.
        importance: a row for each tuple: `Interactions.importance`.
        row_text: the rows of the log loss, "test" or "these rows'".
    """
    share_texts = [
        f"{'main effects' if size == 1 else _count_text(int(row.tuples), int(size))} {100 * row.share:.0f} %"
        for size, row in orders.iterrows()
    ]
    share_texts[0] = share_texts[0].replace("main effects", "Main effects carry", 1) + " of the score"
    text = ", ".join(share_texts)
    for size in [int(size) for size in orders.index if size > 1][::-1]:
        tuples = importance[importance["order"] == size]
        helpful = tuples[beyond_chance(tuples)]
        if helpful.empty:
            text += f"; no single one of the {tuples_text(size)} lowers {row_text} log loss by more than chance gives"
            continue
        name = helpful["loss"].idxmax()
        verb = "lowers" if len(helpful) == 1 else "lower"
        text += (
            f"; {len(helpful):,} of the {tuples_text(size)} {verb} {row_text} log loss by more than chance gives, most "
            f"{name}: {loss_text(tuples.loc[name, 'loss'])} ± {loss_text(tuples.loc[name, 'loss_error'])} nats"
        )
    return text + "."


def beyond_chance(importance: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows of a table of `Interactions.importance` have a loss significantly above 0, with Bonferroni's
    correction: without any real effect, one table in twenty has such a row.
    """
    return importance["loss"] > norm.isf(SIGNIFICANCE_LEVEL / max(len(importance), 1)) * importance["loss_error"]


def _count_text(n: int, order: int) -> str:
    return f"1 {tuples_text(order).removesuffix('s')}" if n == 1 else f"{n:,} {tuples_text(order)}"


def lacking_sentence(table: pd.DataFrame, order: int) -> str:
    """Return the sentence on a table of `Interactions.lacking`: which tuples of an order would lower the loss, with
    Bonferroni's correction (by chance one table in twenty has some).
    """
    helpful = table[(table["p"] * len(table) < SIGNIFICANCE_LEVEL) & (table["gain"] > 0)]
    if helpful.empty:
        return f"No {tuples_text(order)} are worth adding: none would gain more than chance gives."
    gains_text = ", ".join(
        f"{name} {loss_text(row.gain)} ± {loss_text(row.gain_error)}" for name, row in helpful.head(3).iterrows()
    )
    more_text = f" and {len(helpful) - 3:,} more" if len(helpful) > 3 else ""
    return f"Not in the model, and predicted to lower test log loss (nats a row): {gains_text}{more_text}."
