"""Ranges of numbers, as the options of a question about a number have them: "< 0.8", "0.8 to 1.25", "> 2"."""

import re

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"([<>])\s*({_NUMBER})|({_NUMBER})\s+to\s+({_NUMBER})")


def is_range(text: str) -> bool:
    """Whether a text is a range."""
    return _RANGE.fullmatch(text.strip()) is not None


def holds(text: str, value: float) -> bool:
    """Whether a range holds a number; its ends are its own.

    >>> holds("0.8 to 1.25", 1), holds("> 2", 2), holds("< 0.8", 0.5)
    (True, False, True)
    """
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        return False
    sign, bound, low, high = found.groups()
    if sign:
        return value < float(bound) if sign == "<" else value > float(bound)
    return float(low) <= value <= float(high)
