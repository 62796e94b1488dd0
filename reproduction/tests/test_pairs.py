"""Pairs: when figures agree with what a paper printed or said of two methods."""

import pandas as pd
import pytest

from reproduction.pairs import Pair, compare_pair, pair_lines, points, summarize_pairs, verdict


def figures(a, b, group="little", measure="error"):
    lines = []
    for name, values in (("a", a), ("b", b)):
        lines += [{"set": f"set {k}", "group": group, "method": name, measure: value} for k, value in enumerate(values)]
    return pd.DataFrame(lines)


LESS_VALUES, MORE_VALUES, SAME_VALUES = ([0.1] * 9, [0.2] * 9), ([0.2] * 9, [0.1] * 9), ([0.1] * 9, [0.1] * 9)
FEW_VALUES = ([0.1, 0.1, 0.3], [0.2, 0.2, 0.2])
FEW_SETS = "a sign test needs 6 sets that are no draws"
MOSTLY_LESS = ([0.1] * 5 + [0.3] * 4, [0.2] * 9)


@pytest.mark.parametrize(
    ("record", "values", "word"),
    [
        ((62, 3, 11), LESS_VALUES, "agrees"),
        ((62, 3, 11), MORE_VALUES, "differs"),
        ((62, 3, 11), MOSTLY_LESS, "compatible"),  # 5/4: by chance, and could be of the same share
        ((62, 3, 11), ([0.1] * 6, [0.2] * 6), "agrees"),  # the fewest that can be beyond chance
        ((62, 3, 11), ([0.1] * 5, [0.2] * 5), "compatible"),
        ((62, 3, 11), ([0.3] * 5, [0.2] * 5), "differs"),
        ((62, 3, 11), ([0.1], [0.2]), "undecided"),  # one set could not have differed
        ((39, 0, 37), MOSTLY_LESS, "compatible"),
        ((39, 0, 37), LESS_VALUES, "differs"),  # there it is chance
        ((37, 0, 39), FEW_VALUES, "undecided"),
        ((4, 0, 4), SAME_VALUES, "undecided"),
        ((62, 3, 11), ([], []), "not run"),
    ],
)
def test_a_printed_count_is_set_against_ours(record, values, word):
    pair = Pair("error", "a", "b", record=record)
    assert verdict(pair, compare_pair(pair, figures(*values))) == word


@pytest.mark.parametrize(
    ("expect", "values", "word"),
    [
        ("less", FEW_VALUES, "undecided"),
        ("less", SAME_VALUES, "undecided"),
        ("less", LESS_VALUES, "agrees"),
        ("less", MORE_VALUES, "differs"),
        ("less", MOSTLY_LESS, "compatible"),
        ("less", MOSTLY_LESS[::-1], "undecided"),
        ("like", MOSTLY_LESS, "differs"),  # beyond a twentieth on all sets, whichever the side
        ("like", FEW_VALUES, "undecided"),
        ("like", LESS_VALUES, "differs"),
        ("like", SAME_VALUES, "agrees"),
        ("like", ([0.1] * 9, [0.102] * 9), "agrees"),
        ("like", ([0.1] * 9, [0.106] * 9), "differs"),
    ],
)
def test_words_are_decided_by_what_chance_gives(expect, values, word):
    pair = Pair("error", "a", "b", expect)
    assert verdict(pair, compare_pair(pair, figures(*values))) == word


@pytest.mark.parametrize(
    ("factor", "values", "word"),
    [
        (0.4, LESS_VALUES, "differs"),  # less, but not so much less
        (1.05, ([0.104] * 9, [0.1] * 9), "agrees"),  # more, but not by a twentieth
        (1.05, ([0.106] * 9, [0.1] * 9), "differs"),
        (1.0, ([], []), "not run"),
    ],
)
def test_a_claim_may_want_a_part_or_allow_a_little(factor, values, word):
    pair = Pair("error", "a", "b", factor=factor)
    assert verdict(pair, compare_pair(pair, figures(*values))) == word


def test_a_set_counts_where_both_were_measured_and_of_its_group():
    table = figures([0.1, float("nan"), 0.3], [0.2, 0.2, 0.3])
    comparison = compare_pair(Pair("error", "a", "b"), table)
    assert (comparison.sets, str(comparison.wins)) == (["set 0", "set 2"], "1/1/0")
    assert compare_pair(Pair("error", "a", "b", group="big"), table).sets == []
    assert compare_pair(Pair("rmse", "a", "b"), table).sets == []
    assert (
        verdict(Pair("error", "a", "b", group="big"), compare_pair(Pair("error", "a", "b", group="big"), table))
        == "not run"
    )


def test_lines_tell_the_papers_count_ours_and_a_printed_p_that_is_wrong():
    pairs = [
        Pair("error", "a", "b", record=(24, 0, 52), wrong="the printed p is .035, the exact one .0018"),
        Pair("error", "a", "b", unjudged=True),
        Pair("rmse", "a", "b"),
    ]
    table = pair_lines("mine", pairs, figures(*FEW_VALUES))
    assert table["paper"].tolist() == ["24/0/52, p .002", "", "first is less"]
    assert table["ours"].tolist()[0] == "2/0/1, p 1, mean ratio 0.721"
    assert table["verdict"].tolist() == ["compatible", "", "not run"]
    assert table["reason"].tolist()[::2] == [
        "the printed p is .035, the exact one .0018",
        "not computed yet: no set has every fit of both",
    ]
    assert table["sets"].tolist() == [3, 3, 0]
    assert summarize_pairs(table) == "error of a vs b (all sets) 2/0/1, p 1, mean ratio 0.721; 1 compatible, 1 not run"


def test_a_pair_that_differs_tells_how_it_stands_on_larger_sets():
    table = figures([0.3, 0.3, 0.3, 0.1], [0.2, 0.2, 0.2, 0.2])
    table = table.rename(columns={"error": "log_loss"}).assign(rows=[100, 100, 100, 5000] * 2)
    (reason,) = pair_lines("mine", [Pair("log_loss", "a", "b")], table)["reason"]
    assert reason == f"{FEW_SETS}; 1/0/0 on the 1 of them with 400 rows or more"
    (reason,) = pair_lines("mine", [Pair("log_loss", "a", "b")], table.assign(rows=100))["reason"]
    assert reason == FEW_SETS


@pytest.mark.parametrize(
    ("pair", "a", "b", "word", "held", "opposed"),
    [
        (Pair("error", "a", "b"), [0.374, 0.1], [0.5, 0.2], "agrees", 2, 0),
        (Pair("error", "a", "b"), [0.374, 0.2], [0.5, 0.2], "compatible", 1, 0),
        (Pair("error", "a", "b"), [0.374, 0.3], [0.5, 0.2], "undecided", 1, 1),
        (Pair("error", "a", "b"), [0.2, 0.3], [0.2, 0.2], "differs", 0, 1),
        (Pair("error", "a", "b", factor=0.5), [0.1, 0.1], [0.3, 0.15], "undecided", 1, 1),
        (Pair("rmse", "a", "b"), [0.3], [0.33], "agrees", 1, 0),
        (Pair("rmse", "a", "b"), [0.3], [0.305], "undecided", 0, 0),  # .009 and .003 of a squared loss near .09
        (Pair("error", "a", "b", "like"), [0.4], [0.4], "agrees", 1, 0),
        (Pair("error", "a", "b", "like"), [0.4], [0.3], "differs", 0, 1),
        (Pair("error", "a", "b", "like"), [0.002], [0.002], "undecided", 0, 0),  # 20 errors are too few to tell
    ],
)
def test_few_sets_are_judged_over_their_rows(pair, a, b, word, held, opposed):
    table = figures(a, b).rename(columns={"error": pair.measure}).assign(rows=10_000)
    (line,) = pair_lines("mine", [pair], table).to_dict("records")
    assert line["verdict"] == word
    assert f"holds on {held}, its opposite on {opposed} of {len(a)}" in line["ours"]
    few_rows = pair_lines("mine", [pair], table.assign(rows=5))
    assert few_rows["verdict"].tolist() == ["undecided"]


def test_seconds_that_differ_tell_how_many_they_are():
    table = figures([0.3, 0.3], [0.2, 0.1]).rename(columns={"error": "train_seconds"})
    (reason,) = pair_lines("mine", [Pair("train_seconds", "a", "b")], table)["reason"]
    assert reason == f"{FEW_SETS}; on set 0 and set 1 alone; medians 0.3 and 0.15 s, beside other work"


def test_a_pair_that_differs_tells_how_its_ratio_goes_with_the_rows():
    table = figures([0.3, 0.3, 0.29, 0.25, 0.21, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2, 0.0])
    table["rows"] = [100, 200, 300, 400, 500, 600] * 2
    (reason,) = pair_lines("mine", [Pair("error", "a", "b")], table)["reason"]
    assert reason == (
        f"{FEW_SETS}; 0/1/2 on the 3 of them with 400 rows or more; half have under 350 rows, rank correlation of "
        "rows and ratio -0.99"
    )


def test_points_of_a_scatter_are_the_second_across_and_the_first_up():
    spots = points([Pair("error", "a", "b"), Pair("rmse", "a", "b")], figures([0.1], [0.2]))
    (point,) = spots.to_dict("records")
    assert (point["x"], point["y"], point["x_name"], point["y_name"]) == (0.2, 0.1, "b", "a")


def test_without_a_verdict_a_pair_of_big_sets_tells_how_many_there_are_and_what_was_too_much_work():
    table = figures(*FEW_VALUES).assign(group="big")
    skipped = pd.DataFrame([{"set": "huge", "group": "big", "method": m, "left_out": "too much work"} for m in "ac"])
    pairs = [Pair("error", "a", b, record=(4, 0, 4), group="big") for b in "bc"]
    lines = pair_lines("mine", pairs, pd.concat([table, skipped], ignore_index=True))
    assert lines["reason"].tolist() == [
        f"{FEW_SETS}, there are 5 big ones, too much work on 1; one share of wins would give both with p 1",
        "there are 5 big ones, too much work on 1",
    ]
    (reason,) = pair_lines("mine", pairs[1:], table)["reason"]
    assert reason == "there are 5 big ones, not computed yet: no set has every fit of both"
