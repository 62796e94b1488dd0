"""How many tuples: the verdict by a loop written out, what keeping all is, and what cannot be asked."""

import numpy as np
import pytest

import alrviz
from alrviz.errors import RecipeError
from alrviz.studies.statistics.significance import corrected_error


@pytest.fixture(scope="module")
def study():
    data = alrviz.load_demo("twelve-bits", 1500)
    return alrviz.choose_tuples(data, alrviz.Recipe("salr", alpha=1.0), keeps=(0.1, 0.5, 1.0), folds=4, n_jobs=1).run()


def test_the_verdict_is_the_smallest_within_a_standard_error_of_the_lowest(study):
    frame = study.frame()
    losses = frame.pivot(index="fold", columns="racer", values="log_loss")
    size = frame.groupby("racer").parameters.mean()
    best = losses.mean().idxmin()
    rows = frame.test_rows.mean(), frame.train_rows.mean()
    behind = {racer: losses[racer] - losses[best] for racer in losses}
    near = [racer for racer in losses if behind[racer].mean() <= corrected_error(behind[racer].to_numpy(), *rows)]
    smallest = min({*near, best}, key=lambda racer: size[racer])
    verdict = study.verdict()
    assert verdict.recipe == study.recipes[smallest]
    assert study.recipe().params["order"] == 2
    assert f"{100 * verdict.recipe.params['keep']:g} % of the pairs" in verdict.headline
    assert "as well as all" in verdict.headline or "the lowest" in verdict.headline


def test_a_line_for_each_order_and_share(study):
    lines = study.summary()
    assert list(zip(lines.order, lines.kept, strict=True)) == [(n, k) for n in (1, 2) for k in (0.1, 0.5, 1.0)]
    assert lines.groupby("order").parameters.apply(lambda of: of.is_monotonic_increasing).all()
    assert (lines.folds == 4).all()


def test_keeping_all_is_alr(study):
    data = alrviz.load_demo("twelve-bits", 1500)
    alr = alrviz.compare([data], [alrviz.Recipe("alr", order=2, alpha=1.0)], repeats=1, folds=4, n_jobs=1).run().frame()
    mine = study.frame()
    mine = mine[(mine.order == 2) & (mine.racer == 5)]
    np.testing.assert_allclose(mine.log_loss.to_numpy(), alr.log_loss.to_numpy(), rtol=1e-3)


def test_fewer_than_two_folds_give_no_verdict():
    study = alrviz.choose_tuples(alrviz.load_demo("xor"), n_jobs=1)
    assert study.verdict().recipe is None
    assert "Not enough folds" in study.verdict().headline


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"recipe": alrviz.Recipe("lr", alpha=0.3)}, "lr selects no tuples; expected a recipe of salr or hsalr"),
        ({"orders": (7,)}, r"the table has 4 columns; expected"),
        ({"keeps": ()}, "keeps is empty"),
        ({"keeps": (1.5,)}, r"keeps=1.5 is out of range; expected a number from 0.001 to 1; the nearest is 1"),
        ({"keeps": (5,)}, r"keeps=5 is out of range; .* the nearest is 1"),
        ({"keeps": ("auto",)}, "keeps='auto' is not a number; expected a number from 0.001 to 1"),
    ],
)
def test_invalid_questions_raise(given, says):
    with pytest.raises(RecipeError, match=says):
        alrviz.choose_tuples(alrviz.load_demo("xor"), **given)
