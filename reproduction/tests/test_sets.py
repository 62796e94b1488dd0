"""Benchmark sets: found under any ending, joined, cut, and missed with directions."""

from dataclasses import replace

import pandas as pd
import pytest

from alrviz.errors import TableError
from reproduction.sets import MIXED_SETS, NUMERIC_SETS, BenchmarkSet, default_folder
from reproduction.tests.folders import JOINED_SET, MISSING_SET, RING, fill_folder, ring


def test_a_set_is_read(tmp_path):
    dataset = RING.read(fill_folder(tmp_path))
    assert dataset.n_rows == 60
    assert dataset.kinds == {"east": "numeric", "north": "numeric", "town": "categorical"}


def test_tables_are_joined_in_order(tmp_path):
    dataset = JOINED_SET.read(fill_folder(tmp_path))
    assert dataset.n_rows == 80
    assert dataset.frame["north"].tolist() == pd.concat([ring(), ring(20, seed=1)])["north"].tolist()
    assert dataset.kinds["town"] == "categorical"
    assert dataset.target == "class"


def test_a_missing_table_says_where_to_get_it(tmp_path):
    assert RING.missing(tmp_path) == ["ring"]
    assert JOINED_SET.missing(fill_folder(tmp_path)) == []
    with pytest.raises(TableError, match=r"absent.csv is not in .*: get it from https://example.org/absent"):
        MISSING_SET.read(tmp_path)


def test_every_set_of_the_tables_names_a_page_and_its_own_name_once():
    sets = (*NUMERIC_SETS, *MIXED_SETS)
    assert len({entry.name for entry in sets}) == len(sets)
    assert all(entry.url.startswith("https://") for entry in sets)
    assert default_folder().name == "sets"


def test_columns_of_0_and_1_that_are_one_column_are_joined(tmp_path):
    table = pd.DataFrame({"height": [1.5, 2.5, 3.5], "soil_a": [0, 1, 0], "soil_b": [1, 0, 1], "class": list("xyx")})
    table.to_csv(tmp_path / "land.csv", index=False)
    dataset = BenchmarkSet("land", "Land", ("land",), "https://example.org", joined=("soil",)).read(tmp_path)
    assert dataset.kinds == {"height": "numeric", "soil": "categorical"}
    assert dataset.X["soil"].tolist() == ["soil_b", "soil_a", "soil_b"]
    assert dataset.y.tolist() == list("xyx")


def test_rows_with_gaps_are_left_out_where_a_set_is_taken_whole(tmp_path):
    whole = replace(RING, whole=True).read(fill_folder(tmp_path))
    assert whole.n_rows == RING.read(tmp_path).n_rows - 1
    assert not whole.X.isna().any(axis=None)
    assert list(whole.kinds) == list(RING.read(tmp_path).kinds)
