"""Learners that meet rows one by one, against the formulas."""

import numpy as np
import pytest

from alrviz.passes.prequential import Learner
from tests.oracles.prequential import stream

LEVELS = np.array([3, 4, 2])


def rows(n=60, n_classes=3, seed=0):
    """Rows of the cell table: 5 that are no cells, then the levels of three columns."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, top, n) for top in LEVELS], axis=1)
    cells = codes + 5 + np.concatenate([[0], np.cumsum(LEVELS)[:-1]])
    cells[rng.random(cells.shape) < 0.1] = 2
    return cells.astype(np.uint32), rng.integers(0, n_classes, n).astype(np.int32)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("kind", ["ones", "fixed", "so far", "count"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_stream_cost_equals_the_formulas(kind, adaptive, n_classes):
    cells, y = rows(n_classes=n_classes)
    fixed = -np.random.default_rng(1).random((5 + 9 + 1, n_classes)) - 0.1
    learner = Learner(kind, 14, 5, n_classes, LEVELS, 0.7, 0.5, fixed if kind == "fixed" else None, 0.3, adaptive)
    parts = [learner.visit(cells[a:b], y[a:b]) for a, b in ((0, 1), (1, 40), (40, 60))]
    losses, squared, wrong = (np.concatenate(part) for part in zip(*parts, strict=True))
    expected = stream(
        cells, y, n_classes, LEVELS, kind, m=0.7, gamma=0.5, fixed=fixed, eta0=0.3, adaptive=adaptive, outside=5
    )
    np.testing.assert_allclose(losses, expected[0], rtol=1e-11)
    np.testing.assert_allclose(squared, expected[1], rtol=1e-11)
    assert set(wrong) <= {0.0, 1.0}
    assert wrong[0] == (y[0] != 0), "of equal scores the first class"
