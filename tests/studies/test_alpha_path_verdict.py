"""Verdicts on paths: each headline of the list, the names, and the fit that follows a hand."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from alrviz.data.demos import load_demo
from alrviz.errors import AlrvizError, Stopped
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.alpha_path_task import errors_above
from alrviz.studies.protocols.alpha_path import LiveAlphaPath, alpha_path, is_quick
from alrviz.studies.protocols.alpha_path_verdict import best_of, path_names, path_verdict, verdict_on, verdicts_on
from tests.headlines import check_headline

ALPHAS = [100.0, 1.0, 0.01]


def curve(values, errors=(0.01, 0.01, 0.01), measure="log_loss"):
    table = {"racer": 0, "alpha": ALPHAS, measure: values, f"{measure}_above_se": errors}
    return pd.DataFrame(table).iloc[::-1]


@pytest.mark.parametrize(
    ("values", "place", "alpha"),
    [
        ((0.5, 0.4, 0.6), "between", 1.0),
        ((0.41, 0.4, 0.6), "generative", 1.0),
        ((0.4, 0.5, 0.6), "generative", 100.0),
        ((0.6, 0.4, 0.415), "free", 1.0),
        ((0.41, 0.4, 0.41), "unclear", 1.0),
    ],
)
def test_place_of_the_best_alpha(values, place, alpha):
    found = verdict_on(curve(values), "log_loss")
    assert (found.place, found.alpha, found.value) == (place, alpha, min(values))
    assert (found.first, found.last) == (values[0], values[2])
    assert best_of([]) is None


@pytest.mark.parametrize(("error", "place"), [(0.0005, "between"), (0.002, "flat"), (0.008, "flat"), (0.01, "unclear")])
def test_verdict_is_unclear_with_too_few_rows(error, place):
    """Both ends are 0.002 above 0.4; 5 % of that are 0.02, which two standard errors may exceed."""
    found = verdict_on(curve((0.402, 0.4, 0.402), (error,) * 3), "log_loss")
    assert (found.place, found.error) == (place, 2 * error)


class Told:
    """A study that has one path and its references."""

    recipes = (Recipe("alr", center="anje"), Recipe("anje"), Recipe("lr", alpha=0.0), Recipe("alr", alpha=0.0))

    spec, dataset = json.dumps({"holdout": 0.3}), SimpleNamespace(n_rows=176)

    def __init__(self, losses, rmse=(0.2, 0.2, 0.2), error=0.01):
        self.tasks = [type("StudyTask", (), {"racer": 0, "kind": "path"})]
        table = curve(losses, (error,) * 3).assign(
            rmse=rmse[::-1], rmse_above_se=0.001, error=0.3, error_above_se=0.1, order=2
        )
        beside = pd.DataFrame(
            {
                "racer": [1, 2, 3],
                "alpha": [np.nan, 0, 0],
                "order": 2,
                "log_loss": [0.7, 1.0, 1.5],
                "rmse": 0.3,
                "error": 0,
            }
        )
        self.table = pd.concat([table, beside])

    def summary(self):
        return self.table


@pytest.mark.parametrize("measure", ["log_loss", "rmse", "error"])
@pytest.mark.parametrize(
    ("losses", "headline"),
    [
        ((0.5, 0.4, 0.6), "alpha 1 has the lowest test log loss, 0.400; stronger and weaker penalties are worse."),
        ((0.4, 0.5, 0.6), "The strongest penalty has the lowest test log loss, 0.400; the weakest 0.600."),
        ((0.41, 0.4, 0.6), "The strongest penalty is as good as alpha 1: test log loss 0.410."),
        ((0.6, 0.5, 0.4), "The weakest penalty has the lowest test log loss, 0.400; the strongest 0.600."),
        ((0.6, 0.4, 0.41), "The weakest penalty is as good as alpha 1: test log loss 0.410."),
        ((0.41, 0.4, 0.41), "53 test rows are too few to tell which alpha is best."),
    ],
)
def test_the_headlines(losses, headline, measure):
    study = Told(losses)
    verdict = path_verdict(study, measure)
    check_headline(verdict)
    if measure == "log_loss":
        assert verdict.headline == headline
        assert all(f"{loss:.3f} at alpha" in verdict.detail for loss in (losses[0], min(losses), losses[2]))
        assert "AnJE 0.700, without a penalty 1.500" in verdict.detail


def test_no_verdict_before_a_path():
    empty = Told((0.5, 0.4, 0.6))
    empty.table = pd.DataFrame()
    assert path_verdict(empty) is None


@pytest.mark.parametrize("losses", [(0.402, 0.4, 0.402), (0.4, 0.402, 0.402)])
def test_alpha_hardly_matters_only_where_that_is_sure(losses):
    sure, unsure = (path_verdict(Told(losses, error=error)) for error in (0.002, 0.02))
    check_headline(sure)
    assert sure.headline.startswith("alpha hardly matters")
    assert "53 test rows are too few" in unsure.headline
    assert "± 0.040" in unsure.detail


def test_a_dip_of_rmse_is_reported_where_log_loss_has_none():
    told = Told((0.4, 0.5, 0.6), rmse=(0.21, 0.19, 0.25))
    detail = path_verdict(told).detail
    assert detail.endswith("Test RMSE: 0.210 at alpha 100, 0.190 at alpha 1, 0.250 at alpha 0.01.")
    assert path_verdict(told, "rmse").headline.startswith("alpha 1 has the lowest test RMSE, 0.190")
    assert "RMSE" not in path_verdict(Told((0.5, 0.4, 0.6), rmse=(0.21, 0.19, 0.25))).detail


def test_errors_are_those_of_paired_rows():
    random = np.random.default_rng(0)
    costs = [random.random((3, 50)) for _ in range(3)]
    rows = [{"log_loss": c[0].mean(), "error": c[1].mean(), "rmse": c[2].mean() ** 0.5} for c in costs]
    best = int(np.argmin([row["rmse"] for row in rows]))
    for row, cost, found in zip(rows, costs, errors_above(rows, costs), strict=True):
        apart = cost[2] - costs[best][2]
        by_hand = apart.std(ddof=1) / 50**0.5 / (row["rmse"] + rows[best]["rmse"])
        assert found["rmse_above_se"] == pytest.approx(by_hand)
        # To first order that is the error of the difference of roots: jackknife.
        left = [np.delete(part[2], k).mean() ** 0.5 for k in range(50) for part in (cost, costs[best])]
        apart = np.array(left[::2]) - np.array(left[1::2])
        assert found["rmse_above_se"] == pytest.approx(((apart - apart.mean()) ** 2).sum() ** 0.5, rel=0.1, abs=1e-12)


@pytest.fixture(scope="module")
def study():
    recipes = [Recipe("alr", order=1, center="anje", tol=1e-10), Recipe("lr", order=1, tol=1e-10)]
    return alpha_path(load_demo("led", 600), recipes, alphas=ALPHAS, n_jobs=1).run()


def test_names_say_the_center(study):
    assert path_names(study) == ["alr toward AnJE", "lr toward 0"]
    assert [one.racer for one in verdicts_on(study, "rmse")] == [0, 1]
    assert "of 2 paths" in path_verdict(study).detail


def test_live_alpha_fit_equals_the_path(study):
    live = LiveAlphaPath(study.dataset)
    for alpha in (1.0, 100.0, 0.01, 1.0):
        row = live.fit(study.recipes[1], alpha)
        known = study.frame().query("racer == 1 and alpha == @alpha").iloc[0]
        for name in ("log_loss", "rmse", "error", "train_log_loss", "train_rmse", "away_5", "away_95"):
            assert row[name] == pytest.approx(known[name], rel=2e-3, abs=1e-4), name
    other = live.fit(study.recipes[0], 100.0)
    assert other["log_loss"] == pytest.approx(
        study.frame().query("racer == 0 and alpha == 100").log_loss.iloc[0], rel=1e-3
    )


def test_it_starts_at_the_nearest_fit():
    live = LiveAlphaPath(load_demo("led", 600))
    recipe = Recipe("lr", order=2)
    first = live.fit(recipe, 0.01)
    again = live.fit(recipe, 0.0101)
    assert again["n_iter"] < first["n_iter"] / 2


def test_stop_ends_it_and_unfittable_recipes_raise():
    live = LiveAlphaPath(load_demo("led", 300))
    stop = StopToken()
    stop.stop()
    for _ in range(2):  # before the rows are there, and between the steps of a fit
        with pytest.raises(Stopped):
            live.fit(Recipe("lr"), 1.0, stop)
        live.fit(Recipe("lr"), 100.0)
    with pytest.raises(AlrvizError, match="columns"):
        live.fit(Recipe("lr", order=8), 1.0)


def test_large_tables_are_not_quick():
    table = load_demo("led", 3000)
    assert is_quick(table, Recipe("lr", order=2), 0.3)
    assert not is_quick(load_demo("waveform"), Recipe("lr", order=3), 0.3)
