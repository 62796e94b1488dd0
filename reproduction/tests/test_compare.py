"""Verdicts, and tables of ours beside a paper's."""

import numpy as np
import pandas as pd
import pytest

from reproduction.compare import COLUMNS, compared, order_lines
from reproduction.dlr_items import reason
from reproduction.judge import judge_mean


def figures(**values):
    """Rows of one set, "mine", that the paper calls "Theirs": by method the accuracies of its splits."""
    rows = [
        {
            "set": "mine",
            "paper_set": "Theirs",
            "method": method,
            "split": k,
            "accuracy": value,
            "train_ms": 10.0 * value,
        }
        for method, column in values.items()
        for k, value in enumerate(column)
    ]
    return pd.DataFrame(rows)


def table(frame, paper, quantity="accuracy"):
    lines = compared("t", quantity, frame, paper, lambda method, quantity: "printed", lambda *place: "because")
    return lines.set_index("method")


@pytest.mark.parametrize(
    ("paper", "value", "sd", "splits", "verdict"),
    [
        (90.0, 90.05, 0.0, 100, "agrees"),
        (90.0, 90.06, 0.0, 100, "differs"),
        (90.0, 90.24, 1.0, 100, "agrees"),
        (90.0, 89.74, 1.0, 100, "compatible"),
        (90.0, 89.66, 1.0, 100, "differs"),
        (90.0, 91.9, 3.0, 9, "agrees"),
        (90.0, 90.0, 0.0, 1, "undecided"),
    ],
)
def test_two_standard_errors_and_half_a_digit(paper, value, sd, splits, verdict):
    assert judge_mean(paper, value, sd, splits, 0.05) == verdict


def test_a_line_a_method_beside_the_papers_number():
    frame = figures(near=[90.0, 91.0, 92.0], far=[50.0, 50.0, 50.0], alone=[70.0, 80.0, 90.0])
    lines = table(frame, {("Theirs", "near"): 91.5, ("Theirs", "far"): 60.0, ("Others", "alone"): 1.0})
    assert {*lines.columns, "method"} == set(COLUMNS)
    assert lines["verdict"].to_dict() == {"near": "agrees", "far": "differs", "alone": ""}
    assert lines["ours"].to_dict() == {"near": 91.0, "far": 50.0, "alone": 80.0}
    assert lines.loc["near", "sd"] == pytest.approx(1.0)
    assert lines["reason"].to_dict() == {"near": "", "far": "because", "alone": ""}
    assert lines["source"].to_dict() == {"near": "printed", "far": "printed", "alone": ""}
    assert (lines["splits"] == 3).all()


def test_of_times_one_disturbance_moves_neither_the_middle_nor_the_spread():
    calm, disturbed = (
        table(figures(slow=[1.0, 2.0, 3.0, 4.0, last]), {("Theirs", "slow"): 90.0}, "train_ms") for last in (5.0, 900.0)
    )
    assert disturbed.loc["slow", "ours"] == 30.0
    assert disturbed.loc["slow", "sd"] == calm.loc["slow", "sd"] == pytest.approx(20.0 / 1.349)
    assert disturbed.loc["slow", "verdict"] == "not comparable", "another machine"


@pytest.mark.parametrize(("order", "verdict"), [(1, "agrees"), (-1, "differs"), (0, "compatible")])
def test_of_times_the_order_of_methods_is_compared_set_by_set(order, verdict):
    names = "abcdef"
    seconds = {1: [1, 2, 3, 4, 5, 6], -1: [6, 5, 4, 3, 2, 1], 0: [3, 5, 1, 6, 2, 4]}[order]
    frame = figures(**{name: [float(value)] * 3 for name, value in zip(names, seconds, strict=True)})
    paper = {("Theirs", name): 100.0 * k for k, name in enumerate(names)}
    table = compared("t", "train_ms", frame, paper, lambda method, quantity: "printed", lambda *place: "because")
    (line,) = order_lines(table).to_dict("records")
    assert (line["method"], line["verdict"]) == ("order of 6 methods", verdict)


def test_a_set_that_is_missing_has_the_papers_numbers_and_directions():
    frame = pd.DataFrame([{"set": "mine", "paper_set": "Theirs", "missing": "get it from there"}])
    lines = table(frame, {("Theirs", "near"): 91.5, ("Others", "near"): 1.0})
    assert lines[["paper", "verdict", "reason"]].values.tolist() == [[91.5, "not run", "get it from there"]]


def test_a_method_that_never_ended_says_why():
    frame = pd.DataFrame([{"set": "mine", "paper_set": "Theirs", "method": "near", "failed": "ValueError: planted"}])
    lines = table(frame, {("Theirs", "near"): 91.5})
    assert np.isnan(lines.loc["near", "ours"])
    assert lines[["verdict", "reason"]].values.tolist() == [["undecided", "ValueError: planted"]]


def test_reasons():
    assert "another machine" in reason("train_ms", "pima", "svm-rbf")
    assert reason("no such quantity", "pima", "lr") == ""
