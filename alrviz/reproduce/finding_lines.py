"""Figures that a finding tells: of a line of an item's table, or of two methods over the sets whose means are kept."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from alrviz.passes.aligned_buffers import Floats
from alrviz.reproduce.compare import HALF_DIGIT, WOULD
from alrviz.reproduce.judge import AGREES, COMPATIBLE, DIFFERS, SURE, UNDECIDED, VERDICTS, alike, judge_mean
from alrviz.reproduce.pairs import Pair, found, width_of
from alrviz.studies.statistics.significance import sign_test

_RECORD = re.compile(r"(\d+)/(\d+)/(\d+), p (< \.001|[.\d]+), mean ratio ([\d.e+-]+|nan|inf)")
EARLIER = "of an earlier run"  # so a line's reason begins whose fits are lost: it is in no finding
SETS = "sets"  # the name under which the kept means are found among the tables
NOTHING_LEFT = 0.001  # nats a row: of a training loss below it there may be no finite optimum
ALIKE = 0.9  # share of sets on which two must be within LIKE, to be said to be alike
Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Figures:
    """What a sentence may say of a line.

    wins, draws, losses: sets on which the first is lower, equal to four decimals, higher; `sets` are all. p: Holm's,
    in words. ratio, median: of first over second, geometric mean and median; interval: `median_interval` of the ratios.
    ours: as the table has it; value, sd, printed: of a line with one number that number, its deviation over splits and
    the paper's. verdict: the item's, "" without one. counts: of a table its lines by verdict. raw: p as a number,
    None without a test; alone: p before Holm's.
    near: sets on which the two are within a twentieth; near_left: of those the ones on which something is left of
    the training loss, at least NOTHING_LEFT of one of them, of `left` such. correlation: of rows and ratio, by rank.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0
    p: str = ""
    ratio: str = "nan"
    ours: str = ""
    value: str = ""
    sd: str = ""
    printed: str = ""
    verdict: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    raw: float | None = None
    alone: float | None = None
    inverse: str = "nan"
    median: str = "nan"
    interval: str = ""
    near: int = 0
    left: int = 0
    near_left: int = 0
    correlation: str = ""

    @property
    def sets(self) -> int:
        """Sets that both methods have."""
        return self.wins + self.draws + self.losses

    @property
    def record(self) -> str:
        """Lower, equal, higher."""
        return f"{self.wins}/{self.draws}/{self.losses}"

    @property
    def spread(self) -> str:
        """The median ratio with its interval, in words."""
        return f"median {self.median}" + (f", 95 % interval {self.interval}" if self.interval else "")

    @property
    def decided(self) -> int:
        """Lines of the table whose verdict says something."""
        return sum(self.counts.get(word, 0) for word in (AGREES, COMPATIBLE, DIFFERS))

    @property
    def differs(self) -> int:
        """Lines of the table that differ."""
        return self.counts.get(DIFFERS, 0)


@dataclass(frozen=True)
class Lines:
    """A line of an item's table; without a quantity the whole table is counted."""

    item: str
    quantity: str = ""
    method: str = ""
    on: str = ""

    def found(self, tables: Tables) -> pd.DataFrame:
        """Return the first line that fits, or the whole table; empty where there is none, or its fits are lost."""
        table = tables.get(self.item)
        if table is None or not self.quantity:
            return pd.DataFrame() if table is None else table
        fits = (table["quantity"] == self.quantity) & (table["method"] == self.method)
        fits &= ~table["reason"].astype(str).str.contains(EARLIER)
        return table[fits & (table["set"] == self.on) if self.on else fits].head(1)

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where it has none yet."""
        lines = self.found(tables)
        if not len(lines) or not lines["ours"].astype(str).str.strip().any():
            return None
        first = lines.iloc[0]
        counts = {word: int((lines["verdict"] == word).sum()) for word in VERDICTS}
        if len(lines) > 1:
            return Figures(ours="-", verdict=DIFFERS if _mostly(counts) else AGREES, counts=counts)
        told = Figures(ours=str(first["ours"]), verdict=str(first["verdict"]), counts=counts)
        record = _RECORD.match(told.ours)
        if not record:
            return replace(told, value=_short(first["ours"]), sd=_short(first["sd"]), printed=str(first["paper"]))
        wins, draws, losses, ratio = *map(int, record.groups()[:3]), float(record[5])
        return replace(told, wins=wins, draws=draws, losses=losses, ratio=f"{ratio:.2f}", inverse=f"{1 / ratio:.1f}",
                       raw=sign_test(wins, losses))  # fmt: skip


def _short(cell: object) -> str:
    """A number to four decimals; "" of another text."""
    number = pd.to_numeric(str(cell), errors="coerce")
    return "" if pd.isna(number) else f"{number:.4f}"


def _mostly(counts: Mapping[str, int]) -> bool:
    return 2 * counts[DIFFERS] > counts[AGREES] + counts[COMPATIBLE] + counts[DIFFERS]


@dataclass(frozen=True)
class Over:
    """Two methods over the kept sets of `least` to under `below` rows: the first is said to be lower.

    A method "a / b" is the ratio of two. expect: "less"; "like", where equal to four decimals or within a twentieth on
    ALIKE of the sets; "part", where nothing is tested; or "falls", where first over second is the lower the more rows a
    set has (rank correlation).
    item: where such a comparison stands among the items.
    """

    item: str
    measure: str
    a: str
    b: str
    expect: str = "less"
    least: int = 0
    below: float = np.inf

    @property
    def on(self) -> str:
        """Of which sets it is, in words."""
        words = [f"{self.least:,} rows and more"] if self.least else []
        return " and ".join([*words, f"under {self.below:,} rows"] if self.below < np.inf else words) or "all sets"

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where no set has both."""
        rows = tables.get(SETS, pd.DataFrame())
        if self.measure not in rows:
            return None
        rows = rows[(rows["rows"] >= self.least) & (rows["rows"] < self.below)]
        for name in {self.a, self.b}:
            if " / " in name:
                rows = pd.concat([rows, _quotient(rows, name, self.measure)])
        what = found(Pair(self.measure, self.a, self.b), rows)
        if not what.sets:
            return None
        a, b = what.a, what.b
        near = alike(a, b, width_of(self.measure))
        left = _left(rows[rows["method"].isin((self.a, self.b))], what.sets)
        positive = (a > 0) & (b > 0)
        ratios = a[positive] / b[positive]
        of = rows.groupby("set")["rows"].max().reindex(what.sets)
        told = Figures(
            what.wins.wins, what.wins.draws, what.wins.losses, ratio=f"{what.ratio:.2f}", ours=str(what.wins),
            inverse=f"{1 / what.ratio:.1f}", median=f"{np.median(ratios):.2f}", interval=median_interval(ratios),
            raw=what.wins.p, near=near, left=int(left.sum()), near_left=alike(a[left], b[left], width_of(self.measure)),
        )  # fmt: skip
        if self.expect == "part":
            return replace(told, raw=None)
        if self.expect == "like":
            share = near / len(a)
            return replace(told, raw=None, verdict=AGREES if share >= ALIKE else DIFFERS if share < 0.5 else UNDECIDED)
        if self.expect == "falls":
            from scipy.stats import spearmanr

            width = 0.5e-4  # half a draw, for the zeros
            rho, p = map(float, spearmanr(of, (a + width) / (b + width)))
            said = UNDECIDED if p > SURE else AGREES if rho < 0 else DIFFERS
            return replace(told, raw=p, verdict=said, correlation=f"{rho:.2f}")
        return told


def _left(rows: pd.DataFrame, sets: Sequence[str]) -> np.ndarray:
    """On which sets (D,) one of the methods has something left of its training loss; none where that is not known."""
    if "train_log_loss" not in rows:
        return np.zeros(len(sets), bool)
    return (rows.groupby("set")["train_log_loss"].max().reindex(sets) >= NOTHING_LEFT).to_numpy()


def median_interval(values: Floats) -> str:
    """Return the 95 % interval of the median of values (D,) in words: the sign test's, of order statistics.

    "" of fewer than 6 values, of which no such interval is of 95 %.

    >>> median_interval(np.arange(1.0, 7.0)), median_interval(np.arange(1.0, 21.0)), median_interval(np.arange(5.0))
    ('1.00 to 6.00', '6.00 to 15.00', '')
    """
    from scipy.stats import binom

    low = int(binom.ppf(SURE / 2, len(values), 0.5)) if len(values) else 0
    ordered = np.sort(values)
    return f"{ordered[low - 1]:.2f} to {ordered[-low]:.2f}" if low else ""


def _quotient(rows: pd.DataFrame, name: str, measure: str) -> pd.DataFrame:
    wide = rows.pivot_table(index="set", columns="method", values=measure)
    above, below = (wide[method] if method in wide else np.nan * wide.sum(axis=1) for method in name.split(" / "))
    values = (above / below).rename(measure).reset_index()
    return values.assign(method=name, rows=rows.groupby("set")["rows"].max().reindex(values["set"]).to_numpy())


@dataclass(frozen=True)
class Best:
    """On how many sets of the items' tables one of `methods` has the highest figure, ours and the paper's."""

    items: tuple[str, ...]
    methods: tuple[str, ...]

    @property
    def item(self) -> str:
        """The first of the items."""
        return self.items[0]

    def figures(self, tables: Tables) -> Figures | None:
        """Return ours in `wins` of `sets`, the paper's in `ours`; it differs where ours are fewer."""
        if any(item not in tables for item in self.items):
            return None
        table = pd.concat([tables[item] for item in self.items], ignore_index=True)
        table = table.assign(**{name: pd.to_numeric(table[name], errors="coerce") for name in ("ours", "paper")})
        printed = table[table["paper"].notna()]  # the methods that the paper has too
        firsts = {}
        for column in ("ours", "paper"):
            best = printed.loc[printed.groupby("set")[column].idxmax().dropna(), "method"]
            firsts[column] = int(best.isin(self.methods).sum())
        n = printed["set"].nunique()
        said = DIFFERS if firsts["ours"] < firsts["paper"] else AGREES
        return Figures(firsts["ours"], 0, n - firsts["ours"], ours=str(firsts["paper"]), verdict=said)


@dataclass(frozen=True)
class Drawn:
    """Made problems of which an item has draws, "problem (0)", "problem (1)" and so on: in `wins` every draw agrees."""

    item: str
    quantity: str

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where it has none yet; `near` is the fewest draws of a problem."""
        own = tables.get(self.item, pd.DataFrame(columns=["quantity"]))
        own = own[own["quantity"] == self.quantity]
        if not len(own):
            return None
        problem = own["set"].str.replace(r" \(\d+\)$", "", regex=True)
        agree = (own["verdict"] == AGREES).groupby(problem).all()
        wins, fewest = int(agree.sum()), int(own.groupby(problem)["set"].nunique().min())
        said = AGREES if agree.all() else DIFFERS if not agree.any() else UNDECIDED
        return Figures(wins, 0, len(agree) - wins, ours=str(wins), verdict=said, near=fewest)


@dataclass(frozen=True)
class Brought:
    """Lines of the items' tables that differ from what is printed: in `wins` one of the ways of `tried` brings the
    printed figure, in `losses` none; in `near` one would with as many splits as the lines themselves have. ours: in how
    many ways of how many a figure was tried.
    """

    items: tuple[str, ...]
    tried: str = "dlr-5.1"

    @property
    def item(self) -> str:
        """Where the ways are told."""
        return self.tried

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where a table is not there yet."""
        if any(item not in tables for item in (*self.items, self.tried)):
            return None
        ways = _ways(tables[self.tried])
        table = pd.concat([tables[item] for item in self.items], ignore_index=True)
        own = table[table["verdict"] == DIFFERS]
        tried = own[[*_LINE, "splits"]].merge(ways, on=_LINE, suffixes=("_of_line", ""))
        if not len(tried):
            return None
        sure = [_would_agree(row) for row in tried.to_dict("records")]
        by_line = tried.assign(brings=tried["reason"] == WOULD, sure=sure).groupby(_LINE)
        brought, near = int(by_line["brings"].any().sum()), int(by_line["sure"].any().sum())
        each = by_line["way"].nunique()
        told = f"{each.min()} to {each.max()} of {ways['way'].nunique()}"
        return Figures(brought, 0, len(own) - brought, near=near, ours=told, verdict=UNDECIDED)


_LINE = ["set", "method", "quantity"]


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


Line = Lines | Over | Best | Drawn | Brought
