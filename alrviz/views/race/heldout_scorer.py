"""Held-out rows scored one by one once a race has ended, on a thread: only they can tell a tie from a lead."""

import logging

from alrviz.stop import StopToken
from alrviz.studies.race.heldout import heldout_losses
from alrviz.views.core.background_task import BackgroundTask
from alrviz.views.core.trace_reader import RaceReader

_log = logging.getLogger(__name__)


def score_heldout(watched: RaceReader) -> BackgroundTask:
    """Begin to score the rows of a race; what says a tie has to be said anew once that is done."""

    def work(stop: StopToken) -> None:
        for racer in watched.racers:
            stop.check()
            racer.heldout = heldout_losses(racer.run)

    def failed(error: Exception) -> None:  # the race is shown all the same; only its sentence cannot tell a tie
        _log.error("the held-out rows could not be scored", exc_info=error)

    task = BackgroundTask("held-out rows")
    task.run(work, lambda _: None, failed)
    return task
