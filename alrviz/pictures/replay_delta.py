"""A growing film, sent to any number of players: the changes since the last message, and the new steps.

A message is a line of JSON and has the form of `replay.content`, with three differences. "from" says at which place the
player goes on: of each column (the keys of `COLUMNS`) it keeps so many numbers and puts what it got behind them. What
has not changed is left out: a key of an object; of a list of objects every entry has its place, and is {} if nothing
in it did. "state" is what can be said beside the sentence, "film" another number for another film.

Every player gets the same bytes. Who comes late gets `whole`, and goes on with the next message.
"""

import secrets
from typing import Any

from alrviz.pictures.replay import COLUMNS, Film, content, to_json


class ReplayDelta:
    """One film, and how far its players know it."""

    def __init__(self) -> None:
        self._film: Film | None = None
        self._more: dict[str, Any] = {"film": secrets.token_hex(4)}
        self._head: dict[str, Any] = {}  # what players know, but for the columns
        self._steps: list[int] = []
        self._settled = 0
        self._whole: bytes | None = None

    def tell(self, film: Film, settled: int, state: str) -> bytes:
        """Return the message by which players come to know `film`.

        Of the steps up to number `settled` nothing will change but which are kept. state: in a few words.
        """
        self._more["state"] = state
        step_numbers = [int(step) for step in film.steps]
        n_common = self._common(step_numbers)
        film_content = content(film, n_common) | self._more
        content_without_columns = _without_columns(film_content)
        if not _alike(self._head, content_without_columns):
            n_common, film_content = 0, content(film) | self._more
            self._head = {}
        message = {"from": n_common} | _difference(self._head, film_content)
        self._film, self._head, self._steps, self._whole = film, content_without_columns, step_numbers, None
        self._settled = sum(step <= settled for step in step_numbers)
        return _line(message)

    @property
    def whole(self) -> bytes:
        """Message for a new player; b"" without any."""
        if self._whole is None and self._film is not None:
            self._whole = _line({"from": 0} | content(self._film) | self._more)
        return self._whole or b""

    def _common(self, steps: list[int]) -> int:
        """Number of first steps that players have for good."""
        n_common = min(self._settled, len(steps))
        return next((k for k in range(n_common) if steps[k] != self._steps[k]), n_common)


def _line(message: dict[str, Any]) -> bytes:
    return to_json(message).encode() + b"\n"


def _without_columns(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_columns(member) for key, member in value.items() if key not in COLUMNS}
    return [_without_columns(member) for member in value] if isinstance(value, list) else value


def _alike(old_content: dict[str, Any], new_content: dict[str, Any]) -> bool:
    """Return whether axes, lines and measures have the same names in the same order in both contents, so that players
    may keep the numbers that they have; False without an old content.
    """
    return bool(old_content) and all(
        [entry.get("label", entry.get("name")) for entry in old_content[key]]
        == [entry.get("label", entry.get("name")) for entry in new_content[key]]
        for key in ("axes", "lines", "measures")
    )


def _difference(old_value: Any, new_value: Any) -> Any:
    """Return the parts of `new_value` that differ from `old_value`; columns are always included."""
    if isinstance(new_value, dict):
        old_members: Any = old_value if isinstance(old_value, dict) else {}
        return {
            key: member if key in COLUMNS else _difference(old_members.get(key), member)
            for key, member in new_value.items()
            if key not in old_members or _has_columns(member) or old_members[key] != member
        }
    if isinstance(new_value, list) and new_value and all(isinstance(member, dict) for member in new_value):
        old_members = (
            old_value if isinstance(old_value, list) and len(old_value) == len(new_value) else [None] * len(new_value)
        )
        return [_difference(old_member, member) for old_member, member in zip(old_members, new_value, strict=True)]
    return new_value


def _has_columns(value: Any) -> bool:
    if isinstance(value, dict):
        return any(key in COLUMNS or _has_columns(member) for key, member in value.items())
    return isinstance(value, list) and any(map(_has_columns, value))
