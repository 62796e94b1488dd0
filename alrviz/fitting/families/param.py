"""The schema of a setting: the one place that defines its values, its name and what it does.

Recipes check values by it; estimator docstrings, links and the explorer's widgets are made from it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.errors import RecipeError, nearest

if TYPE_CHECKING:
    from alrviz.fitting.fit_settings import FitSettings


@dataclass(frozen=True)
class Param:
    """A setting: one of `choices`; or, without any, a number between `low` and `high` or one of `keywords`.

    Attributes:
        default: the value of a recipe that does not name it.
        link_default: the value in a link that does not name the setting; None if it is `default`. It differs where a
            default has changed, so that old links keep their meaning, and for alpha, where the models of a race need
            one fixed number to be comparable.
        choices: each value, and its text in a menu.
        low, high: bounds of a number; `open_low`: whether `low` itself is excluded.
        integer: whether the number is a whole one.
        keywords: words that stand for a number ("auto"), and their text in a menu.
        per_order: whether it may be a tuple of numbers, one for each order; inf leaves an order out.
        parse: checks a dict, if one is allowed, and returns it in its plain form.
        help: what it does, for docstrings.
        meanings: what values do that need an explanation: the end of `help`.
        label: its name beside a widget.
        term: the glossary's term that explains it.
        key: its letter in the link of a recipe, unique within a family; "" if links do not carry it.
        step: the step of its widget's buttons.
        highest: the largest number that widgets and links take, so that a link cannot ask a server for any amount.
        has_effect: whether it changes anything for a recipe.
    """

    default: Any
    link_default: Any = field(default=None, kw_only=True)
    choices: Mapping[Any, str] = field(default_factory=dict)
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    integer: bool = False
    keywords: Mapping[str, str] = field(default_factory=dict)
    per_order: bool = False
    parse: Callable[[Mapping[Any, Any]], Mapping[Any, Any]] | None = None
    help: str = ""
    meanings: Mapping[Any, str] = field(default_factory=dict)
    label: str = ""
    term: str = ""
    key: str = ""
    step: float = 1
    highest: float = math.inf
    has_effect: Callable[["FitSettings"], bool] = lambda recipe: True

    @property
    def default_in_links(self) -> Any:
        """What a link that does not name the setting means."""
        return self.default if self.link_default is None else self.link_default

    def among(self, *values: Any) -> "Param":
        """Return the setting with only these choices, the first by default."""
        return replace(self, default=values[0], choices={value: self.choices[value] for value in values})

    def check(self, name: str, value: Any) -> Any:
        """Return `value` in its plain form; raise `RecipeError` with the setting's `name` and what was expected."""
        if self.parse is not None and isinstance(value, Mapping):
            return self.parse(value)
        if self.choices:
            return self._choice(name, value)
        if isinstance(value, str) and value in self.keywords:
            return value
        is_sequence = isinstance(value, Sequence) and not isinstance(value, str)
        if self.per_order and (is_sequence or (isinstance(value, np.ndarray) and value.ndim == 1)):
            return self._numbers_by_order(name, value)
        return self._number(name, value)

    def text(self, value: Any) -> str:
        """Return a value's text in a menu."""
        label = self.choices.get(value) or self.keywords.get(value)
        return label or (in_digits(value) if isinstance(value, float | tuple) else str(value))

    def clamp(self, number: float) -> float | int:
        """Return a number moved into the range of widgets and links; the default if that is impossible."""
        number = min(max(number, self.low), self.high, self.highest)
        if self.open_low and number <= self.low:
            return self.default_in_links
        return int(number) if self.integer else number

    def _choice(self, name: str, value: Any) -> Any:
        """Return the choice that `value` means: 1.0 counts as 1 and numpy's text as text, but a bool is no number."""
        value = tuple(value) if isinstance(value, list) else value  # JSON has no tuples
        is_plain = isinstance(value, str | Real) and not isinstance(value, bool)
        for choice in self.choices:
            if (type(choice) is type(value) or is_plain) and choice == value:
                return choice
        choices = ", ".join(map(repr, self.choices))
        raise RecipeError(f"{name}={value!r} is not known; expected one of {choices}{nearest(value, self.choices)}")

    def _numbers_by_order(self, name: str, values: Sequence[Any] | np.ndarray) -> tuple[float, ...] | float:
        """Return `values`, one for each order, as numbers within the limits; 0.0 if all are 0. `RecipeError` names
        `name`.
        """

        def order_alpha(k: int, value: Any) -> float:
            leaves_out = isinstance(value, str | Real) and value in (math.inf, "inf")  # JSON has no infinite number
            return math.inf if leaves_out else float(self._number(f"{name}[{k}]", value))

        numbers = tuple(order_alpha(k, value) for k, value in enumerate(values))
        if not any(map(math.isfinite, numbers)):
            raise RecipeError(f"{name}={numbers!r} leaves every order out; expected a finite number for one of them")
        return numbers if any(numbers) else 0.0

    def _number(self, name: str, value: Any) -> float | int:
        """Return a value as a number, once it is within the limits; `RecipeError` names `name`."""
        expected_text = self._expected_text(is_one_of_several="[" in name)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise RecipeError(f"{name}={value!r} is not a number; {expected_text}")
        try:
            number = float(value)
        except OverflowError:  # a whole number with hundreds of digits
            number = math.inf
        if not math.isfinite(number) or (self.integer and number != int(number)):
            raise RecipeError(f"{name}={value!r} does not fit; {expected_text}")
        if number < self.low or number > self.high or (self.open_low and number <= self.low):
            clamped = min(max(number, self.low), self.high)
            hint = "" if self.open_low and clamped == self.low else f"; the nearest is {_plain(clamped)}"
            raise RecipeError(f"{name}={value!r} is out of range; {expected_text}{hint}")
        return int(number) if self.integer else number

    def _expected_text(self, is_one_of_several: bool) -> str:
        """Return which numbers are valid, in words; is_one_of_several: of a tuple of numbers, one for each order."""
        kind, bound = "a whole number" if self.integer else "a number", "above" if self.open_low else "from"
        high_text = f" to {_plain(self.high)}" if math.isfinite(self.high) else ""
        text = f"expected {kind} {bound} {_plain(self.low)}{high_text}"
        if is_one_of_several:
            return text
        keywords_text = f", or {' or '.join(map(repr, self.keywords))}" if self.keywords else ""
        return f"{text}{keywords_text}{', or one for each order' if self.per_order else ''}"


def in_digits(value: Any) -> str:
    """Return a value as text: a number, or numbers, with few digits; a word as it is.

    >>> in_digits((0.1, 1.0)), in_digits(0.3), in_digits("cv")
    ('0.1, 1', '0.3', 'cv')
    """
    if isinstance(value, tuple):
        return ", ".join(map(in_digits, value))
    return value if isinstance(value, str) else f"{value:g}"


def _plain(number: float) -> str:
    return str(int(number)) if math.isfinite(number) and number == int(number) else str(number)
