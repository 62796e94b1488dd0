"""The page "Generative to discriminative" as a visitor has it: to its sentence, with a fit that follows the keys."""

import re

import pytest

from tests.browser.steps import Explorer
from tests.browser.test_keyboard import check
from tests.browser.test_looks import Look

pytestmark = pytest.mark.browser
slow = pytest.mark.slow(reason="a visitor's minute in a real browser")
SMALL = "?page=path&data=balance-scale"
DONE = "^(\\d+) of \\1 curves · done"


def ready(explorer: Explorer, query: str = SMALL) -> None:
    explorer.open(query)
    explorer.wait_says("^Press Run: ")
    explorer.wait_says("^fitted in ")  # a small table is fitted where the slider is
    explorer.wait(explorer.run.is_enabled, "Run can be pressed")


def test_a_path_runs_to_its_sentence_and_a_fit_follows_the_slider(explorer: Explorer):
    ready(explorer)
    explorer.run.click()
    explorer.wait_says(DONE)
    explorer.wait_says("^alpha [\\d.]+ has the lowest test log loss, 0\\.\\d+")
    slider = explorer.page.get_by_role("slider", name=re.compile("^alpha"))
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    explorer.wait(lambda: explorer.asked().get("alpha") == ["0.562"], "three steps from 1")
    explorer.wait_says("^At alpha 0.562$")
    explorer.wait_says("^fitted in ")
    frame = explorer.csv()
    best = frame[frame.racer == 0].sort_values("log_loss").iloc[0]
    explorer.button("Open in Convergence").click()
    explorer.wait(lambda: f"a{best.alpha:g}" in "".join(explorer.asked().get("racers", [])), "its racers")


def test_a_link_opens_the_path_the_measure_and_the_alpha_that_were_looked_at(explorer: Explorer):
    ready(explorer, "?page=path&data=monks-1&of=lr_o1~alr_o1_c1&measure=rmse&alpha=31.6&path=1")
    explorer.wait_says("^At alpha 31.6$")
    assert explorer.asked()["path"] == ["1"]
    weights = explorer.page.get_by_role("combobox", name=re.compile("^Weights of"))
    assert "alr toward 1" in weights.inner_text()


@slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_looks_right_and_every_control_is_reached(new_explorer, theme: str):
    explorer = new_explorer(color_scheme=theme)
    look = Look(explorer, theme)
    ready(explorer, "?page=path&data=led&of=lr_a1_i1000~alr_a1_canje_i1000")
    look("path-empty")
    check(explorer)  # before anything is pressed: Tab goes on from there
    explorer.run.click()
    explorer.wait_says("^No curve is complete yet|^After|" + DONE)
    look("path-computing")
    explorer.wait_says(DONE)
    look("path-full")
    explorer.button("RMSE").first.click()
    explorer.choose("Weights of", "alr toward AnJE")
    explorer.wait_says("^fitted in |^of the path")
    look("path-other")
    assert not look.wrong
