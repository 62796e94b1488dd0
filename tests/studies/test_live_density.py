"""DLR that follows a hand: drawn rows fitted as a run fits them, bandwidths that are dragged, the weights following."""

import numpy as np
import pytest

import alrviz
from alrviz.errors import Stopped
from alrviz.models import density as density_models
from alrviz.passes import density as density_passes
from alrviz.passes import rows as row_passes
from alrviz.stop import StopToken
from alrviz.studies.density.live_density import at_bandwidths, follow


@pytest.fixture(scope="module")
def gaussians():
    return alrviz.load_demo("four-gaussians", rows=160, seed=3)


@pytest.fixture(scope="module")
def fitted(gaussians):
    run = alrviz.Run(gaussians, alrviz.Recipe("dlr", bandwidth="loo", holdout=0.0, alpha=10.0))
    list(run.steps())
    return run


def test_drawn_rows_end_where_a_run_of_the_same_rows_ends(gaussians, fitted):
    lives = list(follow(gaussians.X, gaussians.y, fitted.recipe))
    assert len(lives) > 2
    assert [live.is_finished for live in lives] == [False] * (len(lives) - 1) + [True]
    assert lives[-1].nll == pytest.approx(fitted.trace[-1].nll / 160, rel=1e-4)
    assert lives[-1].nll < lives[0].nll - 0.1


def test_the_first_answer_has_the_warm_bandwidths_and_its_own_weights(gaussians, fitted):
    warm = fitted.model
    more = gaussians.X.copy()
    more.loc[160] = (0.0, 0.0)
    y = np.append(gaussians.y, "A")
    first = next(follow(more, y, fitted.recipe, warm))
    assert first.model.log_h == pytest.approx(warm.log_h)
    assert not np.allclose(first.model.w, warm.w, atol=1e-9)
    assert first.encoded.n_rows == 161


def test_a_new_class_starts_afresh(gaussians, fitted):
    y = gaussians.y.copy()
    y[:20] = "C"
    last = list(follow(gaussians.X, y, fitted.recipe, fitted.model))[-1]
    assert last.model.w.shape == (3, 3)


def test_fixed_bandwidths_are_answered_once(gaussians):
    lives = list(follow(gaussians.X, gaussians.y, alrviz.Recipe("dlr", bandwidth="silverman", alpha=10.0)))
    assert [live.is_finished for live in lives] == [True]


def test_weights_follow_bandwidths_that_are_dragged(fitted):
    at_fit = at_bandwidths(fitted, fitted.model.log_h, fitted.model.w)
    assert at_fit.nll == pytest.approx(fitted.trace[-1].nll / 160, rel=1e-6)
    wide = fitted.model.log_h + np.array([2.0, 0.0])
    found = at_bandwidths(fitted, wide, fitted.model.w)
    assert found.nll > at_fit.nll + 0.01
    assert found.model.log_h == pytest.approx(wide)
    point = fitted.objective.value_grad(np.concatenate([found.model.w.ravel(), wide]))
    assert abs(point.inner.gradient).max() / 160 < 1e-5  # nothing is left to gain from the weights


@pytest.mark.parametrize("mode", ["loo", "validation"])
def test_a_dragged_bandwidth_takes_one_thread_and_leaves_the_runs_its_own(gaussians, monkeypatch, mode):
    run = alrviz.Run(gaussians, alrviz.Recipe("dlr", bandwidth=mode, alpha=10.0), n_jobs=2)
    for _ in range(3):
        run.advance()
    used = set()
    for module in (density_models, density_passes, row_passes):
        monkeypatch.setattr(
            module, "run_parts", lambda work, n, jobs, _own=module.run_parts: used.add(jobs) or _own(work, n, jobs)
        )
    at_bandwidths(run, run.model.log_h + 0.3, run.model.w)
    assert used == {1}
    used.clear()
    run.advance()
    assert 2 in used


def test_bandwidths_can_be_dragged_after_stop(gaussians):
    run = alrviz.Run(gaussians, alrviz.Recipe("dlr", bandwidth="loo", alpha=10.0))
    for _ in range(3):
        run.advance()
    run.stop()
    assert np.isfinite(at_bandwidths(run, run.model.log_h + 0.1, run.model.w).nll)


def test_stopped_fit_returns_nothing(gaussians, fitted):
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        list(follow(gaussians.X, gaussians.y, fitted.recipe, stop=token))
