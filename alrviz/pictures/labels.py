"""Where things stand in a picture: ranges that move seldom, and labels at the ends of lines that do not collide.

Ranges are worked out here, not by the browser, so that a live picture rests: the horizontal axis ends at a round number
and grows only when a line comes near it. Labels are placed in pixels of a picture of assumed size (a wrong guess
costs a little air): each label is moved up, or down, by whole lines of text until it covers none placed before.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alrviz.pictures.palette import GREY

WIDTH, HEIGHT = 575, 230  # assumed pixels of the drawing frame: those of a window of 1280x720
_ROUND = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)
LINE, LETTER = 19, 8.2  # height of a line of text and width of a letter, in pixels
_NOTHING: Mapping[str, Any] = {
    "x": math.nan, "y": math.nan, "words": "", "colour": GREY, "align": "left", "dx": 0, "dy": 0.0, "style": "normal",
    "marker": "circle",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Box:
    """What a picture shows: x from `left` to `right`, y from `bottom` to `top`, y logarithmic or not.

    height, width: assumed pixels of the drawing frame. log_x: whether x is logarithmic.
    """

    left: float
    right: float
    bottom: float
    top: float
    log: bool = False
    height: int = HEIGHT
    width: int = WIDTH
    log_x: bool = False

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """Position in the assumed frame, from its lower left corner."""
        if self.log:
            low, high, y = math.log(self.bottom), math.log(self.top), math.log(max(y, self.bottom))
        else:
            low, high = self.bottom, self.top
        left, right = self.left, self.right
        if self.log_x:
            left, right, x = math.log(left), math.log(right), math.log(max(x, left))
        return self.width * (x - left) / (right - left), self.height * (y - low) / (high - low)

    @property
    def begin(self) -> float:
        """Where lines across the picture begin: at 0, or where a logarithmic axis does."""
        return self.left if self.log_x else 0.0


def round_up(x: float) -> float:
    """The next round number: an axis that ends there grows seldom."""
    if not math.isfinite(x) or x <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(x))
    return next((m * power for m in _ROUND if m * power >= x * (1 - 1e-12)), 10 * power)


def box(
    xs: Iterable[np.ndarray],
    ys: Iterable[np.ndarray],
    grey: Sequence[float] = (),
    log: bool = False,
    words: Sequence[str] = (),
    height: int = HEIGHT,
    log_x: bool = False,
) -> Box:
    """The box that shows all points, with room on the right for `words`, and the grey lines that lie near them."""
    xs = [part for part in xs if len(part)]
    x = max((float(part.max()) for part in xs), default=0.0)
    y = np.concatenate([np.asarray(part, float) for part in (*ys, [])])
    y = y[np.isfinite(y) & (y > 0 if log else True)]
    room = max([0.1 * WIDTH, *(LETTER * len(text) + 12 for text in words)])
    share = 1 - min(room / WIDTH, 0.3)  # of the width, for the lines
    if log_x:
        least = min((float(part.min()) for part in xs), default=0.5)
        left = least / 1.15
        right = round_up(left * (max(x, 10 * least) / left) ** (1 / share))
    else:
        right = round_up(x / share) if x else 10.0
        left = -0.015 * right
    if not len(y):
        return Box(left, right, 1e-3 if log else 0.0, 1.0, log, height, log_x=log_x)
    low, high = float(y.min()), float(y.max())
    for value in nearby(grey, low, high, log):
        low, high = min(low, value), max(high, value)
    if log:
        return Box(left, right, low / 1.6, 1.6 * high, log, height, log_x=log_x)
    air = 0.08 * (high - low) or 0.05 * abs(high) or 0.5
    return Box(left, right, low - air, high + 1.3 * air, log, height, log_x=log_x)


def nearby(grey: Sequence[float], low: float, high: float, log: bool = False) -> list[float]:
    """The grey values worth stretching the picture for: within its height above or below it."""
    if log:
        return [value for value in grey if value > 0 and low / 100 <= value <= 100 * high]
    height = (high - low) or abs(high) or 1.0
    return [value for value in grey if low - height <= value <= high + height]


def place(
    view: Box, x: Sequence[float], y: Sequence[float], words: Sequence[str], right: Sequence[bool]
) -> list[float]:
    """Vertical shifts in pixels (up is negative, as Bokeh has it) for labels at (x, y), in the order given.

    right: whether a label ends at its x instead of beginning there. Earlier labels keep their place.
    """
    taken: list[tuple[float, float, float]] = []
    shifts = []
    for at_x, at_y, text, ends in zip(x, y, words, right, strict=True):
        px, py = view.pixel(at_x, at_y)
        width = LETTER * len(text) + 12
        left = px - width if ends else px
        tries = [0.0, *(sign * k * LINE for k in range(1, 12) for sign in (1, -1))]
        fits = [
            up for up in tries if not _covers(taken, left, left + width, py + up) and 0 <= py + up <= view.height - LINE
        ]
        up = fits[0] if fits else 0.0
        taken.append((left, left + width, py + up))
        shifts.append(-up)
    return shifts


def spread(view: Box, y: Sequence[float]) -> list[float]:
    """Vertical shifts in pixels, as `place` gives them, for labels right of lines that end at one x.

    From the top down the labels stand in the order of the ends.
    """
    wanted = np.array([view.pixel(view.right, value)[1] for value in y])
    order, highest = np.argsort(wanted, kind="stable"), view.height - LINE
    at = wanted[order]
    for k in range(1, len(at)):
        at[k] = max(at[k], at[k - 1] + LINE)
    for k in reversed(range(len(at))):  # and down again, where that went out of the picture
        at[k] = min(at[k], highest if k == len(at) - 1 else at[k + 1] - LINE)
    found = np.empty(len(at))
    found[order] = wanted[order] - at
    return found.tolist()


def with_room(marks: Mapping[str, list[Any]], rows: int) -> dict[str, list[Any]]:
    """Columns of words or marks, filled up to `rows` with what is not drawn.

    BokehJS takes new positions at once and new colours a moment later; if there are more than before, a picture painted
    between the two asks for colours that are not there. So the marks of a live picture are always as many.
    """
    return {key: [*column, *[_NOTHING[key]] * (rows - len(column))] for key, column in marks.items()}


def _covers(taken: Sequence[tuple[float, float, float]], left: float, right: float, y: float) -> bool:
    return any(left < r and right > lft and abs(y - other) < LINE for lft, r, other in taken)
