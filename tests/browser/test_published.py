"""A published lesson from a folder, without any server: asked, locked, run, and found again after a reload."""

import json

import pytest

from alrviz.explorer.lessons.reader import read_lesson
from alrviz.explorer.publish import publish
from tests.browser.test_axe import FOUND
from tests.conftest import wait_until
from tests.explorer.test_publish import LESSON

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory, warmed):
    """The address of a folder with one published lesson."""
    folder = tmp_path_factory.mktemp("site")
    publish(folder, [read_lesson(LESSON)])
    return folder.as_uri()


def test_a_published_lesson_is_taken_on_a_phone_from_a_folder(site, new_page):
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{site}/index.html")
    page.get_by_role("link", name="A race & a <study>").click()
    run, lock = page.get_by_role("button", name="Run"), page.get_by_role("button", name="Lock my answer")
    lock.wait_for()
    assert run.is_disabled()
    page.get_by_role("textbox").fill("0.9")
    lock.click()
    assert page.locator(".mine").inner_text() == "You said: 0.9."
    verdict = page.locator(".verdict")
    assert verdict.count() == 0  # only after Run
    run.click()
    verdict.wait_for()
    assert verdict.inner_text().endswith("you said: 0.9.")
    film = page.frame_locator("iframe")
    assert film.get_by_role("button", name="Play").is_visible()
    slider = film.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext") == "iteration 5 of 5"
    page.reload()
    verdict.wait_for()
    page.get_by_role("button", name="Next").click()
    assert not run.is_visible()  # this step only asks
    page.get_by_role("radio", name="one").check()
    lock.click()
    page.get_by_role("button", name="Next").click()
    run.click()
    wait_until(lambda: page.locator("#result svg").count() >= 2, 10.0, "the pictures of the study")
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Finish").click()
    page.get_by_text("as you said").wait_for()
    page.get_by_role("button", name="All lessons").click()
    page.get_by_text("done").wait_for()
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")


def test_a_learning_platform_keeps_answers_by_student_and_gets_status_and_score(site, new_page):
    page = new_page(viewport={"width": 1280, "height": 720})
    page.add_init_script(
        "const kept = {}; window.kept = kept; window.API = {LMSInitialize: () => 'true', LMSCommit: () => 'true', "
        "LMSFinish: () => 'true', LMSGetValue: (name) => kept[name] ?? '', "
        "LMSSetValue: (name, value) => { kept[name] = value; return 'true'; }}"
    )
    page.goto(f"{site}/two-steps.html?step=1.5")  # a damaged link
    page.get_by_role("textbox").fill("0.9")
    page.get_by_role("button", name="Lock my answer").click()
    kept = page.evaluate("window.kept")
    assert json.loads(kept["cmi.suspend_data"])["answers"] == {"wrong": 0.9}
    assert (kept["cmi.core.lesson_status"], kept["cmi.core.score.raw"]) == ("incomplete", "0")
    assert page.evaluate("localStorage.length") == 0  # the next student at this computer begins anew
    for label in ("Next", "Next", "Next", "Finish", "Done"):
        page.get_by_role("button", name=label).click()
    assert page.evaluate("window.kept")["cmi.core.lesson_status"] == "completed"
    assert page.url.startswith(f"{site}/two-steps.html")  # a package has no list of lessons


def test_a_published_page_breaks_no_rule_of_axe(site, new_page):
    page = new_page(viewport={"width": 1280, "height": 720}, color_scheme="dark")
    for name in ("index", "two-steps"):
        page.goto(f"{site}/{name}.html")
        if name == "two-steps":
            page.get_by_role("textbox").fill("0.1")
            page.get_by_role("button", name="Lock my answer").click()
            page.get_by_role("button", name="Run").click()
            page.locator(".verdict").wait_for()
        page.evaluate(pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT)
        assert page.evaluate(FOUND, {}) == []


VERDICTS = [
    ("number", 0.66, 0.675, True, "It was <b>0.675 %</b>, near what you said: 0.66 %."),
    ("number", 0.675, 0.6751, True, "It was <b>0.675 %</b>, as you said."),
    ("number", 0, 0.05, True, "It was <b>0.05 %</b>, near what you said: 0 %."),
    ("number", 9, 0.675, False, "It was <b>0.675 %</b>; you said: 9 %."),
    ("choice", "a", "a", True, "What happened: <b>it rises</b>, as you said."),
    ("choice", "b", "a", False, "What happened: <b>it rises</b>; you said: it falls."),
    ("order", ["b", "a"], None, False, "You said: <b>it falls, it rises</b>."),
    ("choice", None, "a", False, "Not answered."),
]


def test_the_verdict_says_as_you_said_of_the_same_number_only(site, new_page):
    page = new_page()
    page.goto(f"{site}/two-steps.html")
    for kind, answer, outcome, is_right, sentence in VERDICTS:
        question = {"kind": kind, "options": [["a", "it rises"], ["b", "it falls"]], "unit": "%"}
        result = {"answer": answer, "outcome": outcome, "is_right": is_right}
        assert page.evaluate("(given) => questionVerdict(...given)", [question, result]) == sentence
