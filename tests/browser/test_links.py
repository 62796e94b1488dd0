"""The address: it opens what it says, it says what is shown, and no hostile query breaks a page."""

import re
from urllib.parse import quote

import pytest

from tests.browser.steps import Explorer

pytestmark = pytest.mark.browser

HOSTILE = [
    "?data=../../etc/passwd&page=<script>alert(1)</script>&seed=-1e999&rows=nan",
    "?racers=" + quote("[{'family': __import__('os')}]") + "&q=%00%ff%fe&axis=" + "9" * 3000,
    "?run=" + "0" * 32,
    "?file=" + quote("../../<img src=x onerror=alert(1)>~-1~2~zz"),
    "?file=" + quote("<img src=x onerror=alert(1)>.csv~9~2~0123456789abcdef"),
    "?kinds=0t_1t_99999c_zz&data=iris",
    "?data=led&rows=1&seed=99999999999999999999",
    "?" + "&".join(f"a{k}={k}" for k in range(500)),
    "?q=own&racers=&data=iris&page=data&page=convergence",
]


@pytest.mark.slow(reason="nine pages in a real browser, half a minute; what a link holds is tested without one")
def test_no_query_breaks_a_page(explorer: Explorer):
    for query in HOSTILE:
        explorer.open(query)
        explorer.go("Data")
        explorer.wait_says("No table yet|rows$|Columns as CSV|Demo sets")
        explorer.go("Convergence")
        explorer.run.wait_for()
        assert explorer.js("document.querySelectorAll('img[src=x]').length") == 0, query
        assert not explorer.page.problems, query


def codes_are_seen_whole(explorer: Explorer) -> None:
    """In 720 lines the dialog ended in the middle of the code, and a phone read nothing."""
    for press in ("QR code", "Share"):
        explorer.button(press).click()
        code = explorer.page.get_by_role("img", name="QR code of the link")
        explorer.wait(lambda code=code: code.is_visible() and code.bounding_box(), "the code")
        seen = explorer.page.locator(".MuiDialog-paper:visible").bounding_box()
        box = explorer.wait(lambda code=code: code.bounding_box(), "the code")
        assert seen is not None
        assert box["y"] + box["height"] <= seen["y"] + seen["height"] <= 720, press
        assert box["height"] > 200
        explorer.page.keyboard.press("Escape")
        code.wait_for(state="hidden")


def test_a_link_opens_what_it_says_and_the_address_follows(explorer: Explorer):
    explorer.open("?data=balance-scale&q=start&axis=passes&seed=7")
    explorer.race()
    explorer.wait_says("^625 rows|625 rows")
    passes = explorer.page.get_by_role("button", name="passes")
    explorer.wait(lambda: passes.get_attribute("aria-pressed") == "true", "the axis in the link")
    question = explorer.page.get_by_role("combobox", name=re.compile("^Question"))
    explorer.wait(lambda: "Where to start?" in question.inner_text(), "the question in the link")
    explorer.wait_says("^ended$")
    codes_are_seen_whole(explorer)
    explorer.choose("Question", "Which solver?")
    explorer.wait(lambda: explorer.asked().get("q") == ["solvers"], "the address")
    explorer.go("Data")
    explorer.wait(lambda: explorer.asked().get("page") == ["data"], "the address")
    asked = explorer.asked()
    assert asked["seed"] == ["7"]
    assert asked["data"] == ["balance-scale"]


@pytest.mark.slow(reason="a visitor's minutes in a real browser")
def test_the_first_screen_has_the_shortest_address(explorer: Explorer):
    explorer.open()
    explorer.race()
    assert set(explorer.asked()) <= {"run"}


# What each page says and no other does.
SEEN = {
    "Convergence": "^Question$|loss above the lowest",
    "Which order?": "a verdict needs two|Press Run: columns",
    "Bias and variance": "^Learning curve$",
    "Compare": "^History$",
    "Data": "^Columns as CSV$",
}


@pytest.mark.slow(reason="every page in a real browser, twice")
def test_back_and_forward_turn_the_pages(explorer: Explorer):
    explorer.open("?page=order&data=monks-1")
    rail = ["Data", "Compare", "Bias and variance", "Convergence"]
    length = explorer.js("history.length")

    def at(name: str) -> None:
        wanted = {"Which order?": "order", "Bias and variance": "bias"}.get(name, name.lower())
        explorer.wait(lambda: explorer.asked().get("page", ["convergence"]) == [wanted], f"the address of {name}")
        explorer.wait(lambda: explorer.says(SEEN[name]), lambda: f"the page {name}; it says {explorer.text()}")
        explorer.still("location.search")  # a change of the entry would end a going on that has begun

    at("Which order?")
    for name in rail:
        explorer.go(name)
        at(name)
    explorer.wait(lambda: "run" in explorer.asked(), "the race in the address")
    for name in [*rail[-2::-1], "Which order?"]:
        explorer.page.go_back()
        at(name)
    for name in rail:
        explorer.page.go_forward()
        at(name)
    assert explorer.js("history.length") == length + len(rail)


def test_back_undoes_the_choice_of_question_order_example_and_data_and_small_settings_make_no_entries(
    explorer: Explorer,
):
    explorer.open("?data=led&rows=300")
    explorer.race()
    length = explorer.js("history.length")
    menus = {name: explorer.page.get_by_role("combobox", name=re.compile(f"^{name}")) for name in ("Question", "Data")}

    def at(question: str, order: int, data: str, racers: int) -> None:
        def is_there() -> bool:
            pressed = explorer.page.get_by_role("button", name=f"n = {order}", exact=True).get_attribute("aria-pressed")
            return (
                question in menus["Question"].inner_text()
                and data in menus["Data"].inner_text()
                and pressed == "true"
                and explorer.asked().get("data") == [data]
                and len(explorer.racers()) == racers
                and explorer.says("^(running|paused|ended)$")
                and not explorer.says("^outdated")
            )

        explorer.wait(is_there, lambda: f"{question}, n = {order}, {data}; it says {explorer.text()}")
        explorer.still("location.search")  # a change of the entry would end a going on that has begun

    places = [("ALR or LR?", 2, "led", 2), ("Where to start?", 2, "led", 5)]
    at(*places[0])
    explorer.choose("Question", places[1][0])
    at(*places[1])
    explorer.choose("Data", "wine")
    places.append((*places[1][:2], "wine", 5))
    at(*places[2])
    explorer.order(1)
    places.append(("Where to start?", 1, "wine", 4))
    at(*places[3])
    runs = explorer.asked()["run"]
    explorer.button("perfect fit").click()
    places.append(("ALR or LR?", 2, "tic-tac-toe", 2))
    at(*places[4])
    explorer.choose("alpha", "0.1")
    explorer.page.get_by_role("button", name="passes").click()
    explorer.wait(lambda: explorer.asked().get("axis") == ["passes"], "the axis in the address")
    assert explorer.js("history.length") == length + 4
    for place in places[-2::-1]:
        explorer.page.go_back()
        at(*place)
        assert explorer.asked()["run"] == runs or place != places[3], "the race of before, not another"
    explorer.page.go_forward()
    at(*places[1])
    explorer.js("history.go(3)")
    explorer.wait(lambda: "0.1" in explorer.page.get_by_role("combobox", name="alpha").inner_text(), "its alpha")
    assert explorer.js("history.length") == length + 4


def test_a_press_is_answered_before_the_page_is_built(explorer: Explorer):
    explorer.open("?page=data&data=iris")
    explorer.wait_says("^Columns as CSV$")
    explorer.js(
        "() => { window.seen = []; setInterval(() => {"
        " if (probe.says('^Opening Boundaries')) window.seen.push('so'); }, 10); }"
    )
    explorer.go("Boundaries")
    explorer.wait_says("^About this plot$")
    assert explorer.js("window.seen"), "it opens without a word"
    explorer.wait(lambda: not explorer.says("^Opening"), "the page alone")
