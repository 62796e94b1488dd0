"""Racers over sets: a row each, what is too much work, what is missing, and that a second sitting computes nothing."""

import numpy as np
import pytest

from alrviz import Recipe
from alrviz.reproduce import over_sets
from alrviz.reproduce.settings import Settings
from alrviz.studies.core import compute_task
from tests.reproduce.folders import ABSENT, RING, filled

RACERS = ("nb", "alr1")


def rows_of(settings, **options):
    return [
        row for _, rows in over_sets.set_rows((ABSENT, RING), RACERS, settings, rounds=2, **options) for row in rows
    ]


def test_a_row_a_set_and_racer(tmp_path):
    missing, *rows = rows_of(Settings(filled(tmp_path)))
    assert "https://example.org/absent" in missing["missing"]
    assert [(row["set"], row["method"], row["fits"], row["failed"]) for row in rows] == [
        ("ring", "nb", 4, 0),
        ("ring", "alr1", 4, 0),
    ]
    for row in rows:
        assert row["bias"] + row["variance"] == pytest.approx(row["error"], abs=1e-12)
        assert 0 < row["rmse"] < 1
    assert rows[0]["n_iter"] == 0 < rows[1]["n_iter"]


def test_too_much_work_is_left_out_and_told(tmp_path):
    rows = rows_of(Settings(filled(tmp_path)), most_work=1.0)[1:]
    assert [(row["method"], row["left_out"]) for row in rows] == [(name, "too much work") for name in RACERS]


def test_a_second_sitting_computes_nothing(tmp_path, monkeypatch):
    settings = Settings(filled(tmp_path), keep=tmp_path / "home")
    first = rows_of(settings)

    def fold(*arguments):
        raise AssertionError("computed again")

    monkeypatch.setattr(compute_task, "COMPUTE", {"fold": fold})
    assert rows_of(settings) == first
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    assert rows_of(only) == first
    assert [row["set"] for row in rows_of(Settings(tmp_path, keep=tmp_path / "nowhere", kept_only=True))] == ["absent"]


def test_a_racer_has_figures_when_all_of_its_fits_are_there(tmp_path):
    settings = Settings(filled(tmp_path), keep=tmp_path / "home")
    one = list(over_sets.set_rows((RING,), RACERS, settings, rounds=1))
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    two = list(over_sets.set_rows((RING,), RACERS, only, rounds=2))
    for (_, (whole,)), (_, (begun,)) in zip(one, two, strict=True):
        assert (whole["fits"], begun["fits"]) == (2, 2)
        assert 0 < whole["error"] < 1
        assert np.isnan([begun[name] for name in (*over_sets.MEANS, "train_seconds", "error_sd", "parameters")]).all()


def test_what_other_racers_were_kept_with_makes_no_difference(tmp_path):
    settings = Settings(filled(tmp_path), keep=tmp_path / "home")
    first = rows_of(settings)
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    told = list(over_sets.set_rows((RING,), ("alr1", "lr1", "nb"), only, rounds=2))
    found = {row["method"]: row for _, rows in told for row in rows}
    assert found["nb"] == first[1]
    assert found["alr1"] == first[2]
    assert found["lr1"]["fits"] == 0


def test_work_is_rows_times_tuples_times_classes():
    class Table:
        n_rows, kinds, y = 10, dict.fromkeys("abcd"), np.array([0, 1, 2])

    assert over_sets.work(Recipe("lr", order=2), Table()) == 10 * 6 * 3
    assert over_sets.work(Recipe("ande", n=2), Table()) == 10 * 4 * 3
    assert over_sets.work(Recipe("rf"), Table()) == 10 * 4 * 3
