"""The picture of one column: every row with a value, by level and class."""

import numpy as np
import pandas as pd
import pytest

from alrviz.data.demos import load_demo
from alrviz.data.read import read_table
from alrviz.explorer.pages.data.column_picture import MAX_BARS, count_levels, picture_of
from alrviz.pictures.columns import bars, class_colours, cut_lines
from alrviz.stop import StopToken


def test_counts_by_level_and_class():
    codes, y = np.array([0, 1, 1, 2, 2, 2], np.uint8), np.array([0, 0, 1, 1, 1, 0])
    assert count_levels(codes, y, 4, 2).tolist() == [[1, 0], [1, 1], [1, 2], [0, 0]]


@pytest.mark.parametrize("cuts", ["mdl", "quantile", "uniform", "smooth"])
def test_every_row_with_a_value_is_in_the_picture(cuts):
    dataset = load_demo("iris")
    for column in dataset.columns:
        picture = picture_of(dataset, column.name, cuts, 10)
        assert picture.counts.sum() == 150
        rows = bars(picture, [str(c) for c in dataset.classes])
        assert rows["rows"].sum() == 150
        assert (rows["top"] - rows["bottom"] == rows["rows"]).all()
        lines = cut_lines(picture)
        assert ((lines["x"] > picture.edges[0]) & (lines["x"] < picture.edges[-1])).all()


def test_levels_in_order_and_the_most_frequent_of_many():
    frame = pd.DataFrame(
        {"size": ["low", "high", "medium", "low"] * 50, "name": [f"n{i % 60:02d}" for i in range(200)]}
    )
    frame["class"] = ["a", "b"] * 100
    dataset = read_table(frame, name="t", size="ordinal")
    assert picture_of(dataset, "size", "mdl", 10).labels == ("low", "medium", "high")
    many = picture_of(dataset, "name", "mdl", 10)
    assert len(many.labels) == MAX_BARS
    assert "60 levels, the 16 most frequent shown" in many.title


def test_missing_values_are_told():
    frame = pd.DataFrame({"x": [None, *np.arange(99) / 2 % 20], "z": ["u", None] * 50, "class": ["a", "b"] * 50})
    dataset = read_table(frame, name="t")
    assert "1 rows without a value" in picture_of(dataset, "x", "uniform", 5).title
    assert "missing" in picture_of(dataset, "z", "mdl", 10).labels


def test_a_picture_is_stopped():
    stop = StopToken()
    stop.stop()
    with pytest.raises(Exception, match="stopped on request"):
        picture_of(load_demo("waveform"), "x1", "mdl", 10, 0, stop)


def test_colours_tell_classes_apart():
    assert len(set(class_colours(30))) == 30
    assert len(class_colours(1000)) == 1000
