"""What an answer may be, and which is right."""

import pytest

from alrviz.explorer.lesson import Answer, Option, Question

OPTIONS = (Option("lr", "LR"), Option("alr", "ALR"), Option("< 2", "about equal"))


def question(kind, **more):
    return Question("q", kind, "Who?", OPTIONS, Answer("first"), **more)


@pytest.mark.parametrize(
    ("kind", "given", "read"),
    [
        ("choice", "alr", "alr"),
        ("number", 3, 3.0),
        ("order", ["alr", "lr", "< 2"], ("alr", "lr", "< 2")),
        ("sketch", [1, 2.5, 3], (1.0, 2.5, 3.0)),
    ],
)
def test_an_answer_is_read(kind, given, read):
    assert question(kind).read(given) == read


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        ("choice", "alrr", "nearest: alr"),
        ("choice", ["alr"], "expected one of lr, alr"),
        ("number", float("nan"), "from 0 to 10"),
        ("number", True, "from 0 to 10"),
        ("number", 11, "from 0 to 10"),
        ("number", "3", "from 0 to 10"),
        ("order", ["alr", "alr", "lr"], "once"),
        ("order", ["alr"], "3 values"),
        ("order", "alr", "3 values"),
        ("sketch", [1, 2, None], "from 0 to 10"),
        ("sketch", {"a": 1, "b": 2, "c": 3}, "3 values"),
    ],
)
def test_what_is_no_answer_is_refused_with_what_was_expected(kind, given, says):
    with pytest.raises(ValueError, match=says):
        question(kind, low=0, high=10).read(given)


@pytest.mark.parametrize(
    ("kind", "said", "was", "right"),
    [
        ("choice", "lr", "lr", True),
        ("choice", "lr", "alr", False),
        ("number", 80.0, 100.0, True),
        ("number", 70.0, 100.0, False),
        ("order", ("lr", "alr"), ("lr", "alr"), True),
        ("order", ("lr", "alr"), ("alr", "lr"), False),
        ("sketch", (1.0, 2.0), (1.1, 2.1), True),
        ("sketch", (1.0, 2.0), (1.1, 4.0), False),
    ],
)
def test_right_is_the_same_word_or_a_number_within_a_quarter(kind, said, was, right):
    assert question(kind).is_right(said, was) == right
