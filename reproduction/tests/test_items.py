"""Items: every one has a study, the paper's numbers where they belong, and a sentence of what we see."""

import pandas as pd
import pytest

from alrviz.errors import RecipeError
from reproduction import dlr_items as paper
from reproduction.dlr_items import best_of, times_of_lr
from reproduction.items import ITEMS, STUDIES, chosen_items
from reproduction.methods import METHODS
from reproduction.pair_items import PAIR_CLAIMS
from reproduction.racers import RACERS, VALIDATED_2
from reproduction.races import SCALED
from reproduction.sets import MIXED_SETS, NUMERIC_SETS
from reproduction.settings import Settings


def rows(**methods):
    """A table's lines of two sets; by method (paper, ours) of the first and of the second."""
    lines = [
        {"set": name, "method": method.replace("_", "-"), "paper": printed_value, "ours": value, "verdict": "differs"}
        for k, name in enumerate(("one", "two"))
        for method, values in methods.items()
        for printed_value, value in [values[k]]
    ]
    return pd.DataFrame(lines)


def test_without_a_name_all_in_order():
    assert [item.name for item in chosen_items()] == list(ITEMS)
    assert [item.name for item in chosen_items(["dlr-t4", "dlr-t1"])] == ["dlr-t1", "dlr-t4"]
    assert set(STUDIES) == {item.study for item in ITEMS.values()}


def test_the_list_is_all_that_the_papers_have():
    """[ALR] tables 2-4, figures 1-4, 6-32, 7.3; [WANBIA-C] II, 1-8; [sALR] 2-3, 2-7, 4; [DLR]; [ELR] 1; claims.

    II and 6 stand there twice: with as many rounds as printed, and with alpha chosen on training rows.
    """
    figures = [1, 2, 3, 4, *range(6, 33)]
    names = [f"alr-t{k}" for k in (2, 3, 4)] + [f"alr-f{k}" for k in figures] + ["alr-7.3", "wanbia-t2", "wanbia-t2.1"]
    names += [f"wanbia-f{k}" for k in (1, 2, 3, 4, 5, 6, 6.1, 7, 8)]
    names += ["salr-t2", "salr-t3", *(f"salr-f{k}" for k in range(2, 8)), "salr-4"] + [f"dlr-t{k}" for k in range(1, 8)]
    names += [f"dlr-f{k}" for k in range(2, 7)] + ["dlr-5", "dlr-5.1", "elr-f1"] + [f"c{k}" for k in range(1, 24)]
    assert list(ITEMS) == names


def test_every_pair_is_of_racers_of_its_study():
    for claim in PAIR_CLAIMS:
        for pair in claim.pairs:
            names = {name + words for words, racers in SCALED.items() for name in racers}
            assert {pair.a, pair.b} <= (names if claim.study == "scaled" else set(RACERS)), (claim.name, pair.words)


@pytest.mark.parametrize("name", list(ITEMS))
def test_an_item_without_any_figure_says_so(name):
    item = ITEMS[name]
    figures = pd.DataFrame([{"set": "mine", "method": "nobody", "missing": "get it from there"}])
    if item.study.startswith("dlr-") and item.picture in ("dots", "log dots"):
        figures = figures.assign(paper_set="nobody's")
    table = item.table(figures)
    assert set(table["verdict"]) <= {"not run", ""}
    assert item.summarize(table)
    empty_table = item.table(pd.DataFrame(columns=["set", "method"]))
    assert set(empty_table["verdict"]) <= {"not run", ""}
    assert item.summarize(empty_table)


def test_what_was_tried_otherwise_stands_beside_the_figure_of_its_method():
    names = {"lr, with C = 1": (93.9, 0.5), "lr, AUC of its classes": (93.9, 0.9923), "dlr, with alpha 1": (90.0, 0.9)}
    names["klr-rbf, a number a level"] = (float("nan"), float("nan"))
    labels = {"set": "wdbc", "paper_set": "Wisconsin breast cancer"}
    rows = [labels | {"method": n, "accuracy": a, "auc": b} for n, (a, b) in names.items() for _ in range(3)]
    table = ITEMS["dlr-5.1"].table(pd.DataFrame(rows))
    reasons = {(row["quantity"], row["method"]): (row["paper"], row["reason"]) for row in table.to_dict("records")}
    assert reasons == {
        ("accuracy", "lr, with C = 1"): (93.9, "would agree"),
        ("accuracy", "dlr, with alpha 1"): (96.5, ""),
        ("auc", "lr, with C = 1"): (0.9923, ""),
        ("auc", "lr, AUC of its classes"): (0.9923, "would agree"),
        ("auc", "dlr, with alpha 1"): (0.996, ""),
    }, "without the accuracy of what has its AUC of its classes, and what has no figures"
    assert (
        ITEMS["dlr-5.1"].summarize(table).startswith("with C = 1: 1 of 2; with alpha 1: 0 of 2; AUC of its classes: 1")
    )


def test_unknown_name_raises():
    with pytest.raises(RecipeError, match=r"no item is called 'dlr-t9'; expected alr-t2, .*did you mean 'dlr-t"):
        chosen_items(["dlr-t9"])


@pytest.mark.parametrize(
    ("name", "set_name", "quantity", "method", "value"),
    [
        ("dlr-t1", "Pima Indians diabetes", "accuracy", "dlr-h", 77.8),
        ("dlr-t1", "Cleveland heart disease", "accuracy", "lr", 84.5),
        ("dlr-t2", "ionosphere", "auc", "dlr", 0.9890),
        ("dlr-t3", "hepatitis", "train_ms", "svm-poly", 93.6),
        ("dlr-t4", "SPECFT heart data", "accuracy", "dlr-h", 87.6),
        ("dlr-t5", "monk problem", "auc", "lr", 0.9968),
        ("dlr-t6", "tic tac", "train_ms", "svm-rbf", 3166.8),
    ],
)
def test_a_number_of_the_paper_stands_in_its_table(name, set_name, quantity, method, value):
    figures = pd.DataFrame([{"set": "mine", "paper_set": set_name, "method": method, "split": 0, quantity: value}])
    second_split = [figures.assign(split=1)] if quantity != "train_ms" else []
    *orders, line = ITEMS[name].table(pd.concat([figures, *second_split])).to_dict("records")
    verdict = "not comparable" if quantity == "train_ms" else "agrees"
    assert (line["paper"], line["verdict"], line["quantity"]) == (value, verdict, quantity)
    assert [order["verdict"] for order in orders] == (["undecided"] if quantity == "train_ms" else [])
    sure = method in ("lr", "dlr-h", "dlr") and quantity != "train_ms"
    assert line["source"] == (paper.SOURCE_PRINTED if sure else paper.SOURCE_RECONSTRUCTED)


def test_every_set_is_one_of_the_papers_and_every_method_of_theirs_is_measured():
    assert {entry.paper for entry in NUMERIC_SETS} == set(paper.NUMERIC)
    assert {entry.paper for entry in MIXED_SETS} == set(paper.MIXED)
    for table in (paper.ACCURACY, paper.AUC, paper.TRAINING_MS):
        assert set(table) <= set(METHODS)
        assert all(len(values) == len(paper.NUMERIC) for values in table.values())
    for table in (paper.ACCURACY_MIXED, paper.AUC_MIXED, paper.TRAINING_MS_MIXED):
        assert set(table) <= set(METHODS)
        assert all(len(values) == len(paper.MIXED) for values in table.values())


def test_who_comes_out_on_top():
    table = rows(lr=[(90, 95), (70, 70)], dlr=[(91, 94), (70, 75)], dlr_h=[(92, 90), (71, 75)])
    assert best_of(table) == (
        "dlr best or level on 1 of 2 sets (paper 0); dlr-h best or level on 1 of 2 sets (paper 2); 6 differ"
    )


def test_times_are_told_in_units_of_lr():
    table = rows(lr=[(10, 1), (20, 2)], dlr=[(40, 2), (20, 16)])
    table["verdict"] = "not comparable"
    assert times_of_lr(table) == "dlr 4 times lr (paper 2)"
    assert times_of_lr(table[:0]) == "no figures"


def test_a_study_tells_what_is_missing_and_goes_on(tmp_path):
    labels = [label for label, _ in STUDIES["dlr-mixed"](Settings(tmp_path))]
    assert labels == [f"{entry.name}: no data" for entry in MIXED_SETS]


def test_quick_has_no_validated_fits_of_order_3_nor_on_large_sets(tmp_path):
    labels = [label for label, _ in STUDIES["validated"](Settings(tmp_path, quick=True))]
    assert labels == ["lung-cancer: no data", "promoters: no data"]
    assert set(VALIDATED_2) == {
        f"{family}2{mode}" for family in ("lr", "alr") for mode in (" paper", "", " paper lbfgs", " cv")
    }


def test_weights_held_back_are_set_beside_the_papers_dlr_without_a_verdict():
    labels = {"set": "hepatitis-whole", "paper_set": "hepatitis", "auc": 0.5}
    figures = pd.DataFrame(
        [
            labels | {"method": f"dlr-alpha-{a}", "split": k, "accuracy": v + k}
            for a, v in ((0, 70), (1, 86))
            for k in (0, 1)
        ]
    )
    table = ITEMS["dlr-5"].table(figures)
    assert set(table["verdict"]) == {""}
    assert table["paper"].tolist() == [86.2, 86.2, 0.858, 0.858]
    assert table["reason"].tolist() == ["", "would agree", "", ""]
    assert ITEMS["dlr-5"].summarize(table) == "hepatitis-whole, dlr-alpha-1: accuracy 86.5"


@pytest.mark.parametrize(("gain", "verdict"), [(0.1, "agrees"), (-0.1, "differs")])
def test_at_a_matched_specificity_tables_decide_whether_dlr_finds_more(gain, verdict):
    labels = {"split": 0, "auc": 0.8, "specificity": 0.95, "ppv": 0.5, "npv": 0.9, "right": 90.0}
    figures = pd.DataFrame(
        [
            labels | {"set": f"s{k}", "paper_set": f"s{k}", "method": method, "sensitivity": value}
            for k in range(8)
            for method, value in (("lr", 0.5), ("svm-rbf", 0.5), ("dlr-h", 0.5 + gain))
        ]
    )
    table = ITEMS["dlr-t7"].table(figures)
    verdicts = table.set_index(["quantity", "method"])["verdict"]
    assert verdicts["sensitivity", "lr vs dlr-h"] == verdicts["sensitivity", "svm-rbf vs dlr-h"] == verdict
    assert verdicts["auc", "lr vs dlr-h"] == "undecided", "equal on all"
    assert (table[table["method"] == "dlr-h"]["verdict"] == "").all(), "figures on one set are not judged"
