"""Which order: the answers that are known, and the rule by hand."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.demos import demo_frame, load_demo
from alrviz.data.demos.generators import skewed
from alrviz.data.read import read_table
from alrviz.errors import RecipeError, for_page
from alrviz.fitting.recipe import AUTOMATIC, Recipe
from alrviz.studies.core.study_task import Result
from alrviz.studies.protocols.choose_order import automatic_recipe, automatic_summary, choose_order
from alrviz.studies.statistics.measures import loss_text
from alrviz.studies.statistics.significance import corrected_error
from alrviz.views.studies.compare import leaks_html

ROOT = Path(__file__).parents[2]


def of(frame):
    return read_table(frame, target="class", **dict.fromkeys(frame.columns[:-1], "categorical"))


def shuffled():
    frame = demo_frame("led", 300)
    frame["class"] = np.random.default_rng(1).permutation(frame["class"].to_numpy())
    return of(frame)


@pytest.mark.parametrize(
    ("dataset", "order"),
    [
        (shuffled, 0),
        (lambda: of(skewed(600, np.random.default_rng(0), order=1)), 1),
        (lambda: load_demo("xor", 500), 2),
        (lambda: load_demo("parity", 600), 3),
    ],
    ids=["shuffled labels", "planted at order 1", "xor", "parity of 3"],
)
def test_it_finds_the_order_that_was_planted(dataset, order):
    orders = range(max(order - 1, 0), max(order, 1) + 1 + (order < 3))
    study = choose_order(dataset(), orders=orders, repeats=1, folds=3, n_jobs=1).run()
    assert study.progress.failed == 0
    verdict = study.verdict()
    assert verdict.order == order, verdict
    assert study.recipe() == next((r for r in study.recipes if r.params["order"] == order), None)


def test_the_verdict_of_a_chosen_alpha_says_so_and_how_to_fit_such_a_model():
    options = {"repeats": 1, "folds": 2, "n_jobs": 1}
    study = choose_order(load_demo("monks-1"), Recipe("alr", alpha="cv"), orders=(1, 2), **options).run()
    (note,) = [note for note in study.verdict().notes if note.startswith("alpha was chosen")]
    alphas = study.frame()[lambda frame: frame.order == 2].alpha_chosen
    assert f"{alphas.median():.3g}" in note
    assert "alrviz.ALRClassifier(order=2, alpha='cv') chooses it in the same way" in note
    assert "alrviz." not in for_page(note)
    fixed = choose_order(load_demo("monks-1"), Recipe("alr", alpha=0.1), orders=(0, 1), **options).run()
    assert not any("alpha" in note for note in fixed.verdict().notes)


@pytest.fixture
def planted():
    """Log losses by order and fold, put into a study in place of fits."""

    def make(losses, orders=(0, 1, 2)):
        study = choose_order(load_demo("xor", 100), orders=orders, repeats=1, folds=5, n_jobs=1)
        for place, task in enumerate(study.tasks):
            order = study.about(task.racer)["order"]
            value = losses[order][task.split.fold] if order in losses else None
            row = {"outcome": "converged", "sentence": "", "log_loss": value, "test_rows": 20, "train_rows": 80}
            row |= {"parameters": 10.0 ** (order + 1), "train_seconds": 1.0}
            study._results[place] = Result([row])
            if value is None:
                study._results[place] = Result([{"outcome": "failed", "sentence": "too large"}], b"", "failed")
        return study

    return make


def test_one_standard_error_rule_by_hand(planted):
    one, two = np.array([0.40, 0.42, 0.38, 0.41, 0.39]), np.array([0.39, 0.42, 0.38, 0.40, 0.39])
    study = planted({0: np.full(5, 0.69), 1: one, 2: two})
    lines = study.summary()
    assert lines.log_loss.tolist() == pytest.approx([0.69, 0.40, 0.396])
    assert lines.wins.tolist()[1:] == [5, 2]
    assert lines.error.isna().all(), "no fit has counted its errors"
    assert lines.gain[2] == pytest.approx(0.004)
    assert lines.gain_se[2] == pytest.approx(corrected_error(one - two, 20, 80))
    assert lines.gain_se[2] == pytest.approx(0.00367, abs=1e-5)
    assert study.verdict().order == 2, "a gain of 0.0040 with an error of 0.0037"
    uneven = planted({0: np.full(5, 0.69), 1: one, 2: one - np.array([0.016, -0.002, 0.0, 0.01, -0.004])})
    assert uneven.summary().gain[2] == pytest.approx(0.004)
    assert uneven.verdict().order == 1, "a gain of 0.0040 with an error of 0.0058"
    assert uneven.verdict().best == 2


def test_sentence_names_gain_folds_and_cost(planted):
    study = planted({0: np.full(5, 0.69), 1: np.full(5, 0.40) + 0.01 * np.arange(5), 2: np.full(5, 0.60)})
    verdict = study.verdict()
    assert "(n = 1) are best: test log loss 0.420, class shares 0.690" in verdict.headline
    assert "0.270 ± 0.011" in verdict.detail
    assert "5 of 5 folds" in verdict.detail
    assert "10 times the parameters" in verdict.detail
    assert "n = 2 is no better" in verdict.detail
    flat = planted({0: np.full(5, 0.5), 1: np.full(5, 0.5) + 0.01 * np.arange(5), 2: np.full(5, 0.6)})
    assert flat.verdict().order == 0
    assert "No column helps" in flat.verdict().headline
    assert "0.500" in flat.verdict().headline
    assert "n = 1 is no better. n = 2 is no better." in flat.verdict().detail


def test_the_sentence_names_the_best_where_the_order_below_is_lower_in_the_mean(planted):
    best = 0.30 + 0.01 * np.arange(5)
    sure, unsure = best + 0.02, best + 0.025 + 0.15 * np.array([-1, 0, 0, 0, 1])
    study = planted({0: np.full(5, 0.69), 1: sure, 2: unsure, 3: best}, orders=(0, 1, 2, 3))
    assert (study.verdict().order, study.verdict().best) == (2, 3)
    assert "(n = 2) are enough: test log loss 0.345, triples 0.320" in study.verdict().headline
    assert f"0.{1000 * study.summary().se[2]:03.0f}" in study.verdict().detail


def test_an_order_above_that_is_lower_by_chance_is_not_said_to_be_no_lower(planted):
    one = np.full(5, 0.40) + 0.01 * np.arange(5)
    study = planted({0: np.full(5, 0.69), 1: one, 2: one + 0.02 * np.array([-1, 0.8, -1, 0.8, 0])})
    assert (study.verdict().order, study.verdict().best) == (1, 2)
    assert "n = 2 is lower, 0.418, but not clearly" in study.verdict().detail


def test_an_order_that_cannot_be_fitted_is_named_and_the_others_decide(planted):
    study = planted({0: np.full(5, 0.69), 1: np.full(5, 0.40)})
    assert study.verdict().order == 1
    assert study.verdict().detail.endswith("n = 2 could not be fitted: too large.")
    assert study.failed_orders() == {2: "too large"}


def test_an_order_that_has_not_begun_is_waited_for(planted):
    study = planted({0: np.full(5, 0.69), 1: np.full(5, 0.40), 2: np.full(5, 0.39)})
    for place, task in enumerate(study.tasks):
        if study.about(task.racer)["order"] == 2 and task.split.fold > 1:
            del study._results[place]
    assert study.summary().folds.tolist() == [2, 2, 2]
    for place, task in enumerate(study.tasks):
        if study.about(task.racer)["order"] == 2:
            study._results.pop(place, None)
    study._cached_frame = (None, None)
    assert study.verdict().order is None
    assert "Not enough folds" in study.verdict().headline


def test_no_verdict_before_two_folds():
    study = choose_order(load_demo("xor", 100), n_jobs=1)
    assert study.verdict().order is None
    assert "Not enough folds" in study.verdict().headline
    assert study.recipe() is None
    assert isinstance(study.summary(), pd.DataFrame)


def test_recipe_without_order_raises():
    with pytest.raises(RecipeError, match="tan has no order"):
        choose_order(load_demo("xor", 100), Recipe("tan"))
    with pytest.raises(RecipeError, match=r"orders=\[1, 'x'\]"):
        choose_order(load_demo("xor", 100), orders=(1, "x"))
    with pytest.raises(RecipeError, match=r"orders=\[-1\]"):
        choose_order(load_demo("xor", 100), orders=[-1])
    assert [r.params["order"] for r in choose_order(load_demo("xor", 100), orders=(0, 1, 9)).recipes] == [1]
    with pytest.raises(RecipeError, match=r"orders=\[9\] does not fit: .* the highest order here is [2-8]"):
        choose_order(load_demo("xor", 100), orders=(9,))


def test_the_example_of_the_docs_runs(capsys):
    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/studies.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(source, "studies.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.startswith("Pairs (n = 2) are best: test log loss")


def test_a_gain_that_is_not_sure_or_not_worth_its_parameters_is_not_clear(planted):
    one = np.full(5, 0.193)
    two = one - np.array([0.0052, 0.0042, 0.0032, -0.0008, -0.0013])
    told = planted({0: np.full(5, 0.5), 1: one, 2: two}).verdict()
    assert (told.order, told.clear) == (2, False)
    assert "No clear gain from pairs (n = 2): test log loss 0.191, columns alone 0.193" in told.headline
    assert "by 0.0021 ± " in told.detail
    assert "in 3 of 5 folds" in told.detail
    small = planted({0: np.full(5, 0.5), 1: one, 2: one - 0.001}).verdict()
    assert (small.order, small.clear) == (2, False), "sure, but a hundredth of the loss for ten times the parameters"
    assert planted({0: np.full(5, 0.5), 1: one, 2: one - 0.02}).verdict().clear


def product_of_signs(rows=1000):
    """Two numbers, and the sign of their product: neither tells anything alone."""
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, rows))
    return read_table(pd.DataFrame({"a": a, "b": b, "class": np.where(a * b > 0, "plus", "minus")}), target="class")


def test_the_verdict_names_the_cuts_it_stands_on_and_boosting_that_is_ahead():
    dataset = product_of_signs()
    asked = {"orders": (0, 1, 2), "repeats": 1, "folds": 3, "references": True, "n_jobs": 1}
    study = choose_order(dataset, Recipe("lr", alpha=1.0), **asked).run()
    blind = study.verdict()
    assert blind.order == 0
    lost, ahead = blind.notes
    assert lost.startswith("MDL finds no cut in 2 of 2 numeric columns (a, b)")
    assert "try quantiles" in lost
    rival, boosted = (loss_text(folds.log_loss.mean()) for folds in (study.automatic_folds(), study.boosting_folds()))
    assert f"is better than Auto too: {boosted} against {rival}, by" in ahead, "of those it is the best"
    seeing = Recipe("lr", alpha=1.0, discretize="quantile")
    found = choose_order(dataset, seeing, **asked | {"references": False}).run().verdict()
    assert found.order == 2
    assert found.clear
    assert found.notes[0] == "cuts of numeric columns: 10 quantiles"
    assert "accuracy +" in found.detail


@pytest.mark.parametrize(("kept", "middle"), [((1.0, 300.0), 300), ((300.0, 301.0), 300), ((1.0, 1.0, 9.0), 1.0)])
def test_folds_that_keep_different_numbers_of_tuples_agree_on_one_of_them(kept, middle):
    folds = pd.DataFrame(
        {"order_chosen": 2, "keep_chosen": kept, "discretize_chosen": "mdl", "alpha_1": 0.1, "alpha_2": 1.0}
    )
    assert automatic_recipe(folds).params["keep"] == middle
    assert automatic_recipe(folds).discretize == "mdl"


@pytest.fixture(scope="module")
def referenced():
    """Orders 1 and 2 on monks-1, beside AutoClassifier and gradient boosting."""
    asked = {"orders": (1, 2), "repeats": 1, "folds": 3, "references": True, "n_jobs": 1}
    return choose_order(load_demo("monks-1"), Recipe("lr", alpha=1.0), **asked).run()


def test_the_verdict_names_what_autoclassifier_takes_and_gives_its_recipe_where_it_is_better(referenced):
    study = referenced
    verdict, folds = study.verdict(), study.automatic_folds()
    times = folds.order_chosen.tolist().count(2)
    assert times >= 2
    assert f"Auto chose columns and pairs (n = 1 to 2) in {times} of 3 folds: 0.0" in verdict.detail
    assert "lower than the best single order by 0." in verdict.detail
    assert verdict.automatic.replace(alpha="auto", order="auto", keep=1.0, discretize="auto") == AUTOMATIC
    assert verdict.automatic.params["alpha"] == (
        pytest.approx(folds.alpha_1.median(), rel=5e-3), pytest.approx(folds.alpha_2.median(), rel=5e-3)
    )  # fmt: skip
    assert automatic_summary(study)["log_loss"] == pytest.approx(folds.log_loss.mean())
    assert study.recipe().family == "lr"
    assert set(study.reliability().order) == {1, 2}


def test_autoclassifier_fits_a_single_recipe():
    assert alrviz.AutoClassifier().to_recipe() == AUTOMATIC.replace(holdout=0.0)


def test_boosting_is_not_counted_as_an_order(referenced):
    assert referenced.summary().order.tolist() == [1, 2]
    assert len(referenced.boosting_folds()) == 3
    assert set(referenced.reliability().order) == {1, 2}
    without = choose_order(load_demo("monks-1"), Recipe("lr", alpha=1.0), orders=(1, 2), repeats=1, n_jobs=1)
    assert "hgb" not in {recipe.family for recipe in without.recipes}


def test_a_column_that_gives_the_class_away_is_named_by_the_verdict():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = pd.DataFrame({"a": rng.integers(0, 3, 200).astype(str), "told": np.array(["no", "yes"])[y], "class": y})
    study = alrviz.choose_order(alrviz.read_table(table), orders=(0, 1), folds=2, repeats=1, n_jobs=1).run()
    assert study.verdict().notes[0] == study.dataset.leaks_note
    against = alrviz.compare([study.dataset], [alrviz.Recipe("anje", order=1)], folds=2, repeats=1, n_jobs=1).run()
    assert "alone almost tells the class" in leaks_html(against)
