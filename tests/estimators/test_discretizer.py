"""MDLDiscretizer: scikit-learn's own checks, and the same cuts as the encoder's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from alrviz.data.encode import Encoder
from alrviz.estimators.discretizer import MDLDiscretizer


@parametrize_with_checks([MDLDiscretizer()])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_cuts_are_the_encoder_s():
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted, encoder = MDLDiscretizer().fit(X, y), Encoder().fit(X, y)
    assert [edges[1:-1].tolist() for edges in fitted.bin_edges_] == [c.cuts.tolist() for c in encoder.columns_]
    assert fitted.n_bins_.tolist() == encoder.levels_.tolist()
    assert (encoder.transform(X) == fitted.transform(X).T).all()
    assert fitted.get_feature_names_out().tolist() == list(X.columns)


def test_missing_numbers_stay_missing_and_do_not_move_the_cuts():
    X = np.array([[1.0], [2], [3], [7], [8], [9]])
    y = [0, 0, 0, 1, 1, 1]
    holes = np.vstack([X, [[np.nan]] * 3])
    fitted = MDLDiscretizer().fit(holes, [*y, 0, 1, 1])
    assert fitted.bin_edges_[0].tolist() == [-np.inf, 5.0, np.inf]
    assert np.array_equal(fitted.transform([[5.0], [5.1], [np.nan]]), [[0.0], [1.0], [np.nan]], equal_nan=True)


def test_weights_are_repeated_rows():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = MDLDiscretizer().fit(X, y, sample_weight=weights)
    repeated = MDLDiscretizer().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert [e.tolist() for e in weighted.bin_edges_] == [e.tolist() for e in repeated.bin_edges_]
    assert [e.tolist() for e in weighted.bin_edges_] != [e.tolist() for e in MDLDiscretizer().fit(X, y).bin_edges_]


def test_in_a_pipeline_with_pandas_output():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(MDLDiscretizer().set_output(transform="pandas"), LogisticRegression(max_iter=1000)).fit(X, y)
    assert model.score(X, y) > 0.9
    assert isinstance(model[0].transform(X), pd.DataFrame)


def test_text_and_infinities_are_refused():
    with pytest.raises(ValueError, match="could not convert string"):
        MDLDiscretizer().fit(np.array([["a"], ["b"]]), [0, 1])
    with pytest.raises(ValueError, match="infinity"):
        MDLDiscretizer().fit([[np.inf], [1.0]], [0, 1])
