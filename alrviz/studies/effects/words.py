"""What carries a model's score, in a sentence."""

import pandas as pd

from alrviz.studies.core.names import tuples_text
from alrviz.studies.statistics.measures import loss_text


def verdict(orders: pd.DataFrame, importance: pd.DataFrame, where: str) -> str:
    """Return the sentence of `Interactions.sentence`; `where` says whose log loss it was measured on."""
    carried = [
        f"{'main effects' if size == 1 else f'{int(line.tuples):,} {tuples_text(int(size))}'} {line.share:.0%}"
        for size, line in orders.iterrows()
    ]
    carried[0] = carried[0].replace("main effects", "Main effects carry", 1) + " of the score"
    text = ", ".join(carried)
    for size in [int(size) for size in orders.index if size > 1][::-1]:
        own = importance[importance["order"] == size]
        good = own[own["loss"] > 2 * own["loss_error"]]
        if good.empty:
            text += f"; without any one of the {tuples_text(size)} {where} log loss rises by no two standard errors"
            continue
        top = good["loss"].idxmax()
        text += (
            f"; {len(good):,} of the {tuples_text(size)} are worth more than two standard errors of {where} log loss, "
            f"most {top}: {loss_text(own.loc[top, 'loss'])} ± {loss_text(own.loc[top, 'loss_error'])} nats"
        )
    return text + "."
