"""What is compared of learning curves, of pulls toward a center, and of ELR's errors: by hand."""

import pandas as pd
import pytest

from reproduction import derived
from reproduction.curves import Curves, curve_rows, share_rows, stepwise
from reproduction.elr_trace import elr_rows, extremes
from reproduction.items import ITEMS
from reproduction.racers import PULLED_KINDS, RACERS, STRENGTHS, pull_name
from reproduction.races import to_goals
from reproduction.settings import Settings
from reproduction.tables import demo
from reproduction.tests.folders import MISSING_SET, RING, fill_folder


def test_a_curve_early_last_and_in_the_mean():
    lines = [
        {"set": "s", "theta": theta, "method": "alr1", "seen": rows, "rmse2": cost}
        for theta, costs in (("two-pass", (0.4, 0.2, 0.1)), ("single-pass", (0.5, 0.3, 0.1)))
        for rows, cost in zip((1, 50, 1000), costs, strict=True)
    ]
    costs = derived.along_curves(pd.DataFrame(lines)).set_index("method")
    assert list(costs.index) == ["alr1", "alr1 single-pass"]
    assert costs.loc["alr1", ["first", "early", "last"]].tolist() == [0.4, 0.2, 0.1]
    assert abs(costs.loc["alr1 single-pass", "mean"] - 0.3) < 1e-12
    assert derived.curve_points(pd.DataFrame(lines))["panel"].unique().tolist() == ["s", "s (single-pass)"]
    assert not len(derived.along_curves(pd.DataFrame()))


def test_learners_give_curves_that_fall(tmp_path):
    settings = Settings(tmp_path)
    ((label, rows),) = curve_rows((Curves(demo("led", 400), stepwise(("lr", "anje"), (1,)), repeats=1),), settings)
    assert label == "led, 400 rows, two-pass"
    costs = pd.DataFrame(rows).groupby("method")["rmse2"].agg(["first", "last"])
    assert (costs["last"] < costs["first"]).all()
    steps = list(share_rows(demo("led", 400), {"nb": RACERS["nb"]}, (0.1, 1.0), settings))
    assert [rows[0]["seen"] for _, rows in steps] == [20, 200]
    assert [rows[0]["missing"] for _, rows in share_rows(MISSING_SET, {}, (1.0,), settings)] == [
        MISSING_SET.advice(tmp_path)
    ]


def test_a_curve_is_told_when_all_orders_of_the_rows_are_there(tmp_path):
    settings, learners = Settings(tmp_path, keep=tmp_path / "home"), stepwise(("lr",), (1,))
    ((_, whole),) = curve_rows((Curves(demo("led", 400), learners, repeats=1),), settings)
    only = Settings(tmp_path, keep=tmp_path / "home", kept_only=True)
    ((_, partial_points),) = curve_rows((Curves(demo("led", 400), learners, repeats=2),), only)
    assert len(whole) > 10
    assert whole[-1]["seen"] == 400, "thinned, a curve keeps its last point"
    assert partial_points == []


def test_pulls_have_a_best_and_two_ends():
    rows = [{"set": "s", "method": "anje1 paper", "rmse": 0.5}, {"set": "s", "method": "alr1 paper", "rmse": 0.4}]
    for name in PULLED_KINDS:
        for k, strength in enumerate(STRENGTHS):
            rows.append({"set": "s", "method": pull_name(name, strength), "rmse": 0.4 + 0.1 * abs(k - 3)})
    rmse = derived.along_pulls(pd.DataFrame(rows)).set_index("method")["rmse"]
    assert rmse["alr1 to 1, best"] == 0.4
    assert rmse[["alr1 to 1, weakest", "alr1 to 1, strongest"]].round(6).tolist() == [0.7, 0.7]
    points = derived.pull_points(pd.DataFrame(rows))
    assert len(points) == len(PULLED_KINDS) * len(STRENGTHS) + 2 * 2
    table = ITEMS["c10"].table(pd.DataFrame(rows))
    assert table["verdict"].tolist() == ["undecided", "undecided", "", ""], "of one set nothing is told"


@pytest.mark.parametrize(
    ("rmse_to_one", "verdict", "word"),
    [([1.2] * 5 + [0.8] * 5, "agrees", "is not told from"), ([1.02] * 10, "differs", "is better than"),
     ([1.3] * 10, "agrees", "is worse than")],
)  # fmt: skip
def test_what_is_more_varied_than_another_is_further_from_lr_whichever_way(rmse_to_one, verdict, word):
    """Toward zero a twentieth above lr on every set."""
    rmse_by_method = {"lr1 to 0": [1.0] * 10, "alr1 to 0": [1.05] * 10, "alr1 to 1": rmse_to_one}
    rows = [
        {"set": k, "method": f"{name}, alpha chosen", "rmse": value}
        for name, values in rmse_by_method.items()
        for k, value in enumerate(values)
    ]
    item = ITEMS["wanbia-f6.1"]
    table = item.table(pd.DataFrame(rows))
    (line,) = table[table["quantity"] == derived.DISTANCE].to_dict("records")
    assert line["verdict"] == verdict
    assert f"; with alpha so chosen the pull toward one {word} that toward zero (" in item.summarize(table)


def test_the_recipes_of_pulls():
    params = RACERS["alr1 to 1 alpha 100"].params
    assert (params["alpha"], params["center"], params["penalty"], params["unseen"]) == (100.0, 1, "w", "m-estimate")


def test_elr_has_an_error_of_both_kinds_of_rows(tmp_path):
    ((_, rows),) = elr_rows((RING,), Settings(fill_folder(tmp_path)), max_iter=5)
    figures = pd.DataFrame(rows)
    assert set(figures["method"]) == {"training", "held out"}
    errors = extremes(figures).set_index("method")["error"]
    assert errors["held out, lowest"] <= min(errors["held out, end"], errors["held out, tuned"])
    assert errors["training, start"] >= 0


def test_growth_of_dlr_alone_is_a_claim():
    rows = [{"method": name, "rows": n, "train_s": n / 100} for name in ("dlr", "lr") for n in (10, 100, 1000)]
    table = derived.growth_lines("c17", pd.DataFrame(rows))
    assert table[["method", "ours", "verdict"]].to_numpy().tolist() == [["dlr", "1", "agrees"]]


def test_gains_are_told_apart_by_order():
    rows = [
        {"set": "s", "method": f"{family}{n}", "iterations": 100, "curve": [2.0] * (100 // n**power) + [1.0]}
        for n in (1, 2, 3)
        for family, power in (("lr", 0), ("alr", 1))
    ]
    figures = pd.DataFrame(to_goals(rows))
    goals = derived.with_gains(figures).set_index("method")["to_goal"]
    gains = goals[[f"alr{n} over lr{n}" for n in (1, 2, 3)]]
    assert gains.round(2).tolist() == [1.0, 0.5, 0.33]
    table = ITEMS["alr-f20"].table(figures)
    assert table["ours"].str.startswith("1/0/0").all()
    assert table["verdict"].tolist() == ["undecided"] * 2, "of one set nothing is told"
