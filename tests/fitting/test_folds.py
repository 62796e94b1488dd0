"""Stratified folds: every row is held out once, every class is spread, rare classes too."""

import numpy as np
import pytest

from alrviz.errors import RecipeError
from alrviz.fitting.folds import stratified_folds


def test_folds_spread_every_class():
    y = np.repeat([0, 1, 2], [50, 23, 2])
    folds = stratified_folds(y, 5, 3)
    assert np.sort(np.concatenate([held for _, held in folds])).tolist() == list(range(75))
    for train, held in folds:
        assert np.sort(np.concatenate([train, held])).tolist() == list(range(75))
        assert abs(np.bincount(y[held], minlength=3) - [10, 4.6, 0.4]).max() <= 2
        assert 2 in y[train] or 2 in y[held]
    same, other = stratified_folds(y, 5, 3), stratified_folds(y, 5, 4)
    assert all((a[1] == b[1]).all() for a, b in zip(folds, same, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(folds, other, strict=True))


def test_rare_classes_together_are_shared_out():
    y = np.array([0] * 12 + [1, 1, 2, 2, 3])
    assert all(len(held) in (3, 4) and (y[held] > 0).any() for _, held in stratified_folds(y, 5, 0))


def test_more_folds_than_rows_are_refused():
    with pytest.raises(RecipeError, match="3 rows cannot be shared out over 5 folds; expected at most 3 folds"):
        stratified_folds(np.array([0, 1, 1]), 5, 0)
