"""Races: the points of a fit, and iterations to a goal that the other racers set."""

import pandas as pd

from alrviz import Recipe, load_demo
from reproduction.derived import race_points, with_gains, zipf_lines
from reproduction.races import Races, fitted_as_printed, race_rows, raced, scaled_rows, to_goals
from reproduction.settings import Settings
from reproduction.tables import demo, planted


def test_a_fit_gives_points_and_in_the_last_its_whole_curve():
    dataset = load_demo("monks-1")
    rows = raced({"set": "monks-1", "method": "lr1"}, dataset, Recipe("lr", order=1, alpha=0.0, holdout=0.0))
    assert rows[0]["seen"] == 0
    assert rows[0]["nll"] == 0.0 or abs(rows[0]["nll"]) < 1e-12, "from zero NLL a row is log C"
    assert [row["seen"] for row in rows] == sorted({row["seen"] for row in rows})
    assert len(rows[-1]["curve"]) == rows[-1]["iterations"] + 1
    assert "curve" not in rows[0]


def goals(name="one", **curves):
    last_rows = [
        {"set": name, "method": m, "iterations": len(curve) - 1, "curve": curve} for m, curve in curves.items()
    ]
    return pd.DataFrame(to_goals(last_rows))


def test_a_goal_is_within_a_thousandth_of_the_lowest_of_the_same_order():
    frame = goals(lr1=[2.0, 1.5, 1.0009, 1.0], alr1=[2.0, 1.0005, 1.0005], lr2=[2.0, 0.5], alr2=[2.0, 0.9])
    by_method = frame.set_index("method")
    assert by_method["to_goal"].to_dict() == {"lr1": 2.0, "alr1": 1.0, "lr2": 1.0, "alr2": 1.0}
    assert by_method["reached"].to_dict() == {"lr1": True, "alr1": True, "lr2": True, "alr2": False}
    assert goals(lr1=[1.0, 1e-3, 9e-5, 1e-9], alr1=[1.0, 5e-5])["to_goal"].tolist() == [2.0, 1.0]
    assert to_goals([]) == []


def test_races_are_kept_and_drawn(tmp_path):
    settings = Settings(tmp_path, keep=tmp_path / "home")
    races = (Races(demo("monks-1"), fitted_as_printed((1,), kinds=("alrj", "from anje")), max_iter=5),)
    steps = list(race_rows(races, settings))
    racers = ["lr1", "alr1", "alrj1", "alr1 from anje"]
    *fits, (last, ends) = steps
    assert [label for label, _ in fits] == [f"monks-1: {name}" for name in racers]
    assert (last, [row["method"] for row in ends]) == ("monks-1: iterations to the goal", racers)
    rows = [row for _, rows in steps for row in rows]
    assert not any(isinstance(cell, list) for row in rows for cell in row.values()), "a table holds all that is told"
    figures = pd.DataFrame(rows)
    assert figures["iterations"].max() <= 5
    assert with_gains(figures)["method"].tolist() == [*racers, "alr1 over lr1"]
    points = race_points(figures)
    assert set(points) == {"panel", "method", "x", "y", "x_name", "y_name"}
    assert points["x"].min() == 1
    assert next(iter(race_rows(races, settings)))[1] == steps[0][1]


def zipf(last_losses):
    """Two tables of each order; lr ends at 0.5 after 8 steps an order, alr at `last_losses` after 2."""
    parts = []
    for order in (1, 2, 3):
        for seed in range(2):
            racers = {f"lr{order}": [1.0] * (8 * order) + [0.5], f"alr{order}": [1.0] * 2 + [last_losses[order - 1]]}
            parts.append(goals(f"skewed n={order}, 10 rows ({seed})", **racers))
    return pd.concat(parts, ignore_index=True)


def test_how_the_gain_goes_with_n_is_told_where_everyone_came_to_the_goal():
    table = zipf_lines(zipf((0.5, 0.5, 0.5)))
    assert table["verdict"].tolist() == ["agrees"] * 3
    assert (table["set"][0], table["ours"][0]) == ("2 tables, n=1; 2, n=2", "0.5")
    short = zipf_lines(zipf((0.5, 0.6, 0.5)))
    assert short["verdict"].tolist() == ["undecided", "undecided", "agrees"]
    assert "lr2 on 2 of 2 and alr2 on 0 of 2" in short["reason"][0]
    assert zipf_lines(zipf((0.5, 0.5, 0.5)).query("~set.str.contains('n=3')"))["verdict"].tolist()[1] == "undecided"
    assert not len(zipf_lines(pd.DataFrame()))


def test_who_is_first_to_the_goal_depends_on_levels_and_penalty(tmp_path):
    settings = Settings(tmp_path, keep=tmp_path / "home")
    tables = planted(1, 1_000), planted(1, 1_000, even=True)
    ((_, zipf_columns), (_, even)) = rows_by_table = list(scaled_rows(tables, settings))
    steps = pd.DataFrame(zipf_columns + even).pivot_table(index="group", columns="method", values="to_goal")
    gain = steps["alr1"] / steps["lr1"]
    assert gain["zipf"] < 0.6 < gain["even"]
    assert steps["alr1 penalised"]["zipf"] > steps["lr1 penalised"]["zipf"]
    assert list(scaled_rows(tables, settings)) == rows_by_table


def test_the_rounding_of_a_sum_is_not_drawn():
    start = pd.DataFrame([{"set": "one", "method": "lr1", "seen": 0, "nll": -4e-16}])
    assert str(race_points(start)["y"][0]) == "0.0"
