"""Learning curves: the points are means of what rows cost, and they cross where the planted order says."""

import numpy as np
import pytest

from alrviz.data.demos import load_demo
from alrviz.data.read import read_table
from alrviz.errors import RecipeError
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core import learning_curve_task
from alrviz.studies.core.learning_curve_task import ETAS, _window_means
from alrviz.studies.protocols.learning_curve import learning_curve


def row_by_row(family, order, solver="sgd"):
    return Recipe(family, order=order, solver=solver, alpha=0.0)


def test_points_are_means_over_the_last_rows_by_hand():
    values = np.arange(1.0, 11.0)
    assert _window_means(values, np.array([1, 4, 10]), np.array([1, 3, 3])).tolist() == [1.0, 3.0, 9.0]


def test_on_parity_the_orders_cross():
    """Order 3 starts worst or level and ends best: it alone can see the parity of three."""
    recipes = [*(row_by_row("lr", n, "adagrad") for n in (1, 3)), Recipe("anje", order=3)]
    study = learning_curve(load_demo("parity", 4000), recipes, repeats=2, window=500, n_jobs=1).run()
    assert study.progress.failed == 0
    last = study.summary().groupby("racer").last()
    assert last.seen.tolist() == [4000] * 3
    assert last.orders.tolist() == [2] * 3
    assert last.error[1] < 0.2 < 0.4 < last.error[0]
    assert study.frame().window.max() == 500


def test_every_learner_meets_the_rows_in_the_same_order():
    study = learning_curve(load_demo("led", 300), [row_by_row("lr", 1), row_by_row("alr", 2)], repeats=2, n_jobs=1)
    seeds = {(task.split.repeat, task.seed) for task in study.tasks}
    assert len(seeds) == 2
    frame = study.run().frame()
    assert frame.groupby("racer").eta0.first().isin(ETAS).all()
    firsts = frame[frame.seen == 1]
    assert firsts.groupby("repeat").log_loss.nunique().tolist() == [1, 1], "the first row is judged by nothing"
    assert firsts.log_loss.tolist() == pytest.approx([np.log(10)] * 4)


def test_learners_do_not_see_later_rows_unless_configured_to(monkeypatch):
    """With other classes in the second half of the rows the first half costs the same."""
    monkeypatch.setattr(learning_curve_task, "ETAS", (1.0,))  # no search for a step length
    data, recipe = load_demo("led", 200), row_by_row("alr", 1)
    (task,) = learning_curve(data, [recipe], repeats=1).tasks
    second_half = np.random.default_rng(task.seed).permutation(200)[100:]
    classes = np.array(data.y)
    classes[second_half] = classes[second_half][::-1]

    def first_half(y, **options):
        table = read_table(data.X.assign(digit=y), target="digit")
        frame = learning_curve(table, [recipe], repeats=1, n_jobs=1, **options).run().frame()
        return frame[frame.seen <= 100].log_loss.tolist()

    assert first_half(classes) == pytest.approx(first_half(data.y))
    leaked = first_half(classes, theta="two-pass")
    assert leaked != pytest.approx(first_half(data.y, theta="two-pass"))


def test_theta_known_beforehand_is_an_advantage():
    data, recipe = load_demo("led", 1500), row_by_row("alr", 1)
    means = {}
    for theta in ("two-pass", "single-pass"):
        study = learning_curve(data, [recipe], repeats=2, theta=theta, n_jobs=1).run()
        assert set(study.frame().theta) == {theta}
        means[theta] = study.summary().rmse2.mean()
    assert means["two-pass"] < means["single-pass"]


@pytest.mark.parametrize(
    ("recipe", "complaint"),
    [
        (Recipe("lr", alpha=0.0), "all rows at every step"),
        (Recipe("tan"), "tan cannot learn row by row"),
        (Recipe("lr", solver="sgd", alpha=1.0), "alpha=1.0 does not work row by row"),
        (Recipe("lr", solver="sgd", alpha=0.0, start="anje"), "expected start='zero'"),
        (Recipe("alr", solver="sgd", alpha=0.0, scale="theta-gamma"), "expected scale='theta'"),
    ],
)
def test_recipes_that_cannot_learn_row_by_row_raise(recipe, complaint):
    with pytest.raises(RecipeError, match=complaint):
        learning_curve(load_demo("xor", 50), [recipe])


def test_invalid_option_values_raise():
    with pytest.raises(RecipeError, match="'single-pass', 'two-pass'"):
        learning_curve(load_demo("xor", 50), [Recipe("anje")], theta="three")
    with pytest.raises(RecipeError, match="whole numbers from 1"):
        learning_curve(load_demo("xor", 50), [Recipe("anje")], window=0)
