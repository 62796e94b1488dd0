"""The record of a run: append-only, written by one thread, read by any number from a cursor."""

import threading
from array import array
from operator import attrgetter
from typing import TYPE_CHECKING

from alrviz.fitting.solvers.step import Step

if TYPE_CHECKING:
    import pandas as pd

_FIELDS = tuple(name for name in Step.__slots__ if name != "extra")
_NUMBERS = tuple(name for name in _FIELDS if name != "kind")
_numbers_of = attrgetter(*_NUMBERS)


class Trace:
    """The steps of one run, in order.

    They are packed into about 150 bytes each: a `Step` with its extras takes a kilobyte, and a run may have any number
    of them. Indexing unpacks a new, bit-identical `Step`.

    Attributes:
        rows: Total weight of the training rows: the divisor of `nll` per row.
        heldout_rows: Total weight of the held-out rows, 0 without any.
        baseline: Log losses per row to compare with: "class_shares", "anje", "heldout_class_shares", "heldout_anje".
        closed: Whether later steps are refused.

    >>> import alrviz
    >>> run = alrviz.Run(alrviz.load_demo("led"), alrviz.Recipe("lr", order=1, alpha=0.3, max_iter=3))
    >>> run.start()
    >>> run.join()
    True
    >>> len(run.trace), list(run.trace.frame().columns[:3])
    (4, ['index', 'kind', 'evaluations'])
    """

    def __init__(self) -> None:
        self.rows = 0.0
        self.heldout_rows = 0.0
        self.baseline: dict[str, float] = {}
        self._numbers = array("d")  # the numbers of every step, then its extras
        self._kinds = array("H")  # the index in `_forms` of every step
        self._ends = array("q")  # where the numbers of every step end; written last, so that readers rely on it
        self._forms: list[tuple[str, ...]] = []  # kind and names of the extras: few in one run
        self.closed = False
        self._lock = threading.Lock()

    def append(self, step: Step) -> bool:
        """Add a step; return False, and add nothing, once the trace is closed."""
        kind_and_names, numbers = (step.kind, *step.extra), array("d", (*_numbers_of(step), *step.extra.values()))
        with self._lock:
            if not self.closed:
                if kind_and_names not in self._forms:
                    self._forms.append(kind_and_names)
                self._numbers.extend(numbers)
                self._kinds.append(self._forms.index(kind_and_names))
                self._ends.append(len(self._numbers))
            return not self.closed

    def close(self) -> None:
        """Refuse all later steps."""
        with self._lock:
            self.closed = True

    @property
    def bytes(self) -> int:
        """Memory of the steps."""
        return sum(len(values) * values.itemsize for values in (self._numbers, self._kinds, self._ends))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, k: int) -> Step:
        return self._step(range(len(self))[k])

    def _step(self, k: int) -> Step:
        """Unpack the step at position k."""
        kind, *names = self._forms[self._kinds[k]]
        extras_end = self._ends[k]
        extras_start = extras_end - len(names)
        numbers = self._numbers[extras_start - len(_NUMBERS) : extras_start]
        index, evaluations, passes, seconds, objective, nll, penalty, grad_norm, step_size = numbers
        return Step(
            int(index), kind, int(evaluations), passes, seconds, objective, nll, penalty, grad_norm, step_size,
            dict(zip(names, self._numbers[extras_start:extras_end], strict=True)),
        )  # fmt: skip

    def since(self, cursor: int) -> list[Step]:
        """Return the steps from position `cursor` on; the next cursor is `cursor + len(result)`."""
        return [self._step(k) for k in range(len(self))[cursor:]]

    def frame(self) -> "pd.DataFrame":
        """Return one row per step: the fields of `Step`, then its extras as columns (NaN if a step lacks one)."""
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
