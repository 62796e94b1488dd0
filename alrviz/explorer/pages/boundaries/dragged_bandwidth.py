"""A hand on a bandwidth of the DLR tab: its curve goes first and alone, all other pictures follow when it pauses."""

import time
from typing import TYPE_CHECKING

from alrviz.explorer.pages.boundaries import dlr_frames
from alrviz.explorer.pages.boundaries.columns import log_bandwidths
from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame
from alrviz.explorer.server import process

if TYPE_CHECKING:
    from alrviz.explorer.pages.boundaries.dlr_state import DlrState

REST, PATIENT = 0.08, 0.4  # seconds a hand pauses before all pictures follow it; they wait no longer for a pause
SOON = 0.015  # seconds a dragged curve is waited for at once: of 20,000 rows it takes 4 ms
# Seconds between two pictures of a film while another visitor drags something: each holds the loop for 0.1 s, and at
# one a second it met one move of a hand in eight.
SLOW = 4.0


class DraggedBandwidth:
    """What a dragged bandwidth does to a tab.

    Args:
        tab: whose moment is changed.
    """

    def __init__(self, tab: "DlrState"):
        self._tab = tab
        self.settled = float("-inf")  # when all pictures last showed the same moment

    def drag(self, column: str, h: float) -> None:
        """Set a column's bandwidth by hand: the weights follow, and with them every picture."""
        tab, moment, player = self._tab, self._tab.moment, self._tab.part.player
        if moment is None or moment.run is None or tab.part.outdated:
            return
        process.hand_moved()
        if player.player.playing:
            player.scrub(player.head)
        log_h = log_bandwidths(moment.scene, moment.density.log_h, column, h)
        run, w, step, scene = moment.run, moment.density.w, player.head, moment.scene
        tab.take()  # a hand that is faster than the looks sees every curve that is there
        rest = REST if time.monotonic() - self.settled < PATIENT else 0.0
        tab.ask(lambda stop: dlr_frames.of_hand(run, log_h, w, step, scene, stop, rest))
        tab.asking.wait(SOON)
        tab.take()
        tab.hurry()

    def passes(self, moment: DlrFrame) -> bool:
        """Whether a moment that has come is only on the way, and its curves are all that is drawn of it."""
        if not moment.passing:
            self.settled = time.monotonic()
        return moment.passing

    @property
    def goes_first(self) -> bool:
        """Whether a film leaves out a picture for somebody's hand."""
        return process.hand_moving() and time.monotonic() - self.settled < SLOW
