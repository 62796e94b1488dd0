"""Items of chosen tuples: real racers, means over shares, sets that are not held, verdicts that fail either way."""

import pandas as pd
import pytest

from reproduction.items import ITEMS, STUDIES
from reproduction.racers import GROWN_SHARES, RACERS, SHARES, selection_name
from reproduction.selected_items import SELECTED, along_shares
from reproduction.sets import COVERTYPE
from reproduction.settings import Settings


def figures(sets, **errors):
    """Rows of salr and hsalr of order 3 and 4 at all shares; by family and score their error, at t = 0.1 more."""
    lines = []
    for name in sets:
        for words, error in errors.items():
            family, score = words.split("_")
            for order in (3, 4):
                for share in GROWN_SHARES if family == "hsalr" else SHARES:
                    fewer = 0.4 if family == "hsalr" else 1.0
                    figure = {"error": error + (0.06 if share == 0.1 else 0.0), "parameters": 1000 * fewer * share}
                    lines.append({"set": name, "method": selection_name(family, order, score, share), **figure})
    return pd.DataFrame(lines)


SIX = tuple(f"set {k}" for k in range(6))


def verdicts(name, table):
    lines = ITEMS[name].table(table)
    return lines.loc[lines["verdict"] != "", "verdict"].tolist()


@pytest.mark.parametrize(
    ("sets", "errors", "verdict"),
    [
        (SIX, {"salr_mi": 0.3, "salr_cv": 0.2}, "agrees"),
        (SIX, {"salr_mi": 0.2, "salr_cv": 0.3}, "differs"),
        (SIX[:5], {"salr_mi": 0.3, "salr_cv": 0.2}, "undecided"),
        (SIX, {"salr_mi": 0.3}, "not run"),
    ],
)
def test_claim_12_fails_either_way(sets, errors, verdict):
    assert verdicts("c12", figures(sets, **errors)) == [verdict] * 2


@pytest.mark.parametrize(("error", "verdict"), [(0.205, "agrees"), (0.22, "differs")])
def test_claim_13_wants_far_fewer_parameters_and_a_like_error(error, verdict):
    table = figures(SIX, salr_mi=0.2, hsalr_mi=error)
    assert verdicts("c13", table) == ["agrees"] * 6 + [verdict] * 6
    table.loc[table["method"].str.startswith("hsalr"), "parameters"] *= 2
    assert verdicts("c13", table)[:6] == ["differs"] * 6


def test_means_over_shares_are_of_sets_with_all_of_them():
    table = figures(("one", "two"), salr_mi=0.2)
    table = table.drop(table.index[(table["set"] == "two") & (table["method"] == "salr3 mi 0.4")])
    means = along_shares(table).iloc[len(table) :]
    assert means[["set", "method"]].values.tolist() == [
        ["one", "salr3 mi, mean"], ["one", "salr4 mi, mean"], ["two", "salr4 mi, mean"],
    ]  # fmt: skip
    assert means["error"].tolist() == pytest.approx([0.21] * 3)


def test_every_pair_is_of_racers_or_of_their_means():
    names = {*RACERS, *(f"salr{order} {score}, mean" for order in (2, 3, 4) for score in ("mi", "cv"))}
    for item in SELECTED:
        for words in item.table(pd.DataFrame(columns=["set", "method"]))["method"]:
            assert set(words.split(" vs ")) <= {*names, "all", "alr2", "salr2", "hsalr2"}, (item.name, words)


def test_sets_that_are_not_held_have_the_papers_numbers_and_directions():
    rows = [{"set": "susy", "missing": "get it from there"}]
    lines = ITEMS["salr-t2"].table(pd.DataFrame(rows))
    susy = lines[lines["set"] == "SUSY"]
    assert susy["paper"].tolist() == [272, 460, 0.1989, 256, 1287, 0.1985, 108, 919, 0.1988]
    assert set(susy["verdict"]) == {"not run"}
    assert "nan" not in ITEMS["salr-t2"].summarize(lines)
    assert set(susy["reason"]) == {"not held: get it from https://archive.ics.uci.edu/dataset/279"}
    rows = [{"set": "susy", "method": "salr2 mi 0.9", "parameters": 255_000, "train_seconds": 3.0, "error": 0.2}]
    lines = ITEMS["salr-t2"].table(pd.DataFrame(rows))
    assert lines.loc[lines["method"] == "salr2", "ours"].tolist()[:3] == [255.0, 3.0, 0.2]


def test_a_picture_along_shares_is_of_its_set_alone():
    table = figures((COVERTYPE.name, "other"), salr_mi=0.2, hsalr_mi=0.3)
    points = ITEMS["salr-f7"].points(table)
    assert set(points["panel"]) == {f"{COVERTYPE.name}, n = 3", f"{COVERTYPE.name}, n = 4"}
    points_of_set = points[(points["panel"] == f"{COVERTYPE.name}, n = 3") & (points["method"] == "hsalr mi")]
    assert points_of_set[["x", "y"]].values.tolist() == [[share, 0.3] for share in GROWN_SHARES]


def test_a_panel_of_an_order_has_its_own_alr_and_no_line_of_one_point():
    methods = {"alr1 adagrad": 0.4, "alr2 adagrad": 0.3, "salr2 gain 0.6": 0.2}
    table = pd.DataFrame([{"set": "one", "method": name, "error": error} for name, error in methods.items()])
    points = ITEMS["salr-f4"].points(table)
    assert points[["method", "x", "y"]].values.tolist() == [["alr", 0.1, 0.3], ["alr", 0.9, 0.3]]


def test_what_is_missing_is_told_and_nothing_is_computed(tmp_path):
    labels = [label for label, _ in STUDIES["selected"](Settings(tmp_path, quick=True))]
    assert labels == ["car: no data", "tic-tac-toe: no data"]
