"""Why a claim's figures are not what was said, where that was seen in the figures themselves; reasons that a run of
their own was made for are in `trials`.
"""

from collections.abc import Iterable

from reproduction.pairs import Pair

# (item, measure or "", words); the first that fits is told.
_REASONS: tuple[tuple[str, str, str], ...] = (
    ("c7", "early", "SGD's first steps are short: order 3 has no time to follow chance; AnJE, which counts, crosses"),
    ("alr-f2", "early", "SGD's first steps are short: order 3 has no time to follow chance; so it is in claim 7"),
    (
        "c11",
        "last",
        "on magic, nursery and Zipf columns, whose pairs have many cells: theta of few rows moves under its weight; "
        "with theta of all rows beforehand alr2 is below lr2 on all five",
    ),
    (
        "alr-t2",
        "rmse",
        "may be few rows without a penalty: with alpha 1 (alr3, beside) the record is not told from the "
        "printed one, nor is it without on the sets of 400 rows or more, which are few",
    ),
    (
        "alr-f21",
        "",
        "[ALR] says alike here, but its table 4 prints records beyond chance in the forest's favour: with those the "
        "same figures of ours agree (alr-t4)",
    ),
    ("alr-7.3", "", "where every training row can be fitted the end depends on where the solver stops"),
)


def reason_of(item: str, pair: Pair | None = None) -> str:
    """Return the known reason for an item, or for a pair's measure; "" without one."""
    for name, measure, words in _REASONS:
        if name == item and measure in ("", pair.measure if pair else ""):
            return words
    return ""


def reasons_among(item: str, reasons: Iterable[str]) -> list[str]:
    """Return the reasons of an item that the reasons of some of its lines have."""
    reasons = list(reasons)
    return [words for name, _, words in _REASONS if name == item and any(words in reason for reason in reasons)]
