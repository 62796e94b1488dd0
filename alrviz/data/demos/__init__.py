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
    """One set: a description, the kinds of its columns, and its generator.

    `make(rows, rng)` generates any number of rows, by default `rows`; a complete set has `rows` None and `make()`.
    `truth(frame)`, if known, returns p(class | row), (N, C), with classes sorted.
    """

    line: str
    kind: str | dict[str, str]
    make: Callable[..., pd.DataFrame]
    rows: int | None = None
    truth: Callable[[pd.DataFrame], np.ndarray] | None = None


def _plane(line: str, classes: tuple[clouds.Cloud, ...], rows: int) -> Demo:
    return Demo(line, "numeric", partial(clouds.draw, classes), rows, partial(clouds.truth, classes))


def _from_sklearn(loader: str) -> Callable[[], pd.DataFrame]:
    """Return a function that loads a set of scikit-learn, imported only when it is called."""

    def whole() -> pd.DataFrame:
        from sklearn import datasets

        bunch = getattr(datasets, loader)(as_frame=True)
        names = [str(name) for name in bunch.target_names]
        classes = np.array(names, dtype=object)[bunch.target.to_numpy()]
        return bunch.data.assign(**{"class": classes})

    return whole


_RANKS = {
    f"{part}_{card}": kind for card in range(1, 6) for part, kind in (("suit", "categorical"), ("rank", "ordinal"))
}

_DEMOS = {
    "led": Demo(
        "LED: digits on a 7-segment display, each segment wrong in one case of ten; best possible error 26 %.",
        "categorical",
        generators.led,
        3000,
    ),
    "led24": Demo(
        "LED with 17 irrelevant columns: the same digits, more to be misled by.", "categorical", generators.led24, 3000
    ),
    "waveform": Demo(
        "Waveform: mixtures of two of three triangular waves at 21 places, with noise; best possible error 14 %.",
        "numeric",
        generators.waveform,
        5000,
    ),
    "skewed": Demo(
        "Skewed: 8 columns with levels from frequent to rare (Zipf), 3 classes that depend on pairs of columns.",
        "categorical",
        generators.skewed,
        5000,
    ),
    "parity": Demo(
        "Parity: is the number of ones among 3 of 8 bits odd? 5 % noise; orders below 3 see nothing.",
        "categorical",
        generators.parity,
        2000,
    ),
    "xor": Demo(
        "XOR: two of four bits differ, 10 % noise; order 1 sees nothing, order 2 all.",
        "categorical",
        generators.xor,
        1000,
    ),
    "twelve-bits": Demo(
        "Twelve bits: some tell of the class each alone, some only together; a search from below misses these.",
        "categorical",
        generators.twelve_bits,
        4000,
    ),
    "tic-tac-toe": Demo(
        "Tic-tac-toe: all 958 boards at which a game can end, 626 of them won by x; order 2 tells them all apart.",
        "categorical",
        games.tic_tac_toe,
    ),
    "balance-scale": Demo(
        "Balance scale: two weights at two distances, 625 cases; left, right or balance.",
        "ordinal",
        games.balance_scale,
    ),
    "monks-1": Demo("Monks 1: all 432 robots; a1 = a2 or a5 = 1.", "categorical", partial(games.monks, 1)),
    "monks-2": Demo(
        "Monks 2: all 432 robots; exactly two of six columns are 1.", "categorical", partial(games.monks, 2)
    ),
    "monks-3": Demo(
        "Monks 3: all 432 robots; a5 = 3 and a4 = 1, or a5 is not 4 and a2 not 3 (no noise).",
        "categorical",
        partial(games.monks, 3),
    ),
    "poker-hand": Demo(
        "Poker hand: five cards dealt fairly, ten classes from nothing to royal flush, by exact rules.",
        _RANKS,
        games.poker_hand,
        20_000,
    ),
    "four-gaussians": _plane(
        "Four Gaussians: two long clouds of each class crossing the other's (DLR's toy); best possible error 7.7 %.",
        clouds.FOUR_GAUSSIANS,
        1200,
    ),
    "three-classes": _plane(
        "Three classes: one between the halves of another, the third above both; best possible error 7.1 %.",
        clouds.THREE_CLASSES,
        900,
    ),
    "two-moons": _plane(
        "Two moons: two blurred half circles, each reaching into the other; best possible error 2.9 %.",
        clouds.TWO_MOONS,
        600,
    ),
    "rings": _plane("Rings: a blurred circle inside a larger one; best possible error 8.0 %.", clouds.RINGS, 800),
    "age-curve": Demo(
        "Age curve: ill when newborn or near 68, healthy between and after; best possible error 23 %.",
        "numeric",
        patients.age_curve,
        2000,
        partial(patients.truth, patients.age_score),
    ),
    "mixed-types": Demo(
        "Mixed types: made data, illness by numbers, categories and a stage, some missing; best possible error 24 %.",
        {
            "temperature": "numeric",
            "pressure": "numeric",
            "region": "categorical",
            "stage": "ordinal",
            "smoker": "categorical",
        },
        patients.mixed_types,
        2000,
        partial(patients.truth, patients.mixed_score),
    ),
} | {
    name: Demo(f"{line} (scikit-learn's).", "numeric", _from_sklearn(f"load_{name.replace('-', '_')}"))
    for name, line in {
        "iris": "Iris: three species by four lengths, 150 flowers",
        "wine": "Wine: three growers by 13 measurements, 178 wines",
        "breast-cancer": "Breast cancer: benign or malignant by 30 measurements, 569 cases",
        "digits": "Digits: 1,797 handwritten digits as 8 x 8 grey values",
    }.items()
}


def demo_names() -> list[str]:
    """Return the names of the demo sets.

    >>> import alrviz
    >>> "led" in alrviz.demo_names()
    True
    """
    return list(_DEMOS)


def demo_line(name: str) -> str:
    """Return the description of a demo set."""
    return _find(name).line


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
