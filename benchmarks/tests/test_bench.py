"""The benchmarks' command line; what they measure is never asserted here."""

import numpy as np
import pandas as pd
import pytest

from alrviz.data.demos import load_demo
from alrviz.errors import AlrvizError
from benchmarks import __main__ as bench
from benchmarks import _sets, _tools, defaults, families


def test_list_names_every_benchmark_with_a_line(capsys):
    assert bench.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(bench.benchmarks())
    assert {"import", "mdl"} <= set(bench.benchmarks())
    assert all(len(line.split()) > 3 for line in lines), "a benchmark without a docstring"


def test_an_unknown_name_is_answered_with_the_nearest(capsys):
    assert bench.main(["mdll"]) == 2
    assert "did you mean 'mdl'?" in capsys.readouterr().err


def test_mdl_prints_where_it_ran_and_a_row_a_column(capsys):
    assert bench.main(["mdl", "--rows", "2000", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "numpy" in lines[0]
    assert "Python" in lines[0]
    assert sum(line.startswith("column ") for line in lines) == 10


def test_predict_prints_a_row_a_method(capsys):
    methods = ["lr n=1", "A1DE", "scikit-learn's LogisticRegression"]
    assert bench.main(["predict", "--rows", "300", "--repeats", "1", "--methods", *methods]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.startswith(method) for line, method in zip(lines[-4:], methods, strict=False)] == [True] * 3
    assert "made, 90 rows of 15 columns" in lines[-6]


def test_density_prints_a_row_a_table_and_a_row_a_spacing(capsys):
    table = ["--rows", "3000", "--columns", "2", "--error-rows", "3000"]
    assert bench.main(["density", *table, "--repeats", "1", "--shapes", "normal", "heavy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if "to reach" in line] == ["normal:", "heavy:"]
    orders = [float(line.split()[-1]) for line in lines if line.startswith(("14 ", "20 ", "28 ", "40 "))]
    assert len(orders) == 4


SMALL = ["--repeats", "1"]


@pytest.mark.slow(reason="half a minute of races")
def test_race_prints_a_row_a_racer_and_alpha(capsys):
    assert bench.main(["race", *SMALL, "--set", "led", "--max-iter", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [sum(line.startswith(f"{family} n=2 from zero") for line in lines) for family in ("lr", "alr")] == [2, 2]


def test_race_reads_a_file(tmp_path, capsys):
    path = tmp_path / "small.csv"
    path.write_text("a,b,kind\n" + "x,u,yes\ny,v,no\nx,v,yes\ny,u,no\n" * 10, encoding="utf-8")
    assert bench.main(["race", "--file", str(path), "--target", "kind", "--alphas", "0.1", "--max-iter", "3"]) == 0
    assert "small: 40 rows, 2 columns, 2 classes" in capsys.readouterr().out


@pytest.mark.slow(reason="every price is measured in a process of its own, which imports everything anew")
def test_price_prints_a_row_an_order(capsys):
    assert bench.main(["price", *SMALL, "--orders", "1", "2", "--iterations", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("made ")] == ["n=1", "n=2"]
    assert "bytes within 10%" in "".join(lines)


def test_line_prints_a_row_a_fit_and_value(capsys):
    assert bench.main(["line", "--rows", "100", "--exact", "0.5", "0.1", "--alphas", "0.1", "--max-iter", "5"]) == 0
    assert sum(line.startswith("led ") for line in capsys.readouterr().out.splitlines()) == 4


def test_defaults_ranks_settings_and_writes_rows(tmp_path, capsys):
    frame = load_demo("tic-tac-toe", 60).frame
    frame.rename(columns={frame.columns[-1]: "class"}).to_csv(tmp_path / "car.csv", index=False)
    path = tmp_path / "rows.csv"
    flags = ["--sets", "car", "--alphas", "0", "1", "--max-iter", "5", "--csv", str(path)]
    assert bench.main(["defaults", "--data", str(tmp_path), *flags]) == 0
    settings = 1 + 3 + 1 + 2 * 4  # lr: alpha 0, then three centers; alr: alpha 0, then two penalties and four centers
    assert len(pd.read_csv(path, comment="#")) == 4 * settings
    assert bench.main(["defaults", "--data", str(tmp_path), *flags[:2], "--starts", "--max-iter", "2"]) == 0
    assert "mean ratio" in capsys.readouterr().out


def test_chosen_alphas_stand_beside_the_best_of_a_grid(tmp_path, capsys):
    frame = load_demo("led", 150).frame
    frame.rename(columns={frame.columns[-1]: "class"}).to_csv(tmp_path / "car.csv", index=False)
    path = tmp_path / "rows.csv"
    flags = ["--chosen", "--order", "1", "--sets", "car", "--alphas", "0.001", "0.3", "1000", "--csv", str(path)]
    assert bench.main(["defaults", "--data", str(tmp_path), *flags]) == 0
    rows = pd.read_csv(path, comment="#")
    assert list(rows.fold) == [0, 1, 2, 3, 4]
    assert (rows.best == "(0.3,)").all()  # too weak and too strong a penalty lose more
    assert (rows.log_loss < rows.best_log_loss + 0.1).all()
    assert (rows[["search_seconds", "fit_seconds"]] > 0).all().all()
    regrets = rows.log_loss - rows.best_log_loss
    (line,) = (line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("car  "))
    assert line[3:6] == [f"{value:+.4f}" for value in (regrets.mean(), regrets.min(), regrets.max())]


def test_a_setting_ranks_by_the_geometric_mean_of_its_ratios():
    rows = [
        {"family": "lr", "alpha": alpha, "penalty": "phi", "center": 0, "start": "zero", "set": name, "log_loss": loss,
         "iterations": 1, "seconds": 1.0, "outcome": "step limit" if loss == 0.04 else "converged"}
        for alpha, losses in ((0.1, (0.2, 0.001)), (1.0, (0.1, 0.04))) for name, loss in zip("ab", losses, strict=True)
    ]  # fmt: skip
    table = defaults.ranked(pd.DataFrame(rows))
    assert list(table.alpha) == [0.1, 1.0]
    assert list(table["mean"]) == pytest.approx([2**0.5, 4**0.5])
    assert list(table.worst) == pytest.approx([2.0, 4.0])
    assert list(table.limit) == [0.0, 0.5]


def test_families_race_on_sets_and_zipf_columns_and_orders_of_poker_hands(tmp_path, capsys):
    frame = load_demo("tic-tac-toe", 120).frame
    frame = frame.rename(columns={frame.columns[-1]: "class"})
    frame.to_csv(tmp_path / "car.csv", index=False)
    ranks = {name: f"rank{k}" for k, name in enumerate(frame.columns[:5], 1)}
    frame.rename(columns=ranks).to_csv(tmp_path / f"{families.POKER}.csv", index=False)
    flags = ["--sets", "car", "--orders", "1", "--rows", "100", "--max-iter", "3", "--seeds", "1"]
    path = tmp_path / "rows.csv"
    assert bench.main(["families", "--data", str(tmp_path), *flags, "--csv", str(path)]) == 0
    rows = pd.read_csv(path, comment="#")
    racers = len(families.RACERS)
    assert rows.groupby("part").size().to_dict() == {"real": 2 * racers, "zipf": 3 * racers, "poker": 3 * 2}
    assert (rows[rows.part != "poker"].iterations_1 <= 3).all()
    assert "car n=1 alpha=0, 100 rows" in capsys.readouterr().out
    assert bench.main(["families", "--parts", "zipf", *flags]) == 0
    assert bench.main(["families", *flags]) == 2
    assert "expected --data DIR, or --parts zipf" in capsys.readouterr().err


def test_a_racer_that_never_came_near_counts_with_what_it_spent_and_is_never_first(capsys):
    frame = pd.DataFrame(
        [
            {"set": name, "racer": racer, "order": 1, "alpha": 0.0, "met_0": is_met, "met_1": is_met,
             **{f"{unit}_{goal}": k * count for k, unit in ((1, "iterations"), (2, "passes"), (3, "seconds"))
                for goal in (0, 1)}}
            for name in "ab" for racer, count, is_met in [("lr", 40, True), ("alr", 10, True), ("alrj", 9, False)]
        ]
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(families, "RACERS", dict.fromkeys(["lr", "alr", "alrj"]))
        families.summary(frame, "lr")
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line}
    assert lines["alr"] == [*["0.25", "0.25", "0.25", "2"] * 2, "2"]
    assert lines["alrj"] == [*["0.23", "0.23", "0.23", "0"] * 2, "0"]
    assert lines["lr"] == [*["1.00", "1.00", "1.00", "0"] * 2, "2"]


def test_missing_data_are_named(tmp_path, capsys):
    assert bench.main(["mdl", "--data", str(tmp_path)]) == 2
    assert "there is no covtype-sample.csv.gz" in capsys.readouterr().err


def test_works_take_turns():
    calls = []
    timings = _tools.taking_turns([lambda: calls.append("a"), lambda: calls.append("b")], repeats=2, warm=1)
    assert calls == ["a", "b", "a", "b", "a", "b"]
    assert [len(timing.seconds) for timing in timings] == [2, 2]


def test_the_median_stands_for_a_timing():
    assert _tools.Timing((3.0, 1.0, 200.0)).median == 3.0
    assert str(_tools.Timing((0.01, 0.03, 0.02))) == "0.0200 s (0.0100 s .. 0.0300 s)"


def test_a_table_is_aligned(capsys):
    _tools.show([("a", 1), ("bcd", 22)], header=("name", "n"))
    assert capsys.readouterr().out == "name   n\n----  --\na      1\nbcd   22\n"


def test_rows_are_saved_with_the_machine_they_were_measured_on(tmp_path):
    _tools.save([{"set": "a", "seconds": 0.5}, {"set": "b", "bytes": 12}], tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8").startswith("# alrviz ")
    frame = pd.read_csv(tmp_path / "rows.csv", comment="#")
    assert list(frame.columns) == ["set", "seconds", "bytes"]
    assert frame.seconds[0] == 0.5
    assert frame.bytes[1] == 12


def test_mdl_keeps_its_figures(tmp_path):
    path = tmp_path / "mdl.csv"
    assert bench.main(["mdl", "--rows", "2000", "--repeats", "1", "--csv", str(path)]) == 0
    assert (pd.read_csv(path, comment="#").seconds > 0).sum() == 10


def test_rows_are_repeated_and_some_codes_change():
    encoded = _sets.made_rows(100, 3, 5, 2)
    doubled = _sets.repeated(encoded, 250)
    assert np.array_equal(doubled.codes[:, 100:200], encoded.codes)
    noisy = _sets.repeated(encoded, 10_000, noise=0.1)
    share = (noisy.codes != _sets.repeated(encoded, 10_000).codes).mean()
    assert share == pytest.approx(0.1 * 4 / 5, abs=0.01)  # one in five is replaced by itself
    assert np.array_equal(noisy.y[:100], encoded.y)


def test_a_data_file_is_found_in_its_folder(tmp_path):
    (tmp_path / "adult.csv.gz").write_bytes(b"")
    assert _tools.data_file(tmp_path, "adult") == tmp_path / "adult.csv.gz"
    assert _tools.data_file(None, "adult") is None
    with pytest.raises(AlrvizError, match="there is no letter"):
        _tools.data_file(tmp_path, "letter")


def test_ranks_of_poker_hands_are_names_of_cards_not_numbers(tmp_path):
    hands = pd.DataFrame({f"rank{k}": np.arange(40) % 13 + 1 for k in range(1, 6)})
    hands.assign(**{"class": np.arange(40) % 2}).to_csv(tmp_path / f"{families.POKER}.csv", index=False)
    kinds = _sets.load_set(tmp_path, families.POKER).kinds
    assert set(kinds.values()) == {"categorical"}


def test_sweep_prints_a_row_a_number_of_workers_and_a_recipe(tmp_path, capsys):
    flags = ["--rows", "120", "--rounds", "2", "--orders", "1", "--workers", "1", "--csv", str(tmp_path / "rows.csv")]
    assert bench.main(["sweep", *flags]) == 0
    output = capsys.readouterr().out
    assert "1 worker, 8 fits, 0 failed" in output
    rows = pd.read_csv(tmp_path / "rows.csv", comment="#")
    assert rows.workers.dropna().tolist() == [1]
    assert rows.recipe.dropna().tolist() == ["lr", "alr"]


def test_study_prints_a_row_an_order_and_boosting(capsys):
    assert bench.main(["study", "--rows", "300", "--columns", "4", "--folds", "2", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("order 0", "order 1", "whole study", "boosting")) for line in lines) == 4
