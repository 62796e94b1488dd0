"""What one parameter may be: a word of a list, or a number of a range; and the error that says so."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from alrviz.errors import RecipeError, nearest


@dataclass(frozen=True)
class Param:
    """A parameter's default and what it may be: one of `choices`, or a number between `low` and `high`, or one of
    `words`.

    each: whether it may be a tuple of such numbers, one for each order; inf among them leaves an order out.
    about: what it does, for docstrings; of those that several families have, estimators/param_docs.py says it.
    """

    default: Any
    choices: tuple[Any, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    integer: bool = False
    open_low: bool = False
    words: tuple[str, ...] = ()
    each: bool = False
    about: str = ""

    def check(self, name: str, value: Any) -> Any:
        """Return `value` in its plain form, or raise `RecipeError` that says what was expected."""
        if self.choices:
            value = tuple(value) if isinstance(value, list) else value  # JSON has no tuples
            for choice in self.choices:
                if type(choice) is type(value) and choice == value:
                    return choice
                # 1.0 stands for 1 and numpy's text for text; a bool is no number
                if not isinstance(value, bool) and isinstance(value, str | Real) and choice == value:
                    return choice
            listed = ", ".join(map(repr, self.choices))
            raise RecipeError(f"{name}={value!r} is not known; expected one of {listed}{nearest(value, self.choices)}")
        if isinstance(value, str) and value in self.words:
            return value
        several = isinstance(value, Sequence) and not isinstance(value, str)
        if self.each and (several or (isinstance(value, np.ndarray) and value.ndim == 1)):
            return self._numbers(name, value)
        return self._number(name, value)

    def _numbers(self, name: str, values: Sequence[Any] | np.ndarray) -> tuple[float, ...] | float:
        def one(k: int, value: Any) -> float:
            left_out = isinstance(value, str | Real) and value in (math.inf, "inf")  # JSON has no infinite number
            return math.inf if left_out else float(self._number(f"{name}[{k}]", value))

        found = tuple(one(k, value) for k, value in enumerate(values))
        if not any(map(math.isfinite, found)):
            raise RecipeError(f"{name}={found!r} leaves every order out; expected a finite number for one of them")
        return found if any(found) else 0.0

    def _number(self, name: str, value: Any) -> float | int:
        kind = "a whole number" if self.integer else "a number"
        low, high = (_plain(self.low), _plain(self.high))
        wanted = f"expected {kind} {'above' if self.open_low else 'from'} {low}" + (
            f" to {high}" if math.isfinite(self.high) else ""
        )
        if self.words and "[" not in name:  # of several each is a number
            wanted += f", or {' or '.join(map(repr, self.words))}"
        if self.each and "[" not in name:
            wanted += ", or one for each order"
        if isinstance(value, bool) or not isinstance(value, Real):
            raise RecipeError(f"{name}={value!r} is not a number; {wanted}")
        try:
            number = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            number = math.inf
        if self.integer and number != int(number) if math.isfinite(number) else True:
            raise RecipeError(f"{name}={value!r} does not fit; {wanted}")
        if number < self.low or number > self.high or (self.open_low and number <= self.low):
            clamped = min(max(number, self.low), self.high)
            hint = "" if self.open_low and clamped == self.low else f"; the nearest is {_plain(clamped)}"
            raise RecipeError(f"{name}={value!r} is out of range; {wanted}{hint}")
        return int(number) if self.integer else number


def in_digits(value: Any) -> str:
    """Return a number, or numbers, in few digits; a word as it is.

    >>> in_digits((0.1, 1.0)), in_digits(0.3), in_digits("cv")
    ('0.1, 1', '0.3', 'cv')
    """
    if isinstance(value, tuple):
        return ", ".join(map(in_digits, value))
    return value if isinstance(value, str) else f"{value:g}"


def _plain(number: float) -> str:
    return str(int(number)) if math.isfinite(number) and number == int(number) else str(number)
