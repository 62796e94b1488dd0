"""Demo sets: their sizes and truths, counted, enumerated or bounded by what is known."""

import importlib.util
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

from alrviz.data.demos import demo_frame, demo_line, demo_names, games, load_demo, made
from alrviz.errors import TableError

DEMO_DATA = Path(__file__).parents[2] / "demo_data"
SHAPES = {
    "led": (3000, 7, 10),
    "led24": (3000, 24, 10),
    "waveform": (5000, 21, 3),
    "skewed": (5000, 8, 3),
    "parity": (2000, 8, 2),
    "xor": (1000, 4, 2),
    "tic-tac-toe": (958, 9, 2),
    "balance-scale": (625, 4, 3),
    "monks-1": (432, 6, 2),
    "monks-2": (432, 6, 2),
    "monks-3": (432, 6, 2),
    "poker-hand": (20000, 10, 8),
    "iris": (150, 4, 3),
    "wine": (178, 13, 3),
    "breast-cancer": (569, 30, 2),
    "digits": (1797, 64, 10),
}


@pytest.mark.parametrize("name", demo_names())
def test_every_demo_loads_with_its_kinds_and_a_line(name):
    dataset = load_demo(name)
    assert (dataset.n_rows, dataset.X.shape[1], dataset.n_classes) == SHAPES[name]
    assert dataset.name == name
    assert dataset.target == "class"
    assert 20 < len(demo_line(name)) < 120
    kinds = set(dataset.kinds.values()) - {"ignore"}
    numeric = {"waveform", "iris", "wine", "breast-cancer", "digits"}
    expected = {"poker-hand": {"categorical", "ordinal"}, "balance-scale": {"ordinal"}}
    assert kinds == ({"numeric"} if name in numeric else expected.get(name, {"categorical"}))
    assert load_demo(name, seed=0).hash == dataset.hash


@pytest.mark.parametrize("name", ["led", "waveform", "skewed", "parity", "xor", "poker-hand"])
def test_drawn_demos_have_any_size_and_follow_the_seed(name):
    assert len(demo_frame(name, 17)) == 17
    assert demo_frame(name, 50, seed=3).equals(demo_frame(name, 50, seed=3))
    assert not demo_frame(name, 50, seed=3).equals(demo_frame(name, 50, seed=4))


def test_complete_demos_give_a_part_of_themselves():
    part = demo_frame("tic-tac-toe", 100, seed=1)
    assert len(part.drop_duplicates()) == 100
    assert len(part.merge(demo_frame("tic-tac-toe"))) == 100
    with pytest.raises(TableError, match="complete set of 958 rows, 1000 were asked for"):
        load_demo("tic-tac-toe", 1000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load_demo("lde"), "no demo set 'lde'; did you mean 'led'"),
        (lambda: demo_line("x"), "there are led, led24"),
        (lambda: load_demo("led", 0), "at least 1"),
        (lambda: load_demo("led", 2.5), "at least 1"),
    ],
)
def test_what_cannot_be_loaded(call, message):
    with pytest.raises(TableError, match=message):
        call()


def test_led_is_a_noisy_display_whose_best_error_is_26_percent():
    lit = np.array([list(map(int, digit)) for digit in made.DIGITS])
    assert sorted(lit.sum(axis=1)) == [2, 3, 4, 5, 5, 5, 6, 6, 6, 7]
    frame = made.led(60_000, np.random.default_rng(0))
    shown, digits = frame.iloc[:, :7].to_numpy().astype(int), frame["class"].to_numpy().astype(int)
    wrong = (shown != lit[digits]).mean(axis=0)
    assert np.allclose(wrong, 0.1, atol=0.006)
    displays = np.array(list(product([0, 1], repeat=7)))
    distance = np.abs(displays[:, None, :] - lit).sum(axis=2)
    best = 1 - (0.1**distance * 0.9 ** (7 - distance)).max(axis=1).sum() / 10
    assert best == pytest.approx(0.26, abs=0.005)
    guess = np.abs(shown[:, None, :] - lit).sum(axis=2).argmin(axis=1)
    assert (guess != digits).mean() == pytest.approx(best, abs=0.006)


def test_waveform_means_are_the_mixed_waves():
    frame = made.waveform(30_000, np.random.default_rng(0))
    means = frame.groupby("class").mean().to_numpy()
    places = np.arange(1, 22)
    waves = [np.maximum(6 - abs(places - peak), 0) for peak in (11, 15, 7)]
    for found, (a, b) in zip(means, [(0, 1), (0, 2), (1, 2)], strict=True):
        assert np.allclose(found, (waves[a] + waves[b]) / 2, atol=0.08)


def test_skewed_levels_follow_zipf_and_the_class_the_planted_order():
    for order in (1, 2):
        rng, rows = np.random.default_rng(7), 20_000
        frame = made.skewed(rows, np.random.default_rng(7), order=order)
        share = frame["x1"].value_counts(normalize=True).sort_index().to_numpy()
        zipf = np.arange(1, 11) ** -1.5
        assert np.allclose(share, zipf / zipf.sum(), atol=0.01)
        tuples = list(combinations(range(8), order))  # the truth again, drawn from the same seed
        phi = rng.normal(scale=2 / np.sqrt(len(tuples)), size=(len(tuples), 10**order, 3))
        codes = frame.iloc[:, :8].map(lambda letter: ord(letter) - ord("a")).to_numpy()
        scores = sum(phi[t, codes[:, list(c)] @ 10 ** np.arange(order)[::-1]] for t, c in enumerate(tuples))
        y = frame["class"].astype(int).to_numpy()
        probability = np.exp(log_softmax(scores, axis=1))
        for k in range(3):  # calibrated: what happens as often as the truth says
            assert probability[:, k].mean() == pytest.approx((y == k).mean(), abs=0.012)
            sure = probability[:, k] > 0.8
            assert (y[sure] == k).mean() == pytest.approx(probability[sure, k].mean(), abs=0.03)


@pytest.mark.parametrize(("name", "relevant", "noise"), [("parity", 3, 0.05), ("xor", 2, 0.1)])
def test_parity_shows_only_where_all_its_bits_are_seen_together(name, relevant, noise):
    frame = demo_frame(name, 40_000).astype(int)
    bits, y = frame.iloc[:, :-1].to_numpy(), frame["class"].to_numpy()
    assert (bits[:, :relevant].sum(axis=1) % 2 != y).mean() == pytest.approx(noise, abs=0.006)
    for columns in combinations(range(relevant), relevant - 1):
        assert abs((bits[:, list(columns)].sum(axis=1) % 2 == y).mean() - 0.5) < 0.01


def test_tic_tac_toe_is_every_end_of_a_game():
    frame = games.tic_tac_toe()
    assert (len(frame), (frame["class"] == "positive").sum()) == (958, 626)
    boards = set(map("".join, frame.iloc[:, :9].to_numpy()))
    assert len(boards) == 958
    assert all(board.count("x") - board.count("o") in (0, 1) for board in boards)
    draws = frame[frame["class"] == "negative"].iloc[:, :9].apply("".join, axis=1)
    assert sum("b" not in board for board in draws) == 16  # the boards of a drawn game: a known count


def test_balance_scale_and_monks_have_the_known_counts():
    assert games.balance_scale()["class"].value_counts().to_dict() == {"L": 288, "R": 288, "B": 49}
    ones = [(games.monks(k)["class"] == "1").sum() for k in (1, 2, 3)]
    assert ones == [216, 142, 228]  # as published with the problems
    first = games.monks(1)
    rule = (first.a1 == first.a2) | (first.a5 == "1")
    assert (rule == (first["class"] == "1")).all()


def test_poker_rules_count_every_hand():
    hands = np.array(list(combinations(range(52), 5)), dtype=np.int8)
    counts = np.bincount(games.worth(hands // 13, hands % 13 + 1), minlength=10)
    assert counts.tolist() == [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 36, 4]


def test_poker_worth_does_not_depend_on_the_order_of_the_cards():
    ranks = np.array(list(permutations([1, 10, 11, 12, 13])))
    assert (games.worth(np.zeros_like(ranks), ranks) == 9).all()
    suits = np.tile([0, 1, 0, 0, 0], (120, 1))
    assert (games.worth(suits, ranks) == 4).all()
    assert (games.worth(suits, np.array(list(permutations([1, 2, 3, 4, 5])))) == 4).all()
    assert (games.worth(suits, np.array(list(permutations([1, 2, 11, 12, 13])))) == 0).all()


def test_poker_deals_are_fair_and_without_repeats():
    cards = games.deal(52_000, np.random.default_rng(0))
    assert (np.diff(np.sort(cards, axis=1), axis=1) > 0).all()
    for place in range(5):  # each card about 1,000 times in each place
        assert np.bincount(cards[:, place], minlength=52) == pytest.approx(np.full(52, 1000), abs=160)


def test_csv_copies_are_what_the_generators_make():
    spec = importlib.util.spec_from_file_location("make", DEMO_DATA / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    assert {path.stem for path in DEMO_DATA.glob("*.csv")} == set(make.NAMES)
    for name in make.NAMES:
        assert (DEMO_DATA / f"{name}.csv").read_bytes() == make.csv_text(name).encode()
        read = pd.read_csv(DEMO_DATA / f"{name}.csv", dtype=str)
        assert list(read.columns) == list(demo_frame(name).columns)
