"""Which classifiers can stand beside a map, and the fit of the one chosen."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.stop import StopToken
from alrviz.studies.race.reference_fit import TRUTH, ReferenceFit, fit_reference

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

BEST = "Bayes-optimal"  # what the truth of a demo set is called


def truth_of(session: Session, dataset: "Dataset") -> Callable[[pd.DataFrame], np.ndarray] | None:
    """Return the generator's own p(class | row) where the session's table is a demo set whose truth is known.

    A map of two of more columns has no truth of its own, and neither have rows that a visitor has changed.
    """
    from alrviz.data.demos import demo_truth

    if session.table.demo is None or session.table.dataset is None:
        return None
    found = demo_truth(session.table.demo[0])
    whole = list(dataset.X.columns) == list(session.table.dataset.table.names[:-1]) and dataset.target == "class"
    return found if whole else None


def peer_menu(session: Session, dataset: "Dataset | None") -> dict[str, str]:
    """Return the menu's entries: label and slug of every peer, and the best classifier there is where it is known."""
    from alrviz.estimators.peers import known_peers

    menu = {peer.label: name for name, peer in known_peers().items()}
    if dataset is not None and truth_of(session, dataset) is not None:
        menu[BEST] = TRUTH
    return menu


class PeerFit:
    """The classifier beside a map: asked for, fitted on a thread, kept while neither it nor the table changes.

    Args:
        session: of the page. tasks: runs the fit.
        arrived: called when another is there, or will not be.
    """

    def __init__(self, session: Session, tasks: PageTasks, arrived: Callable[[], None]):
        self._session, self._tasks, self._arrived = session, tasks, arrived
        self._asked: Hashable = None
        self.found: ReferenceFit | None = None
        self.best = float("nan")  # share of held-out rows that the truth gets wrong, where it is known
        self.waiting = False
        self.problem: Exception | None = None

    def ask(self, name: str, dataset: "Dataset", *, holdout: float, seed: int) -> None:
        """Have the peer `name` fitted on this table, if that is not what is there."""
        asked = (name, dataset.hash, holdout, seed)
        if asked == self._asked:
            return
        self._asked, self.waiting, self.problem = asked, True, None
        truth = truth_of(self._session, dataset)

        def work(stop: StopToken) -> tuple[ReferenceFit, float]:
            rows: dict[str, Any] = {"holdout": holdout, "seed": seed, "truth": truth, "stop": stop}
            found = fit_reference(name, dataset, **rows)
            return found, fit_reference(TRUTH, dataset, **rows).error if truth is not None else float("nan")

        self._tasks.start("peer", work, self._take, self._fail)

    def forget(self) -> None:
        """Give up what was asked."""
        self._tasks.cancel("peer")
        self._asked = self.found = None
        self.waiting = False

    def _take(self, found: tuple[ReferenceFit, float]) -> None:
        (self.found, self.best), self.waiting = found, False
        self._arrived()

    def _fail(self, error: Exception) -> None:
        self.found, self.waiting, self.problem = None, False, error
        self._asked = None
        self._arrived()
