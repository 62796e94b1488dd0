"""Pictures of a search for tuples: a node a tuple, kept ones where they rank, lines to what they grew from."""

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.pictures import selection
from alrviz.pictures.still import still
from alrviz.studies.protocols.live_selection import LiveSelection


@pytest.fixture(scope="module")
def search():
    *_, found = LiveSelection(alrviz.load_demo("twelve-bits")).search(
        alrviz.Recipe("hsalr", order=2, keep=0.25, alpha=1.0)
    )
    return found


def test_every_tuple_has_a_node_and_what_no_part_of_was_kept_is_a_dot(search):
    picture = selection.tuples(search, "hsalr", 2)
    kept, discarded, waiting = (len(picture[name]["x"]) for name in ("kept", "discarded", "waiting"))
    assert (kept, discarded, waiting) == (3 + 8, 9 + 22, 66 - 30)
    assert picture["names"]["words"][:3] == ["bit_1", "bit_2", "bit_3"], "the highest scores first"
    assert list(picture["heads"]["words"]) == ["3 of 12 columns kept", "8 of 30 pairs kept"]
    places = np.column_stack([np.concatenate([picture[n][c] for n in ("kept", "discarded", "waiting")]) for c in "xy"])
    assert len(np.unique(places.round(6), axis=0)) == 78, "no two in one place"
    assert (places.min() >= 0) & (places.max() <= 1)


def test_lines_lead_from_kept_tuples_to_kept_parts(search):
    picture = selection.tuples(search, "hsalr", 2)
    nodes = set(zip(picture["kept"]["x"].tolist(), picture["kept"]["y"].tolist(), strict=True))
    edges = picture["edges"]
    ends = [*zip(edges["x0"], edges["y0"], strict=True), *zip(edges["x1"], edges["y1"], strict=True)]
    assert set(ends) <= nodes
    first, second = search.levels
    parts = {(c,) for (c,) in first.kept_tuples}
    assert len(edges["x0"]) == sum(((a,) in parts) + ((b,) in parts) for a, b in second.kept_tuples)


@pytest.mark.parametrize("size", [(300, 300), (620, 270), (1400, 700)])
def test_names_are_cut_to_the_room_there_is(search, size):
    picture = selection.tuples(search, "hsalr", 2, size)
    words = max(map(len, picture["names"]["words"]), default=0) * selection.LETTER
    assert words < size[0]
    names = pd.DataFrame({column: picture["names"][column] for column in "xy"}).round(6)
    for _, below in names.groupby("x").y:
        assert np.diff(np.sort(below)).min(initial=1.0) * size[1] > 12, "names do not lie over each other"


def test_the_line_stands_where_tuples_are_kept_up_to(search):
    picture = selection.ranks(search, "hsalr", 2, 0.25)
    for line, level in zip(picture["lines"], search.levels, strict=True):
        assert (np.diff(line["y"]) <= 0).all()
        assert (line["x"] < 0.25).sum() == len(level.kept_indices) or abs(
            (line["x"] < 0.25).sum() - len(level.kept_indices)
        ) == 1
    assert picture.parts["t"] == {"location": 0.25}


def test_the_pair_that_is_missed_stands_high_among_those_not_looked_at_and_is_named(search):
    picture = selection.gains(search, "hsalr")
    at = int(np.argmax(picture["waiting"]["y"]))
    assert picture["waiting"]["name"][at] == "bit_7 & bit_11"
    assert picture["names"]["words"] == ["bit_7 & bit_11"]
    assert sum(len(picture[name]["x"]) for name in ("kept", "discarded", "waiting")) == 66


def test_shares_are_a_line_an_order_with_a_ring_at_the_verdict():
    study = alrviz.choose_tuples(alrviz.load_demo("xor", 300), keeps=(0.5, 1.0), folds=2, n_jobs=1).run()
    pictures = selection.shares(study.summary(), (1, 2), "hsalr", (2, 0.5))
    assert set(pictures) == {"log_loss", "parameters", "train_seconds"}
    losses = pictures["log_loss"]
    assert [len(line["x"]) for line in losses["lines"]] == [2, 2]
    assert losses["chosen"]["x"] == [0.5]
    assert losses["chosen"]["y"] == [losses["lines"][1]["y"][0]]


def test_they_can_be_saved_as_stills(search):
    figures = [selection.tuples(search, "hsalr", 2).plot().figure, selection.gains(search, "hsalr").plot().figure]
    assert still(figures)[:4] == b"\x89PNG"


def test_of_very_many_tuples_each_is_a_cell_of_an_image_and_the_best_are_marks(search, monkeypatch):
    whole = selection.tuples(search, "hsalr", 2)
    assert whole["images"]["image"] == [], "few are marks alone"
    monkeypatch.setattr(selection, "MAX_MARKS", 20)
    picture = selection.tuples(search, "hsalr", 2)
    marks = [len(picture[name]["x"]) for name in ("kept", "discarded", "waiting")]
    assert marks == [3 + 8, 9, 0]
    (image,) = picture["images"]["image"]
    green, *_ = selection._pixels([(selection.family_colour("hsalr"), 1.0)])
    colours, counts = np.unique(image[image != 0], return_counts=True)
    assert dict(zip(colours.tolist(), counts.tolist(), strict=True))[int(green)] == 8
    assert sorted(counts.tolist()) == [8, 22, 66 - 30]
    rows = np.flatnonzero((image == green).any(axis=1))
    assert rows.max() == len(image) - 1, "the best are at the top"
    assert still([picture.plot().figure])[:4] == b"\x89PNG"


def test_of_very_many_gains_one_is_drawn_a_place(search, monkeypatch):
    monkeypatch.setattr(selection, "MAX_MARKS", 20)
    picture = selection.gains(search, "hsalr")
    assert 0 < sum(len(picture[name]["x"]) for name in ("kept", "discarded", "waiting")) < 66
    assert picture["names"]["words"] == ["bit_7 & bit_11"]
    assert picture["waiting"]["y"].max() == search.gains.max(), "what is missed is there"
