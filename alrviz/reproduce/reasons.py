"""Why a claim's figures are not what was said, as far as it was found; "" where nothing was."""

from alrviz.reproduce.pairs import Pair

# (item, measure or "", words); the first that fits is told.
_REASONS: tuple[tuple[str, str, str], ...] = (
    ("c7", "early", "SGD's first steps are short: order 3 has no time to follow chance; AnJE, which counts, crosses"),
    ("alr-f2", "early", "SGD's first steps are short: order 3 has no time to follow chance; so it is in claim 7"),
    (
        "alr-f9",
        "classify_seconds",
        "here AnDE takes an exp a parent and class, alr one a class; the paper's program is another",
    ),
    (
        "alr-f21",
        "error",
        "the forest takes numbers as they are, alr cut ones: 8/1/8 on the 17 sets without a numeric column, 10/1/41 on "
        "the 52 others",
    ),
    (
        "alr-f21",
        "rmse",
        "the forest takes numbers as they are, alr cut ones: 8/0/9 on the 17 sets without a numeric column, 13/0/39 on "
        "the 52 others",
    ),
    (
        "alr-f22",
        "train_seconds",
        "scikit-learn grows 100 trees whatever the rows; on sets of a few hundred rows alr's passes are over before",
    ),
    (
        "c1",
        "",
        "MDL leaves columns of waveform uncut: their theta is 1, alr cannot move their cells; lr, which spreads its "
        "intercepts over them, pays less penalty; the alr agree among themselves",
    ),
    (
        "c8",
        "",
        "near where the log losses cross: of 200,000 hands order 2's is 0.152 and order 3's 0.255 (studies.md)",
    ),
    (
        "c11",
        "last",
        "on magic, nursery and Zipf columns, whose pairs have many cells: theta of few rows moves under its weight; "
        "with theta of all rows beforehand alr2 is below lr2 on all five",
    ),
    (
        "salr-t2",
        "parameters",
        'with grow="weak" a pair is looked at if one of its columns was kept: of few columns at t = 0.9 all are, and '
        "the same share of them goes on",
    ),
    (
        "dlr-t7",
        "",
        "said of patients who are not public, seen on the paper's public tables; as printed, h follows the few "
        "validation rows: with Silverman's h (dlr) it is by chance",
    ),
    ("alr-7.3", "", "where every training row can be fitted the end depends on where the solver stops"),
)


def reason_of(item: str, pair: Pair | None = None) -> str:
    """Return the reason told for an item, and of a pair for its measure."""
    for name, measure, words in _REASONS:
        if name == item and measure in ("", pair.measure if pair else ""):
            return words
    return ""
