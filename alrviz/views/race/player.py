"""Which race is shown and how far: what Run, Step, Back, Stop and the slider do to it, and what a tick of time does.

Nothing here touches Panel. `shown` is what the picture draws; `coming` is a race that was started and takes its place
as soon as it has points, so that the old picture stays until there is another. While `playing`, the place shown follows
the race, and goes on after the race itself has ended, until all of it was shown. Stop ends the race at what was seen;
what was computed beyond is kept and offered (`rest`).
"""

import math
import time
from collections.abc import Callable
from typing import Any

from alrviz.studies.race.race import Race
from alrviz.views.core.style import safe
from alrviz.views.core.trace_reader import RaceReader

# Seconds after a race has begun by itself in which a press of its button still means Run, as the button said when the
# reader reached for it. Before its first point, which may take a compilation, it means so however late it comes.
MEANT = 1.0
# Ticks at the end of a race that plays in a loop: time to read how it ended.
REST = 20


class Player:
    """The place of a reader in a race.

    Args:
        again: makes the race to run next when Run or Step finds none to go on with; returns None where there is none,
            or none yet: `press_again` repeats the press then. Without it the same recipes race once more.
        film: whether what is shown is a film: it plays from the first iteration, and Stop leaves it where it is.
    """

    def __init__(self, again: Callable[[], Race | None] | None = None, film: bool = False):
        self.again, self._film = again or self._same_again, film
        self.shown: RaceReader | None = None
        self.coming: RaceReader | None = None
        self.playing = False
        self.speed = 1.0  # how many times faster than usual what is shown follows the race
        self.loop = False  # whether what has been shown to its end is shown again from the start
        self._at_end = 0  # ticks that a loop has rested at the end
        self.outdated = False  # whether settings have changed since the race shown was made
        self.expected = False  # whether a race of the new settings will begin by itself: nobody need press Run
        self._stepping = -1  # the iteration to show once it was computed
        self.halted = False  # whether Stop ended what is no race's outcome: the showing of one, the waiting for one
        self._settling = False  # whether a race that was paused here may still end its present step
        self.resting = False  # whether Pause holds the showing of a race that has ended
        self._on_screen: tuple[int, int] | None = None  # what the screen showed as Stop was pressed, told ahead of it
        self._unmet: Callable[[], None] | None = None
        self.for_table = False  # whether the press that waits came before its table
        self._unasked = -math.inf  # when a race last began by itself

    # -- which race ---------------------------------------------------------------------------------------------------

    @property
    def watched(self) -> RaceReader | None:
        """The race that the buttons move."""
        return self.coming or self.shown

    @property
    def race(self) -> Race | None:
        """The same, as `alrviz.race` made it."""
        return None if self.watched is None else self.watched.race

    def load_race(self, race: Race, *, fresh: bool = False) -> bool:
        """Turn to a race; returns whether it is shown now. `fresh`: it is about to start and is shown with points."""
        watched = RaceReader(race, self._film, race.stopped_at)
        self.coming, self._stepping, self.outdated, self._unasked = None, -1, False, -math.inf
        self.expected = False
        self.halted = self._settling = self.resting = False
        self._on_screen = None
        if fresh and self.shown is not None:
            self.coming = watched
            return False
        watched.pull()
        watched.move(watched.last)
        self.playing = not race.ended and (race.control.phase in ("preparing", "running") or race.control.queued)
        self.shown = watched
        return True

    # -- buttons ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Run, asked by nobody: a press of Run that comes just then is met by what it wanted, and pauses nothing."""
        if not self.playing or self.outdated:
            self.run()
            self._unasked = time.monotonic()

    def run(self) -> None:
        """Run or pause; where there is no race to go on with, a fresh one is started."""
        met, self._unasked = self._just_begun, -math.inf
        if met and self.playing and not self.outdated:
            return
        self.halted = self.resting = False
        race = self.race
        if self.playing and not self.outdated:
            self._pause()
        elif race is None or self.outdated or self._finished:
            if (fresh := self._fresh(self.run)) is not None:
                self.playing = True
                fresh.control.start()
        else:
            self.playing = True
            if not race.ended:
                race.control.start()

    @property
    def _just_begun(self) -> bool:
        """Whether the race began by itself, and a reader may not have seen yet that it runs."""
        unseen = self.watched is not None and self.watched.last < 0
        return self._unasked > -math.inf and (unseen or time.monotonic() - self._unasked < MEANT)

    def step(self) -> None:
        """Show one iteration more; if it does not exist yet, have it computed."""
        self.halted = False
        if (self.race is None or self.outdated) and self._fresh(self.step) is None:
            return
        watched = self.watched
        assert watched is not None
        self._pause()
        watched.pull()
        if watched.head < watched.last:
            watched.move(watched.head + 1)
        elif not watched.race.ended:
            self._stepping, self._settling = watched.last + 1, True
            watched.race.control.step()

    def back(self) -> None:
        """Show one iteration less."""
        if self.shown is not None:
            self.scrub(self.shown.head - 1)

    def scrub(self, iteration: int) -> None:
        """Show the race as it was at an iteration; a race that runs is paused."""
        self.halted = False
        if self.shown is None:
            return
        self._pause()
        self.resting = False
        self.shown.move(iteration)

    def stop(self) -> None:
        """Stop: the race ends at what was seen of it, no later point appears, and what Run waited for is given up.

        A film stands still where it is.
        """
        watched, waited = self.watched, self._unmet is not None
        self._unmet, self.halted, self.resting = None, waited, False
        if watched is None:
            return
        self.halted = waited or (self.playing and watched.race.ended)
        self.playing, self._stepping, self._settling = False, -1, True
        watched.race.control.stop()
        watched.pull()
        if not self._film:
            self._end_at(watched, -1 if self.coming is not None else watched.seen)
        self.shown, self.coming = watched, None
        (number, seen), self._on_screen = self._on_screen or (watched.number, watched.seen), None
        self.stopped_at(number, seen)

    def stopped_at(self, number: int, seen: int) -> bool:
        """Stop was pressed when the screen showed so much of a race, by its number; returns whether that is less.

        What is sent to a browser is on its way for a moment, longer where it draws slowly. This may be told before the
        press itself.
        """
        shown = self.shown
        if shown is None or shown.limit is None:
            self._on_screen = number, seen
            return False
        if number > shown.number:
            return False
        at = seen if number == shown.number else -1
        if at >= shown.limit:
            return False
        self._end_at(shown, at)
        return True

    @staticmethod
    def _end_at(watched: RaceReader, limit: int) -> None:
        watched.end_at(limit)
        watched.race.stopped_at = limit if watched.cut else None

    @property
    def rest(self) -> int:
        """The last iteration that was computed beyond the end that Stop made; 0 where there is none."""
        shown = self.shown
        return shown.computed if self.coming is None and shown is not None and shown.cut else 0

    def show_rest(self) -> None:
        """Show what was computed beyond the end that Stop made."""
        shown = self.shown
        if shown is not None and self.rest:
            shown.end_at(None)
            shown.race.stopped_at, self.halted = None, False
            shown.move(shown.last)

    def press_again(self) -> None:
        """Repeat the press that found no race yet."""
        press, self._unmet = self._unmet, None
        if press is not None:
            press()

    def give_up(self) -> None:
        """Forget the press that found no race yet."""
        self._unmet = None

    @property
    def waits(self) -> bool:
        """Whether a press found no race yet and may be repeated."""
        return self._unmet is not None

    def _fresh(self, press: Callable[[], None]) -> Race | None:
        self._unmet, self.for_table = press, False
        fresh = self.again()
        if fresh is None and self.again == self._same_again:
            self._unmet = None  # nobody will make one later
        if fresh is not None:
            self._unmet = None
            self.load_race(fresh, fresh=True)
        return fresh

    def _same_again(self) -> Race | None:
        from alrviz.studies.race.race import race

        old = self.race
        return None if old is None or old.recorded else race(old.dataset, old.recipes)

    def _pause(self) -> None:
        race = self.race
        self.resting = self.playing and race is not None and race.ended
        if self.playing and race is not None and not race.ended:
            self._settling = True
            race.control.pause()
        self.playing = False

    @property
    def _finished(self) -> bool:
        return (
            self.coming is None and self.shown is not None and self.shown.shown and self.shown.head >= self.shown.last
        )

    def repeat(self, loop: bool) -> None:
        """Play what is shown in a loop, or hold it at its end; a race that rests at its end begins again at once."""
        self.loop, shown = loop, self.shown
        if loop and not self.playing and not self.outdated and shown is not None and self._finished and shown.last > 0:
            self.halted = self.resting = False
            self.playing, self._at_end = True, REST

    # -- time ---------------------------------------------------------------------------------------------------------

    def arrived(self) -> bool:
        """Whether the race that was coming has points (or has ended without any) and is shown from now on."""
        coming = self.coming
        if coming is None:
            return False
        coming.pull()
        if not ((coming.begun and coming.last >= 0) or coming.race.ended):
            return False
        self.shown, self.coming = coming, None
        return True

    def advance(self) -> bool:
        """One tick: read what is new and follow it; returns whether the picture has to be drawn again."""
        watched = self.shown
        if watched is None:
            return False
        at_end = watched.head >= watched.last
        unseen = watched.last < 0
        new = watched.pull()
        if self.coming is not None:
            return bool(new)
        self._follow_others(watched, bool(new) and at_end, unseen)
        moved = False
        if self.playing:
            moved = watched.follow(self.speed, again=self.loop and watched.shown)
        elif 0 <= self._stepping <= watched.last:
            watched.move(self._stepping)
            moved, self._stepping = True, -1
        if self.playing and watched.shown and watched.head >= watched.last:
            watched.pull()  # its outcome may have come after the look above, and nothing looks again
            self.playing = self.loop and watched.last > 0
            moved = True
            self._at_end += 1
            if self.playing and self._at_end > REST:
                watched.move(0)
        if watched.head < watched.last:
            self._at_end = 0
        return moved or bool(new)

    def catch_up(self) -> None:
        """Go to the end of what has been computed, unless a hand keeps what is shown where it is."""
        self.arrived()
        self.advance()
        if self.shown is not None and self.coming is None and self.playing:
            self.shown.move(self.shown.last)
            if not self.loop:  # a loop would begin again
                self.advance()

    def _follow_others(self, watched: RaceReader, goes_on: bool, unseen: bool) -> None:
        """A race that another page of its owner resumed, or a cell of a notebook started, is followed here too.

        unseen: whether nothing of it was there before; it may have ended since.
        """
        race = watched.race
        if race.control.phase == "paused":
            self._settling = False
        if goes_on and not self._settling and (race.control.phase == "running" or (unseen and race.ended)):
            self.playing = True

    @property
    def still(self) -> bool:
        """Whether a hand keeps what is shown from going on: there is more of it to show, or to compute."""
        shown = self.shown
        if self.playing or self.coming is not None or shown is None:
            return False
        return shown.head < shown.last or shown.race.control.phase in ("running", "paused")

    @property
    def alive(self) -> bool:
        """Whether a tick may bring something; a race that rests may be resumed in another page of its owner."""
        return self.race is not None and (self.coming is not None or self.playing or not self.race.ended)

    # -- words and buttons that may be pressed ------------------------------------------------------------------------

    @property
    def word(self) -> str:
        """What the race is doing, as HTML of a word or two."""
        return _activity_html(self)

    @property
    def buttons(self) -> dict[str, Any]:
        """What `Transport.show` needs to know; a race that is coming has no iteration yet, whatever is still drawn."""
        race, watched = self.race, self.watched
        if race is None or watched is None:
            return {"running": False, "head": 0, "last": 0, "may_run": True, "may_step": True, "may_stop": self.waits}
        drawn = (0, -1) if self.shown is None else (self.shown.number, min(self.shown.seen, self.shown.last))
        under_way = not race.ended and (race.control.phase != "waiting" or race.control.queued)
        return {
            "running": self.playing and not self.outdated,
            "head": watched.head,
            "last": watched.last if self.playing or race.ended else max(watched.seen, watched.last),
            "may_run": True,
            "may_step": not race.ended or watched.head < watched.last or self.outdated,
            "may_stop": self.playing or under_way or self.waits,
            "rest": self.rest,
            "drawn": drawn,
            "counted": watched.counted,
        }


# -- what the word beside the buttons says of a race  ----------------------------------------------------------------


def _activity_html(player: Player) -> str:
    race = player.race
    if player.waits:
        return "getting ready &hellip;"
    if race is None:
        return "stopped" if player.halted else ""
    if player.coming is not None:
        return f"{_old(player)}{_activity(race) or 'getting ready &hellip;'}"
    if player.outdated and player.expected:
        return f"{'' if player.shown is None else _old(player)}starts by itself &hellip;"
    if player.outdated:
        return f"{'stopped; ' if player.halted else ''}<b class='bad'>outdated: press Run</b>"
    if race.recorded:
        place = "" if player.playing else _place(player)
        return "stopped" if player.halted else f"<b>recorded earlier</b>{f' &middot; step {place}' if place else ''}"
    if race.ended and not player.playing:
        return _approximate_weights(player, race)
    if race.control.phase in ("waiting", "preparing"):
        return _activity(race)
    if player.playing and race.control.turn:
        return f"running, in turns: number {race.control.turn} in the queue"
    if player.playing and player.loop and race.ended and player.shown is not None and player.shown.shown:
        return "in a loop"
    if player.playing and any(not len(run.trace) and run.outcome is None for run in race.runs):
        return _activity(race) or "running"  # one is still looking for its order
    return "running" if player.playing else "paused"


def _approximate_weights(player: Player, race: Race) -> str:
    """Where a race that has ended stands: one that is not at its end has not been seen to it, or was left."""
    place = _place(player)
    if player.resting:
        return f"paused at {place}"  # never at the last: there the showing is over
    if player.halted:
        return f"stopped at {place}" if place else "stopped"
    cut = player.shown is not None and player.shown.cut
    stopped = cut or any(run.outcome is not None and run.outcome.code == "stopped" for run in race.runs)
    return f"step {place}" if place else "stopped" if stopped else "ended"


def _place(player: Player) -> str:
    """The step shown, of how many, "" at the last."""
    shown = player.shown
    return "" if shown is None or shown.head >= shown.last else f"{shown.head:,} of {shown.last:,}"


def _old(player: Player) -> str:
    """What is still drawn while another race comes."""
    assert player.shown is not None
    return "<b>recorded earlier</b> &middot; " if player.shown.race.recorded else "earlier race &middot; "


def _activity(race: Race) -> str:
    return safe(race.control.activity) + (" &hellip;" if race.control.activity else "")
