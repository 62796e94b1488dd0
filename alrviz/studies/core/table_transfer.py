"""A table on its way to workers: pickled once, sent to each once, unpickled once by each.

It goes from memory to memory: a file would outlive a server that is killed, with a visitor's rows in it.
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

# Tables that a worker keeps: the studies of a sitting are about one or two.
KEPT = 2
_opened: "OrderedDict[str, SentTable]" = OrderedDict()
_lock = threading.Lock()  # a worker of a cluster computes on several threads


@dataclass(frozen=True, eq=False)
class SentTable:
    """What a task is computed from: X, the classes sorted, each row's index among them, what splits keep to, and the
    weights of the rows; None where each counts once.
    """

    hash: str
    X: pd.DataFrame
    labels: NDArray[Any]
    splitting: Splitting = AT_RANDOM
    weights: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, dataset: "Dataset") -> "SentTable":
        """Return the table of a data set."""
        return cls(dataset.hash, dataset.X, dataset.y, dataset.splitting, dataset.weights)

    def weights_of(self, rows: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Return the weights of some rows (n,); None where each counts once."""
        return None if self.weights is None else self.weights[rows]

    @cached_property
    def _coded(self) -> tuple[NDArray[Any], NDArray[np.intp]]:
        return class_codes(self.labels, len(self.labels))

    @property
    def classes(self) -> NDArray[Any]:
        """(C,) labels."""
        return self._coded[0]

    @property
    def y(self) -> NDArray[np.intp]:
        """(N,) index of each row's class."""
        return self._coded[1]


class TableMissing(LookupError):
    """Raised in a worker that is asked for a table it was not sent, or has let go."""


@dataclass(frozen=True, eq=False)
class TableTransfer:
    """A table on its way: its hash, and the pickled table unless the worker is thought to have it."""

    hash: str
    content: bytes = b""

    @classmethod
    def of(cls, dataset: "Dataset") -> "TableTransfer":
        """Return the shipment of a data set."""
        return cls(dataset.hash, pickle.dumps(SentTable.of(dataset), protocol=5))

    @property
    def bare(self) -> "TableTransfer":
        """The same without its content, for a worker that has it."""
        return TableTransfer(self.hash)

    def table(self) -> SentTable:
        """Return the table, kept for whoever asks next in this process; raises `TableMissing`."""
        with _lock:
            table = _opened.get(self.hash)
            if table is None:
                if not self.content:
                    raise TableMissing(self.hash)
                table = _opened[self.hash] = pickle.loads(self.content)
                while len(_opened) > KEPT:
                    _opened.popitem(last=False)
            _opened.move_to_end(self.hash)
            return table
