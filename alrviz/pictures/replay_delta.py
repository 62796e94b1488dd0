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
        steps = [int(step) for step in film.steps]
        first = self._common(steps)
        parts = content(film, first) | self._more
        head = _without_columns(parts)
        if not _alike(self._head, head):
            first, parts = 0, content(film) | self._more
            self._head = {}
        message = {"from": first} | _difference(self._head, parts)
        self._film, self._head, self._steps, self._whole = film, head, steps, None
        self._settled = sum(step <= settled for step in steps)
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
        return {key: _without_columns(part) for key, part in value.items() if key not in COLUMNS}
    return [_without_columns(part) for part in value] if isinstance(value, list) else value


def _alike(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether columns mean the same in both: as many lines along the same axes, the same measures."""
    return bool(old) and all(
        [part.get("label", part.get("name")) for part in old[key]]
        == [part.get("label", part.get("name")) for part in new[key]]
        for key in ("axes", "lines", "measures")
    )


def _difference(old: Any, new: Any) -> Any:
    """Return the parts of `new` that differ from `old`; columns are always included."""
    if isinstance(new, dict):
        old_parts: Any = old if isinstance(old, dict) else {}
        return {
            key: part if key in COLUMNS else _difference(old_parts.get(key), part)
            for key, part in new.items()
            if key not in old_parts or _has_columns(part) or old_parts[key] != part
        }
    if isinstance(new, list) and new and all(isinstance(part, dict) for part in new):
        old_parts = old if isinstance(old, list) and len(old) == len(new) else [None] * len(new)
        return [_difference(old_part, part) for old_part, part in zip(old_parts, new, strict=True)]
    return new


def _has_columns(value: Any) -> bool:
    if isinstance(value, dict):
        return any(key in COLUMNS or _has_columns(part) for key, part in value.items())
    return isinstance(value, list) and any(map(_has_columns, value))
