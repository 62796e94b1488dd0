"""The command line: what it prints, writes and returns."""

import pandas as pd
import pytest

import alrviz
from reproduction import __main__ as command_line
from reproduction import items
from reproduction.__main__ import main
from reproduction.tests.folders import MISSING_SET, RING, fill_folder


@pytest.mark.parametrize("jobs", ["0", "-2", "two"])
def test_jobs_below_one_are_refused(jobs, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["--jobs", jobs])
    assert exit_info.value.code == 2
    assert repr(jobs) in capsys.readouterr().err


def test_list_names_the_items_and_the_folder_of_the_sets(capsys):
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["alr-t2", "alr-t3", "alr-t4", "alr-f1"]
    assert lines[-1].startswith("sets are looked for in ")


def test_figures_tables_and_pictures_are_saved(tmp_path, capsys, monkeypatch):
    def study(settings):
        return items.split_rows((MISSING_SET, RING), ("lr",), settings, 2)

    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(command_line, "STUDIES", {"dlr-numeric": study})
    folder, flags = tmp_path / "out", ["dlr-t2", "dlr-t1", "--data", str(fill_folder(tmp_path))]
    assert main([*flags, "--out", str(folder)]) == 0
    output = capsys.readouterr().out
    assert "absent: no data\n  absent.csv is not in" in output
    assert "ring: split 2 of 2" in output
    assert "paper said: " in output
    assert sorted(path.name for path in folder.iterdir()) == [
        "dlr-numeric.csv", "dlr-t1.csv", "dlr-t1.svg", "dlr-t2.csv", "dlr-t2.svg"
    ]  # fmt: skip
    table = pd.read_csv(folder / "dlr-t1.csv", comment="#")
    assert table[table["method"] == "lr"]["paper"].tolist() == [84.5, 93.9]
    assert table["verdict"].tolist()[:2] == ["not run", "not run"]
    assert len(pd.read_csv(folder / "dlr-numeric.csv", comment="#")) == 1 + 2
    second, page = tmp_path / "again", tmp_path / "docs" / "page.md"
    assert main([*flags, "--out", str(second), "--kept", "--report", str(page)]) == 0
    assert (second / "dlr-t1.csv").read_text() == (folder / "dlr-t1.csv").read_text(), "nothing was measured anew"
    assert "(page/items.md)" in page.read_text()
    assert "(dlr.md#dlr-t2)" in (tmp_path / "docs" / "page" / "items.md").read_text()
    assert "(../images/page/dlr-t2.svg)" in (tmp_path / "docs" / "page" / "dlr.md").read_text()
    assert pd.read_csv(tmp_path / "docs" / "page" / "dlr-t1.csv")["paper"].tolist()[-1] == 93.9


def test_published_figures_are_not_measured_again(tmp_path, monkeypatch):
    def study(settings):
        return items.set_rows((RING,), ("lr1 paper", "alr1 paper"), settings, 1)

    monkeypatch.setattr(command_line, "STUDIES", {"sets": study})
    flags = ["wanbia-f1", "--data", str(fill_folder(tmp_path)), "--report", str(tmp_path / "page.md")]

    def rows(place, *options):
        monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / place))
        assert main([*flags, "--out", str(tmp_path / place), *options]) == 0
        return pd.read_csv(tmp_path / "page" / "fits" / "sets.csv")

    first = rows("first")
    assert first["alrviz"].str.startswith(alrviz.__version__).all()
    pd.testing.assert_frame_equal(rows("second"), first.dropna(axis=1, how="all"), check_dtype=False)
    assert "2 rows by 0." in (tmp_path / "page" / "items.md").read_text()
    study_file = tmp_path / "page" / "fits" / "sets.csv"
    first.assign(error=0.75).to_csv(study_file, index=False)
    assert rows("third")["error"].tolist() == [0.75, 0.75], "taken from there"
    assert rows("fourth", "--anew")["error"].tolist() == first["error"].tolist()


def test_missing_sets_are_named_with_their_source(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / "home"))
    folder = tmp_path / "out"
    assert main(["dlr-t4", "--data", str(tmp_path), "--out", str(folder)]) == 2
    output = capsys.readouterr()
    assert "get it from https://archive.ics.uci.edu/dataset/101" in output.out
    assert "none of the sets is in" in output.err
    assert (folder / "dlr-t4.csv").exists()


def test_an_unknown_item_is_an_error(capsys):
    assert main(["dlr-t9"]) == 2
    assert "no item is called 'dlr-t9'" in capsys.readouterr().err
