"""Ours beside a paper's, to be saved: a panel a set with a line a method, or lines over rows; SVG text.

Filled: ours, with a bar of one standard deviation over the splits, green where it agrees with the paper, pale blue
where it is compatible, red where it differs, blue where there is no verdict. Hollow: the paper's.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import ceil, floor, log10

import numpy as np
import pandas as pd

from alrviz.pictures.palette import FAMILY_COLOURS, GREY
from reproduction import judge
from reproduction.svg import line, page, text

WIDTH, LABEL, VALUES, ROW, HEAD, GAP = 1080, 230, 118, 16, 46, 14
PANELS_ACROSS = 2  # panels side by side
LETTER = 6.3  # pixels of a letter of a label
AGREES, COMPATIBLE, DIFFERS, NO_VERDICT, PAPER = "#009e73", "#56b4e9", "#d55e00", "#0072b2", "#8a6d00"
_COLOURS = {judge.AGREES: AGREES, judge.COMPATIBLE: COMPATIBLE, judge.DIFFERS: DIFFERS}
HEIGHT, MARGIN = 420, 70  # of the picture of lines
_LINE_COLOURS = (FAMILY_COLOURS["lr"], FAMILY_COLOURS["alr"], FAMILY_COLOURS["adaptive"], FAMILY_COLOURS["alrj"], GREY)

Scale = Callable[[float], float]


def dots(
    table: pd.DataFrame,
    title: str,
    labels: Mapping[str, str],
    *,
    log: bool | Collection[str] = False,
    panels_across: int = PANELS_ACROSS,
    label: float = LABEL,
) -> str:
    """Return the picture of a table with columns set, method, paper, ours, sd, verdict; `labels` by method.

    log: whether axes are logarithmic, or the sets whose axis is. panels_across: panels side by side. label: pixels of
    labels.
    """
    sets = list(dict.fromkeys(table["set"]))
    heights = [HEAD + ROW * int((table["set"] == name).sum()) + GAP for name in sets]
    rows = [max(heights[k : k + panels_across]) for k in range(0, len(sets), panels_across)]
    width = WIDTH / panels_across
    parts = [text(title, 12, 22, kind="title"), *_legend(12, 42)]
    for k, name in enumerate(sets):
        corner = (width * (k % panels_across), 50 + sum(rows[: k // panels_across]))
        own_log = log if isinstance(log, bool) else name in log
        parts += _panel(table[table["set"] == name], name, labels, corner, (width, label), own_log)
    return page(parts, WIDTH, 50 + sum(rows))


def _legend(x: float, y: float) -> list[str]:
    parts = []
    for words, colour in (
        ("ours, agrees", AGREES),
        ("ours, compatible", COMPATIBLE),
        ("ours, differs", DIFFERS),
        ("ours alone", NO_VERDICT),
    ):
        parts += [_dot(x + 5, y - 4, colour), text(words, x + 14, y, kind="quiet")]
        x += 125
    return [*parts, _diamond(x + 5, y - 4), text("paper", x + 14, y, kind="quiet")]


def _fitting(words: str, width: float) -> str:
    """Cut words to `width` pixels; the beginning is kept, by which labels differ."""
    max_letters = int(width / LETTER)
    return words if len(words) <= max_letters else f"{words[: max_letters - 1]}\N{HORIZONTAL ELLIPSIS}"


def _panel(
    table: pd.DataFrame,
    name: str,
    labels: Mapping[str, str],
    corner: tuple[float, float],
    widths: tuple[float, float],
    log: bool,
) -> list[str]:
    (left, top), (width, label) = corner, widths
    values = table[["ours", "paper"]].to_numpy(float)
    place, ticks = _axis(values[np.isfinite(values)], (left + label, left + width - VALUES), log)
    bottom = top + HEAD + ROW * len(table)
    parts = [text(name, left + 12, top + 16, kind="title")]
    for tick in ticks:
        x = place(tick)
        parts += [line((x, x), (top + 36, bottom)), text(_tick(tick), x, top + 32, kind="quiet", anchor="middle")]
    for k, row in enumerate(table.to_dict("records")):
        y = top + HEAD + ROW * k + ROW / 2
        words = _fitting(labels.get(row["method"], row["method"]), label - 10)
        parts.append(text(words, left + label - 10, y + 4, anchor="end"))
        parts += _marks(row, y, place, log)
        parts.append(text(_numbers(row), left + width - VALUES + 12, y + 4, kind="quiet"))
    return parts


def _marks(row: Mapping[str, object], y: float, place: Scale, log: bool) -> list[str]:
    our_value, paper, sd = (float(str(row[name])) for name in ("ours", "paper", "sd"))
    parts = []
    if np.isfinite(our_value):
        colour = _COLOURS.get(str(row["verdict"]), NO_VERDICT)
        if np.isfinite(sd) and not log:
            parts.append(line((place(our_value - sd), place(our_value + sd)), (y, y), colour, 1.5))
        parts.append(_dot(place(our_value), y, colour))
    if np.isfinite(paper):
        parts.append(_diamond(place(paper), y))
    return parts


def _numbers(row: Mapping[str, object]) -> str:
    our_value, paper = (float(str(row[name])) for name in ("ours", "paper"))
    numbers = " | ".join(_short(value) for value in (our_value, paper) if np.isfinite(value))
    return numbers if np.isfinite(our_value) else f"no data | {numbers}"


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"


def _tick(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value / 1000:,.4g}k"


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def _diamond(x: float, y: float) -> str:
    corners = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f} {x - 5:.1f},{y:.1f}"
    return f'<polygon class="hollow" points="{corners}" style="stroke:{PAPER};stroke-width:1.5"/>'


def _axis(values: np.ndarray, ends: tuple[float, float], log: bool) -> tuple[Scale, Sequence[float]]:
    """Return the place of a value between `ends`, clipped to them, and the ticks."""
    if log:
        values = values[values > 0]
    low, high = (float(values.min()), float(values.max())) if len(values) else (1.0, 10.0)
    if log:
        first = floor(log10(low))
        last = max(first + 1, ceil(log10(high) - 1e-9))
        low, high = 10.0**first, 10.0**last
        ticks = [10.0**power for power in range(first, last + 1)]
    else:
        margin = 0.08 * (high - low) or abs(high) or 1.0
        low, high = low - margin, high + margin
        step = _step((high - low) / 4)
        ticks = [step * k for k in range(ceil(low / step), floor(high / step) + 1)]

    def place(value: float) -> float:
        share = (log10(max(value, low)) - log10(low)) / log10(high / low) if log else (value - low) / (high - low)
        return ends[0] + (ends[1] - ends[0]) * min(1.0, max(0.0, share))

    return place, ticks


def _step(rough: float) -> float:
    """The number 1, 2 or 5 times a power of ten next to `rough`."""
    power = 10.0 ** floor(log10(rough))
    return min((power * unit for unit in (1, 2, 5, 10)), key=lambda step: abs(log10(step / rough)))


def lines(table: pd.DataFrame, title: str, labels: Mapping[str, str]) -> str:
    """Return the picture of ours over rows, a line a method, both axes logarithmic; lines end where they gave up."""
    points = table[table["ours"].notna()]
    place_x, x_ticks = _axis(points["rows"].to_numpy(float), (MARGIN, WIDTH - 230), log=True)
    place_y, y_ticks = _axis(points["ours"].to_numpy(float), (HEIGHT - MARGIN, 44), log=True)
    parts = [text(title, 12, 22, kind="title")]
    for tick in x_ticks:
        tick_x = place_x(tick)
        parts.append(line((tick_x, tick_x), (44, HEIGHT - MARGIN)))
        parts.append(text(_tick(tick), tick_x, HEIGHT - MARGIN + 18, kind="quiet", anchor="middle"))
    for tick in y_ticks:
        parts.append(line((MARGIN, WIDTH - 230), (place_y(tick), place_y(tick))))
        parts.append(text(f"{tick:g} s", MARGIN - 6, place_y(tick) + 4, kind="quiet", anchor="end"))
    parts.append(text("rows", (MARGIN + WIDTH - 230) / 2, HEIGHT - MARGIN + 38, anchor="middle"))
    ends = []
    for k, (method, rows) in enumerate(points.groupby("method", sort=False)):
        colour = FAMILY_COLOURS.get(str(method), _LINE_COLOURS[k % len(_LINE_COLOURS)])
        spots = [(place_x(n), place_y(s)) for n, s in zip(rows["rows"], rows["ours"], strict=True)]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{joined}" style="fill:none;stroke:{colour};stroke-width:2"/>')
        parts += [_dot(x, y, colour) for x, y in spots]
        ends.append((spots[-1][1], spots[-1][0], colour, labels.get(str(method), str(method))))
    label_y: dict[float, float] = {}
    for y, x, colour, words in sorted(ends):  # from the top, each a line of text below the one before at the same end
        label_y[x] = max(y, label_y.get(x, 0.0) + ROW)
        parts += [_dot(x + 16, label_y[x], colour), text(words, x + 26, label_y[x] + 4)]
    return page(parts, WIDTH, HEIGHT)
