"""Benchmark sets as data sets and encoded rows: read from the folder given with --data, of other packages, or made."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.data.read import read_table
from alrviz.data.splits import split_holdout
from alrviz.errors import AlrvizError
from benchmarks._tools import data_file
from reproduction.sets import KINDS

# A column that says where a row came from.
_IGNORED: dict[str, dict[str, Any]] = {"vowel": {"Train_or_Test": "ignore"}}
# The sample of Covertype is cut into 20 quantiles wherever speed is measured: MDL cuts it into fewer cells and is
# faster. All other sets are cut by MDL.
COVERTYPE = "covtype-sample"
FULL_COVERTYPE = 581_012


def load_set(folder: Path | None, name: str) -> Dataset:
    """Return the benchmark set of that name; raises `AlrvizError` without a folder."""
    path = data_file(folder, name)
    if path is None:
        raise AlrvizError(f"{name} is read from a folder; expected --data DIR")
    kinds: dict[str, Any] = {**KINDS.get(name, {}), **_IGNORED.get(name, {})}
    return read_table(path, target="class", name=name, **kinds)


def new_set(name: str) -> Dataset:
    """Return one of NEW_SETS as it stands in its package: a column of numbers is numbers, any other categories."""
    make, target = NEW_SETS[name]
    try:
        frame = make()
    except ImportError as error:
        raise AlrvizError(f"{name} is of {error.name}, which is not installed") from error
    kinds: dict[str, Any] = {
        column: "numeric" if pd.api.types.is_numeric_dtype(frame[column]) else "categorical"
        for column in frame.drop(columns=target)
    }
    return read_table(frame, target=target, name=name, **kinds)


def _penguins() -> pd.DataFrame:
    from palmerpenguins import load_penguins

    frame: pd.DataFrame = load_penguins()
    return frame


def _cars() -> pd.DataFrame:
    from vega_datasets import data

    frame: pd.DataFrame = data.cars().drop(columns="Name")
    return frame.assign(Year=pd.to_datetime(frame.Year).dt.year)


def _seattle_weather() -> pd.DataFrame:
    from vega_datasets import data

    frame: pd.DataFrame = data.seattle_weather()
    return frame.assign(date=pd.to_datetime(frame.date).dt.month)


def _fair() -> pd.DataFrame:
    from statsmodels.datasets import fair

    frame: pd.DataFrame = fair.load_pandas().data
    return frame.assign(affairs=np.where(frame.affairs > 0, "yes", "no"))


def _anes96() -> pd.DataFrame:
    from statsmodels.datasets import anes96

    frame: pd.DataFrame = anes96.load_pandas().data
    return frame.astype({"vote": int})


# Tables of other packages, that nothing here was made or chosen with, and their class.
NEW_SETS: Mapping[str, tuple[Callable[[], pd.DataFrame], str]] = {
    "penguins": (_penguins, "species"),
    "cars": (_cars, "Origin"),
    "seattle-weather": (_seattle_weather, "weather"),
    "fair": (_fair, "affairs"),
    "anes96": (_anes96, "vote"),
}


def encode_all(dataset: Dataset, discretize: str | None = "mdl") -> Encoded:
    """Return all rows of `dataset`, cut into levels by all of them."""
    return Encoder(discretize=discretize).fit(dataset.X, dataset.y).encode(dataset.X, dataset.y)


def encoder_of(name: str) -> Encoder:
    """Return the encoder that speed is measured with on the set of that name, not fitted yet."""
    return Encoder(discretize="quantile", n_bins=20) if name == COVERTYPE else Encoder()


def train_and_held(dataset: Dataset, encoder: Encoder) -> tuple[Encoded, Encoded]:
    """Return 70 % of the rows, stratified, that `encoder` learns from, and the others."""
    splits = split_holdout(dataset.y, 0.3, 0)
    train, test = splits.train, splits.test
    encoder.fit(dataset.X.iloc[train], dataset.y[train])
    return (
        encoder.encode(dataset.X.iloc[train], dataset.y[train]),
        encoder.encode(dataset.X.iloc[test], dataset.y[test]),
    )


def speed_rows(folder: Path | None, name: str) -> Encoded:
    """Return the rows of a set that speed is measured on: 70 %, of the sample of Covertype all."""
    dataset, encoder = load_set(folder, name), encoder_of(name)
    if name == COVERTYPE:
        return encoder.fit(dataset.X, dataset.y).encode(dataset.X, dataset.y)
    return train_and_held(dataset, encoder)[0]


def repeated(encoded: Encoded, rows: int, noise: float = 0.0, seed: int = 0) -> Encoded:
    """Return the rows again and again until there are `rows`.

    With `noise` a code is replaced with that probability by one drawn from its own column, so that rows differ.
    """
    random = np.random.default_rng(seed)
    whole = encoded.take(np.resize(np.arange(encoded.n_rows), rows))
    if not noise:
        return whole
    codes = whole.codes.copy()
    for column, source_codes in zip(codes, encoded.codes, strict=True):
        changed_rows = np.flatnonzero(random.random(rows) < noise)
        column[changed_rows] = source_codes[random.integers(0, encoded.n_rows, len(changed_rows))]
    return replace(whole, codes=codes)


def covertype(folder: Path | None, rows: int = FULL_COVERTYPE) -> Dataset:
    """Return the rows of Covertype's sample again and again until there are as many as in the full set."""
    sample = load_set(folder, COVERTYPE)
    kinds: dict[str, Any] = {column.name: column.kind for column in sample.columns if column.kind != "target"}
    frame = sample.frame.iloc[np.resize(np.arange(sample.n_rows), rows)].reset_index(drop=True)
    return read_table(frame, target="class", name="Covertype", **kinds)


def made_dataset(rows: int, columns: int, levels: int, classes: int) -> Dataset:
    """Return `made_rows` as a table."""
    encoded = made_rows(rows, columns, levels, classes)
    frame = pd.DataFrame({name: codes.astype(str) for name, codes in zip(encoded.names, encoded.codes, strict=True)})
    return read_table(frame.assign(**{"class": encoded.y.astype(str)}), target="class", name="made")


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
