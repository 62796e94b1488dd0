"""What carries a model's score, in a sentence."""

import pandas as pd
from scipy.stats import norm

from alrviz.studies.core.names import tuples_text
from alrviz.studies.statistics.measures import loss_text

LEVEL = 0.05  # of tests, all tuples of a table together


def verdict(orders: pd.DataFrame, importance: pd.DataFrame, where: str) -> str:
    """Return the sentence of `Interactions.sentence`; `where` says whose log loss it was measured on."""
    carried = [
        f"{'main effects' if size == 1 else _counted(int(line.tuples), int(size))} {100 * line.share:.0f} %"
        for size, line in orders.iterrows()
    ]
    carried[0] = carried[0].replace("main effects", "Main effects carry", 1) + " of the score"
    text = ", ".join(carried)
    for size in [int(size) for size in orders.index if size > 1][::-1]:
        own = importance[importance["order"] == size]
        good = own[beyond_chance(own)]
        if good.empty:
            text += f"; no single one of the {tuples_text(size)} lowers {where} log loss by more than chance gives"
            continue
        top = good["loss"].idxmax()
        lower = "lowers" if len(good) == 1 else "lower"
        text += (
            f"; {len(good):,} of the {tuples_text(size)} {lower} {where} log loss by more than chance gives, most "
            f"{top}: {loss_text(own.loc[top, 'loss'])} ± {loss_text(own.loc[top, 'loss_error'])} nats"
        )
    return text + "."


def beyond_chance(importance: pd.DataFrame) -> "pd.Series[bool]":
    """Return which lines of a table of `Interactions.importance` have a loss above 0; of tuples without effect, one
    table in twenty has such a line (Bonferroni's correction).
    """
    return importance["loss"] > norm.isf(LEVEL / max(len(importance), 1)) * importance["loss_error"]


def _counted(many: int, order: int) -> str:
    return f"1 {tuples_text(order).removesuffix('s')}" if many == 1 else f"{many:,} {tuples_text(order)}"


def lacking_sentence(lacking: pd.DataFrame, order: int) -> str:
    """Return in words what tuples of an order, a table of `Interactions.lacking`, would gain; by chance one table in
    twenty is said to have some (Bonferroni's correction).
    """
    own = lacking[(lacking["p"] * len(lacking) < LEVEL) & (lacking["gain"] > 0)]
    if own.empty:
        return f"No {tuples_text(order)} are worth adding: none would gain more than chance gives."
    named = ", ".join(
        f"{name} {loss_text(line.gain)} ± {loss_text(line.gain_error)}" for name, line in own.head(3).iterrows()
    )
    more = f" and {len(own) - 3:,} more" if len(own) > 3 else ""
    return f"Not in the model, and predicted to lower test log loss (nats a row): {named}{more}."
