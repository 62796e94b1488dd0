"""Stratified folds: every row is held out once, every class is spread, rare classes too."""

import numpy as np
import pytest

from alrviz.data.splits import split_folds
from alrviz.errors import RecipeError


def test_folds_spread_every_class():
    y = np.repeat([0, 1, 2], [50, 23, 2])
    folds = split_folds(y, 5, 3)
    assert np.sort(np.concatenate([fold.test for fold in folds])).tolist() == list(range(75))
    for fold in folds:
        train, held = fold.train, fold.test
        assert np.sort(np.concatenate([train, held])).tolist() == list(range(75))
        assert abs(np.bincount(y[held], minlength=3) - [10, 4.6, 0.4]).max() <= 2
        assert 2 in y[train] or 2 in y[held]
    same, other = split_folds(y, 5, 3), split_folds(y, 5, 4)
    assert all((a.test == b.test).all() for a, b in zip(folds, same, strict=True))
    assert not all(np.array_equal(a.test, b.test) for a, b in zip(folds, other, strict=True))


def test_rare_classes_together_are_shared_out():
    y = np.array([0] * 12 + [1, 1, 2, 2, 3])
    tests = [fold.test for fold in split_folds(y, 5, 0)]
    assert all(len(test) in (3, 4) and (y[test] > 0).any() for test in tests)


def test_more_folds_than_rows_are_refused():
    with pytest.raises(RecipeError, match=r"3 rows.*5 folds.*3 folds"):
        split_folds(np.array([0, 1, 1]), 5, 0)
