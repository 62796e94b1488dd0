"""Figures of findings about numbers that a paper prints a set and method: how far ours are from them, and which way.

Where a paper's table may be either of two of ours (two Wisconsin sets, monks-3 with and without its rows that are
wrong) it has printed one figure: that is counted once, and agrees if one of the two does. Where one of them has to
stand for it, that is the one whose figures are the nearer in the mean.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from alrviz.studies.statistics.significance import win_draw_loss
from reproduction.compare import HALF_DIGIT, WOULD
from reproduction.finding_lines import Figures, Tables
from reproduction.judge import AGREES, COMPATIBLE, DIFFERS, UNDECIDED, judge_mean
from reproduction.sets import MIXED_SETS, NUMERIC_SETS

PRINTED_AS = {one.name: one.paper for one in (*NUMERIC_SETS, *MIXED_SETS)}
NEAR = 2.0  # points
_LINE = ["set", "method", "quantity"]
_ONCE = ["printed", "method", "quantity"]
_BEST_FIRST = [AGREES, COMPATIBLE, DIFFERS]


def _lines(tables: Tables, items: tuple[str, ...]) -> pd.DataFrame | None:
    """The judged lines of the items' tables, and as what the paper prints their set; None where a table is missing."""
    if any(item not in tables for item in items):
        return None
    table = pd.concat([tables[item] for item in items], ignore_index=True)
    table = table[table["verdict"].isin(_BEST_FIRST)]
    return table.assign(
        printed=table["set"].map(PRINTED_AS).fillna(table["set"]),
        ours=pd.to_numeric(table["ours"], errors="coerce"),
        paper=pd.to_numeric(table["paper"], errors="coerce"),
    )


def _once(lines: pd.DataFrame) -> pd.DataFrame:
    """The lines of those sets alone that stand for a printed one: the nearest in the mean."""
    away = (lines["ours"] - lines["paper"]).abs().groupby([lines["printed"], lines["set"]]).mean()
    nearest = {name for _, name in away.groupby(level="printed").idxmin()} if len(away) else set()
    return lines[lines["set"].isin(nearest)]


@dataclass(frozen=True)
class Printed:
    """All figures that items print, or those with a verdict `of`: how many agree.

    counts: the printed figures by verdict, the best of several lines. ours: the median of how far ours are away, of the
    nearest of several; near: how many are within NEAR. It differs where more than half do.
    """

    items: tuple[str, ...]
    of: str = ""

    @property
    def item(self) -> str:
        """The first of the items."""
        return self.items[0]

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where a table is not there yet, or has no line that is judged."""
        lines = _lines(tables, self.items)
        if lines is None or not len(lines):
            return None
        best = lines["verdict"].map(_BEST_FIRST.index).groupby([lines[name] for name in _ONCE]).min()
        away = (lines["ours"] - lines["paper"]).abs().groupby([lines[name] for name in _ONCE]).min()
        if self.of:
            away = away[best == _BEST_FIRST.index(self.of)]
        counts = {word: int((best == k).sum()) for k, word in enumerate(_BEST_FIRST)}
        said = DIFFERS if 2 * counts[DIFFERS] > len(best) else AGREES
        near = int((away <= NEAR).sum())
        return Figures(ours=f"{away.median():.1f}", near=near, counts=counts, verdict=said)


@dataclass(frozen=True)
class Away:
    """A method's figures beside those printed, a printed set each: ours are lower on `wins`, by `ours` in the mean, and
    by `median`.
    """

    items: tuple[str, ...]
    method: str

    @property
    def item(self) -> str:
        """The first of the items."""
        return self.items[0]

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where a table is not there yet, or does not have the method."""
        lines = _lines(tables, self.items)
        own = None if lines is None else _once(lines)[lambda table: table["method"] == self.method]
        if own is None or not len(own):
            return None
        wins, away = win_draw_loss(own["ours"].to_numpy(), own["paper"].to_numpy()), own["ours"] - own["paper"]
        mean, median = f"{away.mean():+.1f}", f"{away.median():+.1f}"
        return Figures(wins.wins, wins.draws, wins.losses, ours=mean, median=median)


@dataclass(frozen=True)
class Versus:
    """Two methods over the sets that items print: the first is lower, level, higher in ours, in print as `ours` has."""

    items: tuple[str, ...]
    a: str
    b: str

    @property
    def item(self) -> str:
        """The first of the items."""
        return self.items[0]

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where a table is not there yet, or does not have both."""
        lines = _lines(tables, self.items)
        if lines is None or not {self.a, self.b} <= set(lines["method"]):
            return None
        wide = _once(lines).pivot(index="set", columns="method", values=["ours", "paper"])
        ours, paper = (
            win_draw_loss(wide[whose, self.a].to_numpy(), wide[whose, self.b].to_numpy()) for whose in ("ours", "paper")
        )
        return Figures(ours.wins, ours.draws, ours.losses, ours=f"{paper.wins}/{paper.draws}/{paper.losses}")


@dataclass(frozen=True)
class Brought:
    """Figures that items print and that differ: in `wins` one of the ways of `tried` brings the printed figure, in
    `losses` none; in `near` one would with as many splits as the lines themselves have. ours: in how many ways of how
    many a figure was tried.
    """

    items: tuple[str, ...]
    tried: str = "dlr-5.1"

    @property
    def item(self) -> str:
        """Where the ways are told."""
        return self.tried

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where a table is not there yet."""
        lines = _lines(tables, self.items)
        if lines is None or self.tried not in tables:
            return None
        ways = _ways(tables[self.tried])
        own = lines[lines["verdict"].eq(DIFFERS).groupby([lines[name] for name in _ONCE]).transform("all")]
        tried = own[[*_ONCE, "set", "splits"]].merge(ways, on=_LINE, suffixes=("_of_line", ""))
        if not len(tried):
            return None
        sure = [_would_agree(row) for row in tried.to_dict("records")]
        by_figure = tried.assign(brings=tried["reason"] == WOULD, sure=sure).groupby(_ONCE)
        brought, near = int(by_figure["brings"].any().sum()), int(by_figure["sure"].any().sum())
        each = by_figure["way"].nunique()
        told = f"{each.min()} to {each.max()} of {ways['way'].nunique()}"
        n = len(own[_ONCE].drop_duplicates())
        return Figures(brought, 0, n - brought, near=near, ours=told, verdict=UNDECIDED)


def _ways(table: pd.DataFrame) -> pd.DataFrame:
    """The lines of a table of methods set up otherwise, the way beside the method: "lr, with C = 1" in two columns."""
    split = table["method"].str.partition(", ")
    return table.assign(method=split[0], way=split[2])


def ways_told(table: pd.DataFrame, tried: str = Brought.tried) -> dict[tuple[str, ...], str]:
    """Return by set, method and quantity which other ways of a table would bring the printed figure, in words."""
    told = {}
    for line, own in _ways(table).groupby(_LINE, sort=False) if len(table) else ():
        agree = own.loc[own["reason"] == WOULD, "way"]
        splits = pd.to_numeric(own["splits"]).max()
        told[line] = f"{len(agree) or 'none'} of {len(own)} other ways {WOULD} on {splits:.0f} splits ({tried})"
        told[line] += f": {' / '.join(agree)}" if len(agree) else ""
    return told


def _would_agree(way: Mapping[Hashable, Any]) -> bool:
    """Whether a way's figure would bring the printed one, had it as many splits as the line that differs."""
    paper, ours, sd, splits = (pd.to_numeric(way[name]) for name in ("paper", "ours", "sd", "splits_of_line"))
    said = judge_mean(paper, ours, sd, int(splits), HALF_DIGIT[way["quantity"]])
    return said in (AGREES, COMPATIBLE)
