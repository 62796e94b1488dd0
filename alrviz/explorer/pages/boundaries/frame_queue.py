"""The queue of frames of the DLR tab: frames are computed on a thread, and only the latest request counts."""

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

QUICK_MS = 20  # polling interval during a drag; the page's tick of 100 ms would be visible
# Pause of a drag after which all pictures are updated, and the longest wait for such a pause.
REST_SECONDS, MAX_REST_WAIT_SECONDS = 0.08, 0.4
FIRST_CURVE_SECONDS = 0.015  # wait for the dragged curve within the event; it takes 4 ms for 20,000 rows
# Interval of a replay's frames while another visitor drags: drawing one blocks the server for 0.1 s, and at one a
# second every eighth move was delayed.
FILM_PAUSE_SECONDS = 4.0


class FrameQueue:
    """Computes frames on a thread and hands over each.

    Args:
        session: woken when a frame is requested.
        tasks: reports errors.
        show: called with a frame.
        take_results: shows what threads have finished; returns whether work is still going on.
    """

    def __init__(
        self, session: Session, tasks: PageTasks, show: Callable[[DlrFrame], None], take_results: Callable[[], bool]
    ):
        self._session, self._tasks, self._show, self._take_results = session, tasks, show, take_results
        self._task = LatestJob("a step of the fit")
        self._fast_pump = Pump(self._poll, QUICK_MS)
        self.stale = False  # whether the pictures show another iteration than the player

    @property
    def busy(self) -> bool:
        """Whether a frame is being computed."""
        return self._task.busy

    def request(self, work: Callable[[StopToken], Iterator[DlrFrame]]) -> None:
        """Compute frames; this replaces the previous request."""
        self.stale = False
        self._tasks.hide_error("frame")
        self._task.run(work, self._show, partial(self._tasks.show_error, "frame"))
        self._session.wake()

    def show_finished(self, seconds: float = 0.0) -> None:
        """Show a finished frame, waiting at most so many seconds."""
        if seconds:
            self._task.wait(seconds)
        self._task.poll()

    def poll_often(self) -> None:
        """Poll often until all work is done, because something is being dragged."""
        document = pn.state.curdoc
        if document is not None and document.session_context is not None:
            self._fast_pump.wake()

    def _poll(self) -> bool:
        with pn.io.hold():
            return self._take_results()

    def cancel(self) -> None:
        """Cancel the request."""
        self._task.cancel()


class DraggedBandwidth:
    """A bandwidth that is dragged: its curve is drawn at once, all other pictures when the drag pauses.

    Args:
        frames: computes the frames.
        player: of the fit; dragging stops it.
    """

    def __init__(self, frames: FrameQueue, player: FitPlayer):
        self._frames, self._player = frames, player
        self.settled_at = float("-inf")  # when all pictures last showed the same frame

    def drag(self, frame: DlrFrame, column: str, h: float) -> None:
        """Set a column's bandwidth, and compute the curve and then the weights."""
        process_tuning.note_drag()
        player, frames = self._player, self._frames
        if player.player.playing:
            player.scrub(player.head)
        log_h = log_bandwidths(frame.scene, frame.density.log_h, column, h)
        run, w, step, scene = frame.run, frame.density.w, player.head, frame.scene
        frames.show_finished()  # show finished curves even if moves come faster than the pump
        rest_seconds = REST_SECONDS if time.monotonic() - self.settled_at < MAX_REST_WAIT_SECONDS else 0.0
        frames.request(lambda stop: dlr_frames.of_hand(run, log_h, w, step, scene, stop, rest_seconds))
        frames.show_finished(FIRST_CURVE_SECONDS)
        frames.poll_often()

    def passes(self, frame: DlrFrame) -> bool:
        """Whether only the curves of a frame are drawn, because its weights are not fitted yet."""
        if not frame.is_passing:
            self.settled_at = time.monotonic()
        return frame.is_passing

    @property
    def goes_first(self) -> bool:
        """Whether a replay skips a frame because a visitor is dragging."""
        return process_tuning.is_dragging() and time.monotonic() - self.settled_at < FILM_PAUSE_SECONDS
