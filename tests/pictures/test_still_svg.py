"""Stills as SVG: what is drawn as PNG is there as elements, and names from data are text."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from bokeh.plotting import figure

import alrviz
from alrviz.pictures import evaluation as drawn
from alrviz.pictures.still import still_svg

NS = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def found():
    data = alrviz.load_demo("tic-tac-toe")
    return alrviz.evaluate(alrviz.NaiveBayesClassifier().fit(data.X, data.y), data)


def parsed(picture, label="a picture"):
    return ET.fromstring(still_svg(picture.plot().figure, label))


def test_a_curve_is_a_path_and_its_axes_are_named(found):
    tree = parsed(drawn.curves("roc", found, "positive", 0.5))
    words = [one.text for one in tree.iter(f"{NS}text")]
    assert {"1 - specificity", "sensitivity", "50%", "positive (AUC 0.769)", "this threshold"} <= set(words)
    assert max(one.get("d").count("L") for one in tree.iter(f"{NS}path")) >= 150
    rings = [one for one in tree.iter(f"{NS}path") if "C " in one.get("d")]
    assert len(rings) == 2, "the ring of the threshold, and its key in the legend"
    assert tree.get("aria-label") == "a picture"


def test_a_matrix_is_boxes_with_numbers(found):
    tree = parsed(drawn.confusion(found))
    words = [one.text for one in tree.iter(f"{NS}text")]
    assert set(map(str, found.confusion().to_numpy().ravel())) <= set(words)


def test_names_from_data_are_text():
    evil = '"><script>alert(1)</script>\x07'
    table = np.log([[0.4, 0.6], [0.7, 0.3]])
    found = alrviz.Evaluation((evil, "b"), table, np.array([0, 1]), alrviz.load_demo("xor").X[:2])
    tree = parsed(drawn.confusion(found), evil)
    assert not list(tree.iter("script")) + list(tree.iter(f"{NS}script"))
    assert tree.get("aria-label").startswith('"><script>')


def test_an_axis_label_longer_than_its_axis_is_seen_whole():
    words = "a label that is longer than the whole axis that it is under, by far"
    fig = figure(x_range=(0, 1), y_range=(0, 1))
    fig.xaxis.axis_label = words
    tree = ET.fromstring(still_svg(fig, "a picture", width=400, height=200))
    lines = [one.text for one in tree.iter(f"{NS}text") if one.text in words and len(one.text) > 3]
    assert " ".join(lines) == words
    assert 1 < len(lines) < 4, "lines that fit into the picture"
