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

PRINTED_AS = {entry.name: entry.paper for entry in (*NUMERIC_SETS, *MIXED_SETS)}
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
    """Lines of one set for each printed set: the one nearest in the mean."""
    distances = (lines["ours"] - lines["paper"]).abs().groupby([lines["printed"], lines["set"]]).mean()
    nearest = {name for _, name in distances.groupby(level="printed").idxmin()} if len(distances) else set()
    return lines[lines["set"].isin(nearest)]


@dataclass(frozen=True)
class PrintedFigures:
    """All figures that items print, or those with a `verdict`: how many agree.

    counts: the printed figures by verdict, the best of several lines. ours: the median of how far ours are away, of the
    nearest of several; near: how many are within NEAR. It differs where more than half do.
    """

    items: tuple[str, ...]
    verdict: str = ""

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
        distances = (lines["ours"] - lines["paper"]).abs().groupby([lines[name] for name in _ONCE]).min()
        if self.verdict:
            distances = distances[best == _BEST_FIRST.index(self.verdict)]
        counts = {word: int((best == k).sum()) for k, word in enumerate(_BEST_FIRST)}
        verdict = DIFFERS if 2 * counts[DIFFERS] > len(best) else AGREES
        near = int((distances <= NEAR).sum())
        return Figures(ours=f"{distances.median():.1f}", near=near, counts=counts, verdict=verdict)


@dataclass(frozen=True)
class Distances:
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
        method_lines = None if lines is None else _once(lines)[lambda table: table["method"] == self.method]
        if method_lines is None or not len(method_lines):
            return None
        wins = win_draw_loss(method_lines["ours"].to_numpy(), method_lines["paper"].to_numpy())
        distances = method_lines["ours"] - method_lines["paper"]
        mean, median = f"{distances.mean():+.1f}", f"{distances.median():+.1f}"
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
        our_record, paper = (
            win_draw_loss(wide[column, self.a].to_numpy(), wide[column, self.b].to_numpy())
            for column in ("ours", "paper")
        )
        return Figures(
            our_record.wins, our_record.draws, our_record.losses, ours=f"{paper.wins}/{paper.draws}/{paper.losses}"
        )


@dataclass(frozen=True)
class OtherWays:
    """Figures that items print and that differ: in `wins` one of the ways of `ways_item` brings the printed figure, in
    `losses` none; in `near` one would with as many splits as the lines themselves have. ours: in how many ways of how
    many a figure was tried.
    """

    items: tuple[str, ...]
    ways_item: str = "dlr-5.1"

    @property
    def item(self) -> str:
        """The item whose lines are the ways."""
        return self.ways_item

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where a table is not there yet."""
        lines = _lines(tables, self.items)
        if lines is None or self.ways_item not in tables:
            return None
        ways = _ways(tables[self.ways_item])
        differing = lines[lines["verdict"].eq(DIFFERS).groupby([lines[name] for name in _ONCE]).transform("all")]
        trials = differing[[*_ONCE, "set", "splits"]].merge(ways, on=_LINE, suffixes=("_of_line", ""))
        if not len(trials):
            return None
        sure = [_would_agree(row) for row in trials.to_dict("records")]
        by_figure = trials.assign(brings=trials["reason"] == WOULD, sure=sure).groupby(_ONCE)
        n_brought, near = int(by_figure["brings"].any().sum()), int(by_figure["sure"].any().sum())
        way_counts = by_figure["way"].nunique()
        counts = f"{way_counts.min()} to {way_counts.max()} of {ways['way'].nunique()}"
        n = len(differing[_ONCE].drop_duplicates())
        return Figures(n_brought, 0, n - n_brought, near=near, ours=counts, verdict=UNDECIDED)


def _ways(table: pd.DataFrame) -> pd.DataFrame:
    """The lines of a table of methods set up otherwise, the way beside the method: "lr, with C = 1" in two columns."""
    split = table["method"].str.partition(", ")
    return table.assign(method=split[0], way=split[2])


def ways_told(table: pd.DataFrame, item: str = OtherWays.ways_item) -> dict[tuple[str, ...], str]:
    """Return by set, method and quantity which other ways of a table would bring the printed figure, in words."""
    texts = {}
    for line, ways in _ways(table).groupby(_LINE, sort=False) if len(table) else ():
        agree = ways.loc[ways["reason"] == WOULD, "way"]
        splits = pd.to_numeric(ways["splits"]).max()
        texts[line] = f"{len(agree) or 'none'} of {len(ways)} other ways {WOULD} on {splits:.0f} splits ({item})"
        texts[line] += f": {' / '.join(agree)}" if len(agree) else ""
    return texts


def _would_agree(way: Mapping[Hashable, Any]) -> bool:
    """Whether a way's figure would bring the printed one, had it as many splits as the line that differs."""
    paper, value, sd, splits = (pd.to_numeric(way[name]) for name in ("paper", "ours", "sd", "splits_of_line"))
    verdict = judge_mean(paper, value, sd, int(splits), HALF_DIGIT[way["quantity"]])
    return verdict in (AGREES, COMPATIBLE)
