"""Tables that are made, in the place of sets that are read: the same few methods as `BenchmarkSet`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.data.demos.generators import skewed
from alrviz.data.read import read_table


@dataclass(frozen=True)
class MadeTable:
    """A generated table: its name, and the function that builds it."""

    name: str
    build: Callable[[], Dataset] = field(repr=False)
    group: str = "made"

    def missing(self, folder: Path) -> list[str]:
        """Return nothing: it is never missing."""
        return []

    def advice(self, folder: Path) -> str:
        """Return nothing: there is nothing to get."""
        return ""

    def read(self, folder: Path) -> Dataset:
        """Return the table."""
        return self.build()


def planted(order: int, rows: int, seed: int = 0, even: bool = False) -> MadeTable:
    """Return eight columns of Zipf's law with the class planted at `order`, all of them categorical.

    even: their ten levels are equally frequent instead.
    """
    name = f"{'even' if even else 'skewed'} n={order}, {rows:,} rows" + (f" ({seed})" if seed else "")

    def build() -> Dataset:
        frame = skewed(rows, np.random.default_rng(seed), order=order, exponent=0.0 if even else 1.5)
        kinds: dict[str, Any] = dict.fromkeys(map(str, frame.columns[:-1]), "categorical")
        return read_table(frame, target="class", name=name, **kinds)

    return MadeTable(name, build, "even" if even else "zipf")


def overlap() -> MadeTable:
    """Return a table in which each of 81 distinct rows occurs with each of three classes: F has a lowest value
    without a penalty, which finite weights reach.
    """

    def build() -> Dataset:
        rng = np.random.default_rng(0)
        cells = list(product("abc", repeat=4))
        counts = [1 + rng.multinomial(10, shares) for shares in rng.dirichlet(np.ones(3), len(cells))]
        rows = [(*cell, k) for cell, sizes in zip(cells, counts, strict=True) for k in np.repeat(list("xyz"), sizes)]
        return read_table(pd.DataFrame(rows, columns=[*"ABCD", "class"]), target="class", name="every row, every class")

    return MadeTable("every row, every class", build)


def demo(name: str, rows: int | None = None, group: str = "made") -> MadeTable:
    """Return a demo set of so many rows."""
    return MadeTable(name if rows is None else f"{name}, {rows:,} rows", partial(load_demo, name, rows), group)
