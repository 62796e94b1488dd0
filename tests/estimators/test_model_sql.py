"""A model as SQL: databases give the probabilities that the model gives."""

import io
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot

import alrviz
from alrviz import (
    ALRClassifier,
    AnDEClassifier,
    AutoClassifier,
    DLRClassifier,
    HALRClassifier,
    HierarchicalSelectiveALRClassifier,
    LRClassifier,
    NaiveBayesClassifier,
    SelectiveALRClassifier,
    save_sql,
)
from alrviz.errors import ModelFileError
from alrviz.estimators.model_sql import identifier, literal
from tests.estimators.tables import drawn
from tests.estimators.test_model_file import MODELS, hostile, quietly_fitted, strange

SHORT = {"alpha": 1.0, "max_iter": 8, "tol": 0.0}
MORE = {
    "halr-2": HALRClassifier(order=2, **SHORT),
    "salr-2": SelectiveALRClassifier(order=2, **SHORT),
    "hsalr-3": HierarchicalSelectiveALRClassifier(order=3, **SHORT),
    "auto": AutoClassifier(order=1),
}
REFUSED = ("ande", "dlr", "elr-tan-summed")
TABLES_OF_SCORES = {name: model for name, model in (MODELS | MORE).items() if not name.startswith(REFUSED)}
# Those whose SQL has another form, or other columns in its tables, than all before them.
FORMS = ["lr-2", "lr-1-m-estimate", "alr-2-m-estimate-skip", "values", "smooth", "hinge", "nb", "tan", "kdb", "elr-nb"]
FORMS += ["hsalr-3", "auto", "smooth-1", "anje-3"]
HOSTILE_NAMES = ['"; DROP TABLE rows; --', "it's \\ 'quoted'", "naïve ☃ 列", "two\nlines", "line", "p(=no)", "1"]
HOSTILE_LEVELS = [
    "'; DROP TABLE rows; --",
    "it's",
    'say "no"',
    "",
    " ",
    "a\nb",
    "☃",
    "1",
    "1.0",
    "007",
    "7",
    "\\",
    "NA",
]


@pytest.fixture(scope="module")
def postgres():
    """A Postgres server of our own, which psql finds by itself."""
    places = [*Path("/usr/lib/postgresql").glob("*/bin"), *map(Path, os.environ["PATH"].split(os.pathsep))]
    programs = next((place for place in places if (place / "initdb").exists()), None)
    if programs is None or not shutil.which("psql"):
        pytest.skip("no Postgres server is installed here")
    folder = tempfile.mkdtemp()  # a socket's path has to be short
    run = partial(subprocess.run, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    if os.geteuid() == 0:  # it refuses to run as root
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        run = partial(run, user="postgres")
    control = [programs / "pg_ctl", "-D", f"{folder}/data", "-l", f"{folder}/log", "-w", "-s"]
    run(
        [programs / "initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "--locale=C"]
    )
    run([*control, "-o", f"-k {folder} -h '' -F", "start"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGHOST", folder)
        patch.setenv("PGUSER", "postgres")
        yield
    run([*control, "-m", "immediate", "stop"])
    shutil.rmtree(folder)


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def dialect(request):
    if request.param == "postgres":
        request.getfixturevalue("postgres")
    return request.param


def in_postgres(script):
    """What psql says of a script that begins with an empty database."""
    script = f"DROP SCHEMA public CASCADE;\nCREATE SCHEMA public;\n{script}"
    command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"]
    done = subprocess.run(command, input=script, capture_output=True, encoding="utf-8")
    assert not done.returncode, done.stderr
    return done.stdout


def predicted_by_postgres(sql, X, rows, view):
    kinds = {"b": "boolean", "i": "bigint", "f": "double precision"}
    columns = ", ".join(f"{identifier(name)} {kinds.get(X[name].dtype.kind, 'text')}" for name in X)
    escaped = str.maketrans({"\\": r"\\", "\n": r"\n", "\t": r"\t", "\r": r"\r"})
    lines = [
        "\t".join(r"\N" if plain(value) is None else str(value).translate(escaped) for value in row)
        for row in X.astype(object).itertuples(index=False)
    ]
    data = "\n".join([f"CREATE TABLE {identifier(rows)} ({columns});", f"COPY {identifier(rows)} FROM STDIN;", *lines])
    asked = f"SELECT row_to_json(v) FROM (SELECT * FROM {identifier(view)}) v;"
    found = in_postgres(f"{data}\n\\.\n{sql}\n{asked}")
    return in_order(pd.DataFrame(list(map(json.loads, found.splitlines()))))


def sql_of(model, dialect, **kwargs):
    file = io.BytesIO()
    save_sql(model, file, dialect, **kwargs)
    return file.getvalue().decode()


def plain(value):
    """A value as a database's client takes it."""
    return None if value is None or value != value else value.item() if isinstance(value, np.generic) else value


def predicted(dialect, sql, X, rows="rows", view="model_predictions"):
    """What the view says of the rows of a table, in its order."""
    if dialect == "postgres":
        return predicted_by_postgres(sql, X, rows, view)
    if dialect == "duckdb":
        database = duckdb.connect(config={"threads": 1})
        database.register("given", X)
        database.execute(f"CREATE TABLE {identifier(rows)} AS SELECT * FROM given")
        database.execute(sql)
    else:
        database = sqlite3.connect(":memory:")
        database.execute(f"CREATE TABLE {identifier(rows)} ({', '.join(map(identifier, X))})")
        values = [[plain(value) for value in row] for row in X.astype(object).itertuples(index=False)]
        database.executemany(f"INSERT INTO {identifier(rows)} VALUES ({', '.join('?' * X.shape[1])})", values)
        database.executescript(sql)
    found = database.execute(f"SELECT * FROM {identifier(view)}")
    table = pd.DataFrame(found.fetchall(), columns=[about[0] for about in found.description])
    database.close()
    return in_order(table)


def in_order(table):
    """The rows of a view in the order of its column that counts them, which is behind that of unseen values."""
    place = next(k for k, name in enumerate(table) if name.startswith("unseen")) + 1
    return table.sort_values(table.columns[place]).reset_index(drop=True)


def agrees(table, model, X):
    n = len(model.classes_)
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(X)
    else:
        expected = model.decision_function(X)
        expected = np.column_stack([0 * expected, expected]) if expected.ndim == 1 else expected
    found = table.iloc[:, 1 : n + 1].to_numpy(float)
    if not hasattr(model, "predict_proba") and n == 2:
        found = found - found[:, :1]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert table.iloc[:, 0].tolist() == model.predict(X).tolist()


@pytest.fixture(scope="module", params=FORMS)
def fitted(request):
    X, y = hostile(150)
    rng = np.random.default_rng(1)
    for name in HOSTILE_NAMES:
        X[name] = rng.choice(HOSTILE_LEVELS, len(X))
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    return quietly_fitted(TABLES_OF_SCORES[request.param], X, y, weights), X


def test_databases_give_the_models_probabilities(fitted, dialect):
    model, X = fitted
    new = strange(X)
    for k, name in enumerate(HOSTILE_NAMES):  # levels beside others than those training saw them beside
        new[name] = np.roll(new[name].to_numpy(), k)
    for name in HOSTILE_NAMES[:4]:
        new[name] = new[name].where(np.arange(len(X)) % 4 > 0, "07")
    table = predicted(dialect, sql_of(model, dialect), new)
    agrees(table, model, new[X.columns])
    unseen = []
    for own in model.encoder_.columns_:
        gone = new[own.name].isna() if own.kind == "numeric" else new[own.name].map(own.is_missing)
        unseen.append((own.transform(new[own.name]) == own.n_levels) & ~gone.to_numpy(bool))
    assert table.iloc[:, len(model.classes_) + 1].tolist() == np.sum(unseen, axis=0).tolist()


@pytest.mark.parametrize(
    "classes",
    [
        np.arange(130),  # more than the arguments that a function of SQLite takes
        np.array(["=1", "'", "", "☃"]),
        np.array([False, True]),
        np.array(["b", "B"]),
        np.array([f"{'é' * 40} 1", f"{'é' * 40} 2"]),
    ],
)
def test_any_number_of_classes_and_of_columns(dialect, classes):
    rng = np.random.default_rng(0)
    # SQLite joins up to 500 parts of a query; the others know no such end, and plan long
    columns = (520 if dialect == "sqlite" else 20) if len(classes) == 4 else 3
    y = classes[np.arange(max(40, 4 * len(classes))) % len(classes)]
    X = pd.DataFrame({f"c{j}": rng.integers(0, 3, len(y)) for j in range(columns)}).astype("category")
    model = NaiveBayesClassifier().fit(X, y)
    table = predicted(dialect, sql_of(model, dialect), X)
    agrees(table, model, X)
    assert table.columns[len(model.classes_) + 2] == "line"
    assert len({name.casefold() for name in table.columns}) == len(table.columns)


def test_numbers_at_a_cut_lie_on_its_side_whatever_their_digits(dialect):
    rng = np.random.default_rng(0)
    numbers = np.concatenate(
        [rng.normal(size=300), rng.random(300).astype(np.float32), np.exp(50 * rng.normal(size=400))]
    )
    X = pd.DataFrame({"x": np.repeat(numbers, 2)})
    y = (np.arange(len(X)) * 7 % 11 > np.repeat(rng.integers(0, 11, len(numbers)), 2)).astype(int)
    for how in ({"discretize": "quantile", "n_bins": 400}, {"discretize": None}):
        model = quietly_fitted(LRClassifier(order=1, **how, **SHORT), X, y)
        cuts = model.encoder_.columns_[0].cuts
        at = numbers if cuts is None else cuts
        new = pd.DataFrame({"x": np.concatenate([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)])})
        agrees(predicted(dialect, sql_of(model, dialect), new), model, new)


def test_database_types_that_differ_from_the_table(dialect):
    text = "a,b,class\n" + "".join(f"{k % 9},{'Red' if k % 2 else 'blue'},{k % 9 > k % 5}\n" for k in range(90))
    dataset = alrviz.read_table(text.encode())
    model = LRClassifier(order=2, **SHORT)
    model = quietly_fitted(model, dataset.X, dataset.y)
    a = ["3", "3.0", " 4 ", "three", "?", "nan", "", "1e999", "1e-999", "-1e99999"]
    b = ["RED", "red ", "?", None, "", "green", "Red", *["blue"] * 3]
    strange = pd.DataFrame({"a": a, "b": b})
    usual = strange.assign(
        a=[3, 3, 4, *[np.nan] * 5, 0, np.nan], b=["Red", "Red", None, None, None, "green", "Red", *["blue"] * 3]
    )
    table = predicted(dialect, sql_of(model, dialect, dataset=dataset), strange)
    agrees(table, model, usual)
    assert table["unseen"].tolist() == [0, 0, 0, 1, 0, 1, 0, 1, 0, 1]


def test_a_number_is_the_level_of_that_number_before_it_is_one_of_its_text(dialect):
    levels = ["1.0", 1, "a", 2.5]
    values = [levels[k] for k in np.random.default_rng(0).integers(0, 4, 200)]
    X = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    model = quietly_fitted(LRClassifier(order=1, alpha=0.1), X, np.array([value is levels[0] for value in values]))
    for new in (pd.DataFrame({"x": [1.0, 2.5]}), pd.DataFrame({"x": ["1.0", "2.50"]})):
        agrees(predicted(dialect, sql_of(model, dialect), new), model, new)


def test_a_table_may_have_columns_that_are_called_like_the_views(dialect):
    """Postgres refuses two columns of a name in a view, the others give the table's another name."""
    X, y = drawn(60, columns=2)
    model = NaiveBayesClassifier().fit(X, y)
    new = X.assign(prediction="theirs", line=-1, unseen="theirs")
    if dialect == "postgres":
        with pytest.raises(AssertionError, match=r"is ambiguous|specified more than once"):
            predicted(dialect, sql_of(model, dialect), new)
    else:
        agrees(predicted(dialect, sql_of(model, dialect), new), model, X)


@pytest.mark.parametrize("name", ["True", "False", "true", "prediction", "line"])
def test_a_column_may_be_called_like_a_truth_value_or_a_column_of_the_view(dialect, name):
    X, y = drawn(60, columns=2)
    X = X.set_axis([name, "c1"], axis=1)
    model = NaiveBayesClassifier().fit(X, y)
    agrees(predicted(dialect, sql_of(model, dialect), X), model, X)


@pytest.mark.parametrize(
    ("dialect", "numbers"),
    [("duckdb", "['nan'::DOUBLE, NULL, 'inf', 2]"), ("postgres", "ARRAY['NaN'::FLOAT8, NULL, 'Infinity', 2]")],
    indirect=["dialect"],
)
def test_gaps_and_infinities(dialect, numbers):
    X, y = pd.DataFrame({"x": [0.0, 1.0, 2.0, np.nan] * 20}), np.tile(["a", "a", "b", "c"], 20)
    model = quietly_fitted(LRClassifier(order=1, **SHORT), X, y)
    script = f"CREATE TABLE rows AS SELECT unnest({numbers}) AS x;\n{sql_of(model, dialect)}"
    asked = 'SELECT "p(b)", unseen FROM model_predictions ORDER BY line'
    if dialect == "postgres":
        found = np.loadtxt(in_postgres(script + asked).splitlines(), delimiter="|")
    else:
        found = np.array(duckdb.connect().execute(script).execute(asked).fetchall(), float)
    missing, two = model.predict_proba(pd.DataFrame({"x": [np.nan, 2.0]}))[:, 1]
    np.testing.assert_allclose(found, np.transpose([[missing, missing, missing, two], [0, 0, 1, 0]]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["lr-2", "smooth-1", "hinge", "tan", "elr-nb", "hsalr-3"])
def test_postgres_is_given_its_own_syntax(name):
    X, y = hostile()
    sql = sql_of(quietly_fitted(TABLES_OF_SCORES[name], X, y), "postgres")
    kinds = [type(statement).__name__ for statement in sqlglot.parse(sql, read="postgres")]
    assert {*kinds} == {"Transaction", "Create", "Insert", "Commit"}
    view = sqlglot.parse(sql, read="postgres")[-2]
    assert view.args["kind"] == "VIEW"


def test_names_of_tables_are_ones_own_and_two_models_live_side_by_side():
    X, y = drawn()
    model = NaiveBayesClassifier().fit(X, y)
    hers = sql_of(model, "sqlite", rows='my "rows"', name="o'brien;")
    his = sql_of(model, "sqlite", rows='my "rows"', name="other")
    agrees(predicted("sqlite", hers + his, X, 'my "rows"', "o'brien;_predictions"), model, X)


@pytest.mark.parametrize(
    ("model", "dialect", "about", "complaint"),
    [
        (AnDEClassifier(), "duckdb", {}, "no sums over tables.*lr, alr, .*save_model"),
        (DLRClassifier(max_iter=1, alpha=10.0), "duckdb", {}, "no sums over tables"),
        (MODELS["elr-tan-summed"], "duckdb", {}, "along a tree; expected a model with sum_missing=False"),
        (NaiveBayesClassifier(), "sqlite3", {}, "expected one of duckdb, sqlite, postgres; did you mean 'sqlite'"),
        (NaiveBayesClassifier(), "sqlite", {"rows": ""}, "cannot be a name"),
        (NaiveBayesClassifier(), "postgres", {"name": "é" * 26}, "too long a name; postgres keeps 63 bytes"),
    ],
)
def test_models_without_sql_raise(model, dialect, about, complaint, tmp_path):
    fitted = quietly_fitted(model, *drawn(60))
    with pytest.raises(ModelFileError, match=complaint):
        save_sql(fitted, tmp_path / "model.sql", dialect, **about)
    assert not list(tmp_path.iterdir())


def test_names_that_a_database_takes_for_one_are_refused():
    X, y = drawn(60, columns=2)
    model = NaiveBayesClassifier().fit(X.set_axis(["Age", "age"], axis=1), y)
    with pytest.raises(ModelFileError, match=r"\['Age', 'age'\] differ only in upper and lower case"):
        sql_of(model, "duckdb")
    assert '"Age"' in sql_of(model, "postgres")
    model = NaiveBayesClassifier().fit(X.set_axis(["é" * 31 + "e1", "é" * 31 + "e2"], axis=1), y)
    with pytest.raises(ModelFileError, match="differ only after 63 bytes"):
        sql_of(model, "postgres")


def test_literals():
    assert [literal(value) for value in (None, np.nan, True, 3, 0.5, 1e300, "it's")] == [
        "NULL", "NULL", "TRUE", "3", "0.5e0", "1e+300", "'it''s'",
    ]  # fmt: skip


def test_a_level_with_a_nul_is_refused_before_anything_is_written():
    model = ALRClassifier(order=1, alpha=1.0).fit([["a\0"], ["b"]] * 5, ["x", "y"] * 5)
    file = io.BytesIO()
    with pytest.raises(ModelFileError, match="NUL"):
        save_sql(model, file, "sqlite")
    assert not file.getvalue()
