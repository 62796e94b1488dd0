"""A class in real browsers: a teacher's page, a phone, and the server that is killed between two answers."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.steps import PATIENCE, Explorer
from tests.browser.test_axe import FOUND
from tests.conftest import Served, wait_until

pytestmark = pytest.mark.browser
EVIL = "<img src=x onerror=alert(1)>"


def test_a_class_asks_counts_shows_and_goes_on_after_its_server_was_killed(
    new_explorer: Callable[..., Explorer], new_page: Callable[..., Any], serve: Callable[..., Served], tmp_path: Any,
    warmed: str,
):  # fmt: skip
    axe = pytest.importorskip("axe_playwright_python.base").AXE_SCRIPT
    first = serve(ALRVIZ_HOME=str(tmp_path))
    teacher = new_explorer(first)
    teacher.open("?data=monks-1").race()
    teacher.button("Class").click()
    teacher.button("Open a class").click()
    code = teacher.page.get_by_text(re.compile("^[A-Z]{6}$")).first.inner_text()
    teacher.page.keyboard.press("Escape")
    teacher.page.get_by_role("dialog").wait_for(state="hidden")
    teacher.page.get_by_role("switch", name="Save the answers").check()

    phone = new_page(viewport={"width": 390, "height": 844}, color_scheme="light")
    phone.set_default_timeout(PATIENCE * 1000)
    phone.goto(f"{first.url}/class")
    phone.evaluate(axe)
    assert phone.evaluate(FOUND, {}) == []
    phone.get_by_role("textbox").fill(code.lower())
    phone.get_by_role("button", name="Join").click()
    phone.get_by_text("The question comes here").wait_for()
    wait_until(lambda: phone.evaluate("last >= 0"), PATIENCE, "the live picture")
    assert phone.get_by_role("button").filter(visible=True).count() == 0, "nothing but the picture"
    teacher.wait_says("^1 student here$")

    question = teacher.page.get_by_role("textbox", name="Your question")
    question.fill(f"Which? {EVIL}")
    teacher.page.get_by_role("textbox", name="Options, a line each").fill(f"LR\n{EVIL}")
    teacher.page.get_by_role("button", name="Ask", exact=True).click()
    assert phone.get_by_role("button", name="Send").is_disabled()
    phone.get_by_text("Choose one first.").wait_for()
    phone.get_by_label(EVIL, exact=True).check()
    phone.get_by_role("textbox").fill(f"so {EVIL}")
    phone.get_by_role("button", name="Send").click()
    phone.get_by_text("Your answer is counted").wait_for()
    teacher.wait_says("^1$")
    phone.evaluate(axe)
    for ground in ("light", "dark"):
        phone.emulate_media(color_scheme=ground)
        phone.wait_for_function("ground => document.documentElement.dataset.theme === ground", arg=ground)
        assert phone.evaluate(FOUND, {}) == []
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")

    wait_until(lambda: b"so <img" in (tmp_path / "runs.sqlite-wal").read_bytes(), PATIENCE, "the vote on disk")
    first.process.kill()
    second = serve(ALRVIZ_HOME=str(tmp_path))  # another port: the same host's cookies
    back = Explorer(teacher.page.context.new_page(), second.url)
    teacher.page.close()
    back.open("?data=monks-1")
    back.wait_says(code)
    moved = phone.url.replace(first.url, second.url)
    student = phone.context.new_page()
    phone.close()  # it would ask the port that is closed
    student.set_default_timeout(PATIENCE * 1000)
    student.goto(moved)
    student.get_by_text("Your answer is counted; you may change it.").wait_for()
    assert student.get_by_role("textbox").input_value() == f"so {EVIL}"
    student.get_by_label("LR", exact=True).check()
    student.get_by_role("button", name="Change my answer").click()
    student.get_by_text("until the question is closed").wait_for()

    back.button("Close the question").click()
    student.get_by_text("The question is closed. Your answer is counted.").wait_for()
    back.button("Show the answers").click()
    back.wait_says("^1 answer$")
    back.button("End the class").click()
    back.button("End: press again").click()
    student.get_by_text("This class is over").wait_for()
    phone.problems[:] = []  # of a server that is gone
