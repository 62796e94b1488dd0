"""Demo sets: generated from a known distribution, derived from rules of games, or shipped with scikit-learn.

    load_demo("led")                    the usual size, seed 0
    load_demo("poker-hand", 100_000)    any size, if rows are generated
    load_demo("tic-tac-toe", 500)       part of a complete set: rows drawn without replacement, in their order

Nothing is downloaded, and only scikit-learn's files are read from disk. `demo_truth` returns p(class | row) if it does
not depend on the seed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alrviz.data.demos import clouds, games, generators, patients
from alrviz.errors import TableError, nearest

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset


@dataclass(frozen=True)
class Demo:
    """One set: the kinds of its columns, and its generator.

    `make(rows, rng)` generates any number of rows, by default `rows`; a complete set has `rows` None and `make()`.
    `truth(frame)`, if known, returns p(class | row), (N, C), with classes sorted.
    """

    kind: str | dict[str, str]
    make: Callable[..., pd.DataFrame]
    rows: int | None = None
    truth: Callable[[pd.DataFrame], np.ndarray] | None = None


def _plane(classes: tuple[clouds.Cloud, ...], rows: int) -> Demo:
    return Demo("numeric", partial(clouds.draw, classes), rows, partial(clouds.truth, classes))


def _from_sklearn(name: str) -> Callable[[], pd.DataFrame]:
    """Return a function that loads a set of scikit-learn, imported only when it is called."""

    def whole() -> pd.DataFrame:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name.replace('-', '_')}")(as_frame=True)
        names = [str(name) for name in bunch.target_names]
        classes = np.array(names, dtype=object)[bunch.target.to_numpy()]
        return bunch.data.assign(**{"class": classes})

    return whole


_RANKS = {
    f"{part}_{card}": kind for card in range(1, 6) for part, kind in (("suit", "categorical"), ("rank", "ordinal"))
}
_MIXED = {"temperature": "numeric", "pressure": "numeric", "region": "categorical", "stage": "ordinal"}
_MIXED |= {"smoker": "categorical"}
_LINES = """
led: LED: digits on a 7-segment display, each segment wrong in one case of ten; best possible error 26 %.
led24: LED with 17 irrelevant columns: the same digits, more to be misled by.
waveform: Waveform: mixtures of two of three triangular waves at 21 places, with noise; best possible error 14 %.
skewed: Skewed: 8 columns with levels from frequent to rare (Zipf), 3 classes that depend on pairs of columns.
parity: Parity: is the number of ones among 3 of 8 bits odd? 5 % noise; orders below 3 see nothing.
xor: XOR: two of four bits differ, 10 % noise; order 1 sees nothing, order 2 all.
twelve-bits: Twelve bits: some tell of the class each alone, some only together; a search from below misses these.
tic-tac-toe: Tic-tac-toe: all 958 boards at which a game can end, 626 of them won by x; order 2 tells them all apart.
balance-scale: Balance scale: two weights at two distances, 625 cases; left, right or balance.
monks-1: Monks 1: all 432 robots; a1 = a2 or a5 = 1.
monks-2: Monks 2: all 432 robots; exactly two of six columns are 1.
monks-3: Monks 3: all 432 robots; a5 = 3 and a4 = 1, or a5 is not 4 and a2 not 3 (no noise).
poker-hand: Poker hand: five cards dealt fairly, ten classes from nothing to royal flush, by exact rules.
four-gaussians: Four Gaussians: two long clouds a class crossing the other's (DLR's toy); best possible error 7.7 %.
three-classes: Three classes: one between the halves of another, the third above both; best possible error 7.1 %.
two-moons: Two moons: two blurred half circles, each reaching into the other; best possible error 2.9 %.
rings: Rings: a blurred circle inside a larger one; best possible error 8.0 %.
age-curve: Age curve: ill when newborn or near 68, healthy between and after; best possible error 23 %.
mixed-types: Mixed types: made data, illness by numbers, categories and a stage, some missing; best possible error 24 %.
iris: Iris: three species by four lengths, 150 flowers (scikit-learn's).
wine: Wine: three growers by 13 measurements, 178 wines (scikit-learn's).
breast-cancer: Breast cancer: benign or malignant by 30 measurements, 569 cases (scikit-learn's).
digits: Digits: 1,797 handwritten digits as 8 x 8 grey values (scikit-learn's).
"""
_DEMOS = {
    "led": Demo("categorical", generators.led, 3000),
    "led24": Demo("categorical", generators.led24, 3000),
    "waveform": Demo("numeric", generators.waveform, 5000),
    "skewed": Demo("categorical", generators.skewed, 5000),
    "parity": Demo("categorical", generators.parity, 2000),
    "xor": Demo("categorical", generators.xor, 1000),
    "twelve-bits": Demo("categorical", generators.twelve_bits, 4000),
    "tic-tac-toe": Demo("categorical", games.tic_tac_toe),
    "balance-scale": Demo("ordinal", games.balance_scale),
    **{f"monks-{k}": Demo("categorical", partial(games.monks, k)) for k in (1, 2, 3)},
    "poker-hand": Demo(_RANKS, games.poker_hand, 20_000),
    "four-gaussians": _plane(clouds.FOUR_GAUSSIANS, 1200),
    "three-classes": _plane(clouds.THREE_CLASSES, 900),
    "two-moons": _plane(clouds.TWO_MOONS, 600),
    "rings": _plane(clouds.RINGS, 800),
    "age-curve": Demo("numeric", patients.age_curve, 2000, partial(patients.truth, patients.age_score)),
    "mixed-types": Demo(_MIXED, patients.mixed_types, 2000, partial(patients.truth, patients.mixed_score)),
    **{name: Demo("numeric", _from_sklearn(name)) for name in ("iris", "wine", "breast-cancer", "digits")},
}
_LINE_BY_NAME = dict(line.split(": ", 1) for line in _LINES.strip().splitlines())


def demo_names() -> list[str]:
    """Return the names of the demo sets.

    >>> import alrviz
    >>> "led" in alrviz.demo_names()
    True
    """
    return list(_DEMOS)


def demo_line(name: str) -> str:
    """Return the description of a demo set."""
    _find(name)
    return _LINE_BY_NAME[name]


def demo_truth(name: str) -> Callable[[pd.DataFrame], np.ndarray] | None:
    """Return the function of rows that returns p(class | row), (N, C), with classes sorted; None if unknown."""
    return _find(name).truth


def demo_frame(name: str, rows: int | None = None, seed: int = 0) -> pd.DataFrame:
    """Return a demo set as a DataFrame whose last column is "class"; see `load_demo`.

    Raises `TableError` for no set of that name, or an impossible number of rows.
    """
    demo = _find(name)
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 1):
        raise TableError(f"rows={rows!r}: expected a whole number of at least 1, or None for the usual size")
    rng = np.random.default_rng(seed)
    if demo.rows is not None:
        return demo.make(demo.rows if rows is None else int(rows), rng)
    frame = demo.make()
    if rows is None:
        return frame
    if rows > len(frame):
        raise TableError(f"{name} is a complete set of {len(frame)} rows, {rows} were asked for")
    return frame.iloc[np.sort(rng.choice(len(frame), int(rows), replace=False))].reset_index(drop=True)


def load_demo(name: str, rows: int | None = None, seed: int = 0) -> "Dataset":
    """Return a demo set.

    Parameters
    ----------
    name : one of `demo_names()`.
    rows : number of rows; None: the usual number. A complete set has at most its own number.
    seed : of the generator, or of the selection of rows.

    Raises `TableError` for an unknown name or number of rows.

    Examples:
        >>> import alrviz
        >>> alrviz.load_demo("led", rows=100).n_rows
        100
    """
    from alrviz.data.read import read_table

    frame = demo_frame(name, rows, seed)
    kind = _find(name).kind
    kinds = kind if isinstance(kind, dict) else dict.fromkeys(frame.columns[:-1], kind)
    return read_table(frame, target="class", name=name, **kinds)


def _find(name: str) -> Demo:
    if name not in _DEMOS:
        raise TableError(f"no demo set {name!r}{nearest(name, _DEMOS)}; there are {', '.join(_DEMOS)}")
    return _DEMOS[name]
