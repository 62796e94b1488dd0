"""A table on its way to workers: pickled once, unpickled once by each, in a file where they share a disk.

with shipped(dataset) as shipment: ... workers call shipment.table() ...
"""

import os
import pickle
import tempfile
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

# Tables that a worker keeps: the studies of a sitting are about one or two.
KEPT = 2
_opened: "OrderedDict[str, Table]" = OrderedDict()


@dataclass(frozen=True, eq=False)
class Table:
    """What a cell is computed from: X, the classes sorted, and each row's index among them."""

    hash: str
    X: pd.DataFrame
    labels: NDArray[Any]

    @classmethod
    def of(cls, dataset: "Dataset") -> "Table":
        """Return the table of a data set."""
        return cls(dataset.hash, dataset.X, dataset.y)

    @cached_property
    def classes(self) -> NDArray[Any]:
        """(C,) labels."""
        return np.unique(self.labels)

    @cached_property
    def y(self) -> NDArray[np.intp]:
        """(N,) index of each row's class."""
        return np.searchsorted(self.classes, self.labels)


@dataclass(frozen=True, eq=False)
class Shipment:
    """A pickled table: in a file, or with it."""

    hash: str
    path: str = ""
    content: bytes = b""

    def table(self) -> Table:
        """Return the table, kept for whoever asks next in this process."""
        if self.hash not in _opened:
            _opened[self.hash] = pickle.loads(self.content or Path(self.path).read_bytes())
            while len(_opened) > KEPT:
                _opened.popitem(last=False)
        _opened.move_to_end(self.hash)
        return _opened[self.hash]


@contextmanager
def shipped(dataset: "Dataset", by_file: bool) -> Iterator[Shipment]:
    """Give the shipment of a data set, in a file that is deleted at the end, or (by_file=False) with its content."""
    content = pickle.dumps(Table.of(dataset), protocol=5)
    if not by_file:
        yield Shipment(dataset.hash, content=content)
        return
    handle, path = tempfile.mkstemp(prefix="alrviz-", suffix=".pickle")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield Shipment(dataset.hash, path)
    finally:
        Path(path).unlink(missing_ok=True)
