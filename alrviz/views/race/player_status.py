"""Buttons of a player, and the few words beside them about the race."""

from alrviz.studies.race.race import Race
from alrviz.views.core.style import safe
from alrviz.views.core.transport import ButtonState
from alrviz.views.race.player import Player

_GETTING_READY = "getting ready &hellip;"


def button_state(player: Player) -> ButtonState:
    """Return the state of the buttons and the slider."""
    race, reader, drawn_reader = player.race, player.active_reader, player.reader
    drawn = (0, -1) if drawn_reader is None else (drawn_reader.number, min(drawn_reader.last_shown, drawn_reader.last))
    if race is None or reader is None:
        return ButtonState(drawn, last_hidden=player.last_hidden, may_stop=player.is_waiting)
    is_under_way = not race.ended and race.control.phase != "waiting"
    return ButtonState(
        drawn,
        last_hidden=player.last_hidden,
        running=player.playing and not player.outdated,
        head=reader.head,
        last=reader.last if player.playing or race.ended else max(reader.last_shown, reader.last),
        may_step=not race.ended or reader.head < reader.last or player.outdated,
        may_stop=player.playing or is_under_way or player.is_waiting,
        step_name=reader.step_name,
    )


def status_html(player: Player) -> str:
    """Return the status beside the buttons, as HTML of a few words."""
    race = player.race
    if player.is_waiting:
        return _GETTING_READY
    if race is None:
        return "stopped" if player.is_stopped else _GETTING_READY if player.starts_itself else ""
    if player.next_reader is not None:
        return f"{_previous_note(player)}{_activity(race) or _GETTING_READY}"
    if player.outdated:
        return _outdated_html(player)
    if race.recorded:
        place_text = "" if player.playing else _place_text(player)
        step_html = f" &middot; {place_text}" if place_text else ""
        return "stopped" if player.is_stopped else f"<b>recorded earlier</b>{step_html}"
    if race.ended and not player.playing:
        return _ended_html(player, race)
    if race.control.phase in ("waiting", "queued", "preparing"):
        return _activity(race)
    return _playing_html(player, race) if player.playing else "paused"


def _outdated_html(player: Player) -> str:
    """Return the status of a race whose settings have changed since."""
    if player.starts_itself:
        return f"{'' if player.reader is None else _previous_note(player)}starts by itself &hellip;"
    return f"{'stopped; ' if player.is_stopped else ''}<b class='bad'>outdated: press Run</b>"


def _playing_html(player: Player, race: Race) -> str:
    """Return the status of a race that plays."""
    if race.control.turn:
        return f"running, in turns: number {race.control.turn} in the queue"
    if player.loop and race.ended and player.reader is not None and player.reader.is_finished:
        return "in a loop"
    if any(not len(run.trace) and run.outcome is None for run in race.runs):
        return _activity(race) or "running"  # a racer is still choosing its order
    return "running"


def _ended_html(player: Player, race: Race) -> str:
    """Return the status of an ended race that does not play."""
    place_text = _place_text(player)
    if player.is_replay_paused:
        return f"paused at {place_text}"  # `place_text` is never "" here: at the last step the replay is over
    if player.is_stopped:
        return f"stopped at {place_text}" if place_text else "stopped"
    if place_text:
        return f"iteration {place_text}"
    is_cut = player.reader is not None and player.reader.cut
    is_stopped = is_cut or any(run.outcome is not None and run.outcome.code == "stopped" for run in race.runs)
    return "stopped" if is_stopped else "ended"


def _place_text(player: Player) -> str:
    """Return "3 of 9", or "" at the last iteration."""
    reader = player.reader
    return "" if reader is None or reader.head >= reader.last else f"{reader.head:,} of {reader.last:,}"


def _previous_note(player: Player) -> str:
    """Return a note about the race that is drawn until the next one has a step."""
    assert player.reader is not None
    return "<b>recorded earlier</b> &middot; " if player.reader.race.recorded else "earlier race &middot; "


def _activity(race: Race) -> str:
    return safe(race.control.activity) + (" &hellip;" if race.control.activity else "")
