"""The page of a replay, as text: its numbers, what is kept of a long film, and names that would break out of it."""

import json
import re

import numpy as np
import pytest

from alrviz.pictures.replay import STEPS, Axis, Film, Line, Panel, View, kept_steps, replay_html

EVIL = "</script><script>alert(1)</script>\u2028&amp;<!--"


def a_film(name="lr", steps=3, racers=1, **changes):
    x = np.arange(steps, dtype=float)
    line = Line(name=name, light="#D55E00", dark="#E69F00", x=[x])
    view = View(label="NLL", short="training", log=False, train=[np.sqrt(x) / 3] * racers, heldout=[None] * racers)
    parts = {"title": name, "counted": "iteration", "steps": x, "sentences": [(0, name)], "about": [name]}
    return Film(**{**parts, "axes": [Axis("steps", "steps")], "lines": [line] * racers, "views": [view], **changes})


def data_of(page):
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_the_numbers_come_back():
    panel = Panel(name="u", frames=np.zeros((3, 1, 2)), low=-1.0, high=1.0, colours=["text"], levels=("a", "b"))
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
    page = replay_html(a_film())
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|//[a-z]|@import|url\(|fetch\(|XMLHttp", page.replace("// A line", ""))


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
