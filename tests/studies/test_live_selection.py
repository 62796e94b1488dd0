"""The live search: it keeps what a fit keeps, another share follows without counting, and it says what it misses."""

import numpy as np
import pytest

import alrviz
from alrviz.errors import MemoryLimitError
from alrviz.fitting.families import selection_rows
from alrviz.stop import Stopped, StopToken
from alrviz.studies.protocols.live_selection import LiveSelection


def last(live, recipe):
    *_, found = live.search(recipe)
    assert found.is_complete
    return found


@pytest.mark.parametrize("selection", ["mi", "mi-mm", "gain"])
@pytest.mark.parametrize(("family", "params"), [("salr", {}), ("hsalr", {}), ("hsalr", {"grow": "strong"})])
def test_it_keeps_the_tuples_that_a_fit_is_made_of(family, params, selection):
    data = alrviz.load_demo("twelve-bits", 600)
    recipe = alrviz.Recipe(family, order=2, keep=0.3, selection=selection, alpha=1.0, max_iter=1, **params)
    run = alrviz.Run(data, recipe)
    list(run.steps())
    levels = [level.kept_tuples for level in last(LiveSelection(data), recipe).levels]
    assert levels == [level.kept_tuples for level in run.levels]
    members = tuple(map(tuple, run.model.space.members))
    if selection == "gain":  # beside their parts, which are in the model
        parts = levels[0] if family == "hsalr" else tuple((j,) for j in range(len(run.encoded.levels)))
        assert members == parts + levels[-1]
    else:
        assert members == levels[-1]


def test_changing_keep_reuses_scores(monkeypatch):
    data, live = alrviz.load_demo("twelve-bits", 600), LiveSelection(alrviz.load_demo("twelve-bits", 600))
    first = alrviz.Recipe("hsalr", order=3, keep=0.3, alpha=1.0)
    last(live, first)
    monkeypatch.setattr(selection_rows.InMemory, "tables", lambda *_: pytest.fail("counted again"))
    mine = last(live, first.replace(keep=0.5))
    monkeypatch.undo()
    anew = last(LiveSelection(data), first.replace(keep=0.5))
    for one, other in zip(mine.levels, anew.levels, strict=True):
        assert one.kept_tuples == other.kept_tuples
        np.testing.assert_array_equal(one.scores, other.scores)


def test_scores_come_before_all_are_there(monkeypatch):
    monkeypatch.setattr("alrviz.studies.protocols.live_selection.MIN_SECONDS_SHOWN", 0.0)
    seen = list(
        LiveSelection(alrviz.load_demo("led24", 300)).search(alrviz.Recipe("hsalr", order=2, keep=0.5, alpha=1.0))
    )
    coming = [
        np.isnan(one.current_level.scores).sum()
        for one in seen
        if one.current_level is not None and len(one.levels) == 1
    ]
    assert coming == sorted(coming, reverse=True)
    assert coming[0] > 0 == coming[-1]


def test_jointly_informative_columns_are_found_by_gain_only():
    found = last(LiveSelection(alrviz.load_demo("twelve-bits")), alrviz.Recipe("hsalr", order=2, keep=0.25, alpha=1.0))
    (pair,) = np.flatnonzero(found.is_significant)
    assert found.name(found.all_tuples()[pair]) == "bit_7 & bit_11"
    assert found.gains.argmax() == pair
    assert (6, 10) not in set(map(tuple, found.levels[-1].tuples.tolist()))
    assert found.numbers(found.all_tuples()).tolist() == list(range(66))


def test_column_of_one_level_is_uninformative_with_any_other():
    xor = alrviz.load_demo("xor", 400)
    data = alrviz.Dataset.from_arrays(xor.X.assign(same="a"), xor.y)
    found = last(LiveSelection(data), alrviz.Recipe("salr", order=2, keep=1.0, alpha=1.0))
    assert [found.name(of) for of in found.all_tuples()[found.is_significant]] == ["bit_1 & bit_2"]


def test_too_many_tuples_are_scored_only_where_they_grow(monkeypatch):
    recipe = alrviz.Recipe("hsalr", order=2, keep=0.25, alpha=1.0)
    all_scored = last(LiveSelection(alrviz.load_demo("twelve-bits", 600)), recipe)
    monkeypatch.setattr("alrviz.studies.protocols.live_selection.MAX_SCORED", 20)
    found = last(LiveSelection(alrviz.load_demo("twelve-bits", 600)), recipe)
    assert found.mi is found.gains is None
    assert found.levels[-1].kept_tuples == all_scored.levels[-1].kept_tuples


def test_stop_ends_it():
    stop = StopToken()
    stop.stop()
    with pytest.raises(Stopped):
        list(LiveSelection(alrviz.load_demo("xor")).search(alrviz.Recipe("salr", order=2, alpha=1.0), stop))


def test_tables_that_are_too_large_are_refused_before_they_are_counted(monkeypatch):
    rows = np.random.default_rng(0).integers(0, 3, (2000, 70)).astype(str)
    data = alrviz.Dataset.from_arrays(rows, np.where(rows[:, 0] == "0", "a", "b"))
    monkeypatch.setattr(selection_rows.InMemory, "tables", lambda *_: pytest.fail("counted"))
    monkeypatch.setattr("alrviz.fitting.cost.estimate.free_memory", lambda: 2**30)
    with pytest.raises(MemoryLimitError, match="order 4 needs about"):
        last(LiveSelection(data), alrviz.Recipe("salr", order=4, alpha=1.0))
