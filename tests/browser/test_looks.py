"""How pages look at 1280x720, light and dark: nothing over something else, nothing cut off, one scroll bar at most.

With ALRVIZ_SHOTS=FOLDER every state is kept as a picture, to be looked at.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.steps import Explorer
from tests.hostile.cases import rows

pytestmark = [pytest.mark.browser, pytest.mark.slow(reason="a visitor's minutes in a real browser")]
FOLDER = os.environ.get("ALRVIZ_SHOTS", "")

MESSY = "id;full name of the customer;age;income;joined;town;class\n" + "".join(
    f"{i};p{i % 17};{20 + i % 50},5;{'?' if i % 7 == 0 else 1000 + i * 3};2024-0{1 + i % 9}-1{i % 9};"
    f"{'Zürich' if i % 3 else 'São Paulo'};{'yes' if i * 7 % 11 > 4 else 'no'}\n"
    for i in range(600)
)


class Look:
    """Keeps a picture and collects what is wrong in it."""

    def __init__(self, explorer: Explorer, theme: str):
        self.explorer, self.theme, self.wrong = explorer, theme, list[str]()

    def __call__(self, name: str) -> None:
        self.explorer.page.wait_for_timeout(600)  # what fades in has faded in
        if FOLDER:
            Path(FOLDER).mkdir(parents=True, exist_ok=True)
            self.explorer.page.screenshot(path=Path(FOLDER) / f"{self.theme}-{name}.png")
        for what in ("overlaps", "cut", "nested", "sideways"):
            self.wrong += [f"{name}: {what}: {found}" for found in self.explorer.js(f"probe.{what}()")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_convergence_looks_right(new_explorer: Callable[..., Explorer], theme: str):
    explorer = new_explorer(color_scheme=theme)
    look = Look(explorer, theme)
    explorer.open()
    explorer.wait_says("recorded|^running$")
    look("first")
    explorer.race()
    look("running")
    explorer.wait_says("^ended$")
    look("ended")
    explorer.button("alr").first.click()
    explorer.page.get_by_role("combobox", name="Family").wait_for()
    look("racer")
    explorer.page.keyboard.press("Escape")
    explorer.page.get_by_role("combobox", name="Family").wait_for(state="hidden")
    for opener in ("Help", "Python", "Share"):
        explorer.button(opener).click()
        explorer.page.get_by_role("dialog").filter(visible=True).wait_for()
        look(opener.lower())
        explorer.page.keyboard.press("Escape")
        explorer.page.get_by_role("dialog").filter(visible=True).wait_for(state="hidden")
    for part in ("Numbers", "How the scale affects speed", "About this plot"):
        explorer.unfold(part)
        explorer.page.wait_for_timeout(1500)
        explorer.page.get_by_role("button", name=part, exact=True).scroll_into_view_if_needed()
        look(part.lower().strip("?").replace(" ", "-"))
        explorer.unfold(part)
    assert not look.wrong, "\n".join(look.wrong)


def test_five_racers_with_long_names_look_right(explorer: Explorer):
    look = Look(explorer, "light")
    explorer.open("?data=tic-tac-toe&q=pull")
    explorer.race()
    explorer.wait_says("^ended$")
    look("five-racers")
    assert not look.wrong, "\n".join(look.wrong)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_data_looks_right(new_explorer: Callable[..., Explorer], theme: str):
    explorer = new_explorer(color_scheme=theme)
    look = Look(explorer, theme)
    explorer.open("?page=data&data=waveform")
    explorer.wait_says("5,000 rows")
    explorer.wait(lambda: not explorer.says("being estimated"), "prices")
    look("data-demo")
    explorer.dropped("customers_2024_export.csv", MESSY.encode("cp1252"))
    explorer.wait_says("^600 rows")
    explorer.wait(lambda: not explorer.says("being estimated"), "prices")
    look("data-messy")
    explorer.button("How it was read").click()
    explorer.button("Read the file again").wait_for()
    look("data-read")
    explorer.page.keyboard.press("Escape")
    explorer.button("Read the file again").wait_for(state="hidden")
    explorer.dropped("ragged.csv", (rows(8) + "1,2,3,4\n" + rows(5)).encode())
    explorer.wait_says("did not work")
    look("data-error")
    explorer.dropped("price.csv", rows(90, head="a,b,c,price", line="{i},{j},{k},{i}.5").encode())
    explorer.wait_says("Which column")
    look("data-class")
    assert not look.wrong, "\n".join(look.wrong)


def test_the_projector_and_a_wide_screen(new_explorer: Callable[..., Explorer]):
    explorer = new_explorer(viewport={"width": 1920, "height": 1080})
    look = Look(explorer, "wide")
    explorer.open("?data=led&rows=300")
    explorer.race()
    explorer.wait_says("^ended$")
    look("convergence")
    explorer.go("Data")
    explorer.wait_says("^300 rows")
    look("data")
    assert not look.wrong, "\n".join(look.wrong)


def test_every_menu_of_data_says_what_the_demo_sets_are(explorer: Explorer):
    for query, menu in {"?data=led&rows=300": "Data", "?page=path": "Data", "?page=compare": "Data sets"}.items():
        explorer.open(query)
        explorer.page.get_by_role("combobox", name=re.compile(f"^{menu}")).click()
        entry = explorer.page.get_by_role("option", name="parity", exact=True)
        entry.wait_for()
        explorer.wait(lambda: "odd?" in (entry.get_attribute("aria-description") or ""), f"the line in {query}")  # noqa: B023
        explorer.page.keyboard.press("Escape")


def test_light_or_dark_is_the_readers_and_remembered(new_explorer: Callable[..., Explorer]):
    explorer = new_explorer(color_scheme="light").open("?data=iris&page=data")
    theme = "document.documentElement.dataset.theme"
    assert explorer.js(theme) == "light"
    explorer.button("Light or dark").click()
    assert explorer.js(theme) == "dark"
    explorer.page.reload()
    explorer.ready()
    assert explorer.js(theme) == "dark"
