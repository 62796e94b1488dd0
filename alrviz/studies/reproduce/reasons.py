"""Why a claim's figures are not what was said, as far as it was found; "" where nothing was."""

from alrviz.studies.reproduce.pairs import Pair

# (item, measure or "", words); the first that fits is told.
_REASONS: tuple[tuple[str, str, str], ...] = (
    ("c7", "early", "SGD's first steps are short: order 3 has no time to follow chance; AnJE, which counts, crosses"),
    ("c15", "", "the set of three classes of the paper is not given; on ours bandwidths go on moving"),
    ("alr-7.3", "", "where every training row can be fitted the end depends on where the solver stops"),
)


def reason_of(item: str, pair: Pair | None = None) -> str:
    """Return the reason told for an item, and of a pair for its measure."""
    for name, measure, words in _REASONS:
        if name == item and measure in ("", pair.measure if pair else ""):
            return words
    return ""
