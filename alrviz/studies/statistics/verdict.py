"""A result in words: one sentence that says what was found, and the numbers it rests on.

Everywhere a result is told (pages, notebooks, reports, the read-only page of a run, spoken status) the headline comes
first and alone; the detail follows in small type. The limit keeps a headline readable at a glance from a lecture hall's
last row.
"""

from dataclasses import dataclass

MAX_HEADLINE_WORDS = 15


@dataclass(frozen=True, slots=True)
class Verdict:
    """A headline, one plain sentence of at most `MAX_HEADLINE_WORDS` words, and a detail: further sentences or "".

    >>> print(Verdict("alr and lr are about equally fast.", "Within 0.1 %: lr 60 iterations, alr 63."))
    alr and lr are about equally fast. Within 0.1 %: lr 60 iterations, alr 63.
    """

    headline: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.headline} {self.detail}".strip()


def count_words(text: str) -> int:
    """Return the number of words separated by spaces; a number counts as one word with its "%".

    >>> count_words("0.1 % of n = 2")
    5
    """
    return len(text.replace(" %", "%").split())


def first_headline(*candidates: str) -> str:
    """Return the first candidate that is short enough for a headline, else the last.

    Names of columns, classes and models may have any number of words: offer shorter ways to say the same.

    >>> first_headline("word " * 16, "Two words.")
    'Two words.'
    """
    return next((text for text in candidates if count_words(text) <= MAX_HEADLINE_WORDS), candidates[-1])
