"""The verdicts: what ours says of what a paper printed or said. Each rule can come out each way, by the numbers alone.

    agrees          ours alone, beyond chance, comes out as the paper says
    compatible      ours leans that way, or cannot be told apart from the paper's, and could have been
    differs         beyond chance ours is another
    undecided       too few figures to tell, or they lean the other way by chance
    not run         there are no figures yet
    not comparable  they do not measure the same: seconds of another machine, a sample in the place of a set

Beyond chance is p <= SURE of an exact two-tailed test: of wins and losses over sets the sign test (what a fair coin
gives), of two such records Fisher's (what one and the same coin gives for both). Draws are in neither. That rule is
the same for what the papers say and for what we say. Where fewer than ENOUGH sets are compared each is tested over its
rows instead (`judge_rows`).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from alrviz.passes.aligned_buffers import Floats
from alrviz.studies.statistics.significance import sign_test

AGREES, COMPATIBLE, DIFFERS, UNDECIDED = "agrees", "compatible", "differs", "undecided"
NOT_RUN, NOT_COMPARABLE = "not run", "not comparable"
VERDICTS = (AGREES, COMPATIBLE, DIFFERS, UNDECIDED, NOT_RUN, NOT_COMPARABLE)
SURE = 0.05
ENOUGH = 6  # wins and losses: with fewer the sign test is never beyond chance, whichever way all of them point
LIKE = 1.05  # as much above is still about the same

Record = tuple[int, int]  # wins and losses


def concludes(wins: int, losses: int) -> int:
    """Return 1 for significantly more wins than losses, -1 for significantly fewer, else 0.

    >>> concludes(6, 0), concludes(5, 0), concludes(1, 9)
    (1, 0, -1)
    """
    return 0 if sign_test(wins, losses) > SURE else 1 if wins > losses else -1


def holm(p: ArrayLike) -> Floats:
    """Return the p values of T tests, shape (T,), corrected by Holm for their number.

    Rejecting where a corrected value is at most p rejects any true null hypothesis with probability p at most.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, float)
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    corrected[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return np.minimum(corrected, 1.0)


def same_coin(a: Record, b: Record) -> float:
    """Return Fisher's exact two-tailed p that two records have the same share of wins.

    >>> round(same_coin((21, 13), (62, 11)), 3)
    0.012
    """
    from scipy.stats import fisher_exact

    return float(fisher_exact([a, b]).pvalue)


def judge_record(record: Record, paper: Record) -> str:
    """Return the verdict on a record beside the paper's.

    Where both are beyond chance their sides decide. Else Fisher's test does, if it could: one that no record over as
    many sets as ours would have failed says nothing. A paper's record that is chance is at best compatible.

    >>> judge_record((28, 5), (62, 11)), judge_record((21, 13), (62, 11)), judge_record((14, 9), (47, 25))
    ('agrees', 'differs', 'compatible')
    >>> judge_record((2, 0), (47, 25))
    'undecided'
    """
    side, paper_side = concludes(*record), concludes(*paper)
    if side and paper_side:
        return AGREES if side == paper_side else DIFFERS
    n = sum(record)
    if same_coin(record, paper) <= SURE:
        return DIFFERS
    return COMPATIBLE if min(same_coin((0, n), paper), same_coin((n, 0), paper)) <= SURE else UNDECIDED


def judge_claim(wins: int, losses: int) -> str:
    """Return the verdict on what is said to hold for most sets: on `wins` it does.

    >>> judge_claim(9, 1), judge_claim(6, 3), judge_claim(1, 9), judge_claim(3, 6), judge_claim(5, 0)
    ('agrees', 'compatible', 'differs', 'undecided', 'undecided')
    """
    if side := concludes(wins, losses):
        return AGREES if side > 0 else DIFFERS
    return COMPATIBLE if wins + losses >= ENOUGH and wins > losses else UNDECIDED


def judge_rows(sides: Sequence[int]) -> str:
    """Return the verdict on a claim about so few sets that no sign test could decide: each is tested over its rows.

    sides: of each set 1 where the claim holds there beyond chance, -1 where its opposite does, else 0 (`row_side`).

    >>> judge_rows([1, 1]), judge_rows([1, 0]), judge_rows([-1, 0]), judge_rows([1, -1]), judge_rows([0])
    ('agrees', 'compatible', 'differs', 'undecided', 'undecided')
    """
    if not any(sides) or min(sides) < 0 < max(sides):
        return UNDECIDED
    return DIFFERS if min(sides) < 0 else AGREES if min(sides) > 0 else COMPATIBLE


def row_side(a: float, b: float, rows: float, sets: int) -> int:
    """Return 1 if a mean loss `a` is below `b` beyond chance, -1 if above, else 0; each over so many rows.

    A row's loss is within 0 .. 1, so that its variance is at most mean (1 - mean), which a 0-1 loss has. The two are
    taken as independent; on the same rows their difference varies less. SURE is divided by the number of `sets`.

    >>> row_side(0.374, 0.5, 100_000, 1), row_side(0.374, 0.5, 30, 1), row_side(0.5, 0.374, 1_000, 5)
    (1, 0, -1)
    """
    from scipy.stats import norm

    error = np.sqrt((a * (1 - a) + b * (1 - b)) / rows)
    return 0 if abs(a - b) <= norm.isf(SURE / sets / 2) * error else 1 if a < b else -1


def judge_like(a: Floats, b: Floats, draw: float = 0.0) -> str:
    """Return the verdict on two methods (D,) said to be about the same on D sets, within LIKE of each other.

    A set on which each is at most LIKE times the other, or as much as `draw` above, is a win of the claim, any other a
    loss (`judge_claim`). Counting the sets above and those below apart would let a half of each side pass.

    >>> ten = np.ones(10)
    >>> judge_like(ten, 1.01 * ten), judge_like(ten, 1.2 * ten), judge_like(ten[:5], ten[:5])
    ('agrees', 'differs', 'undecided')
    >>> some = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.3, 1.3, 0.7])
    >>> judge_like(some, ten[:9]), judge_like(some[3:], ten[3:9])
    ('compatible', 'undecided')
    >>> either_way = np.repeat([1.0, 1.3, 0.7], [20, 10, 10])  # near on half of the sets alone
    >>> judge_like(either_way, np.ones(40)), judge_like(either_way[20:], np.ones(20))
    ('undecided', 'differs')
    """
    near = alike(a, b, draw)
    return judge_claim(near, len(a) - near)


def alike(a: Floats, b: Floats, draw: float = 0.0) -> int:
    """Return on how many sets two methods (D,) are within LIKE of each other, or as much as `draw` apart."""
    return int(((np.maximum(a, b) <= LIKE * np.minimum(a, b)) | (np.abs(a - b) <= draw)).sum())


def judge_mean(paper: float, mean: float, sd: float, splits: int, half_digit: float) -> str:
    """Return the verdict on a printed mean: ours is the mean of `splits` figures with standard deviation `sd`.

    It agrees within two standard errors of ours and the half of the last printed digit, is compatible within two of
    the difference of such means (the paper's has an error too), and undecided without a spread.

    >>> [judge_mean(96.5, ours, 1.5, 100, 0.05) for ours in (96.7, 96.9, 97.1)]
    ['agrees', 'compatible', 'differs']
    """
    if splits < 2:
        return UNDECIDED
    error, distance = 2.0 * sd / np.sqrt(splits), abs(mean - paper) - half_digit
    return AGREES if distance <= error else COMPATIBLE if distance <= np.sqrt(2.0) * error else DIFFERS


def judge_order(figures: Floats, paper: Floats) -> tuple[str, float, float]:
    """Return the verdict on the order of methods (K,) by a figure of each, Kendall's tau and its exact p.

    >>> judge_order(np.arange(6.0), 100 * np.arange(6.0))[0], judge_order(-np.arange(6.0), np.arange(6.0))[0]
    ('agrees', 'differs')
    """
    from scipy.stats import kendalltau

    if len(figures) < 2:
        return UNDECIDED, float("nan"), 1.0
    tau, p = map(float, kendalltau(figures, paper))
    if p <= SURE:
        return (AGREES if tau > 0 else DIFFERS), tau, p
    return (COMPATIBLE if len(figures) >= ENOUGH and tau > 0 else UNDECIDED), tau, p
