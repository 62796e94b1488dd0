"""Demo sets: their sizes and truths, counted, enumerated or bounded by what is known."""

import importlib.util
from itertools import chain, combinations, permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import ive, log_softmax
from scipy.stats import norm

from alrviz.data.demos import (
    clouds,
    demo_frame,
    demo_line,
    demo_names,
    demo_truth,
    games,
    generators,
    load_demo,
    patients,
)
from alrviz.errors import TableError

PLANES = ("four-gaussians", "three-classes", "two-moons", "rings")
DEMO_DATA = Path(__file__).parents[2] / "demo_data"
SHAPES = {
    "led": (3000, 7, 10),
    "led24": (3000, 24, 10),
    "waveform": (5000, 21, 3),
    "skewed": (5000, 8, 3),
    "parity": (2000, 8, 2),
    "xor": (1000, 4, 2),
    "twelve-bits": (4000, 12, 2),
    "tic-tac-toe": (958, 9, 2),
    "balance-scale": (625, 4, 3),
    "monks-1": (432, 6, 2),
    "monks-2": (432, 6, 2),
    "monks-3": (432, 6, 2),
    "poker-hand": (20000, 10, 8),
    "four-gaussians": (1200, 2, 2),
    "three-classes": (900, 2, 3),
    "two-moons": (600, 2, 2),
    "rings": (800, 2, 2),
    "age-curve": (2000, 2, 2),
    "mixed-types": (2000, 5, 2),
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
    numeric = {"waveform", "iris", "wine", "breast-cancer", "digits", "age-curve", *PLANES}
    expected = {
        "poker-hand": {"categorical", "ordinal"},
        "balance-scale": {"ordinal"},
        "mixed-types": {"numeric", "categorical", "ordinal"},
    }
    assert kinds == ({"numeric"} if name in numeric else expected.get(name, {"categorical"}))
    assert load_demo(name, seed=0).hash == dataset.hash


@pytest.mark.parametrize(
    "name",
    ["led", "waveform", "skewed", "parity", "xor", "twelve-bits", "poker-hand", "age-curve", "mixed-types", *PLANES],
)
def test_drawn_demos_have_any_size_and_follow_the_seed(name):
    assert len(demo_frame(name, 17)) == 17
    assert demo_frame(name, 50, seed=3).equals(demo_frame(name, 50, seed=3))
    assert not demo_frame(name, 50, seed=3).equals(demo_frame(name, 50, seed=4))


def test_complete_demos_can_be_sampled():
    part = demo_frame("tic-tac-toe", 100, seed=1)
    assert len(part.drop_duplicates()) == 100
    assert len(part.merge(demo_frame("tic-tac-toe"))) == 100
    with pytest.raises(TableError, match=r"958 rows.*1000"):
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
def test_invalid_name_or_rows_of_a_demo_raise(call, message):
    with pytest.raises(TableError, match=message):
        call()


def test_led_is_a_noisy_display_whose_best_error_is_26_percent():
    lit = np.array([list(map(int, digit)) for digit in generators.DIGITS])
    assert sorted(lit.sum(axis=1)) == [2, 3, 4, 5, 5, 5, 6, 6, 6, 7]
    frame = generators.led(60_000, np.random.default_rng(0))
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
    frame = generators.waveform(30_000, np.random.default_rng(0))
    means = frame.groupby("class").mean().to_numpy()
    places = np.arange(1, 22)
    waves = [np.maximum(6 - abs(places - peak), 0) for peak in (11, 15, 7)]
    for found, (a, b) in zip(means, [(0, 1), (0, 2), (1, 2)], strict=True):
        assert np.allclose(found, (waves[a] + waves[b]) / 2, atol=0.08)


def test_skewed_levels_follow_zipf_and_the_class_the_planted_order():
    for order in (1, 2):
        rng, rows = np.random.default_rng(7), 20_000
        frame = generators.skewed(rows, np.random.default_rng(7), order=order)
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


def test_of_twelve_bits_three_tell_each_alone_and_two_only_together():
    frame = demo_frame("twelve-bits", 40_000)
    told = frame["class"] == "True"
    apart = frame.iloc[:, :-1].apply(lambda bit: told[bit == "1"].mean() - told[bit == "0"].mean())
    assert (apart[:3] > 0.1).all()
    assert (apart[3:].abs() < 0.02).all()
    differ = frame.bit_7 != frame.bit_11
    assert told[differ].mean() - told[~differ].mean() > 0.3


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
    hands = np.fromiter(chain.from_iterable(combinations(range(52), 5)), np.int8).reshape(-1, 5)
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


def test_four_gaussians_are_the_toy_of_the_paper():
    frame = demo_frame("four-gaussians")
    assert frame["class"].value_counts().to_dict() == {"A": 600, "B": 600}
    means, spreads = [(-10, 0), (10, 0), (0, -10), (0, 10)], [(1, 10), (1, 10), (10, 1), (10, 1)]
    drawn = clouds.draw(clouds.FOUR_GAUSSIANS, 60_000, np.random.default_rng(3))
    x = drawn[["x1", "x2"]].to_numpy()
    parts = [
        (drawn["class"] == "A") & (x[:, 0] < 0),
        (drawn["class"] == "A") & (x[:, 0] > 0),
        (drawn["class"] == "B") & (x[:, 1] < 0),
        (drawn["class"] == "B") & (x[:, 1] > 0),
    ]
    for part, mean, spread in zip(parts, means, spreads, strict=True):
        assert part.sum() == pytest.approx(15_000, abs=2)
        assert x[part].mean(axis=0) == pytest.approx(mean, abs=0.3)
        assert x[part].std(axis=0) == pytest.approx(spread, rel=0.03)


def test_the_truth_of_a_plane_is_the_formula_of_its_clouds():
    at = pd.DataFrame({"x1": [10.0, 0.0, 3.0], "x2": [0.0, 0.0, -7.0]})
    x, y = at["x1"].to_numpy(), at["x2"].to_numpy()
    a = (norm.pdf(x, -10, 1) + norm.pdf(x, 10, 1)) * norm.pdf(y, 0, 10)
    b = (norm.pdf(y, -10, 1) + norm.pdf(y, 10, 1)) * norm.pdf(x, 0, 10)
    found = demo_truth("four-gaussians")(at)
    assert found[:, 0] == pytest.approx(a / (a + b), rel=1e-12)
    assert found[1] == pytest.approx([0.5, 0.5])  # the two classes are each other's mirror image


def test_a_blurred_ring_has_the_density_known_in_closed_form():
    x = np.column_stack([np.linspace(0, 3, 40), np.linspace(-1, 2, 40)])
    r, s = np.hypot(*x.T), 0.35
    for each, radius in zip(clouds.RINGS, (1, 2), strict=True):  # Rice's, per area: I0 of r R / s^2
        known = np.exp(-((r - radius) ** 2) / (2 * s * s)) * ive(0, r * radius / s**2) / (2 * np.pi * s * s)
        assert np.exp(each.log_density(x)) == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "best", "words"),
    [
        ("four-gaussians", 0.0769, "best possible error 7.7 %"),
        ("three-classes", 0.0711, "best possible error 7.1 %"),
        ("two-moons", 0.0289, "best possible error 2.9 %"),
        ("rings", 0.0796, "best possible error 8.0 %"),
        ("age-curve", 0.233, "best possible error 23 %"),
        ("mixed-types", 0.243, "best possible error 24 %"),
    ],
)
def test_the_truth_is_calibrated_and_its_error_the_one_of_the_line(name, best, words):
    frame = demo_frame(name, 10_000, seed=5)
    p, classes = demo_truth(name)(frame), np.unique(frame["class"].astype(str))
    y = np.searchsorted(classes, frame["class"].astype(str))
    assert p.shape == (10_000, len(classes))
    assert p.sum(axis=1) == pytest.approx(1)
    for k in range(len(classes)):
        for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
            part = (p[:, k] >= low) & (p[:, k] <= high)
            assert (y[part] == k).mean() == pytest.approx(p[part, k].mean(), abs=4 * 0.5 / np.sqrt(part.sum()))
    assert (p.argmax(axis=1) != y).mean() == pytest.approx(best, abs=0.012)
    assert words in demo_line(name)


def test_the_age_curve_is_not_monotone():
    age = np.arange(0.0, 96.0)
    risk = patients.age_risk(age)
    turns = age[1:-1][np.diff(np.sign(np.diff(risk))) != 0]
    assert list(turns) == [29.0, 68.0]
    assert demo_truth("age-curve")(pd.DataFrame({"age": [0.0, 68.0], "pressure": [85.0, 85.0]}))[:, 1] == pytest.approx(
        [1 / (1 + np.exp(-1.2)), 1 / (1 + np.exp(-2.0))], abs=1e-3
    )


def test_a_missing_pressure_of_mixed_types_adds_nothing_and_depends_on_nothing():
    frame = demo_frame("mixed-types", 40_000)
    missing = frame["pressure"].isna()
    assert missing.mean() == pytest.approx(patients.MISSING, abs=0.006)
    same = frame.assign(pressure=120.0)
    assert np.array_equal(patients.mixed_score(same)[missing], patients.mixed_score(frame)[missing])
    assert (patients.mixed_score(same)[~missing] != patients.mixed_score(frame)[~missing]).mean() > 0.9
    by_hand = pd.DataFrame(
        {"temperature": [38.8], "pressure": [120.0], "region": ["west"], "stage": ["III"], "smoker": ["yes"]}
    )
    assert patients.mixed_score(by_hand) == pytest.approx([-2.4 + 3.2 + 0.4 + 1.4 + 0.9])
    assert list(load_demo("mixed-types").X["stage"].cat.categories) == ["I", "II", "III", "IV"]


def test_sets_without_a_known_truth_have_none():
    assert demo_truth("iris") is None
    assert demo_truth("skewed") is None  # drawn anew with every seed


def test_csv_copies_are_what_the_generators_make():
    spec = importlib.util.spec_from_file_location("make", DEMO_DATA / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    assert {path.stem for path in DEMO_DATA.glob("*.csv")} == set(make.NAMES)
    for name in make.NAMES:
        assert (DEMO_DATA / f"{name}.csv").read_bytes() == make.csv_text(name).encode()
        read = pd.read_csv(DEMO_DATA / f"{name}.csv", dtype=str)
        assert list(read.columns) == list(demo_frame(name).columns)
