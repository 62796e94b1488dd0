"""A race as a page that plays it: what is in it, of which race; and in a browser, from a file."""

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.errors import AlrvizError, TableError
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.decision_map import certainty
from alrviz.studies.maps.decision_map import decision_map
from alrviz.studies.maps.run_classifier import model_at
from alrviz.views.replay.export_html import replay
from tests.races import ROWS, ByHand, searching
from tests.views.raced import finished, view_of


def data_of(page):
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_a_race_is_what_its_view_shows():
    race = finished(5)
    data = data_of(replay(race))
    view = view_of(race)
    assert [line["name"] for line in data["lines"]] == [racer.name for racer in view.player.reader.racers]
    assert " ".join(data["verdicts"][-1][1:]).strip() == view.shown_text()
    (nll,) = [of for of in data["measures"] if of["label"].startswith("loss per row")]
    frame = race.frame()
    for number, line in enumerate(nll["lines"]):
        of = frame[frame["racer"] == number]
        np.testing.assert_allclose(line["y"], of["nll"] / ROWS, rtol=1e-5)
        np.testing.assert_allclose(line["held"], of["heldout_log_loss"], rtol=1e-5)
    assert [axis["word"] for axis in data["axes"]] == ["iterations", "passes", "seconds"]
    assert any(race.dataset.hash in line for line in data["about"])
    assert sum(race.recipes[0].to_json() in line for line in data["about"]) == 1


def test_alphas_that_are_found_are_lines_of_a_measure_of_their_own():
    race = searching((10.0, 10.0), (0.5, 40.0))
    race.end()
    data = data_of(replay(race))
    assert [line["name"] for line in data["lines"]] == ["lr", "hlr", "hlr order 1", "hlr order 2"]
    *others, alphas = data["measures"]
    assert alphas["along"][0] == "trials of alpha, then iterations"
    assert [line["y"] for line in alphas["lines"]] == [[], [], [None, 10, *[0.5] * 4], [None, 10, *[40] * 4]]
    assert all(line["y"] == line["held"] == [] for of in others for line in of["lines"][2:])
    assert data["lines"][2]["x"][0] == [0, 1, 2, 3, 4, 5]
    assert data["lines"][1]["x"][0] == [0, 0, 0, 1, 2, 3]
    assert data["counted"] == "step"
    told = {place: f"{headline} {detail}" for place, headline, detail in data["verdicts"]}
    assert told[2].endswith("Looking for alpha: hlr (2 trials).")
    assert "Alpha chosen by validation folds, one for each order: hlr 0.5, 40." in told[5]
    assert not any("penalty" in measure["label"] for measure in data_of(replay(finished(3)))["measures"])


def test_a_racer_that_ends_early_ends_there():
    race = ByHand()
    race.take(4)
    race.take(3, racer=0)
    race.end()
    data = data_of(replay(race))
    lines = data["measures"][0]["lines"]
    assert [value is not None for value in lines[0]["y"]] == [True] * 7
    assert [value is not None for value in lines[1]["y"]] == [True] * 4 + [False] * 3


def test_on_the_way_it_says_who_leads():
    race = finished(5)
    data = data_of(replay(race))
    told = {place: f"{headline} {detail}" for place, headline, detail in data["verdicts"]}
    assert list(told) == list(range(len(data["steps"])))
    nll = race.frame().groupby("racer")["nll"].nth(3) / ROWS
    (first, low), (second, high) = sorted(enumerate(nll), key=lambda pair: pair[1])
    names = [line["name"] for line in data["lines"]]
    gap = f"Training loss {low:.4f} nats per row, {high - low:.4f} below {names[second]}."
    assert told[3] == f"Iteration 3: {names[first]} leads. {gap}"


def test_without_a_step_there_is_nothing_to_play(tmp_path):
    with pytest.raises(AlrvizError, match="no step yet"):
        alrviz.save_replay(ByHand(), tmp_path / "race.html")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def fitted():
    dataset = alrviz.load_demo("three-classes", rows=90)
    race = alrviz.race(dataset, [Recipe("dlr", bandwidth="loo", max_iter=6, alpha=10.0)])
    race.start()
    race.join()
    return race


def test_a_dlr_fit_is_a_film_of_its_bandwidths(fitted):
    data = data_of(replay(fitted))
    last = fitted.runs[0].trace[-1]
    assert len(data["steps"]) == last.index + 1
    widths = data["measures"][0]
    features = fitted.runs[0].objective.features
    for d, line in enumerate(widths["lines"][2:]):
        assert line["y"][-1] == pytest.approx(last.extra[f"h_{d}"] / features.silverman[d], rel=1e-4)
    for panel in data["panels"]:
        assert np.shape(panel["frames"]) == (last.index + 1, 3, len(panel["x"]))
        assert panel["frames"][0] != panel["frames"][-1]
    assert f"in {last.index} iterations" in data["verdicts"][-1][1]
    assert len(replay(fitted)) < 300_000


def test_its_map_is_that_of_every_steps_model(fitted):
    ground = data_of(replay(fitted))["ground"]
    run, dataset = fitted.runs[0], fitted.dataset
    assert [ground["across"]["name"], ground["up"]["name"]] == list(dataset.X.columns)
    assert sum(map(len, ground["points"])) == 3 * len(dataset.X)
    spans = [ground[axis]["high"] - ground[axis]["low"] for axis in ("across", "up")]
    assert ground["ratio"] == pytest.approx(spans[0] / spans[1])
    frames = np.frombuffer(base64.b64decode(ground["frames"]), np.uint8)
    frames = frames.reshape(-1, ground["rows"], ground["columns"])
    assert len(frames) == len(data_of(replay(fitted))["steps"])
    for step in (0, run.state.index):
        *_, surface = decision_map(model_at(run, step), dataset.X, across="x1", up="x2", sides=(64,))
        np.testing.assert_array_equal(frames[step] // ground["shades"], surface.winner)
        sure = frames[step] % ground["shades"] / (ground["shades"] - 1)
        np.testing.assert_allclose(sure, certainty(surface), atol=0.51 / (ground["shades"] - 1))
    assert (frames[0] != frames[-1]).any()


def test_a_table_of_one_column_has_no_map():
    dataset = alrviz.load_demo("two-moons", rows=60)
    one = alrviz.read_table(dataset.X[["x1"]].assign(y=dataset.y), "y")
    race = alrviz.race(one, [Recipe("dlr", max_iter=3, alpha=10.0)])
    race.start()
    race.join()
    assert data_of(replay(race))["ground"] is None


def test_a_path_goes_from_the_strongest_pull_to_the_weakest():
    study = alrviz.alpha_path(
        alrviz.load_demo("led", rows=300),
        [Recipe("alr", order=1, center="anje", alpha=1.0)],
        alphas=[0.01, 10.0, 1.0],
        n_jobs=1,
    )
    with pytest.raises(AlrvizError, match="no path is there yet"):
        replay(study)
    data = data_of(replay(study.run()))
    assert data["steps"] == [10, 1, 0.01]
    curve = study.frame().query("racer == 0").sort_values("alpha", ascending=False)
    for of, name in zip(data["measures"], ("log_loss", "rmse", "error"), strict=True):
        np.testing.assert_allclose(of["lines"][0]["held"], curve[name], rtol=1e-5)
        np.testing.assert_allclose(of["lines"][0]["y"], curve[f"train_{name}"], rtol=1e-5)
    assert data["axes"][0]["falling"]
    away = curve.filter(regex=r"^away_\d+$")
    np.testing.assert_allclose([frame[0] for frame in data["panels"][0]["frames"]], away, rtol=1e-3)
    assert data_of(alrviz.PathView(study).replay_page().decode()) == data


def test_the_views_save_it(fitted):
    race = finished(5)
    assert view_of(race).film().decode() == replay(race)
    assert view_of(ByHand()).film() == b"", "no step yet"
    film = alrviz.DensityFilmView(fitted)
    assert film.player.film().decode() == replay(fitted)


@pytest.mark.browser
def test_it_plays_from_a_file(new_page, tmp_path, fitted):
    rows = pd.DataFrame({"</script><img src=x onerror=alert(1)>": list("ab") * 20, "y": ["<b>", "z", "z"] * 13 + ["z"]})
    dataset = alrviz.read_table(rows, "y", name="</script><script>alert(1)</script>")
    race = alrviz.race(
        dataset,
        [Recipe("lr", order=1, max_iter=40, tol=0, alpha=0.3), Recipe("alr", order=1, max_iter=40, tol=0, alpha=1.0)],
    )
    race.start()
    race.join()
    alrviz.save_replay(race, tmp_path / "race.html")
    page = new_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "race.html").as_uri())
    at, sentence = page.locator("#at"), page.locator("#sentence")
    told = sentence.inner_text()
    assert told
    last = int(at.inner_text().split()[-1])
    assert page.locator("#title").inner_text() == f"lr and alr on {dataset.name}"
    page.keyboard.press("Home")
    assert at.inner_text() == f"iteration 0 of {last}"
    assert sentence.inner_text().startswith("Iteration 0: ")
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="One step on").click()
    assert at.inner_text() == f"iteration 2 of {last}"
    before = page.evaluate("document.getElementById('chart').toDataURL()")
    page.get_by_role("slider").fill(str(last - 1))
    assert at.inner_text() == f"iteration {last - 1} of {last}"
    assert page.evaluate("document.getElementById('chart').toDataURL()") != before
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Play").wait_for()  # it plays to the end, and stops there
    page.wait_for_function("!document.getElementById('sentence').textContent.startsWith('Iteration')")
    assert sentence.inner_text() == told
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert asked == [(tmp_path / "race.html").as_uri()]
    assert page.locator("#plane").is_hidden()
    alrviz.save_replay(fitted, tmp_path / "film.html")
    page.goto((tmp_path / "film.html").as_uri())
    last = page.evaluate("document.getElementById('plane').toDataURL()")
    page.keyboard.press("Home")
    assert page.evaluate("document.getElementById('plane').toDataURL()") != last
    assert page.locator("#classes span").all_inner_texts() == list(map(str, fitted.runs[0].encoder.classes_))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.problems


def test_a_fitted_model_is_replayed_and_what_is_no_race_refused(tmp_path):
    dataset = alrviz.load_demo("led", rows=200)
    with pytest.raises(TableError, match=r"alrviz\.race\(dataset, recipes\)"):
        alrviz.save_replay(dataset, tmp_path / "no.html")
    assert not (tmp_path / "no.html").exists()
    alrviz.save_replay(alrviz.LRClassifier(alpha=0.1).fit(dataset.X, dataset.y), tmp_path / "fit.html")
    assert "converged" in (tmp_path / "fit.html").read_text(encoding="utf-8")
