"""Paths along alpha: their ends are known models, and warm starts change nothing but the work."""

import numpy as np
import pytest

from alrviz.data.demos import load_demo
from alrviz.errors import RecipeError
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.studies.protocols.alpha_path import alpha_path

ALPHAS = (1e6, 100.0, 1.0, 0.01)


@pytest.fixture(scope="module")
def study():
    recipes = [
        Recipe("alr", order=2, center="anje", penalty="w", tol=1e-9),
        Recipe("lr", order=2, tol=1e-9),
    ]
    return alpha_path(load_demo("led", 600), recipes, alphas=ALPHAS, n_jobs=1).run()


def test_largest_alpha_gives_the_centers_model(study):
    frame = study.frame()
    assert study.progress.failed == 0
    anje = frame[frame.label == "anje"].iloc[0]
    curve = frame[frame.racer == 0]
    assert curve.alpha.tolist() == list(ALPHAS)
    assert curve.log_loss.iloc[0] == pytest.approx(anje.log_loss, abs=1e-3)
    assert curve.train_log_loss.is_monotonic_decreasing
    toward_zero = frame[frame.racer == 1]
    assert toward_zero.log_loss.iloc[0] == pytest.approx(np.log(10), abs=1e-2)


def test_smallest_alpha_is_close_to_the_unpenalised_fit(study):
    frame = study.frame()
    free = frame[(frame.label == "lr") & (frame.racer > 1)].iloc[0]
    assert free.alpha == 0
    assert frame[frame.racer == 1].train_log_loss.iloc[-1] == pytest.approx(free.train_log_loss, rel=0.05)


def test_a_point_is_the_fit_of_its_alpha_from_its_own_start_on_the_explorers_split(study):
    dataset = study.dataset
    for line in study.frame().query("racer < 2 and alpha in (100.0, 1.0)").itertuples():
        run = Run(dataset, study.recipes[line.racer].replace(alpha=line.alpha), n_jobs=1)
        for _ in run.steps():
            pass
        assert line.objective == pytest.approx(run.trace[-1].objective, rel=1e-6)
        assert line.log_loss == pytest.approx(run.trace[-1].extra["heldout_log_loss"], rel=1e-4)
        assert line.train_error == pytest.approx(run.trace[-1].extra["train_error"], abs=5e-3)


def test_weights_leave_the_center_as_alpha_falls(study):
    curve = study.frame().query("racer == 1")
    spread = (curve.away_95 - curve.away_5).tolist()
    assert spread == sorted(spread)
    assert spread[0] == pytest.approx(0, abs=1e-3)
    assert (curve.away_0 <= curve.away_50).all()


def test_a_summary_means_over_repeats():
    study = alpha_path(load_demo("xor", 200), [Recipe("lr", order=2)], alphas=(10, 1), repeats=2, n_jobs=1).run()
    frame, lines = study.frame(), study.summary()
    assert len(lines) == 2 + 3
    mine = lines.query("racer == 0").set_index("alpha")
    assert mine.repeats.tolist() == [2, 2]
    assert mine.log_loss[1.0] == pytest.approx(frame.query("racer == 0 and alpha == 1").log_loss.mean())


@pytest.mark.parametrize(
    ("recipe", "change", "complaint"),
    [
        (Recipe("tan"), {}, "tan has no penalty alpha"),
        (Recipe("lr"), {"alphas": (1.0, 0.0)}, "expected alphas above 0"),
        (Recipe("lr"), {"alphas": ()}, "expected alphas above 0"),
        (Recipe("lr"), {"holdout": 0}, "a holdout between 0 and 1"),
    ],
)
def test_recipe_without_alpha_raises(recipe, change, complaint):
    with pytest.raises(RecipeError, match=complaint):
        alpha_path(load_demo("xor", 50), [recipe], **change)
