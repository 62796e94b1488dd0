"""The report: what was said, what we see and every line of every item, as one Markdown page with its pictures."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alrviz.reproduce.item import Item, verdicts

# Of tables with many methods the page has these; the CSV has all.
_SHOWN = ("lr", "dlr", "dlr-h")
_SOURCES = {
    "alr": "[ALR] ALR^n: accelerated higher-order logistic regression (Machine Learning 104, 2016)",
    "wanbia": "[WANBIA-C] Naive-Bayes inspired effective pre-conditioner for logistic regression (ICDM 2014)",
    "dlr": "[DLR] Density based logistic regression (KDD 2013)",
    "elr": "[ELR] Structural extension to logistic regression (Machine Learning 59, 2005)",
    "c": "Claims on data that anyone can repeat",
}


@dataclass(frozen=True)
class Reproduced:
    """An item and its table."""

    item: Item
    table: pd.DataFrame

    @property
    def counts(self) -> Mapping[str, int]:
        """How many lines agree, differ, have no data."""
        found = self.table["verdict"].value_counts() if len(self.table) else {}
        return {word: int(found.get(word, 0)) for word in ("agrees", "differs", "no data")}


def report(found: Sequence[Reproduced], pictures: str, quick: bool = False, kept: bool = False) -> str:
    """Return the page; `pictures`: the folder of SVGs beside it, as the page writes it; `kept`: of earlier sittings."""
    lines = [_HEAD, ""]
    if quick:
        lines += ["This is the quick report: small sets, few splits.", ""]
    if kept:
        lines += ["Written by `--kept`: what earlier sittings measured. What they have not reached is *no data*.", ""]
    lines += ["| item | what | agrees | differs | no data | sets |", "|---|---|---|---|---|---|"]
    for one in found:
        counts, name = one.counts, one.item.name
        told = " | ".join(str(counts[word]) for word in counts)
        lines.append(
            f"| [{name}](#{_anchor(name)}) | {_cell(_bare(one.item.title))} | {told} | {_most_sets(one.table)} |"
        )
    paper = ""
    for one in found:
        begin = one.item.name.partition("-")[0].rstrip("0123456789")
        if begin != paper:
            paper = begin
            lines += ["", f"# {_SOURCES.get(begin, begin)}"]
        lines += ["", *_section(one, pictures)]
    return "\n".join(lines) + "\n"


_HEAD = """# The papers' tables, figures and claims, reproduced

`alrviz reproduce --data DIR --report docs/reproduction.md` measures all of it and writes this page; `--list` names the
items, `NAME ...` takes some of them, ctrl-C ends it and the same command goes on (`--kept` writes what there is).
Each item is also a CSV and a picture in `--out`.

Verdicts: a win-draw-loss *agrees* where the same side wins as in the paper and both are, or both are not, beyond p =
.05 of the exact two-tailed sign test; a printed mean where ours is within two standard errors and a rounding; a claim
in words where what it says holds on most sets, or in the geometric mean. A set counts when every fit on it is done, and
a sign test with six sets: else there is *no data*. Figures of ours alone are *not in the paper*. "paper" behind
a method's name is paper mode
(from zero, no penalty, L-BFGS-B to 10,000 iterations, unseen cells by the m-estimate); without it our defaults. W-D-L
counts sets on which the first method has the lower figure, equal to four digits, the higher; *ratio* is the geometric
mean of first over second. Sets are taken the cheapest first, 5 x 2-fold (2 x 2-fold for variants, once 2-fold for big
sets): the column *sets* says how many were reached. Seconds were taken beside other work on two cores."""


def _section(one: Reproduced, pictures: str) -> list[str]:
    item, table = one.item, one.table
    lines = [f"## {item.name}", f"**{item.title}**", ""]
    lines += [f"*Said:* {item.said}. *We see:* {item.seen(table)}.", "", f"![{item.title}]({pictures}/{item.name}.svg)"]
    shown = table
    if len(table) > 24 and "method" in table:
        told = table["verdict"].astype(bool)
        shown = table[told & table["method"].isin(_SHOWN)] if table["method"].isin(_SHOWN).any() else table[told]
    if not len(shown):
        return lines
    lines += ["", "| on | what | said | ours | sets | verdict | why |", "|---|---|---|---|---|---|---|"]
    for row in shown.head(24).to_dict("records"):
        cells = [row["set"], f"{row['quantity']}, {row['method']}", _number(row["paper"]), _number(row["ours"])]
        cells += [_sets(row), row["verdict"] or "not in the paper", row["reason"]]
        lines.append("| " + " | ".join(_cell(str(cell)) for cell in cells) + " |")
    if len(shown) < len(table) or len(shown) > 24:
        lines += ["", f"{len(table)} lines in all ({verdicts(table)}): `{item.name}.csv`."]
    return lines


def _sets(row: Mapping[Hashable, Any]) -> str:
    """How many sets a line is of; of one of several splits also how many of those."""
    several = pd.to_numeric(row["splits"], errors="coerce") > 1
    return f"{row['sets']}, {row['splits']} splits" if several else str(row["sets"])


def _bare(title: str) -> str:
    return title.partition(": ")[2] or title


def _most_sets(table: pd.DataFrame) -> str:
    if not len(table):
        return ""
    counts = pd.to_numeric(table["sets"], errors="coerce")
    return str(int(max(counts.max(), table["set"][counts > 0].nunique() if (counts <= 1).all() else 0)))


def _number(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _anchor(name: str) -> str:
    return name.replace(".", "")
