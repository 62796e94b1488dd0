"""Colours: one a family everywhere, and another hue for every further racer of the same family.

Okabe and Ito's colours, told apart by colour-blind readers and legible on white and on near black. Which colours are
alike is measured in CIE 1976 L*a*b*, as readers see them who see all colours, no green or no red. The marker along a
line tells racers apart a second time.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import cbrt, dist
from typing import Any

from alrviz.fitting.families import FAMILIES
from alrviz.fitting.families.family import GREY

# Of each label that a family gives out. Six hues for the rivals that no colour-blind reader confounds do not exist: of
# all pairs with one of these the nearest (rf and alr, seen without red) are 15 apart in Lab, and each racer has a mark
# of its own beside.
FAMILY_COLOURS = {label: colour for definition in FAMILIES.values() for label, colour in definition.colours.items()}
# Of columns, where classes have colours of their own beside them: hues that no class and no family has.
COLUMN_COLOURS = ("#6F42C1", "#7D8200", "#8A1C4A", "#7A4B2A", "#4A6A7A", "#A3299A", "#4E6B1F")
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex")
_SIGNS = "●■▲◆▼⬢"
# Mix with white if positive, with black if negative; on a dark ground darker colours would be invisible.
_TINTS = (0.0, 0.45, -0.3, 0.7, -0.8, 0.22)
_TINTS_ON_DARK = (0.1, 0.5, 0.3, 0.7, -0.1, 0.85)
INKS = {False: "#1d1d24", True: "#eceaf3"}  # of lines without a class, on a light and on a dark ground
GROUNDS = {False: "#ffffff", True: "#1b1c22"}
# How words are drawn that may lie over lines, dots or error bars: in front of them, on the ground's own colour.
IN_FRONT: dict[bool, dict[str, Any]] = {
    dark: {"background_fill_color": ground, "background_fill_alpha": 0.8, "padding": 1, "level": "overlay"}
    for dark, ground in GROUNDS.items()
}
MIN_TEXT_CONTRAST = 4.5  # contrast of text with its ground, as WCAG asks for
MIN_LINE_CONTRAST = {False: 2.2, True: 2.6}  # contrast of a line with a light and with a dark ground
# Hues for racers whose family's colour is taken; lr's is not among them, as most races have an lr.
_SPARE_COLOURS = ("#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#882255", "#7D8200", "#44AA99", "#7A4B2A", "#332288")
_MIN_DIFFERENCE = 18.0  # in Lab: of two colours that are nearer one is replaced
# Perceived linear RGB by Machado, Oliveira and Fernandes (2009), severity 1: normal vision, no green, no red.
_SIGHTS = (
    ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
)
# From linear RGB to XYZ, each row divided by the white point's.
_XYZ = (
    (0.4339499, 0.3762098, 0.1898403), (0.2126729, 0.7151522, 0.0721750), (0.0177567, 0.1094698, 0.8727735)
)  # fmt: skip


def family_colour(label: str) -> str:
    """Return the colour of a family's label, grey for an unknown one."""
    return FAMILY_COLOURS.get(label, GREY)


def racer_marks(n_racers: int) -> list[tuple[str, str]]:
    """A mark a racer, as Bokeh names it and as a letter; they begin again where there are more racers than marks."""
    return [(MARKERS[k % len(MARKERS)], _SIGNS[k % len(MARKERS)]) for k in range(n_racers)]


def shade(colour: str, tint: float) -> str:
    """Mix `colour` (#rrggbb) with white (`tint` up to 1) or with black (down to -1)."""
    full_channel = 255 if tint > 0 else 0
    channels = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(channel + abs(tint) * (full_channel - channel)):02X}" for channel in channels)


def readable(colour: str, dark: bool = False) -> str:
    """Return the colour as words need it: mixed with black, or with white on a dark ground, until it can be read."""
    ground, toward = GROUNDS[dark], 1 if dark else -1
    mixed = (shade(colour, toward * k / 20) for k in range(21))
    return next(ink for ink in mixed if contrast(ink, ground) >= MIN_TEXT_CONTRAST)


def on_ground(colour: str, amount: float, dark: bool = False) -> str:
    """Return how a colour (#rrggbb) of opacity `amount`, from 0 to 1, looks on the light or `dark` ground."""
    channels = ((int(hex_colour[k : k + 2], 16) for hex_colour in (GROUNDS[dark], colour)) for k in (1, 3, 5))
    return "#" + "".join(
        f"{round(ground_channel + amount * (colour_channel - ground_channel)):02X}"
        for ground_channel, colour_channel in channels
    )


def ink_on(colour: str) -> str:
    """Return black or white, whichever reads better on a colour; on some both of INKS are below MIN_TEXT_CONTRAST."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


def contrast(colour: str, other_colour: str) -> float:
    """Return the contrast of one colour with other_colour as WCAG 2 defines it, from 1 to 21."""
    darker, lighter = sorted(map(_luminance, (colour, other_colour)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    linear = _linear(colour)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _linear(colour: str) -> list[float]:
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return [channel / 12.92 if channel <= 0.03928 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]


@lru_cache(maxsize=1024)
def difference(first: str, second: str) -> float:
    """Return the distance of the colours in Lab, the least over normal and colour-blind sight."""
    return min(dist(*(_lab(colour, sight) for colour in (first, second))) for sight in _SIGHTS)


def _lab(colour: str, sight: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    linear_rgb = _linear(colour)
    perceived = [min(max(sum(map(float.__mul__, row, linear_rgb)), 0.0), 1.0) for row in sight]
    relative_xyz = (sum(map(float.__mul__, row, perceived)) for row in _XYZ)
    x, y, z = (cbrt(ratio) if ratio > 0.008856 else 7.787 * ratio + 16 / 116 for ratio in relative_xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def racer_colours(labels: Sequence[str], dark: bool = False) -> list[str]:
    """Return a colour for each racer by its label, its family's or a distinct one if that is taken.

    dark: whether the ground is dark.
    """
    return list(_racer_colours(tuple(labels), dark))


@lru_cache(maxsize=256)
def _racer_colours(labels: tuple[str, ...], dark: bool) -> tuple[str, ...]:
    family_colours = [_line_colour(family_colour(label), dark) for label in labels]
    spare_colours = [INKS[dark], *(_line_colour(colour, dark) for colour in _SPARE_COLOURS)]
    spare_colours = [colour for colour in spare_colours if contrast(colour, GROUNDS[dark]) >= MIN_LINE_CONTRAST[dark]]
    colours: list[str] = []
    for k, colour in enumerate(family_colours):
        if all(difference(colour, taken) >= _MIN_DIFFERENCE for taken in colours):
            colours.append(colour)
            continue
        taken_colours = {*colours, *family_colours[k + 1 :]}
        colours.append(max(spare_colours, key=lambda spare: min(difference(spare, taken) for taken in taken_colours)))
    return tuple(colours)


def _line_colour(colour: str, dark: bool) -> str:
    """Return a colour as lines need it: on a dark ground a little lighter."""
    tints = (0.1, 0.35, 0.5) if dark else (0.0,)
    return next(
        (
            lit
            for lit in (shade(colour, tint) for tint in tints)
            if contrast(lit, GROUNDS[dark]) >= MIN_LINE_CONTRAST[dark]
        ),
        colour,
    )


def family_shades(label: str, number: int, dark: bool = False) -> list[str]:
    """Return `number` shades of the colour of the family `label`, for parts of a model with an order, as its orders.

    dark: whether the ground is dark.
    """
    tints = _TINTS_ON_DARK if dark else _TINTS
    return [shade(family_colour(label), tints[k % len(tints)]) for k in range(number)]
