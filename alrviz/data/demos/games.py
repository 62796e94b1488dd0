"""Demo sets defined by rules: tic-tac-toe, balance-scale, the three monks, poker-hand.

All but poker-hand are complete, with every case once. Poker hands are five random cards of 52.
"""

from itertools import product

import numpy as np
import pandas as pd

_SQUARES = [f"{row}_{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]
_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
_MONKS_LEVELS = (3, 3, 2, 3, 4, 2)
HANDS = (
    *("nothing", "one pair", "two pairs", "three of a kind", "straight", "flush"),
    *("full house", "four of a kind", "straight flush", "royal flush"),
)


def tic_tac_toe() -> pd.DataFrame:
    """Return every board at which a game can end (x begins); the class is whether x has won."""
    x_won_by_board: dict[str, bool] = {}
    visited: set[str] = set()

    def play(board: str, player: str) -> None:
        if board in visited:
            return
        visited.add(board)
        won = next((board[a] for a, b, c in _LINES if board[a] != "b" and board[a] == board[b] == board[c]), None)
        if won or "b" not in board:
            x_won_by_board[board] = won == "x"
            return
        for square in range(9):
            if board[square] == "b":
                play(board[:square] + player + board[square + 1 :], "o" if player == "x" else "x")

    play("b" * 9, "x")
    boards = sorted(x_won_by_board, reverse=True)
    frame = pd.DataFrame([list(board) for board in boards], columns=_SQUARES, dtype=object)
    return frame.assign(**{"class": ["positive" if x_won_by_board[board] else "negative" for board in boards]})


def balance_scale() -> pd.DataFrame:
    """Return every pair of weights and distances 1 to 5, and the side that goes down: L, R, or B for balance."""
    names = ["left_weight", "left_distance", "right_weight", "right_distance"]
    frame = pd.DataFrame(list(product(range(1, 6), repeat=4)), columns=names)
    torque = frame.left_weight * frame.left_distance - frame.right_weight * frame.right_distance
    return frame.assign(**{"class": np.array(["B", "L", "R"], dtype=object)[np.sign(torque)]})


def monks(problem: int) -> pd.DataFrame:
    """Return all 432 robots, and whether they are monks by the rule of problem 1, 2 or 3 (3 without its noise)."""
    robots = np.array(list(product(*(range(1, count + 1) for count in _MONKS_LEVELS))))
    a1, a2, _, a4, a5, _ = robots.T
    if problem == 1:
        monk = (a1 == a2) | (a5 == 1)
    elif problem == 2:
        monk = (robots == 1).sum(axis=1) == 2
    else:
        monk = ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3))
    frame = pd.DataFrame(robots.astype(str).astype(object), columns=[f"a{j}" for j in range(1, 7)])
    return frame.assign(**{"class": monk.astype(int).astype(str).astype(object)})


def poker_hand(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return hands of five cards, suit and rank (1 = ace, 11 to 13 = jack, queen, king), and what they are worth."""
    cards = deal(rows, rng)
    suits, ranks = cards // 13, cards % 13 + 1
    frame = pd.DataFrame(index=range(rows))
    for card in range(5):
        frame[f"suit_{card + 1}"] = np.array(list("CDHS"), dtype=object)[suits[:, card]]
        frame[f"rank_{card + 1}"] = ranks[:, card]
    return frame.assign(**{"class": np.array(HANDS, dtype=object)[worth(suits, ranks)]})


def deal(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return hands (rows, 5) of different cards 0 .. 51; every order of every hand is equally likely."""
    cards = np.empty((rows, 5), dtype=np.int64)
    for n_drawn in range(5):
        card = rng.integers(0, 52 - n_drawn, rows)  # its position among the remaining cards
        for earlier in np.sort(cards[:, :n_drawn], axis=1).T:
            card += card >= earlier
        cards[:, n_drawn] = card
    return cards


def worth(suits: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return the index in `HANDS` of each hand; suits and ranks (N, 5), an ace may end a straight or begin it."""
    times = np.zeros((len(ranks), 14), dtype=np.int8)  # how often each rank occurs in the hand
    for card in range(5):
        times[np.arange(len(ranks)), ranks[:, card]] += 1
    max_times, pairs = times.max(axis=1), (times == 2).sum(axis=1)
    lowest, highest = ranks.min(axis=1), ranks.max(axis=1)
    to_ace = (max_times == 1) & (ranks.sum(axis=1) == 1 + 10 + 11 + 12 + 13) & (times[:, 10:14].all(axis=1))
    straight = ((max_times == 1) & (highest - lowest == 4)) | to_ace
    flush = (suits == suits[:, :1]).all(axis=1)
    return np.select(
        [
            flush & to_ace,
            flush & straight,
            max_times == 4,
            (max_times == 3) & (pairs == 1),
            flush,
            straight,
            max_times == 3,
            pairs == 2,
        ],
        [9, 8, 7, 6, 5, 4, 3, 2],
        default=pairs,
    )
