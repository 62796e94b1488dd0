"""Which solver runs and why: bounds, memory, the recipe; and starts from an earlier run."""

import numpy as np
import pytest

from alrviz.errors import RecipeError
from alrviz.fitting.cost import estimate as estimate_module
from alrviz.fitting.cost import peak_memory as peak_module
from alrviz.fitting.cost.estimate import estimate_levels
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.choice import choose
from tests.fitting.tables import drain, run_of, same_steps, table


def chosen(room=1e9, family="lr", **params):
    settings = params if family == "anje" else {"alpha": 1.0, **params}
    choice = choose(Recipe(family, **settings).params, room)
    return choice.solver, choice.memory, choice.reason


def test_auto_is_tron_with_a_penalty_and_lbfgs_without():
    assert chosen()[:2] == chosen(family="alr")[:2] == ("tron", 10)
    assert chosen()[2].startswith("tron: with a penalty")
    assert chosen(alpha=0)[:2] == chosen(scale="diagonal-adaptive")[:2] == ("lbfgs", 10)
    assert chosen(alpha=0)[2].startswith("lbfgs: ")
    assert chosen(solver="lbfgs")[2] == "lbfgs, as the recipe says"
    assert chosen(solver="tron", alpha=0) == ("tron", 10, "tron, as the recipe says")
    assert chosen(bounds=(0, 1))[::2] == ("lbfgsb", "lbfgsb: no other solver supports bounds")
    assert chosen(family="anje")[0] == "none"


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
@pytest.mark.parametrize(
    ("room", "kept"), [(100, 10), (10, 10), (9.9, 9), (5, 5), (3, 3), (2.9, None), (0, None), (-7, None)]
)
def test_corrections_are_as_many_as_there_is_room_for_and_three_at_least(solver, room, kept):
    name, memory, reason = chosen(room, solver=solver, alpha=0)
    if kept is None:
        assert (name, memory) == ("cg", 0)
        assert "fewer than 3 are no help" in reason
        assert f"room for {max(0, int(room))} corrections" in reason
    else:
        assert (name, memory) == ("lbfgs", kept)
        assert (f"with {kept} corrections instead of 10" in reason) == (kept < 10)
    assert reason.startswith(name)


@pytest.mark.parametrize(
    ("room", "kept"), [(100, 10), (12, 10), (11.9, 4), (10, 4), (9, 3), (8, 3), (7, None), (3, None), (2, None)]
)
def test_tron_keeps_pairs_for_which_there_is_room_and_lbfgs_follows(room, kept):
    name, memory, reason = chosen(room)
    assert (name, memory) == (("tron", kept) if kept else ("lbfgs", min(room, 10)) if room >= 3 else ("cg", 0))
    assert reason.startswith(name)
    assert ("max_memory leaves" in reason) == ((name, memory) != ("tron", 10))
    choice = choose(Recipe("lr", alpha=0.3).params, room)
    assert choice.vectors <= room
    asked = chosen(room, solver="tron")
    assert asked[0] == "tron"
    assert asked[1] == (kept if kept else {7: 2, 3: 0, 2: 0}[room])


def test_a_short_fit_starts_as_a_long_one_and_is_priced_for_what_it_fills():
    for room in (100, 7, 4, 0):
        assert chosen(room, max_iter=2) == chosen(room, max_iter=200)
    assert choose(Recipe("lr", solver="lbfgs", max_iter=2, alpha=0.3).params, 100).vectors == 2
    assert choose(Recipe("lr", solver="lbfgs", max_iter=200, alpha=0.3).params, 100).vectors == 10


def test_choice_does_not_depend_on_max_iter():
    shape = ([50] * 10, 3, 1000)
    full = estimate_levels(*shape, Recipe("lr", order=2, alpha=0.3), max_memory=2**40)
    vector = 8 * (full.cells_seen + 1) * 3
    for less in range(24):
        limits = {"max_memory": full.cost.bytes - less * vector}
        short, long = (
            estimate_levels(*shape, Recipe("lr", order=2, max_iter=k, alpha=0.3), **limits) for k in (2, 200)
        )
        assert short.choice.solver == long.choice.solver
        assert short.choice.memory == long.choice.memory


def test_a_replay_may_take_what_the_run_might(monkeypatch):
    """Not half of what is free by then, which its own arrays have made less."""
    free = 2**40
    monkeypatch.setattr(estimate_module, "free_memory", lambda: free)
    run = drain(run_of(table(400, (12, 12, 12), 3), "lr", max_iter=12))
    free = 2 * (run.estimate.cost.bytes - 1)
    assert run.estimate.choice.memory == 10
    assert estimate_levels(run.encoded.levels, 3, 400, run.recipe).choice.memory < 10
    assert same_steps(run.replay(12).trace, run.trace)


def test_a_metric_that_changes_is_followed_by_gd_where_memory_lacks():
    assert chosen(0, scale="diagonal-adaptive")[0] == "gd"


def test_an_estimate_knows_the_solver_and_refuses_only_what_no_solver_fits():
    shape = ([50] * 10, 3, 1000)
    recipe = Recipe("lr", order=2, alpha=0)
    full = estimate_levels(*shape, recipe, max_memory=2**40)
    vector = 8 * (full.cells_seen + 1) * 3
    less = estimate_levels(*shape, recipe, max_memory=full.cost.bytes - 1)
    assert (less.choice.solver, less.choice.memory, less.refusal) == ("lbfgs", 9, "")
    assert full.cost.bytes - less.cost.bytes == pytest.approx(vector, abs=2)
    least = estimate_levels(*shape, recipe, max_memory=full.cost.bytes - 8 * vector)
    assert (least.choice.solver, least.refusal) == ("cg", "")
    assert estimate_levels(*shape, recipe, max_memory=full.cost.bytes - 9 * vector).refusal


def test_run_reports_its_solver_and_the_reason(monkeypatch):
    monkeypatch.setattr(peak_module, "MAX_SNAPSHOT_BYTES", 0)  # room for snapshots is set aside as if steps were many
    encoded = table(400, (12, 12, 12), 3)
    recipe = Recipe("lr", alpha=0, max_iter=12)
    whole = Run.on_encoded(encoded, recipe, n_jobs=1, max_memory=2**40)
    assert whole.solver == "lbfgs"
    whole.advance()
    assert "few passes" in whole.estimate.choice.reason
    tight = Run.on_encoded(
        encoded, recipe, n_jobs=1, max_memory=whole.estimate.cost.bytes - 8 * (whole.estimate.cells_seen + 1) * 3 * 6
    )
    drain(tight)
    assert (tight.solver, tight._fit.solver.memory) == ("lbfgs", 4)
    poor = drain(
        Run.on_encoded(
            encoded, recipe, n_jobs=1, max_memory=tight.estimate.cost.bytes - 8 * (whole.estimate.cells_seen + 1) * 6
        )
    )
    assert poor.solver == "cg"
    assert "instead of lbfgs" in poor.estimate.choice.reason
    named = drain(Run.on_encoded(encoded, recipe.replace(solver="cg"), n_jobs=1))
    assert same_steps(poor.trace, named.trace)


METRICS = [("lr", {}), ("alr", {}), ("alr", {"scale": "theta-gamma"}), ("lr", {"scale": "diagonal"})]


@pytest.mark.parametrize(("family", "params"), METRICS)
def test_a_start_is_the_earlier_model_in_whatever_units(family, params):
    encoded = table(200)
    earlier = drain(run_of(encoded, "lr", order=2, alpha=1.0, max_iter=15))
    recipe = Recipe(family, order=2, alpha=0.3, penalty="phi", max_iter=5, **params)
    run = Run.on_encoded(encoded, recipe, n_jobs=1, start=earlier.model)
    first = run.advance()
    assert first.nll == pytest.approx(earlier.trace[-1].nll, rel=1e-9) or family == "alr"
    live = run.scale != 0
    phi = np.vstack([earlier.model.phi, earlier.model.bias])
    np.testing.assert_allclose((run.scale * run.state.point.w)[live], phi[live], rtol=1e-12, atol=1e-14)
    drain(run)
    assert same_steps(run.replay(3).trace, run.trace.since(0)[:4])


def test_a_path_with_starts_begins_near_its_ends_and_takes_fewer_steps():
    encoded = table(300)
    cold, warm, before = 0, 0, None
    for alpha in np.geomspace(10.0, 5.0, 8):
        recipe = Recipe("lr", order=2, alpha=alpha, tol=1e-10, max_iter=500)
        far = drain(Run.on_encoded(encoded, recipe, n_jobs=1)).trace
        run = drain(Run.on_encoded(encoded, recipe, n_jobs=1, start=before))
        if before is not None:
            assert run.trace[0].objective < 1.01 * run.trace[-1].objective < 0.9 * far[0].objective
        cold, warm, before = cold + len(far), warm + len(run.trace), run.model
    assert warm < 0.9 * cold


def test_shared_weights_start_from_the_nearest():
    encoded = table(200)
    earlier = drain(run_of(encoded, "alr", order=2, alpha=0.5, share="tuple", max_iter=20))
    run = Run.on_encoded(encoded, Recipe("alr", order=2, alpha=0.5, share="tuple"), n_jobs=1, start=earlier.model)
    run.advance()
    np.testing.assert_allclose(run.state.point.w, earlier.state.point.w, rtol=1e-10, atol=1e-12)
    phi = np.random.default_rng(0).normal(size=run.scale.shape)
    of = run._fit.objective.parameterisation
    nearest = of.weights_at(phi)
    for _ in range(5):
        other = nearest + 0.1 * np.random.default_rng(1).normal(size=nearest.shape)
        assert ((of.phi(nearest) - phi) ** 2).sum() < ((of.phi(other) - phi) ** 2).sum()


def test_a_start_of_another_table_is_refused():
    earlier = drain(run_of(table(200), "lr", order=1, max_iter=2))
    with pytest.raises(RecipeError, match="expected a model of the same rows and order"):
        Run.on_encoded(table(200), Recipe("lr", order=2, alpha=0.3), n_jobs=1, start=earlier.model).advance()
