"""Held-out rows scored one by one once a race has ended, on a thread: only they can tell a tie from a lead."""

import logging
import threading

from alrviz.studies.race.heldout import heldout_losses
from alrviz.views.core.trace_reader import RaceReader

_log = logging.getLogger(__name__)


class HeldoutScorer:
    """Scores the rows of one race."""

    def __init__(self, watched: RaceReader):
        self.watched = watched
        self.due = True  # whether words still lack what the thread finds
        self.thread = threading.Thread(target=self._score, name="alrviz-heldout", daemon=True)
        self.thread.start()

    def _score(self) -> None:
        try:
            for racer in self.watched.racers:
                racer.heldout = heldout_losses(racer.run)
        except Exception:  # the race is shown all the same; only its sentence cannot tell a tie
            _log.exception("the held-out rows could not be scored")

    def done(self) -> bool:
        """Whether it has ended since this was asked last."""
        if self.due and not self.thread.is_alive():
            self.due = False
            return True
        return False
