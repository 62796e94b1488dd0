"""The messages to all readers of a race's secret link: one growing recording of the race, encoded once for all.

A link leads to the race that has its token: the owner may replace the race or revoke the link. Readers cannot change
anything, but a race with readers counts as looked at, so it is not stopped. A fit may end long before its owner's
screen has shown it all; readers never see more than that screen (`Entry.visible_until`), so that an audience can guess
the outcome.
"""

from typing import cast

from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.server.run_registry import Registry
from alrviz.job import LatestJob
from alrviz.pictures.replay_delta import ReplayDelta
from alrviz.studies.race.race import Race
from alrviz.views.core.trace_reader import RaceReader, score_heldout
from alrviz.views.replay.export_html import race_film

MAX_FILM_STEPS = 500  # about, of a long race: a phone draws all of them several times a second
ENDED_MESSAGE = b'{"gone":true}\n'


class RaceFeed:
    """The messages of one link.

    Attributes:
        is_ended: whether the link leads to no race any more; then the result of `pull` was the last message.
        token: token of the race; may be set to that of another race.
    """

    def __init__(self, registry: Registry, token: str):
        self.is_ended = False
        self._registry = registry
        self.token = token
        self._entry: Entry | None = None
        self._delta = ReplayDelta()
        self._status: tuple[object, ...] = ()
        self._tie_scoring: LatestJob | None = None  # scores test rows after the end, to tell a tie

    @property
    def full_message(self) -> bytes:
        """The complete message, for a reader who has just connected."""
        return self._delta.whole

    def pull(self) -> bytes:
        """Return a message with the changes since the last call; b"" without changes."""
        entry = self._registry.find_by_token(self.token)
        if entry is None:
            self.is_ended = True
            return ENDED_MESSAGE
        self._registry.note_look(entry)
        if entry is not self._entry:
            self._follow(entry)
        reader, race = self._reader, self._race
        # Read before the steps: they may be newer than this state by a tick, but the last step is never missed.
        limit, has_ended = entry.visible_until, race.ended
        unfinished_racers = [racer for racer in reader.racers if racer.run.outcome is None or racer.cut]
        is_scored = self._tie_scoring is not None and self._tie_scoring.busy and not self._tie_scoring.poll()
        reader.pull()
        if limit != reader.limit:
            reader.end_at(limit)
        is_over = has_ended and (not reader.cut or race.stopped_at == limit)
        n_steps_by_racer = [len(racer) for racer in reader.racers]
        status = (is_over, entry.phase, entry.activity, entry.note, entry.rest_reason, n_steps_by_racer)
        if status == self._status and not is_scored:
            return b""
        self._status = status
        if is_over and not reader.cut and self._tie_scoring is None and reader.last >= 0:
            self._tie_scoring = score_heldout(reader)
        reader.move(reader.last)
        film = race_film(reader, by=entry.server_words or "its owner", max_steps=MAX_FILM_STEPS, has_ended=is_over)
        n_settled = min((len(racer) - 1 for racer in unfinished_racers), default=reader.last)
        return self._delta.tell(film, n_settled, _state_sentence(entry, is_over))

    def _follow(self, entry: Entry) -> None:
        """Follow the race of another entry from its first step."""
        self._entry, self._delta, self._status = entry, ReplayDelta(), ()
        self._race, self._tie_scoring = cast(Race, entry.job), None
        self._reader = RaceReader(self._race)


def _state_sentence(entry: Entry, is_over: bool) -> str:
    """Return the state of a race as a sentence for its spectators. is_over: whether they have seen its end."""
    if is_over:
        return "The race is over."
    if entry.rest_reason == "away":
        return "Its owner is on another page."
    if entry.rest_reason or entry.phase == "paused":
        return "Paused by its owner."
    if entry.phase in ("running", "ended"):
        return "Live."
    return f"{entry.activity or 'The race has not begun yet'} …"
