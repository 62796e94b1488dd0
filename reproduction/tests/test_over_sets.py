"""Racers over sets: a row each, what is too much work, what is missing, and that a second sitting computes nothing."""

import numpy as np
import pandas as pd
import pytest

from alrviz import Recipe
from alrviz.studies.core import compute_task
from reproduction import over_sets
from reproduction.settings import Settings
from reproduction.tests.folders import MISSING_SET, RING, fill_folder

RACERS = ("nb", "alr1")


def rows_of(settings, **options):
    return [
        row
        for _, rows in over_sets.set_rows((MISSING_SET, RING), RACERS, settings, rounds=2, **options)
        for row in rows
    ]


def test_a_row_a_set_and_racer(tmp_path):
    missing, *rows = rows_of(Settings(fill_folder(tmp_path)))
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
    rows = rows_of(Settings(fill_folder(tmp_path)), most_work=1.0)[1:]
    assert [(row["method"], row["left_out"]) for row in rows] == [(name, "too much work") for name in RACERS]
    assert all(row["work"] > 0 for row in rows), "what its seconds are expected from"


def test_a_second_sitting_computes_nothing(tmp_path, monkeypatch):
    settings = Settings(fill_folder(tmp_path), keep=tmp_path / "home")
    first = rows_of(settings)

    def fold(*arguments):
        raise AssertionError("computed again")

    monkeypatch.setattr(compute_task, "COMPUTE", {"fold": fold})
    assert rows_of(settings) == first
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    assert rows_of(only) == first
    no_figures = rows_of(Settings(tmp_path, keep=tmp_path / "nowhere", kept_only=True))
    assert [(row["set"], row.get("fits")) for row in no_figures] == [("absent", None), ("ring", 0), ("ring", 0)]


def test_a_racer_has_figures_when_all_of_its_fits_are_there(tmp_path):
    settings = Settings(fill_folder(tmp_path), keep=tmp_path / "home")
    one_round = list(over_sets.set_rows((RING,), RACERS, settings, rounds=1))
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    two_rounds = list(over_sets.set_rows((RING,), RACERS, only, rounds=2))
    for (_, (whole,)), (_, (partial_row,)) in zip(one_round, two_rounds, strict=True):
        assert (whole["fits"], partial_row["fits"]) == (2, 2)
        assert 0 < whole["error"] < 1
        assert np.isnan(
            [partial_row[name] for name in (*over_sets.MEANS, "train_seconds", "error_sd", "parameters")]
        ).all()


def test_what_other_racers_were_kept_with_makes_no_difference(tmp_path):
    settings = Settings(fill_folder(tmp_path), keep=tmp_path / "home")
    first = rows_of(settings)
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    steps = list(over_sets.set_rows((RING,), ("alr1", "lr1", "nb"), only, rounds=2))
    rows_by_method = {row["method"]: row for _, rows in steps for row in rows}
    assert rows_by_method["nb"] == first[1]
    assert rows_by_method["alr1"] == first[2]
    assert rows_by_method["lr1"]["fits"] == 0


def published(rows, folder):
    """Keep rows as a page does, and read them again."""
    pd.DataFrame(rows).to_csv(folder / "sets.csv", index=False)
    return over_sets.published_rows(folder / "sets.csv")


def assert_same_rows(rows, expected_rows):
    """Whether rows say the same; what is missing of one is NaN in the other."""
    pd.testing.assert_frame_equal(pd.DataFrame(rows), pd.DataFrame(expected_rows), check_like=True, check_dtype=False)


def test_what_is_published_is_not_measured_again(tmp_path, monkeypatch):
    first = rows_of(Settings(fill_folder(tmp_path)))[1:]
    saved = published(first, tmp_path)
    fold_calls, real = [], compute_task.COMPUTE["fold"]
    monkeypatch.setattr(compute_task, "COMPUTE", {"fold": lambda *arguments: fold_calls.append(1) or real(*arguments)})
    settings = Settings(tmp_path, keep=tmp_path / "home", published=saved)
    assert_same_rows([row | {"why": ""} for row in rows_of(settings)[1:]], first)
    assert not fold_calls
    half = {key: row for key, row in saved.items() if key == ("ring", "alr1")}
    _, nb, alr = rows_of(Settings(tmp_path, keep=tmp_path / "home", published=half))
    assert (len(fold_calls), nb["error"], alr["error"]) == (4, first[0]["error"], first[1]["error"])
    other_hash = {key: row | {"data_hash": "another"} for key, row in saved.items()}
    rows_of(Settings(tmp_path, keep=tmp_path / "other home", published=other_hash))
    assert len(fold_calls) == 4 + 8, "another table under the same name is measured"

    (tmp_path / "ring.csv.gz").unlink()
    *rows, missing = list(over_sets.set_rows((RING,), RACERS, Settings(tmp_path, published=saved), rounds=2))
    assert [row["error"] for _, (row,) in rows] == [row["error"] for row in first]
    assert "example.org/ring" in missing[1][0]["missing"]


def test_the_runs_row_takes_the_place_of_a_published_one_once_it_has_as_many_rounds(tmp_path):
    settings = Settings(fill_folder(tmp_path), keep=tmp_path / "home")
    (_, (nb,)), (_, (alr,)) = over_sets.set_rows((RING,), RACERS, settings, rounds=1)
    saved = published([nb | {"rounds": 2, "error": 0.9}, alr | {"error": 0.9}], tmp_path)
    resumed = Settings(tmp_path, keep=tmp_path / "home", published=saved)
    only = Settings(tmp_path, keep=tmp_path / "home", published=saved, kept_only=True)
    stages = [over_sets.Stage((RING,), RACERS, 1), over_sets.Stage((RING,), RACERS, 3)]

    def errors(settings):
        return {row["method"]: (row["rounds"], row["error"]) for _, (row,) in over_sets.staged_rows(stages, settings)}

    assert errors(only) == {"nb": (2, 0.9), "alr1": (1, alr["error"])}
    final_errors = errors(resumed)
    assert final_errors == {
        row["method"]: (3, row["error"]) for _, (row,) in over_sets.set_rows((RING,), RACERS, settings, 3)
    }


def test_work_is_rows_times_tuples_times_classes():
    class Table:
        n_rows, kinds, y = 10, dict.fromkeys("abcd"), np.array([0, 1, 2])

    assert over_sets.work(Recipe("lr", order=2), Table()) == 10 * 6 * 3
    assert over_sets.work(Recipe("ande", n=2), Table()) == 10 * 4 * 3
    assert over_sets.work(Recipe("rf"), Table()) == 10 * 4 * 3


def test_a_run_that_is_stopped_goes_on_and_its_racers_are_compared_over_the_rounds_that_all_have(tmp_path, monkeypatch):
    settings = Settings(fill_folder(tmp_path), keep=tmp_path / "home")
    stages = [over_sets.Stage((RING,), RACERS, 1), over_sets.Stage((MISSING_SET, RING), (*RACERS, "lr1"), 2)]
    run = over_sets.staged_rows(stages, settings)
    first_rows = [rows[0] for _, rows in (next(run) for _ in range(3))]
    fits = [(row["method"], row["fits"], row["rounds"]) for row in first_rows]
    assert fits == [("nb", 2, 1), ("alr1", 2, 1), ("lr1", 0, 0)]
    assert first_rows[0]["error"] > 0
    assert np.isnan([first_rows[0]["bias"], first_rows[2]["error"]]).all(), "of one round there is no bias"
    run.close()
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    last_rows = [row for _, rows in over_sets.staged_rows(stages, only) for row in rows]
    np.testing.assert_equal(last_rows[:3], first_rows)

    fold_calls, real = [], compute_task.COMPUTE["fold"]
    monkeypatch.setattr(compute_task, "COMPUTE", {"fold": lambda *arguments: fold_calls.append(1) or real(*arguments)})
    *_, nb, alr, lr = [row for _, rows in over_sets.staged_rows(stages, settings) for row in rows]
    assert len(fold_calls) == 8, "two rounds of lr1, the second of the others"
    assert {row["rounds"] for row in (nb, alr, lr)} == {2}
    over_sets.bias_variance(RING.read(tmp_path), [over_sets.RACERS["lr1"]], rounds=3, keep=tmp_path / "home",
                            owner=over_sets.OWNER, n_jobs=1).run()  # fmt: skip
    more_stages = [over_sets.Stage((RING,), (*RACERS, "lr1"), 2), over_sets.Stage((RING,), RACERS, 3)]
    last_rows = {row["method"]: row for _, rows in over_sets.staged_rows(more_stages, only) for row in rows}
    assert (last_rows["lr1"]["fits"], last_rows["lr1"]["rounds"], last_rows["lr1"]["error"]) == (6, 2, lr["error"])
