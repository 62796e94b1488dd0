"""A model taken along from the Convergence page, and new rows predicted there."""

import io
import pickle
import sqlite3
import threading

import joblib
import numpy as np
import pandas as pd
import pytest

from alrviz import load_model
from alrviz.explorer.recipes.recipe_url import write_recipes
from alrviz.explorer.widgets import export_model
from alrviz.fitting.recipe import Recipe
from tests.conftest import wait_until
from tests.explorer.test_convergence import ended, open_page, until
from tests.explorer.test_upload import send


@pytest.fixture(scope="module")
def page():
    recipes = [
        Recipe("lr", order=1, max_iter=20, alpha=0.3),
        Recipe("anje", order=1),
        Recipe("dlr", max_iter=5, alpha=10.0),
    ]
    page = open_page(f"?data=three-classes&rows=80&racers={write_recipes(tuple(recipes))}")
    page.race_view.press_run()
    until(page, lambda: page.race_view.race is not None and ended(page) and page.model.part.visible)
    return page


def of(page, number):
    page.model.racer.value = number
    page.pump()
    return page.model, page.race_view.race.runs[number]


def test_before_the_race_has_ended_there_is_none():
    page = open_page()
    page.pump()
    assert not page.model.part.visible, "a recorded race has no weights"
    assert page.model.folded is None, "and nothing is built for it"


def test_the_files_hold_the_racers_model(page):
    model, run = of(page, 0)
    X = page.session.table.dataset.X
    loaded = load_model(io.BytesIO(model.zipped.make_bytes()))
    np.testing.assert_array_equal(loaded.phi_, run.model.phi)
    np.testing.assert_array_equal(
        joblib.load(io.BytesIO(model.pickled.make_bytes())).predict_proba(X), loaded.predict_proba(X)
    )
    table = pd.read_csv(io.BytesIO(model.weights.make_bytes()), comment="#")
    assert len(table) == 1 + len(loaded.phi_)
    rows, every = len(run.encoded.y), page.session.table.dataset.n_rows
    assert rows < every
    words = f"{rows:,} of {every:,} rows ({every - rows:,} are test rows)"
    assert words in model.status.object
    assert f'# fitted on: "{words}"' in model.weights.make_bytes().decode()
    assert model.zipped.visible
    assert model.weights.visible


def test_the_sql_predicts_in_a_database_what_the_model_does(page):
    model, _ = of(page, 0)
    X = page.session.table.dataset.X
    model.dialect.value = "sqlite"
    database = sqlite3.connect(":memory:")
    X.astype(object).to_sql("rows", database, index=False)
    database.executescript(model.sql.make_bytes().decode())
    found = pd.read_sql("SELECT * FROM model_predictions ORDER BY line", database).filter(like="p(")
    database.close()
    expected = load_model(io.BytesIO(model.zipped.make_bytes())).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_a_racer_without_cells_has_no_table_of_them(page):
    model, run = of(page, 2)
    assert (model.zipped.visible, model.weights.visible, model.pickled.visible) == (True, False, True)
    assert not model.sql.visible
    assert not model.dialect.visible
    assert "DLRClassifier" in repr(joblib.load(io.BytesIO(model.pickled.make_bytes())))
    X = page.session.table.dataset.X
    loaded = load_model(io.BytesIO(model.zipped.make_bytes()))
    np.testing.assert_array_equal(
        loaded._scores(X), run.model.scores_of(run.encoder.encode(X, page.session.table.dataset.y))
    )


def test_a_model_too_large_for_the_page_says_what_writes_it(page, monkeypatch):
    monkeypatch.setattr(export_model, "MAX_NUMBERS", 3)
    for number in (1, 2, 0):
        model, _ = of(page, number)
        assert not model.zipped.visible
    assert "save_model" in model.status.object
    monkeypatch.undo()
    of(page, 1)
    assert page.model.zipped.visible
    assert page.model.status.object.startswith("<p>Fitted on ")


def test_new_rows_are_predicted(page):
    model, _ = of(page, 0)
    X = page.session.table.dataset.X
    rows = X.assign(further="<b>").iloc[:, ::-1]
    send(model.strip, rows.to_csv(index=False).encode(), name="rows.csv")
    until(page, lambda: model.predicted.visible)
    found = pd.read_csv(io.BytesIO(model.predicted.make_bytes()))
    expected = joblib.load(io.BytesIO(model.pickled.make_bytes())).predict_proba(X)
    np.testing.assert_allclose(found.filter(like="p("), expected, rtol=0, atol=1e-12)
    assert f"{len(X)} rows predicted, 0 with values" in model.status.object
    of(page, 1)
    assert not model.predicted.visible, "what another racer said is not this one's"


def test_what_a_thread_scores_with_is_not_the_model_of_who_is_chosen_meanwhile(page, monkeypatch):
    inside, go, original = threading.Event(), threading.Event(), export_model.estimator_of

    def slow(run):
        inside.set()
        go.wait(30)
        return original(run)

    of(page, 1)
    model, _ = of(page, 0)
    monkeypatch.setattr(export_model, "estimator_of", slow)
    send(model.strip, page.session.table.dataset.X.to_csv(index=False).encode(), name="rows.csv")
    until(page, inside.is_set)
    task = page.tasks._tasks["predict"]
    _, run = of(page, 1)
    go.set()
    wait_until(lambda: task.join(0), 30, "the end of its thread")
    np.testing.assert_array_equal(joblib.load(io.BytesIO(model.pickled.make_bytes())).phi_, run.model.phi)


def test_no_upload_is_unpickled(page, monkeypatch):
    class Evil:
        def __reduce__(self):
            return pytest.fail, ("it was unpickled",)

    model, _ = of(page, 0)
    send(model.strip, pickle.dumps(Evil()), name="model.joblib")
    until(page, lambda: "bad" in model.status.object)
    assert not model.predicted.visible


def test_rows_that_do_not_fit_are_told_and_escaped(page):
    model, _ = of(page, 0)
    send(model.strip, b"<img src=x>,b\n1,2\n", name="x.csv")
    until(page, lambda: "bad" in model.status.object)
    assert "no column &#x27;x1&#x27;" in model.status.object
    assert "<img" not in model.status.object
