"""What the word beside the buttons says of a race: that it is coming, runs, rests at a step, or is over."""

from typing import TYPE_CHECKING, Any

from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.views.race.player import Player


def word_of(player: "Player") -> str:
    """Return it as HTML."""
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
    if recorded(race):
        place = "" if player.playing else _place(player)
        return "stopped" if player.halted else f"<b>recorded earlier</b>{f' &middot; step {place}' if place else ''}"
    if race.ended and not player.playing:
        return _at_rest(player)
    if race.phase in ("waiting", "preparing"):
        return _activity(race)
    if player.playing and (turn := getattr(race, "turn", 0)):
        return f"running, in turns: number {turn} in the queue"
    if player.playing and player.loop and race.ended and player.shown is not None and player.shown.shown:
        return "in a loop"
    return "running" if player.playing else "paused"


def _at_rest(player: "Player") -> str:
    """Where a race that has ended stands: one that is not at its end has not been seen to it, or was left."""
    place = _place(player)
    if player.resting:
        return f"paused at {place}"  # never at the last: there the showing is over
    if player.halted:
        return f"stopped at {place}" if place else "stopped"
    cut = player.shown is not None and player.shown.cut
    stopped = cut or any(run.outcome is not None and run.outcome.code == "stopped" for run in player.race.runs)
    return f"step {place}" if place else "stopped" if stopped else "ended"


def _place(player: "Player") -> str:
    """The step shown, of how many, "" at the last."""
    shown = player.shown
    return "" if shown is None or shown.head >= shown.last else f"{shown.head:,} of {shown.last:,}"


def _old(player: "Player") -> str:
    """What is still drawn while another race comes."""
    assert player.shown is not None
    return "<b>recorded earlier</b> &middot; " if recorded(player.shown.race) else "earlier race &middot; "


def _activity(race: Any) -> str:
    return safe(race.activity) + (" &hellip;" if race.activity else "")


def waits(race: Any) -> bool:
    """Whether it stands in a queue."""
    return race.phase == "waiting" and str(race.activity).startswith("waiting")


def recorded(race: Any) -> bool:
    """Whether it was computed earlier and read from a file."""
    return bool(getattr(race, "recorded", False))
