"""Connect the row of buttons to a `Player`, for a race and for a single fit that has pictures of its own."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import panel as pn

from alrviz import __version__
from alrviz.studies.core.export import caption, race_provenance
from alrviz.studies.race.race import Race
from alrviz.views.core.kernel_lock import turn
from alrviz.views.core.panes import say
from alrviz.views.core.saving import by_version
from alrviz.views.core.style import CSS
from alrviz.views.core.trace_reader import Racer
from alrviz.views.core.transport import Transport
from alrviz.views.race.player import Player
from alrviz.views.race.player_status import button_state, status_html
from alrviz.views.replay.export_html import replay

TICKS_PER_SLIDER_MOVE = 3  # while a run is followed


def _press(method: Callable[..., None]) -> Callable[..., None]:
    """Turn a method of `Player` into one of `PlayerButtons`.

    All changes are sent in one message, so that "stopped" does not appear before the last picture.
    """

    @wraps(method, assigned=("__doc__",))
    def run_press(self: "PlayerButtons", *args: Any) -> None:
        with turn(), pn.io.hold():
            method(self.player, *args)
            self._after()

    return run_press


class PlayerButtons:
    """Methods for the buttons of a player; a derived class draws the current step (`_after`)."""

    player: Player

    def _after(self) -> None:
        """Draw the current step and update the status."""
        raise NotImplementedError

    def say_status(self) -> None:
        """Update the buttons and the status beside them."""
        raise NotImplementedError

    press_run, begin, press_step, press_back = map(_press, (Player.run, Player.begin, Player.step, Player.back))
    press_stop, repeat_press = _press(Player.stop), _press(Player.repeat_press)
    show_hidden, scrub = _press(Player.show_hidden), _press(Player.scrub)

    def cancel_press(self) -> None:
        """Cancel a waiting press and the automatic start of a race."""
        self.player.cancel_press()
        self.player.starts_itself = False
        self.say_status()

    def end_at_screen(self, number: int, last_seen: int) -> None:
        """Hide steps that the screen did not show yet when Stop was clicked; arguments as of `Player.end_at_screen`."""
        if self.player.end_at_screen(number, last_seen):
            with turn(), pn.io.hold():
                self._after()

    def report_screen(self, number: int, last_seen: int) -> None:
        """Called with a reader's number and its last iteration on the screen, while `StopButton.tells`."""

    def film(self) -> bytes:
        """Return the replay page of the race shown; empty if it has no step yet."""
        reader = self.player.reader
        return b"" if reader is None or reader.last < 0 else replay(reader.race).encode()

    def made_from(self) -> str:
        """Return the provenance line of the race shown."""
        reader = self.player.reader
        return (
            by_version() if reader is None else caption(race_provenance(reader.race, __version__), reader.race.recipes)
        )


class FitPlayer(PlayerButtons):
    """Step of a single run that is shown, and the row of buttons that changes it.

    Args:
        draw: called when another step or run is to be drawn.
        wake: called when a run starts or resumes.
        film: whether an ended run is played from its first iteration.
        drawn_step: returns the iteration on the screen, where pictures are computed later than the head moves, or None.
    """

    def __init__(
        self,
        draw: Callable[[], None],
        wake: Callable[[], None],
        film: bool = False,
        drawn_step: Callable[[], int | None] | None = None,
    ):
        self.player = Player(film=film)
        self._film, self._drawn_step = film, drawn_step
        self.place = 0  # iteration of slider and text; while a run plays, that of the pictures
        self._draw, self._wake = draw, wake
        self._ticks = 0
        self.transport = Transport(self)
        status_styles = {"min-width": "132px"}  # width of "iteration 16 of 17", so that the slider keeps its length
        self.status = pn.pane.HTML("", stylesheets=[CSS], align="center", margin=(0, 8, 0, 8), styles=status_styles)
        self.say_status()

    # ---- which run ---------------------------------------------------------------------------------------------------

    @property
    def racer(self) -> Racer | None:
        """The run that is drawn, if any."""
        reader = self.player.reader
        return None if reader is None else reader.racers[0]

    @property
    def head(self) -> int:
        """The step that is drawn."""
        return 0 if self.player.reader is None else self.player.reader.head

    @property
    def iteration(self) -> int:
        """The iteration that is drawn; trials of alphas are steps of iteration 0."""
        iteration_by_step = () if self.racer is None else self.racer.columns["index"]
        return int(iteration_by_step[min(self.head, len(iteration_by_step) - 1)]) if len(iteration_by_step) else 0

    @property
    def ended(self) -> bool:
        """Whether the run has ended and all of it was shown."""
        reader = self.player.reader
        return reader is not None and reader.is_finished and not self.player.playing and self.player.next_reader is None

    def show(self, race: Race) -> None:
        """Show a run as far as it has computed, and follow it."""
        with pn.io.hold():
            self.player.load_race(race)
            self._after()

    def mark(self, outdated: bool, starts_itself: bool = False) -> None:
        """Set whether settings have changed since the run was started, and whether a new run starts automatically."""
        self.player.outdated, self.player.starts_itself = outdated, outdated and starts_itself
        self.say_status()

    # ---- time --------------------------------------------------------------------------------------------------------

    def pump(self, hold: bool = False) -> bool:
        """Follow the run; return whether there may be more. `hold` pauses a film."""
        self._ticks += 1
        player = self.player
        if player.switch_to_next():
            self._after()
        elif player.reader is not None and not hold and player.tick():
            self._draw()
        self.say_status()
        return player.alive

    def catch_up(self) -> None:
        """Go to the last step, unless the reader has paused or scrubbed."""
        self.player.catch_up()
        self._draw()
        self.say_status()

    def _after(self) -> None:
        """Draw the current step, update the status and wake the pump."""
        self._draw()
        self.say_status()
        self._wake()

    def say_status(self) -> None:
        """Update the buttons and the status beside them."""
        player = self.player
        move_slider = not player.playing or self._film or self._ticks % TICKS_PER_SLIDER_MOVE == 0
        state = button_state(player)
        if move_slider:
            plays_shown_race = player.playing and player.next_reader is None
            drawn_step = self._drawn_step() if plays_shown_race and self._drawn_step is not None else None
            self.place = self.head if drawn_step is None else drawn_step
            if drawn_step is not None:
                state = replace(state, head=drawn_step)
        self.transport.show(state, move_slider=move_slider)
        say(self.status, f"<span class='quiet'>{status_html(player)}</span>")
