"""The queue of frames of the DLR tab: they are made on a thread, and only the latest request counts."""

import time
from collections.abc import Callable, Iterator
from functools import partial

import panel as pn

from alrviz.explorer.pages.boundaries import dlr_frames
from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame, log_bandwidths
from alrviz.explorer.server import process_tuning
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.job import LatestJob
from alrviz.stop import StopToken
from alrviz.views.core.pump import Pump
from alrviz.views.race.fit_player import FitPlayer

QUICK_MS = 20  # between two looks while a hand moves something: the page's own tick is too slow for that
# Seconds a hand pauses before all pictures follow it, and the longest wait for such a pause.
REST_SECONDS, MAX_REST_WAIT_SECONDS = 0.08, 0.4
FIRST_CURVE_SECONDS = 0.015  # seconds a dragged curve is waited for at once: of 20,000 rows it takes 4 ms
# Seconds between two pictures of a film while another visitor drags something: each holds the loop for 0.1 s, and at
# one a second it met one move of a hand in eight.
FILM_PAUSE_SECONDS = 4.0


class FrameQueue:
    """Makes frames on a thread and hands over each that has come.

    Args:
        session: woken when a frame is asked for. tasks: shows what went wrong.
        show: called with a frame.
        advance: takes what threads have made and shows it; returns whether there may be more.
    """

    def __init__(
        self, session: Session, tasks: PageTasks, show: Callable[[DlrFrame], None], advance: Callable[[], bool]
    ):
        self._session, self._tasks, self._show, self._advance = session, tasks, show, advance
        self._task = LatestJob("a step of the fit")
        self._hurrying = Pump(self._hurried, QUICK_MS)
        self.stale = False  # whether the pictures show another place than the player

    @property
    def busy(self) -> bool:
        """Whether a frame is on its way."""
        return self._task.busy

    def ask(self, work: Callable[[StopToken], Iterator[DlrFrame]]) -> None:
        """Have frames made in place of what was asked before."""
        self.stale = False
        self._tasks.hide_error("moment")
        self._task.run(work, self._show, partial(self._tasks.show_error, "moment"))
        self._session.wake()

    def take(self, seconds: float = 0.0) -> None:
        """Show the frame that has come; wait for it at most so long."""
        if seconds:
            self._task.wait(seconds)
        self._task.poll()

    def hurry(self) -> None:
        """Look often until everything has settled: a hand is moving something."""
        document = pn.state.curdoc
        if document is not None and document.session_context is not None:
            self._hurrying.wake()

    def _hurried(self) -> bool:
        with pn.io.hold():
            return self._advance()

    def cancel(self) -> None:
        """Give up the frame on its way."""
        self._task.cancel()


class DraggedBandwidth:
    """A bandwidth that a hand drags: its curve goes first and alone, all other pictures follow when it pauses.

    Args:
        frames: makes the frames. player: of the fit; it stops playing.
    """

    def __init__(self, frames: FrameQueue, player: FitPlayer):
        self._frames, self._player = frames, player
        self.settled = float("-inf")  # when all pictures last showed the same moment

    def drag(self, moment: DlrFrame, column: str, h: float) -> None:
        """Set a column's bandwidth by hand: the weights follow, and with them every picture."""
        process_tuning.hand_moved()
        player, frames = self._player, self._frames
        if player.player.playing:
            player.scrub(player.head)
        log_h = log_bandwidths(moment.scene, moment.density.log_h, column, h)
        run, w, step, scene = moment.run, moment.density.w, player.head, moment.scene
        frames.take()  # a hand that is faster than the looks sees every curve that is there
        rest = REST_SECONDS if time.monotonic() - self.settled < MAX_REST_WAIT_SECONDS else 0.0
        frames.ask(lambda stop: dlr_frames.of_hand(run, log_h, w, step, scene, stop, rest))
        frames.take(FIRST_CURVE_SECONDS)
        frames.hurry()

    def passes(self, moment: DlrFrame) -> bool:
        """Whether a frame is only on the way, and its curves are all that is drawn of it."""
        if not moment.passing:
            self.settled = time.monotonic()
        return moment.passing

    @property
    def goes_first(self) -> bool:
        """Whether a film leaves out a picture for somebody's hand."""
        return process_tuning.hand_moving() and time.monotonic() - self.settled < FILM_PAUSE_SECONDS
