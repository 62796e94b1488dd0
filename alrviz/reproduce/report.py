"""The report: what was said, what we see and every line of every item, as one Markdown page with its pictures."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from alrviz.reproduce.item import Item, verdicts
from alrviz.reproduce.judge import DIFFERS, VERDICTS

MOST = 24  # lines of a table that are shown, beside those that differ
# Of tables with many methods these are shown first; the CSV has all.
_SHOWN = ("lr", "dlr", "dlr-h")
_SOURCES = {
    "alr": "[ALR] ALR^n: accelerated higher-order logistic regression (Machine Learning 104, 2016)",
    "wanbia": "[WANBIA-C] Naive-Bayes inspired effective pre-conditioner for logistic regression (ICDM 2014)",
    "salr": "[sALR] Efficient and effective accelerated hierarchical higher-order logistic regression (SDM 2018)",
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
        """How many lines have each verdict."""
        found = self.table["verdict"].value_counts() if len(self.table) else {}
        return {word: int(found.get(word, 0)) for word in VERDICTS}


def report(
    found: Sequence[Reproduced],
    pictures: str,
    quick: bool = False,
    kept: bool = False,
    before: str = "",
    order: Sequence[str] = (),
) -> str:
    """Return the page; `pictures`: the folder of SVGs beside it, as the page writes it; `kept`: of earlier sittings.

    before: the page so far, whose other items stay as they are. order: of all items that there are, by name.
    """
    lines = [_HEAD, ""]
    if quick:
        lines += ["This is the quick report: small sets, few splits.", ""]
    if kept:
        lines += ["Written by `--kept`: what earlier sittings measured. What they have not reached is *undecided*.", ""]
    lines += [f"| item | what | {' | '.join(VERDICTS)} | sets |", "|---" * (3 + len(VERDICTS)) + "|"]
    rows, sections = _parts(before)
    for one in found:
        counts, name = one.counts, one.item.name
        told = " | ".join(str(counts[word]) for word in counts)
        rows[name] = (
            f"| [{name}](#{_anchor(name)}) | {_cell(_bare(one.item.title))} | {told} | {_most_sets(one.table)} |"
        )
        sections[name] = "\n".join(_section(one, pictures))
    names = [name for name in order if name in sections] or list(sections)
    lines += [rows[name] for name in names]
    paper = ""
    for name in names:
        begin = name.partition("-")[0].rstrip("0123456789")
        if begin != paper:
            paper = begin
            lines += ["", f"# {_SOURCES.get(begin, begin)}"]
        lines += ["", sections[name]]
    return "\n".join(lines) + "\n"


def _parts(page: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the lines of a page's overview and its sections, by item."""
    rows = dict(re.findall(r"^(?=\| \[(.+?)\]\(#)(\|.*)$", page, re.MULTILINE))
    sections = dict(re.findall(r"^(?=## (\S+)$)(.*?)\s*(?=^##? |\Z)", page, re.MULTILINE | re.DOTALL))
    return rows, {name: text for name, text in sections.items() if name in rows}


_HEAD = """# The papers' tables, figures and claims, reproduced

`alrviz reproduce --data DIR --report docs/reproduction.md` measures all of it and writes this page; `--list` names the
items, `NAME ...` takes some of them and leaves the others of the page as they are, ctrl-C ends it and the same command
goes on (`--kept` writes what there is). Each item is also a CSV and a picture in `--out`.

Verdicts. A win-draw-loss *agrees* where ours and the paper's are both beyond chance (p <= .05 of the exact two-tailed
sign test) on the same side, and *differs* where on opposite ones. Where one of them is not, Fisher's exact test of the
two records decides: it *differs* at p <= .05, else it is *compatible*, or *undecided* where no record over so few sets
could have differed. A claim in words *agrees* where it holds on more sets than chance gives, *differs* where on fewer;
by chance it is *compatible* if it leans the claimed way, else *undecided*, and always so below six sets; one that two
methods are alike needs each within a twentieth of the other on more sets than chance gives. A printed mean *agrees*
within two standard errors of ours and a rounding, and is *compatible* within two of the difference. A limit is kept or
not. *Not comparable*: milliseconds of another machine; the order of methods by them is compared instead (Kendall's
tau). What is not computed yet is *undecided*. A set counts when every fit on it is done. Figures of ours alone are
*not in the paper*. Bias and variance are the unbiased estimates, which the papers print.

"paper" behind a method's name is paper mode (from zero, no penalty, L-BFGS-B to 10,000 iterations, unseen cells by the
m-estimate); without it our defaults; salr, hsalr and adagrad learn as in [sALR], in five passes of
AdaGrad. W-D-L counts sets on which the first method has the lower figure, equal to four digits, the higher; *ratio* is
the geometric mean of first over second. Sets are taken the cheapest first, 5 x 2-fold (2 x 2-fold for variants and
[sALR], once 2-fold for big sets): the column *sets* says how many were reached.
Seconds were taken beside other work on two cores."""


def _section(one: Reproduced, pictures: str) -> list[str]:
    item, table = one.item, one.table
    lines = [f"## {item.name}", f"**{item.title}**", ""]
    lines += [f"*Said:* {item.said}. *We see:* {item.seen(table)}.", "", f"![{item.title}]({pictures}/{item.name}.svg)"]
    shown = _worth_showing(table)
    if not len(shown):
        return lines
    lines += ["", "| on | what | said | ours | sets | verdict | why |", "|---|---|---|---|---|---|---|"]
    for row in shown.to_dict("records"):
        cells = [row["set"], f"{row['quantity']}, {row['method']}", _number(row["paper"]), _number(row["ours"])]
        cells += [_sets(row), row["verdict"] or "not in the paper", row["reason"]]
        lines.append("| " + " | ".join(_cell(str(cell)) for cell in cells) + " |")
    if len(shown) < len(table):
        lines += ["", f"{len(table)} lines in all ({verdicts(table)}): `{item.name}.csv`."]
    return lines


def _worth_showing(table: pd.DataFrame) -> pd.DataFrame:
    """The lines of a table that the page has: every one that differs, and of the others the first up to MOST in all,
    verdicts before figures of ours alone.
    """
    if len(table) <= MOST or "verdict" not in table:
        return table
    rank = table["verdict"].map({DIFFERS: 0, "": 3}).fillna(1) + table["method"].isin(_SHOWN).map({True: 0, False: 0.5})
    first = rank.sort_values(kind="stable").index[: max(MOST, int((table["verdict"] == DIFFERS).sum()))]
    return table.loc[sorted(first)]


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
