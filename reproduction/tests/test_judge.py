"""The rules of verdicts: made-up figures that bring out each verdict of each rule, and what they are made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.judge import (
    AGREES,
    COMPATIBLE,
    DIFFERS,
    UNDECIDED,
    VERDICTS,
    judge_claim,
    judge_like,
    judge_mean,
    judge_order,
    judge_record,
)

COUNT = st.integers(0, 40)
TEN = np.ones(10)


@pytest.mark.parametrize(
    ("rule", "inputs"),
    [
        (judge_record, {AGREES: ((25, 9), (62, 11)), COMPATIBLE: ((21, 17), (47, 25)), DIFFERS: ((9, 25), (62, 11)),
                        UNDECIDED: ((1, 1), (47, 25))}),
        (judge_claim, {AGREES: (23, 10), COMPATIBLE: (22, 12), DIFFERS: (10, 23), UNDECIDED: (12, 22)}),
        (judge_like, {AGREES: (TEN, TEN), COMPATIBLE: (np.r_[TEN[:7], 0.5, 0.5, 2.0], TEN), DIFFERS: (1.2 * TEN, TEN),
                      UNDECIDED: (np.r_[TEN[:5], 2 * TEN[:5]], TEN)}),
        (judge_mean, {AGREES: (90, 90.1, 1, 100, 0.05), COMPATIBLE: (90, 90.3, 1, 100, 0.05),
                      DIFFERS: (90, 90.4, 1, 100, 0.05), UNDECIDED: (90, 90, 0, 1, 0.05)}),
        (judge_order, {AGREES: (np.arange(6), np.arange(6)), COMPATIBLE: (np.arange(6), np.array([0, 3, 1, 2, 5, 4])),
                       DIFFERS: (np.arange(6), -np.arange(6)), UNDECIDED: (np.arange(3), np.arange(3))}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_each_verdict_of_each_rule_can_come_out(rule, inputs):
    results = {verdict: rule(*figures) for verdict, figures in inputs.items()}
    assert {name: result[0] if isinstance(result, tuple) else result for name, result in results.items()} == {
        name: name for name in inputs
    }
    assert set(inputs) < set(VERDICTS)


@given(COUNT, COUNT, COUNT, COUNT)
def test_who_is_called_first_makes_no_difference_to_records(a, b, c, d):
    assert judge_record((a, b), (c, d)) == judge_record((b, a), (d, c))


@given(COUNT, COUNT)
def test_a_claim_and_its_contrary_never_both_stand(wins, losses):
    verdicts = {judge_claim(wins, losses), judge_claim(losses, wins)}
    assert verdicts in ({AGREES, DIFFERS}, {COMPATIBLE, UNDECIDED}, {UNDECIDED})


@given(st.integers(0, 5), st.integers(0, 5))
def test_fewer_than_six_sets_never_decide_a_claim(wins, losses):
    if wins + losses < 6:
        assert judge_claim(wins, losses) == UNDECIDED
