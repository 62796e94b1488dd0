"""The objective of DLR in its four modes: values from the definition, slopes against differences."""

import numpy as np
import pytest

from alrviz.errors import RecipeError
from alrviz.fitting.density.objective import DensityObjective
from alrviz.models.density_model import parts_of
from alrviz.models.linear import log_softmax
from tests.fitting.mixed import density_objective, density_run, mixed
from tests.fitting.tables import drain
from tests.oracles.density import naive_features, naive_log_sums

MODES = ["loo", "silverman", "validation", "paper"]


def naive_scores(phi, w):
    """(N, C) of features (D, K, N) and weights (D + 1, K)."""
    z = np.einsum("dk,dkn->nk", w[:-1], phi) + w[-1]
    return z if z.shape[1] > 1 else np.column_stack([np.zeros(len(z)), z[:, 0]])


def naive_nll(phi, w, encoded):
    log_p = log_softmax(naive_scores(phi, w))
    return -float((encoded.weights * log_p[np.arange(len(log_p)), encoded.y]).sum())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("mode", ["loo", "silverman"])
@pytest.mark.parametrize("center", [0, 1])
def test_the_value_is_the_definitions(mode, n_classes, center):
    encoded = mixed(40, n_classes, weights="fractions", gaps=0.1)
    objective, v = density_objective(encoded, bandwidth=mode, alpha=0.7, center=center, smoothing=0.5)
    v = v + np.random.default_rng(1).normal(size=len(v)) / 5
    w, log_h = objective.split(v)
    numbers, codes = parts_of(encoded)
    phi = naive_features(
        numbers, codes, np.array([3]), encoded.y, encoded.weights, n_classes, np.exp(log_h), 0.5,
        leave_out=mode == "loo",
    )  # fmt: skip
    goal = np.full(w.shape, float(center))
    goal[-1] = 0
    penalty = 0.7 * ((w - goal) ** 2).sum()
    point = objective.value_grad(v)
    assert point.sums.nll == pytest.approx(naive_nll(phi, w, encoded), rel=1e-9)
    assert point.objective == pytest.approx(naive_nll(phi, w, encoded) + penalty, rel=1e-9)
    np.testing.assert_allclose(objective.scores(v), point.z)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_validation_rows_have_no_vote_and_no_penalty(n_classes):
    encoded = mixed(60, n_classes, weights="fractions")
    objective, v = density_objective(encoded, bandwidth="validation", alpha=0.7, validation_fraction=0.3, seed=3)
    v = v + np.random.default_rng(1).normal(size=len(v)) / 5
    w, log_h = objective.split(v)
    held = objective.validation
    train = objective.rows
    assert held.n_rows + train.n_rows == 60
    assert held.n_rows == 18
    from alrviz.data.splits import split_holdout

    splits = split_holdout(encoded.y, 0.3, 3)
    kept, out = splits.train, splits.test
    part, other = encoded.take(kept), encoded.take(out)
    phi = naive_features(
        *parts_of(part), np.array([3]), part.y, part.weights, n_classes, np.exp(log_h), 1.0, rows=parts_of(other)
    )
    assert objective.value_grad(v).e == pytest.approx(naive_nll(phi, w, other), rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_slopes_by_weights_are_differences(mode, n_classes):
    objective, v = density_objective(mixed(50, n_classes, weights="fractions"), bandwidth=mode, alpha=0.3)
    v = v + np.random.default_rng(2).normal(size=len(v)) / 5
    point = objective.value_grad(v)
    for j in range(len(v) - len(point.slopes)):
        step = np.zeros(len(v))
        step[j] = 1e-5
        high, low = objective.value_grad(v + step).objective, objective.value_grad(v - step).objective
        assert point.gradient[j] == pytest.approx((high - low) / 2e-5, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("mode", ["loo", "validation"])
def test_slopes_by_log_h_are_differences_with_the_weights_solved_anew(mode, alpha, n_classes):
    encoded = mixed(80, n_classes, weights="fractions", overlap=2.0)
    objective, v = density_objective(encoded, bandwidth=mode, alpha=alpha)
    w, log_h = objective.split(v)
    point = objective.follow(log_h + np.array([0.3, -0.2]), w)
    assert objective.criterion(point) > 1e-4, "a slope of 0 would show nothing"
    for d in range(2):
        step = np.zeros(2)
        step[d] = 1e-3
        high, low = (objective.follow(point.features.log_h + s, point.inner.w).e for s in (step, -step))
        assert point.slopes[d] == pytest.approx((high - low) / 2e-3, rel=1e-4, abs=1e-5)


def test_without_the_weights_answer_the_slope_of_validation_is_another():
    """What [DLR] (29) leaves out when w follows h."""
    encoded = mixed(80, 2, overlap=2.0)
    total, _ = density_objective(encoded, bandwidth="validation", alpha=0.1)
    partial = DensityObjective(
        total.features, total.rows, "paper", alpha=0.1, center=0, columns=total.columns, validation=total.validation
    )
    point = total.follow(np.log(total.features.silverman) - 1.0, np.zeros((4, 1)))
    other = partial._slopes(
        point.weights_objective,
        point.inner,
        point.features,
        point.validation_features,
        total.outer_value(point.inner, point.validation_features)[2],
    )
    assert np.abs(other - point.slopes).max() > 0.1 * np.abs(point.slopes).max()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_slopes_of_algorithm_1_hold_the_weights_fixed(n_classes):
    encoded = mixed(80, n_classes, weights="fractions")
    objective, v = density_objective(encoded, bandwidth="paper", alpha=0.0)
    v = v + np.random.default_rng(2).normal(size=len(v)) / 5
    point, size = objective.value_grad(v), len(v) - 2
    for d in range(2):
        step = np.zeros(len(v))
        step[size + d] = 1e-4
        high, low = objective.value_grad(v + step).e, objective.value_grad(v - step).e
        assert point.slopes[d] == pytest.approx((high - low) / 2e-4, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_weights_1_is_naive_bayes_with_kernel_densities(n_classes):
    """[DLR] Theorem 1, on numbers alone, from p(x|k) and the class shares."""
    rng = np.random.default_rng(5)
    encoded = mixed(70, n_classes, weights="whole")
    numbers = encoded.numbers
    levels_alone = np.setdiff1d(np.arange(3), encoded.numeric)
    encoded.codes[levels_alone] = 0  # a column that never varies has no feature
    run = drain(density_run(encoded, bandwidth="silverman", start="one", max_iter=0))
    h = run.model.bandwidths
    new = rng.normal(size=(2, 30))
    counts = np.bincount(encoded.y, encoded.weights)

    def log_density(d, x):
        return naive_log_sums(x, numbers[d], encoded.y, encoded.weights, h[d], n_classes) - np.log(counts * h[d])

    joint = np.log(counts / counts.sum()) + np.array([log_density(0, x[0]) + log_density(1, x[1]) for x in new.T])
    found = run.model.scores(new, np.zeros((1, 30), np.uint8))
    np.testing.assert_allclose(log_softmax(found), log_softmax(joint), rtol=1e-10, atol=1e-10)


def test_large_alpha_gives_the_center_1():
    encoded = mixed(60, 3)
    pulled = drain(density_run(encoded, bandwidth="silverman", alpha=1e9, center=1))
    bayes = drain(density_run(encoded, bandwidth="silverman", start="one", max_iter=0))
    np.testing.assert_allclose(pulled.model.w, bayes.model.w, atol=1e-6)


def test_no_validation_rows_raise():
    with pytest.raises(RecipeError, match=r"validation_fraction=0\.01 of 20 rows leaves no row.*bandwidth='loo'"):
        density_run(mixed(20), bandwidth="validation", validation_fraction=0.01).advance()


def test_without_numbers_there_is_nothing_to_validate():
    """[DLR] 6.3: on levels alone DLR-h is DLR."""
    encoded = mixed(60, numeric=0)
    one = drain(density_run(encoded, bandwidth="silverman"))
    other = drain(density_run(encoded, bandwidth="paper"))
    np.testing.assert_array_equal(one.model.w, other.model.w)
    assert one.objective.total == other.objective.total == 60


@pytest.mark.parametrize("mode", MODES)
def test_step_limit_sentence_names_the_monitored_loss_and_its_trend(mode):
    run = density_run(mixed(60, 2), bandwidth=mode, alpha=0.5, max_iter=2, tol=0.0)
    drain(run)
    judged = mode in ("validation", "paper")
    values = [s.extra["validation_log_loss"] if judged else s.objective for s in run.trace.since(0)]
    what = "the loss of the validation rows" if judged else "F"
    how = "still falling" if values[-1] < values[0] else "not settled"
    assert run.outcome.sentence == f"max_iter=2 steps were taken and {what} was {how}"
