"""What must not change codes: the order of rows and columns, a row twice for a weight of two, being kept and read."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alrviz.data.encode import Encoder
from alrviz.errors import TableError


def messy_frame(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Return a table with every kind of column and missing values."""
    number = rng.normal(size=n).round(1)
    number[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "number": number,
            "integer": rng.integers(0, 5, n),
            "word": pd.Series(rng.choice(["a", "b", None], n), dtype="str"),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], n), categories=["s", "m", "l"], ordered=True),
            "flag": rng.random(n) < 0.5,
            "mixed": pd.Series(rng.choice(np.array([1, "1", 2.5, None], dtype=object), n), dtype=object),
        }
    )


@pytest.mark.filterwarnings("ignore:column 'mixed' holds text")  # where rows of weight 0 alone hold its texts
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 60),
    discretize=st.sampled_from(["mdl", "mdl-smooth", "quantile", None]),
    missing=st.sampled_from(["level", "skip"]),
)
def test_order_of_rows_and_columns_is_irrelevant_and_weight_two_equals_two_rows(seed, n, discretize, missing):
    rng = np.random.default_rng(seed)
    frame, y, weights = messy_frame(rng, n), rng.integers(0, 3, n), rng.integers(0, 3, n)
    weights[0] = 1
    options = {"discretize": discretize, "n_bins": 3, "missing": missing}
    fitted = Encoder(**options).fit(frame, y, weights)
    state = json.dumps(fitted.to_dict())
    rows = rng.permutation(n)
    assert json.dumps(Encoder(**options).fit(frame.iloc[rows], y[rows], weights[rows]).to_dict()) == state
    twice = np.repeat(np.arange(n), weights)
    assert json.dumps(Encoder(**options).fit(frame.iloc[twice], y[twice]).to_dict()) == state
    names = list(rng.permutation(frame.columns))
    turned = Encoder(**options).fit(frame[names], y, weights)
    assert {c.name: c.to_dict() for c in turned.columns_} == {c.name: c.to_dict() for c in fitted.columns_}
    encoded = fitted.encode(frame, y) if set(y) == set(y[weights > 0]) else None
    codes = fitted.transform(frame)
    assert (codes <= fitted.levels_[:, None]).all()
    assert encoded is None or (encoded.codes == codes).all()
    seen = codes[:, weights > 0]
    for column, row in zip(fitted.columns_, seen, strict=True):  # every level is one that a training row has
        assert set(row) | {column.n_levels} == set(range(column.n_levels + 1)) or column.labels == ("(no value seen)",)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), discretize=st.sampled_from(["mdl", "mdl-smooth", "uniform", None]))
def test_json_and_pickle_keep_everything(seed, discretize):
    rng = np.random.default_rng(seed)
    frame, y = messy_frame(rng, 40), rng.choice(["no", "yes"], 40)
    fitted = Encoder(discretize=discretize, categorical_features="from_dtype").fit(frame, y)
    other = messy_frame(rng, 30)
    for copy in (Encoder.from_dict(json.loads(json.dumps(fitted.to_dict()))), pickle.loads(pickle.dumps(fitted))):
        assert (copy.transform(other) == fitted.transform(other)).all()
        assert copy.classes_.dtype == fitted.classes_.dtype
        assert copy.to_dict() == fitted.to_dict()
        np.testing.assert_equal(copy.chains_, fitted.chains_)


def test_a_pickle_does_not_grow_with_use():
    frame = pd.DataFrame({"c": [f"level {j}" for j in range(50)], "d": np.arange(50.0)})
    encoder = Encoder(discretize=None).fit(frame, np.arange(50) % 2)
    before = len(pickle.dumps(encoder))
    encoder.transform(frame.assign(c="unseen"))
    assert len(pickle.dumps(encoder)) == before


def test_a_state_of_another_format_is_refused():
    with pytest.raises(TableError, match="format 99"):
        Encoder.from_dict({"format": 99})
