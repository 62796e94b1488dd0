"""What may not change a model: the order of rows, columns, levels and classes, their names, a column of one level."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alrviz.estimators import (
    ALRClassifier,
    AnJEClassifier,
    LRClassifier,
    NaiveBayesClassifier,
    WANBIACClassifier,
)
from tests.estimators.tables import drawn

TIGHT = {"alpha": 0.5, "center": "anje", "tol": 1e-13, "max_iter": 2000}
MODELS = [
    AnJEClassifier(),
    LRClassifier(penalty="phi", **TIGHT),
    LRClassifier(penalty="phi", scale="diagonal", **TIGHT),
    ALRClassifier(penalty="w", **TIGHT),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=["anje", "lr", "diagonal", "alr"])
few = settings(max_examples=8)
tables = st.builds(drawn, rows=st.integers(30, 60), columns=st.integers(2, 4), classes=st.integers(2, 3),
                   seed=st.integers(0, 10_000))  # fmt: skip


@each_model
@few
@given(table=tables, data=st.data())
def test_permuted_rows_columns_and_names(model, table, data):
    X, y = table
    expected = model.fit(X, y).predict_proba(X)
    names = model.classes_.tolist()
    rows = np.array(data.draw(st.permutations(range(len(y)))))
    columns = data.draw(st.permutations(list(X.columns)))
    labels = dict(zip(names, data.draw(st.permutations(["p", "q", "r"])), strict=False))
    levels = dict(zip(["v0", "v1", "v2"], data.draw(st.permutations(["l", "m", "n"])), strict=True))
    other = X[columns].replace(levels).iloc[rows]
    renamed = np.array([labels[label] for label in y])[rows]
    found = model.fit(other, renamed).predict_proba(other)
    order = [model.classes_.tolist().index(labels[name]) for name in names]
    np.testing.assert_allclose(found[:, order], expected[rows], rtol=0, atol=1e-6)


@each_model
@few
@given(table=tables, data=st.data())
def test_a_row_twice_is_a_weight_of_2(model, table, data):
    X, y = table
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))))
    weighted = model.fit(X, y, weights).predict_proba(X)
    repeated = model.fit(X.loc[X.index.repeat(weights)], np.repeat(y, weights)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-6)


@few
@given(table=tables)
def test_column_of_one_level_is_uninformative_at_order_1(table):
    X, y = table
    constant = X.assign(constant="same")
    for model in (NaiveBayesClassifier(), WANBIACClassifier(penalty="w", **TIGHT)):  # its log theta is 0
        expected = model.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(model.fit(constant, y).predict_proba(constant), expected, rtol=0, atol=1e-7)


def test_a_column_of_one_level_only_moves_the_intercept():
    X, y = drawn(400)
    free = LRClassifier(order=1, alpha=0.0, tol=1e-13, max_iter=2000)
    expected = free.fit(X, y).predict_proba(X)
    constant = X.assign(constant="same")
    np.testing.assert_allclose(free.fit(constant, y).predict_proba(constant), expected, rtol=0, atol=1e-6)


@each_model
def test_rows_are_scored_one_by_one_as_all_together(model):
    X, y = drawn(80)
    model.fit(X, y)
    alone = np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(len(y))])
    np.testing.assert_array_equal(alone, model.predict_proba(X))


def test_a_row_of_weight_0_is_absent():
    X, y = drawn(80)
    strange = pd.concat([X, pd.DataFrame({column: ["other"] for column in X})])
    weights = np.append(np.ones(80), 0.0)
    for model in (LRClassifier(alpha=0.3), ALRClassifier(penalty="w", alpha=1.0), AnJEClassifier()):
        expected = model.fit(X, y).predict_proba(X)
        found = model.fit(strange, np.append(y, "k9"), weights)
        np.testing.assert_array_equal(found.classes_, ["k0", "k1", "k2"])
        np.testing.assert_array_equal(found.predict_proba(X), expected)
