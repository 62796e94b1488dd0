"""The benchmarks' command line; what they measure is never asserted here."""

import pytest

from alrviz.bench import __main__ as bench
from alrviz.bench import _tools
from alrviz.errors import AlrvizError


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


def test_missing_data_are_named(tmp_path, capsys):
    assert bench.main(["mdl", "--data", str(tmp_path)]) == 2
    assert "there is no covtype-sample.csv.gz" in capsys.readouterr().err


def test_works_take_turns():
    seen = []
    timings = _tools.taking_turns([lambda: seen.append("a"), lambda: seen.append("b")], repeats=2, warm=1)
    assert seen == ["a", "b", "a", "b", "a", "b"]
    assert [len(timing.seconds) for timing in timings] == [2, 2]


def test_the_median_stands_for_a_timing():
    assert _tools.Timing((3.0, 1.0, 200.0)).median == 3.0
    assert str(_tools.Timing((0.01, 0.03, 0.02))) == "0.0200 s (0.0100 s .. 0.0300 s)"


def test_a_table_is_aligned(capsys):
    _tools.show([("a", 1), ("bcd", 22)], header=("name", "n"))
    assert capsys.readouterr().out == "name   n\n----  --\na      1\nbcd   22\n"


def test_a_data_file_is_found_in_its_folder(tmp_path):
    (tmp_path / "adult.csv.gz").write_bytes(b"")
    assert _tools.data_file(tmp_path, "adult") == tmp_path / "adult.csv.gz"
    assert _tools.data_file(None, "adult") is None
    with pytest.raises(AlrvizError, match="there is no letter"):
        _tools.data_file(tmp_path, "letter")
