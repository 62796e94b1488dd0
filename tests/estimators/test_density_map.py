"""Columns of dlr's kernel: the features themselves, left out in training, and the SVM on their Gram matrix."""

import numpy as np
import pytest
from sklearn.svm import SVC

from alrviz.estimators.density_map import DensityMap
from alrviz.estimators.peers import make_peer
from tests.estimators.tables import drawn, mixed


def test_by_hand():
    """Two numbers a class, three rows each; phi = log(S_1/S_0) - 0 * bias at D = 1."""
    x, y = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 0, 0, 1, 1, 1])
    h = 1.06 * x.std() * 6 ** (-0.2)
    votes = np.exp(-((2.2 - x) ** 2) / (2 * h**2))
    mapped = DensityMap().fit(x[:, None], y)
    assert mapped.features_.silverman == pytest.approx([h])
    assert mapped.transform([[2.2]])[0] == pytest.approx([np.log(votes[3:].sum() / votes[:3].sum())])
    without = np.exp(-((2.0 - x) ** 2) / (2 * h**2))
    without[2] = 0.0
    mine = DensityMap().fit_transform(x[:, None], y)[2, 0]
    assert mine == pytest.approx(np.log(without[3:].sum() / without[:3].sum()))
    assert mapped.transform(x[:, None])[2, 0] < mine, "a row that votes speaks for its own class"


def test_shapes_of_mixed_tables_and_of_more_classes():
    X, y = mixed()
    assert DensityMap().fit_transform(X, y).shape == DensityMap().fit(X, y).transform(X).shape == (len(X), X.shape[1])
    X, y = drawn(columns=4, classes=3)
    assert DensityMap().fit_transform(X, y).shape == (len(X), 4 * 3)


def test_the_peer_is_the_svm_on_the_precomputed_gram_matrix():
    X, y = mixed(rows=90)
    train, new = X.iloc[:60], X.iloc[60:]
    mapped = DensityMap()
    phi = mapped.fit_transform(train, y[:60])
    direct = SVC(kernel="precomputed", C=0.1).fit(phi @ phi.T, y[:60])
    peer = make_peer("svm-dlr").set_params(model__C=0.1).fit(train, y[:60])
    expected = direct.decision_function(mapped.transform(new) @ phi.T)
    assert peer.decision_function(new) == pytest.approx(expected, abs=1e-6)
