"""Figures that a finding tells: of a line of an item's table, or of two methods over the sets whose means are kept."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from alrviz.passes.aligned_buffers import Floats
from alrviz.studies.statistics.significance import geometric_mean_ratio, sign_test, win_draw_loss
from reproduction.judge import AGREES, COMPATIBLE, DIFFERS, ENOUGH, SURE, UNDECIDED, alike
from reproduction.pairs import Pair, compare_pair, digits_of, p_words, width_of

_RECORD = re.compile(r"(\d+)/(\d+)/(\d+), p (< \.001|[.\d]+), mean ratio ([\d.e+-]+|nan|inf)")
EARLIER = "of an earlier run"  # so a line's reason begins whose fits are lost: it is in no finding
SETS, PRECONDITIONERS = "sets", "preconditioners"  # studies whose kept means are found among the tables
MIN_LOSS = 0.001  # nats a row: of a training loss below it there may be no finite optimum
ALIKE = 0.9  # share of sets on which two must be within LIKE, to be said to be alike
Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Figures:
    """What a sentence may say of a line.

    wins, draws, losses: sets on which the first is lower, equal to four decimals, higher; `sets` are all. p: Holm's,
    in words. ratio, median: of first over second, geometric mean and median; interval: `median_interval` of the ratios.
    ours: as the table has it; value, sd, printed: of a line with one number that number, its deviation over splits and
    the paper's. verdict: the item's, "" without one. counts: of a table its lines by verdict. raw: p as a number,
    None without a test; alone: p before Holm's. middles: medians of first and second. about: the line's methods.
    near: sets on which the two are within a twentieth. left: the figures of the sets on which something is left of the
    training loss, at least MIN_LOSS of one of the two. correlation: of rows and ratio, by rank.
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
    median: str = "nan"
    interval: str = ""
    middles: str = ""
    about: str = ""
    near: int = 0
    left: "Figures | None" = None
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
    def uncorrected(self) -> str:
        """p of the record alone, in words."""
        return "" if self.raw is None else p_words(self.raw)

    @property
    def number(self) -> str:
        """`ours`, a number, to three digits: "97.8", ".442"."""
        return f"{float(self.ours):.3g}".removeprefix("0")

    @property
    def testable(self) -> bool:
        """Whether it has a test that could come out beyond chance."""
        return self.raw is not None and (bool(self.correlation) or self.wins + self.losses >= ENOUGH)

    @property
    def decided(self) -> int:
        """Number of lines of the table that agree, are compatible or differ."""
        return sum(self.counts.get(word, 0) for word in (AGREES, COMPATIBLE, DIFFERS))

    @property
    def differs(self) -> int:
        """Lines of the table that differ."""
        return self.counts.get(DIFFERS, 0)


@dataclass(frozen=True)
class Lines:
    """A line of an item's table; without a method any of its set.

    set_label: the line's set, "" for any. by_item: its item's verdict decides, without a test of ours: of draws of one
    generator, of which there can be as many as one likes, or of an amount that the item is about.
    """

    item: str
    quantity: str
    method: str = ""
    set_label: str = ""
    by_item: bool = False

    def first_line(self, tables: Tables) -> pd.DataFrame:
        """Return the first line that fits; empty where there is none, or its fits are lost."""
        table = tables.get(self.item)
        if table is None:
            return pd.DataFrame()
        fits = table["quantity"] == self.quantity
        fits &= (table["method"] == self.method) | (not self.method)
        fits &= ~table["reason"].astype(str).str.contains(EARLIER)
        return table[fits & (table["set"] == self.set_label) if self.set_label else fits].head(1)

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where it has none yet."""
        lines = self.first_line(tables)
        if not len(lines) or not lines["ours"].astype(str).str.strip().any():
            return None
        first = lines.iloc[0]
        figures = Figures(ours=str(first["ours"]), verdict=str(first["verdict"]), about=str(first["method"]))
        record = _RECORD.match(figures.ours)
        if not record:
            return replace(figures, value=_short(first["ours"]), sd=_short(first["sd"]), printed=str(first["paper"]))
        wins, draws, losses, ratio = *map(int, record.groups()[:3]), float(record[5])
        p = None if self.by_item else sign_test(wins, losses)
        return replace(figures, wins=wins, draws=draws, losses=losses, ratio=f"{ratio:.2f}", raw=p)


def _short(cell: object) -> str:
    """A number to four decimals; "" of another text."""
    number = pd.to_numeric(str(cell), errors="coerce")
    return "" if pd.isna(number) else f"{number:.4f}"


@dataclass(frozen=True)
class Means:
    """Two methods over the kept sets of `min_rows` to under `max_rows` rows: the claim is that the first is lower.

    A method "a / b" is the ratio of two. expect: "less"; "like", where equal to four decimals or within a twentieth on
    ALIKE of the sets; "part", where nothing is tested; or "falls", where first over second is the lower the more rows a
    set has (rank correlation).
    item: where such a comparison stands among the items. study: whose kept means they are.
    """

    item: str
    measure: str
    a: str
    b: str
    expect: str = "less"
    min_rows: int = 0
    max_rows: float = np.inf
    study: str = SETS

    @property
    def set_label(self) -> str:
        """The sets compared, in words."""
        words = [f"{self.min_rows:,} rows and more"] if self.min_rows else []
        return (
            " and ".join([*words, f"under {self.max_rows:,} rows"] if self.max_rows < np.inf else words) or "all sets"
        )

    def figures(self, tables: Tables) -> Figures | None:
        """Return its figures; None where no set has both."""
        rows = tables.get(self.study, pd.DataFrame())
        if self.measure not in rows:
            return None
        rows = rows[(rows["rows"] >= self.min_rows) & (rows["rows"] < self.max_rows)]
        for name in {self.a, self.b}:
            if " / " in name:
                rows = pd.concat([rows, _quotient(rows, name, self.measure)])
        comparison = compare_pair(Pair(self.measure, self.a, self.b), rows)
        if not comparison.sets:
            return None
        has_loss = _has_loss(rows[rows["method"].isin((self.a, self.b))], comparison.sets)
        figures = replace(
            self._compared(comparison.a, comparison.b),
            left=self._compared(comparison.a[has_loss], comparison.b[has_loss]),
        )
        if self.expect == "part":
            return replace(figures, raw=None)
        if self.expect == "like":
            share = figures.near / figures.sets
            return replace(
                figures, raw=None, verdict=AGREES if share >= ALIKE else DIFFERS if share < 0.5 else UNDECIDED
            )
        if self.expect == "falls":
            from scipy.stats import spearmanr

            width = 0.5e-4  # half a draw, for the zeros
            n_rows = rows.groupby("set")["rows"].max().reindex(comparison.sets)
            rho, p = map(float, spearmanr(n_rows, (comparison.a + width) / (comparison.b + width)))
            trend = UNDECIDED if p > SURE else AGREES if rho < 0 else DIFFERS
            return replace(figures, raw=p, verdict=trend, correlation=f"{rho:.2f}")
        return figures

    def _compared(self, a: Floats, b: Floats) -> Figures:
        """Return the figures of the values of both on some sets (D,)."""
        wins = win_draw_loss(a, b, digits_of(self.measure))
        positive = (a > 0) & (b > 0)
        ratios = a[positive] / b[positive]
        return Figures(
            wins.wins, wins.draws, wins.losses, ratio=f"{geometric_mean_ratio(a, b):.2f}", ours=str(wins), raw=wins.p,
            median=f"{np.median(ratios):.2f}" if len(ratios) else "nan", interval=median_interval(ratios),
            middles=f"{np.median(a):.2g} and {np.median(b):.2g}" if len(a) else "",
            near=alike(a, b, width_of(self.measure)),
        )  # fmt: skip


def _has_loss(rows: pd.DataFrame, sets: Sequence[str]) -> np.ndarray:
    """On which sets (D,) one of the methods has something left of its training loss; none where that is not known."""
    if "train_log_loss" not in rows:
        return np.zeros(len(sets), bool)
    return (rows.groupby("set")["train_log_loss"].max().reindex(sets) >= MIN_LOSS).to_numpy()


def median_interval(values: Floats) -> str:
    """Return the 95 % interval of the median of values (D,) in words: the sign test's, of order statistics.

    "" of fewer than 6 values, of which no such interval is of 95 %.

    >>> median_interval(np.arange(1.0, 7.0)), median_interval(np.arange(1.0, 21.0)), median_interval(np.arange(5.0))
    ('1.00 to 6.00', '6.00 to 15.00', '')
    """
    from scipy.stats import binom

    low = int(binom.ppf(SURE / 2, len(values), 0.5)) if len(values) else 0
    sorted_values = np.sort(values)
    return f"{sorted_values[low - 1]:.2f} to {sorted_values[-low]:.2f}" if low else ""


def _quotient(rows: pd.DataFrame, name: str, measure: str) -> pd.DataFrame:
    wide = rows.pivot_table(index="set", columns="method", values=measure)
    upper, lower = (wide[method] if method in wide else np.nan * wide.sum(axis=1) for method in name.split(" / "))
    values = (upper / lower).rename(measure).reset_index()
    return values.assign(method=name, rows=rows.groupby("set")["rows"].max().reindex(values["set"]).to_numpy())
