"""Columns of text: which expressions are asked of all levels, and which the first answers for all."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from alrviz.data.parse_values import DATE_FORMS, MARKS, QUANTITY_PATTERN, TIME_FORMS, number_pattern
from alrviz.data.text import NUMBERLIKE, all_match

PATTERNS = [*DATE_FORMS.values(), *TIME_FORMS.values(), QUANTITY_PATTERN, NUMBERLIKE, number_pattern(".", " ")]
TEXTS = [
    "2024-01-31", "31/1/2024", "3 May 2024", "13:45", "$ 1,200", "1\u202f000", "1\u00a0000.5", "1\u20190", "-4e3", "",
    "x", "٣", "1\n", "\u2212 3 kg", "Mär 1, 2024",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_first_level_check_agrees_with_arrow(pattern):
    assert MARKS in NUMBERLIKE
    for text in TEXTS:
        told = pc.match_substring_regex(pa.array([text]), pattern)[0].as_py()
        assert all_match(pa.array([text]), pattern) == told, text
        assert all_match(pa.array([text, "x"]), pattern) == (told and all_match(pa.array(["x"]), pattern))


def test_arrow_is_not_called_if_the_first_level_fails(monkeypatch):
    monkeypatch.setattr(pc, "match_substring_regex", None)
    assert not any(all_match(pa.array(["abc", "2024-01-31"]), pattern) for pattern in PATTERNS)
