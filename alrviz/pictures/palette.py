"""Colours: one a family everywhere, shades of it for racers of the same family.

Okabe and Ito's colours, told apart by colour-blind readers and legible on white and on near black. A shade never
crosses into another family's hue, and the marker at the head of a line tells shades apart a second time.
"""

from collections import Counter
from collections.abc import Sequence

from alrviz.fitting.families import FAMILIES
from alrviz.fitting.families.family import GREY

# Of each label that a family gives out. Six hues for the rivals that no colour-blind reader confounds do not exist: of
# all pairs with one of these the nearest (rf and alr, seen without red) are 15 apart in Lab, and each racer has a mark
# of its own beside.
FAMILY_COLOURS = {label: colour for family in FAMILIES.values() for label, colour in family.colours.items()}
# Of columns, where classes have colours of their own beside them: hues that no class and no family has.
COLUMN_COLOURS = ("#6F42C1", "#7D8200", "#8A1C4A", "#7A4B2A", "#4A6A7A", "#A3299A", "#4E6B1F")
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex")
_SIGNS = "●■▲◆▼⬢"
# Toward white where positive, toward black where negative; on a dark ground what is darker still cannot be seen.
_TINTS = (0.0, 0.45, -0.3, 0.7, -0.8, 0.22)
_TINTS_ON_DARK = (0.1, 0.5, 0.3, 0.7, -0.1, 0.85)
INKS = {False: "#1d1d24", True: "#eceaf3"}  # of lines without a class, on a light and on a dark ground
GROUNDS = {False: "#ffffff", True: "#1b1c22"}
READABLE = 4.5  # contrast of text with its ground, as WCAG asks for


def family_colour(label: str) -> str:
    """The colour of a family's label, grey where a family has none of its own."""
    return FAMILY_COLOURS.get(label, GREY)


def racer_marks(n_racers: int) -> list[tuple[str, str]]:
    """A mark a racer, as Bokeh names it and as a letter; they begin again where there are more racers than marks."""
    return [(MARKERS[k % len(MARKERS)], _SIGNS[k % len(MARKERS)]) for k in range(n_racers)]


def shade(colour: str, tint: float) -> str:
    """Mix `colour` (#rrggbb) with white (`tint` up to 1) or with black (down to -1)."""
    target = 255 if tint > 0 else 0
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(part + abs(tint) * (target - part)):02X}" for part in parts)


def readable(colour: str, dark: bool = False) -> str:
    """Return the colour as words need it: mixed with black, or with white on a dark ground, until it can be read."""
    ground, toward = GROUNDS[dark], 1 if dark else -1
    mixed = (shade(colour, toward * k / 20) for k in range(21))
    return next(found for found in mixed if contrast(found, ground) >= READABLE)


def on_ground(colour: str, amount: float, dark: bool = False) -> str:
    """Return what a colour (#rrggbb) so opaque, from 0 to 1, looks like on the ground."""
    channels = ((int(one[k : k + 2], 16) for one in (GROUNDS[dark], colour)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(a + amount * (b - a)):02X}" for a, b in channels)


def ink_on(colour: str) -> str:
    """Return black or white, whichever reads better on a colour; on some both of INKS are below READABLE."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, colour))


def contrast(one: str, other: str) -> float:
    """Contrast of two colours as WCAG 2 defines it, from 1 to 21."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def racer_colours(labels: Sequence[str], dark: bool = False) -> list[str]:
    """One colour a racer: its family's, then shades of it for further racers of that colour."""
    tints = _TINTS_ON_DARK if dark else _TINTS
    seen: Counter[str] = Counter()
    colours = []
    for label in labels:
        base = family_colour(label)
        colours.append(shade(base, tints[seen[base] % len(tints)]))
        seen[base] += 1
    return colours
