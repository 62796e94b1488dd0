"""Layout of pictures: ranges that change seldom, and labels at the ends of lines that do not overlap.

Ranges are worked out here, not by the browser, so that a live picture rests: the horizontal axis ends at a round number
and grows only when a line comes near it. Labels are placed in pixels of a picture of known or assumed size: of the
places a few lines of text above and below its own, each gets one such that the sum of these costs is small.

    a line of text away from its point                      1
    above a label whose point is above its own, or below    INVERTED
    over another label                                      COVERED
    over a line of the picture                              CROSSED, and ALONG times the share of its width
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.pictures.palette import GREY

WIDTH, HEIGHT = 575, 230  # assumed pixels of the drawing frame: those of a window of 1280x720
_ROUND = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)
_MANTISSAS, _MIN_TICKS, _MAX_TICKS = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)), 3, 7  # of `log_ticks`
LINE, LETTER = 19, 8.2  # height of a line of text and width of a letter, in pixels
LEGEND_SAMPLE_PX = 38  # px of a legend's entry beside its words
INVERTED, COVERED, CROSSED, ALONG = 1.5, 40.0, 0.6, 2.4
STIFF = 3.0  # as dear is a line away from a level across the whole picture: by place alone it tells whose its words are
_STEPS = np.array([0.0, *(sign * k / 2 for k in range(1, 23) for sign in (1, -1))]) * LINE
_BEAM_WIDTH = 3  # ways to place the labels before, for each place of the last one
_BIN_PX = 5.0  # px across, in which a line has one lowest and one highest place
_EDGE_PX = 3.0  # px above and below letters that a line may touch
_INVISIBLE: Mapping[str, Any] = {
    "x": math.nan, "y": math.nan, "words": "", "colour": GREY, "align": "left", "dx": 0, "dy": 0.0, "style": "normal",
    "marker": "circle",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class VisibleArea:
    """The visible area: x from `left` to `right`, y from `bottom` to `top`, y logarithmic or not.

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
        """Return the position of the point (x, y) in pixels of the assumed frame, from its lower left corner."""
        across, up = self.pixels(np.array([x]), np.array([y]))
        return float(across[0]), float(up[0])

    def pixels(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the positions of points, x and y (n,), as `pixel` does."""
        return (
            self.width * _share(x, self.left, self.right, self.log_x),
            self.height * _share(y, self.bottom, self.top, self.log),
        )

    @property
    def begin(self) -> float:
        """Return where horizontal lines start: at 0, or at the lower end of a logarithmic axis."""
        return self.left if self.log_x else 0.0


def _share(values: NDArray[np.float64], low: float, high: float, log: bool) -> NDArray[np.float64]:
    if log:
        values, low, high = np.log(np.maximum(values, low)), math.log(low), math.log(high)
    return (values - low) / (high - low)


def round_up(x: float) -> float:
    """Return the next round number from x on: an axis that ends there grows seldom. 1 if x is not above 0."""
    if not math.isfinite(x) or x <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(x))
    return next((mantissa * power for mantissa in _ROUND if mantissa * power >= x * (1 - 1e-12)), 10 * power)


def log_ticks(low: float, high: float) -> list[float]:
    """Return round numbers from `low` to `high` for a logarithmic axis, at most seven.

    Bokeh's own ticker turns to equal steps below two decades: 1, 1.5, 2, 2.5, and none below 0.5. Here steps are equal
    only where fewer than three of the usual numbers fit.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for mantissas in _MANTISSAS:
        round_numbers = [float(f"{mantissa}e{power}") for power in powers for mantissa in mantissas]
        ticks = [number for number in round_numbers if low <= number <= high]
        if len(ticks) <= _MAX_TICKS:
            break
    if len(ticks) >= _MIN_TICKS:
        return ticks[:: -(-len(ticks) // _MAX_TICKS)]
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    ticks = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return ticks[:: -(-len(ticks) // _MAX_TICKS)]


def box(
    xs: Iterable[np.ndarray],
    ys: Iterable[np.ndarray],
    grey: Sequence[float] = (),
    log: bool = False,
    words: Sequence[str] = (),
    height: int = HEIGHT,
    log_x: bool = False,
) -> VisibleArea:
    """Return the ranges of both axes that show all points, and those of the horizontal grey lines that lie near the
    points.

    xs, ys: arrays of each curve; grey: heights of the grey lines; words: labels that need room on the right; log,
    log_x: logarithmic axes (y <= 0 is left out); height: assumed pixels of the drawing frame.
    """
    xs = [curve_values for curve_values in xs if len(curve_values)]
    x = max((float(curve_values.max()) for curve_values in xs), default=0.0)
    y = np.concatenate([np.asarray(curve_values, float) for curve_values in (*ys, [])])
    y = y[np.isfinite(y) & (y > 0 if log else True)]
    label_room = max([0.1 * WIDTH, *(LETTER * len(text) + 12 for text in words)])
    lines_share = 1 - min(label_room / WIDTH, 0.3)  # of the width, for the lines
    if log_x:
        lowest = min((float(curve_values.min()) for curve_values in xs), default=0.5)
        left = lowest / 1.15
        right = round_up(left * (max(x, 10 * lowest) / left) ** (1 / lines_share))
    else:
        right = round_up(x / lines_share) if x else 10.0
        left = -0.015 * right
    if not len(y):
        return VisibleArea(left, right, 1e-3 if log else 0.0, 1.0, log, height, log_x=log_x)
    y_low, y_high = float(y.min()), float(y.max())
    for value in nearby(grey, y_low, y_high, log):
        y_low, y_high = min(y_low, value), max(y_high, value)
    if log:
        return VisibleArea(left, right, y_low / 1.6, 1.6 * y_high, log, height, log_x=log_x)
    air = 0.08 * (y_high - y_low) or 0.05 * abs(y_high) or 0.5
    return VisibleArea(left, right, y_low - air, y_high + 1.3 * air, log, height, log_x=log_x)


def nearby(grey: Sequence[float], low: float, high: float, log: bool = False) -> list[float]:
    """Return the grey lines near the range from `low` to `high`, which is widened to show them.

    Near: at most the length of the range away; on a logarithmic axis (`log`), a factor of 100.
    """
    if log:
        return [value for value in grey if value > 0 and low / 100 <= value <= 100 * high]
    range_height = (high - low) or abs(high) or 1.0
    return [value for value in grey if low - range_height <= value <= high + range_height]


@dataclass(frozen=True, slots=True)
class Crossing:
    """A line that labels should leave free.

    x, y: (n,) its points, x rising. weight: cost of a label on it, relative to one on a racer's line.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: float = 1.0


def place(
    view: VisibleArea,
    x: Sequence[float],
    y: Sequence[float],
    words: Sequence[str],
    right: Sequence[bool],
    lines: Sequence[Crossing] = (),
    levels: int = 0,
) -> list[float]:
    """Return vertical shifts in pixels (up is negative, as in Bokeh) for the labels `words` of points at (x, y).

    view: the visible area. right: whether a label ends at its x instead of beginning there. lines: drawn lines
    that labels should not cover; leave out those that move, or labels would jump. levels: the number of labels, the
    first ones, that belong to horizontal lines across the picture.
    """
    if not words:
        return []
    label_pixels = np.array([view.pixel(*point) for point in zip(x, y, strict=True)])
    widths = LETTER * np.array([len(text) for text in words]) + 12
    left_ends = label_pixels[:, 0] - np.where(right, widths, 0.0)
    free_space = _FreeSpace(view, lines)
    # Levels first; then names that are above each other from the top down, as they will mostly stand: for every place
    # of the last one the best places of those before are followed.
    groups = _groups(left_ends, left_ends + widths, levels)
    label_order = sorted(range(len(words)), key=lambda k: (groups[k], -label_pixels[k, 1]))
    costs, low_by_label = np.zeros(1), np.full((1, len(words)), np.nan)
    for n_placed, label in enumerate(label_order):
        of_level = label < levels
        # Half a line off, words are struck through by their level; a whole one, rather under it than above.
        bottoms = label_pixels[label, 1] + (-_STEPS[_STEPS % LINE == 0] if of_level else _STEPS)
        is_inside = (bottoms >= 0) & (bottoms <= view.height - LINE)
        bottoms = (
            bottoms[is_inside] if is_inside.any() else np.clip(label_pixels[label, 1:], 0, max(view.height - LINE, 0))
        )
        priority = 1 + 1e-3 * (len(words) - label)  # of two that could stay, the first does
        cost = priority * (STIFF if of_level else 1.0) * np.abs(bottoms - label_pixels[label, 1]) / LINE
        total_costs = (
            costs[:, None] + cost + free_space.cost(left_ends[label], left_ends[label] + widths[label], bottoms)
        )
        for j in label_order[:n_placed]:
            if left_ends[label] < left_ends[j] + widths[j] and left_ends[j] < left_ends[label] + widths[label]:
                distance_above = bottoms - low_by_label[:, j : j + 1]
                total_costs += COVERED * (np.abs(distance_above) < LINE)
                if min(label, j) >= levels and abs(label_pixels[label, 1] - label_pixels[j, 1]) > 1:
                    total_costs += INVERTED * ((distance_above > 0) != (label_pixels[label, 1] > label_pixels[j, 1]))
        best_candidates = np.argsort(total_costs, axis=0, kind="stable")[:_BEAM_WIDTH].ravel()
        low_indices = np.tile(np.arange(len(bottoms)), len(best_candidates) // len(bottoms))
        costs, low_by_label = total_costs[best_candidates, low_indices], low_by_label[best_candidates]
        low_by_label[:, label] = bottoms[low_indices]
    return (label_pixels[:, 1] - low_by_label[costs.argmin()] + 0.0).tolist()


def _groups(left: NDArray[np.float64], right: NDArray[np.float64], levels: int) -> list[int]:
    """Return a group number for each label: 0 for the first `levels` labels; other labels that overlap horizontally,
    directly or through others, share a number.

    left, right: (n,) ends of the labels, px.
    """
    group_by_label, group_number, group_right = [0] * len(left), 0, -math.inf
    for label in sorted(range(levels, len(left)), key=lambda k: left[k]):
        if not left[label] < group_right:
            group_number += 1
        group_by_label[label], group_right = group_number, max(group_right, right[label])
    return group_by_label


class _FreeSpace:
    """The lowest and highest place of each line in pixels, for columns a few pixels wide."""

    def __init__(self, view: VisibleArea, lines: Sequence[Crossing]):
        bin_edges = np.arange(0.0, view.width + _BIN_PX, _BIN_PX)
        self._low, self._high = np.full((2, len(lines), len(bin_edges) - 1), np.nan)
        self._weight = np.array([line.weight for line in lines])
        for line_index, line in enumerate(lines):
            is_finite = np.isfinite(line.x) & np.isfinite(line.y)
            if is_finite.any():
                x_pixels, y_pixels = view.pixels(line.x[is_finite], line.y[is_finite])
                heights = np.interp(bin_edges, x_pixels, y_pixels, left=np.nan, right=np.nan)
                self._low[line_index] = np.minimum(heights[:-1], heights[1:])
                self._high[line_index] = np.maximum(heights[:-1], heights[1:])

    def cost(self, left: float, right: float, low_ends: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cost of a label from `left` to `right` at each of these lower ends."""
        if not len(self._weight):
            return np.zeros(len(low_ends))
        bins = slice(max(int(left / _BIN_PX), 0), max(int(np.ceil(right / _BIN_PX)), 1))
        text_bottom, text_top = (low_ends + edge_distance for edge_distance in (_EDGE_PX, LINE - _EDGE_PX))
        is_touched = (self._high[:, bins] > text_bottom[:, None, None]) & (self._low[:, bins] < text_top[:, None, None])
        covered_share = is_touched.sum(axis=2) * _BIN_PX / (right - left)
        return (self._weight * (CROSSED * is_touched.any(axis=2) + ALONG * covered_share)).sum(axis=1)


def legend_columns(words: Sequence[str], width: float) -> int:
    """Return how many entries (words) of a legend fit side by side in `width` px; columns are equally wide."""
    widths = [LEGEND_SAMPLE_PX + LETTER * len(text) for text in words]
    fits = (n for n in range(len(widths), 1, -1) if sum(max(widths[k::n]) for k in range(n)) <= width)
    return next(fits, 1)


def legend_rows(words: Sequence[str], width: float) -> int:
    """Return how many rows entries (words) of a legend need in `width` px; one for none."""
    return max(1, math.ceil(len(words) / legend_columns(words, width)))


def with_room(marks: Mapping[str, list[Any]], rows: int) -> dict[str, list[Any]]:
    """Return columns of labels or marks, padded to `rows` with invisible ones.

    BokehJS takes new positions at once and new colours a moment later; if there are more than before, a picture painted
    between the two asks for colours that are not there. So the marks of a live picture are always as many.
    """
    return {key: [*column, *[_INVISIBLE[key]] * (rows - len(column))] for key, column in marks.items()}
