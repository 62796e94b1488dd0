"""Why a number of ours is not the paper's, as far as it was found: the first line that fits is told.

Figures in the words were measured on the 100 splits of each set; methods in brackets stand in the same tables.
"""

from fnmatch import fnmatch

_MACHINE = "another machine and other programs (MATLAB, 2.67 GHz); ours hold the work of making numbers of a table"
_NO_CONSTANT = "likely: their lr has no constant; without one ours is at {} (lr-no-constant)"
_LOOSE = (
    "likely: their weights were held back, by a penalty or by ending early; as printed nothing holds them where "
    "columns are many and rows few, and with alpha 1 (dlr-alpha-1) ours is at {}"
)
_SELF = (
    "as printed, h follows the few validation rows while training rows vote for themselves and nothing holds w back; "
    "see dlr-loo and dlr-validation, where a row has no vote for itself and alpha is 10"
)
_CHOSEN = "likely: ours chooses its settings on held-out rows; the paper says that of SVMs only"
_HALF = "an AUC near 0.5 does not go with 75 % right and more: the paper's scores were no ranking"
_NOISE = (
    "which rows the paper has is not known: its accuracy is nearer to that with the six rows that are wrong on purpose "
    "(monks-3), its AUC to that without (monks-3-test)"
)
_HELD_AND_CLEAN = (
    "likely: theirs has the 432 rows without the six that are wrong on purpose, and weights held back: with alpha 1 "
    "ours is at 97.2 % there (dlr-alpha-1 on monks-3-test)"
)
_A_LEVEL = (
    "likely: theirs has a column of 0 and 1 for each level, which is at 97.8 % (dlr-levels); one weight for the three "
    "levels of a column is not enough"
)
_WHICH = "which of the two Wisconsin tables (breast-cancer-wisconsin, wdbc) the paper has is not known"

# (quantity, set, method, reason); * fits anything.
_REASONS: tuple[tuple[str, str, str, str], ...] = (
    ("train_ms", "*", "*", _MACHINE),
    ("accuracy", "pima", "lr", _NO_CONSTANT.format("73.6 %")),
    ("accuracy", "spectf", "lr", _NO_CONSTANT.format("56.8 %, which agrees")),
    ("accuracy", "tic-tac-toe", "dlr*", _A_LEVEL),
    ("auc", "tic-tac-toe", "*", "not found: theirs are near .95 beside 98 % right, that of lr at .90"),
    ("accuracy", "monks-3*", "lr", "not found: lr on the codes as numbers is at 76 %, with a column a level at 98 %"),
    ("accuracy", "monks-3*", "dlr*", _HELD_AND_CLEAN),
    ("*", "monks-3*", "*", _NOISE),
    ("auc", "hepatitis", "klr-*", _HALF),
    ("auc", "heart-cleveland", "klr-*", _HALF),
    ("auc", "pima", "klr-*", _HALF),
    ("auc", "*", "klr-*", _CHOSEN),
    ("auc", "*", "svm-poly", _CHOSEN),
    ("auc", "*", "lssvm-*", _CHOSEN),
    ("auc", "heart-cleveland", "*", "not found: at a like accuracy theirs rank about .1 worse than ours"),
    ("accuracy", "*", "klr-*", _CHOSEN),
    ("accuracy", "*", "lssvm-*", _CHOSEN),
    ("accuracy", "*", "svm-poly", _CHOSEN),
    ("*", "*", "dlr-h", _SELF),
    ("accuracy", "hepatitis", "dlr", _LOOSE.format("83.3 %")),
    ("accuracy", "ionosphere", "dlr", _LOOSE.format("92.0 %")),
    ("accuracy", "heart-cleveland", "dlr", _LOOSE.format("83.3 %")),
    ("accuracy", "spectf", "dlr", _LOOSE.format("80.3 %")),
    ("auc", "hepatitis", "dlr", _LOOSE.format(".820")),
    ("auc", "ionosphere", "dlr", _LOOSE.format(".954")),
    ("auc", "spectf", "dlr", _LOOSE.format(".851")),
    ("*", "wdbc", "*", _WHICH),
    ("*", "breast-cancer-wisconsin", "*", _WHICH),
)


def reason(quantity: str, name: str, method: str) -> str:
    """Return the reason told for a quantity of a method on a set."""
    for its_quantity, its_set, its_method, words in _REASONS:
        if fnmatch(quantity, its_quantity) and fnmatch(name, its_set) and fnmatch(method, its_method):
            return words
    return "not found"
