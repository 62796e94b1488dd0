"""An item: one table, figure or claim of a paper, what measures it, and what is made of that.

A *study* measures what several items show: tables 1 to 3 of [DLR] are three quantities of the same fits. It yields its
rows as they finish; an item makes a table of the rows that there are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from reproduction.judge import AGREES, DIFFERS, VERDICTS

Frames = Callable[[pd.DataFrame], pd.DataFrame]


@dataclass(frozen=True)
class Item:
    """One table, figure or claim.

    name: what it is asked for by. title: one line on what it shows. study: a key of `items.STUDIES`. text: what the
    paper says of it. table: from the study's rows to the item's (`compare.COLUMNS`), verdicts in it. summarize: from
    that table to a sentence of what we find. picture: which kind (`reproduction.pictures.PICTURES`). points: from the
    study's rows to what the picture shows; None where that is the table.
    """

    name: str
    title: str
    study: str
    text: str
    table: Frames = field(repr=False)
    summarize: Callable[[pd.DataFrame], str] = field(repr=False)
    picture: str = "dots"
    points: Frames | None = field(default=None, repr=False)


def verdicts(table: pd.DataFrame) -> str:
    """Return how many lines there are of each verdict, in words."""
    counts = table["verdict"].value_counts() if "verdict" in table else {}
    words = {AGREES: "agree", DIFFERS: "differ"}
    return ", ".join(f"{counts[word]} {words.get(word, word)}" for word in VERDICTS if counts.get(word)) or "no verdict"
