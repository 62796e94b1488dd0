"""The protocol: what is learned from which rows, what is chosen, and that a hard case does not end a study."""

import json

import numpy as np
import pandas as pd
import pytest

from alrviz.estimators.peers import PEERS, make_peer
from reproduction import methods, splits
from reproduction.settings import Settings
from reproduction.tests.folders import MISSING_SET, RING, fill_folder, ring

FAST = ("lr", "svm-rbf")


def rows_of(*sets, folder, count=3, jobs=1, names=FAST):
    labels, rows = [], []
    for label, new_rows in splits.split_rows(sets, names, Settings(folder, jobs=jobs), count):
        labels.append(label)
        rows += new_rows
    return labels, pd.DataFrame(rows)


def test_a_row_a_split_and_method(tmp_path):
    labels, rows = rows_of(RING, folder=fill_folder(tmp_path))
    assert labels == [f"ring: split {k} of 3" for k in (1, 2, 3)]
    assert rows[["split", "method"]].to_numpy().tolist() == [[k, name] for k in range(3) for name in FAST]
    assert rows["accuracy"].between(0, 100).all()
    assert (rows[["train_ms", "classify_ms"]] > 0).all(axis=None)
    by_method = rows.groupby("method")[["accuracy", "auc"]].mean()
    assert by_method.loc["svm-rbf", "accuracy"] > by_method.loc["lr", "accuracy"] + 5 > 55
    assert json.loads(rows["settings"][0]) == {}, "lr has nothing to choose"
    assert set(json.loads(rows["settings"][1])) == set(PEERS["svm-rbf"].grid)


def test_the_first_splits_are_the_same_however_many_and_with_more_processes(tmp_path):
    folder = fill_folder(tmp_path)
    figures = ["split", "method", "accuracy", "auc", "settings"]
    _, three = rows_of(RING, folder=folder)
    _, five = rows_of(RING, folder=folder, count=5, jobs=2)
    pd.testing.assert_frame_equal(three[figures], five[figures][: len(three)])


def test_a_missing_set_is_told_and_the_next_one_measured(tmp_path):
    labels, rows = rows_of(MISSING_SET, RING, folder=fill_folder(tmp_path), count=1)
    assert labels == ["absent: no data", "ring: split 1 of 1"]
    assert "https://example.org/absent" in rows["missing"][0]
    assert rows["missing"][1:].isna().all()


def test_a_method_that_fails_leaves_its_sentence(tmp_path, monkeypatch):
    def failing():
        raise ValueError("planted")

    broken = methods.Method("broken", "broken", failing, {})
    monkeypatch.setattr(splits, "ALL_METHODS", {**methods.METHODS, "broken": broken})
    _, rows = rows_of(RING, folder=fill_folder(tmp_path), count=1, names=("broken", "lr"))
    assert rows["failed"].tolist()[0] == "ValueError: planted"
    assert rows["accuracy"].notna().tolist() == [False, True]


def test_an_auc_of_classes_is_that_of_one_threshold(tmp_path):
    _, rows = rows_of(RING, folder=fill_folder(tmp_path), count=1, names=("lr", "lr, AUC of its classes"))
    ranked, by_class = rows["auc"]
    assert by_class != ranked
    assert rows["accuracy"].nunique() == 1


def test_the_choice_never_sees_the_test_rows_and_takes_the_best_on_the_held_fifth():
    table = ring(100)
    X, y = table.drop(columns="class"), table["class"].to_numpy(dtype=object)
    grid = {"model__gamma": (1e-6, 0.5), "model__C": (1e-6, 1.0)}
    settings = splits.choose(make_peer("svm-rbf"), grid, X, y, seed=0)
    assert settings == {"model__gamma": 0.5, "model__C": 1.0}, "others always say the same class"
    grid = {"kernel__gamma": (1e-6, 0.5), "model__C": (1e-6, 1.0)}
    assert splits.choose(make_peer("klr-rbf"), grid, X, y, seed=0) == {"kernel__gamma": 0.5, "model__C": 1.0}


def test_of_equal_settings_the_first_is_chosen():
    table = ring(40)
    X, y = table[["east"]].fillna(0.0), np.repeat(["a", "b"], 20).astype(object)
    assert splits.choose(make_peer("lr"), {"model__C": (3e-9, 1e-9, 2e-9)}, X, y, seed=0) == {"model__C": 3e-9}


def test_auc_of_the_second_class_from_scores_and_from_probabilities():
    truth, classes = np.array(["a", "b", "b", "a"]), np.array(["a", "b"])
    scores = np.array([0.1, 0.9, 0.4, 0.5])
    assert splits.auc(truth, scores, classes) == pytest.approx(0.75)
    assert splits.auc(truth, np.column_stack([1 - scores, scores]), classes) == pytest.approx(0.75)
    assert np.isnan(splits.auc(truth[[1, 2]], scores[[1, 2]], classes))


@pytest.mark.parametrize("rare", ["a", "z"])
def test_what_is_found_at_a_specificity_is_of_the_rarer_class_whichever_comes_first(rare):
    """A class of 40 rows, of which a third lies among the 160 of the other: two thirds can be found."""
    x = np.r_[np.linspace(0, 1, 160), np.linspace(0, 0.5, 13), np.linspace(2, 3, 27)]
    y = np.where(np.arange(200) < 160, "m", rare).astype(object)
    train, test = np.arange(200)[::2], np.arange(200)[1::2]
    (row,) = splits.measure_split(pd.DataFrame({"x": x}), y, ["lr"], train, test, 0)
    assert row["specificity"] == pytest.approx(0.95)
    assert 0.6 < row["sensitivity"] < 0.8
    assert row["sensitivity"] * 20 == pytest.approx(row["ppv"] * (row["sensitivity"] * 20 + 4))
