"""Bytes, seconds and counts in words."""

import pytest

from alrviz.pictures import formatting


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (123_456, "123 kB"), (2.5e9, "2.5 GB"), (9.9e14, "990 TB")],
)
def test_bytes_as_people_write_them(size, text):
    assert formatting.bytes_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "—"), (2e-5, "< 0.1 ms"), (4e-4, "0.4 ms"), (0.0123, "12.3 ms"), (2.5, "2.5 s"), (600, "10 min")],
)
def test_seconds_as_people_write_them(seconds, text):
    assert formatting.seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0012, "1.2 ms"), (0.099, "99 ms"), (0.1, "0.1 s"), (12.3, "12 s"), (130.4, "130 s")]
)
def test_seconds_beside_a_point(seconds, text):
    assert formatting.short_seconds(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (89.4, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")]
)
def test_seconds_left_are_coarse(seconds, text):
    assert formatting.duration_text(seconds) == text


def test_counts_are_short_where_nobody_reads_the_digits():
    assert [formatting.count_text(n) for n in (0, 1234, 2 * 10**9)] == ["0", "1,234", "2.00e+09"]
    assert [formatting.short_count(n) for n in (12.0, 123456.0, 2.5e6)] == ["12", "123,456", "2.5 M"]
