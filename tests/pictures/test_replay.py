"""The page of a replay, as text: its numbers, what is kept of a long film, and names that would break out of it."""

import json
import re

import numpy as np
import pytest

from alrviz.pictures.replay import (
    STEPS,
    Film,
    ReplayAxis,
    ReplayLine,
    ReplayPanel,
    View,
    kept_steps,
    live_html,
    replay_html,
)
from alrviz.studies.statistics.verdict import Verdict

EVIL = "</script><script>alert(1)</script>\u2028&amp;<!--"


def a_film(name="lr", steps=3, racers=1, **changes):
    x = np.arange(steps, dtype=float)
    line = ReplayLine(name=name, light="#D55E00", dark="#E69F00", x=[x])
    view = View(label="NLL", short="training", log=False, train=[np.sqrt(x) / 3] * racers, heldout=[None] * racers)
    parts = {"title": name, "counted": "iteration", "steps": x, "verdicts": [(0, Verdict(name))], "about": [name]}
    return Film(
        **{**parts, "axes": [ReplayAxis("steps", "steps")], "lines": [line] * racers, "views": [view], **changes}
    )


def data_of(page):
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_the_numbers_come_back():
    panel = ReplayPanel(name="u", frames=np.zeros((3, 1, 2)), low=-1.0, high=1.0, colours=["text"], levels=("a", "b"))
    data = data_of(replay_html(a_film(panels=[panel])))
    assert data["measures"][0]["lines"][0] == {"y": [0, 0.333333, 0.471405], "held": []}
    assert data["lines"][0]["x"] == [[0, 1, 2]]
    assert data["panels"][0]["frames"] == [[[0, 0]]] * 3
    assert data["panels"][0]["levels"] == ["a", "b"]


def test_what_is_not_finite_is_a_gap():
    view = View(label="gap", short="", log=True, train=[np.array([1.0, np.nan, np.inf])], heldout=[None])
    assert data_of(replay_html(a_film(views=[view])))["measures"][0]["lines"][0]["y"] == [1, None, None]


def test_a_name_stays_text():
    page = replay_html(a_film(EVIL))
    assert page.count("<script") == replay_html(a_film()).count("<script")
    assert "alert(1)</script>" not in page
    assert "<!--" not in page.split("<style>")[1]
    assert data_of(page)["lines"][0]["name"] == EVIL
    assert "<title>&lt;/script&gt;" in page


def test_the_page_asks_no_network():
    page, live = replay_html(a_film()), live_html("<b>")
    assert "default-src 'none'" in page
    assert "connect-src" not in page, "no browser lets it ask"
    assert "connect-src 'self'" in live
    assert "<title>&lt;b&gt;</title>" in live
    for text in (page, live):
        assert not re.search(r"https?:|//[a-z]|@import|url\(|XMLHttp", text)


def test_what_is_taken_from_a_line_is_told_beside_it_in_all_its_digits():
    view = View(label="gap", short="", log=True, train=[np.array([0.5, 0.25 + 1e-9])], heldout=[None], less=[0.25])
    of = data_of(replay_html(a_film(steps=2, views=[view])))["measures"][0]
    assert of["lines"][0]["y"][1] - of["less"][0] == pytest.approx(1e-9, rel=1e-5)


def test_a_film_that_grows_keeps_its_steps_until_half_of_them_go():
    for last in range(1, 400):
        before, after = kept_steps(last - 1, max_steps=50), kept_steps(last, max_steps=50)
        stays = np.isin(before[:-1], after)
        assert stays.all() or stays[::2].all()
        assert stays.all() or len(after) <= len(before) // 2 + 2
        assert len(after) <= 51


def test_a_long_film_keeps_its_ends():
    assert kept_steps(10).tolist() == list(range(11))
    kept = kept_steps(10_000, [777, 10_000, 20_000])
    assert len(kept) <= STEPS + 1
    assert {0, 777, 10_000} <= set(kept.tolist())
    assert np.diff(kept).min() > 0
    assert np.diff(kept).max() <= 18


@pytest.mark.parametrize("racers", [6])
def test_six_racers_of_500_steps_are_far_below_5_mb(racers):
    assert len(replay_html(a_film(steps=500, racers=racers)).encode()) < 500_000
