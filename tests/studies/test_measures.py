"""Measures against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, brier_score_loss, log_loss

from alrviz.studies.statistics.measures import calibration_error, measures, pooled_reliability, reliability


def drawn(n=200, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), n)
    return np.log(p), rng.integers(0, classes, n)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_measures_equal_scikit_learns(classes):
    log_p, y = drawn(classes=classes)
    p, labels = np.exp(log_p), np.arange(classes)
    found = measures(log_p, y)
    assert found.log_loss == pytest.approx(log_loss(y, p, labels=labels), rel=1e-12)
    assert found.error == pytest.approx(1 - accuracy_score(y, p.argmax(axis=1)))
    assert found.brier == pytest.approx(brier_score_loss(y, p, labels=labels, scale_by_half=False), rel=1e-12)
    assert found.rmse == pytest.approx(np.sqrt(found.brier / classes), rel=1e-12)


def test_by_hand():
    """Of (1/2, 1/2) the first class is predicted; of (1/4, 3/4) the second, once rightly."""
    log_p, y = np.log([[0.5, 0.5], [0.25, 0.75], [0.25, 0.75]]), np.array([0, 1, 0])
    found = measures(log_p, y)
    assert found.error == pytest.approx(1 / 3)
    assert found.log_loss == pytest.approx(-(np.log(0.5) + np.log(0.75) + np.log(0.25)) / 3)
    assert found.rmse == pytest.approx(np.sqrt((0.25 + 0.0625 + 0.5625) / 3))


def test_calibration_by_hand():
    """Two bins of two rows: confidence .6 with one right, .9 with both right."""
    log_p = np.log([[0.6, 0.4], [0.4, 0.6], [0.9, 0.1], [0.1, 0.9]])
    y = np.array([0, 0, 0, 1])
    table = reliability(log_p, y, bins=2)
    assert table.rows.tolist() == [2, 2]
    np.testing.assert_allclose(table.confidence, [0.6, 0.9])
    np.testing.assert_allclose(table.accuracy, [0.5, 1.0])
    np.testing.assert_allclose(table.standard_error, [np.sqrt(0.125), 0.0])
    assert calibration_error(log_p, y, bins=2) == pytest.approx((0.1 + 0.1) / 2)


def test_classes_drawn_from_their_probabilities_are_calibrated_and_others_are_not():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.5, 1.0, 50_000)
    log_p = np.log(np.stack([p, 1 - p], axis=1))
    y = (rng.random(50_000) > p).astype(int)
    assert calibration_error(log_p, y) < 0.01
    sure = np.log(np.stack([p**0.2, 1 - p**0.2], axis=1))
    assert calibration_error(sure, y) > 0.1


def test_fewer_rows_than_bins():
    log_p, y = drawn(4)
    assert reliability(log_p, y).rows.tolist() == [1, 1, 1, 1]


def test_rows_of_the_same_probability_are_calibrated_in_any_order():
    y = np.repeat([0, 1, 0, 1], [70, 30, 40, 60])
    p = np.repeat([0.7, 0.7, 0.4, 0.4], [70, 30, 40, 60])
    log_p = np.log(np.column_stack([p, 1 - p]))
    shuffled = np.random.default_rng(0).permutation(200)
    for rows in (slice(None), shuffled, np.lexsort((y, p))):
        assert calibration_error(log_p[rows], y[rows], bins=10) == pytest.approx(0.0, abs=1e-12)
    weight = np.where(np.arange(200) % 2, 0.0, 1.0)
    assert calibration_error(log_p, y, 10, weight) == pytest.approx(0.0, abs=1e-12)
    assert calibration_error(log_p, 1 - y, bins=10) == pytest.approx(0.3, abs=1e-12)


def test_reliability_of_folds_is_pooled_bin_by_bin():
    folds = [
        {"rows": [2, 2], "confidence": [0.5, 0.9], "accuracy": [0.5, 1.0]},
        {"rows": [6, 2], "confidence": [0.7, 0.7], "accuracy": [1.0, 0.5]},
        {"rows": [4], "confidence": [0.6], "accuracy": [0.0]},
    ]
    pooled = pooled_reliability(folds)
    assert pooled.rows.tolist() == [12, 4]
    np.testing.assert_allclose(pooled.confidence, [(1.0 + 4.2 + 2.4) / 12, 0.8])
    np.testing.assert_allclose(pooled.accuracy, [7 / 12, 0.75])
    np.testing.assert_allclose(pooled.standard_error, [np.sqrt(7 / 12 * 5 / 12 / 12), np.sqrt(0.75 * 0.25 / 4)])


@pytest.mark.parametrize("classes", [2, 4])
def test_measures_of_rare_classes_equal_scikit_learns(classes):
    random = np.random.default_rng(classes)
    y = random.choice(classes, size=400, p=np.array([0.85, *[0.15 / (classes - 1)] * (classes - 1)]))
    p = random.dirichlet(np.ones(classes), size=400).round(1) + 0.5 * np.eye(classes)[y] + 0.01  # equal scores too
    log_p = np.log(p / p.sum(axis=1, keepdims=True)).round(6)
    found = measures(log_p, y)
    assert found.balanced_error == pytest.approx(1 - balanced_accuracy_score(y, log_p.argmax(axis=1)))
    each = [average_precision_score(y == k, log_p[:, k]) for k in range(classes)]
    assert found.average_precision_loss == pytest.approx(1 - (each[1] if classes == 2 else np.mean(each)))
