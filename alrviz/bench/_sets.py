"""Benchmark sets as data sets and encoded rows: read from the folder given with --data, or made."""

from pathlib import Path
from typing import Any

import numpy as np

from alrviz.bench._tools import data_file
from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.data.read import read_table
from alrviz.errors import AlrvizError

# Columns that say where a row came from.
_IGNORED: dict[str, dict[str, Any]] = {"vowel": {"Train_or_Test": "ignore"}}


def load_set(folder: Path | None, name: str) -> Dataset:
    """Return the benchmark set of that name; raises `AlrvizError` without a folder."""
    path = data_file(folder, name)
    if path is None:
        raise AlrvizError(f"{name} is read from a folder; expected --data DIR")
    return read_table(path, target="class", name=name, **_IGNORED.get(name, {}))


def encode_all(dataset: Dataset, discretize: str | None = "mdl") -> Encoded:
    """Return all rows of `dataset`, cut into levels by all of them."""
    return Encoder(discretize=discretize).fit(dataset.X, dataset.y).encode(dataset.X, dataset.y)


def made_rows(rows: int, columns: int, levels: int, classes: int, seed: int = 0) -> Encoded:
    """Return rows of evenly drawn levels whose class depends on them through weights of single columns, with noise."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, levels, (columns, rows)).astype(np.uint8)
    weights = random.normal(0.0, 0.5, (columns, levels, classes))
    scores = sum(weights[j, codes[j]] for j in range(columns)) + random.gumbel(size=(rows, classes))
    return Encoded(
        codes=codes,
        y=np.argmax(scores, axis=1).astype(np.int32),
        weights=np.ones(rows),
        levels=np.full(columns, levels, np.int64),
        classes=np.arange(classes),
        names=tuple(f"column {j}" for j in range(columns)),
    )
