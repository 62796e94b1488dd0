"""The record of a run: append-only, written by one thread, read by any number from a cursor."""

import threading
from typing import TYPE_CHECKING

from alrviz.fitting.step import Step

if TYPE_CHECKING:
    import pandas as pd

_FIELDS = tuple(name for name in Step.__slots__ if name != "extra")


class Trace:
    """The steps of one run, in order.

    Attributes:
        rows: Total weight of the training rows: what `nll` is divided by when it is shown per row.
        heldout_rows: Total weight of the held-out rows, 0 without any.
        baseline: Log losses per row to compare with: "class_shares", "anje", "heldout_class_shares", "heldout_anje".
    """

    def __init__(self) -> None:
        self.rows = 0.0
        self.heldout_rows = 0.0
        self.baseline: dict[str, float] = {}
        self._steps: list[Step] = []
        self._closed = False
        self._lock = threading.Lock()

    def append(self, step: Step) -> bool:
        """Add a step; returns False, and adds nothing, once the trace is closed."""
        with self._lock:
            if not self._closed:
                self._steps.append(step)
            return not self._closed

    def close(self) -> None:
        """Refuse every later step: what a reader has seen by now is all there will be."""
        with self._lock:
            self._closed = True

    @property
    def closed(self) -> bool:
        """Whether later steps are refused."""
        return self._closed

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, k: int) -> Step:
        return self._steps[k]

    def since(self, cursor: int) -> list[Step]:
        """Return the steps from position `cursor` on; the next cursor is `cursor + len(result)`."""
        return self._steps[cursor:]

    def frame(self) -> "pd.DataFrame":
        """Return one row a step: the fields of `Step`, then its extras as columns (NaN where a step lacks one)."""
        import pandas as pd

        steps = self.since(0)
        extras = list(dict.fromkeys(name for step in steps for name in step.extra))
        rows = [[getattr(s, f) for f in _FIELDS] + [s.extra.get(e, float("nan")) for e in extras] for s in steps]
        return pd.DataFrame(rows, columns=[*_FIELDS, *extras])

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
