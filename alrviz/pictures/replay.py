"""A film as one HTML file: lines that grow along the steps, curves that move with them, a sentence, and nothing else.

The file asks no network and needs no Python: replay.html holds the player, a `Film` the numbers. What is drawn at a
step is everything up to it in full, the rest faintly. Names from data reach the page as text only: in the JSON every
sign that could end a script is written as an escape.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from alrviz.passes.room import Floats
from alrviz.pictures.palette import readable

# Steps of a film: what a screen can show, and 6 racers stay far below 5 MB.
STEPS = 600
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """What the lines go along.

    word: on its button. label: below it. log: whether it is logarithmic. falling: whether it falls from left to right.
    """

    word: str
    label: str
    log: bool = False
    falling: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a film.

    name: at its end. light, dark: its colour on either ground. x: its places along each axis, (S,), NaN beyond its end.
    """

    name: str
    light: str
    dark: str
    x: Sequence[Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the lines may show.

    label: of the vertical axis. short: heads the column of numbers. log: whether its axis is logarithmic. train,
    heldout: (S,) for each line, None where it has none. grey: levels drawn across, by their words.
    """

    label: str
    short: str
    log: bool
    train: Sequence[Floats | None]
    heldout: Sequence[Floats | None]
    grey: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A small picture whose curves change with the step.

    x: (G,) places, or None with `levels` (G,). frames: (S, K, G). low, high: the heights shown. colours: of the K
    curves; a single one has the colour of text. rug: values of some rows and their classes. notes: one a step.
    """

    name: str
    frames: Floats
    low: float
    high: float
    colours: Sequence[str]
    x: Floats | None = None
    levels: Sequence[str] = ()
    rug: Sequence[tuple[float, int]] = ()
    rug_colours: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """Everything that is shown.

    counted: what a step is called. steps: (S,) their numbers. sentences: (place, words), each from its place on.
    measure: the view that is shown first. about: where it comes from.
    """

    title: str
    counted: str
    steps: Floats
    sentences: Sequence[tuple[int, str]]
    axes: Sequence[Axis]
    lines: Sequence[Line]
    views: Sequence[View]
    measure: int = 0
    panels: Sequence[Panel] = ()
    about: Sequence[str] = ()


def replay_html(film: Film) -> str:
    """Return the page that plays a film."""
    template = (files("alrviz.pictures") / "replay.html").read_text(encoding="utf-8")
    text = json.dumps(_content(film), separators=(",", ":"), allow_nan=False, ensure_ascii=True).translate(_ESCAPES)
    before, rest = template.split("{{title}}")
    middle, after = rest.split("{{data}}")
    return f"{before}{escape(film.title)}{middle}{text}{after}"


def kept_steps(last: int, ends: Sequence[int] = (), most: int = STEPS) -> np.ndarray:
    """Return which of the steps 0..last a film shows: all, or evenly spaced ones and where lines end.

    >>> kept_steps(10, [7], most=4)
    array([ 0,  3,  7, 10])
    """
    if last < most:
        return np.arange(last + 1)
    even = np.linspace(0, last, most).round().astype(int)
    return np.union1d(even, np.array([end for end in ends if 0 <= end <= last], dtype=int))


def _content(film: Film) -> dict[str, Any]:
    return {
        "title": film.title,
        "counted": film.counted,
        "steps": _numbers(film.steps),
        "sentences": film.sentences,
        "axes": [asdict(axis) for axis in film.axes],
        "measure": film.measure,
        "about": film.about,
        "lines": [
            {
                "name": line.name, "light": line.light, "dark": line.dark, "lightText": readable(line.light),
                "darkText": readable(line.dark, dark=True), "x": [_numbers(x) for x in line.x],
            }
            for line in film.lines
        ],
        "measures": [
            {
                "label": view.label, "short": view.short, "log": view.log, "grey": list(view.grey.items()),
                "lines": [{"y": _numbers(y), "held": _numbers(held)}
                          for y, held in zip(view.train, view.heldout, strict=True)],
            }
            for view in film.views
        ],
        "panels": [_panel(panel) for panel in film.panels],
    }  # fmt: skip


def _panel(panel: Panel) -> dict[str, Any]:
    places = panel.levels if panel.x is None else panel.x
    return {
        "name": panel.name,
        "x": _numbers(np.arange(len(places)) if panel.x is None else panel.x),
        "levels": list(panel.levels) if panel.x is None else None,
        "frames": [[_numbers(curve, 4) for curve in step] for step in panel.frames],
        "low": panel.low,
        "high": panel.high,
        "colours": panel.colours,
        "rug": [[*_numbers([value]), int(code)] for value, code in panel.rug],
        "rugColours": panel.rug_colours,
        "notes": panel.notes,
    }


def _numbers(values: Any, digits: int = _DIGITS) -> list[float | int | None]:
    """Numbers with the digits a picture needs; what is not finite is null."""
    if values is None:
        return []
    found: list[float | int | None] = []
    for value in np.asarray(values, float).tolist():
        number = float(f"{value:.{digits}g}")
        if number - number != 0:
            found.append(None)
        else:
            found.append(int(number) if number.is_integer() and abs(number) < 1e15 else number)
    return found
