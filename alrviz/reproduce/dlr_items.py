"""Tables 1 to 6 and figure 6 of [DLR]: what their lines are and what we say of them."""

from functools import partial

import numpy as np
import pandas as pd

from alrviz.reproduce import dlr_paper as paper
from alrviz.reproduce.compare import COLUMNS, Paper, compared
from alrviz.reproduce.dlr_reasons import reason
from alrviz.reproduce.growth import exponent
from alrviz.reproduce.item import Item, verdicts


def best_of(table: pd.DataFrame) -> str:
    """Return on how many sets dlr and dlr-h come out on top among the paper's methods, in the paper and here."""
    told = table[table["paper"].notna() & table["ours"].notna()]
    parts = []
    for method in ("dlr", "dlr-h"):
        wins = {"paper": 0, "ours": 0}
        own = told[told["method"] == method]
        for name in own["set"]:
            of_set = told[told["set"] == name].set_index("method")
            for column in wins:
                wins[column] += bool(of_set.loc[method, column] >= of_set[column].max())
        if len(own):
            parts.append(f"{method} best or level on {wins['ours']} of {len(own)} sets (paper {wins['paper']})")
    return "; ".join([*parts, verdicts(table)])


def times_of_lr(table: pd.DataFrame) -> str:
    """Return the geometric mean over sets of each method's time in units of lr's, in the paper and here."""
    told = table[table["paper"].notna() & table["ours"].notna()]
    units = told[told["method"] == "lr"].set_index("set")[["paper", "ours"]]
    parts = []
    for method, rows in told.groupby("method", sort=False):
        if method == "lr" or units.empty:
            continue
        logs = np.log(rows.set_index("set")[["paper", "ours"]] / units.loc[rows["set"]])
        ratio = np.exp(logs.mean())
        parts.append(f"{method} {ratio['ours']:.3g} times lr (paper {ratio['paper']:.3g})")
    return "; ".join(parts) or "no figures"


def growth_table(figures: pd.DataFrame) -> pd.DataFrame:
    """Return a line a method and size; the paper's numbers are lost with its picture."""
    lines = []
    for row in figures[figures["rows"].notna()].to_dict("records") if "rows" in figures else ():
        given_up = not row.get("train_s", np.nan) > 0
        why = f"given up: about {row['expected_s']:.0f} s expected" if given_up else ""
        line = {"item": "dlr-f6", "set": "made", "method": row["method"], "quantity": f"train_s at {row['rows']} rows"}
        line |= {"paper": np.nan, "source": "", "ours": row.get("train_s", np.nan), "sd": np.nan, "splits": 1}
        lines.append(line | {"sets": 1, "verdict": "no data" if given_up else "", "reason": why, "rows": row["rows"]})
    return pd.DataFrame(lines, columns=[*COLUMNS, "rows"])


def growth_seen(table: pd.DataFrame) -> str:
    """Return how each method's time grows over its last two sizes a decade apart."""
    parts = []
    for method, rows in table[table["ours"].notna()].groupby("method", sort=False):
        first, last = rows.iloc[max(0, len(rows) - 3)], rows.iloc[-1]
        if first["rows"] < last["rows"]:
            grows = exponent(first["rows"], first["ours"], last["rows"], last["ours"])
            parts.append(f"{method} {last['ours']:.3g} s at {last['rows']:,} rows, growing as rows^{grows:.2f}")
    return "; ".join(parts) or "no figures"


def _printed(sets: tuple[str, ...], table: paper.Table) -> Paper:
    return {(name, method): values[k] for method, values in table.items() for k, name in enumerate(sets)}


def _item(number: int, what: str, study: str, quantity: str, printed: Paper, said: str) -> Item:
    name, timed = f"dlr-t{number}", quantity == "train_ms"

    def table(figures: pd.DataFrame) -> pd.DataFrame:
        return compared(name, quantity, figures, printed, paper.source, reason)

    title = f"[DLR] table {number}: {what}"
    return Item(name, title, study, said, table, times_of_lr if timed else best_of, "log dots" if timed else "dots")


_LIKE = "dlr and dlr-h perform better than other methods in most data sets; dlr-h beats dlr on all of them"
_FAST = "lr is fastest, dlr second; dlr-h is slower than dlr, but much faster than kernel LR and SVM in most cases"
_MIXED_LIKE = "dlr and dlr-h are the same where all columns are categorical, and highly competitive with all others"
_MIXED_FAST = "dlr and dlr-h are orders of magnitude faster than the kernel methods"
_NUMERIC, _MIXED = partial(_printed, paper.NUMERIC), partial(_printed, paper.MIXED)
DLR_TABLES = (
    _item(1, "accuracy on numeric sets, %", "dlr-numeric", "accuracy", _NUMERIC(paper.ACCURACY), _LIKE),
    _item(2, "AUC on numeric sets", "dlr-numeric", "auc", _NUMERIC(paper.AUC), _LIKE),
    _item(3, "ms of training on numeric sets", "dlr-numeric", "train_ms", _NUMERIC(paper.TRAINING_MS), _FAST),
    _item(4, "accuracy on categorical sets, %", "dlr-mixed", "accuracy", _MIXED(paper.ACCURACY_MIXED), _MIXED_LIKE),
    _item(5, "AUC on categorical sets", "dlr-mixed", "auc", _MIXED(paper.AUC_MIXED), _MIXED_LIKE),
    _item(
        6, "ms of training on categorical sets", "dlr-mixed", "train_ms", _MIXED(paper.TRAINING_MS_MIXED), _MIXED_FAST
    ),
    Item(
        "dlr-f6",
        "[DLR] figure 6: training time against rows, s",
        "dlr-growth",
        "dlr-h is much more efficient than the SVM with the RBF kernel (1,000 to 10,000 rows)",
        growth_table,
        growth_seen,
        "growth",
    ),
)
