"""Colours: one a family everywhere, shades of it for racers of the same family.

Okabe and Ito's colours, told apart by colour-blind readers and legible on white and on near black. A shade never
crosses into another family's hue, and the marker at the head of a line tells shades apart a second time.
"""

from collections import Counter
from collections.abc import Sequence

GREY = "#777777"
FAMILY_COLOURS = {
    "lr": "#D55E00",
    "alr": "#0072B2",
    "wanbiac": "#0072B2",
    "diagonal": "#E69F00",
    "dlr": "#009E73",
    "anje": GREY,
    "nb": GREY,
}
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex")
_TINTS = (0.0, 0.45, -0.35, 0.65, -0.55, 0.25)  # toward white where positive, toward black where negative


def family_colour(label: str) -> str:
    """The colour of a family's label, grey where a family has none of its own."""
    return FAMILY_COLOURS.get(label, GREY)


def shade(colour: str, tint: float) -> str:
    """Mix `colour` (#rrggbb) with white (`tint` up to 1) or with black (down to -1)."""
    target = 255 if tint > 0 else 0
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(part + abs(tint) * (target - part)):02X}" for part in parts)


def racer_colours(labels: Sequence[str]) -> list[str]:
    """One colour a racer: its family's, then shades of it for further racers of that colour."""
    seen: Counter[str] = Counter()
    colours = []
    for label in labels:
        base = family_colour(label)
        colours.append(shade(base, _TINTS[seen[base] % len(_TINTS)]))
        seen[base] += 1
    return colours
