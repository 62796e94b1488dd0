"""State of playback: which race and step are shown, and how buttons, slider and time change them.

Nothing here touches Panel. `reader` is the race drawn. A race just started is `next_reader` until it has a step, so
that the old picture stays until there is a new one. While `playing`, the head follows the race until all of it was
shown, which may be after the race has ended. Stop ends the race at the last step shown; later steps are kept and
offered (`last_hidden`).
"""

import math
import time
from collections.abc import Callable

from alrviz.studies.race.race import Race
from alrviz.views.core.trace_reader import RaceReader

# Time after an automatic start in which a click on Pause still means Run, the label that the reader aimed at. Before
# the first step, which may have to wait for a compilation, it always does.
PRESS_GRACE_SECONDS = 1.0
LOOP_REST_TICKS = 20  # pause at the end of a loop: time to read the result


class Player:
    """Playback of a race.

    Args:
        rerun: makes a new race when Run or Step finds none to continue; returns None if there is none, or none yet
            (`repeat_press` repeats the press later). By default the same recipes race again.
        film: whether to play from the first iteration, and to keep later steps visible after Stop.
    """

    def __init__(self, rerun: Callable[[], Race | None] | None = None, film: bool = False):
        self.rerun, self._film = rerun or self._rerun_same, film
        self.reader: RaceReader | None = None
        self.next_reader: RaceReader | None = None
        self.playing = False
        self.speed = 1.0  # factor of the usual speed
        self.loop = False
        self._at_end = 0  # ticks that a loop has rested at the end
        self.outdated = False  # whether settings have changed since the race was made
        self.starts_itself = False  # whether a race with the new settings will start automatically
        self._target_step = -1  # the step to show once it is computed
        self.is_stopped = False  # whether Stop ended a replay or a waiting press, not a race
        self._may_finish_step = False  # whether a race paused here may still finish its current step
        self.is_replay_paused = False  # whether Pause stopped the replay of an ended race
        self._early_report: tuple[int, int] | None = None  # screen at a click on Stop, reported before the click
        self._waiting_press: Callable[[], None] | None = None
        self.for_table = False  # whether the waiting press came before its table was loaded
        self._autostarted_at = -math.inf

    # -- which race ---------------------------------------------------------------------------------------------------

    @property
    def active_reader(self) -> RaceReader | None:
        """The race that the buttons move."""
        return self.next_reader or self.reader

    @property
    def race(self) -> Race | None:
        """The race that the buttons control."""
        return None if self.active_reader is None else self.active_reader.race

    def load_race(self, race: Race, *, is_new: bool = False) -> bool:
        """Load a race; return whether it is shown at once. A new one is shown with its first step."""
        new_reader = RaceReader(race, self._film, race.stopped_at)
        self._reset()
        if is_new and self.reader is not None:
            self.next_reader = new_reader
            return False
        new_reader.pull()
        new_reader.move(new_reader.last)
        self.playing = not race.ended and race.control.phase in ("queued", "preparing", "running")
        self.reader = new_reader
        return True

    def unload_race(self) -> None:
        """Pause the race and show none; a press that waits for a race keeps waiting."""
        self._pause()
        self._reset()
        self.reader = None

    def _reset(self) -> None:
        self.next_reader, self._target_step, self.outdated, self._autostarted_at = None, -1, False, -math.inf
        self.starts_itself = False
        self.is_stopped = self._may_finish_step = self.is_replay_paused = False
        self._early_report = None

    # -- buttons ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Run automatically; a click on Run in the next moment is then ignored, instead of pausing the race."""
        if not self.playing or self.outdated:
            self.run()
            self._autostarted_at = time.monotonic()

    def run(self) -> None:
        """Run or pause; start a new race if there is none to continue."""
        started_itself, self._autostarted_at = self._just_begun, -math.inf
        if started_itself and self.playing and not self.outdated:
            return
        self.is_stopped = self.is_replay_paused = False
        race = self.race
        if self.playing and not self.outdated:
            self._pause()
        elif race is None or self.outdated or self._finished:
            if (new_race := self._rerun_and_load(self.run)) is not None:
                self.playing = True
                new_race.control.start()
        else:
            self.playing = True
            if not race.ended:
                race.control.start()

    @property
    def _just_begun(self) -> bool:
        """Whether the race started automatically so recently that the reader may not have noticed."""
        is_unseen = self.active_reader is not None and self.active_reader.last < 0
        seconds = time.monotonic() - self._autostarted_at
        return self._autostarted_at > -math.inf and (is_unseen or seconds < PRESS_GRACE_SECONDS)

    def step(self) -> None:
        """Show the next iteration; compute it if necessary."""
        self.is_stopped = False
        if (self.race is None or self.outdated) and self._rerun_and_load(self.step) is None:
            return
        reader = self.active_reader
        assert reader is not None
        self._pause()
        reader.pull()
        if reader.head < reader.last:
            reader.move(reader.head + 1)
        elif not reader.race.ended:
            self._target_step, self._may_finish_step = reader.last + 1, True
            reader.race.control.step()

    def back(self) -> None:
        """Show the previous iteration."""
        if self.reader is not None:
            self.scrub(self.reader.head - 1)

    def scrub(self, iteration: int) -> None:
        """Show an iteration; pause the race if it runs."""
        self.is_stopped = False
        if self.reader is None:
            return
        self._pause()
        self.is_replay_paused = False
        self.reader.move(iteration)

    def stop(self) -> None:
        """Stop the race at the last step shown, and cancel a waiting press; a film just stops at its current step."""
        reader, was_waiting = self.active_reader, self._waiting_press is not None
        self._waiting_press, self.is_stopped, self.is_replay_paused = None, was_waiting, False
        if reader is None:
            return
        self.is_stopped = was_waiting or (self.playing and reader.race.ended)
        self.playing, self._target_step, self._may_finish_step = False, -1, True
        reader.race.control.stop()
        reader.pull()
        if not self._film:
            reader.stop_at(-1 if self.next_reader is not None else reader.last_shown)
        self.reader, self.next_reader = reader, None
        number, last_seen = self._early_report or (reader.number, reader.last_shown)
        self._early_report = None
        self.end_at_screen(number, last_seen)

    def end_at_screen(self, number: int, last_seen: int) -> bool:
        """Hide steps that the screen did not show yet when Stop was clicked; return whether there were any.

        Pictures take a moment to reach the browser, longer if it draws slowly. The report may arrive before the click.

        Args:
            number: of the `RaceReader` on the screen.
            last_seen: its last iteration on the screen.
        """
        reader = self.reader
        if reader is None or reader.limit is None:
            self._early_report = number, last_seen
            return False
        if number > reader.number:
            return False
        limit = last_seen if number == reader.number else -1
        if limit >= reader.limit:
            return False
        reader.stop_at(limit)
        return True

    @property
    def last_hidden(self) -> int:
        """The last iteration computed beyond Stop; 0 if there is none."""
        reader = self.reader
        return reader.computed if self.next_reader is None and reader is not None and reader.cut else 0

    def show_hidden(self) -> None:
        """Show the steps computed beyond Stop."""
        reader = self.reader
        if reader is not None and self.last_hidden:
            reader.stop_at(None)
            self.is_stopped = False
            reader.move(reader.last)

    def repeat_press(self) -> None:
        """Repeat a waiting press."""
        press, self._waiting_press = self._waiting_press, None
        if press is not None:
            press()

    def cancel_press(self) -> None:
        """Cancel a waiting press."""
        self._waiting_press = None

    @property
    def is_waiting(self) -> bool:
        """Whether a press waits for a race that cannot be made yet."""
        return self._waiting_press is not None

    def _rerun_and_load(self, on_race_ready: Callable[[], None]) -> Race | None:
        """Make a race with `rerun` and load it; None if there is none yet: `on_race_ready` is called when it comes."""
        self._waiting_press, self.for_table = on_race_ready, False
        new_race = self.rerun()
        if new_race is None and self.rerun == self._rerun_same:
            self._waiting_press = None  # there will be none later
        if new_race is not None:
            self._waiting_press = None
            self.load_race(new_race, is_new=True)
        return new_race

    def _rerun_same(self) -> Race | None:
        from alrviz.studies.race.race import race

        old_race = self.race
        return None if old_race is None or old_race.recorded else race(old_race.dataset, old_race.recipes)

    def _pause(self) -> None:
        race = self.race
        self.is_replay_paused = self.playing and race is not None and race.ended
        if self.playing and race is not None and not race.ended:
            self._may_finish_step = True
            race.control.pause()
        self.playing = False

    @property
    def _finished(self) -> bool:
        reader = self.reader
        is_at_end = reader is not None and reader.is_finished and reader.head >= reader.last
        return is_at_end and self.next_reader is None

    def set_loop(self, loop: bool) -> None:
        """Set whether to play in a loop; a race at its end restarts at once."""
        self.loop, reader = loop, self.reader
        may_restart = not self.playing and not self.outdated and self._finished
        if loop and may_restart and reader is not None and reader.last > 0:
            self.is_stopped = self.is_replay_paused = False
            self.playing, self._at_end = True, LOOP_REST_TICKS

    # -- time ---------------------------------------------------------------------------------------------------------

    def switch_to_next(self) -> bool:
        """Show the next race once it has a step or has ended; return whether that happened."""
        next_reader = self.next_reader
        if next_reader is None:
            return False
        next_reader.pull()
        if not ((next_reader.has_begun and next_reader.last >= 0) or next_reader.race.ended):
            return False
        self.reader, self.next_reader = next_reader, None
        return True

    def tick(self) -> bool:
        """Advance one tick: read new steps and follow them; return whether the picture has changed."""
        reader = self.reader
        if reader is None:
            return False
        is_at_end = reader.head >= reader.last
        is_unseen = reader.last < 0
        new_steps = reader.pull()
        if self.next_reader is not None:
            return bool(new_steps)
        self._resume_if_advancing(reader, bool(new_steps) and is_at_end, is_unseen)
        has_moved = False
        if self.playing:
            has_moved = reader.follow(self.speed, replay=self.loop and reader.is_finished)
        elif 0 <= self._target_step <= reader.last:
            reader.move(self._target_step)
            has_moved, self._target_step = True, -1
        if self.playing and reader.is_finished and reader.head >= reader.last:
            reader.pull()  # the outcome may have arrived since the last pull, and there is no later tick
            self.playing = self.loop and reader.last > 0
            has_moved = True
            self._at_end += 1
            if self.playing and self._at_end > LOOP_REST_TICKS:
                reader.move(0)
        if reader.head < reader.last:
            self._at_end = 0
        return has_moved or bool(new_steps)

    def catch_up(self) -> None:
        """Go to the last step, unless the reader has paused or scrubbed."""
        self.switch_to_next()
        self.tick()
        if self.reader is not None and self.next_reader is None and self.playing:
            self.reader.move(self.reader.last)
            if not self.loop:  # a loop would start over
                self.tick()

    def _resume_if_advancing(self, reader: RaceReader, has_advanced: bool, unseen: bool) -> None:
        """Play a race that was started or resumed elsewhere: by another page, or by a cell of a notebook.

        Args:
            reader: the race.
            has_advanced: whether it has new steps although the head was at its end.
            unseen: whether it had no step before; it may have ended since.
        """
        race = reader.race
        if race.control.phase == "paused":
            self._may_finish_step = False
        if has_advanced and not self._may_finish_step and (race.control.phase == "running" or (unseen and race.ended)):
            self.playing = True

    @property
    def is_held(self) -> bool:
        """Whether the reader has paused or scrubbed, so that more could be shown or computed."""
        reader = self.reader
        if self.playing or self.next_reader is not None or reader is None:
            return False
        return reader.head < reader.last or reader.race.control.phase in ("running", "paused")

    @property
    def alive(self) -> bool:
        """Whether ticks are needed; a paused race counts, because another page of its owner may resume it."""
        return self.race is not None and (self.next_reader is not None or self.playing or not self.race.ended)
