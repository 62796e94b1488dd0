"""One row, one answer: random tables of odd values are predicted in every way there is, and all ways agree.

`ALRVIZ_CASES=2000 pytest -n 0 tests/estimators/test_same_answer.py -k tables -s` goes over so many tables and prints
how many were compared in each way; by default there are 15, which take some seconds.
"""

import csv
import io
import os
import pickle
import sqlite3
import sys
import types
import warnings
import zipfile
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import alrviz
from alrviz import LRClassifier, NaiveBayesClassifier, TANClassifier, predict_table, save_sql
from alrviz.estimators.model_sql import identifier
from alrviz.estimators.predict_table import predict_batches, predictions_csv

CASES = int(os.environ.get("ALRVIZ_CASES", "15"))
FIRST_CASE = int(os.environ.get("ALRVIZ_FIRST_CASE", "0"))
NAMES = [
    *("prediction", "True", "False", "true", "row", "line", "unseen", "a b", "é", "x;y", 'say "x"', "it's", "=1+1"),
    *("p(a)", "1", "None", "a,b", "column 1", "tab\there", " around ", "born year", "class", "#x", "total", "☃" * 20),
    "\ufeffmark",
]
WORDS = [
    *("a", " a", "a ", "A", "b", "", " ", None, None, "NA", "None", "True", "False", "TRUE", "nan", "NaN", "null"),
    *("?", "-", ".", "é", "e\u0301", "☃", "a,b", 'say "x"', '"', "'", "a;b", "=1+1", "@x", "x\ty", "x  y"),
    *("two\nlines", "x" * 3000, "\u00a0z", "z", "z\u3000", "\\N", "#N/A", "#", "Total", "prediction", "\uff26"),
    *("i\u0307", "\u0130", "ß", "SS", "0x1f", "inf", "1_0"),
]
NUMERALS = [
    *("1", "1.0", "01", "1.50", "1.5", "1e3", "1000", "-0", "0", "+1", "1,5", "1.234", "12%", "<5", ".5", "5.", "1E3"),
]
DATES = ["2020-01-31", "31/01/2020", "1/2/2020", "2020-01-31 10:00", "Jan 2020", "20200131", None]


def odd_column(rng, rows):
    """A column of one of many sorts."""
    words = [WORDS[k] for k in rng.integers(0, len(WORDS), rng.integers(2, 9))]
    sort = rng.integers(0, 15)
    number = rng.normal(size=rows).round(int(rng.integers(0, 12)))
    number[rng.random(rows) < 0.1] = np.nan
    whole = rng.integers(-3, 9, rows)

    def drawn(values, dtype=object):
        return pd.Series([values[k] for k in rng.integers(0, len(values), rows)], dtype=dtype)

    makers = [
        lambda: drawn(words),
        lambda: drawn(words, "string"),
        lambda: drawn(NUMERALS),
        lambda: drawn([*NUMERALS[:4], None, *words]),
        lambda: drawn(DATES),
        lambda: pd.Series(number * 10.0 ** rng.integers(-9, 20)),
        lambda: pd.Series(number.astype(np.float32)),
        lambda: pd.Series(whole),
        lambda: pd.Series(whole).astype("Int64").where(pd.Series(number).notna()),
        lambda: pd.Series(whole % 2 == 0),
        lambda: drawn([True, False, None]),
        lambda: drawn([1, "1", True, 1.5, None, "x ", "TRUE", 2, 0.1, 0]),
        lambda: pd.Series(pd.Categorical(whole / 4)),
        lambda: drawn(list(dict.fromkeys(w for w in words if w is not None)), "category"),
        lambda: pd.Series(pd.Categorical(whole, ordered=True)),
    ]
    return makers[sort]()


def odd_table(seed):
    """Rows with their classes, and further rows of the same columns with some values that the first never had."""
    rng = np.random.default_rng(seed)
    rows, more = int(rng.integers(30, 80)), 12
    names = rng.choice(NAMES, int(rng.integers(2, 5)), replace=False)
    names = [name for k, name in enumerate(names) if name.lower() not in [other.lower() for other in names[:k]]]
    names = names if len(names) > 1 else [*names, "more"]
    frame = pd.DataFrame({name: odd_column(rng, rows + more) for name in names})
    classes = [["yes", "no"], ["True", "prediction", "=1"], [0, 1, 2], [False, True]][int(rng.integers(0, 4))]
    y = np.array([classes[k] for k in rng.integers(0, len(classes), rows)])
    y[: len(classes)] = classes
    return rng, frame.iloc[:rows].reset_index(drop=True), y, frame.reset_index(drop=True)


def model_of(rng):
    settings = {
        "missing": ["level", "skip"][int(rng.integers(0, 2))],
        "discretize": ["mdl", "quantile", None][int(rng.integers(0, 3))],
        "n_bins": 4,
    }
    return [
        NaiveBayesClassifier(**settings),
        LRClassifier(order=1, alpha=0.3, max_iter=3, tol=0.0, unseen="m-estimate", **settings),
        LRClassifier(order=2, alpha=0.3, max_iter=3, tol=0.0, **settings),
        TANClassifier(discretize=settings["discretize"], n_bins=4),
    ][int(rng.integers(0, 4))]


@pytest.fixture(scope="module")
def script():
    """The script of a model file as a module: it is the same in all."""
    model = NaiveBayesClassifier().fit(pd.DataFrame({"x": ["a", "b"]}), [0, 1])
    alrviz.save_model(model, file := io.BytesIO())
    module = types.ModuleType("score")
    module.__file__ = "score.py"
    with zipfile.ZipFile(file) as zipped:
        exec(compile(zipped.read("score.py"), "score.py", "exec"), module.__dict__)
    return module


def probabilities(table):
    return table.filter(regex=r"^p\(").to_numpy(float)


def of_database(database, model, dialect, rows, n):
    """What the view says of a table: probabilities, in the order of the rows, and the classes."""
    save_sql(model, file := io.BytesIO(), dialect, rows=rows)
    sql = file.getvalue().decode()
    database.executescript(sql) if dialect == "sqlite" else database.execute(sql)
    found = database.execute("SELECT * FROM model_predictions")
    names = [column[0] for column in found.description]
    table = pd.DataFrame(found.fetchall(), columns=range(len(names)))
    return table.sort_values(n + 2).reset_index(drop=True).iloc[:, 1 : n + 1].to_numpy(float)


def plain(value):
    if value is None or value is pd.NA or value != value:
        return None
    return value.item() if isinstance(value, np.generic) else value


def in_sqlite(model, new, n):
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE rows ({', '.join(map(identifier, new))})")
    mixed = [name for name in new if new[name].dtype == object and any(value is True for value in new[name])]
    new = new.assign(**{name: new[name].map(str, na_action="ignore") for name in mixed})  # SQLite has no booleans
    lines = [[plain(value) for value in row] for row in new.astype(object).itertuples(index=False)]
    database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * new.shape[1])})", lines)
    return of_database(database, model, "sqlite", "rows", n)


def in_duckdb(model, table, n):
    database = duckdb.connect(config={"threads": 1})
    database.register("given", table)
    database.execute("CREATE TABLE rows AS SELECT * FROM given")
    return of_database(database, model, "duckdb", "rows", n)


def ways(model, new, folder, script):
    """Yield the name of each way to predict rows, and what it says."""
    n = len(model.classes_)
    exact = new.astype({name: "float64" for name in new if new[name].dtype == np.float32})  # pandas writes 7 digits
    csv_text = exact.to_csv(index=False)
    (folder / "rows.csv").write_bytes(csv_text.encode())
    texts = pd.read_csv(io.StringIO(csv_text), dtype=str, keep_default_na=False).set_axis(new.columns, axis=1)
    alrviz.save_model(model, folder / "model.zip")
    loaded, scored = alrviz.load_model(folder / "model.zip"), script.Model(folder / "model.zip")

    def by_script(file):
        return scored.predict_proba(script.read_rows(str(folder / file), scored.spec))

    def in_batches(file):
        return probabilities(pd.concat(predict_batches(model, folder / file, notes=[])))

    yield "frame", probabilities(predict_table(model, new))
    yield "CSV", probabilities(predict_table(model, csv_text.encode()))
    yield "row by row", np.concatenate([model.predict_proba(new.iloc[[i]]) for i in range(len(new) - 3, len(new))])
    yield "zip", loaded.predict_proba(new)
    yield "zip, CSV", probabilities(predict_table(loaded, folder / "rows.csv"))
    yield "pickle", pickle.loads(pickle.dumps(model)).predict_proba(new)
    yield "script, CSV", by_script("rows.csv")
    yield "batches, CSV", in_batches("rows.csv")
    yield "SQLite", in_sqlite(model, new, n)
    yield "SQLite, texts", in_sqlite(model, texts, n)
    try:
        table = pa.Table.from_pandas(new, preserve_index=False)
    except pa.ArrowException:  # a column of mixed types
        yield "DuckDB, texts", in_duckdb(model, pa.Table.from_pandas(texts, preserve_index=False), n)
        return
    pa.parquet.write_table(table, folder / "rows.parquet")
    yield "Parquet", probabilities(predict_table(model, folder / "rows.parquet"))
    yield "script, Parquet", by_script("rows.parquet")
    yield "batches, Parquet", in_batches("rows.parquet")
    yield "DuckDB", in_duckdb(model, table, n)


def disagreements(seed, folder, script, compared):
    """Yield each way in which rows of a random table get another answer than `predict_proba` gives."""
    rng, X, y, new = odd_table(seed)
    model = model_of(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        expected = model.predict_proba(new)
        found = ways(model, new, folder, script)
        while True:
            try:
                way, numbers = next(found)
            except StopIteration:
                return
            except Exception as error:
                yield seed, type(error).__name__, str(error)[:300], X.dtypes.to_dict()
                return
            compared[way] += 1
            against = expected[-len(numbers) :]
            if way != "row by row" and len(numbers) != len(expected):
                yield seed, way, "rows", len(numbers), len(expected)
            elif numbers.shape != against.shape:
                yield seed, way, numbers.shape, against.shape
            elif not (apart := np.abs(numbers - against)).max() <= 1e-9:
                rows = np.flatnonzero(~(apart.max(axis=1) <= 1e-9))[:2]
                yield seed, way, new.iloc[-len(numbers) :].iloc[rows].to_dict("list"), X.dtypes.to_dict()


def test_tables_of_unusual_values_get_equal_predictions_from_all_interfaces(tmp_path, script, monkeypatch):
    monkeypatch.setattr("alrviz.data.stream.new_rows.MIN_LARGE_BYTES", 0)
    compared, wrong = Counter(), []
    for seed in range(FIRST_CASE, FIRST_CASE + CASES):
        wrong += disagreements(seed, tmp_path, script, compared)
    figures = f"{CASES} tables: {dict(compared)}, {sum(compared.values())} comparisons, {len(wrong)} apart\n"
    sys.stdout.write(figures)  # shown by -s
    assert not wrong, "\n".join(map(str, wrong[:20]))


def test_no_spreadsheet_finds_a_formula_among_predictions(tmp_path, script, capsys):
    cells = ["a;=1+1", "=1+1", 'b;"=1+1"', "c\n=1+1", "d; @x", "e;;-1", "f"]
    X = pd.DataFrame({"=1+1": cells * 4, "x;=2": ["u", "v"] * 14, "id": ["1;+2", "ok"] * 14})
    model = NaiveBayesClassifier().fit(X[["=1+1", "x;=2"]], np.array(["=k", "l;=m"] * 14))
    new = X.assign(**{"x;=2": "new;=3"}).head(7)
    new.to_csv(tmp_path / "rows.csv", index=False)
    alrviz.save_model(model, tmp_path / "model.zip")
    assert script.main([str(tmp_path / "rows.csv"), "--model", str(tmp_path / "model.zip")]) == 0
    for text in (predictions_csv(predict_table(model, new, keep="all")), capsys.readouterr().out):
        for delimiter in ",;\t":
            for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
                assert not [cell for cell in line if cell.lstrip(' "').startswith(("=", "+", "-", "@"))], line
        for line in text.splitlines():  # a quote in the middle of a line opens nothing where semicolons part cells
            assert not [cell for cell in line.split(";") if cell.lstrip(' "').startswith(("=", "+", "-", "@"))], line


def test_names_of_columns_stay_distinct_where_a_sign_gets_an_apostrophe(tmp_path, script, capsys):
    X = pd.DataFrame({"=a": ["u", "v"] * 4, "'=a": ["w", "w", "x", "x"] * 2})
    model = NaiveBayesClassifier().fit(X, np.array(["k;=1", "k;'=1"] * 4))
    table = pd.read_csv(io.StringIO(predictions_csv(predict_table(model, X, keep="all"))))
    assert (table["'=a (2)"].tolist(), table["'=a"].tolist()) == (X["=a"].tolist(), X["'=a"].tolist())
    X.to_csv(tmp_path / "rows.csv", index=False)
    alrviz.save_model(model, tmp_path / "model.zip")
    assert script.main([str(tmp_path / "rows.csv"), "--model", str(tmp_path / "model.zip")]) == 0
    names = next(csv.reader(capsys.readouterr().out.splitlines()))
    assert names == [name for name in table if "=a" not in name]
    assert {"p(k;'=1)", "p(k;'=1) (2)"} <= set(names)
