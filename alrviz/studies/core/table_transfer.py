"""Transfer of a table to workers: pickled once, sent to each worker once, unpickled once by each.

It is sent through memory: a temporary file with a visitor's rows would survive if the server is killed.
"""

import pickle
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.encode import class_codes
from alrviz.data.splitting import AT_RANDOM, Splitting

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

# Tables that a worker caches: the studies of a session are about one or two.
MAX_CACHED = 2
_cache: "OrderedDict[str, SentTable]" = OrderedDict()
_lock = threading.Lock()  # a worker of a cluster computes on several threads


@dataclass(frozen=True, eq=False)
class SentTable:
    """The part of a data set that tasks need.

    Attributes:
        X: columns (N, a). labels: classes (N,).
        splitting: rule that splits obey (at random, by groups, by time).
        weights: (N,) row weights; None: each row counts once.
    """

    hash: str
    X: pd.DataFrame
    labels: NDArray[Any]
    splitting: Splitting = AT_RANDOM
    weights: NDArray[np.float64] | None = None

    @classmethod
    def from_dataset(cls, dataset: "Dataset") -> "SentTable":
        """Return the part of a data set that tasks need."""
        return cls(dataset.hash, dataset.X, dataset.y, dataset.splitting, dataset.weights)

    def weights_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return the weights of some rows (n,); None without weights."""
        return None if self.weights is None else self.weights[rows]

    @cached_property
    def _class_codes(self) -> tuple[NDArray[Any], NDArray[np.intp]]:
        return class_codes(self.labels, len(self.labels))

    @property
    def classes(self) -> NDArray[Any]:
        """(C,) labels, sorted."""
        return self._class_codes[0]

    @property
    def y(self) -> NDArray[np.intp]:
        """(N,) index of each row's class."""
        return self._class_codes[1]


class TableMissing(LookupError):
    """Raised in a worker that does not have the table of a task: it was never sent, or has left the cache."""


@dataclass(frozen=True, eq=False)
class TableTransfer:
    """A table on its way to a worker; `content` is the pickled table, or empty if the worker should have it."""

    hash: str
    content: bytes = b""

    @classmethod
    def from_dataset(cls, dataset: "Dataset") -> "TableTransfer":
        """Return the transfer of a data set, with its pickled table as content."""
        return cls(dataset.hash, pickle.dumps(SentTable.from_dataset(dataset), protocol=5))

    @property
    def without_content(self) -> "TableTransfer":
        """The same table without content, for a worker that has it in its cache."""
        return TableTransfer(self.hash)

    def unpack(self) -> SentTable:
        """Return the table, cached in this process; raises `TableMissing` without content or cache."""
        with _lock:
            table = _cache.get(self.hash)
            if table is None:
                if not self.content:
                    raise TableMissing(self.hash)
                table = _cache[self.hash] = pickle.loads(self.content)
                while len(_cache) > MAX_CACHED:
                    _cache.popitem(last=False)
            _cache.move_to_end(self.hash)
            return table
