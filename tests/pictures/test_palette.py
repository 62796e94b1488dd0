"""Colours and marks of families, as readers see them who see all colours, no green or no red."""

from itertools import combinations

import numpy as np
import pytest

from alrviz.pictures.interactions import AGAINST_COLOUR, FOR_COLOUR, heat_map
from alrviz.pictures.palette import (
    FAMILY_COLOURS,
    GREY,
    GROUNDS,
    MIN_TEXT_CONTRAST,
    contrast,
    difference,
    family_shades,
    ink_on,
    on_ground,
    racer_colours,
    racer_marks,
)

RIVALS = ("tan", "kdb", "ande", "rf", "boosting", "svm")
# Linear RGB as it is seen: Machado, Oliveira and Fernandes (2009), severity 1.
SIGHTS = {
    "all": np.eye(3),
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(colour, sight):
    """CIE 1976 L*a*b* of a colour #rrggbb as it is seen."""
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = XYZ @ np.clip(np.asarray(SIGHTS[sight]) @ linear, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(seen > 0.008856, np.cbrt(seen), 7.787 * seen + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(("sight", "apart"), [("all", 20), ("no green", 15), ("no red", 15)])
def test_rivals_are_told_from_each_other_and_from_every_family(sight, apart):
    pairs = [pair for pair in combinations(FAMILY_COLOURS, 2) if set(pair) & set(RIVALS)]
    near = {(a, b): np.linalg.norm(lab(FAMILY_COLOURS[a], sight) - lab(FAMILY_COLOURS[b], sight)) for a, b in pairs}
    assert min(near.values()) > apart, min(near, key=near.get)


def test_no_rival_is_grey_and_all_are_seen_on_both_grounds():
    for name in RIVALS:
        assert FAMILY_COLOURS[name] != GREY
        assert min(contrast(FAMILY_COLOURS[name], ground) for ground in ("#ffffff", "#1b1c22")) > 2.2


def test_racers_that_are_fewer_than_the_marks_have_one_each():
    marks = racer_marks(8)
    assert len(set(marks[:6])) == 6
    assert marks[6:] == marks[:2]
    assert marks[:3] == [("circle", "●"), ("square", "■"), ("triangle", "▲")]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "labels",
    [["alr"] * 6, ["lr", "lr", "hlr"], ["lr", "hlr", "halr"], ["lr", "lr", "alr", "alr", "alr"],
     ["lr", "diagonal", "adaptive", "alr", "alrj"], ["elr"] * 4, ["salr", "hsalr"], ["anje", "nb", "lr"]],
)  # fmt: skip
def test_racers_are_told_apart_by_every_reader_whatever_their_families(labels, dark):
    colours = racer_colours(labels, dark)
    assert min(contrast(colour, GROUNDS[dark]) for colour in colours) >= 2.2
    for sight in SIGHTS:
        near = min(np.linalg.norm(lab(a, sight) - lab(b, sight)) for a, b in combinations(colours, 2))
        assert near >= 18, (sight, colours)
    assert racer_colours(labels[:1], dark) == colours[:1], "the first of a family has its colour"


def test_colour_difference_is_the_smallest_over_kinds_of_sight():
    one, other = FAMILY_COLOURS["lr"], FAMILY_COLOURS["dlr"]
    seen = [np.linalg.norm(lab(one, sight) - lab(other, sight)) for sight in SIGHTS]
    assert difference(one, other) == pytest.approx(min(seen), rel=1e-3)


def test_parts_of_one_model_have_shades_of_its_colour():
    shades = family_shades("alr", 6)
    assert shades[0] == FAMILY_COLOURS["alr"]
    assert min(contrast(a, b) for k, a in enumerate(shades) for b in shades[:k]) >= 1.45


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_in_cells_can_be_read_however_opaque_these_are(dark):
    """Near black is 3.9 from blue at .9 on white, near white 3.2 from vermilion."""
    for colour in (FOR_COLOUR, AGAINST_COLOUR):
        grounds = [on_ground(colour, amount, dark) for amount in np.linspace(0, 1, 101)]
        assert grounds[-1] == colour
        assert min(contrast(ink_on(ground), ground) for ground in grounds) >= MIN_TEXT_CONTRAST
    values = np.array([[0.87, -0.87, 0.5], [-0.5, 1.0, -1.0]])
    picture = heat_map(values, np.full((2, 3), 90.0), ("ab", "xyz"), ("", ""), "pure", signed=True, dark=dark)
    cells = picture["cells"]
    assert all(cells["words"])
    for ink, colour, alpha in zip(cells["ink"], cells["colour"], cells["alpha"], strict=True):
        assert contrast(ink, on_ground(colour, alpha, dark)) >= MIN_TEXT_CONTRAST
