"""Rows that are kept: from the bars of a histogram to a filter, through a link, to the same rows."""

import io

import numpy as np
import pandas as pd
import pytest

from alrviz.data.read import read_columns, read_table
from alrviz.errors import TableError
from alrviz.explorer.pages.data.linked_columns import MAX_BARS, LinkedColumns
from alrviz.explorer.session.row_filter import RowFilter, describe_filters, filter_rows, read_filters, write_filters


@pytest.fixture(scope="module")
def dataset():
    random = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 90, n).astype(float),
            "score": random.normal(size=n).round(6),
            "town": [f"t{k}" for k in random.integers(0, 40, n)],
            "answer": random.choice(["yes", "no"], n),
            "born": pd.Timestamp("1980-01-01") + pd.to_timedelta(random.integers(0, 9_000, n), unit="D"),
            "class": random.choice(list("abc"), n),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::11, "town"] = None
    return read_table(frame, "class", name="people")


def test_every_row_is_in_one_bar_of_each_column(dataset):
    linked = LinkedColumns(dataset, dataset.table)
    for k in range(len(dataset.columns)):
        column = linked.column(k)
        assert linked.counts(k).sum() == dataset.n_rows
        assert int(column.codes.max()) < len(column.labels) <= MAX_BARS + 2
        assert (column.labels[-1] == "missing") == bool(dataset.frame.iloc[:, k].isna().any())


@pytest.mark.parametrize("seed", range(8))
def test_bars_a_filter_and_its_link_keep_the_same_rows(dataset, seed):
    random, linked = np.random.default_rng(seed), LinkedColumns(dataset, dataset.table)
    picks = {}
    for k in random.choice(len(dataset.columns), 2, replace=False):
        n_bars = len(linked.column(k).labels)
        picks[int(k)] = random.choice(n_bars, max(1, n_bars // 2), replace=False).tolist()
    keep = linked.rows(picks)
    filters = linked.select([], picks).filters
    assert read_filters(write_filters(filters)) == filters
    masks = [one.mask(dataset.table.values[one.position].series) for one in filters]
    assert np.flatnonzero(np.logical_and.reduce(masks)).tolist() == keep.tolist()
    selection = linked.select(range(len(dataset.columns)), picks)
    assert selection.n_rows == len(keep)
    for k, counts in selection.counts.items():
        assert (counts == linked.counts(k, keep)).all()
        assert counts.sum() == len(keep)


def test_classes_beyond_the_largest_are_counted_as_one():
    frame = pd.DataFrame({"x": np.arange(400) % 5, "class": [f"c{k % 20:02d}" for k in range(400)]})
    data = read_table(frame, "class")
    linked = LinkedColumns(data, data.table)
    assert linked.n_groups == 12
    assert linked.counts(0).sum(axis=0).tolist() == [20] * 11 + [180]


def test_kept_rows_are_told_and_none_is_refused(dataset):
    table = dataset.table
    filters = (RowFilter(0, ranges=((20.0, 39.0),), missing=True), RowFilter(3, levels=(1,)))
    kept = filter_rows(table, filters)
    assert kept.n_rows == filters[0].mask(table.values[0].series)[table.values[3].series.cat.codes == 1].sum()
    assert "20 to 39 or missing" in kept.notes[-1]
    assert f"{kept.n_rows:,} of 500 rows" in kept.notes[-1]
    assert "answer" in describe_filters(table, filters)
    with pytest.raises(TableError, match="no row"):
        filter_rows(table, [RowFilter(0, ranges=((200.0, 300.0),))])
    assert filter_rows(table, [RowFilter(99, levels=(1,))]) is table


@pytest.mark.parametrize("text", ["", "x", "3", "3v1", "3vnan:1", "3v1e:2", "3vinf:inf", "3l", "3l1.", "v1:2", "3m4",
                                  "3l" + ".".join(map(str, range(401)))])  # fmt: skip
def test_text_of_a_link_that_is_no_filter_is_ignored(text):
    assert read_filters(text) == ()


def test_a_level_that_is_not_there_keeps_nothing_more():
    series = read_columns(io.StringIO("a,class\nx,1\ny,2\nx,1\n")).values[0].series
    assert RowFilter(0, levels=(0, 7)).mask(series).tolist() == [True, False, True]
