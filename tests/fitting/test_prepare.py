"""Splits, and what racers share: one encoding, one count."""

import gc
import threading
import weakref
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz import load_demo, read_table
from alrviz.data.splits import split_holdout
from alrviz.fitting import prepare as module
from alrviz.fitting.prepare import MAX_CACHED, TrainingData, prepare
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.passes import threads
from tests.fitting.tables import drain, table


def labels(sizes, seed=0):
    y = np.repeat([f"class {k}" for k in range(len(sizes))], sizes)
    return np.random.default_rng(seed).permutation(y)


def check_split(y, holdout, seed):
    splits = split_holdout(y, holdout, seed)
    train, held = splits.train, splits.test
    assert np.array_equal(np.sort(np.concatenate([train, held])), np.arange(len(y)))
    assert (np.diff(train) > 0).all()
    assert (np.diff(held) > 0).all()
    assert set(y[train]) == set(y), "every class keeps a row for training"
    again = split_holdout(y, holdout, seed)
    assert np.array_equal(again.train, train)
    assert np.array_equal(again.test, held)
    return train, held


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=12),
    st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95]),
    st.integers(0, 5),
)
def test_any_classes_can_be_split_at_any_share(sizes, holdout, seed):
    y = labels(sizes, seed)
    _, held = check_split(y, holdout, seed)
    assert len(held) <= round(holdout * len(y))
    single = {c for c, n in Counter(y.tolist()).items() if n == 1}
    assert not single & set(y[held].tolist())
    rest = sum(n for n in sizes if n > 1)
    several = sum(n > 1 for n in sizes)
    if rest > 1 and holdout <= 0.5:
        assert len(held) == min(round(holdout * len(y)), rest - several)


def test_shares_of_classes_are_kept():
    y = labels([600, 300, 90, 10])
    _, held = check_split(y, 0.3, 1)
    assert len(held) == 300
    assert [int((y[held] == f"class {k}").sum()) for k in range(4)] == [180, 90, 27, 3]
    assert not np.array_equal(split_holdout(y, 0.3, 2).test, held)


@pytest.mark.parametrize("holdout", [0.9, 0.95])
def test_a_rare_class_is_not_held_out_whole(holdout):
    for seed in range(20):
        check_split(labels([400, 2, 2, 3]), holdout, seed)


def test_small_tables_have_no_holdout():
    for sizes in ([1], [1, 1, 1], [2]):
        _, held = check_split(labels(sizes), 0.3, 0)
        assert len(held) == min(round(0.3 * sum(sizes)), sum(n - 1 for n in sizes))
    assert len(split_holdout(labels([50, 50]), 0.0, 0).test) == 0


def recipes():
    settings = {"alpha": 1.0, "max_iter": 2}
    return [Recipe("lr", **settings), Recipe("alr", **settings), Recipe("alr", order=1, **settings), Recipe("anje")]


@pytest.fixture
def counts(monkeypatch):
    """How often an encoder was fitted and tables were counted."""
    counter = Counter()
    fit, count_tables = module.Encoder.fit, module.count_tables
    monkeypatch.setattr(module.Encoder, "fit", lambda self, *a, **k: counter.update(["fit"]) or fit(self, *a, **k))
    monkeypatch.setattr(module, "count_tables", lambda *a, **k: counter.update(["count"]) or count_tables(*a, **k))
    return counter


def test_racers_share_encoding_and_counts(counts):
    dataset = load_demo("iris")
    runs = [drain(Run(dataset, recipe)) for recipe in recipes()]
    assert counts == {"fit": 1, "count": 2}  # two orders
    assert len({id(run.encoded) for run in runs}) == 1
    assert runs[0].tables is runs[1].tables is runs[3].tables
    drain(Run(dataset, Recipe("lr", seed=1, alpha=1.0, max_iter=2)))
    drain(Run(dataset, Recipe("lr", discretize="quantile", alpha=1.0, max_iter=2)))
    drain(Run(dataset, Recipe("lr", missing="skip", alpha=1.0, max_iter=2)))
    assert counts["fit"] == 4
    drain(Run(dataset, Recipe("lr", smoothing=0.5, alpha=1.0, max_iter=2)))
    assert counts == {"fit": 4, "count": 6}


def test_concurrent_racers_share_encoding_and_counts(counts):
    dataset = load_demo("iris")
    runs = [Run(dataset, recipe) for recipe in recipes() * 3]
    for run in runs:
        run.start()
    for run in runs:
        assert run.join(60)
        assert run.outcome.code in ("step limit", "converged")
    assert counts == {"fit": 1, "count": 2}


def test_runs_on_other_numbers_of_threads_share_them_and_keep_to_theirs(counts, monkeypatch):
    monkeypatch.setattr(threads, "available_threads", lambda: 4)
    dataset = load_demo("iris")
    drain(Run(dataset, recipes()[0]))
    one = drain(Run(dataset, recipes()[0], n_jobs=1))
    assert counts == {"fit": 1, "count": 1}
    assert one._fit.objective.rows.n_jobs == 1
    prepared = prepare(dataset, Recipe("lr"))
    assert prepared.n_jobs == prepared.covered_rows(2).rows.n_jobs == prepared.covered_rows(2).heldout.n_jobs == 4
    alone = prepared.with_jobs(1).covered_rows(2)
    assert alone.rows.n_jobs == alone.heldout.n_jobs == 1
    assert alone.rows.keys is prepared.covered_rows(2).rows.keys


def test_cache_is_bounded_and_freed_with_its_data_set(counts):
    dataset = load_demo("iris")
    kept = [weakref.ref(prepare(dataset, Recipe("lr", seed=seed))) for seed in range(MAX_CACHED + 3)]
    gc.collect()
    assert sum(ref() is not None for ref in kept) == MAX_CACHED
    prepare(dataset, Recipe("lr", seed=MAX_CACHED + 2))
    assert counts["fit"] == MAX_CACHED + 3  # the latest is at hand
    prepare(dataset, Recipe("lr", seed=0))
    assert counts["fit"] == MAX_CACHED + 4  # the oldest was given up
    prepare(dataset, Recipe("lr", seed=4))
    prepare(dataset, Recipe("lr", seed=100))
    prepare(dataset, Recipe("lr", seed=4))
    assert counts["fit"] == MAX_CACHED + 5  # what was asked for of late stays
    ref = weakref.ref(dataset)
    del dataset
    gc.collect()
    assert ref() is None
    assert not any(ref() is not None for ref in kept)


def test_tables_kept_are_bounded():
    prepared = TrainingData(table(), None, None, 1)
    for k in range(MAX_CACHED + 3):
        prepared.tables(1, 0.5 + k)
    assert len(prepared._cache.kinds["tables"]) == MAX_CACHED
    newest = prepared.tables(1, 0.5 + MAX_CACHED + 2)
    assert prepared.tables(1, 0.5 + MAX_CACHED + 2) is newest


def test_error_while_encoding_leaves_the_cache_usable(monkeypatch):
    dataset = load_demo("xor")
    fit = module.Encoder.fit
    monkeypatch.setattr(module.Encoder, "fit", lambda self, *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        prepare(dataset, Recipe("lr"))
    monkeypatch.setattr(module.Encoder, "fit", fit)
    assert prepare(dataset, Recipe("lr")).encoded.n_rows == 700


def test_levels_and_cuts_come_from_training_rows_alone():
    """A level of test rows only is no level, however often it occurs there."""
    import pandas as pd

    y = np.array(["a", "b"] * 50)
    held = split_holdout(y, 0.3, 0).test
    values = np.array(["x", "y"] * 50, dtype=object)
    values[held] = "only held out"
    dataset = read_table(pd.DataFrame({"f": values, "class": y}), target="class", f="categorical")
    prepared = prepare(dataset, Recipe("lr"))
    assert prepared.encoder.columns_[0].labels == ("x", "y")
    assert (prepared.holdout.codes == 2).all()
    run = drain(Run(dataset, Recipe("lr", order=1, max_iter=5)))
    assert np.isfinite(run.trace[-1].extra["heldout_log_loss"])


def test_an_error_while_a_result_is_made_lets_other_threads_go_on():
    cache, results = module._Cache(), []
    with pytest.raises(ZeroDivisionError):
        cache.get("kind", 1, lambda: 1 / 0, module.NEVER)
    other = threading.Thread(target=lambda: results.append(cache.get("kind", 1, lambda: 5, module.NEVER)), daemon=True)
    other.start()
    other.join(5)
    assert results == [5]
