"""Run, pause, step, back, stop and the slider: what they do, in a race and for a run with pictures of its own.

What the buttons mean is the `Player`'s; what is drawn at the place shown is that of whoever has the buttons.
"""

from collections.abc import Callable
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
from alrviz.views.replay.export_html import replay

_SLOW = 3  # ticks between two moves of the slider while a run is followed


def _press(press: Callable[..., None]) -> Callable[..., None]:
    """Return the method of `PlayerButtons` for a method of `Player`.

    What a press changes is sent in one message: words that say "stopped" may not arrive before the last picture.
    """

    @wraps(press, assigned=("__doc__",))
    def pressed(self: "PlayerButtons", *args: Any) -> None:
        with turn(), pn.io.hold():
            press(self.player, *args)
            self._after()

    return pressed


class PlayerButtons:
    """What the buttons of a player do; a class that has them draws the place it is at."""

    player: Player

    def _after(self) -> None:
        """Draw anew after a press, and say so beside the buttons."""
        raise NotImplementedError

    def say_status(self) -> None:
        """Bring the buttons and the word beside them up to date."""
        raise NotImplementedError

    def _transport(self, *more: Any) -> Transport:
        """Return the row of buttons; `more` as `Transport` takes it."""
        return Transport(
            self.press_run, self.press_back, self.press_step, self.press_stop, self.scrub, self.show_rest,
            self._stopped_at, *more,
        )  # fmt: skip

    press_run, begin, press_step, press_back = map(_press, (Player.run, Player.begin, Player.step, Player.back))
    press_stop, press_again = _press(Player.stop), _press(Player.press_again)
    show_rest, scrub = _press(Player.show_rest), _press(Player.scrub)

    def give_up(self) -> None:
        """Forget a press that found nothing to run yet: it will not come, and nothing begins by itself."""
        self.player.give_up()
        self.player.expected = False
        self.say_status()

    def _stopped_at(self, number: int, seen: int) -> None:
        if self.player.stopped_at(number, seen):
            with turn(), pn.io.hold():
                self._after()

    def film(self) -> bytes:
        """Return the page that plays what is shown; nothing where there is none, or no step of it yet."""
        shown = self.player.shown
        return b"" if shown is None or shown.last < 0 else replay(shown.race).encode()

    def made_from(self) -> str:
        """Return in a line what is shown is of."""
        shown = self.player.shown
        return by_version() if shown is None else caption(race_provenance(shown.race, __version__), shown.race.recipes)


class FitPlayer(PlayerButtons):
    """The place of a reader in a run, and the row of buttons that moves it.

    Args:
        draw: called when another place, or another run, is to be drawn.
        wake: called when something begins to move.
        film: whether a run that has ended is played from its first iteration.
        drawn: returns the iteration whose pictures are seen, where these come later than the place moves; None where
            none are.
    """

    def __init__(
        self,
        draw: Callable[[], None],
        wake: Callable[[], None],
        film: bool = False,
        drawn: Callable[[], int | None] | None = None,
    ):
        self.player = Player(film=film)
        self._film, self._drawn = film, drawn
        self.place = 0  # the iteration that slider and words are about: while a run plays, that of the pictures
        self._draw, self._wake = draw, wake
        self._ticks = 0
        self.transport = self._transport()
        room = {"min-width": "104px"}  # of "step 16 of 17": the slider beside it keeps its length
        self.status = pn.pane.HTML("", stylesheets=[CSS], align="center", margin=(0, 0, 0, 8), styles=room)
        self.say_status()

    # ---- which run ---------------------------------------------------------------------------------------------------

    @property
    def racer(self) -> Racer | None:
        """The run that is drawn, with what was read of its trace; None where there is none."""
        shown = self.player.shown
        return None if shown is None else shown.racers[0]

    @property
    def head(self) -> int:
        """The step that is drawn."""
        return 0 if self.player.shown is None else self.player.shown.head

    @property
    def iteration(self) -> int:
        """The iteration that is drawn: trials of alphas are steps before the first."""
        index = () if self.racer is None else self.racer.columns["index"]
        return int(index[min(self.head, len(index) - 1)]) if len(index) else 0

    @property
    def ended(self) -> bool:
        """Whether the run drawn has an outcome and all of it was shown."""
        shown = self.player.shown
        return shown is not None and shown.shown and not self.player.playing and self.player.coming is None

    def show(self, race: Race) -> None:
        """Take up a run: what it has computed is drawn at once, and followed from there."""
        with pn.io.hold():
            self.player.load_race(race)
            self._after()

    def mark(self, outdated: bool, expected: bool = False) -> None:
        """Say whether settings have changed since the run drawn was made, and whether another will begin by itself."""
        self.player.outdated, self.player.expected = outdated, outdated and expected
        self.say_status()

    # ---- time --------------------------------------------------------------------------------------------------------

    def pump(self, hold: bool = False) -> bool:
        """Follow the run; returns whether there may be more.

        hold: whether a film stays where it is for now.
        """
        self._ticks += 1
        player = self.player
        if player.arrived():
            self._after()
        elif player.shown is not None and not hold and player.advance():
            self._draw()
        self.say_status()
        return player.alive

    def catch_up(self) -> None:
        """Go to the end of what has been computed, unless a hand keeps what is shown where it is."""
        self.player.catch_up()
        self._draw()
        self.say_status()

    def _after(self) -> None:
        """Draw anew after a press."""
        self._draw()
        self.say_status()
        self._wake()

    def say_status(self) -> None:
        """Bring the buttons and the word beside them up to date."""
        player = self.player
        moves = not player.playing or self._film or self._ticks % _SLOW == 0
        buttons = player.buttons
        if moves:
            drawn = self._drawn() if player.playing and player.coming is None and self._drawn is not None else None
            self.place = self.head if drawn is None else drawn
            buttons |= {} if drawn is None else {"head": drawn}
        self.transport.show(scrubs=moves, **buttons)
        say(self.status, f"<span class='quiet'>{player.word}</span>")
