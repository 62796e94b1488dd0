"""The console script: what it prints, the exit codes, and a page that is really there."""

import gzip
import io
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import partial
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz import cli
from alrviz.cli import explore
from alrviz.cli.fit import _pass_text
from alrviz.cli.options import with_options
from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.data.stream.cache import SPOOL_PREFIX, SUFFIX
from alrviz.data.stream.table import Stream
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.server.table_process import READERS
from alrviz.explorer.server.visitor_ids import COOKIE, LOCAL_SWITCH
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.widgets.scripts import dataset_code
from tests.conftest import wait_until
from tests.data.test_layout import workbook

COMMAND = [sys.executable, "-m", "alrviz.cli"]
TABLE = "colour,size,class\n" + "red,1,yes\nblue,2,no\nred,3,yes\nblue,4,no\n" * 5


def run(*arguments, timeout=120, **environment):
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | environment,
        check=False,
    )


@contextmanager
def explorer(*arguments):
    """`alrviz explore` under way; yields the process and the address it prints."""
    process = subprocess.Popen(
        [*COMMAND, "explore", "--no-show", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if address := re.search(r"http://\S+", line):
                break
        else:
            pytest.fail("ended without an address:\n" + "".join(lines))
        yield process, address[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"alrviz {alrviz.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "COMMAND"),
        (["explain"], "invalid choice"),
        (["explore", "--port", "80000"], "'80000' is not a port; expected a whole number from 1 to 65535"),
        (["explore", "--port", "x"], "'x' is not a port"),
    ],
)
def test_wrong_use_says_what_was_expected(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_missing_file_names_its_neighbour(tmp_path, capsys):
    (tmp_path / "adult.csv").write_text(TABLE)
    assert cli.main(["explore", str(tmp_path / "adlut.csv")]) == 2
    error = capsys.readouterr().err
    assert "there is no file" in error
    assert "did you mean 'adult.csv'?" in error


def test_a_folder_without_tables_is_refused(tmp_path, capsys):
    assert cli.main(["explore", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_explore_reads_as_it_is_told(tmp_path):
    rows = "".join(
        f"{i % 7};{'-999' if i % 5 == 0 else i};1,{i % 4};{'xy'[i % 2]};{'nt'[i % 3 > 0]}\n" for i in range(40)
    )
    file = tmp_path / "table.csv"
    file.write_text("left\nout\n" + rows, encoding="utf-8")
    said = ["--skip-rows", "2", "--header", "0", "--missing", "-999", "--decimal", ",", "--delimiter", ";"]
    dataset = explore.read(cli.parser().parse_args(["explore", str(file), *said, "--class", "column 4"]))
    assert dataset.target == "column 4"
    assert dataset.n_rows == 40
    assert dataset.frame["column 2"].isna().sum() == 8
    assert dataset.frame["column 3"].max() == 1.3
    session = Session(owner="a" * 32, registry=Registry(ServerLimits(), timer=False), served=dataset)
    session.link.open(State())
    made = {"alrviz": alrviz}
    session.table.served_from = str(file)
    exec(dataset_code(session), made)
    assert made["dataset"].hash == dataset.hash
    with pytest.raises(SystemExit):
        cli.main(["explore", str(file), "--header", "many"])


def test_explore_takes_a_proxys_address_and_nothing_else(capsys):
    assert cli.main(["explore", "--no-show", "--proxy", "proxy.example"]) != 0
    assert "10.0.0.0/8" in capsys.readouterr().err


def test_explore_reads_in_batches_what_memory_does_not_hold_or_is_told_to(tmp_path, monkeypatch):
    monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / "home"))
    tmp_path = tmp_path / "parts"
    tmp_path.mkdir()
    for part in (1, 2):
        load_demo("led", 300, seed=part).frame.to_csv(tmp_path / f"part-{part}.csv", index=False)

    def opened(*arguments):
        return explore.read(cli.parser().parse_args(["explore", *map(str, arguments), "--class", "class"]))

    assert opened(tmp_path / "part-1.csv").n_rows == 300
    assert isinstance(opened(tmp_path / "part-1.csv"), Dataset)
    for path in (tmp_path, tmp_path / "part-*.csv"):
        assert (type(opened(path)), opened(path).n_rows) == (Stream, 600)
    assert isinstance(opened(tmp_path / "part-1.csv", "--batches"), Stream)
    monkeypatch.setattr(explore, "free_memory", lambda: 20_000)
    assert isinstance(opened(tmp_path / "part-1.csv"), Stream)


@pytest.mark.parametrize("command", ["explore", "predict"])
def test_a_name_that_no_system_allows_is_no_file(command, capsys):
    rest = ["x" * 5000] if command == "explore" else ["m" * 5000, "x" * 5000]
    assert cli.main([command, *rest]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_a_table_without_rows_is_refused_before_serving(tmp_path, capsys):
    (tmp_path / "empty.csv").write_text("")
    assert cli.main(["explore", str(tmp_path / "empty.csv")]) == 2
    assert capsys.readouterr().err.startswith("alrviz: ")


@pytest.fixture
def own_switch(monkeypatch):
    """What the command sets for its process, which is that of other tests here, is as it was afterwards."""
    monkeypatch.setenv(LOCAL_SWITCH, "")


# Tornado leaves a socket that it could not bind to the collector.
UNBOUND = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")


@UNBOUND
@pytest.mark.parametrize("arguments", [["--address", "::1"], ["--origin", "a:b:c"]])
def test_an_address_that_origins_cannot_be_compared_with_is_refused_in_words(arguments, own_switch, capsys):
    assert cli.main(["explore", "--check", *arguments]) == 2
    assert f"{arguments[1]}; expected names or IPv4 addresses" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], True),
        (["--address", "localhost", "--origin", "localhost:8000", "--token", "abc"], True),
        (["--origin", "class.example.org", "--token", "abc"], False),  # behind a proxy on the same machine
        (["--address", "0.0.0.0", "--origin", "localhost"], False),
        (["--token", "none"], False),
        (["--proxy", "127.0.0.1"], False),
    ],
)
def test_browsers_share_one_owner_only_where_nobody_else_reaches_the_server(arguments, expected, monkeypatch):
    monkeypatch.delenv("BOKEH_ALLOW_WS_ORIGIN", raising=False)
    options = cli.parser().parse_args(["explore", *arguments])
    assert explore.for_one_person(options) is expected
    monkeypatch.setenv("BOKEH_ALLOW_WS_ORIGIN", "class.example.org")
    assert not explore.for_one_person(options)


@UNBOUND
@pytest.mark.usefixtures("own_switch", "event_loop")
def test_check_sees_the_page_with_a_table_and_fails_when_it_cannot_be_built(tmp_path, capsys, monkeypatch):
    """A page that failed is answered with status 200 too: the check must look deeper."""
    (tmp_path / "colours.csv").write_text(TABLE)
    monkeypatch.setattr(READERS, "warm", lambda: None)
    assert cli.main(["explore", str(tmp_path / "colours.csv"), "--check"]) == 0
    pattern = r"http://127\.0\.0\.1:\d+/explorer: page 'alrviz[^']*' of \d+ kB, \d+ scripts"
    assert re.search(pattern, capsys.readouterr().out)

    def build(*arguments):
        raise ValueError("planted")

    monkeypatch.setattr("alrviz.explorer.shell.shell.build", build)
    assert cli.main(["explore", "--check"]) == 1
    assert "the page could not be built: ValueError: planted" in capsys.readouterr().err


@UNBOUND
def test_a_port_asked_for_and_in_use_is_an_error(own_switch, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli.main(["explore", "--no-show", "--port", str(port)]) == 2
    assert f"port {port} is in use" in capsys.readouterr().err


def test_without_a_port_the_next_free_one_is_taken_and_ctrl_c_ends_it():
    with socket.socket() as taken:
        with suppress(OSError):  # somebody else has it
            taken.bind(("127.0.0.1", explore.PORT))
            taken.listen()
        with explorer("--origin", "class.example.org") as (process, address):
            assert explore.PORT < urlsplit(address).port < explore.PORT + explore.PORTS_TRIED
            cookies = HTTPCookieProcessor()
            with build_opener(cookies).open(address, timeout=60) as answer:
                assert answer.status == 200
                assert "token" not in answer.url
            assert COOKIE in {cookie.name for cookie in cookies.cookiejar}, "owners are told apart behind a proxy"
            with pytest.raises(HTTPError, match="403"):
                urlopen(address.partition("?")[0], timeout=60)
            if sys.platform != "win32":
                process.send_signal(signal.SIGINT)
                assert wait_until(lambda: process.poll() is not None, 60, "an end after Ctrl-C")
                assert process.returncode == 0
                assert "Traceback" not in process.stdout.read()


@pytest.mark.slow(reason="compiles every variant of every kernel anew")
def test_warm_says_how_many_kernels_and_leaves_them_on_disk(tmp_path):
    done = run("warm", NUMBA_CACHE_DIR=str(tmp_path), timeout=300)
    assert done.returncode == 0, done.stderr
    count = int(re.match(r"(\d+) variants of the kernels", done.stdout)[1])
    assert count > 0
    assert len(list(tmp_path.rglob("*.nbc"))) >= count


def test_a_sheet_is_chosen_by_its_name_also_one_of_digits_and_else_by_its_place(tmp_path):
    lines = ["a,class", *(f"{i % 5},{'xy'[i % 2]}" for i in range(6))]
    file = tmp_path / "years.xlsx"
    file.write_bytes(workbook({"2022": "\n".join(lines), "2023": "\n".join([*lines, "7,x"])}))
    for said, rows in (("2022", 6), ("2023", 7), ("2", 7)):
        options = cli.parser().parse_args(["explore", str(file), "--sheet", said, "--class", "class"])
        assert explore.read(options).n_rows == rows


def test_inspect_shows_what_is_doubtful_and_prints_a_spec_that_reads_alike(tmp_path, capsys):
    rows = "".join(f"{20 + k % 40},{['red', 'Red', 'blue'][k % 3]},{'yn'[k % 2]}\n" for k in range(90))
    (tmp_path / "t.csv").write_text("age,colour,class\n" + rows + "-99,red,y\n-99,red,n\n")
    assert cli.main(["inspect", str(tmp_path / "t.csv"), "--kind", "colour=ordinal"]) == 0
    shown = capsys.readouterr().out
    assert "92 rows" in shown
    assert re.search(r"(?m)^  colour +ordinal +levels, 2 different", shown)
    assert "'add': ['-99']" in shown
    assert cli.main(["inspect", str(tmp_path / "t.csv")]) == 0
    assert "the target is 'class'" in capsys.readouterr().out
    assert cli.main(["inspect", str(tmp_path / "t.csv"), "--json", "--missing", "-99"]) == 0
    (tmp_path / "spec.json").write_text(capsys.readouterr().out)
    dataset = alrviz.read_table(tmp_path / "t.csv", spec=tmp_path / "spec.json")
    assert dataset.X["age"].min() == 20
    assert cli.main(["inspect", str(tmp_path / "t.csv"), "--spec", str(tmp_path / "spec.json")]) == 0
    assert "doubtful" not in capsys.readouterr().out


def test_inspect_reads_with_filled_cells_spellings_and_annotated_numbers(tmp_path, capsys):
    lines = "".join(
        f"{'ab'[k % 2] if k % 3 == 0 else ''},{['femal', 'male'][k % 2]},{k}.5 p,{'yn'[k % 2]}\n" for k in range(60)
    )
    (tmp_path / "t.csv").write_text("group,sex,size,class\n" + lines)
    options = ["--fill-down", "--spelling", "femal=female", "--numbers", "size", "--json"]
    assert cli.main(["inspect", str(tmp_path / "t.csv"), *options]) == 0
    dataset = alrviz.read_table(tmp_path / "t.csv", spec=json.loads(capsys.readouterr().out))
    assert dataset.frame["group"].notna().all()
    assert set(dataset.frame["sex"]) == {"female", "male"}
    assert dataset.frame["size"].max() == 59.5
    assert cli.main(["inspect", str(tmp_path / "t.csv"), "--spelling", "femal"]) == 2
    assert "expected TEXT=LEVEL" in capsys.readouterr().err


def test_inspect_prints_changes_for_several_doubts_of_one_column_that_can_be_given_together(tmp_path, capsys):
    codes = [77, 88, 99] * 4
    rows = "".join(f"{k % 5 + 1},{'ab'[k % 2]}\n" for k in range(200)) + "".join(f"{code},a\n" for code in codes)
    (tmp_path / "t.csv").write_text("answer,class\n" + rows)
    assert cli.main(["inspect", str(tmp_path / "t.csv")]) == 0
    changes = re.findall(r"if so: options = (options.with_change.*)", capsys.readouterr().out)
    assert len(changes) >= 3
    options = alrviz.ReadOptions()
    for change in changes:
        options = eval(change, {"options": options})
    assert alrviz.read_table(tmp_path / "t.csv", options=options).frame["answer"].isna().sum() == len(codes)


def test_inspect_shows_columns_and_doubts_of_a_table_whose_class_is_refused(tmp_path, capsys):
    lines = "".join(f"{20 + k % 40 if k % 45 else -99},{1000 + 7 * k}\n" for k in range(90))
    (tmp_path / "t.csv").write_text("age,price\n" + lines)
    assert cli.main(["inspect", str(tmp_path / "t.csv")]) == 2
    output = capsys.readouterr()
    assert re.search(r"(?m)^  price +numeric", output.out)
    assert "'add': ['-99']" in output.out
    assert "'price' holds 90 different numbers" in output.err
    with pytest.raises(alrviz.TableError) as refusal:
        alrviz.read_table(tmp_path / "t.csv")
    assert any("'-99'" in note for note in refusal.value.__notes__)


def test_predict_writes_a_class_for_every_row(tmp_path, capsys):
    data = alrviz.load_demo("tic-tac-toe")
    model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    alrviz.save_model(model, tmp_path / "model.zip")
    data.X.head(7).astype(str).replace("b", "q").to_csv(tmp_path / "rows.csv", index=False)
    files = ["predict", str(tmp_path / "model.zip"), str(tmp_path / "rows.csv")]
    assert cli.main([*files, "-o", str(tmp_path / "out.csv")]) == 0
    assert re.search(r"^7 rows predicted, \d with values that training never saw: .*out.csv$", capsys.readouterr().out)
    assert cli.main(files) == 0
    assert capsys.readouterr().out == (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert cli.main([*files, "-o", str(tmp_path / "nowhere" / "out.csv")]) == 2
    assert "out.csv' cannot be written: No such file or directory" in capsys.readouterr().err


def test_export_writes_sql_that_predicts(tmp_path, capsys):
    data = alrviz.load_demo("tic-tac-toe")
    model = alrviz.ALRClassifier(order=2, alpha=1.0).fit(data.X, data.y)
    alrviz.save_model(model, tmp_path / "model.zip", dataset=data)
    command = ["export", str(tmp_path / "model.zip"), "--sql", "sqlite", "--rows", "games", "--name", "ttt"]
    assert cli.main([*command, "-o", str(tmp_path / "model.sql")]) == 0
    assert re.search(r"^0\.\d MB: .*model.sql; .*'games'.*ttt_predictions", capsys.readouterr().out)
    assert cli.main(command) == 0
    sql = capsys.readouterr().out
    assert sql == (tmp_path / "model.sql").read_text(encoding="utf-8")
    database = sqlite3.connect(":memory:")
    data.X.astype(object).to_sql("games", database, index=False)
    database.executescript(sql)
    found = pd.read_sql("SELECT * FROM ttt_predictions ORDER BY line", database).filter(like="p(")
    database.close()
    np.testing.assert_allclose(found, model.predict_proba(data.X), rtol=0, atol=1e-9)


def test_export_says_what_cannot_be_had(tmp_path, capsys):
    data = alrviz.load_demo("led", rows=200)
    alrviz.save_model(alrviz.AnDEClassifier().fit(data.X, data.y), tmp_path / "model.zip")
    for said, complaint in (
        (["--sql", "sqlite"], "no sums over tables"),
        (["--sql", "duckdbb"], "did you mean 'duckdb'"),
    ):
        assert cli.main(["export", str(tmp_path / "model.zip"), *said]) == 2
        assert complaint in capsys.readouterr().err
    assert cli.main(["export", str(tmp_path / "modl.zip"), "--sql", "sqlite"]) == 2
    assert "did you mean 'model.zip'" in capsys.readouterr().err


def test_predict_says_what_it_cannot_use(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    (tmp_path / "model.zip").write_bytes(b"PK\x03\x04 and no more")
    rows = str(tmp_path / "rows.csv")
    assert cli.main(["predict", str(tmp_path / "model.zip"), rows]) == 2
    assert "damaged, incomplete or no model" in capsys.readouterr().err
    assert cli.main(["predict", str(tmp_path / "modl.zip"), rows]) == 2
    assert "did you mean 'model.zip'" in capsys.readouterr().err


def test_predict_says_which_file_it_may_not_read(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", "model.zip")

    monkeypatch.setattr("alrviz.estimators.predict_table.predict_with_notes", refuse)
    alrviz.save_model(alrviz.NaiveBayesClassifier().fit([[1], [2]], [0, 1]), tmp_path / "model.zip")
    assert cli.main(["predict", str(tmp_path / "model.zip"), str(tmp_path / "model.zip")]) == 2
    assert capsys.readouterr().err == "alrviz: 'model.zip' cannot be read: Permission denied\n"


def test_predict_marks_a_bad_number_goes_on_and_passes_columns_through(tmp_path, capsys):
    data = alrviz.load_demo("iris")
    alrviz.save_model(alrviz.NaiveBayesClassifier().fit(data.X, data.y), tmp_path / "model.zip")
    rows = data.X.head(4).astype(str).assign(id=["=1+1", "b", "c", "d"], note="as it is")
    first = data.X.columns[0]
    rows.loc[1, first], rows.loc[3, first] = "abc", "1e999"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model, table = str(tmp_path / "model.zip"), str(tmp_path / "rows.csv")
    assert cli.main(["predict", model, table, "--keep", "id"]) == 0
    told = capsys.readouterr()
    found = pd.read_csv(io.StringIO(told.out))
    assert found.columns.tolist()[:3] == ["row", "id", "prediction"]
    assert found.id.tolist() == ["'=1+1", "b", "c", "d"], "no spreadsheet takes it for a formula"
    assert found.prediction.notna().all()
    assert found.unseen.fillna("").tolist() == [
        "", f"{first}=abc (not a number)", "", f"{first}=1e999 (not a number)",
    ]  # fmt: skip
    assert f"2 values of {first!r} cannot be read as a number" in told.err
    assert cli.main(["predict", model, table, "--keep-all"]) == 0
    every = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert set(rows.columns) < set(every.columns)
    assert cli.main(["predict", model, table, "--keep", "idd"]) != 0
    assert "did you mean 'id'" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_large_files_are_predicted_in_batches_as_small_ones_are_at_once(tmp_path, monkeypatch, capsys, ending):
    data = alrviz.load_demo("iris")
    model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    alrviz.save_model(model, tmp_path / "model.zip", dataset=data)
    rows = pd.concat([data.X] * 40, ignore_index=True).assign(id=range(6000))
    if ending != "parquet":
        first = data.X.columns[0]
        rows[first] = rows[first].astype(object)
        rows.loc[[7, 5000], first] = "abc"
    rows.loc[5500, data.X.columns[1]] = None
    path = tmp_path / f"rows.{ending}"
    rows.to_parquet(path) if ending == "parquet" else rows.to_csv(path, index=False)
    given = ["predict", str(tmp_path / "model.zip"), str(path), "--keep", "id", "-o"]
    assert cli.main([*given, str(tmp_path / "whole.csv")]) == 0
    whole = capsys.readouterr()
    monkeypatch.setattr("alrviz.data.stream.new_rows.MIN_LARGE_BYTES", 0)
    monkeypatch.setattr("alrviz.data.stream.source.BLOCK_BYTES", 2**13)
    monkeypatch.setattr("alrviz.data.stream.source.BATCH_ROWS", 500)
    monkeypatch.setattr("alrviz.estimators.predict_table.predict_with_notes", None)
    assert cli.main([*given, str(tmp_path / "parts.csv")]) == 0
    parts = capsys.readouterr()
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert parts.err == whole.err
    assert ("2 values of" in parts.err) == (ending != "parquet")
    assert cli.main([*given, str(tmp_path / "parts.parquet")]) == 0
    found = pd.read_parquet(tmp_path / "parts.parquet")
    found["id"] = found["id"].astype(int)  # what is passed through of text is text
    pd.testing.assert_frame_equal(found, pd.read_csv(tmp_path / "parts.csv", keep_default_na=False), check_exact=False)
    assert not list(tmp_path.glob("*.part"))


def test_predictions_have_their_name_once_they_are_whole(tmp_path, monkeypatch, capsys):
    data = alrviz.load_demo("iris")
    alrviz.save_model(alrviz.NaiveBayesClassifier().fit(data.X, data.y), tmp_path / "model.zip", dataset=data)
    text = pd.concat([data.X] * 40, ignore_index=True).to_csv(index=False).encode()
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text)[:-900])
    monkeypatch.setattr("alrviz.data.stream.new_rows.MIN_LARGE_BYTES", 0)
    monkeypatch.setattr("alrviz.data.stream.source.BLOCK_BYTES", 2**13)
    given = ["predict", str(tmp_path / "model.zip"), str(tmp_path / "rows.csv.gz"), "-o", str(tmp_path / "out.csv")]
    assert cli.main(given) == 2
    assert "'rows.csv.gz' is damaged or cut short" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.zip", "rows.csv.gz"]


def test_fit_makes_a_model_of_files_that_predict_takes(tmp_path, capsys):
    lines = TABLE.splitlines()
    for k in range(2):
        (tmp_path / f"part-{k}.csv").write_text("\n".join([lines[0], *(lines[1:] * 20)]) + "\n")
    out, cache = tmp_path / "model.zip", tmp_path / "codes"
    given = ["fit", str(tmp_path / "part-*.csv"), "--target", "class", "--order", "1", "--passes", "2", "-o", str(out)]
    given += ["--cache", str(cache), "--kind", "size=categorical"]
    assert cli.main(given) == 0
    said = capsys.readouterr().out
    assert "800 rows, class 'class'" in said
    assert re.search(r"pass 2 of 2: log loss \d\.\d+, test \d\.\d+ \(error 0\.0000\)", said)
    assert [path.name for path in tmp_path.glob("model*")] == ["model.zip"]  # what --resume would need is gone
    assert cli.main(["predict", str(out), str(tmp_path / "part-0.csv"), "-o", str(tmp_path / "p.csv")]) == 0
    assert (pd.read_csv(tmp_path / "p.csv")["prediction"] == pd.read_csv(tmp_path / "part-0.csv")["class"]).all()


@pytest.mark.parametrize(
    ("family", "said", "settings"),
    [
        ("alr", [], {"solver": "auto", "max_iter": 5}),
        (
            "lr",
            ["--solver", "tron", "--passes", "7", "--penalty", "w", "--center", "anje", "--start", "anje"],
            {"solver": "tron", "max_iter": 7, "penalty": "w", "center": "anje", "start": "anje"},
        ),
        ("alr", ["--center", "1", "--start", "one", "--alpha", "0.5"], {"center": 1, "start": "one", "alpha": 0.5}),
        ("hsalr", ["--grow", "strong", "--keep", "0.4"], {"grow": "strong", "keep": 0.4}),
    ],
)
def test_fit_takes_the_settings_of_recipes(tmp_path, monkeypatch, family, said, settings):
    class Caught(Exception):
        pass

    def caught(stream, recipe, **of):
        raise Caught(recipe)

    (tmp_path / "t.csv").write_text(TABLE)
    monkeypatch.setattr("alrviz.fitting.runs.run.Run", caught)
    given = ["fit", str(tmp_path / "t.csv"), "-o", str(tmp_path / "m.zip"), "--family", family, *said]
    with pytest.raises(Caught) as found:
        cli.main([*given, "--order", "1", "--target", "class"])
    assert settings.items() <= found.value.args[0].params.items()


def test_fit_says_which_solver_a_sample_chose_and_how_many_passes_were_made(tmp_path, capsys):
    alrviz.load_demo("led", rows=2000).frame.to_csv(tmp_path / "led.csv", index=False)
    given = ["fit", str(tmp_path / "led.csv"), "--order", "1", "--passes", "3", "--cache", str(tmp_path / "codes")]
    assert cli.main([*given, "-o", str(tmp_path / "a.zip")]) == 0
    assert re.search(r"(tron|averaged): fitted to [\d,]+ rows its log loss on", capsys.readouterr().out)
    assert cli.main([*given, "-o", str(tmp_path / "b.zip"), "--solver", "tron"]) == 0
    assert re.findall(r"pass (\d) of 3: log loss", capsys.readouterr().out)[:2] == ["1", "2"]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["--kind", "size"], "--kind 'size' has no equals sign; expected COLUMN=KIND"),
        (
            ["--family", "tan"],
            "tan cannot be fitted to a table read in batches; expected one of 'lr', 'alr', 'hlr', ",
        ),
        (["--out", "/nowhere/model.zip"], "there is no folder '/nowhere'"),
        (["--target", "klass"], "no column is called 'klass'; did you mean 'class'"),
        (["--family", "anje", "--keep", "0.3"], "--keep is for hlr, halr, salr, hsalr; anje has no such setting"),
        (["--grow", "weak"], "--grow is for hsalr; alr has no such setting"),
        (
            ["--solver", "sgd", "--alpha", "0"],
            "solver='sgd' is not supported for a table read in batches; expected 'auto' or 'averaged'",
        ),
        (["--center", "2"], "center=2"),
        (["--selection", "zzz", "--family", "salr"], "selection='zzz'"),
        (["--order", "5"], "order=5 needs at least 5 columns"),
        (["--keep", "2.5", "--family", "salr"], "keep=2.5 is neither a share nor a number of tuples"),
    ],
)
def test_fit_says_what_cannot_be_had(tmp_path, capsys, more, error):
    (tmp_path / "t.csv").write_text(TABLE)
    given = ["fit", str(tmp_path / "t.csv"), "-o", str(tmp_path / "m.zip"), "--cache", str(tmp_path / "codes")]
    assert cli.main([*given, *more]) == 2
    assert error in capsys.readouterr().err
    assert not (tmp_path / "m.zip").exists()


def test_fit_says_what_was_chosen_and_by_which_rows(tmp_path, capsys):
    lines = TABLE.splitlines()
    (tmp_path / "t.csv").write_text("\n".join([lines[0], *(lines[1:] * 40)]) + "\n")
    given = ["fit", str(tmp_path / "t.csv"), "--target", "class", "-o", str(tmp_path / "m.zip")]
    given += ["--cache", str(tmp_path / "codes"), "--family", "salr", "--order", "auto", "--keep", "auto"]
    assert cli.main([*given, "--passes", "2"]) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"order=\d and alpha=.* chosen by validation log loss of 3 folds: .* rows drawn from the table", said
    )
    assert re.search(r"keep=[\d.]+ was chosen by log loss on [\d,]+ validation rows: ", said)
    for option in ("--order", "--keep"):
        with pytest.raises(SystemExit):
            cli.main([*given, option, "some"])
        assert "'some' is not known; expected a" in capsys.readouterr().err


def test_a_fit_that_was_broken_off_is_not_begun_anew_by_mistake(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "m.zip.resume").write_bytes(b"a night's work")
    assert cli.main(["fit", str(tmp_path / "t.csv"), "-o", str(tmp_path / "m.zip")]) == 2
    assert "continue it with --resume, or remove it" in capsys.readouterr().err
    assert (tmp_path / "m.zip.resume").exists()


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        ("alrviz.data.stream.table.open_table", ["fit", "{rows}", "-o", "{out}"]),
        ("alrviz.estimators.model_file.load_model", ["predict", "{rows}", "{rows}", "-o", "{out}"]),
        ("alrviz.estimators.model_file.load_model", ["export", "{rows}", "--sql", "sqlite", "-o", "{out}"]),
        ("alrviz.data.read.read_table", ["report", "{rows}", "-o", "{out}"]),
        ("alrviz.fitting.warm.warm", ["warm"]),
    ],
)
def test_control_c_ends_a_command_with_a_code_of_its_own(place, arguments, tmp_path, monkeypatch):
    def pressed(*arguments, **options):
        raise KeyboardInterrupt

    (tmp_path / "rows.csv").write_text(TABLE)
    monkeypatch.setattr(place, pressed)
    files = {"rows": tmp_path / "rows.csv", "out": tmp_path / "out"}
    assert cli.main([argument.format(**files) for argument in arguments]) == 130
    assert not files["out"].exists()


def test_a_fit_that_goes_on_with_other_settings_names_the_options():
    assert with_options("of another fit: max_iter was 5 and is 2") == "of another fit: --passes was 5 and is 2"


def _there_or_over(moment, process):
    return moment() or process.poll() is not None


LONG = pytest.mark.slow(reason="four fits in processes of their own; another solver is killed each time")


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(("--solver", "adagrad"), marks=LONG),
        ("--solver", "averaged"),
        pytest.param(("--solver", "tron", "--family", "hsalr", "--keep", ".5"), marks=LONG),
    ],
)
def test_a_fit_that_was_killed_goes_on_to_the_same_model(tmp_path, more):
    """Killed while it codes, as soon as codes are there (slow), and after its first pass.

    What was whole is gone on from, and the model is that of a fit left alone.
    """
    rows = alrviz.load_demo("led", rows=3000)
    rows.frame.to_csv(tmp_path / "led.csv", index=False)
    given = ["fit", str(tmp_path / "led.csv"), "--order", "2", "--passes", "40", *more]
    whole, out, codes = tmp_path / "whole.zip", tmp_path / "killed.zip", tmp_path / "codes"
    assert cli.main([*given, "--cache", str(tmp_path / "other codes"), "-o", str(whole)]) == 0
    given += ["--cache", str(codes), "-o", str(out), "--resume"]
    moments = (
        lambda: any(codes.glob(f"{SPOOL_PREFIX}*")),
        lambda: any(codes.glob(f"*{SUFFIX}")),
        (tmp_path / "killed.zip.resume").exists,
    )
    for moment in moments[::2] if "averaged" in more else moments:
        for _ in range(5):  # a moment may pass before anybody looks: then the fit begins anew
            process = subprocess.Popen([*COMMAND, *given], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_until(partial(_there_or_over, moment, process), 60, "a moment to kill it", 0.001)
            finally:
                process.kill()
                process.wait()
            if not out.exists():
                break
            out.unlink()
            shutil.rmtree(codes)
        else:
            pytest.fail("the fit was over five times before it could be killed")
    assert cli.main(given) == 0
    models = [alrviz.load_model(path) for path in (whole, out)]
    first, second = (model.predict_proba(rows.X) for model in models)
    assert (first == second).all()


def test_what_is_to_be_passed_is_said_as_an_option(tmp_path, capsys):
    path = tmp_path / "houses.csv"
    path.write_text("rooms,price\n" + "\n".join(f"{k % 5},{1000 + 7 * k}" for k in range(60)))
    assert cli.main(["explore", "--check", "--class", "price", str(path)]) == 2
    said = capsys.readouterr().err
    assert "say --quartiles to cut it into four classes, or choose another target" in said
    assert "quartiles=" not in said
    assert with_options("x (options=ReadOptions(missing=('?', 'n.b.')) reads it)") == (
        "x (--missing '?' --missing 'n.b.' reads it)"
    )
    assert with_options("x (options=ReadOptions(missing=()) keeps it)") == "x (--missing '' keeps it)"
    in_one_column = "options=ReadOptions(columns={'a': {'missing': ['9']}}) reads it as missing"
    assert with_options(f"9 was read as a number ({in_one_column})") == "9 was read as a number"
    assert with_options("inferred from 5 rows: pass kinds= to override") == (
        "inferred from 5 rows: say --kind COLUMN=KIND to override"
    )


def test_a_last_step_of_two_passes_is_no_pass_beyond_those_asked_for():
    def told(passes: float) -> str:
        step = SimpleNamespace(extra={}, passes=passes + 3.0, nll=5.0)
        return _pass_text(SimpleNamespace(passes_before=3.0, solver="tron", trace=SimpleNamespace(rows=10.0)), step, 5)

    assert told(4.0) == "pass 4 of 5: log loss 0.50000"
    assert told(6.0) == "pass 5 of 5 and 1 more to end the last step: log loss 0.50000"
