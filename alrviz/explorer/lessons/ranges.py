"""Ranges of numbers as options of a question: "< 0.8", "0.8 to 1.25", "> 2"."""

import re
from collections.abc import Iterable
from itertools import pairwise
from math import inf

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"([<>])\s*({_NUMBER})|({_NUMBER})\s+to\s+({_NUMBER})")


def is_range(text: str) -> bool:
    """Return whether a text is a range of numbers, such as "3 to 5" or "> 2"."""
    return _RANGE.fullmatch(text.strip()) is not None


def holds(text: str, value: float) -> bool:
    """Whether a number is in a range; the ends of "a to b" belong to it.

    >>> holds("0.8 to 1.25", 1), holds("> 2", 2), holds("< 0.8", 0.5)
    (True, False, True)
    """
    if not is_range(text):
        return False
    (low, has_low), (high, has_high) = _ends(text)
    return (low <= value if has_low else low < value) and (value <= high if has_high else value < high)


def gap_of(texts: Iterable[str]) -> tuple[str, str] | None:
    """Return the first gap between ranges (the missing numbers in words, and the range above), None without a gap.

    >>> gap_of(["> 0.4", "< 0.2", "0.2 to 0.3"])
    ('a number between 0.3 and 0.4', '> 0.4')
    >>> gap_of(["< 0.2", "> 0.2"])
    ('the number 0.2', '> 0.2')
    """
    ranges = sorted(((*_ends(text), text) for text in texts), key=lambda entry: (entry[0][0], not entry[0][1]))
    highest_end = ranges[0][1]
    for _, (lower_end, upper_end, range_text) in pairwise(ranges):
        (low_bound, has_low), (high_bound, has_high) = lower_end, highest_end
        if low_bound > high_bound:
            return f"a number between {high_bound:g} and {low_bound:g}", range_text
        if low_bound == high_bound and not (has_low or has_high):
            return f"the number {low_bound:g}", range_text
        highest_end = max(highest_end, upper_end)
    return None


def _ends(text: str) -> tuple[tuple[float, bool], tuple[float, bool]]:
    """Return the lower and the upper end of a range, each with whether it belongs to the range."""
    match = _RANGE.fullmatch(text.strip())
    assert match is not None
    sign, bound, low, high = match.groups()
    if sign == "<":
        return (-inf, False), (float(bound), False)
    return ((float(bound), False), (inf, False)) if sign else ((float(low), True), (float(high), True))
