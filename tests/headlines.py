"""Checks of headlines that tests of studies and pages share."""

import re

from alrviz.studies.statistics.verdict import MAX_HEADLINE_WORDS, Verdict, count_words


def check_headline(verdict: Verdict) -> None:
    """Raise AssertionError unless the headline is one sentence of at most `MAX_HEADLINE_WORDS` words."""
    n_words = count_words(verdict.headline)
    assert n_words, "no headline"
    assert n_words <= MAX_HEADLINE_WORDS, f"{n_words} words: {verdict.headline}"
    assert not re.search(r"[.!?] [A-Z]", verdict.headline), f"more than one sentence: {verdict.headline}"
