"""What can be fitted and was probably not meant is said, once."""

import multiprocessing
import subprocess
import sys
import tempfile
import textwrap
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from alrviz import LRClassifier, NaiveBayesClassifier
from alrviz.data.encode import Encoder
from alrviz.errors import DoubtfulTableWarning, ReadingWarning, TableError
from alrviz.warn_once import warn_once

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(120, 2)).round(2)
Y = np.where(NUMBERS[:, 0] > 0, "yes", "no")
WORDS = np.array(["red", "green", "blue"])[RNG.integers(0, 3, 120)]


@pytest.fixture(autouse=True)
def _nothing_said_yet(monkeypatch):
    monkeypatch.setattr("alrviz.warn_once._WARNED", set())


@pytest.mark.parametrize(
    ("X", "settings", "weights", "words"),
    [
        (NUMBERS.astype(str), {}, None, "'x0', 'x1' hold numbers as text"),
        (pd.DataFrame({"size": NUMBERS[:, 0].astype(str)}), {}, None, "'size' holds numbers as text"),
        (pd.DataFrame({"id": [f"C{k}" for k in range(120)], "w": WORDS}), {}, None, r"'id' \(120\)"),
        (pd.DataFrame({"w": WORDS}), {}, np.full(120, 1 / 120), "sums to 1 over 120 rows"),
        (NUMBERS, {"discretize": "smooth", "n_bins": 5}, None, "n_bins=5 has no effect with discretize='smooth'"),
        (NUMBERS, {"n_bins": 5}, None, "n_bins=5 has no effect with discretize='mdl'"),
    ],
)
def test_doubtful_table_warns_once(X, settings, weights, words):
    model = LRClassifier(order=1, alpha=0.3, max_iter=2, tol=0.0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DoubtfulTableWarning)
        with pytest.raises(DoubtfulTableWarning, match=words):
            model.fit(X, Y, weights)
        model.fit(X, Y, weights)


@pytest.mark.parametrize(
    ("X", "settings", "weights"),
    [
        (NUMBERS, {}, None),
        (NUMBERS, {"discretize": "quantile", "n_bins": 5}, np.full(120, 0.3)),
        (pd.DataFrame({"code": RNG.integers(0, 9, 120).astype(str), "w": WORDS}), {}, None),
        (pd.DataFrame({"grade": RNG.choice(["1.0", "1.3", "2.7"], 120)}), {}, None),
        (pd.DataFrame(NUMBERS.astype(str)).astype("category"), {}, None),
        (NUMBERS.astype(str), {"categorical_features": "all"}, None),
    ],
)
def test_usual_or_explicit_settings_do_not_warn(X, settings, weights):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoubtfulTableWarning)
        NaiveBayesClassifier(**settings).fit(X, Y, weights)


def test_text_in_numeric_columns_is_parsed_with_a_note():
    X = pd.DataFrame({"size": NUMBERS[:, 0]})
    model = NaiveBayesClassifier().fit(X, Y)
    with pytest.warns(ReadingWarning, match="'size' holds text"):
        found = model.predict_proba(X.astype(str))
    np.testing.assert_array_equal(found, model.predict_proba(X))
    with pytest.raises(TableError, match="column 'size' is used as numeric"):
        model.predict_proba(X.astype(str).replace("0.13", "x"))


def test_periods_are_dates_and_no_levels():
    months = pd.DataFrame({"month": pd.period_range("2020-01", periods=4, freq="M")})
    for column in (months, months.astype(object)):
        with pytest.raises(TableError, match="column 'month' holds dates"):
            Encoder().fit(column, [0, 1, 0, 1])


WORKERS = """
    import numpy as np, pandas as pd
    from sklearn.model_selection import cross_val_score
    from alrviz import NaiveBayesClassifier
    X = pd.DataFrame({"id": [f"C{k}" for k in range(120)]})
    folds = [(np.arange(100), np.arange(100, 120))] * 4
    cross_val_score(NaiveBayesClassifier(), X, np.arange(120) % 2, n_jobs=2, cv=folds)
"""


@pytest.mark.slow(reason="three processes that import everything; how workers agree is tested below")
def test_workers_warn_once_together(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(WORKERS)]
    environment = {"PATH": "", "TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path), "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("DoubtfulTableWarning") == 1
    assert not list(tmp_path.glob("alrviz-warned-*")), "removed at the end"


def test_files_of_a_killed_process_silence_no_later_one_of_the_same_id(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(pid=123))
    counts = []
    for key in (b"first process", b"first process", b"second process"):
        monkeypatch.setattr(multiprocessing.current_process(), "authkey", key)
        monkeypatch.setattr("alrviz.warn_once._WARNED", set())  # another worker
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_once("a text", UserWarning)
        counts.append(len(caught))
    assert counts == [1, 0, 1]
