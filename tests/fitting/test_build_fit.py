"""What a recipe's parameters become: starts that are drawn, weights that are shared, one optimum for either."""

import numpy as np
import pytest
from scipy.optimize import minimize

from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from tests.fitting.tables import drain, prepared_objective, run_of, same_steps, table

SHARES = ["cell", "tuple", "all"]


def start_of(seed, family="alr", **params):
    """Weights that a run with this seed starts from."""
    encoded = table(300, (5, 6, 4, 5), 3)
    settings = {"order": 2, "alpha": 1.0, "start": "random", "max_iter": 0, **params}
    run = Run.on_encoded(encoded, Recipe(family, seed=seed, **settings), n_jobs=1)
    run.advance()
    return run.state.point.w


@pytest.mark.parametrize("params", [{}, {"scale": "theta-gamma"}, {"share": "cell"}])
def test_random_weights_are_the_seed_s_and_have_their_spread(params):
    w = start_of(5, **params)
    assert np.array_equal(w, start_of(5, **params))
    assert not np.array_equal(w, start_of(6, **params))
    assert w.std() == pytest.approx(0.1, rel=4 / np.sqrt(2 * w.size))  # four standard errors
    assert abs(w.mean()) < 4 * 0.1 / np.sqrt(w.size)
    assert len(np.unique(w)) == w.size


def test_the_seed_of_a_start_is_no_matter_of_other_starts():
    encoded = table()
    runs = [
        drain(Run.on_encoded(encoded, Recipe("alr", seed=seed, start="one", alpha=1.0, max_iter=3), n_jobs=1))
        for seed in (0, 1)
    ]
    assert same_steps(*(run.trace for run in runs))


@pytest.mark.parametrize("family", ["lr", "alr"])
def test_every_start_ends_at_one_optimum(family):
    encoded = table(weights="fractions")
    settings = {"alpha": 1.0, "penalty": "w", "solver": "lbfgs", "tol": 1e-14, "max_iter": 5000}
    ends = [drain(run_of(encoded, family, start=start, **settings)).trace[-1] for start in ("zero", "random")]
    assert ends[0].objective == pytest.approx(ends[1].objective, rel=1e-10)
    assert ends[0].index != ends[1].index


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("penalty", "alpha"), [("phi", 0.1), ("w", 0.1), ("w", 0.0)])
@pytest.mark.parametrize("scale", ["theta", "theta-gamma"])
def test_shared_weights_end_where_scipy_s_solver_ends(scale, share, penalty, alpha):
    encoded = table(150, weights="fractions")
    order = 2 if alpha else 1  # of order 2 the best NLL of so few rows is out of reach
    params = {"order": order, "scale": scale, "share": share, "alpha": alpha, "penalty": penalty, "center": "anje"}
    objective, w0 = prepared_objective(encoded, "alr", **params)

    def value_and_gradient(flat):
        point = objective.value_grad(flat.reshape(w0.shape))
        return point.objective, point.gradient.ravel()

    reference = minimize(
        value_and_gradient, w0.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0}
    )
    run = drain(run_of(encoded, "alr", tol=1e-14, max_iter=5000, **params))
    assert run.trace[-1].objective == pytest.approx(reference.fun, rel=1e-8)
    assert run.outcome.code == "converged"


def test_the_fewer_weights_the_higher_the_least_nll():
    """Each way of sharing is a special case of the next."""
    encoded = table(150, signal=0.5)
    least = [
        drain(run_of(encoded, "alr", order=1, alpha=0.0, share=share, tol=1e-12, max_iter=2000)).trace[-1].nll
        for share in ("all", "tuple", "cell", "cell-class")
    ]
    assert least == sorted(least, reverse=True)
    assert min(np.diff(least[::-1])) > 0.1


@pytest.mark.parametrize("share", SHARES)
def test_lr_learns_no_more_than_class_shares_from_weights_that_classes_share(share):
    encoded = table(150)
    last = drain(run_of(encoded, "lr", order=2, alpha=0.0, share=share, tol=1e-14, max_iter=500)).trace[-1]
    shares = np.bincount(encoded.y) / encoded.n_rows
    assert last.nll == pytest.approx(-np.log(shares)[encoded.y].sum(), rel=1e-9)


@pytest.mark.parametrize("share", SHARES)
def test_snapshots_and_models_of_shared_weights_are_phi(share):
    run = drain(run_of(table(), "alr", share=share, max_iter=5))
    kept, model = run.model_at(5)
    assert kept == 5
    np.testing.assert_allclose(model.phi, run.model.phi, rtol=1e-6)
    np.testing.assert_allclose(model.bias, run.model.bias, rtol=1e-6)
    norm = np.sqrt((model.phi**2).sum() + (model.bias**2).sum())
    assert run.trace[-1].extra["phi_norm"] == pytest.approx(norm, rel=1e-6)
