"""Pictures of ours beside a paper's: marks stand where the numbers are, and nothing is drawn that is not there."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from reproduction import drawing
from reproduction.svg import page, text

SPACE = "{http://www.w3.org/2000/svg}"


def table(**columns):
    """One set: agrees, differs, ours alone, no data."""
    return pd.DataFrame(
        {
            "set": "a & b",
            "method": ["one", "two", "three", "four"],
            "paper": [10.0, 20.0, np.nan, 40.0],
            "ours": [10.0, 100.0, 1000.0, np.nan],
            "sd": [1.0, 2.0, 0.0, np.nan],
            "verdict": ["agrees", "differs", "", "no data"],
            **columns,
        }
    )


def marks(svg):
    """Centres of the filled dots below the legend by colour, and the words."""
    root = ElementTree.fromstring(svg)
    circles = [c for c in root.iter(f"{SPACE}circle") if float(c.get("cy")) > 50]
    centres = {c.get("fill"): float(c.get("cx")) for c in circles}
    return centres, [t.text for t in root.iter(f"{SPACE}text")], root


def test_dots_of_a_logarithmic_axis_are_evenly_apart():
    centres, words, root = marks(drawing.dots(table(), "title", {"one": "first"}, log=True))
    agrees, differs, unjudged = (centres[c] for c in (drawing.AGREES, drawing.DIFFERS, drawing.NO_VERDICT))
    assert differs - agrees == pytest.approx(unjudged - differs, abs=0.11) != 0
    assert {"title", "a & b", "first", "two", "10.0 | 10.0", "no data | 40.0"} <= set(words)
    assert len(list(root.iter(f"{SPACE}polygon"))) == 1 + 3, "the legend's, and one where the paper has a number"


def test_dots_of_a_linear_axis_stand_where_the_numbers_are():
    centres, _, root = marks(drawing.dots(table(ours=[10.0, 20.0, 40.0, np.nan]), "title", {}))
    agrees, differs, unjudged = (centres[c] for c in (drawing.AGREES, drawing.DIFFERS, drawing.NO_VERDICT))
    assert (unjudged - differs) / (differs - agrees) == pytest.approx(2.0, rel=0.01)
    ticks = {t.text: float(t.get("x")) for t in root.iter(f"{SPACE}text") if t.get("text-anchor") == "middle"}
    assert (ticks["10"], ticks["20"], ticks["40"]) == (agrees, differs, unjudged)
    assert drawing.LABEL < agrees < unjudged < drawing.WIDTH / 2 - drawing.VALUES, "within their panel"


def test_all_the_same_and_nothing_at_all():
    for value in (5.0, np.nan):
        for log in (False, True):
            svg = drawing.dots(table(ours=value, paper=np.nan, sd=0.0), "title", {}, log=log)
            assert "nan" not in svg.lower()
            ElementTree.fromstring(svg)


def test_lines_end_where_the_numbers_do():
    numbers = pd.DataFrame(
        {
            "method": ["lr", "lr", "lr", "svm", "svm"],
            "rows": [100, 1000, 10_000, 100, 1000],
            "ours": [0.1, 1.0, 10.0, 0.1, np.nan],
        }
    )
    root = ElementTree.fromstring(drawing.lines(numbers, "title", {"lr": "logistic regression"}))
    first, second = (line.get("points").split() for line in root.iter(f"{SPACE}polyline"))
    x, y = np.array([spot.split(",") for spot in first], float).T
    assert len(second) == 1
    assert np.diff(x) == pytest.approx(np.diff(x)[0], abs=0.11)
    assert np.diff(y) == pytest.approx(np.diff(y)[0], abs=0.11)
    assert y[-1] < y[0]
    words = {t.text: float(t.get("y")) for t in root.iter(f"{SPACE}text")}
    assert "logistic regression" in words
    assert "svm" in words


def test_words_are_escaped():
    assert "a &lt; b" in page([text("a < b", 0, 0)], 10, 10)


def test_a_label_that_is_too_long_keeps_its_beginning():
    _, words, root = marks(drawing.dots(table(method=["one", "two: " + "x" * 90, "three", "four"]), "title", {}))
    (long,) = (t for t in root.iter(f"{SPACE}text") if t.text.startswith("two: x"))
    assert long.text.endswith("x\N{HORIZONTAL ELLIPSIS}")
    assert float(long.get("x")) - drawing.LETTER * len(long.text) >= 0
    assert "three" in words
