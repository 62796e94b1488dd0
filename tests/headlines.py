"""Checks of headlines that tests of studies and pages share."""

import re

from alrviz.studies.statistics.verdict import MAX_HEADLINE_WORDS, Verdict


def check_headline(verdict: Verdict) -> None:
    """Raise AssertionError unless the headline is one sentence of at most `MAX_HEADLINE_WORDS` words."""
    words = verdict.headline.split()
    assert words, "no headline"
    assert len(words) <= MAX_HEADLINE_WORDS, f"{len(words)} words: {verdict.headline}"
    assert not re.search(r"[.!?] [A-Z]", verdict.headline), f"more than one sentence: {verdict.headline}"
