"""The messages to everyone with a race's secret link: one growing film of the race, encoded once for all.

A link leads to whichever race holds its secret: its owner may put another race in the place of one, or take the link
back. Onlookers change nothing; that there are some is a reason to let the race go on. A fit may be over long before
its owner's screen has shown it: nobody sees more than that screen has shown (`Entry.visible_until`), so that a room can
guess before it knows.
"""

from typing import cast

from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.server.run_registry import Registry
from alrviz.job import LatestJob
from alrviz.pictures.replay_delta import ReplayDelta
from alrviz.studies.race.race import Race
from alrviz.views.core.trace_reader import RaceReader, score_heldout
from alrviz.views.replay.export_html import race_film

MAX_STEPS = 500  # steps of a long race that are told, about; a phone draws all of them several times a second
GONE = b'{"gone":true}\n'


class RaceFeed:
    """The messages of one link.

    Attributes:
        gone: whether the link leads to nothing any more; what `pull` returned then was the last message.
        token: of the race; another is another race.
    """

    def __init__(self, registry: Registry, token: str):
        self.gone = False
        self._registry = registry
        self.token = token
        self._entry: Entry | None = None
        self._told = ReplayDelta()
        self._status: tuple[object, ...] = ()
        self._scoring: LatestJob | None = None  # what tells a tie, once the race is over

    @property
    def whole(self) -> bytes:
        """The message for somebody who has just come: all that the others know."""
        return self._told.whole

    def pull(self) -> bytes:
        """Look at the race; return the message with what is new, b"" where nothing is."""
        entry = self._registry.by_token(self.token)
        if entry is None:
            self.gone = True
            return GONE
        self._registry.look(entry)
        if entry is not self._entry:
            self._entry, self._told, self._status = entry, ReplayDelta(), ()
            self._race, self._scoring = cast(Race, entry.job), None
            self._watched = RaceReader(self._race)
        watched, race = self._watched, self._race
        # Before the steps: what it says of them may be old by a tick, but no last step is left out.
        limit, ended = entry.visible_until, race.ended
        lasting = [racer for racer in watched.racers if racer.run.outcome is None or racer.cut]
        scored = self._scoring is not None and self._scoring.busy and not self._scoring.poll()
        watched.pull()
        if limit != watched.limit:
            watched.end_at(limit)
        over = ended and (not watched.cut or race.stopped_at == limit)
        steps = [len(racer) for racer in watched.racers]
        status = (over, entry.phase, entry.activity, entry.note, entry.resting, steps)
        if status == self._status and not scored:
            return b""
        self._status = status
        if over and not watched.cut and self._scoring is None and watched.last >= 0:
            self._scoring = score_heldout(watched)
        watched.move(watched.last)
        film = race_film(watched, by=entry.server_words or "its owner", max_steps=MAX_STEPS, has_ended=over)
        settled = min((len(racer) - 1 for racer in lasting), default=watched.last)
        return self._told.tell(film, settled, _words(entry, over))


def _words(entry: Entry, over: bool) -> str:
    if over:
        return "The race is over."
    if entry.resting == "away":
        return "Its owner is on another page."
    if entry.resting or entry.phase == "paused":
        return "Paused by its owner."
    if entry.phase in ("running", "ended"):
        return "Live."
    return f"{entry.activity or 'The race has not begun yet'} …"
