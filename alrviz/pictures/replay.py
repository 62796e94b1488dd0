"""A film as one HTML file: lines that grow along the steps, curves that move with them, a sentence, and nothing else.

The file asks no network and needs no Python: replay.html holds the player, a `Film` the numbers. What is drawn at a
step is everything up to it in full, the rest faintly. Names from data reach the page as text only: in the JSON every
sign that could end a script is written as an escape. The same page without a film asks its own server for one that
still grows (`ReplayDelta` says what it gets).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from alrviz.passes.aligned_buffers import Floats
from alrviz.pictures.palette import readable
from alrviz.pictures.replay_map import Ground, ground_content
from alrviz.studies.statistics.verdict import Verdict

# Steps of a film: what a screen can show, and 6 racers stay far below 5 MB.
STEPS = 1000
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_DIGITS = 6
_MAX_DIFFERENCE_DIGITS = 15  # digits of values whose difference to others is shown
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class ReplayAxis:
    """Horizontal axis of the lines.

    word: on its button. label: below it. log: whether it is logarithmic. falling: whether it falls from left to right.
    """

    word: str
    label: str
    log: bool = False
    falling: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayLine:
    """One line of a film.

    name: at its end. light, dark: its colour on either ground. x: its places along each axis, (S,), NaN beyond its end.
    """

    name: str
    light: str
    dark: str
    x: Sequence[Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Measure that the lines may show.

    label: of the vertical axis. short: heads the column of numbers. log: whether its axis is logarithmic. train,
    heldout: (S,) for each line, None where it has none. less: what the player takes from each line's values, () for
    nothing: a level that moves with a film that grows. floor: below it nothing is drawn but at it, 0 for nothing.
    grey: levels drawn across, by their words. along: labels of the axes, where they are not the film's.
    """

    label: str
    short: str
    log: bool
    train: Sequence[Floats | None]
    heldout: Sequence[Floats | None]
    less: Sequence[float] = ()
    floor: float = 0.0
    grey: Mapping[str, float] = field(default_factory=dict)
    along: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPanel:
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
    """Data of a film.

    counted: what a step is called. steps: (S,) their numbers. verdicts: (place, verdict), each from its place on.
    measure: the view that is shown first. ground: a map beside the lines. about: where it comes from.

    Its places are whole numbers from 0 to S - 1.
    """

    title: str
    counted: str
    steps: Floats
    verdicts: Sequence[tuple[int, Verdict]]
    axes: Sequence[ReplayAxis]
    lines: Sequence[ReplayLine]
    views: Sequence[View]
    measure: int = 0
    panels: Sequence[ReplayPanel] = ()
    ground: Ground | None = None
    about: Sequence[str] = ()


def replay_html(film: Film) -> str:
    """Return the page that plays a film."""
    return _page(film.title, script_json(content(film)), _POLICY)


def replay_template() -> str:
    """Return the page that plays a film, with {{data}} in place of its data (`content`, as JSON without "<")."""
    return _page("Film", "{{data}}", _POLICY)


def script_json(value: Any) -> str:
    """Return a value as JSON that can be written into a script of a page."""
    return to_json(value).translate(_ESCAPES)


def live_html(title: str, section: str = "", script: str = "") -> str:
    """Return the page with this title that plays a film from its own server, at the page's address + "/steps".

    section: HTML above the picture; script: JavaScript that runs before the page starts to listen.
    """
    return _page(title, "null", f"{_POLICY}; connect-src 'self'", section, script)


def _page(title: str, data: str, policy: str, section: str = "", script: str = "") -> str:
    template = (files("alrviz.pictures") / "replay.html").read_text(encoding="utf-8")
    return fill_template(template, policy=policy, title=escape(title), data=data, section=section, script=script)


def fill_template(template: str, **texts: str) -> str:
    """Return a template with texts in their places, such as {{title}}; places inside of the texts stay as they are."""
    return re.sub(r"{{(\w+)}}", lambda place: texts[place[1]], template)


def to_json(value: Any) -> str:
    """Return a value as JSON in plain ASCII; raise ValueError for numbers that are not finite."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def kept_steps(last: int, ends: Sequence[int] = (), max_steps: int = STEPS) -> np.ndarray:
    """Return which of the steps 0..last a film shows: every 1st, 2nd, 4th, .., so that at most `max_steps` remain.

    So those of a film that grows stay until half of them go. Where lines end is always shown.

    >>> kept_steps(10, [7], max_steps=4)
    array([ 0,  4,  7,  8, 10])
    """
    stride = 1
    while last // stride >= max_steps:
        stride *= 2
    return np.union1d(np.arange(0, last + 1, stride), np.array([end for end in (*ends, last) if 0 <= end <= last], int))


def content(film: Film, first: int = 0) -> dict[str, Any]:
    """Return a film's data, with the steps from place `first` on.

    The keys of `COLUMNS` hold the numbers a step, () where a line has none.
    """
    step_slice = slice(first, None)
    return {
        "title": film.title,
        "counted": film.counted,
        "steps": _rounded_numbers(film.steps[step_slice]),
        "verdicts": [[place, verdict.headline, verdict.detail] for place, verdict in film.verdicts],
        "axes": [asdict(axis) for axis in film.axes],
        "measure": film.measure,
        "about": film.about,
        "lines": [
            {
                "name": line.name, "light": line.light, "dark": line.dark, "lightText": readable(line.light),
                "darkText": readable(line.dark, dark=True), "x": [_rounded_numbers(x[step_slice]) for x in line.x],
            }
            for line in film.lines
        ],
        "measures": [
            {
                "label": view.label, "short": view.short, "log": view.log,
                "grey": [[text, *_rounded_numbers([level])] for text, level in view.grey.items()],
                "less": _rounded_numbers(view.less, _MAX_DIFFERENCE_DIGITS),
                "floor": view.floor,
                "along": view.along or [axis.label for axis in film.axes],
                "lines": [{"y": _rounded_numbers(y, _MAX_DIFFERENCE_DIGITS if view.less else _DIGITS, step_slice),
                           "held": _rounded_numbers(heldout, step_slice=step_slice)}
                          for y, heldout in zip(view.train, view.heldout, strict=True)],
            }
            for view in film.views
        ],
        "panels": [_panel(panel) for panel in film.panels],
        "ground": None if film.ground is None else ground_content(film.ground),
    }  # fmt: skip


COLUMNS = ("steps", "x", "y", "held")


def _panel(panel: ReplayPanel) -> dict[str, Any]:
    panel_places = panel.levels if panel.x is None else panel.x
    return {
        "name": panel.name,
        "x": _rounded_numbers(np.arange(len(panel_places)) if panel.x is None else panel.x),
        "levels": list(panel.levels) if panel.x is None else None,
        "frames": [[_rounded_numbers(curve, 4) for curve in step_curves] for step_curves in panel.frames],
        "low": panel.low,
        "high": panel.high,
        "colours": panel.colours,
        "rug": [[*_rounded_numbers([value], 4), int(code)] for value, code in panel.rug],
        "rugColours": panel.rug_colours,
        "notes": panel.notes,
    }


def _rounded_numbers(values: Any, digits: int = _DIGITS, step_slice: slice = slice(None)) -> list[float | int | None]:
    """Return the values of a slice of steps, rounded to the digits that a picture needs; None if not finite."""
    if values is None:
        return []
    rounded_numbers: list[float | int | None] = []
    for value in np.asarray(values, float)[step_slice].tolist():
        rounded = float(f"{value:.{digits}g}")
        if rounded - rounded != 0:
            rounded_numbers.append(None)
        else:
            rounded_numbers.append(int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded)
    return rounded_numbers
