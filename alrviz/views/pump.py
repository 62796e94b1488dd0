"""The pump of what follows threads: it shows what has come, again and again while there is something to come."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import panel as pn
from panel.io.notebook import push_notebook

from alrviz.views.notebook import TURN
from alrviz.views.ready import page_ready, server_session


class Pump:
    """A periodic callback that rests while nothing moves.

    Args:
        look: shows what has come; returns whether there may be more.
        period: ms between two looks.
        panes: what a notebook has to be sent after each look.
        gone: called when the visitor of a served page has left.
    """

    def __init__(
        self,
        look: Callable[[], bool],
        period: int,
        panes: Callable[[], Iterable[Any]] = tuple,
        gone: Callable[[], None] | None = None,
    ):
        self._look, self._period, self._panes, self._gone = look, period, panes, gone
        self._callback: Any = None

    def wake(self) -> None:
        """Look from now on, if it rests."""
        if self._callback is None:
            self._callback = pn.state.add_periodic_callback(self._tick, period=self._period, start=False)
            gone = self._gone
            if gone is not None and server_session() is not None:
                pn.state.on_session_destroyed(lambda _: gone())
        if not self._callback.running:
            self._callback.start()

    def _tick(self) -> None:
        if not page_ready():
            return
        with TURN if server_session() is None else nullcontext():
            if not self._look() and self._callback.running:
                self._callback.stop()
            push_notebook(*self._panes())
