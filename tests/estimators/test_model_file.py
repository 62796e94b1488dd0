"""A model as a file: read back it is the same, and its script needs numpy and pyarrow alone."""

import ast
import io
import json
import subprocess
import sys
import textwrap
import types
import warnings
import zipfile
from collections import Counter
from functools import cache
from importlib.resources import files

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import alrviz
from alrviz import (
    ALRClassifier,
    AnDEClassifier,
    AnJEClassifier,
    DLRClassifier,
    ELRClassifier,
    HLRClassifier,
    KDBClassifier,
    LRClassifier,
    NaiveBayesClassifier,
    TANClassifier,
    WANBIACClassifier,
    load_demo,
    load_model,
    predict_table,
    save_model,
)
from alrviz.errors import ModelFileError, ReadingWarning, TableError
from alrviz.estimators import recipes
from alrviz.estimators.model_file import SCRIPT_MODULES
from alrviz.estimators.predict_table import predictions_csv
from tests.estimators.model_files import about_of, file_of
from tests.estimators.tables import drawn, mixed

UNKNOWN_TABLE = pytest.mark.filterwarnings("ignore:the model does not say how its table was read")
SHORT = {"alpha": 1.0, "max_iter": 8, "tol": 0.0}
MODELS = {
    "lr-2": LRClassifier(order=2, **SHORT),
    "lr-1-m-estimate": LRClassifier(order=1, unseen="m-estimate", center="anje", **SHORT),
    "alr-2-m-estimate-skip": ALRClassifier(order=2, unseen="m-estimate", center="anje", missing="skip", **SHORT),
    "alr-2-cell": ALRClassifier(order=2, share="cell", **SHORT),
    "alr-2-tuple": ALRClassifier(scale="theta-gamma", share="tuple", **SHORT),
    "diagonal": LRClassifier(scale="diagonal", discretize="quantile", n_bins=3, **SHORT),
    "wanbiac-all": WANBIACClassifier(share="all", **SHORT),
    "values": LRClassifier(order=1, discretize=None, **SHORT),
    "smooth": HLRClassifier(order=2, discretize="smooth", **SHORT),
    "smooth-1": ALRClassifier(order=1, discretize="smooth", unseen="m-estimate", start="anje", missing="skip", **SHORT),
    "hinge": LRClassifier(order=1, objective="hinge", **SHORT),
    "nb": NaiveBayesClassifier(),
    "anje-3": AnJEClassifier(order=3, unseen="m-estimate"),
    "tan": TANClassifier(),
    "kdb": KDBClassifier(k=2, selective=False),
    "kdb-selective": KDBClassifier(k=2, selective=True),
    "elr-nb": ELRClassifier(cross_tuning=False, max_iter=3),
    "elr-tan": ELRClassifier(structure="tan", cross_tuning=False, max_iter=3),
    "elr-tan-summed": ELRClassifier(structure="tan", sum_missing=True, cross_tuning=False, max_iter=3),
    "ande-0": AnDEClassifier(n=0),
    "ande-1": AnDEClassifier(n=1),
    "ande-2": AnDEClassifier(n=2, smoothing=0.5),
    "dlr": DLRClassifier(class_weight="balanced", alpha=10.0),
    "dlr-loo": DLRClassifier(bandwidth="loo", max_iter=2, tol=0.0, alpha=10.0),
    "dlr-paper": DLRClassifier(bandwidth="paper", max_iter=2, tol=0.0, alpha=10.0),
    "dlr-validation": DLRClassifier(bandwidth="validation", max_iter=2, tol=0.0, alpha=10.0),
}


def hostile(rows=90, seed=3):
    """A mixed table of three classes, with names and levels that formats and spreadsheets trip over."""
    X, _ = mixed(rows, seed)
    rng = np.random.default_rng(seed)
    X['=cmd,"x"\n</script>'] = rng.choice(["=1+1", 'a "b", c', "line\nbreak", "7", "7.5"], rows)
    X["code"] = pd.Categorical(rng.choice([1, 2, 3.5], rows))
    return X, np.array(["=no", "maybe", "yes"])[(X["count"] % 3).to_numpy()]


def strange(X):
    """The rows again, with values that training never saw, and gaps where there were none."""
    new = X.copy()
    new["text"] = new["text"].where(np.arange(len(X)) % 3 > 0, "never")
    new["code"] = new["code"].astype(float).where(np.arange(len(X)) % 5 > 0, 99)
    new["flag"] = new["flag"].astype(object).where(np.arange(len(X)) % 7 > 0, None)
    new["size"] = new["size"].astype(object).where(np.arange(len(X)) % 11 > 0, None)
    new.loc[::4, "number"] *= 100
    new["count"] = new["count"].where(new.index != 2)
    return new.iloc[:, ::-1].assign(further=1)


def quietly_fitted(model, *rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few steps are enough here
        return clone(model).fit(*rows)


@pytest.fixture(scope="module", params=list(MODELS))
def fitted(request):
    X, y = hostile()
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    return quietly_fitted(MODELS[request.param], X, y, weights), X


def test_read_back_it_is_the_same_model(fitted):
    model, X = fitted
    again, new = load_model(file_of(model)), strange(X)[X.columns]
    assert type(again) is type(model)
    assert (again.n_features_in_, again.recipe_) == (model.n_features_in_, model.recipe_)
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    if hasattr(model, "to_frame"):  # not dlr: it has no cells
        pd.testing.assert_frame_equal(again.to_frame(), model.to_frame())
    if hasattr(model, "explain"):  # not ande: its scores are no sums
        pd.testing.assert_frame_equal(again.explain(new.head(5)), model.explain(new.head(5)))
    weights = getattr(model, "weights_", None)
    if weights is None:
        assert getattr(again, "weights_", None) is None
    else:
        np.testing.assert_array_equal(again.weights_, weights)
    np.testing.assert_array_equal(load_model(file_of(again)).decision_function(new), model.decision_function(new))


ALONE = """
    import sys
    class Refuse:
        def find_spec(self, name, *_):
            if name.split(".")[0] in ("alrviz", "pandas", "numba", "scipy", "sklearn"):
                raise ModuleNotFoundError(name)
    sys.meta_path.insert(0, Refuse())
    import score
    for k in range(int(sys.argv[1])):
        for kind in ("csv", "parquet"):
            assert score.main([f"{k}.{kind}", "--model", f"{k}.zip", "-o", f"{k}-{kind}.out"]) == 0
    assert score.main(["0.csv", "--model", "0.zip", "-o", "no/such/folder.out"]) == 2
    taken = {name.split(".")[0] for name in sys.modules}
    assert not taken & {"alrviz", "pandas", "numba", "scipy", "sklearn"}, taken
    assert {"numpy", "pyarrow"} <= taken
"""


@UNKNOWN_TABLE
def test_the_script_scores_alone_as_the_model_does(tmp_path):
    X, y = hostile()
    new, models = strange(X), []
    for k, model in enumerate(MODELS.values()):
        models.append(quietly_fitted(model, X[:36], y[:36]))  # few rows: some classes lack some parents
        save_model(models[-1], tmp_path / f"{k}.zip")
        new.to_csv(tmp_path / f"{k}.csv", index=False)
        new.to_parquet(tmp_path / f"{k}.parquet")
    with zipfile.ZipFile(tmp_path / "0.zip") as zipped:
        zipped.extract("score.py", tmp_path)
    code = textwrap.dedent(ALONE)
    done = subprocess.run([sys.executable, "-c", code, str(len(models))], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for k, (name, model) in enumerate(zip(MODELS, models, strict=True)):
        rows = new[X.columns]
        expected = model._scores(rows) if name == "hinge" else model.predict_proba(rows)
        for kind in ("csv", "parquet"):
            found = pd.read_csv(tmp_path / f"{k}-{kind}.out")
            np.testing.assert_allclose(found.iloc[:, 2:-1], expected, rtol=0, atol=1e-12, err_msg=f"{name} {kind}")
            said = found["prediction"].str.removeprefix("'")
            np.testing.assert_array_equal(said, model.predict(rows))
            assert "code=99" in found["unseen"][0]
            assert "text=never" in found["unseen"][0]
        ours = pd.read_csv(io.StringIO(predictions_csv(predict_table(model, tmp_path / f"{k}.csv"))))
        theirs = pd.read_csv(tmp_path / f"{k}-csv.out")
        pd.testing.assert_frame_equal(ours, theirs, rtol=0, atol=1e-12)


def test_file_contains_its_provenance(tmp_path):
    dataset = load_demo("led", rows=200)
    model = ALRClassifier(order=1, max_iter=30, alpha=1.0).fit(dataset.X, dataset.y)
    save_model(model, tmp_path / "m.zip", dataset=dataset)
    about = about_of(tmp_path / "m.zip")
    assert about["data"] == {"name": dataset.name, "hash": dataset.hash, "rows": 200}
    assert about["versions"]["alrviz"] == alrviz.__version__
    assert json.loads(about["recipe"])["family"] == "alr"
    assert [path.name for path in tmp_path.iterdir()] == ["m.zip"]
    with zipfile.ZipFile(tmp_path / "m.zip") as zipped:
        assert not [name for name in zipped.namelist() if name.endswith((".pkl", ".joblib", ".npy"))]
        cells = pq.read_table(pa.BufferReader(zipped.read("cells.parquet"))).to_pandas()
    frame = model.to_frame()
    assert list(zip(cells["columns"], cells["levels"], strict=True)) == list(frame.index)
    for name in ("count", "log_theta", "w", "phi"):
        np.testing.assert_array_equal(cells[[f"{name}_{k}" for k in range(10)]], frame[name])


def test_unwritable_path_raises(tmp_path):
    model = NaiveBayesClassifier().fit(*drawn(40))
    with pytest.raises(ModelFileError, match=r"no folder '.*nowhere' to write 'm\.zip' to; create it first"):
        save_model(model, tmp_path / "nowhere" / "m.zip")
    with pytest.raises(ModelFileError, match=r"is a folder; a file was expected, such as '.*model\.zip'"):
        save_model(model, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("family", ["rf", "svm"])
def test_foreign_model_error_names_joblib(family):
    with pytest.raises(ModelFileError, match=r"cannot be saved.*joblib\.dump"):
        save_model(alrviz.make_estimator(alrviz.Recipe(family)).fit(*mixed(40)), io.BytesIO())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_on_and_off_the_grid_give_equal_scores(n_classes, tmp_path):
    """Of 3,000 rows numbers are summed on grids; what lies beside them is summed exactly, by both."""
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 3000)
    X = pd.DataFrame({"near": rng.normal(size=3000) + y, "tail": np.exp(2 * rng.normal(size=3000))})
    X["two"] = np.where(rng.random(3000) < 0.5, rng.normal(size=3000), 1e6 + rng.normal(size=3000))
    X["one"], X["level"] = 7.0, rng.choice(list("abc"), 3000)
    X.loc[::9, "near"] = np.nan
    model = DLRClassifier(alpha=10.0).fit(X, y, rng.uniform(0.1, 3, 3000))
    save_model(model, tmp_path / "m.zip")
    new = X.sample(200, random_state=0).reset_index(drop=True)
    new["near"] *= 5
    new["tail"] += rng.normal(size=200) * 50
    new.loc[:4, "two"] = [1e7, -1e7, 5e5, np.nan, 0.0]
    new.loc[5, "level"] = "z"
    again, script = load_model(tmp_path / "m.zip"), script_of(tmp_path / "m.zip")
    np.testing.assert_array_equal(again._scores(new), model._scores(new))
    alone = script.Model(tmp_path / "m.zip")
    assert min(len(alone._form.nodes[d][0]) for d in range(3)) > 100
    found = alone.scores({name: pa.array(new[name], from_pandas=True) for name in new})
    np.testing.assert_allclose(found, model._scores(new), rtol=0, atol=1e-10)
    alone._form.AT_ONCE = 300  # a row or two, with all votes that they reach
    again = alone.scores({name: pa.array(new[name], from_pandas=True) for name in new})
    np.testing.assert_allclose(again, found, rtol=0, atol=1e-12)
    usual = (new["two"].sub(5e5).abs() < 6e5) & (new["tail"].abs() < 1e3)  # log sums of millions have fewer digits
    np.testing.assert_allclose(found[usual], model._scores(new)[usual], rtol=0, atol=1e-12)


def test_exported_a2de_backs_off_to_a1de_where_no_pair_was_seen():
    rows, names = [["p", "p", "p"], ["q", "q", "q"], ["r", "r", "r"], ["p", "q", "r"]], ["a", "b", "c"]
    X, y = pd.DataFrame(rows, columns=names), [0, 1, 1, 0]
    new = pd.DataFrame([["q", "r", "p"], ["p", "r", "new"], ["new", "new", "new"], ["p", "p", "p"]], columns=names)
    a2de, a1de, naive_bayes = (AnDEClassifier(n=n).fit(X, y)._scores(new) for n in (2, 1, 0))
    np.testing.assert_allclose(a2de[:2], a1de[:2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(a2de[2], naive_bayes[2], rtol=0, atol=1e-12)
    assert not np.allclose(a2de, a1de)
    assert not np.allclose(a1de[:2], naive_bayes[:2])
    file = file_of(AnDEClassifier(n=2).fit(X, y))
    found = script_of(file).Model(file).scores({name: pa.array(new[name]) for name in new})
    np.testing.assert_allclose(found, a2de, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(load_model(file)._scores(new), a2de)


@pytest.mark.parametrize(
    "model", [NaiveBayesClassifier(), KDBClassifier(k=2, selective=False), AnDEClassifier(), DLRClassifier(alpha=10.0)]
)
@settings(max_examples=5)
@given(
    seed=st.integers(0, 2**20), n_classes=st.integers(2, 4), rows=st.integers(12, 60), gaps=st.sampled_from([0.0, 0.3])
)
def test_exported_model_scores_any_table_as_its_classifier(model, seed, n_classes, rows, gaps):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, rows - n_classes))
    X = pd.DataFrame({"a": rng.normal(size=rows) * 10.0 ** rng.integers(-3, 4), "b": rng.integers(0, 4, rows) * 0.5})
    X["c"], X["d"] = rng.choice(list("xyz"), rows), rng.choice(["1", "2.5"], rows)
    X = X.mask(rng.random(X.shape) < gaps)
    fitted = quietly_fitted(model, X, y, rng.uniform(0.1, 2, rows))
    new = X.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    new.loc[0, "c"], new.loc[1, "d"], new.loc[2, "a"] = "never", None, np.nan
    new["b"] *= rng.uniform(0, 3, rows)
    file = file_of(fitted)
    found = script_of(file).Model(file).scores({name: pa.array(new[name], from_pandas=True) for name in new})
    np.testing.assert_allclose(found, fitted._scores(new), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(load_model(file)._scores(new), fitted._scores(new))


def script_of(file):
    """The script of a model file as a module."""
    module = types.ModuleType("score")
    module.__file__ = "score.py"
    with zipfile.ZipFile(file) as zipped:
        exec(compiled(zipped.read("score.py")), module.__dict__)
    return module


@cache
def compiled(script):
    return compile(script, "score.py", "exec")


def test_the_modules_of_the_script_have_no_name_in_common():
    """They stand in one file: a second one of a name would take the first one's place without a word."""
    names = Counter()
    for module in (*SCRIPT_MODULES, "estimators.score_script"):
        text = (files("alrviz") / f"{module.replace('.', '/')}.py").read_text("utf-8")
        own = set()
        for node in ast.parse(text).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
            own |= {getattr(target, "id", getattr(target, "name", None)) for target in targets} - {None}
        names.update(own)
    assert [name for name, count in names.items() if count > 1] == []


def test_missing_column_error_names_the_columns(tmp_path, capsys):
    X, y = drawn(40)
    file = tmp_path / "model.zip"
    file.write_bytes(file_of(NaiveBayesClassifier().fit(X, y)).getvalue())
    (tmp_path / "rows.csv").write_text("a;b\n1;2\n")
    assert script_of(file).main([str(tmp_path / "rows.csv"), "--model", str(file)]) == 2
    told = capsys.readouterr().err
    assert f"no column {X.columns[0]!r}" in told
    assert "'a;b'" in told


def test_density_model_file_reveals_no_rows():
    X, y = mixed(60)
    with zipfile.ZipFile(file_of(DLRClassifier(alpha=10.0).fit(X, y))) as zipped:
        votes = pq.read_table(pa.BufferReader(zipped.read("votes.parquet"))).to_pandas()
    own = votes[votes["feature"] == 0].groupby("class")["value"]
    assert own.apply(lambda of: of.is_monotonic_increasing).all()


def test_a_run_gives_its_classifier():
    dataset = load_demo("tic-tac-toe")
    run = alrviz.Run(dataset, alrviz.Recipe("alr", order=1, max_iter=4, holdout=0.0, alpha=1.0))
    for _ in run.steps():
        pass
    with pytest.warns():
        direct = ALRClassifier(order=1, max_iter=4, alpha=1.0).fit(dataset.X, dataset.y)
    np.testing.assert_array_equal(alrviz.estimator_of(run).predict_proba(dataset.X), direct.predict_proba(dataset.X))
    np.testing.assert_array_equal(load_model(file_of(alrviz.estimator_of(run))).phi_, direct.phi_)


def test_loading_with_other_versions_warns(tmp_path, monkeypatch):
    model = NaiveBayesClassifier().fit(*drawn(40))
    monkeypatch.setattr(recipes, "versions", lambda: {"alrviz": "0.0.0", "numpy": np.__version__})
    joblib.dump(model, tmp_path / "model.joblib")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"NaiveBayesClassifier was pickled under alrviz 0\.0\.0, and is read under"):
        again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again.phi_, model.phi_)


# ---- files of strangers ---------------------------------------------------------------------------------------------


@UNKNOWN_TABLE
def test_rows_in_the_dialect_of_a_spreadsheet():
    X, y = mixed(80)
    X["count"] += np.where(y == "yes", 1005, 0)
    model = NaiveBayesClassifier().fit(X, y)
    text = "size;flag;number;text;count\nsmall;True;-0,5;a;1.007\nlarge;False;NA;?;1.012\nhuge;True;1,25;b;1.003\n"
    with pytest.warns(ReadingWarning, match=r"','.*'\.'"):
        found = predict_table(model, text.encode("utf-16"))
    rows = pd.DataFrame(
        {
            "number": [-0.5, np.nan, 1.25], "count": [1007, 1012, 1003], "text": ["a", None, "b"],
            "size": ["small", "large", "huge"], "flag": [True, False, True],
        }
    )  # fmt: skip
    np.testing.assert_array_equal(found[["p(no)", "p(yes)"]], model.predict_proba(rows))
    assert found["unseen"].tolist() == ["", "", "size=huge"]


@UNKNOWN_TABLE
def test_dates_are_parsed_as_in_training():
    dates = pd.date_range("2024-01-01", periods=60, freq="5D").strftime("%Y-%m-%d")
    text = "day,kind,class\n" + "".join(f"{day},{'ab'[k % 2]},{'uv'[k // 30]}\n" for k, day in enumerate(dates))
    dataset = alrviz.read_table(text.encode(), **{"day month": "categorical"})
    model = NaiveBayesClassifier().fit(dataset.X, dataset.y)
    expected = model.predict_proba(dataset.X.head(3))
    found = predict_table(
        model, "kind,day\n{},{}\n{},{}\n{},{}\n".format(*"a", dates[0], "b", dates[1], "a", dates[2]).encode()
    )
    np.testing.assert_array_equal(found.filter(like="p("), expected)


@UNKNOWN_TABLE
def test_rows_that_do_not_fit_the_spec_are_reported():
    model = NaiveBayesClassifier().fit(*mixed(40))
    with pytest.raises(TableError, match=r"no column 'number'.*did you mean 'numbr'"):
        predict_table(model, b"numbr,count,text,size,flag\n1,1,a,small,True\n")
    with pytest.warns(ReadingWarning, match=r"'number'.*'x'"):
        found = predict_table(model, b"number,count,text,size,flag\nx,1,a,small,True\n")
    assert found["unseen"].tolist() == ["number=x (not a number)"]
    with pytest.raises(TableError, match=r"2 values.*'x'"):
        predict_table(model, b"number,count,text,size,flag\nx,1,a,small,True\nx,1,a,small,True\n")
